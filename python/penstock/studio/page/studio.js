// The page: looks at a run, shows it, and sends edits to it.
import { Drawing } from "./drawing.js";
import { amount, duration, figures, percent } from "./figures.js";
import { freshName, inverse, putInto } from "./edits.js";
import { Rates, showWaits } from "./plots.js";
import { File } from "./file.js";

const EVERY = 0.5; // seconds between two looks
const by = (id) => document.getElementById(id);

/// What the studio answers; throws an Error with `problems`.
export async function ask(path, said) {
  const options = said === undefined ? {} : { method: "POST", body: JSON.stringify(said), headers: { "Content-Type": "application/json" } };
  const answer = await fetch(`api/${path}`, options);
  const body = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(body.error), { problems: body.problems ?? [] });
  return body;
}

/// An element with properties and children.
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

export function show(title, text) {
  by("shown-text").textContent = text;
  by("shown").setAttribute("aria-label", title);
  by("shown").showModal();
}

class Studio {
  run = ""; graph = null; seen = null; before = null; classes = []; undo = []; picked = []; busy = Promise.resolve();

  constructor() {
    this.drawing = new Drawing(by("canvas"), (picked) => { this.picked = picked; this.#details(); });
    this.rates = new Rates(by("rates"));
    by("undo").onclick = () => this.#takeBack();
    by("close").onclick = () => this.#tell("close");
    by("stop").onclick = () => this.#tell("stop");
    by("xml").onclick = () => this.#xml();
    by("run").onchange = (event) => this.open(event.target.value);
    by("search").oninput = () => this.#palette();
    by("event").onsubmit = (event) => { event.preventDefault(); this.#send(); };
    for (const tab of document.querySelectorAll("#tabs button")) tab.onclick = () => this.tab(tab.dataset.tab);
  }

  tab(name) {
    for (const each of document.querySelectorAll("#tabs button, .tab")) each.classList.toggle("on", (each.dataset.tab ?? each.id) === name);
    if (name === "report" && this.run) ask(`run/${this.#path()}/report`).then((said) => { by("report").textContent = said.report; }, (error) => { by("report").textContent = error.message; });
  }

  /// Looks at a run until it has ended, or another one is opened.
  async open(run) {
    this.run = run; this.before = this.graph = null; this.undo = []; this.rates.clear();
    by("undo").disabled = true;
    if (!run) return;
    try {
      this.classes = (await ask(`run/${this.#path()}/components`)).components;
      this.#palette();
      const answer = await fetch(`api/run/${this.#path()}/watch?every=${EVERY}`);
      if (!answer.ok) throw new Error((await answer.json()).error);
      let left = "";
      for (const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
        const { done, value } = await reader.read();
        if (done || this.run !== run) { reader.cancel(); break; }
        const lines = (left + value).split("\n");
        left = lines.pop();
        for (const line of lines) this.#look(JSON.parse(line));
      }
      if (this.run === run) by("state").textContent = "The run has ended; this was the last look at it.";
    } catch (error) {
      if (this.run === run) by("state").textContent = error.message;
    }
  }

  #path() { return encodeURIComponent(this.run); }

  #look(graph) {
    this.seen = figures(graph, this.before);
    this.before = this.graph = graph;
    by("sketch").hidden = true;
    by("name").textContent = graph.name;
    by("state").textContent = `process ${graph.process}, ${duration(graph.seconds)}${this.seen.bottleneck ? `, bottleneck: ${this.seen.bottleneck}` : ""}${graph.lost ? `, ${graph.lost} buffers lost` : ""}`;
    this.drawing.show(graph, this.seen);
    this.rates.add(graph.seconds, this.seen);
    showWaits(by("waits"), this.seen);
    this.#figures();
    const to = by("event-to");
    const names = ["", ...graph.filters.map((each) => each.name)];
    if (names.join("\n") !== [...to.options].map((each) => each.value).join("\n")) to.replaceChildren(...names.map((name) => make("option", { value: name, textContent: name || "all filters" })));
  }

  // ---- edits ----

  /// Sends edits, one batch behind the other. Refused, they are shown beside the place and nothing has changed.
  edit(edits) {
    const batch = this.busy.then(() => this.#edit(edits, true));
    this.busy = batch.catch(() => {});
    return batch;
  }

  async #edit(edits, keep) {
    const back = keep && this.graph ? inverse(edits, this.graph, this.classes) : null;
    try {
      await ask(`run/${this.#path()}/edits`, { edits });
      this.#trouble([]);
      if (keep) this.undo.push(back);
      this.#look(await ask(`run/${this.#path()}/graph`));
      this.#details();
    } catch (error) {
      this.#trouble(error.problems?.length ? error.problems : [error.message]);
      throw error;
    } finally {
      by("undo").disabled = this.undo.at(-1) == null;
    }
  }

  async #takeBack() {
    const back = this.undo.at(-1);
    if (!back) return;
    try {
      await this.#edit(back, false);
      this.undo.pop();
    } catch { /* it is shown */ }
    by("undo").disabled = this.undo.at(-1) == null;
  }

  #trouble(problems) {
    by("trouble").hidden = problems.length === 0;
    by("trouble").textContent = problems.length ? `Nothing was changed:\n${problems.join("\n")}` : "";
    this.drawing.blame(problems);
  }

