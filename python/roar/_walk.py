"""Iteration of one rank over the positions of an epoch, with states to resume from.

Subclasses map positions to samples of one dataset (roar.order.SampleOrder) or of
several (roar.order.MixedOrder).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import _roar_shard
from _roar_shard import Ranges

from ._checks import whole

BatchT = TypeVar("BatchT")

MOST = (1 << 63) - 1
MAX_WORLD = 1 << 20
MAX_BATCH = 1 << 24
TAILS = ("exact", "drop", "pad")
VERSION = 1


def signed(name: str, value: Any) -> int:
    """A seed as 64 bits; a negative number is taken in two's complement."""
    return whole(name, value, -(1 << 63), (1 << 64) - 1) & (1 << 64) - 1


def _stored(consumed: Ranges) -> int | list[list[int]]:
    """One number for the beginning of an epoch, else all ranges."""
    ranges = consumed.items()
    if not ranges:
        return 0
    if len(ranges) == 1 and ranges[0][0] == 0:
        return ranges[0][1]
    return [list(pair) for pair in ranges]


def _restored(stored: Any) -> Ranges:
    if isinstance(stored, int):
        return Ranges([(0, stored)])
    try:
        return Ranges((first, end) for first, end in stored)
    except TypeError:
        raise ValueError(
            "consumed must be a number or a list of pairs [first, end), not "
            f"{stored!r:.80}: this state is damaged") from None


