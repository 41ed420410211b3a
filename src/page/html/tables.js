// Sorted tables: ops, collectives, tensors at the peak, decisions.
import {planChoice} from "./chart.js";
import {costsOf, foretold, isLocalKind, stepsText} from "./costs.js";
import {DataTable} from "./data_table.js";
import {el} from "./dom.js";
import {bytes, count, seconds, threeDigits} from "./format.js";
import {PHASES, ROLES} from "./model.js";
import {OVERLAYS} from "./overlays.js";

const timeColumn = (id, title, value, hint) => ({id, title, value, show: seconds, sum: true, hint, unit: "s"});
const bytesColumn = (id, title, value, hint) => ({id, title, value, show: bytes, sum: true, hint, unit: "B"});

/** Overlays that other columns do not tell already; one that has nothing to tell is left out. */
function overlayColumns(model) {
  const told = new Set(["sharing", "time", "exposed", "communication", "kernels"]);
  return OVERLAYS.filter((row) => !told.has(row.id) && (!row.needsTwo || model.other))
      .map((row) => ({id: row.id, title: row.title, value: (op) => row.value(model, op), show: row.format, sum: row.sums}))
      .filter(({value}) => someOp(model, value));
}

function someOp(model, value) {
  for (let op = 0; op < model.numOps; ++op) if (value(op)) return true;
  return false;
}

function opLayouts(model, op) {
  return model.graph.ops.outputs[op].map((tensor) => (tensor < 0 ? "" : model.layoutText(model.decisions.source[tensor]))).join(", ");
}

function traceColumns(model) {
  if (!model.trace) return [];
  const took = model.trace.op_seconds;
  const runs = model.trace.micro_batches;
  return [
    timeColumn("measured", "Measured", (op) => took[op], `mean of the devices, in the run of the trace${runs > 1 ? `, ${runs} micro-batches` : ""}`),
    {id: "ratio", title: "Measured / predicted", value: (op) => (foretold(model, op) > 0 && took[op] > 0 ? took[op] / foretold(model, op) : null),
      hint: runs > 1 ? `predicted for ${runs} micro-batches, where it runs in each` : undefined,
      show: (value) => `${threeDigits(value)} ×`},
  ];
}

function opsTable(model, select) {
  const costs = costsOf(model);
  const {texts, ops} = model.graph;
  return new DataTable({
    name: "ops", numRows: model.numOps, onSelect: (op) => select("op", op), sort: {id: "compute", down: true},
    columns: [
      {id: "name", title: "Op", isName: true, value: (op) => model.opName(op), search: true, width: "minmax(22em, 3fr)"},
      {id: "type", title: "Type", value: (op) => model.opType(op), choices: true, search: true, width: "9em"},
      {id: "phase", title: "Phase", value: (op) => PHASES[ops.phase[op]], choices: true, width: "6em"},
      {id: "scope", title: "Scope", isName: true, value: (op) => texts[ops.scope[op]], search: true, width: "minmax(6em, 1fr)"},
      {id: "layout", title: "Layout", value: (op) => opLayouts(model, op), choices: true, search: true, width: "8em"},
      {id: "has", title: "Has collectives", value: (op) => (costs.collectives[op] > 0 ? "yes" : "no"), choices: true, width: "6em"},
      timeColumn("compute", "Compute", (op) => costs.kernels[op], "in a step, with what cut kernels cost more"),
      timeColumn("wire", "Collectives", (op) => costs.wire[op], "of those that bring its operands"),
      timeColumn("exposed", "Exposed", (op) => costs.exposed[op], "of its collectives, while nothing is computed"),
      ...traceColumns(model), ...overlayColumns(model),
      {id: "reason", title: "Reason", value: (op) => model.record(op)?.reason ?? "", search: true, width: "minmax(10em, 1fr)"},
    ],
  });
}

const typesOf = (model, tensors) => tensors.filter((tensor) => tensor >= 0).map((tensor) => model.typeText(tensor)).join(", ");

