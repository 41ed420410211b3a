// Search: ops, tensors, groups and transitions by name, type, module, layout, reason and kind of collective, with
// completion. A hit is selected, and so every panel shows it.
import {el, shorten} from "./dom.js";

const MOST_SHOWN = 50;

/**
 * Texts and what each of them stands for, one row a distinct text: {text, lower, kind, hits (number), find(): items},
 * an item {kind, id, plan} as in the store. Made when first asked for.
 */
function termsOf(models) {
  const terms = new Map();
  const add = (kind, text, item) => {
    const key = `${kind}\n${text}`;
    const found = terms.get(key);
    if (found === undefined) terms.set(key, {kind, text, lower: text.toLowerCase(), items: [item]});
    else found.items.push(item);
  };
  models.forEach((model, plan) => {
    addNames(model, plan, add);
    if (!model.bare) addChoices(model, plan, add);
  });
  return [...terms.values()];
}

function addNames(model, plan, add) {
  const {label, path, kind} = model.outline;
  for (let node = 1; node < label.length; ++node) {
    if (kind[node] !== 1) add("group", path[node] === "" ? label[node] : path[node], {kind: "scope", id: node, plan});
  }
  for (let op = 0; op < model.numOps; ++op) {
    add("type", model.opType(op), {kind: "op", id: op, plan});
    add("op", model.opName(op), {kind: "op", id: op, plan});
  }
  for (let tensor = 0; tensor < model.numTensors; ++tensor) {
    const label = model.graph.texts[model.graph.tensors.label[tensor]];
    const name = model.graph.tensors.name[tensor];
    const item = {kind: "tensor", id: tensor, plan};
    if (label !== "" && label !== name) add("module", label, item);
    add("tensor", name, item);
  }
}

function addChoices(model, plan, add) {
  const {decisions, transitions} = model;
  decisions.source.forEach((layout, tensor) => {
    if (layout >= 0) add("layout", decisions.layouts[layout].text, {kind: "tensor", id: tensor, plan});
  });
  transitions.tensor.forEach((_, t) => {
    const item = {kind: "transition", id: t, plan};
    for (const kind of new Set(transitions.steps[t].map(([kind]) => kind))) add("collective", transitions.kinds[kind].name, item);
    add("reason", transitions.reasons[transitions.reason[t]], item);
  });
  for (let op = 0; op < model.numOps; ++op) add("reason", model.record(op).reason, {kind: "op", id: op, plan});
}

// What begins like the text goes first, then what has a word that does, then what holds it; kinds in this order.
const HIT_KINDS = ["group", "type", "collective", "layout", "op", "module", "tensor", "reason"];

/** The rows whose text holds all words of the query, the best first. */
export function findTerms(terms, query) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return {rows: [], total: 0};
  const buckets = Array.from({length: 3 * HIT_KINDS.length}, () => []);
  let total = 0;
  for (const term of terms) {
    const at = term.lower.indexOf(words[0]);
    if (at < 0 || !words.every((word) => term.lower.includes(word))) continue;
    ++total;
    const place = at === 0 ? 0 : /[a-z0-9]/.test(term.lower[at - 1]) ? 2 : 1;
    const bucket = buckets[place * HIT_KINDS.length + HIT_KINDS.indexOf(term.kind)];
    if (bucket.length < MOST_SHOWN) bucket.push(term);
  }
  return {rows: buckets.flat().slice(0, MOST_SHOWN), total};
}

/** The box in the bar. */
export function searchTool({models, store}) {
  let terms = null;
  let rows = [];
  let chosen = 0;
  let last = null;  // {term, at}: the hit that is shown
  const input = el("input", {type: "search", placeholder: "Search  /", role: "combobox", "aria-expanded": "false",
    "aria-controls": "hits", "aria-autocomplete": "list", "aria-label": "search ops, tensors, layouts, reasons", autocomplete: "off"});
  const list = el("ul", {id: "hits", role: "listbox", hidden: true});
  const said = el("span", {class: "said", "aria-live": "polite"});

  const mark = () => {
    [...list.querySelectorAll("[role=option]")].forEach((row, i) => row.setAttribute("aria-selected", String(i === chosen)));
    const row = list.children[chosen];
    input.setAttribute("aria-activedescendant", row?.id ?? "");
    row?.scrollIntoView({block: "nearest"});
  };
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  };
  const show = () => {
    terms ??= termsOf(models);
    const {rows: found, total} = findTerms(terms, input.value);
    rows = found;
    chosen = 0;
    list.replaceChildren(...rows.map((term, i) => hitRow(term, i, () => go(term, 0))));
    if (total > rows.length) list.append(el("li", {class: "more"}, `and ${total - rows.length} more`));
    if (total === 0 && input.value !== "") list.append(el("li", {class: "more"}, "nothing has this in its name"));
    said.textContent = `${total} found`;
    list.hidden = input.value === "";
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark();
  };
  const go = (term, at) => {
    last = {term, at};
    const {kind, id, plan} = term.items[at];
    store.select(kind, id, plan);
    said.textContent = `${at + 1} of ${term.items.length}: ${shorten(term.text)}`;
    count.textContent = term.items.length > 1 ? `${at + 1} of ${term.items.length}` : "";
    close();
  };
  const step = (by) => {
    if (last !== null) go(last.term, (last.at + by + last.term.items.length) % last.term.items.length);
  };
  const count = el("span", {class: "hit-count"});
  input.addEventListener("input", show);
  input.addEventListener("focus", () => { if (input.value !== "") show(); });
  input.addEventListener("blur", () => setTimeout(close, 150));
  input.addEventListener("keydown", (event) => {
    const actions = {
      ArrowDown: () => { chosen = Math.min(chosen + 1, rows.length - 1); mark(); },
      ArrowUp: () => { chosen = Math.max(chosen - 1, 0); mark(); },
      Enter: () => (list.hidden ? step(event.shiftKey ? -1 : 1) : rows[chosen] && go(rows[chosen], 0)),
      Escape: () => { close(); input.value = ""; count.textContent = ""; input.blur(); },
    };
    if (actions[event.key] === undefined) return;
    event.preventDefault();
    actions[event.key]();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "")) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  return el("div", {class: "search", role: "search"}, input, count, list, said);
}

function hitRow(term, i, choose) {
  return el("li", {id: `hit-${i}`, role: "option", onmousedown: (event) => { event.preventDefault(); choose(); }},
      el("span", {class: "hit-kind"}, term.kind), el("span", {class: "hit-text"}, shorten(term.text, 90)),
      term.items.length > 1 ? el("span", {class: "hit-kind"}, `× ${term.items.length}`) : null);
}
