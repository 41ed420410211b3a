// The shard picture: which device of the mesh holds which slice of a tensor. The arithmetic is that of
// src/sbp/shard_math.h; tests/viewer compares the two.
import {el, svg} from "./dom.js";

const MOST_DEVICES = 4096;  // drawn
const MOST_LISTED = 256;
const FEW_DEVICES = 64;
const MOST_CELL_ELEMENTS = 256;
const LEAST_FONT = 6.5;  // pixels, of numbers in cells of many
// Light tints that stay apart for colour-blind readers; numbers and patterns say the same.
const TINTS = ["#9ecae9", "#ffc98b", "#a9dbaf", "#f3b6c4", "#d3c1ea", "#f2e394", "#8fd6d1", "#d9c3ad"];

/** Part `part` of `parts` of the half-open range [begin, end): the first parts hold one more. */
export function balancedPart([begin, end], parts, part) {
  const least = Math.floor((end - begin) / parts);
  const larger = (end - begin) % parts;
  const first = begin + part * least + Math.min(part, larger);
  return [first, first + least + (part < larger ? 1 : 0)];
}

/** The dimension that an axis splits; -1: none. */
export function splitDimension(axisLayout) {
  const match = /^S\((\d+)\)$/.exec(axisLayout);
  return match === null ? -1 : Number(match[1]);
}

/** Per dimension the range that the device at `coordinates` holds; `axes`: "S(0)", "B", "P(sum)" per mesh axis. */
export function localSlice(shape, axes, mesh, coordinates) {
  const ranges = shape.map((size) => [0, size]);
  axes.forEach((layout, axis) => {
    const dimension = splitDimension(layout);
    if (dimension >= 0) ranges[dimension] = balancedPart(ranges[dimension], mesh.axes[axis][1], coordinates[axis]);
  });
  return ranges;
}

/** The largest shape that a device holds. */
export function localShape(shape, axes, mesh) {
  return localSlice(shape, axes, mesh, mesh.axes.map(() => 0)).map(([begin, end]) => end - begin);
}

function coordinatesOf(position, mesh) {
  const coordinates = [];
  for (let axis = mesh.axes.length - 1; axis >= 0; --axis) {
    coordinates[axis] = position % mesh.axes[axis][1];
    position = Math.floor(position / mesh.axes[axis][1]);
  }
  return coordinates;
}

/**
 * The distinct slices of a tensor and who holds them: {shards: [{ranges, ranks}], devices: [{rank, coordinates, shard}],
 * total (of devices), partial: [names of axes over which each device holds a term of a sum]}.
 */
export function findShards(shape, axes, mesh) {
  const total = mesh.axes.reduce((product, [, size]) => product * size, 1);
  const shards = [];
  const devices = [];
  const known = new Map();
  for (let position = 0; position < Math.min(total, MOST_DEVICES); ++position) {
    const coordinates = coordinatesOf(position, mesh);
    const ranges = localSlice(shape, axes, mesh, coordinates);
    const key = ranges.join(";");
    if (!known.has(key)) {
      known.set(key, shards.length);
      shards.push({ranges, ranks: []});
    }
    const rank = mesh.ranks.length > 0 ? mesh.ranks[position] : position;
    const shard = known.get(key);
    shards[shard].ranks.push(rank);
    devices.push({rank, coordinates, shard});
  }
  const partial = mesh.axes.filter((_, axis) => axes[axis].startsWith("P")).map(([name]) => name);
  return {shards, devices, total, partial};
}

/** [0, 1, 2, 5] -> "0–2, 5" */
export function rankRuns(ranks) {
  const runs = [];
  for (let begin = 0, end; begin < ranks.length; begin = end) {
    end = begin + 1;
    while (end < ranks.length && ranks[end] === ranks[end - 1] + 1) ++end;
    runs.push(end - begin === 1 ? `${ranks[begin]}` : `${ranks[begin]}–${ranks[end - 1]}`);
  }
  return runs.join(", ");
}

/** "[0:512, 1024:2048]" */
export function rangesText(ranges) {
  return `[${ranges.map(([begin, end]) => `${begin}:${end}`).join(", ")}]`;
}

const SHARD_INK = "#1b2430";
const tint = (shard) => TINTS[shard % TINTS.length];
let numPatterns = 0;

/** Lines over what is a term of a sum only; `id` is unique in the page. */
function hatching() {
  const id = `hatching${++numPatterns}`;
  return {id, defs: svg("defs", {}, svg("pattern", {id, width: 6, height: 6, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)"}, svg("line", {x1: 0, y1: 0, x2: 0, y2: 6, stroke: "#1b2430", "stroke-width": 1.2,
    "stroke-opacity": 0.55})))};
}

/** A picture of cells: {x, y, width, height, shard, text, label() -> what is told of it}. Few are elements each; of many
 * those of one tint are one path, so that what is drawn stays bounded. */
function drawCells(picture, cells, found, pattern, tell) {
  if (cells.length <= MOST_CELL_ELEMENTS) picture.append(...cells.map((cell) => cellElement(cell, found, pattern, tell)));
  else drawJoined(picture, cells, found, pattern, tell);
}

