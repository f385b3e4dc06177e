"""Ranks of a job that read a dataset together while workers join and leave.

    begin   all workers of the job meet and agree on a position (roar._agreement)
    take    returns a batch, unless the world has changed and this is the step to stop at
    finish  ends the epoch when all ranks have finished it

A thread reports the progress of this rank (roar._pace), receives changes of the world, and
makes all ranks stop after the same step (roar._stopping).  There they meet again, with the
workers that joined: no sample is lost, and none comes twice.
"""

from __future__ import annotations

import random
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

import _roar_coord

from . import _agreement, _pace
from ._coord_errors import (BarrierBroken, CoordinatorClosed,
                            CoordinatorDenied, CoordinatorError,
                            CoordinatorStale, CoordinatorTimeout,
                            WorldChanged)
from ._coord_values import Deadline
from ._pace import Pace, Stage
from ._stopping import NOW, Decision, StageOver, Stopping

if TYPE_CHECKING:
    from ._walk import Walk
    from .coordinator import TrainingOrchestrator

_VOTE = 2
_WORD = 5.0             # timeout of a report, in seconds
_HOLD = 60.0            # timeout of a rank that waits for the others to stop
_RETRY = 0.25           # pause of the thread while the coordinator is unreachable
_LOOK = 1.0             # between checks of a place that is held for a successor


def _meeting(dataset_id: str) -> str:
    """The id of a meeting: at most 128 characters, as for datasets."""
    if len(dataset_id) <= 96:
        return f"roar/shards/{dataset_id}"
    from ._hash import hash as digest
    return f"roar/shards/{dataset_id[:64]}/{digest(dataset_id.encode())[:32]}"


