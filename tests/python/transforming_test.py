"""Applications from the command line: transform, profile, compile, draw."""

import shutil
from xml.etree import ElementTree

import pytest

from command_line import example, penstock

SWITCHING = example("switching")
NAMESPACE = "{urn:penstock:profile:1}"


def test_an_application_is_profiled_sized_and_placed_and_gives_the_same(sums, tmp_path):
    profile, placed = tmp_path / "sums.profile", tmp_path / "deep" / "placed.xml"
    assert penstock("profile", sums, "--set", "count=500", "--targets", 2, "-o", profile).returncode == 0
    root = ElementTree.parse(profile).getroot()
    firings = {each.get("name"): int(each.get("firings")) for each in root.iter(NAMESPACE + "component")}
    assert firings["sum"] == firings["double"] == 500
    assert {(each.get("from"), each.get("buffers")) for each in root.iter(NAMESPACE + "stream")} >= {("double.out", "500")}
    done = penstock("transform", sums, "--pass", "size", "--pass", "place", "--profile", profile, "-o", placed)
    assert done.returncode == 0, done.stderr
    assert "targets=" in placed.read_text(encoding="utf-8")
    results = [penstock("run", file, "--set", "count=50", "--targets", 2).stdout.splitlines()[0] for file in (sums, placed)]
    assert results[0] == results[1] == "2450"


def test_passes_are_listed_and_refused_by_name(sums):
    listed = penstock("transform", "--list").stdout
    assert all(name in listed for name in ("expand", "inline", "unroll", "tasks", "fuse", "prune", "place", "size"))
    assert penstock("transform", sums, "--pass", "expnad").returncode == 2
    assert penstock("transform", sums, "--pass", "place").returncode == 2
    assert penstock("transform").returncode == 2
    printed = penstock("transform", sums, "--pass", "expand", "--set", "count=7").stdout
    assert printed.startswith("<?xml") and 'default="7"' in printed


def test_an_application_is_compiled_to_a_folder(sums, tmp_path):
    done = penstock("compile", sums, "-o", tmp_path / "program", "--type", "sum=my.hpp:my::Sum")
    assert done.returncode == 0, done.stderr
    program = (tmp_path / "program" / "main.cpp").read_text(encoding="utf-8")
    assert 'app.add<my::Sum>("sum");' in program and "run_program(count, arguments" in program
    assert "project(sums" in (tmp_path / "program" / "CMakeLists.txt").read_text(encoding="utf-8")
    assert penstock("compile", sums, "-o", tmp_path, "--type", "sum").returncode == 2


def test_an_application_is_drawn(tmp_path):
    file, dot = tmp_path / "switching.xml", tmp_path / "switching.dot"
    file.write_text(SWITCHING, encoding="utf-8")
    assert penstock("draw", file, "-o", dot).returncode == 0
    assert "inset toggles" in dot.read_text(encoding="utf-8")
    assert penstock("draw", tmp_path / "nothing.xml").returncode == 2
    if shutil.which("dot") is None:
        pytest.skip("graphviz is not installed")
    picture = tmp_path / "switching.svg"
    assert penstock("draw", file, "-o", picture).returncode == 0
    assert "<svg" in picture.read_text(encoding="utf-8")