const isCopy = ({shard, width, height}, found) => found.partial.length === 0 && found.shards[shard].ranks.length > 1 && width > 10 && height > 10;
const fontSizeOf = ({text, width, height}) => Math.max(5, Math.min(12, height * 0.6, width / Math.max(1, text.length) * 1.5));

function cellText(cell) {
  return svg("text", {x: cell.x + cell.width / 2, y: cell.y + cell.height / 2, "font-size": fontSizeOf(cell), fill: SHARD_INK,
    "text-anchor": "middle", "dominant-baseline": "central"}, cell.text);
}

function cellElement(cell, found, pattern, tell) {
  const {x, y, width, height, shard} = cell;
  const label = cell.label();
  const parts = [svg("title", {}, label),
    svg("rect", {x, y, width, height, fill: tint(shard), stroke: SHARD_INK, "stroke-width": 0.8})];
  if (found.partial.length > 0) {
    parts.push(svg("rect", {x, y, width, height, fill: `url(#${pattern})`}));
  } else if (isCopy(cell, found)) {
    parts.push(svg("rect", {x: x + 2.5, y: y + 2.5, width: width - 5, height: height - 5, fill: "none", stroke: SHARD_INK,
      "stroke-width": 0.8, "stroke-dasharray": "2 2"}));
  }
  if (width >= 8 && height >= 8) parts.push(cellText(cell));
  return svg("g", {"data-shard": shard, onmouseenter: () => tell(label), onmouseleave: () => tell("")}, parts);
}

/** Of a rectangle; `inset`: smaller by so much on each side. */
const cellPath = ({x, y, width, height}, inset = 0) =>
  `M${(x + inset).toFixed(2)} ${(y + inset).toFixed(2)}h${(width - 2 * inset).toFixed(2)}v${(height - 2 * inset).toFixed(2)}h${(2 * inset - width).toFixed(2)}z`;

function drawJoined(picture, cells, found, pattern, tell) {
  const paths = TINTS.map(() => []);
  for (const cell of cells) paths[cell.shard % TINTS.length].push(cellPath(cell));
  const lines = cells[0].width >= 3 && cells[0].height >= 3 ? {stroke: SHARD_INK, "stroke-width": 0.8} : {};
  paths.forEach((path, i) => {
    if (path.length > 0) picture.append(svg("path", {d: path.join(""), fill: TINTS[i], ...lines}));
  });
  if (found.partial.length > 0) picture.append(svg("path", {d: cells.map((cell) => cellPath(cell)).join(""), fill: `url(#${pattern})`}));
  const copies = cells.filter((cell) => isCopy(cell, found));
  if (copies.length > 0) {
    picture.append(svg("path", {d: copies.map((cell) => cellPath(cell, 2.5)).join(""), fill: "none", stroke: SHARD_INK,
      "stroke-width": 0.8, "stroke-dasharray": "2 2"}));
  }
  picture.append(...cells.filter((cell) => fontSizeOf(cell) >= LEAST_FONT && cell.height >= 8).map(cellText));
  picture.addEventListener("mousemove", (event) => {
    const bounds = picture.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const at = cells.find((cell) => x >= cell.x && x < cell.x + cell.width && y >= cell.y && y < cell.y + cell.height);
    tell(at === undefined ? "" : at.label());
  });
  picture.addEventListener("mouseleave", () => tell(""));
}

function deviceLabel(device, found, mesh) {
  const place = mesh.axes.map(([name], axis) => `${name} ${device.coordinates[axis]}`).join(", ");
  const shard = found.shards[device.shard];
  const copies = shard.ranks.length;
  const terms = found.partial.length > 0 ? `, a term of the sum over ${found.partial.join(", ")}` : "";
  return `device ${device.rank} (${place}): ${rangesText(shard.ranges)}, shard ${device.shard}` +
      (copies > 1 && terms === "" ? `, one of ${copies} copies` : "") + terms;
}

/** The mesh: its last axis across, the others down. */
function meshPicture(found, mesh, width, tell) {
  const across = mesh.axes.at(-1)[1];
  const left = 56, top = 18;
  const size = Math.max(4, Math.min(34, (width - left) / across));
  const rows = Math.ceil(found.devices.length / across);
  const {id, defs} = hatching();
  const picture = svg("svg", {width, height: top + rows * size + 2, role: "img",
    "aria-label": `${found.total} devices, ${found.shards.length} distinct shards`}, defs,
      svg("text", {x: left, y: 12, "font-size": 11, fill: "currentColor"}, `${mesh.axes.at(-1)[0]} →`));
  const downNames = mesh.axes.slice(0, -1).map(([name]) => name).join(" × ");
  if (downNames !== "") picture.append(svg("text", {x: 0, y: 12, "font-size": 11, fill: "currentColor"}, `${downNames} ↓`));
  const cells = found.devices.map((device, position) => {
    const row = Math.floor(position / across), column = position % across;
    if (column === 0 && size >= 10 && downNames !== "") {
      picture.append(svg("text", {x: left - 6, y: top + (row + 0.65) * size, "font-size": 11, "text-anchor": "end",
        fill: "currentColor"}, device.coordinates.slice(0, -1).join(",")));
    }
    return {x: left + column * size, y: top + row * size, width: size, height: size, shard: device.shard,
      text: String(device.rank), label: () => deviceLabel(device, found, mesh)};
  });
  drawCells(picture, cells, found, id, tell);
  return picture;
}

