// What arrow keys go to beside boxes: the marks of collectives.

/** A mark as a box among those of its group, for keys: it has the place of its shapes, and no item of the outline. */
export function boxOfMark(mark, parent) {
  const {shapes} = mark;
  const x = Math.min(...shapes.map((shape) => shape.x - shape.radius));
  const y = Math.min(...shapes.map((shape) => shape.y - shape.radius));
  return {mark, parent, x, y, width: Math.max(...shapes.map((shape) => shape.x + shape.radius)) - x,
    height: Math.max(...shapes.map((shape) => shape.y + shape.radius)) - y, open: false, children: [], edges: []};
}

/** Boxes and `marks` at the other end of a box's edges, or at the ends of a mark's edge. */
export function neighboursOf(box, marks) {
  const {children, edges} = box.parent;
  if (box.mark !== undefined) {
    const {box: reader, edge} = box.mark;
    return new Set(reader ? [reader] : [children[edge.from], children[edge.to]]);
  }
  const isAt = ({from, to}) => from === box.place || to === box.place;
  return new Set([...edges.filter(isAt).map(({from, to}) => children[from === box.place ? to : from]),
    ...marks.filter(({mark}) => (mark.box ? mark.box === box : isAt(mark.edge)))]);
}