class Together:
    """One rank's part in the common reading of a dataset."""

    def __init__(self, job: "TrainingOrchestrator", dataset_id: str) -> None:
        self.dataset_id = dataset_id
        self._job = job
        self._pace = Pace(job, dataset_id)
        self._stopping = Stopping(job, self._pace)
        # Shared by the thread and the reader: the end of a stage is set before a
        # batch is taken, or after it.
        self._turn = threading.Condition()
        self._stage: Stage | None = None
        self._steps = 0                     # batches taken in this stage
        self._done = 0                      # batches finished in this stage
        self._through = False               # this rank has finished the epoch
        self._limit: int | None = None   # the last step before the stop
        self._decision: Decision | None = None
        self._given_state = False           # since the last stage
        self._next_look = 0.0               # for the end of the epoch
        self._lost: WorldChanged | None = None
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()
        # One report at a time, so that an older one cannot arrive last: a rank that
        # has reported its end may be gone before it can repeat the report.
        self._saying = threading.Lock()

    # ---- the beginning

    def begin(self, order: "Walk[Any]", fresh: bool) -> None:
        """Meets all other ranks; the order continues at the agreed position.

        fresh  this rank has no position and takes that of the others
        """
        if self._lost is not None:
            raise self._lost
        before = self._stage
        continuing = before is not None and not self._given_state and not fresh
        claim = _agreement.Claim(
            order.facts, order.world_epoch, order.epoch,
            None if fresh else order.stored(),
            before.origin if before is not None and continuing else None,
            before is not None)
        reply = self._meet(claim)
        settled = self._settle(reply)
        # A rank that finished its epoch before it left is not missed in the next.
        if settled.missing and (
                settled.consumed or
                not self._pace.all_through(*settled.origin)):
            raise self._lose(f"{settled.missing} of the ranks", [])
        order.move(reply["place"], reply["participants"], settled.number,
                   settled.epoch, settled.consumed)
        self._enter(order, reply["world_epoch"])

    def _meet(self, claim: _agreement.Claim) -> dict[str, Any]:
        """The vote of all ranks.  While a dead rank's place is held for a successor,
        they wait until the successor joins or the place is released.  A new rank
        stands aside, so that barriers of the ranks in the loop continue."""
        # pylint: disable=protected-access
        job, text = self._job, claim.text(self._job)
        clock = Deadline(job._timeout)
        while True:
            left, world = clock.left(), job.world.epoch
            try:
                return _roar_coord.meet_reply(job._meet(
                    _VOTE, _meeting(self.dataset_id), None, left, None, None,
                    text, claim.origin is not None, not claim.veteran))
            except BarrierBroken:
                if left == 0:
                    raise
                _change(job, world, _LOOK if left is None else
                        min(_LOOK, left))

    def _settle(self, reply: dict[str, Any]) -> _agreement.Settled:
        return _agreement.settle(
            self.dataset_id, [_agreement.read(self._job, item["value"])
                              for item in reply["values"]],
            reply["more_values"], world_epoch=reply["world_epoch"],
            size=reply["participants"], n_continuing=reply["votes_for"])

    def _enter(self, order: "Walk[Any]", world_epoch: int) -> None:
        with self._turn:
            self._stage = Stage(order.world_epoch, order.rank,
                                order.world_size, world_epoch, order.epoch,
                                order.total, order.position)
            self._steps = self._done = order.step
            self._through, self._limit, self._decision = False, None, None
            self._given_state = False
            self._next_look = 0.0
        self._say()
        if self._thread is None:
            # A weak reference: the thread must not keep an unclosed object alive.
            self._thread = threading.Thread(
                target=_follow, args=(weakref.ref(self), self._job,
                                      self._closed),
                daemon=True, name="roar-shards")
            self._thread.start()

    # ---- on the way

    def take(self, order: "Walk[Any]") -> None:
        """Counts the next batch as taken, or raises WorldChanged."""
        with self._turn:
            while self._limit is not None and order.step >= self._limit:
                self._stop(order)
            self._done = order.step
            order.take()
            self._steps = order.step

    def _stop(self, order: "Walk[Any]") -> None:
        """Waits until all ranks stop at this step, or until this rank may continue."""
        decision = self._decision
        assert decision is not None
        if not decision.final:
            if not self._turn.wait(_HOLD):
                self._limit = NOW
                self._decision = decision._replace(final=True)
            return
        self._check_lost()
        raise WorldChanged(
            f"{', '.join(decision.came)} came while dataset "
            f"{self.dataset_id!r} was read: continue with another loop, in which "
            "all take part", order.state_dict(), decision.came, decision.gone)

    def _check_lost(self) -> None:
        """Raises WorldChanged if a rank was lost in this stage."""
        if self._limit == NOW and self._decision is not None:
            gone = self._decision.gone
            raise self._lose(", ".join(gone) or "a rank", gone)

    def _lose(self, who: str, gone: list[str]) -> WorldChanged:
        self._lost = WorldChanged(
            f"{who} went in the middle of an epoch of dataset "
            f"{self.dataset_id!r}, and what became of their samples is not "
            "known: load the state of the last checkpoint on all ranks, then "
            "go on with another loop", None, [], gone)
        return self._lost

    def loaded(self) -> None:
        """A state was loaded on this rank: forgets the previous stage."""
        with self._turn:
            self._given_state, self._lost = True, None

    def finish(self) -> None:
        """Ends the epoch of this rank; returns when all ranks have finished it.

        Without this wait, the samples of a rank that died near the end of the last
        epoch would be lost silently: no later meeting detects that.  Raises
        WorldChanged if a rank was lost before it finished.
        """
        with self._turn:
            stage, self._through = self._stage, True
            self._done = self._steps
        assert stage is not None
        # pylint: disable=protected-access
        clock = Deadline(self._job._timeout)
        while self._job.worker_id is not None and not self._ended(stage):
            with self._turn:
                self._check_lost()
            if clock.left() == 0:
                raise CoordinatorTimeout(
                    f"not all ranks came to the end of epoch {stage.epoch} of "
                    f"dataset {self.dataset_id!r} in {self._job._timeout:g} s: "
                    "let every rank finish its loop, or give a longer timeout "
                    "to TrainingOrchestrator()")

    def _ended(self, stage: Stage) -> bool:
        """Have all ranks finished the epoch?  Waits a moment for that.

        The last rank finds the reports of all complete and releases the others.  They
        poll from time to time, because it may have died before.
        """
        try:
            if self._say():
                if time.monotonic() >= self._next_look:
                    if self._pace.all_through(*stage.origin):
                        _pace.tell(self._pace, stage)
                        self._pace.announce_end(stage)
                        return True
                    self._next_look = time.monotonic() + _pace.pause(stage)
                return self._pace.wait_end(stage, _LOOK)
        except CoordinatorError:
            pass        # it is unreachable, or this worker was replaced
        time.sleep(_RETRY)
        return False

    def close(self) -> None:
        """Sends the last report; the thread then ends."""
        self._closed.set()
        stage = self._stage
        if stage is not None and self._say() and self._through:
            _pace.tell(self._pace, stage)

    def __del__(self) -> None:
        self._closed.set()

    # ---- how far

    def _say(self) -> bool:
        """Reports the progress of this rank.  False: it could not."""
        if not self._saying.acquire(timeout=_WORD):
            return False
        try:
            with self._turn:
                stage, done, through = self._stage, self._done, self._through
            if stage is None or self._job.worker_id is None:
                return False
            self._pace.say(stage, done, through, _WORD)
            return True
        except CoordinatorError:
            return False
        finally:
            self._saying.release()

    def tick(self) -> float:
        """Periodic work.  Returns the seconds until the next call."""
        stage = self._stage
        if self._say() and stage is not None and stage.rank == 0:
            _pace.tell(self._pace, stage)
        return _pace.pause(stage)

    # ---- changes of the world

    def hear(self, seen: int, rate: float) -> bool:
        """Handles a change of the world.  False: call again later."""
        stage = self._stage
        if stage is None:
            return False
        if seen <= stage.world_epoch:
            return True
        # Spread in time: the first rank decides, the others find the decision.
        time.sleep(random.uniform(0, min(1.0, stage.size / 1000)))
        while stage is self._stage and not self._closed.is_set():
            try:
                decision, version = self._stopping.decide(
                    stage, seen, self._steps, rate,
                    lambda: stage is not self._stage)
            except StageOver:
                return False
            steps = self._obey(stage, decision)
            if decision.final:
                return True
            self._stopping.answer(decision, steps)
            self._stopping.wait(decision, version, stage)
            if self._job.world.epoch > seen:
                return False
        return False

    def _obey(self, stage: Stage, decision: Decision) -> int:
        """Applies a decision to later batches.  Returns how many were taken before."""
        with self._turn:
            if stage is self._stage and self._limit != NOW:
                self._decision = decision
                late = decision.step is not None and \
                    self._steps > decision.step
                # A rank that is past the proposed step reports that and continues.
                self._limit = None if late and not decision.final else \
                    NOW if late else decision.step
                self._turn.notify_all()
            return self._steps

    def lose_place(self) -> None:
        """Another process has replaced this worker."""
        with self._turn:
            if self._stage is not None:
                self._decision = Decision(
                    self._stage.number, self._stage.epoch, 0, NOW, [],
                    [self._job.worker_id or "this one"], 0, "", True)
                self._limit = NOW
                self._turn.notify_all()

    @property
    def steps(self) -> int:
        """Batches taken since the stage began."""
        return self._steps

    @property
    def world_epoch(self) -> int:
        """The coordinator's world epoch when the stage began."""
        return 0 if self._stage is None else self._stage.world_epoch


