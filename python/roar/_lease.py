"""Leases of positions of an epoch, returned by TrainingOrchestrator.pull().

A lease has a deadline.  While its object exists and has unconsumed positions, a thread
of the worker renews it, so a loop body can take any time.  The lease expires if the
process dies or hangs, or drops the object.
"""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Iterator, Mapping

from ._coord_errors import CoordinatorClosed, CoordinatorError, CoordinatorStale
from ._coord_results import SHARDS

if TYPE_CHECKING:
    from .coordinator import TrainingOrchestrator

_RENEWALS = 3   # in a timeout


class LeaseLost(CoordinatorStale):
    """The lease is over and the report was not counted: its positions go to another
    worker.  With exactly_once, discard the results."""


class Lease:
    """Positions of an epoch that are leased to this worker.

    positions  positions that do not count as consumed yet
    lost       true if the lease expired; detected within a third of the timeout, and
               by every call at once
    lease_id   0: no lease is available now; then `done` is true if all positions of
               the epoch are consumed, and `retry` is the seconds until a retry
    timeout    seconds of silence after which the lease expires

    `for position in lease` iterates over the positions; those before the current one
    are finished.  `with` counts all positions as consumed at its end; after an
    exception it counts the finished ones and returns the others.
    """

    def __init__(self, owner: "TrainingOrchestrator", dataset_id: str, epoch: int,
                 exactly_once: bool, told: Mapping[str, Any]) -> None:
        part = told["range"] or {"first": 0, "end": 0}
        self.dataset_id = dataset_id
        self.epoch = epoch
        self.exactly_once = exactly_once
        self.lease_id: int = told["lease_id"]
        self.positions = range(part["first"], part["end"])
        self.timeout: float = told["timeout_ms"] / 1000
        self.done: bool = told["done"]
        self.retry: float = told["retry_ms"] / 1000
        self.lost = False
        self._owner = owner
        self._finished = part["first"]  # those below are, as far as the loop says
        self._lock = threading.Lock()   # one word at a time, in the order of their making

    def __repr__(self) -> str:
        return (f"<Lease {self.lease_id} of {self.dataset_id!r}, epoch {self.epoch}: "
                f"{self.positions}{', lost' if self.lost else ''}>")

    def __iter__(self) -> Iterator[int]:
        for position in self.positions:
            yield position
            self._finished = max(self._finished, position + 1)

    def __enter__(self) -> "Lease":
        return self

    def __exit__(self, kind: Any, *unused: Any) -> None:
        if kind is None:
            self._complete()
        else:
            self._break_off()

    def consumed(self, to: int | None = None) -> int:
        """Reports the positions below `to` as consumed; None: all.  Returns how many
        of them were not consumed before.

        Raises LeaseLost if the lease is over.  With exactly_once, call this before
        you apply the results: after it returns, no other worker gets these
        positions."""
        return self._use(self.positions.stop if to is None else to, False)

    def renew(self) -> None:
        """Renews the lease, which also happens automatically.  Raises LeaseLost if
        the lease is over."""
        self._use(0, False)

    def give_back(self) -> None:
        """Counts the positions that a loop has finished, and returns the rest to the
        coordinator."""
        self._use(self._finished, True)

    def _use(self, to: int, give_back: bool) -> int:
        with self._lock:
            if self.lost:
                raise LeaseLost(f"lease {self.lease_id} of dataset {self.dataset_id!r} is "
                                "over: discard its results and take a new one")
            if not self.positions:
                return 0    # it has ended
            return self._say(to, give_back)

    def _say(self, to: int, give_back: bool, **more: Any) -> int:
        # pylint: disable=protected-access
        try:
            reply = self._owner.call(SHARDS + "UseLease", {
                **self._owner._me(self.dataset_id), "epoch": self.epoch,
                "lease_id": self.lease_id, "consumed_to": to,
                "give_back": give_back}, **more)
        except CoordinatorStale as error:
            self._end(self.positions.start, True)
            raise LeaseLost(str(error)) from None
        left = reply["left"]
        if left:
            self.positions = range(left["first"], left["end"])
        elif give_back:
            self._end(self.positions.stop, False)
        else:
            # When this was said again, because the answer was lost, the lease may
            # have lapsed in between: what was said counts, and the rest is lost.
            self._end(to, to < self.positions.stop)
        return reply["n_new"]

    def _end(self, to: int, lost: bool) -> None:
        self.lost = lost
        self.positions = range(to, self.positions.stop)
        self._owner._renewer.forget(self)   # pylint: disable=protected-access

    def _complete(self) -> None:
        try:
            self.consumed()
        except LeaseLost:
            # Otherwise another worker has it, and has consumed or will consume it.
            if self.exactly_once:
                raise

    def _break_off(self) -> None:
        """Reports the end; a failure must not hide the exception of the loop."""
        try:
            self.give_back()
        except CoordinatorError as error:
            if self.exactly_once and self._finished > self.positions.start:
                warnings.warn(
                    f"positions {self.positions.start} to {self._finished - 1} of "
                    f"dataset {self.dataset_id!r} were finished, but do not count: "
                    f"{error}", RuntimeWarning, stacklevel=3)

    def _renew_in_time(self) -> None:
        with self._lock:
            if self.positions and not self.lost:
                self._say(0, False, timeout=self.timeout)


class Renewer:
    """Renews leases several times per timeout.

    Its thread runs while there are leases.  It holds weak references only: a dropped
    lease is not renewed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: weakref.WeakKeyDictionary[Lease, float] = \
            weakref.WeakKeyDictionary()
        self._thread: threading.Thread | None = None

    def add(self, lease: Lease) -> None:
        """Renews this lease from now on."""
        with self._changed:
            self._due[lease] = time.monotonic() + lease.timeout / _RENEWALS
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="roar-leases", daemon=True)
                self._thread.start()
            self._changed.notify()

    def forget(self, lease: Lease) -> None:
        """Stops the renewal of this lease."""
        with self._changed:
            self._due.pop(lease, None)
            self._changed.notify()

    def _run(self) -> None:
        # No lease may be in a variable here: it would be kept while this waits.
        while self._wait():
            self._renew_due()

    def _wait(self) -> bool:
        """Waits until the next renewal is due.  False: no leases are left."""
        with self._changed:
            while self._due:
                left = min(self._due.values()) - time.monotonic()
                if left <= 0:
                    return True
                self._changed.wait(left)
            self._thread = None
            return False

    def _renew_due(self) -> None:
        now = time.monotonic()
        with self._changed:
            found = [lease for lease, due in self._due.items() if due <= now]
            for lease in found:
                self._due[lease] = now + lease.timeout / _RENEWALS
        for lease in found:
            self._renew(lease)

    def _renew(self, lease: Lease) -> None:
        try:
            lease._renew_in_time()      # pylint: disable=protected-access
        except LeaseLost:
            pass    # the next call on the lease reports it
        except CoordinatorClosed:
            self.forget(lease)
        except CoordinatorError:
            pass    # away for a while: next time
