"""Messages of arrays from Python, in teams of threads and of processes."""

import array
import contextlib
import gc
import weakref

import numpy as np
import pytest
import rank_programs as programs

import penstock as ps

SUBSTRATES = ("threads", "processes")


@pytest.mark.parametrize("protocol", ["automatic", "ring", "pull", "push", "pure_pull"])
def test_arrays_of_any_length_arrive_by_every_protocol_between_threads(protocol):
    assert ps.spmd(3, programs.exchange, (0, 1, 4, 5, 1000, 300_000), protocol) == [True] * 3


@pytest.mark.parametrize("protocol", ["automatic", "push"])
def test_arrays_of_any_length_arrive_between_processes(protocol):
    assert ps.spmd(2, programs.exchange, (0, 1, 4, 5, 1000, 300_000), protocol, substrate="processes") == [True] * 2


@pytest.mark.parametrize("substrate", SUBSTRATES)
def test_a_receive_from_anybody_gets_every_message_in_its_senders_order(substrate):
    assert ps.spmd(3, programs.gather, 50, substrate=substrate)[0] is True


def test_anything_with_memory_can_be_sent():
    structures, dates = np.zeros(3, [("a", "i1"), ("b", "f8")]), np.array(["2020-01-01"], "M8[D]")
    things = [b"bytes", bytearray(b"more"), array.array("d", [1, 2]), memoryview(b"view")]
    things += [np.float32(2.5), 7, 2.5, np.array(5), True, structures, dates, np.arange(12).reshape(3, 4)[:, ::2]]

    def bytes_of(thing):
        return bytes(thing) if isinstance(thing, (bytes, bytearray, memoryview)) else np.asarray(thing).tobytes()

    def program(me):
        post = ps.Messenger(me)
        for thing in things:
            if me.index == 0:
                post.send(1, thing)
            else:
                received, status = post.recv_array(0)
                assert received.tobytes() == bytes_of(thing)
                assert status.bytes == received.size
        ps.Barrier(me, "done").arrive_and_wait()

    ps.spmd(2, program)


@pytest.mark.parametrize("thing", ["text", None, [1, 2], object(), np.array([None, 1]), np.zeros(2, [("a", "O")])])
def test_what_has_no_bytes_of_its_own_is_refused(thing):
    def program(me):
        post = ps.Messenger(me)
        with pytest.raises(ps.ElementError):
            post.send(0, thing)
        with pytest.raises(ps.ElementError):
            post.isend(0, thing)
        assert post.iprobe(0) is None

    ps.spmd(1, program)


def test_memory_that_cannot_take_a_message_is_refused():
    frozen = np.zeros(4)
    frozen.flags.writeable = False

    def program(me):
        post = ps.Messenger(me)
        for into in (frozen, b"bytes", np.zeros((4, 4))[:, 1], np.zeros((4, 4)).T, [0, 0], None, np.empty(2, object)):
            with pytest.raises(ps.ElementError):
                post.recv(0, into)
            with pytest.raises(ps.ElementError):
                post.irecv(0, into)

    ps.spmd(1, program)


def test_a_message_that_is_too_long_is_truncated_and_the_next_one_is_not():
    def program(me):
        post = ps.Messenger(me)
        if me.index == 0:
            for length in (10, 100_000, 2):
                post.send(1, np.arange(length, dtype="f8"))
        else:
            for sent in (10, 100_000):
                into = np.zeros(4)
                with pytest.raises(ps.Truncated) as caught:
                    post.recv(0, into)
                assert (caught.value.source, caught.value.sent, caught.value.room) == (0, sent * 8, 32) and into.tolist() == [
                    0,
                    1,
                    2,
                    3,
                ]
            assert post.recv_array(0, "f8")[0].tolist() == [0, 1]
        ps.Barrier(me, "done").arrive_and_wait()

    ps.spmd(2, program)


def test_a_message_of_no_whole_number_of_elements_stays_where_it_is():
    def program(me):
        post = ps.Messenger(me)
        post.send(0, b"seven..")
        with pytest.raises(ps.UsageError, match="7 bytes"):
            post.recv_array(0, "f4")
        with pytest.raises(ps.UsageError):
            post.probe(0).count("f4")
        assert post.recv_array(0, "S7")[0][0] == b"seven.."

    ps.spmd(1, program)


