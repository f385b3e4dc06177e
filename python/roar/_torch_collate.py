"""Torch's default_collate, with the stack made where the batch will be sent from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data._utils import collate as torch_collate

from ._batches import empty

__all__ = ["ArenaCollate"]


class ArenaCollate:
    """Collates as torch.utils.data.default_collate does, in a worker."""

    def __call__(self, batch: Sequence[Any]) -> Any:
        functions = dict(torch_collate.default_collate_fn_map)
        if functions.get(torch.Tensor) is torch_collate.collate_tensor_fn:
            functions[torch.Tensor] = _stack
        return torch_collate.collate(batch, collate_fn_map=functions)


def _stack(batch: Sequence[torch.Tensor], *, collate_fn_map: Any = None) -> Any:
    first = batch[0]
    ordinary = (
        type(first) is torch.Tensor
        and first.device.type == "cpu"
        and first.layout is torch.strided
        and not first.is_quantized
        and not first.is_nested
    )
    if not ordinary:
        return torch_collate.collate_tensor_fn(batch, collate_fn_map=collate_fn_map)
    shape = (len(batch), *first.shape)
    out = empty(shape, first.dtype)
    return torch.stack(batch, 0, out=first.new_empty(shape) if out is None else out)
