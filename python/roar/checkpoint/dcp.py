"""Storage of checkpoints for torch.distributed.checkpoint (DCP), torch 2.3 or later.

    import torch.distributed.checkpoint as dcp
    from roar.checkpoint.dcp import StorageReader, StorageWriter

    dcp.save(state, storage_writer=StorageWriter("runs/7", step=100))
    dcp.load(state, storage_reader=StorageReader("runs/7", step=100))

DCP plans which rank writes and reads what; the files are those of roar.checkpoint, with
its digests and its atomic commit.  So roar.checkpoint.load() and `roar checkpoint` read them as
well.  Values that are not tensors are stored as JSON, not as pickles.

DCP's `checkpoint_id` may be given instead of a step: "runs/7/step-100" is step 100 in runs/7.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
from typing import Any

import torch
from torch.distributed.checkpoint import storage as _storage  # type: ignore
from torch.distributed.checkpoint.metadata import (  # type: ignore
    BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorProperties,
    TensorStorageMetadata)
from torch.distributed.checkpoint.planner import (  # type: ignore
    LoadItemType, LoadPlan, LoadPlanner, SavePlan, SavePlanner, WriteItemType)
from torch.distributed.checkpoint.storage import WriteResult  # type: ignore
from torch.futures import Future

from ._load import Checkpoint, open_checkpoint
from ._memory import is_on_device
from ._save import (Part, Saved, SavedPart, members_of, new_save_id, pieces_of,
                    request_of, run_request)
from ._sources import Box, Source, memory_of, source_of
from ._state import Flat, Tree
from ._types import is_pair, kind_of, torch_name, torch_type

__all__ = ["StorageReader", "StorageWriter"]

AnyPath = str | os.PathLike[str]


def _split(checkpoint_id: AnyPath, step: int | None) -> tuple[str, int]:
    """BASE and step of a checkpoint_id."""
    text = os.fspath(checkpoint_id).rstrip("/")
    if step is not None:
        return text, step
    base, _, name = text.rpartition("/")
    number = re.search(r"(\d{1,12})$", name)
    if not base or not number:
        raise ValueError(f"the checkpoint_id {text!r} does not end with a step, such as "
                         "'runs/7/step-100': name one, or give step=")
    return base, int(number[1])


class _Place:
    """BASE and step, from the constructor or from DCP's checkpoint_id."""

    def __init__(self, url: AnyPath | None, step: int | None) -> None:
        self._url, self._step = url, step
        self._at: tuple[str, int | None] | None = None
        if url is not None:
            self._at = (os.fspath(url), step) if step is not None else None

    def reset(self, checkpoint_id: AnyPath | None) -> None:
        if checkpoint_id is not None:
            self._at = _split(checkpoint_id, None)

    def get(self) -> tuple[str, int]:
        if self._at is None and self._url is not None:
            self._at = _split(self._url, self._step)
        if self._at is None or self._at[1] is None:
            raise ValueError("StorageWriter and StorageReader need a URL and a step, or a "
                             "checkpoint_id")
        return self._at[0], self._at[1]


@dataclasses.dataclass
class _Save:
    """What the coordinator's plan gives each rank."""

    save_id: str
    rank: int
    world_size: int
    tree: Tree      # of the state, for rank 0


