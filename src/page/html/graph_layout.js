// Where the boxes of one group stand, and how the edges between them run: what src/page/graph_layout.cc does, pass by
// pass and to the same integers (tests/page_layout_test.py compares). There stands also why.

const MAX_ACROSS = 8;
const BOXES_HIGH = 3;
const GAP_X = 28;
const TRUNK_GAP = 14;
const ABOVE_TRACKS = 8;
const TRACK_PITCH = 7;
const BELOW_TRACKS = 22;
const MARK_ROOM = 30;
const COLUMN_GAP = 150;
const UNDER_COLUMNS = 24;
const ORDER_SWEEPS = 4;
const STRAIGHT_SWEEPS = 8;
const PORT_PITCH = 22;

const half = (value) => Math.floor(value / 2);
const centerOf = (node) => node.x + half(node.width);
const gapAfter = (node) => (node.isTrunk ? TRUNK_GAP : GAP_X);

/** Sorts `list` by the number that `key` gives; Array.sort is stable. */
function sortByKey(list, key) {
  const keys = new Map(list.map((item) => [item, key(item)]));
  return list.sort((a, b) => keys.get(a) - keys.get(b));
}

class LayerLayout {
  constructor(boxes, edges) {
    this.edges = edges;
    this.numBoxes = boxes.length;
    this.nodes = boxes.map((box) => ({...this.#node(box.width, box.height, 0, false), mark: box.mark}));
  }

  #node(width, height, layer, isTrunk) {
    return {width, height, layer, isTrunk, x: 0, order: 0, track: 0, above: [], below: []};
  }

  run() {
    this.#assignLayers();
    this.#pullDown();
    this.#addTrunks();
    this.#orderLayers();
    this.#placeAcross();
    this.#placeDown();
    return this.#result();
  }

  #upper(edge) {
    return this.place[edge.from] < this.place[edge.to] ? edge.from : edge.to;
  }

  #lower(edge) {
    return this.place[edge.from] < this.place[edge.to] ? edge.to : edge.from;
  }

