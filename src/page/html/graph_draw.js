// Draws a scene on a canvas: what is in sight, in as much detail as there is room for.
import {cutMiddle} from "./cut_name.js";
import {shorten} from "./dom.js";
import {placeMarks} from "./graph_mark_places.js";
import {axisName, markColor, traceMark} from "./graph_marks.js";
import {PAINT} from "./graph_paint.js";
import {TITLE_HEIGHT} from "./graph_scene.js";
import {SHARING, inkOn, overlayColor} from "./overlays.js";

const FONT = '"DejaVu Sans", Verdana, sans-serif';
const FAINT = 0.25;
const LEAST_TEXT = 7;     // pixels: smaller letters cannot be read
const LEAST_LETTER = 9;   // pixels: from afar words are written larger than what is around them, and fewer
const MOST_GROWN = 2.5;
const LABEL_WIDTH = 130;  // of words of marks, at most
const MAP_TEXT = 9;       // pixels, of names of frames whose strips are too low for them

/** A view of the whole: screen = (world - at) * zoom. `width`, `height`: of the screen. */
export class GraphPainter {
  #texts = new Map();
  #marks = new WeakMap();  // open group -> its marks

  /** `facts`: {valueOf(box), most, overlay, secondsOf(box), totalSeconds, longest} as graph_facts.js makes them. */
  constructor(model, scene, facts) {
    this.model = model;
    this.scene = scene;
    this.facts = facts;
  }

  draw(ctx, {camera, theme, selected, focus, related, onlyChanges = false}) {
    this.ctx = ctx;
    this.onlyChanges = onlyChanges;
    this.theme = theme;
    this.paint = PAINT[theme];
    this.camera = camera;
    this.sight = {left: camera.x, top: camera.y,
      right: camera.x + camera.width / camera.zoom, bottom: camera.y + camera.height / camera.zoom};
    ctx.save();
    ctx.fillStyle = this.paint.paper;
    ctx.fillRect(0, 0, camera.width, camera.height);
    ctx.scale(camera.zoom, camera.zoom);
    ctx.translate(-camera.x, -camera.y);
    this.#drawTree();
    this.#drawRelated(related);
    this.#outline(selected, this.paint.accent, 4);
    if (focus && focus !== selected) this.#outline(focus, this.paint.quiet, 2);
    ctx.restore();
  }

