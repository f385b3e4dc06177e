"""A stream that is read in other processes: how they share its samples, and how the
process that started them knows its position.

Workers of a pipeline or of a DataLoader have copies of the stream.  They share the
steps of the rank: worker w of n reads step w, w + n, w + 2n, ...  They also share a
page of numbers with the original (Board), so that it knows of them.  But they read
ahead, and only the consumer knows which samples it has seen.  So the original knows
its position in two cases, and raises otherwise:

- The consumer's loop is one of ours (Following): then the epoch is known, and the
  caller gives the number of steps that the model has seen.
- The caller names epoch and steps.
"""

from __future__ import annotations

import mmap
import os
import sys
from multiprocessing import context, reduction
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ._shards import ShardStream

MAX_WORKERS = 1000


class Share(NamedTuple):
    """Number of this worker, and number of workers."""

    worker: int
    size: int


def share() -> Share:
    """The share of this process, from roar.pipeline or torch; 0 of 1 if not a worker."""
    pipeline = sys.modules.get("roar.pipeline._worker")
    info = pipeline.worker_info() if pipeline is not None else None
    if info is not None:
        return Share(info.index, info.num_workers)
    torch = sys.modules.get("torch.utils.data")
    info = torch.get_worker_info() if torch is not None else None
    return Share(0, 1) if info is None else Share(info.id, info.num_workers)


class Board:
    """Numbers that a stream and its copies in other processes share.

    Words of 64 bits, each with one writer at a time:

        0      how many workers share the steps; 0: no copy has been read from
        1      epoch that the original was set to
        2      how often the position of the original was replaced
        3 + w  epoch after the last one that worker w has read to its end
    """

    def __init__(self, given: Any = None) -> None:
        self.shared = given is not None     # with the stream this is a copy of
        if given is None:
            self._fd = os.memfd_create("roar-stream", os.MFD_CLOEXEC)
            os.ftruncate(self._fd, 8 * (3 + MAX_WORKERS))
        else:
            self._fd = given.detach()
        self._words = memoryview(
            mmap.mmap(self._fd, 8 * (3 + MAX_WORKERS))).cast("Q")

    def __reduce__(self) -> Any:
        """The same page for a process that is being started, else a new page."""
        if context.get_spawning_popen() is None:
            return Board, ()
        return Board, (reduction.DupFd(self._fd),)

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            os.close(self._fd)

    @property
    def readers(self) -> int:
        """Number of workers that share the steps."""
        return self._words[0]

    @property
    def replaced(self) -> int:
        """How often the position was replaced."""
        return self._words[2]

    @property
    def epoch(self) -> int:
        """The earliest epoch that the next loop of all workers reads."""
        n = self.readers
        done = min(self._words[3:3 + n]) if n else 0
        return max(self._words[1], done)

    def clear(self) -> None:
        """Resets the page: the original is read in its own process, or was replaced."""
        replaced = self.replaced
        for n in range(3 + self.readers):
            self._words[n] = 0
        self._words[2] = replaced + 1

    def ask(self, epoch: int) -> None:
        """Records that the original was set to this epoch."""
        self._words[1] = epoch

    def begin(self, mine: Share) -> None:
        """Records that a worker begins a loop."""
        if mine.size > MAX_WORKERS:
            raise ValueError(f"{mine.size} workers cannot share a dataset, "
                             f"{MAX_WORKERS} can: start fewer")
        self._words[0] = mine.size

    def finish(self, mine: Share, epoch: int) -> None:
        """Records that a worker has read its share of the previous epoch."""
        self._words[3 + mine.worker] = epoch


class Following:
    """The loops of one consumer, over samples that one set of workers reads.

    in_order  items come in the order of the stream, so that the model has always seen
              the first steps of the epoch

    Workers start with the current position of the stream, and advance from epoch to
    epoch by themselves.
    """

    def __init__(self, stream: "ShardStream", in_order: bool) -> None:
        stream.forget_readers()     # what others still read is not followed any more
        self._stream = stream
        self.in_order = in_order
        self.open = False           # a loop has begun and has not come to its end
        self._expected = stream.where()

    def begin(self) -> None:
        """Begins a loop; raises RuntimeError if workers and stream differ in position."""
        name = self._stream.name
        if self.open:
            raise RuntimeError(
                f"the previous loop over dataset {name!r} was left early, and its "
                "workers have read ahead: start new workers, after "
                "load_state_dict(state_dict(steps)) to continue after those steps")
        if self._expected != self._stream.where():
            raise RuntimeError(
                f"the position in dataset {name!r} was changed after the workers "
                "that read it were started: start new ones")
        self.open = True
        self._stream.followed = self

    def finish(self) -> None:
        """The consumer has seen the last item of the epoch."""
        self.open = False
        if self._stream.followed is self and \
                self._expected == self._stream.where():
            self._stream.next_epoch()
            self._expected = self._stream.where()


def following(source: Any, in_order: bool) -> Following | None:
    """A Following if the source is a stream with its own position; else None."""
    follow = getattr(source, "follow", None)
    return None if follow is None else follow(in_order)
