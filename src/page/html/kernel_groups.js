// Ops that run as one kernel. The plan's times stand at those that read and write memory; what is inside takes none.
import {costsOf} from "./costs.js";
import {seconds} from "./format.js";

const knownKernels = new WeakMap();

/** {members: group -> its ops, none: the ops that run no kernel}, found once. */
export function kernelGroups(model) {
  if (!knownKernels.has(model)) {
    const {of_op: ofOp, no_kernel: none} = model.decisions.kernels;
    const members = new Map();
    ofOp.forEach((group, op) => {
      if (!members.has(group)) members.set(group, []);
      members.get(group).push(op);
    });
    knownKernels.set(model, {members, none: new Set(none)});
  }
  return knownKernels.get(model);
}

/** The group of an op that shares its kernel with others; -1: it has none. */
function sharedGroup(model, op) {
  const group = model.decisions.kernels.of_op[op] ?? -1;
  return group >= 0 && !kernelGroups(model).none.has(op) ? group : -1;
}

/** "light, of 9 ops, 26.5 us in all"; null: it shares its kernel with none. */
export function kernelText(model, op) {
  const group = sharedGroup(model, op);
  if (group < 0) return null;
  const {members, none} = kernelGroups(model);
  const ops = members.get(group).filter((other) => !none.has(other));
  const time = ops.reduce((sum, other) => sum + costsOf(model).kernels[other], 0);
  return `${model.decisions.kernels.kinds[group]}, of ${ops.length} ops, ${seconds(time)} in all`;
}

/** Of ops how many take no time, as others of their kernels have it. */
export function numInside(model, ops) {
  return ops.filter((op) => sharedGroup(model, op) >= 0 && costsOf(model).kernels[op] === 0).length;
}
