// The side panel of an op: all that `sbp-plan explain` says of it.
import {sameInCopies} from "./copies.js";
import {stepsText} from "./costs.js";
import {el, shorten} from "./dom.js";
import {bytes, inAStep, seconds, threeDigits} from "./format.js";
import {kernelGroups} from "./kernel_groups.js";
import {PHASES} from "./model.js";
import {MOST_ROWS, copyable, factList, growingList, layoutChip, link, part, shellWord} from "./parts.js";
import {missingRule, notSplit} from "./replication.js";
import {heldWhileRunning} from "./side_memory.js";
import {runsApart, timesOf} from "./timeline.js";

function lines(text) {
  return text === "" ? [] : text.split("\n").map((line) => {
    const colon = line.indexOf(": ");
    return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 2)];
  });
}

/** The reader's half of the text of a signature: how operands lie, then results. */
export function signatureChips(model, {inputs, outputs}) {
  const side = (layouts) => layouts.length <= 8 ? layouts.map((layout) => layoutChip(model, layout)) :
    [layoutChip(model, layouts[0]), ` and ${layouts.length - 1} more`];
  return el("span", {class: "signature"}, side(inputs), el("span", {class: "arrow"}, "→"), side(outputs));
}

/** The page's answer of why (src/page/explain_section.cc); null: it holds none. */
function entryOf(model, op) {
  return model.explain?.entries[model.explain.of_op[op]] ?? null;
}

/** "a", or its number where the page does not know the rule. */
function slotName(names, slot) {
  return el("b", {}, names?.[slot] ?? String(slot));
}

/** An op as others name it: link, type, and its scope where the name does not tell it. */
export function opLabel(page, model, op) {
  const scope = model.scopeBeside(op);
  return [link(page, model, "op", op), ` ${model.opType(op)}`, scope === "" ? null : ` (${shorten(scope, 80)})`];
}

function labelBeside(model, tensor) {
  const label = model.besideTensor(tensor);
  return label === "" ? null : el("span", {class: "type"}, `(${shorten(label, 120)}) `);
}

function writerOf(page, model, tensor) {
  const producer = model.producer[tensor];
  return producer >= 0 ? opLabel(page, model, producer) : model.graph.tensors.role[tensor] === 2 ? "parameter" : "input";
}

/** Who wrote each operand, in which layout, and in which the op wants it. */
function operands(page, model, op) {
  const record = model.record(op);
  const feeding = model.feeding.get(op) ?? [];
  const names = entryOf(model, op)?.operands;
  const rows = model.graph.ops.inputs[op].map((tensor, operand) => ({tensor, operand})).filter(({tensor}) => tensor >= 0);
  return growingList(rows, MOST_ROWS, ({tensor, operand}) => {
    const boxed = feeding[operand];
    return [slotName(names, operand), " ", link(page, model, "tensor", tensor), " ", labelBeside(model, tensor),
      el("span", {class: "type"}, model.typeText(tensor)), " ", record ? layoutChip(model, record.inputs[operand]) : null,
      el("div", {class: "neighbour"}, "from ", writerOf(page, model, tensor),
          record && model.decisions.source[tensor] !== record.inputs[operand] ? [" as ", layoutChip(model, model.decisions.source[tensor])] : null,
          boxed === undefined ? null : [", by ", link(page, model, "transition", boxed, stepsText(model, boxed))])];
  });
}

/** Who reads a tensor: ops with their operand, then the end of the graph (op -1). */
export function readersOf(model, tensor) {
  const rows = [...new Set(model.readers[tensor])].flatMap((op) => model.graph.ops.inputs[op]
      .map((operand, at) => ({op, at, operand})).filter(({operand}) => operand === tensor));
  const end = model.graph.outputs.indexOf(tensor);
  return end < 0 ? rows : [...rows, {op: -1, at: end}];
}

