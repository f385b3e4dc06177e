"""Converts arguments of roar.coordinator to the format of messages."""

from __future__ import annotations

import math
import time
from typing import Any, Mapping, Sequence

from . import _checks

JOBS = "/coordinator.Coordinator/"
CONTROL = "/roar.Control/"
_POLICIES = {None: 0, "default": 0, "fail": 1, "shrink": 2, "wait": 3}
_LONGEST_MS = 1 << 53


def milliseconds(name: str, value: float | None) -> int:
    """Seconds as milliseconds for the C extension; None and infinity: for ever."""
    if value is None:
        return -1
    number = _checks.seconds(name, value) * 1000
    return -1 if number > _LONGEST_MS else math.ceil(number)


def words(name: str, value: Mapping[str, Any] | None) -> dict[str, str]:
    """Metadata: names and texts."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be a dict, not {value!r:.80}")
    return {str(key): str(text) for key, text in value.items()}


def ids(name: str, value: Sequence[str] | None) -> list[str] | None:
    """Ids of workers; None: all.  An empty list is refused: in a message it would
    mean all workers, which the caller hardly intends."""
    if value is None:
        return None
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} must be a list of ids, not {value!r:.80}")
    found = list(value)
    for item in found:
        if not isinstance(item, str):
            raise TypeError(f"{name} must have ids, not {item!r:.80}")
    if not found:
        raise ValueError(f"{name} is empty; give None for all workers")
    return found


_DIGEST = 32    # bytes of BLAKE3
_SENTENCE = 512     # bytes


def digest_of(name: str, value: bytes | str) -> bytes:
    """A BLAKE3 as bytes or as hexadecimal digits."""
    try:
        found = bytes.fromhex(value) if isinstance(value, str) else bytes(value)
    except (TypeError, ValueError):
        found = b""
    if len(found) != _DIGEST:
        raise ValueError(f"{name} must be {_DIGEST} bytes, or {2 * _DIGEST} "
                         f"hexadecimal digits, not {value!r:.80}")
    return found


def sentence_of(text: Any) -> str:
    """A text for people, as short and printable as the coordinator takes it."""
    plain = "".join(c if c.isprintable() else " " for c in str(text)).strip()
    return plain.encode("utf-8", "replace")[:_SENTENCE].decode(
        "utf-8", "ignore") or "no reason was given"


def policy_number(name: str | None) -> int:
    if name not in _POLICIES:
        raise ValueError("policy must be 'fail', 'shrink' or 'wait', not "
                         f"{name!r:.80}")
    return _POLICIES[name]


def bytes_of(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    try:
        return memoryview(value).tobytes()
    except TypeError:
        raise TypeError("a value must be bytes or a str, not "
                        f"{value!r:.80}") from None


def ttl_ms(ttl: float | None) -> int:
    """Milliseconds; 0 for a key that does not expire."""
    if ttl is None:
        return 0
    number = milliseconds("ttl", ttl)
    if number == 0:
        raise ValueError("ttl must be more than 0 seconds, or None for ever")
    return max(0, number)


def generation_of(step: int | None) -> int:
    """Steps are counted from 0, generations from 1; 0: the client counts."""
    if step is None:
        return 0
    return _checks.whole("step", step, 0, (1 << 62) - 1) + 1


class Deadline:
    """The time left of a timeout."""

    def __init__(self, timeout: float | None,
                 name: str = "timeout") -> None:
        number = math.inf if timeout is None else \
            _checks.seconds(name, timeout)
        self._end = None if math.isinf(number) else time.monotonic() + number

    def left(self) -> float | None:
        """Seconds left; None: for ever."""
        return None if self._end is None else \
            max(0.0, self._end - time.monotonic())
