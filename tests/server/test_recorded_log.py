"""A data directory that an earlier build wrote is read: the same state, to the last field.

`recorded/log` has a log, `recorded/snapshot` a snapshot and the log after it, and both
what that build answered after a restart (seen.json).  Written by `python3 test_recorded_log.py` with that build as $COORDINATOR_PROGRAM."""

import glob
import json
import os
import pathlib
import shutil

import pytest
from google.protobuf import json_format

from coordinator import (PATIENCE_S, Coordinator, control, pb, shards,
                         wait_until)

RECORDED = pathlib.Path(__file__).parent / "recorded"
WEEK_MS = 7 * 24 * 3600 * 1000
T = {"timeout": PATIENCE_S}


def lease(client, sessions, worker, request, chunk=100):
    return client.shards.TakeLease(shards.TakeLeaseRequest(
        job_id="big", worker_id=worker, session=sessions[worker],
        dataset_id="pulled", mode=1, chunk=chunk, timeout_ms=WEEK_MS,
        request=request), **T)


def use(client, sessions, worker, lease_id, consumed_to, **more):
    return client.shards.UseLease(shards.UseLeaseRequest(
        job_id="big", worker_id=worker, session=sessions[worker],
        dataset_id="pulled", lease_id=lease_id, consumed_to=consumed_to,
        **more), **T)


def configure(client, job, timeout_ms):
    client.control.Configure(control.JobSettings(
        job_id=job, start_workers=2, max_workers=100, timeout_ms=timeout_ms,
        heartbeat_interval_ms=10, hold_ms=WEEK_MS, on_death=2), **T)


def register_data(client, sessions):
    """One dataset of each balance with a table, and one that is leased."""
    for name, more in (("counted", {}), ("weighed", {"balance": 1}),
                       ("sized", {"balance": 2, "shard_bytes": [5, 9, 2, 7]}),
                       ("pulled", {})):
        client.coordinator.RegisterDataset(pb.DatasetInfo(
            dataset_id=name, path="/data", total_samples=1000, shard_size=100,
            shuffle=True, seed=7, job_id="big", **more), **T)
        client.shards.ListShards(shards.ListShardsRequest(
            job_id="big", worker_id="a", session=sessions["a"],
            dataset_id=name), **T)
    client.shards.ReportConsumed(shards.ConsumedReport(
        job_id="big", worker_id="a", session=sessions["a"],
        dataset_id="counted", ranges=[shards.PositionRange(first=0, end=40),
                                      shards.PositionRange(first=90, end=99)]),
                                 **T)


def fill(server):
    """Every kind of record; returns the sessions of the workers."""
    client, other = server.client(), server.client()
    configure(client, "big", WEEK_MS)
    configure(client, "short", 100)
    other.register("mortal", "short")
    sessions = {name: who.register(name, "big", gpu_count=gpus).session
                for name, who, gpus in (("a", client, 1), ("b", other, 3),
                                        ("c", other, 1), ("d", other, 2))}
    register_data(client, sessions)
    other.coordinator.DeregisterWorker(pb.WorkerInfo(
        worker_id="c", job_id="big"), **T)
    for step in (1, 2):
        for worker in ("a", "b", "d")[:2 if step == 2 else 3]:
            client.coordinator.NotifyCheckpoint(pb.CheckpointInfo(
                worker_id=worker, checkpoint_id=f"{step}-{worker}", step=step,
                job_id="big", storage_path="/ckpt", size_bytes=10), **T)
    waiting = []
    for worker, who in (("a", client), ("b", other), ("d", other)):
        client.wait_for_arrivals(len(waiting), "big")
        waiting.append(who.arrive(worker, "epoch", "big", generation=5))
    for arrival in waiting:
        arrival.result(PATIENCE_S)
    first = lease(client, sessions, "a", 11)
    use(client, sessions, "a", first.lease_id, first.range.first + 30)
    second = lease(other, sessions, "b", 12)
    use(other, sessions, "b", second.lease_id, second.range.first + 50,
        give_back=True)
    client.control.KvSet(control.KvSetRequest(
        job_id="big", key="run/id", value=b"17", request=99), **T)
    client.control.KvSet(control.KvSetRequest(
        job_id="big", key="run/lock", value=b"a", ttl_ms=WEEK_MS), **T)
    client.control.KvAdd(control.KvAddRequest(
        job_id="big", key="run/count", delta=5), **T)
    client.control.SendCommand(control.CommandRequest(
        job_id="big", worker_ids=["b"], command="checkpoint"), **T)
    wait_until(lambda: view(client, "short")[0]["state"] == "DEAD")
    return sessions


