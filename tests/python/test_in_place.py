"""Arrays that are filled where the receiver will see them."""

import gc
import sys

import pytest

import roar
from arena_helpers import LARGE, both, in_fork, through, used


@pytest.fixture(name="arena", params=["copy", "view"])
def arena_fixture(request):
    with both(copy=request.param == "copy") as arena:
        yield arena


def address(array):
    return array.__array_interface__["data"][0]


def test_a_memoryview_is_filled_and_sent(arena):
    memory = arena.empty(LARGE, like="memoryview")
    assert memory.shape == (LARGE,) and not memory.readonly
    memory[:] = b"m" * LARGE
    assert bytes(through(arena, {"m": memory})["m"]) == b"m" * LARGE
    typed = arena.empty((5, 6), "float32", like="memoryview")
    assert (typed.format, typed.shape) == ("f", (5, 6))


def test_an_array_is_sent_without_a_copy():
    numpy = pytest.importorskip("numpy")
    with both() as arena:
        array = arena.empty((100, 200), "f4")
        array[:] = numpy.arange(200)
        result = through(arena, {"a": array, "part": array[3:5]})
        assert numpy.shares_memory(result["a"], array)
        assert address(result["a"]) == address(array)
        assert numpy.array_equal(result["part"], array[3:5])


def test_small_arrays_in_the_arena_stay_there():
    numpy = pytest.importorskip("numpy")
    with both() as arena:
        array = arena.empty(3, "i8")
        array[:] = 1, 2, 3
        result = through(arena, array)
        assert numpy.shares_memory(result, array)


def test_the_second_time_is_a_copy():
    numpy = pytest.importorskip("numpy")
    with both() as arena:
        array = arena.empty(LARGE, "u1")
        array[:] = 7
        first, second = through(arena, array), through(arena, array)
        assert numpy.shares_memory(first, array)
        assert not numpy.shares_memory(second, array)
        assert (second == 7).all()


def test_what_could_not_be_sent_can_be_sent_later():
    numpy = pytest.importorskip("numpy")
    with roar.Arena(segment_size=LARGE, n_units=2, timeout=0) as arena:
        arena.join("both")
        array = arena.empty(LARGE, "u1")
        array[:] = 5
        arena.send(bytes(LARGE))
        with pytest.raises(roar.ArenaFull):
            arena.send(array)
        arena.receive(timeout=1).release()
        gc.collect()
        result = through(arena, array)
        assert numpy.shares_memory(result, array)


def test_room_is_free_when_both_sides_let_go():
    pytest.importorskip("numpy")
    with both() as arena:
        array = arena.empty(LARGE, "u1")
        assert used(arena) == 1
        result = through(arena, array)
        del result
        assert used(arena) >= 1
        del array
        assert used(arena) == 0


def test_an_array_that_is_never_sent_is_given_back(arena):
    pytest.importorskip("numpy")
    array = arena.empty(LARGE, "u1")
    del array
    assert used(arena) == 0


def test_tensors_are_filled_in_place():
    torch = pytest.importorskip("torch")
    with both() as arena:
        tensor = arena.empty((30, 40), torch.bfloat16)
        assert tensor.dtype == torch.bfloat16 and tensor.shape == (30, 40)
        tensor.fill_(3)
        result = through(arena, tensor)
        assert result.data_ptr() == tensor.data_ptr()
        other = arena.empty(5, "int32", like="torch")
        assert other.dtype == torch.int32


def test_dlpack_gives_the_same_memory():
    numpy = pytest.importorskip("numpy")
    torch = pytest.importorskip("torch")
    with both() as arena:
        view = arena.empty((4, 5), "float32", like="dlpack")
        assert view.__dlpack_device__() == (1, 0)
        tensor = torch.from_dlpack(view)
        array = numpy.from_dlpack(view)
        tensor.fill_(2)
        assert tensor.shape == (4, 5) and (array == 2).all()
        view.__dlpack__()  # a capsule that nobody takes
        del view, array
        assert used(arena) == 1
        del tensor
        assert used(arena) == 0


def test_dlpack_promises_no_more_than_it_has(arena):
    view = arena.empty(4, "float32", like="dlpack")
    view.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0),
                    copy=False)
    for wish in ({"copy": True}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError, match="copy"):
            view.__dlpack__(**wish)
    for wish in ({"nonsense": 1}, {"dl_device": 1}):
        with pytest.raises(TypeError):
            view.__dlpack__(**wish)


def test_only_what_was_received_counts_as_released():
    pytest.importorskip("numpy")
    with roar.SharedMemorySegmentPool(LARGE, 4) as pool:
        pool.join("both")
        pool.empty(5000, "u1")  # dropped
        array = pool.empty(5000, "u1")
        result = through(pool, array)
        assert (pool.published, pool.reclaimed) == (1, 0)
        del array, result
        assert (pool.published, pool.reclaimed) == (1, 1)


@pytest.mark.parametrize("shape", [0, (0, 3), (3, 0)])
def test_empty_arrays(arena, shape):
    pytest.importorskip("numpy")
    array = arena.empty(shape, "f4")
    assert array.size == 0
    assert through(arena, [array])[0].shape == array.shape


@pytest.mark.parametrize("shape, dtype, like", [
    (-1, "u1", None), (1.5, "u1", None), ("x", "u1", None), (True, "u1", None),
    ((1 << 40, 1 << 40), "u1", None), (3, object, "numpy"),
    (3, "nonsense", "memoryview"), (3, "nonsense", "torch"),
    (3, "u1", "nonsense"), ((1,) * 17, "uint8", "memoryview")])
def test_garbage_is_refused(arena, shape, dtype, like):
    if like == "torch":
        pytest.importorskip("torch")
    if like in (None, "numpy"):
        pytest.importorskip("numpy")
    with pytest.raises(ValueError):
        arena.empty(shape, dtype, like=like)


def test_too_large_is_an_error(arena):
    with pytest.raises(roar.ArenaTooLarge):
        arena.empty(1 << 40, like="memoryview")


def test_an_array_outlives_close(arena):
    memory = arena.empty(LARGE, like="memoryview")
    arena.close()
    memory[:] = b"x" * LARGE
    assert bytes(memory) == b"x" * LARGE


def test_a_forked_child_copies_what_its_parent_reserved(arena):
    memory = arena.empty(LARGE, like="memoryview")
    memory[:] = b"p" * LARGE

    def child():
        arena.join("producer")
        arena.send(memory)
        return "sent"

    assert in_fork(child) == "sent"
    assert bytes(arena.receive(timeout=2)) == b"p" * LARGE
    assert bytes(through(arena, memory)) == b"p" * LARGE


def test_references_are_as_before(arena):
    pytest.importorskip("numpy")
    array = arena.empty(LARGE, "u1")
    before = sys.getrefcount(array.base)
    through(arena, [array, array[2:]])
    for _ in range(3):
        through(arena, [array, array[2:]])
        gc.collect()
    after = sys.getrefcount(array.base)
    assert after == before
