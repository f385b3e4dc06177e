"""Arenas with the names and semantics of SPDL's."""

from __future__ import annotations

from . import _arena, _checks

NAME = "memfd:roar-arena"
INLINE = 4096  # so that an item of just a segment's size fits with its envelope


class _Named(_arena.Arena):
    """Common members of both classes."""

    acquire_timeout: float

    @property
    def name(self) -> str:
        """The name in /proc; the arena cannot be opened by it."""
        return NAME

    def shutdown_arena(self) -> None:
        """Wakes all waiting calls permanently: see shutdown()."""
        self.shutdown()

    def unlink(self) -> None:
        """Does nothing: the memory is anonymous, and the kernel frees it."""


class SharedMemoryRingBuffer(_Named):
    """`capacity` bytes; received objects are private copies of their exact type.

    Sizing: about (buffer_size + 2) times the largest item.  Items larger than the
    arena are sent in pieces.  A sender that finds no room for acquire_timeout
    seconds raises ArenaFull, which is a BufferError; 0 does not wait.
    """

    def __init__(self, capacity: int, *, acquire_timeout: float = 60.0,
                 threshold: int = 4096) -> None:
        self.capacity = _checks.whole("capacity", capacity, 1)
        self.acquire_timeout = _checks.seconds("acquire_timeout",
                                               acquire_timeout)
        super().__init__(self.capacity, copy=True, threshold=threshold,
                         timeout=acquire_timeout)

    @property
    def head(self) -> int:
        """Bytes that were sent."""
        return self.stats()["committed_bytes"]

    @property
    def tail(self) -> int:
        """Bytes that were sent and are free again."""
        stats = self.stats()
        return max(0, stats["committed_bytes"] - stats["used_bytes"])


class SharedMemorySegmentPool(_Named):
    """`count` segments of `segment_size` bytes, one for each item in flight.

    Received objects are views of the segment, without a copy: arrays and tensors
    of their type, bytes and bytearrays as writable memoryviews.  The segment is
    freed when its last view, slice or tensor is gone.  A view that you keep holds
    one segment; other items keep flowing.  An array made by empty() takes one
    segment and the item that sends it another: to fill arrays in place, use an
    Arena.
    """

    def __init__(self, segment_size: int, count: int, *,
                 acquire_timeout: float = 60.0, threshold: int = 4096) -> None:
        self.segment_size = _checks.whole("segment_size", segment_size, 1)
        self.count = _checks.whole("count", count, 1, 1 << 23)
        self.acquire_timeout = _checks.seconds("acquire_timeout",
                                               acquire_timeout)
        super().__init__(segment_size=self.segment_size, n_units=self.count,
                         inline=INLINE, threshold=threshold,
                         timeout=acquire_timeout)

    @property
    def published(self) -> int:
        """Items that were sent."""
        return self.stats()["committed"]

    @property
    def reclaimed(self) -> int:
        """Items whose segment is free again."""
        return self.stats()["released"]
