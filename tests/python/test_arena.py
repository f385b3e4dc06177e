"""The life of an arena, and what it refuses."""

import fcntl
import gc
import mmap
import os
import pickle
import signal
import tempfile
import threading
import time

import pytest

import roar
from arena_helpers import (LARGE, SIZE, both, descriptors, in_fork, start,
                           through, wait_until)


def produce(arena, count, size):
    arena.join("producer")
    for i in range(count):
        arena.send((i, bytes([i & 255]) * size), tag=i)


def echo(arena, back):
    arena.join("consumer")
    back.join("producer")
    back.send(arena.receive(timeout=20))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("copy", [True, False])
def test_an_arena_goes_with_a_process(method, copy):
    with roar.Arena(SIZE, copy=copy, timeout=10) as arena:
        arena.join("consumer")
        process = start(method, produce, arena, 20, LARGE)
        for i in range(20):
            item = arena.receive_item(timeout=20)
            assert item.tag == item.value[0] == item.sequence == i
            assert bytes(item.value[1]) == bytes([i]) * LARGE
        process.join()
        assert process.exitcode == 0


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_two_arenas_make_a_way_there_and_back(method):
    with roar.Arena(SIZE) as there, roar.Arena(SIZE, copy=True) as back:
        there.join("producer")
        back.join("consumer")
        process = start(method, echo, there, back)
        there.send({"data": b"e" * LARGE})
        assert back.receive(timeout=20)["data"] == b"e" * LARGE
        process.join()


def test_an_arena_is_attached_by_its_descriptor():
    with both() as arena:
        with roar.Arena.attach(arena.fileno(), copy=True) as other:
            other.join("producer")
            other.send(b"o" * LARGE)
            assert bytes(arena.receive(timeout=2)) == b"o" * LARGE


def test_an_arena_is_not_pickled_in_between():
    with both() as arena:
        with pytest.raises(RuntimeError, match="spawning|inheritance"):
            pickle.dumps(arena)
        with pytest.raises(RuntimeError):
            arena.send(arena)
        assert through(arena, 1) == 1


def test_tags_producers_and_sequences_arrive():
    with both() as arena:
        for i in range(3):
            arena.send("x", tag=(1 << 64) - 1 - i)
        items = [arena.receive_item(timeout=1) for _ in range(3)]
        assert [i.tag for i in items] == [(1 << 64) - 1 - n for n in range(3)]
        assert [i.sequence for i in items] == [0, 1, 2]
        assert len({i.producer for i in items}) == 1


def test_items_of_one_producer_can_be_asked_for():
    with roar.Arena(SIZE, n_producers=2, timeout=5) as arena:
        arena.join("consumer")
        others = [roar.Arena.attach(arena.fileno()) for _ in range(2)]
        for share, other in enumerate(others):
            other.join("producer", share)
        for i in range(3):
            for share, other in enumerate(others):
                other.send((share, i))
        first = arena.receive_item(timeout=2)
        source = first.producer
        share = first.value[0]
        assert [arena.receive(2, source=source) for _ in range(2)] == \
            [(share, 1), (share, 2)]
        assert [arena.receive(2) for _ in range(3)] == \
            [(1 - share, i) for i in range(3)]
        for other in others:
            other.close()


def test_broadcast_reaches_every_consumer():
    with roar.Arena(SIZE, broadcast=True, timeout=5) as arena:
        arena.join("producer")
        consumers = [roar.Arena.attach(arena.fileno()) for _ in range(3)]
        for consumer in consumers:
            consumer.join("consumer")
        for i in range(5):
            arena.send((i, bytes(LARGE)))
        for consumer in consumers:
            assert [consumer.receive(2)[0] for _ in range(5)] == \
                list(range(5))
            consumer.close()


@pytest.mark.parametrize("options", [
    {"size": 0}, {"size": -1}, {"size": 1.5}, {"size": True}, {"size": "1"},
    {"size": None}, {"size": 1 << 60}, {"size": float("nan")},
    {"size": SIZE, "timeout": -1}, {"size": SIZE, "timeout": float("nan")},
    {"size": SIZE, "timeout": "x"}, {"size": SIZE, "timeout": True},
    {"size": SIZE, "threshold": 0}, {"size": SIZE, "n_units": -1},
    {"size": SIZE, "n_producers": 64}, {"segment_size": -1},
    {"segment_size": 1 << 47, "n_units": 1}], ids=str)
