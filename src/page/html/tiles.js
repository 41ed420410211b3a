// Rectangles for trees of sizes: squarified treemaps (Bruls, Huizing, van Wijk 2000) and icicles.

/** Cuts {x, y, width, height} into one rectangle per size (largest first), as square as may be, in the order of sizes. */
export function squarify(sizes, {x, y, width, height}) {
  const tiles = [];
  let rest = sizes.reduce((sum, size) => sum + size, 0);
  let from = 0;
  while (from < sizes.length && rest > 0 && width > 0 && height > 0) {
    const scale = width * height / rest;
    const short = Math.min(width, height);
    let to = from;
    let sum = 0;
    let worst = Infinity;
    while (to < sizes.length) {
      const next = sum + sizes[to];
      const deep = next * scale / short;  // of the strip that holds from..to
      const side = (size) => size * scale / deep;
      const ratio = Math.max(side(sizes[from]) / deep, deep / Math.max(side(sizes[to]), 1e-9));
      if (ratio > worst) break;
      [worst, sum] = [ratio, next];
      ++to;
    }
    const deep = sum * scale / short;
    let along = 0;
    for (; from < to; ++from) {
      const length = sum > 0 ? sizes[from] / sum * short : 0;
      tiles.push(width >= height ? {x, y: y + along, width: deep, height: length} : {x: x + along, y, width: length, height: deep});
      along += length;
    }
    if (width >= height) [x, width] = [x + deep, width - deep];
    else [y, height] = [y + deep, height - deep];
    rest -= sum;
  }
  while (tiles.length < sizes.length) tiles.push({x, y, width: 0, height: 0});
  return tiles;
}

const TILE_HEAD = 17;  // pixels that a group's name takes
const LEAST_SIDE = 3, LEAST_OPEN = 34;

/**
 * Tiles of a tree in a box: [{node, depth, x, y, width, height, open}], parents before their children, at most `most`.
 * `childrenOf(node)` are {size, ...} by size, largest first; `open`: children are drawn within.
 */
export function treemapTiles(root, childrenOf, box, most) {
  const tiles = [];
  const waiting = [{node: root, depth: 0, ...box}];
  for (let i = 0; i < waiting.length && tiles.length < most; ++i) {
    const tile = waiting[i];
    const inner = {x: tile.x + 1, y: tile.y + (tile.depth === 0 ? 0 : TILE_HEAD), width: tile.width - 2,
      height: tile.height - (tile.depth === 0 ? 0 : TILE_HEAD + 1)};
    const children = inner.width > LEAST_OPEN && inner.height > LEAST_OPEN / 2 ? childrenOf(tile.node) : [];
    tile.open = children.length > 0;
    tiles.push(tile);
    if (!tile.open) continue;
    squarify(children.map(({size}) => size), inner).forEach((place, c) => {
      if (place.width < LEAST_SIDE || place.height < LEAST_SIDE) return;
      waiting.push({node: children[c], depth: tile.depth + 1, ...place});
    });
  }
  return tiles;
}

/** The same as rows, one per depth: a child lies below its parent, as wide as its share. */
export function icicleTiles(root, childrenOf, box, most, levels = 7) {
  const row = box.height / levels;
  const tiles = [];
  const waiting = [{node: root, depth: 0, x: box.x, y: box.y, width: box.width, height: row, open: false}];
  for (let i = 0; i < waiting.length && tiles.length < most; ++i) {
    const tile = waiting[i];
    tiles.push(tile);
    if (tile.depth + 1 >= levels || tile.node.size <= 0) continue;
    let {x} = tile;
    for (const child of childrenOf(tile.node)) {
      const width = child.size / tile.node.size * tile.width;
      if (width < 1) break;  // the others are no larger
      waiting.push({node: child, depth: tile.depth + 1, x, y: tile.y + row, width, height: row, open: false});
      x += width;
    }
  }
  return tiles;
}
