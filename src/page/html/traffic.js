// Who sends how much to whom: a matrix of bytes between devices, links, and the collectives that cause them.
import {ChartSurface, ChartTip, planChoice, saysBare} from "./chart.js";
import {collectiveGroups, removalsOf} from "./collective_groups.js";
import {stepsText} from "./costs.js";
import {DataTable} from "./data_table.js";
import {el} from "./dom.js";
import {bytes, count, counted, percent, seconds} from "./format.js";
import {PHASES} from "./model.js";
import {inkOn, OVERLAYS, overlayColor, overlayLegend, signedSeconds} from "./overlays.js";

const HEAT_ROW = OVERLAYS.find(({id}) => id === "bytes");
const PEERS = ["each to the next of its ring", "each to every other one", "each to both neighbours"];
const MATRIX_LEFT = 46, MATRIX_TOP = 24;

class TrafficMatrix {
  constructor(model, store) {
    this.model = model;
    this.store = store;
    this.traffic = model.traffic;
    this.pointed = null;
    this.sortedRanks = null;
    this.chosen = (_flow) => true;
    this.surface = new ChartSurface(store, (...all) => this.#draw(...all), {role: "img",
      "aria-label": "bytes from device to device; arrow keys choose a cell"});
    this.tip = new ChartTip(this.surface.element);
    this.legend = el("div", {});
    const end = store.on("theme", () => this.fill());
    this.dispose = () => {
      end();
      this.surface.dispose();
    };
    this.#listen();
    this.fill();
  }

  /** Sums the flows that are chosen. */
  fill() {
    const {blocks, flows} = this.traffic;
    this.bytes = new Float64Array(blocks * blocks);
    for (const flow of flows) {
      if (!this.chosen(flow)) continue;
      for (const [from, to, size] of flow.matrix) this.bytes[from * blocks + to] += size;
    }
    this.most = this.bytes.reduce((most, size) => Math.max(most, size), 0);
    this.legend.replaceChildren(this.most > 0 ? overlayLegend(HEAT_ROW, this.most, this.store.get("theme")) : "nothing is sent by these");
    this.surface.redraw();
  }

  /** The rank of a place, counted over the devices of the mesh in the order of ranks. */
  #rank(place) {
    const {ranks} = this.model.head.mesh;
    if (ranks.length === 0) return place;
    this.sortedRanks ??= [...ranks].sort((a, b) => a - b);
    return this.sortedRanks[place];
  }

  #nodeOf(block) {
    return Math.floor(this.#rank(block) / this.traffic.devices_per_node);
  }

  /** Are cells single devices, of several nodes? */
  partsNodes() {
    const {blocks, per_block: per} = this.traffic;
    return per === 1 && this.#nodeOf(0) !== this.#nodeOf(blocks - 1);
  }

  /** "3", or "64-71" of a block of devices. */
  blockName(block) {
    const {per_block: per, devices} = this.traffic;
    const first = block * per;
    return per === 1 ? String(this.#rank(first)) : `${this.#rank(first)}-${this.#rank(Math.min(first + per, devices) - 1)}`;
  }

  #side() {
    const {width, height} = this.surface.size;
    return Math.max(1, Math.min(width - MATRIX_LEFT - 8, height - MATRIX_TOP - 8) / this.traffic.blocks);
  }

  #draw(context, _size, colors, theme) {
    const {blocks} = this.traffic;
    const side = this.#side();
    context.textAlign = "center";
    for (let from = 0; from < blocks; ++from) {
      for (let to = 0; to < blocks; ++to) this.#drawCell(context, {from, to, side}, colors, theme);
    }
    context.fillStyle = colors.quiet;
    const every = Math.ceil(30 / side);
    for (let block = 0; block < blocks; block += every) {
      context.textAlign = "right";
      context.fillText(this.blockName(block), MATRIX_LEFT - 6, MATRIX_TOP + (block + 0.5) * side);
      context.textAlign = "center";
      context.fillText(this.blockName(block), MATRIX_LEFT + (block + 0.5) * side, MATRIX_TOP - 9);
    }
    if (this.partsNodes()) {
      context.strokeStyle = colors.ink;
      for (let at = 0; at <= blocks; ++at) {
        if (at > 0 && at < blocks && this.#nodeOf(at) === this.#nodeOf(at - 1)) continue;
        context.strokeRect(MATRIX_LEFT + Math.round(at * side), MATRIX_TOP, 0, blocks * side);
        context.strokeRect(MATRIX_LEFT, MATRIX_TOP + Math.round(at * side), blocks * side, 0);
      }
    }
    if (this.pointed !== null) {
      context.strokeStyle = colors.accent;
      context.lineWidth = 2;
      context.strokeRect(MATRIX_LEFT + this.pointed.to * side, MATRIX_TOP + this.pointed.from * side, side, side);
      context.lineWidth = 1;
    }
  }

  #drawCell(context, {from, to, side}, colors, theme) {
    const size = this.bytes[from * this.traffic.blocks + to];
    const x = MATRIX_LEFT + to * side;
    const y = MATRIX_TOP + from * side;
    const fill = size > 0 ? overlayColor(HEAT_ROW, size, this.most, theme) : colors.soft;
    context.fillStyle = fill;
    context.fillRect(x, y, Math.max(1, side - (side > 6 ? 1 : 0)), Math.max(1, side - (side > 6 ? 1 : 0)));
    if (size <= 0 || side < 58) return;
    context.fillStyle = inkOn(fill);
    context.fillText(bytes(size), x + side / 2, y + side / 2);
  }

  #listen() {
    const {canvas} = this.surface;
    canvas.addEventListener("pointermove", (event) => {
      const {x, y} = this.surface.at(event);
      this.#point(Math.floor((y - MATRIX_TOP) / this.#side()), Math.floor((x - MATRIX_LEFT) / this.#side()), event);
    });
    canvas.addEventListener("pointerleave", () => this.#point(-1, -1));
    canvas.addEventListener("keydown", (event) => {
      this.surface.flush();
      const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const last = this.traffic.blocks - 1;
      const {from, to} = this.pointed ?? {from: 0, to: 0};
      const inside = (value) => Math.min(Math.max(value, 0), last);
      const [nextFrom, nextTo] = [inside(from + step[0]), inside(to + step[1])];
      const box = canvas.getBoundingClientRect();
      this.#point(nextFrom, nextTo, {clientX: box.left + MATRIX_LEFT + (nextTo + 0.5) * this.#side(), clientY: box.top + MATRIX_TOP + (nextFrom + 0.5) * this.#side()});
    });
  }

  #point(from, to, event) {
    const {blocks} = this.traffic;
    this.pointed = from >= 0 && to >= 0 && from < blocks && to < blocks ? {from, to} : null;
    this.surface.redraw();
    if (this.pointed === null) return this.tip.hide();
    const rows = [`device ${this.blockName(from)} to ${this.blockName(to)}`, ["all", bytes(this.bytes[from * blocks + to])]];
    for (const flow of this.traffic.flows) {
      if (!this.chosen(flow)) continue;
      const entry = flow.matrix.find(([a, b]) => a === from && b === to);
      if (entry) rows.push([flowTitle(this.model, flow), bytes(entry[2])]);
    }
    let sent = 0;
    for (let other = 0; other < blocks; ++other) sent += this.bytes[from * blocks + other];
    rows.push([`all that ${this.blockName(from)} sends`, bytes(sent)]);
    this.tip.show(event, rows);
  }
}

