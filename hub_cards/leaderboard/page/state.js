// What is shown, as kept in the page's address: #board=...&sort=...&order=...&q=...&judge=...&papers=0&parts=1

const DEFAULTS = { board: "", sort: "", order: "", q: "", judge: "", papers: "1", parts: "0" };

/** The state in the address; what is missing is as in DEFAULTS. */
export function readState() {
  const found = new URLSearchParams(location.hash.slice(1));
  const names = Object.keys(DEFAULTS);
  return Object.fromEntries(names.map((name) => [name, found.get(name) ?? DEFAULTS[name]]));
}

/**
 * Put the state into the address.
 *
 * @param state as from readState
 * @param isStep whether the browser's Back is to return to the state before
 */
export function writeState(state, isStep) {
  const changed = Object.entries(state).filter(([name, value]) => value !== DEFAULTS[name]);
  const hash = new URLSearchParams(changed).toString();
  const address = `${location.pathname}${location.search}${hash ? `#${hash}` : ""}`;
  if (isStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  // In a Space the page is a frame, and the address that people copy is the outer one's.
  if (window.parent !== window) window.parent.postMessage({ hash }, "https://huggingface.co");
}
