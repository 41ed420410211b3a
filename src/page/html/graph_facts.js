// What the drawing of a graph says of boxes and edges, found once per box and kept until the scene changes.
import {costsOf} from "./costs.js";
import {bytes, seconds} from "./format.js";
import {markShape, sumCollectives} from "./graph_marks.js";
import {changedOps} from "./match.js";
import {ROLES} from "./model.js";
import {SHARING, overlayNamed} from "./overlays.js";

const MOST_INPUTS = 4;  // that an op's lines name
export const GROUP_TIMES = "times of groups: prices added up, nothing overlapped";

/** Sums over the ops of each node of the outline and of all below it. */
function sumsOfNodes(model, value) {
  const sums = new Float64Array(model.outline.parent.length);
  for (let op = 0; op < model.numOps; ++op) sums[model.nodeOf[op]] += value(op) ?? 0;
  return addToParents(model, sums);
}

function addToParents(model, column) {
  const {parent} = model.outline;
  for (const node of model.deepestFirst()) if (parent[node] >= 0) column[parent[node]] += column[node];
  return column;
}

export class GraphFacts {
  constructor(model, scene) {
    this.model = model;
    this.scene = scene;
    this.costs = costsOf(model);
    this.seconds = sumsOfNodes(model, (op) => this.costs.all[op]);
    this.numOps = sumsOfNodes(model, () => 1);
    const changed = changedOps(model);
    this.numChanged = sumsOfNodes(model, (op) => (changed.has(op) ? 1 : 0));
    this.isChanged = ({item}) => (item >= 0 ? changed.has(item) : this.numChanged[-1 - item] > 0);
    this.totalSeconds = this.seconds[0];
    this.beside = [this];  // views that are looked at together have one scale
    this.ownLongest = 0;
    model.transitions?.seconds.forEach((time, t) => {
      this.ownLongest = Math.max(this.ownLongest, time * model.transitions.runs[t]);
    });
    this.inside = null;
    this.setOverlay("sharing");
    this.forget();
  }

  /** After the scene changed. */
  forget() {
    this.collectives = new WeakMap();
    this.widths = new WeakMap();
  }

  setOverlay(id) {
    const {model} = this;
    this.overlay = overlayNamed(id);
    const {sums, value, parts, combine} = this.overlay;
    this.sums = sums ? sumsOfNodes(model, (op) => value(model, op)) : null;
    const columns = sums ? [] : parts.map((part) => sumsOfNodes(model, (op) => part(model, op)));
    this.ofNode = sums ? (node) => this.sums[node] : (node) => combine(columns.map((column) => column[node]));
    this.ownMost = 0;
    const look = (value) => { this.ownMost = Math.max(this.ownMost, Math.abs(value ?? 0)); };
    if (this.sums === null) return;
    this.sums.forEach(look);
    for (let op = 0; op < model.numOps; ++op) look(value(model, op));  // changes of ops may cancel in a group
  }

  /** The end of the colours' scale. */
  get most() {
    return Math.max(...this.beside.map(({ownMost}) => ownMost));
  }

  /** Seconds of the largest mark. */
  get longest() {
    return Math.max(...this.beside.map(({ownLongest}) => ownLongest));
  }

  valueOf({item}) {
    return item >= 0 ? this.overlay.value(this.model, item) : this.ofNode(-1 - item);
  }

  valueText(box) {
    if (this.overlay.id === "sharing") {
      return box.item >= 0 && this.secondsOf(box) >= 1e-9 ? seconds(this.secondsOf(box)) : "";
    }
    const value = this.valueOf(box);
    return value === null || value === undefined ? "" : this.overlay.format(value);
  }

  secondsOf({item}) {
    if (item < 0) return this.seconds[-1 - item];
    return this.costs.all[item];
  }

  copiesOf({item}) {
    return item < 0 ? this.scene.copies(-1 - item) : 1;
  }

  titleOf(box) {
    const node = -1 - box.item;
    const {label, items} = this.model.outline;
    const text = label[node] === "" ? this.model.head.name : label[node];
    const copies = this.copiesOf(box);
    if (copies < 2) return text;
    if (!box.open) return `${text}  × ${copies}`;
    const at = this.scene.copy.get(node) ?? 0;
    const copy = items[node][at];
    return `${copy >= 0 ? this.model.opType(copy) : label[-1 - copy]}, ${at + 1} of ${copies} ◂ ▸`;
  }

