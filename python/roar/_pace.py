"""How far each rank is in an epoch, in keys of the job, and what follows from all of them.

Every rank says now and then how many batches it has been through.  What the slowest one
has been through, all have: that many steps are one range of positions, however many ranks
there are, and that is what the coordinator is told.  Whoever comes to the end of the
epoch looks whether all others have, so the last one completes it.

Each of these words can be said twice.  Only the last of an epoch must be said: a training
goes on while the coordinator is away, but an epoch ends when all are known to be through.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ._coord_errors import (CoordinatorError, CoordinatorStale,
                            CoordinatorTimeout)

if TYPE_CHECKING:
    from _roar_shard import Position

    from .coordinator import TrainingOrchestrator

KEYS = "roar/shards/"
KEPT = 86400.0          # seconds that a word is kept
MAX_RANGES = 10000      # of a report
MAX_BEHIND = 10000      # epochs that the coordinator is led through
A_SECOND = 100          # words of all ranks together, about


class Stage(NamedTuple):
    """A stretch of an epoch that the same ranks go through."""

    number: int         # of the world
    rank: int
    size: int
    world_epoch: int    # of the coordinator, when all were there
    epoch: int
    total: int          # positions of the epoch
    position: "Position"

    @property
    def origin(self) -> list[int]:
        """As a claim of the next stage has it."""
        return [self.number, self.size, self.epoch]

    @property
    def mark(self) -> list[int]:
        """Names the epoch of this stage, as a value of keys."""
        return [self.number, self.epoch]


class Word(NamedTuple):
    """What a rank has said."""

    number: int
    epoch: int
    steps: int          # since the stage began
    through: bool       # with the epoch
    incarnation: int    # of the worker


def pause(stage: Stage | None) -> float:
    """Seconds between two words of a rank."""
    return 1.0 if stage is None else max(1.0, stage.size / A_SECOND)


class Pace:
    """The words of all ranks about one dataset."""

    def __init__(self, job: "TrainingOrchestrator", dataset_id: str) -> None:
        self._job = job
        self.dataset_id = dataset_id
        self._prefix = f"{KEYS}{dataset_id}/at/"
        self._ends = f"{KEYS}{dataset_id}/through/"
        self._over = f"{KEYS}{dataset_id}/over"
        self._said: Word | None = None
        self._last_end: Any = None  # epoch that this rank was through with
        self._told: Any = None      # the last report

    def say(self, stage: Stage, steps: int, through: bool,
            timeout: float) -> None:
        """This rank is so far."""
        job = self._job
        word = Word(stage.number, stage.epoch, steps, through,
                    job.world.incarnation)
        if word == self._said:
            return
        self._set(self._prefix, word, timeout)
        if through:
            # The next word takes this one's place.  That it was said must be known
            # to those who meet to begin the next epoch.
            self._set(self._ends, [self._last_end, word[:2]], timeout)
            self._last_end = word[:2]
        self._said = word

    def _set(self, prefix: str, value: Any, timeout: float) -> None:
        job = self._job
        job.call("/roar.Control/KvSet", {
            "job_id": job.job or "", "key": prefix + (job.worker_id or ""),
            "value": json.dumps(value).encode(), "ttl_ms": int(KEPT * 1000)},
            timeout)

    def words(self, stage: Stage) -> dict[str, Word]:
        """What the ranks of a stage have said last, by worker id."""
        found = {entry.key[len(self._prefix):]: Word(*json.loads(entry.value))
                 for entry in self._job.kv.list(self._prefix)}
        return {worker_id: word for worker_id, word in found.items()
                if (word.number, word.epoch) == (stage.number, stage.epoch)}

    def all_through(self, number: int, size: int, epoch: int) -> bool:
        """Whether every rank of a stage was through with its epoch, also those
        who are gone since."""
        return sum([number, epoch] in json.loads(entry.value)
                   for entry in self._job.kv.list(self._ends)) == size

    def announce_end(self, stage: Stage) -> None:
        """Every rank is through with the epoch of the stage: releases those that
        wait in wait_end()."""
        self._job.kv.set(self._over, json.dumps(stage.mark), KEPT)

    def wait_end(self, stage: Stage, timeout: float) -> bool:
        """Waits for that announcement."""
        entry = self._job.kv.entry(self._over)
        if entry is not None and json.loads(entry.value) == stage.mark:
            return True
        try:
            entry = self._job.kv.wait(
                self._over, timeout,
                after_version=0 if entry is None else entry.version)
        except CoordinatorTimeout:
            return False
        return json.loads(entry.value) == stage.mark

    # ---- what the coordinator is told

    def report(self, stage: Stage) -> None:
        """What all have been through counts as consumed."""
        words = self.words(stage)
        if len(words) < stage.size:
            return
        if all(word.through for word in words.values()):
            ranges = [(0, stage.total)]     # also what tail="drop" leaves out
        else:
            ranges = stage.position.consumed(min(
                word.steps for word in words.values())).items()
        if (stage.epoch, ranges) == self._told or not ranges or \
                not self._lead_to(stage.epoch):
            return
        for first in range(0, len(ranges), MAX_RANGES):
            self._job.report_consumed(
                self.dataset_id, [range(*pair) for pair in
                                  ranges[first:first + MAX_RANGES]],
                stage.epoch)
        self._told = stage.epoch, ranges

    def _lead_to(self, epoch: int) -> bool:
        """The coordinator's epoch follows that of the ranks.  They have agreed on
        it, so what was left of those before is not wanted any more."""
        now = self._job.shard_table(self.dataset_id).epoch
        if not 0 <= epoch - now <= MAX_BEHIND:
            return False    # a state of long ago was loaded: that was told then
        while now < epoch:
            now = self._job.advance_epoch(self.dataset_id, now + 1,
                                          abandon=True)
        return now == epoch


def tell(pace: Pace, stage: Stage) -> None:
    """The same, for who has something better to do than to fail."""
    try:
        pace.report(stage)
    except CoordinatorStale:
        pass    # the epoch is over there, or lent in pieces
    except CoordinatorError:
        pass    # the next word will do