export function readerLine(page, model, {op, at}, written) {
  const wants = model.bare ? -1 : op < 0 ? model.decisions.outputs[at] : model.record(op).inputs[at];
  const boxed = op < 0 ? undefined : model.feeding.get(op)?.[at];
  return ["for ", op < 0 ? "the end of the graph" : [opLabel(page, model, op), ", ", slotName(entryOf(model, op)?.operands, at)],
    wants < 0 || wants === written ? null : [" as ", layoutChip(model, wants)],
    boxed === undefined ? null : [", by ", link(page, model, "transition", boxed, stepsText(model, boxed))]];
}

/** What the op writes, in which layout, and who wants it in which. */
function results(page, model, op) {
  const record = model.record(op);
  const names = entryOf(model, op)?.results;
  const rows = model.graph.ops.outputs[op].map((tensor, result) => ({tensor, result})).filter(({tensor}) => tensor >= 0);
  return growingList(rows, MOST_ROWS, ({tensor, result}) => {
    const readers = readersOf(model, tensor);
    return [slotName(names, result), " ", link(page, model, "tensor", tensor), " ", labelBeside(model, tensor),
      el("span", {class: "type"}, model.typeText(tensor)), " ", record ? layoutChip(model, record.outputs[result]) : null,
      el("div", {class: "neighbour"}, readers.length === 0 ? "for nobody" :
        growingList(readers, MOST_ROWS, (reader) => readerLine(page, model, reader, record?.outputs[result])))];
  });
}

/** Transitions that bring an operand, or carry a result to anybody. */
export function collectivesAround(model, op) {
  const around = new Set((model.feeding.get(op) ?? []).filter((transition) => transition !== undefined));
  for (const tensor of model.graph.ops.outputs[op]) {
    for (const transition of model.transitionsOf.get(tensor) ?? []) around.add(transition);
  }
  return byTime(model, [...around]);
}

/** Sorts transitions, what takes most of a step first. */
export function byTime({transitions: {seconds: time, runs}}, transitions) {
  return transitions.sort((a, b) => time[b] * runs[b] - time[a] * runs[a] || a - b);
}

export function transitionLine(page, model, transition) {
  const {seconds: time, exposed, wire_bytes: moved, reason, reasons, from, to, tensor, runs, cut} = model.transitions;
  const times = runs[transition];
  const more = cut[transition] > 0 ? `; a kernel group is cut here, ${inAStep(cut[transition], times)} more` : "";
  return [link(page, model, "transition", transition, stepsText(model, transition) || "boxing"), " ",
    el("span", {class: "number"}, inAStep(time[transition], times)),
    `, exposed ${inAStep(exposed[transition] / times, times)}, ${inAStep(moved[transition], times, bytes)} of `,
    link(page, model, "tensor", tensor[transition]), " ", labelBeside(model, tensor[transition]),
    layoutChip(model, from[transition]), el("span", {class: "arrow"}, "→"), layoutChip(model, to[transition]),
    el("div", {class: "why"}, reasons[reason[transition]], more)];
}

/** "time 3.10 ms = 3.00 ms (op) + 100 us (boxing)" */
function price({criterion, unit, price: all, terms}) {
  const show = (value) => (value === null ? "∞" : showPrice(value, unit));
  const parts = terms.filter(([, value]) => value !== 0).map(([what, value]) => `${show(value)} (${what})`);
  return `${criterion} ${show(all)}${parts.length > 0 ? ` = ${parts.join(" + ")}` : ""}`;
}

/** What a candidate costs more than the chosen one, all else as it is. */
function difference(candidate) {
  if (candidate.chosen) return "chosen";
  const more = candidate.extra === null ? "cannot be" : `${candidate.extra < 0 ? "−" : "+"}${seconds(Math.abs(candidate.extra))}`;
  return candidate.allowed ? more : [more, el("div", {class: "excluded-note"}, "excluded by pins")];
}

/** Does the page hold what forcing some of the candidates costs? */
function isSearched({candidates}) {
  return candidates.some(({forced}) => forced);
}

