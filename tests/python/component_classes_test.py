"""Component classes beside those that come with Penstock: of shared libraries, of a program, and of packages by entry point."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock import _core

ROOT = Path(__file__).resolve().parents[2]
APPLICATION = '<application xmlns="urn:penstock:application:1" name="test">\n{}\n</application>\n'
RAMP = APPLICATION.format(
    '<component name="ramp" class="example:ramp"><set name="count" value="4"/></component><component name="halve" class="example:halve"/>\n'
    '<component name="print" class="print"/><stream from="ramp.out" to="halve.in"/><stream from="halve.out" to="print.in"/>'
)
PACKAGED = APPLICATION.format(
    '<component name="numbers" class="numbers"><set name="count" value="4"/></component>\n'
    '<component name="triple" class="{}"/><component name="print" class="print"/>\n'
    '<stream from="numbers.out" to="triple.in"/><stream from="triple.out" to="print.in"/>'
)


def penstock(*arguments, path=None, options=()):
    environment = dict(os.environ, COLUMNS="200")
    if path is not None:
        environment["PYTHONPATH"] = os.pathsep.join([str(path), environment.get("PYTHONPATH", "")])
    command = [sys.executable, *options, "-m", "penstock.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)


def compiled(source, made):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    subprocess.run([compiler, "-std=c11", "-shared", "-fPIC", f"-I{ROOT / 'include'}", "-o", str(made), str(source)], check=True)
    return made


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return compiled(ROOT / "tests" / "language" / "library" / "filters.c", tmp_path_factory.mktemp("library") / "libfilters.so")


@pytest.fixture
def ramp(tmp_path):
    file = tmp_path / "ramp.xml"
    file.write_text(RAMP, encoding="utf-8")
    return file


def written(tmp_path, text):
    file = tmp_path / "application.xml"
    file.write_text(text, encoding="utf-8")
    return file


def run(file, machine):
    with ps.Application.read(file).start(machine):
        pass


# ---- shared libraries ----


def test_an_application_runs_with_the_classes_of_a_library(ramp, library):
    assert penstock("run", ramp, "--targets", 1, "--library", library).stdout == "0\n0.5\n1\n1.5\n"
    assert penstock("run", ramp, "--isolation", "process", "--library", library).stdout == "0\n0.5\n1\n1.5\n"
    without = penstock("check", ramp)
    assert without.returncode == 1 and "there is no component class 'example:ramp'" in without.stdout
    assert penstock("check", ramp, "--library", library).returncode == 0


def test_the_example_of_the_header_is_a_library(tmp_path):
    header = (ROOT / "include" / "penstock" / "component_library.h").read_text(encoding="utf-8")
    example = [line.removeprefix(" *     ") for line in header.splitlines() if line.startswith(" *     ")]
    (tmp_path / "halve.c").write_text("\n".join(['#include "penstock/component_library.h"', *example, ""]), encoding="utf-8")
    made = compiled(tmp_path / "halve.c", tmp_path / "libhalve.so")
    file = written(tmp_path, PACKAGED.format("halve"))
    assert penstock("run", file, "--targets", 1, "--library", made).stdout == "0\n0.5\n1\n1.5\n"


def test_every_command_for_files_takes_libraries(ramp, library, tmp_path):
    assert "example:ramp" in penstock("transform", ramp, "--pass", "expand", "--library", library).stdout
    assert penstock("profile", ramp, "--targets", 1, "--library", library, "-o", tmp_path / "profile").returncode == 0
    assert penstock("draw", ramp, "--library", library, "-o", tmp_path / "ramp.dot").returncode == 0
    assert "example:halve" in (tmp_path / "ramp.dot").read_text(encoding="utf-8")
    for command in (["transform", ramp, "--pass", "expand"], ["profile", ramp, "-o", tmp_path / "p"], ["draw", ramp, "-o", tmp_path / "d.dot"]):
        refused = penstock(*command)
        assert refused.returncode == 2 and "there is no component class 'example:ramp'" in refused.stderr


def test_classes_are_listed_with_where_they_come_from(library):
    listed = {line.split("│")[1].strip(): line for line in penstock("components", "--library", library).stdout.splitlines() if line.count("│") == 4}
    assert "built in" in listed["scale"] and "library" in listed["example:smooth"]
    assert "The mean of the last `window` values" in listed["example:smooth"]
    one = penstock("components", "example:smooth", "--library", library).stdout
    assert f"(library {library.resolve()})" in one and "from 1 to 64" in one and "values" in one


def test_the_gallery_takes_no_libraries(library):
    refused = penstock("run", "saxpy", "--library", library)
    assert refused.returncode == 2 and "--library is for files" in refused.stderr


@pytest.mark.parametrize("name", ["nowhere.so", "libm.so.6"])
def test_a_library_that_is_not_there_is_told_in_one_line(ramp, name):
    refused = penstock("run", ramp, "--library", name)
    assert refused.returncode == 2
    assert refused.stderr == f"penstock: the library {name} gives no component classes: there is no such file: give the path of a library, as in ./libfilters.so\n"


def test_a_refusal_says_which_library_and_why(library, tmp_path):
    with pytest.raises(ps.LibraryRefused, match="there is no such file") as refused:
        ps.load_components(tmp_path / "nowhere.so")
    assert (refused.value.path, refused.value.reason) == (str(tmp_path / "nowhere.so"), "no_file")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(ps.LibraryRefused) as refused:
        ps.load_components(tmp_path / "text.so")
    assert refused.value.reason == "no_library"
    names = ["example:halve", "example:ramp", "example:smooth", "example:rows", "example:alarm"]
    assert ps.load_components(library) == names == ps.load_components(str(library))
    shutil.copy(library, tmp_path / "copy.so")
    with pytest.raises(ps.LibraryRefused, match="of the library") as refused:
        ps.load_components(tmp_path / "copy.so")
    assert refused.value.reason == "name_taken"


# ---- filters of this program ----


def test_a_filter_of_the_program_is_used_by_name(tmp_path, both):
    @ps.filter(inputs="float64", outputs="float64", settings={"factor": ps.Setting(2.0, "times", 0, 10)}, may_be_copied=True)
    def scaled(x, *, factor):
        """Multiplies each value.

        In Python."""
        return factor * x

    found = []

    @ps.filter(inputs="float64")
    class Kept:
        def __call__(self, x):
            found.append(float(x[0]))

    ps.register_component("test:scaled", scaled)
    ps.register_component("test:kept", Kept, "Keeps what comes.")
    known = {each["name"]: each for each in _core.components()}
    assert known["test:scaled"]["documentation"] == "Multiplies each value."
    assert known["test:scaled"]["origin"] == "this program"
    assert known["test:scaled"]["settings"] == [("factor", 2.0, "times", 0.0, 10.0, [], "")]
    assert known["test:kept"]["documentation"] == "Keeps what comes."
    body = (
        '<component name="numbers" class="numbers"><set name="count" value="3"/></component>\n'
        '<component name="scaled" class="test:scaled"><set name="factor" value="{}" unit="times"/></component><component name="kept" class="test:kept"/>\n'
        '<stream from="numbers.out" to="scaled.in" ordered="true"/><stream from="scaled.out" to="kept.in"/>'
    )
    run(written(tmp_path, APPLICATION.format(body.format(4))), both)
    assert found == [0, 4, 8]
    findings = _core.check_application(str(written(tmp_path, APPLICATION.format(body.format(11)))))
    assert [finding["message"] for finding in findings] == ["setting 'factor' is given 11, and should be from 0 to 10 times"]


def test_names_and_filters_that_cannot_be_are_refused():
    @ps.filter(inputs="float64")
    def forget(x):
        pass

    @ps.filter(inputs="float64", isolation="process")
    def apart(x):
        pass

    with pytest.raises(ps.UsageError, match="there is a component class 'scale' already"):
        ps.register_component("scale", forget)
    with pytest.raises(ps.UsageError, match="'2d' cannot name a component class"):
        ps.register_component("2d", forget)
    with pytest.raises(ps.UsageError, match="is no filter: say which ports it has"):
        ps.register_component("test:print", print)
    with pytest.raises(ps.UsageError, match="leave isolation='process' out"):
        ps.register_component("test:apart", apart)


def test_what_a_filter_of_the_program_raises_ends_the_run(tmp_path, machine):
    @ps.filter(inputs="float64")
    def fussy(x):
        raise ValueError(f"not {x[0]:g}")

    ps.register_component("test:fussy", fussy)
    body = '<component name="numbers" class="numbers"/><component name="fussy" class="test:fussy"/><stream from="numbers.out" to="fussy.in"/>'
    with pytest.raises(ps.FilterFailed, match="'fussy'") as failed:
        run(written(tmp_path, APPLICATION.format(body)), machine)
    assert isinstance(failed.value.__cause__, ValueError) and str(failed.value.__cause__) == "not 0"


# ---- packages ----

MODULE = """
import ctypes
import pathlib

