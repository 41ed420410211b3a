// What is said of a whole plan wherever it is named: what it is called, its figures, what is wrong with it.
import {el} from "./dom.js";
import {bytes, counted, seconds} from "./format.js";

const GAP_HINT = "how far the step may be from the shortest that any plan takes, at most";

/** "dp=4, ep=4" */
export function meshText({mesh}) {
  return mesh.axes.map(([name, size]) => `${name}=${size}`).join(", ");
}

/** What tells a plan from another one, in the order in which it is said. */
const TELLING = [({file}) => file, ({strategy}) => strategy, (head) => (head.mesh === null ? "no plan" : meshText(head)), ({title}) => title];

/** The model's name; of a page of two plans what differs: "a.json, greedy". */
export function planLabel({head, other}) {
  const telling = other === null ? [] : TELLING.filter((tell) => tell(head) !== tell(other.head)).map((tell) => tell(head));
  return telling.filter((text) => text).join(", ") || head.title;
}

/** The plan's physical plan in words; null: it has none. */
export function physicalText({memory}) {
  const physical = memory?.physical;
  if (!physical) return null;
  const {arena_bytes: arena, micro_batches: number, registers, tasks} = physical;
  return `arena of ${bytes(arena)} on each device for ${registers} registers; ${tasks} tasks run in ${
    number === 1 ? "one micro-batch" : `each of ${number} micro-batches`}`;
}

/** For charts; `drawsOne`: they draw tensors and ops of one run. Null: there is no physical plan. */
export function physicalNote(model, drawsOne = true) {
  const text = physicalText(model);
  if (text === null) return null;
  const drawn = drawsOne && model.memory.physical.micro_batches > model.head.micro_batches ? "One run of the ops is drawn. " : "";
  return el("p", {class: "hint physical"}, `${drawn}The physical plan: ${text}.`);
}

/** Why a plan does not fit, in words; null: it does. */
export function misfitText(model) {
  if (model.bare) return null;
  const {peak_bytes: peak, physical, limit_bytes: limit, device_bytes: device} = model.memory;
  const room = limit ?? device;
  const [name, most] = (physical?.arena_bytes ?? 0) > peak ? ["arena", physical.arena_bytes] : ["peak", peak];
  if (!(room > 0) || most <= room) return null;
  return `does not fit: ${name} ${bytes(most)}, ${limit === null ? model.head.cluster.device : "memory limit"} ${bytes(room)}`;
}

/** What was warned of, and what the plan could not do: that tensors are whole on all devices, that layouts are not those asked for. */
function warningsOf({bare, head}) {
  if (bare) return head.warnings;
  const number = (list, one, many) => (list.length === 0 ? [] : [list.length === 1 ? `1 ${one}` : `${list.length} ${many}`]);
  return [...head.warnings, ...number(head.replicated, "tensor is replicated for lack of a legal split", "tensors are replicated for lack of a legal split"),
    ...number(head.summary.conflicts, "layout is overridden", "layouts are overridden")];
}

export function warningsWord(model) {
  const {length} = warningsOf(model);
  return `${length} warning${length === 1 ? "" : "s"}`;
}

/** Those of a plan as they were printed; null: there are none. */
export function warningsList(model) {
  const warnings = warningsOf(model);
  return warnings.length === 0 ? null : el("ul", {class: "warnings"}, warnings.map((text) => el("li", {}, text)));
}

/** What a plan takes and, of a page of one, how far from the best it may be; two plans' names tell of meshes that differ. */
function figuresOf(model) {
  if (model.bare) return [`${counted(model.numOps, "op")}, no plan`];
  const {head, memory, schedule, other} = model;
  const isOne = other === null;
  return [`step ${seconds(schedule.summary.step)}`, isOne && head.gap !== "" ? `gap ${head.gap}` : null, `peak ${bytes(memory.peak_bytes)}`,
    isOne || other.bare ? meshText(head) : null].filter((text) => text !== null);
}

/** One line of a plan for the page's head: what is wrong, which is never cut, then its figures. `showAll`: of the warnings. */
export function planLine(model, showAll) {
  const misfit = misfitText(model);
  const figures = figuresOf(model);
  const warnings = warningsOf(model);
  return el("p", {class: "plan-line", title: figures.join(", ")},
      model.other === null ? null : el("b", {}, `${model.index === 0 ? "before" : "after"}: ${planLabel(model)}`),
      misfit === null ? null : el("strong", {class: "alert", title: misfit}, "does not fit", el("span", {class: "spelled"}, misfit.slice("does not fit".length))),
      warnings.length === 0 ? null :
        el("button", {type: "button", class: "plain", title: warnings.join("\n").slice(0, 2000), "aria-label": warningsWord(model), onclick: showAll}, `⚠ ${warnings.length}`, el("span", {class: "spelled"}, warningsWord(model).replace(/^\d+/, ""))),
      figures.map((text) => el("span", {title: text.startsWith("gap ") ? GAP_HINT : null}, text)));
}
