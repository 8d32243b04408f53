"""The command line."""

import json
import re

import pytest
from command_line import FIRST
from typer.testing import CliRunner

import penstock as ps
from penstock import cli, demo

runner = CliRunner()


def invoke(*arguments):
    return runner.invoke(cli.app, [str(argument) for argument in arguments])


def test_machine_tells_processors_and_targets():
    result = invoke("machine")
    assert result.exit_code == 0 and "targets by default" in result.output and "calibrated" in result.output
    assert any(f"stores travel {way}" in " ".join(result.output.replace("│", " ").split()) for way in ("plain", "demote", "stream"))


def test_gallery_lists_the_applications():
    result = invoke("gallery")
    assert result.exit_code == 0
    for name in ("saxpy", "sgemv", "addition", "conv2d", "lu", "synthetic", "pipeline"):
        assert name in result.output


def test_gallery_tells_the_ways_of_one_application_and_refuses_an_unknown_name():
    result = invoke("gallery", "lu")
    assert result.exit_code == 0 and "dependent" in result.output and "repetitions" in result.output
    assert isinstance(invoke("gallery", "nothing").exception, ps.UsageError)


def test_run_refuses_a_setting_that_the_application_does_not_have():
    refused = invoke("run", "lu", "--set", "rowz=abc").exception
    assert isinstance(refused, ps.SettingError) and "rowz" in str(refused) and "block_columns" in str(refused)


def test_run_prints_checks_and_writes_report_and_trace(tmp_path):
    report, trace = tmp_path / "deep" / "lu.html", tmp_path / "other" / "lu.json"
    result = invoke("run", "lu", "--set", "rows=64", "--set", "repetitions=2", "--targets", 1, "--report", report, "--trace", trace)
    assert result.exit_code == 0, result.output
    assert "checks hold" in result.output and "WRONG" not in result.output
    events = json.loads(trace.read_text())["traceEvents"]
    assert sum(event.get("ph") == "X" and "bmod" in event["name"] for event in events) > 10
    text = report.read_text()
    assert "<svg" in text and "drawTimeline(0)" in text and not re.search(r"(src|href)=.https?:", text)


def test_a_failing_check_makes_the_exit_status_1(monkeypatch, tmp_path):
    wrong = {"name": "made wrong", "expected": 0.0, "actual": 1.0, "tolerance": 0.0, "source": "this test", "ok": False}
    honest = cli._core.run_app

    def spoilt(*arguments, **options):
        result = honest(*arguments, **options)
        return {**result, "checks": [*result["checks"], wrong], "ok": False}

    monkeypatch.setattr("penstock.recording.run_app", spoilt)
    result = invoke("run", "addition", "--set", "rows=64", "--set", "columns=64", "--set", "repetitions=1", "--report", tmp_path / "a.html")
    assert result.exit_code == 1 and "WRONG" in result.output
    assert "a check does not hold" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize("arguments", [("run", "lu", "--set", "rows"), ("run", "lu", "--set", "rows=x"), ("run",), ("nothing",)])
def test_a_command_that_makes_no_sense_is_refused(arguments):
    assert invoke(*arguments).exit_code == 2


def test_an_error_of_penstock_is_one_line_and_exit_status_2(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["penstock", "run", "nothing"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2 and "gallery" in capsys.readouterr().err


def test_the_demo_analyses_a_tissue_filters_a_photograph_factors_a_matrix_and_writes_one_file(tmp_path):
    result = invoke("demo", "--output", tmp_path / "report", "--repetitions", 1)
    assert result.exit_code == 0, result.output
    assert result.output.rstrip().endswith("index.html")
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["index.html"]
    for words in ("checks hold", "ProcessPoolExecutor", "What to look at"):
        assert words in result.output
    wide = [line for line in result.output.splitlines() if len(line) > 80 and not line.startswith("Report: ")]
    assert wide == []
    text = (tmp_path / "report" / "index.html").read_text()
    tissue = "tissue" in dict(ps.gallery())
    assert text.count("data:image/png;base64,") == 2 + 2 * tissue and text.count("<h2>") == 2 + tissue
    for words in ("Speed over workers", "<h3>Graph</h3>", "while filters came and went"):
        assert (words in text) == tissue
    assert ("overview" in text) == tissue and "cv2.filter2D" in text and "dgetrf" in text and "checks hold" in text


def test_a_photograph_that_cannot_be_read_is_told(tmp_path):
    bad = tmp_path / "bad.png"
    bad.write_text("no picture")
    with pytest.raises(demo.UsageError, match="cannot be read"):
        demo.photograph(bad)


def test_what_others_named_is_told_as_it_is(tmp_path, monkeypatch, capsys):
    (tmp_path / "[").mkdir()
    (tmp_path / "[" / "x].xml").write_text(FIRST, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert "[/x].xml: no errors" in invoke("check", "[/x].xml").output
    for command in (["run", "no[/x].xml"], ["check", "[/b]:smile:"], ["top", "[/x]", "--once"], ["components", "[/x]"], ["run", "addition", "--set", "[/b]=3"]):
        monkeypatch.setattr("sys.argv", ["penstock", *command])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        told = capsys.readouterr().err
        assert caught.value.code == 2 and re.search(r"\[/x\]|\[/b\]", told), told


def test_a_number_of_targets_that_cannot_be_is_told_in_words():
    for number in (-5, 257, 10**30):
        result = invoke("run", "addition", "--targets", number)
        assert result.exit_code == 2 and "--targets" in result.output


def test_top_lists_runs_whatever_their_names_look_like(both):
    graph = ps.Graph()
    graph.connect(graph.add_writer("[/w]", "int32"), graph.add_reader("[/r]", "int32"))
    run = graph.start(both, name="[/listed]")
    result = invoke("top"), invoke("top", "[/listed]", "--once")
    run.stop()
    for each in result:
        assert each.exit_code == 0 and "[/listed]" in each.output
    assert "[/w]" in result[1].output


def test_a_file_for_which_there_is_no_room_is_named(tmp_path, monkeypatch, capsys):
    file = tmp_path / "sums.xml"
    file.write_text(FIRST, encoding="utf-8")
    for command in (["transform", file, "--pass", "inline", "-o", "/dev/full"], ["run", file, "--trace", "/dev/full"], ["run", file, "--report", "/dev/full"]):
        monkeypatch.setattr("sys.argv", ["penstock", *map(str, command)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert caught.value.code == 2 and "No space left on device: '/dev/full'" in capsys.readouterr().err


def test_arguments_that_are_no_text_are_told(both, monkeypatch, capsys):
    graph = ps.Graph()
    graph.connect(graph.add_writer("w", "int32"), graph.add_reader("r", "int32"))
    run = graph.start(both, name="no-text")
    odd = "no\udcff"
    commands = (
        ["check", odd], ["run", odd], ["run", f"{odd}.xml"], ["draw", f"{odd}.xml"], ["transform", odd, "--pass", "inline"], ["run", "addition", "--set", f"{odd}=1"],
        ["send", "no-text", odd], ["send", "no-text", "x", "--", odd], ["send", "no-text", "x" * 70000],
    )  # fmt: skip
    for command in commands:
        monkeypatch.setattr("sys.argv", ["penstock", *command])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert caught.value.code == 2, command
        capsys.readouterr()
    run.stop()
    assert invoke("top", "no-text", "--every", "inf").exit_code == 2
