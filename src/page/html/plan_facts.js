// What is said of a whole plan wherever it is named: what it is called, its figures, what is wrong with it.
import {el} from "./dom.js";
import {bytes, seconds} from "./format.js";

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

export function warningsWord({head}) {
  return `${head.warnings.length} warning${head.warnings.length === 1 ? "" : "s"}`;
}

/** Those of a plan as they were printed; null: there are none. */
export function warningsList({head}) {
  return head.warnings.length === 0 ? null : el("ul", {class: "warnings"}, head.warnings.map((text) => el("li", {}, text)));
}

/** One line of a plan for the page's head: what is wrong, which is never cut, then step, peak, mesh. `showAll`: of the warnings. */
export function planLine(model, showAll) {
  const misfit = misfitText(model);
  const figures = model.bare ? [`${model.numOps} ops, no plan`] :
    [`step ${seconds(model.schedule.summary.step)}`, `peak ${bytes(model.memory.peak_bytes)}`, meshText(model.head)];
  return el("p", {class: "plan-line", title: figures.join(", ")},
      model.other === null ? null : el("b", {}, `${model.index === 0 ? "before" : "after"}: ${planLabel(model)}`),
      misfit === null ? null : el("strong", {class: "alert", title: misfit}, "does not fit", el("span", {class: "spelled"}, misfit.slice("does not fit".length))),
      model.head.warnings.length === 0 ? null :
        el("button", {type: "button", class: "plain", title: model.head.warnings.join("\n").slice(0, 2000), "aria-label": warningsWord(model), onclick: showAll}, `⚠ ${model.head.warnings.length}`, el("span", {class: "spelled"}, warningsWord(model).replace(/^\d+/, ""))),
      figures.map((text) => el("span", {}, text)));
}
