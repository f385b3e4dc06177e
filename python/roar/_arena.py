"""Arena: sends objects between processes through anonymous shared memory.

    arena = roar.Arena(256 << 20)          # before the other process starts
    ...
    arena.join("producer")                 # in one process
    arena.send({"image": array, "id": 7})

    arena.join("consumer")                 # in the other process
    item = arena.receive()                 # item["image"] lies in the arena

Pass an arena to a multiprocessing process (fork, spawn or forkserver) as an
argument, or pass its descriptor.  The kernel frees the memory when the last process
that uses the arena has ended, even if it was killed.
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

    size          bytes for payloads
    segment_size  instead of size: n_units segments of this size, one per item
    n_units       most items in flight; 0 chooses by size
    copy          True: received objects are private copies of their exact type.
                  False: large arrays, tensors and bytes are views of the arena,
                  which are freed when the last of them is gone; bytes and
                  bytearrays come as writable memoryviews
    threshold     leaves of fewer bytes travel inside the pickle
    timeout       seconds that send() and empty() wait for room
    broadcast     every consumer gets every item
    n_producers   splits the memory between this many producers, so that
                  receive(source=...) in a chosen order cannot stall
    huge          use huge pages, if the machine has them
    inline        bytes for small payloads in every unit; 0: the default
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
        """Attaches to the arena of a descriptor; the caller keeps the descriptor."""
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
        """Default seconds that send() waits for room; None: for ever."""
        return None if self._timeout_ns < 0 else self._timeout_ns / 1e9

    # ---- parties

    def join(self, role: str = "both", share: int = 0) -> None:
        """Joins as "producer", "consumer" or "both".

        Every process, including a forked child, joins before it sends or
        receives.  share: the producer's part of the memory, in an arena made
        with n_producers.
        """
        if not isinstance(role, str) or role not in ROLES:
            raise ValueError("role must be 'producer', 'consumer' or 'both', "
                             f"not {role!r}")
        share = _checks.whole("share", share, 0, 63)
        if os.getpid() != self._pid:
            self._open(self._handle.fileno())
        self._handle.join(ROLES[role], share)

    def expect(self, pid: int) -> None:
        """Raises PeerDied also if this process dies before it has joined."""
        self._handle.expect(_checks.whole("pid", pid, 1, (1 << 22)))

    # ---- items

    def send(self, obj: Any, tag: int = 0,
             timeout: float | None = None) -> None:
        """Sends an object, whatever its size.

        tag      a number of yours that arrives with it (receive_item())
        timeout  seconds to wait for room; None: the arena's; 0: do not wait.
                 Raises ArenaFull if there was none

        An array made by empty(), or a slice of one, is sent without a copy the
        first time; do not change it afterwards.
        """
        self._handle.send(obj, tag, self._timeout_ns if timeout is None else
                          _checks.nanoseconds("timeout", timeout, -1))

    def receive(self, timeout: float | None = None, *,
                source: int | None = None) -> Any:
        """Returns the next object.

        timeout  seconds to wait; None: for ever; 0: do not wait.  Raises
                 ArenaEmpty if nothing was received
        source   receive from this producer only (Item.producer)

        Raises ArenaClosed after a shutdown, when nothing is left, and PeerDied
        once for each dead producer, after all that it sent was received.
        """
        return self._receive(timeout, source)[0]

    def receive_item(self, timeout: float | None = None, *,
                     source: int | None = None) -> Item:
        """Like receive(), with tag, producer and sequence number."""
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
        """Returns an array in the arena, to be filled in place and sent.

        shape  a number or a tuple
        dtype  NumPy's, torch's, or a name such as "float32"; bytes if none
        like   "numpy", "torch", "memoryview" or "dlpack"; chosen by the dtype
               and by what is installed if none

        Its content is undefined.
        """
        return _empty.make(
            self._handle, shape, dtype, like,
            self._timeout_ns if timeout is None else
            _checks.nanoseconds("timeout", timeout, -1))

    # ---- the rest

    def spin(self, seconds: float) -> None:
        """Sets how long receive() polls before it sleeps."""
        self._handle.spin(_checks.nanoseconds("seconds", seconds, 0))

    def stats(self) -> dict[str, int]:
        """Counters of memory, items and waits; see include/roar/arena.h."""
        return self._handle.stats()

    def fileno(self) -> int:
        """The descriptor of the arena, which the arena owns."""
        return self._handle.fileno()

    def shutdown(self) -> None:
        """Shuts the arena down for all processes, permanently.

        Waiting calls return.  Items that were sent can still be received.
        """
        self._handle.shutdown()

    def close(self) -> None:
        """Leaves the arena.  Existing views stay valid."""
        self._handle.close()

    def __enter__(self) -> "Arena":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    # An arena can be pickled only while a process is started: its descriptor is
    # not valid in any other process.

    def __getstate__(self) -> dict[str, Any]:
        # Imported here because that takes longer than the rest of `import roar`.
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
    """Another arena with the same copy, threshold and timeout."""
    made = Arena(segment_size=segment_size, n_units=n_units, copy=arena._copy,
                 threshold=arena._threshold)
    made._timeout_ns = arena._timeout_ns
    return made
