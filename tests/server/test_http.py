"""HTTP: probes, Prometheus, and what dashboards read."""

import contextlib
import glob
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time

import grpc
import pytest

from coordinator import PATIENCE_S, Coordinator, pb, raises, wait_until


@pytest.fixture(name="server", scope="module")
def _server():
    with Coordinator() as server:
        yield server


def connection(server):
    return http.client.HTTPConnection(server.http.removeprefix("http://"),
                                      timeout=PATIENCE_S)


def get(server, path, method="GET"):
    c = connection(server)
    c.request(method, path)
    reply = c.getresponse()
    body = reply.read().decode()
    c.close()
    return reply, body


def is_now(ms):
    """A time as dashboards count it: a number of ms, and not long ago."""
    return isinstance(ms, int) and abs(ms / 1000 - time.time()) < 3600


def get_json(server, path):
    reply, body = get(server, path)
    assert reply.status == 200, body
    assert reply.headers["Content-Type"] == "application/json"
    return json.loads(body)


def test_http_is_beside_the_calls():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    if port + 1000 > 65535:
        port -= 1000
    with Coordinator(listen=[f"127.0.0.1:{port}"]) as server:
        assert server.http == f"http://127.0.0.1:{port + 1000}"


def test_http_can_be_left_out():
    with Coordinator("--http", "off") as server:
        assert server.http is None


def test_probes_are_answered(server):
    assert get(server, "/healthz")[0].status == 200
    assert get_json(server, "/api/health")["status"] == "ok"
    assert get(server, "/readyz")[0].status == 200


def test_readyz_is_false_while_it_ends():
    with Coordinator("--grace", "60000") as server:
        client = server.client()
        client.register("a")
        client.register("b")
        wait = client.arrive("a")
        client.wait_for_arrivals(1)
        server.signal(signal.SIGTERM)
        wait_until(lambda: get(server, "/readyz")[0].status == 503)
        assert get(server, "/healthz")[0].status == 200
        assert get_json(server, "/api/health")["status"] == "stopping"
        wait.cancel()
        assert server.wait() == 0


def test_elsewhere_is_404_as_json(server):
    for path in ("/api", "/api/nothing", "/api/workers/", "/x%00",
                 "/../etc/passwd", "/metrics\"x"):
        reply, body = get(server, path.replace('"', "%22"))
        assert reply.status == 404
        assert "error" in json.loads(body)


