// What runs when, as rows of intervals: the plan's schedule, and a trace beside it.
import {isLocalKind, boxingTitle} from "./costs.js";
import {threeDigits} from "./format.js";
import {PHASES} from "./model.js";

/**
 * Intervals in ascending order of start: start, end (seconds), op (-1: none), transition (-1: none), step. `label` of a
 * row; `kind`: index of a collective kind, or -1; `part`: which micro-batches.
 */
class IntervalRow {
  constructor(label, kind, group) {
    this.label = label;
    this.kind = kind;
    this.group = group;
    this.factor = 1;
    this.isExposed = false;
    this.start = [];
    this.end = [];
    this.op = [];
    this.transition = [];
    this.step = [];
    this.part = [];
  }

  /** `part`: of the micro-batches that are drawn one by one; -1: of all, or of the step. */
  add(start, end, op, transition, step, part = -1) {
    this.start.push(start);
    this.end.push(end);
    this.op.push(op);
    this.transition.push(transition);
    this.step.push(step);
    this.part.push(part);
  }

  sorted() {
    const order = this.start.map((_, i) => i).sort((a, b) => this.start[a] - this.start[b] || this.end[a] - this.end[b]);
    for (const column of ["start", "end", "op", "transition", "step", "part"]) this[column] = order.map((i) => this[column][i]);
    // Ends may fall where intervals overlap: the latest so far, to search by.
    let last = 0;
    this.latest = this.end.map((end) => (last = Math.max(last, end)));
    return this;
  }

