"""A timeline as a picture that can be zoomed, and the same data for Perfetto."""

import base64
import json
from typing import Any


def timeline_figure(perfetto: str, number: int, name: str, coloured: str = "procedure") -> str:
    """HTML of one timeline. perfetto: JSON as Machine.timeline_json gives it; number: of the figure on its page; coloured: what has a colour each."""
    tracks, names, events = _compact(json.loads(perfetto))
    if not events:
        return "<p class='note'>No task was recorded.</p>"
    data = {"tracks": tracks, "names": names, "events": events}
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    whole = base64.b64encode(perfetto.encode()).decode()
    return (
        f"<figure class='timeline'><canvas id='timeline{number}' aria-label='Timeline of the tasks'></canvas>"
        f"<figcaption><output id='said{number}'>One row a thread, one colour a {coloured}. Turn the wheel to zoom, drag to move, double-click for all of it.</output>"
        f"<a download='{name}-timeline.json' href='data:application/json;base64,{whole}'>Save for ui.perfetto.dev</a></figcaption></figure>"
        f"<script type='application/json' id='data{number}'>{text}</script><script>drawTimeline({number})</script>"
    )


def _compact(trace: Any) -> tuple[list[str], list[str], list[list[float]]]:
    """Names of the tracks, names of the procedures, and [track, procedure, begin, duration] in microseconds."""
    entries = trace["traceEvents"] if isinstance(trace, dict) else trace
    about = [entry for entry in entries if entry.get("ph") == "M"]
    processes = {entry["pid"]: entry["args"]["name"] for entry in about if entry["name"] == "process_name"}
    track_names = {
        _track(entry): (f"{processes[entry['pid']]}: " if len(processes) > 1 else "") + entry["args"]["name"] for entry in about if entry["name"] == "thread_name"
    }
    whole = [entry for entry in entries if entry.get("ph") == "X"]
    if any(entry.get("cat") == "firing" for entry in whole):  # the tasks around them say nothing more
        whole = [entry for entry in whole if not entry["name"].startswith("penstock::streaming::")]
    used = sorted({_track(entry) for entry in whole})
    rows = {track: row for row, track in enumerate(used)}
    names: dict[str, int] = {}
    events = []
    for entry in whole:
        procedure = names.setdefault(entry["name"].rsplit("::", 1)[-1], len(names))
        events.append([rows[_track(entry)], procedure, round(entry["ts"], 3), round(entry["dur"], 3)])
    return [track_names.get(track, str(track[1])) for track in used], list(names), events


def _track(entry: dict[str, Any]) -> tuple[int, int]:
    """Threads are numbered apart in each process."""
    return entry.get("pid", 0), entry["tid"]
