"""roar-proxy as a daemon for several runs, and its options."""

import contextlib
import hashlib
import http.client
import json
import os
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from client import Connection, Request, content_md5, send
from proxy import Proxy, read_log
from server import Server

BODY = os.urandom(200_000)


class Control(http.client.HTTPConnection):
    """Requests to the control socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(str(self.path))

    def ask(self, method: str, target: str) -> tuple[int, dict[str, object]]:
        self.request(method, target)
        answer = self.getresponse()
        return answer.status, json.loads(answer.read())

    def open_run(self, log: Path) -> str:
        status, answer = self.ask("POST", f"/runs?log={quote(str(log))}")
        assert status == 200, answer
        return str(answer["endpoint"])

    def end_run(self, log: Path) -> None:
        status, answer = self.ask("DELETE", f"/runs?log={quote(str(log))}")
        assert (status, answer) == (200, {"log": "complete"})


class Terminator:
    """A server of TLS that sends what it gets to another one."""

    def __init__(self, context: ssl.SSLContext, endpoint: str) -> None:
        self.context = context
        self.port = int(endpoint.rpartition(":")[2])
        self.listener = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> int:
        threading.Thread(target=self.serve, daemon=True).start()
        return int(self.listener.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self.listener.close()

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                plain, _ = self.listener.accept()
                with contextlib.suppress(ssl.SSLError):
                    self.relay(self.context.wrap_socket(
                        plain, server_side=True))

    def relay(self, inner: ssl.SSLSocket) -> None:
        outer = socket.create_connection(("127.0.0.1", self.port))
        for source, target in ((inner, outer), (outer, inner)):
            threading.Thread(target=copy, args=(source, target),
                             daemon=True).start()


def copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


def start(server: Server, folder: Path, *options: str) -> Proxy:
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    return Proxy(server.endpoint, folder, *options)


@pytest.fixture
def daemon(server: Server, tmp_path: Path) -> Iterator[Proxy]:
    started = start(server, tmp_path, "--control", str(tmp_path / "control"))
    yield started
    assert started.stop() == 0, started.said()


@pytest.fixture
def control(daemon: Proxy, tmp_path: Path) -> Control:
    return Control(tmp_path / "control")


def put(endpoint: str, key: str, body: bytes = BODY) -> None:
    assert send(endpoint, Request("PUT", f"/data/{key}", body)).status == 200


def test_runs_have_their_own_logs(daemon: Proxy, control: Control,
                                  tmp_path: Path) -> None:
    logs = [tmp_path / "one", tmp_path / "two %&"]
    endpoints = [control.open_run(log) for log in logs]
    assert len({*endpoints, daemon.endpoint}) == 3
    for i, endpoint in enumerate(endpoints):
        put(endpoint, f"k{i}")
    put(daemon.endpoint, "general")
    control.end_run(logs[0])
    operations, begun, ended = read_log(logs[0])
    assert [o.key for o in operations] == ["k0"] and begun == 1 and ended
    assert not read_log(logs[1])[2]
    with pytest.raises(ConnectionError):
        Connection(endpoints[0])
    put(endpoints[1], "k2")
    control.end_run(logs[1])
    assert [o.key for o in read_log(logs[1])[0]] == ["k1", "k2"]
    assert [o.key for o in daemon.ended_log()] == ["general"]


def test_the_socket_is_the_owners(daemon: Proxy, control: Control,
                                  tmp_path: Path) -> None:
    mode = (tmp_path / "control").stat().st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600


def test_the_status_has_runs_and_counts(server: Server, daemon: Proxy,
                                        control: Control,
                                        tmp_path: Path) -> None:
    endpoint = control.open_run(tmp_path / "one")
    put(endpoint, "k")
    status, answer = control.ask("GET", "/status")
    assert status == 200
    assert answer["requests"] == 1 and answer["failed"] == 0
    assert answer["upstream"] == server.endpoint
    runs = answer["runs"]
    assert isinstance(runs, list)
    assert {"endpoint": endpoint, "log": str(tmp_path / "one"),
            "open": 0} in runs
    control.end_run(tmp_path / "one")


def test_wrong_requests_are_refused(daemon: Proxy, control: Control,
                                    tmp_path: Path) -> None:
    log = quote(str(tmp_path / "one"))
    control.open_run(tmp_path / "one")
    for method, target, expected in (
            ("POST", f"/runs?log={log}", 409),
            ("DELETE", f"/runs?log={log}x", 404),
            ("POST", "/runs?log=relative", 400),
            ("POST", "/runs", 400),
            ("POST", f"/runs?log={log}/no/such", 500),
            ("PUT", f"/runs?log={log}", 405),
            ("GET", "/", 404)):
        status, answer = control.ask(method, target)
        assert status == expected and "error" in answer, (method, target)
    control.end_run(tmp_path / "one")


def test_the_end_of_a_run_waits_for_requests(server: Server, daemon: Proxy,
                                             control: Control,
                                             tmp_path: Path) -> None:
    endpoint = control.open_run(tmp_path / "one")
    server.fault("drip", op="get", size=20_000, pause_s=0.05)
    put(endpoint, "k")
    with Connection(endpoint) as connection:
        head, _ = connection.parts(Request("GET", "/data/k"))
        connection.sock.sendall(head)
        connection.fill()
        control.end_run(tmp_path / "one")
        answer = connection.answer("GET")
        assert answer.body == BODY
    operations, _, ended = read_log(tmp_path / "one")
    assert [(o.op, o.range, o.flags) for o in operations] == [
        ("put", "whole", ""), ("get", "whole", "")] and ended


def test_a_request_that_does_not_end_is_unfinished(server: Server,
                                                   daemon: Proxy,
                                                   control: Control,
                                                   tmp_path: Path) -> None:
    endpoint = control.open_run(tmp_path / "one")
    put(endpoint, "k")
    server.fault("stall", op="get", at=1000)
    with Connection(endpoint) as connection:
        head, _ = connection.parts(Request("GET", "/data/k"))
        connection.sock.sendall(head)
        connection.fill()
        control.end_run(tmp_path / "one")
    last = read_log(tmp_path / "one")[0][-1]
    assert (last.op, last.flags, last.blake3) == ("get", "unfinished", "")


def test_a_listening_socket_is_taken_over(server: Server,
                                          tmp_path: Path) -> None:
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    process = subprocess.Popen(
        [os.environ["ROAR_PROXY"], "--upstream", server.endpoint,
         "--listen-fd", str(listener.fileno())],
        pass_fds=[listener.fileno()], stdout=subprocess.PIPE,
        env={**os.environ, "AWS_ACCESS_KEY_ID": "AKIAROARTEST",
             "AWS_SECRET_ACCESS_KEY": Request().secret,
             "HOME": str(tmp_path)})
    assert process.stdout
    line = process.stdout.readline().decode()
    endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
    assert line == f"ready {endpoint}\n"
    listener.close()
    put(endpoint, "k")
    process.terminate()
    assert process.wait(20) == 0
    process.stdout.close()


def test_digests_are_chosen(server: Server, tmp_path: Path) -> None:
    for name, options, blake3, sha256 in (
            ("a", [], True, False),
            ("b", ["--digests", "blake3,sha256"], True, True),
            ("c", ["--no-hash"], False, False)):
        (tmp_path / name).mkdir()
        proxy = start(server, tmp_path / name, *options)
        put(proxy.endpoint, "k")
        assert send(proxy.endpoint, Request("GET", "/data/k")).body == BODY
        for line in proxy.ended_log():
            assert bool(line.blake3) == blake3
            assert line.sha256 == \
                (hashlib.sha256(BODY).hexdigest() if sha256 else "")


CLIENT = """
import encodings.idna, os, sys  # before nothing more can be read
sys.path.insert(0, sys.argv[2])
from client import Request, send
os.setuid(65534)
print(send(sys.argv[1], Request("PUT", "/data/k", b"x")).code)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be another user")
def test_other_users_are_refused(server: Server, tmp_path: Path) -> None:
    for options, code in (([], "AccessDenied"), (["--allow-remote"], "")):
        (tmp_path / code).mkdir(exist_ok=True)
        proxy = start(server, tmp_path / code, *options)
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, proxy.endpoint,
             str(Path(__file__).parent)],
            check=True, timeout=30, stdout=subprocess.PIPE, text=True)
        assert done.stdout == code + "\n"
        assert bool(server.seen("put")) == (not code)
        assert proxy.stop() == 0


