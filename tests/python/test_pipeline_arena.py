"""Items through an arena: views and copies, full arenas, epochs that are left."""

import gc
import multiprocessing
import os
import random
import signal
import threading
import time

import pytest

numpy = pytest.importorskip("numpy")

from pipeline_helpers import (  # noqa: E402
    arrays,
    each,
    fill_random,
    numbers,
    random_numbers,
    type_zoo,
)

from roar import Arena, ArenaFull  # noqa: E402
from roar.pipeline import (  # noqa: E402
    PipelineBuilder,
    SharedMemoryRingBuffer,
    SharedMemorySegmentPool,
    WorkerDied,
    iterate_in_subprocess,
    run_pipeline_in_subprocess,
    worker_info,
)

METHODS = ["fork", "spawn", "forkserver"]
N = 20_000  # floats of an item
ITEM = N * 4 + 4096


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    gc.collect()
    assert multiprocessing.active_children() == []


def check(items, n):
    count = 0
    for item in items:
        assert item["i"] == count
        assert item["data"].shape == (N,) and (item["data"] == count).all()
        count += 1
    assert count == n


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: SharedMemoryRingBuffer(3 * ITEM),
        lambda: SharedMemorySegmentPool(ITEM, 3),
        lambda: Arena(4 * ITEM),
    ],
)
def test_arrays_arrive_in_every_epoch(make, method):
    items = iterate_in_subprocess(
        each(arrays, 20, N), arena=make(), mp_context=method, timeout=30
    )
    for _ in range(3):
        check(items, 20)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: SharedMemoryRingBuffer(2 * ITEM, acquire_timeout=5),
        lambda: SharedMemorySegmentPool(ITEM, 2, acquire_timeout=5),
    ],
)
def test_an_epoch_may_be_left_with_room_for_two_items(make, method):
    items = iterate_in_subprocess(
        each(arrays, 50, N), arena=make(), mp_context=method, timeout=30
    )
    for stop in (0, 1, 2, 7, 30):
        for item in items:
            if item["i"] == stop:
                break
        assert (item["data"] == stop).all()
        time.sleep(0.02)  # the worker waits for room by now
    del item
    check(items, 50)


def test_the_ring_keeps_types_and_the_pool_gives_views():
    pytest.importorskip("torch")
    expected = list(type_zoo())
    ring = SharedMemoryRingBuffer(1 << 20)
    got = list(iterate_in_subprocess(each(type_zoo), arena=ring))
    assert [type(x) for x in got] == [type(x) for x in expected]
    assert got[0] == expected[0] and got[1] == expected[1]
    assert got[2].flags.f_contiguous and (got[2] == expected[2]).all()
    assert got[3].dtype == expected[3].dtype and (got[3] == expected[3]).all()
    assert got[4].dtype == expected[4].dtype and got[4].equal(expected[4])
    pool = SharedMemorySegmentPool(1 << 17, 8)
    views = list(iterate_in_subprocess(each(type_zoo), arena=pool))
    assert isinstance(views[0], memoryview) and views[0] == expected[0]
    assert (views[2] == expected[2]).all() and not views[2].flags.owndata
    assert views[4].equal(expected[4])


def test_a_view_is_kept_over_epochs_and_the_end():
    pool = SharedMemorySegmentPool(ITEM, 4)
    items = iterate_in_subprocess(each(arrays, 10, N), arena=pool, timeout=30)
    iterator = iter(items)
    kept = [next(iterator)["data"]]
    del iterator
    for _ in range(3):
        check(items, 10)
    del items
    gc.collect()
    assert (kept[0] == 0).all()
    kept[0] += 1
    assert (kept[0] == 1).all()


