"""Clients that mean no good, and very many that do: others notice nothing."""

import contextlib
import os
import re
import resource
import shutil
import socket
import struct
import subprocess
import time
import urllib.request

import grpc
import pytest

from coordinator import (PATIENCE_S, Coordinator, Frames, control, pb, raises,
                         wait_until)

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, RST_STREAM, HEADERS, PING = 4, 3, 1, 6
END_STREAM, END_HEADERS = 1, 4
MEBIBYTE = 1 << 20


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(
        ">BBI", kind, flags, stream) + payload


def literal(name, value):
    """A header field that HPACK does not remember."""
    assert len(name) < 127 and len(value) < 127
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call_headers(path=b"/coordinator.Coordinator/Heartbeat"):
    return (b"\x83\x86" + literal(b":path", path) +
            literal(b":authority", b"x") + literal(b"te", b"trailers") +
            literal(b"content-type", b"application/grpc"))


@pytest.fixture(name="server", scope="module")
def _server():
    with Coordinator() as server:
        server.good = server.client()
        server.good.register("good")
        yield server


@pytest.fixture(autouse=True)
def _others_notice_nothing(server):
    yield
    assert server.process.poll() is None
    assert server.good.heartbeat("good").acknowledged


def reads_until_closed(sock, limit=64 * MEBIBYTE):
    """Bytes that come until the server ends the connection."""
    sock.settimeout(PATIENCE_S)
    n = 0
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while n < limit:
            data = sock.recv(65536)
            if not data:
                return n
            n += len(data)
    return n


def send_all_or_be_closed(sock, data):
    sock.settimeout(PATIENCE_S)
    try:
        sock.sendall(data)
        return True
    except OSError:
        return False


@pytest.mark.parametrize("data", [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00" * 100,
    b"ROARFR2\n" + bytes(64), PREFACE[:8] + b"nonsense nonsense",
    PREFACE + b"\xff" * 100, b"ROARFR1\n" + b"\xff" * 64,
    PREFACE + frame(0, 0, 1, b"data of no call") * 3])
def test_garbage_ends_its_connection(server, data):
    with server.connect() as sock:
        sock.sendall(data)
        reads_until_closed(sock)


def test_a_flood_of_resets_ends_its_connection(server):
    with server.connect() as sock:
        sock.sendall(PREFACE + frame(SETTINGS, 0, 0))
        opened = call_headers()
        stream = 1
        started = time.monotonic()
        for _ in range(400):
            burst = b""
            for _ in range(100):
                burst += frame(HEADERS, END_HEADERS, stream, opened)
                burst += frame(RST_STREAM, 0, stream, struct.pack(">I", 8))
                stream += 2
            if not send_all_or_be_closed(sock, burst):
                break
        else:
            # So slowly that it was no flood: 11,000 a second are allowed.
            assert time.monotonic() - started > 3


def test_a_flood_of_pings_ends_its_connection(server):
    with server.connect() as sock:
        sock.sendall(PREFACE + frame(SETTINGS, 0, 0))
        for _ in range(2000):
            if not send_all_or_be_closed(sock, frame(PING, 0, 0, bytes(8)) *
                                         100):
                break
        else:
            pytest.fail("200,000 pings were answered")


def test_lanes_without_a_token_are_few(tmp_path):
    """As an agent speaks, on many connections, and never shows who it is."""
    tokens = tmp_path / "tokens"
    tokens.write_text("* a-token-of-some-length\n")
    tokens.chmod(0o600)
    lanes = b"".join(struct.pack("<IHHII", 0, 0xff06, 0, n, 0)
                     for n in range(1, 1025))
    with Coordinator("--tokens", str(tokens)) as server, \
            contextlib.ExitStack() as stack:
        before = server.resident_bytes()
        for _ in range(200):
            sock = stack.enter_context(server.connect())
            send_all_or_be_closed(sock, b"ROARFR1\n" + lanes)
        # A good one gets through all the same.
        agent = Frames(server.connect(), token="a-token-of-some-length")
        for n in range(1, 101):
            agent.send(0xff06, call=n)
        agent.send(0xff02, call=7)
        method, _, call, _, _ = agent.receive()
        assert (method, call) == (0xff03, 7)
        # 200,000 of them would be hundreds of megabytes.
        assert server.resident_bytes() - before < 32 << 20
        agent.close()


