"""Calls of a worker about data: datasets, shards, positions, leases and
checkpoints."""

from __future__ import annotations

import itertools
import secrets
import time
import warnings
from typing import (TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Protocol,
                    Sequence, cast)

from _roar_coord import meet_reply

from . import _balance
from ._coord_errors import (CheckpointExists, CheckpointFailed,
                            CoordinatorAborted, CoordinatorError, CoordinatorInvalid,
                            CoordinatorStale, WorkerExists)
from ._coord_results import (SHARDS, Checkpoint, CheckpointPart,
                             CheckpointParts, CheckpointWorld, Shard, ShardTable)
from ._coord_values import (CONTROL, JOBS, Deadline, digest_of, milliseconds,
                            sentence_of, words)
from ._lease import Lease, Renewer

if TYPE_CHECKING:
    from ._coord_results import World
    from .coordinator import TrainingOrchestrator

    class _Client(Protocol):
        """Attributes of TrainingOrchestrator that this part uses."""

        job: str | None
        worker_id: str | None

        def _connected(self) -> Any: ...
        def _meet(self, kind: int, meeting_id: str, step: int | None, timeout: Any,
                  policy: str | None, group: Sequence[str] | None, value: bytes,
                  in_favour: bool, aside: bool = False) -> bytes: ...
        def call(self, path: str, request: Mapping[str, Any],
                 timeout: float | None = 60.0) -> dict[str, Any]: ...
        def wait_world(self, epoch: int | None = None,
                       timeout: float | None = None) -> World: ...
        @property
        def world(self) -> World: ...
        @property
        def fencing_token(self) -> int: ...
else:
    _Client = object

_VOTE = 2
_TRIES = 10     # of a list that changes while it is read
_PAUSE = 1.0    # seconds until a piece is asked for again, at most


