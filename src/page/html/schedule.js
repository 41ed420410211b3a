// The schedule of a step as a Gantt chart: what each stream runs when, predicted beside measured.
import {bindZoom, ChartSurface, ChartTip, fitName, fitText, planChoice, roundTicks, saysBare, ZoomRange} from "./chart.js";
import {foretold, tracedRuns} from "./costs.js";
import {el} from "./dom.js";
import {bytes, percent, seconds, threeDigits} from "./format.js";
import {inkOn} from "./overlays.js";
import {physicalNote} from "./plan_facts.js";
import {Fills, scheduleLegend} from "./schedule_fills.js";
import {intervalFacts, numBatches, partSign, partTimes, partTitle, placeParts, predictedRows, rowSeconds, runsApart, tracedRows} from "./timeline.js";

const GUTTER = 150, ABOVE = 30, LANE = 30, MOST_LANE = 140, GROUP_HEAD = 24;  // pixels
const MOST_APART = 20;  // times as long as the other: what is drawn to one scale

/** How long a trace is beside the plan's step, where it ran as many micro-batches. */
function tracedPart({trace, head, schedule}) {
  const batches = (number) => `${number} micro-batch${number === 1 ? "" : "es"}`;
  const apart = schedule.micro_batches;
  if (apart?.physical && trace.micro_batches === numBatches(apart)) return `${threeDigits(trace.seconds / apart.seconds)} × predicted`;
  return trace.micro_batches === head.micro_batches ? `${threeDigits(trace.seconds / schedule.summary.step)} × predicted` :
    `a run of ${batches(trace.micro_batches)}; the plan's step has ${head.micro_batches}`;
}

/** Would one of plan and trace be a few pixels beside the other? */
function areFarApart({trace, schedule}) {
  const ratio = trace.seconds / Math.max(schedule.micro_batches?.seconds ?? schedule.summary.step, 1e-12);
  return ratio > MOST_APART || ratio < 1 / MOST_APART;
}

/** " for 4 micro-batches" */
function predictedRuns(model, op) {
  const runs = tracedRuns(model, op);
  return runs > 1 ? ` for ${runs} micro-batches` : "";
}

class ScheduleView {
  constructor(element, model, store) {
    this.model = model;
    this.store = store;
    this.pointed = null;
    this.batches = model.schedule.micro_batches ?? null;  // each micro-batch on its own; null: nothing is drawn so
    this.parts = this.batches === null ? [] : partTimes(model);
    this.#setStep();
    this.rows = predictedRows(model, {apart: this.batches !== null});
    this.drawnStep = this.step;
    this.found = {chosen: null, rows: null, intervals: []};
    this.chosen = null;  // {row, i}: the interval that was selected here
    this.device = -1;  // of the trace
    this.stretched = false;
    this.range = new ZoomRange(this.step, () => this.surface?.redraw(), this.step / 1e6);
    this.surface = new ChartSurface(store, (...all) => this.#draw(...all), {role: "img", "aria-label":
        "what runs when; arrow keys move, plus and minus magnify, N and B go to the next and the one before, 0 shows all"});
    this.facts = el("p", {class: "totals", role: "status"});
    this.scroller = el("div", {class: "scroller"}, this.surface.element);
    element.replaceChildren(this.facts, this.scroller);
    this.tip = new ChartTip(this.surface.element);
    this.#listen();
    const observer = new ResizeObserver(() => this.#place());
    observer.observe(this.scroller);
    const end = store.on("selection", () => this.surface.redraw());
    this.dispose = () => {
      observer.disconnect();
      end();
      this.surface.dispose();
    };
    if (model.trace) this.showDevice(model.trace.shown[0], areFarApart(model));
    else this.#place();
  }

