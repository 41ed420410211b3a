// Draws a scene on a canvas: what is in sight, in as much detail as there is room for.
import {placeMarks} from "./graph_mark_places.js";
import {axisName, markColor, traceMark} from "./graph_marks.js";
import {TITLE_HEIGHT} from "./graph_scene.js";
import {SHARING, inkOn, overlayColor} from "./overlays.js";

const FONT = '"DejaVu Sans", Verdana, sans-serif';
const FAINT = 0.25;
const LEAST_TEXT = 4.9;  // pixels: smaller letters cannot be read
const FAR_TEXT = 7.5;  // pixels, of what is written from afar
const MAP_TEXT = 9;  // pixels, of names of frames whose strips are lower than LEAST_STRIP
const LEAST_STRIP = 9;  // pixels: lower titles of frames are written over what is in them
const PAINT = {
  light: {
    changed: "#a8480a", paper: "#ffffff", ink: "#1b2430", quiet: "#55606f", border: "#7d8aa0", edge: "#8694aa", accent: "#1f5fbf",
    mark: "#ffffff",
    frames: [["#f8fafd", "#eff4fa"], ["#fbf6fd", "#f3e9f8"], ["#fdf8f0", "#f8eedd"]],
    frameLines: ["#aeb9ca", "#c2a2d1", "#cfb88e"],
    chips: {S: ["#d6e6fa", "#123a70"], B: ["#eceef2", "#3c434e"], P: ["#fde3c8", "#6b3303"]},
  },
  dark: {
    changed: "#ffb066", paper: "#14181f", ink: "#e6ebf2", quiet: "#a3aebd", border: "#65748c", edge: "#6b7a92", accent: "#7fb2ff",
    mark: "#f2f5f9",
    frames: [["#181e27", "#1c242f"], ["#1f1826", "#271e30"], ["#231d14", "#2b2418"]],
    frameLines: ["#46536a", "#5d4669", "#635133"],
    chips: {S: ["#1d3a61", "#cfe2ff"], B: ["#333a46", "#d5dae2"], P: ["#5e3512", "#ffe0c2"]},
  },
};

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
    if (zoom > 0.12) for (const group of groups) this.#drawMarks(group);
    this.ctx.globalAlpha = 1;
    const written = [];
    for (const box of named) if (this.#strength(box) === 1) this.#drawBigTitle(box, written);
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

  #text(text, x, y, width, {size = 12, bold = false, color = this.paint.ink, right = false} = {}) {
    if (size * this.camera.zoom < LEAST_TEXT || width < 8) return 0;
    const {ctx} = this;
    ctx.font = `${bold ? "bold " : ""}${size}px ${FONT}`;
    const fitted = this.#fit(text, width, ctx.font);
    ctx.fillStyle = color;
    ctx.textAlign = right ? "right" : "left";
    ctx.fillText(fitted.text, x, y);
    return fitted.width;
  }

  #fit(text, width, font) {
    const key = `${font}|${Math.round(width)}|${text.length > 200 ? text.slice(0, 200) : text}`;
    let found = this.#texts.get(key);
    if (found !== undefined) return found;
    if (this.#texts.size > 20000) this.#texts.clear();
    let shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
    let size = this.ctx.measureText(shown).width;
    while (size > width && shown.length > 1) {
      const keep = Math.max(1, Math.min(shown.length - 2, Math.floor((shown.length - 1) * width / size)));
      shown = `${shown.slice(0, keep)}…`;
      size = this.ctx.measureText(shown).width;
      if (keep === 1) break;
    }
    found = {text: shown, width: size};
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
    if (TITLE_HEIGHT * this.camera.zoom < LEAST_STRIP) return false;
    const size = Math.max(13, FAR_TEXT / this.camera.zoom);
    const [y, right] = [box.y + 16.5 + size * 0.36, box.x + box.width - 12];
    const taken = this.#text(`▾ ${this.facts.titleOf(box)}`, box.x + 10, y, box.width - (size > 13 ? 20 : 100), {size, bold: true});
    const style = {size: 11, color: paint.quiet, right: true};
    this.#text(this.facts.shareText(box), right, y, box.width - taken - 32, style);
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
    const ink = inkOn(fill);
    if (this.#drawFarTitle(front, `▸ ${facts.titleOf(box)}`, ink)) return this.#drawBar(box, front);
    this.#text(`▸ ${facts.titleOf(box)}`, box.x + 8, box.y + 17, front.width - 16, {bold: true, color: ink});
    this.#text(facts.shareText(box), box.x + 8, box.y + 32, front.width - 16, {size: 10, color: ink});
    this.#drawSummary(box, front, ink);
    this.#drawBar(box, front);
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

  /** From afar one word or two in the middle of a box, as large as can be read. False: it is near enough for more. */
  #drawFarTitle(box, text, color) {
    const {zoom} = this.camera;
    if (12 * zoom >= LEAST_TEXT) return false;
    const size = FAR_TEXT / zoom;
    if (size < box.height) this.#text(text, box.x + 3 / zoom, box.y + box.height / 2 + size * 0.36, box.width - 6 / zoom, {size, bold: true, color});
    return true;
  }

  // The collectives inside, by kind.
  #drawSummary(box, front, ink) {
    let x = box.x + 14;
    for (const {name, kind, letters, count} of this.facts.insideOf(box).slice(0, 4)) {
      if (x > front.x + front.width - 36) return;
      this.#drawMark(kind, name, x, box.y + 43, 5);
      x += 9 + this.#text(`${count} ${letters}`, x + 8, box.y + 46, front.x + front.width - x - 12, {size: 9, color: ink}) + 10;
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
    if (this.#drawFarTitle(box, model.opType(op), ink)) return;
    const sign = model.bare ? "" : `${SHARING[model.decisions.sharing[op]].sign} `;
    const value = facts.valueText(box);
    const taken = this.#text(value, box.x + box.width - 6, box.y + 15, 84, {size: 10, color: ink, right: true});
    this.#text(`${sign}${model.opType(op)}`, box.x + 6, box.y + 15, box.width - taken - 18, {bold: true, color: ink});
    this.#text(nameTail(model.opName(op)), box.x + 6, box.y + 26, box.width - 12, {size: 9, color: ink});
    this.#drawChips(model.record(op)?.outputs[0] ?? -1, box.x + 5, box.y + 30, box.width - 10);
  }

  /** A chip per mesh axis: how the tensor lies on it. Returns where they end. */
  #drawChips(layout, x, y, width) {
    if (layout < 0 || 9 * this.camera.zoom < LEAST_TEXT) return x;
    const {ctx, paint, model} = this;
    const end = x + width;
    const {axes} = model.decisions.layouts[layout];
    const names = axes.map((entry, axis) => `${axisName(model, axis)} ${entry}`);
    ctx.font = `9px ${FONT}`;
    const named = axes.length <= 2 && names.reduce((sum, text) => sum + Math.min(76, this.#fit(text, 76, ctx.font).width) + 9, 0) <= width;
    for (let axis = 0; axis < axes.length; ++axis) {
      const [fill, ink] = paint.chips[axes[axis][0]] ?? paint.chips.B;
      const text = named ? names[axis] : axes[axis];
      ctx.font = `9px ${FONT}`;
      const fitted = this.#fit(text, Math.min(76, end - x - 8), ctx.font);
      if (x + fitted.width + 6 > end) break;
      ctx.fillStyle = fill;
      ctx.beginPath();
      ctx.roundRect(x, y, fitted.width + 6, 11, 3);
      ctx.fill();
      this.#text(fitted.text, x + 3, y + 8.5, fitted.width + 2, {size: 9, color: ink});
      x += fitted.width + 9;
    }
    return x;
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
    if (!this.#marks.has(group)) {
      if (this.ctx === undefined) return [];
      const font = `bold 10px ${FONT}`;
      this.#marks.set(group, placeMarks(group, this.scene, this.facts, (text) => {
        this.ctx.font = font;
        return this.#fit(text, 130, font).width;
      }));
    }
    return this.#marks.get(group);
  }

  #drawMarks(group) {
    for (const mark of group.open ? this.marksOf(group) : []) {
      const [{x, y}] = mark.shapes;
      const {left, top, right, bottom} = this.sight;
      if (x < left - 200 || x > right + 20 || y < top - 120 || y > bottom + 120) continue;
      this.ctx.globalAlpha = mark.box ? this.#strength(mark.box) : this.#strengthOf(mark.edge);
      if (mark.box) this.#drawStem(x, y, mark.from);
      for (const {kind, name, radius, label, side, ...shape} of mark.shapes) {
        this.#drawMark(kind, name, shape.x, shape.y, radius);
        if (label !== "") this.#text(label, shape.x + side * (radius + 4), shape.y + 3.5, 130, {size: 10, bold: true, right: side < 0});
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
      this.facts.noteOf(edge).forEach((line, i) => {
        this.#text(line, fromX + 8, fromY - 22 + 13 * i, x - fromX - 16, {size: 11, color: this.paint.quiet});
      });
      return;
    }
    const isSaid = edge.group.children[edge.from].item >= 0;
    if (this.camera.zoom <= 0.5 || !edge.hasRoom || isSaid || this.facts.collectivesOf(edge).length > 0) return;
    const width = Math.min(150, edge.group.x + edge.group.width - x - 10);
    this.#drawChips(this.facts.layoutOf(edge), x + 7, dy > 0 ? y - 18 : y + 7, width);
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

/** From afar, for the minimap: frames of the first levels, and what is in sight. */
export function drawMinimap(ctx, scene, camera, theme, size) {
  const paint = PAINT[theme];
  const {root} = scene;
  const scale = Math.min(size.width / Math.max(root.width, 1), size.height / Math.max(root.height, 1));
  const [left, top] = [(size.width - root.width * scale) / 2, (size.height - root.height * scale) / 2];
  ctx.fillStyle = paint.paper;
  ctx.fillRect(0, 0, size.width, size.height);
  let level = [...root.children];
  for (let depth = 0; depth < 4 && level.length > 0 && level.length < 4000; ++depth) {
    const next = [];
    for (const box of level) {
      ctx.fillStyle = box.open ? paint.frames[box.phase][depth % 2] : paint.border;
      ctx.fillRect(left + box.x * scale, top + box.y * scale, Math.max(1, box.width * scale), Math.max(1, box.height * scale));
      if (box.open) {
        ctx.strokeStyle = paint.frameLines[box.phase];
        ctx.lineWidth = 0.5;
        ctx.strokeRect(left + box.x * scale, top + box.y * scale, box.width * scale, box.height * scale);
        next.push(...box.children);
      }
    }
    level = next;
  }
  ctx.strokeStyle = paint.accent;
  ctx.lineWidth = 2;
  const sight = scale / camera.zoom;
  ctx.strokeRect(left + camera.x * scale, top + camera.y * scale, camera.width * sight, camera.height * sight);
  return {scale, left, top};
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
