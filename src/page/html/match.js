// Two plans, op by op and tensor by tensor: what is the same thing in both, and what differs.
import {costsOf} from "./costs.js";

/** Pairs equal keys in their order: [index in b of each of a, and back]; -1: none. */
function pair(before, after, size) {
  const forth = new Int32Array(size[0]).fill(-1), back = new Int32Array(size[1]).fill(-1);
  return {forth, back, add(a, b) {
    forth[a] = b;
    back[b] = a;
  }, byKey(keyBefore, keyAfter) {
    const open = new Map();
    for (const b of after) {
      if (back[b] >= 0) continue;
      const key = keyAfter(b);
      if (!open.has(key)) open.set(key, []);
      open.get(key).push(b);
    }
    const next = new Map();
    for (const a of before) {
      if (forth[a] >= 0) continue;
      const key = keyBefore(a), at = next.get(key) ?? 0;
      const b = open.get(key)?.[at];
      if (b === undefined) continue;
      next.set(key, at + 1);
      this.add(a, b);
    }
  }};
}

const upTo = (size) => Array.from({length: size}, (_, index) => index);

/** Ops by name; those that are left by scope and type, in their order there. */
function matchOps([a, b]) {
  const pairs = pair(upTo(a.numOps), upTo(b.numOps), [a.numOps, b.numOps]);
  pairs.byKey((op) => a.opName(op), (op) => b.opName(op));
  const place = (model) => (op) => `${model.outline.path[model.nodeOf[op]]}\n${model.opType(op)}\n${model.graph.ops.phase[op]}`;
  pairs.byKey(place(a), place(b));
  return pairs;
}

/** Tensors by who writes them, else by name. */
function matchTensors([a, b], ops) {
  const pairs = pair(upTo(a.numTensors), upTo(b.numTensors), [a.numTensors, b.numTensors]);
  ops.forth.forEach((other, op) => {
    if (other < 0) return;
    const results = b.graph.ops.outputs[other];
    a.graph.ops.outputs[op].forEach((tensor, result) => {
      if (tensor >= 0 && results[result] >= 0) pairs.add(tensor, results[result]);
    });
  });
  pairs.byKey((tensor) => a.graph.tensors.name[tensor], (tensor) => b.graph.tensors.name[tensor]);
  return pairs;
}

/** Transitions of the same tensor between the same layouts. */
function matchTransitions([a, b], tensors) {
  const size = [a, b].map((model) => model.transitions?.tensor.length ?? 0);
  const pairs = pair(upTo(size[0]), upTo(size[1]), size);
  const key = (model, tensor) => (transition) => `${tensor(model.transitions.tensor[transition])} ` +
      `${model.layoutText(model.transitions.from[transition])} ${model.layoutText(model.transitions.to[transition])}`;
  pairs.byKey(key(a, (tensor) => tensors.forth[tensor]), key(b, (tensor) => tensor));
  return pairs;
}

function signatureText(model, record) {
  const texts = (layouts) => layouts.map((layout) => model.layoutText(layout)).join(", ");
  return `${texts(record.inputs)} → ${texts(record.outputs)}`;
}

const isNear = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));

/**
 * What differs between the plans of a page, found once. Rows: {kind ("layouts", "type", "time", "added", "removed",
 * "collective added", "collective removed"), of ("op", "transition"), ids: [in before, in after] (-1: not there),
 * change (seconds, after less before)}; the largest change first.
 */
export class Comparison {
  constructor(models) {
    this.models = models;
    this.ops = matchOps(models);
    this.tensors = matchTensors(models, this.ops);
    this.transitions = matchTransitions(models, this.tensors);
    this.scopes = pair(upTo(models[0].outline.path.length), upTo(models[1].outline.path.length),
        models.map((model) => model.outline.path.length));
    this.scopes.byKey((node) => models[0].outline.path[node], (node) => models[1].outline.path[node]);
    this.rows = [...this.#opRows(), ...this.#transitionRows()]
        .sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || Math.max(...a.ids) - Math.max(...b.ids));
    this.changed = [new Set(), new Set()];  // ops of each plan, as changedOps says
    for (const {of, kind, ids} of this.rows) {
      if (kind === "time") continue;
      ids.forEach((id, plan) => {
        const op = id < 0 || of === "op" ? id : costsOf(models[plan]).owner[id];
        if (op >= 0) this.changed[plan].add(op);
      });
    }
  }

