"""The order of samples, which is the same for any number of ranks.

    order = roar.SampleOrder("corpus", 10_000_000_000, rank=3, world_size=8,
                             batch_size=64, seed=42)
    for batch in order:                 # lists of 64 sample numbers
        ...
        checkpoint["data"] = order.state_dict()

The order of an epoch depends on seed, dataset and epoch only.  It is computed, not
stored: an epoch of 10^10 samples begins at once.  A state is a few numbers.  16 ranks
can continue from it where 8 stopped, and each sample still comes exactly once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

try:
    import _roar_shard
except ImportError as error:
    raise ImportError(
        f"roar.order cannot be loaded ({error}): install roar again, on x86_64 "
        "or aarch64") from error

from _roar_shard import Ranges

from ._checks import whole
from ._walk import MOST, Walk, signed

__all__ = ["MixedOrder", "Part", "Ranges", "SampleOrder"]

AnyPath = str | bytes | os.PathLike[Any]
Weight = int | float | str | Fraction

MAX_PERIOD = 1 << 32


class SampleOrder(Walk[list[int]]):
    """A rank's samples of a dataset, epoch by epoch.

    dataset, n_samples  its name, which is part of the order, and its size
    rank, world_size    which rank of how many this is
    batch_size          samples of a rank in a step
    seed, epoch         seed of the order; first epoch
    shuffle             False: samples come in the order of their numbers
    shard_size, window  shuffle among `window` shards of `shard_size` samples at a time,
                        so that no more than two windows of shards are open; without
                        a window, all samples are shuffled
    tail                the last step of an epoch, if samples do not divide evenly:
                        "exact" spreads them, so that a rank may have fewer;
                        "drop" leaves them out; "pad" repeats the first of the epoch
    audit, world_epoch  a file of this rank, in which it records the samples it
                        returned.  `roar shards audit` proves from the files of all
                        ranks that each sample came exactly once.  The world epoch is
                        the coordinator's, or a number that grows with each restart.

    Iterating returns lists of sample numbers for the rest of the epoch; the next loop
    is the next epoch.  The object can be the batch_sampler of torch's DataLoader.
    """

    def __init__(self, dataset: str, n_samples: int, *, rank: int = 0,
                 world_size: int = 1, batch_size: int = 1, seed: int = 0,
                 epoch: int = 0, shuffle: bool = True, shard_size: int = 0,
                 window: int = 0, tail: str = "exact",
                 audit: AnyPath | None = None,
                 world_epoch: int | None = None) -> None:
        facts: dict[str, Any] = {
            "dataset": dataset,
            "n_samples": whole("n_samples", n_samples, 1, MOST),
            "seed": signed("seed", seed), "shuffle": bool(shuffle),
            "shard_size": whole("shard_size", shard_size, 0, MOST),
            "window": whole("window", window, 0, MOST)}
        super().__init__(facts, facts["n_samples"], rank=rank,
                         world_size=world_size, batch_size=batch_size,
                         epoch=epoch, tail=tail, audit=audit,
                         world_epoch=world_epoch)

    def of_epoch(self, epoch: int) -> _roar_shard.Order:
        """Maps positions of an epoch to samples and back."""
        facts = self._facts
        return _roar_shard.Order(
            facts["dataset"], facts["n_samples"], facts["seed"],
            whole("epoch", epoch, 0, MOST),
            facts["shard_size"], facts["window"], not facts["shuffle"])

    def _enter(self, epoch: int) -> None:
        self.order = self.of_epoch(epoch)

    def _batch(self, positions: memoryview) -> list[int]:
        return self.order.samples(positions).tolist()


class Part(NamedTuple):
    """A dataset of a mix.

    weight  its share of the mix, relative to the other weights; an integer, or any
            value that Fraction accepts: 0.7 is exactly seven tenths
    """

    dataset: str
    n_samples: int
    weight: Weight
    seed: int = 0
    shuffle: bool = True
    shard_size: int = 0
    window: int = 0


def _share(part: Part) -> Fraction:
    try:
        share = Fraction(str(part.weight) if isinstance(part.weight, float)
                         else part.weight)
    except (TypeError, ValueError, ZeroDivisionError):
        share = Fraction(0)
    if share <= 0:
        raise ValueError(
            f"the weight of dataset {part.dataset!r} must be above 0, not "
            f"{part.weight!r}")
    return share


def whole_weights(parts: Sequence[Part]) -> list[int]:
    """The smallest integers in the proportions of the weights."""
    shares = [_share(part) for part in parts]
    scale = math.lcm(*(share.denominator for share in shares))
    weights = [int(share * scale) for share in shares]
    divisor = math.gcd(*weights)
    weights = [weight // divisor for weight in weights]
    if sum(weights) > MAX_PERIOD:
        raise ValueError(
            f"the weights of the mix need {sum(weights)} places for exact "
            f"shares, more than {MAX_PERIOD}: round them")
    return weights


class MixedOrder(Walk[list[tuple[int, int]]]):
    """A rank's samples of several datasets, mixed by weight.

        mix = roar.MixedOrder([roar.Part("web", 9_000_000, 0.7),
                               roar.Part("code", 400_000, 0.3)],
                              total=1_000_000, batch_size=64, seed=1)
        for batch in mix:               # lists of (0 or 1, sample number)
            ...

    The shares are exact in every mix.period consecutive samples.  An epoch of the mix
    has `total` samples; the next one continues where it ended.  Each dataset has
    epochs of its own, with every sample once, in the order of SampleOrder.  The other
    arguments are those of SampleOrder; `name` is the name of the mix in the audit.
    """

    def __init__(self, parts: Sequence[Part], total: int, *, rank: int = 0,
                 world_size: int = 1, batch_size: int = 1, seed: int = 0,
                 epoch: int = 0, tail: str = "exact", name: str = "mix",
                 audit: AnyPath | None = None,
                 world_epoch: int | None = None) -> None:
        if not parts:
            raise ValueError("a mix needs a dataset: give one Part or more")
        self.parts = [Part(*part) for part in parts]
        weights = whole_weights(self.parts)
        inner = [(part.dataset, whole("n_samples", part.n_samples, 1, MOST),
                  weight, signed("seed", part.seed), 0,
                  whole("shard_size", part.shard_size, 0, MOST),
                  whole("window", part.window, 0, MOST), not part.shuffle)
                 for part, weight in zip(self.parts, weights)]
        facts: dict[str, Any] = {
            "dataset": name, "seed": signed("seed", seed),
            "total": whole("total", total, 1, MOST),
            "parts": [list(part) for part in inner]}
        self._mix = _roar_shard.Mix(inner, facts["seed"])
        super().__init__(facts, facts["total"], rank=rank,
                         world_size=world_size, batch_size=batch_size,
                         epoch=epoch, tail=tail, audit=audit,
                         world_epoch=world_epoch)

    def __setstate__(self, state: dict[str, Any]) -> None:
        facts = state["_facts"]
        parts: list[Any] = [tuple(part) for part in facts["parts"]]
        self._mix = _roar_shard.Mix(parts, facts["seed"])
        super().__setstate__(state)

    @property
    def period(self) -> int:
        """Number of samples after which the shares are exact."""
        return self._mix.period

    def _enter(self, epoch: int) -> None:
        self._start = epoch * self.total

    def _batch(self, positions: memoryview) -> list[tuple[int, int]]:
        found = []
        for first, end in _runs(positions):
            found += self._mix.fill(self._start + first, end - first)
        return [(part, sample) for part, _, _, sample in found]


def _runs(positions: memoryview) -> list[tuple[int, int]]:
    """Runs of consecutive positions, as pairs [first, end)."""
    runs: list[tuple[int, int]] = []
    for position in positions:
        if runs and runs[-1][1] == position:
            runs[-1] = (runs[-1][0], position + 1)
        else:
            runs.append((position, position + 1))
    return runs
