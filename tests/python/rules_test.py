"""Any order of calls, waits, edits and ends gives what a model says, or one of the documented errors; and never hangs."""

import math

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from stream_parts import scale

import penstock as ps

DOCUMENTED = (ps.Error, TypeError, ValueError, MemoryError)
ODD = [None, -1, 2**63, 10**40, 1.5, math.nan, math.inf, "", "\ud800", "a\0b", b"x", (), [[]], {}, object(), len, np.zeros(0), np.zeros((2, 0)),
       np.zeros(3, ">f4"), np.zeros(3, object), np.zeros(3, "S2"), np.arange(6.0).reshape(2, 3).T, np.arange(4)[::2], np.broadcast_to(1.0, (4,)),
       np.zeros((1,) * 9), np.float32(1)]  # fmt: skip
odd = st.sampled_from(ODD)
ENDS = ("finish", "stop", "close", "ended", "report", "statistics", "description", "draw", "json")


def tolerated(call):
    try:
        return call()
    except DOCUMENTED:
        return None


class Rules(RuleBasedStateMachine):
    body = None  # increments every element of an int64 array

    @initialize(number=st.integers(0, 2))
    def begin(self, number):
        self.machine = ps.Machine(targets=number)
        self.order = ps.Dependences(self.machine)
        self.arrays = [np.zeros(4, np.int64) for _ in range(3)]
        self.times = [0, 0, 0]
        self.handles, self.closed, self.run = [], False, None

    @rule(which=st.integers(0, 2), priority=st.sampled_from([None, "high", "normal"]))
    def call(self, which, priority):
        if not self.closed:
            self.machine.barrier()  # calls of machine.call are not ordered
            self.order.wait()
            self.handles.append(self.machine.call(self.body, ps.InOut(self.arrays[which]), priority=priority))
            self.times[which] += 1
            self.machine.barrier()

    @rule(which=st.lists(st.integers(0, 2), max_size=9))
    def call_in_order(self, which):
        for each in which:
            if not self.closed:
                self.handles.append(self.order.call(self.body, ps.InOut(self.arrays[each])))
                self.times[each] += 1

    @rule(given=odd, tag=st.sampled_from([ps.In, ps.Out, ps.InOut, lambda x: x]), way=st.integers(0, 2), other=odd)
    def call_with_something_odd(self, given, tag, way, other):
        by = (self.machine.call, self.order.call, lambda body, x, **_: self.machine.for_each(other, body, x))[way]
        option = {} if way else {"deadline": other}
        scratch = np.array(given, copy=True) if isinstance(given, np.ndarray) and given.flags.writeable else given
        tolerated(lambda: by(self.body, tag(scratch), **option))
        tolerated(lambda: self.machine.array(given, other))

    @rule(given=odd)
    def wait_with_something_odd(self, given):
        if self.handles:
            tolerated(lambda: self.handles[-1].result(given))
        tolerated(lambda: ps.wait_any(given))
        tolerated(lambda: ps.wait_all([*self.handles[-2:], given]))

    @rule()
    def wait(self):
        if not self.closed:
            ps.wait_all(self.handles)
            self.handles.clear()

    @rule(copies=st.integers(1, 3))
    def start(self, copies):
        if self.closed or self.run is not None:
            return
        graph = ps.Graph()
        self.writer, self.reader = graph.add_writer("w", "int64"), graph.add_reader("r", "int64")
        graph.connect(self.writer, graph.add("s", scale, copies=copies))
        graph.connect("s.out", self.reader, ordered=True, capacity=1000)
        self.run, self.sent, self.over = graph.start(self.machine), [], False

    @rule(value=st.integers(0, 1000))
    def write(self, value):
        if self.run is not None and not self.over:
            self.writer.write([value])
            self.sent.append(2 * value)

    @rule(given=odd, other=odd, copies=st.integers(-1, 3))
    def stream_with_something_odd(self, given, other, copies):
        if self.run is None or self.over:
            return
        tolerated(lambda: self.run.send(given, other))
        tolerated(lambda: self.run.send_after(given, other))
        tolerated(lambda: self.run.edit(lambda edit: edit.set("s", given, other)))
        tolerated(lambda: self.run.edit(lambda edit: edit.change("w.output", "s.in", capacity=given)))
        tolerated(lambda: self.run.edit(lambda edit: edit.copies("s", copies)))

    @rule(how=st.sampled_from(ENDS), twice=st.booleans())
    def end(self, how, twice):
        if self.run is None:
            return
        if how == "finish" and not self.over:
            self.writer.close()
            self.over = True
            assert [int(x[0]) for x in self.reader] == self.sent
        self.over = self.over or how in ("stop", "close")
        for _ in range(1 + twice):
            tolerated(lambda: told() if callable(told := getattr(self.run, how)) else told)

    @rule()
    def close(self):
        if self.run is not None:
            self.run.stop()
            self.over = True
        self.order.wait() if not self.closed else None
        self.machine.close()
        self.closed = True
        for use in (self.machine.barrier, self.machine.snapshot, lambda: self.machine.call(self.body, ps.InOut(self.arrays[0]))):
            try:
                use()
            except ps.MachineGone:
                continue
            raise AssertionError("a closed machine was used")

    @invariant()
    def arrays_are_what_the_model_says(self):
        if not self.closed:
            self.order.wait()
        assert [array.tolist() for array in self.arrays] == [[n] * 4 for n in self.times]

    def teardown(self):
        if hasattr(self, "machine"):
            if self.run is not None:
                self.run.stop()
            tolerated(self.machine.close)


def test_any_order_of_calls_and_ends(count):
    Rules.body = count
    settings_ = settings(max_examples=25, stateful_step_count=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(Rules, settings=settings_)
