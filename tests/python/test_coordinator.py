"""TrainingOrchestrator against the real coordinator."""

import ast
import copy
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import _roar_coord
import roar
from coordinator_helpers import PATIENCE, Background, Server, until, workers
from roar import coordinator


QUICK = {"heartbeat_interval": 0.1, "timeout": 1}


@pytest.fixture(scope="module")
def server():
    made = Server()
    yield made
    made.close()


@pytest.fixture
def job(server, request):
    """A name for a job that no other test has."""
    return request.node.name[:60].replace("[", "-").replace("]", "")


# ---- places ----

def test_register_gives_rank_and_world(server, job):
    with roar.TrainingOrchestrator("grpc://" + server.address, job=job) as a:
        got = a.register_worker("w-0", "host", 7000, gpu_count=8,
                                memory_bytes=1 << 34, metadata={"zone": "a"})
        assert (got.assigned_id, got.rank, got.world_size) == ("w-0", 0, 1)
        assert got.incarnation == 1 and got.ready
        assert got.heartbeat_interval_ms > 0 and got.timeout_ms > 0
        assert (a.rank, a.world_size, a.worker_id) == (0, 1, "w-0")
        seen, = a.workers()
        assert seen["gpu_count"] == 8 and seen["memory_bytes"] == 1 << 34
        assert seen["hostname"] == "host" and seen["port"] == 7000
        assert seen["metadata"] == {"zone": "a"} and seen["state"] == "alive"


def test_a_live_id_is_refused_and_a_dead_one_is_taken_over(server, job):
    with workers(server, 1, job=job) as (first,):
        with roar.TrainingOrchestrator(server.address, job=job) as second:
            with pytest.raises(coordinator.WorkerExists):
                second.register_worker("w-0")
            first.close()
            until(lambda: second.workers()[0]["state"] != "alive")
            got = second.register_worker("w-0")
            assert (got.rank, got.incarnation) == (0, 2)


def test_a_place_is_waited_for(server, job):
    with workers(server, 1, job=job) as (first,):
        with roar.TrainingOrchestrator(server.address, job=job) as second:
            with pytest.raises(coordinator.WorkerExists, match="for 0.01 s"):
                second.register_worker("w-0", wait=0.01)
            with pytest.raises(ValueError, match="wait"):
                second.register_worker("w-0", wait=-1)
            waiting = Background(second.register_worker, "w-0", wait=PATIENCE)
            time.sleep(0.1)
            first.close()
            assert waiting.result().incarnation == 2


def test_closing_ends_the_wait_for_a_place(server, job):
    with workers(server, 1, job=job):
        second = roar.TrainingOrchestrator(server.address, job=job)
        waiting = Background(second.register_worker, "w-0", wait=None)
        time.sleep(0.1)
        second.close()
        with pytest.raises(coordinator.CoordinatorClosed):
            waiting.result()


def test_an_id_is_a_str(server, job):
    with roar.TrainingOrchestrator(server.address, job=job) as a:
        for wrong in (None, 5, b"w-0"):
            with pytest.raises(TypeError, match="worker_id must be a str"):
                a.register_worker(wrong)
        assert a.worker_id is None


def test_a_good_run_stays_good_when_the_coordinator_is_gone():
    server = Server()
    try:
        with workers(server, 1) as (a,):
            with pytest.warns(RuntimeWarning, match="'w-1' has finished"):
                with roar.TrainingOrchestrator(server.address) as b:
                    b.register_worker("w-1")
                    server.kill()
                    leaving = Background(a.deregister)
            with pytest.raises(coordinator.CoordinatorUnreachable):
                leaving.result()
        with pytest.raises(coordinator.CoordinatorClosed):
            b.connect()
        server.start()
        with roar.TrainingOrchestrator(server.address) as look:
            assert len(look.workers()) == 2     # their places are held
    finally:
        server.close()