/** What is known of ops that nobody has planned. */
function modelOpsTable(model, select) {
  const {texts, ops, tensors} = model.graph;
  const sizes = model.opBytes();
  const weights = (op) => [...new Set(ops.inputs[op])].filter((tensor) => tensor >= 0 && ROLES[tensors.role[tensor]] === "parameter");
  return new DataTable({
    name: "ops", numRows: model.numOps, onSelect: (op) => select("op", op), sort: {id: "op", down: false},
    columns: [
      {id: "op", title: "Op", isName: true, value: (op) => model.opName(op), search: true, width: "minmax(22em, 3fr)"},
      {id: "type", title: "Type", value: (op) => model.opType(op), choices: true, search: true, width: "9em"},
      {id: "phase", title: "Phase", value: (op) => PHASES[ops.phase[op]], choices: true, width: "6em"},
      {id: "scope", title: "Scope", isName: true, value: (op) => texts[ops.scope[op]], search: true, width: "minmax(10em, 1fr)"},
      {id: "reads", title: "Reads", value: (op) => typesOf(model, ops.inputs[op]), search: true, width: "minmax(14em, 2fr)"},
      {id: "writes", title: "Writes", value: (op) => typesOf(model, ops.outputs[op]), search: true, width: "minmax(10em, 1fr)"},
      bytesColumn("bytes", "Bytes of results", (op) => sizes[op], "whole; open sizes count as nothing"),
      bytesColumn("weights", "Bytes of parameters", (op) => weights(op).reduce((sum, tensor) => sum + model.tensorBytes(tensor), 0),
          "that it reads; what several ops read counts at each"),
    ],
  });
}

function modelTensorsTable(model, select) {
  const {tensors} = model.graph;
  const outputs = new Set(model.graph.outputs);
  const producer = (tensor) => (model.producer[tensor] < 0 ? "" : model.opName(model.producer[tensor]));
  return new DataTable({
    name: "tensors", numRows: model.numTensors, onSelect: (tensor) => select("tensor", tensor), sort: {id: "bytes", down: true},
    columns: [
      {id: "tensor", title: "Tensor", isName: true, value: (tensor) => model.tensorLabel(tensor), search: true, width: "minmax(20em, 3fr)"},
      {id: "role", title: "Role", value: (tensor) => (outputs.has(tensor) ? "output" : ROLES[tensors.role[tensor]]), choices: true, width: "8em"},
      {id: "shape", title: "Type", value: (tensor) => model.typeText(tensor), search: true, width: "14em"},
      bytesColumn("bytes", "Bytes", (tensor) => model.tensorBytes(tensor), "whole; open sizes count as nothing"),
      {id: "from", title: "Written by", isName: true, value: producer, search: true},
      {id: "readers", title: "Readers", value: (tensor) => new Set(model.readers[tensor]).size, show: count, width: "6em"},
    ],
  });
}

