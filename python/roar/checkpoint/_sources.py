"""What a tensor is to a checkpoint: its type, its whole shape, and the boxes that are here.

A tensor of one process is one box.  A DTensor, a ShardedTensor and a Shard have those
boxes of a larger tensor that this rank holds, perhaps together with other ranks.  The
classes of torch are recognised by their attributes, so that torch is not imported here.
"""

from __future__ import annotations

import functools
import math
import sys
import zlib
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from ._types import Kind, kind_of, kind_of_format, torch_name

SPLIT_FROM = 1 << 16    # bytes; smaller tensors of several owners go to one of them


class Box(NamedTuple):
    """A part of a tensor that is in this process."""

    offset: tuple[int, ...]
    shape: tuple[int, ...]
    data: Any               # a tensor, an array or a memoryview of this shape
    replica: int = 0        # which of the owners of equal boxes this rank is
    replicas: int = 1


@dataclass
class Source:
    """One tensor of a state."""

    stored: str                     # safetensors' type
    shape: tuple[int, ...]          # of the whole tensor
    made_by: str                    # "torch", "numpy", "scalar" or "buffer"
    program: str | None = None      # the type's name, where safetensors lacks it
    boxes: list[Box] = field(default_factory=list)


@dataclass(frozen=True)
class Shard:
    """A box of a larger tensor, for programs that divide tensors by themselves.

        roar.checkpoint.save({"w": Shard(mine, shape=(4096, 1024), offset=(1024, 0))},
                             url, step=7, rank=1, world_size=4, save_id=save_id)

    `data` is a tensor or an array, `shape` that of the whole tensor, and `offset` the
    index at which the box begins.  If several ranks hold the same box, `replicas` is their
    number and `replica` the place of this rank among them: each writes a part.
    """

    data: Any
    shape: tuple[int, ...]
    offset: tuple[int, ...]
    replica: int = 0
    replicas: int = 1


# ---- one tensor in memory ----

def is_torch(thing: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Tensor)