def test_with_leaves_and_an_exception_holds_the_place(server, job):
    with roar.TrainingOrchestrator(server.address, job=job) as look:
        with roar.TrainingOrchestrator(server.address, job=job) as a:
            a.register_worker("w-0")
            assert len(look.workers()) == 1
        assert look.workers() == []
        with pytest.raises(ZeroDivisionError):
            with roar.TrainingOrchestrator(server.address, job=job) as a:
                a.register_worker("w-0")
                raise ZeroDivisionError
        assert len(look.workers()) == 1


def test_without_a_place_all_but_meetings_works(server, job):
    with roar.TrainingOrchestrator(server.address, job=job) as a:
        a.connect()
        assert a.world.rank == -1 and a.world.connected
        a.kv.set("k", "v")
        with pytest.raises(coordinator.CoordinatorInvalid,
                           match="register_worker"):
            a.barrier("b")


# ---- meetings ----

def test_a_barrier_tells_who_came_and_who_was_late(server, job):
    with workers(server, 2, job=job) as (a, b):
        waiting = Background(a.barrier, "b")
        until(lambda: a.barriers())
        last = b.barrier("b")
        first = waiting.result()
        assert first.released and last.released
        assert first.participants == last.participants == 2
        assert (first.arrival_order, last.arrival_order) == (1, 2)
        assert first.late[0].worker_id == "w-1"
        assert first.late[0].seconds >= 0
        assert first.generation == 1


def test_results_answer_to_names_as_dicts_do(server, job):
    with workers(server, 1, job=job) as (a,):
        got = a.vote("b", True)
    assert got["released"] is True and got["participants"] == 1
    assert got.get("nonsense") is None and "late" in got and got
    with pytest.raises(KeyError):
        got["unanimous"]
    assert list(got) == list(got.keys()) == [
        "released", "barrier_id", "participants", "arrival_order",
        "generation", "late", "missing", "votes_for", "votes_against"]
    assert dict(got) == {**got} and dict(got)["missing"] == []
    assert len(got) == 9 and got == pickle.loads(pickle.dumps(got))
    assert "votes_for=1" in repr(got) and hash(got) == hash(copy.copy(got))


def test_results_cannot_be_changed(server, job):
    with workers(server, 1, job=job) as (a,):
        got = a.barrier("b")
    with pytest.raises(AttributeError, match="cannot be set"):
        got.participants = 9
    assert got.participants == 1 and not hasattr(got, "votes_for")


def test_what_is_no_reply_is_told_when_it_is_read():
    with pytest.raises(coordinator.CoordinatorError):
        coordinator.BarrierResult(b"\xff").participants


def test_barriers_are_counted_by_the_client_or_by_step(server, job):
    with workers(server, 2, job=job) as (a, b):
        for i in range(1, 4):
            waiting = Background(a.barrier, "b")
            assert b.barrier("b").generation == i
            assert waiting.result().generation == i
        for step in (10, 20):
            waiting = Background(a.barrier, "s", step)
            assert b.barrier("s", step).generation == step + 1
            waiting.result()
        assert b.barrier("s", 20).arrival_order in (1, 2)  # the same again
        with pytest.raises(coordinator.CoordinatorStale):
            b.barrier("s", 10)


def test_steps_from_0_are_waited_for(server, job):
    with workers(server, 2, job=job) as (a, b):
        for step in range(3):
            with pytest.raises(roar.BarrierTimeout) as caught:
                a.barrier("b", step, timeout=0.05)  # not released before
            assert caught.value.absent == ["w-1"]
            waiting = Background(a.barrier, "b", step)
            assert b.barrier("b", step).generation == step + 1
            waiting.result()
            assert b.barrier("b", step).generation == step + 1  # again
        with pytest.raises(ValueError, match="step"):
            a.barrier("b", -1)


def test_nobody_is_not_everybody(server, job):
    with workers(server, 2, job=job) as (a, b):
        for wrong, error in (([], ValueError), ((), ValueError),
                             ("w-1", TypeError), ([1], TypeError)):
            with pytest.raises(error, match="worker_ids"):
                a.send_command("stop", wrong)
            with pytest.raises(error, match="group"):
                a.barrier("b", group=wrong, timeout=0)
        assert a.send_command("stop", ["w-1"]) == 1
        assert a.send_command("reload") == 2
        got: list[str] = []
        until(lambda: got.extend(b.commands(1)) or len(got) == 2)
        assert got == ["stop", "reload"]
        with pytest.raises(ValueError, match="policy"):
            a.configure(policy="nope")