/** The tensor, its first two split dimensions down and across, cut where the shards end. */
function tensorPicture(found, shape, width, tell) {
  const split = shape.map((_, dimension) => dimension)
      .filter((dimension) => found.shards.some(({ranges}) => ranges[dimension][1] - ranges[dimension][0] < shape[dimension]));
  const whole = shape.map((_, dimension) => dimension).filter((dimension) => !split.includes(dimension));
  const [down, across] = [...split, ...whole];
  const left = 56, top = 18, height = 130, wide = width - left - 2;
  const scaleX = across === undefined ? wide : wide / Math.max(1, shape[across]);
  const scaleY = down === undefined ? height : height / Math.max(1, shape[down]);
  const {id, defs} = hatching();
  const picture = svg("svg", {width, height: top + height + 4, role: "img",
    "aria-label": `a tensor of shape [${shape.join(", ")}] cut into ${found.shards.length}`}, defs);
  const note = (x, y, text) => picture.append(svg("text", {x, y, "font-size": 11, fill: "currentColor"}, text));
  if (down !== undefined) note(0, 12, `dim ${down} ↓`);
  if (across !== undefined) note(left, 12, `dim ${across} → (${shape[across]})`);
  if (down !== undefined) note(0, top + height / 2, String(shape[down]));
  const drawn = new Set();
  const cells = [];
  found.shards.forEach(({ranges, ranks}, shard) => {
    const [x0, x1] = across === undefined ? [0, 1] : ranges[across];
    const [y0, y1] = down === undefined ? [0, 1] : ranges[down];
    const spot = `${x0},${y0}`;
    if (drawn.has(spot)) return;  // behind another along a third dimension
    drawn.add(spot);
    const runs = rankRuns(ranks);
    cells.push({x: left + x0 * scaleX, y: top + y0 * scaleY, width: (x1 - x0) * scaleX, height: (y1 - y0) * scaleY, shard, text: runs,
      label: () => `shard ${shard} ${rangesText(ranges)} on ${runs}`});
  });
  drawCells(picture, cells, found, id, tell);
  if (split.length > 2) {
    note(left, top + height - 4, `also split along ${split.slice(2).map((dimension) => `dim ${dimension}`).join(", ")}`);
  }
  return picture;
}

/** Of many devices it is made when it is opened. */
function deviceTable(found, mesh) {
  const listed = found.devices.slice(0, MOST_LISTED);
  const body = el("tbody", {});
  const fill = () => body.replaceChildren(...listed.map((device) => el("tr", {}, el("td", {}, String(device.rank)),
      el("td", {}, device.coordinates.join(", ")), el("td", {}, String(device.shard)),
      el("td", {class: "ranges"}, rangesText(found.shards[device.shard].ranges)))));
  if (listed.length <= FEW_DEVICES) fill();
  const opened = () => body.children.length === 0 && fill();
  return el("details", {ontoggle: opened}, el("summary", {}, "Slices as a table"),
      el("table", {class: "plain slices"}, el("thead", {}, el("tr", {}, ["device", mesh.axes.map(([name]) => name).join(", "),
        "shard", "slice"].map((name) => el("th", {scope: "col"}, name)))), body),
      found.total > listed.length ? el("p", {class: "note"}, `and ${found.total - listed.length} devices more`) : null);
}

/** What the layout makes of the shape, in words: who holds the same. */
function sentence(found) {
  const copies = found.shards[0].ranks.length;
  const number = `${found.shards.length} distinct ${found.shards.length === 1 ? "slice" : "slices"}`;
  if (found.partial.length > 0) return `${number}; each value is the sum of terms over ${found.partial.join(", ")} (hatched)`;
  if (copies > 1) return `${number}, ${copies} copies of each (of one tint, dashed inside)`;
  return `${number}, one device each`;
}

/** Mesh and tensor side by side, one under the other in a narrow panel. */
export function shardPicture(shape, axes, mesh, width = 360) {
  if (shape.some((size) => size < 0)) return el("p", {class: "note"}, "The shape is not known.");
  const found = findShards(shape, axes, mesh);
  const told = el("p", {class: "told", "aria-live": "polite"}, "");
  const tell = (text) => {
    told.textContent = text;
  };
  return el("div", {class: "shards"}, el("p", {}, sentence(found)), meshPicture(found, mesh, width, tell),
      tensorPicture(found, shape, width, tell), told,
      found.total > found.devices.length ?
        el("p", {class: "note"}, `The first ${found.devices.length} of ${found.total} devices.`) : null,
      deviceTable(found, mesh));
}
