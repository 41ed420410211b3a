// What the plan is of, and its totals.
import {el} from "./dom.js";
import {bytes, seconds} from "./format.js";
import {meshText, misfitText, physicalText, warningsList, warningsWord} from "./plan_facts.js";

function facts(model) {
  const {head} = model;
  if (model.bare) return [["model", head.model], ["ops", model.numOps]];
  const {summary} = head;
  return [
    ["model", head.model],
    ["plan", head.file],
    ["mesh", meshText(head)],
    ["cluster", `${head.cluster.name} (${head.cluster.device})`],
    ["strategy", head.strategy],
    ["step", seconds(model.schedule.summary.step)],
    ["exposed communication", seconds(model.schedule.summary.exposed)],
    ["bytes moved", bytes(summary.bytes_moved)],
    ["peak memory", bytes(model.memory.peak_bytes)],
    ["physical plan", physicalText(model)],
  ].filter(([, value]) => value);
}

export const aboutPanel = {
  id: "about",
  title: "About",
  mount(element, {models}) {
    for (const model of models) {
      const misfit = misfitText(model);
      const warnings = warningsList(model);
      element.append(el("h2", {}, model.head.title),
          misfit === null ? "" : el("p", {class: "alert"}, `This plan ${misfit}.`),
          warnings === null ? "" : el("div", {}, el("h3", {}, warningsWord(model)), warnings),
          el("dl", {class: "facts"}, facts(model).map(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))])));
    }
  },
};
