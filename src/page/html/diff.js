// The panel of a page of two plans: totals with their differences, and every change with the reasons of both.
import {CHART_FONT} from "./chart.js";
import {stepsText} from "./costs.js";
import {cutName} from "./cut_name.js";
import {el} from "./dom.js";
import {bytes, counted, seconds} from "./format.js";
import {comparisonOf} from "./match.js";
import {layoutChip, nameOf} from "./parts.js";
import {misfitText, planLabel, warningsList, warningsWord} from "./plan_facts.js";
import {signatureChips} from "./side_op.js";

const CHANGE_HEIGHT = 46;
const KINDS_OF_CHANGE = [
  {id: "", title: "All changes"},
  {id: "layouts", title: "Layouts", sign: "≠"},
  {id: "collective added", title: "Collective added", sign: "+⇄"},
  {id: "collective removed", title: "Collective removed", sign: "−⇄"},
  {id: "added", title: "Op added", sign: "+"},
  {id: "removed", title: "Op removed", sign: "−"},
  {id: "type", title: "Another type", sign: "T"},
  {id: "time", title: "Only time", sign: "t"},
];

const signed = (value, show) => value === 0 ? "=" : `${value > 0 ? "+" : "−"}${show(Math.abs(value))}`;

const TOTALS = [
  {title: "step", show: seconds, value: (model) => model.schedule.summary.step},
  {title: "compute", show: seconds, value: (model) => model.head.summary.compute_seconds},
  {title: "slices and copies", show: seconds, value: (model) => model.head.summary.local_copy_seconds},
  {title: "collectives", show: seconds, value: (model) => model.schedule.summary.collectives},
  {title: "exposed communication", show: seconds, value: (model) => model.schedule.summary.exposed},
  {title: "bytes moved", show: bytes, value: (model) => model.head.summary.bytes_moved},
  {title: "peak memory", show: bytes, value: (model) => model.memory.peak_bytes},
  {title: "ops", show: String, value: (model) => model.numOps},
  {title: "transitions", show: String, value: (model) => model.transitions.tensor.length},
];

/** What is wrong with a plan: that it does not fit, and its warnings. */
function complaints(model) {
  const name = `${model.index === 0 ? "before" : "after"}: `;
  const misfit = misfitText(model);
  const warnings = warningsList(model);
  return [misfit === null ? null : el("p", {class: "alert"}, `${name}this plan ${misfit}`),
    warnings === null ? null : el("details", {}, el("summary", {}, `${name}${warningsWord(model)}`), warnings)];
}

function totalsTable(models) {
  const [a, b] = models;
  const rows = a.bare || b.bare ? [] : TOTALS.map(({title, show, value}) => {
    const [before, after] = [value(a), value(b)];
    const relative = before > 0 && after !== before ? ` (${signed(100 * (after - before) / before, (part) => `${part.toFixed(1)} %`)})` : "";
    return el("tr", {"data-total": title}, el("th", {scope: "row"}, title), el("td", {}, show(before)), el("td", {}, show(after)),
        el("td", {class: after > before ? "dearer" : after < before ? "cheaper" : null}, signed(after - before, show), relative));
  });
  return el("table", {class: "totals-table"}, el("thead", {}, el("tr", {}, ["", `before: ${planLabel(a)}`, `after: ${planLabel(b)}`, "difference"]
      .map((name) => el("th", {scope: "col"}, name)))), el("tbody", {}, rows));
}

/** Rows of one height; only those in sight are elements. `show(item)` -> cells. */
export function virtualRows(element, height, show) {
  const spacer = el("div", {class: "spacer"});
  element.append(spacer);
  let items = [];
  const draw = () => {
    const first = Math.max(0, Math.floor(element.scrollTop / height) - 4);
    const last = Math.min(items.length, first + Math.ceil(element.clientHeight / height) + 8);
    const focused = element.contains(document.activeElement) ? document.activeElement.getAttribute("data-at") : null;
    spacer.style.height = `${items.length * height}px`;
    spacer.replaceChildren(...items.slice(first, last).map((item, i) => {
      const row = show(item, first + i);
      row.style.top = `${(first + i) * height}px`;
      row.style.height = `${height}px`;
      return row;
    }));
    if (focused !== null) spacer.querySelector(`[data-at="${focused}"]`)?.focus({preventScroll: true});
  };
  element.addEventListener("scroll", draw);
  new ResizeObserver(draw).observe(element);
  return {set(next) {
    items = next;
    element.scrollTop = 0;
    draw();
  }, draw};
}

