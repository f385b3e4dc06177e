"""Saving in the background: a copy of the state, and a thread that writes it.

The C code copies by all CPUs, into memory that is kept for the next save: fresh memory
would take longer to map than to fill.  There is one copy at a time, so the memory beyond
the state is bounded by the size of the state; a second save waits for the first.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from typing import Any

from ._errors import CheckpointError, CheckpointFailed
from ._save import (Members, Part, Piece, Saved, SavedPart, pieces_of, request_of)
from ._sources import Source
from ._together import Together, telling

_turn = threading.Lock()        # held while a save goes on
_pending: list[PendingSave] = []
_of_parent: list[Any] = []


class PendingSave:
    """A save that goes on in the background; save(asynchronous=True) returns it."""

    def __init__(self, saved: Saved, request: Any) -> None:
        self._saved, self._request = saved, request
        self._last = (0, 0)
        self._error: BaseException | None = None
        self._done = threading.Event()

    def done(self) -> bool:
        """Has it ended, well or not?"""
        return self._done.is_set()

    @property
    def progress(self) -> tuple[int, int]:
        """(bytes done, bytes of this rank's file)"""
        request = self._request
        if request is not None:
            self._last = request.progress()
        return self._last

    def _end(self) -> None:
        """Lets go of the copy."""
        self._last, self._request = self._request.progress(), None

    def wait(self, timeout: float | None = None) -> Saved:
        """Waits until the checkpoint is durable.  Raises the error if the save failed, and
        TimeoutError after `timeout` seconds."""
        if not self._done.wait(timeout):
            raise TimeoutError(f"'{self._saved.path}' is not saved after {timeout:g} s: "
                               "%d of %d bytes" % self.progress)
        if self in _pending:
            _pending.remove(self)
        if self._error is not None:
            raise self._error
        return self._saved

    def __repr__(self) -> str:
        done, total = self.progress
        return f"<PendingSave of '{self._saved.path}', {done} of {total} bytes>"


def raise_failures() -> None:
    """Raises the error of a save in the background that has failed since the last call."""
    for pending in [p for p in _pending if p.done()]:
        try:
            pending.wait()
        except (CheckpointError, OSError, MemoryError) as error:
            raise CheckpointFailed(
                f"the save of '{pending._saved.path}' has failed in the background: "
                f"{error}") from error


# ---- the thread ----

def begin(url: str, part: Part, sources: Mapping[str, Source], members: Members,
          saved: Saved, timeout: float, threads: int,
          together: Together | None = None) -> PendingSave:
    """Copies the tensors and starts the save.  `timeout`: how long other ranks may take."""
    _turn.acquire()
    try:
        raise_failures()
        pieces = pieces_of(sources)
        request = request_of(url, part, pieces, members, threads, together is not None)
        if all(piece.is_copy for piece in pieces):      # such as those of a GPU
            keep = pieces
        else:
            request.copy()
            keep = []
        pending = PendingSave(saved, request)
        thread = threading.Thread(
            target=_run, name=f"roar-save-{part.step}", daemon=True,
            args=(pending, url, part, request, keep, timeout, together))
        _pending.append(pending)
        thread.start()
    except BaseException:
        _turn.release()
        raise
    return pending


def _run(pending: PendingSave, url: str, part: Part, request: Any, keep: list[Piece],
         timeout: float, together: Together | None) -> None:
    try:
        with telling(together):
            written, size, handle = request.run()
        pending._saved = pending._saved._replace(written_bytes=written, size_bytes=size)
        if handle is not None:
            SavedPart(pending._saved, part, url, handle, together).end(timeout)
    except BaseException as error:      # the caller gets it
        pending._error = error
        request.failed(str(error).replace("\0", " ")[:1000])
    finally:
        keep.clear()
        pending._end()
        del request
        _turn.release()
        pending._done.set()


def _forget_in_child() -> None:
    """The thread of a save does not exist in a forked child: the parent's goes on."""
    global _turn
    _turn = threading.Lock()
    for pending in _pending:
        if not pending.done():
            pending._last = (0, 0)
            _of_parent.append(pending._request)     # its C state was in use: never freed
            pending._request = None
            pending._error = CheckpointError(
                f"the save of '{pending._saved.path}' goes on in the parent process, "
                "which alone can wait for it")
            pending._done = threading.Event()
            pending._done.set()
    _pending.clear()


def _wait_at_exit() -> None:
    """A program that ends normally has its checkpoint; a failure is still reported."""
    for pending in list(_pending):
        pending.wait()


os.register_at_fork(after_in_child=_forget_in_child)
atexit.register(_wait_at_exit)
