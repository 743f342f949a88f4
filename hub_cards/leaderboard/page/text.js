// The text around a table: its title, what it measures, the legend, and the sources.

import { legendItems, statedNotes } from "./chips.js";
import { link, make, named } from "./elements.js";
import { framed } from "./scrolling.js";

const at = (id) => document.getElementById(id);

/** @param overview results/overview.json */
export function showOverviewText(overview) {
  document.title = "eyechart leaderboard";
  at("title").textContent = "Models by benchmark";
  const without = overview.columns.filter((column, index) => column.chance === null && overview.rows.some((row) => row.cells[index]));
  const names = without.map((column) => [column.benchmark, column.title && `(${column.title})`].filter(Boolean).join(" ")).join(" and ");
  const others = Object.keys(overview.others).length;
  at("about").textContent =
    "Each benchmark is represented by one board; click a score to open it. Scores are rescaled: 0 is the chance level and 100 a " +
    `perfect score. The 95 % interval is below each score.${names && ` The chance level of ${names} is unknown; there, 0 is a score of 0.`}` +
    (others ? " A score without shade is from another board of the benchmark, which it names." : "") +
    " There is no overall ranking; click a heading to sort.";
  if (!overview.rows.length) at("about").textContent = "One column per benchmark.";
  at("run-task").textContent = "TASK";
  at("build-tasks").textContent = "";
  at("key").replaceChildren(...(overview.rows.length ? shades() : []));
  at("legend").textContent = "";
  at("empty").hidden = overview.rows.length > 0;
  at("empty-text").textContent = "No model has an entry here. Open a benchmark above to see its own entries, or the results that its paper published.";
  at("settings").hidden = true;
  for (const id of ["chips", "entry-notes", "sources", "apart"]) at(id).replaceChildren();
}

function shades() {
  const swatch = (shade, label) => make("span", {}, make("span", { className: `swatch shade-${shade}` }), label);
  const labels = ["at or below chance", "up to 20", "up to 40", "up to 60", "up to 80", "up to 100"];
  return labels.map((label, shade) => swatch(shade, label));
}

/** @param board one of results/boards */
export function showBoardText(board) {
  // A task of a task file can be a whole benchmark, without a title of its own.
  const title = [board.benchmark, board.title].filter(Boolean).join(": ");
  document.title = `${title} · eyechart leaderboard`;
  at("title").textContent = title;
  at("about").textContent = [board.about, board.note].filter(Boolean).join(" ");
  at("key").replaceChildren(...marks(board));
  const items = board.items ? `, ${board.items.toLocaleString("en")} items` : "";
  const models = board.rows.filter((row) => row.rank).length;
  const pairs = (models * (models - 1)) / 2;
  const adjusted = pairs ? ` (p < 0.05, Holm-adjusted over ${pairs} pair${pairs === 1 ? "" : "s"} of models)` : "";
  const ranked =
    `Ranked by ${board.columns[0].label} (task ${board.task}, split ${board.split}${items}; release ${board.release}). All ` +
    `scores were computed from the entries' replies. Models share a rank (=) unless a paired test of their replies finds a ` +
    `significant difference${adjusted}. The 95 % interval is below each score.`;
  at("legend").textContent = models ? ranked : "";
  at("empty").hidden = board.rows.length > 0;
  at("empty-text").textContent = "This board has no entries yet.";
  at("chips").replaceChildren(...legendItems(board));
  at("entry-notes").replaceChildren(...statedNotes(board.rows));
  at("settings").hidden = false;
  at("run-task").textContent = board.run;
  at("build-tasks").textContent = board.file && ` --tasks ${board.file}`;
  showSources(board);
  showSettings(board);
  at("apart").replaceChildren(...(board.set_apart.length ? apartTables(board) : []));
}

function marks(board) {
  const [main] = board.columns;
  const mark = (className, label) => make("span", {}, make("span", { className: `sample ${className}` }), label);
  const legend = [];
  if (board.rows.length) legend.push(mark("of-model", "score with its 95 % interval"));
  if (board.references.length) legend.push(mark("of-paper", `published in ${papers(board)}, no interval`));
  if (legend.length && typeof board.chance === "number") {
    const chance = (board.chance * main.scale).toFixed(main.digits);
    legend.push(mark("of-chance", `chance level, ${chance}${main.unit ? `\u00a0${main.unit}` : ""}`));
  }
  return legend;
}

function papers(board) {
  const names = [...new Set(board.sources.map((source) => source.paper))].join("; ");
  return board.sources.length === 1 ? `${board.sources[0].table} of ${names}` : names;
}

function showSources(board) {
  const notes = board.references.flatMap((row) => row.notes.map((note) => `† ${row.model}, ${row.table}, ${note}`));
  const ofTables = board.sources.flatMap((source) => source.notes.map((note) => `${source.table}: ${note}`));
  at("sources").replaceChildren(
    ...board.sources.map((source) =>
      make("p", { className: "note" }, `${source.table}: `, link(source.url, source.paper)),
    ),
    ...folded([...ofTables, ...notes]),
  );
}

/** Notes on papers' tables in a closed list; nothing if there are none. */
function folded(notes) {
  if (!notes.length) return [];
  const list = make("ul", { className: "note notes" }, ...notes.map((note) => make("li", {}, note)));
  return [make("details", {}, make("summary", {}, "Notes on the paper's table"), list)];
}

function showSettings(board) {
  const rows = Object.entries(board.settings).flatMap(([name, allowed]) => [
    make("dt", {}, name),
    make("dd", {}, allowed.map((value) => JSON.stringify(value)).join(" or ")),
  ]);
  at("settings-list").replaceChildren(...rows);
}

/** Papers' tables that are not comparable with the board; open if there is nothing else to see. */
function apartTables(board) {
  const isOpen = !board.rows.length && !board.references.length;
  const details = board.set_apart.map((apart) => {
    const title = [apart.table, apart.title].filter(Boolean).join(": ");
    const why = make("p", { className: "note" }, apart.why);
    // Scores that models' authors stated have a source each, in the table.
    const source = apart.paper ? [make("p", { className: "note" }, link(apart.url, apart.paper))] : [];
    const notes = folded([...apart.notes, ...apart.corrections]);
    return make("details", { open: isOpen }, make("summary", {}, title), why, ...source, framed(apartTable(apart), title), ...notes);
  });
  return [make("h3", {}, "Published tables that are not comparable with this board"), ...details];
}

function apartTable({ columns, labels, rows }) {
  const className = (place) => (place < labels ? "label" : "");
  const head = make("tr", {}, ...columns.map((label, place) => make("th", { scope: "col", className: className(place) }, label)));
  head.firstChild.className = "model";
  const shown = rows.map(([model, ...texts]) =>
    make("tr", {}, make("th", { scope: "row", className: "model" }, named(model)), ...texts.map((text, place) => make("td", { className: className(place + 1) }, shownText(text)))),
  );
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...shown));
}

/** A text of a table; an address is a link. */
function shownText(text) {
  return text.startsWith("https://") ? link(text, text.replace("https://", "")) : text;
}
