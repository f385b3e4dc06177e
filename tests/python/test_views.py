"""Room is held by what lies in it, and by nothing else."""

import copy
import gc
import threading

import pytest

import roar
from arena_helpers import LARGE, both, in_fork, through, used


@pytest.fixture(name="arena")
def arena_fixture():
    with both() as arena:
        yield arena


def test_a_view_holds_its_room_until_it_is_gone(arena):
    view = through(arena, b"1" * LARGE)
    assert used(arena) == 1
    del view
    assert used(arena) == 0


def test_slices_and_shallow_copies_hold_it(arena):
    item = through(arena, {"a": b"1" * LARGE, "b": b"2" * LARGE})
    kept = copy.copy(item)
    del item
    assert used(arena) == 1
    piece = kept["b"][5:9]
    del kept
    assert used(arena) == 1
    assert bytes(piece) == b"2222"
    del piece
    assert used(arena) == 0


def test_arrays_and_slices_of_them_hold_it(arena):
    numpy = pytest.importorskip("numpy")
    array = through(arena, numpy.arange(LARGE))
    part = array[10:20].reshape(2, 5)
    del array
    assert used(arena) == 1
    assert part.ravel().tolist() == list(range(10, 20))
    del part
    assert used(arena) == 0


def test_tensors_and_what_shares_their_memory_hold_it(arena):
    numpy = pytest.importorskip("numpy")
    torch = pytest.importorskip("torch")
    tensor = through(arena, torch.arange(LARGE))
    other = numpy.asarray(tensor[3:5])
    del tensor
    assert used(arena) == 1
    assert other.tolist() == [3, 4]
    del other
    assert used(arena) == 0


def test_small_items_hold_nothing(arena):
    item = through(arena, {"a": 1, "b": b"small"})
    assert used(arena) == 0
    assert item["b"] == b"small"


def test_copies_hold_nothing():
    with both(copy=True) as arena:
        item = through(arena, [b"1" * LARGE, bytearray(LARGE)])
        assert used(arena) == 0
        assert item[0] == b"1" * LARGE


def test_views_alias_the_arena(arena):
    numpy = pytest.importorskip("numpy")
    array = through(arena, numpy.zeros(LARGE, "u1"))
    memory = memoryview(array.base)
    array[7] = 9
    assert memory[7] == 9


def test_a_kept_view_stops_nobody_and_stays_unchanged():
    with roar.Arena(segment_size=LARGE, n_units=2, timeout=2) as arena:
        arena.join("both")
        kept = through(arena, b"k" * LARGE)
        for i in range(300):
            assert through(arena, bytes([i & 255]) * LARGE)[5] == i & 255
        assert bytes(kept) == b"k" * LARGE


def test_release_in_any_order():
    with roar.Arena(segment_size=LARGE, n_units=4, timeout=0) as arena:
        arena.join("both")
        views = [through(arena, bytes([i]) * LARGE) for i in range(4)]
        with pytest.raises(roar.ArenaFull):
            arena.send(bytes(LARGE))
        del views[2]
        last = through(arena, b"z" * LARGE)
        assert [bytes(v[:1])[0] for v in views] == [0, 1, 3]
        assert last[0] == ord("z")


def test_a_view_survives_close():
    arena = both()
    view = through(arena, b"v" * LARGE)
    arena.close()
    del arena
    gc.collect()
    assert bytes(view) == b"v" * LARGE
    view[0] = 1


def test_a_view_survives_shutdown(arena):
    view = through(arena, b"v" * LARGE)
    arena.shutdown()
    assert bytes(view) == b"v" * LARGE


def test_a_forked_child_reads_views_and_frees_nothing(arena):
    view = through(arena, b"v" * LARGE)

    def child():
        nonlocal view
        text = bytes(view[:3])
        del view
        gc.collect()
        return text

    assert in_fork(child) == "b'vvv'"
    assert used(arena) == 1
    assert bytes(view) == b"v" * LARGE


def test_views_may_die_in_other_threads(arena):
    views = [through(arena, b"v" * LARGE) for _ in range(50)]
    threads = [threading.Thread(target=views.pop) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert used(arena) == 0


def test_a_view_can_be_sent_on(arena):
    view = through(arena, b"v" * LARGE)
    again = through(arena, [view])[0]
    del view
    assert bytes(again) == b"v" * LARGE
    assert used(arena) == 1
