"""Transfer of exceptions from a worker to its parent.

An exception travels as a pickle, so that ``except ValueError`` means the same on both
sides, and its traceback as text: it becomes the ``__cause__``, as it does with
concurrent.futures.  A class whose ``__init__`` wants other arguments than it handed on is
put together without it, and attributes that cannot be pickled stay behind.  What the
parent cannot import arrives as a RuntimeError that says what it was.  What an exception
was raised from travels with it, and has the text in its place.
"""

from __future__ import annotations

import pickle
import traceback
from typing import Any, NamedTuple

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
    cause: bytes | None = None  # pickled too


def pack_error(error: BaseException) -> PackedError:
    """`error` as plain data."""
    text = "".join(traceback.format_exception(error))
    summary = "".join(traceback.format_exception_only(type(error), error)).strip()
    cause = error.__cause__
    return PackedError(_pickled(error), summary, text,
                       _pickled(cause) if cause is not None else None)


def _pickled(error: BaseException) -> bytes | None:
    if not isinstance(error, Exception):
        return None  # SystemExit of a worker is not to end its parent
    for form in (error, _Bare(error)):
        try:
            data = pickle.dumps(form)
            if str(pickle.loads(data)) == str(error):
                return data
        except Exception:
            continue
    return None


class _Bare:
    """Pickles an exception as its class, its arguments and its attributes."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __reduce__(self) -> tuple[Any, ...]:
        error = self._error
        args = tuple(a if _can_travel(a) else repr(a) for a in error.args)
        state = {k: v for k, v in vars(error).items() if _can_travel(v)}
        return _without_init, (type(error), args, state)


def _can_travel(value: Any) -> bool:
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:
        return False
    return True


def _without_init(
    cls: type[Exception], args: tuple[Any, ...], state: dict[str, Any]
) -> Exception:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


def unpack_error(packed: PackedError) -> Exception:
    """The exception to be raised here."""
    error = _unpickled(packed.pickled)
    if error is None:
        error = RuntimeError(f"A worker process failed: {packed.summary}")
    cause = _unpickled(packed.cause)
    (cause or error).__cause__ = RemoteTraceback(packed.traceback)
    if cause is not None:
        error.__cause__ = cause
    return error


def _unpickled(data: bytes | None) -> Exception | None:
    if data is None:
        return None
    try:
        error = pickle.loads(data)
    except Exception:
        return None
    return error if isinstance(error, Exception) else None