def test_a_timeout_names_the_absent(server, job):
    with workers(server, 3, job=job) as (a, _, _):
        with pytest.raises(roar.BarrierTimeout) as caught:
            a.barrier("b", timeout=0.05)
        assert sorted(caught.value.absent) == ["w-1", "w-2"]
        assert "w-1" in str(caught.value)
        assert isinstance(caught.value, TimeoutError)
        again = pickle.loads(pickle.dumps(caught.value))
        assert again.absent == caught.value.absent
        assert str(again) == str(caught.value)


def test_a_death_breaks_the_barrier_and_names_the_dead(server, job):
    with workers(server, 2, QUICK, job=job) as (a, b):
        waiting = Background(a.barrier, "b", policy="fail")
        until(lambda: a.barriers())
        b.close()
        with pytest.raises(roar.BarrierBroken) as caught:
            waiting.result()
        assert caught.value.absent == ["w-1"]


def test_shrink_goes_on_without_the_dead(server, job):
    with workers(server, 2, QUICK, job=job) as (a, b):
        waiting = Background(a.barrier, "b", policy="shrink")
        until(lambda: a.barriers())
        b.close()
        got = waiting.result()
        assert got.participants == 1 and got.missing == ["w-1"]


def test_a_group_meets_without_the_others(server, job):
    with workers(server, 3, job=job) as (a, b, _):
        waiting = Background(a.barrier, "b", group=["w-0", "w-1"])
        assert b.barrier("b", group=("w-0", "w-1")).participants == 2
        waiting.result()


def test_gather_gives_the_values_of_all_by_rank(server, job):
    with workers(server, 2, job=job) as (a, b):
        waiting = Background(b.gather, "g", b"\0\xff")
        assert list(a.gather("g", "one").items()) == [
            ("w-0", b"one"), ("w-1", b"\0\xff")]
        assert waiting.result() == {"w-0": b"one", "w-1": b"\0\xff"}
        with pytest.raises(coordinator.CoordinatorInvalid):
            a.gather("g", b"x" * (65 << 10))


def test_a_vote_counts(server, job):
    with workers(server, 2, job=job) as (a, b):
        waiting = Background(b.vote, "v", False)
        got = a.vote("v", True)
        assert (got.votes_for, got.votes_against) == (1, 1)
        assert not got.unanimous and waiting.result().votes_for == 1


def test_heartbeats_go_on_while_a_barrier_waits(server, job):
    with workers(server, 2, QUICK, job=job) as (a, b):
        waiting = Background(a.barrier, "b")
        until(lambda: b.barriers())
        time.sleep(1.3)     # longer than silence may last
        assert [w["state"] for w in b.workers()] == ["alive", "alive"]
        b.barrier("b")
        waiting.result()


def test_closing_ends_what_waits(server, job):
    with workers(server, 2, job=job) as (a, b):
        waiting = Background(a.barrier, "b")
        until(lambda: b.barriers())
        a.close()
        with pytest.raises(coordinator.CoordinatorClosed):
            waiting.result()
        with pytest.raises(coordinator.CoordinatorClosed):
            a.barrier("b")


INTERRUPTED = """
import os, signal, sys, threading, time, roar
job = roar.TrainingOrchestrator(sys.argv[1], job=sys.argv[2])
job.register_worker("w-0"); job.configure(min_workers=2)
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    job.barrier("b")
except KeyboardInterrupt:
    print("interrupted", job.barriers())
"""


def test_ctrl_c_works_in_a_barrier_and_leaves_it(server, job):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, server.address,
                           job], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert (done.stdout, done.stderr) == ("interrupted []\n", "")


# ---- keys ----

