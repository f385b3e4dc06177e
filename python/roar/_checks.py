"""Checks of arguments: integers within bounds, and timeouts."""

from __future__ import annotations

import math
import operator
from typing import Any

FOREVER = -1
LONGEST_NS = 1 << 62


def whole(name: str, value: Any, least: int, most: int = 1 << 46) -> int:
    """`value` as an int within bounds, or ValueError."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ValueError(
            f"{name} must be a whole number, not {_text(value)}") from None
    if not least <= number <= most:
        raise ValueError(
            f"{name} must be from {least} to {most}, not {_text(number)}")
    return number


def _text(value: Any) -> str:
    """`value` for a sentence: Python does not write out numbers of any length."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."


def seconds(name: str, value: Any) -> float:
    """`value` as a time in seconds, or ValueError."""
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number of seconds, "
                         f"not {_text(value)}") from None
    if math.isnan(number) or number < 0:
        raise ValueError(
            f"{name} must be 0 or more seconds, not {_text(value)}")
    return number


def nanoseconds(name: str, value: float | None, default: int) -> int:
    """A timeout in nanoseconds for the C extension."""
    if value is None:
        return default
    number = seconds(name, value) * 1e9
    return FOREVER if number > LONGEST_NS else math.ceil(number)
