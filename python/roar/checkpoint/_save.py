"""Saving: from a state to the list of memory that the C code writes."""

from __future__ import annotations

import json
import math
import os
import secrets
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from .._checks import whole
from ._core import core
from ._errors import CheckpointError, CheckpointExists, CheckpointMissing
from ._memory import contiguous, handle_of, is_on_device, size_of, wait_for_devices
from ._sources import Source, owned
from ._state import Flat, Tree
from ._together import Together, telling

if TYPE_CHECKING:
    from ..coordinator import TrainingOrchestrator
    from ._background import PendingSave

AnyPath = str | os.PathLike[str]

MAX_STEP = 999_999_999_999
MAX_WORLD = 99_999
COMMIT_S = 600.0    # how long rank 0 waits for the parts of the others
POLL_S = 0.01
MAX_POLL_S = 0.5


class Saved(NamedTuple):
    """What save() has written.

    path           of the checkpoint
    save_id        of this save
    written_bytes  of data that were written
    size_bytes     of all data of this rank, unchanged ones of the parent included
    """

    path: str
    step: int
    save_id: str
    written_bytes: int
    size_bytes: int


class Part(NamedTuple):
    """Which part of a save one rank writes."""

    step: int
    rank: int
    world_size: int
    save_id: str


class Members(NamedTuple):
    """What a manifest has beside tensors, as JSON."""

    epoch: int = 0
    parent: int = -1
    world_epoch: int = 0
    fencing_token: int = 0
    metrics: tuple[tuple[str, float], ...] = ()
    tags: tuple[str, ...] = ()
    state: str = "null"
    data_position: str = "null"
    rng: str = "null"


def new_save_id() -> str:
    """A random save id; all ranks of a sharded save get the same one."""
    return secrets.token_hex(4)


def _text(tree: Tree) -> str:
    return json.dumps(tree, separators=(",", ":"), allow_nan=False)


def _metrics(metrics: Mapping[str, Any] | None) -> tuple[tuple[str, float], ...]:
    found = tuple((str(name), float(value)) for name, value in (metrics or {}).items())
    for name, value in found:
        if not math.isfinite(value):
            raise ValueError(f"the metric '{name}' is {value}, which a manifest cannot "
                             "hold: leave it out")
    return found


def _tags(tags: Iterable[str]) -> tuple[str, ...]:
    if isinstance(tags, str):
        raise TypeError(f"tags is the text '{tags}': give a list of texts")
    return tuple(map(str, tags))


def base_of(url: str | os.PathLike[str]) -> str:
    """The URL of a store without a slash at its end."""
    text = os.fspath(url)
    if not text or text.endswith("://"):
        raise ValueError(f"'{text}' names no place: give a directory, or a URL such as "
                         "s3://bucket/runs")
    return text.rstrip("/") or "/"


def _parent(parent: int | str | None) -> int:
    if parent is None:
        return -1
    if isinstance(parent, str):
        parent = int(parent.removeprefix("step-"))
    return whole("parent", parent, 0, MAX_STEP)


def members_of(flat: Flat, tree: Tree, *, epoch: int = 0, parent: int | str | None = None,
               metrics: Mapping[str, float] | None = None, tags: Iterable[str] = (),
               data_position: Any = None, rng: Any = None, world_epoch: int = 0,
               fencing_token: int = 0) -> Members:
    """The members of a manifest.  Tensors of data_position and rng are added to `flat`."""
    if hasattr(data_position, "state_dict"):
        data_position = data_position.state_dict()
    return Members(
        whole("epoch", epoch, 0, MAX_STEP), _parent(parent), world_epoch, fencing_token,
        _metrics(metrics), _tags(tags), _text(tree),
        _text(flat.add(data_position, "data_position")), _text(flat.add(rng, "rng")))


# ---- the memory ----

class Piece(NamedTuple):
    """A box that this rank writes."""

    name: str
    stored: str
    whole: tuple[int, ...]      # shape of the tensor
    offset: tuple[int, ...]
    shape: tuple[int, ...]
    data: Any                   # contiguous, in the CPU's memory
    is_copy: bool               # memory of its own

    def row(self) -> tuple[Any, ...]:
        """What the C code takes."""
        return (self.name, self.stored, self.whole, self.offset, self.shape,
                handle_of(self.data))

    @property
    def size_bytes(self) -> int:
        return size_of(self.stored, self.shape)