def test_keys(server, job):
    with roar.TrainingOrchestrator(server.address, job=job) as a:
        first = a.kv.set("a", "1")
        assert a.kv.get("a") == b"1" and a.kv.entry("a").version == first
        assert a.kv.get("none") is None and a.kv.get("none", 5) == 5
        assert a.kv.entry("none") is None
        assert a.kv.add("n") == 1 and a.kv.add("n", 41) == 42
        assert a.kv.compare_set("a", first, b"2")
        assert not a.kv.compare_set("a", first, b"3")
        assert a.kv.compare_set("new", 0, b"x", ttl=100)
        assert 0 < a.kv.entry("new").expires_in <= 100
        assert [k.key for k in a.kv.list()] == ["a", "n", "new"]
        assert [k.key for k in a.kv.list("n")] == ["n", "new"]
        assert a.kv.delete("new") and not a.kv.delete("new")
        with pytest.raises(coordinator.CoordinatorInvalid):
            a.kv.set("", b"x")


def test_values_and_times_of_keys_are_what_they_say(server, job):
    with roar.TrainingOrchestrator(server.address, job=job) as a:
        for wrong in (5, None, [1, 2], 1.5):
            with pytest.raises(TypeError, match="bytes or a str"):
                a.kv.set("k", wrong)
            with pytest.raises(TypeError, match="bytes or a str"):
                a.kv.compare_set("k", 0, wrong)
        for wrong in (0, -1, float("nan"), "5"):
            with pytest.raises(ValueError, match="ttl"):
                a.kv.set("k", b"v", ttl=wrong)
        assert a.kv.get("k") is None
        for value in (bytearray(b"v"), memoryview(b"v"), "v"):
            a.kv.set("k", value, ttl=float("inf"))
            assert a.kv.entry("k")[1:4:2] == (b"v", None)


def test_wait_for_a_key(server, job):
    with roar.TrainingOrchestrator(server.address, job=job) as a, \
            roar.TrainingOrchestrator(server.address, job=job) as b:
        with pytest.raises(coordinator.CoordinatorTimeout):
            a.kv.wait("k", 0.02)
        waiting = Background(a.kv.wait, "k", PATIENCE)
        time.sleep(0.05)
        version = b.kv.set("k", "v")
        assert waiting.result()[:3] == ("k", b"v", version)
        waiting = Background(a.kv.wait, "k", PATIENCE, after_version=version)
        b.kv.set("k", "w")
        assert waiting.result().value == b"w"


def test_many_threads_share_one_object(server, job):
    with roar.TrainingOrchestrator(server.address, job=job) as a:
        calls = [Background(lambda: [a.kv.add("n") for _ in range(20)])
                 for _ in range(8)]
        sums = sorted(n for call in calls for n in call.result())
        assert sums == list(range(1, 161))


# ---- the world, commands ----

def test_changes_of_the_world_are_told_at_once(server, job):
    with workers(server, 1, job=job) as (a,):
        seen = []
        a.watch(world=seen.append)
        waiting = Background(a.wait_world, timeout=PATIENCE)
        time.sleep(0.05)
        with roar.TrainingOrchestrator(server.address, job=job) as b:
            b.register_worker("w-1")
            assert waiting.result().size == 2
            until(lambda: seen and seen[-1].size == 2)
        until(lambda: seen[-1].size == 1)


def test_commands_are_told_once(server, job):
    with workers(server, 2, job=job) as (a, b):
        assert a.commands() == []
        assert b.send_command("checkpoint", ["w-0"]) == 1
        assert b.send_command("reload", ["w-0"]) == 1
        got = a.commands(timeout=PATIENCE)
        until(lambda: got.extend(a.commands()) or len(got) == 2)
        assert got == ["checkpoint", "reload"] and a.commands() == []
        heard = []
        b.watch(command=heard.append)
        a.send_command("stop")
        until(lambda: heard == ["stop"])


def test_progress_goes_with_the_heartbeat(server, job):
    with workers(server, 1, job=job) as (a,):
        world = a.heartbeat(step=12, epoch=3, task="loss")
        assert world.rank == 0
        status = a.workers()[0]["status"]
        assert status == {"state": "training", "current_step": 12,
                          "current_epoch": 3, "current_task": "loss"}
        a.set_progress(13, state="checkpointing")
        with pytest.raises(ValueError, match="state"):
            a.set_progress(1, state="dancing")


