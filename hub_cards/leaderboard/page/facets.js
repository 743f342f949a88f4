// The filters of models: size, licence and the year of the run.

const UNKNOWN = "unknown";
const SIZES = [
  [3e9, "up to 3 B"],
  [1e10, "3 to 10 B"],
  [4e10, "10 to 40 B"],
  [Infinity, "over 40 B"],
];

/** The value of a row for each filter. */
const FACETS = {
  size: (row) => (row.parameters ? SIZES.find(([most]) => row.parameters <= most)[1] : UNKNOWN),
  license: (row) => row.license ?? UNKNOWN,
  year: (row) => row.started.slice(0, 4),
};
export const FACET_NAMES = Object.keys(FACETS);

/** The values of a filter that occur in rows, in order, "unknown" last. */
export function facetValues(name, rows) {
  const values = new Set(rows.map(FACETS[name]));
  const ordered = name === "size" ? SIZES.map(([, label]) => label) : [...values].filter((value) => value !== UNKNOWN).sort();
  return [...ordered, UNKNOWN].filter((value) => values.has(value));
}

/** Whether a row has the chosen value of each filter; an empty choice accepts all. */
export function fitsFacets(row, chosen) {
  return FACET_NAMES.every((name) => !chosen[name] || FACETS[name](row) === chosen[name]);
}

/** Size and licence of a model as text, as far as they are known. */
export function aboutModel({ parameters, license }) {
  return [parameters && size(parameters), license].filter(Boolean).join(" · ");
}

function size(parameters) {
  return parameters < 1e9 ? `${Math.ceil(parameters / 1e6)} M` : `${(parameters / 1e9).toFixed(1)} B`;
}