def _follow(of: "weakref.ref[Together]", job: "TrainingOrchestrator",
            closed: threading.Event) -> None:
    """The thread: waits for changes of the world, and reports the progress of its
    rank in between."""
    seen, wait, rate = 0, 1.0, _Rate()
    while not closed.is_set():
        try:
            world = _change(job, seen, wait)
            together = of()
            if together is None:
                return
            seen = max(seen, together.world_epoch)
            if world <= seen:
                rate.of(together.steps)
                wait = together.tick()
            elif together.hear(world, rate.of(together.steps)):
                seen = world
            else:
                closed.wait(_RETRY)
            del together
        except CoordinatorClosed:
            return
        except (CoordinatorStale, CoordinatorDenied):
            together = of()
            if together is not None:
                together.lose_place()
            return
        except CoordinatorError:    # unreachable: training continues meanwhile
            closed.wait(_RETRY)


def _change(job: "TrainingOrchestrator", seen: int, wait: float) -> int:
    """Waits until the world has a later epoch, or until the timeout; returns the
    epoch."""
    now = job.world.epoch
    if now > seen:
        return now
    try:
        return job.wait_world(now, wait).epoch
    except CoordinatorTimeout:
        return now


class _Rate:
    """Recent rate in steps per second."""

    def __init__(self) -> None:
        self._at = time.monotonic()
        self._steps = 0
        self._rate = 0.0

    def of(self, steps: int) -> float:
        """Updates the rate with the current number of steps."""
        now = time.monotonic()
        if now - self._at >= 0.2:
            self._rate = max(0.0, (steps - self._steps) / (now - self._at))
            self._at, self._steps = now, steps
        return self._rate
