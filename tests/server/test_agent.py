"""Agents: one connection a host, and the coordinator knows what it knew without."""

import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request

import grpc
import pytest

from coordinator import (PATIENCE_S, PROGRAM, Agent, Coordinator, Frames, control,
                         health_pb2, pb, raises, reflection_pb2, wait_until)

CODE = grpc.StatusCode
REGISTER, HEARTBEAT, WAIT_BARRIER = 1, 2, 8
STATES = control.WorkerView


@pytest.fixture(name="socket_path")
def _socket_path(tmp_path):
    return f"unix:{tmp_path}/c"


@pytest.fixture(name="server")
def _server(socket_path):
    with Coordinator(listen=(socket_path, "127.0.0.1:0")) as server:
        server.address = server.addresses[1]
        yield server


@pytest.fixture(name="agents")
def _agents(server, socket_path):
    del server
    with Agent(socket_path) as one, Agent(socket_path) as two:
        for agent in (one, two):
            wait_until(lambda a=agent: a.logged("connected"))
        yield one, two


def workers(client, job=""):
    return {w.worker_id: w for w in client.control.ListWorkers(
        control.ListWorkersRequest(job_id=job),
        timeout=PATIENCE_S).workers}


def wait_for_state(client, worker_id, state):
    wait_until(lambda: workers(client)[worker_id].state == state)


def n_connections(client):
    return client.control.GetStatus(control.StatusRequest()).n_connections


class FramesWorker:
    """A rank on the fast path."""

    def __init__(self, agent, worker_id, session=0):
        self.frames = agent.frames()
        self.worker_id = worker_id
        self.config = pb.WorkerConfig.FromString(self.call(
            REGISTER, pb.WorkerInfo(worker_id=worker_id, hostname="h",
                                    session=session)))

    def send(self, method, message, call=1, number=0):
        self.frames.send(method, message.SerializeToString(), call,
                         number=number)

    def reply(self):
        """(status, message) of the next one."""
        while True:
            method, _, _, status, data = self.frames.receive()
            if method < 0xff00:
                return status, data

    def call(self, method, message):
        self.send(method, message)
        status, data = self.reply()
        assert status == 0, data.decode()
        return data

    def arrive(self, generation=0, number=0):
        self.send(WAIT_BARRIER, pb.BarrierRequest(
            worker_id=self.worker_id, barrier_id="b", generation=generation,
            session=self.config.session), number=number)

    def close(self):
        self.frames.close()


# ---- what ranks do ----

def test_ranks_of_two_hosts_meet(server, agents):
    local = [FramesWorker(agents[i % 2], f"f{i}") for i in range(4)]
    remote = [agents[i].client() for i in range(2)]
    ranks = [w.config.rank for w in local]
    ranks += [c.register(f"g{i}").rank for i, c in enumerate(remote)]
    assert sorted(ranks) == list(range(6))

    waits = [c.arrive(f"g{i}") for i, c in enumerate(remote)]
    for worker in local[:-1]:
        worker.arrive()
    with server.client() as watcher:
        watcher.wait_for_arrivals(5)
    local[-1].arrive()
    for worker in local:
        status, data = worker.reply()
        assert status == 0
        assert pb.BarrierResponse.FromString(data).participants == 6
    assert all(w.result().released for w in waits)
    for worker in local:
        worker.close()


def test_the_coordinator_has_one_connection_a_host(server, agents):
    with server.client() as client:
        before = n_connections(client)
        local = [FramesWorker(agents[0], f"f{i}") for i in range(8)]
        assert n_connections(client) == before
        assert len(workers(client)) == 8
    for worker in local:
        worker.close()


def test_heartbeats_are_answered_by_the_coordinator(server, agents):
    local = [FramesWorker(agents[0], f"f{i}") for i in range(3)]
    for step in range(1, 4):
        for worker in local:
            worker.send(HEARTBEAT, pb.HeartbeatRequest(
                worker_id=worker.worker_id,
                session=worker.config.session,
                status=pb.WorkerStatus(state=4, current_step=step)))
        for worker in local:
            status, data = worker.reply()
            answer = pb.HeartbeatResponse.FromString(data)
            assert status == 0 and answer.acknowledged
            assert answer.world_size == 3
    with server.client() as client:
        assert {w.status.current_step for w in workers(client).values()} == {3}
    for worker in local:
        worker.close()
    agents[0].stop()
    assert agents[0].logged("9 heartbeats in")


