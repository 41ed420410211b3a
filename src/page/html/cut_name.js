// Names where there is little room: of long ones what neighbours have in common is left out, not their ends.
import {shorten} from "./dom.js";

const ENDING = 3;  // levels at the end, which are left out last

/** "a/layers.3/b.c" -> ["a", "/layers.3", "/b", ".c"]: levels with what stands before them; a number stays with its list. */
function levelsOf(name) {
  return name.match(/(?:^|[/.])[^/.]*(?:\.[0-9]+(?![^/.]))?/g) ?? [name];
}

/** A text that is no wider than `width`, cut in its middle to letters: ends tell names apart more than beginnings do. */
export function cutMiddle(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = [...text];
  const cut = (keep) => `${letters.slice(0, Math.floor(keep * 0.3)).join("")}…${letters.slice(letters.length - Math.ceil(keep * 0.7)).join("")}`;
  let low = 1;
  let high = letters.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(cut(middle)).width <= width) low = middle;
    else high = middle - 1;
  }
  return cut(low);
}

/**
 * A name that is no wider than `width`: levels are left out, those with numbers and the last ones stay as long as they
 * can. "model/layers.3/moe/experts/up" -> "model/layers.3…/experts/up".
 */
export function cutName(context, name, width) {
  const fits = (text) => context.measureText(text).width <= width;
  const whole = shorten(name, 400);
  if (fits(whole)) return whole;
  const levels = levelsOf(whole);
  const kept = levels.map(() => true);
  const shown = () => levels.map((level, i) => (kept[i] ? level : i > 0 && !kept[i - 1] ? "" : "…")).join("");
  const places = levels.map((_, i) => i).filter((i) => i < levels.length - ENDING && !/[0-9]/.test(levels[i]));
  for (const i of places[0] === 0 ? [...places.slice(1), 0] : places) {
    kept[i] = false;
    if (fits(shown())) return shown();
  }
  return cutMiddle(context, shown(), width);
}
