"""Saves that a coordinator commits: the checkpoint of all ranks of one world, or none.

All ranks first agree on the save's id.  Each writes its part, and the coordinator waits for
the parts of all.  Then its rank 0 writes the manifest.  A rank that cannot write says why,
and a rank that dies is noticed, so the others do not wait for either.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import _coord_errors as errors
from ._errors import CheckpointError, CheckpointExists

if TYPE_CHECKING:
    from .._coord_results import CheckpointParts
    from ..coordinator import TrainingOrchestrator

TELL_S = 30.0   # to report a failure


def _divided_by_torch() -> tuple[int, int] | None:
    """Rank and number of ranks of torch.distributed, which has divided the tensors."""
    torch = sys.modules.get("torch.distributed")
    if torch is None or not torch.is_available() or not torch.is_initialized():
        return None
    return torch.get_rank(), torch.get_world_size()


class Together:
    """One save of all ranks, as one of them sees it."""

    def __init__(self, coordinator: TrainingOrchestrator, path: str, step: int,
                 epoch: int, timeout: float) -> None:
        try:
            self.save_id, self.rank, self.world_size, self.world_epoch = \
                coordinator.begin_checkpoint(step, timeout=timeout)
        except errors.CoordinatorError as error:
            raise CheckpointError(f"'{path}' was not saved, because the ranks did not "
                                  f"begin together: {error}") from error
        self._coordinator, self._path = coordinator, path
        self._step, self._epoch = step, epoch
        self._was_refused = self._is_published = False

    def place(self, rank: int | None, world_size: int | None) -> tuple[int, int]:
        """Which part of how many this rank writes: as the caller says, as
        torch.distributed has divided, or by the ranks of the coordinator."""
        if rank is None and world_size is None:
            rank, world_size = _divided_by_torch() or (self.rank, self.world_size)
        if rank is None or world_size != self.world_size:
            raise ValueError(f"the job of the coordinator has {self.world_size} workers, "
                             f"and this one saves as rank {rank} of {world_size}: every "
                             "rank must be a worker of the job")
        return rank, world_size

    @contextlib.contextmanager
    def telling(self) -> Iterator[None]:
        """Reports a failure of the block to the other ranks, which would wait."""
        try:
            yield
        except BaseException as error:
            self._tell(error)
            raise

    def _tell(self, error: BaseException) -> None:
        try:
            self._coordinator.fail_checkpoint(
                self._step, self.save_id, f"{type(error).__name__}: {error}",
                epoch=self._epoch, path=self._path, timeout=TELL_S)
        except errors.CheckpointFailed:
            pass        # they know of another one
        except errors.CoordinatorError as second:
            warnings.warn(f"the other ranks wait in vain: {second}", RuntimeWarning,
                          stacklevel=4)

    def commit(self, handle: Any, size_bytes: int, timeout: float) -> None:
        """Commits the part `handle` with those of all ranks.  Its files are removed when
        there is certainly no manifest, and stay otherwise."""
        try:
            self._coordinator.commit_checkpoint(
                self._step, self.save_id, handle.digest(),
                lambda parts: self._publish(handle, parts), epoch=self._epoch,
                path=self._path, size_bytes=size_bytes, world_epoch=self.world_epoch,
                timeout=timeout)
        except errors.CheckpointFailed as error:
            self._remove(handle)
            kind = CheckpointExists if isinstance(error, errors.CheckpointExists) else \
                CheckpointError
            raise kind(f"'{self._path}' was not saved: {error}; earlier checkpoints are "
                       "intact") from error
        except BaseException as error:
            if self._was_refused:
                self._remove(handle)
            if self._was_refused or not isinstance(error, errors.CoordinatorError):
                raise
            raise CheckpointError(
                f"it is not known whether '{self._path}' was saved: {error}; its files "
                "stay, and `roar checkpoint gc` removes them if it was not") from error

    def _publish(self, handle: Any, agreed: CheckpointParts) -> bytes:
        digests = b"".join(sorted(part.digest for part in agreed.parts))
        try:
            written: bytes = handle.commit(agreed.world_epoch, agreed.fencing_token,
                                           digests)
        except BaseException:
            self._was_refused = True
            raise
        self._is_published = True
        return written

    def _remove(self, handle: Any) -> None:
        if not self._is_published:
            handle.abort()


def telling(together: Together | None) -> contextlib.AbstractContextManager[None]:
    """Together.telling(), or nothing without a coordinator."""
    return contextlib.nullcontext() if together is None else together.telling()
