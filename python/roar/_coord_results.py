"""What a coordinator tells its workers, as Python has it; roar.coordinator gives
these out."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple, Optional

if TYPE_CHECKING:
    from .coordinator import TrainingOrchestrator

SHARDS = "/roar.Shards/"


class WorkerConfig(NamedTuple):
    """The place that a worker was given."""

    assigned_id: str
    rank: int
    world_size: int
    heartbeat_interval_ms: int
    config: dict[str, str]
    incarnation: int    # 1 for the first process with this id, then 2, ...
    world_epoch: int    # grows whenever members or ranks change
    timeout_ms: int     # silence after which a worker counts as dead
    ready: bool         # the job has as many workers as it needs


class World(NamedTuple):
    """Who is there, as this worker last heard."""

    epoch: int
    rank: int           # -1 for one that is not registered
    size: int
    ready: bool
    incarnation: int
    connected: bool     # and heartbeats are not refused


class Shard(NamedTuple):
    """A part of a dataset, for one worker."""

    dataset_id: str
    shard_id: int
    total_shards: int
    start_index: int
    end_index: int      # exclusive
    epoch: int
    file_paths: list[str]

    @property
    def num_samples(self) -> int:
        """How many samples it has."""
        return self.end_index - self.start_index


class ShardTable(NamedTuple):
    """How the shards of a dataset are dealt."""

    dataset_id: str
    version: int        # grows whenever they move; 0: nobody has asked yet
    hash: int           # of who has which
    n_workers: int
    n_shards: int
    most: int           # shards that a worker has
    least: int
    moved: int          # when they were dealt last
    minimum: int        # that had to
    epoch: int
    balance: str        # "count", "weight", ...
    moved_ever: int     # by all deals
    moved_bytes: int    # balance="bytes": by the last, and no deal could have
    minimum_bytes: int  # moved less than that
    most_bytes: int     # that a worker has
    least_bytes: int
    at_home: int        # balance="locality": shards that are


@dataclasses.dataclass
class Lease:
    """Positions of an epoch that are lent to this worker."""

    _owner: TrainingOrchestrator = dataclasses.field(repr=False)
    dataset_id: str
    epoch: int
    lease_id: int       # 0: there is none now
    positions: range    # that are left of it
    timeout: float      # seconds of silence after which they are another's
    done: bool          # all positions of the epoch are consumed
    retry: float        # none now: seconds until one may be free

    def consumed(self, to: Optional[int] = None) -> int:
        """The positions below `to` are consumed; None: all.  Returns how many
        of them nobody had consumed before.  The deadline moves on."""
        return self._use(self.positions.stop if to is None else to, False)

    def renew(self) -> None:
        """The worker lives: the deadline moves on."""
        self._use(0, False)

    def give_back(self) -> None:
        """Another may have what is left."""
        if len(self.positions):
            self._use(0, True)
            self.positions = range(self.positions.stop, self.positions.stop)

    def _use(self, to: int, give_back: bool) -> int:
        if not len(self.positions):
            return 0    # it has ended
        # pylint: disable=protected-access
        reply = self._owner.call(SHARDS + "UseLease", {
            **self._owner._me(self.dataset_id), "epoch": self.epoch,
            "lease_id": self.lease_id, "consumed_to": to,
            "give_back": give_back})
        left = reply["left"]
        self.positions = range(left["first"], left["end"]) if left else \
            range(self.positions.stop, self.positions.stop)
        return reply["n_new"]


class Checkpoint(NamedTuple):
    """A checkpoint that every worker has saved."""

    checkpoint_id: str
    step: int
    epoch: int
    path: str
    size_bytes: int
    timestamp_ms: int
    type: str
    worker_id: str
    metadata: dict[str, str]


class KeyValue(NamedTuple):
    """A key of the job."""

    key: str
    value: bytes
    version: int        # grows with every change in the job
    expires_in: Optional[float]  # seconds; None: never
