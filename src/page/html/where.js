// Where time and memory go, by scope: a treemap or an icicle that one can go into.
import {ChartSurface, ChartTip, fitName, planChoice, saysBare, seriesFill, seriesSample} from "./chart.js";
import {costsOf, sumOf} from "./costs.js";
import {el, shorten} from "./dom.js";
import {bytes, count, percent, seconds} from "./format.js";
import {kernelText, numInside} from "./kernel_groups.js";
import {PHASES} from "./model.js";
import {groupValue, inkOn, overlayColor, overlayLegend, overlayNamed} from "./overlays.js";
import {ScopeTree} from "./scope_tree.js";
import {icicleTiles, treemapTiles} from "./tiles.js";

const MOST_TILES = 4000;
// Per phase; names stand in the tiles and the tip, so that nothing hangs on the colour.
const PHASE_FILLS = [
  {light: ["#d5e8f7", "#b7d8ef"], dark: ["#1d3d57", "#275172"]},
  {light: ["#f8e3c4", "#f1d09a"], dark: ["#4f3a14", "#6a4f1e"]},
  {light: ["#d4eedf", "#b3dfc8"], dark: ["#1b4633", "#265d45"]},
];
const HATCH = {light: "#cc6677", dark: "#a04455", pattern: "diagonal"};

const added = (...columns) => Float64Array.from(columns[0], (_, op) => columns.reduce((sum, column) => sum + column[op], 0));

/**
 * What sizes are of: columns(model) -> {sizes, parts (of which, hatched), rest (what belongs to no op)}; `part`: what is
 * hatched; `ofCompute`: the time of ops is among it; `total(model)`: what the plan says that all add up to.
 */
const MEASURES = [
  {id: "step", title: "Time: compute and exposed communication", show: seconds, ofCompute: true, part: "exposed communication",
    total: ({schedule: {summary}}) => summary.compute + summary.exposed,
    note: ({schedule: {summary}}) => `of a step of ${seconds(summary.step)}` +
        (summary.slowed > 0 ? `, besides ${seconds(summary.slowed)} that compute is slower beside collectives` : "") +
        (summary.idle > 0 ? `, ${seconds(summary.idle)} idle` : ""),
    columns: (costs) => ({sizes: added(costs.compute, costs.cut, costs.local, costs.exposed), parts: costs.exposed,
      rest: costs.rest.cut + costs.rest.local + costs.rest.exposed})},
  {id: "sum", title: "Time: compute and all communication", show: seconds, ofCompute: true, part: "communication",
    total: ({head: {summary}}) => summary.compute_seconds + summary.collective_seconds,
    note: (_model) => "the sum of prices, as if nothing overlapped",
    columns: (costs) => ({sizes: added(costs.compute, costs.cut, costs.local, costs.wire), parts: costs.wire,
      rest: costs.rest.cut + costs.rest.local + costs.rest.wire})},
  {id: "exposed", title: "Exposed communication", show: seconds, part: null, total: ({schedule}) => schedule.summary.exposed,
    note: (_model) => "while nothing is computed", columns: (costs) => ({sizes: costs.exposed, rest: costs.rest.exposed})},
  {id: "moved", title: "Bytes moved", show: bytes, part: null, total: ({head}) => head.summary.bytes_moved,
    note: (_model) => "sent by all devices in a step", columns: (costs) => ({sizes: costs.moved, rest: costs.rest.moved})},
  {id: "peak", title: "Memory at the peak", show: bytes, part: "parameters",
    total: ({memory}) => memory.peak_bytes, note: ({memory}) => "held by a device" +
        (memory.workspace_bytes > 0 ? `, workspace of kernels ${bytes(memory.workspace_bytes)} among it` : ""),
    columns: (_costs, model) => memoryColumns(model)},
];

/** What is held at the peak: at the op that made it, or at the first that reads an input or parameter. */
function memoryColumns(model) {
  const {lifetimes, parts: names, workspace_bytes: workspace} = model.memory;
  const sizes = new Float64Array(model.numOps);
  const parts = new Float64Array(model.numOps);
  const peak = model.peakPosition();
  let rest = workspace;
  lifetimes.bytes.forEach((size, i) => {
    if (lifetimes.first[i] > peak || lifetimes.last[i] < peak) return;
    const tensor = lifetimes.tensor[i];
    const op = model.producer[tensor] >= 0 ? model.producer[tensor] : model.readers[tensor][0] ?? -1;
    if (op < 0) rest += size;
    else sizes[op] += size;
    if (op >= 0 && names[lifetimes.part[i]] === "parameters") parts[op] += size;
  });
  return {sizes, parts, rest};
}