  /** As the plan counts a step: what runs in each micro-batch as one task. Else each micro-batch on its own. */
  showTogether(together) {
    this.batches = together ? null : this.model.schedule.micro_batches ?? null;
    this.#setStep();
    if (this.model.trace) return this.showDevice(this.device, this.stretched);
    this.rows = predictedRows(this.model, {apart: this.batches !== null});
    this.drawnStep = this.range.length = this.step;
    this.#place();
    this.range.all();
  }

  #setStep() {
    this.step = Math.max(this.batches === null ? this.model.schedule.summary.step : this.batches.seconds, 1e-12);
  }

  /** `stretched`: the plan is drawn as long as the trace, to see its order where the run was on another machine. */
  showDevice(device, stretched = false) {
    const {trace} = this.model;
    Object.assign(this, {device, stretched});
    this.drawnStep = stretched ? trace.seconds : this.step;
    this.rows = [...predictedRows(this.model, {factor: this.drawnStep / this.step, apart: this.batches !== null}), ...tracedRows(this.model, device)];
    this.range.length = Math.max(this.drawnStep, trace.seconds);
    this.#place();
    this.range.all();
  }

  /** Gives each row its place; groups have a line of their own above. */
  #place() {
    const fixed = ABOVE + 40 + this.rows.length * 4 + new Set(this.rows.map(({group}) => group)).size * GROUP_HEAD;
    const room = (this.scroller.clientHeight - fixed) / Math.max(1, this.rows.length);
    const lane = Math.min(Math.max(LANE, room), MOST_LANE);
    let y = ABOVE;
    this.heads = [];
    this.rows.forEach((row, i) => {
      if (i === 0 || row.group !== this.rows[i - 1].group) {
        this.heads.push({y, text: row.group});
        y += GROUP_HEAD;
      }
      row.y = y;
      row.height = row.isExposed ? lane / 2 : lane;
      y += row.height + 4;
    });
    this.surface.element.style.minHeight = `${y + 30}px`;
    this.#tell();
    this.surface.redraw();
  }

  #tell() {
    const {summary, start} = this.model.schedule;
    const {compute_seconds: compute, local_copy_seconds: local} = this.model.head.summary;
    const part = (name, value, id) => el("span", {"data-total": id, "data-value": value}, `${name} ${seconds(value)}`);
    const traced = this.model.trace;
    this.facts.replaceChildren(
        el("b", {"data-total": "step", "data-value": summary.step}, `step ${seconds(summary.step)}`),
        part("compute", compute, "compute"),
        local > 0 ? part("slices and copies", local, "local") : "", part("slower beside collectives", summary.slowed, "slowed"),
        part("exposed", summary.exposed, "exposed"), part("idle", summary.idle, "idle"),
        part("collectives", summary.collectives, "collectives"),
        el("span", {}, summary.collectives > 0 ? `${percent(1 - summary.exposed / summary.collectives)} of them hidden` : "no collectives"),
        this.model.head.micro_batches > 1 || this.model.schedule.micro_batches ? el("span", {class: "batches"}, this.#batchesText()) : "",
        traced ? el("span", {}, `trace (${traced.path}), ${traced.kind}: ${seconds(traced.seconds)}, ${tracedPart(this.model)}`) : "",
        start.length === 0 ? "no op" : "");
  }

  /** How micro-batches are drawn, and what was folded for that. */
  #batchesText() {
    const {micro_batches: apart} = this.model.schedule;
    if (apart?.physical) return this.#streamedText(apart);
    const {micro_batches: number} = this.model.head;
    if (this.batches === null) {
      return `${number} micro-batches, drawn as one task each${this.model.schedule.micro_batches ? "" : ": too many tasks to draw them one by one"}`;
    }
    const {counts, seconds: step} = this.batches;
    const folded = counts.findIndex((count) => count > 1);
    return `${number} micro-batches, one after the other: ${seconds(step)}, exposed ${seconds(this.#exposed())}${folded < 0 ? "" : `; ${partTitle(this.batches, folded)}`}`;
  }

  /** Of the physical plan's micro-batches: how long all take, and what each adds. */
  #streamedText(apart) {
    const number = numBatches(apart);
    const takes = `${number} micro-batches through the arena take ${seconds(apart.seconds)}, ${seconds(apart.seconds / number)} each`;
    return this.batches === null ? `one micro-batch alone is drawn; ${takes}` : `${takes}; exposed ${seconds(this.#exposed())}`;
  }

  #exposed() {
    const exposed = this.rows.find((row) => row.isExposed);
    return exposed ? rowSeconds(exposed) : 0;
  }

  // What is drawn ----------------------------------------------------------------------------------------------------

  #plot() {
    return {left: GUTTER, width: Math.max(10, this.surface.size.width - GUTTER - 10)};
  }

  #x(time) {
    const {left, width} = this.#plot();
    return left + (time - this.range.low) / (this.range.high - this.range.low) * width;
  }

  #draw(context, size, colors, theme) {
    const plot = this.#plot();
    this.#drawAxis(context, size, colors);
    context.save();
    context.beginPath();
    context.rect(plot.left, 0, plot.width, size.height);
    context.clip();
    const fills = new Fills(context, this.model, theme);
    for (const row of this.rows) this.#drawRow(context, row, colors, fills);
    this.#drawFolded(context, size, colors);
    context.restore();
    this.#drawLabels(context, colors);
    this.#drawChosen(context, colors);
  }

  #drawAxis(context, size, colors) {
    const {low, high} = this.range;
    const {width} = this.#plot();
    context.fillStyle = colors.quiet;
    context.strokeStyle = colors.line;
    context.textAlign = "center";
    for (const tick of roundTicks(low, high, width / 120)) {
      const x = Math.round(this.#x(tick)) + 0.5;
      context.fillText(this.#tickText(tick), x, 14);
      context.globalAlpha = 0.4;
      context.strokeRect(x, ABOVE - 6, 0, size.height - ABOVE - 6);
      context.globalAlpha = 1;
    }
    this.#drawParts(context, size, colors);
    for (const end of new Set([this.drawnStep, this.model.trace?.seconds ?? this.step])) {
      context.strokeStyle = colors.ink;
      context.setLineDash([4, 4]);
      context.strokeRect(Math.round(this.#x(end)) + 0.5, ABOVE - 6, 0, size.height - ABOVE - 6);
      context.setLineDash([]);
    }
  }

  /** Where micro-batches begin, with their numbers, as many as there is room for; a veil over what is folded. */
  #drawParts(context, size, colors) {
    if (this.batches === null) return;
    const {left, width} = this.#plot();
    const factor = this.drawnStep / this.step;
    const parts = this.parts.map(({start, end}, part) => ({x: this.#x(start * factor), end: this.#x(end * factor),
      isFolded: this.batches.counts[part] > 1, text: partSign(this.batches, part)}));
    for (const {x, text, place} of placeParts(parts, left, left + width, (text) => context.measureText(text).width)) {
      context.strokeStyle = context.fillStyle = colors.accent;
      if (x >= left) context.strokeRect(Math.round(x) + 0.5, ABOVE - 6, 0, size.height - ABOVE - 6);
      context.textAlign = "left";
      if (place !== null) context.fillText(text, place, ABOVE + GROUP_HEAD / 2);
    }
    context.textAlign = "center";
  }

  /** Over what stands for several micro-batches: that it does, so that nobody takes it for one. */
  #drawFolded(context, size, colors) {
    if (this.batches === null) return;
    const {left, width} = this.#plot();
    const factor = this.drawnStep / this.step;
    this.parts.forEach(({start, end}, part) => {
      const number = this.batches.counts[part];
      if (number === 1) return;
      const from = Math.max(left, this.#x(start * factor));
      const to = Math.min(left + width, this.#x(end * factor));
      if (to <= from) return;
      context.globalAlpha = 0.45;
      context.fillStyle = colors.paper;
      context.fillRect(from, ABOVE + GROUP_HEAD, to - from, size.height - ABOVE - GROUP_HEAD);
      context.globalAlpha = 1;
      const text = fitText(context, `${number} micro-batches drawn as one, ${number} times as long`, to - from - 24);
      if (text === "") return;
      const wide = context.measureText(text).width + 16;
      const x = (from + to - wide) / 2;
      const y = ABOVE + GROUP_HEAD + 8;
      context.fillStyle = colors.paper;
      context.fillRect(x, y, wide, 22);
      context.strokeStyle = colors.accent;
      context.strokeRect(x + 0.5, y + 0.5, wide - 1, 21);
      context.fillStyle = colors.ink;
      context.textAlign = "left";
      context.fillText(text, x + 8, y + 11);
    });
  }

  /** As many digits as tell neighbours apart. */
  #tickText(tick) {
    const span = this.range.high - this.range.low;
    if (tick === 0 || span > tick * 0.02) return seconds(tick);
    const [unit, factor] = tick >= 1 ? ["s", 1] : tick >= 1e-3 ? ["ms", 1e3] : ["us", 1e6];
    return `${(tick * factor).toFixed(Math.max(0, 2 - Math.floor(Math.log10(span * factor))))} ${unit}`;
  }

  /** Intervals of less than a pixel join into one, as high as they fill it. */
  #drawRow(context, row, colors, fills) {
    const {low, high} = this.range;
    const {left, width: across} = this.#plot();
    const scale = across / (high - low);
    let tiny = {x: -1, share: 0, fill: null};
    const flush = () => {
      if (tiny.fill === null) return;
      const part = Math.min(1, Math.max(0.15, tiny.share));
      context.fillStyle = tiny.fill;
      context.fillRect(tiny.x, row.y + row.height * (1 - part), 1, row.height * part);
      tiny = {x: -1, share: 0, fill: null};
    };
    for (let i = row.firstAfter(low); i < row.start.length && row.start[i] < high; ++i) {
      const x = left + (row.start[i] - low) * scale;
      const width = (row.end[i] - row.start[i]) * scale;
      const {fill, color} = fills.of(row, i);
      if (width < 1) {
        for (let from = x; from < x + width;) {
          const pixel = Math.floor(from);
          const until = Math.min(x + width, pixel + 1);
          if (pixel !== tiny.x) flush();
          tiny = {x: pixel, share: tiny.share + until - from, fill};
          from = until;
        }
        continue;
      }
      flush();
      context.fillStyle = fill;
      context.fillRect(x, row.y, Math.max(1, width - (width > 4 ? 1 : 0)), row.height);
      if (width > 30 && !row.isExposed) this.#drawName(context, row, i, {x, width, color});
    }
    flush();
    context.strokeStyle = colors.line;
    context.strokeRect(GUTTER, row.y + row.height + 0.5, across, 0);
  }

  #drawName(context, row, i, {x, width, color}) {
    const from = Math.max(x, GUTTER);
    const room = Math.min(x + width, GUTTER + this.#plot().width) - from - 8;
    const {short, phase} = intervalFacts(this.model, row, i);
    context.fillStyle = inkOn(color);
    context.textAlign = "left";
    const text = fitName(context, row.kind < 0 && phase !== "" ? `${phase[0].toUpperCase()} ${short}` : short, room);
    if (text !== "") context.fillText(text, from + 4, row.y + row.height / 2 + 1);
  }

  #drawLabels(context, colors) {
    context.textAlign = "right";
    for (const row of this.rows) {
      context.fillStyle = colors.ink;
      context.fillText(fitName(context, row.label, GUTTER - 12), GUTTER - 8, row.y + row.height / 2);
    }
    context.textAlign = "left";
    context.font = `bold ${context.font}`;
    for (const {y, text} of this.heads) {
      const fitted = fitName(context, text, 400);
      context.fillStyle = colors.paper;  // lines of times end at the words
      context.fillRect(6, y + 2, context.measureText(fitted).width + 4, GROUP_HEAD - 4);
      context.fillStyle = colors.ink;
      context.fillText(fitted, 8, y + GROUP_HEAD / 2);
    }
    context.font = context.font.replace("bold ", "");
  }

  #drawChosen(context, colors) {
    const chosen = this.store.get("selection");
    const outline = (row, i, width) => {
      const x = Math.max(GUTTER, this.#x(row.start[i]));
      const right = Math.min(GUTTER + this.#plot().width, this.#x(row.end[i]));
      if (right < GUTTER || x > GUTTER + this.#plot().width) return;
      context.strokeStyle = width > 2 ? colors.accent : colors.ink;
      context.lineWidth = width;
      context.strokeRect(x - 1, row.y - 1, Math.max(3, right - x + 2), row.height + 2);
      context.lineWidth = 1;
    };
    for (const [row, i] of this.#found(chosen)) outline(row, i, 3);
    if (this.pointed !== null) outline(this.pointed.row, this.pointed.i, 1.5);
  }

  /** The intervals of a selection, sought once: [[row, index]]. */
  #found(chosen) {
    if (this.found.chosen !== chosen || this.found.rows !== this.rows) {
      this.found = {chosen, rows: this.rows, intervals: this.#intervalsOf(chosen)};
    }
    return this.found.intervals;
  }

  #intervalsOf(chosen) {
    const column = chosen?.plan === this.model.index ? {op: "op", transition: "transition"}[chosen.kind] : undefined;
    if (column === undefined) return [];
    return this.rows.flatMap((row) => row[column].flatMap((id, i) => (id === chosen.id ? [[row, i]] : [])));
  }

  // What the user does -----------------------------------------------------------------------------------------------

  /** The interval of the selection that was chosen here, else its first; null: it has none. */
  #current() {
    const found = this.#found(this.store.get("selection"));
    const [row, i] = found.find(([one, index]) => one === this.chosen?.row && index === this.chosen.i) ?? found[0] ?? [null, -1];
    return row === null ? null : {row, i};
  }

  /** Brings what is selected into sight. */
  toSelection() {
    const current = this.#current();
    if (current === null) return;
    const {row, i} = current;
    const span = Math.max((row.end[i] - row.start[i]) * 8, this.range.least);
    const middle = (row.start[i] + row.end[i]) / 2;
    this.range.set(middle - span / 2, middle + span / 2);
  }

  #at({x, y}) {
    const row = this.rows.find((one) => y >= one.y && y <= one.y + one.height);
    if (row === undefined || x < GUTTER) return null;
    const perPixel = (this.range.high - this.range.low) / this.#plot().width;
    const i = row.at(this.range.low + (x - GUTTER) * perPixel, perPixel * 2);
    return i < 0 ? null : {row, i};
  }

  #describe({row, i}) {
    const {title, phase} = intervalFacts(this.model, row, i);
    const rows = [title, ["takes", seconds((row.end[i] - row.start[i]) / row.factor)],
      ["from", this.#tickText(row.start[i] / row.factor)], ["to", this.#tickText(row.end[i] / row.factor)]];
    if (phase !== "") rows.push(["phase", phase]);
    if (row.part[i] >= 0) rows.push(["part", this.#partOf(row, i)]);
    const op = row.op[i];
    const t = row.transition[i];
    if (op >= 0) {
      const times = this.model.schedule.runs[op];
      if (times > 1) rows.push(["runs", `${times} times, in each micro-batch`]);
      const measured = this.model.trace?.op_seconds[op] ?? 0;
      const predicted = this.model.trace ? foretold(this.model, op) : 0;
      if (measured > 0 && predicted > 0) {
        rows.push([this.model.trace.kind, seconds(measured)], ["predicted", `${seconds(predicted)}${predictedRuns(this.model, op)}`], ["ratio", `${threeDigits(measured / predicted)} ×`]);
      }
    }
    if (t >= 0) {
      rows.push(["exposed", seconds(this.model.transitions.exposed[t])],
          ["bytes moved", bytes(this.model.transitions.wire_bytes[t] * this.model.transitions.runs[t])],
          this.model.transitions.reasons[this.model.transitions.reason[t]]);
    }
    return rows;
  }

  #partOf(row, i) {
    const runs = row.op[i] >= 0 ? runsApart(this.model, "op", row.op[i]) : runsApart(this.model, "transition", row.transition[i]);
    return runs > 1 ? partTitle(this.batches, row.part[i]) : "once a step";
  }

  #select({row, i}) {
    this.chosen = {row, i};
    if (row.op[i] >= 0) this.store.select("op", row.op[i], this.model.index);
    else if (row.transition[i] >= 0) this.store.select("transition", row.transition[i], this.model.index);
  }

  #listen() {
    const {canvas} = this.surface;
    bindZoom(this.surface, this.range, () => this.#plot(), (at) => {
      const hit = this.#at(at);
      if (hit !== null) this.#select(hit);
    });
    canvas.addEventListener("pointermove", (event) => {
      this.pointed = this.#at(this.surface.at(event));
      if (this.pointed === null) this.tip.hide();
      else this.tip.show(event, this.#describe(this.pointed));
      this.surface.redraw();
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointed = null;
      this.tip.hide();
      this.surface.redraw();
    });
    canvas.addEventListener("keydown", (event) => {
      const step = {n: 1, b: -1, N: 1, B: -1}[event.key];
      if (step !== undefined) this.#walk(step);
      else if (event.key === "f" || event.key === "F") this.toSelection();
      else if (!this.range.key(event.key)) return;
      event.preventDefault();
    });
  }

  /** Selects the interval after, or before, the selected one in its row. */
  #walk(step) {
    const {row, i} = this.#current() ?? {row: this.rows[0], i: step > 0 ? -1 : this.rows[0].start.length};
    const next = i + step;
    if (next < 0 || next >= row.start.length) return;
    this.#select({row, i: next});
    if (row.start[next] < this.range.low || row.end[next] > this.range.high) this.toSelection();
  }
}