def test_garbage_is_refused(options):
    with pytest.raises(ValueError):
        roar.Arena(**options)


def test_more_than_the_machine_has_is_an_error():
    with pytest.raises(roar.ArenaNoMemory, match="smaller"):
        roar.Arena(1 << 46)
    with pytest.raises(MemoryError):
        roar.Arena(segment_size=1 << 40, n_units=32)


@pytest.mark.parametrize("call", [
    lambda a: a.send(1, timeout=-1), lambda a: a.receive(timeout=-0.1),
    lambda a: a.receive(timeout=float("nan")), lambda a: a.receive("soon"),
    lambda a: a.receive(0, source=64), lambda a: a.receive(0, source=-1),
    lambda a: a.join("nobody"), lambda a: a.join("both", -1),
    lambda a: a.expect(0), lambda a: a.expect("me"), lambda a: a.spin(-1),
    lambda a: a.join(["both"])],
    ids=range(12))
def test_garbage_arguments_are_refused(call):
    with both() as arena, pytest.raises(ValueError):
        call(arena)


@pytest.mark.parametrize("tag", [-1, 1 << 64])
def test_tags_have_64_bits(tag):
    with both() as arena, pytest.raises(OverflowError):
        arena.send(1, tag)


def test_infinite_time_is_allowed():
    with both() as arena:
        arena.send(1, timeout=float("inf"))
        assert arena.receive(timeout=float("inf")) == 1


def foreign_descriptors(arena):
    """Descriptors that are no arena, each with its name."""
    plain = tempfile.TemporaryFile()
    plain.write(os.urandom(1 << 16))
    plain.flush()
    read, _ = os.pipe()
    cut = os.memfd_create("cut", os.MFD_ALLOW_SEALING)
    os.write(cut, os.pread(arena.fileno(), 5000, 0))
    nothing = os.memfd_create("nothing")
    changed = os.memfd_create("changed", os.MFD_ALLOW_SEALING)
    size = os.fstat(arena.fileno()).st_size
    os.ftruncate(changed, size)
    header = bytearray(os.pread(arena.fileno(), 4096, 0))
    header[24] ^= 0xFF
    os.write(changed, header)
    fcntl.fcntl(changed, fcntl.F_ADD_SEALS,
                fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    read_only = os.open(f"/proc/self/fd/{arena.fileno()}", os.O_RDONLY)
    return {"file": plain.fileno(), "pipe": read, "cut": cut,
            "nothing": nothing, "changed": changed, "closed": 9999,
            "for reading": read_only}, plain


def test_foreign_and_truncated_descriptors_are_refused():
    with both() as arena:
        table, _keep = foreign_descriptors(arena)
        for name, fd in table.items():
            with pytest.raises(roar.ArenaInvalid):
                roar.Arena.attach(fd)
                pytest.fail(name)
        for fd in (-1, "x", True):
            with pytest.raises(ValueError):
                roar.Arena.attach(fd)


def test_who_has_not_joined_is_told_so():
    with roar.Arena(SIZE) as arena:
        with pytest.raises(roar.NotAParty):
            arena.send(1)
        with pytest.raises(roar.NotAParty):
            arena.receive(timeout=0)
        arena.join("producer")
        with pytest.raises(roar.NotAParty):
            arena.receive(timeout=0)


def test_joining_twice_is_an_error():
    with both() as arena, pytest.raises(roar.ArenaError):
        arena.join("producer")


def test_a_forked_child_is_no_party_until_it_joins():
    with both() as arena:
        assert in_fork(lambda: arena.send(1)).startswith("NotAParty")
        assert in_fork(lambda: arena.receive(0)).startswith("NotAParty")

        def child():
            arena.join("producer")
            arena.send("from the child")
            return "sent"

        assert in_fork(child) == "sent"
        assert arena.receive(timeout=2) == "from the child"
        assert through(arena, 2) == 2


@pytest.mark.timing
def test_full_and_empty_have_their_exceptions():
    with roar.Arena(segment_size=LARGE, n_units=1) as arena:
        arena.join("both")
        arena.send(bytes(LARGE))
        for timeout in (0, 0.05):
            began = time.monotonic()
            with pytest.raises(roar.ArenaFull) as full:
                arena.send(bytes(LARGE), timeout=timeout)
            assert time.monotonic() - began < timeout + 1
        assert isinstance(full.value, BufferError)
        assert isinstance(full.value, TimeoutError)
        arena.receive(timeout=1)
        with pytest.raises(roar.ArenaEmpty):
            arena.receive(timeout=0)
        with pytest.raises(TimeoutError):
            arena.receive(timeout=0.05)


def test_a_blocked_sender_goes_on_when_there_is_room():
    with roar.Arena(segment_size=LARGE, n_units=1, timeout=10) as arena:
        arena.join("both")
        arena.send(b"1" * LARGE)
        thread = threading.Thread(target=arena.send, args=(b"2" * LARGE,))
        thread.start()
        time.sleep(0.1)
        assert thread.is_alive()
        assert bytes(arena.receive()[:1]) == b"1"
        gc.collect()
        assert bytes(arena.receive(timeout=5)[:1]) == b"2"
        thread.join(5)
        assert not thread.is_alive()


def test_shutdown_ends_waiting_and_delivers_what_was_sent():
    with both() as arena:
        arena.send("last")
        arena.shutdown()
        arena.shutdown()
        with pytest.raises(roar.ArenaClosed):
            arena.send("too late")
        with pytest.raises(roar.ArenaClosed):
            arena.empty(5, like="memoryview")
        assert arena.receive(timeout=1) == "last"
        with pytest.raises(roar.ArenaClosed):
            arena.receive(timeout=1)
        assert arena.stats()["shut_down"] == 1


@pytest.mark.parametrize("end", ["shutdown", "close"])
@pytest.mark.parametrize("wait", ["send", "receive", "send in pieces"])
def test_waiting_threads_are_woken(wait, end):
    arena = roar.Arena(segment_size=LARGE, n_units=1, timeout=20)
    arena.join("both")
    errors = []

    def work():
        try:
            if wait == "send":
                arena.send(bytes(LARGE))
                arena.send(bytes(LARGE))
            elif wait == "send in pieces":
                arena.send(bytes(9 * LARGE))
            else:
                arena.receive()
        except roar.ArenaError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.1)
    getattr(arena, end)()
    thread.join(5)
    assert [type(error) for error in errors] == [roar.ArenaClosed]
    assert ("closed" if end == "close" else "shut down") in str(errors[0])
    arena.close()


