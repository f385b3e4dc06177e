"""The wires, driven by stock gRPC (python3-grpcio) and by frames from a socket."""

import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

grpc = pytest.importorskip("grpc")

ECHO = os.environ["WIRE_ECHO"]


class Echo:
    """A wire_echo, and channels to it."""

    def __init__(self, *args, address="127.0.0.1:0"):
        self.address = address
        self.process = subprocess.Popen(
            [ECHO, *args, address], stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.process.stdout.readline())
        self.target = (
            address if address.startswith("unix:") else f"127.0.0.1:{self.port}"
        )
        self.channel = grpc.insecure_channel(self.target)

    def unary(self, name, channel=None):
        return (channel or self.channel).unary_unary(f"/echo.Echo/{name}")

    def counts(self, channel=None):
        words = self.unary("Counts", channel)(b"", timeout=20).decode().split()
        return dict(zip(words[::2], map(int, words[1::2])))

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def close(self):
        self.channel.close()
        if self.process.poll() is None:
            self.process.terminate()
        assert self.process.wait(20) == 0
        self.process.stdout.close()


@pytest.fixture(scope="module")
def shared():
    echo = Echo()
    yield echo
    echo.close()


@pytest.fixture
def start():
    started = []

    def start(*args, **kwargs):
        started.append(Echo(*args, **kwargs))
        return started[-1]

    yield start
    for echo in started:
        echo.close()


def until(condition):
    """Waits for what must come true soon; the suite's time limit ends a wait for ever."""
    while not condition():
        time.sleep(0.01)


def failure(function, *args, **kwargs):
    with pytest.raises(grpc.RpcError) as caught:
        function(*args, **kwargs)
    return caught.value


# ---- gRPC ----


def test_a_unary_call_is_answered(shared):
    for message in b"", b"hello", bytes(range(256)) * 40:
        assert shared.unary("Unary")(message, timeout=20) == message


def test_a_message_of_many_frames_goes_both_ways(shared):
    # Larger than any window: both sides wait for WINDOW_UPDATE.
    with grpc.insecure_channel(
        shared.target,
        options=[
            ("grpc.max_receive_message_length", -1),
            ("grpc.max_send_message_length", -1),
        ],
    ) as channel:
        message = os.urandom(1 << 20) * 24
        assert shared.unary("Unary", channel)(message, timeout=60) == message


def test_an_unknown_method_is_unimplemented(shared):
    for path in "/echo.Echo/Nothing", "/nobody.Home/Unary", "/":
        e = failure(shared.channel.unary_unary(path), b"", timeout=20)
        assert e.code() == grpc.StatusCode.UNIMPLEMENTED
        assert e.details() == "the server has no such method"


def test_the_clients_deadline_frees_the_call(shared):
    before = shared.counts()["cancelled"]
    e = failure(shared.unary("Wait"), b"", timeout=0.05)
    assert e.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    until(lambda: shared.counts()["cancelled"] == before + 1)


def test_a_cancelled_call_is_told_to_the_handler(shared):
    before = shared.counts()
    call = shared.unary("Wait").future(b"")
    until(lambda: shared.counts()["calls"] == 2)  # and this one
    call.cancel()
    until(lambda: shared.counts()["cancelled"] == before["cancelled"] + 1)
    assert shared.counts()["calls"] == 1


def test_a_status_has_its_sentence_and_trailers(shared):
    sentence = "100 % of 'wörker-3' is late\nby a while"
    e = failure(shared.unary("Fail"), b"10 " + sentence.encode(), timeout=20)
    assert e.code() == grpc.StatusCode.ABORTED
    assert e.details() == sentence
    assert ("roar-absent", "w1,w2") in [tuple(t) for t in e.trailing_metadata()]


def test_a_long_sentence_is_cut_and_arrives(shared):
    e = failure(shared.unary("Fail"), b"5 " + "ä".encode() * 5000, timeout=20)
    assert e.code() == grpc.StatusCode.NOT_FOUND
    assert set(e.details()) == {"ä"}
    assert 100 < len(e.details()) < 5000