def test_streams_go_both_ways_and_end(agents):
    with agents[0].client() as client:
        client.register("a")
        beats = [pb.HeartbeatRequest(worker_id="a") for _ in range(5)]
        answers = list(client.coordinator.StreamHeartbeats(
            iter(beats), timeout=PATIENCE_S))
        assert [a.acknowledged for a in answers] == [True] * 5

        watch = client.control.Watch(control.WatchRequest(keys=True),
                                     timeout=PATIENCE_S)
        assert next(watch).kind == control.WatchEvent.WORLD
        client.control.KvSet(control.KvSetRequest(key="k", value=b"v"))
        assert next(watch).entry.value == b"v"
        watch.cancel()


def test_health_and_reflection_are_the_coordinators(agents):
    with agents[0].client() as client:
        answer = client.health.Check(health_pb2.HealthCheckRequest(),
                                     timeout=PATIENCE_S)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        ask = reflection_pb2.ServerReflectionRequest(list_services="")
        listed = next(client.reflection.ServerReflectionInfo(
            iter([ask]), timeout=PATIENCE_S))
        names = [s.name for s in listed.list_services_response.service]
        assert "coordinator.Coordinator" in names


def test_statuses_and_sentences_come_through(agents):
    with agents[0].client() as client:
        with raises(CODE.NOT_FOUND, "nobody"):
            client.register("a")
            client.heartbeat("nobody")
        with raises(CODE.INVALID_ARGUMENT):
            client.register("a/b")
        with raises(CODE.UNIMPLEMENTED):
            client.channel.unary_unary("/nobody.Service/Call")(b"")


# ---- deadlines and cancelling ----

def absent(client):
    """Whom a wait that ends in time was for; None when grpcio gave up before."""
    wait = client.arrive("a", timeout=0.5)
    with raises(CODE.DEADLINE_EXCEEDED):
        wait.result()
    return dict(wait.trailing_metadata() or ()).get("roar-absent")


def test_a_deadline_names_the_absent(agents):
    with agents[0].client() as client, agents[1].client() as other:
        client.register("a")
        other.register("b")
        wait_until(lambda: absent(client) == "b")


def test_a_cancelled_arrival_is_taken_back(agents):
    with agents[0].client() as client, agents[1].client() as other:
        client.register("a")
        other.register("b")
        wait = client.arrive("a")
        other.wait_for_arrivals(1)
        wait.cancel()
        other.wait_for_arrivals(0)


# ---- deaths ----

RANK = """
import socket, struct, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
worker = b"victim"
m = b"\\n" + bytes([len(worker)]) + worker
s.sendall(b"ROARFR1\\n" + struct.pack("<IHHII", len(m), 1, 0, 1, 0) + m)
s.recv(16)
print("registered", flush=True)
s.recv(1 << 20)
sys.stdin.read()
"""


