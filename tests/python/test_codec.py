"""Objects arrive as they were sent, whatever they are made of."""

import array
import collections
import copyreg
import dataclasses
import datetime
import multiprocessing.reduction
import pickle
import threading

import pytest

import roar
from arena_helpers import LARGE, both, through

Point = collections.namedtuple("Point", "x data")


@dataclasses.dataclass
class Sample:
    name: str
    data: object
    label: int = 0


class Plain:
    def __init__(self, data):
        self.data = data


class Stateful:
    """Insists on bytes when it is unpickled, as many types do."""

    def __init__(self, data):
        self.data = data

    def __getstate__(self):
        return {"data": self.data}

    def __setstate__(self, state):
        assert type(state["data"]) in (bytes, bytearray)
        self.data = state["data"]


class Buffered:
    """Speaks pickle's protocol for memory out of band."""

    def __init__(self, data):
        self.data = data

    def __reduce_ex__(self, protocol):
        return Buffered, (pickle.PickleBuffer(self.data),)


class Registered:
    def __init__(self, meta, buffers):
        self.meta, self.buffers = meta, buffers


def registered_to(obj):
    return obj.meta, obj.buffers


def registered_from(meta, buffers):
    return Registered(meta, buffers)


class Broken:
    def __reduce__(self):
        raise KeyError("no way to pickle this")


def unbuildable():
    raise OSError("cannot be built again")


class Unbuildable:
    def __reduce__(self):
        return unbuildable, ()


@pytest.fixture(name="copying")
def copying_fixture():
    with both(copy=True) as arena:
        yield arena


@pytest.fixture(name="viewing")
def viewing_fixture():
    with both() as arena:
        yield arena


@pytest.fixture(name="arena", params=["copy", "view"])
def arena_fixture(request):
    with both(copy=request.param == "copy") as arena:
        yield arena


SMALL = [
    None, True, 0, -1 << 70, 1.5, 2j, "", "text", b"", b"small", bytearray(b"s"),
    [], (), {}, set(), frozenset([1]), [1, [2, [3]]], {"a": (1, {"b": None})},
    range(5), slice(1, 2), datetime.date(2020, 2, 29), Ellipsis, int, len,
    array.array("d", [1, 2]), collections.OrderedDict(a=1), "x" * LARGE,
    Point(1, 2), Sample("n", [1]), list(range(5000)),
]


