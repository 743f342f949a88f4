// The first view: all models on the five benchmarks, in shaded cells that link to the boards.

import { make } from "./elements.js";
import { modelCell } from "./board.js";
import { addressOf } from "./state.js";
import { SortedTable } from "./table.js";

const SHADES = 5;

/**
 * @param overview results/overview.json
 * @param isRaw whether raw scores are shown instead of rescaled ones
 * @param onSort called with a column's name when its heading is pressed
 */
export function overviewTable(overview, isRaw, onSort) {
  const columns = [
    { name: "model", label: "Model", className: "model", wide: 22, narrow: 8.5 },
    ...overview.columns.map((column, index) => ({
      name: column.board,
      label: column.benchmark,
      part: column.title,
      key: (row) => row.cells[index] && aboveChance(row.cells[index][0], boardOf(row.cells[index], column, overview)),
      wide: 9,
      narrow: 5.6,
    })),
  ];
  const makeRow = ({ row }) =>
    make("tr", {}, modelCell(row), ...overview.columns.map((column, index) => cell(row.cells[index], column, overview, isRaw)));
  return new SortedTable(columns, overview.rows.map((row) => ({ row, isReference: false })), makeRow, onSort);
}

/** A score rescaled so that the chance level is 0 and a perfect score 100; an unknown chance level counts as 0. */
function aboveChance(value, { chance, high }) {
  const zero = chance ?? 0;
  return (100 * (value - zero)) / (high - zero);
}

/** The board of a cell: that of its column, or the other board that it names. */
function boardOf([, , , other], column, overview) {
  return other ? overview.others[other] : column;
}

function cell(score, column, overview, isRaw) {
  if (!score) return make("td", { className: "none", ariaLabel: "no result" }, "–");
  const board = boardOf(score, column, overview);
  const number = (value) => (isRaw ? value * board.scale : aboveChance(value, board)).toFixed(1).replace("-", "\u2212");
  const [value, low, high] = score;
  const shade = Math.min(SHADES, Math.max(0, Math.ceil((SHADES * aboveChance(value, board)) / 100)));
  const isOther = board !== column;
  const td = make("td", { className: isOther ? "other" : `shade-${shade}` }, make("a", { href: addressOf({ board: board.board }) }, number(value)));
  if (isOther) td.prepend(make("small", {}, board.title));
  if (typeof low === "number" && typeof high === "number") td.append(make("small", {}, `${number(low)} to ${number(high)}`));
  return td;
}
