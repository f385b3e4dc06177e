"""What passes the proxy, and what it writes into the object log of the run."""

import hashlib
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import client
import pytest
import signature
from client import Answer, Connection, Request, content_md5, send
from proxy import Logged, Proxy
from server import Server
from signature import Credential

BODY = os.urandom(3 * 1024 * 1024 + 12345)
KEYS = ("a b+c", "ü/€/😀", "..", "a/../b", "a//b", "%2F", "line\nbreak",
        "tab\there", "-._~!*'()&=;@,$?#[]", "x" * 1024)


def put(place: Server | Proxy, key: str, body: bytes,
        **more: object) -> Answer:
    return send(place.endpoint, Request(
        "PUT", f"/data/{quote(key, safe='/')}", body, **more))  # type: ignore


def get(place: Server | Proxy, key: str, *fields: tuple[str, str],
        query: str = "") -> Answer:
    return send(place.endpoint, Request(
        "GET", f"/data/{quote(key, safe='/')}{query}", fields=list(fields)))


def blake3(data: bytes) -> str:
    done = subprocess.run(["b3sum", "--no-names"], input=data, check=True,
                          stdout=subprocess.PIPE)
    return done.stdout.decode().strip()


def of(log: list[Logged], op: str) -> list[Logged]:
    return [line for line in log if line.op == op]


@pytest.mark.parametrize(("mode", "checksum"), client.MODES)
@pytest.mark.parametrize("size", [0, 1, 8192, 100_000, len(BODY)])
def test_every_payload_mode_arrives(server: Server, proxy: Proxy, mode: str,
                                    checksum: str, size: int) -> None:
    data = BODY[:size]
    if size > 100_000 and checksum in ("crc32c", "crc64nvme"):
        data = BODY[:300_000]  # slow in Python
    answer = put(proxy, "k", data, mode=mode, checksum=checksum)
    assert answer.status == 200, answer.body
    assert get(proxy, "k").body == data
    seen = server.seen("put")[0]
    assert seen.how == "header"
    assert seen.sha256 == hashlib.sha256(data).hexdigest()
    logged, = of(proxy.ended_log(), "put")
    assert (logged.bucket, logged.key, logged.status) == ("data", "k", "200")
    assert (logged.size, logged.range) == (str(len(data)), "whole")
    assert logged.blake3 == blake3(data)
    assert logged.etag == hashlib.md5(data).hexdigest()
    assert logged.flags == ""


@pytest.mark.parametrize(("mode", "checksum"), client.MODES)
def test_chunks_of_http_and_expect_pass(server: Server, proxy: Proxy,
                                        mode: str, checksum: str) -> None:
    data = BODY[:200_000]
    answer = put(proxy, "k", data, mode=mode, checksum=checksum,
                 http_chunked=mode in signature.STREAMING, expect=True)
    assert answer.status == 200 and answer.continued, answer
    assert get(server, "k").body == data


@pytest.mark.parametrize("key", KEYS)
def test_keys_arrive_as_they_are(server: Server, proxy: Proxy,
                                 key: str) -> None:
    assert put(proxy, key, b"content").status == 200
    assert list(server.buckets["data"].versions) == [key]
    assert get(proxy, key).body == b"content"
    assert [line.key for line in proxy.ended_log()] == [key, key]


