"""Tokens, TLS, and that one job is nothing to another."""

import contextlib
import json
import pathlib
import re
import signal
import socket
import struct
import subprocess
import urllib.error
import urllib.request

import grpc
import pytest

from coordinator import (PATIENCE_S, Coordinator, Frames, control, health_pb2,
                         pb, raises, shards, wait_until)

CODE = grpc.StatusCode
A, B, ADMIN = ((("authorization", f"Bearer {t}"),) for t in
               ("secret-of-a", "secret-of-b", "administrator"))


def write_tokens(path, text):
    path.touch(mode=0o600)
    path.write_text(text)


@pytest.fixture(name="tokens", scope="module")
def _tokens(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    write_tokens(path, "a secret-of-a\nb secret-of-b\n* administrator\n")
    return path


@pytest.fixture(name="server", scope="module")
def _server(tokens):
    with Coordinator("--tokens", str(tokens)) as server:
        client = server.client()
        client.register("w", metadata=A)
        client.register("w", metadata=B)
        client.control.KvSet(control.KvSetRequest(key="k", value=b"of a"),
                             metadata=A)
        yield server


@pytest.fixture(name="client")
def _client(server):
    with server.client() as client:
        yield client


@pytest.mark.parametrize("metadata", [
    None, (("authorization", "Bearer nonsense"),),
    (("authorization", "secret-of-"),), (("authorization", ""),),
    (("authorization", "Basic secret-of-a"),)])
def test_without_a_token_nothing_is_seen(client, metadata):
    with raises(CODE.UNAUTHENTICATED):
        client.heartbeat("w", metadata=metadata)
    with raises(CODE.UNAUTHENTICATED):
        client.control.ListJobs(control.ListJobsRequest(), metadata=metadata)
    with raises(CODE.UNAUTHENTICATED):
        next(client.control.Watch(control.WatchRequest(), metadata=metadata))


def test_a_token_leads_to_its_job(client):
    assert client.heartbeat("w", metadata=A).acknowledged
    assert client.heartbeat("w", "a", metadata=A).acknowledged


OTHERS = {
    "RegisterWorker": pb.WorkerInfo(worker_id="x", job_id="b"),
    "DeregisterWorker": pb.WorkerInfo(worker_id="w", job_id="b"),
    "Heartbeat": pb.HeartbeatRequest(worker_id="w", job_id="b"),
    "WaitBarrier": pb.BarrierRequest(worker_id="w", barrier_id="b",
                                     job_id="b"),
    "GetLatestCheckpoint": pb.RecoveryRequest(worker_id="w", job_id="b"),
    "NotifyCheckpoint": pb.CheckpointInfo(worker_id="w", checkpoint_id="c",
                                          job_id="b"),
    "RegisterDataset": pb.DatasetInfo(dataset_id="d", job_id="b",
                                      total_samples=1, shard_size=1),
    "GetDataShard": pb.ShardRequest(worker_id="w", dataset_id="d",
                                    job_id="b"),
    "CommitCheckpoint": control.CommitRequest(info=pb.CheckpointInfo(
        worker_id="w", checkpoint_id="c", job_id="b"), failure="no"),
    "Meet": control.MeetRequest(worker_id="w", meeting_id="m", job_id="b"),
    "Configure": control.JobSettings(job_id="b", min_workers=2),
    "SendCommand": control.CommandRequest(job_id="b", command="stop"),
    "Drain": control.DrainRequest(job_id="b"),
    "Leave": control.LeaveRequest(job_id="b", worker_id="w"),
    "KvSet": control.KvSetRequest(job_id="b", key="k"),
    "KvGet": control.KvGetRequest(job_id="b", key="k"),
    "KvAdd": control.KvAddRequest(job_id="b", key="k", delta=1),
    "KvCompareSet": control.KvCompareSetRequest(job_id="b", key="k"),
    "KvDelete": control.KvDeleteRequest(job_id="b", key="k"),
    "KvList": control.KvListRequest(job_id="b"),
    "ListWorkers": control.ListWorkersRequest(job_id="b"),
    "ListBarriers": control.ListBarriersRequest(job_id="b"),
    "ListDatasets": shards.ListDatasetsRequest(job_id="b"),
    "ListShards": shards.ListShardsRequest(job_id="b", worker_id="w", dataset_id="d"),
    "GetTable": shards.TableRequest(job_id="b", dataset_id="d"),
    "ReportConsumed": shards.ConsumedReport(job_id="b", worker_id="w", dataset_id="d"),
    "GetConsumed": shards.ConsumedRequest(job_id="b", dataset_id="d"),
    "TakeLease": shards.TakeLeaseRequest(job_id="b", worker_id="w", dataset_id="d"),
    "UseLease": shards.UseLeaseRequest(job_id="b", worker_id="w", dataset_id="d"),
    "AdvanceEpoch": shards.AdvanceEpochRequest(job_id="b", worker_id="w",
                                               dataset_id="d"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_no_call_reaches_another_job(client, name):
    service = next(s for s in (client.coordinator, client.control, client.shards)
                   if hasattr(s, name))
    with raises(CODE.PERMISSION_DENIED):
        getattr(service, name)(OTHERS[name], metadata=A, timeout=PATIENCE_S)


def test_streams_do_not_either(client):
    with raises(CODE.PERMISSION_DENIED):
        list(client.control.Watch(control.WatchRequest(job_id="b"),
                                  metadata=A, timeout=PATIENCE_S))
    with raises(CODE.PERMISSION_DENIED):
        list(client.coordinator.StreamHeartbeats(
            iter([pb.HeartbeatRequest(worker_id="w", job_id="b")]),
            metadata=A, timeout=PATIENCE_S))


def test_lists_show_what_is_ones_own(client):
    def jobs(metadata):
        return [j.job_id for j in client.control.ListJobs(
            control.ListJobsRequest(), metadata=metadata).jobs]

    assert jobs(A) == ["a"]
    assert jobs(B) == ["b"]
    assert sorted(jobs(ADMIN)) == ["a", "b"]


def test_status_tells_a_job_nothing_of_the_whole(client):
    def status(metadata):
        return client.control.GetStatus(control.StatusRequest(),
                                        metadata=metadata)

    assert status(A).n_requests == 0
    assert (status(A).n_jobs, status(A).n_workers) == (1, 1)
    assert status(ADMIN).n_requests > 0
    assert status(ADMIN).n_workers == 2


def test_only_the_administrator_stops_the_server(client):
    with raises(CODE.PERMISSION_DENIED, "administrator"):
        client.control.Stop(control.StopRequest(), metadata=A)
    assert client.heartbeat("w", "b", metadata=ADMIN).acknowledged


def test_metadata_cannot_widen_a_token(client):
    with raises(CODE.PERMISSION_DENIED):
        client.heartbeat("w", metadata=(*A, ("roar-job", "b")))
    assert client.heartbeat("w", metadata=(*ADMIN,
                                           ("roar-job", "b"))).acknowledged


def test_frames_have_the_same_door(server):
    def status(token, job=""):
        frames = Frames(server.connect(), token=token, job=job)
        frames.send(2, pb.HeartbeatRequest(
            worker_id="w").SerializeToString(), call=1)
        answer = frames.receive()[3]
        frames.close()
        return answer

    assert status("secret-of-a") == 0
    assert status("") == CODE.UNAUTHENTICATED.value[0]
    assert status("nonsense") == CODE.UNAUTHENTICATED.value[0]
    assert status("secret-of-a", "b") == CODE.PERMISSION_DENIED.value[0]
    assert status("administrator", "b") == 0


def get(server, path, token=None):
    request = urllib.request.Request(server.http + path)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def test_http_has_it_too(server):
    assert get(server, "/healthz")[0] == 200
    assert get(server, "/readyz")[0] == 200
    for path in ("/metrics", "/api/workers", "/api/barriers", "/api/status",
                 "/api/metrics"):
        assert get(server, path)[0] == 401
        assert get(server, path, "nonsense")[0] == 401
        assert get(server, path, "administrator")[0] == 200
    assert get(server, "/metrics", "secret-of-a")[0] == 403
    workers = json.loads(get(server, "/api/workers", "secret-of-a")[1])
    assert [w["job"] for w in workers] == ["a"]
    assert get(server, "/api/workers?job=b", "secret-of-a")[0] == 403
    workers = json.loads(get(server, "/api/workers", "administrator")[1])
    assert [w["job"] for w in workers] == ["a", "b"]
    workers = json.loads(get(server, "/api/workers?job=b",
                             "administrator")[1])
    assert [w["job"] for w in workers] == ["b"]
    assert json.loads(get(server, "/api/status",
                          "secret-of-a")[1])["total_workers"] == 1


def test_a_file_that_others_may_read_is_refused(tmp_path):
    tokens = tmp_path / "tokens"
    write_tokens(tokens, "a secret-of-a\n")
    tokens.chmod(0o644)
    with pytest.raises(AssertionError, match="chmod 600"):
        Coordinator("--tokens", str(tokens))


def test_sighup_reads_the_tokens_again(tmp_path):
    tokens = tmp_path / "tokens"
    write_tokens(tokens, "a secret-of-a\n")
    with Coordinator("--tokens", str(tokens)) as server:
        client = server.client()
        client.register("w", metadata=A)
        events = client.control.Watch(control.WatchRequest(), metadata=A)
        next(events)
        tokens.write_text("b secret-of-b\n")
        server.signal(signal.SIGHUP)
        # A stream that was begun with a token that is gone ends.
        with raises(CODE.UNAUTHENTICATED, "revoked"):
            list(events)
        with raises(CODE.UNAUTHENTICATED):
            client.heartbeat("w", metadata=A)
        client.register("w", metadata=B)
        tokens.write_text("nonsense")
        server.signal(signal.SIGHUP)
        wait_until(lambda: server.logged("are unchanged"))
        assert client.heartbeat("w", metadata=B).acknowledged


def test_a_token_that_is_gone_ends_what_waits_by_it(tmp_path):
    tokens = tmp_path / "tokens"
    write_tokens(tokens, "a secret-of-a\nb secret-of-b\n")
    with Coordinator("--tokens", str(tokens)) as server:
        client = server.client()
        for metadata in (A, B):
            client.register("w", metadata=metadata)
            client.register("x", metadata=metadata)
        events = client.control.Watch(control.WatchRequest(), metadata=B)
        next(events)
        waits = [
            [client.control.KvGet.future(
                control.KvGetRequest(key="none", wait=True),
                metadata=metadata, timeout=PATIENCE_S),
             client.control.Meet.future(
                control.MeetRequest(worker_id="w", meeting_id="m"),
                metadata=metadata, timeout=PATIENCE_S),
             client.arrive("w", metadata=metadata)] for metadata in (A, B)]
        for metadata in (A, B):
            wait_until(lambda m=metadata: sum(
                b.arrived for b in client.barriers(metadata=m)) == 2)
        tokens.write_text("b secret-of-b\n")
        server.signal(signal.SIGHUP)
        for wait in waits[0]:
            with raises(CODE.UNAUTHENTICATED):
                wait.result()
        # Those whose token is still good do not notice.
        assert not any(wait.done() for wait in waits[1])
        client.control.KvSet(control.KvSetRequest(key="none", value=b"v"),
                             metadata=B)
        assert waits[1][0].result().entry.value == b"v"
        assert events.is_active()


# ---- TLS ----

def make_certificate(folder, name="localhost"):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout",
         str(folder / "key.pem"), "-out", str(folder / "cert.pem")],
        check=True, capture_output=True)


def tls_client(server, certificate):
    return server.client(
        credentials=grpc.ssl_channel_credentials(certificate),
        options=(("grpc.ssl_target_name_override", "localhost"),))


@pytest.fixture(name="tls")
def _tls(tmp_path):
    make_certificate(tmp_path)
    with Coordinator("--tls-cert", str(tmp_path / "cert.pem"), "--tls-key",
                     str(tmp_path / "key.pem"), listen=[
                         "127.0.0.1:0", f"unix:{tmp_path}/s"]) as server:
        server.certificates = tmp_path
        yield server


def test_a_certificate_that_is_not_there_is_said(tmp_path):
    make_certificate(tmp_path)
    for cert, key in (("none", "key.pem"), ("cert.pem", "none")):
        with pytest.raises(AssertionError, match="No such file"):
            Coordinator("--tls-cert", str(tmp_path / cert), "--tls-key",
                        str(tmp_path / key))


def test_calls_go_over_tls(tls):
    client = tls_client(tls, (tls.certificates / "cert.pem").read_bytes())
    client.register("a")
    assert client.heartbeat("a").acknowledged
    value = bytes(60000)
    client.control.KvSet(control.KvSetRequest(key="k", value=value))
    assert client.control.KvGet(
        control.KvGetRequest(key="k")).entry.value == value
    # A Unix socket is not spoken to by TLS.
    assert tls.client(tls.addresses[1]).heartbeat("a").acknowledged


def test_who_speaks_no_tls_gets_nothing(tls):
    with raises(CODE.UNAVAILABLE):
        tls.client().register("a")


def test_a_plain_client_is_told_of_tls(tls):
    host, port = tls.addresses[0].rsplit(":", 1)
    for hello in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"ROARFR1\n"):
        with socket.create_connection((host, int(port)), PATIENCE_S) as plain:
            plain.sendall(hello)
            said = b""
            while (part := plain.recv(4096)):
                said += part
        assert said.startswith(b"HTTP/1.1 400 ")
        assert b"this port speaks TLS" in said


