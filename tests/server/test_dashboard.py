"""What the dashboard is made of: its pages of JSON, its stream, and its page."""

import json
import os
import select
import signal
import socket
import time

import pytest

from coordinator import PATIENCE_S, Coordinator, control, pb, shards, wait_until
from test_http import connection, get, get_json, is_now


@pytest.fixture(name="server", scope="module")
def _server():
    with Coordinator() as server:
        yield server


def register_dataset(client, name, job, samples=1000, shard=10, **more):
    return client.coordinator.RegisterDataset(
        pb.DatasetInfo(dataset_id=name, job_id=job, total_samples=samples,
                       shard_size=shard, **more), timeout=PATIENCE_S)


def save(client, worker, job, step, **more):
    return client.coordinator.NotifyCheckpoint(
        pb.CheckpointInfo(worker_id=worker, job_id=job, step=step,
                          checkpoint_id=f"{step}-{worker}", **more),
        timeout=PATIENCE_S)


def deal(client, name, job, worker):
    """Shards are dealt when somebody first asks."""
    client.coordinator.GetDataShard(
        pb.ShardRequest(worker_id=worker, dataset_id=name, job_id=job),
        timeout=PATIENCE_S)


# ---- pages of JSON ----

def test_datasets_have_the_known_keys(server):
    client = server.client()
    register_dataset(client, "pile", "data", 1001, 100, path="/data/pile",
                     format="tar", shuffle=True, seed=7)
    for i in range(3):
        client.register(f"w{i}", "data")
    dataset, = get_json(server, "/api/datasets?job=data")
    assert (dataset["table_version"], dataset["max_shards"]) == (0, 0)
    deal(client, "pile", "data", "w0")
    dataset, = get_json(server, "/api/datasets?job=data")
    assert {k: dataset[k] for k in (
        "id", "name", "total_samples", "shard_size", "shard_count", "format",
        "shuffle", "job", "path", "seed", "min_shards", "max_shards")} == {
            "id": "pile", "name": "pile", "total_samples": 1001,
            "shard_size": 100, "shard_count": 11, "format": "tar",
            "shuffle": True, "job": "data", "path": "/data/pile", "seed": 7,
            "min_shards": 3, "max_shards": 4}
    assert is_now(dataset["registered_at"])
    assert (dataset["table_version"], dataset["moved_shards"]) == (1, 0)
    workers = get_json(server, "/api/workers?job=data")
    assert sorted(w["assigned_shards"] for w in workers) == [3, 4, 4]
    client.register("w3", "data")
    dataset, = get_json(server, "/api/datasets?job=data")
    assert {k: dataset[k] for k in (
        "table_version", "moved_shards", "last_moved", "last_minimum")} == {
            "table_version": 2, "moved_shards": 2, "last_moved": 2,
            "last_minimum": 2}


def test_moves_are_counted_over_restarts():
    with Coordinator() as server:
        client = server.client()
        for worker in "ab":
            client.register(worker)
        register_dataset(client, "d", "", samples=100, shard=1)
        register_dataset(client, "h", "", samples=100, shard=1,
                         balance=pb.BALANCE_RING)
        for dataset in "dh":
            client.coordinator.GetDataShard(pb.ShardRequest(
                worker_id="a", dataset_id=dataset), timeout=PATIENCE_S)
        for worker in "cd":
            client.register(worker)
        before = get_json(server, "/api/datasets")
        assert before[0]["moved_shards"] == 33 + 25
        assert before[0]["last_moved"] == before[0]["last_minimum"] == 25
        assert (before[0]["balance"], before[1]["balance"]) == ("count", "ring")
        assert before[1]["moved_shards"] > 0
        server.kill()
        server.start()
        assert get_json(server, "/api/datasets") == before