def is_numpy(thing: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(thing, (numpy.ndarray, numpy.generic))


def is_buffer(thing: Any) -> bool:
    """Is this a typed buffer, such as array.array?  bytes are not: they are raw."""
    if isinstance(thing, (bytes, bytearray)):
        return False
    try:
        memoryview(thing)
    except TypeError:
        return False
    return True


def _torch_kind(tensor: Any, where: str) -> Kind:
    kind = kind_of(torch_name(tensor.dtype))
    if tensor.layout is not sys.modules["torch"].strided or kind is None or \
            tensor.is_quantized:
        raise TypeError(f"the tensor '{where}' is {tensor.layout}, {tensor.dtype}, which "
                        "a checkpoint cannot hold: convert it to a dense tensor first")
    if tensor.device.type == "meta":
        raise TypeError(f"the tensor '{where}' has no memory (device meta): materialise "
                        "it before the save")
    return kind


def _torch_box(tensor: Any, where: str) -> tuple[Kind, Any]:
    kind = _torch_kind(tensor, where)
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if kind.pair:
        tensor = sys.modules["torch"].view_as_real(tensor)
    return kind, tensor


@functools.lru_cache
def _numpy_kind(dtype: Any) -> Kind | None:
    """Computing the name of a NumPy type takes longer than all else here."""
    return kind_of(dtype.name)


def _numpy_box(array: Any, where: str) -> tuple[Kind, Any]:
    numpy = sys.modules["numpy"]
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(array, masked.MaskedArray):
        raise TypeError(f"the array '{where}' is masked, and a checkpoint cannot hold its "
                        "mask: save .data and .mask, or .filled()")
    array = numpy.asarray(array)
    kind = _numpy_kind(array.dtype)
    if kind is None:
        raise TypeError(f"the array '{where}' has the type {array.dtype}, which a "
                        "checkpoint cannot hold: convert it to numbers first")
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    if kind.pair:
        array = numpy.ascontiguousarray(array).view(
            array.real.dtype).reshape(*array.shape, 2)
    return kind, array


def _buffer_box(thing: Any, where: str) -> tuple[Kind, Any]:
    view = memoryview(thing)
    kind = kind_of_format(view.format)
    if kind is None or not view.c_contiguous:
        raise TypeError(f"the buffer '{where}' has elements of the format "
                        f"{view.format!r} or gaps: copy it into a NumPy array first")
    return kind, view


def memory_of(thing: Any, where: str) -> tuple[Kind, Any, str]:
    """The kind of the elements, the memory, and what made it.  Raises TypeError."""
    if is_torch(thing):
        return *_torch_box(thing, where), "torch"
    if is_numpy(thing):
        made_by = "numpy" if isinstance(thing, sys.modules["numpy"].ndarray) else "scalar"
        return *_numpy_box(thing, where), made_by
    return *_buffer_box(thing, where), "buffer"


# ---- tensors that are divided over ranks ----

def is_sharded(thing: Any) -> bool:
    return _may_be_sharded(cast(Hashable, type(thing))) and (
        isinstance(thing, Shard) or _is_dtensor(thing) or _is_sharded_tensor(thing))


@functools.lru_cache
def _may_be_sharded(kind: type) -> bool:
    return issubclass(kind, Shard) or hasattr(kind, "to_local") or \
        hasattr(kind, "local_shards")


def _is_dtensor(thing: Any) -> bool:
    return hasattr(type(thing), "to_local") and hasattr(thing, "placements")


def _is_sharded_tensor(thing: Any) -> bool:
    return hasattr(type(thing), "local_shards") and hasattr(type(thing), "metadata")


def chunk_of(length: int, index: int, count: int) -> tuple[int, int]:
    """(begin, length) of chunk `index` of `count`, as torch.chunk() divides."""
    size = -(-length // count)
    begin = min(index * size, length)
    return begin, min(size, length - begin)


class _Place(NamedTuple):
    offset: tuple[int, ...]
    shape: tuple[int, ...]
    replica: int
    replicas: int


def dtensor_place(tensor: Any, where: str) -> _Place | None:
    """Which box of a DTensor this rank has; None: the rank is not in its mesh."""
    mesh = tensor.device_mesh
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        return None
    begin, shape = [0] * len(tensor.shape), list(tensor.shape)
    replica, replicas = 0, 1
    for axis, placement in _in_order(tensor.placements):
        count = int(mesh.size(axis))
        if placement.is_replicate():
            replica, replicas = replica * count + coordinate[axis], replicas * count
        elif _is_split(placement):
            dim = placement.dim % len(shape)
            more, length = chunk_of(shape[dim], coordinate[axis], count)
            begin[dim], shape[dim] = begin[dim] + more, length
        else:
            raise TypeError(
                f"the DTensor '{where}' has the placement {placement!r}: its values are "
                "sums that are still open, so redistribute() it before the save")
    return _Place(tuple(begin), tuple(shape), replica, replicas)


def _is_split(placement: Any) -> bool:
    return bool(placement.is_shard()) or hasattr(placement, "split_factor")


def _in_order(placements: Any) -> list[tuple[int, Any]]:
    """Axes of the mesh in the order in which they divide.  That is from left to right,
    except for torch's _StridedShard (FSDP over tensor parallelism): it divides what the
    axes to its right have left."""
    axes = list(enumerate(placements))
    last = [x for x in axes if getattr(x[1], "split_factor", 1) > 1]
    return [x for x in axes if x not in last] + last[::-1]


def _from_dtensor(tensor: Any, where: str) -> Source:
    place = dtensor_place(tensor, where)
    local = tensor.to_local()
    kind, data, made_by = memory_of(local, where)
    pair = (2,) if kind.pair else ()
    source = Source(kind.stored, (*tensor.shape, *pair), made_by, kind.program)
    if place is not None:
        source.boxes.append(Box((*place.offset, *(0 for _ in pair)), (*place.shape, *pair),
                                data, place.replica, place.replicas))
    return source


def _from_sharded_tensor(tensor: Any, where: str) -> Source:
    metadata = tensor.metadata()
    kind = kind_of(torch_name(metadata.tensor_properties.dtype))
    if kind is None:
        raise TypeError(f"the ShardedTensor '{where}' has the type "
                        f"{metadata.tensor_properties.dtype}, which a checkpoint cannot "
                        "hold: convert it first")
    pair = (2,) if kind.pair else ()
    source = Source(kind.stored, (*metadata.size, *pair), "torch", kind.program)
    for shard in tensor.local_shards():
        _, data, source.made_by = memory_of(shard.tensor, where)
        source.boxes.append(Box((*shard.metadata.shard_offsets, *(0 for _ in pair)),
                                (*shard.metadata.shard_sizes, *pair), data))
    return source


def _from_shard(shard: Shard, where: str) -> Source:
    kind, data, made_by = memory_of(shard.data, where)
    pair = (2,) if kind.pair else ()
    source = Source(kind.stored, (*shard.shape, *pair), made_by, kind.program)
    source.boxes.append(Box((*shard.offset, *(0 for _ in pair)), tuple(data.shape), data,
                            shard.replica, shard.replicas))
    return source


def source_of(thing: Any, where: str, rank: int = 0, world_size: int = 1) -> Source:
    """What a tensor-like object contributes.  A plain one is on all ranks of the world.

    Raises TypeError for what cannot be stored."""
    if not is_sharded(thing):
        kind, data, made_by = memory_of(thing, where)
        shape = tuple(data.shape)
        return Source(kind.stored, shape, made_by, kind.program,
                      [Box((0,) * len(shape), shape, data, rank, world_size)])
    if isinstance(thing, Shard):
        source = _from_shard(thing, where)
    elif _is_dtensor(thing):
        source = _from_dtensor(thing, where)
    else:
        source = _from_sharded_tensor(thing, where)
    for box in source.boxes:
        _check_box(source, box, where)
    return source


def _check_box(source: Source, box: Box, where: str) -> None:
    if tuple(box.data.shape) != tuple(box.shape):
        raise ValueError(f"the part of '{where}' that is here has the shape "
                         f"{tuple(box.data.shape)}, but its placement says {box.shape}")
    if len(box.offset) != len(source.shape) or not all(
            0 <= o and o + n <= whole
            for o, n, whole in zip(box.offset, box.shape, source.shape)):
        raise ValueError(f"the part of '{where}' at {box.offset} with the shape "
                         f"{box.shape} is not inside a tensor of {source.shape}")


# ---- one owner for each byte ----

def owned(box: Box, name: str, size_bytes: int) -> Box | None:
    """What of the box this rank writes; None: nothing.  Owners agree without a message.

    A large box is cut along its first dimension that can be cut, which leaves pieces of
    consecutive memory; a small one belongs to one owner, by its name."""
    if box.replicas == 1:
        return box
    axis = next((i for i, n in enumerate(box.shape) if n > 1), None)
    if axis is None or size_bytes < SPLIT_FROM or box.shape[axis] < box.replicas:
        number = zlib.crc32(f"{name}{box.offset}".encode())
        return box if number % box.replicas == box.replica else None
    n = box.shape[axis]
    begin, end = (n * i // box.replicas for i in (box.replica, box.replica + 1))
    offset, shape = list(box.offset), list(box.shape)
    offset[axis], shape[axis] = offset[axis] + begin, end - begin
    index = (*(slice(None) for _ in range(axis)), slice(begin, end))
    return Box(tuple(offset), tuple(shape), cut(box.data, index))


def cut(data: Any, index: tuple[slice, ...]) -> Any:
    """data[index]; a memoryview of several dimensions has no such thing."""
    if not isinstance(data, memoryview) or data.ndim == 1:
        return data[index] if not isinstance(data, memoryview) else data[index[0]]
    flat, form, shape = data.cast("B"), data.format, list(data.shape or ())
    axis = len(index) - 1
    row = math.prod(shape[axis + 1:]) * data.itemsize
    begin, end = index[axis].start, index[axis].stop
    shape[axis] = end - begin
    return flat[begin * row:end * row].cast(form, shape)
