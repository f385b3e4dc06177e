"""What can go wrong with a coordinator: every exception is a CoordinatorError."""

from __future__ import annotations

import errno


class CoordinatorError(RuntimeError):
    """Something about a coordinator failed; the text names cause and remedy."""


class CoordinatorUnreachable(CoordinatorError, ConnectionError):
    """Nobody answered in time, or a connection ended and nobody knows whether
    what was asked for was done."""


class CoordinatorDenied(CoordinatorError, PermissionError):
    """The token is not good for this."""


class CoordinatorInvalid(CoordinatorError, ValueError):
    """An argument is wrong."""


class CoordinatorNotFound(CoordinatorError, LookupError):
    """There is no such worker, job, dataset or key."""


class CoordinatorBusy(CoordinatorError):
    """Refused for now: it is full or stopping, or another thread waits in
    this meeting."""


class CoordinatorClosed(CoordinatorError):
    """This client was closed, or belongs to the process this one was forked
    from."""


class WorkerExists(CoordinatorError):
    """The id belongs to a worker that is alive, or a name to something else."""


class CoordinatorStale(CoordinatorError):
    """A use of a barrier that is over; or another process has taken this
    worker's place."""


class CoordinatorTimeout(CoordinatorError, TimeoutError):
    """It did not happen in time."""


class WorldChanged(CoordinatorError):
    """Workers came or went while a loop over roar.shards() was under way.

    position  where all ranks are, the same on each: go on with the next loop, in
              which those who came take part.  None when somebody is gone whose
              samples nobody can vouch for: load the state of the last
              checkpoint on all ranks, then go on
    came      ids of some who came
    gone      ids of some who are gone
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
    """Carries the ids of those who were waited for."""

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
    """Not all came in time.

    absent  the ids of those who did not
    """


class BarrierBroken(_NamesTheAbsent, WorldChanged):
    """Somebody who was waited for died.

    A death is a change of the world: in a loop over roar.shards() the way on is
    the same as for a WorldChanged without a position.

    absent  the ids of those who are dead; gone has the same
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
    errno.ENOTCONN: CoordinatorUnreachable,
    errno.ECANCELED: CoordinatorClosed,
    errno.ECHILD: CoordinatorClosed,
}

_OF_MEETINGS: dict[int, type[_NamesTheAbsent]] = {
    errno.ETIMEDOUT: BarrierTimeout,
    errno.ECONNABORTED: BarrierBroken,
}


def make(code: int, text: str, absent: str, meeting: int) -> Exception:
    """Made for the C half, which knows the numbers."""
    if meeting and code in _OF_MEETINGS:
        return _OF_MEETINGS[code](text, absent.split(",") if absent else [])
    return _BY_ERRNO.get(code, CoordinatorError)(text)