/**
 * How much more the sum of prices is with the candidate forced and all else chosen anew; "": the page holds
 * no search of it. Below zero where the plan was chosen for its schedule.
 */
function forcedText({forced, chosen}) {
  if (chosen || !forced) return "";
  const [least, most] = forced;
  if (least === null) return "no plan";
  const signed = (value) => `${value < 0 ? "−" : "+"}${seconds(Math.abs(value))}`;
  if (least === most) return signed(least);
  if (least < 0) return most === null ? "" : `≤ ${signed(most)}`;  // a bound below the plan's own time says nothing
  return most === null ? `≥ ${signed(least)}` : `${signed(least)} – ${signed(most)}`;
}

/** By the other criteria: of the chosen candidate with their terms, a line each. */
function otherPrices(model, entry, {prices, terms}) {
  const shown = model.explain.criteria.map(([name, unit], i) => ({name, unit, i, value: prices[i]}))
      .filter(({name, value}) => name !== entry.criterion && value !== undefined && value !== null);
  return terms === null ? shown.map(({name, unit, value}) => `${name} ${showPrice(value, unit)}`).join(", ") :
    shown.map(({name, unit, i, value}) => el("div", {}, price({criterion: name, unit, price: value, terms: terms[i]})));
}

const FIRST_CANDIDATES = 8;

function candidateRows(model, entry, candidates) {
  const time = (value) => value === null ? "∞" : seconds(value);
  return candidates.flatMap((candidate) => [
    el("tr", {class: candidate.chosen ? "chosen" : candidate.allowed ? null : "excluded"},
        el("td", {}, candidate.chosen ? "✓" : ""), el("td", {class: "signature"}, candidate.signature),
        el("td", {class: "number"}, difference(candidate)), el("td", {class: "number"}, time(candidate.compute)),
        el("td", {class: "number"}, time(candidate.boxing)),
        isSearched(entry) ? el("td", {class: "number forced"}, forcedText(candidate)) : null),
    el("tr", {class: "why"}, el("td", {}), el("td", {colspan: 5}, candidate.choice,
        candidate.own ? el("div", {}, price(candidate.own)) : null, el("div", {}, otherPrices(model, entry, candidate))))]);
}

function candidateTable(model, entry) {
  const {candidates} = entry;
  const body = el("tbody", {}, candidateRows(model, entry, candidates.slice(0, FIRST_CANDIDATES)));
  const more = el("button", {type: "button", class: "more", onclick: () => {
    body.append(...candidateRows(model, entry, candidates.slice(FIRST_CANDIDATES)));
    more.remove();
  }}, `${candidates.length - FIRST_CANDIDATES} more`);
  return [el("table", {class: "plain candidates"}, el("thead", {}, el("tr", {}, ["", "layouts", "sum of prices, all else as it is", "op", "boxing around", ...(isSearched(entry) ? ["sum, if forced"] : [])]
      .map((name) => el("th", {scope: "col"}, name)))), body), candidates.length > FIRST_CANDIDATES ? more : null];
}

/** Of the chosen candidate: what explain says first. */
function chosenCosts(entry) {
  const chosen = entry?.candidates.find((candidate) => candidate.chosen);
  return chosen ? `the op ${seconds(chosen.compute)}, boxing around it ${seconds(chosen.boxing)}` : null;
}

/** The next by price, and what it costs more. */
function nextBest(entry) {
  if (entry === null) return null;
  const [, next] = entry.candidates;
  if (!next) return "none: the op has no other candidate";
  if (!next.allowed) return "none: the pins leave no other candidate";
  const forced = forcedText(next);
  const more = next.extra === null ? "cannot be" : `${difference(next)} on the sum of prices, all else as it is`;
  return [el("span", {class: "signature"}, next.signature), `: ${more}${forced === "" ? "" : `; forced, all else chosen anew, ${forced}`}`,
    el("div", {class: "why"}, next.choice)];
}

