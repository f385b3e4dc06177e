"""Checkpoints from and to files of torch: torch.save(), and directories of torch's DCP."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ._errors import CheckpointError
from ._memory import imported
from ._save import save
from ._load import load

AnyPath = str | os.PathLike[str]


def _torch(why: str) -> Any:
    torch = imported("torch")
    if torch is None:
        raise CheckpointError(f"{why} needs the package torch: run 'pip install torch'")
    return torch


def import_torch(path: AnyPath, url: AnyPath, step: int, **more: Any) -> None:
    """Saves the content of a file that torch.save() wrote as a checkpoint.

        roar.checkpoint.import_torch("model.pt", "runs/7", step=1000)

    The file is read by torch.load(weights_only=True), which runs no code of the file.
    `more` are arguments of save().

    Raises CheckpointError if the file holds more than tensors and plain values.
    """
    torch = _torch("import_torch()")
    try:
        state = torch.load(os.fspath(path), map_location="cpu", weights_only=True)
    except Exception as error:
        if isinstance(error, OSError):
            raise
        raise CheckpointError(
            f"'{os.fspath(path)}' cannot be imported: torch.load(weights_only=True) "
            f"reports {str(error).splitlines()[0]!r}; save a file of tensors and plain "
            "values") from error
    save(state, url, step, asynchronous=False, **more)


def import_dcp(path: AnyPath, url: AnyPath, step: int, **more: Any) -> None:
    """Saves the content of a directory of torch.distributed.checkpoint as a checkpoint.

    The whole state is read into memory, in one process.  Its `.metadata` is a pickle of
    torch's own, so import only directories that you trust.  `more` are arguments of save().
    """
    torch = _torch("import_dcp()")
    try:
        dcp = importlib.import_module("torch.distributed.checkpoint")
        planner = importlib.import_module("torch.distributed.checkpoint.default_planner")
        loader = importlib.import_module("torch.distributed.checkpoint.state_dict_loader")
    except ImportError as error:
        raise CheckpointError(
            f"this torch ({torch.__version__}) cannot read directories of DCP: update to "
            "torch 2.3 or later") from error
    state: dict[str, Any] = {}
    loader._load_state_dict(state, storage_reader=dcp.FileSystemReader(os.fspath(path)),
                            planner=planner._EmptyStateDictLoadPlanner(), no_dist=True)
    save(state, url, step, asynchronous=False, **more)


def export_torch(url: AnyPath, path: AnyPath, step: int | None = None) -> None:
    """Writes a checkpoint's state into one file for torch.load(weights_only=True).

    The file is complete or does not appear: it is written beside its name and renamed.
    """
    torch = _torch("export_torch()")
    state = load(url, step, framework="torch")
    target = os.fspath(path)
    temporary = f"{target}.{os.getpid()}.tmp"
    try:
        with open(temporary, "xb") as f:
            torch.save(state, f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
