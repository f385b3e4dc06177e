"""Types of other packages that are to move like arrays."""

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
    """What a module has, if it is there; it may be there in part."""
    try:
        return operator.attrgetter(name)(sys.modules.get(module))
    except AttributeError:
        return None


def _has_own_way(cls: type) -> bool:
    """Who has a type of another package has imported that."""
    return cls in OWN or any(_imported(*name) is cls for name in OWN_ELSEWHERE)


def register(cls: type, to_buffers: Callable[[Any], tuple[Any, Sequence[Any]]],
             from_buffers: Callable[[Any, list[memoryview]], Any]) -> None:
    """Lets objects of exactly this class go through arenas with their memory
    beside the pickle.

    to_buffers(obj) -> (state, buffers)
        buffers is a sequence of objects with contiguous memory (bytes,
        memoryview, array); state is anything that can be pickled.
    from_buffers(state, buffers) -> obj
        gets one memoryview for each: over the arena, where the object must
        keep a reference to what it uses, or over private memory when the
        arena copies.  It is a function that the receiver can import by name;
        the receiver needs no registration.

    A later registration for the same class takes the place of the first.
    """
    if not isinstance(cls, type):
        raise TypeError(f"register() takes a class, not {cls!r}")
    if _has_own_way(cls):
        raise ValueError(f"{cls.__name__} cannot be registered: roar has its "
                         "own encoding for it")
    if not callable(to_buffers) or not callable(from_buffers):
        raise TypeError("to_buffers and from_buffers must be functions")
    _roar_arena.register(cls, to_buffers, from_buffers)