def test_headers_without_end_are_refused(server):
    before = server.resident_bytes()
    with server.connect() as sock:
        sock.sendall(PREFACE + frame(SETTINGS, 0, 0))
        many = literal(b"x" * 100, b"y" * 120) * 70
        sock.sendall(frame(HEADERS, 0, 1, call_headers() + many))
        for _ in range(4000):  # CONTINUATION
            if not send_all_or_be_closed(sock, frame(9, 0, 1, many)):
                break
        else:
            pytest.fail("60 MB of headers were taken")
    assert server.resident_bytes() - before < 16 * MEBIBYTE


def test_a_header_that_grows_when_unpacked_is_refused(server):
    """HPACK: one entry of the table, named again and again."""
    before = server.resident_bytes()
    with server.connect() as sock:
        sock.sendall(PREFACE + frame(SETTINGS, 0, 0))
        value = b"y" * 4000
        entry = (b"\x40" + b"\x01x" + b"\x7f" +
                 bytes([(len(value) - 127) & 127 | 128,
                        (len(value) - 127) >> 7]) + value)
        bomb = call_headers() + entry + b"\xbe" * 12000
        for stream in range(1, 41, 2):
            if not send_all_or_be_closed(sock, frame(
                    HEADERS, END_HEADERS | END_STREAM, stream, bomb)):
                break
        sock.settimeout(0.2)
        with contextlib.suppress(OSError):
            sock.recv(65536)
    assert server.resident_bytes() - before < 16 * MEBIBYTE


def test_who_does_not_read_is_let_go(server):
    """Replies of a megabyte, asked for and never read."""
    client = server.good
    value = os.urandom(60000)
    for i in range(16):
        client.control.KvSet(control.KvSetRequest(job_id="slow", key=f"k{i}",
                                                  value=value))
    request = control.KvListRequest(job_id="slow").SerializeToString()
    before = server.resident_bytes()
    with server.connect() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        frames = Frames(sock)
        sock.settimeout(1)
        try:
            for call in range(1, 400):
                frames.send(21, request, call=call)
        except OSError:
            pass
        assert client.heartbeat("good").acknowledged
        assert server.resident_bytes() - before < 100 * MEBIBYTE


def test_half_a_request_holds_nobody_up(server):
    halves = []
    for data in (b"", b"P", PREFACE, PREFACE[:20], b"ROARFR1\n",
                 b"ROARFR1\n" + b"\x10\0\0\0",
                 PREFACE + frame(HEADERS, END_HEADERS, 1, call_headers())):
        sock = server.connect()
        sock.sendall(data)
        halves.append(sock)
    started = time.monotonic()
    for _ in range(50):
        server.good.heartbeat("good")
    assert time.monotonic() - started < 10
    for sock in halves:
        sock.close()


def test_a_reader_that_vanishes_is_forgotten(server):
    """No FIN ever comes: the socket is taken over by a child and left there."""
    n = server.good.control.GetStatus(control.StatusRequest()).n_connections
    socks = [server.connect() for _ in range(20)]
    for sock in socks:
        sock.sendall(b"ROARFR1\n")
        # Reset instead of FIN.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                        struct.pack("ii", 1, 0))
        sock.close()
    wait_until(lambda: server.good.control.GetStatus(
        control.StatusRequest()).n_connections == n)


