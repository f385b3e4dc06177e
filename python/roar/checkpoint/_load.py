"""Reading checkpoints: whole, by tensor, by slice, and into memory that exists."""

from __future__ import annotations

import fnmatch
import functools
import json
import math
import operator
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ._core import core
from ._errors import CheckpointDamaged
from ._memory import (Region, framework_for, handle_of, imported, is_on_device, size_of,
                      view_memory)
from ._sources import Box, Source, is_numpy, is_sharded, is_torch, source_of
from ._staging import Staging
from ._state import Tree, Unflatten, leaves_of
from ._types import SIZES, is_pair

AnyPath = str | os.PathLike[str]
Index = Any     # a slice, a number, or a tuple of them

# What a tree from another program may raise while it is read.
MALFORMED = (AttributeError, IndexError, KeyError, RecursionError, TypeError,
             ValueError)

RUN = 64 << 20  # bytes of neighbouring tensors that share one piece of memory


class TensorInfo(NamedTuple):
    """A tensor of a checkpoint: safetensors' type, whole shape, and where its parts are."""

    dtype: str
    shape: tuple[int, ...]
    parts: list[dict[str, Any]]

    @property
    def size_bytes(self) -> int:
        return size_of(self.dtype, self.shape)


class Want(NamedTuple):
    """A box of a tensor and the contiguous memory for it."""

    name: str
    offset: tuple[int, ...]
    shape: tuple[int, ...]
    memory: Any


