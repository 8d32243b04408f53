"""Filters that several tests build their graphs of."""

import numpy as np

import penstock as ps


@ps.filter(outputs="int64")
def numbers(count):
    for n in range(count):
        yield np.full(3, n, np.int64)


@ps.filter(inputs="int64", outputs="int64", settings={"factor": ps.Setting(2, unit="times", least=0, most=100)}, may_be_copied=True)
def scale(x, *, factor):
    return x * factor


@ps.filter(inputs="int64")
class Collect:
    def __init__(self):
        self.got = []

    def __call__(self, x):
        self.got.append(int(x[0]))


def chain(*filters, **options):
    """A graph of filters in a row, called a, b, c..., and its nodes."""
    graph = ps.Graph()
    nodes = [graph.add("abcdefg"[i], *(each if isinstance(each, tuple) else (each,))) for i, each in enumerate(filters)]
    for before, behind in zip(nodes, nodes[1:], strict=False):
        graph.connect(before, behind, **options)
    return graph, nodes
