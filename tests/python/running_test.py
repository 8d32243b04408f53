"""`penstock run` of files: interruptions, the live view and its keys, reports, worker processes."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command_line import FIRST, command, penstock

ENDLESS = """<application xmlns="urn:penstock:application:1" name="endless">
  <event name="louder"/><event name="more"/>
  <component name="numbers" class="numbers"><set name="count" value="1000000000"/><set name="pause" value="0.001"/></component>
  <component name="scale" class="scale"/>
  <component name="sum" class="sum"/>
  <component name="result" class="print"><set name="label" value="sum "/></component>
  <stream from="numbers.out" to="scale.in"/><stream from="scale.out" to="sum.in"/><stream from="sum.out" to="result.in"/>
  <manager><on event="louder" component="scale" setting="factor" value="-1"/><on event="more" toggle="side"/>
    <option name="side"><component name="seen" class="print"><set name="label" value="seen "/></component><stream from="scale.out" to="seen.in"/></option>
  </manager>
</application>
"""
STUCK = """<application xmlns="urn:penstock:application:1" name="stuck">
  <component name="numbers" class="numbers" {isolation}><set name="count" value="2"/><set name="pause" value="1000"/></component>
  <component name="result" class="print"/>
  <stream from="numbers.out" to="result.in"/>
</application>
"""


def written(folder, text, name="application.xml"):
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def wait_until(holds):
    deadline = time.monotonic() + 200
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def processes_of_group(leader):
    """All processes whose session is that of `leader`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("arguments", [(), ("--isolation", "process")])
def test_a_second_interruption_ends_the_process_and_its_workers_at_once(tmp_path, arguments):
    file = written(tmp_path, STUCK.format(isolation=""))
    name = f"stuck-{os.getpid()}-{len(arguments)}"
    running = subprocess.Popen(
        command("run", file, "--targets", 1, "--name", name, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with running:
        from penstock import visits

        wait_until(lambda: name in visits.running())
        time.sleep(0.3)  # the source is in its pause, which no end of sources interrupts
        assert len(processes_of_group(running.pid)) > (2 if arguments else 0)
        running.send_signal(signal.SIGINT)
        assert "Ctrl-C again stops at once" in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=200)
        assert (running.returncode, output, errors) == (130, "", "penstock: stopped\n")
        wait_until(lambda: not processes_of_group(running.pid))


def test_the_first_interruption_is_said_and_everything_is_written(tmp_path):
    file, graph, report = written(tmp_path, ENDLESS), tmp_path / "graph.json", tmp_path / "report.html"
    name = f"endless-{os.getpid()}"
    arguments = command("run", file, "--targets", 1, "--name", name, "--graph", graph, "--report", report)
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        from penstock import visits

        wait_until(lambda: name in visits.running())
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=200)
    assert running.returncode == 130 and output.startswith("sum ")
    assert errors == "penstock: the sources end, and what is under way goes through; Ctrl-C again stops at once\n"
    assert graph.stat().st_size and "interrupted: its sources ended early" in report.read_text()


def test_a_report_is_one_page_with_graph_figures_settings_timeline_and_machine(tmp_path):
    file, report = written(tmp_path, FIRST), tmp_path / "deep" / "report.html"
    done = penstock("run", file, "--set", "count=13", "--targets", 1, "--report", report)
    assert done.returncode == 0 and "156" in done.stdout.splitlines(), done.stderr
    page = report.read_text(encoding="utf-8")
    assert "ran to its end" in page and "<svg" in page and "drawTimeline(0)" in page
    assert "<td>parameter</td><td>count</td><td>13</td>" in page
    assert "<td>double</td><td>factor</td><td>2.0</td>" in page
    rows = {}
    for row in re.findall("<tr>(.*?)</tr>", page):
        if cells := re.findall("<td[^>]*>(.*?)</td>", row):
            rows.setdefault(cells[0], cells[1:])  # that of the filters comes before those of their settings
    assert rows["sum"][:2] == ["1", "13"] and rows["double"][:2] == ["2", "13"]
    assert rows["sum.out → result.in"][0] == "1"
    assert not re.findall(r"(?:src|href)=['\"]https?:", page)  # nothing comes from elsewhere


@pytest.mark.parametrize("option", ["--report", "--graph", "--trace"])
def test_what_cannot_be_written_is_refused_before_the_run(tmp_path, option):
    file = written(tmp_path, FIRST)
    done = penstock("run", file, option, tmp_path)
    assert done.returncode == 2 and str(tmp_path) in done.stderr and "9900" not in done.stdout


