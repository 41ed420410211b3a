// Where the marks of collectives stand: on the last run of their edge, apart from each other. First all shapes find room,
// then the longest times the room that is left for their words.
import {seconds} from "./format.js";
import {markRadius} from "./graph_marks.js";

const OFFSETS = [29, 45, 16, 37, 22];  // of a shape from where its edge enters, the first that is free
const LEAST_RADIUS = 4;
const SHAPE_GAP = 1;
const LABEL_HEIGHT = 12;
const LABEL_GAP = 4;  // between a shape and its words
const CELL = 64;  // of the grid in which what is near is looked up
const MOST_ACROSS = 4;
const ACROSS_LEFT = 16;
const UNDER_LINE = 9;
const LINE = 2;  // pixels of a line on each side
const ABOVE_NOTE = 36;  // over a line between phases: what goes across, in two lines

/** Rectangles [left, top, right, bottom], and which of them meet another one. */
class TakenRoom {
  #cells = new Map();

  #keys([left, top, right, bottom]) {
    const keys = [];
    for (let column = Math.floor(left / CELL); column <= Math.floor(right / CELL); ++column) {
      for (let row = Math.floor(top / CELL); row <= Math.floor(bottom / CELL); ++row) keys.push(`${column},${row}`);
    }
    return keys;
  }

  isFree(room) {
    const [left, top, right, bottom] = room;
    return this.#keys(room).every((key) => (this.#cells.get(key) ?? []).every((other) =>
        other[0] >= right || other[2] <= left || other[1] >= bottom || other[3] <= top));
  }

  take(room) {
    for (const key of this.#keys(room)) {
      if (!this.#cells.has(key)) this.#cells.set(key, []);
      this.#cells.get(key).push(room);
    }
    return room;
  }

  /** `room`: as take() was given it. */
  leave(room) {
    for (const key of this.#keys(room)) {
      const cell = this.#cells.get(key);
      cell.splice(cell.indexOf(room), 1);
    }
  }
}

const timeText = ({letters, seconds: time}) => `${letters} ${seconds(time)}`;
const roomOf = (x, y, radius) => [x - radius - SHAPE_GAP, y - radius - SHAPE_GAP, x + radius + SHAPE_GAP, y + radius + SHAPE_GAP];
/** `side`: 1 right of the shape, -1 left of it. */
function labelRoom({x, y, radius}, {width, height}, side = 1) {
  const [near, far] = [x + side * (radius + LABEL_GAP - 1), x + side * (radius + LABEL_GAP + width + 1)];
  return [Math.min(near, far), y - height / 2, Math.max(near, far), y + height / 2];
}

/** The room of the lines of a group, for words to stand beside. */
function linesOf(group) {
  const lines = new TakenRoom();
  for (const {points} of group.edges) {
    for (let i = 1; i < points.length; ++i) {
      const [[ax, ay], [bx, by]] = [points[i - 1], points[i]];
      lines.take([Math.min(ax, bx) - LINE, Math.min(ay, by) - LINE, Math.max(ax, bx) + LINE, Math.max(ay, by) + LINE]);
    }
  }
  return lines;
}

/** What marks stand for, and where they may: {edge or box, collectives, spots: [[x, y]]}; `across`: between phases. */
function anchorsOf(group, scene, facts) {
  const anchors = [];
  for (const edge of group.edges) {
    const collectives = facts.collectivesOf(edge);
    if (collectives.length === 0) continue;
    const [x, y] = edge.points[edge.points.length - 1];
    const [dx, dy] = scene.directionOf(edge);
    if (dx !== 0) anchors.push({edge, collectives, across: edge.points[0], room: Math.abs(x - edge.points[0][0])});
    else anchors.push({edge, collectives, spots: OFFSETS.map((offset) => [x, y - dy * offset])});
  }
  anchors.sort((a, b) => (a.spots?.[0][0] ?? 0) - (b.spots?.[0][0] ?? 0));
  for (const box of group.children) {  // of operands that no op makes, such as gathered weights
    const collectives = box.item < 0 ? [] : facts.ownCollectives(box);
    if (collectives.length === 0) continue;
    const [y, away] = box.phase === 1 ? [box.y + box.height, 1] : [box.y, -1];
    const spots = [20, 36, 14, 48].flatMap((offset) => [60, 24, 96, 132, 160].map((left) => [box.x + box.width - left, y + away * offset]));
    anchors.push({box, from: y, collectives, spots});
  }
  return anchors;
}

/** One shape of an anchor at the first spot that is free, the smaller the less room there is; null: there is none. */
function placeShape(anchor, taken, longest) {
  const [entry] = anchor.collectives;
  for (let radius = markRadius(entry.seconds, longest); radius >= LEAST_RADIUS; radius *= 0.75) {
    for (const [x, y] of anchor.spots) {
      if (!taken.isFree(roomOf(x, y, radius))) continue;
      return {...anchor, room: taken.take(roomOf(x, y, radius)), shapes: [{...entry, x, y, radius, label: "", side: 1}]};
    }
  }
  return null;
}

