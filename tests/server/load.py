"""load.py - clients that ask whoever leads, and write down what they see."""

import itertools
import random
import threading
import time

import grpc

from coordinator import PATIENCE_S, Client, control, pb, shards, wait_until
from facts import Joined, Met
from linear import Call

CODE = grpc.StatusCode
LOST = object()  # there was no answer
# A machine under load must not make workers dead.
SLOW = {"heartbeat_interval_ms": 60000, "timeout_ms": 600000}


class Asker:
    """The connections of one thread, and its way to the leader."""

    def __init__(self, coordinators, rng):
        self.coordinators = coordinators
        self.rng = rng
        self.clients = {}
        self.address = None

    def client(self):
        self.address = self.address or self.rng.choice(self.coordinators).address
        if self.address not in self.clients:
            self.clients[self.address] = Client(self.address)
        return self.clients[self.address]

    def once(self, calls, what, args, ask):
        """One call, which is written down unless it was surely not done.  Its result, or
        LOST."""
        begin = time.monotonic()
        try:
            result = ask(self.client())
        except grpc.RpcError as e:
            assert e.code() in (CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED,
                                CODE.CANCELLED), e
            leader = dict(e.trailing_metadata() or ()).get("roar-leader")
            if leader is None and "failed to connect" not in e.details():
                calls.append(Call(begin, None, what, args, None))
            self.address = leader or None
            return LOST
        calls.append(Call(begin, time.monotonic(), what, args, result))
        return result

    def surely(self, ask):
        """The answer of somebody, sooner or later; nothing is written down."""
        deadline = time.monotonic() + PATIENCE_S
        result = LOST
        while result is LOST:
            assert time.monotonic() < deadline, "nobody answers"
            result = self.once([], None, None, ask)
            time.sleep(0.01)
        return result

    def close(self):
        for client in self.clients.values():
            client.close()


class Load:
    """Threads, each of which takes one step after the other."""

    THREADS = 1

    def __init__(self, coordinators):
        self.coordinators = coordinators
        self.calls = []
        self.stop = False
        self.errors = []
        # Those of a test that fails must not outlive it.
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True)
                        for i in range(self.THREADS)]
        for thread in self.threads:
            thread.start()

    def begin(self, asker, number):
        """Before the first step of a thread."""

    def step(self, asker, number):
        raise NotImplementedError

    def run(self, number):
        asker = Asker(self.coordinators, random.Random(number))
        try:
            self.begin(asker, number)
            while not self.stop:
                self.step(asker, number)
                time.sleep(asker.rng.uniform(0.01, 0.05))
        except Exception as e:  # pylint: disable=broad-except
            self.errors.append(e)
        finally:
            asker.close()

    def n_answered(self):
        return sum(c.end is not None for c in list(self.calls))

    def wait_for_more(self, n=10):
        """Until so many more were answered: the load goes on."""
        before = self.n_answered()
        wait_until(lambda: self.errors or self.n_answered() >= before + n,
                   "more answers")

    def finish(self):
        self.stop = True
        for thread in self.threads:
            thread.join(PATIENCE_S)
        assert not self.errors, self.errors
        return self.calls


# ---- keys ----

class KeyLoad(Load):
    KEYS = ("a", "b", "c")
    THREADS = 4

    def __init__(self, coordinators):
        self.values = itertools.count(1)
        self.by_key = {key: [] for key in self.KEYS}
        super().__init__(coordinators)

    def step(self, asker, number):
        key = asker.rng.choice(self.KEYS)
        what = asker.rng.choice(("get", "get", "set", "add", "compare_set"))
        value = next(self.values)
        args = {"get": (), "set": (value,), "add": (value,),
                "compare_set": (asker.rng.randint(1, value), value)}[what]
        asker.once(self.by_key[key], what, args,
                   lambda client: request(client, key, what, args, timeout=3))

    def n_answered(self):
        return sum(c.end is not None for calls in self.by_key.values()
                   for c in list(calls))

    def finish(self):
        """All that was recorded, by key."""
        super().finish()
        return self.by_key


def request(client, key, what, args, timeout=PATIENCE_S):
    kv = client.control
    more = {"timeout": timeout}
    if what == "get":
        try:
            entry = kv.KvGet(control.KvGetRequest(job_id="l", key=key),
                             **more).entry
        except grpc.RpcError as e:
            if e.code() == CODE.NOT_FOUND:
                return None
            raise
        return int(entry.value)
    if what == "set":
        return kv.KvSet(control.KvSetRequest(
            job_id="l", key=key, value=b"%d" % args[0]), **more).done
    if what == "add":
        return int(kv.KvAdd(control.KvAddRequest(
            job_id="l", key=key, delta=args[0]), **more).entry.value)
    return kv.KvCompareSet(control.KvCompareSetRequest(
        job_id="l", key=key, by_value=True, expected=b"%d" % args[0],
        value=b"%d" % args[1]), **more).done


