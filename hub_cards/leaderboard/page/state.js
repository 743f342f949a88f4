// The state of the page, stored in its address: #board=...&sort=...&order=...&q=...&papers=0&parts=1 and so on.

const DEFAULTS = {
  board: "", sort: "", order: "", q: "", judge: "", size: "", license: "", year: "", papers: "1", parts: "0", raw: "0",
};

/** The state in the address, completed from DEFAULTS. */
export function readState() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const names = Object.keys(DEFAULTS);
  return Object.fromEntries(names.map((name) => [name, parameters.get(name) ?? DEFAULTS[name]]));
}

/** The address of a state, without values that equal DEFAULTS. */
export function addressOf(state) {
  const changed = Object.entries(state).filter(([name, value]) => value !== DEFAULTS[name]);
  return `#${new URLSearchParams(changed)}`;
}

/**
 * Write the state into the address.
 *
 * @param state as from readState
 * @param isStep whether the browser's Back button returns to the previous state
 */
export function writeState(state, isStep) {
  const hash = addressOf(state);
  const address = `${location.pathname}${location.search}${hash === "#" ? "" : hash}`;
  if (isStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  showOutside();
}

/** In a Space the page is an iframe, and people copy the address of the outer page. */
export function showOutside() {
  if (window.parent !== window) window.parent.postMessage({ hash: location.hash.slice(1) }, "https://huggingface.co");
}