function flowTitle(model, flow) {
  return `${model.transitions.kinds[flow.kind].name} over ${model.head.mesh.axes[flow.axis][0]}`;
}

/** What goes over which links; bars show the share of the busier ones' time. */
function linksTable(model) {
  const {intra_node: intra, inter_node: inter, devices} = model.traffic;
  const rows = [["within nodes", intra], ["between nodes", inter]].map(([title, link]) => ({title, link,
    time: link.bandwidth > 0 ? link.bytes / devices / link.bandwidth : 0}));
  const most = Math.max(...rows.map(({time}) => time), 1e-30);
  return el("table", {class: "links"}, el("thead", {}, el("tr", {}, ["Links", "Bytes in a step", "of each device", "at", "needs"].map((title) => el("th", {}, title)))),
      el("tbody", {}, rows.map(({title, link, time}) => el("tr", {}, el("th", {scope: "row"}, `${title}: ${link.name}`),
          el("td", {"data-link": link.name, "data-value": link.bytes}, bytes(link.bytes)), el("td", {}, bytes(link.bytes / devices)),
          el("td", {title: link.bandwidth_source}, `${bytes(link.bandwidth)}/s`),
          el("td", {}, el("span", {class: "bar", style: `width:${(time / most * 90).toFixed(1)}px`}), ` ${seconds(time)}`)))));
}

