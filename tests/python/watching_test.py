"""Looking at graphs that other programs run: top, draw, send."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from penstock import cli, drawing, visits, watching
from penstock.errors import UsageError
from penstock.looks import look

runner = CliRunner()


def invoke(*arguments):
    return runner.invoke(cli.app, [str(argument) for argument in arguments], env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def run_name():
    """Of a program that runs the graph of `colour` again and again."""
    name = f"watched-{os.getpid()}"
    settings = ["rows=1024", "columns=1024", "repetitions=100000"]
    command = [sys.executable, "-m", "penstock.cli", "run", "colour", "--name", name, *(word for each in settings for word in ("--set", each))]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as program:
        try:
            yield name
        finally:
            program.kill()


def until(ask, patience=60):
    """What `ask` returns, as soon as the graph runs: between two runs nobody answers."""
    limit = time.monotonic() + patience
    while True:
        try:
            return ask()
        except visits.RunGone:
            pass
        except UsageError as refused:
            if "the graph has ended" not in str(refused):  # it was found just before its end
                raise
        assert time.monotonic() < limit
        time.sleep(0.002)


def output_of(*arguments, patience=60):
    limit = time.monotonic() + patience
    while (result := invoke(*arguments)).exit_code != 0:
        assert isinstance(result.exception, visits.RunGone) and time.monotonic() < limit, result.exception
        time.sleep(0.002)
    return result.output


def test_top_prints_filters_streams_and_the_bottleneck_of_a_running_graph(run_name):
    text = output_of("top", run_name, "--once")
    assert f"{run_name}, process" in text
    for wanted in ("read", "convert", "firings/s", "bytes/s", "read.rgb -> convert.rgb", "dropped"):
        assert wanted in text


def test_top_lists_what_runs(run_name):
    limit = time.monotonic() + 60
    while run_name[:12] not in invoke("top").output:
        assert time.monotonic() < limit
    while run_name not in visits.running():  # between two runs nobody listens
        assert time.monotonic() < limit


def test_top_says_what_each_filter_waits_for(run_name):
    assert "'read'" in output_of("top", run_name, "--waits")


def test_the_live_view_shows_the_graph_and_ends_at_q(run_name):
    until(lambda: visits.ask(run_name, "graph"))
    terminal, end = pty.openpty()
    code = f"import sys; sys.argv = ['penstock', 'top', '{run_name}', '--every', '0.05']\nfrom penstock import cli, visits\n" + PATIENT
    with subprocess.Popen([sys.executable, "-c", code], stdin=end, stdout=end, stderr=end, env={**os.environ, "TERM": "xterm", "COLUMNS": "150"}) as program:
        os.close(end)
        seen = b""
        limit = time.monotonic() + 60
        while b"sorted by rate" not in seen:
            assert time.monotonic() < limit and program.poll() is None, seen[-2000:]
            if select.select([terminal], [], [], 0.1)[0]:
                seen += os.read(terminal, 1 << 16)
            if b"sorted by load" in seen and b"sorted by rate" not in seen:
                os.write(terminal, b"s")
        os.write(terminal, b"q")
        while select.select([terminal], [], [], 0.1)[0]:
            try:
                if not os.read(terminal, 1 << 16):
                    break
            except OSError:  # the other end is closed
                break
        assert program.wait(30) == 0
    os.close(terminal)
    assert b"convert" in seen


# Runs of this program are short: the view asks again until there is one.
PATIENT = """
honest = visits.ask
def ask(*words, **options):
    while True:
        try:
            return honest(*words, **options)
        except visits.RunGone:
            pass