class StorageWriter(_storage.StorageWriter):
    """Writes a checkpoint for dcp.save() and dcp.async_save()."""

    def __init__(self, url: AnyPath | None = None, step: int | None = None,
                 **members: Any) -> None:
        """`members` are epoch, metrics, tags, data_position and rng, as for save()."""
        super().__init__()
        self._place, self._members = _Place(url, step), members
        self._written: SavedPart | None = None

    def reset(self, checkpoint_id: AnyPath | None = None) -> None:
        self._place.reset(checkpoint_id)

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any,
                              **kwargs: Any) -> None:
        self._place.get()

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Each rank gets the save id and its number; rank 0 also the state's tree."""
        save_id, n = new_save_id(), len(plans)
        tree = _nested({item.index.fqn: _leaf(item) for plan in plans
                        for item in plan.items}, [plan.planner_data for plan in plans])
        return [dataclasses.replace(plan, storage_data=_Save(
            save_id, rank, n, tree if rank == 0 else None))
            for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner
                   ) -> Future[list[WriteResult]]:
        save: _Save = plan.storage_data
        flat = Flat()
        results = [_add_item(flat, item, planner) for item in plan.items]
        base, step = self._place.get()
        members = members_of(flat, save.tree, **self._members)
        part, pieces = Part(step, save.rank, save.world_size, save.save_id), \
            pieces_of(flat.sources)
        written, size, handle = run_request(request_of(base, part, pieces, members))
        self._written = None if handle is None else SavedPart(
            Saved(f"{base}/step-{step:012}", step, save.save_id, written, size), part,
            base, handle)
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        if self._written is not None:
            self._written.commit()
            self._written = None

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: AnyPath) -> bool:
        try:
            _split(checkpoint_id, None)
        except ValueError:
            return False
        return True

    def storage_meta(self) -> Any:
        return None


def _leaf(item: Any) -> Tree:
    """What stands for an item in the tree."""
    name = item.index.fqn
    if item.type == WriteItemType.BYTE_IO:
        return {"$json": name}
    kind = kind_of(torch_name(item.tensor_data.properties.dtype))
    leaf: dict[str, Any] = {"$tensor": name, "as": "torch"}
    if kind is not None and kind.program is not None:
        leaf["dtype"] = kind.program
    return leaf


def _add_item(flat: Flat, item: Any, planner: SavePlanner) -> WriteResult:
    """Adds a tensor, or a value as JSON, to what this rank writes."""
    name = item.index.fqn
    if item.type == WriteItemType.BYTE_IO:
        size = _add_value(flat, name, item, planner)
        return WriteResult(index=item.index, size_in_bytes=size, storage_data=None)
    tensor = planner.resolve_data(item)
    assert isinstance(tensor, torch.Tensor) and item.tensor_data is not None
    kind, data, _ = memory_of(tensor, name)
    pair = (2,) if kind.pair else ()
    source = flat.sources.setdefault(name, Source(
        kind.stored, (*item.tensor_data.size, *pair), "torch", kind.program))
    source.boxes.append(Box((*item.tensor_data.chunk.offsets, *(0 for _ in pair)),
                            (*item.tensor_data.chunk.sizes, *pair), data))
    return WriteResult(index=item.index, storage_data=None,
                       size_in_bytes=tensor.numel() * tensor.element_size())


def _add_value(flat: Flat, name: str, item: Any, planner: SavePlanner) -> int:
    lookup = getattr(planner, "lookup_object", None)
    if lookup is None:
        raise TypeError(f"'{name}' is not a tensor, and {type(planner)!r} has no "
                        "lookup_object() to get its value: derive the planner from "
                        "DefaultSavePlanner")
    tree = flat.add(lookup(item.index), f"{name}.value")
    text = json.dumps(tree, allow_nan=False).encode()
    flat.sources[name] = source_of(memoryview(text), name)
    return len(text)


def _nested(leaves: dict[str, Tree], mappings: list[Any]) -> Tree:
    """The tree that DCP's planners have flattened; flat where their paths have numbers or
    contradict each other."""
    paths: dict[str, Any] = {}
    for mapping in mappings:
        paths.update(mapping if isinstance(mapping, dict) else {})
    tree: dict[str, Any] = {}
    for name, leaf in leaves.items():
        *way, last = paths.get(name, (name,))
        node = tree
        for key in way:
            node = node.setdefault(key, {}) if _is_inner(node, key) else {}
        if not _is_inner(node, last) or last in node:
            return _safe(leaves)
        node[last] = leaf
    return tree


def _is_inner(node: Any, key: Any) -> bool:
    """Can the dict `node` of a tree have this key?"""
    return isinstance(node, dict) and isinstance(key, str) and key[:1] != "$" and \
        not any(k[:1] == "$" for k in node)


