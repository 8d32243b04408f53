"""Draws what `penstock run likelihood --set output=RUN` wrote: the consensus of the trees as RUN.tree.svg, the trace as RUN.trace.svg.

    .venv/bin/python apps/likelihood/draw.py RUN [BURN_IN]
"""

import re
import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")
matplotlib.rcParams["svg.fonttype"] = "none"
import matplotlib.pyplot as plt  # noqa: E402


class Node:
    def __init__(self, name="", length=0.0):
        self.name, self.length, self.children = name, length, []


def read_newick(text):
    """The root of a tree as to_newick writes it; inner nodes are named by what stands behind their ')'."""
    stack, node = [Node()], None
    for token in re.findall(r"'(?:[^']|'')*'|[(),;]|:[^(),;]+|[^(),:;]+", text.strip()):
        if token == "(":
            stack.append(Node())
            node = None
        elif token == ")":
            node = stack.pop()
            stack[-1].children.append(node)
        elif token.startswith(":"):
            node.length = float(token[1:])
        elif token not in ",;":
            if node is None or node.children == [] or node.name:
                node = Node(token.strip("'"))
                stack[-1].children.append(node)
            else:
                node.name = token
        elif token == ",":
            node = None
    return stack[0].children[0]


def draw_tree(text, path):
    """As a phylogram: a line's length is that of its branch; figures are the shares of samples with that branch, where there is room."""
    root, rows = read_newick(text), 0
    figure, axes = plt.subplots(figsize=(7, 7.5), layout="constrained")

    def place(node, x):
        nonlocal rows
        end = x + node.length
        if not node.children:
            y, rows = -rows, rows + 1
            axes.text(end, y, " " + node.name, va="center", fontsize=7)
        else:
            below = [place(child, end) for child in node.children]
            axes.plot([end, end], [min(below), max(below)], color="0.25", lw=0.8)
            y = (min(below) + max(below)) / 2
            if node.name and node.length > 0.01:
                axes.text(end, y, f"{float(node.name):.2f} ", va="bottom", ha="right", fontsize=6, color="tab:blue")
        axes.plot([x, end], [y, y], color="0.25", lw=0.8)
        return y

    place(root, 0.0)
    axes.set(xlabel="changes a site", yticks=[])
    axes.spines[["left", "top", "right"]].set_visible(False)
    figure.savefig(path)
    plt.close(figure)


def draw_trace(log, burn_in, path):
    """The logarithm of the posterior and alpha, generation by generation, and how often each value came after the burn-in."""
    names = log.read_text().split("\n", 1)[0].split("\t")
    rows = np.loadtxt(log, delimiter="\t", skiprows=1)
    shown = ["likelihood", "alpha" if "alpha" in names else "tree length"]
    figure, all_axes = plt.subplots(2, 2, figsize=(7, 3.6), width_ratios=(3, 1), sharey="row", layout="constrained")
    kept = rows[:, 0] >= burn_in * rows[-1, 0]
    for (line, counts), name in zip(all_axes, shown, strict=True):
        values = rows[:, names.index(name)]
        line.plot(rows[:, 0], values, lw=0.5, color="tab:blue")
        line.axvspan(0, burn_in * rows[-1, 0], color="0.9")
        line.set_ylabel("log-likelihood" if name == "likelihood" else name)
        counts.hist(values[kept], bins=30, orientation="horizontal", color="tab:blue")
        counts.set_xticks([])
    low, high = np.percentile(rows[kept, names.index("likelihood")], [0, 100])
    all_axes[0, 0].set_ylim(low - 2 * (high - low) / 3, high + (high - low) / 6)
    all_axes[1, 0].set_xlabel("generation")
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    run, share = sys.argv[1], float(sys.argv[2]) if len(sys.argv) == 3 else 0.25
    draw_tree(Path(run + ".consensus").read_text(), run + ".tree.svg")
    draw_trace(Path(run + ".log"), share, run + ".trace.svg")
