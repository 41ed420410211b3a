// A plan of the document, with what the panels ask of it found once. Ids are those of the document's columns.

export const PHASES = ["forward", "backward", "optimizer"];
export const ROLES = ["activation", "input", "parameter"];

/** A name that says where it stands. */
function isPath(name) {
  return /[/.]/.test(name);
}

export class Model {
  // Sections of the document, as src/page/sections.h says.
  head; graph; outline; layout; decisions; transitions; memory; schedule; traffic; removals; trace; explain;
  other = null;  // of a page of two plans: the other one

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

  /** The scope of an op whose name does not tell it; "": none. */
  scopeBeside(op) {
    return isPath(this.opName(op)) ? "" : this.graph.texts[this.graph.ops.scope[op]];
  }

  /** What stands beside a tensor's name: the module of a parameter, the scope of its producer; "": nothing. */
  besideTensor(tensor) {
    const {name, label} = this.graph.tensors;
    const module = this.graph.texts[label[tensor]];
    if (module !== "") return module === name[tensor] ? "" : module;
    return this.producer[tensor] < 0 || isPath(name[tensor]) ? "" : this.scopeBeside(this.producer[tensor]);
  }

  /** "f32[8,1024]" */
  typeText(tensor) {
    const {dtype, shape} = this.graph.types[this.graph.tensors.type[tensor]];
    return `${dtype}[${shape.map((size) => (size < 0 ? "?" : size)).join(",")}]`;
  }

  shapeOf(tensor) {
    return this.graph.types[this.graph.tensors.type[tensor]].shape;
  }

  /** Does a transition (undefined: none) send anything? What is local only copies. */
  movesData(transition) {
    return transition !== undefined &&
        this.transitions.steps[transition].some(([kind]) => !this.transitions.kinds[kind].is_local);
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

  /** The nodes of the outline, each before its parent. */
  deepestFirst() {
    return this.#column("nodes", () => {
      const order = [0];
      for (let i = 0; i < order.length; ++i) {
        for (const item of this.outline.items[order[i]]) if (item < 0) order.push(-1 - item);
      }
      return order.reverse();
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

  // Columns of ops, made when first asked for ------------------------------------------------------------------------

  #columns = new Map();
  #column(name, make) {
    if (!this.#columns.has(name)) this.#columns.set(name, make());
    return this.#columns.get(name);
  }

  /** Seconds of compute in a step, without what kernels cost more where layouts cut them (costs.js). */
  opSeconds() {
    return this.#column("seconds", () => Float64Array.from({length: this.numOps},
        (_, op) => (this.bare ? 0 : this.decisions.seconds[op] * (this.schedule.runs[op] ?? 1))));
  }

  /** Of a whole tensor; 0 where a size is open. */
  tensorBytes(tensor) {
    return this.#column("types", () => this.graph.types.map(({dtype, shape}) => {
      const known = {bool: 8, f8: 8, f4: 4}[/^(bool|f8|f4)/.exec(dtype)?.[0]];
      const bits = known ?? Number(/\d+/.exec(dtype)?.[0] ?? 0);
      return shape.reduce((product, size) => product * Math.max(size, 0), bits / 8);
    }))[this.graph.tensors.type[tensor]];
  }

  /** Of whole results. */
  opBytes() {
    const known = (tensor) => tensor >= 0 && this.shapeOf(tensor).every((extent) => extent >= 0);
    return this.#column("bytes", () => Float64Array.from(this.graph.ops.outputs.map(
        (tensors) => tensors.reduce((sum, tensor) => sum + (known(tensor) ? this.tensorBytes(tensor) : 0), 0))));
  }

  /** Position in the step at which a device holds most. */
  peakPosition() {
    return this.#column("peak", () => {
      const {bytes, first, last} = this.memory.lifetimes;
      const change = new Float64Array(this.memory.op_at.length + 2);
      for (let i = 0; i < bytes.length; ++i) {
        change[Math.max(first[i], 0)] += bytes[i];
        change[Math.min(last[i] + 1, change.length - 1)] -= bytes[i];
      }
      let held = 0;
      let most = -1;
      let at = 0;
      change.forEach((more, position) => {
        held += more;
        if (held > most) [most, at] = [held, position];
      });
      return at;
    });
  }

  /** Bytes that a device holds, at the peak, of what each op made. */
  opHeld() {
    return this.#column("held", () => {
      const column = new Float64Array(this.numOps);
      if (this.bare) return column;
      const {bytes, first, last, tensor} = this.memory.lifetimes;
      const peak = this.peakPosition();
      for (let i = 0; i < bytes.length; ++i) {
        const op = tensor[i] >= 0 ? this.producer[tensor[i]] : -1;
        if (op >= 0 && first[i] <= peak && peak <= last[i]) column[op] += bytes[i];
      }
      return column;
    });
  }

  /** Of the whole op, in a step. */
  opFlops() {
    return this.#column("flops", () => Float64Array.from({length: this.numOps},
        (_, op) => (this.decisions?.flops?.[op] ?? 0) * (this.schedule?.runs[op] ?? 1)));
  }

  /** Flops per second that all devices could reach for the op's element type; 0: none is known. */
  opPeak() {
    return this.#column("peaks", () => {
      const devices = this.bare ? 0 : this.head.mesh.axes.reduce((product, [, size]) => product * size, 1);
      return Float64Array.from({length: this.numOps},
          (_, op) => devices * (this.decisions?.peaks?.[this.decisions.peak_of[op]] ?? 0));
    });
  }
}