def test_a_task_that_would_be_refused_is_an_error(server, job):
    with workers(server, 1, job=job) as (a,):
        for task in ("one\ntwo", "x" * 257):
            with pytest.raises(coordinator.CoordinatorInvalid, match="task"):
                a.set_progress(5, task=task)
        assert a.heartbeat(6).connected


def test_a_watch_outlives_the_registration(server, job):
    sizes, heard = [], []
    with workers(server, 1, job=job) as (a,), \
            roar.TrainingOrchestrator(server.address, job=job) as b, \
            roar.TrainingOrchestrator(server.address, job=job) as c:
        b.watch(world=lambda world: sizes.append(world.size),
                command=heard.append)
        b.register_worker("w-1")
        until(lambda: 2 in sizes)
        c.register_worker("w-2")
        until(lambda: sizes[-1] == 3)
        a.send_command("stop", ["w-1"])
        until(lambda: heard == ["stop"])


def test_ready_when_there_are_enough(server, job):
    with workers(server, 1, job=job) as (a,):
        a.configure(min_workers=2)
        with pytest.raises(coordinator.CoordinatorTimeout):
            a.wait_ready(0.05)
        waiting = Background(a.wait_ready, PATIENCE)
        with roar.TrainingOrchestrator(server.address, job=job) as b:
            b.register_worker("w-1")
            assert waiting.result().ready


# ---- datasets, checkpoints ----

def test_datasets_and_shards(server, job):
    with workers(server, 2, job=job) as (a, b):
        for _ in range(2):
            assert a.register_dataset("d", "/data", 95, 10, shuffle=False,
                                      metadata={"kind": "text"}) == 10
        first, second = a.get_shard("d"), b.get_shard("d", 1)
        assert (first.start_index, first.end_index) == (0, 10)
        assert first.num_samples == 10 and first.total_shards == 10
        assert (second.shard_id, second.epoch) == (5, 1)
        with pytest.raises(coordinator.CoordinatorInvalid):
            a.register_dataset("e", "/data", 95, 0)
        with pytest.raises(coordinator.CoordinatorNotFound):
            a.get_shard("none")


def test_shards_by_weight_and_home(server, job):
    with workers(server, 1, job=job) as (a,), \
            coordinator.TrainingOrchestrator(server.address, job=job) as b:
        b.register_worker("b", weight=3, home="east")
        a.register_dataset("w", "", 100, 1, balance="weight")
        assert [sum(map(len, w.shards("w"))) for w in (a, b)] == [25, 75]
        # One name for fifty shards each.
        a.register_dataset("l", "", 100, 1, balance="locality",
                           shard_homes=["east", "west"])
        assert b.shards("l") == [range(50)]
        assert a.shard_table("l").at_home == 50
        assert a.shard_table("l").balance == "locality"


def test_shards_by_bytes(server, job):
    sizes = [n * n % 77 for n in range(100)]
    with workers(server, 3, job=job) as (a, b, c):
        a.register_dataset("d", "", 100, 1, balance="bytes", shard_bytes=sizes)
        loads = [sum(sizes[n] or 1 for part in w.shards("d") for n in part)
                 for w in (a, b, c)]
        assert max(loads) - min(loads) <= max(sizes)
        table = a.shard_table("d")
        assert (table.most_bytes, table.least_bytes) == (max(loads), min(loads))


def mixed(x):
    """As lib/shard/place.c has it."""
    for factor in (0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53):
        x = (x ^ x >> 33) * factor % 2 ** 64
    return x ^ x >> 33


def key_of(name):
    x = 0xcbf29ce484222325
    for byte in name.encode():
        x = (x ^ byte) * 0x100000001b3 % 2 ** 64
    return mixed(x)


def by_rendezvous(shard, names):
    return max(names, key=lambda name: mixed(key_of(name) ^ shard))


