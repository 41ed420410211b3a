// Why a result lies whole, where no split of it was legal; and how to begin a rule for an op that has none.
import {el, shorten} from "./dom.js";
import {copyButton, copyable, part} from "./parts.js";

const reasonsMade = new WeakMap();

function reasonsOf(model, tensors) {
  if (!reasonsMade.has(model)) reasonsMade.set(model, new Map(model.head.replicated));
  return [...new Set(tensors.map((tensor) => reasonsMade.get(model).get(tensor)).filter((reason) => reason !== undefined))];
}

/** Of tensors that are replicated for lack of a legal split: each reason, as the plan gives it. */
export function notSplit(model, tensors) {
  return reasonsOf(model, tensors).map((reason) => el("div", {}, el("bdi", {}, shorten(reason, 400))));
}

function parameters(letter, tensors) {
  return tensors.map((tensor, i) => `Tensor ${letter}${tensors.length > 1 ? i + 1 : ""}${tensor < 0 ? "?" : ""}`).join(", ");
}

/** A paragraph that is a rule already, of an op that no dimension of is split: the user puts letters for "_". */
function paragraph(model, op) {
  const {inputs, outputs} = model.graph.ops;
  const marks = (tensors) => tensors.map((tensor) => (tensor < 0 ? "" : model.shapeOf(tensor).map(() => "_").join(" "))).join(", ");
  return `op ${model.opType(op)}(${parameters("x", inputs[op])}, *, ...) -> ${parameters("y", outputs[op])}\n` +
      "  # a letter for each dimension that may be split, the same one where they are split together; _ is never split\n" +
      `  rule ${marks(inputs[op])} -> ${marks(outputs[op])}\n`;
}

/** Of an op that has no rule; null of others. */
export function missingRule(model, op) {
  const missing = `no rule for ${model.opType(op)}`;
  if (!reasonsOf(model, model.graph.ops.outputs[op]).some((reason) => reason.endsWith(missing))) return null;
  const text = paragraph(model, op);
  return part("A rule of your own", true,
      el("p", {}, `No rule says how ${model.opType(op)} may be split, so every device computes all of it. With this paragraph in a file, ` +
          "and letters in it (rules/README.md says which), it is planned like any other op:"),
      el("pre", {class: "rule-begun"}, text), copyButton(text, "Copy rule"), copyable("sbp-plan infer MODEL --rules my.rules"));
}
