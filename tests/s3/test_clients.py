"""Clients of others, byte for byte, straight to a server and through the proxy.

Every client does the same with an object of each size: put, get, range, copy, list,
delete.  `make test` runs a diagonal of client and size; with the name of a server in
ROAR_S3_MATRIX, as the stress suite has it, each client meets each size there.
"""

import hashlib
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import real_servers
import signature
import witness
from client import Request, send
from clients import CLIENTS, Client, Failed, environment
from proxy import Proxy
from server import Server

SIZES = {"0": 0, "1": 1, "64K": 64 << 10, "1M": 1 << 20, "8M": 8 << 20,
         "64M": 64 << 20}
MATRIX = os.environ.get("ROAR_S3_MATRIX", "")
WAYS = ("direct", "proxy")
BUCKET = "data"

# The matrix has the large sizes.  Each start of awscli takes most of a second.
DIAGONAL = [("s3cmd", "0"), ("s3cmd", "1M"), ("rclone", "1"), ("rclone", "8M"),
            ("debian-boto3", "64K"), ("debian-boto3", "8M"), ("boto3", "0"),
            ("boto3", "1M"), ("boto3", "8M"), ("s3fs", "1"),
            ("pyarrow", "64K")]
# Faults of servers, with and without the proxy.
KNOWN = {("moto", "s3cmd", "64M"):
         "moto answers 500 to ?acl of an object made of parts",
         ("moto", "rclone", "64M"): "moto refuses the parts of rclone"}
PAIRS = [(c, s) for c in CLIENTS for s in SIZES] if MATRIX else DIAGONAL
CASES = [(way, MATRIX or "own", client, size)
         for way in WAYS for client, size in PAIRS]
if not MATRIX:
    CASES.append(("proxy", "own", "awscli", "64K"))


class Place:
    """A server, or a proxy before it, and the clients that were started."""

    def __init__(self, server: str, way: str, folder: Path) -> None:
        self.folder = folder
        self.server = real_servers.start(server, folder)
        self.proxy: Proxy | None = None
        self.clients: dict[str, Client] = {}
        if way == "proxy":
            self.start_proxy(folder / "proxy")

    def start_proxy(self, folder: Path) -> None:
        folder.mkdir()
        try:
            self.proxy = Proxy(self.server.endpoint, folder)
        except BaseException:
            self.server.stop()
            raise

    def client(self, name: str) -> Client:
        if name not in self.clients:
            endpoint = (self.proxy or self.server).endpoint
            folder = self.folder / name
            folder.mkdir(exist_ok=True)
            self.clients[name] = CLIENTS[name](endpoint, folder)
        return self.clients[name]

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        if self.proxy:
            assert self.proxy.stop() == 0, self.proxy.said()
        self.server.stop()


@pytest.fixture(scope="module")
def places() -> Iterator[dict[tuple[str, str], Place]]:
    started: dict[tuple[str, str], Place] = {}
    yield started
    for place in started.values():
        place.close()


@pytest.fixture
def place(places: dict[tuple[str, str], Place], way: str, server_name: str,
          tmp_path_factory: pytest.TempPathFactory) -> Place:
    if way == "proxy" and not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    if (way, server_name) not in places:
        try:
            places[way, server_name] = Place(
                server_name, way, tmp_path_factory.mktemp(server_name))
        except witness.Absent as absent:
            pytest.skip(str(absent))
    return places[way, server_name]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(("way", "server_name", "client_name", "size_name"),
                         CASES, ids=["-".join(case) for case in CASES])