  /** "40.1 % · 3.10 ms · 12 ops", and what the overlay says. */
  shareText(box) {
    const count = this.numOps[-1 - box.item];
    const parts = [`${count} ${count === 1 ? "op" : "ops"}`];
    if (this.totalSeconds > 0) {
      const share = this.secondsOf(box) / this.totalSeconds;
      parts.unshift(share < 0.001 ? "< 0.1 %" : `${(share * 100).toFixed(1)} %`, seconds(this.secondsOf(box)));
    }
    if (!["sharing", "time"].includes(this.overlay.id)) {
      const text = this.valueText(box);
      if (text !== "") parts.unshift(text);
    }
    return `${box.open && this.copiesOf(box) > 1 ? "all: " : ""}${parts.join(" · ")}`;
  }

  /** Collectives of a group, of transitions whose first reader is in it: [{kind, name, letters, seconds, bytes, count}]. */
  insideOf({item}) {
    if (this.model.bare) return [];
    this.inside ??= this.#findInside();
    const node = -1 - item;
    return this.inside.map(({sums, ...row}) => ({...row, seconds: sums[0][node], bytes: sums[1][node], count: sums[2][node]}))
        .filter(({count}) => count > 0).sort((a, b) => b.seconds - a.seconds || a.kind - b.kind);
  }

