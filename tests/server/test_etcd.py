"""The log in etcd: one of several coordinators leads, and the state outlives it."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import grpc
import pytest

import etcd as etcd_module
from coordinator import (PATIENCE_S, PROGRAM, Agent, control, health_pb2, pb,
                         raises, shards, wait_until)
from etcd import Candidate, Etcd, free_ports, leader_of, patiently, pause

CODE = grpc.StatusCode

pytestmark = pytest.mark.skipif(
    not etcd_module.is_there(), reason="etcd-server or etcd-client is missing")


@pytest.fixture(name="etcd", scope="module")
def _etcd():
    with Etcd() as etcd:
        yield etcd


@pytest.fixture(name="cluster")
def _cluster(request):
    return request.node.name.replace("[", "-").replace("]", "")[:60]


@pytest.fixture(name="pair")
def _pair(etcd, cluster):
    """Two of them: who leads, who stands by."""
    first = etcd.coordinator("--cluster", cluster)
    first.wait_until_it_leads()
    second = etcd.coordinator("--cluster", cluster)
    wait_until(lambda: second.logged("a standby"))
    yield first, second
    first.end()
    second.end()


def kv_set(client, key, value, job="j"):
    return client.control.KvSet(control.KvSetRequest(
        job_id=job, key=key, value=value), timeout=PATIENCE_S)


def kv_get(client, key, job="j"):
    return client.control.KvGet(control.KvGetRequest(
        job_id=job, key=key), timeout=PATIENCE_S).entry.value


def refused_by_standby(call):
    """The call, which a standby must refuse; what its trailers say."""
    with pytest.raises(grpc.RpcError) as e:
        call()
    assert e.value.code() == CODE.UNAVAILABLE, e.value
    return e.value.details(), dict(e.value.trailing_metadata())


def http(server, path):
    """(status, text)"""
    try:
        with urllib.request.urlopen(server.http + path,
                                    timeout=PATIENCE_S) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


# ---- who leads ----

def test_one_leads_and_the_other_says_who(pair):
    leader, standby = pair
    leader.client().register("a", "j")
    text, trailers = refused_by_standby(
        lambda: standby.client().register("a", "j"))
    assert leader.address in text
    assert trailers["roar-leader"] == leader.address


def test_a_standby_says_so_over_http_and_health(pair):
    leader, standby = pair
    assert http(leader, "/readyz")[0] == 200
    assert http(standby, "/healthz")[0] == 200
    status, text = http(standby, "/readyz")
    assert status == 503 and leader.address in text
    status, text = http(standby, "/api/workers")
    assert status == 503 and leader.address in text
    assert "roar_coordinator_leads 1" in http(leader, "/metrics")[1]
    assert "roar_coordinator_leads 0" in http(standby, "/metrics")[1]
    health = health_pb2.HealthCheckRequest()
    assert leader.client().health.Check(health).status == 1
    assert standby.client().health.Check(health).status == 2


def fencing_token(client):
    """What replies carry."""
    call = client.coordinator.Heartbeat.with_call(
        pb.HeartbeatRequest(worker_id="a", job_id="j"), timeout=PATIENCE_S)[1]
    return int(dict(call.initial_metadata())["roar-fencing-token"])


def test_an_agent_follows_the_lead(pair):
    leader, standby = pair
    with Agent(f"{standby.address},{leader.address}") as agent:
        wait_until(lambda: agent.logged(
            f"connected to the coordinator {leader.address}"))
        client = agent.client()
        place = client.register("a", "j")
        before = fencing_token(client)
        assert before == leader.token()
        leader.kill()
        wait_until(lambda: agent.logged(
            f"connected to the coordinator {standby.address}"))
        again = patiently(lambda: client.register(
            "a", "j", session=place.session))
        assert (again.rank, again.incarnation) == (place.rank, 1)
        assert fencing_token(client) == standby.token() > before


def test_an_agent_leaves_a_leader_that_is_silent(pair):
    """Its connection does not end: nothing comes, and another one leads."""
    leader, standby = pair
    with Agent(f"{leader.address},{standby.address}") as agent:
        wait_until(lambda: agent.logged(
            f"connected to the coordinator {leader.address}"))
        pause(leader.process)
        wait_until(lambda: agent.logged("has been silent for 3 s"))
        wait_until(lambda: agent.logged(
            f"connected to the coordinator {standby.address}"))


def test_the_state_outlives_its_leader(pair):
    leader, standby = pair
    client = leader.client()
    place = client.register("a", "j")
    kv_set(client, "k", b"v")
    leader.kill()
    standby.wait_until_it_leads()
    client = standby.client()
    assert kv_get(client, "k") == b"v"
    again = client.register("a", "j", session=place.session)
    assert (again.rank, again.incarnation) == (place.rank, place.incarnation)


def test_who_ends_well_gives_the_lead_away(etcd, cluster):
    """With a lease that nobody has the patience to wait for."""
    first = etcd.coordinator("--cluster", cluster, lease=300)
    first.wait_until_it_leads()
    second = etcd.coordinator("--cluster", cluster, lease=300)
    wait_until(lambda: second.logged("a standby"))
    kv_set(first.client(), "k", b"v")
    assert first.stop() == 0
    second.wait_until_it_leads()
    assert kv_get(second.client(), "k") == b"v"


def test_the_same_one_may_come_back(etcd, cluster):
    first = etcd.coordinator("--cluster", cluster)
    first.wait_until_it_leads()
    kv_set(first.client(), "k", b"v")
    first.kill()
    second = etcd.coordinator("--cluster", cluster)
    second.wait_until_it_leads()
    assert kv_get(second.client(), "k") == b"v"


def test_clusters_do_not_know_each_other(etcd, cluster):
    one = etcd.coordinator("--cluster", cluster + "-1")
    other = etcd.coordinator("--cluster", cluster + "-2")
    one.wait_until_it_leads()
    other.wait_until_it_leads()
    kv_set(one.client(), "k", b"v")
    with raises(CODE.NOT_FOUND):
        kv_get(other.client(), "k")


# ---- the token ----

def http_token(server, path):
    try:
        with urllib.request.urlopen(server.http + path, timeout=PATIENCE_S) as reply:
            return reply.headers["roar-fencing-token"]
    except urllib.error.HTTPError as e:
        return e.headers["roar-fencing-token"]


def test_every_reply_has_the_token_and_it_grows(pair):
    leader, standby = pair
    tokens = []
    assert http_token(standby, "/api/status") is None
    for server in (leader, standby):
        server.wait_until_it_leads()
        client = server.client()
        token = str(server.token())
        _, call = client.coordinator.RegisterWorker.with_call(
            pb.WorkerInfo(worker_id="a" + token, job_id="j"))
        assert dict(call.initial_metadata())["roar-fencing-token"] == token
        with pytest.raises(grpc.RpcError) as e:
            client.heartbeat("nobody", "j")
        everything = dict(e.value.initial_metadata())
        everything.update(dict(e.value.trailing_metadata()))
        assert everything["roar-fencing-token"] == token
        watch = client.control.Watch(control.WatchRequest(job_id="j"))
        assert dict(watch.initial_metadata())["roar-fencing-token"] == token
        watch.cancel()
        status = client.control.GetStatus(control.StatusRequest())
        assert status.fencing_token == int(token)
        frames = server.frames()
        frames.send(25, call=1)
        method, _, call, _, message = frames.receive()
        assert (method, call) == (0xff05, 0)
        assert int.from_bytes(message, "little") == int(token)
        assert frames.receive()[:3:2] == (25, 1)
        frames.close()
        for path in ("/api/status", "/api/nothing", "/api/events"):
            assert http_token(server, path) == token
        tokens.append(int(token))
        server.kill()
    assert tokens[1] > tokens[0]


def write(etcd, cluster, token, *sizes):
    result = subprocess.run(
        [os.environ["ETCD_WRITER"], etcd.urls, cluster, str(token),
         *(str(s) for s in sizes)], capture_output=True, text=True,
        timeout=PATIENCE_S, check=False)
    return result.stdout


def test_a_write_with_an_old_token_is_refused(etcd, cluster):
    first = etcd.coordinator("--cluster", cluster)
    first.wait_until_it_leads()
    old = first.token()
    first.kill()
    second = etcd.coordinator("--cluster", cluster)
    second.wait_until_it_leads()
    kv_set(second.client(), "k", b"v")
    second.kill()
    before = etcd.keys(f"/roar/{cluster}/log/")
    assert "another coordinator leads" in write(etcd, cluster, old, 100)
    assert etcd.keys(f"/roar/{cluster}/log/") == before
    assert "kept" in write(etcd, cluster, second.token(), 100)


def test_records_of_all_sizes_are_kept(etcd, cluster):
    """Larger than etcd's requests, too; with a leader's key of our own."""
    etcd.ctl("put", f"/roar/{cluster}/leader", "x")
    reply = json.loads(etcd.ctl("get", "-w", "json", f"/roar/{cluster}/leader"))
    token = reply["kvs"][0]["create_revision"]
    sizes = [1, 1000, (1 << 20) - 13, (1 << 20) - 12, 5 << 20, 7]
    assert write(etcd, cluster, token, *sizes) == "read 0 0\nkept\n"
    assert write(etcd, cluster, token) == f"read {len(sizes)} {sum(sizes)}\n"
    assert "refused" in write(etcd, cluster, token, (32 << 20) + 1)
    # A record whose end was never written was never acknowledged.
    last = etcd.keys(f"/roar/{cluster}/log/")[-1]
    assert write(etcd, cluster, token, 3 << 20).endswith("kept\n")
    torn = etcd.keys(f"/roar/{cluster}/log/")[-1]
    assert torn > last
    etcd.ctl("del", torn)
    assert write(etcd, cluster, token, 9) == (
        f"read {len(sizes)} {sum(sizes)}\nkept\n")
    assert write(etcd, cluster, token) == (
        f"read {len(sizes) + 1} {sum(sizes) + 9}\n")


# ---- pauses ----

@pytest.mark.parametrize("late", ["get", "set"])
def test_a_leader_that_was_paused_answers_nothing_old(pair, late):
    """No split brain: what it finds when it goes on is refused."""
    leader, standby = pair
    client = leader.client()
    kv_set(client, "k", b"old")
    pause(leader.process)
    if late == "get":
        call = client.control.KvGet.future(control.KvGetRequest(
            job_id="j", key="k"), timeout=PATIENCE_S)
    else:
        call = client.control.KvSet.future(control.KvSetRequest(
            job_id="j", key="k", value=b"late"), timeout=PATIENCE_S)
    standby.wait_until_it_leads()
    kv_set(standby.client(), "k", b"new")
    leader.signal(signal.SIGCONT)
    assert call.exception(PATIENCE_S).code() == CODE.UNAVAILABLE
    wait_until(lambda: leader.logged("no longer leads"))
    wait_until(lambda: leader.logged("a standby"))
    assert kv_get(standby.client(), "k") == b"new"
    # And back: the one that was paused leads again, with all that happened.
    standby.kill()
    wait_until(leader.leads, "the lead again")
    assert patiently(lambda: kv_get(leader.client(), "k")) == b"new"


def test_a_machine_that_slept_answers_nothing(etcd, cluster, tmp_path):
    """Its lease may be over, even if etcd was not asked yet."""
    sign = tmp_path / "slept"
    server = etcd.coordinator(
        "--cluster", cluster, lease=300,
        env={"LD_PRELOAD": os.environ["SLEEPING_CLOCK_LIBRARY"],
             "SLEPT": str(sign)})
    server.wait_until_it_leads()
    client = server.client()
    kv_set(client, "k", b"v")
    sign.touch()
    refused_by_standby(lambda: kv_get(client, "k"))
    refused_by_standby(lambda: kv_set(client, "k", b"w"))
    assert http(server, "/readyz")[0] == 503
    sign.unlink()
    assert kv_get(client, "k") == b"v"


def test_who_removes_the_key_ends_the_lead(pair, etcd, cluster):
    leader, standby = pair
    etcd.ctl("del", f"/roar/{cluster}/leader")
    wait_until(lambda: leader.logged("its key in etcd was removed"))
    assert leader_of([leader, standby])


# ---- what is wrong with etcd ----

def test_without_etcd_it_says_so_and_waits():
    port = free_ports(1)[0]
    server = Candidate("--etcd", f"http://127.0.0.1:{port}", "--lease", "2")
    try:
        wait_until(lambda: server.logged("etcd cannot be reached"))
        text, trailers = refused_by_standby(
            lambda: server.client().register("a"))
        assert f"127.0.0.1:{port}" in text
        assert trailers["roar-leader"] == ""
        assert "etcd_reachable 0" in http(server, "/metrics")[1]
    finally:
        server.end()


def test_etcd_may_come_later_or_hang_at_first():
    """It waits, says so, and leads when etcd answers."""
    with Etcd() as etcd:
        member = etcd.members[0]
        member.kill()
        absent = etcd.coordinator("--cluster", "absent")
        wait_until(lambda: absent.logged("etcd cannot be reached"))
        member.start()
        absent.wait_until_it_leads()
        wait_until(lambda: absent.logged("etcd answers again"))
        pause(member.process)
        hung = etcd.coordinator("--cluster", "hung")
        wait_until(lambda: hung.logged("no answer within"))
        text, _ = refused_by_standby(lambda: hung.client().register("a"))
        assert "no answer within" in text
        member.signal(signal.SIGCONT)
        hung.wait_until_it_leads()


def test_what_is_no_etcd_is_said():
    """A web server that has its port, say."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        server = Candidate("--etcd", f"http://{address}")
        try:
            with listener.accept()[0] as connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                wait_until(lambda: server.logged(
                    f"etcd cannot be reached: {address}"))
            text, _ = refused_by_standby(lambda: server.client().register("a"))
            assert address in text
        finally:
            server.end()