@pytest.mark.parametrize("rank", [2, -2, 1000])
def test_ranks_that_there_are_not_are_refused(rank):
    def program(me):
        post = ps.Messenger(me)
        for use in (post.send, post.isend, post.recv, post.irecv):
            with pytest.raises(ps.NoSuchRank) as caught:
                use(rank, np.zeros(1))
            assert caught.value.rank == rank and caught.value.size == 2
        for use in (post.probe, post.iprobe, post.recv_array, post.wait_all_of):
            with pytest.raises(ps.NoSuchRank):
                use(rank)
        with pytest.raises(ps.NoSuchRank):
            post.send(ps.any_source, np.zeros(1))

    ps.spmd(2, program)


def test_options_are_checked():
    def program(me):
        for wrong in ({"protocol": "fast"}, {"ring_bytes": 5000}, {"ring_bytes": 1}, {"name": ""}):
            with pytest.raises(ps.UsageError):
                ps.Messenger(me, **wrong)
        with ps.Messenger(me, protocol="pure_pull", ring_bytes=4096, name="other") as post:
            assert post.protocol == "pure pull"
        for use in (lambda: post.send(0, b""), lambda: post.probe(0), post.wait_all):
            with pytest.raises(ps.UsageError, match="closed"):
                use()

    ps.spmd(1, program)


def test_a_rank_that_waits_for_its_own_unsent_message_is_told():
    def program(me):
        post = ps.Messenger(me)
        for wait in (lambda: post.recv(me.index, np.zeros(1)), lambda: post.probe(me.index), lambda: post.recv_array(me.index)):
            with pytest.raises(ps.WouldDeadlock):
                wait()

    ps.spmd(2, program)


def test_ranks_that_wait_for_one_another_are_told():
    with pytest.raises(ps.RankFailed) as caught:
        ps.spmd(2, lambda me: ps.Messenger(me).recv(1 - me.index, np.zeros(1)))
    assert isinstance(caught.value.__cause__, ps.WouldDeadlock)


def test_ranks_that_are_gone_or_have_closed_are_told_of():
    def program(me):
        post = ps.Messenger(me)
        if me.index == 1:
            post.send(0, b"last")
            return
        into = np.zeros(10, np.uint8)
        assert post.recv(1, into).bytes == 4  # what was sent before is received first
        with pytest.raises(ps.RankLost) as caught:
            post.recv(1, into)
        assert caught.value.rank == 1 and isinstance(caught.value, (ps.RankLeft, ps.MessengerClosed))
        with pytest.raises(ps.RankLost):
            post.send(1, np.zeros(100_000))

    ps.spmd(2, program)


def test_requests_end_once_and_tell_what_became_of_them():
    def program(me):
        post = ps.Messenger(me)
        barrier = ps.Barrier(me, "step")
        if me.index == 0:
            into = [np.zeros(4) for _ in range(5)]
            requests = [post.irecv(1, one) for one in into]
            assert post.test(requests[0]) is None and post.wait_for(requests[0], 0.01) is None and post.under_way == 5
            barrier.arrive_and_wait()
            assert post.wait(requests[0]).bytes == 32 and requests[0].collected
            with pytest.raises(ps.UsageError, match="before"):
                post.wait(requests[0])
            with pytest.raises(ps.UsageError):
                post.test(requests[0])
            assert post.wait_for(requests[1], 10.0).tag == 1
            with pytest.raises(ps.Truncated):  # the third is too long; the others are waited for too
                post.wait_all_of(1)
            assert (
                [one[0] for one in into] == [0, 1, 2, 3, 4]
                and all(request.collected for request in requests)
                and post.under_way == 0
            )
            post.wait_all()
        else:
            barrier.arrive_and_wait()
            for i in range(5):
                post.isend(0, np.full(6 if i == 2 else 4, float(i)), tag=i)
            post.wait_all()
        barrier.arrive_and_wait()

    ps.spmd(2, program)


