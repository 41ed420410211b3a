// What the plan is of, and its totals.
import {el} from "./dom.js";
import {bytes, seconds} from "./format.js";

function facts(model) {
  const {head} = model;
  if (model.bare) return [["model", head.model], ["ops", model.numOps]];
  const {summary} = head;
  return [
    ["model", head.model],
    ["mesh", head.mesh.axes.map(([name, size]) => `${name}=${size}`).join(", ")],
    ["cluster", `${head.cluster.name} (${head.cluster.device})`],
    ["strategy", head.strategy],
    ["step", seconds(model.schedule.summary.step)],
    ["exposed communication", seconds(model.schedule.summary.exposed)],
    ["bytes moved", bytes(summary.bytes_moved)],
    ["peak memory", bytes(model.memory.peak_bytes)],
  ];
}

export const aboutPanel = {
  id: "about",
  title: "About",
  mount(element, {models}) {
    for (const model of models) {
      element.append(el("h2", {}, model.head.name),
          el("dl", {class: "facts"}, facts(model).map(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))])));
    }
  },
};
