"""Types of other packages whose memory is sent outside the pickle."""

from __future__ import annotations

import operator
import sys
from typing import Any, Callable, Sequence

import _roar_arena

# Types that have their way, or that pickle handles before it asks.
OWN = (bytes, bytearray, memoryview, str, int, float, bool, tuple, list, dict,
       type(None))
OWN_ELSEWHERE = (("numpy", "ndarray"), ("torch", "Tensor"),
                 ("torch", "nn.Parameter"))


def _imported(module: str, name: str) -> Any:
    """An attribute of a module, if it is imported, perhaps partially."""
    try:
        return operator.attrgetter(name)(sys.modules.get(module))
    except AttributeError:
        return None


def _has_own_way(cls: type) -> bool:
    """Does roar encode this type itself?  Its package is imported if it exists."""
    return cls in OWN or any(_imported(*name) is cls for name in OWN_ELSEWHERE)


def register(cls: type, to_buffers: Callable[[Any], tuple[Any, Sequence[Any]]],
             from_buffers: Callable[[Any, list[memoryview]], Any]) -> None:
    """Sends objects of exactly this class through arenas with their memory
    outside the pickle.

    to_buffers(obj) -> (state, buffers)
        buffers is a sequence of objects with contiguous memory (bytes,
        memoryview, array); state is anything that can be pickled.
    from_buffers(state, buffers) -> obj
        gets one memoryview per buffer: of the arena, and then the object must
        keep a reference to each buffer it uses, or of private memory if the
        arena copies.  The receiver imports the function by name and needs no
        registration.

    A later registration for the same class replaces the first.
    """
    if not isinstance(cls, type):
        raise TypeError(f"register() takes a class, not {cls!r}")
    if _has_own_way(cls):
        raise ValueError(f"{cls.__name__} cannot be registered: roar has its "
                         "own encoding for it")
    if not callable(to_buffers) or not callable(from_buffers):
        raise TypeError("to_buffers and from_buffers must be functions")
    _roar_arena.register(cls, to_buffers, from_buffers)
