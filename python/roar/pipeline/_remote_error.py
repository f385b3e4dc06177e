"""Exceptions on their way from a worker to its parent.

An exception travels as a pickle, so that ``except ValueError`` means the same on both
sides, and its traceback as text: it becomes the ``__cause__``, as it does with
concurrent.futures.  What cannot be pickled, or not be put together again (a class with
an ``__init__`` of its own, a class of a script that the parent cannot import), arrives
as a RuntimeError that says what it was.
"""

from __future__ import annotations

import pickle
import traceback
from typing import NamedTuple

__all__ = ["PackedError", "RemoteTraceback", "pack_error", "unpack_error"]


class RemoteTraceback(Exception):
    """The traceback of an exception in another process, as its cause."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class PackedError(NamedTuple):
    """An exception in transit."""

    pickled: bytes | None
    summary: str  # "ValueError: odd", for when the pickle is of no use
    traceback: str


def pack_error(error: BaseException) -> PackedError:
    """`error` as plain data."""
    text = "".join(traceback.format_exception(error))
    summary = "".join(traceback.format_exception_only(error)).strip()
    return PackedError(_pickled(error), summary, text)


def _pickled(error: BaseException) -> bytes | None:
    if not isinstance(error, Exception):
        return None  # SystemExit of a worker is not to end its parent
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        return None
    return data


def unpack_error(packed: PackedError) -> Exception:
    """The exception to be raised here."""
    error: object = None
    if packed.pickled is not None:
        try:
            error = pickle.loads(packed.pickled)
        except Exception:
            error = None
    if not isinstance(error, Exception):
        error = RuntimeError(f"A worker process failed: {packed.summary}")
    error.__cause__ = RemoteTraceback(packed.traceback)
    return error
