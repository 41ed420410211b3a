// What the plan is of, its totals and how good they are, and what it could not do.
import {el, shorten} from "./dom.js";
import {growingList, link, part} from "./parts.js";
import {meshText, misfitText, physicalText, planLabel, warningsList, warningsWord} from "./plan_facts.js";

const MOST_SAID = 20;  // of a list, until more are asked for
const LONGEST_SAID = 400;  // letters

function facts(model) {
  const {head} = model;
  if (model.bare) return [["model", head.model], ["ops", model.numOps]];
  return [
    ["model", head.model],
    ["plan", head.file],
    ["mesh", meshText(head)],
    ["cluster", `${head.cluster.name} (${head.cluster.device})`],
    ["execution", head.cluster.execution],
    ["strategy", head.strategy],
    ["physical plan", physicalText(model)],
  ].filter(([, value]) => value);
}

/** As `infer` prints them: a name, a figure, what it is made of. */
function totals({bare, head}) {
  if (bare) return null;
  return el("table", {class: "totals-said"}, el("tbody", {}, head.totals.map(([name, figure, text]) =>
    el("tr", {class: name.startsWith(" ") ? "of-it" : null}, el("th", {scope: "row"}, name.trim()), el("td", {class: "number"}, figure), el("td", {}, text.replaceAll(" %", "\u00a0%"))))));
}

function replicated(page, model) {
  return part(`Replicated for lack of a legal split (${model.head.replicated.length})`, true,
      growingList(model.head.replicated, MOST_SAID, ([tensor, reason]) => [link(page, model, "tensor", tensor), ": ", shorten(reason, LONGEST_SAID)]));
}

function conflicts({head: {summary}}) {
  return part(`Layouts overridden (${summary.conflicts.length})`, true, growingList(summary.conflicts, MOST_SAID,
      ({where, given, used, reason}) => [el("bdi", {}, shorten(where)), `: ${given} given, ${used} used: ${shorten(reason, LONGEST_SAID)}`]));
}

/** What was fixed, and what that stands for. */
function pins({head: {summary}}) {
  const fixed = ({ops, tensors}) => (ops === undefined ? `${tensors} tensor${tensors === 1 ? "" : "s"}` : `${ops} op${ops === 1 ? "" : "s"}`);
  return part(`Pins (${summary.pins.length})`, true, growingList(summary.pins, MOST_SAID,
      (pin) => [el("code", {}, shorten(pin.pin, LONGEST_SAID)), `: ${fixed(pin)}: `, el("bdi", {}, pin.first.map((name) => shorten(name)).join(", "))]));
}

export const aboutPanel = {
  id: "about",
  title: "About",
  mount(element, page) {
    for (const model of page.models) {
      const {head, bare} = model;
      const misfit = misfitText(model);
      const warnings = warningsList(model);
      element.append(el("h2", {}, model.other === null ? head.title : `${model.index === 0 ? "before" : "after"}: ${planLabel(model)}`),
          misfit === null ? "" : el("p", {class: "alert"}, `This plan ${misfit}.`),
          warnings === null ? "" : el("div", {}, el("h3", {}, warningsWord(model)), warnings),
          el("dl", {class: "facts"}, facts(model).map(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))])),
          totals(model) ?? "",
          bare || head.replicated.length === 0 ? "" : replicated(page, model),
          bare || head.summary.conflicts.length === 0 ? "" : conflicts(model),
          bare || head.summary.pins.length === 0 ? "" : pins(model));
    }
  },
};
