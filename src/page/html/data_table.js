// A table of any length: only the rows in sight are elements. Sorts by a column, filters by text and by column, sums
// what is left, and saves it.
import {CHART_FONT} from "./chart.js";
import {csvText, saveText} from "./csv.js";
import {cutName} from "./cut_name.js";
import {el, shorten} from "./dom.js";
import {count, counted} from "./format.js";
import {hideWhole, tellWhole} from "./whole_text.js";

const TABLE_ROW = 24;
const MOST_HEIGHT = 8e6;  // pixels: browsers cut what is taller
let numTables = 0;

function hasAny({value}, numRows) {
  for (let row = 0; row < numRows; ++row) if (value(row)) return true;
  return false;
}

/**
 * columns: [{id, title, value(row) -> number or text, show(value, row) -> text (of numbers), sum: true (is totalled),
 * isName: true (is cut as cut_name.js does), choices: true (is filtered by a list of its values), search: true (is looked through by the filter's text), width,
 * hint, ifAny: true (is left out where no row has a value)}]. `numRows`: rows are 0 to numRows - 1. `onSelect(row)`: a click or Enter.
 */
export class DataTable {
  constructor({name, columns, numRows, onSelect, sort}) {
    this.name = name;
    this.columns = columns.filter((column) => !column.ifAny || hasAny(column, numRows));
    this.numRows = numRows;
    this.onSelect = onSelect;
    this.id = `table-${numTables++}`;
    this.sort = sort ?? {id: columns[0].id, down: false};
    this.current = -1;  // row
    this.context = el("canvas").getContext("2d");  // measures names
    this.texts = null;  // what the filter looks through, per row, made when first needed
    this.pool = [];
    this.#build();
    this.#filter();
  }

  // Elements ---------------------------------------------------------------------------------------------------------

