"""Programs of ranks that the tests run in threads and in worker processes; those import them from here."""

import os
import signal
import threading
import time

import numpy as np

import penstock as ps


class Odd(Exception):
    """An exception of one's own, with a fact."""

    def __init__(self, fact):
        super().__init__(f"odd: {fact}")
        self.fact = fact

    def __reduce__(self):
        return Odd, (self.fact,)


class Unpicklable(Exception):
    def __reduce__(self):
        raise TypeError("not to be pickled")


def describe(me, *arguments):
    return me.index, me.size, me.substrate, os.getpid(), arguments


def store(me, shape, dtype):
    """Rank 0's region as rank 1 has stored it."""
    if me.index == 0:
        inbox, ready = ps.Region(me, "inbox", shape, dtype), ps.Flag(me, "ready")
        inbox.grant(1)
        ready.grant(1)
        inbox.freeze()
        ready.wait()
        return inbox.array
    outbox, ready = ps.Remote.accept(me, 0, "inbox"), ps.RemoteFlag.accept(me, 0, "ready")
    assert outbox.shape == shape and outbox.dtype == np.dtype(dtype)
    outbox[...] = np.arange(outbox.size, dtype=dtype).reshape(shape)
    outbox[0, 3] = 100
    outbox[1:, ::2] = 7
    outbox.publish(ready)
    return None


def words(me):
    if me.index == 0:
        flag, counter, done = ps.Flag(me, "flag"), ps.Counter(me, "counter"), ps.Flag(me, "done")
        for word in (flag, counter, done):
            word.grant(1)
        assert flag.wait(awaited=1) and flag.is_set() and flag.owner == 0 and flag.name == "flag"
        assert counter.wait_until(5) and counter.load() == 5
        assert counter.compare_exchange(4, 9) == (False, 5) and counter.compare_exchange(5, 9) == (True, 5)
        flag.clear()
        assert done.wait(timeout=20.0)
        assert counter.load() == 6
        return "owner"
    flag, counter, done = (
        ps.RemoteFlag.accept(me, 0, "flag"),
        ps.RemoteCounter.accept(me, 0, "counter"),
        ps.RemoteFlag.accept(me, 0, "done"),
    )
    assert not flag.test_and_set() and flag.test_and_set()
    assert [counter.fetch_add(1) for _ in range(5)] == [0, 1, 2, 3, 4]
    while counter.load() != 9:
        time.sleep(0.001)
    counter.store(6)
    done.set()
    return "other"


def count_under_mutex(me, rounds):
    """All ranks add to one number of rank 0, in two steps between which another might come."""
    mutex, barrier = ps.Mutex(me, "mutex"), ps.Barrier(me, "barrier")
    if me.index == 0:
        total = ps.Counter(me, "total")
        for rank in range(1, me.size):
            total.grant(rank)
    else:
        total = ps.RemoteCounter.accept(me, 0, "total")
    for _ in range(rounds):
        with mutex:
            before = total.load()
            if before % 5 == 0:
                time.sleep(0.0005)  # time for another to come between
            total.store(before + 1)
    barrier.arrive_and_wait()
    return total.load()


def read_and_write(me, rounds):
    """Rank 0 writes two words one after the other; the others must see both or neither."""
    lock, barrier = ps.SharedMutex(me, "lock"), ps.Barrier(me, "barrier")
    if me.index == 0:
        first, second = ps.Counter(me, "first"), ps.Counter(me, "second")
        for rank in range(1, me.size):
            first.grant(rank)
            second.grant(rank)
    else:
        first, second = ps.RemoteCounter.accept(me, 0, "first"), ps.RemoteCounter.accept(me, 0, "second")
    whole = True
    for i in range(rounds):
        if me.index == 0:
            with lock:
                first.store(i)
                time.sleep(0.0002)
                second.store(i)
        else:
            with lock.shared():
                whole = whole and first.load() == second.load()
    barrier.arrive_and_wait()
    return whole


def hand_over(me, count):
    """Rank 1 hands numbers to rank 0, one at a time, through a word of rank 0's."""
    mutex, changed = ps.Mutex(me, "mutex"), ps.Condition(me, "changed")
    if me.index == 0:
        slot = ps.Counter(me, "slot")
        slot.grant(1)
        got = []
        for _ in range(count):
            with mutex:
                changed.wait(mutex, lambda: slot.load() != 0)
                got.append(slot.load() - 1)
                slot.store(0)
            changed.notify_one()
        return got
    slot = ps.RemoteCounter.accept(me, 0, "slot")
    for i in range(count):
        with mutex:
            changed.wait(mutex, lambda: slot.load() == 0)
            slot.store(i + 1)
        changed.notify_all()
    return None


