// A plan of the document, with what the panels ask of it found once. Ids are those of the document's columns.

export const PHASES = ["forward", "backward", "optimizer"];
export const ROLES = ["activation", "input", "parameter"];

export class Model {
  /** @param {object} plan one entry of the document's `plans`; `index`: which. */
  constructor(plan, index = 0) {
    Object.assign(this, plan);
    this.index = index;
    this.bare = plan.head.bare;
    this.numOps = this.graph.ops.name.length;
    this.numTensors = this.graph.tensors.name.length;
    this.#findNeighbours();
    this.#findPlaces();
  }

  opName(op) {
    return this.graph.ops.name[op];
  }

  opType(op) {
    return this.graph.op_types[this.graph.ops.type[op]];
  }

  /** What people call a tensor: its name, and its module beside it. */
  tensorLabel(tensor) {
    const name = this.graph.tensors.name[tensor];
    const label = this.graph.texts[this.graph.tensors.label[tensor]];
    return label === "" || label === name ? name : `${name} (${label})`;
  }

  /** "f32[8,1024]" */
  typeText(tensor) {
    const {dtype, shape} = this.graph.types[this.graph.tensors.type[tensor]];
    return `${dtype}[${shape.map((size) => (size < 0 ? "?" : size)).join(",")}]`;
  }

  shapeOf(tensor) {
    return this.graph.types[this.graph.tensors.type[tensor]].shape;
  }

  record(op) {
    return this.bare ? null : this.decisions.records[this.decisions.of_op[op]];
  }

  layoutText(layout) {
    return layout < 0 ? "unknown" : this.decisions.layouts[layout].text;
  }

  #findNeighbours() {
    const {inputs, outputs} = this.graph.ops;
    this.producer = new Int32Array(this.numTensors).fill(-1);
    this.readers = Array.from({length: this.numTensors}, () => []);
    for (let op = 0; op < this.numOps; ++op) {
      for (const tensor of outputs[op]) if (tensor >= 0) this.producer[tensor] = op;
      for (const tensor of inputs[op]) if (tensor >= 0) this.readers[tensor].push(op);
    }
    this.transitionsOf = new Map();  // tensor -> transitions
    this.feeding = new Map();        // op -> [transition per operand, undefined: none]
    if (this.bare) return;
    const {tensor, consumers} = this.transitions;
    for (let t = 0; t < tensor.length; ++t) {
      if (!this.transitionsOf.has(tensor[t])) this.transitionsOf.set(tensor[t], []);
      this.transitionsOf.get(tensor[t]).push(t);
      for (const [op, operand] of consumers[t]) {
        if (!this.feeding.has(op)) this.feeding.set(op, []);
        this.feeding.get(op)[operand] = t;
      }
    }
  }

  /** Of each op the outline's node that holds it. */
  #findPlaces() {
    this.nodeOf = new Int32Array(this.numOps);
    this.outline.items.forEach((items, node) => {
      for (const item of items) if (item >= 0) this.nodeOf[item] = node;
    });
  }

  /** The ops of a node of the outline and of all below it, in the order of its items. */
  opsOf(node) {
    const ops = [];
    const open = [node];
    while (open.length > 0) {
      const next = open.pop();
      if (next >= 0 && typeof next === "number") {
        const items = this.outline.items[next];
        for (let i = items.length - 1; i >= 0; --i) open.push(items[i] >= 0 ? {op: items[i]} : -1 - items[i]);
      } else {
        ops.push(next.op);
      }
    }
    return ops;
  }
}
