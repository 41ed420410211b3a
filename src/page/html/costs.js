// Where the seconds of a step go, per op, such that sums over ops are the plan's totals.

const cachedCosts = new WeakMap();

/**
 * Columns per op, in seconds of a step: compute (its own), local (slices and copies for it), cut (what kernels cost
 * more since layouts cut them), kernels (compute and cut), all (of the prices, nothing overlapped), exposed (its collectives, while nothing is computed), wire (all of its collectives);
 * collectives (how many). A transition counts for the first op that reads what it makes, else for the producer.
 * `rest`: the same sums of transitions of inputs that no op reads. `owner`: the op per transition, -1: none.
 */
export function costsOf(model) {
  if (!cachedCosts.has(model)) cachedCosts.set(model, findCosts(model));
  return cachedCosts.get(model);
}

function findCosts(model) {
  const column = () => new Float64Array(model.numOps);
  const costs = {compute: model.opSeconds(), local: column(), cut: column(), exposed: column(), wire: column(),
    collectives: column(), moved: column(), rest: {local: 0, cut: 0, exposed: 0, wire: 0, collectives: 0, moved: 0}};
  if (model.bare) return {...costs, kernels: column(), all: column(), owner: new Int32Array(0)};
  const {tensor, consumers, steps, runs, cut, exposed} = model.transitions;
  const {kinds} = model.transitions;
  const owner = new Int32Array(tensor.length);
  for (let t = 0; t < tensor.length; ++t) {
    const op = consumers[t].length > 0 ? consumers[t][0][0] : model.producer[tensor[t]];
    owner[t] = op;
    const add = (name, value) => {
      if (op >= 0) costs[name][op] += value;
      else costs.rest[name] += value;
    };
    for (const [kind, , seconds, wireBytes] of steps[t]) {
      const local = isLocalKind(kinds[kind].name);
      add(local ? "local" : "wire", seconds * runs[t]);
      if (local) continue;
      add("collectives", runs[t]);
      add("moved", wireBytes * runs[t]);
    }
    add("cut", cut[t] * runs[t]);
    add("exposed", exposed[t]);
  }
  const kernels = costs.compute.map((seconds, op) => seconds + costs.cut[op]);
  return {...costs, kernels, all: kernels.map((seconds, op) => seconds + costs.local[op] + costs.wire[op]), owner};
}

/**
 * Seconds that the plan foretells for an op in a run that was traced, `trace.micro_batches` of them: once for each in
 * which it runs. Of a step that accumulates, what has one run (the update) is traced once.
 */
export function foretold(model, op) {
  const once = costsOf(model).kernels[op] / model.schedule.runs[op];
  return once * tracedRuns(model, op);
}

export function tracedRuns({trace, head, schedule}, op) {
  return head.micro_batches > 1 && schedule.runs[op] === 1 ? 1 : trace.micro_batches;
}

/** Slices and copies that move nothing between devices are no collectives. */
export function isLocalKind(name) {
  return name === "slice" || name === "fill" || name === "pad";
}

export function sumOf(column) {
  let sum = 0;
  for (const value of column) sum += value;
  return sum;
}

/** "reduce-scatter over model, then slice over data" */
export function stepsText(model, transition) {
  const {steps, kinds} = model.transitions;
  return steps[transition].map(([kind, axis]) => `${kinds[kind].name} over ${model.head.mesh.axes[axis][0]}`).join(", then ");
}

/** "all-gather of x" for people: what a transition does, to which tensor. */
export function boxingTitle(model, transition) {
  return `${stepsText(model, transition)} of ${model.tensorLabel(model.transitions.tensor[transition])}`;
}
