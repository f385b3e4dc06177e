"""roar: the flight recorder and data plane of ML training.

    Arena                    objects between processes, through shared memory
    SharedMemoryRingBuffer   the same, copied out, under SPDL's name
    SharedMemorySegmentPool  the same as views, under SPDL's name
    collate_into             batches stacked straight into an arena
    register                 lets types of other packages move like arrays
    TrainingOrchestrator     the workers of a job: places, barriers, keys
    init_from_env            the same, for processes of torchrun, Slurm, MPI, Ray
    hash, hash_file          what bytes and files are, by their content
    hash_files               the same for many files at once
    SampleOrder              in which order a rank's samples come, epoch by epoch
    MixedOrder, Part         the same of several datasets, mixed by weight
    Ranges                   sets of positions: what of an epoch was consumed
    shards                   a rank's samples of a dataset, read ahead
    DatasetRegistry          datasets, their workers, and which shards are whose
    record                   a block of this process as a step of roar's record
    lineage, last_run        what is recorded of a file, and of the latest run
    DataLoader               torch's, with batches that move through an arena

The modules checkpoint, coordinator, dataset, media, order, pipeline and readers
are imported when they are first used, as `roar.readers` and so on.

Neither NumPy nor torch is needed; where they are, their arrays and tensors
move without being pickled.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from ._arena import Arena, Item
from ._errors import (ArenaClosed, ArenaEmpty, ArenaError, ArenaFull,
                      ArenaInvalid, ArenaNoMemory, ArenaTooLarge, NotAParty,
                      PeerDied)
from ._registry import register
from ._shared_memory import SharedMemoryRingBuffer, SharedMemorySegmentPool
from .collate import collate_into

if TYPE_CHECKING:
    from . import (checkpoint, coordinator, dataset, media,  # noqa: F401
                   order, pipeline, readers)
    from ._coord_errors import (BarrierBroken, BarrierTimeout,
                                CoordinatorError, WorldChanged)
    from ._launch import init_from_env
    from ._shards import shards
    from .coordinator import TrainingOrchestrator
    from .dataset import DatasetRegistry, ShardInfo
    from ._program import LineageError, last_run, lineage
    from ._record import load_ipython_extension, record  # noqa: F401
    from ._hash import FileHash, hash as hash, hash_file, hash_files  # noqa: F401
    from .loader import DataLoader  # noqa: F401
    from .order import MixedOrder, Part, Ranges, SampleOrder

__version__ = "0.1.0"
# `from roar import *` leaves Python's own hash() as it is and needs no torch, so
# "hash" and "DataLoader" are public and not in this list.
__all__ = [
    "Arena", "ArenaClosed", "ArenaEmpty", "ArenaError", "ArenaFull",
    "ArenaInvalid", "ArenaNoMemory", "ArenaTooLarge", "BarrierBroken",
    "BarrierTimeout", "CoordinatorError", "DatasetRegistry", "FileHash",
    "Item", "LineageError", "MixedOrder", "NotAParty", "Part", "PeerDied", "Ranges",
    "SampleOrder", "ShardInfo", "SharedMemoryRingBuffer",
    "SharedMemorySegmentPool", "TrainingOrchestrator", "WorldChanged",
    "collate_into", "hash_file", "hash_files", "init_from_env", "last_run",
    "lineage", "record", "register", "shards",
]

# Imported when they are first used: they take time, and some need torch, FFmpeg,
# protobuf-c or libcrypto.
_MODULES = ("checkpoint", "coordinator", "dataset", "media", "order", "pipeline",
            "readers")
_LATER = {
    "BarrierBroken": "roar._coord_errors",
    "BarrierTimeout": "roar._coord_errors",
    "CoordinatorError": "roar._coord_errors",
    "DataLoader": "roar.loader",
    "DatasetRegistry": "roar.dataset",
    "FileHash": "roar._hash",
    "LineageError": "roar._program",
    "MixedOrder": "roar.order",
    "Part": "roar.order",
    "Ranges": "roar.order",
    "SampleOrder": "roar.order",
    "ShardInfo": "roar.dataset",
    "TrainingOrchestrator": "roar.coordinator",
    "WorldChanged": "roar._coord_errors",
    "hash": "roar._hash",
    "hash_file": "roar._hash",
    "hash_files": "roar._hash",
    "init_from_env": "roar._launch",
    "last_run": "roar._program",
    "lineage": "roar._program",
    "load_ipython_extension": "roar._record",
    "record": "roar._record",
    "shards": "roar._shards",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"roar.{name}")  # becomes an attribute
    if name not in _LATER:
        raise AttributeError(f"module 'roar' has no attribute {name!r}")
    try:
        found = getattr(importlib.import_module(_LATER[name]), name)
    except ModuleNotFoundError as error:
        raise _absent(name, error, sys._getframe(1).f_code.co_name) from error
    globals()[name] = found  # the next use does not come here
    return found


def _absent(name: str, error: ModuleNotFoundError, caller: str) -> Exception:
    """An AttributeError, which hasattr(), inspect and pydoc expect.  The statement
    `from roar import NAME` asks by importlib's _handle_fromlist() and would replace
    its sentence by one that does not name the package, so it gets an ImportError."""
    package = str(error.name).partition(".")[0]
    sentence = (f"roar.{name} needs the package {package!r}, which is not installed: "
                f"run 'pip install {package}'")
    if caller == "_handle_fromlist":
        return ImportError(sentence, name=error.name)
    return AttributeError(sentence)


def __dir__() -> list[str]:
    special = {name for name in globals() if name.startswith("__")}
    return sorted({*special, *__all__, *_LATER, *_MODULES})
