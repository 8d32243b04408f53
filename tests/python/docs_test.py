"""The examples of docs/python.md run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"
EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
EXAMPLES = EXAMPLE.findall(PAGE.read_text())


def start(folder, name, source):
    script = folder / name
    script.write_text(source)
    return subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)


def test_the_first_example_prints_what_arrived_from_both_substrates(tmp_path):
    example = start(tmp_path, "example.py", EXAMPLES[0])
    output, errors = example.communicate(timeout=100)
    total = 1.0 + sum(range(16)) + len(range(100, 1024, 7)) * 0.5
    assert [line.replace("np.float32(", "").replace(")", "") for line in output.splitlines()] == [f"[{total}, None]"] * 2, errors


def test_programs_that_are_started_apart_meet_by_name(tmp_path):
    name = f"radio-{tmp_path.name}"
    sources = [source.replace("radio", name) for source in (EXAMPLES[1], EXAMPLES[2], EXAMPLES[2].replace("rank=1", "rank=0"))]
    programs = [start(tmp_path, f"program{i}.py", source) for i, source in enumerate(sources)]
    for program in programs:
        _, errors = program.communicate(timeout=60)
        assert program.returncode == 0, errors


def test_the_example_of_python_bodies_prints_its_results(tmp_path):
    example = start(tmp_path, "example.py", EXAMPLES[3])
    output, errors = example.communicate(timeout=100)
    assert output.splitlines() == ["[0.25 0.5  0.25]", "6", "[3, 2, 1]", "1024"], errors


def test_the_example_of_compiled_bodies_prints_its_results(tmp_path):
    example = start(tmp_path, "example.py", EXAMPLES[4])
    output, errors = example.communicate(timeout=100)
    assert output.splitlines() == ["[4. 4. 4. 4.]", "[8. 8. 8. 8.]", "[10. 10. 10. 10.]"], errors


def test_the_example_of_worker_processes_prints_its_results(tmp_path):
    example = start(tmp_path, "example.py", EXAMPLES[5])
    output, errors = example.communicate(timeout=100)
    assert output.splitlines() == ["[42 42 42]"], errors


def test_the_example_of_streams_prints_its_results(tmp_path):
    example = start(tmp_path, "example.py", EXAMPLES[6])
    output, errors = example.communicate(timeout=100)
    assert output.splitlines() == [str(2.0 * 64 * 64 * sum(range(100))), "100"], errors


def test_the_first_stream_of_the_read_me_prints_its_result(tmp_path):
    (program,) = [source for source in EXAMPLE.findall((ROOT / "README.md").read_text()) if "ps.Graph()" in source]
    example = start(tmp_path, "example.py", program)
    output, errors = example.communicate(timeout=100)
    assert [float(line.replace("np.float32(", "").replace(")", "")) for line in output.splitlines()] == [2.0 * 1000 * sum(range(100))], errors
