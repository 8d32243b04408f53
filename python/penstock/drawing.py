"""Drawings of graphs, by graphviz."""

import shutil
import subprocess

from penstock.errors import Error, UsageError


class GraphvizMissing(UsageError):
    """The program `dot` is not installed."""


def render(drawing: str, kind: str = "svg") -> bytes:
    """A drawing in the language of graphviz as "svg", "png", "pdf" or whatever else `dot -T` knows. Raises GraphvizMissing; Error for what dot refuses."""
    dot = shutil.which("dot")
    if dot is None:
        raise GraphvizMissing("graphs are drawn by graphviz, and its program 'dot' is not installed: apt install graphviz")
    made = subprocess.run([dot, f"-T{kind}"], input=drawing.encode(), capture_output=True, check=False)
    if made.returncode != 0:
        raise Error(f"graphviz cannot draw this: {made.stderr.decode(errors='replace').strip()}")
    return made.stdout