@pytest.mark.parametrize("value", SMALL, ids=lambda v: repr(v)[:30])
def test_small_things_keep_type_and_value(arena, value):
    result = through(arena, value)
    assert type(result) is type(value)
    assert result == value


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, LARGE, 3 << 20])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_keep_their_type_when_copied(copying, kind, size):
    data = kind(bytes(i * 7 & 255 for i in range(256)) * (size // 256 + 1))
    data = kind(data[:size])
    result = through(copying, [data])[0]
    assert type(result) is kind
    assert result == data


@pytest.mark.parametrize("size", [4096, LARGE, 3 << 20])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_large_bytes_are_writable_views(viewing, kind, size):
    data = kind(bytes(range(256)) * (size // 256))
    result = through(viewing, {"data": data})["data"]
    assert type(result) is memoryview
    assert not result.readonly
    assert result == data


def test_the_threshold_is_inclusive():
    with both(threshold=100) as arena:
        assert type(through(arena, bytes(99))) is bytes
        assert type(through(arena, bytes(100))) is memoryview


@pytest.mark.parametrize("view", [
    memoryview(bytes(range(200)) * 100)[::3],
    memoryview(bytes(range(200)) * 100)[::-1],
    memoryview(bytes(48)).cast("f"),
    memoryview(bytearray(48 * 1000)).cast("i", (10, 1200)),
    memoryview(b"abcd").cast("i", ()),
    memoryview(b""),
], ids=str)
def test_memoryviews_keep_format_and_shape(arena, view):
    result = through(arena, view)
    assert type(result) is memoryview
    assert (result.format, result.shape) == (view.format, view.shape)
    assert result.tolist() == view.tolist()


def test_a_copied_memoryview_keeps_whether_it_can_be_written(copying):
    assert through(copying, memoryview(bytes(LARGE))).readonly
    assert not through(copying, memoryview(bytearray(LARGE))).readonly


def test_views_replace_bytes_in_plain_containers(viewing):
    data = bytes(LARGE)
    for make, take in [
            (lambda d: d, lambda r: r),
            (lambda d: [1, d], lambda r: r[1]),
            (lambda d: (d,), lambda r: r[0]),
            (lambda d: {"a": {"b": d}}, lambda r: r["a"]["b"]),
            (lambda d: Point(1, d), lambda r: r.data),
            (lambda d: Sample("n", d), lambda r: r.data),
            (lambda d: Plain(d), lambda r: r.data)]:
        result = take(through(viewing, make(data)))
        assert type(result) is memoryview
        assert result == data


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_the_state_of_other_types_stays_bytes(viewing, kind):
    data = kind(b"z") * LARGE
    assert through(viewing, Stateful(data)).data == data
    numbers = array.array("d", range(LARGE))
    assert through(viewing, [numbers])[0] == numbers
    assert through(viewing, {bytes(data): 1}) == {bytes(data): 1}
    assert through(viewing, {bytes(data)}) == {bytes(data)}


def test_bytes_that_are_key_and_value_stay_hashable(viewing):
    data = b"k" * LARGE
    result = through(viewing, {data: data})
    assert result == {data: data}


def test_one_object_stays_one_object(arena):
    data, array_ = bytearray(LARGE), [1, 2]
    result = through(arena, {"a": data, "b": [data, data], "c": array_,
                             "d": array_, "e": bytearray(LARGE)})
    assert result["a"] is result["b"][0] is result["b"][1]
    assert result["c"] is result["d"]
    assert result["a"] is not result["e"]


def test_one_object_is_copied_once(arena):
    before = arena.stats()["committed_bytes"]
    data = bytes(1 << 20)
    through(arena, [data] * 5)
    assert arena.stats()["committed_bytes"] - before < 2 << 20


def test_cycles_arrive(arena):
    item = {"data": bytes(LARGE)}
    item["self"] = item
    item["list"] = [item]
    result = through(arena, item)
    assert result["self"] is result and result["list"][0] is result
    assert bytes(result["data"]) == bytes(LARGE)


@pytest.mark.parametrize("size", [10, LARGE])
def test_protocol_5_buffers_go_beside_the_pickle(arena, size):
    result = through(arena, [Buffered(bytearray(b"q" * size)), b"x" * LARGE])
    assert bytes(result[0].data) == b"q" * size
    assert bytes(result[1]) == b"x" * LARGE
    assert len(result[0].data) == size
    result[0].data[0] = 1


def test_protocol_5_buffers_stay_read_only(arena):
    result = through(arena, Buffered(b"q" * LARGE))
    assert memoryview(result.data).readonly


def test_registered_types_move_their_buffers(arena):
    roar.register(Registered, registered_to, registered_from)
    parts = [bytes([i]) * (i * 1000) for i in range(20)]
    item = Registered({"pts": 3, "more": bytes(LARGE)}, parts)
    first, second = through(arena, [item, item])
    assert first is second
    assert [bytes(b) for b in first.buffers] == parts
    assert first.meta["pts"] == 3
    assert all(type(b) is memoryview for b in first.buffers)


def test_registration_refuses_what_makes_no_sense():
    with pytest.raises(TypeError):
        roar.register("Registered", registered_to, registered_from)
    with pytest.raises(TypeError):
        roar.register(Registered, None, registered_from)
    with pytest.raises(ValueError):
        roar.register(bytes, registered_to, registered_from)


def test_to_buffers_that_returns_nonsense_is_an_error(arena):
    roar.register(Broken, lambda obj: 5, registered_from)
    try:
        with pytest.raises(TypeError, match="to_buffers"):
            arena.send(Broken())
    finally:
        roar._registry._roar_arena.registry.pop(Broken)
    assert through(arena, 1) == 1


def test_an_object_that_cannot_be_pickled_leaves_the_arena_usable(arena):
    before = arena.stats()["n_used"]
    for _ in range(3):
        with pytest.raises(KeyError, match="no way"):
            arena.send([bytes(LARGE), Broken()])
    assert arena.stats()["n_used"] == before
    assert through(arena, "next") == "next"


def test_an_object_that_cannot_be_built_gives_its_room_back(arena):
    arena.send([bytes(LARGE), Unbuildable()])
    with pytest.raises(OSError, match="cannot be built"):
        arena.receive(timeout=2)
    assert arena.stats()["n_used"] == 0
    assert through(arena, "next") == "next"


def test_reducers_of_multiprocessing_and_copyreg_are_used(arena):
    multiprocessing.reduction.register(
        Broken, lambda obj: (str, ("by multiprocessing",)))
    try:
        assert through(arena, Broken()) == "by multiprocessing"
    finally:
        multiprocessing.reduction.ForkingPickler._extra_reducers.pop(Broken)
    copyreg.pickle(Broken, lambda obj: (str, ("by copyreg",)))
    try:
        assert through(arena, Broken()) == "by copyreg"
    finally:
        copyreg.dispatch_table.pop(Broken)


def test_sending_while_pickling_works(arena):
    class Sender:
        def __reduce__(self):
            arena.send("inner")
            return str, ("outer",)

    arena.send([Sender(), bytes(LARGE)])
    assert arena.receive(timeout=2) == "inner"
    assert arena.receive(timeout=2)[0] == "outer"


def test_deep_nesting_is_an_error_and_no_crash(arena):
    deep = []
    for _ in range(100000):
        deep = [deep]
    with pytest.raises(RecursionError):
        arena.send([bytes(LARGE), deep])
    while deep:
        deep = deep.pop()
    assert through(arena, 1) == 1


def test_threads_share_an_arena(arena):
    failures = []

    def work(number):
        try:
            for i in range(50):
                arena.send((number, i, bytes([number]) * LARGE))
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    last = [-1] * 4
    for _ in range(200):
        number, i, data = arena.receive(timeout=10)
        assert i == last[number] + 1
        assert bytes(data) == bytes([number]) * LARGE
        last[number] = i
        del data
    for thread in threads:
        thread.join()
    assert not failures


def test_oversize_items_arrive_in_pieces(arena):
    large = bytes(range(256)) * (SIZE_FACTOR * 4096)
    with roar.Arena(1 << 20, timeout=10, copy=arena._copy) as small:
        small.join("both")
        thread = threading.Thread(target=small.send, args=({"d": large},))
        thread.start()
        result = small.receive(timeout=10)
        thread.join()
        assert result["d"] == large


SIZE_FACTOR = 5
