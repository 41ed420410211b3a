// The panel of the graph: one view, or two of two plans side by side, and the legend.
import {el, svg} from "./dom.js";
import {exportButtons} from "./export.js";
import {GROUP_TIMES} from "./graph_facts.js";
import {markColor, markPoints, markShape} from "./graph_marks.js";
import {GraphView} from "./graph_view.js";
import {overlayLegend, overlayNamed} from "./overlays.js";
import {planLabel} from "./plan_facts.js";

// Pixels of a view: so wide that its graph stands beside the open legend; so high that the legend fits. Below these it is
// folded.
const ROOM_BESIDE = 1100;
const LEAST_ABOVE = 480;

/** The kinds of collectives that a plan has. */
function kindsOf(model) {
  if (model.bare) return [];
  const used = new Set(model.transitions.steps.flatMap((steps) => steps.map(([kind]) => kind)));
  return model.transitions.kinds.filter((row, kind) => used.has(kind) && !row.is_local);
}

/** Filters the graphs of two plans; the list of changes holds nothing else anyway. */
function onlyChangesBox(store) {
  const box = el("input", {type: "checkbox", onchange: () => store.set("onlyChanges", box.checked)});
  box.checked = store.get("onlyChanges");
  return el("label", {class: "only-changes", title: "what did not change is folded and faint"}, box, " only changes");
}

function legend(views, models, store) {
  const content = el("div", {class: "legend-content"});
  const show = () => {
    const overlay = overlayNamed(store.get("overlay"));
    const [{facts: {most}}] = views;
    const names = new Map(models.flatMap(kindsOf).map((row) => [row.name, markColor(row, store.get("theme"))]));
    content.replaceChildren(
        el("b", {}, overlay.title), overlayLegend(overlay, most, store.get("theme"), models[0].bare),
        el("div", {class: "scale"}, [...names].map(([name, color]) => el("span", {},
            svg("svg", {width: 16, height: 14, "aria-hidden": "true"},
                svg("polygon", {points: markPoints(name, 8, 7, 6), fill: color})),
            ` ${markShape(name).letters} ${name}`))),
        el("div", {}, models[0].bare ? "" : "S(i) split along dimension i · B whole · P parts to be summed"),
        el("div", {}, names.size > 0 ? "a mark is as large as its time, " : "", "a line as wide as its bytes"),
        el("div", {}, models[0].bare ? "" : GROUP_TIMES),
        el("div", {}, models.length > 1 ? "≠ and a frame: layouts, collectives or type differ from the other plan" : ""),
        el("div", {}, "blue: what the selected box reads; dashed: what reads it"));
  };
  store.on("overlay", show);
  store.on("theme", show);
  show();
  return el("details", {class: "legend", open: true}, el("summary", {}, "Legend"), content);
}

/** Open at first where it leaves the graph its room, folded where it would cover it; what the user does stays. */
function foldWhereNarrow(box, view) {
  let chosen = false;
  box.querySelector("summary").addEventListener("click", () => { chosen = true; });
  new ResizeObserver(() => {
    const {clientWidth: width, clientHeight: height} = view.element;
    if (chosen || width === 0) return;
    if (width <= ROOM_BESIDE || height <= LEAST_ABOVE) box.open = false;
  }).observe(view.element);
}

/** What the user moves or zooms in one view, the other does too; each goes alone to what is selected. */
function moveTogether(views, store) {
  const before = views.map(({camera}) => ({...camera}));
  let selection = store.get("selection");
  views.forEach((view, index) => {
    const other = views[1 - index];
    view.onDraw = () => {
      const {x, y, zoom, width} = before[index];
      const moved = view.camera.x !== x || view.camera.y !== y || view.camera.zoom !== zoom;
      if (moved && width > 0 && width === view.camera.width && selection === store.get("selection")) {
        other.camera.x += view.camera.x - x;
        other.camera.y += view.camera.y - y;
        other.camera.zoom *= view.camera.zoom / zoom;
        before[1 - index] = {...other.camera};
        other.redraw();
      }
      selection = store.get("selection");
      before[index] = {...view.camera};
    };
  });
}

export const graphPanel = {
  id: "graph",
  title: "Graph",
  mount(element, {models, store}) {
    const views = [];
    models.forEach((model, index) => {
      const which = `${index === 0 ? "before" : "after"}: ${planLabel(model)}`;
      const side = el("div", {class: "graph-view"}, models.length > 1 ?
        el("div", {class: "graph-name"}, which, index === 0 ? onlyChangesBox(store) : "") : null);
      element.append(side);
      views.push(new GraphView(side, model, store, (path, open) => {
        for (const other of views) if (other.model !== model) other.setOpen(path, open);
      }));
    });
    for (const view of views) view.buttons.append(...exportButtons(view));
    for (const {facts} of views) facts.beside = views.map((view) => view.facts);
    if (views.length > 1) moveTogether(views, store);
    const box = legend(views, models, store);
    views[0].element.append(box);
    box.open = views[0].element.clientWidth > ROOM_BESIDE && views[0].element.clientHeight > LEAST_ABOVE;
    foldWhereNarrow(box, views[0]);
    // Where there is room, all stands beside the legend.
    views[0].coveredLeft = () => (box.open && views[0].element.clientWidth > ROOM_BESIDE ? box.offsetWidth : 0);
  },
};
