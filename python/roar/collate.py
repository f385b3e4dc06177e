"""Batches that are stacked directly in an arena.

    collate = roar.collate_into(arena)
    arena.send(collate([dataset[i] for i in indices]))

Each sample is copied once, into the shared memory; sending the batch copies
nothing.
"""

from __future__ import annotations

import collections.abc
import importlib.util
import math
import numbers
import sys
from typing import Any, Callable

from . import _arena, _checks, _empty, _errors

ALIGN = 64


def collate_into(arena: _arena.Arena, *, like: str | None = None,
                 timeout: float | None = None
                 ) -> Callable[[list[Any]], Any]:
    """Returns a function that makes one batch of a list of samples.

    Arrays and tensors of one shape and dtype are stacked; numbers become an
    array, if one can hold them all; dictionaries, tuples and lists are
    traversed; anything else stays a list, including mixtures and masked arrays.
    like="torch" makes tensors of arrays and numbers, as torch's default_collate
    does.  A batch that does not fit a unit of the arena is made in ordinary
    memory.
    """
    if like not in (None, "torch"):
        raise ValueError(f"like must be None or 'torch', not {like!r}")
    timeout_ns = (arena._timeout_ns if timeout is None else
                  _checks.nanoseconds("timeout", timeout, -1))
    return _Collate(arena, like == "torch", timeout_ns)


class _Stack:
    """Samples that will be one array, and where."""

    def __init__(self, samples: list[Any], torch: bool) -> None:
        self.samples = samples
        self.torch = torch
        self.dtype = samples[0].dtype
        self.shape = (len(samples), *samples[0].shape)
        itemsize = (_empty.torch_itemsize(self.dtype) if torch
                    else self.dtype.itemsize)
        self.nbytes = math.prod(self.shape) * itemsize
        self.offset = 0

    def fill(self, view: Any) -> Any:
        """The batch; in `view`, or by itself without one."""
        if self.torch:
            import torch
            out = None if view is None else _empty.over_torch(
                view, self.offset, self.shape, self.dtype)
            return torch.stack(self.samples, 0, out=out)
        import numpy
        out = None if view is None else _empty.over_numpy(
            view, self.offset, self.shape, self.dtype)
        return numpy.stack(self.samples, 0, out=out)


class _Collate:
    """First a plan of what goes where, then one reservation for all."""

    def __init__(self, arena: _arena.Arena, torch: bool,
                 timeout_ns: int) -> None:
        self.arena = arena
        self.as_torch = torch
        self.timeout_ns = timeout_ns

    def __call__(self, samples: list[Any]) -> Any:
        if not samples:
            raise ValueError("a batch needs at least one sample")
        stacks: list[_Stack] = []
        plan = self._plan(list(samples), stacks)
        return self._fill(plan, self._reserve(stacks))

    def _reserve(self, stacks: list[_Stack]) -> Any:
        size = 0
        for stack in stacks:
            stack.offset = size
            size += -(-stack.nbytes // ALIGN) * ALIGN
        if not size:
            return None
        try:
            return _empty.reserve(self.arena._handle, size, self.timeout_ns)
        except _errors.ArenaTooLarge:
            return None

    def _plan(self, samples: list[Any], stacks: list[_Stack]) -> Any:
        first = samples[0]
        if isinstance(first, collections.abc.Mapping):
            return {key: self._plan([s[key] for s in samples], stacks)
                    for key in first}
        if isinstance(first, tuple) and hasattr(first, "_fields"):
            return type(first)(*self._columns(samples, stacks))
        if isinstance(first, (tuple, list)):
            columns = self._columns(samples, stacks)
            return columns if self.as_torch else type(first)(columns)
        arrays = self._arrays(samples)
        if arrays is None:
            return samples
        stacks.append(arrays)
        return arrays

    def _columns(self, samples: list[Any], stacks: list[_Stack]) -> list[Any]:
        if len({len(s) for s in samples}) != 1:
            raise ValueError("the samples of a batch must have the same number of "
                             "elements")
        return [self._plan(list(column), stacks) for column in zip(*samples)]

    def _arrays(self, samples: list[Any]) -> _Stack | None:
        """What can be stacked, or None."""
        numpy = sys.modules.get("numpy")
        torch = sys.modules.get("torch")
        kinds = _kinds(numpy, torch)
        if isinstance(samples[0], (bool, int, float)):
            array = self._numbers(samples)
            return _stack_of(array, self.as_torch) if array else None
        kind = next((k for k in kinds if isinstance(samples[0], k)), None)
        if kind is None or not all(isinstance(s, kind) for s in samples):
            return None
        if torch is not None and kind is torch.Tensor:
            return _stack_of(samples, True)
        assert numpy is not None
        if any(isinstance(s, numpy.ma.MaskedArray) for s in samples):
            return None
        if self.as_torch:
            samples = _as_tensors(samples)
        else:
            samples = [numpy.asarray(s) for s in samples]
        return _stack_of(samples, self.as_torch)

    def _numbers(self, samples: list[Any]) -> list[Any] | None:
        """An array's worth of numbers, or None when an array cannot hold them."""
        if not all(isinstance(s, numbers.Number) for s in samples):
            return None
        if self.as_torch:
            import torch
            kind = torch.float64 if isinstance(samples[0], float) else None
            return list(torch.tensor(samples, dtype=kind))
        if not importlib.util.find_spec("numpy"):
            return None
        import numpy
        array = numpy.asarray(samples)
        whole = all(isinstance(s, numbers.Integral) for s in samples)
        if array.dtype.kind not in ("biu" if whole else "biufc"):
            return None
        return list(array)

    def _fill(self, plan: Any, view: Any) -> Any:
        if isinstance(plan, _Stack):
            return plan.fill(view)
        if isinstance(plan, dict):
            return {key: self._fill(part, view) for key, part in plan.items()}
        if isinstance(plan, tuple) and hasattr(plan, "_fields"):
            return type(plan)(*(self._fill(part, view) for part in plan))
        if isinstance(plan, (tuple, list)):
            return type(plan)([self._fill(part, view) for part in plan])
        return plan


def _kinds(numpy: Any, torch: Any) -> list[Any]:
    """What is stacked with its like, of the packages that are there."""
    kinds: list[Any] = [] if torch is None else [torch.Tensor]
    return kinds if numpy is None else [*kinds, (numpy.ndarray, numpy.generic)]


def _as_tensors(samples: list[Any]) -> list[Any]:
    import torch
    return [torch.as_tensor(s) for s in samples]


def _stack_of(samples: list[Any], torch: bool) -> _Stack | None:
    """None for what has no bytes to be stacked: graphs, objects, mixtures."""
    first = samples[0]
    if torch and any(s.requires_grad or s.is_sparse or not s.is_cpu
                     or s.dtype != first.dtype for s in samples):
        return None
    if not torch and (first.dtype.hasobject
                      or any(s.dtype != first.dtype for s in samples)):
        return None
    if any(s.shape != first.shape for s in samples):
        raise ValueError("the samples of a batch must have one shape, not "
                         f"{tuple(first.shape)} and others")
    return _Stack(samples, torch)