def test_sighup_reads_the_certificates_again(tls):
    old = (tls.certificates / "cert.pem").read_bytes()
    held = tls_client(tls, old)
    held.register("a")
    make_certificate(tls.certificates)
    new = (tls.certificates / "cert.pem").read_bytes()
    tls.signal(signal.SIGHUP)
    wait_until(lambda: tls.logged("certificates reloaded"))
    assert tls_client(tls, new).heartbeat("a").acknowledged
    with raises(CODE.UNAVAILABLE):
        tls_client(tls, old).heartbeat("a")
    # Connections that were there stay.
    assert held.heartbeat("a").acknowledged
    (tls.certificates / "cert.pem").write_text("nonsense")
    tls.signal(signal.SIGHUP)
    wait_until(lambda: tls.logged("certificates are unchanged"))
    assert tls_client(tls, new).heartbeat("a").acknowledged


def unfinished(server, length, sent, token=""):
    """A connection that has sent the beginning of a frame."""
    one = Frames(server.connect(), token=token)
    with contextlib.suppress(OSError):
        one.sock.sendall(struct.pack("<IHHII", length, 2, 0, 1, 0) +
                         bytes(sent))
    return one


@pytest.mark.parametrize("token", ["", "secret-of-b"])
def test_unfinished_messages_of_others_keep_no_worker_from_its_heartbeat(
        tokens, token):
    with Coordinator("--tokens", str(tokens), "--max-message",
                     str(1 << 20)) as server:
        worker = Frames(server.connect(), token="secret-of-a")
        worker.send(1, pb.WorkerInfo(worker_id="w",
                                     hostname="h").SerializeToString(), call=1)
        assert worker.receive()[3] == 0
        before = server.resident_bytes()
        others = [unfinished(server, 1 << 20, (1 << 20) - 1, token)
                  for _ in range(18)]
        wait_until(lambda: token == "" or
                   server.resident_bytes() - before > 12 << 20)
        beat = pb.HeartbeatRequest(worker_id="w").SerializeToString()
        frame = struct.pack("<IHHII", len(beat), 2, 0, 2, 0) + beat
        worker.sock.sendall(frame[:20])
        # Two reads: what was sent later on another connection is answered first.
        assert server.client().register("v", metadata=A).rank == 1
        worker.sock.sendall(frame[20:])
        assert worker.receive()[3] == 0
        if not token:
            server.client().control.KvSet(
                control.KvSetRequest(key="k", value=bytes(200000)),
                metadata=A, timeout=PATIENCE_S)
        for one in (worker, *others):
            one.close()