def exchange(me, counts, protocol):
    """Every rank sends arrays of these lengths to the next, blocking and not; returns whether all arrived."""
    post = ps.Messenger(me, protocol=protocol)
    to, source = (me.index + 1) % me.size, (me.index - 1) % me.size
    good = True
    for tag, count in enumerate(counts):
        mine = np.arange(count) * 2.5 + me.index
        expected = np.arange(count) * 2.5 + source
        into = np.full(count + 3, -1.0)
        request = post.irecv(source, into)
        post.send(to, mine, tag)
        status = post.wait(request)
        good &= (status.source, status.tag, status.bytes, status.count("f8")) == (source, tag, count * 8, count)
        good &= np.array_equal(into[:count], expected) and (into[count:] == -1).all()
        sent = post.isend(to, mine[::-1], tag + 100)  # not contiguous: copied
        array, status = post.recv_array(source, "f8")
        good &= np.array_equal(array, expected[::-1]) and status.tag == tag + 100
        post.wait(sent)
    ps.Barrier(me, "sent").arrive_and_wait()
    return bool(good)


def gather(me, count):
    """Rank 0 receives from anybody; everybody else sends `count` numbered messages."""
    post = ps.Messenger(me)
    if me.index != 0:
        for i in range(count):
            post.send(0, np.array([me.index, i]), tag=i)
        ps.Barrier(me, "received").arrive_and_wait()
        return None
    seen = {rank: [] for rank in range(1, me.size)}
    into = np.zeros(2, np.int64)
    for _ in range(count * (me.size - 1)):
        coming = post.probe(ps.any_source)
        assert post.iprobe(coming.source) is not None and coming.count("int64") == 2
        status = post.recv(ps.any_source, into)
        assert status.source == into[0] and status.tag == into[1]
        seen[status.source].append(int(into[1]))
    assert post.iprobe(ps.any_source) is None and post.under_way == 0
    ps.Barrier(me, "received").arrive_and_wait()
    return all(numbers == list(range(count)) for numbers in seen.values())


def fail(me, kind):
    """Rank 1 ends in this way; the others wait for it at a barrier."""
    barrier = ps.Barrier(me, "barrier")
    if me.index == 1:
        if kind == "exception":
            raise Odd(42)
        if kind == "unpicklable":
            raise Unpicklable("secret")
        if kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "exit":
            os._exit(7)
        if kind == "sys.exit":
            raise SystemExit(3)
    barrier.arrive_and_wait()


def end_unpicklable(me):
    return threading.Lock() if me.index == 1 else 5


def see_death(me, ready):
    """Rank 1 tells its process and waits to be killed; rank 0 returns what it was told, and how soon."""
    flag = ps.Flag(me, "never")
    ps.Barrier(me, "here").arrive_and_wait()
    if me.index == 1:
        with open(ready, "w") as file:
            file.write(str(os.getpid()))
        flag.wait(awaited=0)
    begin = time.monotonic()
    try:
        flag.wait(awaited=1)
    except ps.RankDied as error:
        return error.rank, error.pid, me.dead(1), time.monotonic() - begin
    return None


def wait_for_ever(me, kind):
    print("ready\n", end="", flush=True)
    try:
        if kind == "flag" or (kind == "recv" and me.index == 0):
            ps.Flag(me, "never").wait(awaited=me.index)
        elif kind == "recv":
            ps.Messenger(me).recv(0, np.zeros(5))
        else:
            while True:
                sum(range(100))
    except KeyboardInterrupt:
        print("interrupted\n", end="", flush=True)
        while kind == "recv" and me.index == 0 and not me.gone(1):
            time.sleep(0.01)  # or the other would be told of this rank's end, not interrupted itself
        raise


def join_and_send(me):
    post = ps.Messenger(me)
    post.send(0, np.arange(5) + me.index)
    ps.Barrier(me, "sent").arrive_and_wait()


def fail_with_odd_text(me):
    raise ValueError("caf\udce9")


class Speechless(Exception):
    def __str__(self):
        raise TypeError("no text")


def fail_without_text(me):
    raise Speechless


def end_with_a_long_result(me):
    return np.zeros(50_000_000, np.uint8)


def move_within_own_region(me, n):
    region = ps.Region(me, "own", n, np.float64)
    region.grant(0)
    remote = ps.Remote.accept(me, 0, "own")
    region.array[:] = np.arange(n)
    remote[1:] = region.array[:-1]
    return bool(region.array[0] == 0 and (region.array[1:] == np.arange(n - 1)).all())
