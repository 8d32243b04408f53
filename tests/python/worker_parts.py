"""What tests of worker interpreters run there."""

import os
import time

import numpy as np

import penstock as ps


def fill(out, value):
    out[...] = value


def process():
    return os.getpid()


def pass_gate(gate):
    while not gate[0]:
        time.sleep(0.001)


class Gated:
    """A task that runs until the gate is opened."""

    def __init__(self, machine):
        self.gate = machine.array(1, np.int8)
        self.handle = machine.call(pass_gate, ps.In(self.gate))

    def open(self):
        self.gate[0] = 1
        self.handle.wait()


def fails(what):
    raise ValueError(what)


class Wordless(Exception):
    """Has no text that could be told."""

    def __str__(self):
        raise ValueError("no text")


def raise_wordless():
    raise Wordless
