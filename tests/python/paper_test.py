"""The papers' experiments: what is listed, run, kept and written (benchmarks/paper.py). No timings: the figures are made up or stored."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import paper.running  # noqa: E402
from paper import EXPERIMENTS  # noqa: E402
from paper.experiment import Experiment  # noqa: E402
from paper.figures import Figures, Missing, shown, with_interval  # noqa: E402
from paper.parts import NOT_STATED, Published, Run, Table  # noqa: E402
from paper.running import Results, program, run_all  # noqa: E402
from paper.told import READING, conditions  # noqa: E402

STORED = ROOT / "tests" / "python" / "paper_figures.json"
NOISE = {"value": 1.0, "low": 0.9, "high": 1.1, "floor_moved": 0.05, "runs_thrown_away": 0, "void": False}
SOURCES = ("TPC", "Cell-Space", "DataCutter-Lite", "RSP")


def main(*given):
    spec = importlib.util.spec_from_file_location("paper_main", ROOT / "benchmarks" / "paper.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main([str(each) for each in given])


@pytest.fixture
def never(monkeypatch):
    """Fails the test when anything is run."""
    monkeypatch.setattr(paper.running, "perform", lambda run, quick: pytest.fail(f"{run.command(quick)} was run"))


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Stands in for ./bench: writes one row with the number of its arguments, fails when it is called 'broken', and notes its calls."""
    calls = tmp_path / "calls"
    calls.touch()
    script = tmp_path / "bench"
    script.write_text(
        f'#!/usr/bin/env bash\n[ "$2" = --list ] && exit 0\necho "$*" >>"{calls}"\n[ "$1" = broken ] && {{ echo "no such luck"; exit 3; }}\n'
        '[ "$1" = silent ] && exit 0\n'
        f"""printf '{{"machine": {{"processor": "P", "processors": "2"}}, "noise": {json.dumps(NOISE)}, "rows": [{{"name": "a", "ns": %d}}]}}' $# >"${{@: -1}}"\n"""
    )
    script.chmod(0o755)
    monkeypatch.setattr(paper.running, "BENCH", script)
    return lambda: [line.split()[0] for line in calls.read_text().splitlines()]


def experiment(*runs):
    return Experiment(
        "made-up", "Made up", "Why?", (Published("a claim", "3.5", "TPC, figure 9"),), runs,
        tables=lambda figures: [figures.table(runs[0], "T", "(a)", {"ns": "ns"})], shows=lambda figures: f"It is {figures.value(runs[0], 'a', 'ns')}.",
    )  # fmt: skip


def run_quietly(made, path=None, document=None):
    results = Results(True, "", path, document)
    run_all([made], results, lambda line: None)
    return results


def test_every_experiment_asks_something_cites_its_papers_and_runs_benchmarks_that_there_are():
    assert len({each.name for each in EXPERIMENTS}) == len(EXPERIMENTS) >= 15
    for each in EXPERIMENTS:
        assert each.question.endswith("?"), each.name
        assert all(claim.source.startswith(SOURCES) for claim in each.published), each.name
        for run in each.runs:
            source = ROOT / "benchmarks" / run.benchmark.replace("-", "_")
            assert source.with_suffix(".cpp").exists() or source.with_suffix(".py").exists(), run.benchmark
    assert {re.split("[,;]", claim.source)[0] for each in EXPERIMENTS for claim in each.published} == set(SOURCES)


def test_without_a_name_the_experiments_are_listed(capsys, never):
    assert main() == 0
    said = capsys.readouterr().out
    assert all(each.name in said for each in EXPERIMENTS)


@pytest.mark.parametrize("option", [["--quick"], ["--from", "x.json"], ["--json", "x.json"], ["--report", "x.html"], ["--machine", "M"]])
def test_without_a_name_no_option_is_taken(option, capsys, never):
    with pytest.raises(SystemExit) as ended:
        main(*option)
    assert ended.value.code == 2 and "say which experiment" in capsys.readouterr().err


