"""Messages through an arena: items as they are, without Python's queue or a pipe.

Every message is one unit, and its tag says what it is:

    63      20 19       4 3    0
    | epoch    | worker  | kind |

Two things need care.

A worker may be `buffer_size` items ahead and no further, however large the arena is:
so that memory in use follows the depth.  It has that many credits, takes one for each
item, and gets it back, by an eventfd, when the item is delivered.

The end of an epoch needs a unit too, and the consumer may hold all of them as views.  Then
it goes by the command pipe, where the parent looks when nothing comes for a while; there
it also sees that a process has ended.  Both are believed when the arena is found empty
once more, because what was sent before them may still have been in there.

A loop holds its last item while it waits for the next one.  Where there is no room for
both, each side would wait for the other.  Then the item takes a detour: a second, small
arena, through which it is copied in pieces into the consumer's own memory.

    worker                              parent
    has waited _FULL_S for room
    FULL, by the command pipe  ───▶     waits too, and has all that was sent before
                               ◀───     DETOUR
    (number, item) through the detour ───▶
                               ◀───     ARRIVED: the worker may send again

A worker that has permission for the detour keeps it, and waits for room only _SOON_S,
until _TRUST items in a row found room: in a plain loop every other one does.  A worker
that merely has a slow consumer gets no permission, so that its items are not copied.
Items of both ways are put in order by their number.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections import deque
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd
from typing import Any

from .._arena import Arena, alike
from .._errors import ArenaClosed, ArenaEmpty, ArenaFull, ArenaTooLarge, PeerDied
from .._shared_memory import SharedMemorySegmentPool
from ._channel import Channel, Closed, Command, Dead, Kind, Late, Message, Outlet

__all__ = ["ArenaChannel"]

# How long the parent waits for the arena before it looks at the command pipes.
_LOOK_S = 0.05

# How long a worker waits for room before it says so, how long when the item before took
# the detour, and how long until it looks for the parent's answer.
_FULL_S = 0.5
_SOON_S = 0.005
_ANSWER_S = 0.1
_TRUST = 16  # items, for which the detour is considered after one took it

# Units of the detour, and what goes with each item there: it is larger than a unit, so
# every item goes in pieces into the consumer's own memory, and none keeps a unit.
_DETOUR_BYTES, _DETOUR_UNITS = 1 << 15, 32
_PADDING = bytes(2 * _DETOUR_BYTES)

_LOG = logging.getLogger("roar.pipeline")

# By number; looking one up is a tenth of asking the class.
_KINDS = {int(kind): kind for kind in Kind}

_FOREVER = 1 << 40  # credits that do not end


class ArenaOutlet(Outlet):
    """A worker's end of an arena."""

    def __init__(self, arena: Arena, detour: Arena, worker: int, credits: int,
                 eventfd: int) -> None:
        self._arena = arena
        self._detour = detour
        self._worker = worker
        self._credits = credits
        self._eventfd = eventfd
        self._control: Connection | None = None
        self._closed = False
        self._sent = 0  # items
        self._joined = False  # the detour
        self._permitted = 0  # to take it: for how many items
        self._arrived: threading.Event | None = None  # what took it last

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_eventfd": DupFd(self._eventfd)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._eventfd = state["_eventfd"].detach()

    def open(self, control: Connection) -> None:
        self._control = control
        self._arrived = threading.Event()
        self._arrived.set()
        try:
            self._arena.join("producer")
        except ArenaClosed:  # the parent ends already
            raise Closed from None

    def send(self, kind: Kind, epoch: int, payload: Any) -> None:
        tag = epoch << 20 | self._worker << 4 | kind
        assert self._arrived is not None
        if not self._arrived.is_set():
            self._arrived.wait()
        try:
            if kind == Kind.ITEM:
                self._need_credit()
                self._send_item(epoch, payload, tag)
                self._credits -= 1
            else:
                self._send_mark(kind, epoch, payload, tag)
        except ArenaClosed:
            raise Closed from None

    def _need_credit(self) -> None:
        while not self._credits:
            try:
                self._credits = os.eventfd_read(self._eventfd)  # type: ignore[attr-defined]
            except InterruptedError:
                pass  # a signal: Python makes most calls again, but not this one
        if self._closed:
            raise Closed

    def _send_item(self, epoch: int, payload: Any, tag: int) -> None:
        timeout = self._arena.timeout
        if timeout is not None and timeout <= _FULL_S:
            self._arena.send(payload, tag)
        elif self._finds_room(payload, tag, _SOON_S if self._permitted else _FULL_S):
            self._permitted = max(0, self._permitted - 1)
        else:
            self._send_somehow(epoch, payload, tag)
        self._sent += 1

    def _finds_room(self, payload: Any, tag: int, timeout: float) -> bool:
        try:
            self._arena.send(payload, tag, timeout)
        except ArenaFull:
            return False
        return True

    def _send_somehow(self, epoch: int, payload: Any, tag: int) -> None:
        """Through the arena or the detour, whichever is open first."""
        assert self._control is not None
        if not self._permitted:
            self._control.send((Kind.FULL, epoch, self._sent))
        end = time.monotonic() + (self._arena.timeout or float("inf"))
        while not self._permitted:
            if self._finds_room(payload, tag, _ANSWER_S):
                return
            if time.monotonic() > end:
                self._arena.send(payload, tag, 0)  # or ArenaFull, with its sentence
                return
        self._take_detour(payload, tag)

    def _take_detour(self, payload: Any, tag: int) -> None:
        assert self._arrived is not None
        if not self._joined:
            self._detour.join("producer")
            self._joined = True
        self._permitted = _TRUST
        self._arrived.clear()
        try:
            self._detour.send((self._sent, payload, _PADDING), tag)
        except BaseException:
            self._arrived.set()
            raise

    def answer(self, command: Command) -> None:
        if command == Command.DETOUR:
            self._permitted = _TRUST
        elif self._arrived is not None:
            self._arrived.set()

    def _send_mark(self, kind: Kind, epoch: int, payload: Any, tag: int) -> None:
        try:
            self._arena.send(payload, tag, 0)
        except (ArenaFull, ArenaTooLarge):  # too large: for sending without waiting
            assert self._control is not None
            self._control.send((kind, epoch, payload))

    def abandon(self) -> None:
        self._closed = True
        os.eventfd_write(self._eventfd, _FOREVER)  # type: ignore[attr-defined]
        if self._arrived is not None:
            self._arrived.set()


