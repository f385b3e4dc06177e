"""Workers come and go while they go through a dataset together."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import roar
from coordinator_helpers import (  # noqa: F401
    PATIENCE, Background, Server, one_server, until, workers)
from roar import _agreement
from roar._agreement import Claim

N = 120     # samples
HERE = os.path.dirname(os.path.abspath(__file__))


def write_records(folder, n):
    """Records of 2 bytes, numbered."""
    (folder / "a.bin").write_bytes(
        b"".join(i.to_bytes(2, "little") for i in range(n)))
    return str(folder / "a.bin")


@pytest.fixture(name="records")
def some_records(tmp_path):
    return write_records(tmp_path, N)


def register(job, records, n=N):
    roar.DatasetRegistry(job).register_dataset("d", n, 10, path=records,
                                               record_bytes=2)


def numbers(batch):
    return [int.from_bytes(sample, "little") for sample in batch]


def streams(jobs, **options):
    return [roar.shards("d", coordinator=job, batch=2, **options)
            for job in jobs]


class Reader:
    """Goes through a stream, step by step when asked to; in a thread."""

    def __init__(self, data):
        self.data = data
        self.seen = []
        self.loop = iter(data)

    def take(self, n):
        for _ in range(n):
            self.seen += numbers(next(self.loop))

    def rest(self):
        """To the end of the epoch; returns the world that it has changed to."""
        try:
            for batch in self.loop:
                self.seen += numbers(batch)
        except roar.WorldChanged as change:
            return change
        return None


def have_heard(*readers):
    """The change of the world has come to all of them."""
    # pylint: disable=protected-access
    until(lambda: all(r.data._together._decision for r in readers))


def until_through(job):
    """This worker has said that it is through with the epoch."""
    word = f"roar/shards/d/at/{job.worker_id}"
    until(lambda: json.loads(job.kv.get(word))[3])


def all_of(function, *readers):
    """At the same time, as ranks do."""
    waiting = [Background(function, reader) for reader in readers]
    return [one.result() for one in waiting]


# ---- agreeing

FACTS = {"dataset": "d", "seed": 1, "batch_size": 2}
FRESH = Claim(FACTS, 0, 0, None, None)
AT_40 = Claim(FACTS, 7, 1, 40, [7, 2, 1], True)


def settle(*claims, more=False, world=9, size=3, continuing=0):
    return _agreement.settle("d", claims, more, world_epoch=world, size=size,
                             n_continuing=continuing)


def test_who_is_new_goes_where_the_others_are():
    assert settle(FRESH)[:3] == (9, 0, 0)
    assert settle(FRESH, AT_40, continuing=2) == (9, 1, 40, [7, 2, 1], 0)
    assert settle(FRESH, AT_40._replace(origin=None))[:3] == (9, 1, 40)


def test_a_new_rank_with_an_older_state_goes_where_the_others_are():
    older = Claim(FACTS, 1, 0, 20, None)
    assert settle(older, AT_40, continuing=2) == (9, 1, 40, [7, 2, 1], 0)
    assert settle(AT_40, older, continuing=1).missing == 1
    # Also where those have just gone back to a checkpoint that it does not have.
    back = AT_40._replace(origin=None)
    assert settle(older, back)[:3] == (9, 1, 40)
    with pytest.raises(ValueError, match="load the same state"):
        settle(back._replace(consumed=20), AT_40)
    with pytest.raises(ValueError, match="load the same state"):
        settle(older, older._replace(consumed=30))


def test_who_is_missing_is_counted():
    assert settle(FRESH, AT_40, continuing=1).missing == 1
    # A state that was given is worth as much without them.
    assert settle(AT_40, AT_40._replace(origin=None), continuing=1).missing == 0


def test_a_world_that_begins_elsewhere_has_a_number_of_its_own():
    assert settle(AT_40._replace(least=12), world=9, continuing=2).number == 12
    assert settle(AT_40, world=7, size=2, continuing=2).number == 7
    assert settle(AT_40, world=7, size=3, continuing=2).number == 8


@pytest.mark.parametrize("other, said", [
    (AT_40._replace(consumed=44), "load the same state"),
    (AT_40._replace(epoch=2), "load the same state"),
    (AT_40._replace(facts={**FACTS, "seed": 2}), "seed is 1 on one and 2"),
    (FRESH._replace(facts={**FACTS, "batch_size": 4}), "batch_size is 2")])
def test_ranks_that_differ_are_told_in_what(other, said):
    with pytest.raises(ValueError, match=said):
        settle(AT_40, other)


def test_ranks_with_many_positions_are_refused():
    with pytest.raises(ValueError, match="different"):
        settle(AT_40, more=True)


# ---- a world that stays

def test_ranks_that_read_otherwise_are_all_told(server, records):
    with workers(server, 2, job="otherwise") as jobs:
        register(jobs[0], records)
        data = [roar.shards("d", coordinator=job, batch=2, seed=seed)
                for seed, job in enumerate(jobs)]
        waiting = [Background(next, iter(one)) for one in data]
        for one in waiting:
            with pytest.raises(roar.CoordinatorError, match="seed is"):
                one.result()


def test_long_positions_are_agreed_on_as_well(server, records):
    """A state of many pieces does not fit into a vote."""
    with workers(server, 2, job="long") as jobs:
        register(jobs[0], records)
        state = streams(jobs[:1])[0].state_dict()
        state["consumed"] = [[i, i + 1] for i in range(0, N, 2)]
        _agreement_limit, _agreement.MAX_CLAIM = _agreement.MAX_CLAIM, 200
        try:
            readers = [Reader(streams(jobs[:1], resume=state)[0]),
                       Reader(streams(jobs[1:])[0])]
            assert all_of(Reader.rest, *readers) == [None, None]
        finally:
            _agreement.MAX_CLAIM = _agreement_limit
        assert len(readers[0].seen + readers[1].seen) == N // 2


def test_epochs_are_begun_together(server, records):
    with workers(server, 2, job="epochs") as jobs:
        register(jobs[0], records)
        data = streams(jobs)
        for epoch in range(3):
            readers = [Reader(one) for one in data]
            assert all_of(Reader.rest, *readers) == [None, None]
            assert sorted(readers[0].seen + readers[1].seen) == list(range(N))
            assert [one.epoch for one in data] == [epoch + 1] * 2


# ---- what the coordinator is told

def consumed(job):
    reply = job.call("/roar.Shards/GetConsumed", {"dataset_id": "d",
                                                  "job_id": job.job})
    return reply["epoch"], reply["consumed"]


def test_progress_is_told_on_the_way_and_at_the_end(server, records):
    with workers(server, 2, job="progress") as jobs:
        register(jobs[0], records)
        readers = [Reader(one) for one in streams(jobs)]
        all_of(lambda reader: reader.take(11), *readers)
        # The batch at hand is not consumed before the next is asked for.
        until(lambda: consumed(jobs[0]) == (0, 40))
        readers[0].take(5)      # the other one has not been there
        all_of(Reader.rest, *readers)
        assert consumed(jobs[0]) == (0, N)
        readers = [Reader(reader.data) for reader in readers]
        all_of(lambda reader: reader.take(3), *readers)
        until(lambda: consumed(jobs[0]) == (1, 8))
        assert jobs[0].consumed("d") == [range(0, 8)]


def test_the_last_word_stays(server, records):
    """An earlier one that was under way does not come behind it."""
    with workers(server, 1, job="word") as (job,):
        register(job, records)
        reader = Reader(streams([job])[0])
        reader.take(4)
        together = reader.data._together    # pylint: disable=protected-access
        calls, slow = job.call, threading.Event()

        def call(path, request, timeout=60.0):
            if path.endswith("KvSet") and threading.current_thread() in earlier:
                slow.set()
                time.sleep(0.2)
            return calls(path, request, timeout)

        earlier = []
        job.call = call
        while not slow.wait(0.1):   # the stream's own thread may say the same
            reader.take(1)
            earlier.append(threading.Thread(target=together.tick))
            earlier[-1].start()
        assert reader.rest() is None
        for thread in earlier:
            thread.join()
        word = json.loads(job.kv.get("roar/shards/d/at/w-0"))
        assert word[2:4] == [N // 2, True]


def test_what_is_left_out_does_not_keep_an_epoch(server, records):
    with workers(server, 1, job="drop") as (job,):
        register(job, records)
        data = roar.shards("d", coordinator=job, batch=7, tail="drop")
        assert sum(len(batch) for batch in data) == N - N % 7
        assert consumed(job) == (0, N)


def test_a_training_goes_on_without_its_coordinator(records):
    server = Server()
    try:
        with workers(server, 1, job="away") as (job,):
            register(job, records)
            reader, = [Reader(one) for one in streams([job])]
            reader.take(3)
            server.kill()
            reader.take(N // 2 - 4)
            server.start()
            assert reader.rest() is None
            assert sorted(reader.seen) == list(range(N))
            until(lambda: consumed(job) == (0, N))
    finally:
        server.close()


def test_a_state_of_an_earlier_epoch_is_read_again(server, records):
    """The coordinator's epoch does not go back, and need not."""
    with workers(server, 1, job="earlier") as (job,):
        register(job, records)
        data, = streams([job])
        state = data.state_dict()
        for _ in range(2):
            assert len(list(data)) == N // 2
        data.load_state_dict(state)
        assert len(list(data)) == N // 2
        assert consumed(job) == (1, N)


