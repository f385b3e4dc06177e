"""What the arena's benchmark moves: payloads, and the sources that make them.

A source is built in the benchmark and iterated in the worker, where the payload is
made; all that is pickled is a few words.  Items are dicts, {"data": payload}."""

import dataclasses
import functools
import importlib
import os
import subprocess
import time

FRAMES = 60  # packets of a clip: 2 s at 30 frames/s


# ---- payloads -----------------------------------------------------------

def make_bytes(size, clip):
    return bytes(size)


def make_solid(size, clip):
    """Bytes that are all in memory: behind bytes(size) there is one page of zeros, which
    stays in the cache, so that copying it only writes."""
    return os.urandom(min(size, 1 << 20)) * max(1, size >> 20)


def make_numpy(size, clip):
    import numpy
    return numpy.zeros(max(1, size // 4), numpy.float32)


def make_torch(size, clip):
    import torch
    return torch.zeros(max(1, size // 4), dtype=torch.float32)


def make_packets(size, clip):
    """Real packets of a clip, or as many buffers of the same size in all."""
    if clip is None:
        return plain_packets(size)
    media, path = clip
    with open(path, "rb") as f:
        return importlib.import_module(media).demux_video(f.read())


def plain_packets(size):
    """As an encoder makes them: one of 30 is a key frame, ten times the others."""
    unit = size // (FRAMES + 2 * 9)
    sizes = [unit * (10 if i % 30 == 0 else 1) for i in range(FRAMES)]
    return {"time_base": (1, 30), "pts": list(range(FRAMES)),
            "packets": [bytes(n) for n in sizes]}


MAKERS = {"bytes": make_bytes, "solid": make_solid, "numpy": make_numpy,
          "torch": make_torch,
          "packets": make_packets}


def payload_bytes(kind, size, clip):
    """How much of it moves."""
    payload = MAKERS[kind](size, clip)
    if kind in ("bytes", "solid"):
        return len(payload)
    if kind == "torch":
        return payload.element_size() * payload.nelement()
    if kind == "packets" and clip is None:
        return sum(len(p) for p in payload["packets"])
    if hasattr(payload, "nbytes"):
        return payload.nbytes
    return len(payload.__getstate__())


def make_clip(size, folder, tool):
    """H.264 of about `size` bytes: 2 s of 4K at a constant rate.  Returns its path, in
    `folder`, where it stays; OSError when it cannot be made."""
    path = os.path.join(folder, f"clip-{size >> 20}M.mp4")
    if os.path.exists(path):
        return path
    made = path.replace(".mp4", ".part.mp4")
    done = subprocess.run(
        [tool, made, "--codec", "libx264", "--width", "3840", "--height",
         "2160", "--fps", "30", "--seconds", "2", "--bytes", str(size)],
        check=False, text=True, stderr=subprocess.PIPE)
    if done.returncode:
        raise OSError(f"{tool}: {done.stderr.strip()}")
    os.rename(made, path)
    return path


# ---- sources ------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Items:
    """`n` items of a kind.  One object serves for all, but for torch, whose own
    transport moves a tensor into shared memory once and for ever."""

    kind: str
    size: int
    n: int
    clip: tuple | None = None

    def __iter__(self):
        make = MAKERS[self.kind]
        if self.kind == "torch":
            for _ in range(self.n):
                yield {"data": make(self.size, self.clip)}
            return
        payload = make(self.size, self.clip)
        for _ in range(self.n):
            yield {"data": payload}


@dataclasses.dataclass(frozen=True)
class Prepared:
    """Items that are all made before the first one goes, each another object; ahead
    of them goes None."""

    kind: str
    size: int
    n: int

    def __iter__(self):
        items = [{"data": MAKERS[self.kind](self.size, None)}
                 for _ in range(self.n)]
        yield {"data": None}
        while items:
            yield items.pop()


@functools.cache
def noise(size, n_buffers):
    """Buffers that no page of zeros is behind; made once in a process."""
    import numpy
    rng = numpy.random.default_rng(1)
    return [rng.integers(1, 1 << 60, size // 8, numpy.uint64)
            for _ in range(n_buffers)]


@dataclasses.dataclass(frozen=True)
class Noise:
    """NumPy arrays out of a few buffers that hold noise: no page of zeros, nothing is
    hot in a cache.  `rewrite`: what of a buffer gets new content before it is sent,
    the number of the item: nothing, a word at both "ends" or of each "page", or "all".
    There are more buffers than items wait between here and the arena."""

    size: int
    n: int
    rewrite: str = ""
    n_buffers: int = 8

    def __iter__(self):
        buffers = noise(self.size, self.n_buffers)
        for i in range(self.n):
            buffer = buffers[i % self.n_buffers]
            if self.rewrite == "all":
                buffer.fill(i + 1)
            elif self.rewrite == "ends":
                buffer[0] = buffer[-512] = i + 1
            elif self.rewrite == "page":
                buffer[::512] = i + 1
            yield {"data": buffer, "number": i + 1}


@dataclasses.dataclass(frozen=True)
class InPlace:
    """The same with every byte new, made in the arena itself."""

    arena: object
    size: int
    n: int

    def __iter__(self):
        for i in range(self.n):
            buffer = self.arena.empty(self.size // 8, "uint64")
            buffer.fill(i + 1)
            yield {"data": buffer, "number": i + 1}
            del buffer


@dataclasses.dataclass(frozen=True)
class Paced:
    """One item after the other, each with the time at which it was ready."""

    size: int
    n: int
    gap_s: float

    def __iter__(self):
        payload = bytes(self.size)
        for _ in range(self.n):
            time.sleep(self.gap_s)
            yield {"data": payload, "sent": time.monotonic_ns()}


@dataclasses.dataclass(frozen=True)
class Small:
    """Items of a few bytes, as many as can be moved."""

    n: int

    def __iter__(self):
        yield from range(self.n)


@dataclasses.dataclass(frozen=True)
class Call:
    """What iterate_in_subprocess() wants: a function that returns the source."""

    source: object

    def __call__(self):
        return self.source
