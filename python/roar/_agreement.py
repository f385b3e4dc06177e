"""How the ranks of a job agree where they are in a dataset, before each loop over it.

Every rank brings a claim: what it reads, and the position that it has, if it has one.
The coordinator tells all of them which claims there are (a vote with values), together
with one picture of the world: who was there, in which order.  From these each rank
derives the same, by itself: where all begin, as which rank of how many.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _manifest
from ._coord_errors import CoordinatorInvalid

if TYPE_CHECKING:
    from .coordinator import TrainingOrchestrator

MAX_CLAIM = 4 << 10     # bytes that a vote takes


class Claim(NamedTuple):
    """What a rank brings."""

    facts: Mapping[str, Any]    # of the order: all must have the same
    least: int                  # the world's number, for its audit
    epoch: int
    consumed: Any               # as states have it; None: where the others are
    # The stage in which it came there, [number, size, epoch]; None: it was given a
    # state, or is new.
    origin: Sequence[int] | None
    # It was in a stage of this dataset before: a position that it was given since
    # then is an order to go there.  That of a new rank is only where it would
    # begin if it were alone.
    veteran: bool = False

    def text(self, job: "TrainingOrchestrator") -> bytes:
        """As it is brought.  What is too long for that is kept by its hash."""
        text = json.dumps(self._asdict(), sort_keys=True).encode()
        if len(text) <= MAX_CLAIM:
            return text
        kept = _manifest.keep(job, json.dumps(self.consumed).encode())
        return json.dumps(self._replace(consumed={"kept": kept})._asdict(),
                          sort_keys=True).encode()


def read(job: "TrainingOrchestrator", text: bytes) -> Claim:
    """A claim that somebody has brought."""
    claim = Claim(**json.loads(text))
    if isinstance(claim.consumed, dict):
        return claim._replace(consumed=json.loads(
            _manifest.find(job, claim.consumed["kept"])))
    return claim


class Settled(NamedTuple):
    """What follows from all claims."""

    number: int     # of the world: grows with each that begins elsewhere
    epoch: int
    consumed: Any
    origin: Sequence[int]   # the stage before, as a claim has it
    missing: int    # ranks of that which are not there any more


def _differing(claims: Sequence[Claim]) -> str | None:
    first = claims[0].facts
    for claim in claims[1:]:
        for name in sorted({*first, *claim.facts}):
            if first.get(name) != claim.facts.get(name):
                return (f"{name} is {first.get(name)!r:.80} on one and "
                        f"{claim.facts.get(name)!r:.80} on another: give the "
                        "same on all of them")
    return None


def _apart(claims: Sequence[Claim]) -> str | None:
    first = claims[0]
    for claim in claims[1:]:
        if (claim.epoch, claim.consumed) != (first.epoch, first.consumed):
            return (f"one is in epoch {first.epoch} after "
                    f"{first.consumed or 0!r:.80} samples and another in epoch "
                    f"{claim.epoch} after {claim.consumed or 0!r:.80}: load "
                    "the same state on all of them, that of the last "
                    "checkpoint")
    return None


def settle(dataset_id: str, claims: Sequence[Claim], more: bool, *,
           world_epoch: int, size: int, n_continuing: int) -> Settled:
    """Where all begin.  CoordinatorInvalid, for all of them alike, when they cannot
    begin together.

    Ranks that were in the loop before decide, and new ranks go where those are: a new
    rank has the state of the last checkpoint, which the others left behind.

    claims        those that differ; `more`: there are others
    world_epoch, size   of the moment in which all were there
    n_continuing  how many come from the world before, with no state in between
    """
    placed = [claim for claim in claims if claim.consumed is not None]
    leading = [claim for claim in placed if claim.veteran] or placed or claims
    wrong = _differing(claims) or _apart(leading) or \
        ("they read it in many different ways" if more else None)
    if wrong is not None:
        raise CoordinatorInvalid(
            f"the ranks cannot go through dataset {dataset_id!r} together: "
            f"{wrong}")
    begin = leading[0]
    number = max(world_epoch, *(claim.least for claim in claims))
    origins = [claim.origin for claim in leading if claim.origin is not None]
    if any(number == origin[0] and size != origin[1] for origin in origins):
        number += 1
    before: Sequence[int] = [0, 0, 0]
    if origins and len(origins) == len(leading):
        before = max(origins, key=tuple)
    return Settled(number, begin.epoch, begin.consumed or 0, before,
                   max(0, before[1] - n_continuing))