class WhereView {
  constructor(element, model, store) {
    this.model = model;
    this.store = store;
    this.shape = "treemap";
    this.folded = true;
    this.colour = "phase";
    this.measure = MEASURES[0];
    this.tiles = [];
    this.pointed = null;
    this.told = null;  // is told of the overlay that is drawn, for the legend
    this.surface = new ChartSurface(store, (...all) => this.#draw(...all), {"aria-label":
        "sizes by scope; arrow keys choose a tile, Enter goes into it, Backspace goes out", role: "img"});
    this.trail = el("nav", {class: "trail", "aria-label": "scope"});
    this.sum = el("p", {class: "totals", role: "status"});
    element.replaceChildren(this.trail, this.sum, this.surface.element);
    this.tip = new ChartTip(this.surface.element);
    this.#listen();
    this.rebuild();
  }

  dispose() {
    this.surface.dispose();
  }

  rebuild() {
    const {sizes, parts, rest} = this.measure.columns(costsOf(this.model), this.model);
    this.total = sumOf(sizes) + rest;
    this.tree = new ScopeTree(this.model, sizes, parts ?? new Float64Array(this.model.numOps), this.folded);
    this.rest = rest;
    this.goTo(this.tree.root);
  }

  goTo(node) {
    this.node = node;
    this.pointed = null;
    const path = [];
    for (let up = node; up !== null; up = up.parent) path.unshift(up);
    this.trail.replaceChildren(...path.map((step, i) => el("button", {class: "plain", "aria-current": i === path.length - 1 ? "page" : null,
      title: shorten(step.label || "model", 2000), onclick: () => this.goTo(step)}, shorten(step.label || "model", 60))));
    const {measure, model} = this;
    const share = this.total > 0 ? node.size / this.total : 0;
    this.sum.replaceChildren(el("b", {"data-total": measure.id, "data-value": node.parent === null ? this.total : node.size},
        node.parent === null ? measure.show(this.total) : `${measure.show(node.size)}, ${percent(share)} of ${measure.show(this.total)}`),
    ` ${measure.note(model)}`,
    measure.part === null || node.part <= 0 ? "" : `; ${measure.part} (hatched) ${measure.show(node.part)}`,
    this.rest > this.total * 1e-3 && node.parent === null ? `; ${measure.show(this.rest)} belongs to no op` : "",
    this.#insideText(node));
    this.tip.hide();
    this.surface.redraw();
  }

  /** Of measures of compute: that ops are missing, and why. */
  #insideText(node) {
    const inside = this.measure.ofCompute ? numInside(this.model, this.#opsOf(node)) : 0;
    return inside === 0 ? "" : `; ${count(inside)} ops inside fused kernels have no tile: a kernel's time stands at its ops that read and write memory`;
  }

  #describe(node) {
    const ops = this.#opsOf(node).length;
    const rows = [node.path || node.label, [this.measure.title.split(":")[0], this.measure.show(node.size)],
      ["share of all", percent(node.size / this.total)]];
    if (node.copies > 1) rows.push(["each of", `${count(node.copies)} copies, ${this.measure.show(node.size / node.copies)}`]);
    if (this.measure.part !== null && node.part > 0) rows.push([this.measure.part, `${this.measure.show(node.part)} (${percent(node.part / node.size)})`]);
    rows.push(["ops", count(ops)], ["phase", this.#phase(node)]);
    const overlay = this.#overlay();
    const value = overlay === null ? null : this.#overlayValue(overlay, node);
    if (value !== null) rows.push([overlay.title, overlay.format(value)]);
    const op = node.ops[0];
    const kernel = op === undefined || !this.measure.ofCompute ? null : kernelText(this.model, op);
    if (kernel !== null) rows.push(["kernel", kernel]);
    if (op !== undefined) rows.push(["layout", this.model.graph.ops.outputs[op].map((t) => (t < 0 ? "" : this.model.layoutText(this.model.decisions.source[t]))).join(", ")]);
    rows.push(node.ops.length > 0 ? "click: select this op" : "click: go into it");
    return rows;
  }

  #opsOf(node) {
    return node.ops.length > 0 ? node.ops : node.nodes.flatMap((id) => this.model.opsOf(id));
  }

  #overlay() {
    return this.colour === "phase" ? null : overlayNamed(this.store.get("overlay"));
  }

  /** Of the overlay; kept, as a node has many ops. */
  #overlayValue(overlay, node) {
    node.values ??= new Map();
    if (!node.values.has(overlay.id)) node.values.set(overlay.id, groupValue(overlay, this.model, this.#opsOf(node)));
    return node.values.get(overlay.id);
  }

  #phase(node) {
    const op = this.tree.firstOp(node);
    return op < 0 ? "" : PHASES[this.model.graph.ops.phase[op]];
  }

  // What is drawn ----------------------------------------------------------------------------------------------------

  #draw(context, {width, height}, colors, theme) {
    const box = {x: 0, y: 0, width, height};
    const children = (node) => this.tree.childrenOf(node);
    if (this.node.size <= 0) {
      context.fillStyle = colors.ink;
      context.fillText("nothing: this takes none of it", 12, 20);
      this.tiles = [];
      return;
    }
    this.tiles = this.shape === "treemap" ? treemapTiles(this.node, children, box, MOST_TILES) :
        icicleTiles(this.node, children, box, MOST_TILES);
    const overlay = this.#overlay();
    const closed = this.tiles.filter(({open}) => !open);
    this.most = overlay === null ? 0 : Math.max(1e-30, ...closed.map(({node}) => Math.abs(this.#overlayValue(overlay, node) ?? 0)));
    for (const tile of this.tiles) this.#drawTile(context, tile, colors, theme);
    this.told?.(overlay, this.most, theme);
    if (this.pointed !== null) {
      const {x, y, width: w, height: h} = this.pointed;
      context.strokeStyle = colors.accent;
      context.lineWidth = 3;
      context.strokeRect(x + 1.5, y + 1.5, Math.max(0, w - 3), Math.max(0, h - 3));
      context.lineWidth = 1;
    }
  }

  #drawTile(context, {node, depth, x, y, width, height, open}, colors, theme) {
    const fill = this.#fillOf(node, open, depth, theme);
    context.fillStyle = fill;
    context.fillRect(x, y, width, height);
    if (!open && node.part > 0) {
      const hatched = height * node.part / node.size;
      context.fillStyle = seriesFill(context, HATCH, theme);
      context.fillRect(x, y + height - hatched, width, hatched);
    }
    context.strokeStyle = depth === 0 ? colors.line : theme === "dark" ? "#0d1117" : "#ffffff";
    context.strokeRect(x + 0.5, y + 0.5, Math.max(0, width - 1), Math.max(0, height - 1));
    if ((depth === 0 && this.shape === "treemap") || width < 30 || height < 13) return;
    context.fillStyle = inkOn(fill);
    context.textAlign = "left";
    const size = this.measure.show(node.size);
    const room = width - 10;
    const needed = context.measureText(size).width;
    const name = fitName(context, node.label, room - (open ? needed + 8 : 0));
    const lines = open || height < 30 ? [name] : [name, needed <= room ? size : ""];
    lines.forEach((text, i) => context.fillText(text, x + 5, y + 9 + 15 * i));
    if (open && needed < room / 2) {
      context.textAlign = "right";
      context.fillText(size, x + width - 5, y + 9);
    }
  }

  #fillOf(node, open, depth, theme) {
    const overlay = this.#overlay();
    if (overlay !== null) return open ? overlayColor(overlay, null, 0, theme) : overlayColor(overlay, this.#overlayValue(overlay, node), this.most, theme);
    const op = this.tree.firstOp(node);
    return PHASE_FILLS[op < 0 ? 0 : this.model.graph.ops.phase[op]][theme][depth % 2];
  }

  // What the user does -----------------------------------------------------------------------------------------------

  #tileAt({x, y}) {
    for (let i = this.tiles.length - 1; i >= 0; --i) {
      const tile = this.tiles[i];
      if (x >= tile.x && x < tile.x + tile.width && y >= tile.y && y < tile.y + tile.height) {
        return tile.depth === 0 ? null : tile;
      }
    }
    return null;
  }

  #open(tile) {
    const {node} = tile;
    if (node.ops.length > 0) return this.store.select("op", node.ops[0], this.model.index);
    this.store.select("scope", node.id ?? node.nodes[0], this.model.index);
    this.goTo(node);
  }

  #listen() {
    const {canvas} = this.surface;
    canvas.addEventListener("pointermove", (event) => {
      const tile = this.#tileAt(this.surface.at(event));
      if (tile !== this.pointed) {
        this.pointed = tile;
        this.surface.redraw();
      }
      if (tile === null) this.tip.hide();
      else this.tip.show(event, this.#describe(tile.node));
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointed = null;
      this.tip.hide();
      this.surface.redraw();
    });
    canvas.addEventListener("click", (event) => {
      const tile = this.#tileAt(this.surface.at(event));
      if (tile !== null) this.#open(tile);
    });
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  #key(event) {
    this.surface.flush();
    const near = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    if (near !== undefined) this.#point(near);
    else if (event.key === "Enter" && this.pointed !== null) this.#open(this.pointed);
    else if (event.key === "Backspace" && this.node.parent !== null) this.goTo(this.node.parent);
    else return;
    event.preventDefault();
  }

  /** The next tile of the first level in a direction. */
  #point([dx, dy]) {
    const level = this.tiles.filter(({depth}) => depth === (this.pointed?.depth ?? 1));
    const middle = (tile) => [tile.x + tile.width / 2, tile.y + tile.height / 2];
    const [x, y] = this.pointed === null ? [0, 0] : middle(this.pointed);
    let best = null;
    let least = Infinity;
    for (const tile of level) {
      const [tx, ty] = middle(tile);
      const along = (tx - x) * dx + (ty - y) * dy;
      const beside = Math.abs((tx - x) * dy) + Math.abs((ty - y) * dx);
      if (tile === this.pointed || (this.pointed !== null && along <= 0)) continue;
      const far = this.pointed === null ? tx + ty : along + 2 * beside;
      if (far < least) [best, least] = [tile, far];
    }
    if (best === null) return;
    this.pointed = best;
    const box = this.surface.canvas.getBoundingClientRect();
    this.tip.show({clientX: box.left + best.x + best.width / 2, clientY: box.top + best.y + best.height / 2}, this.#describe(best.node));
    this.surface.redraw();
  }
}

