// The file that the studio was started with: checked as one types, saved, run, transformed, compiled.
import { ask, make, show } from "./studio.js";

const by = (id) => document.getElementById(id);
const PAUSE = 300; // ms behind the last key before it is checked

export class File {
  constructor(studio, name, text) {
    this.studio = studio;
    this.text = by("file-text");
    this.text.value = text;
    this.saved = text;
    by("file-tab").hidden = false;
    by("file-tab").textContent = name;
    studio.tab("file");
    this.text.oninput = () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.check(), PAUSE); this.#mark(); };
    by("file-save").onclick = () => this.#save();
    by("file-run").onclick = () => this.#run();
    by("file-halt").onclick = () => this.#do("halt", {});
    by("file-transform").onclick = async () => {
      const made = await this.#do("transform", { text: this.text.value, passes: [by("file-pass").value] });
      if (made) { this.text.value = made.text; this.check(); this.#mark(); }
    };
    by("file-compile").onclick = async () => {
      const made = await this.#do("compile", { text: this.text.value });
      if (made) show("The application in C++", `// main.cpp\n\n${made.program}\n# CMakeLists.txt\n\n${made.build}`);
    };
    ask("passes").then(({ passes }) => by("file-pass").replaceChildren(...passes.map((each) => make("option", { value: each.name, textContent: each.name, title: each.purpose }))));
    this.check();
    setInterval(() => this.#watch(), 500);
  }

  #mark() { by("file-state").textContent = this.text.value === this.saved ? "" : "not saved"; }

  async #do(what, said) {
    try { return await ask(what, said); } catch (error) { by("file-state").textContent = error.message; return null; }
  }

  /// Every mistake, with its place; a click leads there.
  async check() {
    const text = this.text.value;
    const made = await this.#do("check", { text });
    if (!made || text !== this.text.value) return;
    if (made.picture && !this.studio.graph) {
      by("sketch").src = `data:image/svg+xml,${encodeURIComponent(made.picture)}`;
      by("sketch").hidden = false;
    }
    const items = made.findings.map((each) => {
      const item = make("li", { className: each.kind, textContent: `${each.line}:${each.column} ${each.message}` });
      item.onclick = () => {
        const at = text.split("\n").slice(0, each.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + each.column - 1;
        this.text.focus();
        this.text.setSelectionRange(at, at);
      };
      return item;
    });
    by("findings").replaceChildren(...(items.length ? items : [make("li", { textContent: "Nothing is wrong." })]));
  }

  async #save() {
    const text = this.text.value;
    if (await this.#do("save", { text })) { this.saved = text; this.#mark(); return true; }
    return false;
  }

  async #run() {
    if (this.text.value !== this.saved && !(await this.#save())) return;
    const made = await this.#do("begin", {});
    if (made) { this.wanted = made.run; by("file-state").textContent = "begins"; }
  }

  async #watch() {
    let state;
    try { state = await ask("state"); } catch { return; }
    by("output").textContent = state.output;
    by("file-run").disabled = state.runs;
    by("file-halt").disabled = !state.runs;
    if (this.wanted && state.found) { const run = this.wanted; this.wanted = ""; this.#mark(); this.studio.open(run); }
    if (this.wanted && !state.runs) { this.wanted = ""; by("file-state").textContent = `ended with ${state.status}`; }
  }
}
