// The side panel of a transition (what brings a tensor from one layout to another), and of a scope.
import {removalFor} from "./collective_groups.js";
import {copiesPart} from "./copies.js";
import {costsOf, sumOf} from "./costs.js";
import {el} from "./dom.js";
import {bytes, inAStep, seconds} from "./format.js";
import {MOST_ROWS, copyable, factList, growingList, layoutChip, link, part, shellWord} from "./parts.js";
import {byTime, transitionLine} from "./side_op.js";
import {runsApart, timesOf} from "./timeline.js";

const MOST_TYPES = 24;

/** Breaks before what stands in parentheses only: "13.1 us", "(4 × 3.27 us)". */
function figureCell(text) {
  return el("td", {class: "number"}, text.split(/ (?=\()/).map((figure, i) => [i > 0 ? " " : null, el("span", {class: "figure"}, figure)]));
}

function stepTable(model, transition) {
  const {steps, kinds} = model.transitions;
  const runs = model.transitions.runs[transition];
  const first = model.schedule.micro_batches && runsApart(model, "transition", transition) > 1 ? ", first of all" : "";
  return el("table", {class: "plain steps"}, el("thead", {}, el("tr", {}, ["step", "time", "bytes on the wire", `begins${first}`, "ends"]
      .map((name) => el("th", {scope: "col"}, name)))), el("tbody", {}, steps[transition]
      .map(([kind, axis, time, moved], step) => {
        const [first] = timesOf(model, "transition", transition, step);
        return el("tr", {},
          el("td", {}, `${kinds[kind].name} over ${model.head.mesh.axes[axis][0]}`),
          [inAStep(time, runs), inAStep(moved, runs, bytes), first ? seconds(first.start) : "", first ? seconds(first.end) : ""].map(figureCell));
      })));
}

/** The pin that removes it with the least more, where the page knows one (src/page/removals_section.cc). */
function removal(page, model, transition) {
  if (!model.movesData(transition)) return null;
  const found = removalFor(model, transition);
  if (found === null) return el("p", {class: "note"}, "No pin was looked for: it is of none of the dearest kinds of collectives.");
  if (found.pin === null) return el("p", {class: "note"}, "No cheap pin is known that removes it.");
  const other = found.transition === transition ? null : [" Of ", link(page, model, "transition", found.transition), ", the first that is alike:"];
  const time = found.extra_seconds === null ? [] :
    [`${found.extra_seconds < 0 ? "−" : "+"}${seconds(Math.abs(found.extra_seconds))} with all else as it is`];
  const held = found.extra_bytes > 0 ? [`${bytes(found.extra_bytes)} more on a device`] : [];
  return el("p", {}, `${[...time, ...held].join(", ")}${found.moves ? "; it moves on" : ""}:`, other, copyable(`--pin ${shellWord(found.pin)}`));
}

export function transitionSections(page, model, transition) {
  const {tensor, from, to, consumers, seconds: time, wire_bytes: moved, exposed, reason, reasons, runs} = model.transitions;
  const id = tensor[transition];
  const producer = model.producer[id];
  const name = model.graph.tensors.name[id];
  return [
    factList([
      ["tensor", [link(page, model, "tensor", id), ` ${model.typeText(id)}`]],
      ["from", layoutChip(model, from[transition])],
      ["to", layoutChip(model, to[transition])],
      ["because", reasons[reason[transition]]],
      ["time", el("span", {"data-value": "seconds"}, inAStep(time[transition], runs[transition]))],
      ["exposed", inAStep(exposed[transition] / runs[transition], runs[transition])],
      ["bytes moved", inAStep(moved[transition], runs[transition], bytes)],
    ]),
    part("Steps", true, stepTable(model, transition)),
    part("Caused by", true, el("p", {}, "written by ", producer >= 0 ? link(page, model, "op", producer) : "nobody: it starts so"),
        el("p", {}, "wanted so by"), consumers[transition].length === 0 ? el("p", {}, "the end of the graph") :
        growingList(consumers[transition], MOST_ROWS, ([op, operand]) => [link(page, model, "op", op), ` ${model.opType(op)}, operand ${operand}`])),
    part("Plan without it", true, removal(page, model, transition),
        el("p", {class: "note"}, producer >= 0 ? "The tensor written as it is wanted, or wanted as it is written:" :
          "The tensor started as it is wanted, or wanted as it starts:"),
        el("p", {}, copyable(`--pin ${shellWord(`${name}${producer >= 0 ? "<-" : "="}${model.layoutText(to[transition])}`)}`)),
        el("p", {}, copyable(`--pin ${shellWord(`${name}==${model.layoutText(from[transition])}`)}`))),
  ];
}

/** What enters a scope, or leaves it: [tensor, layout] of those whose other end is outside. */
function boundary(model, ops) {
  const inside = new Set(ops);
  const entering = new Map(), leaving = new Map();
  for (const op of ops) {
    const record = model.record(op);
    model.graph.ops.inputs[op].forEach((tensor, operand) => {
      const producer = tensor < 0 ? op : model.producer[tensor];
      if (tensor >= 0 && !inside.has(producer)) entering.set(tensor, record?.inputs[operand]);
    });
    model.graph.ops.outputs[op].forEach((tensor, result) => {
      if (tensor < 0) return;
      const readers = model.readers[tensor];
      if (readers.length === 0 || readers.some((reader) => !inside.has(reader))) leaving.set(tensor, record?.outputs[result]);
    });
  }
  return {entering: [...entering], leaving: [...leaving]};
}

function typeTable(model, ops) {
  const types = new Map();
  for (const op of ops) {
    const sum = types.get(model.opType(op)) ?? {number: 0, time: 0};
    sum.number += 1;
    sum.time += costsOf(model).kernels[op];
    types.set(model.opType(op), sum);
  }
  const rows = [...types].sort(([, a], [, b]) => b.time - a.time || b.number - a.number);
  return el("table", {class: "plain"}, el("thead", {}, el("tr", {}, ["type", "ops", "time"].map((name) => el("th", {scope: "col"}, name)))),
      el("tbody", {}, rows.slice(0, MOST_TYPES).map(([type, {number, time}]) => el("tr", {}, el("td", {}, type),
          el("td", {class: "number"}, String(number)), el("td", {class: "number"}, model.bare ? "" : seconds(time))))));
}

function boundaryList(page, model, title, tensors) {
  return part(`${title} (${tensors.length})`, false, growingList(tensors, MOST_ROWS, ([tensor, layout]) =>
    [link(page, model, "tensor", tensor), ` ${model.typeText(tensor)} `, layout === undefined ? null : layoutChip(model, layout)]));
}

export function scopeSections(page, model, node) {
  const ops = model.opsOf(node);
  const parent = model.outline.parent[node];
  const {entering, leaving} = boundary(model, ops);
  const costs = costsOf(model);
  const sum = (column) => sumOf(ops.map((op) => column[op]));
  const inside = new Set(ops);  // a transition counts in one scope, as in all sums
  const boxed = model.bare ? [] : byTime(model, [...costs.owner.keys()].filter((t) => inside.has(costs.owner[t])));
  return [
    factList([
      ["within", parent >= 0 ? link(page, model, "scope", parent) : null],
      ["ops", String(ops.length)],
      ["compute", model.bare ? null : el("span", {"data-value": "seconds"}, seconds(sum(costs.kernels)))],
      ["collectives", model.bare ? null : `${sum(costs.collectives)}, ${seconds(sum(costs.wire))}, exposed ${seconds(sum(costs.exposed))}`],
      ["slices and copies", model.bare || sum(costs.local) === 0 ? null : seconds(sum(costs.local))],
      ["bytes moved", model.bare ? null : bytes(sum(costs.moved))],
    ]),
    copiesPart(page, model, node),
    part("By type", true, typeTable(model, ops)),
    boxed.length === 0 ? null : part(`Collectives, slices and copies (${boxed.length})`, true,
        growingList(boxed, 6, (transition) => transitionLine(page, model, transition))),
    boundaryList(page, model, "Comes in", entering),
    boundaryList(page, model, "Goes out", leaving),
    part("Ops", false, growingList(ops, MOST_ROWS, (op) => [link(page, model, "op", op), ` ${model.opType(op)}`])),
  ];
}