def test_large_bodies_at_once_are_hashed_apart(server: Server,
                                               proxy: Proxy) -> None:
    """Their pieces pass by turns, and a second thread hashes them."""
    bodies = {f"k{i}": BODY[i:] + bytes([i]) * 2_000_000 for i in range(6)}

    def pass_both_ways(key: str) -> None:
        put(proxy, key, bodies[key])
        get(proxy, key)

    threads = [threading.Thread(target=pass_both_ways, args=[key])
               for key in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = proxy.ended_log()
    for op in ("put", "get"):
        assert {line.key: line.blake3 for line in of(log, op)} == \
            {key: blake3(body) for key, body in bodies.items()}, op


def test_a_raw_path_is_not_normalised(server: Server, proxy: Proxy) -> None:
    """What another client may send unescaped, or escape without need."""
    for target, key in (("/data/a%2Fb", "a/b"), ("/data/%61", "a"),
                        ("/data/x+y", "x+y"), ("/data//z", "/z"),
                        ("/data/../q", "../q"), ("/data/%2e%2e/r", "../r")):
        answer = send(proxy.endpoint, Request("PUT", target, b"x"))
        assert answer.status == 200, (target, answer.body)
        assert key in server.buckets["data"].versions, target


def test_ranges_and_conditions_pass(server: Server, proxy: Proxy) -> None:
    etag = put(proxy, "k", BODY).field("etag")
    answer = get(proxy, "k", ("range", "bytes=100-299"))
    assert answer.status == 206 and answer.body == BODY[100:300]
    assert answer.field("content-range") == f"bytes 100-299/{len(BODY)}"
    assert get(proxy, "k", ("range", "bytes=99999999-")).code == "InvalidRange"
    assert get(proxy, "k", ("if-none-match", etag)).status == 304
    assert get(proxy, "k", ("if-match", '"x"')).code == "PreconditionFailed"
    head = send(proxy.endpoint, Request("HEAD", "/data/k"))
    assert head.field("content-length") == str(len(BODY))
    assert head.field("etag") == etag
    assert get(proxy, "none").code == "NoSuchKey"
    log = proxy.ended_log()
    assert [(g.status, g.range) for g in of(log, "get")][0] == \
        ("206", "100-299")
    assert of(log, "get")[0].size == str(len(BODY))
    assert [g.status for g in of(log, "get")[1:]] == \
        ["416", "304", "412", "404"]
    assert not any(g.blake3 for g in of(log, "get"))


def test_an_object_read_in_ranges_is_identified(server: Server,
                                                proxy: Proxy) -> None:
    put(server, "k", BODY)
    step = 1 << 20
    for first in (step, 0, 3 * step, 2 * step):  # in any order
        last = min(first + step, len(BODY)) - 1
        assert get(proxy, "k", ("range", f"bytes={first}-{last}")).body == \
            BODY[first:last + 1]
    assert blake3(BODY) in [g.blake3 for g in of(proxy.ended_log(), "get")]


def test_an_object_that_changes_between_ranges_is_not(server: Server,
                                                      proxy: Proxy) -> None:
    step = 1 << 20
    put(server, "k", BODY)
    get(proxy, "k", ("range", f"bytes=0-{step - 1}"))
    put(server, "k", BODY[::-1])
    for first in range(step, len(BODY), step):
        last = min(first + step, len(BODY)) - 1
        get(proxy, "k", ("range", f"bytes={first}-{last}"))
    assert not any(g.blake3 for g in of(proxy.ended_log(), "get"))


@pytest.mark.parametrize("order", [(2, 4, 1, 3), (4, 2, 1, 3), (4, 3, 2, 1)])
def test_an_upload_in_parts_is_identified(server: Server, proxy: Proxy,
                                          order: tuple[int, ...]) -> None:
    """Part 4 is short: first of all, its place in the object is not known."""
    part = 1 << 20
    server.buckets["data"].min_part = part
    begun = send(proxy.endpoint, Request("POST", "/data/big?uploads"))
    upload = begun.body.partition(b"<UploadId>")[2].partition(b"<")[0].decode()
    etags = {}
    for number in order:
        data = BODY[(number - 1) * part:number * part]
        answer = send(proxy.endpoint, Request(
            "PUT", f"/data/big?partNumber={number}&uploadId={upload}", data))
        etags[number] = answer.field("etag")
    document = "".join(
        f"<Part><PartNumber>{n}</PartNumber><ETag>{etags[n]}</ETag></Part>"
        for n in sorted(etags))
    done = send(proxy.endpoint, Request(
        "POST", f"/data/big?uploadId={upload}",
        f"<CompleteMultipartUpload>{document}</CompleteMultipartUpload>"
        .encode()))
    assert done.status == 200, done.body
    assert get(server, "big").body == BODY
    log = proxy.ended_log()
    complete, = of(log, "complete-upload")
    assert (complete.key, complete.size) == ("big", str(len(BODY)))
    assert complete.blake3 == blake3(BODY)
    assert complete.upload_id == upload
    assert sorted(p.part for p in of(log, "upload-part")) == list("1234")


def test_a_part_that_is_sent_again_counts_once(server: Server,
                                               proxy: Proxy) -> None:
    server.buckets["data"].min_part = 1
    begun = send(proxy.endpoint, Request("POST", "/data/big?uploads"))
    upload = begun.body.partition(b"<UploadId>")[2].partition(b"<")[0].decode()
    for data in (BODY[:1 << 20], BODY[1 << 20:2 << 20]):
        etag = send(proxy.endpoint, Request(
            "PUT", f"/data/big?partNumber=1&uploadId={upload}",
            data)).field("etag")
    done = send(proxy.endpoint, Request(
        "POST", f"/data/big?uploadId={upload}",
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber>"
        f"<ETag>{etag}</ETag></Part></CompleteMultipartUpload>".encode()))
    assert done.status == 200
    complete, = of(proxy.ended_log(), "complete-upload")
    assert complete.blake3 in ("", blake3(BODY[1 << 20:2 << 20]))


def test_copies_lists_and_deletions_pass(server: Server, proxy: Proxy) -> None:
    put(server, "a b", BODY)
    copied = put(proxy, "b", b"",
                 fields=[("x-amz-copy-source", "/data/a%20b")])
    assert copied.status == 200
    assert get(server, "b").body == BODY
    listed = get(proxy, "", query="?list-type=2&prefix=a%20")
    assert b"<Key>a b</Key>" in listed.body
    body = b"<Delete><Object><Key>b</Key></Object></Delete>"
    many = send(proxy.endpoint, Request(
        "POST", "/data/?delete", body,
        [("content-md5", content_md5(body))]))
    assert many.status == 200, many.body
    assert send(proxy.endpoint,
                Request("DELETE", "/data/a%20b")).status == 204
    assert server.buckets["data"].versions == {}
    log = proxy.ended_log()
    copy, = of(log, "copy")
    assert copy.copy_source.lstrip("/") == "data/a b" and copy.key == "b"
    assert of(log, "list")
    assert "a b" in [d.key for d in of(log, "delete")]


def test_versions_are_recorded(server: Server, proxy: Proxy) -> None:
    server.buckets["data"].versioned = True
    first = put(proxy, "k", b"1").field("x-amz-version-id")
    put(proxy, "k", b"2")
    assert get(proxy, "k", query=f"?versionId={first}").body == b"1"
    log = proxy.ended_log()
    assert [p.version for p in of(log, "put")][0] == first
    assert of(log, "get")[0].version == first


def test_presigned_urls_pass_until_they_expire(server: Server,
                                               proxy: Proxy) -> None:
    assert put(proxy, "k", BODY, mode="unsigned", presign_s=60).status == 200
    answer = send(proxy.endpoint, Request("GET", "/data/k", presign_s=60))
    assert answer.body == BODY
    n = len(server.log)
    old = Request("GET", "/data/k", presign_s=60, date_s=time.time() - 120)
    answer = send(proxy.endpoint, old)
    assert (answer.status, answer.code) == (403, "AccessDenied")
    assert len(server.log) == n


def test_a_request_without_a_signature_gets_none(server: Server,
                                                 proxy: Proxy) -> None:
    put(server, "k", BODY)
    answer = send(proxy.endpoint,
                  Request("GET", "/data/k", anonymous=True))
    assert answer.code == "AccessDenied"
    server.buckets["data"].public = True
    answer = send(proxy.endpoint,
                  Request("GET", "/data/k", anonymous=True))
    assert answer.body == BODY
    assert {s.how for s in server.seen("get")} == {"anonymous"}


def test_the_client_may_have_other_credentials(server: Server,
                                               proxy: Proxy) -> None:
    answer = put(proxy, "k", BODY, key_id="other", secret="other",
                 token="other")
    assert answer.status == 200
    assert not any("other" in value for _, value in server.log[0].fields)


def test_requests_in_a_pipeline_are_answered_in_order(server: Server,
                                                      proxy: Proxy) -> None:
    with Connection(proxy.endpoint) as connection:
        requests = [Request("PUT", "/data/k", BODY), Request("GET", "/data/k"),
                    Request("HEAD", "/data/k"), Request("DELETE", "/data/k")]
        parts = [connection.parts(r) for r in requests]
        threading.Thread(target=connection.sock.sendall, args=(
            b"".join(h + b for h, b in parts),)).start()
        answers = [connection.answer(r.method) for r in requests]
    assert [a.status for a in answers] == [200, 200, 200, 204]
    assert answers[1].body == BODY


def test_connections_stay_open_on_both_sides(server: Server,
                                             proxy: Proxy) -> None:
    with Connection(proxy.endpoint) as connection:
        for i in range(20):
            assert connection.send(
                Request("PUT", f"/data/{i}", b"x")).status == 200
    assert len({s.connection for s in server.log}) == 1


def test_virtual_hosts_pass(server: Server, proxy: Proxy) -> None:
    put(server, "k", BODY)
    port = proxy.endpoint.rpartition(":")[2]
    answer = send(proxy.endpoint, Request(
        "GET", "/k", host=f"data.localhost:{port}"))
    assert answer.body == BODY
    logged, = of(proxy.ended_log(), "get")
    assert (logged.bucket, logged.key) == ("data", "k")


@pytest.fixture
def everywhere(server: Server, tmp_path: Path) -> Iterator[Proxy]:
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    started = Proxy(server.endpoint6, tmp_path, "--listen", "[::1]:0",
                    "--listen", f"unix:{tmp_path}/socket")
    yield started
    started.stop()


def test_ipv6_and_unix_sockets(server: Server, everywhere: Proxy,
                               tmp_path: Path) -> None:
    assert everywhere.endpoint.startswith("http://[::1]:")
    assert put(everywhere, "k", BODY).status == 200
    connection = Connection.__new__(Connection)
    connection.host, connection.buffer = "localhost", b""
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(30)
    connection.sock.connect(str(tmp_path / "socket"))
    with connection:
        assert connection.send(Request("GET", "/data/k")).body == BODY
    logged, = of(everywhere.ended_log(), "get")
    assert logged.pid == str(os.getpid())


def test_the_process_of_a_client_is_found(server: Server,
                                          proxy: Proxy) -> None:
    put(proxy, "k", b"x")
    logged, = of(proxy.ended_log(), "put")
    assert logged.pid == str(os.getpid())
    assert logged.endpoint == server.endpoint
    assert int(logged.start_ns) <= int(logged.end_ns) <= time.time_ns()


def test_a_session_token_is_sent(server: Server, tmp_path: Path) -> None:
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    server.credentials["T"] = Credential("secret", token="tok/en+=")
    proxy = Proxy(server.endpoint, tmp_path, env={
        "AWS_ACCESS_KEY_ID": "T", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_SESSION_TOKEN": "tok/en+="})
    try:
        for mode, checksum in client.MODES[:6]:
            assert put(proxy, "k", BODY, mode=mode,
                       checksum=checksum).status == 200
    finally:
        proxy.stop()


def test_many_clients_at_once(server: Server, proxy: Proxy) -> None:
    failed: list[object] = []

    def work(number: int) -> None:
        try:
            data = BODY[number:number + 50_000]
            with Connection(proxy.endpoint) as connection:
                for i in range(4):
                    connection.send(Request("PUT", f"/data/{number}", data))
                    if connection.send(Request(
                            "GET", f"/data/{number}")).body != data:
                        failed.append(number)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    log = proxy.ended_log()
    assert len(of(log, "put")) == len(of(log, "get")) == 4 * 64
