// Figures over time, and shares of the time.
import { make } from "./studio.js";
import { percent } from "./figures.js";

const COLOURS = ["#0b63b0", "#c0262d", "#2a8a3e", "#9a6700", "#7a3fb5", "#00798c", "#b0457b", "#5b6770"];
const LOOKS = 240; // that are kept

/// Firings a second of each filter.
export class Rates {
  constructor(element) { this.element = element; this.clear(); }

  clear() { this.times = []; this.series = new Map(); this.plot?.destroy(); this.plot = null; }

  add(seconds, seen) {
    if (this.times.length && seconds <= this.times.at(-1)) return;
    this.times.push(seconds);
    for (const name of seen.filters.keys()) if (!this.series.has(name)) { this.series.set(name, new Array(this.times.length - 1).fill(null)); this.plot?.destroy(); this.plot = null; }
    for (const [name, values] of this.series) values.push(seen.filters.get(name)?.rate ?? null);
    if (this.times.length > LOOKS) { this.times.shift(); for (const values of this.series.values()) values.shift(); }
    const data = [this.times, ...this.series.values()];
    if (this.plot) return this.plot.setData(data);
    const axis = { stroke: getComputedStyle(document.body).color, grid: { stroke: "#8883", width: 1 } };
    this.plot = new uPlot({
      width: this.element.clientWidth - 48 || 800, height: Math.max(110, this.element.clientHeight - 80), scales: { x: { time: false } },
      axes: [{ ...axis, label: "seconds since the run began" }, { ...axis, label: "firings a second", size: 70 }],
      series: [{ label: "s" }, ...[...this.series.keys()].map((label, i) => ({ label, stroke: COLOURS[i % COLOURS.length], width: 2 }))],
    }, data, this.element);
  }
}

const PARTS = [["works", "#2a8a3e"], ["waits for input", "#0b63b0"], ["waits for room", "#c0262d"], ["waits for a target", "#9a6700"]];

/// One bar a filter: what its copies did with their time.
export function showWaits(element, seen) {
  const key = make("p", { className: "key dim" }, ...PARTS.flatMap(([name, colour]) => [Object.assign(make("i"), { style: `background:${colour}` }), name]));
  const bars = [...seen.filters].map(([name, each]) => {
    const shares = [each.load, ...each.waits];
    const sum = Math.max(1, shares.reduce((a, b) => a + b, 0));
    return make("div", { className: "bar" }, name, make("div", {}, ...shares.map((share, i) => Object.assign(make("i", { title: `${PARTS[i][0]}: ${percent(share)}` }), { style: `width:${(100 * share) / sum}%;background:${PARTS[i][1]}` }))), make("span", { textContent: percent(each.load) }));
  });
  element.replaceChildren(key, ...bars);
}
