// A canvas context that writes what is drawn as SVG: the same calls make the picture on the screen and the file. It has
// those calls of CanvasRenderingContext2D that drawings of this page make.

const round = (value) => Number(value.toFixed(2)).toString();

/** Text for XML: marks are escaped, what XML cannot hold is replaced. */
function escapeXml(text) {
  return [...text].map((char) => {
    const code = char.codePointAt(0);
    const isAllowed = code >= 32 && (code < 0xD800 || code > 0xDFFF) && code !== 0xFFFE && code !== 0xFFFF;
    return isAllowed ? char : " ";
  }).join("").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

const STATE = ["fillStyle", "strokeStyle", "lineWidth", "lineJoin", "lineCap", "globalAlpha", "font", "textAlign", "textBaseline"];
const BASELINES = {top: "text-before-edge", hanging: "hanging", middle: "central", bottom: "text-after-edge"};
const ANCHORS = {right: "end", end: "end", center: "middle"};

export class SvgCanvas {
  fillStyle = "#000000";
  strokeStyle = "#000000";
  lineWidth = 1;
  lineJoin = "miter";
  lineCap = "butt";
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign = "left";
  textBaseline = "alphabetic";
  #dashes = [];
  #parts = [];
  #path = "";
  #at = [0, 0];     // where the path is
  #begun = [0, 0];  // where its last piece began
  #states = [];
  #open = 0;  // groups since the last save
  #numClips = 0;
  #ruler = document.createElement("canvas").getContext("2d");

  constructor(width, height) {
    this.width = width;
    this.height = height;
  }

  /** The file. */
  text() {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${round(this.width)}" height="${round(this.height)}" ` +
        `viewBox="0 0 ${round(this.width)} ${round(this.height)}">\n${this.#parts.join("\n")}${"</g>".repeat(this.#open)}\n</svg>\n`;
  }

  // State and places ---------------------------------------------------------------------------------------------------

  save() {
    this.#states.push({open: this.#open, dashes: this.#dashes, values: STATE.map((name) => this[name])});
    this.#open = 0;
  }

  restore() {
    const state = this.#states.pop();
    if (state === undefined) return;
    if (this.#open > 0) this.#parts.push("</g>".repeat(this.#open));
    STATE.forEach((name, i) => {
      this[name] = state.values[i];
    });
    this.#open = state.open;
    this.#dashes = state.dashes;
  }

  #group(attributes) {
    this.#parts.push(`<g ${attributes}>`);
    ++this.#open;
  }

  scale(x, y) {
    this.#group(`transform="scale(${x} ${y})"`);
  }

  translate(x, y) {
    this.#group(`transform="translate(${round(x)} ${round(y)})"`);
  }

  rotate(angle) {
    this.#group(`transform="rotate(${round(angle * 180 / Math.PI)})"`);
  }

  clip() {
    const id = `clip${++this.#numClips}`;
    this.#parts.push(`<clipPath id="${id}"><path d="${this.#path}"/></clipPath>`);
    this.#group(`clip-path="url(#${id})"`);
  }

  setLineDash(dashes) {
    this.#dashes = [...dashes];
  }

  getLineDash() {
    return [...this.#dashes];
  }

  // Paths --------------------------------------------------------------------------------------------------------------

  #add(command, ...numbers) {
    this.#path += `${command}${numbers.map(round).join(" ")}`;
    if (numbers.length >= 2) this.#at = numbers.slice(-2);
  }

  beginPath() {
    this.#path = "";
  }

  moveTo(x, y) {
    this.#add("M", x, y);
    this.#begun = [x, y];
  }

  lineTo(x, y) {
    this.#add(this.#path === "" ? "M" : "L", x, y);
  }

  bezierCurveTo(...numbers) {
    this.#add("C", ...numbers);
  }

  quadraticCurveTo(...numbers) {
    this.#add("Q", ...numbers);
  }

  closePath() {
    this.#path += "Z";
    this.#at = this.#begun;
  }

  rect(x, y, width, height) {
    this.moveTo(x, y);
    this.#add("h", width);
    this.#add("v", height);
    this.#add("h", -width);
    this.closePath();
  }

  roundRect(x, y, width, height, radius) {
    const r = Math.max(0, Math.min(Array.isArray(radius) ? radius[0] : radius ?? 0, width / 2, height / 2));
    this.moveTo(x + r, y);
    this.arcTo(x + width, y, x + width, y + height, r);
    this.arcTo(x + width, y + height, x, y + height, r);
    this.arcTo(x, y + height, x, y, r);
    this.arcTo(x, y, x + width, y, r);
    this.closePath();
  }

  /** A corner at (x1, y1), rounded: to where the circle touches the first line, then along it to the second. */
  arcTo(x1, y1, x2, y2, radius) {
    const [x0, y0] = this.#at;
    const [ax, ay, bx, by] = [x0 - x1, y0 - y1, x2 - x1, y2 - y1];
    const [a, b] = [Math.hypot(ax, ay), Math.hypot(bx, by)];
    const cross = ax * by - ay * bx;
    if (a === 0 || b === 0 || radius === 0 || Math.abs(cross) < 1e-9 * a * b) return this.lineTo(x1, y1);
    const half = Math.acos(Math.max(-1, Math.min(1, (ax * bx + ay * by) / (a * b)))) / 2;
    const reach = radius / Math.tan(half);
    this.lineTo(x1 + ax / a * reach, y1 + ay / a * reach);
    const end = [x1 + bx / b * reach, y1 + by / b * reach];
    this.#path += `A${round(radius)} ${round(radius)} 0 0 ${cross < 0 ? 1 : 0} ${end.map(round).join(" ")}`;
    this.#at = end;
    return undefined;
  }

  arc(x, y, radius, from, to, counterclockwise = false) {
    const point = (angle) => [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
    const isWhole = Math.abs(to - from) >= 2 * Math.PI - 1e-9;
    const stops = isWhole ? [from, from + Math.PI, from + 2 * Math.PI] : [from, (from + to) / 2, to];
    this.lineTo(...point(stops[0]));
    if (this.#path.endsWith("Z") || this.#path === "") this.#begun = point(stops[0]);
    for (const stop of stops.slice(1)) {
      this.#path += `A${round(radius)} ${round(radius)} 0 0 ${counterclockwise ? 0 : 1} ${point(stop).map(round).join(" ")}`;
    }
    this.#at = point(stops.at(-1));
  }

  // Paint --------------------------------------------------------------------------------------------------------------

  #fill() {
    return `fill="${this.fillStyle}"${this.globalAlpha < 1 ? ` fill-opacity="${this.globalAlpha}"` : ""}`;
  }

  #stroke() {
    const dashes = this.#dashes.length > 0 ? ` stroke-dasharray="${this.#dashes.map(round).join(" ")}"` : "";
    const ends = `${this.lineJoin === "miter" ? "" : ` stroke-linejoin="${this.lineJoin}"`}` +
        `${this.lineCap === "butt" ? "" : ` stroke-linecap="${this.lineCap}"`}`;
    return `fill="none" stroke="${this.strokeStyle}" stroke-width="${round(this.lineWidth)}"${dashes}${ends}` +
        `${this.globalAlpha < 1 ? ` stroke-opacity="${this.globalAlpha}"` : ""}`;
  }

  fill() {
    if (this.#path !== "") this.#parts.push(`<path d="${this.#path}" ${this.#fill()}/>`);
  }

  stroke() {
    if (this.#path !== "") this.#parts.push(`<path d="${this.#path}" ${this.#stroke()}/>`);
  }

  #rectangle(x, y, width, height, paint) {
    this.#parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(Math.max(0, width))}" ` +
        `height="${round(Math.max(0, height))}" ${paint}/>`);
  }

  fillRect(x, y, width, height) {
    this.#rectangle(x, y, width, height, this.#fill());
  }

  strokeRect(x, y, width, height) {
    this.#rectangle(x, y, width, height, this.#stroke());
  }

  measureText(text) {
    this.#ruler.font = this.font;
    return this.#ruler.measureText(text);
  }

  fillText(text, x, y) {
    this.#write(text, x, y, this.#fill());
  }

  /** A halo: what is filled over it follows. */
  strokeText(text, x, y) {
    this.#write(text, x, y, this.#stroke());
  }

  /** As wide as it is here, whatever fonts the reader has. */
  #write(text, x, y, paint) {
    const match = /^(bold )?(?:italic )?([\d.]+)px (.*)$/.exec(this.font);
    const [, bold, size, family] = match ?? ["", "", "10", "sans-serif"];
    const anchor = ANCHORS[this.textAlign] ? ` text-anchor="${ANCHORS[this.textAlign]}"` : "";
    const baseline = BASELINES[this.textBaseline] ? ` dominant-baseline="${BASELINES[this.textBaseline]}"` : "";
    const {width} = this.measureText(text);
    if (text.trim() === "") return;
    this.#parts.push(`<text x="${round(x)}" y="${round(y)}" font-family="${escapeXml(family)}" font-size="${size}"` +
        `${bold ? ' font-weight="bold"' : ""}${anchor}${baseline} textLength="${round(width)}" ` +
        `lengthAdjust="spacingAndGlyphs" xml:space="preserve" ${paint}>${escapeXml(text)}</text>`);
  }
}
