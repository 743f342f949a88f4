// The page: benchmarks, boards, filters and the table, all of the files in results/ and of the address.

import { link, make, named } from "./elements.js";
import { readState, writeState } from "./state.js";
import { BoardTable } from "./table.js";

const SCHEMA = 1;
const at = (id) => document.getElementById(id);
let index = null;
let state = readState();
/** The board whose tabs are shown, as results/index.json lists it. */
let listed = null;
/** The board whose table is shown, with its rows. */
let board = null;
let table = null;
/** Boards that were read, by name; null while one is on its way. */
const loaded = new Map();
/** Tables already made, by board and by whether breakdowns are shown. */
const tables = new Map();

async function start() {
  try {
    index = await readJson("results/index.json");
    if (index.schema !== SCHEMA) throw new Error(`its schema is ${index.schema}, and this page reads ${SCHEMA}`);
  } catch (error) {
    showProblem("results/index.json", error);
    return;
  }
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  at("query").addEventListener("input", () => change({ q: at("query").value }, false));
  at("judge").addEventListener("change", () => change({ judge: at("judge").value }, true));
  for (const name of ["papers", "parts"]) {
    at(name).addEventListener("change", () => change({ [name]: at(name).checked ? "1" : "0" }, true));
  }
  at("skip").addEventListener("click", (event) => {
    // The address holds the state, so that it cannot hold the place as well.
    event.preventDefault();
    at("table").focus();
  });
  window.addEventListener("popstate", () => {
    state = readState();
    show();
  });
  show();
}

async function readJson(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`the server says ${answer.status}`);
  return answer.json();
}

function showProblem(address, error) {
  at("problem").hidden = false;
  at("problem").textContent = `${address} cannot be shown: ${error.message}`;
}

function change(changes, isStep) {
  state = { ...state, ...changes };
  writeState(state, isStep);
  show();
}

function show() {
  const wanted = index.boards.find((one) => one.name === state.board) ?? index.boards[0];
  if (wanted !== listed) {
    listed = wanted;
    showTabs();
  }
  if (loaded.get(listed.name)) showTable(loaded.get(listed.name));
  else load(listed);
}

async function load(entry) {
  setBusy(true);
  if (loaded.has(entry.name)) return;
  loaded.set(entry.name, null);
  try {
    loaded.set(entry.name, await readJson(entry.file));
  } catch (error) {
    loaded.delete(entry.name);
    showProblem(entry.file, error);
    return;
  }
  // Meanwhile another board may have been opened.
  if (entry === listed) show();
}

/** Whether rows are still to come: for readers of the screen aloud, and for tests. */
function setBusy(isBusy) {
  at("table").setAttribute("aria-busy", String(isBusy));
}

function showTable(wanted) {
  at("problem").hidden = true;
  if (wanted !== board) {
    board = wanted;
    showBoard();
  }
  const found = tableOf(board, state.parts === "1");
  if (found !== table) {
    table?.stop();
    table = found;
  }
  const sort = table.sorts(state.sort) ? state.sort : board.columns[0].name;
  const order = ["ascending", "descending"].includes(state.order) ? state.order : table.firstOrder(sort);
  // An address may name a judge whose results were replaced since.
  const judge = judgesOf(board).includes(state.judge) ? state.judge : "";
  const shown = { sort, order, query: state.q, judge, papers: state.papers === "1" };
  const counts = table.show(shown, setBusy);
  // Only now, so that a table is laid out once.
  if (at("table").firstChild !== table.element) at("table").replaceChildren(table.element);
  if (at("query").value !== state.q) at("query").value = state.q;
  at("judge").value = judge;
  at("papers").checked = shown.papers;
  at("parts").checked = state.parts === "1";
  showStatus(counts);
}

function sortBy(name) {
  const heading = table.headings.get(name);
  const first = table.firstOrder(name);
  const opposite = first === "ascending" ? "descending" : "ascending";
  change({ sort: name, order: heading.getAttribute("aria-sort") === first ? opposite : first }, true);
}

function tableOf(board, withParts) {
  const key = `${board.name} ${withParts}`;
  if (!tables.has(key)) {
    const columns = board.columns.map((column, place) => ({ ...column, at: place }));
    tables.set(key, new BoardTable(board, columns.filter((column) => withParts || !column.part), sortBy));
  }
  return tables.get(key);
}

function showStatus({ entries, references }) {
  const models = `${entries} of ${board.rows.length} model${board.rows.length === 1 ? "" : "s"}`;
  at("status").textContent = references ? `${models}, ${references} rows of papers` : models;
  at("empty").hidden = entries + references > 0;
  at("empty").textContent = board.rows.length ? "Nothing fits these filters." : "There is no entry yet.";
}