def test_who_says_nothing_gives_way_to_a_worker(tokens):
    with Coordinator("--tokens", str(tokens), "--max-connections",
                     "8") as server:
        worker = server.client()
        worker.register("w", metadata=A)
        others = [Frames(server.connect()) for _ in range(20)]
        assert server.client().register("v", metadata=A).world_size == 2
        worker.heartbeat("w", metadata=A)
        for one in others:
            one.close()


def test_strangers_may_not_take_all_calls(server, client):
    """Requests of health that never come, with nobody reading the refusals."""
    def literal(name, value):
        return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value

    def frame(kind, flags, stream, payload=b""):
        return struct.pack(">I", len(payload))[1:] + struct.pack(
            ">BBI", kind, flags, stream) + payload

    head = (b"\x83\x86" + literal(b":path", b"/grpc.health.v1.Health/Check") +
            literal(b":authority", b"x") + literal(b"te", b"trailers") +
            literal(b"content-type", b"application/grpc"))
    calls = b"".join(frame(1, 4, 2 * i + 1, head) for i in range(10000))
    before = server.resident_bytes()
    socks = []
    for _ in range(8):
        sock = server.connect()
        sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
        with contextlib.suppress(OSError):
            sock.sendall(calls)
        socks.append(sock)
    for sock in socks:  # each is ended
        with contextlib.suppress(ConnectionResetError):
            while sock.recv(65536):
                pass
        sock.close()
    assert client.heartbeat("w", metadata=A).acknowledged
    assert client.health.Check(health_pb2.HealthCheckRequest(),
                               timeout=PATIENCE_S).status == 1
    assert server.resident_bytes() - before < 32 << 20


def test_the_user_of_the_unit_is_made_at_installation():
    """So that files of root can be lent to its group."""
    data = pathlib.Path(__file__).parents[2] / "data"
    unit = (data / "roar-coordinator.service.in").read_text()
    made = (data / "roar-coordinator.sysusers").read_text()
    user = re.search(r"^User=(\S+)$", unit, re.M).group(1)
    assert re.search(rf"^u {user} ", made, re.M)
    assert f"root:{user} /etc/roar/tokens" in unit