def test_a_rank_that_is_killed_is_suspect_at_once(server, agents):
    with server.client() as client:
        other = FramesWorker(agents[0], "other")
        with subprocess.Popen(
                [sys.executable, "-c", RANK, str(agents[0].port)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE) as rank:
            assert rank.stdout.readline() == b"registered\n"
            assert workers(client)["victim"].state == STATES.ALIVE
            rank.send_signal(signal.SIGKILL)
            # The timeout is 30 s, half of which would make it suspect, too.
            wait_for_state(client, "victim", STATES.SUSPECT)
        assert "connection" in workers(client)["victim"].reason
        assert workers(client)["other"].state == STATES.ALIVE
        other.close()


def test_an_agent_that_is_killed_takes_its_ranks_along(server, agents):
    with server.client() as client:
        mine = [FramesWorker(agents[0], f"a{i}") for i in range(3)]
        others = [FramesWorker(agents[1], f"b{i}") for i in range(2)]
        agents[0].kill()
        for i in range(3):
            wait_for_state(client, f"a{i}", STATES.SUSPECT)
        found = workers(client)
        assert all(found[f"b{i}"].state == STATES.ALIVE for i in range(2))
        for worker in mine:
            with pytest.raises((EOFError, OSError)):
                worker.reply()
        # The same processes come back by another way.
        again = FramesWorker(agents[1], "a0", mine[0].config.session)
        assert again.config.rank == mine[0].config.rank
        assert again.config.incarnation == 1
        for worker in mine + others + [again]:
            worker.close()


def test_a_rank_is_not_heard_once_another_has_its_place(server, agents):
    first = FramesWorker(agents[0], "a")
    with server.client() as client:
        first.frames.sock.shutdown(socket.SHUT_RDWR)
        wait_for_state(client, "a", STATES.SUSPECT)
    second = FramesWorker(agents[1], "a")
    assert second.config.incarnation == 2
    with agents[0].client() as client:
        with raises(CODE.FAILED_PRECONDITION):
            client.register("a", session=first.config.session)
    first.close()
    second.close()


def test_ranks_go_on_when_the_coordinator_was_restarted(server, agents):
    before = [FramesWorker(agents[i], f"w{i}") for i in range(2)]
    before[0].arrive()
    with server.client() as client:
        client.wait_for_arrivals(1)
    server.kill()
    for worker in before:  # as without an agent: the connection ends
        with pytest.raises((EOFError, OSError)):
            worker.reply()
        worker.close()
    server.start()
    after = []
    for i, worker in enumerate(before):
        wait_until(lambda a=agents[i]: sum("connected" in line
                                           for line in a.log) == 2)
        after.append(FramesWorker(agents[i], f"w{i}", worker.config.session))
        assert after[i].config.rank == worker.config.rank
        assert after[i].config.incarnation == 1
        after[i].arrive()
    for worker in after:
        status, data = worker.reply()
        assert status == 0
        assert pb.BarrierResponse.FromString(data).participants == 2
        worker.close()


def test_without_a_coordinator_calls_are_refused_until_there_is_one(
        socket_path):
    with Agent(socket_path) as agent, agent.client() as client:
        with raises(CODE.UNAVAILABLE, "no coordinator"):
            client.register("a")
        # As a standby does: clients know that nothing was done, and ask again.
        frames = agent.frames()
        frames.send(HEARTBEAT, call=1)
        _, _, _, status, data = frames.receive()
        assert status == CODE.UNAVAILABLE.value[0]
        assert data.endswith(b"\0roar-leader=")
        frames.close()
        with Coordinator(listen=(socket_path,)):
            wait_until(lambda: agent.logged("connected"))
            assert client.register("a").rank == 0


def test_what_waits_for_a_coordinator_that_does_not_read_is_bounded(tmp_path):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{tmp_path}/c")
        listening.listen()
        with Agent(f"unix:{tmp_path}/c") as agent:
            listening.settimeout(PATIENCE_S)
            deaf, _ = listening.accept()
            deaf.recv(8 + 16, socket.MSG_WAITALL)  # does it serve?
            deaf.sendall(struct.pack("<IHHII", 2, 0xf001, 1, 0xffffffff, 0) +
                         b"\x08\x01")
            wait_until(lambda: agent.logged("connected"))
            frames = agent.frames()
            for call in range(100):
                frames.send(16, bytes(1 << 20), call)  # KvSet
            _, _, call, status, data = frames.receive()
            assert status == CODE.RESOURCE_EXHAUSTED.value[0], data
            assert call >= 64
            frames.close()
            deaf.close()


def test_the_next_address_is_tried(server, socket_path):
    with Agent(f"unix:/nobody/there,{socket_path}") as agent:
        wait_until(lambda: agent.logged("connected"))
        with agent.client() as client:
            assert client.register("a").rank == 0
    del server


# ---- tokens and TLS ----

@pytest.fixture(name="guarded")
def _guarded(tmp_path, socket_path):
    tokens = tmp_path / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text("a secret-of-a\nb secret-of-b\n")
    with Coordinator("--tokens", str(tokens), listen=(socket_path,)):
        with Agent(socket_path) as agent:
            wait_until(lambda: agent.logged("connected"))
            yield agent


def bearer(token):
    return (("authorization", f"Bearer {token}"),)


def test_tokens_are_the_coordinators(guarded):
    with guarded.client() as client:
        with raises(CODE.UNAUTHENTICATED):
            client.register("w")
        with raises(CODE.UNAUTHENTICATED):
            client.register("w", metadata=bearer("nonsense"))
        with raises(CODE.PERMISSION_DENIED):
            client.register("w", job="b", metadata=bearer("secret-of-a"))
        client.register("w", metadata=bearer("secret-of-a"))
        # One connection, another token: what came before is nothing to it.
        with raises(CODE.NOT_FOUND):
            client.heartbeat("w", metadata=bearer("secret-of-b"))
        assert client.heartbeat("w",
                                metadata=bearer("secret-of-a")).acknowledged
        with raises(CODE.UNAUTHENTICATED):
            client.heartbeat("w")


def test_a_token_of_the_fast_path_comes_through(guarded):
    frames = Frames(guarded.connect(), token="secret-of-b")
    frames.send(REGISTER, pb.WorkerInfo(worker_id="w").SerializeToString(), 1)
    assert frames.receive()[3] == 0
    frames.close()
    frames = guarded.frames()
    frames.send(REGISTER, pb.WorkerInfo(worker_id="w").SerializeToString(), 1)
    assert frames.receive()[3] == CODE.UNAUTHENTICATED.value[0]
    frames.close()


def test_an_agent_speaks_tls_upstream(tmp_path):
    cert, key = tmp_path / "cert", tmp_path / "key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", str(key), "-out",
         str(cert), "-days", "2", "-subj", "/CN=coordinator.test", "-addext",
         "subjectAltName=DNS:coordinator.test"], check=True,
        capture_output=True)
    with Coordinator("--tls-cert", str(cert), "--tls-key", str(key)) as server:
        with Agent(server.address, "--upstream-ca", str(cert),
                   "--upstream-name", "coordinator.test") as agent:
            wait_until(lambda: agent.logged("connected"))
            with agent.client() as client:
                assert client.register("a").rank == 0
        with Agent(server.address, "--upstream-ca", str(cert), "--log-level",
                   "debug") as agent:
            wait_until(lambda: agent.logged("TLS with"))
            assert not agent.logged("connected")


