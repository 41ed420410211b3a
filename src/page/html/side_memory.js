// In the side panel of an op: what a device holds while it runs, and which tensors hold most of it.
import {el} from "./dom.js";
import {bytes, percent} from "./format.js";
import {memoryCurveOf} from "./memory_curve.js";
import {link, part} from "./parts.js";

const MOST_HOLDERS_OF_OP = 8;

/** "268 MB kept activations: x", and that it is a copy made by boxing. */
function holderLine(page, model, lifetime) {
  const {lifetimes, parts, kinds} = model.memory;
  const copy = kinds[lifetimes.kind[lifetime]] === "boxing" ? "boxed copy of " : "";
  return el("li", {}, el("span", {class: "number"}, bytes(lifetimes.bytes[lifetime])), ` ${parts[lifetimes.part[lifetime]]}: ${copy}`,
      link(page, model, "tensor", lifetimes.tensor[lifetime]));
}

/** @returns a part of the panel; null where the order of the step does not hold the op. */
export function heldWhileRunning(page, model, op) {
  const curve = memoryCurveOf(model);
  const position = curve.positionOf(op);
  if (position < 0) return null;
  const {found, alive} = curve.holders(position, MOST_HOLDERS_OF_OP);
  const held = curve.total[position];
  const peak = curve.total[curve.peak];
  const byPart = model.memory.parts.map((name, i) => [name, curve.parts[i][position]]).filter(([, value]) => value > 0);
  return part("Memory while it runs", true,
      el("p", {}, el("span", {"data-value": "held"}, bytes(held)), position === curve.peak || held === peak ? ", the peak of the step" :
        `, ${percent(held / peak)} of the peak`, `: ${byPart.map(([name, value]) => `${name} ${bytes(value)}`).join(", ")}`),
      el("p", {class: "note"}, found.length < alive ? `The largest ${found.length} of ${alive} buffers:` : "Held by:"),
      el("ul", {class: "plain holders"}, found.map((lifetime) => holderLine(page, model, lifetime))));
}
