"""Message channels from workers to their parent: the interface, and Python's own queue.

The parent has the channel, and each worker has an outlet of it, which goes there with
the arguments of its process.  The messages of one worker stay in order, and a worker
that is `buffer_size` items ahead of the consumer waits (back-pressure).
"""

from __future__ import annotations

import select
from abc import ABC, abstractmethod
from collections import deque
from enum import IntEnum
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from ._remote_error import pack_error

__all__ = [
    "Channel",
    "Closed",
    "Command",
    "Dead",
    "Kind",
    "Late",
    "Message",
    "Outlet",
    "QueueChannel",
]


class Kind(IntEnum):
    """The kind of a message."""

    READY = 1  # the worker can begin
    ITEM = 2
    END = 3  # of an epoch
    ERROR = 4  # the same, with an exception
    FULL = 5  # the worker waits for room; how many items it has sent


class Command(IntEnum):
    """A command from the parent to a worker."""

    START = 1  # an epoch
    STOP = 2  # leave it
    ABORT = 3
    DETOUR = 4  # an item without room may go another way
    ARRIVED = 5  # the item that went another way was received


class Message(NamedTuple):
    """One message, as the parent receives it."""

    worker: int
    kind: Kind
    epoch: int
    payload: Any


class Closed(Exception):
    """In a worker: the channel was shut down."""


class Late(Exception):
    """In the parent: no message came in time."""


class Dead(Exception):
    """In the parent: a worker died, and all it had sent is received."""

    def __init__(self, worker: int) -> None:
        super().__init__(worker)
        self.worker = worker


class Outlet(ABC):
    """A worker's end.  Made in the parent, pickled only while a process is started."""

    @abstractmethod
    def open(self, control: Connection) -> None:
        """The worker begins; `control` is its end of the command pipe."""

    @abstractmethod
    def send(self, kind: Kind, epoch: int, payload: Any) -> None:
        """Sends a message, when there is room for it.  Closed, or what pickling
        the payload raised: then nothing was sent."""

    @abstractmethod
    def abandon(self) -> None:
        """Ends a send() that waits; called from another thread."""

    def answer(self, command: Command) -> None:
        """What the parent's end of the channel answers; called from another thread."""


class Channel(ABC):
    """The parent's end."""

    @abstractmethod
    def outlet(self, worker: int) -> Outlet:
        """The end for that worker, which is started next; workers come in order."""

    @abstractmethod
    def started(self, worker: int, process: BaseProcess, control: Connection) -> None:
        """That worker runs now; `control` is the parent's end of its command pipe."""

    @abstractmethod
    def begin(self, epoch: int) -> None:
        """Items of older epochs are not wanted from now on."""

    @abstractmethod
    def receive(self, timeout: float | None, worker: int | None) -> Message:
        """The next message, of `worker` or of any.  Late, Dead, or what
        unpickling the payload raised: then that message is gone."""

    @abstractmethod
    def delivered(self, worker: int) -> None:
        """An item of that worker has left for the consumer, or was dropped."""

    @abstractmethod
    def shutdown(self) -> None:
        """No more messages are wanted: workers that wait are woken."""

    @abstractmethod
    def close(self) -> None:
        """Gives everything back, after the workers have ended."""


class _Ends:
    """The parent's ends of what it shares with one worker."""

    def __init__(self, queue: Any, process: BaseProcess, control: Connection) -> None:
        self.queue = queue
        self.process = process
        self.control = control
        self.data = queue._reader.fileno()
        self.errors = control.fileno()
        self.fds = (self.data, self.errors, process.sentinel)

    def take(self, ready: frozenset[int], worker: int) -> Message:
        """The message that made one of our descriptors ready."""
        if self.errors in ready:
            try:
                return Message(worker, Kind.ERROR, *self.control.recv())
            except (EOFError, OSError):
                pass  # the worker is gone; what it sent before is in the queue
        if self.data not in ready:
            raise Dead(worker)
        try:
            return Message(worker, *self.queue.get())
        except (EOFError, OSError):
            self.process.join(0.5)
            if self.process.is_alive():
                raise  # the payload's own way to say that it cannot be unpickled
            raise Dead(worker) from None


class QueueOutlet(Outlet):
    """The worker's end of a multiprocessing.Queue."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self._closed = False

    def open(self, control: Connection) -> None:
        def could_not_be_pickled(error: BaseException, message: Any) -> None:
            # In the queue's own thread: send() has long returned.
            control.send((message[1], pack_error(error)))

        self._queue._on_queue_feeder_error = could_not_be_pickled

    def send(self, kind: Kind, epoch: int, payload: Any) -> None:
        if not self._closed:
            self._queue.put((kind, epoch, payload))
        if self._closed:
            raise Closed

    def abandon(self) -> None:
        self._closed = True
        self._queue.cancel_join_thread()
        try:
            self._queue._sem.release()
        except ValueError:
            pass  # there was room, so nobody waits


class QueueChannel(Channel):
    """multiprocessing.Queue, one for each worker: no arena.

    Each worker has its own, because a process that is killed while it writes keeps the
    queue's lock for ever.
    """

    def __init__(self, context: BaseContext, buffer_size: int) -> None:
        self._context = context
        self._buffer_size = buffer_size
        self._queues: list[Any] = []
        self._ends: list[_Ends] = []
        self._polls: dict[tuple[int, ...], select.poll] = {}
        self._ready: deque[tuple[int, frozenset[int]]] = deque()

    def outlet(self, worker: int) -> QueueOutlet:
        # Made when the worker is: one that was there before would be inherited by
        # the workers that are forked first, writing end and all.
        self._queues.append(self._context.Queue(self._buffer_size))
        return QueueOutlet(self._queues[worker])

    def started(self, worker: int, process: BaseProcess, control: Connection) -> None:
        # A worker that dies in the middle of a message must be the end of the pipe,
        # so nobody else keeps its writing end open.
        self._queues[worker]._writer.close()
        self._ends.append(_Ends(self._queues[worker], process, control))

    def begin(self, epoch: int) -> None:
        pass  # they hold nobody back, and the session drops them

    def receive(self, timeout: float | None, worker: int | None) -> Message:
        if worker is not None:
            ((which, ready),) = self._look(timeout, (worker,))
        else:
            if not self._ready:
                self._ready.extend(self._look(timeout, tuple(range(len(self._ends)))))
            which, ready = self._ready.popleft()
        return self._ends[which].take(ready, which)

    def _look(
        self, timeout: float | None, workers: tuple[int, ...]
    ) -> list[tuple[int, frozenset[int]]]:
        """Those of `workers` that have something, and what is ready there."""
        poll = self._polls.get(workers)
        if poll is None:
            poll = self._polls[workers] = select.poll()
            for i in workers:
                for fd in self._ends[i].fds:
                    poll.register(fd, select.POLLIN)
        found = poll.poll(None if timeout is None else timeout * 1000)
        if not found:
            raise Late
        fds = frozenset(fd for fd, _ in found)
        ready = ((i, fds.intersection(self._ends[i].fds)) for i in workers)
        return [(i, mine) for i, mine in ready if mine]

    def delivered(self, worker: int) -> None:
        pass  # the queue counts by itself

    def shutdown(self) -> None:
        pass  # workers need no room to end

    def close(self) -> None:
        for queue in self._queues:
            queue.close()
            queue._reader.close()
            queue._writer.close()
