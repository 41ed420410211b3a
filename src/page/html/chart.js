// What charts share: a canvas that follows its element's size, colours with patterns, ticks, the tip at the pointer.
import {cutMiddle} from "./cut_name.js";
import {el, shorten} from "./dom.js";
import {planLabel} from "./plan_facts.js";

export const CHART_FONT = '12px "DejaVu Sans", Verdana, sans-serif';

/**
 * Colours that stay apart for the colour-blind (Okabe and Ito's), each with a pattern of its own, so that no colour has
 * to be told from another one. `ink` is readable on both.
 */
export const SERIES = [
  {light: "#56a3d9", dark: "#2f6f9f", pattern: "solid"},
  {light: "#f0c14b", dark: "#8a6a12", pattern: "diagonal"},
  {light: "#e59a6a", dark: "#9a4f22", pattern: "dots"},
  {light: "#5cc2a0", dark: "#1d7d60", pattern: "horizontal"},
  {light: "#cfd6df", dark: "#4a5362", pattern: "vertical"},
  {light: "#d79bc4", dark: "#7f4a70", pattern: "cross"},
  {light: "#f4ec8e", dark: "#6d661d", pattern: "back"},
];

const PATTERNS = {
  solid: () => {},
  diagonal: (c) => { patternLine(c, 0, 8, 8, 0); patternLine(c, -2, 2, 2, -2); patternLine(c, 6, 10, 10, 6); },
  back: (c) => { patternLine(c, 0, 0, 8, 8); patternLine(c, -2, 6, 2, 10); patternLine(c, 6, -2, 10, 2); },
  horizontal: (c) => patternLine(c, 0, 4, 8, 4),
  vertical: (c) => patternLine(c, 4, 0, 4, 8),
  cross: (c) => { patternLine(c, 0, 8, 8, 0); patternLine(c, 0, 0, 8, 8); },
  dots: (c) => { c.fillRect(1, 1, 2, 2); c.fillRect(5, 5, 2, 2); },
};

function patternLine(context, x, y, toX, toY) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(toX, toY);
  context.stroke();
}

const patternsMade = new Map();

/** What fills shapes of a row of SERIES, or of {light, dark, pattern}. */
export function seriesFill(context, row, theme) {
  const color = row[theme];
  if (row.pattern === "solid") return color;
  const key = `${color} ${row.pattern} ${theme}`;
  if (!patternsMade.has(key)) {
    const tile = el("canvas", {width: 8, height: 8});
    const paint = tile.getContext("2d");
    paint.fillStyle = color;
    paint.fillRect(0, 0, 8, 8);
    paint.fillStyle = paint.strokeStyle = theme === "dark" ? "#ffffff55" : "#00000044";
    PATTERNS[row.pattern](paint);
    patternsMade.set(key, tile);
  }
  return context.createPattern(patternsMade.get(key), "repeat");
}

/** A small picture of a fill, for legends. */
export function seriesSample(row, theme) {
  const sample = el("canvas", {class: "sample", width: 16, height: 14, "aria-hidden": "true"});
  const context = sample.getContext("2d");
  context.fillStyle = seriesFill(context, row, theme);
  context.fillRect(0, 0, 16, 14);
  return sample;
}

/** Colours of the page as they are now. */
export function pageColors() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  return {ink: color("ink"), quiet: color("quiet"), paper: color("paper"), line: color("line"), soft: color("soft"),
    accent: color("accent"), alert: color("more")};
}

/**
 * A canvas as large as its element. `draw(context, size {width, height}, colors, theme)` is called once per frame at most,
 * after redraw(), a change of size, or of the theme; dispose() ends that.
 */
export class ChartSurface {
  #asked = false;

  constructor(store, draw, attributes = {}) {
    this.store = store;
    this.draw = draw;
    this.canvas = el("canvas", {tabindex: "0", ...attributes});
    this.element = el("div", {class: "surface"}, this.canvas);
    this.context = this.canvas.getContext("2d");
    this.size = {width: 0, height: 0};
    const observer = new ResizeObserver(() => this.redraw());
    observer.observe(this.element);
    const end = store.on("theme", () => this.redraw());
    this.dispose = () => {
      observer.disconnect();
      end();
    };
  }

  redraw() {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => this.flush());
  }

  /** Paints what was asked for now: what is pointed at must be what stands there, also before the next frame. */
  flush() {
    if (!this.#asked && this.size.width > 0) return;
    this.#asked = false;
    this.#paint();
  }

  #paint() {
    const {clientWidth: width, clientHeight: height} = this.element;
    if (width === 0 || height === 0) return;
    const scale = window.devicePixelRatio || 1;
    this.size = {width, height};
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const {context} = this;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = CHART_FONT;
    context.textBaseline = "middle";
    this.draw(context, this.size, pageColors(), this.store.get("theme"));
  }

  /** Where on the canvas an event of the pointer is. */
  at(event) {
    this.flush();
    const box = this.canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  }
}

