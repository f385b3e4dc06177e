"""Packets of video and audio that travel without being copied.

    packets = roar.media.demux_video("clip.mp4")     # or the file's bytes
    frames = roar.media.decode_packets(packets)      # (frames, rows, columns, 3)

Demuxing finds the compressed packets of a file and decodes nothing, so it is
cheap work for a loader's process.  Decode where the frames are needed.
When packets are sent through an arena, their data is copied once, into the shared
memory.  The receiver's packets point into that memory, which is freed when they are
gone.  Packets can also be pickled.

Needs FFmpeg 5.1 or later; roar can be built without it.
"""

from __future__ import annotations

import operator
from typing import Any

try:
    from _roar_media import (AudioPackets, MediaError, Packet, VideoPackets,
                             decode as _decode, demux_audio, demux_video,
                             from_buffers, to_buffers)
except ImportError as error:
    raise ImportError(
        f"roar.media cannot be loaded ({error}): install FFmpeg's libraries "
        "(Debian: libavformat-dev libavcodec-dev libavutil-dev libswscale-dev) "
        "and build roar again with -Dmedia=enabled") from error

from ._registry import register

__all__ = ["AudioPackets", "MediaError", "Packet", "VideoPackets",
           "decode_packets", "demux_audio", "demux_video", "from_buffers",
           "to_buffers"]

register(VideoPackets, to_buffers, from_buffers)
register(AudioPackets, to_buffers, from_buffers)

# A larger result probably comes from a damaged header.
MAX_BYTES = 4 << 30


def decode_packets(packets: VideoPackets | AudioPackets, *,
                   format: str = "rgb24", accurate: bool = False,
                   threads: int = 1, max_bytes: int = MAX_BYTES) -> Any:
    """Decodes all frames of the packets, in the order of time.

    Video becomes an array of bytes in the shape (frames, rows, columns, components)
    for the formats rgb24, bgr24 and rgba, (frames, rows, columns) for gray, and
    (frames, bytes) for "native": the planes of the stream's own format, one after
    the other without gaps.  Audio becomes an array of samples in the stream's own
    type in the shape (samples, channels); `format` is ignored.

    Pixels equal those of ffmpeg and PyAV bit by bit, if they use the same FFmpeg.
    With `accurate` the chroma of each pixel is interpolated and rounding is exact;
    near sharp edges of colour the result differs by up to 255.

    The result is a NumPy array if NumPy is installed, otherwise a memoryview.
    `threads` is the number of threads of the decoder, 0 for one per CPU.  Other
    Python threads run meanwhile.

    Raises MediaError for damaged packets, for streams that change their shape, and
    when the result would have more than `max_bytes`.
    """
    threads = operator.index(threads)
    max_bytes = operator.index(max_bytes)
    if not 0 <= threads <= 1024:
        raise ValueError(f"threads must be between 0 and 1024, not {threads}")
    if max_bytes <= 0:
        raise ValueError(f"max_bytes must be above 0, not {max_bytes}")
    frames: Any = _decode(packets, None if format == "native" else format,
                          bool(accurate), threads, min(max_bytes, 1 << 62))
    try:
        import numpy
    except ImportError:
        return memoryview(frames)
    return numpy.asarray(frames)
