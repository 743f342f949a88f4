// A forest plot on one axis: in each row a dot with its interval, and the chance level as a vertical line.

import { make } from "./elements.js";

export class Axis {
  /**
   * @param values all scores and bounds to plot
   * @param chance the chance level, null if unknown
   * @param scale the factor that turns values into shown values
   */
  constructor(values, chance, scale) {
    const known = [...values, chance].filter((value) => typeof value === "number");
    const [low, high] = [Math.min(...known), Math.max(...known)];
    // Space for half a dot, and for tick labels near the ends.
    const room = 0.06 * (high - low) || 0.05 / scale;
    [this.low, this.high] = [low - room, high + room];
    this.scale = scale;
    this.chance = chance;
    this.ticks = ticks(this.low * scale, this.high * scale);
  }

  /** The labels of the ticks. */
  head() {
    const label = (text, value, className) => {
      const element = make("span", { className }, text);
      element.style.left = this.#position(value);
      return element;
    };
    // Labels at an edge would overlap the next column.
    const inside = this.ticks.filter((tick) => Math.abs(this.#share(tick / this.scale) - 0.5) < 0.45);
    const axis = make("div", { className: "axis" }, ...inside.map((tick) => label(String(tick), tick / this.scale, "")));
    if (typeof this.chance === "number") {
      axis.append(label("chance", this.chance, this.#share(this.chance) < 0.15 ? "chance at-start" : "chance"));
    }
    return axis;
  }

  /** Draw ticks and chance level as the background of each row, so that they form lines. */
  drawOn(table) {
    const line = (value, color, width) =>
      `linear-gradient(${color}, ${color}) ${this.#position(value)} 0 / ${width}px 100% no-repeat`;
    const chance = typeof this.chance === "number" ? [line(this.chance, "var(--chance)", 2)] : [];
    const grid = this.ticks.map((tick) => line(tick / this.scale, "var(--line)", 1));
    table.style.setProperty("--axis", [...chance, ...grid].join(", "));
  }

  /** The plot cell of a row; empty if the score is undefined. */
  mark(value, low, high) {
    const cell = make("td", { className: "plot" });
    if (typeof value !== "number") return cell;
    const mark = make("div", { className: "forest" });
    mark.setAttribute("aria-hidden", "true");
    mark.style.setProperty("--value", this.#position(value));
    if (typeof low === "number" && typeof high === "number") {
      mark.style.setProperty("--low", this.#position(low));
      mark.style.setProperty("--width", `${(100 * (high - low)) / (this.high - this.low)}%`);
    }
    cell.append(mark);
    return cell;
  }

  #share(value) {
    return (value - this.low) / (this.high - this.low);
  }

  #position(value) {
    return `${(100 * this.#share(value)).toFixed(2)}%`;
  }
}

/** Three to six round numbers between two. */
function ticks(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((digit) => digit * power).find((size) => size >= rough);
  const ticks = [];
  for (let tick = Math.ceil(low / step); tick * step <= high; tick += 1) ticks.push(Number((tick * step).toPrecision(6)));
  return ticks;
}
