"""Chains of compiled bodies: several calls issued as one."""

import gc

import numpy as np
import pytest

import penstock as ps


@pytest.fixture(scope="session")
def add(native):
    return native.body("add", "void (const float *x, intptr_t n, const float *y, intptr_t, float *out, intptr_t, float b)")


@pytest.fixture(scope="session")
def transposed(native):
    return native.body(
        "transposed",
        "void (const double *x, intptr_t rows, intptr_t columns, intptr_t pitch, double *y, intptr_t, intptr_t, intptr_t other)",
    )


@pytest.fixture
def sharpen(scale_body, add):
    chain = ps.Chain("float32[]", "float32[]", "float32", name="sharpen")
    image, result, amount = chain.parameters()
    blurred = chain.local(100, "float32")
    chain.add(scale_body, ps.In(image), ps.Out(blurred), 0.5).add(add, ps.In(image), ps.In(blurred), ps.Out(result), amount)
    return chain


@pytest.mark.parametrize("targets", [0, 1, 2])
def test_a_chain_is_issued_often_with_other_arguments(targets, sharpen):
    assert len(sharpen) == 2 and sharpen.local_bytes == 512
    rng = np.random.default_rng(1)
    inputs = rng.random((50, 100)).astype(np.float32)
    outputs = np.zeros_like(inputs)
    with ps.Machine(targets=targets) as machine:
        for i in range(50):
            machine.call(sharpen, ps.In(inputs[i]), ps.Out(outputs[i]), i)
        machine.barrier()
        machine.call(sharpen, ps.In(inputs[0]), ps.Out(outputs[0]), 1, priority="high").wait()
        if targets != 0:
            machine.on(targets - 1).call(sharpen, ps.In(inputs[2]), ps.Out(outputs[2]), 2).wait()
    factors = np.arange(50, dtype=np.float32)
    factors[0] = 1
    assert np.array_equal(outputs, inputs + factors[:, None] * (np.float32(0.5) * inputs))


def test_strided_arrays_pass_through_a_local_block_of_two_dimensions(transposed, machine):
    chain = ps.Chain("float64[]", "float64[]")
    x, y = chain.parameters()
    turned = chain.local((7, 5), "float64")
    chain.add(transposed, ps.In(x), ps.Out(turned)).add(transposed, ps.In(turned), ps.Out(y))
    whole, out = np.random.default_rng(2).random((5, 20)), np.zeros((9, 7))
    machine.call(chain, ps.In(whole[:, 3:10]), ps.Out(out[2:7])).wait()
    assert np.array_equal(out[2:7], whole[:, 3:10]) and not out[:2].any() and not out[7:].any()


def test_many_parameters_and_memory_of_the_caller(native, machine, count):
    chain = ps.Chain(*["int64[]"] * 6)
    counter = np.zeros(3, np.int64)
    for parameter in chain.parameters():
        chain.add(count, ps.InOut(parameter)).add(count, ps.InOut(counter))
    arrays = [np.full(4, i) for i in range(6)]
    machine.call(chain, *[ps.InOut(array) for array in arrays]).wait()
    assert [array.tolist() for array in arrays] == [[i + 1] * 4 for i in range(6)] and counter.tolist() == [6, 6, 6]


def test_the_failing_step_is_named_and_those_behind_it_do_not_run(fail, count, machine):
    chain = ps.Chain("int64[]", "int32", name="doomed")
    x, code = chain.parameters()
    chain.add(count, ps.InOut(x)).add(fail, code).add(count, ps.InOut(x))
    seen = np.zeros(2, np.int64)
    with pytest.raises(ps.TaskFailed, match="fail .step 2 of 3 of chain doomed") as error:
        machine.call(chain, ps.InOut(seen), 9).wait()
    assert str(error.value.__cause__) == "code 9" and seen.tolist() == [1, 1]


def test_a_chain_that_changes_or_goes_runs_as_it_was_when_it_was_issued(gate, count, machine):
    closed, x = np.zeros(1, np.int64), np.zeros(1, np.int64)
    chain = ps.Chain("int64[]")
    (parameter,) = chain.parameters()
    chain.add(count, ps.InOut(parameter))
    machine.call(gate, ps.In(closed))
    machine.call(chain, ps.InOut(x))
    chain.add(count, ps.InOut(parameter))
    machine.on(0).call(chain, ps.InOut(x))
    del chain, parameter
    gc.collect()
    closed[0] = 1
    machine.barrier()
    assert x[0] == 3


def test_an_issue_is_checked_like_a_call(sharpen, machine, count):
    a, b = np.zeros(100, np.float32), np.zeros(200, np.float32)
    for arguments, message in [
        ((ps.In(a), ps.Out(b[:100])), "3 parameters"),
        ((ps.In(a), 3, 0.5), "no array"),
        ((ps.In(a), ps.Out(b), ps.In(a)), "is a scalar"),
        ((ps.In(a), ps.In(b), 0.5), "a step writes it"),
        ((ps.Out(a), ps.Out(b), 0.5), "reads it"),
        ((ps.In(a.astype(float)), ps.Out(b), 0.5), "float64"),
        ((ps.In(b[::2]), ps.Out(a), 0.5), "contiguous"),
        ((ps.In(b[:100]), ps.Out(b[50:150]), 0.5), "overlaps argument 1"),
        ((ps.In(a), ps.Out(b), "much"), "str"),
    ]:
        with pytest.raises(ps.UsageError, match=message):
            machine.call(sharpen, *arguments)
    with pytest.raises(ps.UsageError, match="after others"):
        machine.call(sharpen, ps.In(a), ps.Out(b), 0.5, after=[machine.call(count, ps.InOut(np.zeros(1, np.int64)))])
    big = ps.Chain(name="big")
    big.add(count, ps.Out(big.local(1 << 28, "int64")))
    with pytest.raises(ps.UsageError, match="local store"):
        machine.call(big)


def test_a_step_is_checked_like_a_call_and_a_refused_one_leaves_no_trace(sharpen, machine, scale_body, add, native):
    other = ps.Chain("float32[]", "float64", name="other")
    x, wide = other.parameters()
    local = other.local(10, "float32")
    memory = np.zeros(10, np.float32)
    steps = len(other)
    for arguments, message in [
        ((ps.In(local), ps.Out(x), 1.0), "written"),
        ((ps.In(x), ps.Out(x), 1.0), "overlaps argument 1"),
        ((ps.In(x), ps.Out(local), wide), "float64"),
        ((ps.In(sharpen.parameters()[0]), ps.Out(local), 1.0), "another chain"),
        ((ps.In(x), ps.Out(local)), "does not fit"),
        ((ps.In(machine.resident(memory)), ps.Out(local), 1.0), "resident"),
    ]:
        with pytest.raises(ps.UsageError, match=message):
            other.add(scale_body, *arguments)
    assert len(other) == steps
    with pytest.raises(ps.ArgumentError, match="chain"):
        machine.call(scale_body, ps.In(x), ps.Out(memory), 1.0)
    with pytest.raises(ps.UsageError, match="float31"):
        ps.Chain("float31[]")
    other.add(scale_body, ps.In(x), ps.Out(memory), 2.0)
    with pytest.raises(ps.ArgumentError, match="overlaps memory"):
        machine.call(other, ps.In(memory), 0.0)
    machine.call(other, ps.In(np.ones(10, np.float32)), 0.0).wait()
    assert memory.tolist() == [2.0] * 10
