// The table of a board. A row is made when it is first seen; many rows come in steps, the first of them at once.

import { link, make, named } from "./elements.js";

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
/** So many rows are laid out before the page answers again. */
const STEP = 60;
const MODEL = "model";
const DATE = "date";

/** A score as it is printed; an empty string where there is none. */
export function shown(value, column) {
  return typeof value === "number" ? (value * column.scale).toFixed(column.digits) : "";
}

export class BoardTable {
  /**
   * @param board one of results/index.json
   * @param columns those of its columns that are shown, with `at`, their place in the values
   * @param onSort called with a column's name when its heading is pressed
   */
  constructor(board, columns, onSort) {
    this.board = board;
    this.columns = columns;
    const values = [...board.rows, ...board.references].map((row) => scoreAt(row, columns[0])).flat();
    const known = values.filter((value) => typeof value === "number");
    this.range = [Math.min(...known), Math.max(...known)];
    this.hasJudge = board.rows.some((row) => row.judge);
    this.entries = [
      ...board.rows.map((row) => this.#entry(row, false)),
      ...board.references.map((row) => this.#entry(row, true)),
    ];
    this.headings = new Map();
    this.body = make("tbody");
    this.element = make("table", {}, this.#widths(), this.#head(onSort), this.body);
    this.element.setAttribute("aria-labelledby", "title");
    this.pending = 0;
  }

  /** Whether there is such a column to sort by. */
  sorts(name) {
    return this.headings.has(name);
  }

  /** The order in which a column is sorted first: names from A, scores and dates from the top. */
  firstOrder(name) {
    return name === MODEL ? "ascending" : "descending";
  }

  /**
   * Order and choose the rows.
   *
   * @param setBusy called with whether rows are still to come
   * @returns how many models and rows of papers are shown
   */
  show({ sort, order, query, judge, papers }, setBusy) {
    for (const [name, heading] of this.headings) {
      if (name === sort) heading.setAttribute("aria-sort", order);
      else heading.removeAttribute("aria-sort");
    }
    const wanted = query.trim().toLowerCase();
    const fits = (entry) =>
      (papers || !entry.isReference) &&
      (!judge || entry.isReference || entry.row.judge === judge) &&
      (!wanted || entry.search.includes(wanted));
    const visible = this.entries.filter(fits).sort(this.#comparison(sort, order));
    this.stop();
    this.body.replaceChildren(...visible.slice(0, STEP).map((entry) => this.#row(entry)));
    this.#showRest(visible, STEP, setBusy);
    const references = visible.filter((entry) => entry.isReference).length;
    return { entries: visible.length - references, references };
  }

  /** Let rows that are still to come be. */
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

  /** The columns' widths, given so that rows that come later move nothing. */
  #widths() {
    const scores = this.columns.map((column, place) => (place ? "score" : "main"));
    const names = ["rank", "name", ...scores, "items", ...(this.hasJudge ? ["judge"] : []), "run"];
    return make("colgroup", {}, ...names.map((name) => make("col", { className: `of-${name}` })));
  }

  #comparison(sort, order) {
    const sign = order === "ascending" ? 1 : -1;
    const byName = (a, b) => collator.compare(a.row.model, b.row.model);
    if (sort === MODEL) return (a, b) => sign * byName(a, b);
    const column = this.columns.find((one) => one.name === sort);
    const key = column ? (entry) => scoreAt(entry.row, column)[0] : (entry) => entry.time;
    return (a, b) => {
      const [x, y] = [key(a), key(b)];
      // What is undefined comes last in either order.
      if (typeof x !== "number" || typeof y !== "number") return (typeof y === "number") - (typeof x === "number") || byName(a, b);
      return sign * (x - y) || (a.row.rank ?? 0) - (b.row.rank ?? 0) || byName(a, b);
    };
  }

  #head(onSort) {
    const row = make("tr", {}, make("th", { scope: "col" }, make("span", {}, "Rank")));
    const add = (name, label, part, className, about) => {
      const text = about ? make("abbr", { title: about }, label) : label;
      const button = make("button", { type: "button" }, ...(part ? [make("small", {}, part)] : []), text);
      button.addEventListener("click", () => onSort(name));
      const heading = make("th", { scope: "col", className }, button);
      this.headings.set(name, heading);
      row.append(heading);
    };
    add(MODEL, "Model", "", "model", "");
    for (const column of this.columns) {
      const isPlain = column.part || !column.unit;
      // The space does not break, so that no unit stands on a line of its own.
      const label = isPlain ? column.label : `${column.label},\u00a0${column.unit}`;
      add(column.name, label, column.part, "", column.about);
    }
    const plain = (label, className) => row.append(make("th", { scope: "col", className }, make("span", {}, label)));
    plain("Items", "");
    if (this.hasJudge) plain("Judge", "judge");
    add(DATE, "Run", "", "", "");
    return make("thead", {}, row);
  }

  #entry(row, isReference) {
    const search = `${row.model}\n${row.judge ?? ""}\n${row.table ?? ""}`.toLowerCase();
    return { row, isReference, search, time: Date.parse(row.started), element: null };
  }

  #row(entry) {
    entry.element ??= this.#makeRow(entry.row, entry.isReference);
    return entry.element;
  }

  #makeRow(row, isReference) {
    const element = make("tr", { className: isReference ? "reference" : "" });
    element.append(isReference ? make("td", { className: "rank" }, "paper") : rankCell(row));
    const name = named(row.model);
    if (row.model_url) name.replaceChildren(link(row.model, row.model_url));
    const marks = [row.precomputed && "precomputed predictions", row.unchecked, ...(row.test_notes ?? [])].filter(Boolean).map(mark);
    element.append(make("th", { scope: "row", className: "model" }, name, ...marks));
    for (const column of this.columns) element.append(this.#scoreCell(row, column));
    element.append(make("td", {}, typeof row.n === "number" ? row.n.toLocaleString("en") : ""));
    if (this.hasJudge) element.append(make("td", { className: "judge" }, named(row.judge ?? "")));
    element.append(isReference ? this.#sourceCell(row) : runCell(row));
    return element;
  }

  #scoreCell(row, column) {
    const [value, low, high] = scoreAt(row, column);
    const text = shown(value, column);
    const hasInterval = typeof low === "number" && typeof high === "number";
    const isMain = column === this.columns[0];
    const about = isMain && row.interval ? { title: row.interval } : {};
    const cell = make("td", isMain ? { className: "main", ...about } : {}, text);
    if (hasInterval) cell.append(make("small", {}, `${shown(low, column)} to ${shown(high, column)}`));
    if (isMain && text) cell.append(this.#bar(value, hasInterval ? low : value, hasInterval ? high : value));
    return cell;
  }

  #bar(value, low, high) {
    const [from, to] = this.range;
    const place = (score) => `${to > from ? (100 * (score - from)) / (to - from) : 50}%`;
    const bar = make("div", { className: "bar" });
    bar.setAttribute("aria-hidden", "true");
    bar.style.setProperty("--value", place(value));
    bar.style.setProperty("--low", place(low));
    bar.style.setProperty("--high", place(high));
    return bar;
  }

  #sourceCell(row) {
    const source = this.board.sources.find((one) => one.table === row.table);
    return make("td", { className: "made" }, link(row.table, source?.url), row.notes.length ? " †" : "");
  }
}

/** `[value, low, high]` of a row in a column; a paper's rows have no intervals. */
function scoreAt(row, column) {
  const found = row.values[column.at];
  return Array.isArray(found) ? found : [found, null, null];
}

function rankCell(row) {
  const cell = make("td", { className: "rank" }, String(row.rank));
  if (row.shared) cell.append(make("span", { className: "tie", title: "shares this rank" }, " ="));
  return cell;
}

/** A caveat of a row; the page's notes say more. */
function mark(text) {
  const element = make("small", { className: "mark" }, text);
  element.setAttribute("aria-describedby", "marks");
  return element;
}

function runCell(row) {
  const day = String(row.started).slice(0, 10);
  const cell = make("td", { className: "made" }, link(day, row.run), " ");
  if (row.run_url) cell.append(link("more", row.run_url));
  return cell;
}
