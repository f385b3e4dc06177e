"""Results of the coordinator's calls, as tuples with names; used by
roar.coordinator."""

from __future__ import annotations

from typing import NamedTuple

SHARDS = "/roar.Shards/"


class WorkerConfig(NamedTuple):
    """The registration of a worker."""

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
    """The workers of the job, as this worker last received them."""

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
        """Number of samples."""
        return self.end_index - self.start_index


class ShardTable(NamedTuple):
    """The assignment of a dataset's shards to workers."""

    dataset_id: str
    version: int        # grows with each move; 0: not requested yet
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
    manifest: bytes     # its BLAKE3, of commit_checkpoint(); b"" otherwise


class CheckpointPart(NamedTuple):
    """What one rank wrote of a checkpoint."""

    rank: int
    worker_id: str
    digest: bytes       # BLAKE3 of its description, 32 bytes
    size_bytes: int


class CheckpointParts(NamedTuple):
    """All parts of a checkpoint are there: what its manifest has to say."""

    parts: list[CheckpointPart]     # by rank
    world_epoch: int
    fencing_token: int


class CheckpointWorld(NamedTuple):
    """The ranks that save a checkpoint together."""

    save_id: str        # the same on all
    rank: int           # of this worker
    size: int           # number of workers
    epoch: int          # of the world


class KeyValue(NamedTuple):
    """A key of the job."""

    key: str
    value: bytes
    version: int        # grows with every change in the job
    expires_in: float | None  # seconds; None: never
