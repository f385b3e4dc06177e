"""The checkpoints of one training: the newest are kept, and saved in the background."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._checks import whole
from ._background import PendingSave
from ._core import core
from ._errors import CheckpointMissing
from ._load import Checkpoint, open_checkpoint
from ._save import save

if TYPE_CHECKING:
    from ..coordinator import TrainingOrchestrator

AnyPath = str | os.PathLike[str]
MOST = 1 << 40


class CheckpointInfo(NamedTuple):
    """A checkpoint of a directory.

    checkpoint_id   its name, such as "step-000000000100"
    path            its directory or prefix
    size_bytes      of the files that this save wrote
    created_at      RFC 3339, UTC
    """

    checkpoint_id: str
    step: int
    epoch: int
    path: str
    size_bytes: int
    created_at: str
    metrics: dict[str, float]
    tags: tuple[str, ...]


class CheckpointManager:
    """Saves, lists, loads and removes the checkpoints of a directory or prefix.

        manager = CheckpointManager("checkpoints", keep_count=5)
        manager.save(state, step=100, epoch=1)      # continues in the background
        manager.wait_pending()
        state = manager.load(manager.latest())

    A failure in the background is raised by the next call of any method.  One save is
    under way at a time: the next one waits for it.
    """

    def __init__(self, base_path: AnyPath, keep_count: int = 5, compression: bool = True,
                 *, keep_every: int = 0, best: str | None = None,
                 best_is: str = "lowest", asynchronous: bool = True, delta: bool = False,
                 rank: int | None = None, world_size: int | None = None,
                 coordinator: TrainingOrchestrator | None = None,
                 threads: int = 0) -> None:
        """keep_count    how many checkpoints are kept, the newest ones; 0: all
        compression   accepted for old programs; weights do not become smaller by it
        keep_every    also keep steps that are multiples of this number
        best          also keep the checkpoint with the best value of this metric
        best_is       "lowest" or "highest"
        delta         write only what differs from the latest checkpoint
        rank, world_size  of a sharded save; save() then needs save_id
        coordinator   instead: all workers of its job save together

        Checkpoints with a tag are always kept.
        """
        del compression
        if best_is not in ("lowest", "highest"):
            raise ValueError(f"best_is is 'lowest' or 'highest', not {best_is!r}")
        self.base_path = os.fspath(base_path)
        self._keep_count = whole("keep_count", keep_count, 0, MOST)
        self._keep_every = whole("keep_every", keep_every, 0, MOST)
        self._best, self._best_is = best, best_is
        self._asynchronous, self._delta = asynchronous, delta
        self._rank, self._world_size, self._threads = rank, world_size, threads
        self._coordinator = coordinator
        self._lock = threading.Lock()
        self._pending: PendingSave | None = None

    # ---- saving ----

    def save(self, data: Any, step: int, epoch: int = 0,
             metadata: Mapping[str, Any] | None = None, **more: Any) -> str:
        """Saves a state (or bytes) and returns its checkpoint_id.

        The state is copied before this returns; it is durable after wait_pending().
        `metadata` is a dict of plain values; open().metadata has it.  `more` are arguments of
        roar.checkpoint.save(): metrics, tags, data_position, rng, save_id.
        """
        with self._lock:
            self._finish()
            if self._delta and "parent" not in more:
                latest = self._latest()
                more["parent"] = latest.step if latest else None
            more.setdefault("asynchronous", self._asynchronous)
            saved = save(data, self.base_path, step, epoch=epoch, metadata=metadata,
                         rank=self._rank, world_size=self._world_size,
                         coordinator=self._coordinator, threads=self._threads, **more)
            if isinstance(saved, PendingSave):
                self._pending = saved
            else:
                self._clean()
        return f"step-{step:012}"

    def wait_pending(self) -> None:
        """Waits until what was saved is durable.  Raises the error of a save that failed."""
        with self._lock:
            self._finish()

    def _finish(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.wait()
            self._clean()

    def _raise_failure(self) -> None:
        """Raises the error of a save that has failed already, without waiting."""
        with self._lock:
            if self._pending is not None and self._pending.done():
                self._finish()

    def _clean(self) -> None:
        """Removes what is not kept, and leftovers of saves that were interrupted."""
        if not (self._keep_count or self._keep_every or self._best):
            return
        rank = self._rank
        if rank is None and self._coordinator is not None:
            rank = self._coordinator.rank
        if not rank:
            core.gc(self.base_path, self._keep_count, self._keep_every, self._best,
                    self._best_is == "highest")

    # ---- what there is ----

    def all_checkpoints(self) -> list[CheckpointInfo]:
        """The committed checkpoints, by step."""
        self._raise_failure()
        return self._list()

    def _list(self) -> list[CheckpointInfo]:
        found = []
        for step, epoch, size, created, metrics, tags, problem in core.list(self.base_path):
            name = f"step-{step:012}"
            path = f"{self.base_path.rstrip('/')}/{name}"
            if problem is not None:
                warnings.warn(f"{path} is left out: {problem}", stacklevel=3)
                continue
            found.append(CheckpointInfo(name, step, epoch, path, size, created,
                                        dict(metrics), tuple(tags)))
        return found

    def _latest(self) -> CheckpointInfo | None:
        found = self._list()
        return found[-1] if found else None

    def latest(self) -> CheckpointInfo | None:
        """The newest checkpoint, also of an earlier process; None: there is none."""
        self._raise_failure()
        return self._latest()

    def get_by_step(self, step: int) -> CheckpointInfo | None:
        """The checkpoint of this step, or None."""
        return next((c for c in self.all_checkpoints() if c.step == step), None)

    # ---- loading ----

    def open(self, which: CheckpointInfo | str | int | None = None) -> Checkpoint:
        """Opens a checkpoint: by its info, id or step; None: the latest."""
        self._raise_failure()
        return open_checkpoint(self.base_path, self._step(which), threads=self._threads)

    def load(self, which: CheckpointInfo | str | int | None = None, *,
             into: Any = None, framework: str | None = None, device: Any = None) -> Any:
        """What was saved, state or bytes; see roar.checkpoint.load()."""
        with self.open(which) as checkpoint:
            return checkpoint.state(framework, device) if into is None else \
                checkpoint.into(into)

    def _step(self, which: CheckpointInfo | str | int | None) -> int | None:
        if which is None or isinstance(which, int):
            return which
        if isinstance(which, CheckpointInfo):
            return which.step
        digits = which.removeprefix("step-")
        if not digits.isascii() or not digits.isdigit():
            raise CheckpointMissing(f"'{which}' is not the id of a checkpoint of "
                                    f"'{self.base_path}', such as step-000000000100")
        return int(digits)


__all__: Sequence[str] = ("CheckpointInfo", "CheckpointManager")
