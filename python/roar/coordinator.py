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

import itertools
import math
import random
import socket
import threading
import time
import warnings
from typing import (Any, Callable, Iterable, Iterator, Mapping, Optional,
                    Sequence)

try:
    import _roar_coord
except ImportError as error:
    raise ImportError(
        f"roar.coordinator cannot be loaded ({error}): install protobuf-c "
        "(Debian: libprotobuf-c-dev protobuf-c-compiler) and build roar "
        "again") from error

from . import _balance, _checks
from ._coord_errors import (BarrierBroken, BarrierTimeout, CoordinatorBusy,
                            CoordinatorClosed, CoordinatorDenied,
                            CoordinatorError, CoordinatorInvalid,
                            CoordinatorNotFound, CoordinatorStale,
                            CoordinatorTimeout, CoordinatorUnreachable,
                            WorkerExists)
from ._coord_results import (SHARDS, Checkpoint, KeyValue, Shard, ShardTable,
                             WorkerConfig, World)
from ._lease import Lease, LeaseLost, Renewer
from ._meetings import BarrierResult, Late, VoteResult, gathered

__all__ = [
    "BarrierBroken", "BarrierResult", "BarrierTimeout", "Checkpoint",
    "CoordinatorBusy", "CoordinatorClosed", "CoordinatorDenied",
    "CoordinatorError", "CoordinatorInvalid", "CoordinatorNotFound",
    "CoordinatorStale", "CoordinatorTimeout", "CoordinatorUnreachable",
    "KeyValue", "Keys", "Late", "Lease", "LeaseLost", "Shard", "ShardTable",
    "TrainingOrchestrator", "VoteResult", "WorkerConfig", "WorkerExists", "World",
]

_JOBS = "/coordinator.Coordinator/"
_CONTROL = "/roar.Control/"
_BARRIER, _GATHER, _VOTE = 0, 1, 2
_POLICIES = {None: 0, "default": 0, "fail": 1, "shrink": 2, "wait": 3}
_STATES = ("unknown", "initializing", "idle", "loading_data", "training",
           "checkpointing", "recovering", "error")
_LONGEST_MS = 1 << 53
_TRIES = 10     # of a list that changes while it is read
_PAUSE = 1.0    # seconds between tries to take a place, at most


def _milliseconds(name: str, value: Optional[float]) -> int:
    """A time in seconds as the C half takes it; None and infinity: for ever."""
    if value is None:
        return -1
    number = _checks.seconds(name, value) * 1000
    return -1 if number > _LONGEST_MS else math.ceil(number)


