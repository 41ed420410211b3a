// One graph on a canvas: camera, pointer and keyboard. What is drawn is in graph_draw.js, what is where in
// graph_scene.js.
import {el, shorten} from "./dom.js";
import {GraphPainter} from "./graph_draw.js";
import {GraphFacts} from "./graph_facts.js";
import {drawMinimap} from "./graph_minimap.js";
import {boxOfMark, neighboursOf} from "./graph_keys.js";
import {Scene, TITLE_HEIGHT} from "./graph_scene.js";

const LEAST_ZOOM = 0.002;
const MOST_ZOOM = 4;
const READABLE_ZOOM = 0.5;  // boxes have room for their names
const MINIMAP = {width: 180, height: 120};
const MAX_RELATED = 300;  // lines from a selected box
const KEYS = "Arrow keys move between boxes and marks of collectives, Enter opens or closes a group, Escape goes to the group around, plus, minus " +
    "and 0 zoom, the square brackets show another copy of a repeated layer, slash searches.";

export class GraphView {
  /** `store`: of the page. Call `onToggle(path, open)` is told of groups that the user opens or closes. */
  constructor(element, model, store, onToggle = null) {
    this.element = element;
    this.model = model;
    this.store = store;
    this.onToggle = onToggle;
    this.minimapPlace = undefined;  // {scale, left, top} once it is drawn
    this.onDraw = null;       // is called after each drawing
    this.coveredLeft = null;  // says how many pixels on the left something covers
    this.scene = new Scene(model);
    this.facts = new GraphFacts(model, this.scene);
    this.facts.setOverlay(store.get("overlay"));
    this.painter = new GraphPainter(model, this.scene, this.facts);
    this.camera = {x: 0, y: 0, zoom: 1, width: 0, height: 0};
    this.focus = null;
    this.selected = null;
    this.#build();
    this.#listen();
  }

