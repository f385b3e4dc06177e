"""Arrays over memory that was reserved in an arena."""

from __future__ import annotations

import importlib.util
import math
import sys
from typing import Any

from . import _checks

# name -> format as in the module struct, bytes, DLPack's kind of number
FORMATS = {
    "bool": ("?", 1, 6),
    "int8": ("b", 1, 0), "uint8": ("B", 1, 1),
    "int16": ("h", 2, 0), "uint16": ("H", 2, 1),
    "int32": ("i", 4, 0), "uint32": ("I", 4, 1),
    "int64": ("q", 8, 0), "uint64": ("Q", 8, 1),
    "float16": ("e", 2, 2), "float32": ("f", 4, 2), "float64": ("d", 8, 2),
}
LIKE = ("numpy", "torch", "memoryview", "dlpack")


def make(handle: Any, shape: Any, dtype: Any, like: str | None,
         timeout_ns: int) -> Any:
    """See Arena.empty()."""
    shape = _shape(shape)
    like = _kind(dtype, like)
    if like == "numpy":
        return _numpy(handle, shape, dtype, timeout_ns)
    if like == "torch":
        return _torch(handle, shape, dtype, timeout_ns)
    view = _view(handle, shape, dtype, timeout_ns)
    return view if like == "dlpack" else memoryview(view)


def reserve(handle: Any, nbytes: int, timeout_ns: int) -> Any:
    """Plain bytes in the arena."""
    return handle.reserve(nbytes, timeout_ns, "B", 1, 1, (nbytes,))


def over_numpy(view: Any, offset: int, shape: tuple[int, ...],
               dtype: Any) -> Any:
    """A NumPy array over a part of a view."""
    import numpy
    return numpy.ndarray(shape, dtype, view, offset)


def over_torch(view: Any, offset: int, shape: tuple[int, ...],
               dtype: Any) -> Any:
    """A tensor over a part of a view."""
    import torch
    if not math.prod(shape):
        return torch.empty(shape, dtype=dtype)
    flat = torch.frombuffer(view, dtype=dtype, offset=offset,
                            count=math.prod(shape))
    return flat.reshape(shape)


def torch_itemsize(dtype: Any) -> int:
    import torch
    return torch.empty(0, dtype=dtype).element_size()


def _shape(shape: Any) -> tuple[int, ...]:
    try:
        numbers = tuple(shape)
    except TypeError:
        numbers = (shape,)
    return tuple(_checks.whole("shape", n, 0) for n in numbers)


def _kind(dtype: Any, like: str | None) -> str:
    if like is not None:
        if like not in LIKE:
            raise ValueError(f"like must be one of {LIKE}, not {like!r}")
        return like
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(dtype, torch.dtype):
        return "torch"
    return "numpy" if importlib.util.find_spec("numpy") else "memoryview"


def _nbytes(shape: tuple[int, ...], itemsize: int) -> int:
    return _checks.whole("the array's size", math.prod(shape) * itemsize, 0)


def _numpy(handle: Any, shape: tuple[int, ...], dtype: Any,
           timeout_ns: int) -> Any:
    import numpy
    dtype = numpy.dtype("u1" if dtype is None else dtype)
    if dtype.hasobject:
        raise ValueError("an arena holds numbers and bytes, not Python "
                         f"objects: dtype {dtype} cannot be filled in place")
    view = reserve(handle, _nbytes(shape, dtype.itemsize), timeout_ns)
    return over_numpy(view, 0, shape, dtype)


def _torch(handle: Any, shape: tuple[int, ...], dtype: Any,
           timeout_ns: int) -> Any:
    import torch
    if dtype is None or isinstance(dtype, str):
        dtype = getattr(torch, dtype or "uint8", None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError("dtype must be one of torch's, such as torch.float32")
    view = reserve(handle, _nbytes(shape, torch_itemsize(dtype)), timeout_ns)
    return over_torch(view, 0, shape, dtype)


def _view(handle: Any, shape: tuple[int, ...], dtype: Any,
          timeout_ns: int) -> Any:
    name = "uint8" if dtype is None else str(dtype).rpartition(".")[2]
    if name not in FORMATS:
        raise ValueError(f"dtype must be one of {sorted(FORMATS)}, "
                         f"not {dtype!r}")
    letter, itemsize, code = FORMATS[name]
    return handle.reserve(_nbytes(shape, itemsize), timeout_ns, letter,
                          itemsize, code, shape)