def test_an_upstream_with_tls(server: Server, tmp_path: Path) -> None:
    """Its certificate must be trusted, by AWS_CA_BUNDLE here."""
    key, cert = tmp_path / "key", tmp_path / "cert"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", str(key), "-out", str(cert)],
        check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with Terminator(context, server.endpoint) as port:
        for env, status in (({"AWS_CA_BUNDLE": str(cert)}, 200), ({}, 502)):
            folder = tmp_path / str(status)
            folder.mkdir()
            if not os.environ.get("ROAR_PROXY"):
                pytest.skip("roar-proxy was not built")
            proxy = Proxy(f"https://localhost:{port}", folder, env=env)
            answer = send(proxy.endpoint, Request("PUT", "/data/k", BODY))
            assert answer.status == status, answer.body
            assert proxy.stop() == 0
    assert server.buckets["data"].find("k").data == BODY


def test_deleted_keys_have_lines(server: Server, proxy: Proxy) -> None:
    for key in ("a", "b", "c"):
        put(proxy.endpoint, key)
    body = (b"<Delete><Quiet>true</Quiet><Object><Key>a</Key></Object>"
            b"<Object><Key>c</Key></Object></Delete>")
    answer = send(proxy.endpoint, Request(
        "POST", "/data?delete", body,
        fields=[("content-md5", content_md5(body))]))
    assert answer.status == 200, answer.body
    assert [line.key for line in proxy.ended_log()
            if line.op == "delete"] == ["a", "c"]


