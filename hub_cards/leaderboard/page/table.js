// A sortable table. A row is built when it is first shown; long tables are filled in steps, the first one immediately.

import { make } from "./elements.js";

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
/** Number of rows per step; between steps the page responds to input. */
const STEP = 60;

export class SortedTable {
  /**
   * @param columns each with `label`, `wide` and `narrow` (widths in rem); sortable ones with `name` and `key(row)`;
   *   optional: `part` (shown above the label), `about` (what an abbreviation means), `className`, `takesRest` (takes the
   *   remaining width) and `head` (shown instead of the label)
   * @param entries each with `row`, `isReference` for published results, and `isApart` for those shown after all others
   * @param makeRow builds the row of an entry
   * @param onSort called with a column's name when its heading is pressed
   */
  constructor(columns, entries, makeRow, onSort) {
    this.columns = columns;
    this.entries = entries.map((entry) => ({ ...entry, element: null }));
    this.makeRow = makeRow;
    this.pending = 0;
    this.headings = new Map();
    this.divider = this.#divider();
    this.body = make("tbody");
    this.element = this.#sized("table", make("thead", {}, this.#headings()), this.body);
    this.element.setAttribute("aria-labelledby", "title");
    /** The same headings as buttons, outside the region that scrolls sideways, so that they stay visible. */
    this.buttons = new Map();
    this.head = this.#sized("table", make("tbody", {}, this.#buttonRow(onSort)));
    this.head.setAttribute("role", "presentation");
  }

  /** Whether the table can be sorted by a column of this name. */
  sorts(name) {
    return this.headings.has(name);
  }

  /** The order of the first click on a heading: names from A, scores and dates from the highest. */
  firstOrder(name) {
    return name === "model" ? "ascending" : "descending";
  }

  /**
   * Sort and filter the rows.
   *
   * @param sort the column's name
   * @param order "ascending" or "descending"
   * @param fits whether an entry is shown
   * @param setBusy called with whether more rows are coming
   * @returns the number of models and of published results shown
   */
  show(sort, order, fits, setBusy) {
    for (const [name, heading] of this.headings) {
      if (name === sort) heading.setAttribute("aria-sort", order);
      else heading.removeAttribute("aria-sort");
      this.buttons.get(name).dataset.sort = name === sort ? order : "";
    }
    const compare = this.#comparison(sort, order);
    const visible = this.entries.filter(fits).sort((a, b) => (a.isApart ?? false) - (b.isApart ?? false) || compare(a, b));
    const first = visible.findIndex((entry) => entry.isApart);
    if (first > 0) visible.splice(first, 0, { element: this.divider });
    this.stop();
    this.body.replaceChildren(...visible.slice(0, STEP).map((entry) => this.#row(entry)));
    this.#showRest(visible, STEP, setBusy);
    const references = visible.filter((entry) => entry.row && entry.isReference).length;
    return { models: visible.filter((entry) => entry.row && !entry.isReference).length, references };
  }

  /** Cancel the steps that are still to come. */
  stop() {
    cancelAnimationFrame(this.pending);
  }

  #showRest(entries, from, setBusy) {
    setBusy(from < entries.length);
    if (from >= entries.length) return;
    this.pending = requestAnimationFrame(() => {
      this.body.append(...entries.slice(from, from + STEP).map((entry) => this.#row(entry)));
      this.#showRest(entries, from + STEP, setBusy);
    });
  }

  #row(entry) {
    entry.element ??= this.makeRow(entry);
    return entry.element;
  }

  #divider() {
    // Narrow windows do not show the first column, the ranks.
    const rest = { colSpan: this.columns.length - 1, scope: "rowgroup", className: "model" };
    const cells = [make("td", { className: "rank" }), make("th", rest, "Stated, not checked")];
    return make("tr", { className: "divider" }, ...cells);
  }

  /** A table with fixed column widths, so that later rows do not move anything. */
  #sized(tag, ...children) {
    const cols = this.columns.map((column) => widths(make("col", { className: column.takesRest ? "rest" : column.className ?? "" }), [column]));
    return widths(make(tag, { className: "sized" }, make("colgroup", {}, ...cols), ...children), this.columns);
  }

  #headings() {
    const cells = this.columns.map((column) => {
      const text = [column.part, column.label, column.about && `(${column.about})`].filter(Boolean).join(" ");
      const cell = make("th", { scope: "col", className: column.className ?? "" }, make("span", { className: "unseen" }, text));
      if (column.name) this.headings.set(column.name, cell);
      return cell;
    });
    return make("tr", {}, ...cells);
  }

  #buttonRow(onSort) {
    const cells = this.columns.map((column) => {
      const cell = make("td", { className: column.className ?? "" });
      const text = column.about ? make("abbr", { title: column.about }, column.label) : column.label;
      if (!column.name) cell.append(column.head ?? make("span", {}, text));
      else {
        const button = make("button", { type: "button" }, ...(column.part ? [make("small", {}, column.part)] : []), text);
        button.addEventListener("click", () => onSort(column.name));
        this.buttons.set(column.name, button);
        cell.append(button);
      }
      return cell;
    });
    return make("tr", {}, ...cells);
  }

  #comparison(sort, order) {
    const sign = order === "ascending" ? 1 : -1;
    const byName = (a, b) => collator.compare(a.row.model, b.row.model);
    if (sort === "model") return (a, b) => sign * byName(a, b);
    const { key } = this.columns.find((column) => column.name === sort);
    return (a, b) => {
      const [x, y] = [key(a.row), key(b.row)];
      // Undefined scores come last in both orders.
      if (typeof x !== "number" || typeof y !== "number") return (typeof y === "number") - (typeof x === "number") || byName(a, b);
      return sign * (x - y) || (a.row.rank ?? 0) - (b.row.rank ?? 0) || byName(a, b);
    };
  }
}

function widths(element, columns) {
  for (const size of ["wide", "narrow"]) {
    element.style.setProperty(`--${size}`, `${columns.reduce((sum, column) => sum + column[size], 0)}rem`);
  }
  return element;
}