def test_metadata_reaches_the_handler(shared):
    who = shared.unary("Who")
    assert who(b"", timeout=20) == b"-\n-"
    metadata = [("authorization", "Bearer t0ken"), ("roar-job", "j1"), ("x", "y")]
    assert who(b"", timeout=20, metadata=metadata) == b"Bearer t0ken\nj1"


def test_a_call_can_be_refused_before_its_message(shared):
    e = failure(
        shared.unary("Who"), b"", timeout=20, metadata=[("authorization", "Bearer bad")]
    )
    assert e.code() == grpc.StatusCode.UNAUTHENTICATED


def test_too_much_metadata_is_refused(shared):
    metadata = [(f"x-{i}", "y" * 1000) for i in range(17)]
    e = failure(shared.unary("Unary"), b"", timeout=20, metadata=metadata)
    assert e.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert shared.unary("Unary")(b"still here", timeout=20) == b"still here"


def test_a_message_over_the_limit_is_refused(start):
    echo = start("--max-message", "100000")
    assert len(echo.unary("Unary")(b"x" * 100000, timeout=20)) == 100000
    for size in 100001, 3000000:
        e = failure(echo.unary("Unary"), b"x" * size, timeout=20)
        assert e.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert echo.unary("Unary")(b"still here", timeout=20) == b"still here"


def test_compression_is_refused_cleanly(shared):
    e = failure(
        shared.unary("Unary"), b"x" * 5000, timeout=20,
        compression=grpc.Compression.Gzip,
    )
    assert e.code() == grpc.StatusCode.UNIMPLEMENTED


def test_a_stream_of_replies(shared):
    many = shared.channel.unary_stream("/echo.Echo/Many")
    assert [len(m) for m in many(b"1000 7", timeout=20)] == [7] * 1000
    assert [len(m) for m in many(b"12 1000000", timeout=20)] == [1000000] * 12
    assert list(many(b"0 0", timeout=20)) == []


def test_a_stream_of_requests(shared):
    collect = shared.channel.stream_unary("/echo.Echo/Collect")
    assert collect(iter([b"ab"] * 1000), timeout=20) == b"1000 2000"
    assert collect(iter([b"x" * 300000] * 20), timeout=20) == b"20 6000000"
    assert collect(iter([]), timeout=20) == b"0 0"


def test_both_ways_at_once(shared):
    bidi = shared.channel.stream_stream("/echo.Echo/Bidi")
    messages = [b"%d" % i * (i % 50) for i in range(2000)]
    assert list(bidi(iter(messages), timeout=20)) == messages


def test_a_stream_answers_before_its_end(shared):
    bidi = shared.channel.stream_stream("/echo.Echo/Bidi")
    go_on = threading.Event()

    def requests():
        yield b"first"
        go_on.wait(20)
        yield b"second"

    replies = bidi(requests(), timeout=20)
    assert next(replies) == b"first"
    go_on.set()
    assert list(replies) == [b"second"]


def test_a_thousand_calls_wait_at_once(shared):
    before = shared.counts()["cancelled"]
    waiting = [shared.unary("Wait").future(b"") for _ in range(1000)]
    until(lambda: shared.counts()["calls"] == 1001)
    assert shared.unary("Unary")(b"beside them", timeout=20) == b"beside them"
    for call in waiting:
        call.cancel()
    until(lambda: shared.counts()["cancelled"] == before + 1000)


def test_a_lost_connection_cancels_its_calls(shared):
    before = shared.counts()
    with grpc.insecure_channel(
        shared.target, options=[("grpc.use_local_subchannel_pool", 1)]
    ) as channel:
        call = shared.unary("Wait", channel).future(b"")
        until(lambda: shared.counts()["calls"] == 2)
    until(lambda: shared.counts()["cancelled"] == before["cancelled"] + 1)
    until(lambda: shared.counts()["disconnected"] == before["disconnected"] + 1)
    assert call.done()


def test_a_server_that_stops_finishes_what_it_does(start):
    echo = start()
    bidi = echo.channel.stream_stream("/echo.Echo/Bidi")
    go_on = threading.Event()

    def requests():
        yield b"before"
        go_on.wait(20)
        yield b"after"

    replies = bidi(requests(), timeout=20)
    assert next(replies) == b"before"
    echo.process.send_signal(signal.SIGTERM)
    until(lambda: refuses_connections(echo.port))
    go_on.set()
    assert list(replies) == [b"after"]
    assert echo.process.wait(20) == 0


