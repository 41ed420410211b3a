// Overlays: what colours ops, groups, tiles and rows. A row gives each op a number; colours and legends follow from its
// scale, one that also tells light from dark, so that no hue has to be told apart.
import {costsOf} from "./costs.js";
import {el} from "./dom.js";
import {bytes, count, percent, seconds} from "./format.js";
import {changeOfOps} from "./match.js";

export const SHARING = [
  {title: "not known", sign: "?", light: "#e9f0fa", dark: "#2a3850"},
  {title: "divided over all axes", sign: "●", light: "#dff2e5", dark: "#1f4631"},
  {title: "divided over some axes", sign: "◐", light: "#fff0c2", dark: "#54430f"},
  {title: "replicated", sign: "○", light: "#e4e6eb", dark: "#3a3f49"},
];

// YlOrBr for light pages, the middle of inferno for dark ones: both rise evenly in lightness.
const HEAT = {
  light: ["#fffbe6", "#fee391", "#fe9929", "#cc4c02", "#662506"],
  dark: ["#1d2430", "#4b2a5c", "#a53a5c", "#f07b3f", "#fde58a"],
};
// PuOr, less to more.
const DIVERGING = {
  light: ["#5e3c99", "#b2abd2", "#f7f7f7", "#fdb863", "#e66101"],
  dark: ["#b2a4ff", "#5e4c99", "#1d2430", "#8a4a10", "#ffae5c"],
};
const DISTINCT = {  // Okabe and Ito's, tempered
  light: ["#9fd3f0", "#f3cf8a", "#8fd6bd", "#f2b18c", "#d9b3ce", "#f4eb9a", "#9dc0e0", "#d0d4da"],
  dark: ["#1c5f85", "#7a5a10", "#0a6b50", "#8a3d10", "#6b3f5e", "#6b6415", "#12466e", "#454b55"],
};

// Seconds of an op that is shared so: of a group what most of its time is.
const timeOfSharing = (kind) => (model, op) =>
  (model.bare || model.decisions.sharing[op] !== kind ? 0 : costsOf(model).kernels[op] + 1e-12);

// Seconds that all devices would need at their peak, and those that they take.
const EFFICIENCY = [
  (model, op) => (model.opPeak()[op] > 0 ? model.opFlops()[op] / model.opPeak()[op] : 0),
  (model, op) => costsOf(model).kernels[op],
];
/** @param {number[]} parts */
const ratio = ([part, whole]) => (whole > 0 ? part / whole : null);

const ofOps = (column) => (model, op) => column(model)[op];

/**
 * value(model, op): a number, or null where there is none. `scale`: "heat" (of 0 to the most, by decades), "share" (0
 * to 1), "change" (about 0), "sharing" (index of SHARING), "distinct" (numbers that only differ). `sums`: of a group it
 * is the sum over its ops; else `combine` makes it of the sums of `parts`. `ofModel`: known without a plan, too.
 */
export const OVERLAYS = [
  {id: "sharing", title: "Sharing", scale: "sharing", ofModel: true, format: (value) => SHARING[value].title,
    value: (model, op) => (model.bare ? 0 : model.decisions.sharing[op]), parts: SHARING.map((_, i) => timeOfSharing(i)),
    combine: (times) => times.indexOf(Math.max(...times))},
  {id: "time", title: "Time", scale: "heat", format: seconds, sums: true, value: ofOps((model) => costsOf(model).kernels)},
  {id: "exposed", title: "Exposed communication", scale: "heat", format: seconds, sums: true,
    value: ofOps((model) => costsOf(model).exposed)},
  {id: "communication", title: "Communication", scale: "heat", format: seconds, sums: true,
    value: ofOps((model) => costsOf(model).wire)},
  {id: "bytes", title: "Bytes of results", scale: "heat", ofModel: true, format: bytes, sums: true,
    value: ofOps((model) => model.opBytes())},
  {id: "memory", title: "Memory held at the peak", scale: "heat", format: bytes, sums: true,
    value: ofOps((model) => model.opHeld())},
  {id: "flops", title: "Flops", scale: "heat", format: (value) => `${count(value)}flop`, sums: true,
    value: ofOps((model) => model.opFlops())},
  {id: "efficiency", title: "Efficiency", scale: "share", format: percent,
    value: (model, op) => ratio(EFFICIENCY.map((part) => part(model, op))), parts: EFFICIENCY, combine: ratio},
  {id: "kernels", title: "Kernel group", scale: "distinct",
    format: (value) => (value < 0 ? "a kernel of its own" : `kernel ${value}`),
    value: (model, op) => (model.bare ? null : model.decisions.kernels.of_op[op] ?? -1), parts: [], combine: () => null},
  {id: "change", title: "Change against the other plan", scale: "change", format: signedSeconds, sums: true, needsTwo: true,
    value: ofOps(changeOfOps)},
];

