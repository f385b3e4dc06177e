"""Sending and receiving leaves nothing behind in the process."""

import pickle

import pytest

import roar
from arena_helpers import both, through
from leak_helpers import growth, leaks_show

pytestmark = leaks_show


class Buffered:
    def __init__(self, data):
        self.data = data

    def __reduce_ex__(self, protocol):
        return Buffered, (pickle.PickleBuffer(self.data),)


class Parts:
    pass


def parts_to(obj):
    return {"n": 2}, [bytes(5000), bytes(10)]


def parts_from(state, buffers):
    return Parts()


class Broken:
    def __reduce__(self):
        raise KeyError("broken")


def items():
    yield {"id": 7, "name": "x", "list": [1.5, None]}
    data = bytes(5000)
    yield {"a": data, "b": [data, bytearray(5000)], "c": memoryview(data)[::2]}
    yield [Buffered(bytearray(5000)), Buffered(b"small")]
    yield [Parts(), Parts()]
    try:
        import numpy
        yield {"c": numpy.zeros(5000), "f": numpy.zeros((80, 90)).T,
               "s": numpy.zeros((99, 99))[::2], "o": numpy.array([{}])}
        import torch
        yield {"t": torch.zeros(5000), "s": torch.zeros(3), "g": torch.zeros(
            90, 90)[:3, :3], "p": torch.nn.Parameter(torch.zeros(5000))}
    except ImportError:
        pass


@pytest.mark.parametrize("copy", [True, False])
def test_memory_stays_level(copy):
    roar.register(Parts, parts_to, parts_from)
    with both(copy=copy) as arena:
        for item in items():
            objects, memory = growth(lambda: through(arena, item), 1500)
            assert objects < 20, list(item)
            assert memory < 60000, list(item)


def test_failures_leave_nothing():
    def fail():
        with pytest.raises(KeyError):
            arena.send([bytes(5000), Broken()])
        with pytest.raises(roar.ArenaEmpty):
            arena.receive(timeout=0)

    with both() as arena:
        objects, memory = growth(fail, 500)
        assert objects < 20
        assert memory < 60000
        assert arena.stats()["n_used"] == 0


def test_arenas_give_their_memory_back():
    def one():
        with both() as arena:
            through(arena, [bytes(5000), {"a": 1}])
            arena.empty(5000, like="memoryview")

    objects, memory = growth(one, 30)
    assert objects < 20
    assert memory < 60000