def test_workers_tell_what_they_use(server):
    client = server.client()
    client.register("w", "usage")
    worker, = get_json(server, "/api/workers?job=usage")
    keys = ("cpu_percent", "memory_used_bytes", "gpu_percent",
            "gpu_memory_used_bytes", "gpu_memory_total_bytes")
    assert [worker[k] for k in keys] == [None] * 5
    client.coordinator.Heartbeat(pb.HeartbeatRequest(
        worker_id="w", job_id="usage", resources=pb.ResourceUsage(
            cpu_percent=50, memory_used_bytes=7, gpu_usage=[
                pb.GpuUsage(utilization_percent=90, memory_used_bytes=1,
                            memory_total_bytes=4),
                pb.GpuUsage(utilization_percent=70, memory_used_bytes=2,
                            memory_total_bytes=4)])), timeout=PATIENCE_S)
    worker, = get_json(server, "/api/workers?job=usage")
    assert [worker[k] for k in keys] == [50, 7, 80, 3, 8]


def test_datasets_tell_how_far_they_are(server):
    client = server.client()
    client.register("w", "progress")
    register_dataset(client, "d", "progress", samples=1000)
    dataset, = get_json(server, "/api/datasets?job=progress")
    assert (dataset["epoch"], dataset["consumed_samples"]) == (0, 0)
    client.shards.ReportConsumed(shards.ConsumedReport(
        worker_id="w", job_id="progress", dataset_id="d",
        ranges=[shards.PositionRange(first=100, end=350)]),
        timeout=PATIENCE_S)
    dataset, = get_json(server, "/api/datasets?job=progress")
    assert dataset["consumed_samples"] == 250
    task, = get_json(server, "/api/tasks?job=progress")
    assert task["progress"] == 25


def test_checkpoints_come_newest_first(server):
    client = server.client()
    client.register("a", "ckpt")
    client.register("b", "ckpt")
    save(client, "a", "ckpt", 1, size_bytes=5, storage_path="/c/1",
         timestamp_ms=1700000000000, epoch=2)
    save(client, "b", "ckpt", 1)
    save(client, "a", "ckpt", 2)
    parts = get_json(server, "/api/checkpoints?job=ckpt")
    assert [(p["step"], p["worker_id"], p["status"]) for p in parts] == [
        (2, "a", "pending"), (1, "a", "completed"), (1, "b", "completed")]
    assert {k: parts[1][k] for k in ("id", "epoch", "size", "path", "job")} == {
        "id": "1-a", "epoch": 2, "size": 5, "path": "/c/1", "job": "ckpt"}
    assert parts[1]["created_at"] == 1700000000000
    assert parts[2]["created_at"] is None  # it was not told
    assert len(get_json(server, "/api/checkpoints?job=ckpt&limit=2")) == 2
    assert get(server, "/api/checkpoints?limit=0")[0].status == 400


def test_logs_are_what_happened(server):
    client = server.client()
    client.register("logged", "logs")
    line = get_json(server, "/api/logs?job=logs")[-1]
    assert line["message"] == "worker 'logged' joined as rank 0"
    assert {k: line[k] for k in ("level", "source", "task_id",
                                 "worker_id")} == {
        "level": "info", "source": "job", "task_id": "logs",
        "worker_id": None}
    assert is_now(line["timestamp"])
    assert isinstance(line["id"], str)
    assert len(get_json(server, "/api/logs?limit=1")) == 1
    assert get(server, "/api/logs?limit=501")[0].status == 400


def test_tasks_are_jobs(server):
    client = server.client()
    client.register("a", "task")
    client.register("b", "task")
    register_dataset(client, "d", "task")
    task, = get_json(server, "/api/tasks?job=task")
    assert {k: task[k] for k in (
        "id", "name", "status", "worker_ids", "dataset_id", "completed_at",
        "progress")} == {
            "id": "task", "name": "task", "status": "running",
            "worker_ids": ["a", "b"], "dataset_id": "d",
            "completed_at": None, "progress": 0}
    assert is_now(task["started_at"])
    assert task["logs"] == ["worker 'a' joined as rank 0",
                            "worker 'b' joined as rank 1"]


def test_samples_of_all_datasets_may_be_more_than_64_bits(server):
    client = server.client()
    for name in ("one", "two", "three"):
        register_dataset(client, name, "huge", samples=2 ** 63 - 1,
                         shard=2 ** 62)
    task, = get_json(server, "/api/tasks?job=huge")
    assert task["progress"] in (0, None)


