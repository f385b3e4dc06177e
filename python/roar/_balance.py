"""How the shards of a dataset are assigned to workers."""

from __future__ import annotations

import array
import dataclasses
import zlib
from typing import Any, Mapping, Sequence

import _roar_shard

from ._checks import whole

BALANCES = ("count", "weight", "bytes", "locality", "rendezvous", "jump",
            "ring")     # by their numbers in coordinator.proto
WEIGHT, HOME = "roar.weight", "roar.home"   # of a worker's metadata
_MOST_BYTES = 1 << 62
_MOST_NUMBERS = 1 << 16


def _home_number(name: str) -> int:
    """A hash of the name; names that collide only count as the same location."""
    return zlib.crc32(name.encode())


def _spread(numbers: Sequence[int], n_shards: int) -> list[int]:
    """Expands values of neighbouring shards to one value per shard."""
    return [numbers[s * len(numbers) // n_shards] for s in range(n_shards)]


@dataclasses.dataclass(frozen=True)
class Balance:
    """The assignment method of a dataset, with its data."""

    name: str = "count"
    shard_bytes: tuple[int, ...] = ()
    shard_homes: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        """The fields of a DatasetInfo message."""
        homes = list(dict.fromkeys(self.shard_homes))
        numbers = {home: number for number, home in enumerate(homes)}
        return {
            "balance": BALANCES.index(self.name),
            "shard_bytes": list(self.shard_bytes),
            "shard_homes": [numbers[home] for home in self.shard_homes],
            "homes": homes,
        }

    def table(self, n_shards: int) -> _roar_shard.Table:
        """A table of this process."""
        if self.name in ("rendezvous", "jump", "ring"):
            return _roar_shard.Table(n_shards, self.name)
        return _roar_shard.Table(
            n_shards,
            bytes=array.array("Q", _spread(
                self.shard_bytes, n_shards)).tobytes()
            if self.shard_bytes else None,
            homes=array.array("I", _spread([
                _home_number(home) for home in self.shard_homes],
                n_shards)).tobytes() if self.shard_homes else None)

    def join(self, table: _roar_shard.Table, number: int, worker: str,
             weight: int, home: str) -> None:
        """Adds a worker to the table."""
        table.join(number, worker, weight if self.name == "weight" else 1,
                   _home_number(home))


def of_dataset(balance: str, shard_bytes: Sequence[int] | None,
               shard_homes: Sequence[str] | None,
               n_shards: int) -> Balance:
    """A Balance from the caller's arguments; raises ValueError."""
    if balance not in BALANCES:
        raise ValueError(f"balance must be one of {', '.join(BALANCES)}, "
                         f"not {balance!r:.80}")
    for name, value, of in (("shard_bytes", shard_bytes, "bytes"),
                            ("shard_homes", shard_homes, "locality")):
        if (value is None) != (balance != of):
            raise ValueError(f"{name} and balance={of!r} need each other")
        if isinstance(value, (str, bytes)) or value is not None and not (
                min(n_shards, 1) <= len(value) <=
                min(n_shards, _MOST_NUMBERS)):
            raise ValueError(
                f"{name} has one value for each shard, or up to "
                f"{_MOST_NUMBERS} of them for as many neighbours each")
    if not all(isinstance(home, str) and home for home in shard_homes or ()):
        raise ValueError("shard_homes must be names, of hosts or of what "
                         "workers are registered with as their home")
    return Balance(balance, tuple(whole("shard_bytes", n, 0, _MOST_BYTES)
                                  for n in shard_bytes or ()),
                   tuple(shard_homes or ()))


def told(info: Mapping[str, Any]) -> Balance:
    """The Balance in a DatasetInfo message."""
    return Balance(info["balance"].removeprefix("balance_"),
                   tuple(info["shard_bytes"]),
                   tuple(info["homes"][n] for n in info["shard_homes"]))


def of_worker(weight: int | None, home: str | None) -> dict[str, str]:
    """The metadata of a worker about weight and home."""
    told = {}
    if weight is not None:
        told[WEIGHT] = str(whole("weight", weight, 1, 1000000))
    if home is not None:
        if not isinstance(home, str) or not home:
            raise ValueError(f"home must be a name, not {home!r:.80}")
        told[HOME] = home
    return told