def test_a_held_item_stops_nobody():
    pool = SharedMemorySegmentPool(1 << 14, 3)
    items = iterate_in_subprocess(each(arrays, 3000, 2000), arena=pool, timeout=30)
    iterator = iter(items)
    held = next(iterator)
    for i, item in enumerate(iterator, 1):
        assert item["i"] == i
    assert i == 2999
    assert (held["data"] == 0).all()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_an_epoch_ends_although_all_segments_are_held(n):
    pool = SharedMemorySegmentPool(ITEM, n)
    items = iterate_in_subprocess(each(arrays, n, N), arena=pool, timeout=30)
    for _ in range(2):
        held = list(items)
        assert [x["i"] for x in held] == list(range(n))
        assert all((x["data"] == x["i"]).all() for x in held)
        del held


def test_an_error_arrives_although_all_segments_are_held():
    pool = SharedMemorySegmentPool(ITEM, 2, acquire_timeout=0.3)
    items = iterate_in_subprocess(each(arrays, 9, N), arena=pool, timeout=30)
    held = []
    with pytest.raises(ArenaFull) as caught:
        for item in items:
            held.append(item)
    assert [x["i"] for x in held] == [0, 1]
    assert "_arena_channel" in str(caught.value.__cause__)
    held.clear()
    del item
    check(items, 9)


@pytest.mark.parametrize("make, size", [
    (lambda: Arena(8 << 20, timeout=20), 5 << 20),
    (lambda: SharedMemorySegmentPool(ITEM, 1, acquire_timeout=20), 1 << 14)])
def test_a_loop_that_leaves_no_room_for_its_next_item_is_warned(make, size, caplog):
    items = iterate_in_subprocess(each(large_bytes, size), arena=make(),
                                  mp_context="fork", timeout=30)
    for item in items:
        del item    # then there is room
    assert not caplog.records
    iterator = iter(items)
    held = [next(iterator)]

    def let_go():
        while not caplog.records:
            time.sleep(0.01)
        held.clear()

    helper = threading.Thread(target=let_go, daemon=True)
    helper.start()
    assert len(next(iterator)) == size
    helper.join(10)
    assert "large enough for two of the largest" in caplog.records[0].getMessage()


def large_bytes(size):
    for _ in range(3):
        yield bytearray(size)


def numbered_bytes(n, size):
    for i in range(n):
        yield numpy.full(size, i, "uint8"), bytearray([i]) * 5000, i


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("make, size", [
    (lambda: Arena(8 << 20), 5 << 20),
    (lambda: Arena(8 << 20, n_units=2), 7 << 20),
    (lambda: SharedMemorySegmentPool(ITEM, 1), 1 << 14)])
def test_a_plain_loop_goes_on_with_room_for_one_item(make, size, method):
    items = iterate_in_subprocess(each(numbered_bytes, 20, size), arena=make(),
                                  mp_context=method, timeout=30)
    start = time.monotonic()
    for _ in range(2):
        for i, (array, more, number) in enumerate(items):
            assert number == i and array.shape == (size,) and (array == i).all()
            assert type(more) is memoryview and bytes(more) == bytes([i]) * 5000
        assert i == 19
    assert time.monotonic() - start < 10


def test_held_items_of_several_workers_keep_their_order():
    pool = SharedMemorySegmentPool(ITEM, 3)
    items = iterate_in_subprocess(each(arrays, 12, N), arena=pool, num_workers=2,
                                  ordered=True, timeout=30)
    for _ in range(2):
        held = list(items)      # twice as many as there are segments
        assert [x["i"] for x in held] == [i for i in range(12) for _ in range(2)]
        assert all((x["data"] == x["i"]).all() for x in held)


def test_room_that_another_thread_gives_back_is_used_without_copies(caplog):
    arena = Arena(8 << 20)
    items = iterate_in_subprocess(each(large_bytes, 5 << 20), arena=arena, timeout=30)
    iterator = iter(items)
    held = [next(iterator)]
    helper = threading.Timer(0.2, held.clear)
    helper.start()
    item = next(iterator)
    helper.join()
    assert len(item) == 5 << 20 and not caplog.records
    assert arena.stats()["used_bytes"] >= 5 << 20


