"""Checkpoints: durable, verified, resharded on load, without pickle.

    roar.checkpoint.save(state, "runs/7", step=100, metrics={"loss": 0.25})
    state = roar.checkpoint.load("runs/7")                  # the latest
    roar.checkpoint.load("runs/7", 100, into=state)         # without new memory

    save, load               one checkpoint: nested dicts and lists of tensors (torch,
                             NumPy), numbers, strings and bytes
    open_checkpoint          its tensors one by one, in slices, and what was saved beside
    CheckpointManager        those of one training: the newest are kept
    new_save_id              of a sharded save
    Shard                    a part of a tensor, for programs that divide by themselves
    rng_state, set_rng_state random generators
    import_torch, import_dcp, export_torch
                             files of torch
    dcp                      storage for torch.distributed.checkpoint

A URL is a path, file://, s3:// or gs://.  docs/checkpoint.md describes the format.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._background import PendingSave
from ._errors import (CheckpointDamaged, CheckpointError, CheckpointExists,
                      CheckpointFailed, CheckpointMissing)
from ._load import Checkpoint, TensorInfo, load, open_checkpoint
from ._manager import CheckpointInfo, CheckpointManager
from ._rng import rng_state, set_rng_state
from ._save import Saved, SavedPart, new_save_id, save
from ._sources import Shard
from ._torch_files import export_torch, import_dcp, import_torch

if TYPE_CHECKING:
    from . import dcp  # noqa: F401

__all__ = [
    "Checkpoint", "CheckpointDamaged", "CheckpointError", "CheckpointExists",
    "CheckpointFailed", "CheckpointInfo", "CheckpointManager", "CheckpointMissing",
    "PendingSave", "Saved", "SavedPart", "Shard", "TensorInfo", "export_torch",
    "import_dcp", "import_torch", "load", "new_save_id", "open_checkpoint", "rng_state",
    "save", "set_rng_state",
]


def __getattr__(name: str) -> Any:
    if name == "dcp":       # needs torch
        return importlib.import_module("roar.checkpoint.dcp")
    raise AttributeError(f"module 'roar.checkpoint' has no attribute {name!r}")