  #assignLayers() {
    const {nodes, numBoxes} = this;
    const readers = nodes.map(() => []);
    const sources = nodes.map(() => []);
    const pending = new Int32Array(numBoxes);
    for (const {from, to} of this.edges) {
      readers[from].push(to);
      sources[to].push(from);
      ++pending[to];
    }
    this.#findApart(readers, sources);
    const isReady = nodes.map((_, n) => pending[n] === 0);
    const queue = nodes.map((_, n) => n).filter((n) => isReady[n]);
    this.place = new Int32Array(numBoxes).fill(numBoxes);
    this.across = [];
    let firstLeft = 0;
    for (let next = 0; next < numBoxes; ++next) {
      if (next === queue.length) {
        while (isReady[firstLeft]) ++firstLeft;
        isReady[firstLeft] = true;
        queue.push(firstLeft);
      }
      const n = queue[next];
      this.place[n] = next;
      this.#takePlace(n);
      for (const source of sources[n]) {
        if (this.place[source] === numBoxes) nodes[source].layer = Math.max(nodes[source].layer, nodes[n].layer + 1);
      }
      for (const reader of readers[n]) {
        if (this.place[reader] !== numBoxes) continue;
        nodes[reader].layer = Math.max(nodes[reader].layer, nodes[n].layer + 1);
        if (--pending[reader] === 0 && !isReady[reader]) {
          isReady[reader] = true;
          queue.push(reader);
        }
      }
    }
    this.byPlace = queue;
  }

  #findApart(readers, sources) {
    this.isApart = readers.map((list, n) => list.length === 0 && sources[n].length === 0);
    const number = this.isApart.filter((apart) => apart).length;
    this.apartAcross = this.edges.length === 0 ? 1 : 2;
    while (this.apartAcross < MAX_ACROSS && BOXES_HIGH * this.apartAcross ** 2 < number) ++this.apartAcross;
  }

  #takePlace(n) {
    const node = this.nodes[n];
    const most = this.isApart[n] ? this.apartAcross : MAX_ACROSS;
    for (;; ++node.layer) {
      while (node.layer >= this.across.length) this.across.push(0);
      if (this.across[node.layer] < most) break;
    }
    ++this.across[node.layer];
  }

  #pullDown() {
    const {nodes, across} = this;
    const entering = new Int32Array(this.numBoxes);
    const lower = nodes.map(() => []);
    for (const edge of this.edges) {
      ++entering[this.#lower(edge)];
      lower[this.#upper(edge)].push(this.#lower(edge));
    }
    for (let i = this.numBoxes - 1; i >= 0; --i) {
      const n = this.byPlace[i];
      if (lower[n].length === 0 || entering[n] > lower[n].length) continue;
      let layer = Math.min(...lower[n].map((reader) => nodes[reader].layer)) - 1;
      while (layer > nodes[n].layer && across[layer] >= MAX_ACROSS) --layer;
      if (layer <= nodes[n].layer) continue;
      --across[nodes[n].layer];
      ++across[layer];
      nodes[n].layer = layer;
    }
  }

  #addTrunks() {
    const {nodes} = this;
    this.trunks = Array.from({length: this.numBoxes}, () => []);
    for (const edge of this.edges) {
      const upper = this.#upper(edge);
      const lower = this.#lower(edge);
      const trunk = this.trunks[upper];
      const passed = nodes[lower].layer - nodes[upper].layer - 1;
      while (trunk.length < passed) {
        nodes.push(this.#node(0, 0, nodes[upper].layer + trunk.length + 1, true));
        this.#join(trunk.length === 0 ? upper : trunk[trunk.length - 1], nodes.length - 1);
        trunk.push(nodes.length - 1);
      }
      this.#join(passed === 0 ? upper : trunk[passed - 1], lower);
    }
  }

  #join(upper, lower) {
    this.nodes[upper].below.push(lower);
    this.nodes[lower].above.push(upper);
  }

  #orderLayers() {
    const {nodes} = this;
    this.layers = this.across.map(() => []);
    for (const n of this.byPlace) this.layers[nodes[n].layer].push(n);
    for (let n = this.numBoxes; n < nodes.length; ++n) this.layers[nodes[n].layer].push(n);
    for (const layer of this.layers) this.#number(layer);
    this.#sweep(ORDER_SWEEPS, (layer, down) => {
      sortByKey(layer, (n) => {
        const neighbours = down ? nodes[n].above : nodes[n].below;
        if (neighbours.length === 0) return nodes[n].order * 256;
        const sum = neighbours.reduce((total, other) => total + nodes[other].order, 0);
        return Math.floor(sum * 256 / neighbours.length);
      });
      this.#number(layer);
    });
  }

  #sweep(times, pass) {
    const {layers} = this;
    for (let sweep = 0; sweep < times; ++sweep) {
      const down = sweep % 2 === 0;
      for (let i = 0; i < layers.length; ++i) pass(layers[down ? i : layers.length - 1 - i], down);
    }
  }

  #number(layer) {
    layer.forEach((n, i) => { this.nodes[n].order = i; });
  }

  #placeAcross() {
    const {nodes} = this;
    for (const layer of this.layers) {
      let x = 0;
      for (const n of layer) {
        nodes[n].x = x;
        x += nodes[n].width + gapAfter(nodes[n]);
      }
    }
    this.#sweep(STRAIGHT_SWEEPS, (layer, down) => this.#straighten(layer.map((n) => nodes[n]), down));
    let left = Infinity;
    for (const node of nodes) left = Math.min(left, node.x);
    for (const node of nodes) node.x -= left;
  }

  #wantedX(node, down) {
    let sum = 0;
    let weights = 0;
    for (const other of down ? node.above : node.below) {
      const neighbour = this.nodes[other];
      const weight = node.isTrunk && neighbour.isTrunk ? 8 : node.isTrunk || neighbour.isTrunk ? 1 : 2;
      sum += weight * centerOf(neighbour);
      weights += weight;
    }
    return weights === 0 ? node.x : Math.floor(sum / weights) - half(node.width);
  }

  #straighten(layer, down) {
    const right = layer.map((node) => this.#wantedX(node, down));
    const left = [...right];
    for (let i = 1; i < layer.length; ++i) {
      right[i] = Math.max(right[i], right[i - 1] + layer[i - 1].width + gapAfter(layer[i - 1]));
    }
    for (let i = layer.length - 2; i >= 0; --i) {
      left[i] = Math.min(left[i], left[i + 1] - layer[i].width - gapAfter(layer[i]));
    }
    layer.forEach((node, i) => { node.x = half(left[i] + right[i]); });
  }

  #placeDown() {
    const {nodes, layers} = this;
    const hasMark = layers.map(() => false);
    for (const edge of this.edges) {
      if (edge.mark) hasMark[nodes[this.#lower(edge)].layer] = true;
    }
    for (const node of nodes) if (node.mark) hasMark[node.layer] = true;
    this.top = [];
    this.bottom = [];
    this.ports = layers.map(() => new Map());  // of links from a layer: "upper>lower" -> where it enters
    let y = hasMark[0] ? MARK_ROOM : 0;
    layers.forEach((layer, i) => {
      this.top.push(y);
      this.bottom.push(y + Math.max(0, ...layer.map((n) => nodes[n].height)));
      if (i + 1 === layers.length) return;
      const links = this.#findLinks(i);
      const tracks = this.#assignTracks(layer, links);
      y = this.bottom[i] + ABOVE_TRACKS + tracks * TRACK_PITCH + BELOW_TRACKS + (hasMark[i + 1] ? MARK_ROOM : 0);
    });
  }

  #findLinks(layer) {
    const {nodes} = this;
    const links = [];
    for (const n of this.layers[layer + 1]) {
      const above = sortByKey([...nodes[n].above], (upper) => centerOf(nodes[upper]));
      const pitch = Math.min(PORT_PITCH, Math.floor(nodes[n].width / (above.length + 1)));
      above.forEach((upper, k) => {
        const port = centerOf(nodes[n]) + half((2 * k - (above.length - 1)) * pitch);
        links.push({upper, port});
        this.ports[layer].set(`${upper}>${n}`, port);
      });
    }
    return links;
  }

  #assignTracks(layer, links) {
    const {nodes} = this;
    let runs = layer.map((upper) => ({upper, begin: centerOf(nodes[upper]), end: centerOf(nodes[upper])}));
    for (const {upper, port} of links) {
      const run = runs[nodes[upper].order];
      run.begin = Math.min(run.begin, port);
      run.end = Math.max(run.end, port);
    }
    runs = sortByKey(runs.filter((run) => run.begin !== run.end), (run) => run.begin);
    const ends = [];
    for (const run of runs) {
      let track = 0;
      while (track < ends.length && ends[track] >= run.begin) ++track;
      ends[track] = run.end;
      nodes[run.upper].track = track;
    }
    return ends.length;
  }

  #route(edge) {
    const {nodes} = this;
    const upper = this.#upper(edge);
    const lower = nodes[this.#lower(edge)];
    const first = nodes[upper];
    const points = [[centerOf(first), this.top[first.layer] + first.height]];
    let at = upper;
    for (let layer = first.layer; layer < lower.layer; ++layer) {
      const isLast = layer + 1 === lower.layer;
      const next = isLast ? this.#lower(edge) : this.trunks[upper][layer - first.layer];
      const x = isLast ? this.ports[layer].get(`${at}>${next}`) : centerOf(nodes[next]);
      const from = centerOf(nodes[at]);
      if (x !== from) {
        const y = this.bottom[layer] + ABOVE_TRACKS + nodes[at].track * TRACK_PITCH;
        points.push([from, y], [x, y]);
      }
      at = next;
    }
    points.push([points[points.length - 1][0], this.top[lower.layer]]);
    return upper === edge.from ? points : points.reverse();
  }

  #result() {
    const {nodes} = this;
    return {
      width: nodes.reduce((right, node) => Math.max(right, node.x + node.width), 0),
      height: this.bottom.length === 0 ? 0 : this.bottom[this.bottom.length - 1],
      at: nodes.slice(0, this.numBoxes).map((node) => [node.x, this.top[node.layer]]),
      routes: this.edges.map((edge) => this.#route(edge)),
    };
  }
}