  async #tell(what) {
    try { await ask(`run/${this.#path()}/${what}`, {}); } catch (error) { this.#trouble([error.message]); }
  }

  async #send() {
    const text = by("event-value").value.trim();
    let value = text || false;
    try { value = JSON.parse(text || "false"); } catch { /* a text, then */ }
    try {
      const { reached } = await ask(`run/${this.#path()}/events`, { name: by("event-name").value, value, to: by("event-to").value });
      by("state").textContent = `${reached} ${reached === 1 ? "copy" : "copies"} of filters got it`;
      this.#trouble([]);
    } catch (error) { this.#trouble([error.message]); }
  }

  async #xml() {
    try { show("The graph as an application", (await ask(`run/${this.#path()}/xml`)).xml); } catch (error) { this.#trouble([error.message]); }
  }

  // ---- the palette ----

  #palette() {
    const wanted = by("search").value.toLowerCase();
    by("classes").replaceChildren(...this.classes.filter((each) => `${each.name} ${each.documentation}`.toLowerCase().includes(wanted)).map((kind) => {
      const item = make("li", { tabIndex: 0, title: "Adds it: into the stream that is picked, or beside the others" }, kind.name, make("small", { textContent: kind.documentation }));
      item.dataset.name = kind.name;
      item.onclick = () => this.#add(kind);
      item.onkeydown = (event) => { if (event.key === "Enter") this.#add(kind); };
      return item;
    }));
  }

