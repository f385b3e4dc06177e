"""What a worker asks of a coordinator about data: datasets, shards, positions, leases
and checkpoints."""

from __future__ import annotations

import itertools
import time
from typing import (TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Protocol,
                    Sequence, cast)

from . import _balance
from ._coord_errors import CoordinatorError, CoordinatorStale
from ._coord_results import SHARDS, Checkpoint, Shard, ShardTable
from ._coord_values import JOBS, Deadline, milliseconds, words
from ._lease import Lease, Renewer

if TYPE_CHECKING:
    from ._coord_results import World
    from .coordinator import TrainingOrchestrator

    class _Client(Protocol):
        """What the rest of TrainingOrchestrator has for this part."""

        job: str | None
        worker_id: str | None

        def _connected(self) -> Any: ...
        def call(self, path: str, request: Mapping[str, Any],
                 timeout: float | None = 60.0) -> dict[str, Any]: ...
        def wait_world(self, epoch: int | None = None,
                       timeout: float | None = None) -> World: ...
        @property
        def world(self) -> World: ...
else:
    _Client = object

_TRIES = 10     # of a list that changes while it is read
_PAUSE = 1.0    # seconds until a piece is asked for again, at most


def _shards(total_samples: int, shard_size: int) -> int:
    """How many there are; the coordinator says what is wrong with numbers."""
    good = all(isinstance(n, int) and n > 0
               for n in (total_samples, shard_size))
    return -(-total_samples // shard_size) if good else 0


def _shard(dataset_id: str, number: int, about: Mapping[str, Any],
           epoch: int | None) -> Shard:
    first = number * about["shard_size"]
    return Shard(dataset_id, number, about["total_shards"], first,
                 min(first + about["shard_size"], about["total_samples"]),
                 about["epoch"] if epoch is None else epoch, [])


class DataCalls(_Client):
    """The part of TrainingOrchestrator that is about data."""

    def __init__(self) -> None:
        self._takes = itertools.count(1)    # of leases: a number for each
        self._renewer = Renewer()

    def register_dataset(self, dataset_id: str, path: str, total_samples: int,
                         shard_size: int, shuffle: bool = True, seed: int = 42,
                         *, format: str = "",
                         metadata: Mapping[str, Any] | None = None,
                         balance: str = "count",
                         shard_bytes: Sequence[int] | None = None,
                         shard_homes: Sequence[str] | None = None) -> int:
        """Makes a dataset known; returns how many shards it has.  The same
        values again are fine; WorkerExists names one that is another.

        balance      how shards find their workers: "count" (all have as many,
                     or one more), "weight", "bytes", "locality" (as "count",
                     and rather where they are at home); or by a hash that
                     needs no table: "rendezvous", "jump", "ring"
        shard_bytes  for "bytes": of each shard.  Up to 65,536 numbers; fewer
                     than shards stand for as many neighbours each
        shard_homes  for "locality": names, likewise
        """
        reply = self.call(JOBS + "RegisterDataset", {
            "dataset_id": dataset_id, "path": path, "format": format,
            "total_samples": total_samples, "shard_size": shard_size,
            "shuffle": shuffle, "seed": seed,
            "metadata": words("metadata", metadata),
            "job_id": self.job or "",
            **_balance.of_dataset(
                balance, shard_bytes, shard_homes,
                _shards(total_samples, shard_size)).fields()})
        return reply["total_shards"]

    def get_shard(self, dataset_id: str, epoch: int = 0) -> Shard:
        """The part of a dataset that is this worker's in this epoch."""
        reply = self.call(JOBS + "GetDataShard", {
            **self._me(dataset_id), "epoch": epoch})
        return Shard._make(reply[name] for name in Shard._fields)

    def shards(self, dataset_id: str) -> list[range]:
        """All shards of a dataset that are this worker's, as ranges, in the
        order in which they are to be read."""
        return self._list_shards(dataset_id)[0]

    def get_shards(self, dataset_id: str,
                   epoch: int | None = None) -> list[Shard]:
        """The same one by one, with their samples, for an epoch; None: for
        the one that is under way."""
        ranges, about = self._list_shards(dataset_id)
        return [_shard(dataset_id, number, about, epoch)
                for part in ranges for number in part]

    def _list_shards(self, dataset_id: str
                     ) -> tuple[list[range], dict[str, Any]]:
        for _ in range(_TRIES):
            try:
                return self._list_pages(dataset_id)
            except CoordinatorStale as error:   # moved between two pages
                reason = error
        raise reason

    def _list_pages(self, dataset_id: str
                    ) -> tuple[list[range], dict[str, Any]]:
        request = self._me(dataset_id)
        found: list[range] = []
        while True:
            page = self.call(SHARDS + "ListShards", request)
            found += [range(part["first"], part["first"] + part["count"])
                      for part in page["ranges"]]
            if not page["next"]:
                return found, page
            request.update(after=page["next"], version=page["version"])

    def shard_table(self, dataset_id: str) -> ShardTable:
        """How the shards of a dataset are dealt to all workers."""
        reply = self.call(SHARDS + "GetTable", {
            "job_id": self.job or "", "dataset_id": dataset_id})
        return ShardTable._make(reply[name] for name in ShardTable._fields)

    def wait_shards(self, dataset_id: str, version: int,
                    timeout: float | None = None) -> ShardTable:
        """Waits until the table has another version than that: somebody has
        come or gone, and shards have moved."""
        clock = Deadline(timeout)
        while True:
            # Shards move with the world, so its change is what to wait for.
            epoch = self.world.epoch
            table = self.shard_table(dataset_id)
            if table.version != version:
                return table
            self.wait_world(epoch, clock.left())

    def advance_epoch(self, dataset_id: str, epoch: int, *,
                      abandon: bool = False) -> int:
        """The dataset goes on to the epoch behind the one under way; every
        worker may say so, and say so again.

        abandon  also when samples are left of the one before

        CoordinatorStale when the epoch is over or not the next one, and
        while samples are left of one that was reported or lent."""
        return self.call(SHARDS + "AdvanceEpoch", {
            **self._me(dataset_id), "epoch": epoch,
            "abandon": bool(abandon)})["epoch"]

    def report_consumed(self, dataset_id: str,
                        positions: Iterable[range], epoch: int = 0) -> int:
        """Says which positions (numbers of samples in the order of the epoch)
        were consumed; twice is harmless.  Returns how many were new."""
        return self.call(SHARDS + "ReportConsumed", {
            **self._me(dataset_id), "epoch": epoch,
            "ranges": [{"first": part.start, "end": part.stop}
                       for part in positions]})["n_new"]

    def consumed(self, dataset_id: str, *,
                 missing: bool = False) -> list[range]:
        """The positions of the epoch under way that were consumed, or those
        that were not."""
        found: list[range] = []
        after = 0
        while True:
            page = self.call(SHARDS + "GetConsumed", {
                "job_id": self.job or "", "dataset_id": dataset_id,
                "missing": missing, "after": after})
            found += [range(part["first"], part["end"])
                      for part in page["ranges"]]
            after = page["next"]
            if not after:
                return found

    def take_lease(self, dataset_id: str, epoch: int = 0, *,
                   exactly_once: bool = False, chunk: int = 0,
                   timeout: float = 60.0) -> Lease:
        """A piece of an epoch, for workers that are not equally fast; all take
        them on the same terms.  It is renewed by itself as long as the object
        is there; `with` counts it at its end.

        exactly_once  what is said of a piece that is over is refused
                      (LeaseLost), and must not be applied; else it counts,
                      and another may have worked on it, too
        chunk         positions of a piece; 0: a shard
        timeout       seconds of silence after which it is another's
        """
        reply = self.call(SHARDS + "TakeLease", {
            **self._me(dataset_id), "epoch": epoch, "mode": int(exactly_once),
            "chunk": chunk, "timeout_ms": milliseconds("timeout", timeout),
            "request": next(self._takes)})
        lease = Lease(cast("TrainingOrchestrator", self), dataset_id, epoch, exactly_once, reply)
        if lease.lease_id:
            self._renewer.add(lease)
        return lease

    def pull(self, dataset_id: str, epoch: int = 0,
             **terms: Any) -> Iterator[Lease]:
        """Takes pieces of an epoch until all of it is consumed, by whomever;
        `terms` are those of take_lease().

        A piece counts as consumed when the body is through with it.  After
        `break`, an exception or close(), what the body has finished counts:
        what it called consumed() for, and the positions that a loop over the
        piece has behind it.  Another is given the rest.

        A piece can become another's while the body runs only when this worker
        is not heard of for a timeout (its machine is cut off or stands still).
        At least once: the loop goes on, both have worked on it.  With
        exactly_once LeaseLost is raised, by consumed() or at the end of the
        body: call consumed() before you apply what you made of a piece."""
        while True:
            lease = self.take_lease(dataset_id, epoch, **terms)
            if lease.done:
                return
            if not lease.lease_id:
                time.sleep(min(lease.retry, _PAUSE))
                continue
            with lease:
                yield lease

    def _me(self, dataset_id: str) -> dict[str, Any]:
        """Who asks: shards, what was consumed and leases are its own."""
        return {"job_id": self.job or "", "worker_id": self.worker_id or "",
                "session": self._session(), "dataset_id": dataset_id}

    def _session(self) -> int:
        if self.worker_id is None:
            return 0
        return self._connected().registration()["session"]

    def notify_checkpoint(self, checkpoint_id: str, step: int, epoch: int = 0,
                          path: str = "", size_bytes: int = 0, *,
                          type: str = "full",
                          metadata: Mapping[str, Any] | None = None) -> int:
        """Says that this worker has saved its part of a step.  Returns the
        newest step that all workers have saved (0: none yet)."""
        reply = self.call(JOBS + "NotifyCheckpoint", {
            "worker_id": self.worker_id or "", "checkpoint_id": checkpoint_id,
            "step": step, "epoch": epoch, "storage_path": path,
            "size_bytes": size_bytes, "type": type,
            "timestamp_ms": time.time_ns() // 1000000,
            "metadata": words("metadata", metadata),
            "job_id": self.job or ""})
        if not reply["success"]:
            raise CoordinatorError(reply["message"])
        return reply["global_step"]

    def latest_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint that all workers have saved, or None."""
        reply = self.call(JOBS + "GetLatestCheckpoint", {
            "worker_id": self.worker_id or "", "job_id": self.job or ""})
        found = reply["latest_checkpoint"]
        if not reply["has_checkpoint"] or found is None:
            return None
        found["path"] = found["storage_path"]
        return Checkpoint._make(found[name] for name in Checkpoint._fields)