/** A box beside the pointer that says what is there. */
export class ChartTip {
  constructor(parent) {
    this.element = el("div", {class: "tip", role: "status", hidden: true});
    this.parent = parent;
    parent.append(this.element);
  }

  /**
   * @param {{clientX: number, clientY: number}} event of the pointer
   * @param {any[]} lines a title, then [name, value] or texts
   */
  show(event, lines) {
    const [title, ...rows] = lines;
    this.element.replaceChildren(el("b", {}, shorten(title, 400)),
        rows.map((row) => (Array.isArray(row) ? el("div", {}, el("span", {}, row[0]), el("span", {}, shorten(String(row[1]), 400))) :
            el("p", {}, shorten(row, 300)))).reduce((all, row) => (all.append(row), all), document.createDocumentFragment()));
    this.element.hidden = false;
    const box = this.parent.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const {offsetWidth: width, offsetHeight: height} = this.element;
    this.element.style.left = `${x + 14 + width > box.width ? Math.max(0, x - width - 10) : x + 14}px`;
    this.element.style.top = `${y + 14 + height > box.height ? Math.max(0, y - height - 10) : y + 14}px`;
  }

  hide() {
    this.element.hidden = true;
  }
}

/** About `most` round numbers from `low` to `high`, at least `apart` from each other. */
export function roundTicks(low, high, most, apart = 0) {
  const raw = Math.max((high - low) / Math.max(1, most), apart);
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.9999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) ticks.push(i * step);
  return ticks;
}

/** The longest beginning of a text that is no wider than `width`; "" where not even three letters are. */
export function fitText(context, text, width) {
  const whole = text.length > 200 ? text.slice(0, 200) : text;
  if (context.measureText(whole).width <= width) return whole;
  let low = 0;
  let high = whole.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${whole.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low < 3 ? "" : `${whole.slice(0, low)}…`;
}

/** As fitText, of names: what is left out is of the middle. */
export function fitName(context, name, width) {
  const text = cutMiddle(context, shorten(name, 200), width);
  return context.measureText(text).width <= width && (text === name || text.length > 3) ? text : "";
}

/** A visible part of a line, moved and magnified by wheel, drag and keys. */
export class ZoomRange {
  constructor(length, changed, least = length / 1e6) {
    this.length = length;
    this.changed = changed;
    this.least = least;
    this.low = 0;
    this.high = length;
  }

  set(low, high) {
    const span = Math.min(Math.max(high - low, this.least), this.length);
    this.low = Math.min(Math.max(low, 0), this.length - span);
    this.high = this.low + span;
    this.changed();
  }

  /** `part`: where the pointer is, 0 left, 1 right; `factor` below 1 magnifies. */
  zoom(part, factor) {
    const at = this.low + part * (this.high - this.low);
    const span = Math.min(Math.max((this.high - this.low) * factor, this.least), this.length);
    this.set(at - part * span, at + (1 - part) * span);
  }

  move(part) {
    const by = part * (this.high - this.low);
    this.set(this.low + by, this.high + by);
  }

  all() {
    this.set(0, this.length);
  }

  /** What keys do; true where the key means something. */
  key(key) {
    const act = {ArrowLeft: () => this.move(-0.1), ArrowRight: () => this.move(0.1), "+": () => this.zoom(0.5, 0.6),
      "=": () => this.zoom(0.5, 0.6), "-": () => this.zoom(0.5, 1 / 0.6), 0: () => this.all()}[key];
    act?.();
    return act !== undefined;
  }
}

/** Wheel and drag over a surface move a range; `plot()` is {left, width} of what shows it. `click(at)`: no drag. */
export function bindZoom(surface, range, plot, click) {
  const {canvas} = surface;
  let held = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    surface.flush();
    const {left, width} = plot();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      return range.move((event.deltaX || event.deltaY) / width);
    }
    range.zoom((surface.at(event).x - left) / width, 1.0015 ** event.deltaY);
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => {
    surface.flush();
    held = {x: event.clientX, low: range.low, high: range.high, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held === null) return;
    const by = held.x - event.clientX;
    held.moved ||= Math.abs(by) > 3;
    if (!held.moved) return;
    const moved = by / plot().width * (held.high - held.low);
    range.set(held.low + moved, held.high + moved);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (held !== null && !held.moved) click(surface.at(event), event);
    held = null;
  });
}

/** Of a page of two plans, which one is shown: a choice, or nothing for one plan. */
export function planChoice(models, changed) {
  if (models.length < 2) return null;
  const select = el("select", {"aria-label": "which plan", onchange: () => changed(models[Number(select.value)])},
      models.map((model, index) => el("option", {value: index}, `${index === 0 ? "before" : "after"}: ${planLabel(model)}`)));
  return el("label", {}, "Plan: ", select);
}

/** What a panel of times or memory says of a graph without a plan. True where there is nothing to draw. */
export function saysBare(element, models) {
  if (models.some((model) => !model.bare)) return false;
  element.append(el("p", {class: "empty"}, "This is a model without a plan: nothing is laid out, timed or held yet."));
  return true;
}
