"""Checkpoints that all ranks commit in two phases: over gRPC and frames, after kill -9,
with another leader, and what pages and figures show of them."""

import json
import urllib.request

import grpc
import pytest

import etcd as etcd_module
from coordinator import (PATIENCE_S, Coordinator, control, pb, raises,
                         wait_until)
from etcd import Etcd, leader_of

CODE = grpc.StatusCode
METHOD = 36
JOB = "ckpt"


class Worker:
    """One rank, with a connection of its own."""

    def __init__(self, server, name, **more):
        self.client = server.client()
        self.name = name
        self.session = self.client.register(name, JOB, **more).session

    def request(self, step=100, save="9f3ac2d1", token=0, world_epoch=0,
                **what):
        return control.CommitRequest(
            info=pb.CheckpointInfo(worker_id=self.name, job_id=JOB, step=step,
                                   checkpoint_id=save, size_bytes=5,
                                   storage_path="/c"),
            session=self.session, world_epoch=world_epoch,
            fencing_token=token, **what)

    def part(self, **more):
        """A wait that is under way."""
        return self.client.control.CommitCheckpoint.future(
            self.request(part=self.name.encode() * 32, **more),
            timeout=PATIENCE_S)

    def manifest(self, **more):
        return self.client.control.CommitCheckpoint(
            self.request(manifest=b"m" * 32, **more), timeout=PATIENCE_S)

    def fail(self, why, **more):
        return self.client.control.CommitCheckpoint(
            self.request(failure=why, **more), timeout=PATIENCE_S)

    def newest(self):
        return self.client.coordinator.GetLatestCheckpoint(
            pb.RecoveryRequest(worker_id=self.name, job_id=JOB),
            timeout=PATIENCE_S)


def get(server, path):
    with urllib.request.urlopen(server.http + path,
                                timeout=PATIENCE_S) as reply:
        return reply.read().decode()


def checkpoints(server):
    return json.loads(get(server, f"/api/checkpoints?job={JOB}"))


@pytest.fixture(name="server")
def _server():
    with Coordinator("--http", "127.0.0.1:0") as server:
        yield server


def test_all_parts_then_the_manifest(server):
    a, b = Worker(server, "a"), Worker(server, "b")
    waiting = b.part()
    ready = a.part().result()
    assert not ready.committed
    assert [(p.rank, p.worker_id, p.digest) for p in ready.parts] == [
        (0, "a", b"a" * 32), (1, "b", b"b" * 32)]
    assert {row["status"] for row in checkpoints(server)} == {"pending"}
    assert not a.newest().has_checkpoint
    assert a.manifest().committed
    assert waiting.result().manifest == b"m" * 32
    assert a.newest().manifest == b"m" * 32
    assert a.newest().resume_step == 100
    for row in checkpoints(server):
        assert (row["id"], row["status"], row["manifest"], row["error"]) == (
            "9f3ac2d1", "completed", "6d" * 32, None)
    assert ('roar_coordinator_checkpoints_total{result="committed"} 1'
            in get(server, "/metrics"))


def test_frames_say_the_same(server):
    worker = Worker(server, "a")
    frames = server.frames()
    for what in ({"part": b"a" * 32}, {"manifest": b"m" * 32}):
        frames.send(METHOD, worker.request(**what).SerializeToString(),
                    call=1)
        method, _, _, status, message = frames.receive()
        assert (method, status) == (METHOD, 0)
        reply = control.CommitReply.FromString(message)
        assert reply.committed == ("manifest" in what)
    frames.close()


def test_failures_are_shown(server):
    a, b = Worker(server, "a"), Worker(server, "b")
    waiting = a.part()
    wait_until(lambda: checkpoints(server))
    b.fail("the disk is full")
    with raises(CODE.ABORTED, "the disk is full (told by worker 'b')"):
        waiting.result()
    b.fail("no such bucket", step=101)
    rows = checkpoints(server)
    assert [(r["step"], r["worker_id"], r["status"], r["error"], r["parts"])
            for r in rows] == [
        (101, "b", "failed", "no such bucket", 0),
        (100, "a", "failed", "the disk is full", 1)]
    assert ('roar_coordinator_checkpoints_total{result="failed"} 2'
            in get(server, "/metrics"))
    assert server.logged("step 100 was not saved as '9f3ac2d1': the disk is "
                         "full")


def test_a_save_goes_on_after_kill_9(server):
    a, b = Worker(server, "a"), Worker(server, "b")
    waiting = b.part()
    a.part().result()
    waiting.cancel()
    server.kill()
    server.start()
    a, b = (Worker(server, w.name, session=w.session) for w in (a, b))
    waiting = b.part()
    assert a.manifest().committed
    assert waiting.result().committed
    server.kill()
    server.start()
    a = Worker(server, "a", session=a.session)
    assert a.newest().manifest == b"m" * 32
    with raises(CODE.ALREADY_EXISTS, "already saved as '9f3ac2d1'"):
        a.part(save="other").result()


@pytest.mark.skipif(not etcd_module.is_there(),
                    reason="etcd-server or etcd-client is missing")
def test_another_leader_wants_its_own_token():
    with Etcd(1) as etcd:
        coordinators = [etcd.coordinator() for _ in range(2)]
        leader = leader_of(coordinators)
        old = leader.token()
        a, b = Worker(leader, "a"), Worker(leader, "b")
        with raises(CODE.FAILED_PRECONDITION, "the fencing token 0 is stale"):
            a.part().result()
        waiting = b.part(token=old)
        assert len(a.part(token=old).result().parts) == 2
        leader.kill()
        with raises(CODE.UNAVAILABLE):
            waiting.result()
        leader = leader_of([c for c in coordinators if c is not leader])
        new = leader.token()
        assert new > old
        a, b = (Worker(leader, w.name, session=w.session) for w in (a, b))
        with raises(CODE.FAILED_PRECONDITION,
                    f"the fencing token {old} is stale, the leader's is {new}"):
            a.manifest(token=old)
        waiting = b.part(token=new)
        assert a.manifest(token=new).committed
        assert waiting.result().committed
        assert a.newest().resume_step == 100
