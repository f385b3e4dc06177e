"""Samples of shards: files of a directory, WebDataset tars, JSONL, raw records.

    with roar.readers.open_shard("train-0000.tar") as shard:
        print(len(shard))
        for sample in shard:              # {"__key__": "0001", "jpg": b"..."}
            ...
        shard[17]                         # random access by number

A shard may be an object of S3 or of Google Cloud Storage:
open_shard("s3://bucket/train-0000.tar").

What a sample is depends on the kind of the shard:

    kind   a sample
    files  (path relative to the directory, bytes), sorted by path
    tar    {"__key__": key, extension: bytes, ...}, as WebDataset groups them
    jsonl  the parsed line; its bytes with parse=False
    raw    the bytes of one record, as a memoryview

With views=True every kind returns memoryviews instead of bytes, with views=False
none does.  A view is not copied; it keeps up to 256 KiB around it alive.

Threads read ahead, up to a number of bytes.  Files are not memory-mapped: if a file
becomes shorter while it is read, that raises ShardChanged.
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
    """Sample numbers as an array for the C extension."""
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


def refuse_url(path: str) -> None:
    """Raises ShardError for a URL that no reader opens."""
    scheme, separator, _ = path.partition("://")
    if separator and scheme.isalnum() and not is_remote(path) and \
            not os.path.exists(path):
        raise ShardError(f"{path!r} cannot be opened: a shard is a file, or an "
                         "object of s3:// or gs://; fetch it to a local file, "
                         "for https:// with 'roar get'")


def place_of(path: str) -> str:
    """The path that the record knows it by."""
    return path if is_remote(path) else os.path.abspath(path)


def _encoded(path: AnyPath) -> bytes:
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError(f"the path {path!r} contains a NUL, which no file "
                         "name can")
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
    """An open shard.  Threads can share it, and so can processes after a fork.

    If a tar or JSONL file has no index, only its beginning is scanned at first.  A
    loop starts with that part; the rest is scanned when it is needed.
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
        """The reader of all samples; `reader` may cover the beginning only."""
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
        """Was the index of a tar or JSONL file read from disk rather than built?"""
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
        """Iterates over the samples with these numbers, in this order; None: over
        all samples.  Each call returns a new iterator."""
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
        """All samples; scans the rest of the file when the loop reaches it."""
        yield from beginning
        yield from self._stream(self._whole(reader), first=reader.count)

    def _parse_all(self, found: Iterator[Any],
                   numbers: Iterable[int]) -> Iterator[Any]:
        number = iter(numbers)
        for line in found:
            yield self.parsed(line, next(number))

    def parsed(self, line: Any, number: int) -> Any:
        """The parsed line; raises ShardError if it is not JSON."""
        try:
            return json.loads(bytes(line))
        except (ValueError, RecursionError) as error:
            raise ShardError(f"sample {number} of {self.path!r} is not JSON: "
                             f"{error}") from None

    def read_into(self, number: int, buffer: Any) -> int:
        """Reads a sample of one part directly into a buffer, such as an array of
        Arena.empty().  Returns its length."""
        return self.reader.read_into(
            whole("number", number, 0, _HUGE), buffer)

    def fill(self, numbers: Iterable[int], buffer: Any) -> None:
        """Reads samples of equal size into one contiguous buffer: a batch.

            batch = arena.empty((len(numbers), 3, 32, 32), "uint8")
            shard.fill(numbers, batch)
            arena.send(batch)
        """
        _roar_reader.fill((self.reader,), None, numbers_of(numbers),
                          bytes_of(buffer))

    def __reduce__(self) -> Any:
        """Pickles the path and options; the receiver opens the shard again."""
        if self._reader is None:
            raise ValueError(f"the shard {self.path!r} is closed")
        return functools.partial(open_shard, **self._options), (self.path,)

    def close(self) -> None:
        """Closes the file.  Iterators that have started can continue."""
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
    """The buffer as a one-dimensional view of bytes."""
    view = memoryview(buffer)
    return view.cast("B") if view.nbytes else view


def open_shard(path: AnyPath, kind: str | None = None, *,
               record_bytes: int = 0, header_bytes: int = 0,
               max_sample: int = MAX_SAMPLE, index: str = "cache",
               blake3: str | bytes | None = None,
               prefetch: int = PREFETCH, threads: int = THREADS,
               views: bool | None = None, parse: bool = True) -> Shard:
    """Opens a shard.

    kind          files, tar, jsonl or raw; None: by the name (a directory, .tar,
                  .jsonl, .ndjson), or raw if record_bytes is given
    record_bytes  raw: length of each record
    header_bytes  raw: bytes to skip at the beginning
    max_sample    bytes; reading a larger sample raises ShardError
    index         where the index of a tar or JSONL file is kept: "cache" (the
                  user's cache directory), "beside" (NAME.roar-index), "none", or
                  the path of a directory
    blake3        the expected digest of the whole file
    prefetch      most bytes to read ahead
    threads       number of threads that read ahead; 0: none
    views         return memoryviews instead of bytes; None: for raw records only
    parse         jsonl: parse lines

    Raises ShardError if the file is damaged or not a shard of this kind,
    ShardChanged if its content is not the expected one, and OSError if it cannot
    be read.  If a file has no index, damage further on raises when a loop reaches
    it, or when samples are counted.
    """
    options = {name: value for name, value in locals().items()
               if name != "path"}
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, "
                         f"not {kind!r}")
    refuse_url(os.fsdecode(path))
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
