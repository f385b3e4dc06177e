"""Samples of shards: files of a folder, WebDataset tars, JSONL, raw records.

    with roar.readers.open_shard("train-0000.tar") as shard:
        print(len(shard))
        for sample in shard:              # {"__key__": "0001", "jpg": b"..."}
            ...
        shard[17]                         # any of them, by its number

A shard may be an object: open_shard("s3://bucket/train-0000.tar").

What a sample is depends on the kind of the shard:

    kind   a sample
    files  (path below the folder, bytes), in the order of paths
    tar    {"__key__": key, extension: bytes, ...}, as WebDataset groups them
    jsonl  what the line says, parsed; bytes with parse=False
    raw    the bytes of one record, as a memoryview

With views=True memoryviews take the place of bytes everywhere, with views=False
nowhere: a view is not copied, and keeps up to 256 KiB around it alive.

Reading goes on ahead in threads, within a bound of bytes.  A file is never
mapped: one that becomes shorter while it is read is a ShardChanged.
"""

from __future__ import annotations

import array
import functools
import itertools
import json
import operator
import os
from collections.abc import Iterable, Iterator
from typing import Any

try:
    import _roar_reader
    from _roar_reader import ShardChanged, ShardError
except ImportError as error:
    raise ImportError(
        f"roar.readers cannot be loaded ({error}): install BLAKE3 and "
        "libcrypto (Debian: librust-blake3-dev libssl-dev) and install roar "
        "again") from error

from ._checks import whole

__all__ = ["Shard", "ShardChanged", "ShardError", "open_shard"]

AnyPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]

PREFETCH = 8 << 20
THREADS = 2
MAX_SAMPLE = 256 << 20
KINDS = ("files", "tar", "jsonl", "raw")

_INDEX = {"cache": 0, "beside": 1, "none": 2}
_HUGE = (1 << 63) - 1


def numbers_of(numbers: Iterable[int]) -> "array.array[int]":
    """Numbers of samples as the C half takes them."""
    known = list(numbers)
    try:
        return array.array("Q", known)
    except (OverflowError, TypeError):
        for number in known:
            whole("the number of a sample", number, 0, _HUGE)
        raise


def is_remote(path: str) -> bool:
    """Is it the URL of an object rather than a path of this machine?"""
    return path.startswith(("s3://", "gs://"))


def place_of(path: str) -> str:
    """The path that the record knows it by."""
    return path if is_remote(path) else os.path.abspath(path)


def _encoded(path: AnyPath) -> bytes:
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError(f"there is a NUL in the path {path!r}, no file has "
                         "such a name")
    return name


def _digest(blake3: str | bytes | None) -> bytes | None:
    if isinstance(blake3, str):
        try:
            blake3 = bytes.fromhex(blake3)
        except ValueError:
            blake3 = b""
    if blake3 is not None and len(blake3) != 32:
        raise ValueError("blake3 must be a digest of 64 hexadecimal digits or "
                         "of 32 bytes")
    return blake3


