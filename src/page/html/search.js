// Search: ops, tensors, groups and transitions by name, type, module, layout, reason and kind of collective, with
// completion. A hit is selected, and so every panel shows it.
import {el, shorten} from "./dom.js";

const MOST_SHOWN = 50;

/** Texts and what each of them stands for, one row a distinct text: {kind, text, lower, items: [{kind, id, plan}]}. */
function termsOf(models) {
  const terms = [];
  const add = (kind, text, items) => {
    if (items.length > 0 && text !== "") terms.push({kind, text, lower: text.toLowerCase(), items});
  };
  models.forEach((model, plan) => {
    addNames(model, plan, add);
    if (!model.bare) addChoices(model, plan, add);
  });
  return terms;
}

/** `size` lists, with item({kind, id, plan}) of each id in 0 .. count in those that `places(id)` names. */
function sortedInto(size, count, kind, plan, places) {
  const lists = Array.from({length: size}, () => []);
  for (let id = 0; id < count; ++id) for (const place of places(id)) if (place >= 0) lists[place].push({kind, id, plan});
  return lists;
}

function addNames(model, plan, add) {
  const {outline, graph, numOps, numTensors} = model;
  outline.label.forEach((label, node) => {
    if (node > 0 && outline.kind[node] !== 1 && outline.items[node].length > 0) add("group", outline.path[node] || label, [{kind: "scope", id: node, plan}]);
  });
  sortedInto(graph.op_types.length, numOps, "op", plan, (op) => [graph.ops.type[op]])
      .forEach((items, type) => add("type", graph.op_types[type], items));
  sortedInto(graph.texts.length, numTensors, "tensor", plan, (tensor) => [graph.tensors.label[tensor]])
      .forEach((items, text) => add("module", graph.texts[text], items));
  graph.ops.name.forEach((name, id) => add("op", name, [{kind: "op", id, plan}]));
  graph.tensors.name.forEach((name, id) => add("tensor", name, [{kind: "tensor", id, plan}]));
}

function addChoices(model, plan, add) {
  const {decisions, transitions, numOps, numTensors} = model;
  const count = transitions.tensor.length;
  sortedInto(decisions.layouts.length, numTensors, "tensor", plan, (tensor) => [decisions.source[tensor]])
      .forEach((items, layout) => add("layout", decisions.layouts[layout].text, items));
  sortedInto(transitions.kinds.length, count, "transition", plan, (t) => new Set(transitions.steps[t].map(([kind]) => kind)))
      .forEach((items, kind) => add("collective", transitions.kinds[kind].name, items));
  sortedInto(transitions.reasons.length, count, "transition", plan, (t) => [transitions.reason[t]])
      .forEach((items, reason) => add("reason", transitions.reasons[reason], items));
  const reasons = new Map();
  const places = decisions.records.map(({reason}) => {
    if (!reasons.has(reason)) reasons.set(reason, reasons.size);
    return reasons.get(reason);
  });
  const lists = sortedInto(reasons.size, numOps, "op", plan, (op) => [places[decisions.of_op[op]] ?? -1]);
  [...reasons.keys()].forEach((reason, i) => add("reason", reason, lists[i]));
}

// What begins like the text goes first, then what has a word that does, then what holds it; kinds in this order.
const HIT_KINDS = ["group", "type", "collective", "layout", "op", "module", "tensor", "reason"];

/** The rows whose text holds all words of the query, the best first; `found`: all of them. */
export function findTerms(terms, query) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return {rows: [], found: []};
  const buckets = Array.from({length: 3 * HIT_KINDS.length}, () => []);
  const found = [];
  for (const term of terms) {
    const at = term.lower.indexOf(words[0]);
    if (at < 0 || !words.every((word) => term.lower.includes(word))) continue;
    found.push(term);
    const place = at === 0 ? 0 : /[a-z0-9]/.test(term.lower[at - 1]) ? 2 : 1;
    const bucket = buckets[place * HIT_KINDS.length + HIT_KINDS.indexOf(term.kind)];
    if (bucket.length < MOST_SHOWN) bucket.push(term);
  }
  return {rows: buckets.flat().slice(0, MOST_SHOWN), found};
}

/** The box in the bar. */
export function searchTool({models, store}) {
  let terms = null;
  let before = null;  // {query, found}
  let rows = [];
  let chosen = 0;
  let last = null;  // {term, at}: the hit that is shown
  const input = el("input", {type: "search", placeholder: "Search  /", role: "combobox", "aria-expanded": "false",
    "aria-controls": "hits", "aria-autocomplete": "list", "aria-label": "search ops, tensors, layouts, reasons",
    autocomplete: "off"});
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
    // Who goes on typing searches what was found.
    const answer = findTerms(before !== null && input.value.startsWith(before.query) ? before.found : terms, input.value);
    before = input.value.trim() === "" ? null : {query: input.value, found: answer.found};
    rows = answer.rows;
    const total = answer.found.length;
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
  whenIdle(() => { terms ??= termsOf(models); });
  input.addEventListener("input", show);
  let closing = 0;
  input.addEventListener("focus", () => {
    clearTimeout(closing);
    if (input.value !== "") show();
  });
  input.addEventListener("blur", () => { closing = setTimeout(close, 150); });
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
    const writes = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || writes) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  return el("div", {class: "search", role: "search"}, input, count, list, said);
}

// Safari has no requestIdleCallback.
function whenIdle(action) {
  if (globalThis.requestIdleCallback) requestIdleCallback(action, {timeout: 3000});
  else setTimeout(action, 500);
}

function hitRow(term, i, choose) {
  return el("li", {id: `hit-${i}`, role: "option", onmousedown: (event) => { event.preventDefault(); choose(); }},
      el("span", {class: "hit-kind"}, term.kind), el("span", {class: "hit-text", title: shorten(term.text, 2000)}, shorten(term.text, 400)),
      term.items.length > 1 ? el("span", {class: "hit-kind"}, `× ${term.items.length}`) : null);
}
