"""Reading into memory that the C code cannot write to: of a GPU, or with gaps.

Boxes are cut into pieces and read into two buffers by turns.  While the pieces of one are
copied to the GPU, the other is read.  Pinned memory makes the copies asynchronous.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ._memory import STAGING, imported, is_on_device, view_memory
from ._sources import Box, cut, is_torch
from ._types import SIZES

HALF = STAGING // 2
ALIGNMENT = 64


class _Piece(NamedTuple):
    name: str
    offset: tuple[int, ...]
    shape: tuple[int, ...]
    data: Any       # the destination, of this shape
    stored: str

    @property
    def size_bytes(self) -> int:
        return math.prod(self.shape) * SIZES[self.stored]


def pieces_of(name: str, box: Box, stored: str, most: int) -> list[_Piece]:
    """The box as pieces of at most that many bytes; a single element is never cut."""
    piece = _Piece(name, box.offset, box.shape, box.data, stored)
    axis = next((i for i, n in enumerate(box.shape) if n > 1), None)
    if piece.size_bytes <= most or axis is None:
        return [piece]
    n = box.shape[axis]
    rows = max(1, most // (piece.size_bytes // n))
    found = []
    for begin in range(0, n, rows):
        end = min(begin + rows, n)
        offset, shape = list(box.offset), list(box.shape)
        offset[axis], shape[axis] = offset[axis] + begin, end - begin
        index = (*(slice(None) for _ in range(axis)), slice(begin, end))
        part = Box(tuple(offset), tuple(shape), cut(box.data, index))
        found += pieces_of(name, part, stored, most)
    return found


class Staging:
    """Boxes that are to be read through buffers."""

    half = HALF     # bytes of a buffer

    def __init__(self, read: Callable[[list[Any]], None]) -> None:
        self._read = read
        self._pieces: list[_Piece] = []

    def add(self, name: str, box: Box, stored: str) -> None:
        if math.prod(box.shape):
            self._pieces += pieces_of(name, box, stored, self.half)

    def run(self) -> None:
        """Reads and copies all of them."""
        buffers: list[Any] = [None, None]
        events: list[list[Any]] = [[], []]
        for number, batch in enumerate(self._batches()):
            turn = number % 2
            for event in events[turn]:      # the copies of the batch before the last
                event.synchronize()
            if buffers[turn] is None:
                buffers[turn] = _buffer(min(self.half, self._total()), batch)
            events[turn] = self._copy(batch, buffers[turn])
        for event in events[0] + events[1]:
            event.synchronize()

    def _total(self) -> int:
        return sum(p.size_bytes + ALIGNMENT for p in self._pieces)

    def _batches(self) -> list[list[_Piece]]:
        batches: list[list[_Piece]] = []
        room = 0
        for piece in self._pieces:
            need = -(-piece.size_bytes // ALIGNMENT) * ALIGNMENT
            if not batches or need > room:
                batches.append([])
                room = self.half
            batches[-1].append(piece)
            room -= need
        return batches

    def _copy(self, batch: list[_Piece], buffer: Any) -> list[Any]:
        """Reads a batch and starts its copies; what tells that they are complete."""
        wants, at = [], 0
        for piece in batch:
            framework = "torch" if is_torch(piece.data) else "numpy"
            view = _view(buffer, at, piece, framework)
            wants.append(_Want(piece.name, piece.offset, piece.shape, view))
            at += -(-piece.size_bytes // ALIGNMENT) * ALIGNMENT
        self._read(wants)
        devices = {}
        for piece, want in zip(batch, wants):
            if is_torch(piece.data):
                piece.data.copy_(want.memory, non_blocking=True)
                if is_on_device(piece.data):
                    devices[str(piece.data.device)] = piece.data.device
            else:
                piece.data[...] = want.memory
        return [_event(device) for device in devices.values() if device.type == "cuda"]


class _Want(NamedTuple):
    name: str
    offset: tuple[int, ...]
    shape: tuple[int, ...]
    memory: Any


def _buffer(size_bytes: int, batch: list[_Piece]) -> Any:
    size_bytes = max(size_bytes, sum(p.size_bytes + ALIGNMENT for p in batch))
    if any(is_on_device(p.data) and p.data.device.type == "cuda" for p in batch):
        torch = imported("torch")
        return torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True)
    return bytearray(size_bytes)


def _view(buffer: Any, at: int, piece: _Piece, framework: str) -> Any:
    if is_torch(buffer):
        return buffer[at:at + piece.size_bytes].view(piece.data.dtype).view(piece.shape)
    if framework == "torch":
        return view_memory(buffer, at, piece.stored, piece.shape, "torch", None).view(
            piece.data.dtype)
    return view_memory(buffer, at, piece.stored, piece.shape, "numpy", None).view(
        piece.data.dtype)


def _event(device: Any) -> Any:
    torch = imported("torch")
    with torch.cuda.device(device):
        event = torch.cuda.Event()
        event.record()
    return event
