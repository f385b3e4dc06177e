"""Transfer of batches from the workers of a DataLoader to their parent.

    worker                                          parent
    arena.send(batch)       ── shared memory ──▶    arena.receive()
    queue.put((i, ticket))  ── torch's queue ──▶    queue.get()

The queue is torch's, so torch still handles timeouts, signals and shutdown.  Instead of
the batch it carries a ticket, which stands for the next batch in the worker's arena.

Each worker creates its arena with its first batch, when the size is known.  It sends the
descriptor to the parent over a socket, before the first ticket.  If the arena is full,
because batches have grown or the consumer keeps many, the worker creates a new arena; the
old one is freed with the last batch in it.  If the machine is out of memory, batches go
through torch's own queue.

The first use of new memory is slow, so the loader keeps the arenas of workers that have
ended for the workers of the next epoch.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from collections.abc import Iterable, Sequence
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from typing import Any, NamedTuple

import torch
from torch._utils import ExceptionWrapper

from ._arena import Arena
from ._errors import (
    ArenaEmpty,
    ArenaError,
    ArenaFull,
    ArenaNoMemory,
    ArenaTooLarge,
    PeerDied,
)
from .pipeline._errors import worker_died

__all__ = ["BatchQueue", "Spares", "empty"]

_KEY = struct.Struct("=qq")  # worker, number of its arena

# Slack around a batch: envelope, alignment, batches that are a little larger.
_LEAST = 64 << 10

# An arena that filled up doubles, up to here; larger ones are as large as needed.
_DOUBLES_TO = 256 << 20

class Ticket(NamedTuple):
    """Stands for the next batch in that arena."""

    worker: int
    number: int  # counts the worker's arenas; 0: one of an earlier epoch


class Spares:
    """Arenas kept for later workers.  A copy of a loader has none."""

    def __init__(self) -> None:
        self._arenas: list[Arena] = []

    def __reduce__(self) -> tuple[type[Spares], tuple[()]]:
        return Spares, ()

    def take(self, n: int) -> list[Arena]:
        taken, self._arenas = self._arenas[:n], self._arenas[n:]
        return taken

    def give(self, arenas: Iterable[Arena]) -> None:
        """Keeps the arenas that still work; drops batches left in them."""
        for arena in arenas:
            if _drain(arena):
                self._arenas.append(arena)
            else:
                arena.close()


def _drain(arena: Arena) -> bool:
    for _ in range(arena.stats()["n_units"] + 100):
        try:
            arena.receive(0)
        except ArenaEmpty:
            return True
        except PeerDied:
            pass  # a worker that was here before
        except Exception:
            break
    return False


class _Sender:
    """The worker's side of the transfer."""

    def __init__(
        self, worker: int, depth: int, descriptors: socket.socket, spare: Arena | None
    ) -> None:
        self._worker = worker
        self._depth = depth  # most batches in flight, if the consumer keeps none
        self._descriptors = descriptors
        self._arena = spare
        self._size = 0
        self._number = 0
        if spare is not None:
            spare.join("producer")
            self._size = spare.stats()["size_bytes"]
        Finalize(self, self._leave, exitpriority=0)

    def _leave(self) -> None:
        if self._arena is not None:
            self._arena.close()

    def send(self, batch: Any) -> Ticket | None:
        """Puts a batch into the arena; None if there is no memory for it."""
        for _ in range(2):
            if self._arena is not None:
                try:
                    self._arena.send(_Exactly(batch), 0, 0)
                except (ArenaFull, ArenaTooLarge):
                    pass
                else:
                    return Ticket(self._worker, self._number)
            if not self._renew(batch):
                return None
        return None

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
        """Memory in the arena for a tensor; None if there is none."""
        if self._arena is None:
            return None
        try:
            return self._arena.empty(shape, dtype, timeout=0)
        except (ArenaFull, ArenaTooLarge):
            return None

    def _renew(self, batch: Any) -> bool:
        need = self._depth * (_nbytes(batch) * 5 // 4 + _LEAST)
        size = max(need, min(2 * self._size, _DOUBLES_TO))
        try:
            arena = Arena(size)
        except (ArenaNoMemory, OSError):
            return False
        arena.join("producer")
        self._number += 1
        key = _KEY.pack(self._worker, self._number)
        socket.send_fds(self._descriptors, [key], [arena.fileno()])
        if self._arena is not None:
            self._arena.close()
        self._arena, self._size = arena, size
        return True


class _Receiver:
    """The parent's side of the transfer."""

    def __init__(self, descriptors: socket.socket, spares: list[Arena]) -> None:
        self._descriptors = descriptors
        self._arenas = {i: (0, arena) for i, arena in enumerate(spares)}  # by worker

    def receive(self, ticket: Ticket) -> Any:
        """Receives the batch of a ticket."""
        while self._arenas.get(ticket.worker, (-1,))[0] < ticket.number:
            self._take_arena()
        arena = self._arenas[ticket.worker][1]
        while True:
            try:
                return arena.receive(0)
            except PeerDied:
                pass  # the worker of an earlier epoch, or one whose batch is here

    def _take_arena(self) -> None:
        """Receives the next arena.  The previous one is empty: tickets are in order."""
        key, fds, _, _ = socket.recv_fds(self._descriptors, _KEY.size, 1)
        worker, number = _KEY.unpack(key)
        try:
            arena = Arena.attach(fds[0])
        finally:
            os.close(fds[0])
        arena.join("consumer")
        if worker in self._arenas:
            self._arenas[worker][1].close()
        self._arenas[worker] = number, arena

    def close(self) -> list[Arena]:
        """Closes the socket; returns the arenas that are left."""
        self._descriptors.close()
        return [arena for _, arena in self._arenas.values()]


class BatchQueue:
    """The result queue of the workers, as torch's DataLoader uses it."""

    def __init__(self, queue: Any, depth: int, spares: list[Arena]) -> None:
        self._queue = queue
        self._depth = depth
        self._spares = spares
        self._parent = os.getpid()
        self._processes: Sequence[BaseProcess] = ()
        self._expected: Sequence[bool] = ()
        mine, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._receiver: _Receiver | None = _Receiver(mine, spares)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_receiver": None, "_processes": (), "_expected": ()}

    # ---- in a worker ----

    def put(self, message: tuple[Any, Any]) -> None:
        """Sends a batch.  (In the parent: wakes the thread that pins memory.)"""
        if os.getpid() != self._parent and _is_batch(message[1]):
            message = message[0], self._placed(message[1])
        self._queue.put(message)

    def _placed(self, batch: Any) -> Any:
        global _sender
        worker = torch.utils.data.get_worker_info().id
        if _sender is None:
            spare = self._spares[worker] if worker < len(self._spares) else None
            _sender = _Sender(worker, self._depth, self._theirs, spare)
        try:
            ticket = _sender.send(batch)
        except ArenaError:
            raise
        except Exception:
            return ExceptionWrapper(where=f"in DataLoader worker process {worker}")
        return batch if ticket is None else ticket

    # ---- in the parent ----

    def watch(self, processes: Sequence[BaseProcess], expected: Sequence[bool]) -> None:
        """Sets the workers, and which of them must be alive while get() waits."""
        self._processes, self._expected = processes, expected

    def get(self, block: bool = True, timeout: float | None = None) -> tuple[Any, Any]:
        """The next result; raises queue.Empty like multiprocessing.Queue, and
        WorkerDied if a worker is dead and nothing is left in the queue."""
        if block:
            self._await_answer(timeout)
        index, answer = self._queue.get(block, timeout)
        if isinstance(answer, Ticket):
            assert self._receiver is not None
            answer = self._receiver.receive(answer)
        return index, answer

    def _await_answer(self, timeout: float | None) -> None:
        """Waits for a result or a death; torch alone checks for deaths every 5 s."""
        answers = self._queue._reader.fileno()
        poll = select.poll()
        poll.register(answers, select.POLLIN)
        pairs = zip(self._processes, self._expected)
        living = {p.sentinel: p for p, expected in pairs if expected}
        for sentinel in living:
            poll.register(sentinel, select.POLLIN)
        ready = [fd for fd, _ in poll.poll(None if timeout is None else timeout * 1000)]
        if ready and answers not in ready:
            raise worker_died(living[ready[0]])

    def forget(self) -> list[Arena]:
        """Returns the arenas of the workers, after these have ended."""
        if self._receiver is None or os.getpid() != self._parent:
            return []
        receiver, self._receiver = self._receiver, None
        self._processes = self._expected = ()
        self._theirs.close()
        return receiver.close()

    def __getattr__(self, name: str) -> Any:
        if name == "_queue":
            raise AttributeError(name)
        return getattr(self._queue, name)


_sender: _Sender | None = None  # of this process, if it is a worker


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
    """Arena memory for a tensor of the next batch; None: use ordinary memory."""
    return None if _sender is None else _sender.empty(shape, dtype)


class _Exactly:
    """Sends a batch with its exact types.

    An arena returns views instead of bytes that the sender put into lists and
    dictionaries; torch does not.  Bytes in the state of an object are unchanged.
    """

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return _itself, (self._batch,)


def _itself(batch: Any) -> Any:
    return batch


def _is_batch(answer: Any) -> bool:
    """Is this a batch, and not one of torch's own messages?"""
    return not type(answer).__module__.startswith("torch._utils") and answer is not None


def _nbytes(item: Any, seen: set[int] | None = None) -> int:
    """Approximate size of an item in bytes, without pickling it."""
    seen = set() if seen is None else seen
    if id(item) in seen:
        return 0
    seen.add(id(item))
    if isinstance(item, torch.Tensor):
        return item.numel() * item.element_size()
    if isinstance(item, (bytes, bytearray, str)):
        return len(item)
    if isinstance(nbytes := getattr(item, "nbytes", None), int):
        return nbytes
    if isinstance(item, dict):
        return sum(_nbytes(x, seen) for x in item.values())
    if isinstance(item, (list, tuple, set, frozenset)):
        return sum(_nbytes(x, seen) for x in item)
    return _nbytes(getattr(item, "__dict__", None), seen) if item is not None else 0