  #build() {
    this.canvas = el("canvas", {class: "graph-canvas", tabindex: "0", role: "application",
      "aria-label": `graph of ${shorten(this.model.head.name)}. ${KEYS}`});
    this.minimap = el("canvas", {class: "minimap", "aria-hidden": "true"});
    this.tooltip = el("div", {class: "graph-tooltip", role: "tooltip", hidden: true});
    this.said = el("div", {class: "said", "aria-live": "polite"});
    const button = (text, label, action) => el("button", {class: "tool", "aria-label": label, title: label, onclick: action}, text);
    this.buttons = el("div", {class: "graph-buttons", role: "group", "aria-label": "view"},
        button("+", "zoom in (+)", () => this.zoomBy(1.4)), button("−", "zoom out (-)", () => this.zoomBy(1 / 1.4)),
        button("⤢", "show all (0)", () => this.fit()));
    this.element.append(this.canvas, this.minimap, this.buttons, this.tooltip, this.said);
  }

  #listen() {
    const {canvas, store} = this;
    canvas.addEventListener("pointerdown", (event) => this.#startDrag(event));
    canvas.addEventListener("pointermove", (event) => this.#hover(event));
    canvas.addEventListener("pointerleave", () => { this.tooltip.hidden = true; });
    canvas.addEventListener("dblclick", (event) => this.#toggleAt(event));
    canvas.addEventListener("wheel", (event) => this.#wheel(event), {passive: false});
    canvas.addEventListener("keydown", (event) => this.#key(event));
    this.minimap.addEventListener("pointerdown", (event) => this.#jump(event));
    this.minimap.addEventListener("pointermove", (event) => { if (event.buttons) this.#jump(event); });
    new ResizeObserver(() => this.#resize()).observe(this.element);
    store.on("selection", () => this.#follow(this.#chosenHere()));
    store.on("counterpart", (selection) => {
      if (selection?.plan === this.model.index) this.#follow(selection);
    });
    store.on("overlay", (id) => {
      this.facts.setOverlay(id);
      this.redraw();
    });
    store.on("theme", () => this.redraw());
    store.on("onlyChanges", (only) => this.#foldUnchanged(only));
  }

  // Camera -------------------------------------------------------------------------------------------------------------

  #resize() {
    const {clientWidth: width, clientHeight: height} = this.element;
    if (width === 0 || height === 0) return;
    const isFirst = this.camera.width === 0;
    const scale = devicePixelRatio;
    for (const [canvas, size] of [[this.canvas, {width, height}], [this.minimap, MINIMAP]]) {
      canvas.width = Math.round(size.width * scale);
      canvas.height = Math.round(size.height * scale);
    }
    Object.assign(this.camera, {width, height});
    if (isFirst) {
      // What is open at first is as much as a laptop's screen shows.
      this.scene.closeUntil((root) => this.#zoomThatFits(root) >= READABLE_ZOOM);
      this.facts.forget();
      this.fit();
      this.#follow(this.#chosenHere());
    } else if (this.selected !== null) {  // the side panel that tells of it opened over it
      this.bringToSight(this.selected);
    }
    this.draw();
  }

  /** What stands over the graph: its name above, the buttons on the right or, on narrow screens, below. */
  #covered() {
    const {offsetWidth, offsetHeight} = this.buttons;
    const name = this.element.querySelector(".graph-name");
    const isRow = offsetWidth > offsetHeight;
    return {top: name === null ? 0 : name.offsetTop + name.offsetHeight - 8, right: isRow ? 0 : 28, bottom: isRow ? offsetHeight : 0};
  }

  /** The room for the graph: what is left of the view, of that what the legend covers, and what stays free around it. */
  #room() {
    const {top, right, bottom} = this.#covered();
    const width = this.camera.width - right;
    return {top, width, height: this.camera.height - top - bottom, covered: this.coveredLeft?.() ?? 0, margin: Math.min(24, width / 16)};
  }

  #zoomThatFits(box) {
    const {width, height, covered, margin} = this.#room();
    return Math.min((width - covered - 2 * margin) / box.width, (height - 2 * margin) / box.height, 1.25);
  }

  fit(box = this.scene.root) {
    const {camera} = this;
    const {top, width, height, covered, margin} = this.#room();
    camera.zoom = Math.min(Math.max(this.#zoomThatFits(box), LEAST_ZOOM), MOST_ZOOM);
    const left = (width - box.width * camera.zoom) / 2;  // in the middle, or beside what covers that
    camera.x = box.x - Math.max(left, covered === 0 ? left : covered + margin) / camera.zoom;
    camera.y = box.y + box.height / 2 - (top + height / 2) / camera.zoom;
    this.redraw();
  }

  /** Where keys and buttons zoom: at what is selected, if it is in sight. */
  #zoomCenter() {
    const {camera} = this;
    const box = this.focus ?? this.selected;
    const middle = [camera.width / 2, camera.height / 2];
    if (!box) return middle;
    const at = [(box.x + box.width / 2 - camera.x) * camera.zoom, (box.y + box.height / 2 - camera.y) * camera.zoom];
    return at[0] > 0 && at[1] > 0 && at[0] < camera.width && at[1] < camera.height ? at : middle;
  }

  /** What is at a place of the screen stays there. */
  zoomBy(factor, at = this.#zoomCenter()) {
    const {camera} = this;
    const zoom = Math.min(Math.max(camera.zoom * factor, LEAST_ZOOM), MOST_ZOOM);
    camera.x += at[0] / camera.zoom - at[0] / zoom;
    camera.y += at[1] / camera.zoom - at[1] / zoom;
    camera.zoom = zoom;
    this.redraw();
  }

  /** Brings a box into the middle where it is out of sight or too small to read. */
  bringToSight(box) {
    const {camera} = this;
    const readable = camera.zoom >= READABLE_ZOOM || box.open;
    const inside = box.x >= camera.x && box.y >= camera.y && box.x + box.width <= camera.x + camera.width / camera.zoom &&
        box.y + box.height <= camera.y + camera.height / camera.zoom;
    if (inside && readable) return;
    if (box.open) return this.fit(box);
    camera.zoom = Math.max(camera.zoom, 0.8);
    camera.x = box.x + box.width / 2 - camera.width / camera.zoom / 2;
    camera.y = box.y + box.height / 2 - camera.height / camera.zoom / 2;
  }

  redraw() {
    if (this.isQueued || this.camera.width === 0) return;
    this.isQueued = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.isQueued = false;
    const scale = devicePixelRatio;
    const theme = this.store.get("theme");
    const ctx = this.canvas.getContext("2d", {alpha: false});
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    this.painter.draw(ctx, {camera: this.camera, theme, selected: this.selected, focus: this.focus, related: this.related,
      onlyChanges: this.store.get("onlyChanges")});
    const {root} = this.scene;
    const {x, y, zoom, width, height} = this.camera;
    this.minimap.hidden = x <= root.x && y <= root.y && x + width / zoom >= root.width && y + height / zoom >= root.height;
    if (this.minimap.hidden) return this.onDraw?.();
    const small = this.minimap.getContext("2d", {alpha: false});
    small.setTransform(scale, 0, 0, scale, 0, 0);
    this.minimapPlace = drawMinimap(small, this.scene, this.camera, theme, MINIMAP);
    this.onDraw?.();
  }

  // Pointer ------------------------------------------------------------------------------------------------------------

  #world(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const screen = [event.clientX - bounds.left, event.clientY - bounds.top];
    return {screen, x: this.camera.x + screen[0] / this.camera.zoom, y: this.camera.y + screen[1] / this.camera.zoom};
  }

  /** The innermost box at a place; null outside of all but the whole. */
  boxAt(x, y) {
    let box = this.scene.root;
    for (;;) {
      const inner = box.children.find((child) =>
          x >= child.x && x <= child.x + child.width && y >= child.y && y <= child.y + child.height);
      if (inner === undefined) return box === this.scene.root ? null : box;
      box = inner;
    }
  }

  edgeAt(x, y) {
    const box = this.boxAt(x, y) ?? this.scene.root;
    const reach = 6 / this.camera.zoom;
    return box.edges.find(({points}) => points.some((point, i) => {
      if (i === 0) return false;
      const [[ax, ay], [bx, by]] = [points[i - 1], point];
      return x >= Math.min(ax, bx) - reach && x <= Math.max(ax, bx) + reach &&
          y >= Math.min(ay, by) - reach && y <= Math.max(ay, by) + reach;
    }));
  }

  /** The mark at a place: {edge} of a use, {box} of operands that no op makes. */
  markAt(x, y) {
    const group = this.boxAt(x, y) ?? this.scene.root;
    const isAt = (shape) => Math.hypot(x - shape.x, y - shape.y) < shape.radius + 3;
    return (group.open ? this.painter.marksOf(group) : []).find(({shapes}) => shapes.some(isAt));
  }

  #startDrag(event) {
    if (event.button !== 0) return;
    const start = this.#world(event);
    const from = {x: this.camera.x, y: this.camera.y};
    let moved = false;
    this.canvas.setPointerCapture(event.pointerId);
    const move = (next) => {
      const [dx, dy] = [next.clientX - event.clientX, next.clientY - event.clientY];
      moved = moved || Math.hypot(dx, dy) > 4;
      if (!moved) return;
      this.camera.x = from.x - dx / this.camera.zoom;
      this.camera.y = from.y - dy / this.camera.zoom;
      this.tooltip.hidden = true;
      this.redraw();
    };
    const end = () => {
      this.canvas.removeEventListener("pointermove", move);
      this.canvas.removeEventListener("pointerup", end);
      this.canvas.removeEventListener("pointercancel", end);
      if (!moved) this.#click(start);
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", end);
    this.canvas.addEventListener("pointercancel", end);
  }

  #click({x, y}) {
    const box = this.boxAt(x, y);
    if (box !== null && box.open && this.#onArrows(box, x, y)) return;
    const mark = this.markAt(x, y);
    const edge = mark?.edge ?? (box === null || box.open ? this.edgeAt(x, y) : undefined);
    if (mark?.box) {
      this.store.select("transition", this.scene.ownTransitions(mark.box.item)[0], this.model.index);
    } else if (edge !== undefined) {
      const [tensor] = this.facts.tensorsOf(edge);
      const [transition] = this.facts.transitionsOf(edge);
      if (transition !== undefined) this.store.select("transition", transition, this.model.index);
      else this.store.select("tensor", tensor, this.model.index);
    } else if (box === null) {
      this.store.set("selection", null);
    } else {
      this.choose(box);
    }
  }

  // The arrows at the end of a repeat's title show the copy before and the one after.
  #onArrows(box, x, y) {
    const copies = this.facts.copiesOf(box);
    if (copies < 2 || y > box.y + TITLE_HEIGHT || this.camera.zoom < 0.3) return false;
    const ctx = this.canvas.getContext("2d");
    ctx.font = 'bold 13px "DejaVu Sans", Verdana, sans-serif';
    const end = box.x + 10 + ctx.measureText(`▾ ${this.facts.titleOf(box)}`).width;
    if (x < end - 34 || x > end + 6) return false;
    this.showCopy(box, x < end - 15 ? -1 : 1);
    return true;
  }

  #hover(event) {
    if (event.buttons) return;
    const {screen, x, y} = this.#world(event);
    const box = this.boxAt(x, y);
    const mark = this.markAt(x, y);
    const edge = mark?.edge ?? (box === null || box.open ? this.edgeAt(x, y) : undefined);
    const lines = mark?.box ? this.facts.describeTransitions(this.scene.ownTransitions(mark.box.item)) :
        edge !== undefined ? this.facts.describeEdge(edge) : box === null ? [] : this.facts.describe(box);
    this.tooltip.hidden = lines.length === 0;
    if (lines.length === 0) return;
    this.tooltip.replaceChildren(...lines.map((line) => el("div", {}, shorten(line, 300))));
    const {offsetWidth: width, offsetHeight: height} = this.tooltip;
    this.tooltip.style.left = `${Math.max(4, Math.min(screen[0] + 14, this.camera.width - width - 4))}px`;
    const below = screen[1] + 18;
    this.tooltip.style.top = `${below + height > this.camera.height ? Math.max(4, screen[1] - height - 10) : below}px`;
  }

  #wheel(event) {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey) {
      this.camera.x += event.deltaY * unit / this.camera.zoom;
      return this.redraw();
    }
    this.zoomBy(Math.exp(-event.deltaY * unit / 500), this.#world(event).screen);
  }

  #jump(event) {
    if (this.minimapPlace === undefined) return;
    const bounds = this.minimap.getBoundingClientRect();
    const {scale, left, top} = this.minimapPlace;
    this.camera.x = (event.clientX - bounds.left - left) / scale - this.camera.width / this.camera.zoom / 2;
    this.camera.y = (event.clientY - bounds.top - top) / scale - this.camera.height / this.camera.zoom / 2;
    this.redraw();
  }

  // What is open -------------------------------------------------------------------------------------------------------

  #toggleAt(event) {
    const {x, y} = this.#world(event);
    const box = this.boxAt(x, y);
    if (box !== null && box.item < 0) this.toggle(box);
  }

  toggle(box) {
    const group = -1 - box.item;
    this.scene.setOpen(group, !box.open);
    this.#sceneChanged(group, box);
    this.onToggle?.(this.model.outline.path[group], !box.open);
    this.#say(`${this.facts.titleOf(box)} is ${box.open ? "closed" : "open"}`);
  }

  /** Closes groups in which nothing differs from the other plan; then opens those again. */
  #foldUnchanged(only) {
    const {scene, facts} = this;
    const groups = only ? [...scene.open].filter((group) => group !== 0 && facts.numChanged[group] === 0) : this.folded ?? [];
    this.folded = only ? groups : [];
    for (const group of groups) scene.setOpen(group, !only);
    scene.place();
    facts.forget();
    this.#find(this.followed ?? null);
    this.focus = this.focus ? this.#again(this.focus) : null;
    this.fit();
  }

  /** Opens or closes a group by its path, as in another view. */
  setOpen(path, open) {
    const group = this.model.outline.path.indexOf(path);
    if (group < 0 || this.scene.open.has(this.scene.shown(group)) === open) return;
    this.scene.setOpen(this.scene.shown(group), open);
    this.#sceneChanged(this.scene.shown(group), null);
  }

  showCopy(box, step) {
    const group = -1 - box.item;
    const copies = this.facts.copiesOf(box);
    if (copies < 2) return;
    this.scene.showCopy(group, ((this.scene.copy.get(group) ?? 0) + step + copies) % copies);
    this.#sceneChanged(group, box);
    this.#say(this.facts.titleOf(box));
  }

  // The box that was changed keeps its place on the screen.
  #sceneChanged(group, before) {
    this.scene.place();
    this.facts.forget();
    const after = this.scene.boxOfGroup.get(group);
    if (before && after) {
      this.camera.x += after.x - before.x;
      this.camera.y += after.y - before.y;
    }
    this.#find(this.followed ?? null);
    this.focus = this.focus ? this.#again(this.focus) : null;
    this.redraw();
  }

  #again({item, mark = undefined}) {
    if (mark !== undefined) return this.selected;
    // A copy of a repeat is drawn as that.
    return item >= 0 ? this.scene.boxFor(item) : this.scene.boxOfGroup.get(this.scene.shown(-1 - item)) ?? null;
  }

  // Selection ----------------------------------------------------------------------------------------------------------

  choose(box) {
    if (box.mark !== undefined) return this.#chooseMark(box);
    this.focus = box;
    if (box.item >= 0) this.store.select("op", box.item, this.model.index);
    else this.store.select("scope", -1 - box.item, this.model.index);
  }

  #chooseMark(box) {
    const {root} = this.scene;
    const transitions = this.#transitionsOf(box.mark);
    this.store.select("transition", transitions[0], this.model.index);
    if (this.scene.root !== root) return;  // its reader was in a closed group: that is open now, and the reader in focus
    this.focus = box;
    this.#say(this.#describeMark(box.mark).join(". "));
    this.redraw();
  }

  #transitionsOf({box, edge}) {
    return box ? this.scene.ownTransitions(box.item) : this.facts.transitionsOf(edge);
  }

  #describeMark(mark) {
    return mark.box ? this.facts.describeTransitions(this.#transitionsOf(mark)) : this.facts.describeEdge(mark.edge);
  }

  /** What is selected; of two plans, in the one where it is not, the same thing here. */
  #chosenHere() {
    const counterpart = this.store.get("counterpart");
    return counterpart?.plan === this.model.index ? counterpart : this.store.get("selection");
  }

  /** The item of the outline that a selection is about; undefined: none of this plan. */
  #itemOf(selection) {
    if (selection === null || selection.plan !== this.model.index) return undefined;
    const {kind, id} = selection;
    const {model} = this;
    const ofTensor = (tensor) => (model.producer[tensor] >= 0 ? model.producer[tensor] : model.readers[tensor][0]);
    if (kind === "op") return id;
    if (kind === "scope") return -1 - id;
    if (kind === "tensor") return ofTensor(id);
    return model.transitions.consumers[id][0]?.[0] ?? ofTensor(model.transitions.tensor[id]);
  }

  #find(selection) {
    const item = this.#itemOf(selection);
    this.selected = item === undefined ? null : this.#again({item});
    this.related = this.selected === null ? null : this.#relatedTo(this.selected);
  }

  // Opens what is around the selected item, and brings it to sight.
  #follow(selection) {
    this.followed = selection;
    const item = this.#itemOf(selection);
    if (item !== undefined && this.camera.width > 0) {
      if (!this.#isDrawn(item)) {
        this.scene.reveal(item);
        this.scene.place();
        this.facts.forget();
      }
      this.#find(selection);
      if (this.selected !== null) {
        this.focus = this.selected;
        this.bringToSight(this.selected);
        this.#say(this.facts.describe(this.selected).join(". "));
      }
    } else {
      this.selected = null;
      this.related = null;
    }
    this.redraw();
  }

  // Of a repeat's copy: is that one shown?
  #isDrawn(item) {
    if (item >= 0) return this.scene.boxOfOp.has(item);
    const group = this.scene.shown(-1 - item);
    return this.scene.boxOfGroup.has(group) && (group === -1 - item || this.scene.inner(group) === -1 - item);
  }

  // Of an op, what it reads and what reads it; of a closed group the edges at it.
  #relatedTo(box) {
    const {model, scene} = this;
    const lines = new Map();
    const add = (from, to, reads) => {
      if (from !== to && lines.size < MAX_RELATED) lines.set(`${from.item}>${to.item}`, {from, to, reads});
    };
    if (box.item >= 0) {
      for (const tensor of model.graph.ops.inputs[box.item]) {
        if (tensor >= 0 && model.producer[tensor] >= 0) add(scene.boxFor(model.producer[tensor]), box, true);
      }
      for (const tensor of model.graph.ops.outputs[box.item]) {
        if (tensor >= 0) for (const reader of model.readers[tensor]) add(box, scene.boxFor(reader), false);
      }
    } else if (box.parent !== null) {
      const {children, edges} = box.parent;
      for (const edge of edges) {
        if (edge.to === box.place) add(children[edge.from], box, true);
        if (edge.from === box.place) add(box, children[edge.to], false);
      }
    }
    return [...lines.values()];
  }

  #say(text) {
    this.said.textContent = shorten(text, 600);
  }

  // Keyboard -----------------------------------------------------------------------------------------------------------

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = this.focus ?? this.selected;
    const actions = {
      "+": () => this.zoomBy(1.25), "=": () => this.zoomBy(1.25), "-": () => this.zoomBy(0.8), "0": () => this.fit(),
      "Enter": () => box && box.item < 0 && this.toggle(box), " ": () => box && box.item < 0 && this.toggle(box),
      "Escape": () => this.#leave(box), "[": () => box && this.#copyAround(box, -1), "]": () => box && this.#copyAround(box, 1),
      "ArrowDown": () => this.#move(box, [0, 1]), "ArrowUp": () => this.#move(box, [0, -1]),
      "ArrowLeft": () => this.#move(box, [-1, 0]), "ArrowRight": () => this.#move(box, [1, 0]),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  }

  #leave(box) {
    if (box?.parent && box.parent !== this.scene.root) this.choose(box.parent);
    else this.store.set("selection", null);
  }

  #copyAround(box, step) {
    while (box !== null && this.facts.copiesOf(box) < 2) box = box.parent;
    if (box !== null) this.showCopy(box, step);
  }

  // Along an edge that way if there is one, else to the nearest box that way; into a group that is open, and out of it.
  #move(box, [dx, dy]) {
    if (box === null || box === undefined) return this.#enter(this.scene.root, dy < 0);
    if (box.open && dy !== 0 && box.children.length > 0 && this.lastMove !== "out") return this.#enter(box, dy < 0);
    this.lastMove = "";
    for (let at = box; at.parent !== null; at = at.parent) {
      const next = this.#nearest(at, dx, dy);
      if (next !== null) return this.choose(next);
    }
  }

  #enter(group, last) {
    const {children} = group;  // of the whole in their own order: the forward pass, then what is beside it
    const sorted = group === this.scene.root ? children : [...children].sort((a, b) => a.y - b.y || a.x - b.x);
    if (sorted.length > 0) this.choose(sorted[last ? sorted.length - 1 : 0]);
  }

  /** The box, or the mark of a collective, that is next that way in the same group. */
  #nearest(box, dx, dy) {
    const marks = this.painter.marksOf(box.parent).map((mark) => boxOfMark(mark, box.parent));
    const joined = neighboursOf(box, marks);
    const center = (b) => [b.x + b.width / 2, b.y + b.height / 2];
    const [x, y] = center(box);
    let [best, least] = [null, Infinity];
    for (const other of [...box.parent.children, ...marks]) {
      const [ox, oy] = center(other);
      const along = (ox - x) * dx + (oy - y) * dy;
      const across = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
      if (other === box || other.mark !== undefined && other.mark === box.mark || along <= 0 || (dx !== 0 && across > along * 2)) continue;
      const cost = along + 2 * across - (joined.has(other) ? 1e7 : 0);
      if (cost < least) [best, least] = [other, cost];
    }
    return best;
  }
}