  async #add(kind) {
    if (!this.graph) return;
    const name = freshName(kind.name, this.graph);
    const stream = this.graph.streams.find((each) => this.picked.includes(`${each.from} ${each.to}`));
    const fits = stream && kind.inputs.length === 1 && kind.outputs.length === 1;
    if (stream && !fits) return this.#trouble([`'${kind.name}' has not one input and one output, so it cannot be put into a stream: add it by itself, and connect its ports`]);
    try {
      await this.edit(fits ? putInto(stream, kind, name) : [{ do: "add", name, class: kind.name }]);
      this.drawing.select(name);
    } catch { /* it is shown */ }
  }

  // ---- what is picked ----

  #details() {
    const graph = this.graph;
    if (!graph || this.picked.length === 0) return by("details").replaceChildren(make("p", { className: "dim", textContent: "Click a filter or a stream." }));
    const filter = graph.filters.find((each) => each.name === this.picked[0]);
    const stream = graph.streams.find((each) => `${each.from} ${each.to}` === this.picked[0]);
    by("details").replaceChildren(...(filter ? this.#filter(filter) : stream ? this.#stream(stream) : []));
    this.#figures();
  }

  /// The figures of what is picked, which change; the inputs beside them stay as somebody types.
  #figures() {
    const table = by("figures");
    if (!table) return;
    const filter = this.seen.filters.get(this.picked[0]);
    const stream = this.seen.streams.get(this.picked[0]);
    const rows = filter
      ? [["firings", amount(filter.firings)], ["a second", amount(filter.rate)], ["each", filter.service ? duration(filter.service) : "?"], ["load", percent(filter.load)], ["waits for input", percent(filter.waits[0])], ["waits for room", percent(filter.waits[1])], ["waits for a target", percent(filter.waits[2])], ["queue", filter.queue], ["copies now", filter.copies], ["failed", filter.failures], ["dropped", filter.dropped]]
      : stream ? [["buffers", amount(stream.buffers)], ["a second", amount(stream.rate)], ["bytes a second", amount(stream.bytes, "B")], ["room at each sink", stream.capacity], ["dropped", stream.dropped]] : [];
    table.replaceChildren(...rows.map(([name, value]) => make("tr", {}, make("td", { textContent: name }), make("td", { textContent: value }))));
  }

  #filter(filter) {
    const change = (edits) => this.edit(edits).catch(() => {});
    const settings = filter.settings.map((setting) => {
      const range = [setting.unit, setting.least !== undefined ? `from ${setting.least}` : "", setting.most !== undefined ? `to ${setting.most}` : ""].filter(Boolean).join(" ");
      const input = make("input", { id: `setting-${setting.name}`, value: String(setting.value) });
      input.onchange = () => change([{ do: "set", filter: filter.name, setting: setting.name, value: valueOf(setting.kind, input.value) }]);
      return make("tr", {}, make("td", {}, setting.name, make("small", { textContent: range })), make("td", {}, input));
    });
    const copies = make("input", { id: "copies", type: "number", min: 0, value: filter.copies, title: "0: as many as the pressure asks for", disabled: !filter.may_be_copied && filter.copies === 1 });
    copies.onchange = () => change([{ do: "copies", filter: filter.name, count: Number(copies.value) }]);
    const remove = make("button", { id: "remove", className: "danger", textContent: "Take out" });
    remove.onclick = () => change([{ do: "remove", filter: filter.name, how: "hand_over" }]);
    const rewire = make("div");
    for (const output of filter.outputs) {
      const sinks = this.graph.filters.flatMap((each) => each.inputs.filter((input) => input.type === output.type).map((input) => `${each.name}.${input.name}`));
      const to = make("select", { id: `connect-${output.name}` }, make("option", { value: "", textContent: `${output.name} to ...` }), ...sinks.map((sink) => make("option", { value: sink, textContent: sink })));
      to.onchange = () => { if (to.value) change([{ do: "connect", from: `${filter.name}.${output.name}`, to: to.value }]); to.value = ""; };
      rewire.append(make("div", { className: "row" }, to));
    }
    return [
      make("h2", { textContent: filter.name }), make("p", { className: "dim", textContent: filter.type }), make("table", {}, make("tbody", { id: "figures" })),
      ...(settings.length ? [make("h2", { textContent: "Settings" }), make("table", {}, ...settings)] : []),
      make("h2", { textContent: "Copies" }), make("div", { className: "row" }, copies),
      ...(filter.outputs.length ? [make("h2", { textContent: "Connect" }), rewire] : []),
      ...(filter.of_program ? [] : [make("div", { className: "row" }, remove)]),
    ];
  }

  #stream(stream) {
    const change = (edits) => this.edit(edits).catch(() => {});
    const capacity = make("input", { id: "capacity", type: "number", min: 0, value: stream.capacity, title: "0: it finds its own" });
    capacity.onchange = () => change([{ do: "change", from: stream.from, to: stream.to, capacity: Number(capacity.value), policy: stream.policy, when_full: stream.when_full, ordered: stream.ordered, feedback: stream.feedback }]);
    const remove = make("button", { id: "disconnect", className: "danger", textContent: "Disconnect" });
    remove.onclick = () => change([{ do: "disconnect", from: stream.from, to: stream.to }]);
    return [
      make("h2", { textContent: `${stream.from} to ${stream.to}` }), make("table", {}, make("tbody", { id: "figures" })),
      make("h2", { textContent: "Capacity" }), make("div", { className: "row" }, capacity),
      make("p", { className: "dim", textContent: "A class that you click in the list goes into this stream." }), make("div", { className: "row" }, remove),
    ];
  }
}

function valueOf(kind, text) {
  if (kind === "text") return text;
  try { return JSON.parse(text); } catch { return text; } // what it cannot be is refused, with the reason
}

const studio = new Studio();
window.studio = studio; // for tests, and for whoever looks behind
const start = await ask("start");
if (start.file) new File(studio, start.file, start.text);
async function listRuns() {
  const { runs } = await ask("runs");
  const all = ["", ...runs];
  if (all.join("\n") !== [...by("run").options].map((each) => each.value).join("\n")) by("run").replaceChildren(...all.map((name) => make("option", { value: name, textContent: name || "-" })));
  by("run").value = studio.run;
}
if (start.run) studio.open(start.run);
listRuns();
setInterval(() => listRuns().catch(() => { by("state").textContent = "The studio has ended."; }), 2000);
