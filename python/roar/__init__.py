"""roar: the flight recorder and data plane of ML training.

    Arena                    objects between processes, through shared memory
    SharedMemoryRingBuffer   the same, copied out, under SPDL's name
    SharedMemorySegmentPool  the same as views, under SPDL's name
    collate_into             batches stacked straight into an arena
    register                 lets types of other packages move like arrays

Neither NumPy nor torch is needed; where they are, their arrays and tensors
move without being pickled.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._arena import Arena, Item
from ._errors import (ArenaClosed, ArenaEmpty, ArenaError, ArenaFull,
                      ArenaInvalid, ArenaNoMemory, ArenaTooLarge, NotAParty,
                      PeerDied)
from ._registry import register
from ._shared_memory import SharedMemoryRingBuffer, SharedMemorySegmentPool
from .collate import collate_into

if TYPE_CHECKING:
    from .loader import DataLoader

__version__ = "0.1.0"
__all__ = [
    "Arena", "ArenaClosed", "ArenaEmpty", "ArenaError", "ArenaFull",
    "ArenaInvalid", "ArenaNoMemory", "ArenaTooLarge", "DataLoader", "Item",
    "NotAParty", "PeerDied", "SharedMemoryRingBuffer",
    "SharedMemorySegmentPool", "collate_into", "register",
]

# Imported when they are asked for: they need torch.
_LATER = {"DataLoader": ("roar.loader", "DataLoader")}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'roar' has no attribute {name!r}")
    module, attribute = _LATER[name]
    return getattr(importlib.import_module(module), attribute)