# ---- a world that changes

def test_who_joins_takes_its_part_of_the_rest(server, records):
    with workers(server, 2, job="join", settings={"start_workers": 2}) as jobs:
        register(jobs[0], records)
        readers = [Reader(one) for one in streams(jobs)]
        all_of(lambda reader: reader.take(4), *readers)
        with roar.TrainingOrchestrator(server.address, job="join") as third:
            third.register_worker("third")
            late = Reader(streams([third])[0])
            joining = Background(late.rest)
            have_heard(*readers)
            changes = all_of(Reader.rest, *readers)
            assert [change.came for change in changes] == [["third"]] * 2
            assert changes[0].position == changes[1].position
            assert 16 <= changes[0].position["consumed"] < N
            for reader in readers:
                reader.loop = iter(reader.data)
            assert all_of(Reader.rest, *readers) == [None, None]
            assert joining.result() is None
        assert [r.data.world_size for r in (*readers, late)] == [3] * 3
        assert late.seen
        assert sorted(readers[0].seen + readers[1].seen + late.seen) == \
            list(range(N))


def test_a_barrier_in_the_loop_does_not_wait_for_who_joins(server, records):
    with workers(server, 2, job="step", settings={"start_workers": 2}) as jobs:
        register(jobs[0], records)
        readers = [Reader(one) for one in streams(jobs)]
        all_of(lambda reader: reader.take(4), *readers)
        with roar.TrainingOrchestrator(server.address, job="step") as third:
            third.register_worker("third")
            late = Reader(streams([third])[0])
            joining = Background(late.rest)
            until(lambda: jobs[0].barriers())
            met = all_of(lambda job: job.barrier("step", timeout=20), *jobs)
            assert [one.participants for one in met] == [2, 2]
            have_heard(*readers)
            all_of(Reader.rest, *readers)
            for reader in readers:
                reader.loop = iter(reader.data)
            assert all_of(Reader.rest, *readers) == [None, None]
            assert joining.result() is None
            met = all_of(lambda job: job.barrier("step", timeout=20), *jobs,
                         third)
            assert [one.participants for one in met] == [3, 3, 3]