def _box_of(index: Index, shape: tuple[int, ...], name: str
            ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """(offset, shape, shape without the dimensions that a number has removed)"""
    given = index if isinstance(index, tuple) else (index,)
    if len(given) > len(shape):
        raise IndexError(f"the tensor '{name}' has {len(shape)} dimensions, not "
                         f"{len(given)}")
    offset, extent, kept = [], [], []
    for i, length in enumerate(shape):
        one = given[i] if i < len(given) else slice(None)
        if isinstance(one, slice):
            begin, end, stride = one.indices(length)
            if stride != 1:
                raise IndexError(f"a slice of '{name}' has the step {stride}: only 1 is "
                                 "read from a file")
            n = max(0, end - begin)
            kept.append(n)
        else:
            begin, n = operator.index(one), 1
            begin += length if begin < 0 else 0
            if not 0 <= begin < length:
                raise IndexError(f"'{name}' has no index {one} in dimension {i}, which "
                                 f"has {length}")
        offset.append(begin)
        extent.append(n)
    return tuple(offset), tuple(extent), tuple(kept)


class Checkpoint:
    """A checkpoint that was opened; open_checkpoint() returns one.

    step, epoch, metrics, tags, parent, job, world_size, created, save_id
              as they were saved
    tensors   {name: TensorInfo}
    tree      the saved state in the notation of docs/checkpoint.md
    manifest  all of it, as the manifest has it
    """

    def __init__(self, url: AnyPath, step: int | None, threads: int,
                 replicas: Sequence[AnyPath]) -> None:
        self.url = os.fspath(url)
        if step is not None and step < 0:
            raise ValueError(f"step must be from 0 to 999999999999, not {step}")
        self._reader = core.open(self.url, -1 if step is None else step, threads,
                                 tuple(os.fspath(r) for r in replicas))
        self.manifest: dict[str, Any] = json.loads(self._reader.manifest())
        m = self.manifest
        self.step: int = m["step"]
        self.epoch: int = m["epoch"]
        self.save_id: str = m["save"]
        self.created: str = m["created"]
        self.world_size: int = m["world_size"]
        self.world_epoch: int = m["world_epoch"]
        self.fencing_token: int = m["fencing_token"]
        self.job: str | None = m["job"]
        self.parent: str | None = m["parent"]
        self.metrics: dict[str, float] = m["metrics"]
        self.tags: list[str] = m["tags"]
        self.tree: Tree = m["state"]
        self._metadata: Tree = {}
        if isinstance(self.tree, dict) and "$with" in self.tree:
            self._metadata = self.tree["metadata"]
            self.tree = self.tree["$with"]
        self.tensors = {name: TensorInfo(t["dtype"], tuple(t["shape"]), t["parts"])
                        for name, t in m["tensors"].items()}

    def __repr__(self) -> str:
        return (f"<Checkpoint step {self.step} of {self.url!r}, {len(self.tensors)} "
                f"tensors, {self.size_bytes} bytes>")

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(t.size_bytes for t in self.tensors.values())

    @property
    def data_position(self) -> Any:
        """What was given to save(), such as the state_dict() of roar.shards()."""
        return self.value(self.manifest["data_position"])

    @property
    def rng(self) -> Any:
        """What was given to save(), such as the result of rng_state()."""
        return self.value(self.manifest["rng"])

    @property
    def metadata(self) -> dict[str, Any]:
        """What was given to save()."""
        return dict(self.value(self._metadata))

    @property
    def bytes_read(self) -> int:
        """Bytes that the last load has read from the files."""
        return int(self._reader.bytes_read)

    # ---- whole values ----

    def state(self, framework: str | None = None, device: Any = None) -> Any:
        """The saved object, with new memory for its tensors."""
        return self.value(self.tree, framework, device)

    def value(self, tree: Tree, framework: str | None = None, device: Any = None) -> Any:
        """The value of a part of the tree, such as checkpoint.tree["model"].

        Raises CheckpointDamaged if it is not in the notation of docs/checkpoint.md.
        """
        try:
            return self._value(tree, "torch" if device is not None else framework, device)
        except CheckpointDamaged:
            raise
        except MALFORMED as error:
            raise CheckpointDamaged(
                f"the state of step {self.step} of '{self.url}' is malformed "
                f"({type(error).__name__}: {error}): tensors can still be loaded by name"
            ) from error

    def _value(self, tree: Tree, framework: str | None, device: Any) -> Any:
        leaves = leaves_of(tree)
        how = {leaf["$tensor"]: leaf for leaf in leaves if "$tensor" in leaf}
        raw = [leaf[key] for leaf in leaves for key in ("$bytes", "$json") if key in leaf]
        made = self._new([*how], raw, how, framework, device)

        def text(name: str) -> bytes:
            return bytes(made[name])

        def tensor(leaf: dict[str, Any]) -> Any:
            return _as_it_was(made[leaf["$tensor"]], leaf)

        def inner(name: str) -> Any:
            return self.value(json.loads(text(name)), framework, device)

        return Unflatten(tensor, text, inner).value(tree)

    def tensor(self, name: str, index: Index = (), framework: str | None = None) -> Any:
        """One tensor, or a slice of it: checkpoint.tensor("model.w", slice(0, 10))."""
        return self.slices({name: index}, framework)[name]

    def mapped(self, name: str, framework: str | None = None) -> Any:
        """A tensor in the memory of its file, verified once, for reading only.

        It stays valid after close().  Do not change the file meanwhile.  Raises
        CheckpointError if the tensor is in several parts, or not on this machine.
        """
        info, leaf = self._info(name), self._leaves().get(name, {})
        return view_memory(memoryview(self._reader.map(name, _is_main())), 0, info.dtype,
                           info.shape, framework_for(framework, leaf.get("as")),
                           leaf.get("dtype"))

    def slices(self, wanted: Mapping[str, Index], framework: str | None = None
               ) -> dict[str, Any]:
        """{name: tensor or slice} for {name: index}, in one pass over the files."""
        how = self._leaves()
        wants, result = [], {}
        for name, index in wanted.items():
            info = self._info(name)
            offset, shape, kept = _box_of(index, info.shape, name)
            leaf = how.get(name, {})
            region = Region(0, size_of(info.dtype, shape))
            kind = framework_for(framework, leaf.get("as"))
            flat = view_memory(region.memory, 0, info.dtype, shape, kind, None)
            wants.append(Want(name, offset, shape, region.memory))
            result[name] = view_memory(region.memory, 0, info.dtype, kept, kind,
                                       leaf.get("dtype")) if kept else flat.reshape(())
        self._read(wants)
        return result

    def _leaves(self) -> dict[str, dict[str, Any]]:
        """How each tensor was used in the state."""
        return {leaf["$tensor"]: leaf for leaf in leaves_of(self.tree)
                if "$tensor" in leaf and "view" not in leaf}

    def _info(self, name: str) -> TensorInfo:
        try:
            return self.tensors[name]
        except KeyError:
            raise KeyError(f"step {self.step} of '{self.url}' has no tensor "
                           f"'{name}'") from None

    # ---- new memory ----

    def _new(self, names: list[str], raw: list[str], how: Mapping[str, dict[str, Any]],
             framework: str | None, device: Any) -> dict[str, Any]:
        """Reads tensors into new memory."""
        made: dict[str, Any] = {}
        wants: list[Want] = []
        kind = functools.cache(functools.partial(framework_for, framework))
        on_device = device is not None and imported("torch").device(device).type != "cpu"
        if on_device:
            self._read_to_device(names, how, device, made)
            names = []
        for run in self._runs([*names, *raw]):
            begin = self.tensors[run[0]].parts[0]["at"]
            last = self.tensors[run[-1]]
            region = Region(begin, last.parts[0]["at"] + last.size_bytes)
            for name in run:
                self._add(name, region, how, kind, made, wants)
        for name in dict.fromkeys([*names, *raw]):
            if name not in made:    # of several parts
                info = self._info(name)
                at = info.parts[0]["at"] if info.parts else 0
                self._add(name, Region(at, at + info.size_bytes), how, kind, made, wants,
                          at)
        self._read(wants)
        return made

    def _add(self, name: str, region: Region, how: Mapping[str, dict[str, Any]],
             framework: Callable[[str | None], str], made: dict[str, Any], wants: list[Want],
             at: int | None = None) -> None:
        info, leaf = self._info(name), how.get(name)
        if at is None:
            at = info.parts[0]["at"]
        if leaf is None:
            made[name] = region.tensor(at, "U8", (info.size_bytes,), "buffer", None)
        else:
            made[name] = region.tensor(at, info.dtype, info.shape,
                                       framework(leaf.get("as")), leaf.get("dtype"))
        wants.append(Want(name, (0,) * len(info.shape), info.shape, region.address(at)))

    def _runs(self, names: Iterable[str]) -> list[list[str]]:
        """Tensors of one part that are neighbours in a file, up to RUN bytes each."""
        single = sorted(
            ((t.parts[0]["file"], t.parts[0]["at"], name) for name, t in (
                (name, self._info(name)) for name in dict.fromkeys(names))
             if len(t.parts) == 1 and t.size_bytes))
        runs: list[list[str]] = []
        end = (-1, -1)
        begin = 0
        for file, at, name in single:
            if end != (file, at) or at - begin >= RUN:
                runs.append([])
                begin = at
            runs[-1].append(name)
            end = (file, at + self.tensors[name].size_bytes)
        return runs

    def _read_to_device(self, names: list[str], how: Mapping[str, dict[str, Any]],
                        device: Any, made: dict[str, Any]) -> None:
        torch = imported("torch")
        pairs = []
        for name in names:
            info, program = self._info(name), how[name].get("dtype")
            like = view_memory(bytearray(SIZES[info.dtype] * 2), 0, info.dtype,
                               (2,) if is_pair(program) else (1,), "torch", program)
            shape = info.shape[:len(info.shape) - is_pair(program)]
            made[name] = torch.empty(shape, dtype=like.dtype, device=device)
            pairs.append((name, made[name]))
        self._fill([(name, source_of(t, name)) for name, t in pairs])

    # ---- memory that exists ----

    def read_into(self, wanted: Iterable[tuple[str, Sequence[int], Any]]) -> None:
        """Reads boxes of tensors: (name, index at which the box begins, memory of its
        shape, which is contiguous and the CPU's)."""
        wants = []
        for name, offset, data in wanted:
            info = self._info(name)
            shape, begin = tuple(data.shape), tuple(offset)
            if len(shape) < len(info.shape):    # complex
                shape, begin = (*shape, 2), (*begin, 0)
            wants.append(Want(name, begin, shape, data))
        self._read(wants)

    def into(self, target: Any, strict: bool = True) -> Any:
        """Fills the tensors of `target`, a state of the same structure, and returns it.

        Values that are not tensors are replaced.  Tensors may be DTensors,
        ShardedTensors and Shards: this rank's part is read, whatever the number of ranks
        that saved.  With strict=False, keys of `target` that the checkpoint lacks stay
        as they are.
        """
        from ._filling import fill
        return fill(self, target, strict)

    def _fill(self, targets: list[tuple[str, Source]]) -> None:
        """Reads the boxes of these tensors, through other memory where necessary."""
        wants, staging = [], Staging(self._read)
        for name, source in targets:
            for box in source.boxes:
                if _is_direct(box.data):
                    wants.append(Want(name, box.offset, box.shape, box.data))
                else:
                    staging.add(name, box, source.stored)
        self._read(wants)
        staging.run()

    def _read(self, wants: list[Want]) -> None:
        todo = [(w.name, w.offset, w.shape, handle_of(w.memory)) for w in wants
                if math.prod(w.shape)]
        if todo:
            self._reader.load(todo, _is_main())

    def verify(self) -> int:
        """Reads every byte; the number of damaged leaves of 1 MiB, repaired or not."""
        return int(self._reader.verify(_is_main()))

    def close(self) -> None:
        self._reader.close()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_main() -> bool:
    """Is this the thread where Python handles signals?"""
    return threading.get_ident() == threading.main_thread().ident


def _is_direct(data: Any) -> bool:
    """Can the C code write to it?"""
    if is_torch(data):
        return not is_on_device(data) and bool(data.is_contiguous())
    if is_numpy(data):
        return bool(data.flags.c_contiguous and data.flags.writeable)
    return isinstance(data, memoryview) and data.c_contiguous and not data.readonly


def _view_of(leaf: dict[str, Any], count: int) -> tuple[int, list[int], list[int]]:
    """(offset, shape, strides) of a view, all of which is within `count` elements."""
    try:
        offset, shape, strides = leaf["view"]
        numbers = [offset, *shape, *strides]
        last = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, strides))
        is_within = (len(shape) == len(strides) and offset + last <= count and
                     all(type(n) is int and n >= 0 for n in numbers))
    except (TypeError, ValueError):
        is_within = False
    if not is_within:
        raise CheckpointDamaged(
            f"the state has a view of the tensor '{leaf['$tensor']}' which is not within "
            f"its {count} elements: {leaf['view']}")
    return offset, shape, strides