/** Between phases: a shape below the other, with its words, under the line; above its note where the group ends. */
function placeAcross(anchor, group, longest, {taken, widthOf, height: lineHeight}) {
  const [x, lineY] = anchor.across;
  const shapes = anchor.collectives.slice(0, MOST_ACROSS).map((entry) => {
    const radius = markRadius(entry.seconds, longest);
    const isTight = ACROSS_LEFT + radius + LABEL_GAP + widthOf(timeText(entry)) + 2 > anchor.room;
    return {...entry, x: x + ACROSS_LEFT, y: 0, radius, label: isTight ? entry.letters : timeText(entry), side: 1};
  });
  const heights = shapes.map(({radius}) => 2 * Math.max(radius, lineHeight - 1));
  const height = heights.reduce((sum, one) => sum + one, 0);
  const under = lineY + UNDER_LINE;
  let y = under + height <= group.y + group.height ? under : lineY - ABOVE_NOTE * Math.min(1.55, lineHeight / LABEL_HEIGHT) - height;
  shapes.forEach((shape, i) => {
    shape.y = y + heights[i] / 2;
    y += heights[i];
    taken.take(roomOf(shape.x, shape.y, shape.radius));
    taken.take(labelRoom(shape, {width: widthOf(shape.label), height: lineHeight}));
  });
  return {...anchor, shapes};
}

/**
 * Moves a mark to where there is room beside it within the group, if there is such a spot. `arrange(shape, side)`: its
 * shapes with their words if the first stood there. `lines`: what the words are not to lie on.
 */
function findRoom(mark, sides, arrange, {taken, lines, bounds, widthOf, height}) {
  const [shape] = mark.shapes;
  taken.leave(mark.room);
  for (const [x, y] of [[shape.x, shape.y], ...mark.spots]) {
    for (const side of sides) {
      const shapes = arrange({...shape, x, y}, side);
      const words = shapes.map((one) => labelRoom(one, {width: widthOf(one.label), height}, side));
      const rooms = [...shapes.map((one) => roomOf(one.x, one.y, one.radius)), ...words];
      if (!rooms.every((room) => taken.isFree(room) && room[0] >= bounds[0] && room[2] <= bounds[1])) continue;
      if (lines !== null && !words.every((room) => lines.isFree(room))) continue;
      rooms.forEach((room) => taken.take(room));
      mark.shapes = shapes;
      return true;
    }
  }
  taken.take(mark.room);
  return false;
}

/** The words of a mark: its time and the next kind's, how many more there are, its letters alone, or none. */
function addWords(mark, longest, room) {
  const [first, next] = mark.collectives;
  const left = mark.collectives.length - 1 + (mark.joined ?? 0);
  const more = (number) => (number > 0 ? ` +${number}` : "");
  const both = (shape) => {
    const label = timeText(first);
    const radius = Math.min(markRadius(next.seconds, longest), shape.radius);
    return [{...shape, label, side: 1}, {...next, x: shape.x + shape.radius + LABEL_GAP + room.widthOf(label) + 10 + radius, y: shape.y, radius,
      label: timeText(next) + more(left - 1), side: 1}];
  };
  if (next && findRoom(mark, [1], both, room)) return;
  const labels = [timeText(first) + more(left), first.letters + more(left), more(left).trim()].filter((label) => label !== "");
  for (const where of [room, {...room, lines: null}]) {  // over a line rather than nowhere
    for (const label of labels) if (findRoom(mark, [1, -1], (shape, side) => [{...shape, label, side}], where)) return;
  }
}

/**
 * The marks of an open group: [{edge or box (and `from`, where its line ends), collectives, shapes: [{kind, name, x, y,
 * radius, label, side (of the label: 1 right, -1 left)}]}]. `widthOf(text)`: in the letters of labels, which are `scale`
 * times as high as at full size. What finds no room is counted by the mark before it.
 */
export function placeMarks(group, scene, facts, {widthOf, scale}) {
  const taken = new TakenRoom();
  const room = {taken, lines: linesOf(group), bounds: [group.x, group.x + group.width], widthOf, height: LABEL_HEIGHT * scale};
  const marks = [];
  for (const anchor of anchorsOf(group, scene, facts)) {
    const mark = anchor.across ? placeAcross(anchor, group, facts.longest, room) : placeShape(anchor, taken, facts.longest);
    if (mark !== null) marks.push(mark);
    else if (marks.length > 0) marks.at(-1).joined = (marks.at(-1).joined ?? 0) + anchor.collectives.length;
  }
  const words = marks.filter(({across}) => !across).sort((a, b) => b.collectives[0].seconds - a.collectives[0].seconds);
  for (const mark of words) addWords(mark, facts.longest, room);
  return marks;
}
