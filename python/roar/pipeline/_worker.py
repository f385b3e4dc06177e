"""The worker process: calls the user's function, iterates, sends the items.

    parent                     worker
    START n         ───▶       iter(iterable)
                    ◀───       ITEM n, ITEM n, ... then END n or ERROR n
    STOP n          ───▶       leaves epoch n at the next item; END n all the same
    ABORT           ───▶       ends
    DETOUR, ARRIVED ───▶       for the outlet: see _arena_channel

Before the first epoch the worker says READY, or ERROR when there will be none.  Every
epoch that was started ends with exactly one END or ERROR, and messages of older epochs
are dropped by the parent: so breaking out of an epoch needs no answer, and whatever was
on its way is no concern of the next one.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from ._channel import Closed, Command, Kind, Outlet
from .._lifetime import Parent
from ._random_state import RandomState
from ._remote_error import pack_error

__all__ = ["WorkerInfo", "WorkerPlan", "work", "worker_info"]


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this process is."""

    index: int
    num_workers: int


_info: WorkerInfo | None = None


def worker_info() -> WorkerInfo | None:
    """Which worker this process is, for the function it runs; None elsewhere.

    >>> def my_share():
    ...     me = worker_info()
    ...     return all_files()[me.index::me.num_workers]
    """
    return _info


@dataclass(frozen=True)
class WorkerPlan:
    """All that a worker needs to know."""

    fn: Callable[[], Iterable[Any]]
    initializers: Sequence[Callable[[], Any]]
    info: WorkerInfo
    outlet: Outlet
    commands: Connection
    parent: Parent
    random_state: RandomState


class _Orders:
    """What the parent wants, heard by a thread of its own.

    So a worker that is busy, or waits for room, learns at once that it may stop, and
    looking costs the worker no more than reading an attribute.
    """

    def __init__(self, commands: Connection, parent: Parent, outlet: Outlet) -> None:
        self.stopped = 0  # epochs up to this one are not wanted any more
        self.aborted = False
        self._wanted = 0  # epochs up to this one were started
        self._changed = threading.Condition()
        self._commands = commands
        self._parent_fd = parent.tie()
        self._outlet = outlet
        threading.Thread(target=self._listen, name="roar-orders", daemon=True).start()

    def next_epoch(self, epoch: int) -> bool:
        """Waits until that epoch is to begin; False: never."""
        with self._changed:
            self._changed.wait_for(lambda: self.aborted or self._wanted >= epoch)
            return not self.aborted

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._commands.fileno(), select.POLLIN)
        if self._parent_fd is not None:
            poll.register(self._parent_fd, select.POLLIN)
        while not self.aborted:
            ready = [fd for fd, _ in poll.poll()]
            if self._parent_fd in ready:
                os._exit(1)
            try:
                self._obey(*self._commands.recv())
            except (EOFError, OSError):
                self._obey(Command.ABORT, 0)

    def _obey(self, command: Command, epoch: int) -> None:
        if command in (Command.DETOUR, Command.ARRIVED):
            self._outlet.answer(command)
            return
        with self._changed:
            if command == Command.START:
                self._wanted = epoch
            elif command == Command.STOP:
                self.stopped = max(self.stopped, epoch)
            else:
                self.aborted = True
                self.stopped = 1 << 62
            self._changed.notify_all()
        if self.aborted:
            self._outlet.abandon()


def work(plan: WorkerPlan) -> None:
    """The main function of a worker process."""
    global _info
    _info = plan.info
    # An interrupt from the terminal is the parent's affair, which ends us if it ends.
    signal.signal(signal.SIGINT, lambda *_: None)
    outlet = plan.outlet
    try:
        orders = _Orders(plan.commands, plan.parent, outlet)
        outlet.open(plan.commands)
        iterable = _prepare(plan)
        if iterable is None:
            return
        outlet.send(Kind.READY, 0, None)
        epoch = 1
        while orders.next_epoch(epoch):
            _iterate(iterable, epoch, orders, outlet)
            epoch += 1
    except Closed:
        pass


class _Repeated:
    """An iterator ends but once, so the function is called again for each epoch."""

    def __init__(self, fn: Callable[[], Iterable[Any]], first: Iterator[Any]) -> None:
        self._fn = fn
        self._first: Iterator[Any] | None = first

    def __iter__(self) -> Iterator[Any]:
        first, self._first = self._first, None
        return iter(self._fn()) if first is None else first


def _prepare(plan: WorkerPlan) -> Iterable[Any] | None:
    try:
        plan.random_state.restore(plan.info.index)
        for initializer in plan.initializers:
            initializer()
        iterable = plan.fn()
        if not hasattr(iterable, "__iter__"):
            raise TypeError(
                f"The function of a worker must return an iterable, not {iterable!r}."
            )
        if isinstance(iterable, Iterator):
            return _Repeated(plan.fn, iterable)
        return iterable
    except BaseException as error:
        plan.outlet.send(Kind.ERROR, 0, pack_error(error))
        return None


def _iterate(
    iterable: Iterable[Any], epoch: int, orders: _Orders, outlet: Outlet
) -> None:
    try:
        if orders.stopped < epoch:
            _send_all(iterable, epoch, orders, outlet)
    except Closed:
        raise
    except BaseException as error:
        outlet.send(Kind.ERROR, epoch, pack_error(error))
    else:
        outlet.send(Kind.END, epoch, None)


def _send_all(
    iterable: Iterable[Any], epoch: int, orders: _Orders, outlet: Outlet
) -> None:
    iterator = iter(iterable)
    try:
        for item in iterator:
            if orders.stopped >= epoch:
                break
            outlet.send(Kind.ITEM, epoch, item)
            del item
    finally:
        # What a generator holds is given back now, not when it is collected.
        if hasattr(iterator, "close"):
            iterator.close()
