// The tree of scopes with a size per node, repeated layers as one or one by one; children are made when asked for.

const OUTLINE_REPEAT = 2;  // kind of an outline's node

/**
 * A node: {label, path, nodes (equal nodes of the outline that it stands for, [] for an op), ops (equal ops, for an op),
 * copies, parent, size, part}. `size` and `part` are sums over all that it stands for; part is the share of the size that
 * is hatched.
 */
export class ScopeTree {
  /** `sizes`, `parts`: per op. */
  constructor(model, sizes, parts, folded) {
    this.model = model;
    this.sizes = sizes;
    this.parts = parts;
    this.folded = folded;
    const {outline} = model;
    this.sums = this.#sumNodes(sizes);
    this.partSums = this.#sumNodes(parts);
    this.root = {label: model.head.name || "model", path: "", nodes: [0], ops: [], copies: 1, parent: null,
      size: this.sums[0], part: this.partSums[0]};
    this.isRepeat = (node) => outline.kind[node] === OUTLINE_REPEAT;
    this.known = new Map([["0", this.root]]);
  }

  #sumNodes(values) {
    const {items, parent} = this.model.outline;
    const sums = new Float64Array(items.length);
    const depth = new Int32Array(items.length);
    items.forEach((list, node) => {
      for (const item of list) if (item >= 0) sums[node] += values[item];
      for (let up = parent[node]; up >= 0; up = parent[up]) ++depth[node];
    });
    const byDepth = [...sums.keys()].sort((a, b) => depth[b] - depth[a]);
    for (const node of byDepth) if (parent[node] >= 0) sums[parent[node]] += sums[node];
    return sums;
  }

  /** By size, largest first; those that take nothing are left out. */
  childrenOf(node) {
    node.children ??= this.#makeChildren(node).filter(({size}) => size > 0).sort((a, b) => b.size - a.size);
    return node.children;
  }

  #makeChildren(node) {
    const {items} = this.model.outline;
    const [first, ...others] = node.nodes;
    if (first === undefined) return [];
    // Equal copies list what corresponds at equal places.
    const alike = others.every((other) => items[other].length === items[first].length);
    if (!alike) return node.nodes.map((id) => this.#group([id], node));
    return items[first].map((item, place) => {
      const all = node.nodes.map((id) => items[id][place]);
      if (item >= 0) return this.#leaf(all, node);
      return this.#group(all.map((other) => -1 - other), node);
    });
  }

  #group(nodes, parent) {
    const {outline} = this.model;
    const [first] = nodes;
    const group = {label: outline.label[first], path: outline.path[first], nodes, ops: [], copies: nodes.length, parent, id: first};
    if (this.isRepeat(first) && this.folded) {
      group.nodes = nodes.flatMap((node) => outline.items[node].map((item) => -1 - item));
      group.copies = group.nodes.length;
      group.label = `${outline.label[first]} ×${group.nodes.length}`;
    }
    group.size = nodes.reduce((sum, node) => sum + this.sums[node], 0);
    group.part = nodes.reduce((sum, node) => sum + this.partSums[node], 0);
    return group;
  }

  #leaf(ops, parent) {
    const {model} = this;
    return {label: `${model.opType(ops[0])} ${model.opName(ops[0]).split("/").at(-1)}`, path: model.opName(ops[0]), nodes: [], ops,
      copies: ops.length, parent, size: ops.reduce((sum, op) => sum + this.sizes[op], 0),
      part: ops.reduce((sum, op) => sum + this.parts[op], 0)};
  }

  /** The first op that a node stands for, or -1. */
  firstOp(node) {
    if (node.ops.length > 0) return node.ops[0];
    let at = node.nodes[0];
    for (;;) {
      const item = this.model.outline.items[at]?.[0];
      if (item === undefined) return -1;
      if (item >= 0) return item;
      at = -1 - item;
    }
  }
}
