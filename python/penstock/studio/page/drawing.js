// The graph as it is drawn: filters as boxes, streams as arrows, with their figures.
import { amount, percent } from "./figures.js";
import { portFilter } from "./edits.js";

export class Drawing {
  constructor(element, picked) {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const [ink, paper, soft, blue, red] = dark ? ["#e3e6ea", "#16191d", "#2a2f36", "#63b0f5", "#ff7b7b"] : ["#1b1f24", "#ffffff", "#eef1f5", "#0b63b0", "#c0262d"];
    this.cy = cytoscape({
      container: element, wheelSensitivity: 0.3, maxZoom: 2,
      style: [
        { selector: "node", style: { label: "data(label)", shape: "round-rectangle", width: 150, height: 58, "background-color": soft, "border-width": 1, "border-color": ink, "text-valign": "center", "text-wrap": "wrap", "font-size": 12, color: ink } },
        { selector: "node.program", style: { "border-style": "dashed" } },
        { selector: "edge", style: { label: "data(label)", "curve-style": "bezier", "target-arrow-shape": "triangle", "line-color": ink, "target-arrow-color": ink, width: "data(width)", "font-size": 10, color: ink, "text-background-color": paper, "text-background-opacity": 1, "text-background-padding": 2, "text-wrap": "wrap" } },
        { selector: "edge.feedback", style: { "line-style": "dashed" } },
        { selector: ".bottleneck", style: { "border-color": red, "border-width": 3 } },
        { selector: ".wrong", style: { "background-color": red, color: paper } },
        { selector: ":selected", style: { "border-color": blue, "border-width": 3, "line-color": blue, "target-arrow-color": blue } },
      ],
    });
    this.cy.on("select unselect", () => picked(this.cy.$(":selected").map((each) => each.id())));
  }

  /// Boxes and arrows of the graph; laid out again where some have come or gone.
  show(graph, seen) {
    const wanted = new Map();
    for (const filter of graph.filters) wanted.set(filter.name, { group: "nodes", data: { id: filter.name } });
    for (const stream of graph.streams) {
      const id = `${stream.from} ${stream.to}`;
      wanted.set(id, { group: "edges", data: { id, source: portFilter(stream.from), target: portFilter(stream.to), width: 1 } });
    }
    let changed = false;
    this.cy.batch(() => {
      this.cy.elements().forEach((each) => { if (!wanted.has(each.id())) { each.remove(); changed = true; } });
      for (const [id, element] of wanted) if (this.cy.getElementById(id).empty()) { this.cy.add(element); changed = true; }
      for (const filter of graph.filters) this.#figuresOf(filter, seen);
      for (const stream of graph.streams) {
        const each = seen.streams.get(`${stream.from} ${stream.to}`);
        const edge = this.cy.getElementById(`${stream.from} ${stream.to}`);
        edge.toggleClass("feedback", stream.feedback);
        edge.data({ label: each ? `${amount(each.rate)}/s` : "", width: each ? 1 + Math.min(5, Math.log10(1 + each.rate)) : 1 });
      }
    });
    if (changed) this.cy.layout({ name: "dagre", rankDir: "LR", nodeSep: 30, rankSep: 90, padding: 24 }).run();
  }

  #figuresOf(filter, seen) {
    const each = seen.filters.get(filter.name);
    const node = this.cy.getElementById(filter.name);
    node.toggleClass("bottleneck", seen.bottleneck === filter.name);
    node.toggleClass("program", filter.of_program);
    const copies = each && each.copies !== 1 ? ` x ${each.copies}` : "";
    node.data("label", each ? `${filter.name}${copies}\n${amount(each.rate)}/s, load ${percent(each.load)}\nqueue ${each.queue}` : filter.name);
  }

  /// Marks the filters that these sentences name.
  blame(problems) {
    this.cy.nodes().removeClass("wrong");
    this.cy.nodes().filter((node) => problems.some((problem) => problem.includes(`'${node.id()}'`) || problem.includes(`'${node.id()}.`))).addClass("wrong");
  }

  select(id) {
    this.cy.elements().unselect();
    this.cy.getElementById(id).select();
  }
}
