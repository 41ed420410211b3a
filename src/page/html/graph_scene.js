// The boxes that a graph shows: groups that are open or closed, ops, and the edges between the items of each open group.
// A use of a result is an edge of the innermost group that holds both ops, between its items, so that no edge crosses a
// frame. Of a repeat one copy is shown, whose items stand in the repeat itself. src/page/layout_section.cc does the same
// to what is open at first.
import {layOutBoxes, layOutColumns} from "./graph_layout.js";

const OP_BOX = {width: 176, height: 44};
const GROUP_BOX = {width: 208, height: 60};
const PADDING = 16;
export const TITLE_HEIGHT = 34;
const MIN_GROUP_WIDTH = 250;
const MAX_COLUMNS = 4;
const FEWEST_LEFT = 4;  // boxes of a whole that is closed to fit a small window
const REPEAT_NODE = 2;  // kind of an outline's node

/**
 * A box: {item (an op i as i, a node n of the outline as -1 - n), x, y, width, height, open, depth, phase, parent (box),
 * place (among its group's items), children, edges}. Edges, of open groups: {from, to (places), mark, uses, points}.
 */
export class Scene {
  constructor(model) {
    this.model = model;
    this.open = new Set(model.layout.open);
    this.copy = new Map();    // repeat -> which copy is shown; none: the first
    this.layouts = new Map();  // open group -> its layout, kept while nothing in it changes
    this.given = new Map(model.layout.open.map((node, i) => [node, i]));  // groups that stand as the file says
    this.#findUses();
    this.place();
  }