def test_a_foreign_schema_is_left_alone(etcd, cluster):
    etcd.ctl("put", f"/roar/{cluster}/schema", "something else 7")
    result = subprocess.run(
        [PROGRAM, "--etcd", etcd.urls, "--cluster", cluster, "--listen",
         "127.0.0.1:0"], capture_output=True, text=True, timeout=PATIENCE_S,
        check=False)
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("roar-coordinator: etcd has state of another kind")
    assert "something else 7" in last and "--cluster" in last
    assert etcd.keys(f"/roar/{cluster}/") == [f"/roar/{cluster}/schema"]


@pytest.mark.parametrize("key, value, text", [
    ("log/0000000000000001", "no chunk", "is damaged"),
    ("log/0000000000000002", "", "is missing"),
    ("head", "?", "is damaged"),
    ("head", "1 2", "is missing"),
])
def test_damage_is_named(etcd, cluster, key, value, text):
    cluster = cluster.replace("/", "-").replace(" ", "-").replace("?", "")
    etcd.ctl("put", f"/roar/{cluster}/{key}", value)
    result = subprocess.run(
        [PROGRAM, "--etcd", etcd.urls, "--cluster", cluster, "--listen",
         "127.0.0.1:0"], capture_output=True, text=True, timeout=PATIENCE_S,
        check=False)
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert f"/roar/{cluster}/" in last and text in last


