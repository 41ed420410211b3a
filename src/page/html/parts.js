// What the sections of the side panel are made of: links to what is named, chips of layouts, lists, text to copy.
import {stepsText} from "./costs.js";
import {el, shorten} from "./dom.js";

export const MOST_ROWS = 12;  // of a list, until more are asked for

/** What a selection is called. */
export function nameOf(model, {kind, id}) {
  if (kind === "op") return model.opName(id);
  if (kind === "tensor") return model.graph.tensors.name[id];
  if (kind === "scope") return model.outline.path[id] || model.outline.label[id] || model.head.name;
  return `${stepsText(model, id)} of ${model.graph.tensors.name[model.transitions.tensor[id]]}`;
}

/** A button that selects; `text`: the name, if it is to be another. */
export function link(page, model, kind, id, text = null) {
  const name = text ?? nameOf(model, {kind, id});
  return el("button", {class: `link ${kind}`, type: "button", title: name.slice(0, 2000),
    onclick: () => page.store.select(kind, id, model.index)}, el("bdi", {}, shorten(name, 80)));
}

const KIND_OF_ENTRY = {S: "split", B: "whole", P: "partial"};

/** A layout as one chip per mesh axis: the letter says split, whole or partial, the frame says it again. */
export function layoutChip(model, layout) {
  if (layout === undefined || layout < 0) return el("span", {class: "chips"}, el("span", {class: "chip"}, "?"));
  const {text, axes} = model.decisions.layouts[layout];
  return el("span", {class: "chips", title: axes.map((entry, axis) => `${model.head.mesh.axes[axis][0]}: ${entry}`).join("\n"),
    "aria-label": text}, axes.map((entry) => el("span", {class: `chip ${KIND_OF_ENTRY[entry[0]] ?? ""}`}, entry)));
}

/** Pairs of term and value; rows whose value is null or empty are left out. */
export function factList(rows) {
  return el("dl", {class: "facts"}, rows.filter(([, value]) => value !== null && value !== undefined && value.length !== 0)
      .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** A part of the panel that closes; `open` at first. */
export function part(title, open, ...children) {
  return el("details", {class: "part", open}, el("summary", {}, title), children);
}

/** A button that copies a text. */
export function copyButton(text, label = "Copy") {
  const button = el("button", {type: "button", class: "copy", onclick: async () => {
    await copyText(text);
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = label;
    }, 1200);
  }}, label);
  return button;
}

/** Text that is to be pasted elsewhere, and the button that copies it. */
export function copyable(text) {
  return el("span", {class: "copyable"}, el("code", {title: text.slice(0, 2000)}, shorten(text, 200)), copyButton(text));
}

/** Pages from disk may lack the clipboard's interface: then by selecting the text, as any page can. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", {class: "offscreen"});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** The first `limit` of a list that may be very long; the rest on demand, `limit` at a time. */
export function growingList(items, limit, show) {
  const list = el("ul", {class: "plain"});
  let shown = 0;
  const grow = () => {
    more.remove();
    for (const item of items.slice(shown, shown + limit)) list.append(el("li", {}, show(item)));
    shown = Math.min(items.length, shown + limit);
    if (shown < items.length) {
      more.textContent = `${items.length - shown} more`;
      list.after(more);
    }
  };
  const more = el("button", {type: "button", class: "more", onclick: grow});
  const box = el("div", {}, list);
  list.after(more);
  grow();
  return box;
}

/** For a shell: quoted where it must be. */
export function shellWord(text) {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