  /** The same thing in the other plan: a selection, or null. */
  counterpart({kind, id, plan}) {
    const pairs = {op: this.ops, tensor: this.tensors, transition: this.transitions, scope: this.scopes}[kind];
    const other = (plan === 0 ? pairs.forth : pairs.back)[id];
    return other === undefined || other < 0 ? null : {kind, id: other, plan: 1 - plan};
  }

  /** Layouts of records, compared by their texts: numbers are of one plan only. */
  #differs(recordBefore, recordAfter, known) {
    const [a, b] = this.models;
    const key = recordBefore * 4294967296 + recordAfter;
    if (!known.has(key)) {
      known.set(key, signatureText(a, a.decisions.records[recordBefore]) !== signatureText(b, b.decisions.records[recordAfter]));
    }
    return known.get(key);
  }

  #opRows() {
    const [a, b] = this.models;
    const [before, after] = this.models.map((model) => costsOf(model).kernels);
    const known = new Map();
    const bare = a.bare || b.bare;
    const rows = [];
    this.ops.forth.forEach((other, op) => {
      const row = {of: "op", ids: [op, other], change: (other < 0 ? 0 : after[other]) - before[op]};
      if (other < 0) rows.push({...row, kind: "removed"});
      else if (a.opType(op) !== b.opType(other)) rows.push({...row, kind: "type"});
      else if (!bare && this.#differs(a.decisions.of_op[op], b.decisions.of_op[other], known)) rows.push({...row, kind: "layouts"});
      else if (!isNear(before[op], after[other])) rows.push({...row, kind: "time"});
    });
    this.ops.back.forEach((other, op) => {
      if (other < 0) rows.push({of: "op", kind: "added", ids: [-1, op], change: after[op]});
    });
    return rows;
  }

  #transitionRows() {
    const [a, b] = this.models;
    const cost = (model, transition) => model.transitions.seconds[transition] * model.transitions.runs[transition];
    const rows = [];
    this.transitions.forth.forEach((other, transition) => {
      const ids = [transition, other];
      if (other < 0) rows.push({of: "transition", kind: "collective removed", ids, change: -cost(a, transition)});
      else if (!isNear(cost(a, transition), cost(b, other))) {
        rows.push({of: "transition", kind: "time", ids, change: cost(b, other) - cost(a, transition)});
      }
    });
    this.transitions.back.forEach((other, transition) => {
      if (other < 0) rows.push({of: "transition", kind: "collective added", ids: [-1, transition], change: cost(b, transition)});
    });
    return rows;
  }
}

const comparisons = new WeakMap();

function comparisonBetween(models) {
  if (!comparisons.has(models[0])) comparisons.set(models[0], new Comparison(models));
  return comparisons.get(models[0]);
}

/** Of a page of two plans; null of one. */
export function comparisonOf(page) {
  return page.models.length < 2 ? null : comparisonBetween(page.models);
}

/** Ops of a plan of two whose layouts or type differ in the other, that it lacks, or that need other collectives. */
export function changedOps(model) {
  const {other, index} = model;
  if (!other) return new Set();
  return comparisonBetween(index === 0 ? [model, other] : [other, model]).changed[index];
}

const changes = new WeakMap();

/**
 * Per op of a plan of two: what the ops that are the same in both take (all prices), after less before; one that the
 * other plan lacks counts whole. Zeros in a page of one plan.
 */
export function changeOfOps(model) {
  if (!changes.has(model)) changes.set(model, findChanges(model));
  return changes.get(model);
}

function findChanges(model) {
  const {other, index} = model;
  if (!other || model.bare || other.bare) return new Float64Array(model.numOps);
  const {ops} = comparisonBetween(index === 0 ? [model, other] : [other, model]);
  const pairs = index === 0 ? ops.forth : ops.back;
  const theirs = costsOf(other).all;
  return costsOf(model).all.map((mine, op) => (mine - (pairs[op] < 0 ? 0 : theirs[pairs[op]])) * (index === 0 ? -1 : 1) + 0);
}