def test_a_full_etcd_refuses_changes_and_nothing_else():
    quota = ("--quota-backend-bytes", str(16 << 20))
    with Etcd(more=quota) as etcd:
        server = etcd.coordinator()
        server.wait_until_it_leads()
        client = server.client()
        place = client.register("a", "j")
        fill_all(etcd)
        with pytest.raises(grpc.RpcError):
            kv_set(client, "k", b"v")
        wait_until(lambda: server.logged("is full"))
        # Heartbeats and what is known go on; changes are refused, with the reason.
        patiently(lambda: client.register("a", "j", session=place.session))
        assert client.heartbeat("a", "j").acknowledged
        with raises(CODE.RESOURCE_EXHAUSTED, "etcd"):
            kv_set(client, "k", b"v")
        make_room(etcd)
        wait_until(lambda: sets(client))
        assert kv_get(client, "k") == b"v"


def test_a_full_etcd_at_the_start_is_said():
    """Nobody can be elected; whoever asks hears why."""
    with Etcd(more=("--quota-backend-bytes", str(16 << 20))) as etcd:
        fill_all(etcd)
        server = etcd.coordinator()
        wait_until(lambda: server.logged("space exceeded"))
        wait_until(lambda: server.logged("make room"))
        text, _ = refused_by_standby(lambda: server.client().register("a"))
        assert "space exceeded" in text
        make_room(etcd)
        server.wait_until_it_leads()
        assert patiently(lambda: server.client().register("a")).rank == 0