def test_client(place: Place, server_name: str, client_name: str,
                size_name: str, tmp_path: Path) -> None:
    if (server_name, client_name, size_name) in KNOWN:
        pytest.skip(KNOWN[server_name, client_name, size_name])
    try:
        client = place.client(client_name)
    except witness.Absent as absent:
        pytest.skip(str(absent))
    size = SIZES[size_name]
    source, back = tmp_path / "source", tmp_path / "back"
    data = random.Random(size).randbytes(size)
    source.write_bytes(data)
    folder = f"{client_name}/{size_name}"
    key, other = f"{folder}/a b+ü", f"{folder}/copy"

    client.put(source, BUCKET, key)
    client.get(back, BUCKET, key)
    assert sha256(back) == sha256(source)
    if client.ranges and size > 0:
        first, last = size // 3, size - 1 - size // 5
        client.range(back, BUCKET, key, first, last)
        assert back.read_bytes() == data[first:last + 1]
    client.copy(BUCKET, key, other)
    client.get(back, BUCKET, other)
    assert sha256(back) == sha256(source)
    assert client.list(BUCKET, folder + "/") == {key: size, other: size}
    client.delete(BUCKET, [key, other])
    assert client.list(BUCKET, folder + "/") == {}
    with pytest.raises(Failed):
        client.get(back, BUCKET, key)


@pytest.mark.skipif(bool(MATRIX), reason="the matrix has other sizes")
def test_parts_sent_in_parallel_are_identified(server: Server, proxy: Proxy,
                                               tmp_path: Path) -> None:
    """8, 8 and 4 MB, by several threads: the last often arrives first."""
    try:
        client = CLIENTS["debian-boto3"](proxy.endpoint, tmp_path)
    except witness.Absent as absent:
        pytest.skip(str(absent))
    source = tmp_path / "source"
    source.write_bytes(random.Random(20).randbytes(20 << 20))
    for i in range(8):
        client.put(source, BUCKET, f"k{i}")
    client.close()
    done = [line for line in proxy.ended_log()
            if line.op == "complete-upload"]
    hashed = subprocess.run([os.environ["ROAR"], "hash", source], check=True,
                            capture_output=True, text=True).stdout
    assert [line.blake3 for line in done] == [hashed.split()[0]] * 8


ROAR_CASES = [(way, MATRIX, size) for way in WAYS for size in SIZES] \
    if MATRIX else [("direct", "own", "64K"), ("proxy", "own", "0"),
                    ("proxy", "own", "64M")]


@pytest.mark.parametrize(("way", "server_name", "size_name"), ROAR_CASES,
                         ids=["-".join(case) for case in ROAR_CASES])
def test_roar(place: Place, size_name: str, tmp_path: Path) -> None:
    """roar put and roar get, with what another client makes of the object."""
    data = random.Random(SIZES[size_name]).randbytes(SIZES[size_name])
    (tmp_path / "source").write_bytes(data)
    endpoint = (place.proxy or place.server).endpoint
    key = f"roar/{size_name}/a b+ü"

    def roar(*words: str) -> None:
        done = subprocess.run(
            [os.environ["ROAR"], *words], cwd=tmp_path, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=environment(endpoint, tmp_path))
        assert done.returncode == 0, done.stdout.decode()

    roar("init", "-n")
    roar("put", "source", f"s3://data/{key}", "-m", "test", "--no-tag")
    target = "/data/" + quote(key)
    assert send(place.server.endpoint, Request("GET", target)).body == data
    roar("get", f"s3://data/{key}", "back")
    assert (tmp_path / "back").read_bytes() == data
    send(place.server.endpoint, Request("DELETE", target))


@pytest.mark.skipif(MATRIX not in ("", "own"), reason="only our server tells")
@pytest.mark.parametrize("way", WAYS)
def test_payload_modes_of_the_clients_differ(
        places: dict[tuple[str, str], Place], way: str) -> None:
    """The cases above had signed bodies, unsigned ones, and trailers."""
    place = places.get((way, "own"))
    if place is None or not {"rclone", "s3cmd",
                             "pyarrow"} <= set(place.clients):
        pytest.skip("rclone, s3cmd and pyarrow are not all here")
    server = place.server
    assert isinstance(server, Server)
    modes = {s.payload for s in server.seen() if s.method == "PUT"}
    assert {"UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
            signature.EMPTY_SHA256} <= modes
