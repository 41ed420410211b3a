// Elements of HTML and SVG, made without any text being read as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

/** el("button", {class: "x", onclick: f}, "text", child, [more]): attributes that are null or false are left out. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Names of 10 kB are shown cut; `title` holds more of them. */
export function shorten(text, limit = 120) {
  return text.length <= limit ? text : `${text.slice(0, limit * 0.6)}…${text.slice(-limit * 0.35)}`;
}