function whereLegend(overlay, most, theme) {
  return el("span", {class: "scale"}, overlay !== null ? overlayLegend(overlay, most, theme) : PHASES.map((phase, i) => el("span", {},
      el("i", {class: "sample", style: `background:${PHASE_FILLS[i][theme][1]}`}), ` ${phase}`)),
  el("span", {}, seriesSample(HATCH, theme), " the hatched part"));
}

export const wherePanel = {
  id: "where",
  title: "Where it goes",
  mount(element, {models, store}) {
    if (saysBare(element, models)) return;
    const place = el("div", {class: "place"});
    let view = new WhereView(place, models[0], store);
    const change = (values) => {
      Object.assign(view, values);
      view.rebuild();
    };
    const measure = el("select", {"aria-label": "size", onchange: () => change({measure: MEASURES.find(({id}) => id === measure.value)})},
        MEASURES.map(({id, title}) => el("option", {value: id}, title)));
    const shape = el("select", {"aria-label": "shape", onchange: () => change({shape: shape.value})},
        el("option", {value: "treemap"}, "treemap"), el("option", {value: "icicle"}, "icicle"));
    const folded = el("input", {type: "checkbox", checked: true, onchange: () => change({folded: folded.checked})});
    const colour = el("select", {"aria-label": "colour", onchange: () => change({colour: colour.value})},
        el("option", {value: "phase"}, "phase"), el("option", {value: "overlay"}, "as chosen in the bar"));
    const legend = el("span", {});
    const told = (...what) => legend.replaceChildren(whereLegend(...what));
    const choose = (model) => {
      view.dispose();
      view = new WhereView(place, model, store);
      change({measure: MEASURES.find(({id}) => id === measure.value), shape: shape.value, folded: folded.checked, colour: colour.value, told});
    };
    view.told = told;
    store.on("overlay", () => {
      colour.value = "overlay";
      view.colour = "overlay";
      view.surface.redraw();
    });
    element.append(el("div", {class: "controls"}, planChoice(models, choose), el("label", {}, "Size: ", measure), el("label", {}, "as ", shape),
        el("label", {}, "Colour: ", colour), el("label", {}, folded, " repeated layers as one"), legend), place);
  },
};
