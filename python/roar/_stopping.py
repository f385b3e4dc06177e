"""The step after which all ranks of a stage stop when the world changes.

The first rank that learns of a change proposes a step a little ahead, in a key of the job.
Every rank answers: it has not reached the step and will wait there, or it is past it.  If
all will wait there, the proposal is final, and all stop after the same step.  If a rank is
past it, all ranks continue and a later step is proposed.  So a slow rank costs a moment,
but all ranks stop at the same step.  Ranks in lockstep at different steps would deadlock.

    a rank is gone that had not finished the epoch: all ranks stop at once, for good
    a worker joined: as above
    a rank has finished the epoch: no rank stops, new workers wait for its end
"""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Callable, NamedTuple

from ._coord_errors import CoordinatorTimeout
from ._pace import KEPT, KEYS, Pace, Stage, Word

if TYPE_CHECKING:
    from .coordinator import KeyValue, TrainingOrchestrator

NOW = -1            # a step: at once
_DEAD = "dead"      # a worker's state
_AHEAD = 0.5        # seconds until the first step that is proposed
_AHEAD_STEPS = 2    # and at least so many steps; with each proposal four times
_NAMES = 8          # at most in a message
_TRIES = 20         # looks for the first word of all ranks
_RETRY = 0.25       # seconds between them
_LOOK = 0.05        # and between looks for answers
_WAIT = 1.0         # and at most until the world is looked at again


class Decision(NamedTuple):
    """The consequence of a change of the world for a stage."""

    number: int             # of the stage
    epoch: int
    seen: int               # the coordinator's world epoch
    step: int | None     # to stop after; None: no rank stops
    came: list[str]
    gone: list[str]
    ahead: int              # steps that the proposal lay ahead
    by: str                 # who counts the answers
    final: bool

    def is_of(self, stage: Stage) -> bool:
        """Is the decision about this stage?"""
        return (self.number, self.epoch) == (stage.number, stage.epoch)


class Answer(NamedTuple):
    """The answer of a rank to a proposal."""

    number: int
    epoch: int
    step: int       # that was proposed
    steps: int      # taken by then


class StageOver(Exception):
    """The ranks have met again: the stage needs no decision."""


class Stopping:
    """A rank's part in the decision.  One thread makes these calls; they can fail
    like calls to the coordinator, and are then retried."""

    def __init__(self, job: "TrainingOrchestrator", pace: Pace) -> None:
        self._job = job
        self._pace = pace
        self._key = f"{KEYS}{pace.dataset_id}/stop"
        self._answers = f"{KEYS}{pace.dataset_id}/answer/"

    # ---- the decision

    def decide(self, stage: Stage, seen: int, steps: int, rate: float,
               is_over: Callable[[], bool]) -> tuple[Decision, int]:
        """The decision for the stage in this world, and its version; the first rank
        proposes it.

        steps, rate  steps of this rank so far, and per second
        is_over      has the next stage begun?  Then raises StageOver
        """
        while True:
            entry = self._job.kv.entry(self._key)
            known = _read(entry, stage)
            if entry is not None and known is not None and known.seen >= seen:
                return known, entry.version
            words = self._words(stage, is_over)
            made = self._judge(stage, seen, steps, rate, words)
            if known is not None and known.final and known.step is not None \
                    and made.step != NOW:
                made = known._replace(seen=seen)    # that is done
            self._set(made, entry)

    def _set(self, made: Decision, entry: "KeyValue | None") -> None:
        self._job.kv.compare_set(self._key,
                                 0 if entry is None else entry.version,
                                 json.dumps(made), KEPT)

    def _judge(self, stage: Stage, seen: int, steps: int, rate: float,
               words: dict[str, Word]) -> Decision:
        alive = {worker["worker_id"]: worker["incarnation"]
                 for worker in self._job.workers() if worker["state"] != _DEAD}
        gone = [worker_id for worker_id, word in words.items()
                if not word.through and
                alive.get(worker_id) != word.incarnation]
        came = sorted(set(alive) - set(words))
        ahead = max(_AHEAD_STEPS, math.ceil(rate * _AHEAD))
        step: int | None = steps + ahead
        if gone or len(words) < stage.size:
            step = NOW
        elif not came or any(word.through for word in words.values()):
            step = None
        return Decision(stage.number, stage.epoch, seen, step, came[:_NAMES],
                        gone[:_NAMES], ahead, self._job.worker_id or "",
                        step in (None, NOW))

    def _words(self, stage: Stage,
               is_over: Callable[[], bool]) -> dict[str, Word]:
        """The last reports of all ranks.  Each rank reports when a stage begins, which
        replaces its report of the previous stage."""
        for _ in range(_TRIES):
            if is_over():
                raise StageOver
            words = self._pace.words(stage)
            if len(words) == stage.size:
                break
            time.sleep(_RETRY)
        return words

    # ---- the answers to a proposal

    def answer(self, decision: Decision, steps: int) -> None:
        """Answers with the steps of this rank, which takes no more than proposed
        unless it is past that already."""
        assert decision.step is not None
        self._job.kv.set(self._answers + (self._job.worker_id or ""),
                         json.dumps(Answer(decision.number, decision.epoch,
                                           decision.step, steps)), KEPT)

    def wait(self, decision: Decision, version: int, stage: Stage) -> None:
        """Waits for a change, with a short timeout: the rank that counts the answers
        may be gone."""
        if decision.by == self._job.worker_id:
            self._count(decision, version, stage)
            return
        try:
            self._job.kv.wait(self._key, _WAIT, after_version=version)
        except CoordinatorTimeout:
            pass

    def _count(self, decision: Decision, version: int, stage: Stage) -> None:
        """Makes the proposal final if all ranks can stop there, else makes another."""
        taken = self._taken(decision)
        if len(taken) < stage.size:
            time.sleep(_LOOK)
            return
        assert decision.step is not None
        made = decision._replace(final=True)
        if max(taken) > decision.step:
            ahead = 4 * decision.ahead
            made = decision._replace(step=max(taken) + ahead, ahead=ahead)
        if made.step is not None and made.step >= len(stage.position):
            made = made._replace(step=None, final=True)     # the epoch ends first
        self._job.kv.compare_set(self._key, version, json.dumps(made), KEPT)

    def _taken(self, decision: Decision) -> list[int]:
        answers = [Answer(*json.loads(entry.value))
                   for entry in self._job.kv.list(self._answers)]
        return [answer.steps for answer in answers
                if answer[:3] == (decision.number, decision.epoch,
                                  decision.step)]


def _read(entry: "KeyValue | None", stage: Stage) -> Decision | None:
    if entry is None:
        return None
    known = Decision(*json.loads(entry.value))
    return known if known.is_of(stage) else None