def by_ring(shard, names):
    points = sorted((mixed((mixed(key_of(name)) + i) % 2 ** 64), name)
                    for name in names for i in range(150))
    return next((name for at, name in points if at >= shard), points[0][1])


@pytest.mark.parametrize("mode, place", [("rendezvous", by_rendezvous),
                                         ("ring", by_ring)])
def test_a_hash_needs_no_coordinator(server, job, mode, place):
    """Whoever knows the workers finds what the coordinator tells."""
    with workers(server, 3, job=job) as jobs:
        jobs[0].register_dataset("d", "", 50, 1, balance=mode)
        told = {n: w.worker_id for w in jobs
                for part in w.shards("d") for n in part}
        names = [w.worker_id for w in jobs]
        assert told == {n: place(mixed(n + 0x9e3779b97f4a7c15), names)
                        for n in range(50)}


@pytest.mark.parametrize("options, says", [
    ({"balance": "best"}, "must be one of"),
    ({"balance": "bytes"}, "need each other"),
    ({"shard_homes": ["a"]}, "need each other"),
    ({"balance": "bytes", "shard_bytes": [-1]}, "shard_bytes"),
    ({"balance": "locality", "shard_homes": "abc"}, "one value for each"),
])
def test_a_balance_that_is_none(server, options, says):
    with workers(server, 1, job="none") as (a,), \
            pytest.raises(ValueError, match=says):
        a.register_dataset("d", "", 10, 1, **options)


def test_all_shards_of_a_worker(server, job):
    with workers(server, 2, job=job) as (a, b):
        a.register_dataset("d", "/data", 95, 10)
        assert a.shards("d") == [range(5)] and b.shards("d") == [range(5, 10)]
        last = b.get_shards("d")[-1]
        assert (last.shard_id, last.start_index, last.end_index) == (9, 90, 95)
        assert last.num_samples == 5 and last.total_shards == 10
        table = a.shard_table("d")
        assert (table.most, table.least, table.n_workers) == (5, 5, 2)
        b.deregister()
        table = a.shard_table("d")
        assert table.moved == table.minimum == 5
        assert sorted(n for part in a.shards("d") for n in part) == list(range(10))


def test_moves_of_shards_are_waited_for(server, job):
    with workers(server, 2, job=job) as (a, b):
        a.register_dataset("d", "/data", 95, 10)
        a.shards("d")
        version = a.shard_table("d").version
        with pytest.raises(coordinator.CoordinatorTimeout):
            a.wait_shards("d", version, 0.05)
        waiting = Background(a.wait_shards, "d", version, PATIENCE)
        b.deregister()
        table = waiting.result()
        assert (table.version, table.n_workers) == (version + 1, 1)
        assert a.wait_shards("d", version, 0) == table


def test_an_epoch_is_not_left_unfinished(server, job):
    with workers(server, 1, job=job) as (a,):
        a.register_dataset("d", "/data", 95, 10)
        a.report_consumed("d", [range(10)])
        with pytest.raises(coordinator.CoordinatorStale,
                           match="85 of 95 samples are left"):
            a.advance_epoch("d", 1)
        assert a.advance_epoch("d", 1, abandon=True) == 1
        a.report_consumed("d", [range(95)], 1)
        assert a.advance_epoch("d", 2) == 2


def test_epochs_do_not_come_back(server, job):
    with workers(server, 2, job=job) as (a, b):
        a.register_dataset("d", "/data", 95, 10)
        for epoch in (1, 2, 3):
            assert [w.advance_epoch("d", epoch) for w in (a, b)] == \
                [epoch, epoch]
        assert a.get_shards("d")[0].epoch == 3
        with pytest.raises(coordinator.CoordinatorStale, match="next is 4"):
            a.advance_epoch("d", 5, abandon=True)
        with pytest.raises(coordinator.CoordinatorStale, match="is over"):
            b.advance_epoch("d", 2)
        with pytest.raises(coordinator.CoordinatorStale):
            b.get_shard("d", 2)


