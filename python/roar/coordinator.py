"""The workers of a training job: membership, heartbeats, barriers and data.

    with roar.TrainingOrchestrator("127.0.0.1:50051") as job:
        me = job.register_worker("worker-3", "node-1", 0)
        for step in range(1000):
            ...
            job.set_progress(step)
            job.barrier("step", timeout=60)

One thread of the object sends heartbeats and reconnects when the connection to the
coordinator is lost; waiting calls do not delay it.  Methods can be called from any
number of threads.  After fork() the child has no connection and makes its own.

roar.init_from_env() does the first two lines for processes of torchrun, Slurm,
MPI or Ray.
"""

from __future__ import annotations

import math
import random
import socket
import threading
import time
import warnings
from typing import Any, Callable, Mapping, Sequence

try:
    import _roar_coord
except ImportError as error:
    raise ImportError(
        f"roar.coordinator cannot be loaded ({error}): install protobuf-c "
        "(Debian: libprotobuf-c-dev protobuf-c-compiler) and build roar "
        "again") from error

from . import _balance, _checks
from ._coord_data import DataCalls
from ._coord_errors import (BarrierBroken, BarrierTimeout, CheckpointExists,
                            CheckpointFailed, CoordinatorAborted,
                            CoordinatorBusy, CoordinatorClosed, CoordinatorDenied,
                            CoordinatorError, CoordinatorInvalid,
                            CoordinatorNotFound, CoordinatorStale,
                            CoordinatorTimeout, CoordinatorUnreachable,
                            WorkerExists)
from ._coord_keys import Keys
from ._coord_results import (Checkpoint, CheckpointPart, CheckpointParts,
                             CheckpointWorld, KeyValue, Shard, ShardTable, WorkerConfig,
                             World)
from ._coord_values import (CONTROL, Deadline, bytes_of, generation_of, ids,
                            milliseconds, policy_number, words)
from ._lease import Lease, LeaseLost
from ._meetings import BarrierResult, Late, VoteResult, gathered

__all__ = [
    "BarrierBroken", "BarrierResult", "BarrierTimeout", "Checkpoint",
    "CheckpointExists", "CheckpointFailed", "CheckpointPart",
    "CheckpointParts", "CheckpointWorld", "CoordinatorAborted",
    "CoordinatorBusy", "CoordinatorClosed", "CoordinatorDenied",
    "CoordinatorError", "CoordinatorInvalid", "CoordinatorNotFound",
    "CoordinatorStale", "CoordinatorTimeout", "CoordinatorUnreachable",
    "KeyValue", "Keys", "Late", "Lease", "LeaseLost", "Shard", "ShardTable",
    "TrainingOrchestrator", "VoteResult", "WorkerConfig", "WorkerExists", "World",
]

_BARRIER, _GATHER, _VOTE = 0, 1, 2
_STATES = ("unknown", "initializing", "idle", "loading_data", "training",
           "checkpointing", "recovering", "error")
_PAUSE = 1.0    # seconds between attempts to register, at most


def _world(client: Any) -> World:
    known = client.world()
    return World._make(known[name] for name in World._fields)


