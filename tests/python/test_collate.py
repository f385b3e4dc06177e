"""Batches that are stacked straight into the arena."""

import collections
import subprocess
import sys

import pytest

import roar
from arena_helpers import both, through, used

numpy = pytest.importorskip("numpy")
Pair = collections.namedtuple("Pair", "x y")


@pytest.fixture(name="arena")
def arena_fixture():
    with both() as arena:
        yield arena


def test_arrays_are_stacked_once_and_handed_on(arena):
    samples = [{"image": numpy.full((30, 40), i, "f4"), "label": i,
                "name": f"s{i}"} for i in range(8)]
    batch = roar.collate_into(arena)(samples)
    assert used(arena) == 1
    result = through(arena, batch)
    assert numpy.shares_memory(result["image"], batch["image"])
    assert numpy.array_equal(result["image"],
                             numpy.stack([s["image"] for s in samples]))
    assert result["label"].tolist() == list(range(8))
    assert result["name"] == [f"s{i}" for i in range(8)]


def test_structure_is_kept(arena):
    samples = [(numpy.float32(i), [i, 2.5], Pair(i, numpy.arange(3)))
               for i in range(4)]
    batch = roar.collate_into(arena)(samples)
    assert type(batch) is tuple and type(batch[1]) is list
    assert batch[0].dtype == "f4" and batch[1][1].tolist() == [2.5] * 4
    assert type(batch[2]) is Pair and batch[2].y.shape == (4, 3)


def test_it_equals_torchs_default_collate(arena):
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch.utils.data")
    samples = [{"a": torch.randn(3, 4), "b": numpy.arange(5), "c": i,
                "d": 1.5 * i, "e": (i, torch.tensor(i)), "f": "text"}
               for i in range(6)]
    want = data.default_collate(samples)
    got = roar.collate_into(arena, like="torch")(samples)
    assert list(got) == list(want)
    for key in "abcd":
        assert torch.equal(got[key], want[key])
        assert got[key].dtype == want[key].dtype
    assert all(torch.equal(a, b) for a, b in zip(got["e"], want["e"]))
    assert type(got["e"]) is type(want["e"]) and got["f"] == want["f"]
    result = through(arena, got)
    assert result["a"].data_ptr() == got["a"].data_ptr()


def test_torch_is_imported_for_arrays_that_become_tensors():
    pytest.importorskip("torch")
    subprocess.run([sys.executable, "-c", """
import numpy, roar
with roar.Arena(1 << 20) as arena:
    arena.join("producer")
    batch = roar.collate_into(arena, like="torch")([numpy.zeros(3)] * 2)
    assert type(batch).__name__ == "Tensor" and batch.shape == (2, 3)
"""], check=True, timeout=60)


def test_a_batch_that_is_too_large_is_made_elsewhere():
    with roar.Arena(1 << 16, timeout=5) as arena:
        arena.join("both")
        batch = roar.collate_into(arena)([numpy.zeros(1 << 16)] * 4)
        assert batch.shape == (4, 1 << 16)
        assert used(arena) == 0


def test_objects_and_graphs_stay_lists(arena):
    torch = pytest.importorskip("torch")
    collate = roar.collate_into(arena)
    assert collate([None, None]) == [None, None]
    graph = [torch.ones(2, requires_grad=True)] * 2
    assert collate(graph) == graph
    assert type(collate([numpy.array([{}])] * 2)) is list


@pytest.mark.parametrize("samples", [
    [], [numpy.zeros(2), numpy.zeros(3)], [(1, 2), (1,)]], ids=str)
def test_what_cannot_be_a_batch_is_refused(arena, samples):
    with pytest.raises(ValueError):
        roar.collate_into(arena)(samples)


def test_like_must_be_known(arena):
    with pytest.raises(ValueError):
        roar.collate_into(arena, like="jax")


@pytest.mark.parametrize("samples", [
    [1, "a"], [1, None], [1, b"x"], [10 ** 30, 1], [2 ** 63, -1],
    [numpy.ones(2), None],
    [numpy.ma.masked_array([1, 2], [0, 1])] * 2], ids=range(7))
def test_what_an_array_would_change_stays_a_list(arena, samples):
    batch = roar.collate_into(arena)(samples)
    assert type(batch) is list
    assert all(new is old for new, old in zip(batch, samples))
    assert used(arena) == 0


def test_tensors_among_other_things_stay_a_list(arena):
    torch = pytest.importorskip("torch")
    for other in (None, numpy.ones(2), 1):
        samples = [torch.ones(2), other]
        assert all(new is old for new, old in
                   zip(roar.collate_into(arena)(samples), samples))