import penstock

pathlib.Path(__file__).with_suffix(".imported").touch()

@penstock.filter(inputs="float64", outputs="float64", settings={"factor": 3.0}, may_be_copied=True)
def triple(x, *, factor):
    '''Three times each value.'''
    return factor * x

@penstock.filter(inputs="float64", outputs="float64")
class Running:
    '''The sum of all values so far.'''
    def __init__(self):
        self.sum = 0.0
    def __call__(self, x):
        self.sum += x.sum()
        return x * 0 + self.sum

plain = print
"""


@pytest.fixture
def packages(tmp_path):
    """A folder in which packages are installed: one with classes, and one that cannot be imported."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "my_filters.py").write_text(MODULE)
    (folder / "broken_filters.py").write_text("import a_module_that_does_not_exist\n")
    for name, points in {
        "my-filters": "my:triple = my_filters:triple\nmy:running = my_filters:Running\nmy:plain = my_filters:plain\n",
        "broken": "broken:blur = broken_filters:blur\nscale = broken_filters:scale\n",
    }.items():
        information = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text(f"[penstock.components]\n{points}")
    return folder


@pytest.mark.parametrize(("name", "said"), [("my:triple", "0\n3\n6\n9\n"), ("my:running", "0\n1\n3\n6\n")])
def test_an_application_uses_the_classes_of_a_package(packages, tmp_path, name, said):
    done = penstock("run", written(tmp_path, PACKAGED.format(name)), "--targets", 1, path=packages)
    assert (done.stdout, done.stderr) == (said, "")
    apart = penstock("run", written(tmp_path, PACKAGED.format(name)), "--isolation", "process", path=packages)
    assert apart.returncode == 2 and "'triple'" in apart.stderr and "cannot be made in a worker process" in apart.stderr
    mixed = written(tmp_path, PACKAGED.format(f'{name}" isolation="thread'))
    assert penstock("run", mixed, "--isolation", "process", path=packages).stdout == said