@pytest.mark.parametrize("status, fields", [
    (400, b"Content-Length: 5\r\nContent-Length: 5\r\n"),
    (400, b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
    (400, b"Host: other\r\n"),
    (400, b"X: a\r\n b\r\n"),
    (400, b"X: a\n"),
    (413, b"Content-Length: 65537\r\n"),
    (501, b"Transfer-Encoding: gzip, chunked\r\n"),
])
def test_what_enables_request_smuggling_is_refused(server, status, fields):
    """One reply, and the end: what follows is not taken for a second request."""
    host, port = server.http.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"POST /api/tasks HTTP/1.1\r\nHost: localhost\r\n" + fields
                       + b"\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.settimeout(10)
        reply = b"".join(iter(lambda: client.recv(65536), b""))
    assert reply.startswith(b"HTTP/1.1 %d " % status)
    assert reply.count(b"HTTP/1.1 ") == 1


def test_only_looking_is_allowed(server):
    for method in ("POST", "DELETE", "PUT"):
        reply, body = get(server, "/api/workers", method)
        assert reply.status == 405
        assert "error" in json.loads(body)
    reply, body = get(server, "/metrics", "HEAD")
    assert (reply.status, body) == (200, "")


def asked_as(server, host, path="/api/workers", method="GET", **headers):
    """The status that somebody gets who knows the server by that name."""
    c = connection(server)
    c.request(method, path, headers={"Host": host, **headers})
    status = c.getresponse().status
    c.close()
    return status


def test_a_name_that_was_made_to_lead_here_gets_nothing(server):
    """A page of evil.example whose name now leads here is one site with us, for
    its browser."""
    server.client().register("a", "rebound")
    for host in ("evil.example", "evil.example:51051", "localhost.evil.example",
                 "127.0.0.1.evil.example", "xlocalhost", "[", "[::1.evil",
                 "[::1].evil.example", "127.0.0.1:evil"):
        for path in ("/api/workers", "/api/events", "/api/dashboard"):
            assert asked_as(server, host, path) == 403, (host, path)
        assert asked_as(server, host, "/api/tasks/rebound/stop", "POST",
                        Origin="http://" + host) == 403
        # Probes and Prometheus know us by any name.
        for path in ("/healthz", "/readyz", "/metrics"):
            assert asked_as(server, host, path) == 200
    assert get_json(server, "/api/workers?job=rebound")[0][
        "state"] != "draining"


def test_own_names_are_known(server):
    for host in ("127.0.0.1", "localhost", "LOCALHOST", "a.localhost",
                 "10.1.2.3", "[::1]", socket.gethostname()):
        assert asked_as(server, host) == 200
        assert asked_as(server, host + ":51051") == 200
        assert asked_as(server, host, "/api/tasks/none/stop", "POST",
                        Origin="http://" + host) == 404


def test_names_can_be_given():
    with Coordinator("--http-names", "train.example,dash.example",
                     "--advertise", "node7.example:50051") as server:
        for host in ("train.example", "dash.example:8080", "node7.example"):
            assert asked_as(server, host) == 200
        assert asked_as(server, "example") == 403


def test_who_brings_a_token_may_use_any_name(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("* all-of-it-0123456789\n")
    tokens.chmod(0o600)
    with Coordinator("--tokens", str(tokens)) as server:
        assert asked_as(server, "any.example", Authorization=(
            "Bearer all-of-it-0123456789")) == 200
        assert asked_as(server, "any.example") == 401


def test_a_connection_is_used_again(server):
    c = connection(server)
    for _ in range(20):
        c.request("GET", "/healthz")
        assert c.getresponse().read()
    c.close()


def is_closed(sock):
    if not select.select([sock], [], [], 0)[0]:
        return False
    try:
        return sock.recv(1) == b""
    except OSError:
        return True


def half_a_request(server):
    host, port = server.http.removeprefix("http://").split(":")
    sock = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
    sock.sendall(b"GET /healthz HTTP/1.1\r\n")
    return sock


def test_a_probe_gets_through_whoever_else_is_there():
    with Coordinator() as server:
        idle = connection(server)
        idle.request("GET", "/healthz")
        assert idle.getresponse().read()
        socks = [half_a_request(server) for _ in range(700)]
        begin = time.monotonic()
        assert get(server, "/healthz")[0].status == 200
        assert time.monotonic() - begin < 15
        # Who was quiet for longest gave way.
        assert is_closed(idle.sock)
        assert is_closed(socks[0])
        for sock in socks:
            sock.close()


def test_a_request_must_come_soon(server):
    used = connection(server)
    used.request("GET", "/healthz")
    assert used.getresponse().read()
    slow = half_a_request(server)
    begin = time.monotonic()
    while not is_closed(slow):  # however often it sends a little
        assert time.monotonic() - begin < 20
        with contextlib.suppress(OSError):
            slow.sendall(b"a: b\r\n")
        time.sleep(0.1)
    # One that had an answer may be used for longer.
    assert not is_closed(used.sock)
    used.close()


def test_workers_have_the_known_keys(server):
    client = server.client()
    client.register("w", "keys", port=7, gpu_count=8, memory_bytes=5)
    client.heartbeat("w", "keys", step=41)
    worker, = get_json(server, "/api/workers?job=keys")
    assert {k: worker[k] for k in (
        "id", "ip", "port", "status", "gpu_count", "assigned_shards",
        "current_epoch", "current_step", "current_task")} == {
            "id": "w", "ip": "h", "port": 7, "status": "active",
            "gpu_count": 8, "assigned_shards": 0, "current_epoch": 0,
            "current_step": 41, "current_task": ""}
    assert is_now(worker["last_heartbeat"])
    assert (worker["job"], worker["rank"], worker["state"],
            worker["memory_bytes"]) == ("keys", 0, "alive", 5)


def test_workers_come_in_pages():
    with Coordinator() as server:
        client = server.client()
        everybody = []
        for job in ("a", "ab", "b"):
            for i in range(5):
                client.register(f"w{i}", job)
                everybody.append((job, i))
        assert list(pages(server, "/api/workers?limit=4")) == everybody
        assert list(pages(server, "/api/workers?limit=2&job=ab")) == [
            w for w in everybody if w[0] == "ab"]


def pages(server, path):
    limit = int(re.search(r"limit=(\d+)", path)[1])
    while path:
        reply, body = get(server, path)
        page = json.loads(body)
        assert 0 < len(page) <= limit
        yield from ((w["job"], w["rank"]) for w in page)
        link = re.match('<(.*)>; rel="next"', reply.headers.get("Link", ""))
        path = link and link[1]


def test_pages_have_bounds(server):
    for query in ("limit=0", "limit=10001", "limit=x", "after=x",
                  "after=a%2Fb:1", "after=a:-1", "after=:1"):
        assert get(server, "/api/workers?" + query)[0].status == 400
    assert get(server, "/api/workers?job=a%2Fb")[0].status == 400
    assert get_json(server, "/api/workers?job=nobody") == []


def test_barriers_name_who_is_missing(server):
    client = server.client()
    client.register("a", "meet")
    client.register("b", "meet")
    wait = client.arrive("a", barrier="epoch", job="meet")
    client.wait_for_arrivals(1, "meet")
    barrier, = get_json(server, "/api/barriers?job=meet")
    assert {k: barrier[k] for k in ("id", "name", "arrived", "total",
                                    "status", "missing", "job")} == {
        "id": "epoch", "name": "epoch", "arrived": 1, "total": 2,
        "status": "waiting", "missing": ["b"], "job": "meet"}
    assert is_now(barrier["created_at"])
    assert client.arrive("b", barrier="epoch", job="meet").result().released
    wait.result()
    assert get_json(server, "/api/barriers?job=meet") == []


def test_status_and_figures_are_counted():
    with Coordinator() as server:
        client = server.client()
        figures = get_json(server, "/api/metrics")
        assert figures["barrier_latency_p99"] is None
        client.register("a")
        client.arrive("a").result()
        status = get_json(server, "/api/status")
        assert (status["status"], status["jobs"], status["total_workers"],
                status["active_workers"]) == ("running", 1, 1, 1)
        assert {k: status[k] for k in ("connected", "address")} == {
            "connected": True, "address": server.address}
        assert status["uptime"] >= 0 and is_now(status["started_at"])
        figures = get_json(server, "/api/metrics")
        assert set(figures) == {
            "checkpoint_throughput", "coordinator_rps", "active_workers",
            "total_workers", "barrier_latency_p99", "shard_assignment_time"}
        assert figures["barrier_latency_p99"] >= 0
        assert figures["checkpoint_throughput"] is None
        wait_until(lambda: get_json(
            server, "/api/metrics")["coordinator_rps"] > 0)


def test_hostile_names_break_nothing(server):
    client = server.client()
    name = '"},{"\\\u00e4</script>'
    client.coordinator.RegisterWorker(pb.WorkerInfo(
        worker_id="w", job_id="hostile", hostname=name))
    worker, = get_json(server, "/api/workers?job=hostile")
    assert worker["ip"] == name


# ---- metrics ----

def metrics(server):
    reply, body = get(server, "/metrics")
    assert reply.headers["Content-Type"].startswith(
        "text/plain; version=0.0.4")
    return {k: float(v) for k, v in re.findall(
        r"^([^#\s]\S*(?:\{.*\})?) (\S+)$", body, re.MULTILINE)}


def test_metrics_follow_what_happens():
    prefix = "roar_coordinator_"
    with Coordinator() as server:
        client = server.client()
        client.register("a", "j")
        client.register("b", "j")
        for _ in range(3):
            client.heartbeat("a", "j")
        wait = client.arrive("a", job="j")
        client.wait_for_arrivals(1, "j")
        now = metrics(server)
        beat = '{method="/coordinator.Coordinator/Heartbeat"'
        assert now[prefix + "calls_total" + beat + ',code="OK"}'] == 3
        assert now[prefix + "call_duration_seconds_count" + beat + "}"] == 3
        assert now[prefix + 'workers{state="alive"}'] == 2
        assert now[prefix + "barriers_waiting"] == 1
        assert now[prefix + "waiting_calls"] == 1
        assert now[prefix + "connections"] == 1
        assert now[prefix + "log_records_total"] >= 2
        assert now[prefix + "log_sync_seconds_count"] >= 1
        assert 0 <= now[prefix + 'heartbeat_age_seconds{job="j"}'] < 60
        assert now["process_resident_memory_bytes"] > 1 << 20
        client.arrive("b", job="j").result()
        wait.result()
        with raises(grpc.StatusCode.DEADLINE_EXCEEDED):
            client.arrive("a", "late", job="j", timeout=0.05).result()
        wait_until(lambda: metrics(server)[
            prefix + 'barriers_total{result="failed"}'] == 1)
        now = metrics(server)
        assert now[prefix + 'barriers_total{result="released"}'] == 1
        assert now[prefix + "barrier_wait_seconds_count"] == 1
        assert now[prefix + "barrier_skew_seconds_count"] == 1
        assert now[prefix + "barriers_waiting"] == 0


def find_promtool():
    """promtool in PATH, or that of Debian's package, which is not installed for
    it: it would start a server."""
    found = shutil.which("promtool")
    folder = os.path.join(os.environ["MESSAGES"], "prometheus")
    inside = os.path.join(folder, "usr/bin/promtool")
    if found or os.path.exists(inside):
        return found or inside
    os.makedirs(folder, exist_ok=True)
    for command in (["apt-get", "download", "-q", "prometheus"],
                    ["sh", "-c", "dpkg -x prometheus_*.deb ."]):
        try:
            subprocess.run(command, cwd=folder, check=True, timeout=120,
                           capture_output=True)
        except (OSError, subprocess.SubprocessError):
            pytest.skip("skipped: there is no promtool, and Debian's "
                        "prometheus could not be fetched")
    for name in glob.glob(os.path.join(folder, "*.deb")):
        os.unlink(name)
    return inside


def test_prometheus_takes_the_metrics(server):
    promtool = find_promtool()
    client = server.client()
    client.register("a", "prom")
    client.arrive("a", job="prom").result()
    body = get(server, "/metrics")[1]
    result = subprocess.run([promtool, "check", "metrics"], input=body,
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