function flowsTable(model, matrix) {
  const {flows} = model.traffic;
  const boxes = flows.map(() => el("input", {type: "checkbox", checked: true, onchange: () => {
    matrix.chosen = (flow) => boxes[flows.indexOf(flow)].checked;
    matrix.fill();
  }}));
  const sum = (column) => flows.reduce((all, flow) => all + flow[column], 0);
  const cells = (flow) => [count(flow.count), bytes(flow.bytes), seconds(flow.seconds)];
  return el("table", {class: "flows"}, el("thead", {}, el("tr", {}, ["Collectives shown", "Collectives", "Bytes", "Time", "Sends"].map((title) => el("th", {}, title)))),
      el("tbody", {}, flows.map((flow, i) => el("tr", {}, el("th", {scope: "row"}, el("label", {}, boxes[i], ` ${flowTitle(model, flow)}`)),
          cells(flow).map((text) => el("td", {}, text)), el("td", {class: "text"}, PEERS[flow.peers]))),
      el("tr", {class: "sum"}, el("th", {scope: "row"}, "all"), el("td", {}, count(sum("count"))),
          el("td", {"data-total": "moved", "data-value": sum("bytes")}, bytes(sum("bytes"))), el("td", {"data-total": "wire", "data-value": sum("seconds")}, seconds(sum("seconds"))), el("td", {}))));
}

// Collectives that are alike --------------------------------------------------------------------------------------------

/** How many kinds of collectives a pin was looked for, where not for all. */
function removalsHint(model) {
  const groups = collectiveGroups(model);
  const looked = removalsOf(model, groups).filter((removal) => removal !== null).length;
  const what = looked === groups.length ? "a pin was looked for that removes it" :
    `a pin that removes it was looked for of the ${looked} dearest; of others`;
  return el("p", {class: "hint removals"}, `${counted(groups.length, "kind")} of collectives: ${what}`,
      looked === groups.length ? "." : [", ", el("code", {}, "sbp-plan explain plan.json TENSOR"), " says who wants them, and ",
        el("code", {}, "infer --pin"), " plans without."]);
}

