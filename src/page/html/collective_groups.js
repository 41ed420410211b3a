// Collectives that are alike, as repeated layers make them, and the pins that would remove them.
import {isLocalKind} from "./costs.js";

const groupsMade = new WeakMap();

/**
 * Equal collectives of equal tensors, dearest first, as repeated layers make them (report/facts.h, GroupCollectives).
 * `seconds` are of collectives, `local` of the slices and copies between them.
 */
export function collectiveGroups(model) {
  if (!groupsMade.has(model)) groupsMade.set(model, makeGroups(model));
  return groupsMade.get(model);
}

function makeGroups(model) {
  const {transitions} = model;
  const groups = new Map();
  transitions.steps.forEach((steps, t) => {
    if (steps.every(([kind]) => isLocalKind(transitions.kinds[kind].name))) return;
    const key = JSON.stringify([transitions.from[t], transitions.to[t], steps.map(([kind, axis]) => [kind, axis]),
      model.graph.tensors.type[transitions.tensor[t]], transitions.seconds[t]]);
    if (!groups.has(key)) groups.set(key, {first: t, members: [], count: 0, seconds: 0, local: 0, exposed: 0, bytes: 0});
    const group = groups.get(key);
    const times = transitions.runs[t];
    group.members.push(t);
    group.count += times;
    for (const [kind, , seconds] of steps) group[isLocalKind(transitions.kinds[kind].name) ? "local" : "seconds"] += times * seconds;
    group.exposed += transitions.exposed[t];
    group.bytes += times * transitions.wire_bytes[t];
  });
  return [...groups.values()].sort((a, b) => b.seconds - a.seconds || a.first - b.first);
}

/** What would remove each group, of `removals` (src/page/removals_section.cc); null: it was not looked at. */
export function removalsOf(model, groups) {
  const known = new Map((model.removals ?? []).map((row) => [row.transition, row]));
  return groups.map(({members}) => known.get(members.find((transition) => known.has(transition))) ?? null);
}

/** Of a transition, or of one that is alike; null: nothing was looked for. */
export function removalFor(model, transition) {
  const group = collectiveGroups(model).find(({members}) => members.includes(transition));
  return group === undefined ? null : removalsOf(model, [group])[0];
}