/**
 * `boxes`: [{width, height, mark}]; `edges`: [{from, to, mark}], sorted by (from, to); `upwards`: sources below. Is
 * {width, height, at: [x, y] per box, routes: [[x, y], ...] per edge}.
 */
export function layOutBoxes(boxes, edges, upwards) {
  const layout = new LayerLayout(boxes, edges).run();
  if (!upwards) return layout;
  layout.at.forEach((at, n) => { at[1] = layout.height - at[1] - boxes[n].height; });
  for (const route of layout.routes) for (const point of route) point[1] = layout.height - point[1];
  return layout;
}

export function layOutColumns(boxes, edges) {
  const bottom = boxes.reduce((most, box) => Math.max(most, box.height), 0);
  let width = 0;
  const at = boxes.map((box) => {
    const x = width;
    width += box.width + COLUMN_GAP;
    return [x, bottom - box.height];
  });
  let height = bottom;
  const routes = edges.map(({from, to}) => {
    const a = {...boxes[from], x: at[from][0], y: at[from][1]};
    const b = {...boxes[to], x: at[to][0], y: at[to][1]};
    if (to === from + 1) {
      const y = Math.max(a.y, b.y) + half(Math.min(a.height, b.height));
      return [[a.x + a.width, y], [b.x, y]];
    }
    height = bottom + UNDER_COLUMNS;
    const x = a.x + half(a.width);
    const end = b.x + half(b.width);
    return [[x, bottom], [x, height], [end, height], [end, bottom]];
  });
  return {width: Math.max(0, width - COLUMN_GAP), height, at, routes};
}
