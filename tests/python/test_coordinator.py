"""TrainingOrchestrator against the real coordinator: places, meetings, keys, the world."""

import ast
import copy
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

import _roar_coord
import roar
from coordinator_helpers import (  # noqa: F401
    PATIENCE, QUICK, Background, Server, one_server, own_job, until, workers)
from roar import coordinator


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
            with pytest.raises(coordinator.WorkerExists, match="waited 0.01 s"):
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
        assert isinstance(caught.value, roar.WorldChanged)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (again.gone, again.position) == (["w-1"], None)


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

def test_the_world_follows_a_join_without_a_heartbeat(server, job):
    with workers(server, 1, {"heartbeat_interval": 60, "timeout": 300},
                 job=job) as (first,):
        assert first.world_size == 1
        with workers(server, 1, job=f"{job}-other"):
            pass    # of another job
        second = roar.TrainingOrchestrator(server.address, job=job)
        second.register_worker("second")
        began = time.monotonic()
        until(lambda: first.world_size == 2)
        assert time.monotonic() - began < 20
        second.deregister()
        until(lambda: first.world_size == 1)


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