export const schedulePanel = {
  id: "schedule",
  title: "Schedule",
  mount(element, {models, store}) {
    if (saysBare(element, models)) return;
    const place = el("div", {class: "place"});
    let view = new ScheduleView(place, models[0], store);
    const devices = el("span", {});
    const batches = el("span", {});
    const notes = el("div", {});
    const choose = (model) => {
      if (view.model !== model) {
        view.dispose();
        view = new ScheduleView(place, model, store);
      }
      const together = el("input", {type: "checkbox", onchange: () => view.showTogether(together.checked)});
      batches.replaceChildren(model.schedule.micro_batches ? el("label", {class: "together"}, together, model.schedule.micro_batches.physical ? " one micro-batch alone" : " micro-batches as one task each") : "");
      notes.replaceChildren(physicalNote(model, !model.schedule.micro_batches) ?? "");
      if (!model.trace) return devices.replaceChildren();
      const redraw = () => view.showDevice(Number(select.value), stretched.checked);
      const select = el("select", {"aria-label": "device of the trace", onchange: redraw},
          model.trace.shown.map((device) => el("option", {value: device}, `device ${device}`)));
      const stretched = el("input", {type: "checkbox", checked: view.stretched, onchange: redraw});
      devices.replaceChildren(el("label", {}, "Trace of ", select), " ", el("label", {}, stretched, " plan as long as the trace"));
    };
    const legend = el("span", {}, scheduleLegend(store.get("theme"), models[0]));
    store.on("theme", (theme) => legend.replaceChildren(scheduleLegend(theme, view.model)));
    element.append(el("div", {class: "controls"}, planChoice(models, choose), batches, devices,
        el("button", {onclick: () => view.range.all()}, "Whole step"), el("button", {onclick: () => view.toSelection()}, "To the selection"),
        legend), notes, place);
    choose(models[0]);
  },
};