def test_an_epoch_may_be_left_while_an_item_takes_the_detour():
    items = iterate_in_subprocess(each(numbered_bytes, 9, 5 << 20),
                                  arena=Arena(8 << 20), timeout=30)
    for _ in range(3):
        for i, (array, _, number) in enumerate(items):
            assert number == i and (array == i).all()
            if i == 2:
                break
    assert len(list(items)) == 9


class Unloadable:
    def __reduce__(self):
        return int, ("no number",)


def some_unloadable(n, size):
    for i, item in enumerate(numbered_bytes(n, size)):
        yield (Unloadable(), item) if i == 4 else item


def test_an_item_that_cannot_be_unpickled_stops_no_detour():
    items = iterate_in_subprocess(each(some_unloadable, 9, 5 << 20),
                                  arena=Arena(8 << 20), timeout=30)
    for _ in range(3):
        seen = []
        with pytest.raises(ValueError, match="no number"):
            for array, _, number in items:
                assert (array == number).all()
                seen.append(number)
        assert seen == [0, 1, 2, 3]


def test_a_worker_that_dies_on_the_detour_is_noticed():
    items = iterate_in_subprocess(each(numbered_bytes, 99, 5 << 20),
                                  arena=Arena(8 << 20), timeout=30)
    iterator = iter(items)
    held = [next(iterator), next(iterator)]
    os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
    with pytest.raises(WorkerDied):
        held += iterator
    assert [number for _, _, number in held] == list(range(len(held)))


def test_a_consumer_that_holds_too_much_may_give_some_back():
    pool = SharedMemorySegmentPool(ITEM, 3, acquire_timeout=20)
    held = []
    items = iterate_in_subprocess(each(arrays, 20, N), arena=pool, timeout=30)
    for item in items:
        held.append(item)
        if len(held) == 2:
            held.pop(0)
    assert item["i"] == 19


@pytest.mark.parametrize(
    "make",
    [
        lambda: SharedMemoryRingBuffer(1 << 16),
        lambda: SharedMemorySegmentPool(1 << 14, 3),
    ],
)
def test_items_larger_than_the_arena_arrive(make):
    items = iterate_in_subprocess(each(arrays, 4, 300_000), arena=make(), timeout=30)
    for _ in range(2):
        for i, item in enumerate(items):
            assert item["data"].shape == (300_000,) and (item["data"] == i).all()


def test_items_of_all_sizes_through_a_small_ring():
    ring = SharedMemoryRingBuffer(1 << 16)
    items = iterate_in_subprocess(each(fill_random, 500, 60_000), arena=ring)
    for i, item in enumerate(items):
        assert item == bytes([i % 256]) * (1 + i * 7919 % 60_000)
    assert i == 499


def test_memory_in_use_follows_the_depth_not_the_arena():
    pool = SharedMemorySegmentPool(ITEM, 18)
    items = iterate_in_subprocess(
        each(arrays, 100, N), arena=pool, buffer_size=3, timeout=30
    )
    most = 0
    for item in items:
        time.sleep(0.002)
        most = max(most, pool.stats()["n_used"])
    assert 2 <= most <= 3 + 2


@pytest.mark.parametrize("buffer_size", [1, 2, 7, 64])
def test_every_depth_works(buffer_size):
    ring = SharedMemoryRingBuffer(1 << 20)
    items = iterate_in_subprocess(
        numbers(1000), arena=ring, buffer_size=buffer_size, timeout=30
    )
    for _ in range(2):
        assert list(items) == list(range(1000))


@pytest.mark.parametrize(
    "make",
    [
        lambda: SharedMemoryRingBuffer(2 * ITEM, acquire_timeout=10),
        lambda: SharedMemorySegmentPool(ITEM, 4, acquire_timeout=10),
    ],
)
@pytest.mark.parametrize("slow", [0, 1, 2])
def test_workers_in_turn_do_not_take_each_others_room(make, slow):
    def work():
        index = worker_info().index
        for i in range(8):
            if index == slow:
                time.sleep(0.02)
            yield {"from": (i, index), "data": numpy.full(N, index, "float32")}

    items = iterate_in_subprocess(
        each(work), arena=make(), num_workers=3, mp_context="fork", timeout=30
    )
    for _ in range(2):
        got = [item["from"] for item in items]
        assert got == [(i, worker) for i in range(8) for worker in range(3)]
        for item in items:
            if item["from"] == (2, 1):
                break
        del item