/** A candidate that would take less with its neighbours as they are: what the strategy missed, or knew better. */
function regret(entry) {
  const best = entry.candidates.filter(({allowed, extra}) => allowed && extra !== null)
      .reduce((least, next) => next.extra < least.extra ? next : least, entry.candidates[0]);
  const noise = 1e-9 * ((best.compute ?? 0) + (best.boxing ?? 0));
  return best.extra >= -noise ? null :
    `With its neighbours as they are, ${best.signature} would take ${seconds(-best.extra)} less.`;
}

/** Of what the last column is. */
function forcedNote(page, model, entry, op) {
  if (!isSearched(entry)) return "Forcing a candidate, with all else chosen anew, is searched for the dearest ops of each type.";
  const other = entry.first === op ? null : [" Searched for ", link(page, model, "op", entry.first), `, the first of ${entry.ops} that lie alike.`];
  return ["If forced: how much more the sum of prices is with that candidate and all else chosen anew. ",
    "It is less where the plan was chosen for its step time.", other];
}

function alternatives(page, model, op) {
  const entry = entryOf(model, op);
  const record = model.record(op);
  const ask = copyable(`sbp-plan explain plan.json ${shellWord(model.opName(op))}`);
  if (entry === null) {
    const other = record.alternative;
    return part(`Alternatives (${record.candidates} candidates)`, true,
        other ? el("p", {}, "Next best: ", signatureChips(model, other), record.unit === "" ? null :
          ` ${showPrice(record.alternative_price, record.unit)} against ${showPrice(record.price, record.unit)}`) : null,
        el("p", {class: "note"}, "This page holds prices of the ops that take most of the step; of this one: "), ask);
  }
  const more = entry.count - entry.candidates.length;
  return part(`Candidates by price (${entry.count})`, true,
      regret(entry) ? el("p", {class: "regret"}, regret(entry)) : null, candidateTable(model, entry),
      el("p", {class: "note"}, forcedNote(page, model, entry, op)),
      el("p", {class: "note"}, `${more > 0 ? `${more} dearer candidates, and ` : ""}more of what forcing one costs, and all terms of prices (--all): `), ask,
      el("details", {}, el("summary", {}, "Rule"), el("pre", {}, entry.rule)));
}

function showPrice(value, unit) {
  return unit === "seconds" ? seconds(value) : unit === "bytes" ? bytes(value) : threeDigits(value);
}

function kernelOf(page, model, op) {
  const {kernels, alone_seconds: alone} = model.decisions;
  if (kernels.of_op.length === 0 || kernels.of_op[op] === undefined) return null;
  const {members, none} = kernelGroups(model);
  if (none.has(op)) return "none: its neighbours read and write the operand as it lies";
  const group = kernels.of_op[op];
  if (group < 0) return "its own";
  const others = members.get(group).filter((other) => other !== op && !none.has(other));
  return [`${kernels.kinds[group]}, with `, others.slice(0, 4).map((other, i) => [i > 0 ? ", " : "", opLabel(page, model, other)]),
    others.length > 4 ? ` and ${others.length - 4} more` : "",
    `; as a kernel of its own it would take ${seconds(alone[op])}`];
}

/** When each run is: the first and the last one, where micro-batches are drawn one by one. */
function whenText(model, op) {
  const runs = runsApart(model, "op", op);
  const times = timesOf(model, "op", op);
  const range = ({start, end}) => (seconds(start) !== seconds(end) ? `${seconds(start)} – ${seconds(end)}` :
    `${seconds(start)}, for ${seconds(end - start)}`);
  if (times.length === 0) return `takes no time, ${runs} times`;  // as what is inside other kernels
  const [first, last] = [times[0], times.at(-1)];
  if (runs === 1) return range(first);
  if (first.part < 0) return `${range(first)}, as one task of ${runs} micro-batches`;
  return `${range(first)} in the first micro-batch, ${range(last)} in the last of ${runs}`;
}