def pieces_of(sources: Mapping[str, Source]) -> list[Piece]:
    """What of these tensors this rank writes."""
    found, on_device = [], []
    for name, source in sources.items():
        for box in source.boxes:
            mine = owned(box, name, size_of(source.stored, box.shape))
            if mine is None:
                continue
            data = contiguous(mine.data)
            if is_on_device(mine.data):
                on_device.append(mine.data)
            found.append(Piece(name, source.stored, source.shape, mine.offset, mine.shape,
                               data, data is not mine.data))
    wait_for_devices(on_device)
    return found


# ---- the calls ----

def _report_samples() -> None:
    """Lets the run know which samples this process has read before the checkpoint, which is
    recorded with them.  A process that reads no shards has nothing to report."""
    run = sys.modules.get("roar._run")
    if run is not None:
        run.notes().flush()


def request_of(url: str, part: Part, pieces: list[Piece], members: Members,
               threads: int = 0, is_part: bool = False) -> Any:
    """What the C code saves.  The pieces must live until it has run.

    is_part  a single rank does not commit by itself either"""
    return core.request(url, part.step, part.rank, part.world_size, part.save_id,
                        [piece.row() for piece in pieces], tuple(members), threads, is_part)


def run_request(request: Any) -> tuple[int, int, Any]:
    """(bytes written, bytes of all tensors, what is to be committed or None).

    On the main thread, a signal's handler may end it."""
    if threading.current_thread() is not threading.main_thread():
        return request.run()    # type: ignore[no-any-return]
    with ThreadPoolExecutor(1, "roar-save") as thread:
        future = thread.submit(request.run)
        try:
            return future.result()  # type: ignore[no-any-return]
        except BaseException:
            request.stop()
            raise


class SavedPart:
    """What one rank has written with save(commit=False): path, step, save_id,
    written_bytes and size_bytes as of Saved.

    Keep it until the checkpoint is committed: it protects the files from being removed as
    leftovers.
    """

    def __init__(self, saved: Saved, part: Part, url: str, handle: Any,
                 together: Together | None = None) -> None:
        self.path, self.step, self.save_id = saved.path, saved.step, saved.save_id
        self.written_bytes, self.size_bytes = saved.written_bytes, saved.size_bytes
        self._part, self._url, self._handle = part, url, handle
        self._together = together

    def commit(self, timeout: float = COMMIT_S) -> None:
        """Publishes the checkpoint, once the parts of all ranks are there.

        One rank calls it.  Raises CheckpointExists if another save of this step came
        first, and CheckpointError if parts are missing after `timeout` seconds, or do not
        belong together."""
        end, pause = time.monotonic() + timeout, POLL_S
        while True:
            try:
                self._handle.commit()
                return
            except CheckpointMissing as error:
                if time.monotonic() + pause > end:
                    raise CheckpointError(
                        f"'{self.path}' was not committed after {timeout:g} s: {error}; "
                        "earlier checkpoints are intact") from error
            time.sleep(pause)
            pause = min(2 * pause, MAX_POLL_S)

    def wait(self, timeout: float = COMMIT_S) -> None:
        """Waits until another rank has published the checkpoint."""
        end, pause = time.monotonic() + timeout, POLL_S
        while True:
            try:
                found = json.loads(core.open(self._url, self.step, 1, ()).manifest())
                break
            except CheckpointMissing as error:
                if time.monotonic() + pause > end:
                    raise CheckpointError(
                        f"'{self.path}' was not committed by rank 0 within {timeout:g} s: "
                        "earlier checkpoints are intact") from error
            time.sleep(pause)
            pause = min(2 * pause, MAX_POLL_S)
        if found["save"] != self.save_id:
            raise CheckpointExists(f"'{self.path}' was saved before, by another save "
                                   f"({found['save']}): this one is not visible")

    def abort(self) -> None:
        """Removes what was written."""
        self._handle.abort()

    def end(self, timeout: float) -> None:
        """Commits on rank 0 and waits for that on others; removes the part otherwise."""
        if self._together is not None:
            self._together.commit(self._handle, self.size_bytes, timeout)
            return
        try:
            if self._part.rank == 0:
                self.commit(timeout)
            else:
                self.wait(timeout)
        except BaseException:
            self.abort()
            raise


