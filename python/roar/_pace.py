"""The progress of each rank in an epoch, in keys of the job.

Every rank reports from time to time how many batches it has finished.  All ranks have
finished the steps of the slowest one.  These steps are one range of positions for any
number of ranks, and that range is reported to the coordinator.  A rank that reaches the
end of the epoch checks whether all others have, so the last rank completes it.

Reports are idempotent.  Only the last report of an epoch is required: training continues
while the coordinator is unreachable, but an epoch ends when all ranks have reported it.
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
    """A part of an epoch that the same ranks read."""

    number: int         # of the world
    rank: int
    size: int
    world_epoch: int    # of the coordinator, when all were there
    epoch: int
    total: int          # positions of the epoch
    position: "Position"

    @property
    def origin(self) -> list[int]:
        """The origin of this stage, for a claim in the next one."""
        return [self.number, self.size, self.epoch]

    @property
    def mark(self) -> list[int]:
        """Names the epoch of this stage, as a value of keys."""
        return [self.number, self.epoch]


class Word(NamedTuple):
    """The report of a rank."""

    number: int
    epoch: int
    steps: int          # since the stage began
    through: bool       # with the epoch
    incarnation: int    # of the worker


def pause(stage: Stage | None) -> float:
    """Seconds between two reports of a rank."""
    return 1.0 if stage is None else max(1.0, stage.size / A_SECOND)


class Pace:
    """The reports of all ranks about one dataset."""

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
        """Reports the progress of this rank."""
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
        """The last reports of the ranks of a stage, by worker id."""
        found = {entry.key[len(self._prefix):]: Word(*json.loads(entry.value))
                 for entry in self._job.kv.list(self._prefix)}
        return {worker_id: word for worker_id, word in found.items()
                if (word.number, word.epoch) == (stage.number, stage.epoch)}

    def all_through(self, number: int, size: int, epoch: int) -> bool:
        """Has every rank of a stage finished its epoch, including ranks that are gone
        now?"""
        return sum([number, epoch] in json.loads(entry.value)
                   for entry in self._job.kv.list(self._ends)) == size

    def announce_end(self, stage: Stage) -> None:
        """Announces that every rank has finished the epoch of the stage: releases the
        ranks in wait_end()."""
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

    # ---- reports to the coordinator

    def report(self, stage: Stage) -> None:
        """Reports the steps that all ranks have finished as consumed."""
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
        """Advances the coordinator's epoch to that of the ranks.  They have agreed on
        it, so samples left of earlier epochs are abandoned."""
        now = self._job.shard_table(self.dataset_id).epoch
        if not 0 <= epoch - now <= MAX_BEHIND:
            return False    # an old state was loaded: reported then
        while now < epoch:
            now = self._job.advance_epoch(self.dataset_id, now + 1,
                                          abandon=True)
        return now == epoch


def tell(pace: Pace, stage: Stage) -> None:
    """Like report(), but ignores failures."""
    try:
        pace.report(stage)
    except CoordinatorStale:
        pass    # the epoch is over there, or lent in pieces
    except CoordinatorError:
        pass    # the next word will do