def test_a_task_has_its_own_lines(server):
    client = server.client()
    client.register("a", "lines")
    client.register("b", "other-lines")
    lines = get_json(server, "/api/tasks/lines/logs")
    assert [line["message"] for line in lines] == [
        "worker 'a' joined as rank 0"]
    for path in ("/api/tasks/", "/api/tasks/lines", "/api/tasks/lines/x",
                 "/api/tasks//logs", "/api/tasks/a%2Fb/logs"):
        assert get(server, path)[0].status == 404


def test_a_task_that_is_stopped_asks_its_workers_to_leave(server):
    client = server.client()
    client.register("a", "stop")
    client.register("b", "stop")
    assert get(server, "/api/tasks/stop/stop")[0].status == 405
    reply, body = get(server, "/api/tasks/stop/stop", "POST")
    assert reply.status == 202
    assert json.loads(body) == {"success": True, "id": "stop", "status": "stopping",
                                "workers": 2}
    assert list(client.heartbeat("a", "stop").pending_commands) == ["drain"]
    assert [w["state"] for w in get_json(
        server, "/api/workers?job=stop")] == ["draining", "draining"]
    assert get(server, "/api/tasks/nobody/stop", "POST")[0].status == 404


def post(server, path, body, token=None):
    c = connection(server)
    c.request("POST", path, body,
              {"Authorization": f"Bearer {token}"} if token else {})
    reply = c.getresponse()
    found = json.loads(reply.read())
    c.close()
    return reply.status, found


def test_a_task_waits_for_its_workers(server):
    plan = json.dumps({"name": "made", "type": "training", "dataset_id": "d",
                       "worker_count": 2, "config": {"lr": 1e-3}})
    made = (201, {"task_id": "made", "status": "pending"})
    assert post(server, "/api/tasks", plan) == made
    assert post(server, "/api/tasks", plan) == made  # its answer was lost
    assert post(server, "/api/tasks", '{"name": "made"}')[0] == 409
    task, = get_json(server, "/api/tasks?job=made")
    assert (task["status"], task["worker_ids"]) == ("pending", [])
    client = server.client()
    client.register("a", "made")
    assert client.control.KvGet(control.KvGetRequest(
        job_id="made", key="task"), timeout=PATIENCE_S).entry.value.decode() == plan
    assert get_json(server, "/api/tasks?job=made")[0]["status"] == "pending"
    client.register("b", "made")
    assert get_json(server, "/api/tasks?job=made")[0]["status"] == "running"
    assert post(server, "/api/tasks", plan)[0] == 409


@pytest.mark.parametrize("body, part", [
    ("", "JSON object"),
    ("[]", "JSON object"),
    ("{", "JSON object"),
    ("{}", "name must be"),
    ('{"name": 7}', "name must be"),
    ('{"name": "a/b"}', "name must be"),
    ('{"name": ""}', "name must be"),
    ('{"name": "bad", "worker_count": -1}', "worker_count"),
    ('{"name": "bad", "worker_count": 1e3}', "worker_count"),
    ('{"name": "bad", "worker_count": 10001}', "worker_count"),
])
def test_a_task_that_is_none_is_refused(server, body, part):
    status, answer = post(server, "/api/tasks", body)
    assert status == 400 and part in answer["error"]
    assert get_json(server, "/api/tasks?job=bad") == []


def test_the_dashboard_has_all_of_it(server):
    server.client().register("w", "all")
    everything = get_json(server, "/api/dashboard?job=all")
    assert [w["id"] for w in everything["workers"]] == ["w"]
    assert [t["id"] for t in everything["tasks"]] == ["all"]
    assert everything["coordinator"]["status"] == "running"
    assert {k: everything["coordinator"][k] for k in ("connected", "address")} == {
        "connected": True, "address": server.address}
    assert everything["metrics"]["total_workers"] == 1
    assert {"datasets", "checkpoints", "barriers", "logs",
            "jobs"} <= set(everything)