function showBoard() {
  document.title = `${board.benchmark}: ${board.title} · eyechart leaderboard`;
  at("title").textContent = `${board.benchmark}: ${board.title}`;
  at("about").textContent = [board.about, board.note].filter(Boolean).join(" ");
  at("papers-label").hidden = !board.references.length;
  at("parts-label").hidden = !board.columns.some((column) => column.part);
  at("marks").hidden = !board.rows.some((row) => row.precomputed || row.unchecked || row.test_notes?.length);
  showJudges();
  const tests = [...new Set(board.rows.map((row) => row.tests))].filter(Boolean);
  const adjusted = tests.length ? ` (p < 0.05, Holm-adjusted over ${tests.join(" or ")} test${String(tests) === "1" ? "" : "s"})` : "";
  at("legend").textContent =
    `Ranked by ${board.columns[0].label}, ${board.task} on ${board.split}` +
    `${board.items ? ` (${board.items.toLocaleString("en")} items)` : ""}. Models share a rank (=) unless a paired ` +
    `test of their answers tells them apart${adjusted}, or their intervals where there are no answers. Below a score stands ` +
    "its interval; the bar goes from " +
    "the lowest score of the board to the highest.";
  showSources();
  showSettings();
  at("apart").replaceChildren(...(board.set_apart.length ? apartTables() : []));
}

function showTabs() {
  const benchmarks = [...new Set(index.boards.map((one) => one.benchmark))];
  const tab = (label, target, isCurrent, count) => {
    const button = make("button", { type: "button" }, label);
    if (count) button.append(make("span", { className: "count" }, String(count)));
    if (isCurrent) button.setAttribute("aria-current", "page");
    button.addEventListener("click", () => open(target));
    return make("li", {}, button);
  };
  const first = (name) => index.boards.find((one) => one.benchmark === name);
  at("benchmarks").replaceChildren(...benchmarks.map((name) => tab(name, first(name), name === listed.benchmark, 0)));
  const own = index.boards.filter((one) => one.benchmark === listed.benchmark);
  at("boards").replaceChildren(...own.map((one) => tab(one.title, one, one === listed, one.models)));
}

function open(target) {
  const inTabs = document.activeElement.closest("ul")?.id;
  change({ board: target.name, sort: "", order: "", judge: "" }, true);
  // The buttons were made anew: whoever came here by keyboard stays where they were.
  if (inTabs) at(inTabs).querySelector("[aria-current]")?.focus();
}

/** The judges that can be chosen among. */
function judgesOf(board) {
  return board.judged ? [...new Set(board.rows.map((row) => row.judge))] : [];
}

function showJudges() {
  const judges = judgesOf(board);
  at("judge-label").hidden = judges.length < 2;
  at("judge").replaceChildren(...["", ...judges].map((name) => make("option", { value: name }, name || "all")));
}

function showSources() {
  const notes = board.references.flatMap((row) => row.notes.map((note) => `† ${row.model}, ${row.table}, ${note}`));
  at("sources").replaceChildren(
    ...board.sources.map((source) =>
      make("p", { className: "note" }, `${source.table}: `, link(source.paper, source.url), `. ${source.notes.join(" ")}`),
    ),
    ...notes.map((note) => make("p", { className: "note" }, note)),
  );
}

function showSettings() {
  const rows = Object.entries(board.settings).flatMap(([name, allowed]) => [
    make("dt", {}, name),
    make("dd", {}, allowed.map((value) => JSON.stringify(value)).join(" or ")),
  ]);
  at("settings-list").replaceChildren(...rows);
}

function apartTables() {
  const details = board.set_apart.map((one) => {
    const head = make("tr", {}, ...["Model", ...one.columns].map((label) => make("th", { scope: "col" }, make("span", {}, label))));
    head.firstChild.className = "model";
    // As many as the paper prints.
    const printed = one.rows.flatMap((row) => row.slice(1)).map((value) => String(value).split(".")[1] ?? "");
    const decimals = Math.max(...printed.map((part) => part.length));
    const rows = one.rows.map(([model, ...values]) =>
      make(
        "tr",
        {},
        make("th", { scope: "row", className: "model" }, named(model)),
        ...values.map((value) => make("td", {}, typeof value === "number" ? value.toFixed(decimals) : "")),
      ),
    );
    const scroll = make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: `${one.table}: ${one.title}` });
    scroll.append(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
    const summary = make("summary", {}, `${one.table}: ${one.title}${one.unit === "percent" ? ", %" : ""}`);
    const corrected = one.corrections.map((c) => `${c.model}, ${c.column}: printed ${c.printed}. ${c.reason}`);
    const notes = [one.why, ...one.notes, ...corrected].map((note) => make("li", {}, note));
    const source = make("p", { className: "note" }, link(one.paper, one.url));
    return make("details", {}, summary, make("ul", { className: "note notes" }, ...notes), source, scroll);
  });
  return [make("h3", {}, "Published tables that are not comparable with this one"), ...details];
}

start();
