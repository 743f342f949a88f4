// Chips: caveats of entries as short tags in their rows, explained once below the table.

import { make } from "./elements.js";

/** Tags that all of several rows have; only the legend shows them. */
export function sharedTags(rows) {
  return rows.length > 1 ? (rows[0].tags ?? []).filter((tag) => rows.every((row) => row.tags?.includes(tag))) : [];
}

/** The chips of a row. */
export function chipsOf(row, shared) {
  return (row.tags ?? []).filter((tag) => !shared.includes(tag)).map(chip);
}

/** A chip in a row; the item of the legend with the same name explains it. */
function chip(tag) {
  const element = make("span", { className: "chip" }, tag.replaceAll("_", " "));
  element.setAttribute("aria-describedby", `chip-${tag}`);
  return element;
}

/** The explanations of the tags of a board's rows. */
export function legendItems({ tags, rows }) {
  const shared = sharedTags(rows);
  return Object.entries(tags).map(([tag, text]) => {
    const name = make("span", { className: "chip" }, tag.replaceAll("_", " "));
    return make("li", { id: `chip-${tag}` }, name, shared.includes(tag) ? " All entries: " : " ", text);
  });
}

/** Why each entry's scores are only stated, in a closed list; empty if all were checked. */
export function statedNotes(rows) {
  const stated = rows.filter((row) => row.stated);
  if (!stated.length) return [];
  const items = stated.map((row) => make("li", {}, make("bdi", {}, row.model), `: ${row.stated}`));
  const list = make("ul", { className: "note notes" }, ...items);
  return [make("details", {}, make("summary", {}, "Why scores were not checked"), list)];
}
