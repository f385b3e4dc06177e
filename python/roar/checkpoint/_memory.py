"""Memory of tensors: where it is, how the C code gets it, and how new memory is made.

New memory lies so that a byte of a file and its place agree modulo the page size: the
reader then reads straight into it.  Tensors of a GPU are copied through pinned memory, in
pieces of bounded size.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import mmap
import sys
from typing import Any

from ._errors import CheckpointError
from ._sources import is_numpy, is_torch
from ._types import SIZES, buffer_format, is_pair, numpy_type, torch_type

STAGING = 256 << 20     # bytes of pinned memory in use at once
HUGE = 2 << 20


def imported(name: str) -> Any:
    """The module, or None where it is not installed."""
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def size_of(stored: str, shape: tuple[int, ...]) -> int:
    return math.prod(shape) * SIZES[stored]


# ---- memory to be written to a file ----

def is_on_device(data: Any) -> bool:
    """Is it memory that this CPU cannot read?"""
    return is_torch(data) and data.device.type != "cpu"


def contiguous(data: Any) -> Any:
    """The same elements in C order in the CPU's memory: `data` itself, or a copy."""
    if is_on_device(data):
        return from_device(data)
    if is_torch(data):
        return data.contiguous()
    if is_numpy(data) and not data.flags.c_contiguous:
        return sys.modules["numpy"].ascontiguousarray(data)
    return data


def handle_of(data: Any) -> Any:
    """What the C code takes for contiguous memory: an address, or a buffer."""
    if is_torch(data):
        return data.data_ptr()
    if is_numpy(data):
        return data.__array_interface__["data"][0]
    return data


def from_device(data: Any) -> Any:
    """A copy of a GPU's tensor in pinned memory, which torch keeps for the next one."""
    torch = sys.modules["torch"]
    pinned = torch.empty(data.shape, dtype=data.dtype,
                         pin_memory=data.device.type == "cuda")
    pinned.copy_(data, non_blocking=True)
    return pinned


def wait_for_devices(tensors: list[Any]) -> None:
    """Waits until the copies that were started from these are complete."""
    torch = sys.modules.get("torch")
    devices = {str(t.device): t.device for t in tensors if is_on_device(t)}
    for device in devices.values():
        if device.type == "cuda" and torch is not None:
            torch.cuda.current_stream(device).synchronize()


# ---- memory for what is read ----

class Region:
    """Anonymous memory for the bytes from `begin` to `end` of a file."""

    def __init__(self, begin: int, end: int) -> None:
        self._page = begin - begin % mmap.PAGESIZE
        self.memory = mmap.mmap(-1, max(end - self._page, 1),
                                flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if end - begin >= 2 * HUGE:
            self.memory.madvise(mmap.MADV_HUGEPAGE)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))

    def address(self, at: int) -> int:
        """Where the byte `at` of the file is; good as long as a tensor of it lives."""
        return self._address + at - self._page

    def tensor(self, at: int, stored: str, shape: tuple[int, ...], framework: str,
               program: str | None) -> Any:
        """The tensor whose bytes are at `at` of the file."""
        return view_memory(self.memory, at - self._page, stored, shape, framework,
                           program)


def view_memory(memory: Any, offset: int, stored: str, shape: tuple[int, ...],
                framework: str, program: str | None) -> Any:
    """A tensor in this memory, without a copy."""
    count = math.prod(shape)
    if framework == "torch":
        return _torch_view(memory, offset, stored, shape, program, count)
    if framework == "buffer":
        view = memoryview(memory)[offset:offset + count * SIZES[stored]]
        form = buffer_format(stored)
        if form is None or not count:
            return view
        return view.cast(form, shape) if shape else view.cast(form)
    numpy = imported("numpy")
    plain = numpy_type(numpy, stored, None if is_pair(program) else program)
    if plain is None:
        raise CheckpointError(
            f"NumPy has no type for {program or stored}: install ml_dtypes, or load with "
            "framework='torch' or framework='buffer'")
    array = numpy.frombuffer(memory, plain, count, offset).reshape(shape)
    if is_pair(program):
        array = array.view(numpy_type(numpy, stored, program))[..., 0]
    return array


def _torch_view(memory: Any, offset: int, stored: str, shape: tuple[int, ...],
                program: str | None, count: int) -> Any:
    torch = imported("torch")
    plain = torch_type(torch, stored, None if is_pair(program) else program)
    if plain is None:
        raise CheckpointError(
            f"this torch ({torch.__version__}) has no type for {program or stored}: load "
            "with framework='numpy' or framework='buffer', or update torch")
    if count == 0:
        tensor = torch.empty(shape, dtype=plain)
    else:
        tensor = torch.frombuffer(memory, dtype=plain, count=count,
                                  offset=offset).view(shape)
    return torch.view_as_complex(tensor) if is_pair(program) else tensor


def framework_for(wanted: str | None, made_by: str | None) -> str:
    """torch, numpy or buffer: what is wanted, or what it was, if that is installed."""
    if wanted is not None:
        if wanted not in ("torch", "numpy", "buffer"):
            raise ValueError(f"framework is 'torch', 'numpy' or 'buffer', not {wanted!r}")
        if wanted != "buffer" and imported(wanted) is None:
            raise CheckpointError(f"framework={wanted!r} needs the package {wanted}: run "
                                  f"'pip install {wanted}'")
        return wanted
    order = {"torch": ("torch", "numpy"), "buffer": ()}.get(made_by or "",
                                                            ("numpy", "torch"))
    return next((name for name in order if imported(name) is not None), "buffer")