def fill_all(etcd):
    """Others fill it."""
    for i in range(40):
        fill(etcd, i)
        if "NOSPACE" in etcd.ctl("alarm", "list"):
            return


def fill(etcd, i):
    subprocess.run(["etcdctl", "--endpoints", etcd.urls, "put", f"/other/{i}"],
                   input=b"x" * (1 << 20), capture_output=True,
                   timeout=PATIENCE_S, check=False,
                   env=dict(os.environ, ETCDCTL_API="3"))


def make_room(etcd):
    etcd.ctl("del", "--prefix", "/other/")
    reply = json.loads(etcd.ctl("get", "-w", "json", "/roar/x"))
    etcd.ctl("compact", str(reply["header"]["revision"]))
    etcd.ctl("defrag")
    etcd.ctl("alarm", "disarm")


def sets(client):
    try:
        kv_set(client, "k", b"v")
        return True
    except grpc.RpcError as e:
        assert e.code() in (CODE.RESOURCE_EXHAUSTED, CODE.UNAVAILABLE)
        time.sleep(0.1)
        return False


# ---- size ----

def revision(etcd):
    """It grows with every change of any key."""
    return json.loads(etcd.ctl("get", "-w", "json", "x"))["header"]["revision"]


def test_heartbeats_do_not_go_to_etcd(pair, etcd):
    client = pair[0].client()
    client.register("a", "j")
    before = revision(etcd)
    for step in range(100):
        assert client.heartbeat("a", "j", step).acknowledged
    assert revision(etcd) == before
    client.register("b", "j")
    assert revision(etcd) > before