def test_deleted_versions_are_named(server: Server, proxy: Proxy) -> None:
    server.buckets["data"].versioned = True
    put(proxy.endpoint, "a")
    send(proxy.endpoint, Request("DELETE", "/data/a"))  # makes a marker
    first = server.buckets["data"].versions["a"][0].version_id
    body = (f"<Delete><Object><Key>a</Key><VersionId>{first}</VersionId>"
            "</Object></Delete>").encode()
    send(proxy.endpoint, Request("POST", "/data?delete", body,
                                 fields=[("content-md5", content_md5(body))]))
    assert [line.version for line in proxy.ended_log()
            if line.op == "delete"] == ["", first]


def test_an_upload_is_recorded_though_its_client_left(server: Server,
                                                      proxy: Proxy) -> None:
    """It has sent everything, so the object is there."""
    server.fault("drip", op="put", size=1, pause_s=0.002)
    connection = Connection(proxy.endpoint)
    head, body = connection.parts(Request("PUT", "/data/k", BODY))
    connection.sock.sendall(head + body)
    while not server.seen("put"):
        time.sleep(0.01)
    connection.sock.close()
    lines = proxy.ended_log()
    assert [(o.op, o.status, o.flags) for o in lines] == [("put", "200", "")]
    assert lines[0].blake3


def test_wrong_usage_is_told(tmp_path: Path) -> None:
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    for options, status, sentence in (
            (["--listen", "0.0.0.0:0"], 2, "--allow-remote"),
            (["--digests", "md5"], 2, "not 'md5'"),
            (["--upstream", "nonsense"], 1, "is not the URL of a server"),
            (["--log", "/no/such/log"], 1, "/no/such/log"),
            (["--listen-fd", "99"], 1, "--listen-fd")):
        done = subprocess.run(
            [os.environ["ROAR_PROXY"], *options], check=False, timeout=30,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env={"HOME": str(tmp_path), "AWS_ACCESS_KEY_ID": "a",
                 "AWS_SECRET_ACCESS_KEY": "b"})
        assert done.returncode == status, done.stderr
        assert sentence in done.stderr
