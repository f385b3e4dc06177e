"""Agreement of a job's ranks on their position in a dataset, before each loop.

Every rank sends a claim: what it reads, and its position, if it has one.  The coordinator
sends all claims to all ranks (a vote with values), with the same view of the world: which
workers took part, in which order.  From these each rank computes the same result: the
common position, its rank and the number of ranks.
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
    """The claim of a rank."""

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
        """The claim as text.  A part that is too long is replaced by its hash."""
        text = json.dumps(self._asdict(), sort_keys=True).encode()
        if len(text) <= MAX_CLAIM:
            return text
        kept = _manifest.keep(job, json.dumps(self.consumed).encode())
        return json.dumps(self._replace(consumed={"kept": kept})._asdict(),
                          sort_keys=True).encode()


def read(job: "TrainingOrchestrator", text: bytes) -> Claim:
    """Parses the claim of a rank."""
    claim = Claim(**json.loads(text))
    if isinstance(claim.consumed, dict):
        return claim._replace(consumed=json.loads(
            _manifest.find(job, claim.consumed["kept"])))
    return claim


class Settled(NamedTuple):
    """The result of all claims."""

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
    """The common position.  Raises CoordinatorInvalid, on all ranks alike, if they
    cannot begin together.

    Ranks of the previous loop decide, and new ranks take their position: a new rank
    has the state of the last checkpoint, and the others are past it.

    claims        the different claims; `more`: there are others
    world_epoch, size   of the world when all had arrived
    n_continuing  number of ranks that continue from the previous world
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
