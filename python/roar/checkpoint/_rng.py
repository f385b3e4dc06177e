"""The states of the random generators of a process."""

from __future__ import annotations

import random
import sys
from typing import Any


def rng_state() -> dict[str, Any]:
    """The states of Python's, NumPy's and torch's generators, for save(rng=...).

    Only packages that are imported already are asked, and of torch's GPUs only those
    that are in use."""
    version, numbers, gauss = random.getstate()
    state: dict[str, Any] = {"python": [version, list(numbers), gauss]}
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        state["numpy"] = list(numpy.random.get_state())
    if torch is not None:
        state["torch"] = torch.get_rng_state()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set_rng_state(state: dict[str, Any]) -> None:
    """Sets the generators to what rng_state() returned, also in another process."""
    if "python" in state:
        version, numbers, gauss = state["python"]
        random.setstate((version, tuple(numbers), gauss))
    if "numpy" in state:
        import numpy
        kind, keys, position, has_gauss, gauss = state["numpy"]
        numpy.random.set_state((kind, keys, position, has_gauss, gauss))
    if "torch" in state:
        import torch
        torch.set_rng_state(torch.as_tensor(state["torch"], dtype=torch.uint8).clone())
    if "cuda" in state:
        import torch
        if torch.cuda.is_available():
            torch.cuda.set_rng_state_all([s.clone() for s in state["cuda"]])