  #build() {
    this.filterBox = el("input", {type: "search", placeholder: "filter", "aria-label": `filter ${this.name}`,
      oninput: () => this.#filter()});
    this.choices = this.columns.filter((column) => column.choices).map((column) => this.#choice(column));
    this.total = el("div", {class: "totals", role: "status"});
    this.spacer = el("div", {class: "spacer"});
    this.body = el("div", {class: "rows", role: "rowgroup", tabindex: "-1", onscroll: () => this.#show(),
      onfocus: () => this.frame.focus({preventScroll: true})}, this.spacer);
    this.heads = this.columns.map((column) => el("div", {role: "columnheader", title: column.hint},
        el("button", {onclick: () => this.#sortBy(column)}, column.title)));
    const widths = this.columns.map((column) => column.width ?? (column.sum || column.show ? "7em" : "minmax(8em, 1fr)"));
    const least = widths.reduce((sum, width) => sum + Number(/[\d.]+/.exec(width)[0]), 2);  // in em
    this.frame = el("div", {class: "frame", role: "grid", tabindex: "0", "aria-label": this.name, "aria-colcount": this.columns.length,
      onkeydown: (event) => (event.target === this.frame ? this.#key(event) : undefined),
      onfocus: () => (this.frame.matches(":focus-visible") ? this.#tellCurrent() : undefined),
      style: `--columns: ${widths.join(" ")}; --least: ${least}em`},
        el("div", {class: "head", role: "row"}, this.heads), this.body);
    this.element = el("div", {class: "data-table"},
        el("div", {class: "controls"}, this.filterBox, this.choices.map(({element}) => element),
            el("button", {onclick: () => this.save()}, "Save as CSV"), this.total),
        this.frame);
    new ResizeObserver(() => this.#show()).observe(this.body);
  }

  #choice(column) {
    const counts = new Map();
    for (let row = 0; row < this.numRows; ++row) {
      const value = String(column.value(row));
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const values = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 300);
    const select = el("select", {onchange: () => this.#filter()}, el("option", {value: "all"}, "all"),
        values.map(([value, rows], index) => el("option", {value: String(index)}, `${shorten(value, 60) || "(none)"} (${rows})`)));
    const wanted = () => (select.value === "all" ? null : values[Number(select.value)][0]);
    return {column, wanted, select, values, element: el("label", {}, `${column.title}: `, select)};
  }

  // What is shown ----------------------------------------------------------------------------------------------------

  #searched() {
    if (this.texts === null) {
      const columns = this.columns.filter((column) => column.search);
      this.texts = Array.from({length: this.numRows},
          (_, row) => columns.map((column) => column.value(row)).join("\n").toLowerCase());
    }
    return this.texts;
  }

  #filter() {
    const words = this.filterBox.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const texts = words.length > 0 ? this.#searched() : null;
    const chosen = this.choices.map(({column, wanted}) => [column, wanted()]).filter(([, value]) => value !== null);
    this.rows = [];
    for (let row = 0; row < this.numRows; ++row) {
      if (chosen.some(([column, value]) => String(column.value(row)) !== value)) continue;
      if (texts === null || words.every((word) => texts[row].includes(word))) this.rows.push(row);
    }
    this.#order();
    this.#sum();
    this.frame.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.body.scrollTop = 0;
    this.#show();
  }

  #order() {
    const column = this.columns.find(({id}) => id === this.sort.id);
    const values = new Array(this.numRows);
    for (const row of this.rows) values[row] = column.value(row);
    const sign = this.sort.down ? -1 : 1;
    this.rows.sort((a, b) => {
      if (values[a] === values[b]) return a - b;
      if (values[a] === null) return 1;
      if (values[b] === null) return -1;
      return values[a] < values[b] ? -sign : sign;
    });
    this.columns.forEach(({id}, i) => {
      const sorted = id !== this.sort.id ? "none" : this.sort.down ? "descending" : "ascending";
      this.heads[i].setAttribute("aria-sort", sorted);
    });
  }

  #sortBy(column) {
    const same = this.sort.id === column.id;
    this.sort = {id: column.id, down: same ? !this.sort.down : column.show !== undefined};
    this.#order();
    this.#show();
  }

  /** Sums over the rows that the filter leaves: {id: sum}. */
  totals() {
    const sums = {};
    for (const column of this.columns) {
      if (!column.sum) continue;
      sums[column.id] = 0;
      for (const row of this.rows) sums[column.id] += column.value(row) ?? 0;
    }
    return sums;
  }

  #sum() {
    const sums = this.totals();
    const parts = this.columns.filter((column) => column.sum)
        .map((column) => el("span", {"data-total": column.id, "data-value": sums[column.id]},
            `${column.title} ${column.show(sums[column.id])}`));
    const part = this.rows.length === this.numRows ? "" : `${count(this.rows.length)} of `;
    this.total.replaceChildren(el("b", {}, `${part}${counted(this.numRows, "row")}`), ...parts);
  }

  /** Rows in sight; a very long list is scrolled through faster than by the pixel. */
  #show() {
    const height = Math.min(this.rows.length * TABLE_ROW, MOST_HEIGHT);
    this.spacer.style.height = `${height}px`;
    const seen = this.body.clientHeight;
    if (seen === 0) return;
    const num = Math.ceil(seen / TABLE_ROW) + 1;
    const room = Math.max(1, height - seen);
    const part = Math.min(1, this.body.scrollTop / room);
    const top = height < this.rows.length * TABLE_ROW ? part * (this.rows.length - seen / TABLE_ROW) :
        this.body.scrollTop / TABLE_ROW;
    this.first = Math.max(0, Math.floor(top));
    const shift = this.body.scrollTop - (top - this.first) * TABLE_ROW;
    this.widths = this.heads.map(({clientWidth}, c) => (this.columns[c].isName ? clientWidth - 14 : 0));
    this.context.font = CHART_FONT;
    for (let i = 0; i < Math.max(num, this.pool.length); ++i) this.#fill(i, num, shift);
    const current = this.pool.find(({element, row}) => !element.hidden && row === this.current);
    if (current === undefined) this.frame.removeAttribute("aria-activedescendant");
    else this.frame.setAttribute("aria-activedescendant", current.element.id);
  }

  #fill(i, num, shift) {
    if (i >= this.pool.length) {
      const cells = this.columns.map((column) => el("div", {role: "gridcell", class: column.show ? "number" : ""}));
      const element = el("div", {class: "row", role: "row", id: `${this.id}-${i}`, onclick: () => this.#choose(this.pool[i].row)}, cells);
      this.pool.push({element, cells, row: -1});
      this.body.append(element);
    }
    const slot = this.pool[i];
    const at = this.first + i;
    slot.element.hidden = i >= num || at >= this.rows.length;
    if (slot.element.hidden) return;
    slot.row = this.rows[at];
    slot.element.style.top = `${shift + i * TABLE_ROW}px`;
    slot.element.setAttribute("aria-rowindex", String(at + 2));
    slot.element.classList.toggle("current", slot.row === this.current);
    slot.element.setAttribute("aria-selected", String(slot.row === this.current));
    slot.element.classList.toggle("odd", at % 2 === 1);
    this.columns.forEach((column, c) => {
      const text = this.#text(column, slot.row);
      slot.cells[c].textContent = column.isName ? cutName(this.context, text, this.widths[c]) : shorten(text, 160);
      slot.cells[c].title = text.length > 12 ? shorten(text, 2000) : "";
      if (slot.cells[c].textContent === text) slot.cells[c].removeAttribute("aria-label");
      else slot.cells[c].setAttribute("aria-label", shorten(text, 2000));
    });
  }

  #text(column, row) {
    const value = column.value(row);
    if (value === null || value === undefined) return "";
    return column.show ? column.show(value, row) : String(value);
  }

  // What the user does -----------------------------------------------------------------------------------------------

  #choose(row) {
    this.current = row;
    this.#show();
    this.onSelect?.(row);
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.body.clientHeight / TABLE_ROW) - 1);
    const last = this.rows.length - 1;
    const at = this.rows.indexOf(this.current);
    const next = {ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last}[event.key];
    if (event.key === "Enter" && at >= 0) return this.#choose(this.current);
    if (next === undefined || last < 0) return;
    event.preventDefault();
    this.mark(this.rows[Math.min(Math.max(next, 0), last)]);
    this.#tellCurrent();
  }

  /** The whole of what is cut in the current row. */
  #tellCurrent() {
    const current = this.pool.find(({element, row}) => !element.hidden && row === this.current);
    if (current === undefined) hideWhole();
    else tellWhole(current.element);
  }

  /** Shows a row as the current one, where the filter leaves it. */
  mark(row) {
    const at = this.rows.indexOf(row);
    this.current = row;
    if (at >= 0 && this.body.clientHeight > 0) {
      const height = Math.min(this.rows.length * TABLE_ROW, MOST_HEIGHT);
      const perRow = height / this.rows.length;
      const top = at * perRow;
      if (top < this.body.scrollTop || top + TABLE_ROW > this.body.scrollTop + this.body.clientHeight) {
        this.body.scrollTop = Math.max(0, top - this.body.clientHeight / 2);
      }
    }
    this.#show();
  }

  save() {
    const rows = this.rows.map((row) => this.columns.map((column) => column.value(row)));
    saveText(`${this.name.replaceAll(/[^\w.-]+/g, "-")}.csv`, "text/csv", csvText(this.columns.map(({title, unit}) => (unit ? `${title} [${unit}]` : title)), rows));
  }
}
