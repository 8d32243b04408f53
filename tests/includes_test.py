"""Each source file includes what it uses of the standard library, by itself or by headers of this project.

Most builds precompile the public headers, so that a missing line shows only where somebody builds without: in his own project.
"""

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ["include", "src", "components", "kernels"]

# Templates that nothing but their own header gives whole.
USES = {
    "array": r"\barray<",
    "atomic": r"\batomic<",
    "bit": r"\b(bit_cast|bit_ceil|bit_width|countr_zero|countl_zero|popcount|has_single_bit)\b",
    "charconv": r"\b(to_chars|from_chars)\b",
    "condition_variable": r"\bcondition_variable\b",
    "deque": r"\bdeque<",
    "filesystem": r"\bfilesystem::",
    "fstream": r"\b[io]?fstream\b",
    "functional": r"\bfunction<",
    "future": r"\b(promise|future)<",
    "list": r"\blist<",
    "map": r"\bmap<",
    "memory": r"\b(unique_ptr|shared_ptr|weak_ptr)<",
    "mutex": r"\b(lock_guard|unique_lock|scoped_lock|once_flag)\b",
    "numeric": r"\b(accumulate|iota|gcd|lcm)\(",
    "optional": r"\boptional<",
    "random": r"\b(mt19937|mt19937_64|uniform_int_distribution)\b",
    "regex": r"\bregex\b",
    "set": r"\bset<",
    "span": r"\bspan<",
    "sstream": r"\b[io]?stringstream\b",
    "string_view": r"\bstring_view\b",
    "thread": r"\b(jthread|this_thread::)",
    "tuple": r"\btuple<",
    "unordered_map": r"\bunordered_map<",
    "unordered_set": r"\bunordered_set<",
    "utility": r"\bexchange\(",
    "variant": r"\bvariant<",
    "vector": r"\bvector<",
}
# What other headers of the standard give, too.
ALSO = {"string_view": {"string", "filesystem"}, "span": {"ranges"}, "tuple": {"functional", "memory", "map", "unordered_map"}, "thread": {"stop_token"}}


@functools.cache
def includes(path: Path) -> tuple[set[str], set[Path]]:
    """What a file includes itself: names of standard headers, and files of this project."""
    theirs, ours = set(), set()
    for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.MULTILINE):
        near = [path.parent / name, *(ROOT / folder / name for folder in ("include", "src", ".", "kernels", "components"))]
        found = next((each for each in near if each.is_file()), None) if "." in name else None
        if found is None:
            theirs.add(name)
        else:
            ours.add(found.resolve())
    return theirs, ours


def included(path: Path) -> set[str]:
    """Names of the standard headers that come with a file."""
    found, seen, left = set(), {path}, [path]
    while left:
        theirs, ours = includes(left.pop())
        found |= theirs
        left += ours - seen
        seen |= ours
    return found


def missing(path: Path) -> list[str]:
    text, there = re.sub(r"//.*|\"(\\.|[^\"\\\n])*\"", "", path.read_text()), included(path)
    return [name for name, use in USES.items() if re.search(r"\bstd::" + use.removeprefix(r"\b"), text) and not ({name} | ALSO.get(name, set())) & there]


@pytest.mark.parametrize("folder", FOLDERS)
def test_files_include_what_they_use(folder: str) -> None:
    paths = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".hpp")]
    assert len(paths) > 10
    assert {str(path.relative_to(ROOT)): lacking for path in paths if (lacking := missing(path))} == {}
