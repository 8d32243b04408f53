// Edits as the door takes them, and what takes each of them back.

export const portFilter = (port) => port.slice(0, port.lastIndexOf("."));

/// The edits that undo these, in the graph as it was before. Null where one cannot be undone.
export function inverse(edits, graph, classes) {
  const filter = (name) => graph.filters.find((each) => each.name === name);
  const stream = (from, to) => graph.streams.find((each) => each.from === from && each.to === to);
  const undone = [];
  for (const edit of [...edits].reverse()) {
    switch (edit.do) {
      case "set": {
        const before = filter(edit.filter)?.settings.find((each) => each.name === edit.setting);
        if (before) undone.push({ ...edit, value: before.value });
        break; // of a filter that these edits add: it goes with it
      }
      case "copies": undone.push({ ...edit, count: filter(edit.filter).copies }); break;
      case "place": undone.push({ ...edit, targets: filter(edit.filter).targets }); break;
      case "add": undone.push({ do: "remove", filter: edit.name, how: "hand_over" }); break;
      case "connect": undone.push({ do: "disconnect", from: edit.from, to: edit.to }); break;
      case "change": undone.push({ ...options(stream(edit.from, edit.to)), do: "change" }); break;
      case "disconnect": {
        const before = stream(edit.from, edit.to);
        if (before) undone.push({ ...options(before), do: "connect" });
        break;
      }
      case "remove": {
        const was = filter(edit.filter);
        const kind = classes.find((each) => each.type === was?.type);
        if (!kind) return null; // nobody outside the program can make such a filter
        undone.push({ do: "add", name: was.name, class: kind.name, copies: was.copies, settings: Object.fromEntries(was.settings.map((each) => [each.name, each.value])) });
        for (const each of graph.streams) if (portFilter(each.from) === was.name || portFilter(each.to) === was.name) undone.push({ ...options(each), do: "connect" });
        break;
      }
      default: return null;
    }
  }
  // What is taken out is disconnected with it.
  const gone = new Set(undone.filter((each) => each.do === "remove").map((each) => each.filter));
  return undone.filter((each) => each.do !== "disconnect" || !(gone.has(portFilter(each.from)) || gone.has(portFilter(each.to))));
}

function options(stream) {
  const made = { from: stream.from, to: stream.to, capacity: stream.capacity, policy: stream.policy, when_full: stream.when_full };
  if (stream.ordered) made.ordered = true;
  if (stream.feedback) made.feedback = true;
  return made;
}

/// A name that no filter has.
export function freshName(kind, graph) {
  const taken = new Set(graph.filters.map((each) => each.name));
  const base = kind.split(":").pop();
  for (let number = 1; ; number++) if (!taken.has(number === 1 ? base : `${base}${number}`)) return number === 1 ? base : `${base}${number}`;
}

/// Puts a filter of a class into a stream.
export function putInto(stream, kind, name) {
  return [
    { do: "disconnect", from: stream.from, to: stream.to },
    { do: "add", name, class: kind.name },
    { do: "connect", from: stream.from, to: `${name}.${kind.inputs[0].name}` },
    { do: "connect", from: `${name}.${kind.outputs[0].name}`, to: stream.to },
  ];
}