function collectivesTable(model, select) {
  const {transitions} = model;
  const rows = [];
  transitions.steps.forEach((steps, t) => {
    if (steps.some(([kind]) => !isLocalKind(transitions.kinds[kind].name))) rows.push(t);
  });
  const at = (column) => (row) => transitions[column][rows[row]];
  const tensor = at("tensor");
  const reader = (row) => transitions.consumers[rows[row]][0]?.[0] ?? -1;
  const wire = (row) => transitions.runs[rows[row]] * transitions.steps[rows[row]].reduce(
      (sum, [kind, , time]) => sum + (isLocalKind(transitions.kinds[kind].name) ? 0 : time), 0);
  return new DataTable({
    name: "collectives", numRows: rows.length, onSelect: (row) => select("transition", rows[row]), sort: {id: "seconds", down: true},
    columns: [
      {id: "steps", title: "Collective", value: (row) => stepsText(model, rows[row]), choices: true, search: true, width: "minmax(14em, 1.5fr)"},
      {id: "tensor", title: "Tensor", isName: true, value: (row) => model.tensorLabel(tensor(row)), search: true, width: "minmax(12em, 2fr)"},
      {id: "shape", title: "Type", value: (row) => model.typeText(tensor(row)), search: true, width: "10em"},
      {id: "from", title: "From", value: (row) => model.layoutText(transitions.from[rows[row]]), choices: true, width: "9em"},
      {id: "to", title: "To", value: (row) => model.layoutText(transitions.to[rows[row]]), choices: true, width: "9em"},
      {id: "reader", title: "For", value: (row) => (reader(row) < 0 ? "end of the step" : model.opName(reader(row))), search: true},
      {id: "phase", title: "Phase", value: (row) => (reader(row) < 0 ? "end" : PHASES[model.graph.ops.phase[reader(row)]]), choices: true, width: "7em"},
      {id: "runs", title: "Times", value: at("runs"), show: count, sum: true, width: "5em"},
      timeColumn("seconds", "Time", wire, "in a step, without slices and copies"),
      timeColumn("exposed", "Exposed", at("exposed"), "while nothing is computed"),
      bytesColumn("bytes", "Bytes moved", (row) => transitions.runs[rows[row]] * transitions.wire_bytes[rows[row]], "sent by all devices together"),
      {id: "reason", title: "Reason", value: (row) => transitions.reasons[transitions.reason[rows[row]]], search: true, width: "minmax(16em, 3fr)"},
    ],
  });
}

function peakTable(model, select) {
  const {lifetimes, kinds, parts, op_at: opAt} = model.memory;
  const peak = model.peakPosition();
  const rows = [];
  lifetimes.bytes.forEach((size, i) => {
    if (size > 0 && lifetimes.first[i] <= peak && peak <= lifetimes.last[i]) rows.push(i);
  });
  const tensor = (row) => lifetimes.tensor[rows[row]];
  const of = (position) => (opAt[position] < 0 ? "start" : model.opName(opAt[position]));
  const layout = (row) => {
    const t = lifetimes.transition[rows[row]];
    return model.layoutText(t >= 0 ? model.transitions.to[t] : model.decisions.source[tensor(row)]);
  };
  return new DataTable({
    name: "tensors at the peak", numRows: rows.length, sort: {id: "bytes", down: true},
    onSelect: (row) => select("tensor", tensor(row)),
    columns: [
      {id: "tensor", title: "Tensor", isName: true, value: (row) => model.tensorLabel(tensor(row)), search: true, width: "minmax(14em, 2fr)"},
      {id: "part", title: "Part of the peak", value: (row) => parts[lifetimes.part[rows[row]]], choices: true, width: "10em"},
      {id: "kind", title: "Buffer", value: (row) => kinds[lifetimes.kind[rows[row]]], choices: true, width: "8em"},
      {id: "role", title: "Role", value: (row) => ROLES[model.graph.tensors.role[tensor(row)]], choices: true, width: "7em"},
      {id: "shape", title: "Type, whole", value: (row) => model.typeText(tensor(row)), search: true, width: "12em"},
      {id: "layout", title: "Layout", value: layout, choices: true, width: "9em"},
      bytesColumn("bytes", "Bytes on a device", (row) => lifetimes.bytes[rows[row]]),
      {id: "from", title: "Held from", value: (row) => of(lifetimes.first[rows[row]]), search: true},
      {id: "to", title: "to", value: (row) => of(lifetimes.last[rows[row]]), search: true},
    ],
  });
}

