"""Exceptions of coordinators; all are subclasses of CoordinatorError."""

from __future__ import annotations

import errno


class CoordinatorError(RuntimeError):
    """A call to a coordinator failed; the text names cause and remedy."""


class CoordinatorUnreachable(CoordinatorError, ConnectionError):
    """No coordinator replied in time, or the connection ended and the call may or
    may not have been executed."""


class CoordinatorDenied(CoordinatorError, PermissionError):
    """The token does not allow this."""


class CoordinatorInvalid(CoordinatorError, ValueError):
    """An argument is wrong."""


class CoordinatorNotFound(CoordinatorError, LookupError):
    """The worker, job, dataset or key does not exist."""


class CoordinatorBusy(CoordinatorError):
    """Refused for now: the coordinator is full or stopping, or another thread of
    this worker waits in the meeting."""


class CoordinatorClosed(CoordinatorError):
    """The client was closed, or belongs to the parent of this forked process."""


class WorkerExists(CoordinatorError):
    """The id belongs to a living worker, or the name is in use."""


class CoordinatorStale(CoordinatorError):
    """This generation of the barrier is over, or another process has replaced
    this worker."""


class CoordinatorAborted(CoordinatorError):
    """What several workers do together was given up, because one of them failed,
    died, joined or left."""


class CheckpointFailed(CoordinatorError):
    """The save failed on all ranks, and there is no manifest of it: each rank may
    remove what it has written.  After any other exception of commit_checkpoint()
    it may not, because the checkpoint may exist."""


class CheckpointExists(CheckpointFailed):
    """Another save of this step is committed."""


class CoordinatorTimeout(CoordinatorError, TimeoutError):
    """The timeout is over."""


class WorldChanged(CoordinatorError):
    """Workers joined or left during a loop over roar.shards().

    position  the position of all ranks, the same on each: continue with the next
              loop, which includes the new workers.  None if a rank is gone and
              its samples may be lost: load the state of the last checkpoint on
              all ranks, then continue
    came      ids of some workers that joined
    gone      ids of some workers that are gone
    """

    def __init__(self, text: str = "",
                 position: "dict[str, object] | None" = None,
                 came: list[str] | None = None,
                 gone: list[str] | None = None) -> None:
        super().__init__(text)
        self.position = position
        self.came = list(came or [])
        self.gone = list(gone or [])

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (str(self), self.position, self.came, self.gone)


class _NamesTheAbsent(Exception):
    """Carries the ids of absent workers."""

    absent: list[str]

    def __init__(self, text: str = "", absent: list[str] | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.absent = list(absent or [])

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.text, self.absent)


class BarrierTimeout(_NamesTheAbsent, CoordinatorTimeout):
    """Not all workers arrived within the timeout.

    absent  the ids of the workers that did not
    """


class BarrierBroken(_NamesTheAbsent, WorldChanged):
    """A worker that the barrier waits for died.

    A death is a change of the world: in a loop over roar.shards(), continue as for
    a WorldChanged without a position.

    absent  the ids of the dead workers; `gone` is the same
    """

    def __init__(self, text: str = "", absent: list[str] | None = None) -> None:
        super().__init__(text, absent)
        self.gone = list(self.absent)


_BY_ERRNO: dict[int, type[CoordinatorError]] = {
    errno.EINVAL: CoordinatorInvalid,
    errno.ERANGE: CoordinatorInvalid,
    errno.ENOENT: CoordinatorNotFound,
    errno.EEXIST: WorkerExists,
    errno.EACCES: CoordinatorDenied,
    errno.ETIMEDOUT: CoordinatorTimeout,
    errno.ESTALE: CoordinatorStale,
    errno.EAGAIN: CoordinatorBusy,
    errno.EBUSY: CoordinatorBusy,
    errno.ECONNABORTED: CoordinatorAborted,
    errno.ENOTCONN: CoordinatorUnreachable,
    errno.ECANCELED: CoordinatorClosed,
    errno.ECHILD: CoordinatorClosed,
}

_OF_MEETINGS: dict[int, type[_NamesTheAbsent]] = {
    errno.ETIMEDOUT: BarrierTimeout,
    errno.ECONNABORTED: BarrierBroken,
}


def make(code: int, text: str, absent: str, meeting: int) -> Exception:
    """Called by the C extension to make the exception."""
    if meeting and code in _OF_MEETINGS:
        return _OF_MEETINGS[code](text, absent.split(",") if absent else [])
    return _BY_ERRNO.get(code, CoordinatorError)(text)