# ---- workers ----

def take_place(asker, job, worker):
    """Registers, while all is well; returns the session."""
    asker.surely(lambda client: client.control.Configure(
        control.JobSettings(job_id=job, **SLOW), timeout=PATIENCE_S))
    return asker.surely(lambda client: client.register(worker, job)).session


class DataLoad(Load):
    """Epochs that go on, and what is consumed in them."""

    THREADS = 3
    SAMPLES = 300

    def begin(self, asker, number):
        asker.epoch = 0
        asker.who = {"job_id": "data", "dataset_id": "d",
                     "worker_id": f"w{number}"}
        asker.who["session"] = take_place(asker, "data", f"w{number}")
        asker.surely(lambda client: client.coordinator.RegisterDataset(
            pb.DatasetInfo(dataset_id="d", job_id="data", shard_size=10,
                           total_samples=self.SAMPLES), timeout=PATIENCE_S))

    def step(self, asker, number):
        if asker.rng.random() < 0.05:
            wanted = asker.epoch + 1
            result = asker.once(self.calls, "advance", (wanted,),
                                lambda client: advance(client, asker.who, wanted))
        else:
            first = asker.rng.randrange(self.SAMPLES - 20)
            args = (asker.epoch, first, first + asker.rng.randint(1, 20))
            result = asker.once(self.calls, "report", args,
                                lambda client: report(client, asker.who, args))
        if result == "refused":  # others have gone on
            asker.epoch += 1


def or_refused(call):
    try:
        return call()
    except grpc.RpcError as e:
        if e.code() == CODE.FAILED_PRECONDITION:
            return "refused"
        raise


def advance(client, who, epoch):
    return or_refused(lambda: client.shards.AdvanceEpoch(
        shards.AdvanceEpochRequest(epoch=epoch, abandon=True, **who), timeout=3).epoch)


def report(client, who, args):
    epoch, first, end = args
    return or_refused(lambda: client.shards.ReportConsumed(
        shards.ConsumedReport(epoch=epoch, ranges=[shards.PositionRange(
            first=first, end=end)], **who), timeout=3).n_new)


class MeetLoad(Load):
    """Workers that meet again and again: barriers, gathers and votes."""

    THREADS = 3
    WORKERS = tuple(f"w{i}" for i in range(THREADS))

    def __init__(self, coordinators):
        self.all_are_there = threading.Barrier(self.THREADS)
        super().__init__(coordinators)

    def begin(self, asker, number):
        asker.generation = 1
        asker.tries = itertools.count()
        asker.session = take_place(asker, "meet", self.WORKERS[number])
        self.all_are_there.wait(PATIENCE_S)  # who is of a group has a place

    def step(self, asker, number):
        """What it gives differs from try to try: one of them counts, for all."""
        value = b"%d of %d" % (next(asker.tries), asker.generation)
        args = (self.WORKERS[number], asker.generation, value)
        result = asker.once(self.calls, "meet", args,
                            lambda client: meet(client, asker.session, *args))
        asker.generation += result is not LOST


def meet(client, session, worker, generation, value):
    reply = client.control.Meet(control.MeetRequest(
        job_id="meet", worker_id=worker, session=session, meeting_id="m",
        group=MeetLoad.WORKERS, generation=generation, kind=generation % 3,
        value=value, in_favour=bool(generation & 4)), timeout=3)
    return Met(worker, reply.generation, reply.participants,
               reply.arrival_order,
               tuple((v.worker_id, v.value) for v in reply.values),
               (reply.votes_for, reply.votes_against))


class PlaceLoad(Load):
    """Workers that come and go.  Each has a name of its own: one whose answer was lost is
    not asked about again."""

    THREADS = 2

    def begin(self, asker, number):
        asker.names = itertools.count()
        asker.name = None
        asker.surely(lambda client: client.control.Configure(
            control.JobSettings(job_id="places", **SLOW), timeout=PATIENCE_S))

    def step(self, asker, number):
        if asker.name is None:
            name = f"w{number}-{next(asker.names)}"
            result = asker.once(self.calls, "join", (name,),
                                lambda client: join(client, name))
            asker.name = name if result is not LOST else None
            return
        name = asker.name
        result = asker.once(self.calls, "leave", (name,),
                            lambda client: leave(client, name))
        asker.name = name if result is LOST else None


def join(client, worker):
    reply = client.coordinator.RegisterWorker(
        pb.WorkerInfo(worker_id=worker, job_id="places", hostname="h"), timeout=3)
    return Joined(worker, reply.rank, reply.world_epoch)


def leave(client, worker):
    try:
        client.control.Leave(control.LeaveRequest(
            job_id="places", worker_id=worker), timeout=3)
    except grpc.RpcError as e:
        if e.code() == CODE.NOT_FOUND:
            return False
        raise
    return True