  #inSight(box) {
    const {left, top, right, bottom} = this.sight;
    return box.x < right && box.x + box.width > left && box.y < bottom && box.y + box.height > top;
  }

  // Frames first, then edges over them, then what is closed: depth by depth.
  #drawTree() {
    const {zoom} = this.camera;
    const groups = [];        // whose marks are drawn over all boxes
    const named = [];         // frames whose titles are written over all
    const small = new Map();  // colour -> rectangles that are too small for words
    let level = [this.scene.root];
    while (level.length > 0) {
      const next = [];
      for (const box of level) {
        if (!this.#inSight(box)) continue;
        this.ctx.globalAlpha = this.#strength(box);
        if (box.open && (box.parent === null || box.width * zoom > 24)) {
          if (box.parent !== null && !this.#drawFrame(box)) named.push(box);
          next.push(...box.children);
          groups.push(box);
          if (zoom > 0.04) this.#drawEdges(box);
        } else if (box.height * zoom < 9) {
          const color = this.#color(box);
          if (!small.has(color)) small.set(color, []);
          small.get(color).push(box);
        } else if (box.item >= 0) {
          this.#drawOp(box);
        } else {
          this.#drawGroup(box);
        }
      }
      level = next;
    }
    for (const [color, boxes] of small) {
      this.ctx.fillStyle = color;
      for (const box of boxes) {
        this.ctx.globalAlpha = this.#strength(box);
        this.ctx.fillRect(box.x, box.y, box.width, box.height);
      }
      this.ctx.globalAlpha = 1;
      this.ctx.strokeStyle = this.paint.border;
      this.ctx.lineWidth = 0.5 / zoom;
      if (boxes.length < 2000) for (const box of boxes) this.ctx.strokeRect(box.x, box.y, box.width, box.height);
    }
    this.#frameSmallChanges([...small.values()].flat());
    if (zoom > 0.12) for (const group of groups) this.#drawMarks(group);
    this.ctx.globalAlpha = 1;
    const written = [];
    for (const box of named) if (this.#strength(box) === 1) this.#drawBigTitle(box, written);
  }

  /** Of two plans: what differs is framed where it is too small for a sign, too. */
  #frameSmallChanges(boxes) {
    const {ctx, paint, facts} = this;
    ctx.strokeStyle = paint.changed;
    ctx.lineWidth = 2 / this.camera.zoom;
    for (const box of boxes) if (facts.isChanged(box)) ctx.strokeRect(box.x, box.y, box.width, box.height);
  }

  /** Of two plans, where only changes are asked for: what did not change is faint. */
  #strength(box) {
    return this.onlyChanges && box.parent !== null && !this.facts.isChanged(box) ? FAINT : 1;
  }

  #color(box) {
    const {facts} = this;
    return overlayColor(facts.overlay, facts.valueOf(box), facts.most, this.theme);
  }

  #round(box, radius) {
    this.ctx.beginPath();
    this.ctx.roundRect(box.x, box.y, box.width, box.height, radius);
  }

  /** A size of letters in the graph, no smaller on the screen than can be read. */
  #sizeOf(size) {
    return Math.max(size, Math.min(MOST_GROWN * size, LEAST_LETTER / this.camera.zoom));
  }

  #widthOf(text, {size, bold = false}) {
    this.ctx.font = `${bold ? "bold " : ""}${size}px ${FONT}`;
    return this.ctx.measureText(text.slice(0, 200)).width;
  }

  /** The first of parts "a · b · c", as many as there is room for. */
  #partsThatFit(text, width, style) {
    const parts = text.split(" · ");
    while (parts.length > 1 && this.#widthOf(parts.join(" · "), style) > width) parts.pop();
    return parts.join(" · ");
  }

  #text(text, x, y, width, {size = 12, bold = false, color = this.paint.ink, right = false, halo = null} = {}) {
    if (size * this.camera.zoom < LEAST_TEXT || width < 8) return 0;
    const {ctx} = this;
    ctx.font = `${bold ? "bold " : ""}${size}px ${FONT}`;
    const fitted = this.#fit(text, width, ctx.font);
    ctx.fillStyle = color;
    ctx.textAlign = right ? "right" : "left";
    if (halo !== null) {
      [ctx.strokeStyle, ctx.lineWidth, ctx.lineJoin] = [halo, 3, "round"];
      ctx.strokeText(fitted.text, x, y);
    }
    ctx.fillText(fitted.text, x, y);
    return fitted.width;
  }

  #fit(text, width, font) {
    const key = `${font}|${Math.round(width)}|${shorten(text, 200)}`;
    let found = this.#texts.get(key);
    if (found !== undefined) return found;
    if (this.#texts.size > 20000) this.#texts.clear();
    const shown = cutMiddle(this.ctx, shorten(text, 200), width);
    found = {text: shown, width: this.ctx.measureText(shown).width};
    this.#texts.set(key, found);
    return found;
  }

  // Groups -------------------------------------------------------------------------------------------------------------

  #drawFrame(box) {
    const {ctx, paint} = this;
    this.#round(box, 8);
    ctx.fillStyle = paint.frames[box.phase][box.depth % 2];
    ctx.fill();
    ctx.strokeStyle = paint.frameLines[box.phase];
    ctx.lineWidth = 1.2;
    ctx.stroke();
    if (TITLE_HEIGHT * this.camera.zoom < 11) return false;
    const title = {size: Math.max(13, Math.min(28, 10 / this.camera.zoom)), bold: true};
    const [y, right] = [box.y + 14 + title.size / 2, box.x + box.width - 12];
    const taken = this.#text(`▾ ${this.facts.titleOf(box)}`, box.x + 10, y, box.width - 20, title);
    const style = {size: Math.min(22, this.#sizeOf(11)), color: paint.quiet, right: true};
    const room = box.width - taken - 32;
    const share = this.#partsThatFit(this.facts.shareText(box), room, style);
    if (this.#widthOf(share, style) <= room) this.#text(share, right, y, room, style);
    return true;
  }

  // From afar the names of large frames are written as on a map, higher than their strips, so that they cover no box in
  // them: outer ones first, and none over another one. `written`: the rectangles of those that stand.
  #drawBigTitle(box, written) {
    const {ctx, paint} = this;
    const {zoom} = this.camera;
    if (box.width * zoom < 60 || box.height * zoom < 44) return;
    const text = `▾ ${this.facts.titleOf(box)}`;
    const size = MAP_TEXT / zoom;
    const height = size * 1.4;
    const top = box.y + TITLE_HEIGHT - height;
    ctx.font = `bold ${size}px ${FONT}`;
    const {width} = this.#fit(text, box.width - size, ctx.font);
    const room = {left: box.x, top, right: box.x + width + size, bottom: top + height};
    if (written.some((other) => meet(other, room))) return;
    written.push(room);
    ctx.globalAlpha = 0.85;
    ctx.fillStyle = paint.frames[box.phase][box.depth % 2];
    ctx.fillRect(box.x, top, width + size, height);
    ctx.globalAlpha = 1;
    this.#text(text, box.x + size / 2, top + size * 1.06, box.width - size, {size, bold: true});
  }

  #drawGroup(box) {
    const {ctx, paint, facts} = this;
    const fill = this.#color(box);
    for (const shift of facts.copiesOf(box) > 1 ? [8, 4] : [4]) {  // more behind it
      this.#round({...box, x: box.x + shift, y: box.y + shift, width: box.width - shift, height: box.height - shift}, 6);
      ctx.fillStyle = paint.frames[box.phase][1];
      ctx.fill();
      ctx.strokeStyle = paint.frameLines[box.phase];
      ctx.lineWidth = 1;
      ctx.stroke();
    }
    const inset = facts.copiesOf(box) > 1 ? 8 : 4;
    const front = {...box, width: box.width - inset, height: box.height - inset};
    this.#round(front, 6);
    ctx.fillStyle = fill;
    ctx.fill();
    ctx.strokeStyle = paint.border;
    ctx.stroke();
    if (facts.isChanged(box)) this.#drawChange(front);
    this.#drawBar(box, front);
    const ink = inkOn(fill);
    const title = {size: this.#sizeOf(12), bold: true, color: ink};
    const share = {size: this.#sizeOf(10), color: ink};
    let y = box.y + 5 + title.size;
    this.#text(`▸ ${facts.titleOf(box)}`, box.x + 8, y, front.width - 16, title);
    y += share.size + 5;
    if (y + 3 > front.y + front.height) return;
    const taken = this.#text(this.#partsThatFit(facts.shareText(box), front.width - 16, share), box.x + 8, y, front.width - 16, share);
    if (y + 5 + 12 * share.size / 10 <= front.y + front.height) this.#drawSummary(box, front, {y: y + 11, ink});
    else this.#drawKinds(box, {left: box.x + 8 + taken, right: front.x + front.width - 4, y: y - 0.35 * share.size});
  }

  /** Of two plans: what differs has a sign in its corner and a frame. */
  #drawChange({x, y, width, height}) {
    const {ctx, paint} = this;
    const {zoom} = this.camera;
    ctx.strokeStyle = paint.changed;
    ctx.lineWidth = Math.max(2, 1.5 / zoom);
    ctx.stroke();  // the path of its box
    if (zoom < 0.28) return;
    ctx.fillStyle = paint.changed;
    ctx.beginPath();
    ctx.roundRect(x + width - 9, y + height - 9, 15, 13, 3);
    ctx.fill();
    this.#text("≠", x + width - 6, y + height + 1.5, 14, {size: 11, bold: true, color: paint.paper});
  }

  // Their shapes alone, where there is no line for them, the longest rightmost.
  #drawKinds(box, {left, right, y}) {
    const radius = this.#sizeOf(10) * 0.45;
    this.facts.insideOf(box).slice(0, 3).forEach(({name, kind}, i) => {
      const x = right - radius * (1 + 2.4 * i);
      if (x - radius > left + 2) this.#drawMark(kind, name, x, y, radius);
    });
  }

  // The collectives inside, by kind.
  #drawSummary(box, front, {y, ink}) {
    const style = {size: this.#sizeOf(9), color: ink};
    const radius = style.size * 0.55;
    let x = box.x + 14;
    for (const {name, kind, letters, count} of this.facts.insideOf(box).slice(0, 4)) {
      const words = `${count} ${letters}`;
      if (x + radius + 3 + this.#widthOf(words, style) > front.x + front.width - 4) return;
      this.#drawMark(kind, name, x, y, radius);
      x += radius + 3 + this.#text(words, x + radius + 3, y + style.size * 0.35, front.width, style) + radius + 9;
    }
  }

  #drawBar(box, {width, height}) {
    const {ctx, paint, facts} = this;
    const share = facts.totalSeconds > 0 ? facts.secondsOf(box) / facts.totalSeconds : 0;
    if (share < 0.002) return;
    ctx.fillStyle = paint.accent;
    ctx.fillRect(box.x + 1, box.y + height - 3, Math.max(1, (width - 2) * share), 3);
  }

  // Ops ----------------------------------------------------------------------------------------------------------------

  #drawOp(box) {
    const {ctx, paint, facts, model} = this;
    const op = box.item;
    const fill = this.#color(box);
    this.#round(box, 5);
    ctx.fillStyle = fill;
    ctx.fill();
    ctx.strokeStyle = paint.border;
    ctx.lineWidth = 1;
    ctx.stroke();
    if (facts.isChanged(box)) this.#drawChange(box);
    const ink = inkOn(fill);
    const sign = model.bare ? "" : `${SHARING[model.decisions.sharing[op]].sign} `;
    const value = facts.valueText(box);
    const title = {size: this.#sizeOf(12), bold: true, color: ink};
    const number = {size: this.#sizeOf(10), color: ink, right: true};
    const name = {size: this.#sizeOf(9), color: ink};
    const isGrown = title.size > 12;  // then lines stand closer
    let y = box.y + (isGrown ? 1 : 3) + title.size;
    const width = this.#widthOf(value, number);
    // Where there is no room for both, a domain ("com.microsoft::") says less than the type.
    const whole = `${sign}${model.opType(op)}`;
    const type = this.#widthOf(whole, title) + width <= box.width - 18 ? whole : `${sign}${model.opType(op).replace(/^.*::/, "")}`;
    // A part of a number would mislead: it is whole or left out.
    const isTight = width > 0.5 * box.width || (isGrown && this.#widthOf(type, title) + width > box.width - 18);
    const taken = isTight ? 0 : this.#text(value, box.x + box.width - 6, y, 0.5 * box.width, number);
    this.#text(type, box.x + 6, y, box.width - taken - 18, title);
    const layout = model.record(op)?.outputs[0] ?? -1;
    const scale = name.size / 9;
    const isLast = isGrown && layout >= 0;  // one line is left: how it lies says more than its name
    if (!isLast) {
      y += name.size + (isGrown ? 1 : 2);
      if (y + 0.25 * name.size > box.y + box.height) return;
      this.#text(nameTail(model.opName(op)), box.x + 6, y, box.width - 12, name);
    }
    if (y + 4 + 11 * scale > box.y + box.height + 1) return;
    this.#drawChips(layout, {x: box.x + 5, y: y + 4, width: box.width - 10, scale});
  }

  /** A chip per mesh axis: how the tensor lies on it. */
  #drawChips(layout, {x, y, width, scale = 1}) {
    const size = 9 * scale;
    if (layout < 0 || size * this.camera.zoom < LEAST_TEXT) return;
    const {ctx, paint, model} = this;
    const end = x + width;
    const most = 76 * scale;
    const {axes} = model.decisions.layouts[layout];
    const names = axes.map((entry, axis) => `${axisName(model, axis)} ${entry}`);
    ctx.font = `${size}px ${FONT}`;
    const named = axes.length <= 2 && names.reduce((sum, text) => sum + Math.min(most, this.#fit(text, most, ctx.font).width) + 9, 0) <= width;
    for (let axis = 0; axis < axes.length; ++axis) {
      const [fill, ink] = paint.chips[axes[axis][0]] ?? paint.chips.B;
      const text = named ? names[axis] : axes[axis];
      ctx.font = `${size}px ${FONT}`;
      const fitted = this.#fit(text, Math.min(most, end - x - 8), ctx.font);
      if (x + fitted.width + 6 > end) break;
      ctx.fillStyle = fill;
      ctx.beginPath();
      ctx.roundRect(x, y, fitted.width + 6, 11 * scale, 3);
      ctx.fill();
      this.#text(fitted.text, x + 3, y + 8.5 * scale, fitted.width + 2, {size, color: ink});
      x += fitted.width + 9;
    }
  }

  // Edges --------------------------------------------------------------------------------------------------------------

  #drawEdges(group) {
    const {ctx, paint} = this;
    const {zoom} = this.camera;
    ctx.strokeStyle = paint.edge;
    for (const edge of group.edges) {
      if (!this.#edgeInSight(edge)) continue;
      ctx.globalAlpha = this.#strengthOf(edge);
      ctx.lineWidth = Math.max(this.facts.edgeWidth(edge), 0.6 / zoom);
      this.#tracePath(edge.points);
      ctx.stroke();
      if (zoom > 0.15) this.#drawArrow(edge.points, ctx.lineWidth);
    }
    for (const edge of group.edges) {
      if (zoom <= 0.12 || !this.#edgeInSight(edge)) continue;
      ctx.globalAlpha = this.#strengthOf(edge);
      this.#drawNote(edge);
    }
    ctx.globalAlpha = 1;
  }

  #strengthOf({group, from, to}) {
    return Math.max(this.#strength(group.children[from]), this.#strength(group.children[to]));
  }

  #edgeInSight({points}) {
    const {left, top, right, bottom} = this.sight;
    let [least, most, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const [x, y] of points) {
      least = Math.min(least, x);
      most = Math.max(most, x);
      low = Math.min(low, y);
      high = Math.max(high, y);
    }
    return least < right + 60 && most > left - 60 && low < bottom && high > top;
  }

  #tracePath(points) {
    const {ctx} = this;
    ctx.beginPath();
    ctx.moveTo(points[0][0], points[0][1]);
    for (let i = 1; i + 1 < points.length; ++i) {
      const reach = Math.min(distance(points[i - 1], points[i]), distance(points[i], points[i + 1])) / 2;
      ctx.arcTo(points[i][0], points[i][1], points[i + 1][0], points[i + 1][1], Math.min(6, reach));
    }
    const last = points[points.length - 1];
    ctx.lineTo(last[0], last[1]);
  }

  #drawArrow(points, width) {
    const {ctx, paint} = this;
    const [x, y] = points[points.length - 1];
    const [fx, fy] = points[points.length - 2];
    const length = distance([x, y], [fx, fy]) || 1;
    const [dx, dy] = [(x - fx) / length, (y - fy) / length];
    const size = 5 + width * 0.8;
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x - dx * size - dy * size * 0.6, y - dy * size + dx * size * 0.6);
    ctx.lineTo(x - dx * size + dy * size * 0.6, y - dy * size - dx * size * 0.6);
    ctx.closePath();
    ctx.fillStyle = paint.edge;
    ctx.fill();
  }

  /** The marks of collectives of an open group, placed once (graph_mark_places.js); of one that was not drawn yet none. */
  marksOf(group) {
    if (this.ctx === undefined) return [];
    const scale = this.#labelScale();
    if (this.#marks.get(group)?.scale !== scale) {
      const font = `bold ${10 * scale}px ${FONT}`;
      const widthOf = (text) => {
        this.ctx.font = font;
        return this.#fit(text, LABEL_WIDTH * scale, font).width;
      };
      this.#marks.set(group, {scale, marks: placeMarks(group, this.scene, this.facts, {widthOf, scale})});
    }
    return this.#marks.get(group).marks;
  }

  // In steps: words do not move about while one zooms.
  #labelScale() {
    return Math.ceil(this.#sizeOf(10) / 10 * 4 - 1e-9) / 4;
  }

  #drawMarks(group) {
    const scale = this.#labelScale();
    const halo = group.parent === null ? this.paint.paper : this.paint.frames[group.phase][group.depth % 2];
    for (const mark of group.open ? this.marksOf(group) : []) {
      const [{x, y}] = mark.shapes;
      const {left, top, right, bottom} = this.sight;
      if (x < left - 200 || x > right + 20 || y < top - 120 || y > bottom + 120) continue;
      this.ctx.globalAlpha = mark.box ? this.#strength(mark.box) : this.#strengthOf(mark.edge);
      if (mark.box) this.#drawStem(x, y, mark.from);
      for (const {kind, name, radius, label, side, ...shape} of mark.shapes) {
        this.#drawMark(kind, name, shape.x, shape.y, radius);
        if (label !== "") this.#text(label, shape.x + side * (radius + 4), shape.y + 3.5 * scale, LABEL_WIDTH * scale, {size: 10 * scale, bold: true, right: side < 0, halo});
      }
    }
  }

  // What an edge without collectives carries: the layout where there is room for it and the box that it comes from does
  // not say it; between phases what goes across, above the line.
  #drawNote(edge) {
    const [x, y] = edge.points[edge.points.length - 1];
    const [dx, dy] = this.scene.directionOf(edge);
    if (dx !== 0) {
      const [fromX, fromY] = edge.points[0];
      const size = Math.min(this.#sizeOf(11), 17);
      this.facts.noteOf(edge).forEach((line, i) => {
        this.#text(line, fromX + 8, fromY - (22 - 13 * i) * size / 11, x - fromX - 12, {size, color: this.paint.quiet});
      });
      return;
    }
    const isSaid = edge.group.children[edge.from].item >= 0;
    if (this.camera.zoom <= 0.5 || !edge.hasRoom || isSaid || this.facts.collectivesOf(edge).length > 0) return;
    const width = Math.min(150, edge.group.x + edge.group.width - x - 10);
    const scale = Math.min(1.4, this.#sizeOf(9) / 9);
    this.#drawChips(this.facts.layoutOf(edge), {x: x + 7, y: dy > 0 ? y - 7 - 11 * scale : y + 7, width, scale});
  }

  #drawMark(kind, name, x, y, radius) {
    const {ctx, paint, model} = this;
    ctx.beginPath();
    traceMark(ctx, name, x, y, radius);
    ctx.fillStyle = markColor(model.transitions.kinds[kind], this.theme);
    ctx.fill();
    ctx.strokeStyle = paint.mark;
    ctx.lineWidth = 1.2;
    ctx.stroke();
  }

  // From a mark of operands that no op makes to their op.
  #drawStem(x, y, end) {
    const {ctx, paint} = this;
    ctx.strokeStyle = paint.edge;
    ctx.lineWidth = 2;
    ctx.setLineDash([3, 3]);
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x, end);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  // What is selected ---------------------------------------------------------------------------------------------------

  #outline(box, color, width) {
    if (!box) return;
    this.#round({x: box.x - 2, y: box.y - 2, width: box.width + 4, height: box.height + 4}, 8);
    this.ctx.strokeStyle = color;
    this.ctx.lineWidth = Math.max(width * 0.8, width / this.camera.zoom * 0.8);
    this.ctx.stroke();
  }

  /** Lines to what the selected box reads (solid) and to what reads it (dashed), wherever they are. */
  #drawRelated(related) {
    if (!related) return;
    const {ctx, paint} = this;
    ctx.strokeStyle = paint.accent;
    ctx.lineWidth = Math.max(1.6, 1.6 / this.camera.zoom);
    for (const {from, to, reads} of related) {
      const [a, b] = [anchor(from, to), anchor(to, from)];
      ctx.setLineDash(reads ? [] : [7, 5]);
      ctx.beginPath();
      ctx.moveTo(a[0], a[1]);
      if (Math.abs(b[1] - a[1]) > Math.abs(b[0] - a[0])) {
        const middle = (a[1] + b[1]) / 2;
        ctx.bezierCurveTo(a[0], middle, b[0], middle, b[0], b[1]);
      } else {
        const middle = (a[0] + b[0]) / 2;
        ctx.bezierCurveTo(middle, a[1], middle, b[1], b[0], b[1]);
      }
      ctx.stroke();
    }
    ctx.setLineDash([]);
  }
}

function nameTail(name) {
  const at = name.lastIndexOf("/", name.length - 2);
  return name.length > 300 ? name.slice(0, 300) : at < 0 || name.length - at > 120 ? name : name.slice(at + 1);
}

function meet(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

function distance([ax, ay], [bx, by]) {
  return Math.abs(ax - bx) + Math.abs(ay - by);
}

function anchor(box, other) {
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const [dx, dy] = [other.x + other.width / 2 - x, other.y + other.height / 2 - y];
  if (Math.abs(dy) >= Math.abs(dx)) return [x, dy > 0 ? box.y + box.height : box.y];
  return [dx > 0 ? box.x + box.width : box.x, y];
}