def test_an_unknown_experiment_is_refused_with_the_names_there_are(capsys, never):
    assert main("tpc-nul-task") == 2
    assert "tpc-nul-task" in (error := capsys.readouterr().err) and "tpc-null-task" in error


@pytest.mark.parametrize("option", ["--report", "--markdown", "--json"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(option, tmp_path, capsys, never):
    assert main("tpc-null-task", option, tmp_path / "missing" / "file") == 2
    assert "missing" in capsys.readouterr().err
    assert main("tpc-null-task", option, tmp_path) == 2  # a folder


def test_a_check_for_writing_leaves_no_file_behind_and_none_changed(tmp_path, never):
    kept = tmp_path / "kept.html"
    kept.write_text("old")
    assert main("nonsense", "--report", kept) == 2
    assert (
        main("tpc-null-task", "--report", kept, "--json", tmp_path / "new.json", "--markdown", tmp_path / "no" / "file")
        == 2
    )
    assert [path.name for path in tmp_path.iterdir()] == ["kept.html"] and kept.read_text() == "old"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"runs": {}, "quick": 1, "machine": ""}'])
def test_a_file_of_something_else_is_refused(text, tmp_path, capsys, never):
    other = tmp_path / "other.json"
    other.write_text(text)
    assert main("all", "--from", other) == 2
    assert "other.json" in capsys.readouterr().err


def test_a_run_that_fails_is_kept_as_a_failure_and_the_others_go_on(bench):
    good, broken, silent, last = Run("good", ("--set", "x=1")), Run("broken"), Run("silent"), Run("last")
    runs = run_quietly(experiment(good, broken, silent, last)).document["runs"]
    assert bench() == ["good", "broken", "silent", "last"]
    assert runs["good --set x=1"]["report"]["rows"] == [{"name": "a", "ns": 6}]  # good --set x=1 --quick --json FILE
    assert runs["good --set x=1"]["command"] == "./bench good --set x=1 --quick"
    assert "no such luck" in runs["broken"]["error"] and "3" in runs["broken"]["error"]
    assert "no figures" in runs["silent"]["error"] and "report" in runs["last"]


def test_two_experiments_share_a_run(bench):
    results = Results(True, "")
    run_all([experiment(Run("good")), experiment(Run("good"), Run("good", ("more",)))], results, lambda line: None)
    assert bench() == ["good", "good"] and set(results.document["runs"]) == {"good", "good more"}


def test_what_was_measured_is_kept_run_by_run_and_taken_up_again(bench, tmp_path):
    path = tmp_path / "figures.json"
    run_quietly(experiment(Run("good"), Run("broken")), path)
    kept = json.loads(path.read_text())
    assert kept["machine"] == "P, 2 processors" and set(kept["runs"]) == {"good", "broken"}
    run_quietly(experiment(Run("good"), Run("broken"), Run("last")), path, kept)
    assert bench() == ["good", "broken", "broken", "last"]


def test_full_runs_are_not_mixed_with_quick_ones(tmp_path, capsys, never):
    path = tmp_path / "figures.json"
    path.write_text(json.dumps({"machine": "M", "quick": True, "runs": {}}))
    assert main("tpc-null-task", "--json", path, "--resume") == 2
    assert "--quick" in capsys.readouterr().err


def test_each_run_says_what_was_measured_when_and_how_noisily(bench, monkeypatch):
    made = experiment(Run("good"), Run("broken"), Run("never"))
    monkeypatch.setattr(paper.running, "program", lambda: "1a2b3c4")
    document = run_quietly(made).document
    del document["runs"]["never"]
    today = document["runs"]["good"]["date"]
    seconds = f"{document['runs']['good']['seconds']:.0f} s"
    broken = f"./bench broken --quick, {today}: failed, it ended with 3: no such luck"
    said = [
        f"./bench good --quick, {today}, program 1a2b3c4, {seconds}: noise (A/A) 1 (0.9 to 1.1), the floor moved by 5 %",
        broken,
        "./bench never --quick: not run",
    ]
    assert list(conditions(made, Figures(document))) == said
    del document["runs"]["good"]["program"]
    document["runs"]["good"]["report"]["noise"] = None
    said[0] = f"./bench good --quick, {today}, {seconds}: noise not measured"
    assert list(conditions(made, Figures(document))) == said


def test_a_program_is_known_by_its_commit_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(paper.running, "ROOT", tmp_path)
    assert program() is None
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b", "-C", str(tmp_path)]
    (tmp_path / "file").write_text("old")
    for words in (["init", "-q"], ["add", "file"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True, timeout=60)
    clean = program()
    assert re.fullmatch(r"[0-9a-f]{7,}", clean)
    (tmp_path / "file").write_text("new")
    assert program() == f"{clean}-dirty"


def test_a_figure_that_was_not_measured_is_missing_by_name():
    figures = Figures(
        {
            "machine": "M",
            "quick": True,
            "runs": {"good": {"report": {"rows": [{"name": "a", "ns": None}]}}, "bad": {"error": "it broke"}},
        }
    )
    with pytest.raises(Missing, match="no row like 'b'"):
        figures.row(Run("good"), "b")
    with pytest.raises(Missing, match="no ns for 'a'"):
        figures.value(Run("good"), "a", "ns")
    with pytest.raises(Missing, match=r"\./bench bad --quick failed: it broke"):
        figures.rows(Run("bad"))
    with pytest.raises(Missing, match="has not been run"):
        figures.rows(Run("other"))


def test_of_rows_near_and_far_the_near_ones_are_told():
    rows = [{"name": "a, near", "ns": 1}, {"name": "a, far", "ns": 5}, {"name": "b", "ns": 2}]
    run = Run("queue")
    figures = Figures({"machine": "", "quick": False, "runs": {run.name(False): {"report": {"rows": rows}}}})
    assert [(row["name"], row["ns"]) for row in figures.rows(run)] == [("a", 1), ("b", 2)]
    assert figures.value(run, "a", "ns") == 1


def test_a_grid_shows_one_figure_by_both_parts_of_the_names():
    rows = [{"name": "8 B, ring", "ns": 1.0}, {"name": "8 B, push", "ns": 2.0}, {"name": "64 B, ring", "ns": 3.0}]
    figures = Figures({"machine": "M", "quick": False, "runs": {"good": {"report": {"rows": rows}}}})
    assert figures.grid(Run("good"), "T", r"(\d+ B), (.*)", "ns", "size") == Table(
        "T", ("size", "ring", "push"), [["8 B", 1.0, 2.0], ["64 B", 3.0, None]]
    )


def test_an_interval_stands_behind_its_figure():
    assert with_interval(1.456, 1.39, 1512.4) == "1.46 (1.39 to 1,512)"
    assert with_interval(2.0, None, None) == "2" and with_interval(None, 1, 2) is None
    assert [shown(value) for value in (999.4, 999.7, 0.01234, None, "words")] == ["999", "1,000", "0.0123", "–", "words"]


@pytest.fixture(scope="module")
def stored():
    """Of one quick run of everything: what each experiment reads."""
    return Figures(json.loads(STORED.read_text()))


@pytest.mark.parametrize("made", EXPERIMENTS, ids=lambda each: each.name)
def test_every_experiment_can_read_what_its_runs_write(made, stored):
    for table in made.tables(stored):
        assert table.rows and all(len(row) == len(table.columns) for row in table.rows), table.title
        assert any(isinstance(value, float | int) or value for row in table.rows for value in row[1:]), table.title
    for picture in made.pictures(stored):
        lines = getattr(picture, "lines", None) or [picture]
        assert all(getattr(line, "points", None) or getattr(line, "bars", None) for line in lines), picture.title
    said = made.shows(stored)
    assert said.endswith(".") and "?" not in said and any(letter.isdigit() for letter in said)


def recent():
    """The stored figures as if they had been measured with today's rulers, and quietly."""
    document = json.loads(STORED.read_text())
    for run in document["runs"].values():
        run["date"] = "2026-11-25"
        if run["report"].get("noise"):
            run["report"]["noise"]["void"] = False
    return document


def test_the_page_holds_what_was_published_what_was_measured_and_what_failed(tmp_path, never):
    pytest.importorskip("matplotlib")
    document = json.loads(STORED.read_text())
    document["runs"]["colour"] = {
        "command": "./bench colour --quick",
        "date": "2026-11-22",
        "seconds": 1.0,
        "error": "it ended with 1: <broken>",
    }
    source, page = tmp_path / "figures.json", tmp_path / "page.html"
    source.write_text(json.dumps(document))
    assert main("all", "--from", source, "--report", page, "--machine", "A & B") == 1  # a run failed
    text = page.read_text()
    sections = {section.split("'", 1)[0]: section for section in text.split("<section id='")[1:]}
    assert list(sections) == [each.name for each in EXPERIMENTS]
    assert [name for name, section in sections.items() if "<svg" not in section] == ["dcl-colour"]
    assert READING[0][:40] in text
    assert "385 ns" in text and "A &amp; B" in text and NOT_STATED in text
    assert "it ended with 1: &lt;broken&gt;" in text
    assert all(
        word not in text for word in (" src=", "<script", "@import", "url(http", "<link")
    )  # one file, with everything in it
    lone = Figures(document).row(Run("null-task"), "round trip: 0 arguments")["over_F1"]
    assert f"{lone:.3g} times the" in text


def test_figures_that_are_no_numbers_lose_their_experiment_only(tmp_path, never):
    document = recent()
    for row in document["runs"]["reconfigure"]["report"]["rows"]:
        row["median_us"] = None
    for row in document["runs"]["colour"]["report"]["rows"]:
        row["low"] = "?"
        del row["speed_up"]
    source, page, words = tmp_path / "figures.json", tmp_path / "page.html", tmp_path / "experiments.md"
    source.write_text(json.dumps(document))
    assert main("all", "--from", source, "--markdown", words) == 0
    assert "wrote no median_us for" in words.read_text() and "its figures cannot be read: KeyError" in words.read_text()
    assert "matrix addition" in words.read_text() and "smallest task" in words.read_text()
    assert main("dcl-colour", "--from", source, "--report", page) == 0
    assert "its figures cannot be read: KeyError" in page.read_text()


def test_null_tasks_without_rows_of_waking_are_told_all_the_same():
    document = json.loads(STORED.read_text())
    rows = document["runs"]["null-task"]["report"]["rows"]
    assert any(row["name"].startswith("asleep: ") for row in rows)
    null_task = next(each for each in EXPERIMENTS if each.name == "tpc-null-task")
    with_waking = null_task.tables(Figures(document))
    rows[:] = [row for row in rows if not row["name"].startswith("asleep: ")]
    assert [table.title for table in null_task.tables(Figures(document))] == [table.title for table in with_waking[:-1]]


def test_what_nobody_should_quote_is_left_out_of_the_documentation_and_named(tmp_path, never):
    document = recent()
    document["runs"]["null-task"]["date"] = "2026-11-22"
    document["runs"]["gallery saxpy"]["report"]["noise"]["void"] = True
    source, words = tmp_path / "figures.json", tmp_path / "experiments.md"
    source.write_text(json.dumps(document))
    assert main("all", "--from", source, "--markdown", words) == 0
    chapters = {name: text for name, text in re.findall(r"`\./bench paper ([\w-]+)`\.(.*?)(?=\n## |\Z)", words.read_text(), re.DOTALL)}
    assert "Not measured: ./bench null-task --quick is measured with an older ruler" in chapters["tpc-null-task"]
    assert "push, slot" not in chapters["tpc-null-task"]
    kernels = chapters["tpc-kernels"]  # of three runs one
    assert "Not told: ./bench gallery saxpy --quick is void" in kernels and "void by its own rule\n" in kernels
    assert "*saxpy*" not in kernels and "*sgemv*" in kernels


def test_a_full_run_that_is_void_is_made_again_and_not_without_end(bench, monkeypatch):
    monkeypatch.setattr(paper.running, "is_void", lambda result: True)
    results = Results(False, "", None, None)
    run_all([experiment(Run("a"))], results, lambda line: None)
    assert bench() == ["a", "a", "a"]
    run_quietly(experiment(Run("b")))
    assert bench() == ["a", "a", "a", "b"]


def test_another_machine_stands_beside_ours(tmp_path, never):
    document = recent()
    ours, theirs, page = tmp_path / "ours.json", tmp_path / "theirs.json", tmp_path / "experiments.md"
    ours.write_text(json.dumps(document | {"machine": "small"}))
    theirs.write_text(json.dumps(document | {"machine": "large"}))
    assert main("tpc-null-task", "--from", ours, "--beside", theirs, "--markdown", page) == 0
    text = page.read_text()
    assert text.index("**small.**") < text.index("**large.**") and text.count("## ") == 1
    assert "`./bench paper tpc-null-task`" in text and "./bench null-task --quick, 2026-" in text
    assert "| 0 arguments |" in text and "TPC, figure 1" in text


def gallery_bench(*words):
    command = [sys.executable, ROOT / "benchmarks" / "gallery.py", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_the_gallery_is_measured_in_all_its_ways_and_says_where_the_time_went(tmp_path):
    file = tmp_path / "fft6.json"
    done = gallery_bench("fft6", "--set", "rows=256", "--set", "repetitions=4", "--json", file)
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(file.read_text())["rows"]}
    for workers in (1, 2):
        for way in ("serial", "serial rows", "hand", "tagged transposes", "tagged rows", "tagged"):
            assert (
                rows[f"{workers} workers, {way}"]["tasks"] == 3 * 1 + 2 * 1
            )  # 16 x 16 numbers are one tile and one strip
        assert rows[f"{workers} workers, serial rows"]["speed_up"] == 1  # parts are compared with the same part
    shares = {part: value for part, value in rows["2 workers, targets"].items() if part.endswith("_percent")}
    assert set(shares) == {"compute_percent", "transfer_percent", "library_percent", "idle_percent"} and sum(
        shares.values()
    ) == pytest.approx(100, abs=1)


@pytest.mark.parametrize(("words", "said"), [(["fft7"], "fft6"), (["fft6", "--set", "rows"], "rows=512"), ([], "fft6")])
def test_the_gallery_refuses_what_it_cannot_measure(words, said):
    done = gallery_bench(*words)
    assert done.returncode == 2 and said in done.stderr


def store(source):
    """Writes paper_figures.json anew from what `./bench paper all --quick --json FILE` kept: figures only, to four digits, a row a line."""
    document = json.loads(Path(source).read_text())
    runs = []
    for name, run in document["runs"].items():
        report = run["report"]
        rows = [
            json.dumps(
                {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in row.items()}
            )
            for row in report["rows"]
        ]
        head = {"command": run["command"], "date": run["date"], "seconds": run["seconds"]}
        facts = {key: report["machine"][key] for key in ("processor", "processors")}
        noise = f'{json.dumps(head)[:-1]}, "report": {{"machine": {json.dumps(facts)}, "noise": {json.dumps(report.get("noise"))}, "rows": [\n'
        runs.append(f"{json.dumps(name)}: {noise}" + ",\n".join(rows) + "\n]}}")
    STORED.write_text(
        f'{{"machine": {json.dumps(document["machine"])}, "quick": true, "runs": {{\n' + ",\n".join(runs) + "\n}}\n"
    )


if __name__ == "__main__":
    store(sys.argv[1])