class _Worker:
    """What the parent knows of one worker."""

    def __init__(self, credits: int) -> None:
        self.eventfd = os.eventfd(0, os.EFD_CLOEXEC)  # type: ignore[attr-defined]
        self.pid = 0
        self.control: Connection | None = None
        self.sentinel = -1
        self.stash: deque[Message] = deque()  # received before its turn
        self.received = 0  # items
        self.full = -1  # how many were sent when there was no room for the next one
        self._owed = 0  # credits to be given back
        self._at_once = max(1, credits // 4)  # how many at a time

    def delivered(self) -> None:
        self._owed += 1
        if self._owed >= self._at_once:
            os.eventfd_write(self.eventfd, self._owed)  # type: ignore[attr-defined]
            self._owed = 0


class ArenaChannel(Channel):
    """The parent's end; the arena is the channel's from now on."""

    def __init__(
        self, arena: Arena, workers: int, buffer_size: int, *, ordered: bool
    ) -> None:
        self._arena = arena
        self._credits = _credits(arena, workers, buffer_size, ordered)
        self._poll = select.poll()
        self._epoch = 0
        self._marks: list[Message] = []  # came by a pipe
        self._early: list[tuple[int, Message]] = []  # before its turn, with its number
        self._lost = 0  # items that could not be unpickled: nobody knows of which worker
        self._hurried = 0  # for how many items the detour is looked at soon
        self._warned = False
        self._gone: int | None = None  # a worker that has ended
        arena.join("consumer")
        self._detour = alike(arena, _DETOUR_BYTES, _DETOUR_UNITS)
        self._detour.join("consumer")
        self._workers = [_Worker(self._credits) for _ in range(workers)]

    def outlet(self, worker: int) -> ArenaOutlet:
        eventfd = self._workers[worker].eventfd
        return ArenaOutlet(self._arena, self._detour, worker, self._credits, eventfd)

    def started(self, worker: int, process: BaseProcess, control: Connection) -> None:
        pid = process.pid
        assert pid is not None
        self._workers[worker].pid = pid
        self._workers[worker].control = control
        self._workers[worker].sentinel = process.sentinel
        self._poll.register(control.fileno(), select.POLLIN)
        self._poll.register(process.sentinel, select.POLLIN)

    def begin(self, epoch: int) -> None:
        self._epoch = epoch
        for worker in self._workers:
            items = [m for m in worker.stash if m.kind == Kind.ITEM]
            worker.stash.clear()
            for _ in items:
                worker.delivered()

    def receive(self, timeout: float | None, worker: int | None) -> Message:
        end = None if timeout is None else time.monotonic() + timeout
        wanted = self._workers if worker is None else (self._workers[worker],)
        while True:
            for w in wanted:
                if w.stash:
                    return w.stash.popleft()
            message = self._next(end)
            if message is None:
                continue
            if worker is None or message.worker == worker:
                return message
            self._workers[message.worker].stash.append(message)

    def _next(self, end: float | None) -> Message | None:
        """What the arena has next; None when that was of no use."""
        wait = 0.0 if self._marks or self._gone is not None else _LOOK_S
        if end is not None and time.monotonic() + wait > end:
            wait = end - time.monotonic()
            if wait <= 0:
                raise Late
        if self._early and (early := self._in_turn()):
            return self._came_by_detour(early)
        try:
            payload, tag, _, _ = self._arena.receive_item(0 if self._hurried else wait)
        except ArenaEmpty:
            return self._look_at_detour(min(wait, _SOON_S) if self._hurried else 0)
        except PeerDied as died:
            self._report(died.pid)
            return None
        except Exception:
            self._lost += 1
            raise
        message = _message(payload, tag)
        if self._hurried and message.kind == Kind.ITEM:
            self._hurried -= 1
        return self._received(message)

    def _received(self, message: Message) -> Message | None:
        """None for an item of an epoch that was left."""
        if message.kind != Kind.ITEM:
            return message
        worker = self._workers[message.worker]
        worker.received += 1
        if message.epoch < self._epoch:
            worker.delivered()
            return None
        return message

    def _look_at_detour(self, wait: float) -> Message | None:
        """The arena is empty."""
        try:
            (number, payload, _), tag, _, _ = self._detour.receive_item(wait)
        except ArenaEmpty:
            self._look_elsewhere()
            return None
        except PeerDied:  # the arena or the process will say so, in its turn
            return None
        except Exception:
            self._lost += 1
            for i in range(len(self._workers)):
                self._answer(i, Command.ARRIVED)
            raise
        message = _message(payload, tag)
        if self._has_all(message.worker, number):
            return self._came_by_detour(message)
        self._early.append((number, message))
        return None

    def _has_all(self, i: int, number: int) -> bool:
        """Has the worker sent so many items, and were all of them received?"""
        worker = self._workers[i]
        if not worker.received <= number <= worker.received + self._lost:
            return False
        worker.received = number
        return True

    def _in_turn(self) -> Message | None:
        """One that came by the detour too early, and has its turn now."""
        for n, (number, message) in enumerate(self._early):
            if self._has_all(message.worker, number):
                del self._early[n]
                return message
        return None

    def _came_by_detour(self, message: Message) -> Message | None:
        self._hurried = _TRUST
        self._answer(message.worker, Command.ARRIVED)
        return self._received(message)

    def _answer(self, worker: int, command: Command) -> None:
        control = self._workers[worker].control
        assert control is not None
        try:
            control.send((command, 0))
        except OSError:
            pass  # the worker is dead, which is seen elsewhere

    def _look_elsewhere(self) -> None:
        """The arenas are empty: what was seen elsewhere before has its turn."""
        for message in self._marks:
            self._workers[message.worker].stash.append(message)
        if self._marks:
            self._marks.clear()
        elif self._gone is not None:
            raise Dead(self._gone)
        else:
            self._look_at_pipes()

    def _look_at_pipes(self) -> None:
        ready = {fd for fd, _ in self._poll.poll(0)}
        for i, worker in enumerate(self._workers):
            if worker.sentinel in ready:
                self._gone = i
            control = worker.control
            if control is None or control.fileno() not in ready:
                continue
            try:
                message = Message(i, *control.recv())
            except (EOFError, OSError):
                self._poll.unregister(control.fileno())
                continue
            if message.kind != Kind.FULL:
                self._marks.append(message)
            else:
                worker.full = message.payload
        for i, worker in enumerate(self._workers):
            if self._has_all(i, worker.full):
                worker.full = -1
                self._hurried = _TRUST
                self._answer(i, Command.DETOUR)
                self._warn()

    def _warn(self) -> None:
        if self._warned:
            return
        self._warned = True
        stats = self._arena.stats()
        _LOG.warning(
            "The loop waits for an item whose worker waits for room: %d of %d bytes "
            "of the arena are held here.  Such items are now copied in pieces, which is "
            "slower.  A loop keeps its last item while it waits: make the arena large "
            "enough for two of the largest items (a pool: two segments or more), or "
            "delete the item at the end of the loop's body.",
            stats["used_bytes"],
            stats["size_bytes"],
        )

    def _report(self, pid: int) -> None:
        for i, worker in enumerate(self._workers):
            if worker.pid == pid:
                raise Dead(i)

    def delivered(self, worker: int) -> None:
        self._workers[worker].delivered()

    def shutdown(self) -> None:
        self._arena.shutdown()
        self._detour.shutdown()

    def close(self) -> None:
        self._arena.close()
        self._detour.close()
        for worker in self._workers:
            os.close(worker.eventfd)


def _message(payload: Any, tag: int) -> Message:
    return Message(tag >> 4 & 0xFFFF, _KINDS[tag & 0xF], tag >> 20, payload)


def _credits(arena: Arena, workers: int, buffer_size: int, ordered: bool) -> int:
    """How many items each worker may be ahead.

    Items that are taken in turn wait for each other.  In a pool they must leave room for
    the one whose turn it is, and for the one that the consumer works with.
    """
    if not ordered or not isinstance(arena, SharedMemorySegmentPool):
        return buffer_size
    most = (arena.count - 2) // (workers - 1)
    if most < 1:
        raise ValueError(
            f"A pool of {arena.count} segments is too small for {workers} workers whose "
            f"items are taken in turn; it needs {workers + 1}, or ordered=False."
        )
    return min(buffer_size, most)