def test_a_barrier_tells_where_the_missing_worker_waits(server):
    with workers(server, 2, job="where") as jobs:
        other = Background(jobs[1].barrier, "other", timeout=20)
        until(lambda: jobs[0].barriers())
        with pytest.raises(roar.BarrierTimeout, match="waits in 'other'"):
            jobs[0].barrier("one", timeout=0.2)
        jobs[0].barrier("other", timeout=20)
        other.result()


def test_who_is_lost_takes_the_others_to_the_checkpoint(server, records):
    with workers(server, 3, job="lost",
                 settings={"heartbeat_interval": 0.5, "timeout": 5,
                           "policy": "shrink"}) as jobs:
        register(jobs[0], records)
        readers = [Reader(one) for one in streams(jobs)]
        all_of(lambda reader: reader.take(2), *readers)
        saved = readers[0].data.state_dict()
        for reader in readers:
            del reader.seen[:]
        all_of(lambda reader: reader.take(3), *readers)
        jobs[2].close()
        have_heard(*readers[:2])
        changes = all_of(Reader.rest, *readers[:2])
        for change, reader in zip(changes, readers):
            assert change.position is None
            assert change.gone == ["w-2"]
            with pytest.raises(roar.WorldChanged, match="last checkpoint"):
                next(iter(reader.data))     # there is no other way
            reader.data.load_state_dict(saved)
            del reader.seen[:]
            reader.loop = iter(reader.data)
        assert all_of(Reader.rest, *readers[:2]) == [None, None]
        assert len(readers[0].seen + readers[1].seen) == N - 12


def test_who_is_through_may_leave(server, records):
    with workers(server, 2, job="leave") as jobs:
        register(jobs[0], records)
        first, second = (Reader(one) for one in streams(jobs))
        all_of(lambda reader: reader.take(5), first, second)
        waiting = Background(first.rest)
        until_through(jobs[0])
        jobs[0].deregister()
        assert waiting.result() is None
        have_heard(second)
        assert second.rest() is None
        assert sorted(first.seen + second.seen) == list(range(N))
        alone = Reader(second.data)
        assert alone.rest() is None
        assert len(alone.seen) == N


def test_who_is_through_may_leave_when_another_joins(server, records):
    """All of the next epoch know that nothing was lost, also who is new."""
    with workers(server, 2, job="change") as jobs:
        register(jobs[0], records)
        readers = [Reader(one) for one in streams(jobs)]
        assert all_of(Reader.rest, *readers) == [None, None]
        jobs[0].deregister()
        with roar.TrainingOrchestrator(server.address, job="change") as third:
            third.register_worker("third")
            both = [Reader(readers[1].data), Reader(streams([third])[0])]
            assert all_of(Reader.rest, *both) == [None, None]
        assert sorted(both[0].seen + both[1].seen) == list(range(N))