def values(etcd, prefix):
    """How many bytes they have, as etcdctl writes them."""
    reply = json.loads(etcd.ctl("get", "-w", "json", "--prefix", prefix))
    return sum(len(kv["value"]) for kv in reply.get("kvs", ()))


def table(client):
    reply = client.shards.GetTable(shards.TableRequest(
        job_id="j", dataset_id="d"), timeout=PATIENCE_S)
    return reply.version, reply.hash, reply.most, reply.least


def ranges(client, worker, session):
    """What it is told first of its shards."""
    reply = client.shards.ListShards(shards.ListShardsRequest(
        worker_id=worker, session=session, job_id="j", dataset_id="d"),
        timeout=PATIENCE_S)
    return reply.n_shards, [(r.first, r.count) for r in reply.ranges]


def churn(client, sessions, n):
    """Each leaves and comes back in turn: its shards are in more and more pieces."""
    for i in range(n):
        worker = list(sessions)[i % len(sessions)]
        client.control.Leave(control.LeaveRequest(
            worker_id=worker, job_id="j"), timeout=PATIENCE_S)
        sessions[worker] = client.register(worker, "j").session


def force_snapshot(etcd, client, cluster):
    for i in range(120):
        kv_set(client, "k", b"x" * 60000 + bytes([i]))
    wait_until(lambda: f"/roar/{cluster}/head" in
               etcd.keys(f"/roar/{cluster}/"))


def test_tables_of_shards_do_not_go_to_etcd(pair, etcd, cluster):
    """A million shards are dealt again and again; a few bytes say so, in the log and in
    a snapshot, and the next leader has the same table."""
    leader, standby = pair
    client = leader.client()
    sessions = {worker: client.register(worker, "j").session
                for worker in "abcdef"}
    client.coordinator.RegisterDataset(pb.DatasetInfo(
        dataset_id="d", job_id="j", path="/d", format="raw",
        total_samples=1000000, shard_size=1), timeout=PATIENCE_S)
    ranges(client, "a", sessions["a"])
    churn(client, sessions, 12)
    assert values(etcd, f"/roar/{cluster}/log/") < 20000
    force_snapshot(etcd, client, cluster)
    assert values(etcd, f"/roar/{cluster}/snap/") < 100000  # of which k has 80,000
    before = table(client), [ranges(client, *who) for who in sessions.items()]
    assert any(len(found) > 10 for _, found in before[1])
    leader.kill()
    standby.wait_until_it_leads()
    client = standby.client()
    assert (table(client), [ranges(client, *who) for who in sessions.items()]) == before


def test_snapshots_keep_it_small(etcd, cluster):
    """The same few keys, many times: what is kept stays near what is known."""
    server = etcd.coordinator("--cluster", cluster)
    server.wait_until_it_leads()
    client = server.client()
    value = b"x" * 60000
    for i in range(120):
        kv_set(client, f"k{i % 3}", value + bytes([i]))
    wait_until(lambda: f"/roar/{cluster}/head" in
               etcd.keys(f"/roar/{cluster}/"))
    wait_until(lambda: len(etcd.keys(f"/roar/{cluster}/log/")) < 80)
    server.kill()
    second = etcd.coordinator("--cluster", cluster)
    second.wait_until_it_leads()
    for i in range(117, 120):
        assert kv_get(second.client(), f"k{i % 3}") == value + bytes([i])