class Shard:
    """An open shard.  Threads may share it; so may processes after a fork.

    Of a tar or JSONL file without an index only the beginning is looked at first: a
    loop starts with it, and the rest is scanned when it is needed.
    """

    def __init__(self, path: AnyPath, reader: "_roar_reader.Reader", *,
                 prefetch: int, threads: int, views: bool,
                 parse: bool, options: dict[str, Any]) -> None:
        self.path = os.fsdecode(path)
        self._options = options     # to open it again
        self.kind = reader.kind
        self._reader: _roar_reader.Reader | None = reader
        self.prefetch = prefetch
        self.threads = threads
        self.views = views
        self.parse = parse and reader.kind == "jsonl"

    def _opened(self) -> "_roar_reader.Reader":
        if self._reader is None:
            raise ValueError(f"the shard {self.path!r} is closed")
        return self._reader

    @property
    def reader(self) -> "_roar_reader.Reader":
        return self._whole(self._opened())

    def _whole(self, reader: "_roar_reader.Reader") -> "_roar_reader.Reader":
        """The reader of all samples; `reader` may have those at the beginning."""
        if reader.whole:
            return reader
        whole = self._reader
        if whole is None or not whole.whole:
            whole = reader.open_whole()
            if self._reader is reader:
                self._reader = whole
        return whole

    @property
    def stamp(self) -> tuple[int, int]:
        """Tells one content from another: size, and a number for the time of
        modification or the ETag."""
        return self._opened().stamp

    @property
    def index_was_kept(self) -> bool:
        """Was the index of a tar or JSONL file found rather than made?"""
        return self.reader.index_was_kept

    def __len__(self) -> int:
        return self.reader.count

    def __getitem__(self, number: int) -> Any:
        count = self.reader.count
        number = operator.index(number)
        if number < 0:
            number += count
        if not 0 <= number < count:
            raise IndexError(f"the shard {self.path!r} has {count} samples")
        found = self.reader.read(number, self.views)
        return self.parsed(found, number) if self.parse else found

    def __iter__(self) -> Iterator[Any]:
        return self.samples()

    def samples(self, numbers: Iterable[int] | None = None
                ) -> Iterator[Any]:
        """The samples of these numbers, in this order; all of them if none
        are named.  Each call begins anew."""
        wanted = None if numbers is None else numbers_of(numbers)
        found: Iterator[Any]
        if wanted is not None:
            found = self._stream(self.reader, wanted)
        elif (reader := self._opened()).whole:
            found = self._stream(reader)
        else:
            found = self._in_sequence(reader, self._stream(reader))
        if not self.parse:
            return found
        return self._parse_all(
            found, itertools.count() if wanted is None else wanted)

    def _stream(self, reader: "_roar_reader.Reader",
                wanted: "array.array[int] | None" = None,
                first: int = 0) -> Iterator[Any]:
        n = reader.count - first if wanted is None else 0
        return _roar_reader.stream((reader,), None, wanted, first, n,
                                   self.prefetch, self.threads, self.views)

    def _in_sequence(self, reader: "_roar_reader.Reader",
                     beginning: Iterator[Any]) -> Iterator[Any]:
        """All samples, of which the rest is looked for when its turn comes."""
        yield from beginning
        yield from self._stream(self._whole(reader), first=reader.count)

    def _parse_all(self, found: Iterator[Any],
                   numbers: Iterable[int]) -> Iterator[Any]:
        number = iter(numbers)
        for line in found:
            yield self.parsed(line, next(number))

    def parsed(self, line: Any, number: int) -> Any:
        """What the line says; ShardError when it is no JSON."""
        try:
            return json.loads(bytes(line))
        except (ValueError, RecursionError) as error:
            raise ShardError(f"sample {number} of {self.path!r} is no JSON: "
                             f"{error}") from None

    def read_into(self, number: int, buffer: Any) -> int:
        """Reads a sample that has one part straight into memory, such as an
        array of Arena.empty().  Returns its length."""
        return self.reader.read_into(
            whole("number", number, 0, _HUGE), buffer)

    def fill(self, numbers: Iterable[int], buffer: Any) -> None:
        """Reads samples of one size side by side into memory: a batch.

            batch = arena.empty((len(numbers), 3, 32, 32), "uint8")
            shard.fill(numbers, batch)
            arena.send(batch)
        """
        _roar_reader.fill((self.reader,), None, numbers_of(numbers),
                          bytes_of(buffer))

    def __reduce__(self) -> Any:
        """Another process opens the shard again, which must still be there."""
        if self._reader is None:
            raise ValueError(f"the shard {self.path!r} is closed")
        return functools.partial(open_shard, **self._options), (self.path,)

    def close(self) -> None:
        """Lets go of the file.  Iterators that have begun can go on."""
        self._reader = None

    def __enter__(self) -> "Shard":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._reader is None else \
            f"{self._reader.count} samples" if self._reader.whole else \
            "not counted yet"
        return f"<Shard {self.path!r}: {self.kind}, {state}>"


def bytes_of(buffer: Any) -> memoryview:
    """Its bytes in one row."""
    view = memoryview(buffer)
    return view.cast("B") if view.nbytes else view


def open_shard(path: AnyPath, kind: str | None = None, *,
               record_bytes: int = 0, header_bytes: int = 0,
               max_sample: int = MAX_SAMPLE, index: str = "cache",
               blake3: str | bytes | None = None,
               prefetch: int = PREFETCH, threads: int = THREADS,
               views: bool | None = None, parse: bool = True) -> Shard:
    """Opens a shard.

    kind          files, tar, jsonl or raw; None: by the name (a folder, .tar,
                  .jsonl, .ndjson), or raw where record_bytes is given
    record_bytes  raw: how long each record is
    header_bytes  raw: what to pass over at the beginning
    max_sample    bytes; a larger sample is a ShardError when it is read
    index         where the index of a tar or JSONL file is kept: "cache" (the
                  user's cache folder), "beside" (NAME.roar-index), "none", or a
                  folder
    blake3        the digest that the whole file must have
    prefetch      bytes that may be read ahead
    threads       that read ahead; 0: none
    views         memoryviews instead of bytes; None: for raw records only
    parse         jsonl: parse lines

    ShardError for what is no such shard or is damaged, ShardChanged for
    content that is not the one asked for, OSError for what the system says.
    Damage further on in a file without an index is told when it is reached, or when
    samples are counted.
    """
    options = {name: value for name, value in locals().items()
               if name != "path"}
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, "
                         f"not {kind!r}")
    place = _INDEX.get(index, 0)
    reader = _roar_reader.open(
        _encoded(path), kind,
        record_bytes=whole("record_bytes", record_bytes, 0, _HUGE),
        header_bytes=whole("header_bytes", header_bytes, 0, _HUGE),
        max_sample=whole("max_sample", max_sample, 1, _HUGE),
        index=place,
        index_dir=b"" if index in _INDEX else _encoded(index),
        blake3=_digest(blake3), beginning=True)
    return Shard(path, reader,
                 prefetch=whole("prefetch", prefetch, 1, _HUGE),
                 threads=whole("threads", threads, 0, 16),
                 views=reader.kind == "raw" if views is None else bool(views),
                 parse=bool(parse), options=options)