def test_figures_are_counted():
    with Coordinator() as server:
        client = server.client()
        client.register("w")
        figures = get_json(server, "/api/metrics")
        assert figures["shard_assignment_time"] is None
        assert figures["checkpoint_throughput"] is None
        register_dataset(client, "d", "")
        deal(client, "d", "", "w")
        save(client, "w", "", 1, size_bytes=10 ** 9)
        assert get_json(server, "/api/metrics")["shard_assignment_time"] > 0
        wait_until(lambda: get_json(
            server, "/api/metrics")["checkpoint_throughput"] is not None)


# ---- the stream ----

class Events:
    """A client of /api/events."""

    def __init__(self, server, token=None, job=None):
        self.connection = connection(server)
        self.connection.request(
            "GET", "/api/events" + (f"?job={job}" if job else ""),
            headers={"Authorization": f"Bearer {token}"} if token else {})
        self.reply = self.connection.getresponse()
        self.state = {}
        self.workers = {}
        self.names = []

    def read(self):
        """The next event, or None at the end."""
        lines = []
        while True:
            line = self.reply.readline().decode()
            if not line:
                return None
            if line == "\n":
                break
            lines.append(line.rstrip("\n"))
        name, data = lines
        return name.removeprefix("event: "), json.loads(
            data.removeprefix("data: "))

    def take(self):
        """Does what a page does with an event."""
        event = self.read()
        assert event is not None, "the stream ended"
        name, data = event
        self.names.append(name)
        if name == "workers":
            for worker in data["gone"]:
                self.workers.pop((worker["job"], worker["id"]), None)
            for worker in data["workers"]:
                self.workers.setdefault(
                    (worker["job"], worker["id"]), {}).update(worker)
        else:
            logs = self.state.get("logs", []) + data["logs"]
            self.state.update(data, logs=logs)

    def until(self, condition):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, "it never came"
            self.take()

    def close(self):
        self.reply.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def test_the_stream_begins_with_all_there_is(server):
    client = server.client()
    client.register("w", "begin", gpu_count=2)
    client.heartbeat("w", "begin", step=3)
    with Events(server, job="begin") as events:
        assert events.reply.headers["Content-Type"] == "text/event-stream"
        assert events.reply.headers["Cache-Control"] == "no-store"
        events.until(lambda: events.workers)
        assert events.names[0] == "snapshot"
        worker = events.workers["begin", "w"]
        plain, = get_json(server, "/api/workers?job=begin")
        plain.pop("heartbeat_age_ms")
        assert worker == plain
        assert {"coordinator", "jobs", "barriers", "datasets", "steps",
                "logs", "metrics", "now", "history",
                "columns"} <= set(events.state)


def test_the_stream_tells_what_changes(server):
    client = server.client()
    client.register("a", "change")
    with Events(server, job="change") as events:
        events.until(lambda: events.workers)
        client.register("b", "change")
        events.until(lambda: ("change", "b") in events.workers)
        client.heartbeat("b", "change", step=17)
        events.until(
            lambda: events.workers["change", "b"]["current_step"] == 17)
        # A heartbeat does not tell the whole worker again.
        assert events.workers["change", "b"]["rank"] == 1

        wait = client.arrive("a", "change", job="change")
        events.until(lambda: events.state["barriers"])
        barrier, = events.state["barriers"]
        assert (barrier["arrived"], barrier["missing"]) == (1, ["b"])
        client.arrive("b", "change", job="change").result()
        wait.result()
        events.until(lambda: not events.state["barriers"])

        register_dataset(client, "d", "change")
        events.until(lambda: events.state["datasets"])
        deal(client, "d", "change", "a")
        events.until(
            lambda: events.workers["change", "a"]["assigned_shards"] == 50)
        save(client, "a", "change", 4, size_bytes=9)
        events.until(lambda: events.state["steps"])
        assert events.state["steps"][0]["complete"] is False

        client.coordinator.DeregisterWorker(
            pb.WorkerInfo(worker_id="a", job_id="change"),
            timeout=PATIENCE_S)
        events.until(lambda: ("change", "a") not in events.workers)
        events.until(
            lambda: events.workers["change", "b"]["rank"] == 0)
        # Who comes back is told whole.
        client.register("a", "change")
        events.until(lambda: ("change", "a") in events.workers)
        assert events.workers["change", "a"]["rank"] == 1
        assert events.workers["change", "a"]["state"] == "alive"
        events.until(lambda: any(
            line["message"] == "worker 'a' left"
            for line in events.state["logs"]))


