from collections.abc import Iterator, Sequence
from fractions import Fraction
from os import PathLike
from typing import Any, NamedTuple

class MediaError(ValueError): ...

class Packet(NamedTuple):
    pts: int | None
    dts: int | None
    duration: int
    size: int
    is_key: bool
    flags: int
    side_data: tuple[tuple[int, bytes], ...]

class Buffer:
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class _Packets:
    codec: str
    time_base: Fraction
    nbytes: int
    bit_rate: int
    extradata: bytes
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Packet: ...
    def __iter__(self) -> Iterator[Packet]: ...
    def data(self, index: int, /) -> memoryview: ...
    def __getstate__(self) -> bytes: ...

class VideoPackets(_Packets):
    width: int
    height: int
    pixel_format: str | None
    frame_rate: Fraction | None

class AudioPackets(_Packets):
    sample_rate: int
    n_channels: int
    sample_format: str | None

_Source = bytes | bytearray | memoryview | str | PathLike[str]

def demux_video(source: _Source, /) -> VideoPackets: ...
def demux_audio(source: _Source, /) -> AudioPackets: ...
def decode(packets: VideoPackets | AudioPackets, pixels: str | None,
           accurate: bool, threads: int, max_bytes: int, /) -> Buffer: ...
def to_buffers(packets: VideoPackets | AudioPackets,
               /) -> tuple[bytes, list[Buffer]]: ...
def from_buffers(meta: Any, buffers: Sequence[Any],
                 /) -> VideoPackets | AudioPackets: ...
