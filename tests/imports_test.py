"""The modules of a package import each other in no circle, also not for types alone."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = [ROOT / "benchmarks" / "paper", ROOT / "python" / "penstock"]


def imported(path: Path, package: Path) -> set[str]:
    """The modules beside it that a module imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
    return {module for module in modules(package) if f"{package.name}.{module}" in names}


def modules(package: Path) -> dict[str, Path]:
    paths = (path for path in package.rglob("*.py") if path.name != "__init__.py")
    return {".".join(path.relative_to(package).with_suffix("").parts): path for path in paths}


def in_circles(package: Path) -> set[str]:
    """Modules in a circle, and those that need one: what is left when modules that import none of the rest go, again and again."""
    left = {name: imported(path, package) for name, path in modules(package).items()}
    while free := {name for name, needed in left.items() if not needed & left.keys()}:
        left = {name: needed for name, needed in left.items() if name not in free}
    return set(left)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_modules_import_each_other_in_no_circle(package: Path) -> None:
    assert len(modules(package)) > 5
    assert in_circles(package) == set()


def test_a_circle_is_found(tmp_path: Path) -> None:
    for name, text in {"one": "from circle.two import x", "two": "import circle.one", "three": "from circle import one"}.items():
        (tmp_path / "circle").mkdir(exist_ok=True)
        (tmp_path / "circle" / f"{name}.py").write_text(text)
    assert in_circles(tmp_path / "circle") == {"one", "two", "three"}
