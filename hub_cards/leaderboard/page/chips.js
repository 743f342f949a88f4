// Chips: caveats of entries as short tags in their rows, explained once below the table.

import { make } from "./elements.js";

const MEANINGS = {
  precomputed:
    "The replies were read from a file; eyechart did not run the model. The submitter states that they answer this board's prompt " +
    "within its length limit.",
  "unparsed replies": "More than a fifth of the replies could not be parsed, so the score does not describe the model.",
  "provider decoding":
    "No temperature was sent to the model or to its judge, so the provider chose the decoding. Asking again may give other replies.",
  "not recomputed":
    "These scores are shown as submitted. They cannot be recomputed because the predictions are missing or a judge gave the scores.",
  "images unknown": "It is unknown which items share an image, so they count as independent.",
  "few common items": "Less than 99 % of the items are those of another entry; the two are compared by their intervals.",
  "items differ": "Some items are not those of another entry; the two are tested on the items that both have.",
  "answers differ": "Correct answers or opinion scores differ from another entry; the two are compared by their intervals.",
  "groups differ": "Items are grouped by image differently than in another entry; the larger p-value of both groupings counts.",
};

/** The tags of a row. */
function tagsOf(row) {
  const tags = (row.test_notes ?? []).map(([tag]) => tag);
  const own = {
    precomputed: row.precomputed,
    "unparsed replies": row.unparsed,
    "provider decoding": row.decoded_by_provider,
    "not recomputed": row.unchecked,
  };
  return [...Object.keys(own).filter((tag) => own[tag]), ...new Set(tags)];
}

/** Tags that all of several rows have; only the legend shows them. */
export function sharedTags(rows) {
  return rows.length > 1 ? tagsOf(rows[0]).filter((tag) => rows.every((row) => tagsOf(row).includes(tag))) : [];
}

/** The chips of a row. */
export function chipsOf(row, shared) {
  return tagsOf(row).filter((tag) => !shared.includes(tag)).map(chip);
}

/** A chip in a row; the item of the legend with the same name explains it. */
function chip(text) {
  const element = make("span", { className: "chip" }, text);
  element.setAttribute("aria-describedby", idOf(text));
  return element;
}

/** The explanations of the chips in some rows. */
export function legendItems(rows) {
  const [found, shared] = [new Set(rows.flatMap(tagsOf)), sharedTags(rows)];
  const item = (tag) => [make("span", { className: "chip" }, tag), " ", shared.includes(tag) ? "All entries: " : "", MEANINGS[tag]];
  return Object.keys(MEANINGS).filter((tag) => found.has(tag)).map((tag) => make("li", { id: idOf(tag) }, ...item(tag)));
}

/** What the notes say of each entry, in a closed list; empty without notes. */
export function entryNotes(rows) {
  const noted = rows.filter((row) => row.test_notes);
  if (!noted.length) return [];
  const items = noted.map((row) => make("li", {}, make("bdi", {}, row.model), `: ${row.test_notes.map(([, text]) => text).join("; ")}`));
  const list = make("ul", { className: "note notes" }, ...items);
  return [make("details", {}, make("summary", {}, "How the entries differ"), list)];
}

function idOf(tag) {
  return `chip-${tag.replaceAll(" ", "-")}`;
}