def _save_id(save_id: str | None, world_size: int) -> str:
    if save_id is None:
        if world_size > 1:
            raise ValueError("a save of several ranks needs save_id, the same on all of "
                             "them: send new_save_id() of one rank to the others")
        return new_save_id()
    if len(save_id) != 8 or set(save_id) - set("0123456789abcdef"):
        raise ValueError(f"save_id is 8 hex digits in lower case, not {save_id!r}: "
                         "new_save_id() makes one")
    return save_id


def _part_of(step: int, rank: int | None, world_size: int | None, save_id: str | None,
             together: Together | None) -> Part:
    if together is not None:
        rank, world_size = together.place(rank, world_size)
        save_id = together.save_id
    world_size = whole("world_size", 1 if world_size is None else world_size, 1, MAX_WORLD)
    rank = whole("rank", rank or 0, 0, world_size - 1)
    return Part(step, rank, world_size, _save_id(save_id, world_size))


def save(state: Any, url: AnyPath, step: int, *, epoch: int = 0,
         metrics: Mapping[str, float] | None = None, data_position: Any = None,
         rng: Any = None, tags: Iterable[str] = (),
         metadata: Mapping[str, Any] | None = None, parent: int | str | None = None,
         asynchronous: bool = False, rank: int | None = None,
         world_size: int | None = None, save_id: str | None = None, commit: bool = True,
         timeout: float = COMMIT_S, coordinator: TrainingOrchestrator | None = None,
         world_epoch: int = 0, fencing_token: int = 0, threads: int = 0
         ) -> Saved | PendingSave | SavedPart:
    """Saves a state, durably and completely, or raises and leaves nothing visible.

        roar.checkpoint.save({"model": model.state_dict(), "step": 100}, "runs/7", 100)

    `state` is any nesting of dicts, lists and tuples with tensors, arrays, buffers,
    numbers, strings and bytes.  Tensors may be non-contiguous, on a GPU, and share memory.

    epoch, metrics, tags    are listed with the checkpoint; tagged ones are kept
    data_position           roar.shards(), a SampleOrder, or the state_dict() of one
    rng                     such as rng_state()
    metadata                a dict of plain values
    parent                  a step: only what differs from that checkpoint is written
    asynchronous            return a PendingSave once the state is copied; a failure is
                            raised by its wait() or by the next save()
    rank, world_size, save_id
                            each rank saves its part under the same save_id.  DTensors and
                            ShardedTensors are divided already; other tensors are equal on
                            all ranks, and each rank writes a part of them.  The state
                            beside tensors is that of rank 0, which commits when all
                            parts are there, at most `timeout` seconds later; the others
                            wait for that
    coordinator             every worker of its job saves: instead of the three arguments
                            above.  It commits when all parts are there; if a rank fails
                            or dies before, save() raises on the others at once
    commit                  False, for a sharded save: return a SavedPart, whose commit()
                            is called later, by one rank

    Raises CheckpointExists if the step was saved before, TypeError for what cannot be
    saved, and OSError or CheckpointError when writing fails.
    """
    from ._background import begin, raise_failures
    raise_failures()
    _report_samples()
    step = whole("step", step, 0, MAX_STEP)
    base = base_of(url)
    path = f"{base}/step-{step:012}"
    if not commit and (asynchronous or coordinator is not None):
        raise ValueError("a save in the background, or with a coordinator, commits by "
                         "itself: leave out commit=False")
    together = None
    if coordinator is not None:
        if save_id is not None:
            raise ValueError("with a coordinator the ranks agree on a save_id: leave it out")
        together = Together(coordinator, path, step, epoch, timeout)
    with telling(together):
        part = _part_of(step, rank, world_size, save_id, together)
        flat = Flat(part.rank, part.world_size)
        tree = flat.add(state)
        if metadata:
            tree = {"$with": tree, "metadata": flat.add(dict(metadata), "metadata")}
        members = members_of(
            flat, tree, epoch=epoch, parent=parent, metrics=metrics, tags=tags,
            data_position=data_position, rng=rng, fencing_token=fencing_token,
            world_epoch=together.world_epoch if together else world_epoch)
        result = Saved(path, step, part.save_id, 0, 0)
        if asynchronous:
            return begin(base, part, flat.sources, members, result, timeout, threads,
                         together)
        pieces = pieces_of(flat.sources)
        written, size, handle = run_request(request_of(
            base, part, pieces, members, threads, together is not None))
    result = result._replace(written_bytes=written, size_bytes=size)
    if handle is None:
        return result
    uncommitted = SavedPart(result, part, base, handle, together)
    if not commit:
        return uncommitted
    uncommitted.end(timeout)
    return result