visits.ask = ask
cli.main()
"""


def test_draw_makes_a_picture_of_a_running_graph(run_name, tmp_path):
    output_of("draw", run_name, "--output", tmp_path / "deep" / "graph.dot")
    assert "digraph" in (tmp_path / "deep" / "graph.dot").read_text()
    if drawing.shutil.which("dot"):
        output_of("draw", run_name, "--output", tmp_path / "graph.svg")
        text = (tmp_path / "graph.svg").read_text()
        assert "<svg" in text and "convert" in text


def test_an_event_that_nobody_handles_is_told(run_name):
    with pytest.raises(UsageError, match="reaches nobody"):
        until(lambda: visits.send(run_name, "pause", True))


def test_a_name_under_which_nothing_runs_is_told_with_exit_status_2(monkeypatch, capsys):
    for command in (["top", "no-such-run", "--once"], ["draw", "no-such-run"], ["send", "no-such-run", "pause"]):
        monkeypatch.setattr("sys.argv", ["penstock", *command])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert caught.value.code == 2 and "no graph runs under the name 'no-such-run'" in capsys.readouterr().err


def test_run_writes_the_graph_of_an_application_and_draw_reads_it(tmp_path, monkeypatch):
    file, picture = tmp_path / "colour.json", tmp_path / "colour.dot"
    result = invoke("run", "colour", "--set", "rows=128", "--set", "columns=128", "--set", "repetitions=1", "--graph", file)
    assert result.exit_code == 0, result.output
    said = json.loads(file.read_text())
    names = [each["name"] for each in said["filters"]]
    assert "read" in names and all("statistics" in each for each in said["filters"])
    assert {each["from"].rpartition(".")[0] for each in said["streams"]} <= set(names)
    assert invoke("draw", file, "-o", picture).exit_code == 0 and picture.read_text() == said["drawing"]
    assert invoke("draw", file, "-o", tmp_path / "nothing").exit_code == 2
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = invoke("draw", file, "-o", tmp_path / "colour.svg").exception
    assert isinstance(refused, drawing.GraphvizMissing) and "apt install graphviz" in str(refused)
    assert not (tmp_path / "colour.svg").exists()


def test_an_application_without_filters_has_no_graph_to_write(tmp_path):
    result = invoke("run", "lu", "--set", "rows=64", "--set", "repetitions=1", "--graph", tmp_path / "lu.json")
    assert isinstance(result.exception, UsageError) and "no graph of filters" in str(result.exception)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"drawing": 1}', "\x00"])
def test_a_file_that_holds_no_graph_is_refused(tmp_path, text):
    (tmp_path / "no graph").write_text(text)
    assert "is not a graph" in str(invoke("draw", tmp_path / "no graph").exception)


def test_the_timeline_of_filters_names_their_firings(tmp_path):
    file = tmp_path / "colour.json"
    assert invoke("run", "colour", "--set", "rows=256", "--set", "columns=256", "--set", "repetitions=1", "--trace", file).exit_code == 0
    firings = [event for event in json.loads(file.read_text())["traceEvents"] if event.get("cat") == "firing"]
    assert {"read", "convert"} <= {event["name"] for event in firings}


@pytest.mark.parametrize(
    "text, value", [("true", True), ("false", False), ("12", 12), ("-1", -1), ("0.5", 0.5), ("1e3", 1000.0), ("now", "now"), ("", "")]
)
def test_values_of_events_are_read_as_what_they_look_like(text, value):
    read = watching.parse_value(text)
    assert read == value and type(read) is type(value)


def figures(firings, waits, buffers, bytes_rate):
    filters = {"copies": 2, "firings": firings, "failures": 0, "dropped": 0, "waiting": 3, "held_back": 1, "rate": 0, "service_us": 1000, "load": 0}
    filters |= {"waits_for_input": waits, "waits_for_output": 0, "waits_for_target": 0}
    return filters, {"buffers": buffers, "dropped": 0, "rate": 0, "bytes_rate": bytes_rate}


def said(seconds, firings, waits, buffers, bytes_rate):
    filters, streams = figures(firings, waits, buffers, bytes_rate)
    one = {"name": "a", "statistics": filters}, {"from": "a.out", "to": "b.in", "statistics": streams}
    return {"seconds": seconds, "lost": 0, "filters": [one[0]], "streams": [one[1]]}


def test_rates_are_those_between_two_looks():
    seen = look(said(10, 2000, 0.5, 1000, 100), said(8, 1000, 0.25, 400, 50))
    (one,), (stream,) = seen.filters, seen.streams
    assert one.rate == 500 and one.load == pytest.approx(0.25) and one.queue == 4
    assert one.waits[0] == 1.0  # 5 s of 10 less 2 s of 8 are more than the 2 s between the looks
    assert stream.rate == 300 and stream.bytes_rate == pytest.approx((1000 - 400) / 2)
    assert seen.bottleneck == "a" and seen.window == 2


def test_a_filter_that_took_the_name_of_another_begins_at_zero():
    seen = look(said(10, 50, 0, 10, 1), said(8, 1000, 0.25, 400, 50))
    assert seen.filters[0].rate == 25 and seen.streams[0].rate == 5


def test_without_an_earlier_look_rates_are_those_since_the_run_began():
    seen = look(said(10, 2000, 0.5, 1000, 100))
    assert seen.filters[0].rate == 200 and seen.filters[0].waits[0] == 0.5 and seen.streams[0].bytes_rate == 100


def test_the_report_of_an_application_made_of_filters_has_its_graph_and_its_firings(tmp_path):
    page = tmp_path / "colour.html"
    assert invoke("run", "colour", "--set", "rows=256", "--set", "columns=256", "--set", "repetitions=1", "--report", page).exit_code == 0
    text = page.read_text()
    assert "<h3>Graph</h3>" in text and ("<figure class='graph'><svg" in text) == bool(drawing.shutil.which("dot"))
    names = json.loads(re.search(r"id='data0'>(.*?)</script>", text).group(1))["names"]
    assert "convert" in names and not any(name.startswith("serve") for name in names)