class TrainingOrchestrator(DataCalls):
    """The client of a coordinator, for one worker.

    coordinator_url  "HOST:PORT", "grpc://HOST:PORT", "http://HOST:PORT" or
                     "unix:PATH"; several, separated by commas, are tried in turn
    job              name of the job; None: the token's job, or "default"
    token            the job's token in the coordinator's --tokens file
    tls_ca           a file of CA certificates: connect with TLS
    tls_name         the server's name in its certificate, if not the host's name
    connect_timeout  seconds to wait for the first connection
    timeout          default timeout of barriers and other meetings in seconds;
                     None: for ever
    """

    def __init__(self, coordinator_url: str, *, job: str | None = None,
                 token: str | None = None, tls_ca: str | None = None,
                 tls_name: str | None = None,
                 connect_timeout: float = 30.0,
                 timeout: float | None = 300.0) -> None:
        super().__init__()
        if not isinstance(coordinator_url, str) or not coordinator_url:
            raise ValueError("coordinator_url must be 'HOST:PORT' or "
                             f"'unix:PATH', not {coordinator_url!r:.80}")
        self.coordinator_url = coordinator_url
        self.job = job
        self.worker_id: str | None = None
        self.kv = Keys(self)
        self.launch: Any = None     # roar._launch.Launch, by init_from_env()
        self._token = token
        self._tls_ca = tls_ca
        self._tls_name = tls_name
        self._connect_ms = max(1, milliseconds("connect_timeout",
                                                connect_timeout))
        self._timeout = timeout
        self._client: _roar_coord.Client | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._watchers: list[threading.Thread] = []

    # ---- connecting

    def _join(self, worker_id: str | None, **about: Any) -> Any:
        options: dict[str, Any] = {
            "hostname": None, "port": 0, "gpu_count": 0, "memory_bytes": 0,
            "metadata": None, **about}
        return _roar_coord.join(
            address=self.coordinator_url, job=self.job, worker_id=worker_id,
            token=self._token, connect_ms=self._connect_ms,
            tls_ca=self._tls_ca, tls_name=self._tls_name,
            observer=worker_id is None, **options)

    def _connected(self) -> Any:
        client = self._client
        if client is None:
            self.connect()
            client = self._client
        return client

    def connect(self) -> None:
        """Connects as an observer, to check that the coordinator is reachable.

        Optional: every method connects when needed.
        """
        with self._lock:
            if self._closed:
                raise CoordinatorClosed(
                    "this TrainingOrchestrator was closed; make a new one")
            if self._client is None:
                self._client = self._join(None)

    def set_token(self, token: str | None) -> None:
        """Uses another token for this and later calls; waiting calls continue with it.

        The new token must be valid already, and the old one must still be valid:
        once a token is revoked, every method raises CoordinatorDenied.
        """
        with self._lock:
            self._token = token
            if self._client is not None:
                self._client.set_token(token)

    def register_worker(self, worker_id: str, host: str | None = None,
                        port: int = 0, gpu_count: int = 0,
                        memory_bytes: int = 0,
                        metadata: Mapping[str, Any] | None = None, *,
                        weight: int | None = None,
                        home: str | None = None,
                        wait: float | None = 0) -> WorkerConfig:
        """Joins the job as a worker.

        Replaces a dead worker with this id: takes over its place and rank, and
        the incarnation grows by one.  Raises WorkerExists if that worker is alive.

        weight  relative capacity, for datasets with balance="weight"; None:
                gpu_count, or 1
        home    location, for datasets with balance="locality"; None: host
        wait    seconds to retry while a worker with this id counts as alive; None:
                for ever.  A worker whose machine lost power counts as alive for
                half of the job's timeout, because no connection ended
        """
        if not isinstance(worker_id, str):
            raise TypeError(f"worker_id must be a str, not {worker_id!r:.80}")
        about = {
            "hostname": host or socket.gethostname(),
            "port": _checks.whole("port", port, 0, 65535),
            "gpu_count": _checks.whole("gpu_count", gpu_count, 0, 1 << 20),
            "memory_bytes": _checks.whole("memory_bytes", memory_bytes, 0,
                                          1 << 62),
            "metadata": [word for pair in {
                **words("metadata", metadata),
                **_balance.of_worker(weight, home)}.items() for word in pair],
        }
        clock = Deadline(wait, "wait")
        while True:
            left = clock.left()
            try:
                self._take_place(worker_id, about)
                return self._config()
            except WorkerExists as error:
                if left == 0:
                    raise WorkerExists(
                        f"{error}; register_worker(wait=SECONDS) waits for it"
                        if wait == 0 else
                        f"{error}; waited {wait:g} s") from None
            # Spread the retries of workers that lost a whole machine.
            pause = random.uniform(_PAUSE / 4, _PAUSE)
            time.sleep(pause if left is None else min(pause, left))

    def _take_place(self, worker_id: str, about: Mapping[str, Any]) -> None:
        with self._lock:
            if self._closed:
                raise CoordinatorClosed(
                    "this TrainingOrchestrator was closed; make a new one")
            if self.worker_id is not None:
                raise CoordinatorInvalid(
                    f"this object is worker {self.worker_id!r} already: make "
                    "another TrainingOrchestrator for another worker")
            client = self._join(worker_id, **about)
            observer, self._client = self._client, client
            self.worker_id = worker_id
        if observer is not None:
            observer.close()

    def _config(self) -> WorkerConfig:
        reply = self._connected().registration()
        return WorkerConfig._make(reply[name] for name in WorkerConfig._fields)

    def deregister(self) -> None:
        """Leaves the job: ranks are compacted, and barriers do not wait for it.

        Raises CoordinatorUnreachable if the coordinator cannot be reached.  A
        `with` block calls this at its end, and then only warns."""
        with self._lock:
            client, self._client = self._client, None
            registered, self.worker_id = self.worker_id, None
        if client is None:
            return
        if registered is None:
            client.close()
        else:
            client.leave()

    def close(self) -> None:
        """Closes the connection as if the process had died: the coordinator holds
        the place for a successor.  Calls that wait in other threads raise
        CoordinatorClosed."""
        with self._lock:
            client, self._client = self._client, None
            self.worker_id = None
            self._closed = True
        if client is not None:
            client.close()

    def __enter__(self) -> "TrainingOrchestrator":
        return self

    def __exit__(self, kind: Any, *unused: Any) -> None:
        # A worker that fails keeps its place for a successor.  A worker that has
        # finished leaves; a lost coordinator is then only a warning.
        worker_id = self.worker_id
        try:
            if kind is None:
                self.deregister()
        except CoordinatorError as error:
            warnings.warn(
                f"worker {worker_id!r} has finished, but could not leave the "
                f"job, which holds its place for a successor: {error}",
                RuntimeWarning, stacklevel=2)
        finally:
            self.close()

    # ---- heartbeats and the world

    def set_progress(self, step: int = 0, epoch: int = 0, *,
                     state: str = "training", task: str = "") -> None:
        """Sets the content of the next heartbeats; sends nothing.

        task  a text without line ends, 256 bytes at most
        """
        if state not in _STATES:
            raise ValueError(f"state must be one of {', '.join(_STATES)}, "
                             f"not {state!r:.80}")
        self._connected().progress(_STATES.index(state), step, epoch, task)

    def heartbeat(self, step: int = 0, epoch: int = 0, *,
                  state: str = "training", task: str = "",
                  timeout: float = 30.0) -> World:
        """Sends a heartbeat now, in addition to the automatic ones.

        Commands in its reply are kept for commands().
        """
        self.set_progress(step, epoch, state=state, task=task)
        self._connected().heartbeat(milliseconds("timeout", timeout))
        return self.world

    @property
    def world(self) -> World:
        """The workers of the job, as last received.  After the first use, the
        coordinator sends changes as they happen."""
        return _world(self._connected())

    @property
    def rank(self) -> int:
        """This worker's rank now; it may change with the world."""
        return self.world.rank

    @property
    def world_size(self) -> int:
        """Number of workers that the job has now."""
        return self.world.size

    @property
    def fencing_token(self) -> int:
        """The coordinator's fencing token, which grows with each new leader; 0
        without etcd.  A store that remembers the largest token it has seen can
        refuse late writes."""
        return self._connected().fencing_token()

    def wait_world(self, epoch: int | None = None,
                   timeout: float | None = None) -> World:
        """Waits until the world's epoch differs from `epoch`; None: from the
        current one."""
        self._connected().wait_world(
            self.world.epoch if epoch is None else epoch,
            milliseconds("timeout", timeout))
        return self.world

    def wait_ready(self, timeout: float | None = None) -> World:
        """Waits until the job has the workers it needs."""
        clock = Deadline(timeout)
        while True:
            left = clock.left()
            if self.worker_id is not None:
                self._connected().heartbeat(milliseconds("timeout", left))
            world = self.world
            if world.ready:
                return world
            if left == 0:
                raise CoordinatorTimeout(
                    f"the job has {world.size} workers and needs more")
            try:    # settings may change without a change of the world
                self.wait_world(world.epoch, 1 if left is None else
                                min(left, 1))
            except CoordinatorTimeout:
                pass

    def commands(self, timeout: float = 0) -> list[str]:
        """Commands received for this worker ("checkpoint", "stop", ...), each
        returned once; waits up to `timeout` seconds for the first."""
        client = self._connected()
        found: list[str] = []
        wait = milliseconds("timeout", timeout)
        while (command := client.command(wait)):
            found.append(command)
            wait = 0
        return found

    def watch(self, *, world: Callable[[World], Any] | None = None,
              command: Callable[[str], Any] | None = None) -> None:
        """Calls `world` for each change of the world, and `command` for each
        command, in threads of their own, until this object is closed or the
        worker has left the job."""
        self._connected()
        if world is not None:
            self._start(self._watch_world, world, self.world.epoch)
        if command is not None:
            self._start(self._follow, command, lambda client:
                        client.command(-1))

    def _start(self, body: Callable[..., None], *about: Any) -> None:
        thread = threading.Thread(target=body, args=about, daemon=True,
                                  name="roar-coordinator-watch")
        self._watchers.append(thread)
        thread.start()

    def _watch_world(self, callback: Callable[[World], Any],
                     seen: int) -> None:
        def change(client: Any) -> World:
            nonlocal seen
            client.wait_world(seen, -1)
            now = _world(client)
            seen = now.epoch
            return now

        self._follow(callback, change)

    def _follow(self, callback: Callable[[Any], Any],
                wait: Callable[[Any], Any]) -> None:
        """Waits with the current client: register_worker() replaces the client
        and closes the previous one."""
        while (client := self._client) is not None:
            try:
                found = wait(client)
            except CoordinatorClosed:
                if client is self._client:
                    return
                continue
            except (CoordinatorStale, CoordinatorDenied):
                return
            callback(found)

    # ---- meetings

    def _meet(self, kind: int, meeting_id: str, step: int | None,
              timeout: Any, policy: str | None,
              group: Sequence[str] | None, value: bytes,
              in_favour: bool, aside: bool = False) -> bytes:
        members, on_death = ids("group", group), policy_number(policy)
        client = self._connected()
        if self.worker_id is None:
            raise CoordinatorInvalid(
                "only a registered worker takes part: call register_worker() "
                "first")
        return client.meet(
            kind, meeting_id, generation_of(step),
            members, on_death,
            milliseconds("timeout",
                          self._timeout if timeout is _DEFAULT else timeout),
            value, in_favour, aside)

    def barrier(self, barrier_id: str, step: int | None = None, *,
                timeout: Any = ..., policy: str | None = None,
                group: Sequence[str] | None = None) -> BarrierResult:
        """Waits until all workers of the job, or of the group, have arrived.

        step     number of this use of the barrier: 0 or more, growing from use to
                 use.  None: the client counts, which is correct if every worker
                 takes part in every use.  A retry with the step that was released
                 last returns the same result at once
        timeout  seconds; None: for ever
        policy   if a worker dies that the barrier waits for: "fail", "shrink" (the
                 others continue) or "wait" (for its successor); None: the job's
        group    ids of the participants; None: all workers

        BarrierTimeout and BarrierBroken name the missing workers (.absent).
        """
        return BarrierResult(self._meet(_BARRIER, barrier_id, step, timeout,
                                        policy, group, b"", False))

    def gather(self, meeting_id: str, value: bytes | str,
               step: int | None = None, *, timeout: Any = ...,
               policy: str | None = None,
               group: Sequence[str] | None = None) -> dict[str, bytes]:
        """A barrier that returns the values of all workers (at most 64 KiB each)
        by worker id, in the order of ranks."""
        return gathered(self._meet(_GATHER, meeting_id, step, timeout, policy,
                                   group, bytes_of(value), False))

    def vote(self, meeting_id: str, in_favour: bool,
             step: int | None = None, *, timeout: Any = ...,
             policy: str | None = None,
             group: Sequence[str] | None = None) -> VoteResult:
        """A barrier that returns the number of votes for and against."""
        return VoteResult(self._meet(_VOTE, meeting_id, step, timeout, policy,
                                     group, b"", bool(in_favour)))

    # ---- the job

    def configure(self, *, min_workers: int = 0, max_workers: int = 0,
                  start_workers: int = 0,
                  heartbeat_interval: float = 0, timeout: float = 0,
                  hold: float = 0, policy: str | None = None
                  ) -> dict[str, Any]:
        """Changes settings of the job; 0 or None leaves a setting unchanged.

        start_workers  number of workers that the job starts with: barriers of all
                       workers are not released before.  Later some may leave
        min_workers    least number of living workers to release such a barrier
        timeout        seconds of silence after which a worker is dead
        hold           seconds that a dead worker's place is held
        policy         of barriers, if a worker dies
        """
        return self.call(CONTROL + "Configure", {
            "job_id": self.job or "", "min_workers": min_workers,
            "max_workers": max_workers, "start_workers": start_workers,
            "heartbeat_interval_ms": math.ceil(heartbeat_interval * 1000),
            "timeout_ms": math.ceil(timeout * 1000),
            "hold_ms": math.ceil(hold * 1000),
            "on_death": policy_number(policy)})

    def send_command(self, command: str,
                     worker_ids: Sequence[str] | None = None) -> int:
        """Sends a command to workers with their next heartbeat; None: to all.
        Returns the number of workers."""
        return self.call(CONTROL + "SendCommand", {
            "job_id": self.job or "", "command": command,
            "worker_ids": ids("worker_ids", worker_ids) or []})["n_workers"]

    def workers(self) -> list[dict[str, Any]]:
        """All workers of the job, by rank (messages WorkerView)."""
        found: list[dict[str, Any]] = []
        request = {"job_id": self.job or ""}
        while True:
            page = self.call(CONTROL + "ListWorkers", request)
            found += page["workers"]
            if not page["more"] or not page["workers"]:
                return found
            request = {"job_id": self.job or "",
                       "first_rank": found[-1]["rank"] + 1}

    def barriers(self) -> list[dict[str, Any]]:
        """Barriers with waiting workers (messages BarrierView)."""
        return self.call(CONTROL + "ListBarriers",
                         {"job_id": self.job or ""})["barriers"]

    def call(self, path: str, request: Mapping[str, Any],
             timeout: float | None = 60.0) -> dict[str, Any]:
        """Calls any method of the coordinator, such as "/roar.Control/GetStatus",
        with the fields of request and reply by name."""
        return self._connected().call(path, dict(request),
                                      milliseconds("timeout", timeout))


_DEFAULT = ...
