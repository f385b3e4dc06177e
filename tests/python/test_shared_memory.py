"""SPDL's names, with SPDL's meaning."""

import threading
import time

import pytest

from arena_helpers import LARGE, start, through, used
from roar import SharedMemoryRingBuffer, SharedMemorySegmentPool


def ring(capacity=1 << 20, **options):
    arena = SharedMemoryRingBuffer(capacity, **options)
    arena.join("both")
    return arena


def pool(segment_size=LARGE, count=3, **options):
    arena = SharedMemorySegmentPool(segment_size, count, **options)
    arena.join("both")
    return arena


GARBAGE = [0, -1, 1.0, 1.5, True, False, None, "1", float("nan"),
           float("inf"), 1 << 70]


@pytest.mark.parametrize("value", GARBAGE, ids=repr)
def test_garbage_sizes_are_refused(value):
    with pytest.raises(ValueError):
        SharedMemoryRingBuffer(value)
    with pytest.raises(ValueError):
        SharedMemorySegmentPool(value, 2)
    with pytest.raises(ValueError):
        SharedMemorySegmentPool(1024, value)


@pytest.mark.parametrize("value", [-1, -0.001, float("nan"), "1", True, None],
                         ids=repr)
def test_garbage_timeouts_are_refused(value):
    with pytest.raises(ValueError):
        SharedMemoryRingBuffer(1024, acquire_timeout=value)
    with pytest.raises(ValueError):
        SharedMemorySegmentPool(1024, 2, acquire_timeout=value)


def test_numbers_of_any_length_are_understood():
    for value in (10 ** 400, 10 ** 6000):
        SharedMemoryRingBuffer(1024, acquire_timeout=value).close()
        for call in (lambda: SharedMemoryRingBuffer(value),
                     lambda: SharedMemoryRingBuffer(
                         1024, acquire_timeout=-value)):
            with pytest.raises(ValueError, match="must be") as caught:
                call()
            assert len(str(caught.value)) < 200


def test_attributes_are_spdls():
    with ring(5000, acquire_timeout=0) as r, pool(7000, 2) as p:
        assert (r.capacity, r.acquire_timeout, r.head, r.tail) == (5000, 0, 0, 0)
        assert (p.segment_size, p.count, p.published, p.reclaimed) == \
            (7000, 2, 0, 0)
        assert r.name and p.name
        view = through(p, bytes(5000))
        assert p.published == 1
        del view
        assert p.reclaimed == 1


def test_the_ring_copies_out_with_types():
    with ring() as arena:
        item = {"a": b"1" * 9000, "b": bytearray(9000), "c": [b"x"]}
        result = through(arena, item)
        assert result == item
        assert type(result["b"]) is bytearray
        assert used(arena) == 0


def test_the_pool_gives_views_that_hold_their_segment():
    with pool() as arena:
        view = through(arena, b"1" * LARGE)
        assert type(view) is memoryview and used(arena) == 1
        del view
        assert used(arena) == 0


def test_an_item_of_just_the_segments_size_takes_one_segment():
    with pool(LARGE, 1, acquire_timeout=0) as arena:
        item = {f"key{i}": i for i in range(50)}
        item["data"] = bytes(LARGE)
        for _ in range(3):
            assert through(arena, item)["key49"] == 49
        assert arena.stats()["in_pieces"] == 0


@pytest.mark.timing
@pytest.mark.parametrize("make", [lambda t: pool(LARGE, 1, acquire_timeout=t),
                                  lambda t: ring(LARGE + 65536,
                                                 acquire_timeout=t)],
                         ids=["pool", "ring"])
def test_full_raises_in_time_and_shutdown_wakes(make):
    with make(0) as arena:
        arena.send(bytes(LARGE))
        with pytest.raises(BufferError):
            arena.send(bytes(LARGE))
    with make(0.2) as arena:
        arena.send(bytes(LARGE))
        began = time.monotonic()
        with pytest.raises(BufferError):
            arena.send(bytes(LARGE))
        assert 0.15 < time.monotonic() - began < 2
    with make(30) as arena:
        arena.send(bytes(LARGE))
        timer = threading.Timer(0.1, arena.shutdown_arena)
        timer.start()
        began = time.monotonic()
        with pytest.raises(RuntimeError):
            arena.send(bytes(LARGE))
        assert time.monotonic() - began < 5
        timer.join()


def test_a_hundred_units_reuse_the_room():
    with ring(100000) as arena:
        for i in range(100):
            data = bytes([i]) * (30000 + i)
            assert through(arena, data) == data


def test_unlink_and_close_are_harmless():
    arena = pool()
    view = through(arena, b"v" * LARGE)
    arena.unlink()
    arena.close()
    arena.unlink()
    arena.close()
    assert bytes(view) == b"v" * LARGE


def send_large(arena, size):
    arena.join("producer")
    arena.send({"data": bytes(range(256)) * (size // 256)})


@pytest.mark.parametrize("make", [
    lambda: SharedMemoryRingBuffer(1 << 20),
    lambda: SharedMemorySegmentPool(1 << 18, 3)], ids=["ring", "pool"])
def test_larger_than_the_whole_arrives(make):
    with make() as arena:
        arena.join("consumer")
        process = start("fork", send_large, arena, 8 << 20)
        data = arena.receive(timeout=20)["data"]
        assert bytes(data) == bytes(range(256)) * (1 << 15)
        process.join()
        assert process.exitcode == 0


def test_spawned_processes_know_the_class():
    with pool(1 << 20, 2) as arena:
        process = start("spawn", send_large, arena, 1 << 19)
        assert len(arena.receive(timeout=30)["data"]) == 1 << 19
        process.join()
        assert process.exitcode == 0
