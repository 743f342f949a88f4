// Tables wider than the page scroll sideways; shadows mark the edges that hide columns.

import { make } from "./elements.js";

/**
 * Mark the edges of a frame that hide a part of its region.
 *
 * @returns a function that updates the marks after the contents of the region were replaced
 */
export function watchEdges(frame, region, onMove = () => {}) {
  const mark = () => {
    frame.classList.toggle("more-left", region.scrollLeft > 1);
    frame.classList.toggle("more-right", region.scrollWidth - region.clientWidth - region.scrollLeft > 1);
    onMove();
  };
  region.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(region);
  return mark;
}

/** A table in a frame of its own. */
export function framed(table, label) {
  const region = make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: label }, table);
  const frame = make("div", { className: "frame" }, region);
  watchEdges(frame, region);
  return frame;
}

/** The page's table with its headings, which stay visible and scroll sideways with it. */
export class MainFrame {
  #mark;

  constructor() {
    const at = (id) => document.getElementById(id);
    [this.head, this.region] = [at("head"), at("table")];
    const follow = (first, second) => () => {
      if (first.scrollLeft !== second.scrollLeft) first.scrollLeft = second.scrollLeft;
    };
    this.#mark = watchEdges(at("frame"), this.region, follow(this.head, this.region));
    // The Tab key may scroll the headings.
    this.head.addEventListener("scroll", follow(this.region, this.head));
  }

  show(table) {
    if (this.region.firstChild === table.element) return;
    this.head.replaceChildren(table.head);
    this.region.replaceChildren(table.element);
    this.#mark();
  }
}