def test_a_closed_arena_says_so():
    arena = both()
    arena.close()
    arena.close()
    for call in (lambda: arena.send(1), arena.receive, arena.fileno,
                 arena.stats, arena.shutdown, lambda: arena.join("both"),
                 lambda: arena.empty(1, like="memoryview")):
        with pytest.raises(roar.ArenaClosed):
            call()


@pytest.mark.timing
@pytest.mark.parametrize("wait", [
    lambda arena: arena.receive(timeout=10),
    lambda arena: arena.send(bytes(3 * SIZE), timeout=10)],
    ids=["receive", "send in pieces"])
def test_signals_are_heard_while_waiting(wait):
    def handler(number, frame):
        raise InterruptedError("heard")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with both() as arena:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            began = time.monotonic()
            with pytest.raises(InterruptedError):
                wait(arena)
            assert time.monotonic() - began < 2
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.timing
def test_two_threads_that_send_in_pieces_keep_their_time():
    with roar.Arena(LARGE) as arena:
        arena.join("both")
        first = threading.Thread(
            target=lambda: pytest.raises(roar.ArenaError, arena.send,
                                         bytes(9 * LARGE), timeout=20))
        first.start()
        time.sleep(0.1)
        began = time.monotonic()
        with pytest.raises(roar.ArenaFull, match="another thread"):
            arena.send(bytes(9 * LARGE), timeout=0.3)
        assert time.monotonic() - began < 2
        arena.shutdown()
        first.join()


def counted_during(act):
    """How far another thread counts meanwhile."""
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    act()
    during = counted[0] - before
    stop.set()
    thread.join()
    return during


def test_other_threads_run_while_one_waits():
    def wait():
        with pytest.raises(roar.ArenaEmpty):
            arena.receive(timeout=0.3)

    with both() as arena:
        assert counted_during(wait) > 1000


class Gaps:
    """A thread that knows for how long it was not let in."""

    def __init__(self):
        self.longest, self.stop = 0.0, False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        last = time.monotonic()
        while not self.stop:
            now = time.monotonic()
            self.longest = max(self.longest, now - last)
            last = now

    def share_of(self, act):
        """Of the time that `act` took."""
        self.longest = 0.0
        began = time.monotonic()
        act()
        return self.longest / (time.monotonic() - began)


