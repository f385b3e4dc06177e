"""Arena: objects through shared memory without a name.

    arena = roar.Arena(256 << 20)          # before the other process starts
    ...
    arena.join("producer")                 # in one
    arena.send({"image": array, "id": 7})

    arena.join("consumer")                 # in the other
    item = arena.receive()                 # item["image"] lies in the arena

An arena is handed on when a multiprocessing process is started (fork, spawn
or forkserver) as one of its arguments, or by its descriptor.  It is gone when
the last process that has it is gone, however that ended.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import _roar_arena

from . import _checks, _empty

ANY = 0xFFFFFFFF
ROLES = {"producer": 1, "consumer": 2, "both": 3}
BROADCAST, PARTITION, HUGE = 1, 2, 4


class Item(NamedTuple):
    """What receive_item() returns."""

    value: Any
    tag: int
    producer: int
    sequence: int


class Arena:
    """Shared memory that moves objects between processes.

    size          bytes of room for payloads
    segment_size  instead of size: each item has a segment of this size, and
                  there are n_units of them
    n_units       items in flight at most; 0 chooses by size
    copy          True: what is received is private memory with its exact
                  type.  False: large arrays, tensors and bytes are views of
                  the arena, whose room is free again when the last of them is
                  gone; bytes and bytearrays come as writable memoryviews
    threshold     leaves of fewer bytes travel inside the pickle
    timeout       seconds that send() and empty() wait for room
    broadcast     every consumer gets every item
    n_producers   each of so many producers has its own part of the room, so
                  that receive(source=...) in a chosen order cannot stall
    huge          huge pages, where the machine has them
    inline        bytes of small room that every unit has; 0: the default
    """

    def __init__(self, size: int = 0, *, segment_size: int = 0,
                 n_units: int = 0, copy: bool = False, threshold: int = 4096,
                 timeout: float = 60.0, broadcast: bool = False,
                 n_producers: int = 0, huge: bool = False,
                 inline: int = 0) -> None:
        segment_size = _checks.whole("segment_size", segment_size, 0)
        size = _checks.whole("size", size, 0 if segment_size else 1)
        self._copy = bool(copy)
        self._threshold = _checks.whole("threshold", threshold, 1)
        self._timeout_ns = _checks.nanoseconds("timeout", timeout, -1)
        n_producers = _checks.whole("n_producers", n_producers, 0, 63)
        flags = (BROADCAST if broadcast else 0) | (HUGE if huge else 0)
        self._handle = _roar_arena.create(
            size=size, segment_size=segment_size,
            n_units=_checks.whole("n_units", n_units, 0, 1 << 23),
            inline=_checks.whole("inline", inline, 0, 1 << 20),
            n_producers=n_producers,
            flags=flags | (PARTITION if n_producers else 0),
            threshold=self._threshold, copy=self._copy)
        self._pid = os.getpid()

    @classmethod
    def attach(cls, fd: int, *, copy: bool = False, threshold: int = 4096,
               timeout: float = 60.0) -> "Arena":
        """The arena behind a descriptor, which stays the caller's."""
        self = Arena.__new__(cls)
        self._copy = bool(copy)
        self._threshold = _checks.whole("threshold", threshold, 1)
        self._timeout_ns = _checks.nanoseconds("timeout", timeout, -1)
        self._open(_checks.whole("fd", fd, 0, (1 << 31) - 1))
        return self

    def _open(self, fd: int) -> None:
        self._handle = _roar_arena.attach(
            fd=fd, threshold=self._threshold, copy=self._copy)
        self._pid = os.getpid()

    @property
    def timeout(self) -> float | None:
        """Seconds that send() waits for room if nothing else is asked for; None: for
        ever."""
        return None if self._timeout_ns < 0 else self._timeout_ns / 1e9

    # ---- parties

    def join(self, role: str = "both", share: int = 0) -> None:
        """Takes part, as "producer", "consumer" or "both".

        Every process does so for itself before it sends or receives, a child
        made by fork as well.  share: which part of the room a producer has,
        in an arena made with n_producers.
        """
        if not isinstance(role, str) or role not in ROLES:
            raise ValueError("role must be 'producer', 'consumer' or 'both', "
                             f"not {role!r}")
        share = _checks.whole("share", share, 0, 63)
        if os.getpid() != self._pid:
            self._open(self._handle.fileno())
        self._handle.join(ROLES[role], share)

    def expect(self, pid: int) -> None:
        """Makes the death of a process that has not joined yet a PeerDied."""
        self._handle.expect(_checks.whole("pid", pid, 1, (1 << 22)))

    # ---- items

    def send(self, obj: Any, tag: int = 0,
             timeout: float | None = None) -> None:
        """Sends an object, whatever its size.

        tag      a number of yours that arrives with it (receive_item())
        timeout  seconds to wait for room; None: the arena's; 0: not at all.
                 ArenaFull when there was none

        An array made by empty(), or a slice of one, is handed on where it
        lies, the first time that it is sent; it should not be changed
        afterwards.
        """
        self._handle.send(obj, tag, self._timeout_ns if timeout is None else
                          _checks.nanoseconds("timeout", timeout, -1))

    def receive(self, timeout: float | None = None, *,
                source: int | None = None) -> Any:
        """The next object.

        timeout  seconds to wait; None: for ever; 0: not at all.  ArenaEmpty
                 when nothing came
        source   only from this producer (Item.producer); others wait

        ArenaClosed after a shutdown, when nothing is left.  PeerDied, once
        for each, when a producer is dead and all it sent is received.
        """
        return self._receive(timeout, source)[0]

    def receive_item(self, timeout: float | None = None, *,
                     source: int | None = None) -> Item:
        """As receive(), with the tag, the producer and its count."""
        return Item._make(self._receive(timeout, source))

    def _receive(self, timeout: float | None, source: int | None
                 ) -> tuple[Any, int, int, int]:
        return self._handle.receive(
            ANY if source is None else _checks.whole("source", source, 0, 63),
            -1 if timeout is None else
            _checks.nanoseconds("timeout", timeout, -1))

    def empty(self, shape: Any, dtype: Any = None, *,
              like: str | None = None,
              timeout: float | None = None) -> Any:
        """An array in the arena, to be filled in place and sent.

        shape  a number or a tuple
        dtype  NumPy's, torch's, or a name such as "float32"; bytes if none
        like   "numpy", "torch", "memoryview" or "dlpack"; chosen by the dtype
               and by what is installed if none

        Its content is whatever was there before.
        """
        return _empty.make(
            self._handle, shape, dtype, like,
            self._timeout_ns if timeout is None else
            _checks.nanoseconds("timeout", timeout, -1))

    # ---- the rest

    def spin(self, seconds: float) -> None:
        """How long receive() looks before it sleeps."""
        self._handle.spin(_checks.nanoseconds("seconds", seconds, 0))

    def stats(self) -> dict[str, int]:
        """Counters: room, items, waits.  include/roar/arena.h explains."""
        return self._handle.stats()

    def fileno(self) -> int:
        """The descriptor, of the arena's own."""
        return self._handle.fileno()

    def shutdown(self) -> None:
        """Ends the arena for all processes; it cannot be undone.

        Waiting calls return.  What was sent can still be received.
        """
        self._handle.shutdown()

    def close(self) -> None:
        """Leaves the arena.  Views that are still held stay valid."""
        self._handle.close()

    def __enter__(self) -> "Arena":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    # An arena travels with a process that is being started, never otherwise:
    # its descriptor means nothing elsewhere.

    def __getstate__(self) -> dict[str, Any]:
        # Here alone, because importing it takes longer than all else in `import roar`.
        import multiprocessing.context
        import multiprocessing.reduction
        multiprocessing.context.assert_spawning(self)
        state = self.__dict__.copy()
        state["_handle"] = multiprocessing.reduction.DupFd(
            self._handle.fileno())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        fd = state["_handle"].detach()
        try:
            self._open(fd)
        finally:
            os.close(fd)


def alike(arena: Arena, segment_size: int, n_units: int) -> Arena:
    """Another arena, whose items come with the same types."""
    made = Arena(segment_size=segment_size, n_units=n_units, copy=arena._copy,
                 threshold=arena._threshold)
    made._timeout_ns = arena._timeout_ns
    return made