def test_a_pool_that_is_too_small_for_workers_in_turn_is_refused():
    with pytest.raises(ValueError, match="needs 4, or ordered=False"):
        iterate_in_subprocess(
            numbers(1), arena=SharedMemorySegmentPool(4096, 3), num_workers=3
        )
    pool = SharedMemorySegmentPool(1 << 14, 1)
    items = iterate_in_subprocess(numbers(9), arena=pool, num_workers=3, ordered=False)
    assert sorted(items) == sorted(list(range(9)) * 3)


@pytest.mark.timing
def test_dropping_the_iterable_while_its_worker_waits_for_room():
    pool = SharedMemorySegmentPool(ITEM, 1, acquire_timeout=60)
    items = iterate_in_subprocess(each(arrays, 9, N), arena=pool)
    iterator = iter(items)
    held = next(iterator)
    time.sleep(0.1)
    start = time.monotonic()
    del iterator, items
    gc.collect()
    assert time.monotonic() - start < 2
    assert (held["data"] == 0).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: None,
        lambda: SharedMemoryRingBuffer(3 * ITEM),
        lambda: SharedMemorySegmentPool(ITEM, 4),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_kills_at_any_moment(make, workers):
    draw = random.Random(5)
    for _ in range(10):
        items = iterate_in_subprocess(
            each(arrays, 10**9, N), arena=make(), num_workers=workers, timeout=30
        )
        victim = draw.choice(multiprocessing.active_children()).pid
        wait = draw.random() * 0.05
        killer = threading.Timer(wait, os.kill, (victim, signal.SIGKILL))
        killer.start()
        count = 0
        with pytest.raises(WorkerDied, match="SIGKILL") as caught:
            for item in items:
                assert item["i"] == count // workers
                assert (item["data"] == item["i"]).all()
                count += 1
        killer.join()
        assert caught.value.pid == victim
        assert multiprocessing.active_children() == []
        del items, caught


def test_a_pipeline_with_batches_through_a_pool():
    builder = PipelineBuilder().add_source(range(64))
    builder.pipe(_image, concurrency=3, output_order="input")
    config = builder.aggregate(8).pipe(numpy.stack).add_sink().get_config()
    pool = SharedMemorySegmentPool(1 << 18, 5)
    items = run_pipeline_in_subprocess(config, num_threads=3, arena=pool)
    for _ in range(3):
        batches = 0
        for batch in items:
            assert batch.shape == (8, 32, 32)
            assert batch[:, 0, 0].tolist() == list(range(batches * 8, batches * 8 + 8))
            batches += 1
        assert batches == 8


def _image(i):
    return numpy.full((32, 32), i, dtype="float32")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_generators_of_numpy_and_torch_go_on_in_the_worker(method):
    torch = pytest.importorskip("torch")
    random.seed(1)
    numpy.random.seed(2)
    torch.manual_seed(3)
    ring = SharedMemoryRingBuffer(1 << 16)
    items = iterate_in_subprocess(each(random_numbers), arena=ring, mp_context=method)
    expected = random.random(), float(numpy.random.rand()), float(torch.rand(()))
    assert list(items) == [expected]


@pytest.mark.timing
def test_small_items_flow_fast():
    ring = SharedMemoryRingBuffer(1 << 20)
    items = iterate_in_subprocess(numbers(20_000), arena=ring, buffer_size=256)
    best = 0.0
    for _ in range(3):
        start = time.perf_counter()
        assert sum(1 for _ in items) == 20_000
        best = max(best, 20_000 / (time.perf_counter() - start))
    assert best > 20_000  # per second, on any machine; bench/ measures