def test_consumed_positions_are_kept(server, job):
    with workers(server, 1, job=job) as (a,):
        a.register_dataset("d", "/data", 100, 10)
        assert a.report_consumed("d", [range(10), range(20, 30)]) == 20
        assert a.report_consumed("d", [range(5, 15)]) == 5
        assert a.consumed("d") == [range(15), range(20, 30)]
        assert a.consumed("d", missing=True) == [range(15, 20), range(30, 100)]
        with pytest.raises(coordinator.CoordinatorInvalid):
            a.report_consumed("d", [range(90, 101)])
        with pytest.raises(coordinator.CoordinatorStale):
            a.report_consumed("d", [range(1)], epoch=1)


def test_a_checkpoint_counts_when_all_have_saved_it(server, job):
    with workers(server, 2, job=job) as (a, b):
        assert a.latest_checkpoint() is None
        assert a.notify_checkpoint("c-7-0", 7, 1, "/ckpt/0", 10) == 0
        assert a.latest_checkpoint() is None
        assert b.notify_checkpoint("c-7-1", 7, 1, "/ckpt/1", 11,
                                   type="model_only") == 7
        found = a.latest_checkpoint()
        assert (found.step, found.epoch, found.path) == (7, 1, "/ckpt/0")
        assert abs(found.timestamp_ms / 1000 - time.time()) < 3600


# ---- connections ----

def test_unix_socket_and_call(server):
    other = Server(listen=f"unix:{server.folder}/socket")
    try:
        with roar.TrainingOrchestrator(other.address) as a:
            a.register_worker("w-0")
            status = a.call("/roar.Control/GetStatus", {})
            assert status["n_workers"] == 1
            with pytest.raises(ValueError, match="no field"):
                a.call("/roar.Control/KvSet", {"nonsense": 1})
            with pytest.raises(TypeError, match="key must be a str"):
                a.call("/roar.Control/KvSet", {"key": 1})
            with pytest.raises(ValueError, match="no method"):
                a.call("/roar.Control/Watch", {})
    finally:
        other.close()


def test_a_killed_coordinator_comes_back_and_nobody_notices():
    server = Server()
    try:
        with workers(server, 2) as (a, b):
            a.kv.set("k", "v")
            waiting = Background(a.barrier, "b", timeout=PATIENCE)
            until(lambda: b.barriers())
            server.kill()
            until(lambda: not b.world.connected)
            server.start()
            assert b.barrier("b", timeout=PATIENCE).participants == 2
            assert waiting.result().participants == 2
            assert b.kv.get("k") == b"v"
            assert sorted(w["incarnation"] for w in b.workers()) == [1, 1]
    finally:
        server.close()


def test_a_coordinator_that_remembers_nothing_is_told_anew():
    server = Server()
    try:
        with workers(server, 2, {"min_workers": 2}) as (a, b):
            for start in (1, 2):
                waiting = Background(a.barrier, "b", timeout=PATIENCE)
                got = b.barrier("b", timeout=PATIENCE)
                assert (got.generation, got.participants) == (start, 2)
                waiting.result()
                server.kill()
                shutil.rmtree(os.path.join(server.folder, "data"))
                server.start()
                for job in (a, b):
                    job.heartbeat()     # it has a place again
    finally:
        server.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_barriers_go_on_while_coordinators_come_and_go(how):
    server = Server()

    def meet(job):
        return [job.barrier("b", timeout=PATIENCE).generation
                for _ in range(150)]

    try:
        with workers(server, 3, {"min_workers": 3}) as jobs:
            calls = [Background(meet, job) for job in jobs]
            for i in range(4):
                time.sleep(0.01 * i)
                server.kill(how)
                server.start()
            for call in calls:
                assert call.result() == list(range(1, 151))
            assert jobs[0].world.epoch == 3  # nobody died
    finally:
        server.close()


def test_nobody_there_and_wrong_addresses():
    with pytest.raises(coordinator.CoordinatorUnreachable,
                       match="is roar-coordinator running"):
        roar.TrainingOrchestrator("unix:/nonexistent/socket",
                                  connect_timeout=0.05).connect()
    with pytest.raises(coordinator.CoordinatorInvalid, match="HOST:PORT"):
        roar.TrainingOrchestrator("ftp://host").connect()
    for wrong in ("", None, 5):
        with pytest.raises(ValueError):
            roar.TrainingOrchestrator(wrong)