def _words(name: str, value: Optional[Mapping[str, Any]]) -> dict[str, str]:
    """Metadata: names and texts."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be a dict, not {value!r:.80}")
    return {str(key): str(text) for key, text in value.items()}


def _shards(total_samples: int, shard_size: int) -> int:
    """How many there are; the coordinator says what is wrong with numbers."""
    good = all(isinstance(n, int) and n > 0
               for n in (total_samples, shard_size))
    return -(-total_samples // shard_size) if good else 0


def _ids(name: str, value: Optional[Sequence[str]]) -> Optional[list[str]]:
    """Ids of workers; None: all.  Nobody is not all: on the wire it would be,
    and a list that came out empty was hardly meant so."""
    if value is None:
        return None
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} must be a list of ids, not {value!r:.80}")
    found = list(value)
    for item in found:
        if not isinstance(item, str):
            raise TypeError(f"{name} must have ids, not {item!r:.80}")
    if not found:
        raise ValueError(f"{name} names nobody; None: all workers")
    return found


def _policy(name: Optional[str]) -> int:
    if name not in _POLICIES:
        raise ValueError("policy must be 'fail', 'shrink' or 'wait', not "
                         f"{name!r:.80}")
    return _POLICIES[name]


def _world(client: Any) -> World:
    known = client.world()
    return World._make(known[name] for name in World._fields)


def _entry(entry: Mapping[str, Any]) -> KeyValue:
    ms = entry["expires_in_ms"]
    return KeyValue(entry["key"], entry["value"], entry["version"],
                    ms / 1000 if ms else None)


class Keys:
    """The keys of a job, as TrainingOrchestrator.kv has them.

    A value is bytes, or something like it; a str is taken as UTF-8.  When the
    connection ends before the answer has come, get(), set(), delete() and
    list() are asked again; add() and compare_set() raise
    CoordinatorUnreachable, because nobody knows whether they were done.
    """

    def __init__(self, owner: "TrainingOrchestrator") -> None:
        self._owner = owner

    def _call(self, method: str, timeout: Optional[float] = 60.0,
              **request: Any) -> dict[str, Any]:
        return self._owner.call(_CONTROL + method, {
            "job_id": self._owner.job or "", **request}, timeout)

    def set(self, key: str, value: bytes | str,
            ttl: Optional[float] = None) -> int:
        """Gives the key a value, for `ttl` seconds (more than 0) or for ever.
        Its version."""
        return self._call("KvSet", key=key, value=_bytes(value),
                          ttl_ms=_ttl(ttl))["entry"]["version"]

    def get(self, key: str, default: Any = None) -> Any:
        """Its value as bytes, or `default` when it is not there."""
        found = self.entry(key)
        return default if found is None else found.value

    def entry(self, key: str) -> Optional[KeyValue]:
        """Value and version, or None."""
        try:
            reply = self._call("KvGet", key=key)
        except CoordinatorNotFound:
            return None
        entry = reply["entry"]
        return _entry(entry) if entry and entry["version"] else None

    def wait(self, key: str, timeout: Optional[float] = None, *,
             after_version: int = 0) -> KeyValue:
        """Waits until the key is there, or newer than `after_version`."""
        return _entry(self._call("KvGet", timeout, key=key, wait=True,
                                 after_version=after_version)["entry"])

    def add(self, key: str, delta: int = 1) -> int:
        """Adds to a number, 0 where there was none, and returns the sum."""
        return int(self._call("KvAdd", key=key, delta=delta)["entry"]["value"])

    def compare_set(self, key: str, version: int, value: bytes | str,
                    ttl: Optional[float] = None) -> bool:
        """Sets the key if its version is still that; 0: if it is not there."""
        return self._call("KvCompareSet", key=key, version=version,
                          value=_bytes(value), ttl_ms=_ttl(ttl))["done"]

    def delete(self, key: str) -> bool:
        """Removes the key.  False when it was not there."""
        try:
            return self._call("KvDelete", key=key)["done"]
        except CoordinatorNotFound:
            return False

    def list(self, prefix: str = "") -> list[KeyValue]:
        """All keys that begin so, in order."""
        found: list[KeyValue] = []
        after = ""
        while True:
            page = self._call("KvList", prefix=prefix, after=after)
            found += [_entry(entry) for entry in page["entries"]]
            if not page["more"] or not page["entries"]:
                return found
            after = found[-1].key


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    try:
        return memoryview(value).tobytes()
    except TypeError:
        raise TypeError("a value must be bytes or a str, not "
                        f"{value!r:.80}") from None


def _ttl(ttl: Optional[float]) -> int:
    """0 for what stays, as the coordinator has it."""
    if ttl is None:
        return 0
    number = _milliseconds("ttl", ttl)
    if number == 0:
        raise ValueError("ttl must be more than 0 seconds; None: for ever")
    return max(0, number)


class TrainingOrchestrator:
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

    def __init__(self, coordinator_url: str, *, job: Optional[str] = None,
                 token: Optional[str] = None, tls_ca: Optional[str] = None,
                 tls_name: Optional[str] = None,
                 connect_timeout: float = 30.0,
                 timeout: Optional[float] = 300.0) -> None:
        if not isinstance(coordinator_url, str) or not coordinator_url:
            raise ValueError("coordinator_url must be 'HOST:PORT' or "
                             f"'unix:PATH', not {coordinator_url!r:.80}")
        self.coordinator_url = coordinator_url
        self.job = job
        self.worker_id: Optional[str] = None
        self.kv = Keys(self)
        self.launch: Any = None     # roar._launch.Launch, by init_from_env()
        self._token = token
        self._tls_ca = tls_ca
        self._tls_name = tls_name
        self._connect_ms = max(1, _milliseconds("connect_timeout",
                                                connect_timeout))
        self._timeout = timeout
        self._client: Optional[_roar_coord.Client] = None
        self._closed = False
        self._lock = threading.Lock()
        self._watchers: list[threading.Thread] = []
        self._takes = itertools.count(1)    # of leases: a number for each
        self._renewer = Renewer()

    # ---- connecting

    def _join(self, worker_id: Optional[str], **about: Any) -> Any:
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

    def set_token(self, token: Optional[str]) -> None:
        """Uses another token from now on; what waits goes on with it.

        It must be good already and the old one still be: whose token is
        withdrawn gets CoordinatorDenied from every method from then on.
        """
        with self._lock:
            self._token = token
            if self._client is not None:
                self._client.set_token(token)

    def register_worker(self, worker_id: str, host: Optional[str] = None,
                        port: int = 0, gpu_count: int = 0,
                        memory_bytes: int = 0,
                        metadata: Optional[Mapping[str, Any]] = None, *,
                        weight: Optional[int] = None,
                        home: Optional[str] = None,
                        wait: Optional[float] = 0) -> WorkerConfig:
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
                **_words("metadata", metadata),
                **_balance.of_worker(weight, home)}.items() for word in pair],
        }
        clock = _Deadline(wait, "wait")
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
                        f"{error}; it was so for {wait:g} s") from None
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
                f"worker {worker_id!r} has finished, but its place could not "
                f"be given up and is held for a successor: {error}",
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
        self._connected().heartbeat(_milliseconds("timeout", timeout))
        return self.world

    @property
    def world(self) -> World:
        """Who is there, as last heard."""
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

    def wait_world(self, epoch: Optional[int] = None,
                   timeout: Optional[float] = None) -> World:
        """Waits until the world's epoch is another than `epoch`, or than it
        is now."""
        self._connected().wait_world(
            self.world.epoch if epoch is None else epoch,
            _milliseconds("timeout", timeout))
        return self.world

    def wait_ready(self, timeout: Optional[float] = None) -> World:
        """Waits until the job has as many workers as it needs."""
        clock = _Deadline(timeout)
        while True:
            left = clock.left()
            if self.worker_id is not None:
                self._connected().heartbeat(_milliseconds("timeout", left))
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
        wait = _milliseconds("timeout", timeout)
        while (command := client.command(wait)):
            found.append(command)
            wait = 0
        return found

    def watch(self, *, world: Optional[Callable[[World], Any]] = None,
              command: Optional[Callable[[str], Any]] = None) -> None:
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

    def _meet(self, kind: int, meeting_id: str, step: Optional[int],
              timeout: Any, policy: Optional[str],
              group: Optional[Sequence[str]], value: bytes,
              in_favour: bool) -> bytes:
        members, on_death = _ids("group", group), _policy(policy)
        client = self._connected()
        if self.worker_id is None:
            raise CoordinatorInvalid(
                "only a registered worker takes part: call register_worker() "
                "first")
        return client.meet(
            kind, meeting_id, _generation(step),
            members, on_death,
            _milliseconds("timeout",
                          self._timeout if timeout is _DEFAULT else timeout),
            value, in_favour)

    def barrier(self, barrier_id: str, step: Optional[int] = None, *,
                timeout: Any = ..., policy: Optional[str] = None,
                group: Optional[Sequence[str]] = None) -> BarrierResult:
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
               step: Optional[int] = None, *, timeout: Any = ...,
               policy: Optional[str] = None,
               group: Optional[Sequence[str]] = None) -> dict[str, bytes]:
        """A barrier that gives everybody the values (at most 64 KiB) of all,
        by worker id, in the order of ranks."""
        return gathered(self._meet(_GATHER, meeting_id, step, timeout, policy,
                                   group, _bytes(value), False))

    def vote(self, meeting_id: str, in_favour: bool,
             step: Optional[int] = None, *, timeout: Any = ...,
             policy: Optional[str] = None,
             group: Optional[Sequence[str]] = None) -> VoteResult:
        """A barrier that tells everybody how many were for and against."""
        return VoteResult(self._meet(_VOTE, meeting_id, step, timeout, policy,
                                     group, b"", bool(in_favour)))

    # ---- datasets and checkpoints

    def register_dataset(self, dataset_id: str, path: str, total_samples: int,
                         shard_size: int, shuffle: bool = True, seed: int = 42,
                         *, format: str = "",
                         metadata: Optional[Mapping[str, Any]] = None,
                         balance: str = "count",
                         shard_bytes: Optional[Sequence[int]] = None,
                         shard_homes: Optional[Sequence[str]] = None) -> int:
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
        reply = self.call(_JOBS + "RegisterDataset", {
            "dataset_id": dataset_id, "path": path, "format": format,
            "total_samples": total_samples, "shard_size": shard_size,
            "shuffle": shuffle, "seed": seed,
            "metadata": _words("metadata", metadata),
            "job_id": self.job or "",
            **_balance.of_dataset(
                balance, shard_bytes, shard_homes,
                _shards(total_samples, shard_size)).fields()})
        return reply["total_shards"]

    def get_shard(self, dataset_id: str, epoch: int = 0) -> Shard:
        """The part of a dataset that is this worker's in this epoch."""
        reply = self.call(_JOBS + "GetDataShard", {
            **self._me(dataset_id), "epoch": epoch})
        return Shard._make(reply[name] for name in Shard._fields)

    def shards(self, dataset_id: str) -> list[range]:
        """All shards of a dataset that are this worker's, as ranges, in the
        order in which they are to be read."""
        return self._list_shards(dataset_id)[0]

    def get_shards(self, dataset_id: str,
                   epoch: Optional[int] = None) -> list[Shard]:
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
                    timeout: Optional[float] = None) -> ShardTable:
        """Waits until the table has another version than that: somebody has
        come or gone, and shards have moved."""
        clock = _Deadline(timeout)
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
            "chunk": chunk, "timeout_ms": _milliseconds("timeout", timeout),
            "request": next(self._takes)})
        lease = Lease(self, dataset_id, epoch, exactly_once, reply)
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
                          metadata: Optional[Mapping[str, Any]] = None) -> int:
        """Says that this worker has saved its part of a step.  Returns the
        newest step that all workers have saved (0: none yet)."""
        reply = self.call(_JOBS + "NotifyCheckpoint", {
            "worker_id": self.worker_id or "", "checkpoint_id": checkpoint_id,
            "step": step, "epoch": epoch, "storage_path": path,
            "size_bytes": size_bytes, "type": type,
            "timestamp_ms": time.time_ns() // 1000000,
            "metadata": _words("metadata", metadata),
            "job_id": self.job or ""})
        if not reply["success"]:
            raise CoordinatorError(reply["message"])
        return reply["global_step"]

    def latest_checkpoint(self) -> Optional[Checkpoint]:
        """The newest checkpoint that all workers have saved, or None."""
        reply = self.call(_JOBS + "GetLatestCheckpoint", {
            "worker_id": self.worker_id or "", "job_id": self.job or ""})
        found = reply["latest_checkpoint"]
        if not reply["has_checkpoint"] or found is None:
            return None
        found["path"] = found["storage_path"]
        return Checkpoint._make(found[name] for name in Checkpoint._fields)

    # ---- the job

    def configure(self, *, min_workers: int = 0, max_workers: int = 0,
                  start_workers: int = 0,
                  heartbeat_interval: float = 0, timeout: float = 0,
                  hold: float = 0, policy: Optional[str] = None
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
        return self.call(_CONTROL + "Configure", {
            "job_id": self.job or "", "min_workers": min_workers,
            "max_workers": max_workers, "start_workers": start_workers,
            "heartbeat_interval_ms": math.ceil(heartbeat_interval * 1000),
            "timeout_ms": math.ceil(timeout * 1000),
            "hold_ms": math.ceil(hold * 1000),
            "on_death": _policy(policy)})

    def send_command(self, command: str,
                     worker_ids: Optional[Sequence[str]] = None) -> int:
        """Tells workers something with their next heartbeat; None: all.
        Returns how many."""
        return self.call(_CONTROL + "SendCommand", {
            "job_id": self.job or "", "command": command,
            "worker_ids": _ids("worker_ids", worker_ids) or []})["n_workers"]

    def workers(self) -> list[dict[str, Any]]:
        """All workers of the job, by rank (messages WorkerView)."""
        found: list[dict[str, Any]] = []
        request = {"job_id": self.job or ""}
        while True:
            page = self.call(_CONTROL + "ListWorkers", request)
            found += page["workers"]
            if not page["more"] or not page["workers"]:
                return found
            request = {"job_id": self.job or "",
                       "first_rank": found[-1]["rank"] + 1}

    def barriers(self) -> list[dict[str, Any]]:
        """Barriers that somebody waits at (messages BarrierView)."""
        return self.call(_CONTROL + "ListBarriers",
                         {"job_id": self.job or ""})["barriers"]

    def call(self, path: str, request: Mapping[str, Any],
             timeout: Optional[float] = 60.0) -> dict[str, Any]:
        """Any method of the coordinator, such as "/roar.Control/GetStatus":
        fields of its request by name, fields of its reply by name."""
        return self._connected().call(path, dict(request),
                                      _milliseconds("timeout", timeout))


_DEFAULT = ...


def _generation(step: Optional[int]) -> int:
    """Steps are counted from 0, generations from 1; 0: the client counts."""
    if step is None:
        return 0
    return _checks.whole("step", step, 0, (1 << 62) - 1) + 1


def _shard(dataset_id: str, number: int, about: Mapping[str, Any],
           epoch: Optional[int]) -> Shard:
    first = number * about["shard_size"]
    return Shard(dataset_id, number, about["total_shards"], first,
                 min(first + about["shard_size"], about["total_samples"]),
                 about["epoch"] if epoch is None else epoch, [])


class _Deadline:
    """What is left of a time."""

    def __init__(self, timeout: Optional[float],
                 name: str = "timeout") -> None:
        number = math.inf if timeout is None else \
            _checks.seconds(name, timeout)
        self._end = None if math.isinf(number) else time.monotonic() + number

    def left(self) -> Optional[float]:
        """Seconds; None for one that never ends."""
        return None if self._end is None else \
            max(0.0, self._end - time.monotonic())