def _shards(total_samples: int, shard_size: int) -> int:
    """Number of shards; the coordinator reports invalid numbers."""
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
    """The methods of TrainingOrchestrator about data."""

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
        """Registers a dataset; returns the number of its shards.  Idempotent;
        raises WorkerExists, which names a value that differs.

        balance      how shards are assigned to workers: "count" (equal numbers,
                     or one more), "weight", "bytes", "locality" (as "count",
                     with as many shards at home as possible); or by a hash
                     without a table: "rendezvous", "jump", "ring"
        shard_bytes  for "bytes": the size of each shard.  Up to 65,536 numbers;
                     if there are more shards, a number stands for neighbours
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
        """This worker's part of a dataset in this epoch."""
        reply = self.call(JOBS + "GetDataShard", {
            **self._me(dataset_id), "epoch": epoch})
        return Shard._make(reply[name] for name in Shard._fields)

    def shards(self, dataset_id: str) -> list[range]:
        """All shards of a dataset that this worker owns, as ranges, in the order
        in which to read them."""
        return self._list_shards(dataset_id)[0]

    def get_shards(self, dataset_id: str,
                   epoch: int | None = None) -> list[Shard]:
        """The shards of this worker one by one, with their samples, for `epoch`;
        None: the current epoch."""
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
        """The assignment of a dataset's shards to all workers."""
        reply = self.call(SHARDS + "GetTable", {
            "job_id": self.job or "", "dataset_id": dataset_id})
        return ShardTable._make(reply[name] for name in ShardTable._fields)

    def wait_shards(self, dataset_id: str, version: int,
                    timeout: float | None = None) -> ShardTable:
        """Waits until the table has another version: workers have joined or left,
        and shards have moved."""
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
        """Starts the next epoch of the dataset.  Idempotent: every worker can call
        this.

        abandon  start it even if samples are left of the previous epoch

        Raises CoordinatorStale if the epoch is over or not the next one, and while
        samples are left of an epoch that was reported or leased."""
        return self.call(SHARDS + "AdvanceEpoch", {
            **self._me(dataset_id), "epoch": epoch,
            "abandon": bool(abandon)})["epoch"]

    def report_consumed(self, dataset_id: str,
                        positions: Iterable[range], epoch: int = 0) -> int:
        """Reports consumed positions (numbers of samples in the order of the
        epoch).  Idempotent.  Returns how many were new."""
        return self.call(SHARDS + "ReportConsumed", {
            **self._me(dataset_id), "epoch": epoch,
            "ranges": [{"first": part.start, "end": part.stop}
                       for part in positions]})["n_new"]

    def consumed(self, dataset_id: str, *,
                 missing: bool = False) -> list[range]:
        """The positions of the current epoch that were consumed, or those that
        were not."""
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
        """Takes a lease of positions, for workers of different speed; all workers
        must use the same terms.  The lease is renewed while the object exists;
        `with` counts it as consumed at its end.

        exactly_once  reports for an expired lease are refused (LeaseLost), and
                      its results must be discarded; otherwise they count, and
                      another worker may have processed it as well
        chunk         positions of a lease; 0: a shard
        timeout       seconds of silence after which the lease expires
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
        """Takes leases of an epoch until all positions are consumed, by any
        worker; `terms` are those of take_lease().

        A lease counts as consumed when the loop body ends.  After `break`, an
        exception or close(), finished positions count: those passed to
        consumed(), and those that a loop over the lease has completed.  The rest
        is leased again.

        A lease expires while the body runs only if the coordinator has no contact
        with this worker for a timeout (its machine is unreachable or suspended).
        With at-least-once semantics the loop continues, and both workers have
        processed it.  With exactly_once, consumed() or the end of the body raises
        LeaseLost: call consumed() before you apply the results."""
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
        """The fields that identify this worker in a request."""
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
        """Reports that this worker has saved its part of a step.  Returns the
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

    def begin_checkpoint(self, step: int, *, timeout: float | None = 600.0
                         ) -> CheckpointWorld:
        """Agrees with all workers of the job on a save of this step: waits for them,
        and returns its save_id, the same on all, and this worker's rank, the number
        of workers and the epoch of the world, for commit_checkpoint()."""
        mine = f"{step} {secrets.token_hex(4)}"
        reply = meet_reply(self._meet(_VOTE, "roar.checkpoint", None, timeout, "fail",
                                      None, mine.encode(), True))
        first = min(reply["values"], key=lambda item: item["rank"])
        number, save_id = first["value"].decode().split()
        if int(number) != step:
            self.fail_checkpoint(int(number), save_id, f"worker {self.worker_id!r} "
                                 f"saves step {step} instead")
            raise CoordinatorInvalid(f"worker {first['worker_id']!r} saves step {number} "
                                     f"and this one step {step}: save the same on all")
        return CheckpointWorld(save_id, reply["place"], reply["participants"],
                               reply["world_epoch"])

    def commit_checkpoint(self, step: int, save_id: str, part: bytes | str,
                          write_manifest: Callable[[CheckpointParts],
                                                   bytes | str], *,
                          epoch: int = 0, path: str = "", size_bytes: int = 0,
                          world_epoch: int = 0,
                          timeout: float | None = 600.0) -> bytes:
        """Commits this worker's part of a checkpoint together with those of all
        ranks.  Returns the BLAKE3 of the manifest, the same on all ranks, when the
        coordinator has recorded it.

        Every rank calls this when its part is written and durable, and waits for
        the others.  When all parts of one world are there, the coordinator lets
        rank 0 write the manifest; the other ranks only wait.

        save_id         the same on all ranks, and of no other save
        part            BLAKE3 of this rank's part-….json: 32 bytes, or hex digits
        write_manifest  called on rank 0 alone, with CheckpointParts; writes the
                        manifest durably and returns its BLAKE3.  If it raises,
                        there must be no manifest: the save fails on all ranks, and
                        the exception goes on
        path            where the checkpoint is; told by latest_checkpoint()
        size_bytes      of this rank's part
        world_epoch     in which the save began, to be sure that all ranks are of
                        one world; 0: the current one
        timeout         seconds for everything; None: for ever

        Raises CheckpointFailed if there is no manifest of this save: another rank
        reported why (fail_checkpoint()), or a process died, joined or left before
        all parts were there; CheckpointExists if another save of the step is
        committed.  Then this rank may remove its files.  After any other exception
        (a timeout, a lost connection, rank 0 lost while it wrote) the checkpoint
        may exist: call this again with the same arguments, or leave the files to
        the garbage collection.  The call is idempotent, and goes on after a restart
        or a change of the coordinator."""
        clock = Deadline(timeout)
        info = self._save_info(step, save_id, epoch, path, size_bytes)
        about = {"info": info, "world_epoch": world_epoch}
        reply, token = self._commit(
            {**about, "part": digest_of("part", part)}, clock)
        if not reply["committed"]:
            parts = CheckpointParts(
                [CheckpointPart._make(p[name] for name in CheckpointPart._fields)
                 for p in reply["parts"]], reply["world_epoch"], token)
            try:
                written = digest_of("the manifest's digest",
                                    write_manifest(parts))
            except BaseException as error:
                self._commit_failed(info, error)
                raise
            reply, _ = self._commit({**about, "manifest": written}, clock)
        return reply["manifest"]

    def fail_checkpoint(self, step: int, save_id: str, reason: str, *,
                        epoch: int = 0, path: str = "",
                        timeout: float | None = 60.0) -> None:
        """Reports that this worker cannot save its part of a checkpoint, and why.
        The save fails on all ranks: commit_checkpoint() raises CheckpointFailed
        with the reason, and the dashboard shows it.

        Raises CoordinatorStale if all parts are there already: then rank 0 decides.
        """
        self._commit({"info": self._save_info(step, save_id, epoch, path, 0),
                      "failure": sentence_of(reason)}, Deadline(timeout))

    def _save_info(self, step: int, save_id: str, epoch: int, path: str,
                   size_bytes: int) -> dict[str, Any]:
        return {"worker_id": self.worker_id or "", "job_id": self.job or "",
                "checkpoint_id": save_id, "step": step, "epoch": epoch,
                "storage_path": path, "size_bytes": size_bytes,
                "timestamp_ms": time.time_ns() // 1000000}

    def _commit(self, request: Mapping[str, Any], clock: Deadline
                ) -> tuple[dict[str, Any], int]:
        """The reply, and the fencing token that the request had.  When another
        coordinator leads meanwhile, the request is sent again with its token."""
        while True:
            token = self.fencing_token
            try:
                return self.call(CONTROL + "CommitCheckpoint", {
                    **request, "session": self._session(),
                    "fencing_token": token}, clock.left()), token
            except CoordinatorStale:
                if self.fencing_token == token:
                    raise
            except CoordinatorAborted as error:
                raise CheckpointFailed(str(error)) from error
            except WorkerExists as error:
                raise CheckpointExists(str(error)) from error

    def _commit_failed(self, info: Mapping[str, Any],
                       error: BaseException) -> None:
        """Tells the others why there is no manifest; they would wait."""
        try:
            self._commit({"info": info, "failure": sentence_of(
                f"{type(error).__name__}: {error}")}, Deadline(60.0))
        except CoordinatorError as second:
            warnings.warn(f"the other ranks wait in vain: {second}",
                          RuntimeWarning, stacklevel=4)

    def latest_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint that all workers have saved, or None.  Of saves by
        commit_checkpoint(), only what is committed."""
        reply = self.call(JOBS + "GetLatestCheckpoint", {
            "worker_id": self.worker_id or "", "job_id": self.job or ""})
        found = reply["latest_checkpoint"]
        if not reply["has_checkpoint"] or found is None:
            return None
        found.update(path=found["storage_path"], manifest=reply["manifest"])
        return Checkpoint._make(found[name] for name in Checkpoint._fields)
