"""Random numbers in workers: generators continue with the parent's state.

A program that seeds ``random``, NumPy's legacy generator or Torch's CPU generator
expects its pipeline to follow, whatever the start method.  Only libraries that the
program has imported are looked at.  The first worker has exactly the parent's state;
each further one begins elsewhere, reproducibly, so that no two draw the same numbers.
"""

from __future__ import annotations

import random
import sys
from typing import Any

__all__ = ["RandomState"]


class RandomState:
    """The state of the global generators at the moment it is made."""

    def __init__(self) -> None:
        self._random = random.getstate()
        self._numpy: Any = None
        self._torch: bytes | None = None
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if numpy is not None and hasattr(numpy, "random"):
            self._numpy = numpy.random.get_state()
        if torch is not None and hasattr(torch, "get_rng_state"):
            # As bytes: a tensor would be sent as shared memory with a descriptor.
            self._torch = bytes(torch.get_rng_state().tolist())

    def restore(self, worker: int = 0) -> None:
        """Sets the generators of this process, which is that worker."""
        random.setstate(self._random)
        if self._numpy is not None:
            import numpy

            numpy.random.set_state(self._numpy)
        if self._torch is not None:
            import torch

            state = torch.tensor(list(self._torch), dtype=torch.uint8)
            torch.set_rng_state(state)
        if worker:
            self._diverge(worker)

    def _diverge(self, worker: int) -> None:
        random.seed(f"{random.getrandbits(128)}/{worker}")
        if self._numpy is not None:
            import numpy

            base = numpy.random.randint(0, 2**32, 4, dtype=numpy.uint32)
            numpy.random.seed([*base.tolist(), worker])
        if self._torch is not None:
            import torch

            drawn = int(torch.randint(0, 2**62, ()).item())
            torch.manual_seed(drawn ^ (worker << 20))