def test_an_application_runs_in_worker_processes_where_it_or_the_command_says_so(tmp_path):
    assert penstock("run", written(tmp_path, FIRST), "--targets", 2, "--isolation", "process").stdout == "9900\n"
    asks = written(tmp_path, FIRST.replace('class="sum"', 'class="sum" isolation="process"'))
    assert penstock("run", asks, "--targets", 1).stdout == "9900\n"
    refused = penstock("run", asks, "--isolation", "thread")
    assert refused.returncode == 2 and "worker processes" in refused.stderr
    assert penstock("run", asks, "--targets", 0).returncode == 2
    assert penstock("run", asks, "--isolation", "island").returncode == 2
    profile = tmp_path / "sums.profile"
    assert penstock("profile", asks, "--targets", 1, "-o", profile).returncode == 0
    assert 'firings="100"' in profile.read_text()


def test_names_of_the_gallery_are_known_to_all_commands(tmp_path):
    drawing = tmp_path / "addition.dot"
    assert penstock("draw", "addition.xml", "-o", drawing).returncode == 0
    assert "addition:add" in drawing.read_text()
    assert 'name="addition"' in penstock("transform", "addition.xml", "--pass", "expand").stdout
    assert penstock("profile", "addition.xml", "--set", "rows=4", "--set", "columns=3", "-o", tmp_path / "profile.xml").returncode == 0


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *arguments):
        self.seen = ""
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.environ.update(TERM="xterm-256color", COLUMNS="120", LINES="40")
            os.execv(sys.executable, command(*arguments))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.descriptor)

    def wait_for(self, text):
        """Until the program has written this, besides what was waited for before."""
        deadline = time.monotonic() + 200
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen[-3000:]
            if select.select([self.descriptor], [], [], 1)[0]:
                try:
                    self.seen += os.read(self.descriptor, 1 << 16).decode(errors="replace")
                except OSError:
                    assert text in self.seen, self.seen[-3000:]
        at = self.seen.index(text) + len(text)
        before, self.seen = self.seen[:at], self.seen[at:]
        return before

    def type(self, keys):
        os.write(self.descriptor, keys.encode())

    def end(self):
        """The rest of what it writes, and its exit status."""
        while True:
            try:
                part = os.read(self.descriptor, 1 << 16)
            except OSError:
                break
            if not part:
                break
            self.seen += part.decode(errors="replace")
        return self.seen, os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def test_on_a_terminal_figures_are_shown_and_keys_send_events(tmp_path):
    with Terminal("run", written(tmp_path, ENDLESS), "--targets", 1) as terminal:
        shown = terminal.wait_for("keys: 1 louder  2 more; Ctrl-C ends it")
        assert "firings/s" in shown and "numbers.out -> scale.in" in shown and "bottleneck: " in shown
        terminal.type("7")  # there is no such event
        terminal.type("2")
        terminal.wait_for("more was sent")
        terminal.wait_for("seen ")
        terminal.type("1")
        terminal.wait_for("seen -")  # above the figures, as it comes
        terminal.type("\x03")
        terminal.wait_for("Ctrl-C again stops at once")
        rest, status = terminal.end()
        assert status == 130 and "sum " in rest and "Traceback" not in rest


def test_on_a_terminal_a_second_interruption_leaves_it_as_it_was(tmp_path):
    with Terminal("run", written(tmp_path, STUCK.format(isolation="")), "--targets", 1) as terminal:
        import termios

        terminal.wait_for("Ctrl-C ends it")
        terminal.type("\x03")
        terminal.wait_for("Ctrl-C again stops at once")
        terminal.type("\x03")
        rest, status = terminal.end()
        assert status == 130 and "stopped" in rest and "Traceback" not in rest
        try:
            modes = termios.tcgetattr(terminal.descriptor)[3]
        except termios.error:
            return  # the terminal went with its last program
        assert modes & termios.ICANON and modes & termios.ECHO


def test_what_is_short_shows_nothing_and_leaves_the_output_alone(tmp_path):
    with Terminal("run", written(tmp_path, FIRST), "--targets", 1) as terminal:
        rest, status = terminal.end()
        assert (rest.replace("\r", ""), status) == ("9900\n", 0)