class Walk(Generic[BatchT]):
    """Base class of SampleOrder and MixedOrder."""

    def __init__(self, facts: dict[str, Any], total: int, *, rank: int,
                 world_size: int, batch_size: int, epoch: int, tail: str,
                 audit: str | bytes | os.PathLike[Any] | None,
                 world_epoch: int | None) -> None:
        self.world_size = whole("world_size", world_size, 1, MAX_WORLD)
        self.rank = whole("rank", rank, 0, self.world_size - 1)
        self.batch_size = whole("batch_size", batch_size, 1, MAX_BATCH)
        if tail not in TAILS:
            raise ValueError(f"tail is one of {', '.join(TAILS)}, not {tail!r}")
        if audit is not None and world_epoch is None:
            raise ValueError(
                "an audit needs world_epoch: the coordinator's, or a number "
                "that grows with each restart")
        self.tail = tail
        self.total = total
        self._facts = facts  # what a state must agree with
        self._world_epoch = whole("world_epoch", world_epoch or 0, 0, MOST)
        self._audit = None if audit is None else _roar_shard.Audit(audit)
        self._noted = False  # the audit has something of this world
        self._resumed = -1, Ranges()  # the last epoch not begun at its start
        self._begin(whole("epoch", epoch, 0, MOST), Ranges())

    # ---- for who inherits ----

    def _enter(self, epoch: int) -> None:
        """Makes this the current epoch."""
        raise NotImplementedError

    def _batch(self, positions: memoryview) -> BatchT:
        """The samples at these positions of the epoch."""
        raise NotImplementedError

    # ---- epochs ----

    def _begin(self, epoch: int, consumed: Ranges) -> None:
        position = self._position_from(consumed)
        self._enter(epoch)
        if consumed or epoch <= self._resumed[0]:
            self._resumed = epoch, consumed
        self._epoch, self._base, self._step = epoch, consumed, 0
        self._position = position
        self._segment: int | None = None

    def _position_from(self, consumed: Ranges) -> _roar_shard.Position:
        return _roar_shard.Position(
            self.total, self.world_size, self.rank, self.batch_size,
            self.tail, consumed)

    def __getstate__(self) -> dict[str, Any]:
        if self._audit is not None:
            raise TypeError(
                "an order with an audit cannot be pickled, because the file has "
                "one writer: make the order in the process that uses it")
        state = {**self.__dict__, "_segment": None, "_base": self._base.items(),
                 "_resumed": (self._resumed[0], self._resumed[1].items())}
        for name in ("_position", "order", "_mix"):     # made again
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._base = Ranges(self._base)
        self._resumed = self._resumed[0], Ranges(self._resumed[1])
        self._position = self._position_from(self._base)
        self._enter(self._epoch)

    @property
    def epoch(self) -> int:
        """The current epoch."""
        return self._epoch

    @property
    def audited(self) -> bool:
        """Does an audit file record the returned batches?"""
        return self._audit is not None

    @property
    def step(self) -> int:
        """Batches returned since the epoch began or was resumed."""
        return self._step

    def set_epoch(self, epoch: int) -> None:
        """Moves to the beginning of a later epoch; the current one is left unchanged.

        Raises ValueError for an earlier epoch: load_state_dict() restores a state.
        """
        epoch = whole("epoch", epoch, 0, MOST)
        if epoch < self._epoch:
            raise ValueError(
                f"epoch {epoch} is over, this is {self._epoch}: an epoch does "
                "not go back, load_state_dict() restores an earlier state")
        if epoch > self._epoch:
            self._begin(epoch, Ranges())

    # ---- other ranks ----

    @property
    def facts(self) -> dict[str, Any]:
        """Values that must be equal on all ranks that share an epoch."""
        return {**self._facts, "batch_size": self.batch_size,
                "tail": self.tail}

    @property
    def world_epoch(self) -> int:
        """The world epoch in the audit."""
        return self._world_epoch

    @property
    def position(self) -> _roar_shard.Position:
        """The positions of each rank in the epoch; immutable."""
        return self._position

    def stored(self) -> int | list[list[int]]:
        """The positions that all ranks have consumed, in the format of a state."""
        return _stored(self.consumed())

    def move(self, rank: int, world_size: int, world_epoch: int, epoch: int,
             stored: Any) -> None:
        """Continues with another rank, number of ranks and position.  The audit
        begins another world, unless all of them are the same."""
        if (rank, world_size, world_epoch, epoch) == (
                self.rank, self.world_size, self._world_epoch, self._epoch) \
                and stored == self.stored():
            return
        self.world_size = whole("world_size", world_size, 1, MAX_WORLD)
        self.rank = whole("rank", rank, 0, self.world_size - 1)
        if world_epoch != self._world_epoch:
            self._noted = False
        self._world_epoch = whole("world_epoch", world_epoch, 0, MOST)
        self._begin(epoch, _restored(stored))

    def back(self, state: dict[str, Any]) -> None:
        """Loads a state; move() sets the world afterwards."""
        self.load_state_dict(state, world_epoch=self._world_epoch + 1)

    def __len__(self) -> int:
        """Batches left of the epoch, the same for every rank."""
        return len(self._position) - self._step

    def __iter__(self) -> Iterator[BatchT]:
        """Iterates over the rest of the epoch, then moves to the next one."""
        epoch = self._epoch
        while self._epoch == epoch and self._step < len(self._position):
            batch, = self.ahead(1)
            self.take()
            yield batch
        if self._epoch == epoch:
            self.finish()

    # ---- the same step by step, for who reads ahead what batches name ----

    def ahead(self, n: int) -> list[BatchT]:
        """The next batches of the epoch, at most `n`, without consuming them."""
        end = min(self._step + n, len(self._position))
        return [self._batch(self._position.take(step)[0])
                for step in range(self._step, end)]

    def take(self) -> None:
        """Counts the next batch as consumed."""
        self._note(self._step)
        self._step += 1

    def finish(self) -> None:
        """Ends the epoch and moves to the next one."""
        self.end_notes()
        self._begin(self._epoch + 1, Ranges())

    # ---- the audit ----

    def _note(self, step: int) -> None:
        if self._audit is None:
            return
        positions, n_pad = self._position.take(step)
        padded = positions[len(positions) - n_pad:]
        if self._segment is None:
            self._segment = self._audit.begin(
                self._facts["dataset"], self._facts["seed"], self._epoch,
                self.total, self._world_epoch, self.rank, self.world_size,
                self._base)
            self._noted = True
        self._audit.consumed(self._segment, self._position.ranges(step))
        if padded:
            self._audit.padded(self._segment,
                               Ranges((p, p + 1) for p in padded))

    def end_notes(self) -> None:
        """Completes the audit of the epoch and writes it to the disk."""
        if self._audit is not None and self._segment is not None:
            dropped = self._position.dropped()
            if dropped:
                self._audit.dropped(self._segment, dropped)
            self._audit.sync()
            self._segment = None

    def close(self) -> None:
        """Closes the audit file, if any, after writing it to the disk."""
        if self._audit is not None:
            self._audit.close()

    # ---- state ----

    def consumed(self, steps: int | None = None) -> Ranges:
        """The positions that all ranks have consumed after `steps` batches of each
        rank; None: after the returned batches."""
        return self._position.consumed(
            self._step if steps is None else whole("steps", steps, 0, MOST))

    def state_dict(self, steps: int | None = None,
                   epoch: int | None = None) -> dict[str, Any]:
        """The position of all ranks as a few numbers, for a checkpoint.

        Every rank has the same state after the same batch, and any number of ranks
        can continue from it.  With an audit, call this on every rank, because it also
        waits until the rank's audit is on the disk.  Returned batches count as
        consumed.  If a loader reads ahead, `steps` is the number of batches that the
        model has seen since the epoch began or was resumed, and `epoch` is their
        epoch; None: the current epoch.

        Raises ValueError for more steps than were returned in the current epoch: the
        loader has moved on to it, and the model has not.
        """
        if self._audit is not None:
            self._audit.sync()
        if epoch is not None:
            consumed = self._consumed_of(whole("epoch", epoch, 0, MOST), steps)
        else:
            consumed = self.consumed(steps)
            if steps is not None and steps > self._step:
                raise ValueError(
                    f"the model cannot have seen {steps} steps of epoch "
                    f"{self._epoch}, of which {self._step} were given here: if "
                    "these are steps of another epoch, or another process gave "
                    "them, name the epoch by state_dict(steps, epoch)")
        return {"version": VERSION, **self._facts,
                "epoch": self._epoch if epoch is None else epoch,
                "consumed": _stored(consumed)}

    def _consumed_of(self, epoch: int, steps: int | None) -> Ranges:
        """The positions consumed after this many steps of any epoch."""
        if steps is None:
            raise ValueError("epoch needs steps: give the number that the model "
                             "has seen of it")
        base = self._base if epoch == self._epoch else \
            self._resumed[1] if epoch == self._resumed[0] else Ranges()
        return self._position_from(base).consumed(whole("steps", steps, 0, MOST))

    def load_state_dict(self, state: dict[str, Any], *,
                        world_epoch: int | None = None) -> None:
        """Continues from a state, made with any number of ranks.

        Going back during a world begins another one, as a restart does: an audit
        then needs a new `world_epoch`, the same on all ranks.

        Raises ValueError for the state of another dataset or order.
        """
        if state.get("version") != VERSION:
            raise ValueError(
                f"this state has version {state.get('version')!r}, not "
                f"{VERSION}: it comes from another roar")
        for name, value in self._facts.items():
            if state.get(name) != value:
                raise ValueError(
                    f"this state has {name} {state.get(name)!r}, but here it is "
                    f"{value!r}: it belongs to another order")
        epoch = whole("epoch", state.get("epoch"), 0, MOST)
        consumed = _restored(state.get("consumed"))
        world_epoch = self._next_world(world_epoch)
        self._begin(epoch, consumed)
        self._noted = self._noted and world_epoch == self._world_epoch
        self._world_epoch = world_epoch

    def _next_world(self, world_epoch: int | None) -> int:
        """The world epoch after loading a state."""
        least = self._world_epoch + self._noted
        if world_epoch is None and self._noted:
            raise ValueError(
                "the audit already has positions of world epoch "
                f"{self._world_epoch}: load the state with a world_epoch from "
                f"{least}, the same on all ranks")
        return self._world_epoch if world_epoch is None else \
            whole("world_epoch", world_epoch, least, MOST)