# ---- seeing inside ----

def look(agent, path):
    """(status, text) of a page."""
    try:
        with urllib.request.urlopen(agent.http + path,
                                    timeout=PATIENCE_S) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def figures(agent):
    lines = look(agent, "/metrics")[1].splitlines()
    return {name: int(value) for name, value in (
        line.split() for line in lines if not line.startswith("#"))}


def test_probes_see_whether_there_is_a_coordinator(tmp_path):
    where = f"unix:{tmp_path}/c"
    with Agent(where, "--http", "127.0.0.1:0") as agent:
        assert look(agent, "/healthz") == (200, '{"status":"ok"}\n')
        assert look(agent, "/readyz")[0] == 503
        assert figures(agent)["roar_agent_up"] == 0
        with Coordinator(listen=(where,)):
            wait_until(lambda: look(agent, "/readyz")[0] == 200)
            with agent.client() as client:
                client.register("a")
                for _ in range(3):
                    client.heartbeat("a")
            told = figures(agent)
            assert told["roar_agent_up"] == told["roar_agent_coordinators_total"] == 1
            assert told["roar_agent_heartbeats_total"] == 3
            assert told["roar_agent_connections_accepted_total"] == 1
            assert told["roar_agent_received_bytes_total"] > 0
        wait_until(lambda: look(agent, "/readyz")[0] == 503)
        assert "there is no coordinator" in look(agent, "/readyz")[1]
        assert figures(agent)["roar_agent_coordinators_lost_total"] == 1
        assert look(agent, "/api/workers")[0] == 404
        request = urllib.request.Request(agent.http + "/metrics", method="POST")
        with pytest.raises(urllib.error.HTTPError, match="405"):
            urllib.request.urlopen(request, timeout=PATIENCE_S)


def test_without_being_asked_an_agent_has_no_http(agents):
    assert agents[0].http is None


def test_the_unit_starts_an_agent(server, tmp_path):
    """Its command, with what systemd puts into it."""
    unit = (pathlib.Path(__file__).parents[2] /
            "data/roar-agent.service.in").read_text()
    command = re.search(r"^ExecStart=(.*)$", unit, re.M).group(1).replace(
        "@bindir@/roar-coordinator", PROGRAM).replace(
        "${RUNTIME_DIRECTORY}", str(tmp_path)).replace(
        "$ROAR_AGENT_OPTIONS", f"--upstream {server.address}").split()
    agent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.DEVNULL)
    try:
        assert agent.stdout.readline() == f"serving unix:{tmp_path}/socket\n"
        with server.client(address=f"unix:{tmp_path}/socket") as client:
            wait_until(lambda: registers(client))
    finally:
        agent.terminate()
        assert agent.wait(PATIENCE_S) == 0
        agent.stdout.close()


def registers(client):
    try:
        return client.register("a").rank == 0
    except grpc.RpcError as e:
        assert e.code() == CODE.UNAVAILABLE     # until it has found one
        return False


# ---- the command line ----

@pytest.mark.parametrize("arguments,text", [
    (("--agent",), "--upstream is missing"),
    (("--upstream", "h:1", "--data-dir", "d"), "require --agent"),
    (("--agent", "--upstream", "h:1", "--data-dir", "d"), "--data-dir"),
    (("--agent", "--upstream", "h:1", "--tokens", "t"), "--tokens"),
    (("--agent", "--upstream", "h:1", "--http-names", "n"), "--http-names")])
def test_wrong_options_are_named(arguments, text):
    program = subprocess.run([PROGRAM, *arguments],
                             capture_output=True, text=True, check=False)
    assert program.returncode == 2
    assert text in program.stderr


def test_an_address_that_is_none_is_named():
    program = subprocess.run(
        [PROGRAM, "--agent", "--upstream", "a:b:c", "--listen",
         "127.0.0.1:0"], capture_output=True, text=True, check=False)
    assert program.returncode == 1
    assert "'a:b:c' is not an address" in program.stderr
