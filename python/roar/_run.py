"""Reports of a process that reads shards to the `roar run` that observes it.

A run's record has the files that were read; which rank trained on which samples of
them only this process knows.  It counts them here and writes a note beside the journal
of the run (lib/event/note.h), which becomes a part of the record.  Outside of a run
nothing is written.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from _roar_shard import note_shards, run_find as find

_PAUSE = 5.0        # seconds between two writes of the note, at least
_SHARE = 50         # times as long as a write took, at least
_LINES = 1 << 16    # of a note; what comes then goes into another one


class Taken(NamedTuple):
    """The shard, rank and epoch of a count."""

    rank: int | None
    epoch: int
    dataset: str
    path: str


class Notes:
    """The samples that this process has read.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._run = find()
        self._number = 0    # of the note; 0: not written yet
        self._taken: dict[Taken, int] = {}
        self._due = 0.0
        self._changed = False
        self._sources: set[Callable[[], None]] = set()

    def follow(self, report: Callable[[], None]) -> None:
        """flush() calls `report` before it writes, so that it adds what a loop in progress
        has not added yet."""
        with self._lock:
            if self._pid != os.getpid():    # after a fork
                self._begin()
            self._sources.add(report)

    def unfollow(self, report: Callable[[], None]) -> None:
        """The loop has ended."""
        with self._lock:
            self._sources.discard(report)

    def add(self, taken: Taken, samples: int) -> None:
        """Adds to the number of samples read from the shard."""
        with self._lock:
            if self._pid != os.getpid():    # after a fork
                self._begin()
            if self._run is None:
                return
            self._taken[taken] = self._taken.get(taken, 0) + samples
            self._changed = True
            if time.monotonic() >= self._due or len(self._taken) >= _LINES:
                self._write()

    def flush(self) -> None:
        """Writes pending counts."""
        if self._pid != os.getpid():    # the loops are those of the parent
            return
        with self._lock:
            sources = list(self._sources)
        for report in sources:
            report()
        with self._lock:
            if self._pid == os.getpid() and self._changed:
                self._write()

    def _write(self) -> None:
        """Replaces the note.  If that fails, a part of the record is missing, and the
        training continues."""
        begin = time.monotonic()
        self._changed = False
        rows = [(-1 if taken.rank is None else taken.rank, taken.epoch, samples,
                 taken.dataset, taken.path)
                for taken, samples in self._taken.items()]
        assert self._run is not None
        try:
            self._number = note_shards(self._run, self._number, rows)
        except (OSError, OverflowError, ValueError):
            self._run = None
        if len(self._taken) >= _LINES:      # it is done: the next one is short again
            self._taken, self._number = {}, 0
        now = time.monotonic()
        self._due = now + max(_PAUSE, (now - begin) * _SHARE)


_notes: Notes | None = None
_making = threading.Lock()


def notes() -> Notes:
    """The notes of this process."""
    global _notes
    with _making:
        if _notes is None:
            _notes = Notes()
            atexit.register(_notes.flush)
        return _notes
