"""Blocks of a running process as steps of the record: roar.record().

Python's audit events name every file that Python itself opens, renames or removes.  While
a block is recorded, a hook notes them with the time, and with the stat of a file before it
is written or removed; at the end `roar record-files` hashes the files and writes the
record.  What extensions written in C
open, and what other processes do, is not seen, so the verdict of such a record is always
incomplete and says so.

An audit hook cannot be removed.  It is installed with the first block, and does nothing
between blocks but look up one name.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from _roar_shard import run_find

from ._program import call

_OPERATIONS_MAX = 1_000_000     # of one block; what comes then is counted
_now = time.time_ns
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

# What starts other processes.
_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty",
           "os.posix_spawn", "os.spawn", "pty.spawn")


class _Trace:
    """The operations of one block, in their order and as they were called."""

    def __init__(self) -> None:
        self.operations: list[tuple[Any, ...]] = []
        self.lost = 0
        self.started = 0    # processes
        self._seen: dict[Any, int] = {}     # path -> 1: read, 2: written
        self.handlers: dict[str, Callable[..., None]] = {
            "open": self._open,
            "os.rename": self._rename,
            "os.link": self._link,
            "os.symlink": self._symlink,
            "os.remove": self._remove,
            "os.truncate": self._truncate,
            "os.chdir": self._chdir,
            "sqlite3.connect": self._database,
            **{name: self._start for name in _STARTS},
        }

    def _open(self, path: Any, mode: Any, flags: int) -> None:
        if not flags & _WRITES:
            if mode == "r" or mode == "rb" or mode is None:
                seen = self._seen.get(path, 0)
                if not seen & 1:
                    self._seen[path] = seen | 1
                    self._add(("open", path, flags, None, _now()))
                return
            flags = _flags_of(mode)
        if self._seen.get(path, 0) & 2:
            return
        self._seen[path] = 2
        try:
            before = os.stat(path)
        except (OSError, ValueError):
            before = None
        self._add(("open", path, flags, before, _now()))

    def _add(self, operation: tuple[Any, ...]) -> None:
        if len(self.operations) < _OPERATIONS_MAX:
            self.operations.append(operation)
        else:
            self.lost += 1

    def _change(self, *operation: Any) -> None:
        """Names mean other files from now on."""
        self._seen.clear()
        self._add(operation)

    def _rename(self, old: Any, new: Any, old_dir: int = -1, new_dir: int = -1) -> None:
        self._change("rename", _place(old, old_dir), _place(new, new_dir))

    def _link(self, old: Any, new: Any, old_dir: int = -1, new_dir: int = -1) -> None:
        self._change("link", _place(old, old_dir), _place(new, new_dir))

    def _symlink(self, text: Any, new: Any, new_dir: int = -1) -> None:
        self._change("symlink", text, _place(new, new_dir))

    def _remove(self, path: Any, folder: int = -1) -> None:
        place = _place(path, folder)
        try:
            before = os.lstat(place)
        except (OSError, ValueError):
            return          # it fails
        self._change("remove", place, before)

    def _truncate(self, path: Any, length: int) -> None:
        if type(path) is not int:
            self._open(path, None, os.O_WRONLY | (os.O_TRUNC if not length else 0))

    def _database(self, path: Any) -> None:
        if type(path) is str and not path.startswith((":", "file:")) and path:
            self._open(path, None, os.O_RDWR | os.O_CREAT)

    def _chdir(self, path: Any) -> None:
        self._change("chdir", _place(path, path) if type(path) is int else path)

    def _start(self, *args: Any) -> None:
        self.started += 1


def _flags_of(mode: str) -> int:
    """Of a mode of fopen(3)."""
    access = os.O_RDWR if "+" in mode else os.O_RDONLY if "r" in mode else os.O_WRONLY
    more = {"w": os.O_CREAT | os.O_TRUNC, "a": os.O_CREAT, "x": os.O_CREAT}
    return access | more.get(mode[:1], 0)


def _place(path: Any, folder: int) -> Any:
    """A path that is relative to an open directory."""
    if folder < 0:
        return path
    try:
        base = os.readlink(f"/proc/self/fd/{folder}")
        return base if path is folder else os.path.join(base, os.fsdecode(path))
    except (OSError, TypeError, ValueError):
        return path


# The block that is being recorded, if there is one.
_handlers: dict[str, Callable[..., None]] = {}
_active: Record | None = None
_installed = False
_lock = threading.Lock()


def _hook(event: str, args: tuple[Any, ...]) -> None:
    handler = _handlers.get(event)
    if handler is not None:
        try:
            handler(*args)
        except (TypeError, AttributeError):     # of a later Python
            pass


# ---- the report, as event/self_report.h describes it ----

class _Report:
    def __init__(self, cwd: str) -> None:
        self._cwd = os.fsencode(cwd)
        self._words: list[bytes] = [b"roar-files 1"]

    def add(self, word: str, *fields: str | int | bytes) -> None:
        encoded = [f if isinstance(f, bytes) else os.fsencode(str(f)) for f in fields]
        if not any(b"\0" in field for field in encoded):
            self._words += [word.encode(), *encoded]

    def path(self, path: Any) -> bytes:
        return os.path.normpath(os.path.join(self._cwd, os.fsencode(path)))

    def operation(self, operation: tuple[Any, ...], kept: set[bytes]) -> None:
        kind = operation[0]
        if kind == "chdir":
            self._cwd = self.path(operation[1])
        elif kind == "open":
            _, path, flags, before, when = operation
            self._open(path, flags, before, when, kept)
        elif kind == "remove":
            self.add(kind, _stamp(operation[2]), self.path(operation[1]))
        elif kind == "symlink":
            self.add(kind, os.fsencode(operation[1]), self.path(operation[2]))
        else:
            self.add(kind, self.path(operation[1]), self.path(operation[2]))

    def _open(self, path: Any, flags: int, before: os.stat_result | None, when: int,
              kept: set[bytes]) -> None:
        if type(path) is int:
            return
        place = self.path(path)
        if flags & getattr(os, "O_TMPFILE", 0) == getattr(os, "O_TMPFILE", -1):
            return
        if before is None and place not in kept and not os.path.lexists(place):
            return      # the open failed
        if before is not None and flags & os.O_EXCL:
            return      # likewise
        letters = "r" if flags & os.O_ACCMODE != os.O_WRONLY else ""
        letters += "w" if flags & os.O_ACCMODE != os.O_RDONLY else ""
        letters += "c" if before is None and flags & _WRITES else ""
        letters += "t" if flags & os.O_TRUNC and before is not None else ""
        self.add("open", letters, _stamp(before), when, place)

    def text(self) -> bytes:
        return b"\0".join([*self._words, b""])


def _stamp(st: os.stat_result | None) -> str:
    if st is None:
        return "-"
    return (f"{st.st_mode}:{st.st_dev}:{st.st_ino}:{st.st_size}:"
            f"{max(st.st_mtime_ns, 0)}:{max(st.st_ctime_ns, 0)}")


# ---- the block ----

class Record(contextlib.ContextDecorator):
    """A block that becomes a step of the record; see roar.record()."""

    def __init__(self, name: str, quiet: bool = False) -> None:
        if not isinstance(name, str) or "\0" in name:
            raise TypeError("roar.record() takes a name, such as 'train'")
        self.name = name
        self.quiet = quiet
        self.result: dict[str, Any] | None = None   # what was recorded, after the block
        self.exit_code = 0      # 1 after an exception
        self._trace: _Trace | None = None
        self._begun_ns = 0
        self._cwd = ""
        self._pid = 0

    def __enter__(self) -> Record:
        global _active, _handlers, _installed
        if run_find() is not None:
            self._say(f"the block '{self.name}' is a part of the run that 'roar run' "
                      "records here, and not a step of its own")
            return self
        with _lock:
            if _active is not None:
                self._say(f"the block '{self.name}' is a part of the block "
                          f"'{_active.name}', and not a step of its own")
                return self
            _active = self
            self._trace = _Trace()
            self._cwd = os.getcwd()
            self._pid = os.getpid()
            self._begun_ns = time.time_ns()
            _handlers = self._trace.handlers
            if not _installed:
                sys.addaudithook(_hook)
                _installed = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        global _active, _handlers
        if self._trace is None:
            return
        with _lock:
            _handlers = {}
            _active = None
        done, self._trace = self._trace, None
        if kind is not None:
            self.exit_code = 1
        if self._pid == os.getpid():    # a child of fork() leaves it to its parent
            self._write(done)

    def _recreate_cm(self) -> Record:   # each call of a decorated function is a step
        return Record(self.name, self.quiet)

    def _write(self, done: _Trace) -> None:
        """A failure costs the record, not the block."""
        try:
            answer = call(["record-files", "--json", *(["-q"] if self.quiet else [])],
                          cwd=self._cwd, given=self._report(done))
        except (OSError, subprocess.SubprocessError, RuntimeError) as error:
            self._say(str(error))
            return
        self.result = json.loads(answer.text)
        if answer.errors and not self.quiet:
            sys.stderr.write(answer.errors)

    def _report(self, done: _Trace) -> bytes:
        report = _Report(self._cwd)
        report.add("name", self.name)
        for word in ("roar.record", self.name, *sys.argv[:1]):
            report.add("arg", word)
        report.add("pid", self._pid)
        report.add("started", self._begun_ns)
        report.add("ended", max(time.time_ns(), self._begun_ns))
        report.add("exit", self.exit_code)
        if done.lost:
            report.add("lost", done.lost)
        if done.started:
            report.add("gap", f"it started {done.started} "
                       + ("process" if done.started == 1 else "processes"))
        kept = {report.path(place) for kind, place, *_ in done.operations
                if kind in ("rename", "remove")}
        for operation in done.operations:
            try:
                report.operation(operation, kept)
            except (TypeError, ValueError):     # not a path: the call fails
                pass
        return report.text()

    def _say(self, sentence: str) -> None:
        if not self.quiet:
            sys.stderr.write(f"roar: {sentence}\n")


def record(name: str, *, quiet: bool = False) -> Record:
    """Records a block of this process as a step, or each call of a function:

        with roar.record("train"):
            ...

    The block's `result` is a dict afterwards: job_uid, step_ref, verdict, gaps,
    inputs_count, outputs_count; None if it was not recorded.  An exception in the block is
    recorded as exit status 1 and goes on.  Under `roar run`, and in another block, it does
    nothing but say so."""
    return Record(name, quiet)


# ---- Jupyter ----

def load_ipython_extension(shell: Any) -> None:
    """`%load_ext roar` gives notebooks the magic `%%roar NAME`, which records a cell."""

    def roar(line: str, cell: str) -> Any:
        with Record(line.strip() or "cell") as block:
            done = shell.run_cell(cell)
            if not getattr(done, "success", True):
                block.exit_code = 1
        return None

    shell.register_magic_function(roar, magic_kind="cell", magic_name="roar")
