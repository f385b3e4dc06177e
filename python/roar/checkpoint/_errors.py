"""Exceptions of checkpoints; all are subclasses of CheckpointError."""

from __future__ import annotations


class CheckpointError(RuntimeError):
    """A checkpoint could not be saved or loaded; the text names cause and remedy."""


class CheckpointExists(CheckpointError, FileExistsError):
    """Another save of the same step was committed first."""


class CheckpointMissing(CheckpointError, FileNotFoundError):
    """There is no such checkpoint, or one of its files is gone."""


class CheckpointDamaged(CheckpointError, ValueError):
    """Bytes of a file do not match its digest, or a manifest contradicts itself."""


class CheckpointFailed(CheckpointError):
    """A save in the background has failed; raised by the next call."""
