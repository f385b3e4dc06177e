"""The workers of a training job: who is there, and waiting for each other.

    with roar.TrainingOrchestrator("127.0.0.1:50051") as job:
        me = job.register_worker("worker-3", "node-1", 0)
        for step in range(1000):
            ...
            job.set_progress(step)
            job.barrier("step", timeout=60)

One thread behind the object sends heartbeats and connects again when the
coordinator is gone for a while; nothing that waits keeps them back.  Methods
may be called from any number of threads.  After fork() the child has no
connection: it makes its own.

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
from ._coord_errors import (BarrierBroken, BarrierTimeout, CoordinatorBusy,
                            CoordinatorClosed, CoordinatorDenied,
                            CoordinatorError, CoordinatorInvalid,
                            CoordinatorNotFound, CoordinatorStale,
                            CoordinatorTimeout, CoordinatorUnreachable,
                            WorkerExists)
from ._coord_keys import Keys
from ._coord_results import (Checkpoint, KeyValue, Shard, ShardTable,
                             WorkerConfig, World)
from ._coord_values import (CONTROL, Deadline, bytes_of, generation_of, ids,
                            milliseconds, policy_number, words)
from ._lease import Lease, LeaseLost
from ._meetings import BarrierResult, Late, VoteResult, gathered

__all__ = [
    "BarrierBroken", "BarrierResult", "BarrierTimeout", "Checkpoint",
    "CoordinatorBusy", "CoordinatorClosed", "CoordinatorDenied",
    "CoordinatorError", "CoordinatorInvalid", "CoordinatorNotFound",
    "CoordinatorStale", "CoordinatorTimeout", "CoordinatorUnreachable",
    "KeyValue", "Keys", "Late", "Lease", "LeaseLost", "Shard", "ShardTable",
    "TrainingOrchestrator", "VoteResult", "WorkerConfig", "WorkerExists", "World",
]

_BARRIER, _GATHER, _VOTE = 0, 1, 2
_STATES = ("unknown", "initializing", "idle", "loading_data", "training",
           "checkpointing", "recovering", "error")
_PAUSE = 1.0    # seconds between tries to take a place, at most


def _world(client: Any) -> World:
    known = client.world()
    return World._make(known[name] for name in World._fields)


class TrainingOrchestrator(DataCalls):
    """A worker's side of a coordinator.

    coordinator_url  "HOST:PORT", "grpc://HOST:PORT", "http://HOST:PORT" or
                     "unix:PATH"; several, by commas, are tried in turn
    job              which job; None: the token's, or "default"
    token            what the coordinator's --tokens file has for the job
    tls_ca           a file of certificates: connect with TLS
    tls_name         the server's name in its certificate, if not its host's
    connect_timeout  seconds until the first connection must be there
    timeout          seconds that barriers and other meetings wait at most,
                     where their call does not say otherwise; None: for ever
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
        """Connects without taking a place, to see that somebody is there.

        Every method does so by itself; register_worker() need not wait for it.
        """
        with self._lock:
            if self._closed:
                raise CoordinatorClosed(
                    "this TrainingOrchestrator was closed; make a new one")
            if self._client is None:
                self._client = self._join(None)

    def set_token(self, token: str | None) -> None:
        """Uses another token from now on; what waits goes on with it.

        It must be good already and the old one still be: whose token is
        withdrawn gets CoordinatorDenied from every method from then on.
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
        """Takes a place in the job.

        Whoever had this id before and is heard of no more gives way: place and
        rank are taken over, and the incarnation is one more.  WorkerExists
        when it is alive.

        weight  what it can do beside others, for datasets with
                balance="weight"; None: its gpu_count, or 1
        home    where it is, for datasets with balance="locality"; None: host
        wait    seconds to try again while it counts as alive; None: for ever.
                One whose machine lost its power does so for half of the job's
                timeout, because no connection ended
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
            # Not all at one moment, where a whole machine was lost.
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
        """Gives the place up: ranks are compacted, nobody waits for it.

        CoordinatorUnreachable when the coordinator is gone.  `with` calls this
        at its end, and only warns."""
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
        """Ends the connection as if the process had died: the place is held
        for a successor.  What waits in other threads raises
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
        # A worker that fails has not finished: its place is for a successor.
        # One that has finished did so, whatever becomes of the coordinator.
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
        """What the next heartbeats say.  Nothing is sent by this.

        task  a few words without line ends, 256 bytes at most
        """
        if state not in _STATES:
            raise ValueError(f"state must be one of {', '.join(_STATES)}, "
                             f"not {state!r:.80}")
        self._connected().progress(_STATES.index(state), step, epoch, task)

    def heartbeat(self, step: int = 0, epoch: int = 0, *,
                  state: str = "training", task: str = "",
                  timeout: float = 30.0) -> World:
        """Sends a heartbeat now; otherwise they are sent by themselves.

        Commands that come with its answer are kept for commands().
        """
        self.set_progress(step, epoch, state=state, task=task)
        self._connected().heartbeat(milliseconds("timeout", timeout))
        return self.world

    @property
    def world(self) -> World:
        """Who is there, as last heard.  From the first look on, the coordinator tells
        changes as they happen."""
        return _world(self._connected())

    @property
    def rank(self) -> int:
        """This worker's rank now; it may change with the world."""
        return self.world.rank

    @property
    def world_size(self) -> int:
        """How many places the job has now."""
        return self.world.size

    @property
    def fencing_token(self) -> int:
        """Grows whenever another coordinator begins to lead; 0 where there is
        only one.  A store that remembers the largest it has seen can refuse
        what comes late."""
        return self._connected().fencing_token()

    def wait_world(self, epoch: int | None = None,
                   timeout: float | None = None) -> World:
        """Waits until the world's epoch is another than `epoch`, or than it
        is now."""
        self._connected().wait_world(
            self.world.epoch if epoch is None else epoch,
            milliseconds("timeout", timeout))
        return self.world

    def wait_ready(self, timeout: float | None = None) -> World:
        """Waits until the job has as many workers as it needs."""
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
        """Commands for this worker ("checkpoint", "stop", ...) that have
        come, each told once; waits `timeout` seconds for the first."""
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
        """Waits with the client that there is: register_worker() replaces it,
        and closes the one before."""
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
        """Waits until all workers of the job, or of the group, have come.

        step     which use of the barrier this is: 0 or more, and it must grow
                 from one to the next.  None: the client counts, which is
                 right when every worker comes to every use.  To come again
                 with the step that was released last gives the same
                 result at once
        timeout  seconds; None: for ever
        policy   when somebody dies who is waited for: "fail", "shrink" (the
                 others go on) or "wait" (for its successor); None: the job's
        group    ids of those who take part; None: all workers

        BarrierTimeout and BarrierBroken name who is missing (.absent).
        """
        return BarrierResult(self._meet(_BARRIER, barrier_id, step, timeout,
                                        policy, group, b"", False))

    def gather(self, meeting_id: str, value: bytes | str,
               step: int | None = None, *, timeout: Any = ...,
               policy: str | None = None,
               group: Sequence[str] | None = None) -> dict[str, bytes]:
        """A barrier that gives everybody the values (at most 64 KiB) of all,
        by worker id, in the order of ranks."""
        return gathered(self._meet(_GATHER, meeting_id, step, timeout, policy,
                                   group, bytes_of(value), False))

    def vote(self, meeting_id: str, in_favour: bool,
             step: int | None = None, *, timeout: Any = ...,
             policy: str | None = None,
             group: Sequence[str] | None = None) -> VoteResult:
        """A barrier that tells everybody how many were for and against."""
        return VoteResult(self._meet(_VOTE, meeting_id, step, timeout, policy,
                                     group, b"", bool(in_favour)))

    # ---- the job

    def configure(self, *, min_workers: int = 0, max_workers: int = 0,
                  start_workers: int = 0,
                  heartbeat_interval: float = 0, timeout: float = 0,
                  hold: float = 0, policy: str | None = None
                  ) -> dict[str, Any]:
        """Settings of the job; what is 0 or None stays as it is.

        start_workers  how many the job begins with: barriers of all workers
                       are not released before.  Then some may leave
        min_workers    the fewest it goes on with: nor are they with fewer
                       alive
        timeout        seconds of silence after which a worker is dead
        hold           seconds that a dead worker's place is held
        policy         of barriers, when somebody dies
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
        """Tells workers something with their next heartbeat; None: all.
        Returns how many."""
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
        """Barriers that somebody waits at (messages BarrierView)."""
        return self.call(CONTROL + "ListBarriers",
                         {"job_id": self.job or ""})["barriers"]

    def call(self, path: str, request: Mapping[str, Any],
             timeout: float | None = 60.0) -> dict[str, Any]:
        """Any method of the coordinator, such as "/roar.Control/GetStatus":
        fields of its request by name, fields of its reply by name."""
        return self._connected().call(path, dict(request),
                                      milliseconds("timeout", timeout))


_DEFAULT = ...
