"""Arenas under the names and with the meaning of SPDL's."""

from __future__ import annotations

from . import _arena, _checks

NAME = "memfd:roar-arena"
INLINE = 4096  # so that an item of just a segment's size fits with its envelope


class _Named(_arena.Arena):
    """What both have in common with SPDL's arenas."""

    acquire_timeout: float

    @property
    def name(self) -> str:
        """What /proc shows of it; nothing can be opened by this name."""
        return NAME

    def shutdown_arena(self) -> None:
        """Wakes whoever waits, for good: see shutdown()."""
        self.shutdown()

    def unlink(self) -> None:
        """Does nothing: the memory has no name and goes by itself."""


class SharedMemoryRingBuffer(_Named):
    """`capacity` bytes; what is received is copied out, with its exact type.

    Sizing: about (buffer_size + 2) times the largest item.  Items that are
    larger than the whole arrive all the same, in pieces.  A sender that finds
    no room for acquire_timeout seconds gets an ArenaFull, which is a
    BufferError; 0 does not wait.
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
        """Bytes that were sent and are not in the way any more."""
        stats = self.stats()
        return max(0, stats["committed_bytes"] - stats["used_bytes"])


class SharedMemorySegmentPool(_Named):
    """`count` segments of `segment_size` bytes, one for each item in flight.

    What is received are views of the segment, without a copy: arrays and
    tensors of their type, bytes and bytearrays as writable memoryviews.  The
    segment is free again when the last view, slice or tensor over it is gone;
    one that is kept costs its segment and stops nobody.  An array made by
    empty() takes a segment, and the item that hands it on another one: for
    filling in place an Arena is the better choice.
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
        """Items whose segment was given back."""
        return self.stats()["released"]
