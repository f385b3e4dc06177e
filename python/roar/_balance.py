"""How the shards of a dataset find their workers, as a coordinator is told."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from ._checks import whole

BALANCES = ("count", "weight", "bytes", "locality", "rendezvous", "jump",
            "ring")     # by their numbers in coordinator.proto
WEIGHT, HOME = "roar.weight", "roar.home"   # of a worker's metadata
_MOST_BYTES = 1 << 62


def of_dataset(balance: str, shard_bytes: Optional[Sequence[int]],
               shard_homes: Optional[Sequence[str]]) -> dict[str, Any]:
    """The fields of a DatasetInfo."""
    if balance not in BALANCES:
        raise ValueError(f"balance must be one of {', '.join(BALANCES)}, "
                         f"not {balance!r:.80}")
    for name, value, of in (("shard_bytes", shard_bytes, "bytes"),
                            ("shard_homes", shard_homes, "locality")):
        if (value is None) != (balance != of):
            raise ValueError(f"{name} and balance={of!r} need each other")
        if isinstance(value, (str, bytes)):
            raise ValueError(f"{name} has one value for each shard, or for "
                             "some shards beside each other")
    homes = list(dict.fromkeys(shard_homes or ()))
    if not all(isinstance(home, str) for home in homes):
        raise ValueError("shard_homes must be names, of hosts or of what "
                         "workers are registered with as their home")
    numbers = {home: number for number, home in enumerate(homes)}
    return {
        "balance": BALANCES.index(balance),
        "shard_bytes": [whole("shard_bytes", n, 0, _MOST_BYTES)
                        for n in shard_bytes or ()],
        "shard_homes": [numbers[home] for home in shard_homes or ()],
        "homes": homes,
    }


def of_worker(weight: Optional[int], home: Optional[str]) -> dict[str, str]:
    """What a worker's metadata says of it."""
    told = {}
    if weight is not None:
        told[WEIGHT] = str(whole("weight", weight, 1, 1000000))
    if home is not None:
        if not isinstance(home, str) or not home:
            raise ValueError(f"home must be a name, not {home!r:.80}")
        told[HOME] = home
    return told