@pytest.mark.timing
def test_other_threads_run_while_one_copies():
    data = bytes(range(256)) * (1 << 19)  # 128 MiB
    gaps = Gaps()
    try:
        with roar.SharedMemoryRingBuffer(len(data) + 65536) as arena:
            arena.join("both")
            sent = received = 1.0
            for _ in range(40):  # until the machine had a CPU for both
                sent = min(sent, gaps.share_of(lambda: arena.send(data)))
                received = min(received, gaps.share_of(
                    lambda: arena.receive(timeout=10)))
                if sent < 0.8 and received < 0.8:
                    break
    finally:
        gaps.stop = True
        gaps.thread.join()
    assert sent < 0.8 and received < 0.8


def test_the_number_of_descriptors_is_constant():
    with both() as arena:
        through(arena, bytes(LARGE))
        before = descriptors()
        for i in range(2000):
            through(arena, {"i": i, "data": bytes(5000)})
        assert descriptors() == before
    gc.collect()
    assert descriptors() == before - 1


MILLION = 1_000_000


def count_and_send(arena):
    """Tells how many descriptors it had meanwhile, as last item."""
    arena.join("producer")
    counts = set()
    for i in range(MILLION):
        arena.send(i, timeout=30)
        if i % 100_000 == 99_999:
            counts.add(descriptors())
    arena.send(counts, timeout=30)


def test_a_million_items_take_no_descriptors():
    counts = set()
    with roar.Arena(SIZE) as arena:
        arena.join("consumer")
        process = start("fork", count_and_send, arena)
        for i in range(MILLION):
            assert arena.receive(timeout=30) == i
            if i % 100_000 == 99_999:
                counts.add(descriptors())
        for seen in (counts, arena.receive(timeout=30)):
            # One is for the other side's life, from the first long wait on.
            assert max(seen) - min(seen) <= 1
        process.join()


def test_arenas_come_and_go_without_a_trace():
    def one():
        with both() as arena:
            through(arena, bytes(LARGE))

    one()
    gc.collect()
    before = descriptors()
    for _ in range(50):
        one()
    gc.collect()
    assert descriptors() == before


def test_stats_count():
    with both() as arena:
        for _ in range(5):
            through(arena, bytes(LARGE))
        stats = arena.stats()
        assert stats["committed"] == stats["received"] == 5
        assert stats["released"] == 5
        assert stats["committed_bytes"] >= 5 * LARGE
        assert stats["size_bytes"] >= SIZE
        assert stats["n_producers"] == stats["n_consumers"] == 1


def damage(arena, header, offset, value):
    """Overwrites a number in the envelope that begins with `header`."""
    size = os.fstat(arena.fileno()).st_size
    with mmap.mmap(arena.fileno(), size) as memory:
        at = memory.find(header)
        assert at > 0
        memory[at + offset:at + offset + len(value)] = value


SMALL = b"\x01\x00\x00\x00\x00\x00\x00\x00\x05\x00"
WITH_A_LEAF = b"\x01\x01\x00\x00\x01\x00\x00\x00"


@pytest.mark.parametrize("item, header, offset, value", [
    (1, SMALL, 0, b"\x63"),  # the version
    (1, SMALL, 4, b"\xff\xff\xff\xff"),  # the number of parts
    (1, SMALL, 8, b"\xff" * 8),  # the length of the pickle
    (bytes(LARGE), WITH_A_LEAF, 4, b"\x00"),
    (bytes(LARGE), WITH_A_LEAF, 4, b"\x02"),
    (bytes(LARGE), WITH_A_LEAF, 8, b"\xff\xff")], ids=range(6))
@pytest.mark.parametrize("copy", [True, False])
def test_a_damaged_item_is_an_error(copy, item, header, offset, value):
    with both(copy=copy) as arena:
        arena.send(item)
        damage(arena, header, offset, value)
        with pytest.raises(roar.ArenaInvalid):
            arena.receive(timeout=1)
        assert through(arena, 2) == 2
        assert arena.stats()["n_used"] == 0


def test_many_small_items_arrive_in_order():
    with roar.Arena(SIZE, timeout=10) as arena:
        arena.join("consumer")
        process = start("fork", produce, arena, 20000, 3)
        for i in range(20000):
            assert arena.receive(timeout=10)[0] == i
        process.join()
        wait_until(lambda: arena.stats()["n_used"] == 0)