def _as_it_was(tensor: Any, leaf: dict[str, Any]) -> Any:
    """The view of a tensor, or the scalar, that a leaf describes."""
    if "view" in leaf:
        offset, shape, strides = _view_of(leaf, math.prod(tensor.shape))
        if is_torch(tensor):
            return tensor.as_strided(shape, strides, tensor.storage_offset() + offset)
        if is_numpy(tensor):
            numpy = imported("numpy")
            return numpy.lib.stride_tricks.as_strided(
                tensor.reshape(-1)[offset:], shape,
                [s * tensor.itemsize for s in strides])
    if leaf.get("as") == "scalar" and is_numpy(tensor):
        return tensor[()]
    return tensor


# ---- public functions ----

def open_checkpoint(url: AnyPath, step: int | None = None, *, threads: int = 0,
                    replicas: Sequence[AnyPath] = ()) -> Checkpoint:
    """Opens a checkpoint without reading its tensors.

    `step` None is the latest.  `replicas` are other directories or prefixes with copies:
    if bytes are damaged, they are taken from there.

    Raises CheckpointMissing if there is none, and CheckpointDamaged if its manifest is.
    """
    return Checkpoint(url, step, threads, replicas)


def load(url: AnyPath, step: int | None = None, *, into: Any = None,
         tensors: Iterable[str] | Mapping[str, Index] | None = None, strict: bool = True,
         framework: str | None = None, device: Any = None, threads: int = 0,
         replicas: Sequence[AnyPath] = ()) -> Any:
    """Loads a checkpoint, verified while it is read.

        state = roar.checkpoint.load("runs/7")                      # the latest, whole
        roar.checkpoint.load("runs/7", 100, into=model.state_dict())
        roar.checkpoint.load("runs/7", tensors=["model.*"])         # {name: tensor}
        roar.checkpoint.load("runs/7", tensors={"model.w": slice(0, 1024)})

    Returns the saved object; with `into` (a state of the same structure, whose tensors are
    filled in place, also those of another number of ranks) that state; with `tensors` a dict.
    `framework` is "torch", "numpy" or "buffer"; None: what each tensor was when it was
    saved.  `device` puts tensors of torch on a GPU, through pinned memory.

    Raises CheckpointMissing, CheckpointDamaged (it names the file, the tensor and the offset),
    and OSError for errors of the system.
    """
    with open_checkpoint(url, step, threads=threads, replicas=replicas) as checkpoint:
        if into is not None:
            return checkpoint.into(into, strict)
        if tensors is None:
            return checkpoint.state(framework, device)
        if isinstance(tensors, Mapping):
            return checkpoint.slices(tensors, framework)
        return checkpoint.slices({name: () for name in _matching(checkpoint, tensors)},
                                 framework)


def _matching(checkpoint: Checkpoint, patterns: Iterable[str]) -> list[str]:
    if isinstance(patterns, str):
        patterns = [patterns]
    found: dict[str, None] = {}
    for pattern in patterns:
        names = [pattern] if pattern in checkpoint.tensors else \
            fnmatch.filter(checkpoint.tensors, pattern)
        if not names:
            raise KeyError(f"step {checkpoint.step} of '{checkpoint.url}' has no tensor "
                           f"'{pattern}'")
        found.update(dict.fromkeys(names))
    return list(found)


__all__ = ["Box", "Checkpoint", "TensorInfo", "is_sharded", "load", "open_checkpoint"]
