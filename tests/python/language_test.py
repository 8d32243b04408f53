"""Applications from the command line: check, components, run."""

import json
import os
import signal
import subprocess
import time

import pytest

from command_line import FIRST, command, penstock

ENDLESS = """<application xmlns="urn:penstock:application:1" name="endless">
  <component name="numbers" class="numbers"><set name="count" value="1000000000"/><set name="pause" value="0.001"/></component>
  <component name="sum" class="sum"/>
  <component name="result" class="print"><set name="label" value="sum "/></component>
  <stream from="numbers.out" to="sum.in"/>
  <stream from="sum.out" to="result.in"/>
</application>
"""


def test_an_application_runs_with_other_parameters_and_writes_its_graph_and_timeline(sums, tmp_path):
    graph, trace = tmp_path / "deep" / "graph.json", tmp_path / "trace.json"
    done = penstock("run", sums, "--set", "count=11", "--targets", 2, "--graph", graph, "--trace", trace)
    assert (done.returncode, done.stdout) == (0, "110\n"), done.stderr
    names = {each["name"] for each in json.loads(graph.read_text())["filters"]}
    assert names == {"numbers", "double", "sum", "result"}
    assert "traceEvents" in json.loads(trace.read_text())


def test_check_tells_all_errors_and_exits_with_1(sums):
    assert penstock("check", sums).stdout.strip() == f"{sums}: no errors"
    sums.write_text(FIRST.replace('class="sum"', 'class="sun"').replace("double.out", "double.outt"), encoding="utf-8")
    wrong = penstock("check", sums)
    assert wrong.returncode == 1
    assert "did you mean 'sum'?" in wrong.stdout and "has no output 'outt'; did you mean 'out'?" in wrong.stdout
    assert penstock("run", sums).returncode == 2


@pytest.mark.parametrize("arguments", [("--set", "count"), ("--set", "cuont=3"), ("--set", "count=0"), ("--isolation", "a")])
def test_what_makes_no_sense_is_refused(sums, arguments):
    assert penstock("run", sums, *arguments).returncode == 2


def test_a_file_that_is_not_there_is_told_in_one_line():
    missing = penstock("run", "nowhere/nothing.xml")
    assert missing.returncode == 2 and "nothing.xml" in missing.stdout + missing.stderr


def test_components_are_listed_with_ports_and_settings():
    assert "numbers" in penstock("components").stdout
    one = penstock("components", "numbers").stdout
    assert all(word in one for word in ("output", "double", "setting", "count", "pause"))
    assert penstock("components", "camera").returncode == 2


def test_an_interruption_ends_the_sources_and_what_is_under_way_still_comes_out(tmp_path):
    file = tmp_path / "endless.xml"
    file.write_text(ENDLESS, encoding="utf-8")
    arguments = command("run", file, "--targets", 2, "--name", f"endless-{os.getpid()}")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as running:
        from penstock import visits

        deadline = time.monotonic() + 60
        while f"endless-{os.getpid()}" not in visits.running() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=60)
    assert running.returncode == 130 and output.startswith("sum "), output