def test_memory_under_way_is_held_and_given_back_at_its_end():
    class Watched(np.ndarray):
        pass

    def program(me):
        post, barrier = ps.Messenger(me), ps.Barrier(me, "step")
        if me.index == 0:
            array = np.full(200_000, 3.0).view(Watched)
            alive = weakref.ref(array)
            request = post.isend(1, array)
            del array
            gc.collect()
            junk = [np.full(200_000, 9.0) for _ in range(5)]
            assert alive() is not None
            barrier.arrive_and_wait()
            post.wait(request)
            gc.collect()
            assert alive() is None
            del junk
            dropped = np.full(4, 7.0).view(Watched)
            alive = weakref.ref(dropped)
            post.irecv(1, dropped)
            del dropped
            gc.collect()
            assert alive() is not None
            post.close()
            gc.collect()
            assert alive() is None
        else:
            barrier.arrive_and_wait()
            assert (post.recv_array(0, "f8")[0] == 3).all()
        barrier.arrive_and_wait()

    ps.spmd(2, program)


def test_many_requests_that_nobody_asks_for_do_not_pile_up():
    def program(me):
        post, barrier = ps.Messenger(me), ps.Barrier(me, "done")
        for i in range(3000):
            if me.index == 0:
                post.isend(1, np.array([i]))
            else:
                assert post.recv_array(0, "i8")[0][0] == i
        assert post.under_way < 3000
        post.wait_all()
        assert post.under_way == 0
        barrier.arrive_and_wait()

    ps.spmd(2, program)


class Watched(np.ndarray):
    """An array whose end can be seen."""


def watched(array):
    array = array.view(Watched)
    return array, weakref.ref(array)


def test_a_request_of_another_messenger_is_refused_and_keeps_its_memory():
    def program(me):
        post, other, barrier = ps.Messenger(me), ps.Messenger(me, name="other"), ps.Barrier(me, "step")
        if me.index == 0:
            into, alive = watched(np.zeros(100_000))
            request = post.irecv(1, into)
            del into
            mine = other.irecv(1, np.zeros(4))  # may have the same number
            for use in (other.test, lambda request: other.wait_for(request, 0.01), other.wait):
                with pytest.raises(ps.UsageError, match="another messenger"):
                    use(request)
            gc.collect()
            assert alive() is not None and post.under_way == 1 and other.under_way == 1
            barrier.arrive_and_wait()
            assert post.wait(request).bytes == 800_000 and other.wait(mine).bytes == 32
        else:
            barrier.arrive_and_wait()
            post.send(0, np.ones(100_000))
            other.send(0, np.ones(4))
        barrier.arrive_and_wait()

    ps.spmd(2, program)


def test_a_long_request_that_was_found_complete_tells_what_it_was():
    def program(me):
        post = ps.Messenger(me)
        into = np.zeros(100_000)
        request = post.irecv(0, into)
        sent = post.isend(0, np.ones(100_000), tag=7)
        post.wait(sent)
        assert post.under_way == 0  # which found it out
        status = post.wait(request)
        assert (status.source, status.tag, status.bytes) == (0, 7, 800_000) and into.all()

    ps.spmd(1, program)


def test_the_end_of_an_array_may_send_again():
    class Sender(np.ndarray):
        def __del__(self):
            post, self.post = getattr(self, "post", None), None
            with contextlib.suppress(ps.UsageError):  # a closed messenger takes nothing
                for _ in range(40 if post else 0):
                    post.isend(0, b"x")

    def sender(post):
        array = np.zeros(2).view(Sender)
        array.post = post
        return array

    def program(me):
        post = ps.Messenger(me)
        into = np.zeros(64, np.uint8)
        for _ in range(60):
            post.isend(0, sender(post))
        for _ in range(30):
            post.recv(0, into)
        assert post.under_way >= 0  # which asks for all
        while post.iprobe(0):
            post.recv(0, into)
        post.isend(0, sender(post))
        post.wait_all()
        post.irecv(0, sender(post))  # ends with the messenger
        post.close()
        return True

    assert ps.spmd(1, program) == [True]


@pytest.mark.parametrize("name", ["Offset", "xOx"])
def test_names_of_fields_are_no_objects(name):
    def program(me):
        post = ps.Messenger(me)
        post.send(0, np.ones(3, [(name, "f4")]))
        assert post.recv_array(0, "f4")[0].tolist() == [1, 1, 1]

    ps.spmd(1, program)
