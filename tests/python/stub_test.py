"""The stub of the compiled part says what it needs."""

import ast
import builtins
from pathlib import Path

import penstock as ps


def test_every_name_in_the_stub_is_defined():
    tree = ast.parse(Path(ps.__file__).with_name("_core.pyi").read_text())
    known = set(dir(builtins))
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            known.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            known.add(node.target.id)
        elif isinstance(node, ast.Assign):
            known.update(target.id for target in node.targets)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            known.update(alias.asname or alias.name for alias in node.names)
    used = set()
    for node in ast.walk(tree):
        for part in ("annotation", "returns"):
            annotation = getattr(node, part, None)
            if annotation is not None:
                used.update(name.id for name in ast.walk(annotation) if isinstance(name, ast.Name))
    assert "Any" in used and used <= known, used - known
