"""real_servers.py - starts a server by its name: our own, versitygw or moto.

All of them know the key pair of server.py and have the bucket `data`.
"""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import client
import witness
from server import KEY_ID, SECRET, Server

PATIENCE_S = 60


class Running(Protocol):
    """What a test needs of a server."""

    @property
    def endpoint(self) -> str: ...

    def stop(self) -> None: ...


def free_port() -> int:
    with contextlib.closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class Outside:
    """A server of others, as a process."""

    def __init__(self, argv: list[str], port: int, folder: Path,
                 env: Mapping[str, str] | None = None) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"
        self.log = folder / "server.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=folder, env={"PATH": os.environ["PATH"],
                                 "HOME": str(folder), **(env or {})})
        try:
            self.make_bucket()
        except BaseException:
            self.stop()
            raise

    def make_bucket(self) -> None:
        """Waits until it answers, then makes the bucket."""
        give_up = time.monotonic() + PATIENCE_S
        while True:
            try:
                answer = client.send(self.endpoint,
                                     client.Request("PUT", "/data"))
                break
            except OSError:
                if self.process.poll() is not None or \
                        time.monotonic() > give_up:
                    raise RuntimeError(self.log.read_text()) from None
                time.sleep(0.1)
        assert answer.status == 200, answer.body

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(PATIENCE_S)


def start_own(_: Path) -> Running:
    server = Server()
    server.add_bucket("data")
    return server


def start_versitygw(folder: Path) -> Running:
    """With the backend `posix`: objects are files, metadata are extended
    attributes or, where a file system has none, files beside."""
    program = witness.have("versitygw")
    root, metadata = folder / "objects", folder / "metadata"
    root.mkdir()
    metadata.mkdir()
    port = free_port()
    return Outside(
        [program, "--access", KEY_ID, "--secret", SECRET, "--region",
         "us-east-1", "--port", f"127.0.0.1:{port}", "--quiet",
         "posix", "--sidecar", str(metadata), str(root)], port, folder)


def start_moto(folder: Path) -> Running:
    """It verifies nothing; what it stores is what is looked at."""
    python = witness.have("moto")
    port = free_port()
    return Outside(
        [python, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        port, folder)


SERVERS = {"own": start_own, "versitygw": start_versitygw, "moto": start_moto}


def start(name: str, folder: Path) -> Running:
    return SERVERS[name](folder)