def refuses_connections(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=20).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_unix_socket(start, tmp_path):
    path = tmp_path / "s"
    echo = start(address=f"unix:{path}")
    assert echo.unary("Unary")(b"x", timeout=20) == b"x"
    echo.close()
    assert not path.exists()
    # One that nobody listens at any more is replaced.
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    echo = start(address=f"unix:{path}")
    assert echo.unary("Unary")(b"y", timeout=20) == b"y"


# ---- TLS ----


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )
    return cert, key


def test_tls(start, certificate):
    cert, key = certificate
    echo = start("--tls", cert, key)
    credentials = grpc.ssl_channel_credentials(cert.read_bytes())
    with grpc.secure_channel(f"localhost:{echo.port}", credentials) as channel:
        message = os.urandom(3000000)
        assert echo.unary("Unary", channel)(message, timeout=20) == message
        waiting = [echo.unary("Unary", channel).future(b"x") for _ in range(200)]
        assert all(call.result(20) == b"x" for call in waiting)
    e = failure(echo.unary("Unary"), b"plain", timeout=20)
    assert e.code() == grpc.StatusCode.UNAVAILABLE


def test_tls_needs_an_agreement_for_grpc_and_none_for_frames(start, certificate):
    import ssl

    cert, key = certificate
    echo = start("--tls", cert, key)
    context = ssl.create_default_context(cafile=cert)
    with context.wrap_socket(echo.connect(), server_hostname="localhost") as s:
        s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5))
        assert s.recv(100) == b""
    with context.wrap_socket(echo.connect(), server_hostname="localhost") as s:
        s.sendall(PREFACE + frame(1, 7, b"hi"))
        assert reply(s) == (1, 1, 7, 0, b"hi")


def test_clients_may_have_to_show_a_certificate(start, certificate):
    cert, key = certificate
    echo = start("--tls", cert, key, "--client-ca", cert)
    stranger = grpc.ssl_channel_credentials(cert.read_bytes())
    known = grpc.ssl_channel_credentials(
        cert.read_bytes(), key.read_bytes(), cert.read_bytes()
    )
    with grpc.secure_channel(f"localhost:{echo.port}", known) as channel:
        assert echo.unary("Unary", channel)(b"x", timeout=20) == b"x"
    with grpc.secure_channel(f"localhost:{echo.port}", stranger) as channel:
        e = failure(echo.unary("Unary", channel), b"x", timeout=20)
        assert e.code() == grpc.StatusCode.UNAVAILABLE


def test_a_key_that_does_not_fit_is_named(tmp_path, certificate):
    cert, _ = certificate
    r = subprocess.run(
        [ECHO, "--tls", cert, tmp_path / "none", "127.0.0.1:0"],
        capture_output=True, text=True,
    )
    assert r.returncode == 2
    assert re.search(r"cannot use '.*none' as the key of '.*cert.pem': ", r.stderr)


# ---- frames ----

PREFACE = b"ROARFR1\n"
END, MORE = 1, 2
HELLO, CANCEL, PING, PONG, GOAWAY = range(0xFF00, 0xFF05)


def frame(method, call, data=b"", flags=0, number=0):
    return struct.pack("<IHHII", len(data), method, flags, call, number) + data