def test_thousands_of_sockets_are_served():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    n = min(5000, hard - 200)
    beat = pb.HeartbeatRequest(worker_id="a").SerializeToString()
    try:
        with Coordinator() as server:
            client = server.client()
            client.register("a")
            before = server.resident_bytes()
            frames = [server.frames() for _ in range(n)]
            for f in frames:
                f.send(2, beat, call=1)
            assert all(f.receive()[3] == 0 for f in frames)
            per_connection = (server.resident_bytes() - before) / n
            assert per_connection < 8192
            for f in frames:
                f.close()
            wait_until(lambda: client.control.GetStatus(
                control.StatusRequest()).n_connections == 1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_connections_have_a_limit():
    with Coordinator("--max-connections", "5") as server:
        socks = [server.connect() for _ in range(20)]
        for sock in socks:
            with contextlib.suppress(OSError):
                sock.sendall(b"ROARFR1\n")
        wait_until(lambda: sum(map(is_closed, socks)) == 15)
        for sock in socks:
            sock.close()
        wait_until(lambda: answers(server))


def is_closed(sock):
    sock.setblocking(False)
    try:
        return sock.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def answers(server):
    frames = server.frames()
    try:
        frames.send(25, call=1)
        return frames.receive()[3] == 0
    except (EOFError, OSError):
        return False
    finally:
        frames.close()


def test_jobs_and_workers_have_limits():
    with Coordinator("--max-jobs", "2", "--max-workers", "3") as server:
        client = server.client()
        client.register("a", "one")
        client.register("a", "two")
        with raises(grpc.StatusCode.RESOURCE_EXHAUSTED):
            client.register("a", "three")
        client.register("b", "one")
        with raises(grpc.StatusCode.RESOURCE_EXHAUSTED):
            client.register("c", "one")
        assert client.heartbeat("a", "two").acknowledged


def test_h2load_gets_every_answer(server, tmp_path):
    h2load = shutil.which("h2load")
    if not h2load:
        pytest.skip("skipped: there is no h2load (nghttp2-client)")
    message = pb.HeartbeatRequest(worker_id="good").SerializeToString()
    body = tmp_path / "body"
    body.write_bytes(b"\0" + struct.pack(">I", len(message)) + message)
    result = subprocess.run(
        [h2load, "-n", "20000", "-c", "10", "-m", "20", "-d", str(body),
         "-H", "content-type: application/grpc", "-H", "te: trailers",
         f"http://{server.address}/coordinator.Coordinator/Heartbeat"],
        capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert re.search(r"20000 succeeded, 0 failed, 0 errored, 0 timeout",
                     result.stdout), result.stdout
    assert "status codes: 20000 2xx" in result.stdout


@pytest.fixture(name="crowd")
def _crowd(server):
    """300 connections of the fast path."""
    with contextlib.ExitStack() as stack:
        yield [Frames(stack.enter_context(server.connect()))
               for _ in range(300)]


KV_GET, WATCH = 17, 11


def waiters(server):
    with urllib.request.urlopen(server.http + "/metrics",
                                timeout=PATIENCE_S) as r:
        text = r.read().decode()
    return int(re.search(r"^roar_coordinator_waiting_calls (\d+)", text,
                         re.M).group(1))


def test_what_many_wait_for_is_in_memory_once(server, crowd):
    """A value of a mebibyte for 300 who do not read yet."""
    value = os.urandom(MEBIBYTE)
    asked = control.KvGetRequest(key="large", wait=True).SerializeToString()
    other = server.client()
    by_grpc = [other.control.KvGet.future(
        control.KvGetRequest(key="large", wait=True), timeout=PATIENCE_S)
        for _ in range(4)]
    for one in crowd:
        one.send(KV_GET, asked, call=1)
    wait_until(lambda: waiters(server) == len(crowd) + len(by_grpc))
    before = server.peak_bytes()
    server.good.control.KvSet(control.KvSetRequest(key="large", value=value),
                              timeout=PATIENCE_S)
    for one in by_grpc:
        assert one.result(PATIENCE_S).entry.value == value
    for one in crowd:
        status, message = one.receive()[3:]
        assert status == 0
        reply = control.KvReply.FromString(message)
        assert reply.done and reply.entry.value == value
    assert server.peak_bytes() - before < 96 * MEBIBYTE


def test_what_many_watch_is_in_memory_once(server, crowd):
    value = os.urandom(MEBIBYTE)
    asked = control.WatchRequest(key_prefix="w").SerializeToString()
    for one in crowd:
        one.send(WATCH, asked, call=1)
    for one in crowd:
        assert control.WatchEvent.FromString(one.receive()[4]).rank == -1
    before = server.peak_bytes()
    server.good.control.KvSet(control.KvSetRequest(key="w", value=value),
                              timeout=PATIENCE_S)
    server.good.control.KvSet(control.KvSetRequest(key="w2", value=b"2"),
                              timeout=PATIENCE_S)
    for one in crowd:
        for expected in (value, b"2"):
            event = control.WatchEvent.FromString(one.receive()[4])
            assert event.kind == event.KEY and event.rank == -1
            assert event.entry.value == expected
    assert server.peak_bytes() - before < 96 * MEBIBYTE
