// The table of a board: ranks, models, scores, and a plot of the main scores on one axis.

import { link, make, named } from "./elements.js";
import { chipsOf, sharedTags } from "./chips.js";
import { aboutModel } from "./facets.js";
import { Axis } from "./forest.js";
import { SortedTable } from "./table.js";

/**
 * @param board one of results/boards
 * @param withParts whether its breakdowns are shown
 * @param onSort called with a column's name when its heading is pressed
 */
export function boardTable(board, withParts, onSort) {
  const [main, ...others] = board.columns.map((column, index) => ({ ...column, at: index }));
  const rows = [...board.rows, ...board.references];
  const hasScores = (column) => rows.some((row) => scoreAt(row, column)[0] !== null);
  const shownOthers = others.filter((column) => (withParts || !column.part) && hasScores(column));
  const axis = new Axis(rows.flatMap((row) => scoreAt(row, main)), board.chance, main.scale);
  const hasModels = board.rows.length > 0;
  const hasJudge = board.rows.some((row) => row.judge);
  const columns = [
    ...(hasModels ? [{ label: "Rank", className: "rank", wide: 3.6, narrow: 0 }] : []),
    { name: "model", label: "Model", className: "model", wide: 20, narrow: 7.6 },
    { ...heading(main), wide: 9, narrow: 7.9 },
    { label: "Plot", head: axis.head(), className: "plot", takesRest: true, wide: 16, narrow: 7.2 },
    ...shownOthers.map((column) => ({ ...heading(column), wide: 9, narrow: 8.2 })),
    ...(hasJudge ? [{ label: "Judge", className: "judge", wide: 9, narrow: 8 }] : []),
    ...(hasModels ? [{ name: "date", label: "Run", key: (row) => Date.parse(row.started), wide: 10.5, narrow: 10 }] : []),
  ];
  const entries = [
    ...board.rows.map((row) => ({ row, isReference: false, isApart: Boolean(row.stated) })),
    ...board.references.map((row) => ({ row, isReference: true, isApart: true })),
  ];
  const shared = sharedTags(board.rows);
  const makeRow = ({ row, isReference }) => {
    const score = scoreCell(row, main);
    score.classList.add("main");
    if (row.interval) score.title = row.interval;
    const element = make("tr", { className: isReference ? "reference" : "" });
    if (hasModels) element.append(make("td", { className: "rank" }, ...(row.rank ? rank(row) : [])));
    element.append(isReference ? paperCell(row, board) : modelCell(row, shared), score, axis.mark(...scoreAt(row, main)));
    element.append(...shownOthers.map((column) => scoreCell(row, column)));
    if (hasJudge) element.append(make("td", { className: "judge" }, named(row.judge ?? "")));
    if (hasModels) element.append(isReference ? make("td") : runCell(row));
    return element;
  };
  const table = new SortedTable(columns, entries, makeRow, onSort);
  axis.drawOn(table.element);
  return table;
}

function heading(column) {
  const isPlain = column.part || !column.unit;
  // A non-breaking space keeps the unit on the line of the last word.
  const label = isPlain ? column.label : `${column.label},\u00a0${column.unit}`;
  return { name: column.name, label, part: column.part, about: column.about, key: (row) => scoreAt(row, column)[0] };
}

/** `[value, low, high]` of a row in a column; published results have no intervals. */
function scoreAt(row, column) {
  const value = row.values[column.at];
  return Array.isArray(value) ? value : [value, null, null];
}

function shown(value, column) {
  return typeof value === "number" ? (value * column.scale).toFixed(column.digits) : "";
}

function scoreCell(row, column) {
  const [value, low, high] = scoreAt(row, column);
  const cell = make("td", {}, shown(value, column));
  if (typeof low === "number" && typeof high === "number") {
    cell.append(make("small", {}, `${shown(low, column)} to ${shown(high, column)}`));
  }
  return cell;
}

/** A model's name, size, licence and caveats. */
export function modelCell(row, shared = []) {
  const about = make("small", {}, aboutModel(row), ...chipsOf(row, shared).flatMap((chip) => [" ", chip]));
  const address = row.model_url ?? (row.is_on_hub ? `https://huggingface.co/${row.model}` : null);
  // On narrow screens, the rank replaces the hidden column of ranks.
  const ranked = make("span", { className: "place" }, ...(row.rank ? rank(row) : []));
  return make("th", { scope: "row", className: "model" }, ranked, named(row.model, address), about);
}

function paperCell(row, board) {
  // If there is only one table, the sources below name it.
  const table = make("small", {}, board.sources.length > 1 ? row.table : "", row.notes.length ? " †" : "");
  return make("th", { scope: "row", className: "model" }, named(row.model), " ", table);
}

function rank(row) {
  return row.shared ? [String(row.rank), make("span", { className: "tie", title: "shares this rank" }, " =")] : [String(row.rank)];
}

function runCell(row) {
  const cell = make("td", { className: "made" }, link(row.run, row.started), " ");
  if (row.run_url) cell.append(link(row.run_url, "source"));
  return cell;
}
