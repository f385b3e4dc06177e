"""Batches on their way from the workers of a DataLoader to their parent.

    worker                                          parent
    arena.send(batch)       ── shared memory ──▶    arena.receive()
    queue.put((i, ticket))  ── torch's queue ──▶    queue.get()

The queue stays torch's, and with it all that torch does about timeouts, signals and
shutdown; but what goes through it is a ticket, which says: the next one in my arena.

Each worker makes an arena of its own when it has its first batch and knows how large that
is.  The descriptor goes to the parent by a socket, ahead of the first ticket.  When the
arena has no room, because batches have grown or because the consumer keeps many, a new one
takes its place; the old one lasts until the last batch in it is gone.  Where no memory
is to be had, batches go the way torch sends them.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import Any, NamedTuple

import torch
from torch._utils import ExceptionWrapper

from ._arena import Arena
from ._errors import ArenaError, ArenaFull, ArenaNoMemory, ArenaTooLarge

__all__ = ["BatchQueue", "empty"]

_KEY = struct.Struct("=qq")  # process, number of its arena

# Slack around a batch: envelope, alignment, batches that are a little larger.
_LEAST = 64 << 10

# An arena that filled up doubles, up to here; larger ones are as large as needed.
_DOUBLES_TO = 256 << 20

# Tensors below this are stacked in ordinary memory: a unit of its own would cost more.
_WORTH_PLACING = 4096


class Ticket(NamedTuple):
    """Stands for a batch: the next one in that arena."""

    process: int
    number: int


class _Sender:
    """A worker's side."""

    def __init__(self, depth: int, descriptors: socket.socket) -> None:
        self._depth = depth  # batches in flight at most, as long as nobody keeps any
        self._descriptors = descriptors
        self._arena: Arena | None = None
        self._size = 0
        self._number = 0

    def send(self, batch: Any) -> Ticket | None:
        """Puts a batch into the arena; None when there is none for it."""
        for _ in range(2):
            if self._arena is not None:
                try:
                    self._arena.send(_Exactly(batch), 0, 0)
                except (ArenaFull, ArenaTooLarge):
                    pass
                else:
                    return Ticket(os.getpid(), self._number)
            if not self._renew(batch):
                return None
        return None

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
        """Memory for a tensor, in the arena; None: not worth it, or not now."""
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
            arena = Arena(size, timeout=0)
        except (ArenaNoMemory, OSError):
            return False
        arena.join("producer")
        self._number += 1
        key = _KEY.pack(os.getpid(), self._number)
        socket.send_fds(self._descriptors, [key], [arena.fileno()])
        if self._arena is not None:
            self._arena.close()
        self._arena, self._size = arena, size
        return True


class _Receiver:
    """The parent's side."""

    def __init__(self, descriptors: socket.socket) -> None:
        self._descriptors = descriptors
        self._arenas: dict[int, tuple[int, Arena]] = {}  # by process

    def receive(self, ticket: Ticket) -> Any:
        """The batch behind a ticket."""
        while self._number_of(ticket.process) < ticket.number:
            self._take_arena()
        return self._arenas[ticket.process][1].receive(0)

    def _number_of(self, process: int) -> int:
        return self._arenas[process][0] if process in self._arenas else 0

    def _take_arena(self) -> None:
        """The next arena.  The one it replaces is empty: tickets come in order."""
        key, fds, _, _ = socket.recv_fds(self._descriptors, _KEY.size, 1)
        process, number = _KEY.unpack(key)
        try:
            arena = Arena.attach(fds[0])
        finally:
            os.close(fds[0])
        arena.join("consumer")
        if process in self._arenas:
            self._arenas[process][1].close()
        self._arenas[process] = number, arena

    def close(self) -> None:
        """Leaves all arenas; batches that are kept stay."""
        for _, arena in self._arenas.values():
            arena.close()
        self._arenas.clear()
        self._descriptors.close()


class BatchQueue:
    """The queue on which workers answer, as torch's DataLoader uses it."""

    def __init__(self, queue: Any, depth: int) -> None:
        self._queue = queue
        self._depth = depth
        self._parent = os.getpid()
        mine, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._receiver: _Receiver | None = _Receiver(mine)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_receiver": None}

    # ---- in a worker ----

    def put(self, message: tuple[Any, Any]) -> None:
        """Answers with a batch.  (In the parent: wakes the thread that pins.)"""
        if os.getpid() != self._parent and _is_batch(message[1]):
            message = message[0], self._placed(message[1])
        self._queue.put(message)

    def _placed(self, batch: Any) -> Any:
        global _sender
        if _sender is None:
            _sender = _Sender(self._depth, self._theirs)
        try:
            ticket = _sender.send(batch)
        except ArenaError:
            raise
        except Exception:
            worker = torch.utils.data.get_worker_info()
            where = f"in DataLoader worker process {worker.id if worker else '?'}"
            return ExceptionWrapper(where=where)
        return batch if ticket is None else ticket

    # ---- in the parent ----

    def get(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The next answer; queue.Empty as of multiprocessing.Queue."""
        index, answer = self._queue.get(*args, **kwargs)
        if isinstance(answer, Ticket):
            assert self._receiver is not None
            answer = self._receiver.receive(answer)
        return index, answer

    def forget(self) -> None:
        """After the workers have ended: gives everything back but kept batches."""
        if self._receiver is not None and os.getpid() == self._parent:
            self._receiver.close()
            self._theirs.close()
            self._receiver = None

    def __getattr__(self, name: str) -> Any:
        if name == "_queue":
            raise AttributeError(name)
        return getattr(self._queue, name)


_sender: _Sender | None = None  # of this process, if it is a worker


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
    """Memory for a tensor where the batch will be sent from; None: take any."""
    return None if _sender is None else _sender.empty(shape, dtype)


class _Exactly:
    """Sends a batch with its exact types.

    An arena hands out views in place of bytes that the sender put into lists and
    dictionaries; torch does not.  What is in the state of an object stays as it is.
    """

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return _itself, (self._batch,)


def _itself(batch: Any) -> Any:
    return batch


def _is_batch(answer: Any) -> bool:
    """Or is it one of torch's own messages?"""
    return not type(answer).__module__.startswith("torch._utils") and answer is not None


def _nbytes(item: Any, seen: set[int] | None = None) -> int:
    """About how many bytes an item has, as far as that can be seen from outside."""
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
