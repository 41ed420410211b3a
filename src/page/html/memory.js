// Memory of a device over the step, stacked by what it is for; the holders of any moment.
import {bindZoom, ChartSurface, fitText, planChoice, roundTicks, saysBare, SERIES, seriesFill, seriesSample, ZoomRange} from "./chart.js";
import {el, shorten} from "./dom.js";
import {bytes, seconds} from "./format.js";
import {memoryCurveOf} from "./memory_curve.js";
import {PHASES} from "./model.js";
import {misfitText, physicalNote} from "./plan_facts.js";

const MOST_HOLDERS = 14;
const ROW_ABOVE = 15;  // pixels, of words of lines that are above the picture
const WORKSPACE = {light: "#8b95a5", dark: "#67707e", pattern: "cross"};

class MemoryView {
  constructor(element, model, store) {
    this.model = model;
    this.store = store;
    this.curve = memoryCurveOf(model);
    this.byTime = false;
    this.cursor = this.curve.peak;
    this.range = new ZoomRange(this.curve.length, () => this.surface?.redraw(), Math.min(8, this.curve.length));
    this.surface = new ChartSurface(store, (...all) => this.#draw(...all), {"role": "img",
      "aria-label": "memory over the step; arrow keys move the moment, plus and minus magnify, P goes to the peak"});
    this.moment = el("div", {class: "moment", role: "region", "aria-label": "held at the moment", "aria-live": "polite"});
    const misfit = misfitText(model);
    element.replaceChildren(misfit === null ? "" : el("p", {class: "alert"}, `This plan ${misfit}.`),
        physicalNote(model) ?? "",
        el("div", {class: "columns"}, this.surface.element, this.moment));
    this.#listen();
    this.tell();
  }

  dispose() {
    this.surface.dispose();
  }

  setByTime(byTime) {
    this.byTime = byTime;
    const {curve} = this;
    this.range.length = byTime ? Math.max(curve.times[curve.length - 1], 1e-12) : curve.length;
    this.range.least = byTime ? this.range.length / 1e5 : Math.min(8, curve.length);
    this.range.all();
  }

  toPeak() {
    this.#moveTo(this.curve.peak);
    const at = this.byTime ? this.curve.times[this.cursor] : this.cursor;
    const {low, high} = this.range;
    if (at < low || at > high) this.range.set(at - (high - low) / 2, at + (high - low) / 2);
  }

  // Where things are -------------------------------------------------------------------------------------------------

  #plot() {
    return {left: 76, top: 34, width: Math.max(10, this.surface.size.width - 76 - 14), height: Math.max(10, this.surface.size.height - 34 - 42)};
  }

  #top() {
    const {limit_bytes: limit, device_bytes: device} = this.model.memory;
    const peak = this.curve.total[this.curve.peak];
    const lines = [limit, device].filter((line) => line !== null && line > 0 && line < peak * 1.5);
    return Math.max(peak, ...lines, 1) * 1.06;
  }

  /** The position that is drawn at a place across. */
  #positionAt(x) {
    const {left, width} = this.#plot();
    const at = this.range.low + Math.min(Math.max((x - left) / width, 0), 1) * (this.range.high - this.range.low);
    return this.byTime ? this.curve.positionAt(at) : Math.min(Math.floor(at), this.curve.length - 1);
  }

  #across(position) {
    const {left, width} = this.#plot();
    const at = this.byTime ? this.curve.times[position] : position;
    return left + (at - this.range.low) / (this.range.high - this.range.low) * width;
  }

  // What is drawn ----------------------------------------------------------------------------------------------------

  #draw(context, _size, colors, theme) {
    const plot = this.#plot();
    const scale = plot.height / this.#top();
    const y = (value) => plot.top + plot.height - value * scale;
    this.#drawAxes(context, plot, colors, y);
    const columns = this.#columns(plot);
    const below = new Float64Array(columns.length).fill(this.model.memory.workspace_bytes);
    const area = (fill, value) => {
      context.fillStyle = fill;
      columns.forEach(({x, width, position}, i) => {
        const more = value(position);
        if (more <= 0) return;
        context.fillRect(x, y(below[i] + more), width, Math.max(more * scale, 0.5));
        below[i] += more;
      });
    };
    const workspace = this.model.memory.workspace_bytes;
    if (workspace > 0) {
      below.fill(0);
      area(seriesFill(context, WORKSPACE, theme), () => workspace);
    }
    this.curve.parts.forEach((part, i) => area(seriesFill(context, SERIES[i % SERIES.length], theme), (p) => part[p]));
    this.#drawTop(context, columns, colors, y);
    this.#drawMarks(context, plot, colors, y);
    this.#drawLines(context, plot, colors, y);
  }

  /** One per pixel: the fullest of the positions that fall on it. */
  #columns(plot) {
    const columns = [];
    let from = this.#positionAt(plot.left);
    for (let x = plot.left; x < plot.left + plot.width; ++x) {
      const to = this.#positionAt(x + 1);
      const position = this.curve.fullest(from, Math.max(to, from + 1));
      columns.push({x, width: 1, position});
      from = Math.max(to, from);
    }
    return columns;
  }

  #drawAxes(context, plot, colors, y) {
    context.strokeStyle = colors.line;
    context.fillStyle = colors.quiet;
    context.textAlign = "right";
    for (const tick of roundTicks(0, this.#top(), plot.height / 50)) {
      context.fillText(bytes(tick), plot.left - 6, y(tick));
      context.globalAlpha = 0.5;
      context.strokeRect(plot.left, Math.round(y(tick)) + 0.5, plot.width, 0);
      context.globalAlpha = 1;
    }
    context.textAlign = "center";
    const {low, high} = this.range;
    for (const tick of roundTicks(low, high, plot.width / 110, this.byTime ? 0 : 1)) {
      const x = plot.left + (tick - low) / (high - low) * plot.width;
      context.fillText(this.byTime ? seconds(tick) : String(Math.round(tick)), x, plot.top + plot.height + 14);
    }
    context.fillText(this.byTime ? "seconds from the start of the step (when the op at the moment runs)" :
        "position in the order of the step", plot.left + plot.width / 2, plot.top + plot.height + 32);
    this.#drawPhases(context, plot, colors);
  }

  #drawPhases(context, plot, colors) {
    const {op_at: opAt} = this.model.memory;
    const {phase} = this.model.graph.ops;
    const phaseAt = (p) => (opAt[p] < 0 ? 0 : phase[opAt[p]]);
    const last = this.#positionAt(plot.left + plot.width - 1);
    let from = this.#positionAt(plot.left);
    for (let p = from + 1; p <= last + 1; ++p) {
      if (p <= last && phaseAt(p) === phaseAt(from)) continue;
      const x = Math.max(plot.left, this.#across(from));
      const width = Math.min(plot.left + plot.width, this.#across(p <= last ? p : last + 1)) - x;
      if (width >= 2) {
        context.strokeStyle = colors.line;
        context.strokeRect(Math.round(x) + 0.5, 8.5, Math.round(width), 18);
        context.fillText(fitText(context, PHASES[phaseAt(from)], width - 6), x + width / 2, 18);
      }
      from = p;
    }
  }

  #drawTop(context, columns, colors, y) {
    context.strokeStyle = colors.ink;
    context.lineWidth = 1;
    context.beginPath();
    columns.forEach(({x, position}, i) => context[i === 0 ? "moveTo" : "lineTo"](x + 0.5, y(this.curve.total[position])));
    context.stroke();
  }

  #drawLines(context, plot, colors, y) {
    let numAbove = 0;
    context.textAlign = "left";
    for (const [name, value, dash] of this.#lines()) {
      const above = value > this.#top();
      const at = above ? plot.top + 8 + ROW_ABOVE * numAbove++ : y(value);
      context.strokeStyle = context.fillStyle = colors.alert;
      if (!above) this.#strokeLine(context, plot, Math.round(at), {dash, colors});
      const text = fitText(context, `${name} ${bytes(value)}${above ? ", above this picture ↑" : ""}`, plot.width - 12);
      this.#backedText(context, text, plot.left + 6 + (!above && name === "limit" ? Math.min(260, plot.width / 2) : 0), at + (above ? 0 : -11), colors);
    }
  }

  /** A line that is seen on any area: on paper of its own. */
  #strokeLine(context, plot, y, {dash, colors}) {
    context.strokeStyle = colors.paper;
    context.lineWidth = 4;
    context.strokeRect(plot.left, y, plot.width, 0);
    context.strokeStyle = colors.alert;
    context.lineWidth = 2;
    context.setLineDash(dash);
    context.strokeRect(plot.left, y, plot.width, 0);
    context.setLineDash([]);
    context.lineWidth = 1;
  }

  /** Words that are read on any area, in the colour that is set. */
  #backedText(context, text, x, y, colors) {
    const color = context.fillStyle;
    const wide = context.measureText(text).width + 6;
    context.fillStyle = colors.paper;
    context.fillRect(context.textAlign === "right" ? x - wide + 3 : x - 3, y - 8, wide, 15);
    context.fillStyle = color;
    context.fillText(text, x, y);
  }

  /** The sizes that are drawn as lines: [name, bytes, dashes]. */
  #lines() {
    const {limit_bytes: limit, device_bytes: device} = this.model.memory;
    return [["device", device, [2, 4]], ["limit", limit, [8, 4]]].filter(([, value]) => value !== null && value > 0);
  }

  #drawMarks(context, plot, colors, y) {
    const least = plot.top + 8 + ROW_ABOVE * this.#lines().filter(([, value]) => value > this.#top()).length;
    const mark = (position, color, text, dash) => {
      const x = this.#across(position);
      if (x < plot.left - 1 || x > plot.left + plot.width + 1) return;
      context.strokeStyle = context.fillStyle = color;
      context.setLineDash(dash);
      context.strokeRect(Math.round(x) + 0.5, plot.top, 0, plot.height);
      context.setLineDash([]);
      if (text === "") return;
      context.textAlign = x > plot.left + plot.width / 2 ? "right" : "left";
      this.#backedText(context, text, x + (x > plot.left + plot.width / 2 ? -6 : 6), Math.max(least, y(this.curve.total[position]) - 9), colors);
    };
    mark(this.curve.peak, colors.ink, `▲ peak ${bytes(this.curve.total[this.curve.peak])}`, []);
    if (this.cursor !== this.curve.peak) mark(this.cursor, colors.accent, "", [3, 3]);
  }

  // What the user does -----------------------------------------------------------------------------------------------

  #listen() {
    const {canvas} = this.surface;
    bindZoom(this.surface, this.range, () => this.#plot(), ({x}) => {
      this.fixed = !this.fixed;
      this.#moveTo(this.#positionAt(x));
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.fixed) this.#moveTo(this.#positionAt(this.surface.at(event).x));
    });
    canvas.addEventListener("keydown", (event) => {
      this.surface.flush();
      const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
      if (step !== undefined) this.#moveTo(this.#positionAt(this.#across(this.cursor) + step) === this.cursor ? this.cursor + step :
          this.#positionAt(this.#across(this.cursor) + step));
      else if (event.key === "p" || event.key === "P") this.toPeak();
      else if (!this.range.key(event.key)) return;
      event.preventDefault();
    });
  }

  #moveTo(position) {
    this.cursor = Math.min(Math.max(position, 0), this.curve.length - 1);
    this.surface.redraw();
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.tell();
    });
  }

  #partRows(theme) {
    const {memory} = this.model;
    const rows = memory.parts.map((name, i) => [SERIES[i % SERIES.length], name, this.curve.parts[i][this.cursor], this.curve.parts[i][this.curve.peak]]);
    if (memory.workspace_bytes > 0) rows.push([WORKSPACE, "workspace of kernels", memory.workspace_bytes, memory.workspace_bytes]);
    const row = ([series, name, now, peak]) => el("tr", {}, el("th", {scope: "row"}, seriesSample(series, theme), ` ${name}`),
        el("td", {}, bytes(now)), el("td", {"data-part": name, "data-value": peak}, bytes(peak)));
    return el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "Held for"), el("th", {}, "now"), el("th", {}, "at the peak"))),
        el("tbody", {}, rows.reverse().map(row),
            el("tr", {class: "sum"}, el("th", {scope: "row"}, "all"), el("td", {}, bytes(this.curve.total[this.cursor])),
                el("td", {"data-part": "all", "data-value": this.curve.total[this.curve.peak]}, bytes(this.curve.total[this.curve.peak])))));
  }

  tell() {
    const {memory} = this.model;
    const op = memory.op_at[this.cursor];
    const {found, alive} = this.curve.holders(this.cursor, MOST_HOLDERS);
    const select = (kind, id) => this.store.select(kind, id, this.model.index);
    const holder = (i) => {
      const tensor = memory.lifetimes.tensor[i];
      const kind = memory.kinds[memory.lifetimes.kind[i]];
      return el("li", {}, el("button", {class: "plain", title: shorten(this.model.tensorLabel(tensor), 2000), onclick: () => select("tensor", tensor)},
          el("b", {}, bytes(memory.lifetimes.bytes[i])), ` ${memory.parts[memory.lifetimes.part[i]]}: `,
          `${kind === "boxing" ? "boxed copy of " : ""}${shorten(this.model.tensorLabel(tensor), 90)}`));
    };
    this.moment.replaceChildren(
        el("p", {}, `Position ${this.cursor} of ${this.curve.length - 1}, ${seconds(this.curve.times[this.cursor])}: `,
            op < 0 ? "the start" : el("button", {class: "plain", title: shorten(this.model.opName(op), 2000), onclick: () => select("op", op)}, shorten(this.model.opName(op), 100))),
        this.#partRows(this.store.get("theme")),
        el("h3", {}, `Largest of ${alive} buffers`), el("ol", {}, found.map(holder)));
  }
}

export const memoryPanel = {
  id: "memory",
  title: "Memory",
  mount(element, {models, store}) {
    if (saysBare(element, models)) return;
    const place = el("div", {class: "place"});
    let view = new MemoryView(place, models[0], store);
    const axis = el("select", {"aria-label": "across", onchange: () => view.setByTime(axis.value === "time")},
        el("option", {value: "position"}, "position in the step"), el("option", {value: "time"}, "time"));
    const choose = (model) => {
      view.dispose();
      view = new MemoryView(place, model, store);
      view.setByTime(axis.value === "time");
    };
    element.append(el("div", {class: "controls"}, planChoice(models, choose), el("label", {}, "Across: ", axis),
        el("button", {onclick: () => view.toPeak()}, "Go to the peak"), el("button", {onclick: () => view.range.all()}, "Whole step"),
        el("span", {class: "hint"}, "hover: what is held; click: hold the moment; wheel, drag: magnify, move")), place);
    store.on("theme", () => view.tell());
  },
};
