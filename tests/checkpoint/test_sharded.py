"""Tensors that frameworks have divided: DTensor and ShardedTensor, by classes with their
attributes.  test_torch2.py has the real ones."""

import dataclasses
import itertools
import types
from typing import Any

import pytest

import roar.checkpoint as ckpt

numpy = pytest.importorskip("numpy")

from second import Second  # noqa: E402
from worlds import save_world  # noqa: E402


class Replicate:
    def is_replicate(self):
        return True

    def is_shard(self):
        return False


@dataclasses.dataclass
class Split:
    """torch's Shard."""
    dim: int

    def is_replicate(self):
        return False

    def is_shard(self):
        return True


class Partial:
    def is_replicate(self):
        return False

    is_shard = is_replicate


@dataclasses.dataclass
class Mesh:
    """As torch's DeviceMesh, seen by one rank."""
    sizes: tuple
    coordinate: Any

    def size(self, axis):
        return self.sizes[axis]

    def get_coordinate(self):
        return self.coordinate


class DTensor:
    def __init__(self, whole, mesh, placements):
        self.shape, self.device_mesh, self.placements = whole.shape, mesh, placements
        self.local = whole
        for axis, placement in enumerate(placements):
            if placement.is_shard() and mesh.coordinate is not None:
                n = self.local.shape[placement.dim]
                size = -(-n // mesh.sizes[axis])
                begin = min(n, mesh.coordinate[axis] * size)
                index = [slice(None)] * whole.ndim
                index[placement.dim] = slice(begin, min(n, begin + size))
                self.local = self.local[tuple(index)]

    def to_local(self):
        return self.local


class ShardedTensor:
    def __init__(self, whole, boxes):
        self.whole, self.boxes = whole, boxes

    def metadata(self):
        return types.SimpleNamespace(
            size=self.whole.shape,
            tensor_properties=types.SimpleNamespace(dtype=self.whole.dtype.name))

    def local_shards(self):
        return [types.SimpleNamespace(
            tensor=self.whole[box], metadata=types.SimpleNamespace(
                shard_offsets=[s.start for s in box],
                shard_sizes=[s.stop - s.start for s in box])) for box in self.boxes]


WHOLE = numpy.arange(37 * 50, dtype="f4").reshape(37, 50)
PLACEMENTS = [(Split(0), Split(1)), (Replicate(), Split(0)), (Split(1), Replicate()),
              (Replicate(), Replicate()), (Split(0), Split(0)), (Split(-1), Split(0))]


@pytest.mark.parametrize("placements", PLACEMENTS, ids=repr)
@pytest.mark.parametrize("whole", [WHOLE, WHOLE.repeat(20, 1)], ids=["small", "large"])
def test_dtensors_on_a_mesh(tmp_path, whole, placements):
    sizes = (2, 3)
    meshes = [Mesh(sizes, c) for c in itertools.product(*map(range, sizes))]
    save_world(tmp_path, [{"w": DTensor(whole, mesh, placements)} for mesh in meshes])
    assert numpy.array_equal(Second(tmp_path, 1).tensor("w"), whole)
    written = sum(p.stat().st_size for p in tmp_path.glob("*/*.safetensors"))
    assert written == len(meshes) * 4096 + whole.nbytes

    # Other ranks, another layout: what each rank gets lands in the same array.
    result = numpy.zeros_like(whole)
    for coordinate in itertools.product(range(4), range(2)):
        mesh = Mesh((4, 2), coordinate)
        ckpt.load(tmp_path, into={"w": DTensor(result, mesh, (Split(1), Split(0)))})
    assert numpy.array_equal(result, whole)


def test_a_rank_outside_of_the_mesh_writes_nothing(tmp_path):
    mesh = Mesh((1,), (0,))
    save_world(tmp_path, [{"w": DTensor(WHOLE, mesh, (Split(0),))},
                          {"w": DTensor(WHOLE, Mesh((1,), None), (Split(0),))}])
    assert numpy.array_equal(ckpt.load(tmp_path)["w"], WHOLE)


def test_sums_that_are_open_are_refused(tmp_path):
    with pytest.raises(TypeError, match="redistribute"):
        ckpt.save({"w": DTensor(WHOLE, Mesh((1,), (0,)), (Partial(),))}, tmp_path, 1)


def test_sharded_tensors(tmp_path):
    left, right = (slice(0, 37), slice(0, 20)), (slice(0, 37), slice(20, 50))
    save_world(tmp_path, [{"w": ShardedTensor(WHOLE, [left])},
                          {"w": ShardedTensor(WHOLE, [right])}])
    assert numpy.array_equal(ckpt.load(tmp_path)["w"], WHOLE)
    result = numpy.zeros_like(WHOLE)
    rows = [[(slice(i, i + 1), slice(0, 50)) for i in range(rank, 37, 3)]
            for rank in range(3)]
    for boxes in rows:      # several shards on each rank
        ckpt.load(tmp_path, into={"w": ShardedTensor(result, boxes)})
    assert numpy.array_equal(result, WHOLE)
    save_world(tmp_path, [{"w": ShardedTensor(WHOLE, boxes)} for boxes in rows], step=2)
    assert numpy.array_equal(Second(tmp_path, 2).tensor("w"), WHOLE)


def test_parts_that_overlap_or_leave_a_gap_are_not_committed(tmp_path):
    top = (slice(0, 20), slice(0, 50))
    for boxes in ([[top], [top]], [[top], []]):
        with pytest.raises(ckpt.CheckpointError, match="'w'.*(overlap|not all)"):
            save_world(tmp_path, [{"w": ShardedTensor(WHOLE, b)} for b in boxes])
    assert ckpt.CheckpointManager(tmp_path).all_checkpoints() == []


def test_a_missing_rank_is_named_and_nothing_is_visible(tmp_path):
    ckpt.save({"w": WHOLE}, tmp_path, 1)
    save_id = ckpt.new_save_id()
    part = ckpt.save({"w": WHOLE}, tmp_path, 2, rank=2, world_size=3, save_id=save_id,
                     commit=False)
    assert part.step == 2
    with pytest.raises(ckpt.CheckpointError, match="rank 1"):
        ckpt.save({"w": WHOLE}, tmp_path, 2, rank=0, world_size=3, save_id=save_id,
                  timeout=0)
    assert numpy.array_equal(ckpt.load(tmp_path)["w"], WHOLE)
    assert ckpt.open_checkpoint(tmp_path).step == 1


def test_a_sharded_save_needs_an_id(tmp_path):
    with pytest.raises(ValueError, match="new_save_id"):
        ckpt.save({}, tmp_path, 1, rank=0, world_size=2)
    with pytest.raises(ValueError, match="8 hex digits"):
        ckpt.save({}, tmp_path, 1, save_id="../../..")