def test_the_stream_is_never_silent(server):
    with Events(server) as events:
        events.until(lambda: events.names.count("delta") >= 2)
        before = events.state["now"]
        events.until(lambda: events.state["now"] > before)
        events.until(lambda: events.state["history"])
        row = dict(zip(events.state["columns"], events.state["history"][0]))
        assert row["requests"] >= 0


def test_a_death_is_told():
    with Coordinator() as server:
        client = server.client()
        dying = server.client()
        client.register("stays")
        dying.register("dies")
        with Events(server) as events:
            events.until(lambda: len(events.workers) == 2)
            dying.close()
            events.until(lambda: events.workers[
                "default", "dies"]["state"] == "suspect")
            assert events.workers["default", "dies"]["status"] == "unknown"
            assert events.workers["default", "dies"]["reason"]


def test_many_workers_come_in_portions(server):
    client = server.client()
    for future in [client.coordinator.RegisterWorker.future(
            pb.WorkerInfo(worker_id=f"w{i}", job_id="many", hostname="h"))
            for i in range(1500)]:
        future.result(PATIENCE_S)
    with Events(server, job="many") as events:
        events.until(lambda: len(events.workers) == 1500)
        assert events.names.count("workers") > 1
        assert {w["rank"] for w in events.workers.values()} == set(
            range(1500))


TOKENS = "a secret-of-a\nb secret-of-b\n* administrator\n"


@pytest.fixture(name="guarded")
def _guarded(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKENS)
    tokens.chmod(0o600)
    with Coordinator("--tokens", str(tokens)) as server:
        server.tokens = tokens
        client = server.client()
        for job in ("a", "b"):
            client.register(f"of-{job}", job, metadata=[
                ("authorization", f"Bearer secret-of-{job}")])
        yield server


def test_the_stream_shows_what_its_token_may_see(guarded):
    for token in (None, "nonsense"):
        with Events(guarded, token) as events:
            assert events.reply.status == 401
    with Events(guarded, "secret-of-a", job="b") as events:
        assert events.reply.status == 403
    with Events(guarded, "secret-of-a") as events:
        events.until(lambda: events.workers)
        events.until(lambda: events.names.count("delta") > 0)
        assert list(events.workers) == [("a", "of-a")]
        assert [job["id"] for job in events.state["jobs"]] == ["a"]
        assert {line["task_id"] for line in events.state["logs"]} == {"a"}
        # Figures of all jobs together are not one job's to see.
        assert "history" not in events.state
        assert events.state["metrics"]["coordinator_rps"] is None
        assert events.state["metrics"]["total_workers"] == 1
    with Events(guarded, "administrator") as events:
        events.until(lambda: len(events.workers) == 2)


def test_other_pages_show_it_too(guarded):
    for path in ("/api/dashboard", "/api/datasets", "/api/checkpoints",
                 "/api/tasks", "/api/logs"):
        assert get(guarded, path)[0].status == 401
    c = connection(guarded)
    c.request("GET", "/api/dashboard",
              headers={"Authorization": "Bearer secret-of-b"})
    text = c.getresponse().read().decode()
    c.close()
    assert "of-b" in text and "of-a" not in text


def test_a_task_is_stopped_by_who_may(guarded):
    for token, status in ((None, 401), ("secret-of-b", 403),
                          ("secret-of-a", 202)):
        c = connection(guarded)
        c.request("POST", "/api/tasks/a/stop", headers={
            "Authorization": f"Bearer {token}"} if token else {})
        assert c.getresponse().status == status
        c.close()


def test_a_task_is_made_by_who_may(guarded):
    for token, name, status in ((None, "c", 401), ("secret-of-a", "c", 403),
                                ("secret-of-a", "a", 409),
                                ("administrator", "c", 201)):
        assert post(guarded, "/api/tasks", json.dumps({"name": name}),
                    token)[0] == status