def test_worker_processes_that_a_component_asks_for_come_before_packages_that_start_threads(packages, tmp_path):
    text = PACKAGED.format('my:triple" isolation="thread').replace('class="print"', 'class="print" isolation="process"')
    file = written(tmp_path, text)
    refused = penstock("run", file, path=packages)
    assert refused.returncode == 2
    told = " ".join(refused.stderr.split())
    assert re.fullmatch(r"penstock: test needs worker processes, which must come before anything starts threads \(.+\): say --isolation process", told)
    assert penstock("run", file, "--isolation", "process", path=packages).stdout == "0\n3\n6\n9\n"


def test_a_package_is_imported_only_when_one_of_its_classes_is_named(packages, tmp_path):
    done = penstock("run", written(tmp_path, PACKAGED.format("scale")), "--targets", 1, path=packages)
    assert done.stdout == "0\n2\n4\n6\n" and done.stderr == ""
    misspelt = penstock("check", written(tmp_path, PACKAGED.format("my:tripel")), path=packages)
    assert "there is no component class 'my:tripel'; did you mean 'my:triple'?" in misspelt.stdout
    assert not (packages / "my_filters.imported").exists()
    assert penstock("check", written(tmp_path, PACKAGED.format("my:triple")), path=packages).returncode == 0
    assert (packages / "my_filters.imported").exists()


