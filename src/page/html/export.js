// Pictures of what a graph shows now, as files: SVG for papers, PNG for slides.
import {el} from "./dom.js";
import {SvgCanvas} from "./svg_canvas.js";

const PNG_SCALE = 2;

function drawing(view) {
  const {camera, selected, focus, related, store} = view;
  return {camera, selected, focus, related, theme: store.get("theme"), onlyChanges: store.get("onlyChanges")};
}

/** The view as the text of an SVG file. */
export function viewAsSvg(view) {
  const recording = new SvgCanvas(view.camera.width, view.camera.height);
  view.painter.draw(recording, drawing(view));
  return recording.text();
}

/** @returns {Promise<Blob>} */
export function viewAsPng(view) {
  const canvas = el("canvas", {width: Math.round(view.camera.width * PNG_SCALE), height: Math.round(view.camera.height * PNG_SCALE)});
  const context = canvas.getContext("2d");
  context.scale(PNG_SCALE, PNG_SCALE);
  view.painter.draw(context, drawing(view));
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** Hands a file to the browser to save. */
export function saveAs(name, blob) {
  const address = URL.createObjectURL(blob);
  const anchor = el("a", {href: address, download: name});
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function fileName(model, extension) {
  const stem = model.head.name.split(/[/\\]/).at(-1).replace(/[^\w.-]+/g, "_").slice(0, 80);
  return `${stem || "plan"}.${extension}`;
}

/** For a view's own bar. */
export function exportButtons(view) {
  const button = (text, label, action) => el("button", {type: "button", class: "tool export", "aria-label": label, title: label, onclick: action}, text);
  return [
    button("SVG", "save what is shown as SVG", () =>
      saveAs(fileName(view.model, "svg"), new Blob([viewAsSvg(view)], {type: "image/svg+xml"}))),
    button("PNG", "save what is shown as PNG", async () => saveAs(fileName(view.model, "png"), await viewAsPng(view))),
  ];
}