/** How a thing lies in one plan, and why. */
function sideOf(model, row, id) {
  if (id < 0) return el("div", {class: "cell absent", role: "gridcell"}, "—");
  if (row.of === "op") {
    const record = model.record(id);
    return el("div", {class: "cell", role: "gridcell"}, record ? signatureChips(model, record) : null, el("div", {class: "why", title: record?.reason},
        record ? record.reason : ""));
  }
  const {from, to, reason, reasons} = model.transitions;
  return el("div", {class: "cell", role: "gridcell"}, layoutChip(model, from[id]), "→", layoutChip(model, to[id]),
      el("div", {class: "why", title: reasons[reason[id]]}, reasons[reason[id]]));
}

/** `cut`: makes a name fit its column. */
function changeRow(page, row, {at, cut}) {
  const plan = row.ids[1] >= 0 ? 1 : 0;
  const model = page.models[plan];
  const id = row.ids[plan];
  const kind = KINDS_OF_CHANGE.find(({id: name}) => name === row.kind);
  const name = row.of === "op" ? model.opName(id) : model.graph.tensors.name[model.transitions.tensor[id]];
  const what = row.of === "op" ? model.opType(id) : stepsText(model, id);
  const chosen = page.store.get("selection");
  const isChosen = chosen !== null && chosen.kind === row.of && chosen.id === row.ids[chosen.plan];
  return el("div", {class: "change", role: "row", "data-at": at, tabindex: 0, "aria-selected": String(isChosen),
    onclick: () => page.store.select(row.of, id, plan),
    onkeydown: (event) => {
      if (event.key === "Enter" || event.key === " ") page.store.select(row.of, id, plan);
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        const sibling = event.key === "ArrowDown" ? "nextElementSibling" : "previousElementSibling";
        event.currentTarget[sibling]?.focus();
      } else return;
      event.preventDefault();
    }},
  el("div", {class: "cell what", role: "gridcell"}, el("span", {class: "sign", "aria-hidden": "true"}, kind.sign), ` ${kind.title}`),
  el("div", {class: "cell name", role: "gridcell"}, el("bdi", {title: name.slice(0, 2000)}, cut(name)),
      el("div", {class: "why", title: what}, what)),
  sideOf(page.models[0], row, row.ids[0]), sideOf(page.models[1], row, row.ids[1]),
  el("div", {role: "gridcell", class: `cell number ${row.change > 0 ? "dearer" : "cheaper"}`}, signed(row.change, seconds)));
}

function countsOf(rows) {
  const counts = new Map([["", rows.length]]);
  for (const {kind} of rows) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

function mount(element, page) {
  const comparison = comparisonOf(page);
  const counts = countsOf(comparison.rows);
  const kinds = el("select", {"aria-label": "Kind of change"}, KINDS_OF_CHANGE.filter(({id}) => counts.has(id))
      .map(({id, title}) => el("option", {value: id}, `${title} (${counts.get(id)})`)));
  const words = el("input", {type: "search", placeholder: "Name, type or reason", "aria-label": "Filter changes"});
  const status = el("span", {role: "status"});
  const heads = ["what", "name", "before", "after", "time"].map((name) => el("div", {class: "cell", role: "columnheader"}, name));
  const context = el("canvas").getContext("2d");
  context.font = CHART_FONT.replace("12px", "13px");
  const cut = (name) => cutName(context, name, heads[1].clientWidth - 4);
  const body = el("div", {class: "changes", role: "rowgroup", tabindex: -1});
  const list = virtualRows(body, CHANGE_HEIGHT, (row, at) => changeRow(page, row, {at, cut}));
  const texts = new Map();
  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, row.ids.flatMap((id, plan) => id < 0 ? [] : describe(page.models[plan], row, id)).join("\n").toLowerCase());
    return texts.get(row);
  };
  const filter = () => {
    const wanted = words.value.toLowerCase();
    const rows = comparison.rows.filter((row) => (kinds.value === "" || row.kind === kinds.value) &&
        (wanted === "" || textOf(row).includes(wanted)));
    status.textContent = rows.length === 0 ? "No change." : `${rows.length} of ${counted(comparison.rows.length, "change")}`;
    list.set(rows);
  };
  kinds.addEventListener("change", filter);
  words.addEventListener("input", filter);
  page.store.on("selection", () => list.draw());
  element.append(totalsTable(page.models), el("div", {class: "complaints"}, page.models.map(complaints)), el("div", {class: "filters"}, kinds, words, status),
      el("div", {class: "table", role: "grid", "aria-label": "Changes"},
          el("div", {class: "change head", role: "row"}, heads), body));
  filter();
}

/** What the filter looks at. */
function describe(model, row, id) {
  if (row.of === "op") return [model.opName(id), model.opType(id), model.record(id)?.reason ?? ""];
  return [nameOf(model, {kind: "transition", id}), model.transitions.reasons[model.transitions.reason[id]]];
}

export const diffPanel = {id: "diff", title: "Changes", needsTwo: true, mount};