def grow(server):
    """Until there is a snapshot, then some records of the log after it."""
    client = server.client()
    while not glob.glob(f"{server.data}/snapshot-*"):
        client.control.KvSet(control.KvSetRequest(
            job_id="big", key="filler", value=bytes(32 << 10)), **T)
    wait_until(lambda: len(glob.glob(f"{server.data}/log-*")) == 1)
    client.control.KvDelete(control.KvDeleteRequest(
        job_id="big", key="filler"), **T)
    client.control.Drain(control.DrainRequest(
        job_id="big", worker_ids=["d"]), **T)


def view(client, job):
    """Its workers, without what a restart or the time changes."""
    reply = client.control.ListWorkers(
        control.ListWorkersRequest(job_id=job), **T)
    return [{"id": w.worker_id, "rank": w.rank, "incarnation": w.incarnation,
             "gpus": w.gpu_count, "registered": w.registered_ms,
             "state": control.WorkerView.State.Name(w.state).replace(
                 "SUSPECT", "ALIVE")} for w in reply.workers]


def plain(message):
    return json_format.MessageToDict(message)


def seen(server, sessions):
    """What the state answers; asks the same twice, as a client after a lost reply."""
    client = server.client()
    jobs = plain(client.control.ListJobs(control.ListJobsRequest(), **T))
    for job in jobs["jobs"]:
        job.pop("nAlive", None)
        job.pop("ready", None)
    keys = plain(client.control.KvList(
        control.KvListRequest(job_id="big"), **T))
    for entry in keys["entries"]:
        entry["expiresInMs"] = entry.get("expiresInMs") is not None
    tables = {name: plain(client.shards.GetTable(shards.TableRequest(
        job_id="big", dataset_id=name), **T))
        for name in ("counted", "weighed", "sized", "pulled")}
    owned = {f"{worker} {name}": plain(client.shards.ListShards(
        shards.ListShardsRequest(job_id="big", worker_id=worker,
                                 session=sessions[worker], dataset_id=name),
        **T)) for worker in ("a", "b", "d") for name in tables}
    consumed = {name: plain(client.shards.GetConsumed(shards.ConsumedRequest(
        job_id="big", dataset_id=name), **T)) for name in tables}
    again = plain(client.control.KvSet(control.KvSetRequest(
        job_id="big", key="run/id", value=b"0", request=99), **T))
    met = plain(client.coordinator.WaitBarrier(pb.BarrierRequest(
        worker_id="a", barrier_id="epoch", job_id="big", generation=5), **T))
    saved = plain(client.coordinator.GetLatestCheckpoint(
        pb.RecoveryRequest(worker_id="a", job_id="big"), **T))
    leases = [plain(lease(client, sessions, "a", 11)),
              plain(use(client, sessions, "b", 2, 150, give_back=True))]
    return {"jobs": jobs, "keys": keys, "workers": view(client, "big"),
            "dead": view(client, "short"), "tables": tables, "owned": owned,
            "consumed": consumed, "again": again, "met": met, "saved": saved,
            "leases": leases}


def commands(server):
    return list(server.client().heartbeat("b", "big").pending_commands)


@pytest.mark.parametrize("name", ["log", "snapshot"])
def test_an_earlier_build_left_it(tmp_path, name):
    expected = json.loads((RECORDED / name / "seen.json").read_text())
    data = tmp_path / "data"
    data.mkdir(0o700)
    for path in (RECORDED / name).glob("*-*"):
        shutil.copy(path, data)
    with Coordinator(data=str(data)) as server:
        assert seen(server, expected["sessions"]) == expected["seen"]
        assert commands(server) == ["checkpoint"]


def keep(server, name, sessions):
    """Its files, the log cut after its records, and what it answers when it is read."""
    server.kill()
    folder = RECORDED / name
    folder.mkdir(parents=True)
    for path in glob.glob(f"{server.data}/*-*"):
        content = pathlib.Path(path).read_bytes().rstrip(b"\0")
        whole = content + bytes(-len(content) % 8)
        (folder / os.path.basename(path)).write_bytes(whole)
    server.start()
    (folder / "seen.json").write_text(json.dumps(
        {"sessions": sessions, "seen": seen(server, sessions)},
        indent=1, sort_keys=True) + "\n")


def make():
    with Coordinator() as server:
        sessions = fill(server)
        keep(server, "log", sessions)
        grow(server)
        keep(server, "snapshot", sessions)


if __name__ == "__main__":
    make()