def _safe(tree: dict[str, Any]) -> Tree:
    if any(key.startswith("$") for key in tree):
        return {"$items": [[key, value] for key, value in tree.items()]}
    return tree


class StorageReader(_storage.StorageReader):
    """Reads a checkpoint for dcp.load(); also one that save() wrote."""

    def __init__(self, url: AnyPath | None = None, step: int | None = None) -> None:
        super().__init__()
        self._place = _Place(url, step)
        self._checkpoint: Checkpoint | None = None
        self._values: dict[str, Tree] = {}

    def reset(self, checkpoint_id: AnyPath | None = None) -> None:
        self._place.reset(checkpoint_id)
        self._checkpoint = None

    def _opened(self) -> Checkpoint:
        if self._checkpoint is None:
            base, step = self._place.get()
            self._checkpoint = open_checkpoint(base, step)
            self._values = dict(_flattened(self._checkpoint.tree, ()))
        return self._checkpoint

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        checkpoint = self._opened()
        described: dict[str, Any] = {}
        paths = {}
        for name, (path, node) in self._values.items():
            paths[name] = path
            described[name] = _describe(checkpoint, node)
        return Metadata(state_dict_metadata=described, planner_data=paths)

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool,
                              *args: Any, **kwargs: Any) -> None:
        self._opened()

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        checkpoint = self._opened()
        wanted, ends = [], []
        for item in plan.items:
            _, node = self._values[item.storage_index.fqn]
            if item.type == LoadItemType.BYTE_IO:
                stream = io.BytesIO()
                torch.save(checkpoint.value(node), stream)   # in memory: DCP unpickles it
                stream.seek(0)
                planner.load_bytes(item, stream)
                continue
            target = planner.resolve_tensor(item).detach()
            begin = item.storage_index.offset or [0] * len(item.lengths)
            offset = [b + o for b, o in zip(begin, item.storage_offsets)]
            buffer = target if _is_plain(target) else torch.empty(
                tuple(item.lengths), dtype=target.dtype)
            wanted.append((node["$tensor"], offset, buffer))
            ends.append((item, target, buffer))
        checkpoint.read_into(wanted)
        for item, target, buffer in ends:
            if buffer is not target:
                target.copy_(buffer.view(target.shape))
            planner.commit_tensor(item, target)
        future: Future[None] = Future()
        future.set_result(None)
        return future

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: AnyPath) -> bool:
        return StorageWriter.validate_checkpoint_id(checkpoint_id)


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.is_contiguous() and not is_on_device(tensor)


def _flattened(node: Tree, path: tuple[Any, ...]) -> Any:
    """(name, (path, node)) of each value, with DCP's names: keys joined by dots.  Like
    DCP, lists are taken apart if they hold a tensor."""
    special = isinstance(node, dict) and any(k.startswith("$") for k in node)
    if isinstance(node, dict) and node and not special:
        for key, value in node.items():
            yield from _flattened(value, (*path, key))
    elif isinstance(node, list) and any(
            isinstance(x, dict) and "$tensor" in x for x in node):
        for i, value in enumerate(node):
            yield from _flattened(value, (*path, i))
    elif path:
        yield ".".join(map(str, path)), (path, node)


def _describe(checkpoint: Checkpoint, node: Tree) -> Any:
    if not isinstance(node, dict) or "$tensor" not in node or "view" in node:
        return BytesStorageMetadata()
    stored = checkpoint.tensors[node["$tensor"]]
    program = node.get("dtype")
    dims = len(stored.shape) - is_pair(program)
    properties = TensorProperties(dtype=torch_type(torch, stored.dtype, program))
    return TensorStorageMetadata(
        properties=properties, size=torch.Size(stored.shape[:dims]),
        chunks=[ChunkStorageMetadata(torch.Size(part["offset"][:dims]),
                                     torch.Size(part["shape"][:dims]))
                for part in stored.parts])