def test_a_class_that_is_named_by_a_parameter_is_found_too(packages, tmp_path):
    text = PACKAGED.format("${kind}").replace('name="test">', 'name="test"><parameter name="kind" type="text" default="scale"/>')
    file = written(tmp_path, text)
    assert penstock("run", file, "--targets", 1, path=packages).stdout == "0\n2\n4\n6\n"
    assert penstock("run", file, "--targets", 1, "--set", "kind=my:triple", path=packages).stdout == "0\n3\n6\n9\n"


def test_what_cannot_be_imported_is_a_warning_by_name_and_the_rest_is_listed(packages):
    listed = penstock("components", path=packages)
    assert listed.returncode == 0
    assert "my:triple" in listed.stdout and "Three times each value." in listed.stdout and "package my-filters" in listed.stdout
    assert "broken:blur" not in listed.stdout and "my:plain" not in listed.stdout
    told = sorted(listed.stderr.splitlines())
    assert len(told) == 2
    assert told[0] == (
        "warning: the component class 'broken:blur' of package broken (broken_filters:blur) is left out: "
        "ModuleNotFoundError: No module named 'a_module_that_does_not_exist'"
    )
    assert told[1].startswith("warning: the component class 'my:plain' of package my-filters (my_filters:plain) is left out: UsageError: ")
    assert "is no filter" in told[1]
    one = penstock("components", "my:running", path=packages)
    assert "(package my-filters)" in one.stdout and "The sum of all values so far." in one.stdout


def test_an_application_that_names_what_cannot_be_imported_is_told_why(packages, tmp_path):
    done = penstock("check", written(tmp_path, PACKAGED.format("broken:blur")), path=packages)
    assert done.returncode == 1
    assert "there is no component class 'broken:blur'" in done.stdout and "did you mean" not in done.stdout
    assert done.stderr.count("is left out: ModuleNotFoundError") == 1


def test_a_compiled_program_names_its_libraries_and_has_no_python(ramp, library, packages, tmp_path):
    made = penstock("compile", ramp, "--library", library, "-o", tmp_path / "program")
    assert made.returncode == 0, made.stderr
    assert f'.libraries = {{"{library.resolve()}"}}' in (tmp_path / "program" / "main.cpp").read_text(encoding="utf-8")
    file = written(tmp_path, PACKAGED.format("my:triple"))
    refused = penstock("compile", file, "-o", tmp_path / "other", path=packages)
    assert refused.returncode == 2 and not (tmp_path / "other").exists()
    assert "component 'triple' is of class 'my:triple', which is written in Python (package my-filters)" in refused.stderr
    assert penstock("compile", file, "--type", "my:triple=my.hpp:Triple", "-o", tmp_path / "other", path=packages).returncode == 0


def test_two_packages_with_one_name_are_told(packages, tmp_path):
    other = packages / "other-1.0.dist-info"
    shutil.copytree(packages / "my_filters-1.0.dist-info", other)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[penstock.components]\nmy:triple = other_filters:triple\n")
    done = penstock("run", written(tmp_path, PACKAGED.format("my:triple")), "--targets", 1, path=packages)
    if "that of other is used" in done.stderr:  # the order of folders is the system's
        assert "is left out: ModuleNotFoundError" in done.stderr
    else:
        assert "the packages my-filters and other both have a component class 'my:triple': that of my-filters is used" in done.stderr
        assert done.stdout == "0\n3\n6\n9\n"


def test_a_compiled_body_is_a_component_too(tmp_path, native, machine):
    body = native.body("scale", "void (const float *x, intptr_t n, float *y, intptr_t m, float a)")
    ps.register_component("test:compiled", ps.filter(body, inputs="float32", outputs="float32", settings={"a": 2.0}))
    found = []

    @ps.filter(outputs="float32")
    def ones():
        for n in range(3):
            yield np.full(2, n, "float32")

    @ps.filter(inputs="float32")
    def keep(x):
        found.append(x.tolist())

    ps.register_component("test:ones", ones)
    ps.register_component("test:keep", keep)
    body = (
        '<component name="ones" class="test:ones"/><component name="scale" class="test:compiled"><set name="a" value="10"/></component>\n'
        '<component name="keep" class="test:keep"/><stream from="ones.out" to="scale.in"/><stream from="scale.out" to="keep.in"/>'
    )
    run(written(tmp_path, APPLICATION.format(body)), machine)
    assert found == [[0, 0], [10, 10], [20, 20]]
