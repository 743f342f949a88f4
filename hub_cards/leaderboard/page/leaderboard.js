// The page: views, filters and tables, from the files in results/ and the state in the address.

import { boardTable } from "./board.js";
import { make } from "./elements.js";
import { FACET_NAMES, facetValues, fitsFacets } from "./facets.js";
import { showBoardText, showOverviewText } from "./text.js";
import { overviewTable } from "./overview.js";
import { MainFrame } from "./scrolling.js";
import { readState, showOutside, writeState } from "./state.js";

const SCHEMA = 1;
/** The first view, listed like a board. */
const OVERVIEW = { name: "", benchmark: "Overview", title: "", file: "results/overview.json" };
/** The names of the controls, in the state and as ids of their elements. */
const CHOICES = ["judge", ...FACET_NAMES];
const SWITCHES = ["papers", "parts", "raw"];
const at = (id) => document.getElementById(id);
const frame = new MainFrame();
let index = null;
let state = readState();
/** The view whose tabs are shown. */
let listed = null;
/** The contents of the view whose table is shown. */
let shown = null;
let table = null;
/** Views that were read, by name. */
const loaded = new Map();
/** Files that are being read. */
const pending = new Set();
/** Tables already built, by view and option. */
const tables = new Map();

async function start() {
  try {
    index = await readJson("results/index.json");
    if (index.schema !== SCHEMA) throw new Error(`unsupported schema ${index.schema} (this page reads ${SCHEMA})`);
  } catch (error) {
    showProblem("results/index.json", error);
    return;
  }
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  at("query").addEventListener("input", () => change({ q: at("query").value }, false));
  for (const name of CHOICES) at(name).addEventListener("change", () => change({ [name]: at(name).value }, true));
  for (const name of SWITCHES) at(name).addEventListener("change", () => change({ [name]: at(name).checked ? "1" : "0" }, true));
  for (const jump of document.querySelectorAll("a.jump")) {
    jump.addEventListener("click", (event) => {
      // The hash of the address contains the state, so it cannot name the target as well.
      event.preventDefault();
      const target = at(jump.hash.slice(1));
      target.scrollIntoView();
      target.focus();
    });
  }
  window.addEventListener("popstate", () => {
    state = readState();
    showOutside();
    show();
  });
  show();
}

async function readJson(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`HTTP status ${answer.status}`);
  return answer.json();
}

function showProblem(address, error) {
  at("problem").hidden = false;
  at("problem").textContent = `Cannot load ${address}: ${error.message}`;
}

function change(changes, isStep) {
  state = { ...state, ...changes };
  writeState(state, isStep);
  show();
}

function show() {
  const wanted = index.boards.find((board) => board.name === state.board) ?? OVERVIEW;
  if (wanted !== listed) {
    if (listed) scrollTo(0, 0);
    listed = wanted;
    showTabs();
  }
  const view = loaded.get(listed.name);
  if (!view || (view.breakdowns && state.parts === "1")) load(listed, view);
  else showView(view);
}

/** Read a view; if it was read before, its breakdowns. */
async function load(entry, view) {
  setBusy(true);
  const file = view ? view.breakdowns : entry.file;
  if (pending.has(file)) return;
  pending.add(file);
  try {
    const content = await readJson(file);
    if (view) addBreakdowns(view, content);
    else loaded.set(entry.name, content);
  } catch (error) {
    // Without its breakdowns a board can still be shown.
    if (view && entry === listed) change({ parts: "0" }, false);
    showProblem(file, error);
    return;
  } finally {
    pending.delete(file);
  }
  // The reader may have opened another view in the meantime.
  if (entry === listed) show();
}

/** Append the values of the breakdowns to the rows. */
function addBreakdowns(view, content) {
  for (const name of ["rows", "references"]) {
    view[name].forEach((row, number) => row.values.push(...content[name][number]));
  }
  view.breakdowns = null;
}

/** Whether more rows are coming, for screen readers and tests. */
function setBusy(isBusy) {
  at("table").setAttribute("aria-busy", String(isBusy));
}

function showView(wanted) {
  at("problem").hidden = true;
  if (wanted !== shown) {
    shown = wanted;
    if (listed === OVERVIEW) showOverviewText(shown);
    else showBoardText(shown);
    showControls();
  }
  const wantedTable = tableOf();
  if (wantedTable !== table) {
    table?.stop();
    table = wantedTable;
  }
  const first = listed === OVERVIEW ? shown.columns[0].board : shown.columns[0].name;
  const sort = table.sorts(state.sort) ? state.sort : first;
  const order = ["ascending", "descending"].includes(state.order) ? state.order : table.firstOrder(sort);
  const counts = table.show(sort, order, chosen(), setBusy);
  // After the rows, so that the table is laid out only once.
  frame.show(table);
  if (at("query").value !== state.q) at("query").value = state.q;
  for (const name of SWITCHES) at(name).checked = state[name] === "1";
  showStatus(counts);
}