def receive(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        assert more, "the server ended the connection"
        data += more
    return data


def reply(s):
    n, method, flags, call, number = struct.unpack("<IHHII", receive(s, 16))
    return method, flags, call, number, receive(s, n)


@pytest.fixture
def frames(shared):
    with shared.connect() as s:
        s.sendall(PREFACE)
        yield s


def test_frames_on_the_same_port(frames):
    frames.sendall(frame(1, 5, b"hello") + frame(1, 6, b""))
    assert reply(frames) == (1, END, 5, 0, b"hello")
    assert reply(frames) == (1, END, 6, 0, b"")


def test_a_frame_may_come_byte_by_byte(frames):
    for byte in frame(1, 5, b"slowly") + frame(1, 6, b"again"):
        frames.sendall(bytes([byte]))
    assert reply(frames)[4] == b"slowly"
    assert reply(frames)[4] == b"again"


def test_a_large_frame(frames):
    data = os.urandom(1 << 20) * 10
    writer = threading.Thread(target=frames.sendall, args=[frame(1, 1, data)])
    writer.start()
    assert reply(frames)[4] == data
    writer.join()


def test_frames_tell_status_and_trailers(frames):
    frames.sendall(frame(7, 9, b"10 all is lost"))
    assert reply(frames) == (7, END, 9, 10, b"all is lost\0roar-absent=w1,w2")
    frames.sendall(frame(99, 10))
    assert reply(frames)[3] == 12


def test_the_hello_names_token_and_job(frames):
    frames.sendall(frame(HELLO, 0, b"t0ken\0j1") + frame(6, 1))
    assert reply(frames)[4] == b"Bearer t0ken\nj1"


def test_a_stream_of_frames(frames):
    frames.sendall(frame(3, 1, b"a") + frame(3, 1, b"b", MORE))
    assert reply(frames) == (3, 0, 1, 0, b"a")
    assert reply(frames) == (3, 0, 1, 0, b"b")
    frames.sendall(frame(3, 1, b"", MORE | END))
    assert reply(frames) == (3, END, 1, 0, b"")
    frames.sendall(frame(3, 1, b"late", MORE) + frame(1, 2, b"x"))
    assert reply(frames) == (1, END, 2, 0, b"x")


def test_a_frames_call_has_a_deadline(frames):
    frames.sendall(frame(2, 1, b"", 0, 30))
    assert reply(frames)[:4] == (2, END, 1, 4)


def test_a_frames_call_can_be_cancelled(shared, frames):
    before = shared.counts()["cancelled"]
    frames.sendall(frame(2, 1) + frame(CANCEL, 1) + frame(1, 1, b"reused"))
    assert reply(frames) == (1, END, 1, 0, b"reused")
    assert shared.counts()["cancelled"] == before + 1


def test_a_number_in_use_ends_the_connection(frames):
    frames.sendall(frame(2, 1) + frame(1, 1))
    assert frames.recv(1) == b""


def test_a_ping_is_answered(frames):
    frames.sendall(frame(PING, 3, b"", 0, 4))
    assert reply(frames) == (PONG, 0, 3, 4, b"")


def test_a_frame_over_the_limit_is_skipped(start):
    echo = start("--max-message", "1000")
    with echo.connect() as s:
        s.sendall(PREFACE + frame(1, 1, b"x" * 1001) + frame(1, 2, b"y" * 1000))
        assert reply(s)[:4] == (1, END, 1, 8)
        assert reply(s) == (1, END, 2, 0, b"y" * 1000)


def test_frames_drain(start):
    echo = start()
    with echo.connect() as s:
        s.sendall(PREFACE + frame(3, 1, b"a"))
        assert reply(s)[4] == b"a"
        echo.process.send_signal(signal.SIGTERM)
        assert reply(s)[0] == GOAWAY
        s.sendall(frame(1, 2, b"too late") + frame(3, 1, b"", MORE | END))
        assert reply(s)[:4] == (1, END, 2, 14)
        assert reply(s) == (3, END, 1, 0, b"")
        assert s.recv(1) == b""


# ---- neither ----


def test_http_1_gets_a_sentence(shared):
    with shared.connect() as s:
        s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"400 Bad Request" in s.recv(1000)


def test_noise_ends_the_connection(shared):
    for noise in b"\x16\x03\x01\x02\x00", b"PRI * HTTP/1.1\r\n\r\n" + b"x" * 30:
        with shared.connect() as s:
            s.sendall(noise)
            while s.recv(1000):
                pass


def test_a_silent_peer_is_asked_and_then_left(start):
    echo = start("--keepalive", "50")
    with echo.connect() as s:
        s.sendall(PREFACE)
        assert reply(s)[0] == PING
        s.sendall(frame(PONG, 0))
        assert reply(s)[0] == PING
        assert s.recv(1) == b""
