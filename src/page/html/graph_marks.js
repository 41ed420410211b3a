// Collectives as marks: a shape and letters a kind, so that none is told by its colour alone.

const corners = (sides, turn) => Array.from({length: sides}, (_, i) => {
  const angle = turn + 2 * Math.PI * i / sides;
  return [Math.cos(angle), Math.sin(angle)];
});

const UP = -Math.PI / 2;
const MARK_SHAPES = {
  "all-gather": {letters: "AG", points: corners(3, -UP)},
  "all-reduce": {letters: "AR", points: corners(24, 0)},
  "reduce-scatter": {letters: "RS", points: corners(3, UP)},
  "all-to-all": {letters: "A2A", points: corners(4, UP)},
  "send-recv": {letters: "SR", points: corners(4, UP / 2)},
};
const OTHER_SHAPE = {letters: "", points: corners(6, 0)};

export function markShape(name) {
  return MARK_SHAPES[name] ?? {...OTHER_SHAPE, letters: name};
}

/** "model", "" where a step is along no axis of its own. */
export function axisName(model, axis) {
  return axis >= 0 ? model.head.mesh.axes[axis]?.[0] ?? "" : "";
}

/** What moves data of some transitions: [{kind, name, letters, seconds, bytes, transitions, axes}], the longest first. */
export function sumCollectives(model, transitions) {
  const byKind = new Map();
  for (const t of new Set(transitions)) {
    for (const [kind, axis, seconds, wire] of model.transitions.steps[t]) {
      const row = model.transitions.kinds[kind];
      if (row.is_local) continue;
      if (!byKind.has(kind)) {
        byKind.set(kind, {kind, name: row.name, letters: markShape(row.name).letters, seconds: 0, bytes: 0,
          transitions: new Set(), axes: new Set()});
      }
      const entry = byKind.get(kind);
      entry.seconds += seconds * model.transitions.runs[t];
      entry.bytes += wire * model.transitions.runs[t];
      entry.transitions.add(t);
      entry.axes.add(axisName(model, axis));
    }
  }
  return [...byKind.values()].sort((a, b) => b.seconds - a.seconds || a.kind - b.kind);
}

/** Dark on light pages, pale on dark ones. `row`: of the kinds of a plan. */
export function markColor(row, theme) {
  return theme === "dark" ? row.fill : row.color;
}

/** Traces a shape of radius `r` around (x, y) into `path`, a Path2D or a context. */
export function traceMark(path, name, x, y, r) {
  markShape(name).points.forEach(([dx, dy], i) => {
    if (i === 0) path.moveTo(x + dx * r, y + dy * r);
    else path.lineTo(x + dx * r, y + dy * r);
  });
  path.closePath();
}

/** The same as the `points` of an SVG polygon. */
export function markPoints(name, x, y, r) {
  return markShape(name).points.map(([dx, dy]) => `${(x + dx * r).toFixed(1)},${(y + dy * r).toFixed(1)}`).join(" ");
}

/** Radius of a mark: its area grows with its time; `most`: the longest one's. */
export function markRadius(seconds, most) {
  return 5 + 8 * Math.sqrt(most > 0 ? Math.min(1, seconds / most) : 0);
}