export function overlayNamed(id) {
  return OVERLAYS.find((row) => row.id === id) ?? OVERLAYS[0];
}

export function signedSeconds(value) {
  return value > 0 ? `+${seconds(value)}` : value < 0 ? `−${seconds(-value)}` : "no change";
}

/** Value of a group of `ops`. */
export function groupValue(overlay, model, ops) {
  const total = (part) => ops.reduce((sum, op) => sum + (part(model, op) ?? 0), 0);
  return overlay.sums ? total(overlay.value) : overlay.combine(overlay.parts.map(total));
}

function mix(stops, at) {
  const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const part = place - low;
  const channel = (text, c) => parseInt(text.slice(1 + 2 * c, 3 + 2 * c), 16);
  const value = (c) => Math.round(channel(stops[low], c) * (1 - part) + channel(stops[low + 1], c) * part);
  return `#${[0, 1, 2].map((c) => value(c).toString(16).padStart(2, "0")).join("")}`;
}

const DECADES = 4;  // what is less than 1e-4 of the most is as good as nothing

/** Where on the ramp, 0 to 1. `most`: the largest size of a value there is. */
export function placeOnScale(overlay, value, most) {
  if (overlay.scale === "share") return value;
  const size = most > 0 ? Math.abs(value) / most : 0;
  const place = size <= 0 ? 0 : Math.max(0, 1 + Math.log10(size) / DECADES);
  return overlay.scale === "change" ? 0.5 + Math.sign(value) * place / 2 : place;
}

/** Colour of a value; null values have the colour of nothing. */
export function overlayColor(overlay, value, most, theme) {
  if (value === null || value === undefined || Number.isNaN(value)) return theme === "dark" ? "#262d38" : "#f4f6f9";
  if (overlay.scale === "sharing") return SHARING[value][theme];
  if (overlay.scale === "distinct") {
    return value < 0 ? SHARING[0][theme] : DISTINCT[theme][value % DISTINCT[theme].length];
  }
  return mix(overlay.scale === "change" ? DIVERGING[theme] : HEAT[theme], placeOnScale(overlay, value, most));
}

/** Black or white, whichever is easier to read on a colour. */
export function inkOn(color) {
  const linear = [1, 3, 5].map((i) => (parseInt(color.slice(i, i + 2), 16) / 255) ** 2.2);
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.18 ? "#10151c" : "#ffffff";
}

/** The legend of an overlay as an element; `most` as in overlayColor; `bare`: of a model without a plan. */
export function overlayLegend(overlay, most, theme, bare = false) {
  const sample = (color, sign) => el("i", {class: "sample", style: `background:${color};color:${inkOn(color)}`}, sign);
  if (overlay.scale === "sharing") {
    if (bare) return el("div", {class: "scale"}, "no plan: nothing is divided");
    return el("div", {class: "scale"}, SHARING.slice(1).map((row) => el("span", {}, sample(row[theme], row.sign), ` ${row.title}`)));
  }
  if (overlay.scale === "distinct") return el("div", {class: "scale"}, "one colour a kernel; its number is in the box");
  const steps = Array.from({length: 9}, (_, i) => i / 8);
  const ramp = el("span", {class: "ramp", role: "img", "aria-label": "ramp of colours"},
      steps.map((step) => sample(mix(overlay.scale === "change" ? DIVERGING[theme] : HEAT[theme], step), "")));
  const ends = overlay.scale === "share" ? ["0 %", "100 %"] :
      overlay.scale === "change" ? [overlay.format(-most), overlay.format(most)] :
      [`≤ ${overlay.format(most / 10 ** DECADES)}`, overlay.format(most)];
  return el("div", {class: "scale"}, ends[0], ramp, ends[1], overlay.scale === "share" ? "" : " (by decades)");
}

export function overlayTool({models, store}) {
  const rows = OVERLAYS.filter((row) => (!row.needsTwo || models.length > 1) && (!models[0].bare || row.ofModel));
  const select = el("select", {"aria-label": "colour by", onchange: () => store.set("overlay", select.value)},
      rows.map((row) => el("option", {value: row.id}, row.title)));
  store.on("overlay", (id) => { select.value = id; });
  select.value = store.get("overlay");
  return el("label", {class: "tool"}, el("span", {class: "spelled"}, "Colour: "), select);
}
