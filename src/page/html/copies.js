// The copies of a repeated layer: which one is shown, where they differ, and the way from one to the same op in another.
import {costsOf} from "./costs.js";
import {el} from "./dom.js";
import {seconds} from "./format.js";
import {changedOps} from "./match.js";
import {MOST_ROWS, growingList, layoutChip, link, part} from "./parts.js";

const REPEAT_KIND = 2;  // of an outline's node
const MOST_CHOICES = 300;  // of a list to choose from; beyond that a copy's number is written

/** Of a node, or an op as -1 - op: the repeats around it, innermost first: [{repeat, copy (which)}]. */
export function repeatsAround(model, node, op = -1) {
  const {kind, parent, items} = model.outline;
  const found = [];
  for (let child = op >= 0 ? op : -1 - node, at = op >= 0 ? model.nodeOf[op] : parent[node]; at >= 0; child = -1 - at, at = parent[at]) {
    if (kind[at] === REPEAT_KIND) found.push({repeat: at, copy: items[at].indexOf(child)});
  }
  return found;
}

/** The ops of a copy, in an order in which those of other copies stand at the same places. */
function opsOfCopy(model, item) {
  return item >= 0 ? [item] : model.opsOf(-1 - item);
}

function copyName(model, item) {
  return item >= 0 ? model.opName(item) : model.outline.label[-1 - item];
}

function selectCopy(page, model, item) {
  page.store.select(item >= 0 ? "op" : "scope", item >= 0 ? item : -1 - item, model.index);
}

/** Says which copy is to be shown; `chosen`: its number, -1: the repeat itself is what is selected. */
function copyChoice(model, repeat, chosen, choose) {
  const items = model.outline.items[repeat];
  if (items.length > MOST_CHOICES) {
    const number = el("input", {type: "number", min: 1, max: items.length, "aria-label": "which copy", value: chosen < 0 ? "" : chosen + 1,
      onchange: () => choose(items[Math.min(Math.max(Math.round(number.valueAsNumber || 1), 1), items.length) - 1])});
    return el("p", {}, el("label", {}, "Show copy ", number, ` of ${items.length}`));
  }
  const select = el("select", {"aria-label": "which copy", onchange: () => choose(items[Number(select.value)])},
      chosen < 0 ? el("option", {value: ""}, "choose one") : null,
      items.map((item, i) => el("option", {value: i}, `${i + 1} of ${items.length}: ${copyName(model, item)}`)));
  select.value = chosen < 0 ? "" : String(chosen);
  return el("p", {}, el("label", {}, "Show copy ", select));
}

/** What a copy has of its own: where nothing else differs, when it runs. */
function factsOfCopy(model, item) {
  const ops = opsOfCopy(model, item);
  const costs = costsOf(model);
  const changed = changedOps(model);
  const sum = (column) => ops.reduce((total, op) => total + column[op], 0);
  const start = model.bare ? 0 : ops.reduce((least, op) => Math.min(least, model.schedule.start[op]), Infinity);
  return {start, exposed: sum(costs.exposed), changed: ops.filter((op) => changed.has(op)).length};
}

/** Of a repeat, or of one of its copies; null of other scopes. */
export function copiesPart(page, model, node) {
  const isRepeat = model.outline.kind[node] === REPEAT_KIND;
  const around = isRepeat ? {repeat: node, copy: -1} : repeatsAround(model, node).find(({repeat}) => repeat === model.outline.parent[node]);
  if (around === undefined) return null;
  const items = model.outline.items[around.repeat];
  const rows = growingList(items, MOST_ROWS, (item) => {
    const {start, exposed, changed} = factsOfCopy(model, item);
    return [link(page, model, item >= 0 ? "op" : "scope", item >= 0 ? item : -1 - item, copyName(model, item)),
      model.bare ? "" : ` from ${seconds(start)}, exposed ${seconds(exposed)}`,
      model.other ? `, ${changed === 0 ? "as in the other plan" : `≠ ${changed} ops differ from the other plan`}` : ""];
  });
  return part(`Copies (${items.length})`, true, copyChoice(model, around.repeat, around.copy, (item) => selectCopy(page, model, item)),
      el("p", {class: "note"}, model.bare ? "Copies are equal: the same ops of the same types and sizes." :
        "Copies are equal: the same ops, layouts and collectives. They differ in when they run, and so in what is exposed:"), rows);
}

/** The same op in the other copies of the repeats around it; null where there is none. */
export function sameInCopies(page, model, op) {
  const [inner] = repeatsAround(model, -1, op);
  if (inner === undefined) return null;
  const items = model.outline.items[inner.repeat];
  const place = opsOfCopy(model, items[inner.copy]).indexOf(op);
  const same = (item) => opsOfCopy(model, item)[place];
  return part(`In copies of the layer (${items.length})`, false,
      copyChoice(model, inner.repeat, inner.copy, (item) => page.store.select("op", same(item), model.index)),
      growingList(items.map(same), MOST_ROWS, (other) => [link(page, model, "op", other), " ",
        model.bare ? null : layoutChip(model, model.record(other).outputs[0]),
        model.bare ? "" : ` from ${seconds(model.schedule.start[other])}`]));
}
