"""TrainingOrchestrator and coordinators that come and go; tokens, TLS, fork()."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

import roar
from coordinator_helpers import (  # noqa: F401
    PATIENCE, QUICK, Background, Server, one_server, own_job, until, workers)
from roar import coordinator


def test_unix_socket_and_call(server):
    other = Server(listen=f"unix:{server.folder}/socket")
    try:
        with roar.TrainingOrchestrator(other.address) as a:
            a.register_worker("w-0")
            status = a.call("/roar.Control/GetStatus", {})
            assert status["n_workers"] == 1
            with pytest.raises(ValueError, match="no field"):
                a.call("/roar.Control/KvSet", {"nonsense": 1})
            with pytest.raises(TypeError, match="key must be a str"):
                a.call("/roar.Control/KvSet", {"key": 1})
            with pytest.raises(ValueError, match="is not a unary method"):
                a.call("/roar.Control/Watch", {})
    finally:
        other.close()


def test_a_killed_coordinator_comes_back_and_nobody_notices():
    server = Server()
    try:
        with workers(server, 2) as (a, b):
            a.kv.set("k", "v")
            waiting = Background(a.barrier, "b", timeout=PATIENCE)
            until(lambda: b.barriers())
            server.kill()
            until(lambda: not b.world.connected)
            server.start()
            assert b.barrier("b", timeout=PATIENCE).participants == 2
            assert waiting.result().participants == 2
            assert b.kv.get("k") == b"v"
            assert sorted(w["incarnation"] for w in b.workers()) == [1, 1]
    finally:
        server.close()


def test_a_coordinator_that_remembers_nothing_is_told_anew():
    server = Server()
    try:
        with workers(server, 2, {"min_workers": 2}) as (a, b):
            for start in (1, 2):
                waiting = Background(a.barrier, "b", timeout=PATIENCE)
                got = b.barrier("b", timeout=PATIENCE)
                assert (got.generation, got.participants) == (start, 2)
                waiting.result()
                server.kill()
                shutil.rmtree(os.path.join(server.folder, "data"))
                server.start()
                for job in (a, b):
                    job.heartbeat()     # it has a place again
    finally:
        server.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_barriers_go_on_while_coordinators_come_and_go(how):
    server = Server()

    def meet(job):
        return [job.barrier("b", timeout=PATIENCE).generation
                for _ in range(150)]

    try:
        with workers(server, 3, {"min_workers": 3}) as jobs:
            calls = [Background(meet, job) for job in jobs]
            for i in range(4):
                time.sleep(0.01 * i)
                server.kill(how)
                server.start()
            for call in calls:
                assert call.result() == list(range(1, 151))
            assert jobs[0].world.epoch == 3  # nobody died
    finally:
        server.close()


def test_nobody_there_and_wrong_addresses():
    with pytest.raises(coordinator.CoordinatorUnreachable,
                       match="is roar-coordinator running"):
        roar.TrainingOrchestrator("unix:/nonexistent/socket",
                                  connect_timeout=0.05).connect()
    with pytest.raises(coordinator.CoordinatorInvalid, match="HOST:PORT"):
        roar.TrainingOrchestrator("ftp://host").connect()
    for wrong in ("", None, 5):
        with pytest.raises(ValueError):
            roar.TrainingOrchestrator(wrong)


def test_a_forked_child_has_no_client(server, job):
    with workers(server, 1, job=job) as (a,):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                a.kv.set("k", "v")
            except coordinator.CoordinatorClosed:
                os.write(writer, b"closed")
            del a
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            assert pipe.read() == b"closed"
        assert os.waitpid(pid, 0)[1] == 0
        a.kv.set("k", "v")


def test_tokens_and_tls(tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("needs the program openssl for a certificate")
    tokens = tmp_path / "tokens"
    tokens.write_text("j secret-0123456789\n")
    tokens.chmod(0o600)
    key, cert = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                    "-out", cert, "-days", "1", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                   check=True, capture_output=True)
    server = Server("--tokens", str(tokens), "--tls-cert", cert, "--tls-key",
                    key)
    try:
        with roar.TrainingOrchestrator(server.address, tls_ca=cert,
                                       token="secret-0123456789") as a:
            a.register_worker("w-0")
            a.kv.set("big", b"x" * 500000)
            assert a.kv.get("big") == b"x" * 500000
        with pytest.raises(coordinator.CoordinatorDenied):
            roar.TrainingOrchestrator(server.address, tls_ca=cert,
                                      token="wrong").register_worker("w-0")
        with pytest.raises(coordinator.CoordinatorUnreachable,
                           match="certificate|hostname"):
            roar.TrainingOrchestrator(
                server.address, tls_ca=cert, tls_name="other.example",
                connect_timeout=0.1).connect()
        with pytest.raises(coordinator.CoordinatorUnreachable):
            roar.TrainingOrchestrator(server.address,
                                      connect_timeout=0.1).connect()
    finally:
        server.close()


def test_a_token_is_replaced_while_a_barrier_waits(tmp_path):
    tokens, old, new = tmp_path / "tokens", "old-0123456789ab", "new-0123456789ab"

    def allow(*words):
        tokens.write_text("".join(f"j {word}\n" for word in words))
        tokens.chmod(0o600)

    def is_known():
        try:
            with roar.TrainingOrchestrator(server.address, token=new) as look:
                return look.workers()
        except coordinator.CoordinatorDenied:
            return None

    allow(old)
    server = Server("--tokens", str(tokens))
    try:
        with workers(server, 2, settings=QUICK, token=old) as (a, b):
            waiting = Background(a.barrier, "b", timeout=PATIENCE,
                                 policy="shrink")
            until(b.barriers)
            allow(old, new)
            server.process.send_signal(signal.SIGHUP)
            until(is_known)
            a.set_token(new)
            allow(new)
            server.process.send_signal(signal.SIGHUP)
            until(lambda: not b.world.connected)
            with pytest.raises(coordinator.CoordinatorDenied):
                b.kv.get("k")
            assert waiting.result().missing == ["w-1"]
            assert a.heartbeat(timeout=PATIENCE).connected
    finally:
        server.close()


def test_a_port_that_speaks_tls_is_named_as_the_cause():
    """Or one of HTTP: both answer a client that speaks neither with HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            with contextlib.suppress(OSError):
                while True:
                    one, _ = server.accept()
                    one.recv(4096)
                    one.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\nTLS\n")
                    one.close()

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        job = roar.TrainingOrchestrator(
            f"127.0.0.1:{server.getsockname()[1]}", connect_timeout=1)
        with pytest.raises(roar.CoordinatorError, match="without TLS"):
            job.connect()
        server.shutdown(socket.SHUT_RDWR)
    thread.join()