def test_a_forked_child_has_no_client(server, job):
    with workers(server, 1, job=job) as (a,):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                a.kv.set("k", "v")
            except coordinator.CoordinatorClosed:
                os.write(writer, b"closed")
            del a
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            assert pipe.read() == b"closed"
        assert os.waitpid(pid, 0)[1] == 0
        a.kv.set("k", "v")


def test_tokens_and_tls(tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("needs the program openssl for a certificate")
    tokens = tmp_path / "tokens"
    tokens.write_text("j secret-0123456789\n")
    tokens.chmod(0o600)
    key, cert = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                    "-out", cert, "-days", "1", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                   check=True, capture_output=True)
    server = Server("--tokens", str(tokens), "--tls-cert", cert, "--tls-key",
                    key)
    try:
        with roar.TrainingOrchestrator(server.address, tls_ca=cert,
                                       token="secret-0123456789") as a:
            a.register_worker("w-0")
            a.kv.set("big", b"x" * 500000)
            assert a.kv.get("big") == b"x" * 500000
        with pytest.raises(coordinator.CoordinatorDenied):
            roar.TrainingOrchestrator(server.address, tls_ca=cert,
                                      token="wrong").register_worker("w-0")
        with pytest.raises(coordinator.CoordinatorUnreachable,
                           match="certificate|hostname"):
            roar.TrainingOrchestrator(
                server.address, tls_ca=cert, tls_name="other.example",
                connect_timeout=0.1).connect()
        with pytest.raises(coordinator.CoordinatorUnreachable):
            roar.TrainingOrchestrator(server.address,
                                      connect_timeout=0.1).connect()
    finally:
        server.close()


def test_a_token_is_replaced_while_a_barrier_waits(tmp_path):
    tokens, old, new = tmp_path / "tokens", "old-0123456789ab", "new-0123456789ab"

    def allow(*words):
        tokens.write_text("".join(f"j {word}\n" for word in words))
        tokens.chmod(0o600)

    def is_known():
        try:
            with roar.TrainingOrchestrator(server.address, token=new) as look:
                return look.workers()
        except coordinator.CoordinatorDenied:
            return None

    allow(old)
    server = Server("--tokens", str(tokens))
    try:
        with workers(server, 2, settings=QUICK, token=old) as (a, b):
            waiting = Background(a.barrier, "b", timeout=PATIENCE,
                                 policy="shrink")
            until(b.barriers)
            allow(old, new)
            server.process.send_signal(signal.SIGHUP)
            until(is_known)
            a.set_token(new)
            allow(new)
            server.process.send_signal(signal.SIGHUP)
            until(lambda: not b.world.connected)
            with pytest.raises(coordinator.CoordinatorDenied):
                b.kv.get("k")
            assert waiting.result().missing == ["w-1"]
            assert a.heartbeat(timeout=PATIENCE).connected
    finally:
        server.close()


def test_import_without_the_extension_says_what_to_do():
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['_roar_coord'] = None"
         "\nimport roar\ntry: roar.TrainingOrchestrator"
         "\nexcept ImportError as e: print(e)"],
        capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert "protobuf-c" in done.stdout and done.stderr == ""


def test_the_stub_names_what_there_is():
    stub = ast.parse((pathlib.Path(roar.__file__).parents[1] /
                      "_roar_coord.pyi").read_text())
    kind, = [n for n in stub.body if isinstance(n, ast.ClassDef)]
    named = {n.name for n in kind.body if isinstance(n, ast.FunctionDef)}
    assert named == {n for n in dir(_roar_coord.Client) if n[0] != "_"}
    assert _roar_coord.__file__.endswith(".abi3.so")
    with pytest.raises(TypeError):
        _roar_coord.Client()


def test_no_thread_is_left(server, job):
    before = threading.active_count()
    with workers(server, 2, job=job) as (a, _):
        a.watch(world=print, command=print)
    until(lambda: threading.active_count() == before)
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN
