// What a device holds over a step: by the positions of its order, stacked by what it is for.

const knownCurves = new WeakMap();

/** Of a model the one that all ask, made when it is first asked for. */
export function memoryCurveOf(model) {
  if (!knownCurves.has(model)) knownCurves.set(model, new MemoryCurve(model));
  return knownCurves.get(model);
}

/**
 * `parts`: per part of `memory.parts`, bytes per position; `total`: their sum with the workspace; `times`: when the op at
 * a position runs, seconds from the start of the step, never falling; `peak`: the position of the peak.
 */
class MemoryCurve {
  constructor(model) {
    this.model = model;
    const {memory} = model;
    this.length = memory.op_at.length;
    this.parts = memory.parts.map(() => new Float64Array(this.length));
    this.#sweep(memory.lifetimes);
    this.total = new Float64Array(this.length);
    for (let p = 0; p < this.length; ++p) {
      this.total[p] = this.parts.reduce((sum, part) => sum + part[p], memory.workspace_bytes);
    }
    this.peak = model.peakPosition();
    this.times = this.#findTimes();
  }

  #sweep({bytes, first, last, part}) {
    const end = this.length;
    for (let i = 0; i < bytes.length; ++i) {
      if (first[i] >= end) continue;
      const sums = this.parts[part[i]];
      sums[first[i]] += bytes[i];
      if (last[i] + 1 < end) sums[last[i] + 1] -= bytes[i];
    }
    for (const sums of this.parts) for (let p = 1; p < end; ++p) sums[p] += sums[p - 1];
  }

  #findTimes() {
    const {start} = this.model.schedule;
    const times = new Float64Array(this.length);
    let now = 0;
    this.model.memory.op_at.forEach((op, p) => {
      if (op >= 0) now = Math.max(now, start[op]);
      times[p] = now;
    });
    return times;
  }

  /** Of the positions at which the op runs or is prepared, the one that holds most; -1: none. */
  positionOf(op) {
    let best = -1;
    this.model.memory.op_at.forEach((at, p) => {
      if (at === op && (best < 0 || this.total[p] > this.total[best])) best = p;
    });
    return best;
  }

  /** The last position whose time is no later. */
  positionAt(time) {
    let low = 0;
    let high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.times[middle] <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Of the positions `from` to `to` (not included) the one that holds most. */
  fullest(from, to) {
    let best = Math.min(from, this.length - 1);
    for (let p = best + 1; p < Math.min(to, this.length); ++p) if (this.total[p] > this.total[best]) best = p;
    return best;
  }

  /** The largest buffers that are alive at a position, as ids of lifetimes, and how many there are in all. */
  holders(position, most) {
    const {bytes, first, last} = this.model.memory.lifetimes;
    const found = [];
    let alive = 0;
    for (let i = 0; i < bytes.length; ++i) {
      if (bytes[i] === 0 || first[i] > position || last[i] < position) continue;
      ++alive;
      if (found.length === most && bytes[i] <= bytes[found[most - 1]]) continue;
      let at = found.length;
      while (at > 0 && bytes[found[at - 1]] < bytes[i]) --at;
      found.splice(at, 0, i);
      if (found.length > most) found.pop();
    }
    return {found, alive};
  }
}
