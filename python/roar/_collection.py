"""Several shards as one sequence of samples.

    files = Collection("train-*.tar")
    len(files), files[12345]
    files.samples([7, 900000, 8])       # in this order, read ahead
"""

from __future__ import annotations

import array
import bisect
import collections
import fnmatch
import glob
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import _roar_reader

from ._braces import braces
from .readers import (AnyPath, Shard, ShardError, bytes_of, is_remote,
                      numbers_of, open_shard, refuse_url)

MAX_OPEN = 256      # shards, beside those that are just needed
MAX_NEEDED = 128    # shards that are needed at a time
MAX_SCANS = 8       # shards that are scanned at a time
WINDOW = 4096       # samples that are planned at a time


def _objects(name: str) -> list[str]:
    """The objects that fit a pattern, whose wildcards do not stand for "/".  One
    without wildcards is looked for when it is opened."""
    wild = re.search(r"[*?[]", name)
    if wild is None:
        return [name]
    scheme, _, rest = name.partition("://")
    bucket = rest.partition("/")[0]
    if "/" not in name[len(scheme) + 3:wild.start()]:
        raise ValueError(f"the bucket of {name!r} is a pattern: name one bucket")
    parts = rest.split("/")[1:]
    return [f"{scheme}://{bucket}/{key}" for key, _, _ in
            _roar_reader.objects(os.fsencode(name[:wild.start()]))
            if key.count("/") + 1 == len(parts) and
            all(map(fnmatch.fnmatchcase, key.split("/"), parts))]


def _matches(name: str) -> list[str]:
    if is_remote(name):
        return _objects(name)
    refuse_url(name)
    return [name] if os.path.exists(name) else sorted(glob.glob(name))


def _existing(text: str) -> list[str]:
    """The shards that a name or pattern matches."""
    if os.path.exists(text):
        return [text]
    found = []
    for name in braces(text):
        matches = _matches(name)
        if not matches:
            raise FileNotFoundError(
                2, "no shard has this name or matches this pattern", name)
        found += matches
    return found


def paths_of(source: AnyPath | Sequence[AnyPath]) -> list[str]:
    """The paths of a list, a single path, or a pattern."""
    if not isinstance(source, (str, bytes, os.PathLike)):
        found = [os.fsdecode(path) for path in source]
    else:
        found = _existing(os.fsdecode(source))
    if not found:
        raise ValueError("a dataset needs a shard: name one or more")
    return found


def _was_scanned(shard: Shard) -> bool:
    return shard.kind in ("tar", "jsonl") and not shard.index_was_kept


class _Wanted(NamedTuple):
    """Samples by shard and number, as arrays for the C extension."""

    shards: list[Shard]
    which: "array.array[int]"
    numbers: "array.array[int]"

    def readers(self) -> tuple[_roar_reader.Reader, ...]:
        return tuple(shard.reader for shard in self.shards)