/** A function that says whether an entry passes the filters. */
function chosen() {
  const wanted = state.q.trim().toLowerCase();
  // The address may name a judge whose results have been replaced, or a licence that no model has.
  const choices = Object.fromEntries(CHOICES.map((name) => [name, optionsOf(name).includes(state[name]) ? state[name] : ""]));
  for (const name of CHOICES) at(name).value = choices[name];
  return ({ row, isReference }) => {
    if (wanted && !`${row.model}\n${row.judge ?? ""}\n${row.table ?? ""}`.toLowerCase().includes(wanted)) return false;
    if (isReference) return state.papers === "1";
    return (!choices.judge || row.judge === choices.judge) && fitsFacets(row, choices);
  };
}

function tableOf() {
  const isOverview = listed === OVERVIEW;
  const option = state[isOverview ? "raw" : "parts"] === "1";
  const key = `${listed.name} ${option}`;
  if (!tables.has(key)) tables.set(key, (isOverview ? overviewTable : boardTable)(shown, option, sortBy));
  return tables.get(key);
}

function sortBy(name) {
  const heading = table.headings.get(name);
  const first = table.firstOrder(name);
  const opposite = first === "ascending" ? "descending" : "ascending";
  change({ sort: name, order: heading.getAttribute("aria-sort") === first ? opposite : first }, true);
}

function showStatus({ models, references }) {
  const published = `${references} published result${references === 1 ? "" : "s"}`;
  const counted = `${models} of ${shown.rows.length} model${shown.rows.length === 1 ? "" : "s"}`;
  at("controls").hidden = !table.entries.length;
  at("status").textContent = [shown.rows.length && counted, references && published].filter(Boolean).join(", ");
  at("nothing").hidden = models + references > 0 || !table.entries.length;
  at("frame").hidden = models + references === 0;
}

function showControls() {
  const isOverview = listed === OVERVIEW;
  at("papers").parentElement.hidden = isOverview || !shown.references.length;
  at("parts").parentElement.hidden = isOverview || !shown.columns.some((column) => column.part);
  at("raw").parentElement.hidden = !isOverview || !shown.rows.length;
  for (const name of CHOICES) {
    const values = optionsOf(name);
    at(name).parentElement.hidden = values.length < 2;
    at(name).replaceChildren(...["", ...values].map((value) => make("option", { value }, value || "any")));
  }
}

/** The values of a filter. */
function optionsOf(name) {
  if (name !== "judge") return facetValues(name, shown.rows);
  return shown.judged ? [...new Set(shown.rows.map((row) => row.judge))] : [];
}

function showTabs() {
  const benchmarks = [...new Set(index.boards.map((board) => board.benchmark))];
  const tab = (label, target, isCurrent, count) => {
    const button = make("button", { type: "button" }, label);
    if (count) button.append(make("span", { className: "count" }, String(count)));
    if (isCurrent) button.setAttribute("aria-current", "page");
    button.addEventListener("click", () => open(target));
    return make("li", {}, button);
  };
  const views = [OVERVIEW, ...benchmarks.map((name) => index.boards.find((board) => board.benchmark === name))];
  const isListed = (board) => board.benchmark === listed.benchmark;
  at("benchmarks").replaceChildren(...views.map((view) => tab(view.benchmark, view, isListed(view), 0)));
  const boards = index.boards.filter(isListed);
  at("boards").replaceChildren(
    ...boards.map((board) => tab(board.title || board.benchmark, board, board === listed, board.models)),
  );
  at("boards").parentElement.hidden = !boards.length || (boards.length === 1 && !boards[0].title);
  for (const list of [at("benchmarks"), at("boards")]) {
    // On a narrow screen, only some tabs fit.
    const current = list.querySelector("[aria-current]");
    if (current) list.scrollLeft += current.getBoundingClientRect().left - list.getBoundingClientRect().left;
  }
}

function open(target) {
  const inTabs = document.activeElement.closest("ul")?.id;
  change({ board: target.name, sort: "", order: "", judge: "" }, true);
  // The buttons were replaced: keep the keyboard focus on the current one.
  if (inTabs) at(inTabs).querySelector("[aria-current]")?.focus();
}

start();
