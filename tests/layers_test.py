"""A layer includes only itself and the layers below it.

Private code tells its layer by its folder, src/<layer>/. Public headers lie flat in include/penstock/, so the table below
tells theirs: a new public header is added here, under the lowest layer that holds what it includes.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)

# Bottom to top: each layer, with its public headers.
LAYERS = {
    "trace": """
        error trace trace_breakdown trace_counters trace_export trace_snapshot trace_timeline
    """,
    "machine": """
        clock memory parking processor_budget relax topology waiter
    """,
    "channel": """
        channel peer pending push_list shared_channel
    """,
    "store": """
        barrier condition flag join mutex queue_lock rank reader_gate region remote shared_mutex spmd store_way transpose
    """,
    "message": """
        message message_answer message_claim message_error message_memory message_ring
    """,
    "task": """
        argument call_options carrier chain chain_argument chain_image chain_step completion_mailbox dependences dependent
        descriptor entry failures footprint for_each forgotten_numbers grain handle heap history initiator isolation issue journalled_claim landing
        local_store machine options pack plugin procedure reader_list recording resident resident_argument ring scope use_count view
    """,
    "stream": """
        buffer carried described_filter edit filter graph mail port run spread stream_error stream_options stream_statistics
    """,
    "language": """
        application application_builder application_profile application_program application_source component_library.h components
        parameter_value transformation
    """,
}
EVERYTHING = "penstock.hpp"  # includes all of them, so nothing inside the library includes it

RANK = {layer: rank for rank, layer in enumerate(LAYERS)}
LAYER_OF_HEADER = {name if name.endswith(".h") else f"{name}.hpp": layer for layer, names in LAYERS.items() for name in names.split()}
PUBLIC = sorted((ROOT / "include" / "penstock").glob("*.h*"))
PRIVATE = sorted(path for layer in LAYERS for path in (ROOT / "src" / layer).glob("*.[ch]pp"))


def layer_of_file(path: Path) -> str:
    return LAYER_OF_HEADER[path.name] if path in PUBLIC else path.parent.name


def layer_of_include(name: str) -> str | None:
    """The layer that an include reaches into; None for what is not ours (the standard library) or of the same folder."""
    if name.startswith("penstock/"):
        return LAYER_OF_HEADER.get(name.removeprefix("penstock/"), "everything")
    folder = name.partition("/")[0]
    return folder if folder in LAYERS else None


def broken_includes(path: Path) -> list[str]:
    own = RANK[layer_of_file(path)]
    reached = {name: layer_of_include(name) for name in INCLUDE.findall(path.read_text())}
    return [name for name, layer in reached.items() if layer and RANK.get(layer, len(RANK)) > own]


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PUBLIC, ids=label)
def test_a_public_header_has_a_layer(path: Path) -> None:
    assert path.name == EVERYTHING or path.name in LAYER_OF_HEADER, f"add {path.stem} to LAYERS in {label(Path(__file__))}"


@pytest.mark.parametrize("path", [path for path in PUBLIC + PRIVATE if path.name != EVERYTHING], ids=label)
def test_a_layer_includes_only_layers_below_it(path: Path) -> None:
    if path in PUBLIC and path.name not in LAYER_OF_HEADER:
        pytest.skip("it has no layer yet")
    assert broken_includes(path) == []


def test_every_header_of_the_table_exists() -> None:
    assert set(LAYER_OF_HEADER) <= {path.name for path in PUBLIC}


def test_every_folder_of_the_library_is_a_layer() -> None:
    folders = {path.name for path in (ROOT / "src").iterdir() if any(path.glob("*.cpp"))}
    assert folders <= {*LAYERS, "python"}


def test_a_kernel_knows_nothing_of_the_runtime_but_the_shape_of_its_arguments() -> None:
    for path in sorted((ROOT / "kernels").glob("**/*.[ch]pp")):
        ours = {name for name in INCLUDE.findall(path.read_text()) if layer_of_include(name)}
        assert ours <= {"penstock/view.hpp"}, label(path)


def test_an_include_of_a_higher_layer_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "machine" / "wrong.cpp"
    wrong.parent.mkdir()
    wrong.write_text('#include <vector>\n#include "penstock/handle.hpp"\n#  include <task/ring.hpp>\n#include "trace/text.hpp"\n')
    assert broken_includes(wrong) == ["penstock/handle.hpp", "task/ring.hpp"]