  /** The first interval that ends after `time`, or may. */
  firstAfter(time) {
    let low = 0;
    let high = this.latest.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.latest[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The interval at a time, or within `slack` of it; -1: none. */
  at(time, slack) {
    let best = -1;
    let least = slack;
    for (let i = this.firstAfter(time - slack); i < this.start.length && this.start[i] <= time + slack; ++i) {
      const far = Math.max(this.start[i] - time, time - this.end[i], 0);
      if (far < least || (far === 0 && least === 0)) [best, least] = [i, far];
    }
    return best;
  }
}

/** Merged intervals, ascending: [[start, end]]. */
function unionOf(intervals) {
  intervals.sort((a, b) => a[0] - b[0]);
  const union = [];
  for (const [start, end] of intervals) {
    const last = union.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else if (end > start) union.push([start, end]);
  }
  return union;
}

/** What of `intervals` lies outside of `cover`; both merged. */
export function intervalsOutside(intervals, cover) {
  const outside = [];
  let c = 0;
  for (const [from, end] of intervals) {
    let start = from;
    while (c < cover.length && cover[c][1] <= start) ++c;
    for (let k = c; k < cover.length && cover[k][0] < end && start < end; ++k) {
      if (cover[k][0] > start) outside.push([start, cover[k][0]]);
      start = Math.max(start, cover[k][1]);
    }
    if (start < end) outside.push([start, end]);
  }
  return outside;
}

/** Rows of one device: compute, a row per kind of collective, and what of these is exposed. */
class RowsOfDevice {
  constructor(model, group) {
    this.model = model;
    this.group = group;
    this.compute = new IntervalRow("compute", -1, group);
    this.byKind = new Map();
    this.busy = [];
    this.sent = [];
  }

  addOp(start, end, op, part = -1) {
    if (end <= start) return;
    this.compute.add(start, end, op, -1, -1, part);
    this.busy.push([start, end]);
  }

  addStep(start, end, transition, step, part = -1) {
    const {kinds, steps} = this.model.transitions;
    const [kind] = steps[transition][step];
    if (end <= start) return;
    if (isLocalKind(kinds[kind].name)) {
      this.compute.add(start, end, -1, transition, step, part);
      this.busy.push([start, end]);
      return;
    }
    if (!this.byKind.has(kind)) this.byKind.set(kind, new IntervalRow(kinds[kind].name, kind, this.group));
    this.byKind.get(kind).add(start, end, -1, transition, step, part);
    this.sent.push([start, end]);
  }

  /** A neighbours' exchange of an op. */
  addHalo(start, end, op) {
    const kind = this.model.transitions.kinds.findIndex(({name}) => name === "send-recv");
    if (!this.byKind.has(kind)) this.byKind.set(kind, new IntervalRow("send-recv", kind, this.group));
    this.byKind.get(kind).add(start, end, op, -1, -1);
    this.sent.push([start, end]);
  }

  finish() {
    const exposed = new IntervalRow("exposed", -1, this.group);
    for (const [start, end] of intervalsOutside(unionOf(this.sent), unionOf(this.busy))) exposed.add(start, end, -1, -1, -1);
    exposed.isExposed = true;
    const kinds = [...this.byKind].sort(([a], [b]) => a - b).map(([, row]) => row);
    return [this.compute, ...kinds, ...(this.sent.length > 0 ? [exposed] : [])].map((row) => row.sorted());
  }
}

/**
 * The rows of the plan's own schedule; its times are drawn `factor` times as long. `apart`: each micro-batch on its own,
 * where the page holds that.
 */
export function predictedRows(model, {factor = 1, apart = false} = {}) {
  const group = model.trace ? "plan, each device" : "each device";
  const rows = new RowsOfDevice(model, factor === 1 ? group : `${group}, stretched × ${threeDigits(factor)}`);
  if (apart) addMicroBatches(model.schedule.micro_batches, factor, rows);
  else addWholeStep(model, factor, rows);
  const finished = rows.finish();
  for (const row of finished) row.factor = factor;
  return finished;
}

function addWholeStep(model, factor, rows) {
  const {start, end} = model.schedule;
  for (let op = 0; op < model.numOps; ++op) rows.addOp(start[op] * factor, end[op] * factor, op);
  model.transitions.steps.forEach((steps, t) => steps.forEach(([, , , , from, to], s) => rows.addStep(from * factor, to * factor, t, s)));
}

function addMicroBatches({op, transition, step, part, start, end}, factor, rows) {
  for (let i = 0; i < op.length; ++i) {
    if (op[i] >= 0) rows.addOp(start[i] * factor, end[i] * factor, op[i], part[i]);
    else rows.addStep(start[i] * factor, end[i] * factor, transition[i], step[i], part[i]);
  }
}

/** First and last micro-batch of a part, counted from 1, and how many there are. */
function partRange(batches, part) {
  const {counts} = batches;
  const before = numBatches({counts: counts.slice(0, part)});
  return [before + 1, before + counts[part], numBatches(batches)];
}

/** "micro-batch 3 of 8", "micro-batches 5 to 63 of 64, drawn as one", of a part. */
export function partTitle(batches, part) {
  const [first, last, all] = partRange(batches, part);
  return first === last ? `micro-batch ${first} of ${all}` : `micro-batches ${first} to ${last} of ${all}, drawn as one`;
}

/** The same in a word. */
export function partSign(batches, part) {
  const [first, last] = partRange(batches, part);
  return first === last ? `µ${first}` : `µ${first}–${last}`;
}

const LEAST_GAP = 24;  // pixels between lines of micro-batches

/**
 * Which parts have a line and where their texts stand, from `low` to `high` pixels: every second, fourth, ... part alone
 * where they are narrow, and what is folded and the last one always. Parts: {x, end, text, isFolded}, in order;
 * `measure`: a text's width. Returns {x, text, place}; place is null where there is no room for the text.
 */
export function placeParts(parts, low, high, measure) {
  const widths = parts.filter(({isFolded}) => !isFolded).slice(0, -1).map(({x, end}) => end - x);
  const narrowest = Math.max(1e-3, Math.min(LEAST_GAP, ...widths));
  const stride = 2 ** Math.ceil(Math.log2(LEAST_GAP / narrowest));
  const isPlaced = ({x, end, isFolded}, i) => end > low && x < high && (isFolded || i === parts.length - 1 || i % stride === 0);
  let free = high;  // from the right: the last ones, which are few, go first
  return parts.filter(isPlaced).reverse().map(({x, text}) => {
    const wide = measure(text);
    let place = Math.max(x, low) + 3;
    if (free === high && place + wide > high) place = x - wide - 3;  // before its line, rather than cut
    if (place < low || place + wide > free) return {x, text, place: null};
    free = Math.min(x, place) - 9;
    return {x, text, place};
  });
}

/** How often an op ("op") or a transition runs among the micro-batches that the schedule tells apart. */
export function runsApart({schedule, transitions}, kind, id) {
  const runs = (kind === "op" ? schedule : transitions).runs[id];
  return schedule.micro_batches?.physical ? numBatches(schedule.micro_batches) : runs;
}

export function numBatches({counts}) {
  return counts.reduce((sum, number) => sum + number, 0);
}

/** When each part begins and ends: of what runs in every micro-batch. */
export function partTimes(model) {
  const {counts, part, op, transition, start, end} = model.schedule.micro_batches;
  const times = counts.map(() => ({start: Infinity, end: 0}));
  part.forEach((at, i) => {
    if ((op[i] >= 0 ? runsApart(model, "op", op[i]) : runsApart(model, "transition", transition[i])) === 1) return;
    times[at].start = Math.min(times[at].start, start[i]);
    times[at].end = Math.max(times[at].end, end[i]);
  });
  return times;
}

/**
 * When an op, or a step of a transition, runs: {start, end, part (of the micro-batches, -1: as one task of them all)}, one
 * for each part.
 */
export function timesOf(model, kind, id, step = -1) {
  const {schedule, transitions} = model;
  const apart = schedule.micro_batches;
  if (apart && runsApart(model, kind, id) > 1) {
    return apart[kind].flatMap((of, i) => (of === id && apart.step[i] === step ? [{start: apart.start[i], end: apart.end[i], part: apart.part[i]}] : []));
  }
  if (kind === "op") return [{start: schedule.start[id], end: schedule.end[id], part: -1}];
  const [, , , , start, end] = transitions.steps[id][step];
  return [{start, end, part: -1}];
}

/** The rows of one device of the trace. */
export function tracedRows(model, device) {
  const {events, kind} = model.trace;
  const rows = new RowsOfDevice(model, `trace, ${kind}, device ${device}`);
  for (let i = 0; i < events.device.length; ++i) {
    if (events.device[i] !== device) continue;
    const [from, to] = [events.start[i], events.end[i]];
    if (events.transition[i] >= 0) rows.addStep(from, to, events.transition[i], events.step[i]);
    else if (events.stream[i] === 1) rows.addHalo(from, to, events.op[i]);
    else rows.addOp(from, to, events.op[i]);
  }
  return rows.finish();
}

/** Seconds that the intervals of a row take. */
export function rowSeconds(row) {
  let sum = 0;
  for (let i = 0; i < row.start.length; ++i) sum += row.end[i] - row.start[i];
  return sum / row.factor;
}

/** Of a path the end, which tells neighbours apart. */
function endOfPath(name) {
  return name.split("/").slice(-3).join("/");
}

/** What an interval is called, in full and in short, and when it is: {title, short, phase}. */
export function intervalFacts(model, row, i) {
  if (row.isExposed) return {title: "exposed communication: nothing is computed meanwhile", short: "", phase: ""};
  const [op, transition] = [row.op[i], row.transition[i]];
  if (op >= 0) {
    const what = `${row.kind >= 0 ? "neighbours' elements for " : ""}${model.opType(op)}`;
    return {title: `${what} ${model.opName(op)}`, short: `${what} ${endOfPath(model.opName(op))}`, phase: PHASES[model.graph.ops.phase[op]]};
  }
  const reader = model.transitions.consumers[transition][0]?.[0] ?? -1;
  const tensor = model.graph.tensors.name[model.transitions.tensor[transition]];
  return {title: boxingTitle(model, transition), short: endOfPath(tensor), phase: reader < 0 ? "end of the step" : PHASES[model.graph.ops.phase[reader]]};
}