  get #outline() {
    return this.model.outline;
  }

  // Which nodes are groups ---------------------------------------------------------------------------------------------

  #isRepeat(node) {
    return node >= 0 && this.#outline.kind[node] === REPEAT_NODE;
  }

  /** The group as which a node is drawn: a copy is drawn as its repeat. */
  shown(node) {
    while (this.#isRepeat(this.#outline.parent[node])) node = this.#outline.parent[node];
    return node;
  }

  /** The node whose items a group shows, or the op of a repeat of ops as {op}. */
  inner(group) {
    let node = group;
    while (this.#isRepeat(node)) {
      const item = this.#outline.items[node][this.copy.get(node) ?? 0];
      if (item >= 0) return {op: item};
      node = -1 - item;
    }
    return node;
  }

  itemsOf(group) {
    const inner = this.inner(group);
    return inner.op === undefined ? this.#outline.items[inner] : [inner.op];
  }

  /** The groups around an op, innermost first. */
  groupsOf(op) {
    const groups = [];
    for (let node = this.model.nodeOf[op]; node >= 0; node = this.#outline.parent[node]) {
      node = this.shown(node);
      groups.push(node);
    }
    return groups;
  }

  parentGroup(group) {
    const parent = this.#outline.parent[group];
    return parent < 0 ? -1 : this.shown(parent);
  }

  copies(group) {
    return this.#isRepeat(group) ? this.#outline.items[group].length : 1;
  }

  phaseOf(item) {
    while (item < 0) item = this.#outline.items[-1 - item][0];
    return this.model.graph.ops.phase[item];
  }

  // Uses, by the group whose edges they are ----------------------------------------------------------------------------

  #findUses() {
    const {model} = this;
    const {kind, parent} = this.#outline;
    const size = kind.length;
    const up = new Int32Array(size);
    const shown = new Int32Array(size);
    for (let node = 0; node < size; ++node) shown[node] = this.shown(node);
    for (let node = 0; node < size; ++node) up[node] = shown[node] === 0 ? -1 : shown[parent[shown[node]]];
    const depth = new Int32Array(size).fill(-1);
    const depthOf = (node) => {
      const path = [];
      for (; node >= 0 && depth[node] < 0; node = up[node]) path.push(node);
      let at = node < 0 ? -1 : depth[node];
      while (path.length > 0) depth[path.pop()] = ++at;
    };
    for (let node = 0; node < size; ++node) depthOf(node);
    const from = [];
    const to = [];
    const operand = [];
    const group = [];
    const counts = new Int32Array(size + 1);
    for (let op = 0; op < model.numOps; ++op) {
      model.graph.ops.inputs[op].forEach((tensor, k) => {
        const source = tensor < 0 ? -1 : model.producer[tensor];
        if (source < 0) return;
        let a = shown[model.nodeOf[source]];
        let b = shown[model.nodeOf[op]];
        while (a !== b) {
          if (depth[a] >= depth[b]) a = up[a];
          else b = up[b];
        }
        from.push(source);
        to.push(op);
        operand.push(k);
        group.push(a);
        ++counts[a + 1];
      });
    }
    for (let node = 0; node < size; ++node) counts[node + 1] += counts[node];
    const order = new Int32Array(group.length);
    const next = counts.slice();
    group.forEach((node, use) => { order[next[node]++] = use; });
    this.uses = {from: Int32Array.from(from), to: Int32Array.from(to), operand: Int32Array.from(operand), order,
      begin: counts};
    this.shownOf = shown;
    this.upOf = up;
  }

  /** Of the edges of a group, each between two of its items: {from, to (places), mark, uses}; sorted. */
  #edgesOf(group, items) {
    const {order, begin, from, to} = this.uses;
    const place = new Map(items.map((item, i) => [item, i]));
    const edges = new Map();
    for (let i = begin[group]; i < begin[group + 1]; ++i) {
      const use = order[i];
      const a = place.get(this.#itemIn(group, from[use]));
      const b = place.get(this.#itemIn(group, to[use]));
      if (a === undefined || b === undefined || a === b) continue;
      const key = a * items.length + b;
      if (!edges.has(key)) edges.set(key, {key, from: a, to: b, mark: false, uses: []});
      const edge = edges.get(key);
      edge.uses.push(use);
      edge.mark = edge.mark || this.model.movesData(this.transitionOf(use));
    }
    return [...edges.values()].sort((a, b) => a.key - b.key);
  }

  #itemIn(group, op) {
    let item = op;
    for (let at = this.shownOf[this.model.nodeOf[op]]; at !== group; at = this.upOf[at]) item = -1 - at;
    return item;
  }

  /** The transition that feeds a use; undefined: none does. */
  transitionOf(use) {
    return this.model.feeding.get(this.uses.to[use])?.[this.uses.operand[use]];
  }

  /** The transitions of tensors that no op makes, at an op's operands. */
  ownTransitions(op) {
    const feeding = this.model.feeding.get(op);
    if (feeding === undefined) return [];
    const found = feeding.filter((t) => t !== undefined && this.model.producer[this.model.transitions.tensor[t]] < 0);
    return [...new Set(found)];
  }

  // Layout -------------------------------------------------------------------------------------------------------------

  #sizeOf(item) {
    if (item >= 0) return {...OP_BOX, mark: this.ownTransitions(item).some((t) => this.model.movesData(t))};
    if (!this.open.has(-1 - item)) return {...GROUP_BOX, mark: false};
    const {width, height} = this.layoutOf(-1 - item);
    return {width: Math.max(width, MIN_GROUP_WIDTH) + 2 * PADDING, height: height + TITLE_HEIGHT + PADDING, mark: false};
  }

  /** {items, sizes, at, edges, routes, width, height} of an open group. */
  layoutOf(group) {
    if (!this.layouts.has(group)) this.layouts.set(group, this.#layOut(group));
    return this.layouts.get(group);
  }

  #layOut(group) {
    const items = this.itemsOf(group);
    const sizes = items.map((item) => this.#sizeOf(item));
    const edges = this.#edgesOf(group, items);
    const given = this.given.get(group);
    if (given !== undefined) return {items, sizes, edges, ...this.#givenLayout(given)};
    return {items, sizes, edges, ...this.compute(group, items, sizes, edges)};
  }

  compute(group, items, sizes, edges) {
    const inColumns = group === 0 && items.length <= MAX_COLUMNS && items.every((item) => item < 0) &&
        items.some((item) => this.phaseOf(item) !== 0);
    if (inColumns) return layOutColumns(sizes, edges);
    return layOutBoxes(sizes, edges, items.length > 0 && this.phaseOf(items[0]) === 1);
  }

  #givenLayout(i) {
    const {size, at, routes} = this.model.layout;
    const pairs = (list) => Array.from({length: list.length / 2}, (_, k) => [list[2 * k], list[2 * k + 1]]);
    return {width: size[i][0], height: size[i][1], at: pairs(at[i]), routes: routes[i].map(pairs)};
  }

  // Boxes with their places in the whole -------------------------------------------------------------------------------

  /** Makes `root`, and `boxOfOp` and `boxOfGroup` of what is drawn. */
  place() {
    this.boxOfOp = new Map();
    this.boxOfGroup = new Map();
    const {width, height} = this.layoutOf(0);
    this.root = this.#box(-1, {x: 0, y: 0, width, height}, null, 0);
    const left = [this.root];
    while (left.length > 0) {
      const box = left.pop();
      if (box.item >= 0 || !this.open.has(-1 - box.item)) continue;
      this.#fill(box);
      left.push(...box.children);
    }
  }

  #box(item, rectangle, parent, place) {
    const box = {item, ...rectangle, parent, place, open: item < 0 && this.open.has(-1 - item),
      depth: parent === null ? 0 : parent.depth + 1, phase: this.phaseOf(item), children: [], edges: []};
    if (item >= 0) this.boxOfOp.set(item, box);
    else this.boxOfGroup.set(-1 - item, box);
    return box;
  }

  #fill(box) {
    const layout = this.layoutOf(-1 - box.item);
    const isRoot = box.parent === null;
    const x = box.x + (isRoot ? 0 : Math.floor((box.width - layout.width) / 2));
    const y = box.y + (isRoot ? 0 : TITLE_HEIGHT);
    box.children = layout.items.map((item, i) => {
      const {width, height} = layout.sizes[i];
      return this.#box(item, {x: x + layout.at[i][0], y: y + layout.at[i][1], width, height}, box, i);
    });
    box.edges = layout.edges.map((edge, i) =>
        ({...edge, group: box, points: layout.routes[i].map(([a, b]) => [x + a, y + b])}));
    const last = new Map();  // box -> the edge that enters it rightmost: beside it there is room for words
    const endOf = ({points}) => points[points.length - 1][0];
    for (const edge of box.edges) if (!last.has(edge.to) || endOf(last.get(edge.to)) < endOf(edge)) last.set(edge.to, edge);
    for (const edge of last.values()) edge.hasRoom = true;
  }

  /** Closes groups, the innermost first, until the whole fits, or little would be left of it. `fits(root)`. */
  closeUntil(fits) {
    for (let depth = Math.max(0, ...this.#openBoxes().map((box) => box.depth)); depth > 0 && !fits(this.root); --depth) {
      const closed = this.#openBoxes().filter((box) => box.depth === depth);
      const inside = closed.reduce((sum, {children}) => sum + children.length, 0);
      const left = this.boxOfOp.size + this.boxOfGroup.size - this.#openBoxes().length - 1 - inside + closed.length;
      if (left < FEWEST_LEFT) break;
      for (const {item} of closed) this.setOpen(-1 - item, false);
      this.place();
    }
  }

  /** But for the whole. */
  #openBoxes() {
    return [...this.boxOfGroup.values()].filter(({open, parent}) => open && parent !== null);
  }

  /** The box that an op is drawn in: its own, or that of the innermost group that is drawn. */
  boxFor(op) {
    if (this.boxOfOp.has(op)) return this.boxOfOp.get(op);
    for (let group = this.shownOf[this.model.nodeOf[op]]; group >= 0; group = this.upOf[group]) {
      if (this.boxOfGroup.has(group)) return this.boxOfGroup.get(group);
    }
    return this.root;
  }

  /** Of the last run of an edge, [dx, dy]. */
  directionOf({points}) {
    const [[ax, ay], [bx, by]] = points.slice(-2);
    return [Math.sign(bx - ax), Math.sign(by - ay)];
  }

  // What the user opens ------------------------------------------------------------------------------------------------

  #forget(group) {
    for (; group >= 0; group = this.parentGroup(group)) {
      this.layouts.delete(group);
      this.given.delete(group);
    }
  }

  setOpen(group, open) {
    if (group === 0 || this.open.has(group) === open) return;
    if (open) this.open.add(group);
    else this.open.delete(group);
    this.#forget(group);
  }

  showCopy(repeat, index) {
    if ((this.copy.get(repeat) ?? 0) === index) return;
    this.copy.set(repeat, index);
    this.#forget(repeat);
  }

  /** Opens what is around an op or a node, and shows its copies of repeats. */
  reveal(item) {
    const {items, parent} = this.#outline;
    let child = item;
    let node = item >= 0 ? this.model.nodeOf[item] : parent[-1 - item];
    for (; node >= 0; child = -1 - node, node = parent[node]) {
      if (this.#isRepeat(node)) this.showCopy(node, Math.max(0, items[node].indexOf(child)));
      this.setOpen(this.shown(node), true);
    }
  }
}
