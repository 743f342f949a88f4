// Building elements. All text is inserted as text; the page never parses HTML.

const RUN = /^results\/[0-9a-f]{20}\.json$/;

/** An element with properties and children; a child that is a string becomes text. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** A link to an https address or to a run in this folder; for any other address, the children without a link. */
export function link(address, ...children) {
  const href = safeAddress(address);
  const properties = { href, target: "_blank", rel: "noopener noreferrer nofollow" };
  return href === null ? make("span", {}, ...children) : make("a", properties, ...children);
}

function safeAddress(address) {
  if (typeof address !== "string") return null;
  if (RUN.test(address)) return address;
  try {
    const url = new URL(address);
    return url.protocol === "https:" && !url.username && !url.password ? url.href : null;
  } catch {
    return null;
  }
}

/** A name that submitters chose, isolated from the surrounding text direction; with an address, a link. */
export function named(text, address = null) {
  // Break lines after a slash rather than within a word.
  const parts = String(text).split(/(?<=\/)/).flatMap((part, index) => (index ? [make("wbr"), part] : [part]));
  return make("bdi", { className: "name" }, link(address, ...parts));
}
