// The side panel of a tensor: type, layouts, who writes and reads it, when it is held, and the shard picture.
import {stepsText} from "./costs.js";
import {el} from "./dom.js";
import {bytes, count} from "./format.js";
import {ROLES} from "./model.js";
import {MOST_ROWS, copyable, factList, growingList, layoutChip, link, part, shellWord} from "./parts.js";
import {notSplit} from "./replication.js";
import {localShape, shardPicture} from "./shards.js";
import {opLabel, readerLine, readersOf, transitionLine} from "./side_op.js";

function writerText(model, op) {
  const scope = model.scopeBeside(op);
  return `${model.opType(op)} ${model.opName(op)}${scope === "" ? "" : ` (${scope})`}`;
}

/** The layouts in which it lies: as it is written first, then those that boxing makes; each once, with how. */
function layoutsOf(model, tensor) {
  const layouts = [];
  const add = (layout, how) => {
    if (layout >= 0 && !layouts.some((known) => known.layout === layout)) layouts.push({layout, how});
  };
  const producer = model.producer[tensor];
  add(model.decisions.source[tensor], producer >= 0 ? `as written by ${writerText(model, producer)}` : "as it starts");
  for (const transition of model.transitionsOf.get(tensor) ?? []) {
    add(model.transitions.to[transition], `after ${stepsText(model, transition)}`);
  }
  return layouts;
}

function shapes(model, tensor, layout) {
  const {shape} = model.graph.types[model.graph.tensors.type[tensor]];
  if (shape.some((size) => size < 0)) return "";
  const local = localShape(shape, model.decisions.layouts[layout].axes, model.head.mesh);
  return el("span", {class: "shapes"}, `[${shape.join(",")}] → [${local.join(",")}] a device`);
}

/** One layout at a time is drawn: a radio button for each. */
function shardSection(model, tensor) {
  const layouts = layoutsOf(model, tensor);
  if (layouts.length === 0) return null;
  const picture = el("div", {});
  const draw = (layout) => picture.replaceChildren(
      shardPicture(model.shapeOf(tensor), model.decisions.layouts[layout].axes, model.head.mesh));
  const group = `layout-of-${model.index}-${tensor}`;
  const choices = layouts.map(({layout, how}, i) => el("label", {class: "choice"},
      el("input", {type: "radio", name: group, checked: i === 0, onchange: () => draw(layout)}), layoutChip(model, layout), " ",
      shapes(model, tensor, layout), el("div", {class: "why"}, how)));
  draw(layouts[0].layout);
  return part("Which device holds which slice", true, el("div", {role: "radiogroup", "aria-label": "Layout drawn"}, choices), picture);
}

function lifetimeRows(page, model, tensor) {
  const {lifetimes, kinds, op_at: opAt} = model.memory;
  const rows = [];
  for (let i = 0; i < lifetimes.tensor.length; ++i) if (lifetimes.tensor[i] === tensor) rows.push(i);
  const at = (position) => {
    const op = opAt[position];
    return op === undefined || op < 0 ? `position ${position}` : link(page, model, "op", op);
  };
  return rows.map((i) => el("li", {}, `${lifetimes.bytes[i] === 0 ? "no memory of its own" : bytes(lifetimes.bytes[i])} as ${kinds[lifetimes.kind[i]]}, from `,
      at(lifetimes.first[i]), " to ", at(lifetimes.last[i]),
      lifetimes.transition[i] >= 0 ? [", made by ", link(page, model, "transition", lifetimes.transition[i],
          stepsText(model, lifetimes.transition[i]))] : ""));
}

/** Who reads it, in which layout where that is another one than it was written in, and by which boxing. */
function readerList(page, model, tensor) {
  const readers = readersOf(model, tensor);
  const written = model.bare ? -1 : model.decisions.source[tensor];
  return part(`Readers (${count(readers.length)})`, true, readers.length === 0 ? el("p", {}, "Nobody reads it.") :
    growingList(readers, MOST_ROWS, (reader) => readerLine(page, model, reader, written)));
}

/** Texts of a column of the section `tensors` (src/page/sections.h), one a line; null: none. */
function textsOf(model, column, tensor) {
  const {texts} = model.tensors ?? {};
  const found = model.tensors?.[column].find(([id]) => id === tensor);
  return found === undefined ? null : found[1].map((text) => el("div", {}, texts[text]));
}

export function tensorSections(page, model, tensor) {
  const {tensors, texts} = model.graph;
  const producer = model.producer[tensor];
  const size = model.shapeOf(tensor).some((extent) => extent < 0) ? null : model.tensorBytes(tensor);
  const sections = [factList([
    ["label", texts[tensors.label[tensor]]],
    ["type", model.typeText(tensor)],
    ["role", ROLES[tensors.role[tensor]]],
    ["written by", producer >= 0 ? opLabel(page, model, producer) : null],
    ["not split", model.bare ? null : notSplit(model, [tensor])],
    ["spread", textsOf(model, "spread", tensor)],
    ["pinned", textsOf(model, "pins", tensor)],
    ["bytes", size === null ? null : [el("span", {"data-value": "bytes"}, bytes(size)), " in all"]],
  ])];
  if (!model.bare) sections.push(shardSection(model, tensor));
  sections.push(readerList(page, model, tensor));
  if (model.bare) return sections;
  const boxed = model.transitionsOf.get(tensor) ?? [];
  sections.push(part(`Boxed (${boxed.length})`, true, boxed.length === 0 ? el("p", {}, "Nowhere: all take it as it lies.") :
    growingList(boxed, MOST_ROWS, (transition) => transitionLine(page, model, transition))));
  const held = lifetimeRows(page, model, tensor);
  if (held.length > 0) sections.push(part("Held on each device", true, el("ul", {class: "plain"}, held)));
  const layout = model.decisions.source[tensor];
  if (layout >= 0) {
    sections.push(part("Pin", false, copyable(`--pin ${shellWord(`${tensors.name[tensor]}=${model.layoutText(layout)}`)}`)));
  }
  return sections;
}