def test_who_died_at_the_end_of_an_epoch_is_missed(server, records):
    with workers(server, 2, job="end",
                 settings={"heartbeat_interval": 0.5, "timeout": 5,
                           "policy": "shrink"}) as jobs:
        register(jobs[0], records)
        readers = [Reader(one) for one in streams(jobs)]
        all_of(lambda reader: reader.take(3), *readers)
        waiting = Background(readers[0].rest)
        until_through(jobs[0])
        assert readers[0].data.epoch == 0   # it waits for the other one
        jobs[1].close()
        change = waiting.result()
        assert (change.position, change.gone) == (None, ["w-1"])
        assert readers[0].data.epoch == 0
        with pytest.raises(roar.WorldChanged, match="last checkpoint"):
            next(iter(readers[0].data))


def test_a_rank_that_does_not_come_to_the_end_is_waited_for_in_vain(
        server, records):
    with workers(server, 2, job="vain", timeout=1) as jobs:
        register(jobs[0], records)
        readers = [Reader(one) for one in streams(jobs)]
        all_of(lambda reader: reader.take(3), *readers)
        with pytest.raises(TimeoutError, match="end of epoch 0"):
            readers[0].rest()
        assert readers[0].data.epoch == 0


class Process:
    """elastic_worker.py, and what it prints."""

    def __init__(self, server, name, folder, job="elastic"):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "elastic_worker.py"),
             server.address, name, folder, job], stdout=subprocess.PIPE, text=True)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def said(self):
        out, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0
        return out.splitlines()


def test_each_sample_comes_once_whoever_comes_and_goes(server, tmp_path):
    """Two workers, a third one joins, one is killed; the audit is asked."""
    # Far more than they can go through before all have heard of a change.
    n = 1200
    folder, records = str(tmp_path), write_records(tmp_path, n)
    made = []
    with roar.TrainingOrchestrator(server.address, job="elastic") as job:
        job.configure(start_workers=2, heartbeat_interval=0.5, timeout=5,
                      policy="shrink")
        register(job, records, n)
        try:
            made = [Process(server, f"w-{i}", folder) for i in range(2)]
            until(lambda: len(job.kv.list("at/join/")) == 2)
            made.append(Process(server, "w-2", folder))
            until(lambda: b"w-2" in (job.kv.get("roar/shards/d/stop") or b""))
            job.kv.set("gate/join", b"")
            until(lambda: len(job.kv.list("at/kill/")) == 3)
            made[1].kill()
            until(lambda: b"w-1" in (job.kv.get("roar/shards/d/stop") or b""))
            job.kv.set("gate/kill", b"")
            lines = [made[i].said() for i in (0, 2)]
        finally:
            for one in made:
                if one.process.poll() is None:
                    one.kill()
        assert lines[0][0] == "changed ['w-2'] [] True"
        for said in lines:
            assert "changed [] ['w-1'] False" in said
            assert said[-1] == "through"
        assert consumed(job) == (0, n)
    assert_exact([f"{folder}/w-{i}.audit" for i in range(3)], n, 3)


@pytest.mark.parametrize("policy", ["shrink", "fail"])
def test_no_sample_is_lost_with_a_rank_at_the_end_of_the_last_epoch(
        server, tmp_path, policy):
    n = 1200        # 300 steps of two ranks
    folder, records = str(tmp_path), write_records(tmp_path, n)
    name = f"last-{policy}"
    with roar.TrainingOrchestrator(server.address, job=name) as job:
        job.configure(start_workers=2, heartbeat_interval=0.5, timeout=5,
                      hold=1, policy=policy)
        register(job, records, n)
        job.kv.set("gate/join", b"")
        made = [Process(server, f"w-{i}", folder, name) for i in range(2)]
        try:
            until(lambda: len(job.kv.list("at/end/")) == 2)
            made[1].kill()
            job.kv.set("gate/end", b"")     # before anybody knows of it
            said = made[0].said()
        finally:
            for one in made:
                if one.process.poll() is None:
                    one.kill()
        assert said == ["changed [] ['w-1'] False", "through"]
        assert consumed(job) == (0, n)
    assert_exact([f"{folder}/w-{i}.audit" for i in range(2)], n, 2)


def assert_exact(audits, n, n_worlds):
    proof = subprocess.run(
        [os.environ["ROAR"], "shards", "audit", *audits],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        # A sanitizer's library that Python needs is not this program's.
        env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"},
        check=False)
    assert proof.returncode == 0, proof.stdout
    assert "epoch 0: exact" in proof.stdout
    assert f"{n:,} of {n:,} samples consumed, by {n_worlds} worlds" in proof.stdout