function decisionsTable(model, select) {
  const {records, of_op: ofOp} = model.decisions;
  const firstOp = new Int32Array(records.length).fill(-1);
  const times = new Int32Array(records.length);
  const spent = new Float64Array(records.length);
  ofOp.forEach((record, op) => {
    if (firstOp[record] < 0) firstOp[record] = op;
    ++times[record];
    spent[record] += costsOf(model).kernels[op];
  });
  const layouts = (ids) => ids.map((id) => model.layoutText(id)).join(", ");
  const signature = ({inputs, outputs}) => `${layouts(inputs)} → ${layouts(outputs)}`;
  const priced = (record, price) => (record.unit === "seconds" ? seconds(price) : `${threeDigits(price)} ${record.unit}`);
  return new DataTable({
    name: "decisions", numRows: records.length, sort: {id: "seconds", down: true},
    onSelect: (row) => (firstOp[row] >= 0 ? select("op", firstOp[row]) : undefined),
    columns: [
      {id: "type", title: "Op type", value: (row) => (firstOp[row] < 0 ? "" : model.opType(firstOp[row])), choices: true, search: true, width: "9em"},
      {id: "first", title: "First op", isName: true, value: (row) => (firstOp[row] < 0 ? "" : model.opName(firstOp[row])), search: true, width: "minmax(12em, 2fr)"},
      {id: "ops", title: "Ops", value: (row) => times[row], show: count, sum: true, width: "5em"},
      timeColumn("seconds", "Compute", (row) => spent[row], "of all its ops, in a step, with what cut kernels cost more"),
      {id: "choice", title: "Choice", value: (row) => records[row].choice, search: true, width: "minmax(14em, 2fr)"},
      {id: "signature", title: "Layouts", value: (row) => signature(records[row]), search: true, width: "minmax(12em, 2fr)"},
      {id: "candidates", title: "Candidates", value: (row) => records[row].candidates, show: count, width: "6em"},
      {id: "price", title: "Price", value: (row) => records[row].price, show: (value, row) => priced(records[row], value)},
      {id: "other", title: "Next best", value: (row) => (records[row].alternative ? records[row].alternative_price : null),
        show: (value, row) => priced(records[row], value), ifAny: true, hint: "price of the best one not chosen"},
      {id: "alternative", title: "Not chosen", value: (row) => (records[row].alternative ? signature(records[row].alternative) : ""), ifAny: true, width: "minmax(12em, 2fr)"},
      {id: "reason", title: "Reason", value: (row) => records[row].reason, search: true, width: "minmax(16em, 3fr)"},
    ],
  });
}

const TABLES = [
  {id: "ops", title: "Ops", make: opsTable},
  {id: "collectives", title: "Collectives", make: collectivesTable},
  {id: "peak", title: "Tensors at the peak", make: peakTable},
  {id: "decisions", title: "Decisions", make: decisionsTable},
];
const MODEL_TABLES = [  // of a graph without a plan
  {id: "ops", title: "Ops", make: modelOpsTable},
  {id: "tensors", title: "Tensors", make: modelTensorsTable},
];
const tablesOf = (model) => (model.bare ? MODEL_TABLES : TABLES);

export const tablesPanel = {
  id: "tables",
  title: "Tables",
  mount(element, {models, store}) {
    let model = models[0];
    let shown = "ops";
    const made = new Map();  // "plan table" -> DataTable
    const place = el("div", {class: "place"});
    const bar = el("div", {class: "switch", role: "group", "aria-label": "which table"});
    const show = () => {
      const rows = tablesOf(model);
      const table = rows.find(({id}) => id === shown) ?? rows[0];
      const key = `${model.index} ${table.id}`;
      if (!made.has(key)) made.set(key, table.make(model, (kind, id) => store.select(kind, id, model.index)));
      place.replaceChildren(made.get(key).element);
      for (const button of bar.children) button.setAttribute("aria-pressed", String(button.dataset.table === table.id));
    };
    const choose = (chosen) => {
      model = chosen;
      bar.replaceChildren(...tablesOf(model).map(({id, title}) =>
        el("button", {"data-table": id, onclick: () => { shown = id; show(); }}, title)));
      show();
    };
    store.on("selection", (selection) => {
      if (selection?.kind === "op" && selection.plan === model.index) made.get(`${model.index} ops`)?.mark(selection.id);
    });
    element.append(el("div", {class: "controls"}, bar, planChoice(models, choose)), place);
    choose(model);
  },
};