class Collection:
    """Samples of all shards, numbered from the first of the first shard on.

    source   a path, a pattern such as "train-*.tar" or "train-{000..099}.tar", or a
             list of paths; each may be a URL, "s3://bucket/train-*.tar"
    digests  {path or base name: BLAKE3 of the file in hex}, if known
    options  as for open_shard()

    When the number of samples is first needed, every shard is opened once to count its
    samples.  Shards without an index are scanned for that, several at a time.  Later,
    shards are opened when needed, and closed when too many are open.  Content is
    compared with its digest before the first sample is returned, and again if the file
    changed.
    """

    def __init__(self, source: AnyPath | Sequence[AnyPath], *,
                 digests: Mapping[str, str] | None = None,
                 **options: Any) -> None:
        self.paths = paths_of(source)
        self.options = options
        self._digests = dict(digests or {})
        self._compared: dict[int, tuple[int, ...]] = {}
        self._open: collections.OrderedDict[int, Shard] = \
            collections.OrderedDict()
        self._starts: list[int] | None = None

    @property
    def starts(self) -> list[int]:
        """starts[n] is the number of the first sample of shard n; the last element is
        the total number of samples."""
        if self._starts is None:
            self._starts = [0, *itertools.accumulate(self._counts())]
        return self._starts

    @property
    def kind(self) -> str:
        """The kind of the first shard."""
        return self._shard(0).kind

    def __getstate__(self) -> dict[str, Any]:
        """Another process opens shards itself, but does not count samples again."""
        return {**self.__dict__, "_starts": self.starts,
                "_open": collections.OrderedDict()}

    def _digest(self, n: int) -> str | None:
        path = self.paths[n]
        return self._digests.get(path,
                                 self._digests.get(os.path.basename(path)))

    def _counts(self) -> Iterator[int]:
        """Number of samples of each shard.  Indexes are loaded one by one, which is
        faster than starting threads; the first shard without an index starts them."""
        rest = range(len(self.paths))
        for n in rest:
            count, scanned = self._count(n)
            yield count
            if scanned:
                rest = rest[n + 1:]
                break
        else:
            return
        if rest:
            from concurrent.futures import ThreadPoolExecutor
            threads = min(len(rest), len(os.sched_getaffinity(0)), MAX_SCANS)
            with ThreadPoolExecutor(threads, "roar-scan") as pool:
                yield from (count for count, _ in pool.map(self._count, rest))

    def _count(self, n: int) -> tuple[int, bool]:
        """Number of samples, and whether the shard was scanned for it.  Counting does
        not compare the content with its digest."""
        known = self._open.get(n)
        if known is not None:
            return len(known), False
        if self._digest(n) is not None or n >= MAX_OPEN:
            with open_shard(self.paths[n], **self.options) as shard:
                return len(shard), _was_scanned(shard)
        shard = self._open[n] = self._compare(n)
        return len(shard), _was_scanned(shard)

    def _compare(self, n: int) -> Shard:
        """Opens the shard, and compares its content with its digest, if known."""
        if is_remote(self.paths[n]):
            return self._compare_object(n)
        status = os.stat(self.paths[n])
        stamp = status.st_ino, status.st_size, status.st_mtime_ns
        digest = self._digest(n)
        if self._compared.get(n) == stamp:
            digest = None
        shard = open_shard(self.paths[n], blake3=digest, **self.options)
        self._compared[n] = stamp
        return shard

    def _compare_object(self, n: int) -> Shard:
        if n in self._compared:
            shard = open_shard(self.paths[n], **self.options)
            if shard.stamp == self._compared[n]:
                return shard
        shard = open_shard(self.paths[n], blake3=self._digest(n),
                           **self.options)
        self._compared[n] = shard.stamp
        return shard

    def _shard(self, n: int) -> Shard:
        shard = self._open.get(n)
        if shard is None:
            shard = self._compare(n)
            self._check(n, shard)
            self._open[n] = shard
            while len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(n)
        return shard

    def _check(self, n: int, shard: Shard) -> None:
        """Checks that a reopened shard still has the counted samples."""
        if self._starts is not None and len(shard) != self.count_of(n):
            raise ShardError(
                f"{self.paths[n]!r} had {self.count_of(n)} samples and has "
                f"{len(shard)} now; begin again with the shards as they are")

    def count_of(self, n: int) -> int:
        """Number of samples of shard n."""
        return self.starts[n + 1] - self.starts[n]

    def __len__(self) -> int:
        return self.starts[-1]

    def shard_of(self, number: int) -> int:
        """The shard of a sample."""
        return bisect.bisect_right(self.starts, number) - 1

    def __getitem__(self, number: int) -> Any:
        if not 0 <= number < len(self):
            raise IndexError(f"the dataset has {len(self)} samples")
        n = self.shard_of(number)
        return self._shard(n)[number - self.starts[n]]

    def samples(self, numbers: Iterable[int]) -> Iterator[Any]:
        """The samples with these numbers, in this order, with read-ahead."""
        rest = iter(numbers)
        while (window := numbers_of(itertools.islice(rest, WINDOW))):
            yield from self.window(window)

    def _wanted(self, where: list[int], numbers: Sequence[int]) -> _Wanted:
        needed = sorted(set(where))
        places = {n: place for place, n in enumerate(needed)}
        return _Wanted([self._shard(n) for n in needed],
                       array.array("I", [places[n] for n in where]),
                       array.array("Q", [number - self.starts[n]
                                         for number, n in zip(numbers, where)]))

    def _runs(self, numbers: Sequence[int]) -> Iterator[_Wanted]:
        """Splits the samples so that no part needs too many shards: a process can
        usually have about a thousand open files."""
        where = [self.shard_of(number) for number in numbers]
        first = 0
        if len(set(where)) > MAX_NEEDED:
            needed: set[int] = set()
            for k, n in enumerate(where):
                if n not in needed and len(needed) == MAX_NEEDED:
                    yield self._wanted(where[first:k], numbers[first:k])
                    first, needed = k, set()
                needed.add(n)
        yield self._wanted(where[first:], numbers[first:])

    def window(self, numbers: Sequence[int]) -> Iterator[Any]:
        """The same for a few of them."""
        if not numbers:
            return iter(())
        return itertools.chain.from_iterable(
            map(self._stream, self._runs(numbers)))

    @staticmethod
    def _stream(wanted: _Wanted) -> Iterator[Any]:
        first = wanted.shards[0]
        found: Iterator[Any] = _roar_reader.stream(
            wanted.readers(), wanted.which, wanted.numbers, 0, 0,
            first.prefetch, first.threads, first.views)
        if not first.parse:
            return found
        return (wanted.shards[n].parsed(line, number)
                for line, n, number in zip(found, wanted.which,
                                           wanted.numbers))

    def fill(self, numbers: Sequence[int], buffer: Any) -> None:
        """Reads samples of equal size into one contiguous buffer."""
        room = bytes_of(buffer)
        size = len(room) // max(1, len(numbers))
        for wanted in self._runs(numbers):
            n = len(wanted.numbers) * size
            _roar_reader.fill(wanted.readers(), wanted.which, wanted.numbers,
                              room[:n])
            room = room[n:]

    def close(self) -> None:
        """Closes all shards."""
        self._open.clear()