  // Per kind the sums of seconds, bytes and times over each node.
  #findInside() {
    const {model} = this;
    const {steps, consumers, runs, kinds} = model.transitions;
    const columns = new Map();
    for (let t = 0; t < steps.length; ++t) {
      if (consumers[t].length === 0) continue;
      const node = model.nodeOf[consumers[t][0][0]];
      for (const [kind, , time, wire] of steps[t]) {
        if (kinds[kind].is_local) continue;
        if (!columns.has(kind)) columns.set(kind, [0, 1, 2].map(() => new Float64Array(model.outline.parent.length)));
        [time * runs[t], wire * runs[t], 1].forEach((value, i) => { columns.get(kind)[i][node] += value; });
      }
    }
    for (const column of [...columns.values()].flat()) addToParents(model, column);
    return [...columns].map(([kind, sums]) =>
        ({kind, name: kinds[kind].name, letters: markShape(kinds[kind].name).letters, sums}));
  }

  transitionsOf(edge) {
    return [...new Set(edge.uses.map((use) => this.scene.transitionOf(use)).filter((t) => t !== undefined))];
  }

  tensorsOf(edge) {
    const {to, operand} = this.scene.uses;
    return [...new Set(edge.uses.map((use) => this.model.graph.ops.inputs[to[use]][operand[use]]))];
  }

  collectivesOf(edge) {
    if (!edge.mark) return [];
    if (!this.collectives.has(edge)) this.collectives.set(edge, sumCollectives(this.model, this.transitionsOf(edge)));
    return this.collectives.get(edge);
  }

  ownCollectives(box) {
    if (this.model.bare || !this.model.feeding.has(box.item)) return [];
    if (!this.collectives.has(box)) this.collectives.set(box, sumCollectives(this.model, this.scene.ownTransitions(box.item)));
    return this.collectives.get(box);
  }

  #sizesOf(edge) {
    if (!this.widths.has(edge)) {
      const tensors = this.tensorsOf(edge);
      const size = tensors.reduce((sum, tensor) => sum + this.model.tensorBytes(tensor), 0);
      const layouts = new Set(tensors.map((tensor) => (this.model.bare ? -1 : this.model.decisions.source[tensor])));
      this.widths.set(edge, {size, count: tensors.length, layout: layouts.size === 1 ? [...layouts][0] : -1});
    }
    return this.widths.get(edge);
  }

  bytesOf(edge) {
    return this.#sizesOf(edge).size;
  }

  /** A kB is thin, a GB is thick. */
  edgeWidth(edge) {
    const size = this.#sizesOf(edge).size;
    return size <= 1000 ? 1 : Math.min(7, 1 + (Math.log10(size) - 3) * 0.85);
  }

  /** The layout that all tensors of an edge leave in; -1: there are several. */
  layoutOf(edge) {
    return this.#sizesOf(edge).layout;
  }

  /** Between the phases of a training step: what goes across. */
  noteOf(edge) {
    const { count } = this.#sizesOf(edge);
    return [`${count} ${count === 1 ? 'tensor' : 'tensors'},`, `${bytes(this.bytesOf(edge))} in all`];
  }

  /** What a box is, in words: for tooltips and for who cannot see it. */
  describe(box) {
    const {model} = this;
    if (box.item < 0) {
      return [this.titleOf(box).replace(" ◂ ▸", ""), `group of ${this.shareText(box)}`,
        ...(this.secondsOf(box) > 0 ? [GROUP_TIMES] : []),
        ...(this.isChanged(box) ? [`≠ ${this.numChanged[-1 - box.item]} of its ops differ from the other plan`] : []), ...this.#insideLines(box)];
    }
    const op = box.item;
    const lines = [`${model.opType(op)} ${model.opName(op)}`, ...this.#inputLines(op)];
    for (const tensor of model.graph.ops.outputs[op]) {
      if (tensor < 0) continue;
      const layout = model.bare ? "" : ` ${model.layoutText(model.decisions.source[tensor])}`;
      lines.push(`→ ${model.typeText(tensor)}${layout}`);
    }
    if (this.isChanged(box)) lines.push("≠ differs from the other plan: layouts, collectives or type");
    if (model.bare) return lines;
    const {kernels, wire, exposed} = this.costs;
    lines.push(`${seconds(kernels[op])} of compute, ${seconds(wire[op])} of communication, ${seconds(exposed[op])} exposed`, SHARING[model.decisions.sharing[op]].title, model.record(op).choice);
    if (this.overlay.id !== "sharing") lines.push(`${this.overlay.title}: ${this.valueText(box)}`);
    return lines;
  }

  /** Inputs of the graph have no boxes, as their edges would cross all of it: who reads one says so. */
  #inputLines(op) {
    const {ops, tensors} = this.model.graph;
    const inputs = [...new Set(ops.inputs[op])].filter((tensor) => tensor >= 0 && ROLES[tensors.role[tensor]] === "input");
    return inputs.slice(0, MOST_INPUTS).map((tensor) => `← input ${this.model.tensorLabel(tensor)} ${this.model.typeText(tensor)}`);
  }

  #insideLines(box) {
    return this.insideOf(box).map(({name, count, seconds: time, bytes: size}) =>
        `${count} ${name}, ${seconds(time)}, ${bytes(size)} sent by all devices`);
  }

  describeEdge(edge) {
    const {model} = this;
    const tensors = this.tensorsOf(edge);
    const lines = tensors.length > 1 ? [`${tensors.length} tensors`] :
        [model.tensorLabel(tensors[0]), model.typeText(tensors[0])];
    lines.push(`${bytes(this.bytesOf(edge))} in all`);
    const layout = this.layoutOf(edge);
    if (layout >= 0) lines.push(`leaves as ${model.layoutText(layout)}`);
    return [...lines, ...this.#reasonLines(this.transitionsOf(edge))];
  }

  /** Of operands that no op makes. */
  describeTransitions(transitions) {
    const tensors = new Set(transitions.map((t) => this.model.transitions.tensor[t]));
    return [...[...tensors].slice(0, 3).map((tensor) => this.model.tensorLabel(tensor)), ...this.#reasonLines(transitions)];
  }

  #reasonLines(transitions) {
    if (transitions.length === 0) return [];
    const {reasons, reason, from, to} = this.model.transitions;
    const [first] = transitions;
    const lines = sumCollectives(this.model, transitions).map(({name, axes, transitions: made, seconds: time, bytes: size}) =>
        `${made.size} ${name} over ${[...axes].join(", ")}: ${seconds(time)}, ${bytes(size)} sent by all devices`);
    return [...lines, `${this.model.layoutText(from[first])} → ${this.model.layoutText(to[first])}`, reasons[reason[first]]];
  }
}
