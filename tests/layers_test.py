"""A layer includes only itself and the layers below it.

A file tells its layer by its folder: src/<layer>/ or include/penstock/detail/<layer>/. A header that users include lies in
include/penstock/ and stands as high as the highest header that it includes itself.
"""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
TABLE = re.compile(r"^//\s.*?([a-z_]+\.hp*)$", re.MULTILINE)

# Bottom to top.
LAYERS = ["trace", "machine", "process", "wire", "channel", "store", "message", "task", "stream", "language", "nodes"]
RANK = {layer: rank for rank, layer in enumerate(LAYERS)}
EVERYTHING = "penstock.hpp"  # includes all that users include, so nothing inside the library includes it

HEADERS = ROOT / "include" / "penstock"
USER = sorted(path for path in HEADERS.iterdir() if path.suffix in {".hpp", ".h"} and path.name != EVERYTHING)
DETAIL = sorted((HEADERS / "detail").rglob("*.hpp"))
PRIVATE = sorted(path for layer in LAYERS for path in (ROOT / "src" / layer).rglob("*.[ch]pp"))


def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text())


@cache
def rank_of_user_header(name: str) -> int:
    return max((rank for include in includes(HEADERS / name) if (rank := rank_of_include(include)) is not None), default=0)


def rank_of_include(name: str) -> int | None:
    """The layer that an include reaches into; None for what is not ours."""
    parts = name.split("/")
    if parts[:2] == ["penstock", "detail"]:
        return RANK[parts[2]]
    if parts[0] == "penstock":
        return len(LAYERS) if parts[1] == EVERYTHING else rank_of_user_header(parts[1])
    return RANK.get(parts[0]) if len(parts) > 1 else None


def rank_of_file(path: Path) -> int:
    return RANK[path.relative_to(HEADERS / "detail" if HEADERS in path.parents else ROOT / "src").parts[0]]


def broken_includes(path: Path, rank: int) -> list[str]:
    return [name for name in includes(path) if (reached := rank_of_include(name)) is not None and reached > rank]


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", DETAIL + PRIVATE, ids=label)
def test_a_layer_includes_only_layers_below_it(path: Path) -> None:
    assert broken_includes(path, rank_of_file(path)) == []


@pytest.mark.parametrize("path", USER, ids=label)
def test_a_user_header_includes_nothing_private(path: Path) -> None:
    assert all(name.startswith("penstock/") for name in includes(path) if rank_of_include(name) is not None)
    assert rank_of_user_header(path.name) < len(LAYERS)


@pytest.mark.parametrize("path", DETAIL, ids=label)
def test_a_header_that_users_need_not_name_comes_in_by_itself(path: Path) -> None:
    name = str(path.relative_to(HEADERS.parent))
    assert any(name in includes(other) for other in USER + DETAIL), "no user header needs it: it belongs into src/"


def test_every_folder_of_the_library_is_a_layer() -> None:
    folders = {path.name for root in (ROOT / "src", HEADERS / "detail") for path in root.iterdir() if path.is_dir()}
    assert folders <= {*LAYERS, "python"}


def test_the_header_of_everything_names_each_header_and_what_it_is_for() -> None:
    text = (HEADERS / EVERYTHING).read_text()
    apart = set(TABLE.findall(text.partition("// Not included here")[2]))
    everything = set(includes(HEADERS / EVERYTHING))
    table = set(TABLE.findall(text))
    for path in USER:
        assert path.name in table, f"say in {EVERYTHING} what {path.name} is for"
        assert path.suffix == ".h" or (f"penstock/{path.name}" in everything) != (path.name in apart), path.name
    assert table == {path.name for path in USER}


def test_a_kernel_knows_nothing_of_the_runtime_but_the_shape_of_its_arguments() -> None:
    for path in sorted((ROOT / "kernels").glob("**/*.[ch]pp")):
        ours = {name for name in includes(path) if rank_of_include(name) is not None}
        assert ours <= {"penstock/view.hpp"}, label(path)


def test_processes_are_started_watched_and_collected_by_one_layer() -> None:
    calls = re.compile(r"pidfd_open|pidfd_send_signal|\b(waitpid|waitid|posix_spawn|signalfd|prctl)\(|(^|[^\w.])fork\(\)")
    callers = {path.relative_to(ROOT / "src").parts[0] for path in (ROOT / "src").rglob("*.cpp") if calls.search(path.read_text())}
    assert callers == {"process"}


def test_only_the_gallery_of_the_python_module_knows_the_applications() -> None:
    binding = ROOT / "src" / "python"
    knowing = {path.relative_to(binding).parts[0] for path in binding.rglob("*.[ch]pp") if any(name.startswith("apps/") for name in includes(path))}
    assert knowing == {"gallery"}


def test_an_include_of_a_higher_layer_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.cpp"
    wrong.write_text(
        '#include <vector>\n#include "penstock/handle.hpp"\n#  include <penstock/detail/task/ring.hpp>\n'
        '#include "stream/run/run.hpp"\n#include "trace/text.hpp"\n'
    )
    assert broken_includes(wrong, RANK["machine"]) == ["penstock/handle.hpp", "penstock/detail/task/ring.hpp", "stream/run/run.hpp"]
