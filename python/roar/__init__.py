"""roar: the flight recorder and data plane of ML training.

    Arena                    objects between processes, through shared memory
    SharedMemoryRingBuffer   the same, copied out, under SPDL's name
    SharedMemorySegmentPool  the same as views, under SPDL's name
    collate_into             batches stacked straight into an arena
    register                 lets types of other packages move like arrays
    TrainingOrchestrator     the workers of a job: places, barriers, keys
    init_from_env            the same, for processes of torchrun, Slurm, MPI, Ray

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
    from ._coord_errors import (BarrierBroken, BarrierTimeout,
                                CoordinatorError)
    from ._launch import init_from_env
    from .coordinator import TrainingOrchestrator
    from .loader import DataLoader

__version__ = "0.1.0"
__all__ = [
    "Arena", "ArenaClosed", "ArenaEmpty", "ArenaError", "ArenaFull",
    "ArenaInvalid", "ArenaNoMemory", "ArenaTooLarge", "BarrierBroken",
    "BarrierTimeout", "CoordinatorError", "DataLoader", "Item", "NotAParty",
    "PeerDied", "SharedMemoryRingBuffer", "SharedMemorySegmentPool",
    "TrainingOrchestrator", "collate_into", "init_from_env", "register",
]

# Imported when they are asked for: they need torch, or protobuf-c.
_LATER = {
    "BarrierBroken": ("roar._coord_errors", "BarrierBroken"),
    "BarrierTimeout": ("roar._coord_errors", "BarrierTimeout"),
    "CoordinatorError": ("roar._coord_errors", "CoordinatorError"),
    "DataLoader": ("roar.loader", "DataLoader"),
    "TrainingOrchestrator": ("roar.coordinator", "TrainingOrchestrator"),
    "init_from_env": ("roar._launch", "init_from_env"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'roar' has no attribute {name!r}")
    module, attribute = _LATER[name]
    return getattr(importlib.import_module(module), attribute)