function groupsTable(model, select) {
  const groups = collectiveGroups(model);
  const {transitions} = model;
  const first = (row) => groups[row].first;
  const reader = (row) => transitions.consumers[first(row)][0]?.[0] ?? -1;
  const removals = removalsOf(model, groups);
  const pinOf = (removal) => (removal === null ? "not looked for" : removal.pin ?? "none is known");
  const pins = removals.some((removal) => removal !== null) ? [
    {id: "pin", title: "Pin that removes it here", value: (row) => pinOf(removals[row]), search: true, width: "minmax(16em, 2fr)"},
    {id: "price", title: "Its price", value: (row) => removals[row]?.extra_seconds ?? null, width: "6em",
      show: (value) => (value === 0 ? "0 s" : signedSeconds(value)), hint: "seconds that the step takes more for one of them, every other op as it is"},
    {id: "held", title: "and memory", value: (row) => removals[row]?.extra_bytes || null, show: (value) => `+${bytes(value)}`, width: "6em",
      ifAny: true, hint: "that a device holds more, all the time"},
    {id: "moves", title: "Then", value: (row) => (!removals[row]?.pin ? "" : removals[row].moves ? "moves on" : "gone"), width: "6em",
      hint: "moves on: as long as other ops stay as they are, the op's other side needs as much; planned anew with the pin, it may be gone"},
  ] : [];
  const local = groups.every((group) => group.local === 0) ? [] : [
    {id: "local", title: "Slices, copies", value: (row) => groups[row].local || null, show: seconds, sum: true, width: "7em",
      hint: "that go with these collectives, and move nothing between devices"}];
  return new DataTable({
    name: "collectives that are alike", numRows: groups.length, sort: {id: "seconds", down: true},
    onSelect: (row) => select("transition", first(row)),
    columns: [
      {id: "steps", title: "Collective", value: (row) => stepsText(model, first(row)), choices: true, search: true, width: "minmax(12em, 1.5fr)"},
      {id: "tensor", title: "First tensor", value: (row) => model.tensorLabel(transitions.tensor[first(row)]), search: true, width: "minmax(12em, 1.5fr)"},
      {id: "layouts", title: "From, to", value: (row) => `${model.layoutText(transitions.from[first(row)])} → ${model.layoutText(transitions.to[first(row)])}`, width: "13em"},
      {id: "phase", title: "Phase", value: (row) => (reader(row) < 0 ? "end" : PHASES[model.graph.ops.phase[reader(row)]]), choices: true, width: "6.5em"},
      {id: "count", title: "Times", value: (row) => groups[row].count, show: count, sum: true, width: "5em",
        hint: "in a step; each time may be several collectives, one after the other"},
      {id: "seconds", title: "Time", value: (row) => groups[row].seconds, show: seconds, sum: true, width: "6em",
        hint: "of collectives, without slices and copies"},
      ...local,
      {id: "exposed", title: "Exposed", value: (row) => groups[row].exposed, show: seconds, sum: true, width: "6em"},
      {id: "bytes", title: "Bytes", value: (row) => groups[row].bytes, show: bytes, sum: true, width: "6em"},
      ...pins,
      {id: "reason", title: "Reason", value: (row) => transitions.reasons[transitions.reason[first(row)]], search: true, width: "minmax(14em, 3fr)"},
    ],
  });
}

export const trafficPanel = {
  id: "traffic",
  title: "Communication",
  mount(element, {models, store}) {
    if (saysBare(element, models)) return;
    const place = el("div", {class: "place"});
    let matrix = null;
    const show = (model) => {
      const {traffic} = model;
      matrix?.dispose();
      matrix = null;
      if (traffic.flows.length === 0) {
        place.replaceChildren(el("p", {class: "empty"}, "No collectives: no tensor moves between devices in this plan."));
        return;
      }
      matrix = new TrafficMatrix(model, store);
      const across = traffic.inter_node.bytes / Math.max(1, traffic.inter_node.bytes + traffic.intra_node.bytes);
      place.replaceChildren(
          el("div", {class: "columns"}, matrix.surface.element, el("div", {class: "beside"}, linksTable(model), flowsTable(model, matrix),
              matrix.legend, el("p", {class: "hint"}, `Rows send, columns receive; ${percent(across)} goes between nodes`, traffic.per_block > 1 ? `; each row is a block of ${traffic.per_block} devices` :
                  matrix.partsNodes() ? "; lines part the nodes" : "", ". Rings are taken in the order of ranks, the last back to the first; libraries run several that cross between nodes at different devices, with the same bytes from node to node."))),
          removalsHint(model), groupsTable(model, (kind, id) => store.select(kind, id, model.index)).element);
    };
    element.append(el("div", {class: "controls"}, planChoice(models, show)), place);
    show(models[0]);
  },
};