def test_a_token_that_is_withdrawn_ends_its_stream(guarded):
    with Events(guarded, "secret-of-a") as withdrawn, \
            Events(guarded, "secret-of-b") as kept:
        withdrawn.until(lambda: withdrawn.workers)
        kept.until(lambda: kept.workers)
        guarded.tokens.write_text(TOKENS.replace("secret-of-a", "another-one"))
        guarded.signal(signal.SIGHUP)
        while withdrawn.read():
            pass
        kept.until(lambda: kept.names.count("delta") > 1)


def test_streams_end_with_the_server():
    server = Coordinator()
    with Events(server) as events:
        events.take()
        server.signal(signal.SIGTERM)
        while events.read():
            pass
    assert server.wait() == 0
    server.close()


def test_only_so_many_may_watch(server):
    streams = []
    try:
        while len(streams) <= 64:
            streams.append(Events(server))
            if streams[-1].reply.status == 503:
                break
        assert len(streams) == 65
        assert "close one" in streams[-1].reply.read().decode()
        streams.pop(0).close()
        # It is noticed when something is to be sent.
        wait_until(lambda: try_to_watch(server), "room for another one")
    finally:
        for stream in streams:
            stream.close()


def try_to_watch(server):
    with Events(server) as events:
        return events.reply.status == 200


def slow_readers(server):
    text = get(server, "/metrics")[1]
    return float(text.split("\nroar_coordinator_http_slow_readers_total ")[1]
                 .split()[0])


# AddressSanitizer keeps what was freed, by default 256 MB of it.
FREED = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") +
         ":quarantine_size_mb=1"}


def test_who_does_not_read_costs_little_and_is_sent_away():
    with Coordinator(env=FREED) as server:
        client = server.client()
        n = 1000
        for i in range(n):
            client.register(f"w{i:04}")
        host, port = server.http.removeprefix("http://").split(":")
        idle = socket.socket()
        idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        idle.connect((host, int(port)))
        idle.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert select.select([idle], [], [], PATIENCE_S)[0]
        with Events(server) as events:
            events.until(lambda: len(events.workers) == n)
            before = server.resident_bytes()
            for step in range(1, 6):
                for future in [client.coordinator.Heartbeat.future(
                        pb.HeartbeatRequest(
                            worker_id=f"w{i:04}",
                            status=pb.WorkerStatus(state=4,
                                                   current_step=step)))
                        for i in range(n)]:
                    future.result(PATIENCE_S)
                events.until(lambda s=step: all(
                    w["current_step"] == s for w in events.workers.values()))
            assert server.resident_bytes() - before < 16 << 20
        # Nothing more fits between the two, once there is enough to tell.
        name = "x" * 100
        deadline = time.monotonic() + PATIENCE_S
        while slow_readers(server) == 0:
            assert time.monotonic() < deadline
            for future in [client.coordinator.Heartbeat.future(
                    pb.HeartbeatRequest(
                        worker_id=f"w{i:04}",
                        status=pb.WorkerStatus(state=4, current_task=name)))
                    for i in range(n)]:
                future.result(PATIENCE_S)
            time.sleep(0.25)
        idle.close()


# ---- the page ----

def test_the_page_is_served_so_that_browsers_keep_it(server):
    reply, body = get(server, "/")
    if reply.status == 404:  # it was not built, and says so
        assert "built without" in json.loads(body)["error"]
        return
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert reply.headers["Cache-Control"] == "no-cache"
    assert "script-src 'self'" in reply.headers["Content-Security-Policy"]
    assert "unsafe" not in reply.headers["Content-Security-Policy"]
    assert "<script>" not in body and " style=" not in body
    c = connection(server)
    c.request("GET", "/", headers={"If-None-Match": reply.headers["ETag"]})
    again = c.getresponse()
    assert (again.status, again.read()) == (304, b"")
    c.close()
    script = body.split('src=".')[1].split('"')[0]
    reply, body = get(server, script)
    assert reply.status == 200
    assert reply.headers["Content-Type"].startswith("text/javascript")
    assert "immutable" in reply.headers["Cache-Control"]


def test_the_page_itself_needs_no_token(guarded):
    assert get(guarded, "/")[0].status in (200, 404)
    assert get(guarded, "/api/events")[0].status == 401
