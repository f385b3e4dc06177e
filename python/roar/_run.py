"""What a process that deals with shards says to the `roar run` above it.

A run's record has the files that were read; which rank trained on which samples of
them only we know.  The roar that observes this process is one of its ancestors and
has the run's journal open, .roar/runs/UID.journal; a note beside it becomes a part of
the record.  src/roar/run/shards.h has the form of a note.  Without such an
ancestor nothing is written.
"""

from __future__ import annotations

import atexit
import itertools
import os
import re
import threading
import time
from typing import NamedTuple
from urllib.parse import quote_from_bytes

_JOURNAL = re.compile(r"(.*/\.roar/runs/[0-9a-f]{8})\.journal")
_HEADING = "roar-shards 1\n"
_PAUSE = 5.0        # seconds between two notes, at least
_SHARE = 50         # so much of the time goes by between notes, at least
_DEPTH = 256        # ancestors that are looked at
_LINES = 1 << 16    # of a note; what comes then goes into another one
# What stands as it is in a note; all else is %XX.
_PLAIN = "".join(chr(c) for c in range(0x21, 0x7f) if chr(c) != "%") + " "


class Taken(NamedTuple):
    """Of which shard something was taken."""

    rank: int | None
    epoch: int
    dataset: str
    path: str


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as f:
        # The name, in parentheses, may hold any bytes.
        return int(f.read().rpartition(b")")[2].split()[1])


def _journal_of(pid: int) -> str | None:
    """The run whose journal this process has open, as the beginning of a path."""
    with open(f"/proc/{pid}/comm", "rb") as f:
        if f.read() != b"roar\n":
            return None
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        try:
            found = _JOURNAL.fullmatch(os.readlink(f"{folder}/{name}"))
        except OSError:
            continue    # it was closed meanwhile
        if found:
            return found[1]
    return None


def find() -> str | None:
    """The run that this process belongs to: ".../.roar/runs/UID", or None."""
    pid = os.getpid()
    try:
        for _ in range(_DEPTH):
            pid = _parent(pid)
            if pid <= 1:
                break
            run = _journal_of(pid)
            if run is not None:
                return run
    except OSError:
        pass    # an ancestor is another user's, or gone
    return None


def _escaped(text: str) -> str:
    return quote_from_bytes(os.fsencode(text), safe=_PLAIN)


def _line(taken: Taken, samples: int) -> str:
    rank = "-" if taken.rank is None else taken.rank
    return (f"{rank}\t{taken.epoch}\t{samples}\t{_escaped(taken.dataset)}\t"
            f"{_escaped(taken.path)}\n")


class Notes:
    """What this process has taken.  Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._run = find()
        self._path: str | None = None    # of the note
        self._taken: dict[Taken, int] = {}
        self._due = 0.0
        self._changed = False

    def add(self, taken: Taken, samples: int) -> None:
        """Says that so many more samples of the shard were taken."""
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
        """Writes what has not been written yet."""
        with self._lock:
            if self._pid == os.getpid() and self._changed:
                self._write()

    def _free_path(self) -> str:
        """Where no note is: this process may have written one before, and so may
        another that had its pid."""
        path = first = f"{self._run}.shards-{self._pid}"
        for n in itertools.count(1):
            if not os.path.exists(path):
                break
            path = f"{first}.{n}"
        return path

    def _write(self) -> None:
        """Replaces the note.  A failure costs a part of the record and nothing
        else: the training goes on."""
        begin = time.monotonic()
        path = self._path = self._path or self._free_path()
        self._changed = False
        try:
            with open(f"{path}.new", "w", encoding="ascii") as f:
                f.write(_HEADING)
                f.writelines(map(_line, self._taken, self._taken.values()))
            os.replace(f"{path}.new", path)
        except OSError:
            self._run = None
        if len(self._taken) >= _LINES:      # it is done: the next one is short again
            self._taken, self._path = {}, None
        now = time.monotonic()
        self._due = now + max(_PAUSE, (now - begin) * _SHARE)


_notes: Notes | None = None
_making = threading.Lock()


def notes() -> Notes:
    """Those of this process."""
    global _notes
    with _making:
        if _notes is None:
            _notes = Notes()
            atexit.register(_notes.flush)
        return _notes
