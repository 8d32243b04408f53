// What a run did between two looks at it: rates, loads and waits, by the names of filters and streams.

const WAITS = ["waits_for_input", "waits_for_output", "waits_for_target"];

/// The figures of `now`, since `before`, or since the run began.
export function figures(now, before) {
  const then = before ? before.seconds : 0;
  const window = Math.max(now.seconds - then, 1e-9);
  const oldFilters = new Map((before?.filters ?? []).map((each) => [each.name, each.statistics]));
  const oldStreams = new Map((before?.streams ?? []).map((each) => [`${each.from} ${each.to}`, each.statistics]));
  const filters = new Map();
  for (const each of now.filters) {
    const is = each.statistics;
    if (!is) continue;
    let was = oldFilters.get(each.name);
    if (!was || was.firings > is.firings) was = Object.fromEntries(Object.keys(is).map((key) => [key, 0])); // another filter has the name now
    const rate = (is.firings - was.firings) / window;
    const waits = WAITS.map((key) => clamp((is[key] * now.seconds - was[key] * then) / window));
    filters.set(each.name, { rate, waits, load: clamp((rate * is.service_us) / 1e6 / Math.max(is.copies, 1)), service: is.service_us / 1e6, queue: is.waiting + is.held_back, ...pick(is, ["copies", "firings", "failures", "dropped"]) });
  }
  const streams = new Map();
  for (const each of now.streams) {
    const is = each.statistics;
    if (!is) continue;
    const key = `${each.from} ${each.to}`;
    let was = oldStreams.get(key);
    if (!was || was.buffers > is.buffers) was = Object.fromEntries(Object.keys(is).map((name) => [name, 0]));
    streams.set(key, { rate: (is.buffers - was.buffers) / window, bytes: Math.max(0, (is.bytes_rate * now.seconds - was.bytes_rate * then) / window), ...pick(is, ["buffers", "dropped", "capacity"]) });
  }
  let bottleneck = "";
  for (const [name, each] of filters) if (each.load > 0.01 && each.load > (filters.get(bottleneck)?.load ?? 0)) bottleneck = name;
  return { filters, streams, bottleneck };
}

const clamp = (value) => Math.min(1, Math.max(0, value));
const pick = (from, keys) => Object.fromEntries(keys.map((key) => [key, from[key]]));

/// Three digits and a prefix.
export function amount(value, unit = "") {
  for (const [prefix, scale] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) if (value >= 0.9995 * scale) return `${(value / scale).toPrecision(3)} ${prefix}${unit}`;
  return `${value >= 100 ? value.toFixed(0) : Number(value.toPrecision(3))} ${unit}`.trim();
}

export function duration(seconds) {
  for (const [unit, scale] of [["s", 1], ["ms", 1e-3], ["us", 1e-6]]) if (seconds >= scale) return `${(seconds / scale).toPrecision(3)} ${unit}`;
  return `${(seconds * 1e9).toPrecision(3)} ns`;
}

export const percent = (value) => `${Math.round(100 * value)} %`;