// Before names, and scopes, of what the backward pass computes again (graph/again.h).
const AGAIN = "again/", AGAIN_SCOPE = "backward/again";
const copiesMade = new WeakMap();

function isAgain({graph: {ops, texts}}, op) {
  return ops.name[op].startsWith(AGAIN) && texts[ops.scope[op]].startsWith(AGAIN_SCOPE);
}

/** Of an op that runs twice, as rematerialisation has it: where its other run is. */
function againText(page, model, op) {
  const name = model.opName(op);
  if (!copiesMade.has(model)) {
    copiesMade.set(model, new Map(model.graph.ops.name.flatMap((of, id) => (isAgain(model, id) ? [[of.slice(AGAIN.length), id]] : []))));
  }
  const copy = copiesMade.get(model).get(name);
  if (copy !== undefined) return ["runs again for the backward pass, as ", link(page, model, "op", copy), `: ${whenText(model, copy)}`];
  if (!isAgain(model, op)) return null;
  const first = model.graph.ops.name.indexOf(name.slice(AGAIN.length));
  return ["computes ", first < 0 ? name.slice(AGAIN.length) : link(page, model, "op", first), " again for the backward pass"];
}

/** The pins that concern it and the tensors around it, as written. */
function pinsAround(model, op) {
  const {pins, op_pins: opPins, texts} = model.tensors;
  const around = new Set([...model.graph.ops.inputs[op], ...model.graph.ops.outputs[op]]);
  const found = [...opPins.filter(([id]) => id === op), ...pins.filter(([id]) => around.has(id))];
  return [...new Set(found.flatMap(([, ids]) => ids))].map((id) => texts[id]).sort();
}

function decision(page, model, op) {
  const record = model.record(op);
  const entry = entryOf(model, op);
  const {schedule, decisions} = model;
  return part("Chosen", true, factList([
    ["layouts", signatureChips(model, record)],
    ["by axis", record.choice],
    ["because", `${model.head.strategy}: ${record.reason}`],
    ["not split", notSplit(model, model.graph.ops.outputs[op])],
    ["costs", chosenCosts(entry)],
    ["next best", nextBest(entry)],
    ["time", el("span", {"data-value": "seconds"}, inAStep(decisions.seconds[op], schedule.runs[op]))],
    ["when", whenText(model, op)],
    ["kernel", kernelOf(page, model, op)],
    ["again", againText(page, model, op)],
    ["pinned", pinsAround(model, op).map((pin) => el("div", {}, el("code", {}, pin)))],
  ]));
}

/** @returns what stands in the panel below the name. */
export function opSections(page, model, op) {
  const {ops, texts} = model.graph;
  const attributes = lines(texts[ops.attributes[op]]);
  const notes = lines(texts[ops.notes[op]]);
  const scope = model.nodeOf[op];
  const sections = [factList([
    ["type", model.opType(op)],
    ["phase", PHASES[ops.phase[op]]],
    ["scope", model.outline.label[scope] === "" ? null : link(page, model, "scope", scope)],
  ])];
  if (!model.bare) sections.push(decision(page, model, op), missingRule(model, op));
  sections.push(part("Operands", true, operands(page, model, op)), part("Results", true, results(page, model, op)));
  if (!model.bare) {
    const around = collectivesAround(model, op);
    sections.push(part(`Collectives that it causes (${around.length})`, true, around.length === 0 ? el("p", {}, "None.") :
      growingList(around, MOST_ROWS, (transition) => transitionLine(page, model, transition))));
    sections.push(alternatives(page, model, op), heldWhileRunning(page, model, op));
  }
  sections.push(sameInCopies(page, model, op));
  if (attributes.length > 0) sections.push(part("Attributes", false, factList(attributes)));
  if (notes.length > 0) sections.push(part("Source", true, factList(notes)));
  return sections;
}
