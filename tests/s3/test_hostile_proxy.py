"""Clients and upstreams that do wrong: what the proxy must not let happen.

After each of them the client has seen what S3 would say or a clear error, nothing is
stored or recorded as complete that was not, nothing unsafe was retried, and the proxy
still serves.
"""

import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import signature
from client import Answer, Connection, Request, content_md5, send
from payload import CHECKSUMS
from proxy import Logged, Proxy, read_log
from server import SECRET, Server
from signature import Credential

BODY = os.urandom(1_500_000)
TRAILER = signature.STREAMING_UNSIGNED_TRAILER
SIGNED = signature.STREAMING_SIGNED
SIGNED_TRAILER = signature.STREAMING_SIGNED_TRAILER
LIMIT_KIB = 64 * 1024  # of memory
CUT = (ConnectionError, TimeoutError)


@pytest.fixture
def proxy(server: Server, tmp_path: Path) -> Iterator[Proxy]:
    """It waits a second for a silent upstream."""
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    started = Proxy(server.endpoint, tmp_path, "--timeout", "1")
    yield started
    if started.process.poll() is None:
        assert started.stop() == 0, started.said()


def put(proxy: Proxy | Server, key: str, body: bytes = BODY,
        **more: object) -> Answer:
    return send(proxy.endpoint, Request(
        "PUT", f"/data/{key}", body, **more))  # type: ignore[arg-type]


def get(proxy: Proxy | Server, key: str, **more: object) -> Answer:
    return send(proxy.endpoint, Request(
        "GET", f"/data/{key}", **more))  # type: ignore[arg-type]


def raw(proxy: Proxy, data: bytes, close: bool = False) -> bytes:
    """Sends bytes; all that comes back until the proxy closes."""
    with Connection(proxy.endpoint) as connection:
        try:
            connection.sock.sendall(data)
            if close:
                connection.sock.shutdown(socket.SHUT_WR)
            while connection.fill():
                pass
        except ConnectionError:
            pass
        return connection.buffer


def still_serves(server: Server, proxy: Proxy) -> None:
    """As before, with bytes that are right."""
    server.forget()
    assert put(proxy, "after", BODY).status == 200
    assert get(proxy, "after").body == BODY


def not_complete(proxy: Proxy, op: str, key: str = "k") -> Logged | None:
    """What the log has of an operation that failed: never a whole content."""
    found = [line for line in proxy.ended_log()
             if line.op == op and line.key == key]
    for line in found:
        assert not line.blake3 and not line.sha256, line
        assert not line.status.startswith("2") or line.flags, line
    return found[0] if found else None


def is_upstream_error(answer: Answer, status: int) -> None:
    assert answer.status == status, answer
    assert answer.code.startswith("ProxyUpstream"), answer.body
    assert b"127.0.0.1" in answer.body
    assert "xml" in answer.field("content-type")


# -- bodies of clients ------------------------------------------------------

@pytest.mark.parametrize("mode", ["signed", "unsigned", TRAILER, SIGNED,
                                  SIGNED_TRAILER])
@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("at", [0, 1, 100_000, -1])
def test_a_body_cut_short(server: Server, proxy: Proxy, mode: str,
                          reset: bool, at: int) -> None:
    checksum = "crc32" if mode in (TRAILER, SIGNED_TRAILER) else ""
    with Connection(proxy.endpoint) as connection:
        head, body = connection.parts(Request(
            "PUT", "/data/k", BODY, mode=mode, checksum=checksum))
        connection.sock.sendall(head + body[:at])
        if reset:
            time.sleep(0.05)
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       struct.pack("ii", 1, 0))
        else:
            connection.sock.shutdown(socket.SHUT_WR)
            try:
                connection.sock.recv(1)
            except ConnectionError:
                pass
    still_serves(server, proxy)
    assert "k" not in server.buckets["data"].versions
    not_complete(proxy, "put")


@pytest.mark.parametrize("name", CHECKSUMS)
@pytest.mark.parametrize("mode", [TRAILER, SIGNED_TRAILER])
def test_a_wrong_checksum_in_a_trailer(server: Server, proxy: Proxy,
                                       mode: str, name: str) -> None:
    def spoil(trailer: bytes) -> bytes:
        key, _, value = trailer.partition(b":")
        return key + b":" + bytes([value[0] ^ 1]) + value[1:]

    answer = put(proxy, "k", BODY[:300_000], mode=mode, checksum=name,
                 spoil_trailer=spoil)
    assert (answer.status, answer.code) == (400, "BadDigest"), answer.body
    assert "k" not in server.buckets["data"].versions
    still_serves(server, proxy)
    not_complete(proxy, "put")


@pytest.mark.parametrize("trailer", [
    b"", b"x-amz-checksum-crc32:\n", b"x-amz-checksum-crc32:AAAA\n",
    b"x-amz-checksum-crc32:!!!!!!==\n", b"x-amz-checksum-sha1:AAAA\n",
    b"no colon\n", b"a:b\n" * 100, b"x" * 20_000 + b":y\n"])
def test_a_malformed_trailer(server: Server, proxy: Proxy,
                             trailer: bytes) -> None:
    answer = put(proxy, "k", mode=TRAILER, checksum="crc32",
                 spoil_trailer=lambda _: trailer)
    assert answer.status == 400, answer
    assert answer.code, answer.body
    assert "k" not in server.buckets["data"].versions
    still_serves(server, proxy)
    not_complete(proxy, "put")


@pytest.mark.parametrize("number", [0, 10, 23])
@pytest.mark.parametrize("mode", [SIGNED, SIGNED_TRAILER])
def test_a_wrong_chunk_signature(server: Server, proxy: Proxy, mode: str,
                                 number: int) -> None:
    """The client has the proxy's credentials, so its signatures can be
    checked."""
    answer = put(proxy, "k", mode=mode,
                 checksum="crc32" if mode == SIGNED_TRAILER else "",
                 spoil_chunk=lambda n, mac: "0" * 64 if n == number else mac)
    assert (answer.status, answer.code) == (403, "SignatureDoesNotMatch"), \
        answer.body
    assert "k" not in server.buckets["data"].versions
    still_serves(server, proxy)
    not_complete(proxy, "put")



CHUNK = BODY[:10_000]
ENVELOPES: dict[str, bytes] = {
    "no number": b"xyz\r\n" + CHUNK + b"\r\n0\r\n\r\n",
    "negative": b"-1\r\n" + CHUNK + b"\r\n0\r\n\r\n",
    "overflow": b"fffffffffffffffff\r\n" + CHUNK + b"\r\n0\r\n\r\n",
    "largest": b"ffffffffffffffff\r\n" + CHUNK + b"\r\n0\r\n\r\n",
    "too long": b"2711\r\n" + CHUNK + b"x\r\n0\r\n\r\n",
    "too short": b"270f\r\n" + CHUNK[:-1] + b"\r\n0\r\n\r\n",
    "no line break": b"2710\r\n" + CHUNK + b"0\r\n\r\n",
    "after the end": b"2710\r\n" + CHUNK + b"\r\n0\r\n\r\nGET / HTTP/1.1\r\n",
    "endless line": b"2710;" + b"x" * 100_000,
    "empty": b"",
    "binary": bytes(range(256)) * 40,
}


@pytest.mark.parametrize("name", ENVELOPES)
def test_a_malformed_envelope(server: Server, proxy: Proxy,
                              name: str) -> None:
    wire = ENVELOPES[name]
    with Connection(proxy.endpoint) as connection:
        head, whole = connection.parts(Request(
            "PUT", "/data/k", CHUNK, mode=TRAILER))
        head = head.replace(f"content-length: {len(whole)}".encode(),
                            f"content-length: {len(wire)}".encode())
        connection.sock.sendall(head + wire)
        answer = connection.answer("PUT")
    assert answer.status in (400, 403), answer
    assert answer.code, answer.body
    assert "k" not in server.buckets["data"].versions
    still_serves(server, proxy)
    not_complete(proxy, "put")


@pytest.mark.parametrize("length", ["", "-1", "9999", "10001", "x",
                                    "99999999999999999999"])
def test_a_wrong_decoded_length(server: Server, proxy: Proxy,
                                length: str) -> None:
    with Connection(proxy.endpoint) as connection:
        head, body = connection.parts(Request(
            "PUT", "/data/k", CHUNK, mode=TRAILER, checksum="crc32"))
        old = b"x-amz-decoded-content-length: 10000\r\n"
        new = old.replace(b"10000", length.encode()) if length else b""
        connection.sock.sendall(head.replace(old, new) + body)
        answer = connection.answer("PUT")
    assert 400 <= answer.status < 500 and answer.code, answer
    assert "k" not in server.buckets["data"].versions
    still_serves(server, proxy)


@pytest.mark.parametrize("large", [False, True])
def test_a_body_that_is_not_what_was_signed(server: Server, proxy: Proxy,
                                            large: bool) -> None:
    body = BODY if large else BODY[:1000]
    with Connection(proxy.endpoint) as connection:
        head, _ = connection.parts(Request("PUT", "/data/k", body))
        connection.sock.sendall(head + body[:-1] +
                                bytes([body[-1] ^ 1]))
        answer = connection.answer("PUT")
    assert (answer.status, answer.code) == \
        (400, "XAmzContentSHA256Mismatch"), answer.body
    assert "k" not in server.buckets["data"].versions
    still_serves(server, proxy)
    not_complete(proxy, "put")


def test_a_wrong_md5_and_a_wrong_checksum_in_a_field(server: Server,
                                                     proxy: Proxy) -> None:
    for name, value in (("content-md5", content_md5(b"other")),
                        ("x-amz-checksum-crc32", "AAAAAA=="),
                        ("x-amz-checksum-sha256", "AAAA")):
        answer = put(proxy, "k", fields=[(name, value)], mode="unsigned")
        assert answer.status == 400, answer
        assert answer.code in ("BadDigest", "InvalidDigest",
                               "InvalidRequest"), answer.body
    assert "k" not in server.buckets["data"].versions
    still_serves(server, proxy)
    not_complete(proxy, "put")


# -- heads of clients -------------------------------------------------------

def test_a_header_of_1_mb(server: Server, proxy: Proxy) -> None:
    data = b"GET /data/k HTTP/1.1\r\nhost: x\r\nx-big: " + b"x" * (1 << 20) + \
        b"\r\n\r\n"
    answer = raw(proxy, data)
    assert answer == b"" or answer.split(b" ")[1] in (b"400", b"431"), answer
    assert server.log == []
    still_serves(server, proxy)
    assert proxy.memory_kib() < LIMIT_KIB


@pytest.mark.parametrize("key", ["x" * 1025, "x" * 8000])
def test_a_key_that_is_too_long(server: Server, proxy: Proxy,
                                key: str) -> None:
    answer = put(proxy, key, b"x")
    assert answer.status == 400 and answer.code == "KeyTooLongError", answer
    still_serves(server, proxy)


def test_a_request_for_another_service(server: Server, proxy: Proxy) -> None:
    data = (b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
            b"content-length: 2\r\nauthorization: AWS4-HMAC-SHA256 "
            b"Credential=K/20260101/us-east-1/sts/aws4_request, "
            b"SignedHeaders=host, Signature=" + b"0" * 64 + b"\r\n\r\nab")
    answer = raw(proxy, data)
    assert answer.split(b" ")[1] == b"501", answer
    assert b"signed for 'sts'" in answer.replace(b"&apos;", b"'").replace(
        b"&#39;", b"'"), answer
    assert server.log == []
    still_serves(server, proxy)


HEADS: dict[str, bytes] = {
    "two lengths": b"PUT /data/k HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n"
                   b"content-length: 6\r\n\r\nhello!",
    "length and chunks": b"PUT /data/k HTTP/1.1\r\nhost: x\r\ncontent-length: "
                         b"5\r\ntransfer-encoding: chunked\r\n\r\n"
                         b"0\r\n\r\nGET /data/z HTTP/1.1\r\nhost: x\r\n\r\n",
    "two hosts": b"GET /data/k HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
    "no host": b"GET /data/k HTTP/1.1\r\n\r\n",
    "bare LF": b"GET /data/k HTTP/1.1\nhost: x\n\n",
    "folded": b"GET /data/k HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n",
    "NUL": b"GET /data/k HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n",
    "blank before colon": b"GET /data/k HTTP/1.1\r\nhost : x\r\n\r\n",
    "other coding": b"PUT /data/k HTTP/1.1\r\nhost: x\r\n"
                    b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "NUL in path": b"GET /data/a%00b HTTP/1.1\r\nhost: x\r\n\r\n",
    "bad escape": b"GET /data/a%zz HTTP/1.1\r\nhost: x\r\n\r\n",
    "not UTF-8": b"GET /data/a%ff%fe HTTP/1.1\r\nhost: x\r\n\r\n",
    "CONNECT": b"CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n",
    "asterisk": b"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n",
}


@pytest.mark.parametrize("name", HEADS)
def test_a_malformed_head(server: Server, proxy: Proxy, name: str) -> None:
    answer = raw(proxy, HEADS[name], close=True)
    assert answer == b"" or answer.split(b" ")[1][:1] == b"4" or \
        answer.split(b" ")[1] == b"501", answer
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert not server.seen(key="z")
    assert all(s.status == 0 or s.status >= 400 for s in server.log)
    still_serves(server, proxy)


def test_an_absolute_target_does_not_choose_the_upstream(
        server: Server, proxy: Proxy) -> None:
    """Else the proxy would sign requests for any host."""
    other = Server()
    try:
        answer = raw(proxy, (
            f"GET {other.endpoint}/data/k HTTP/1.1\r\nhost: "
            f"127.0.0.1:{other.port}\r\nconnection: close\r\n"
            "authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/"
            "s3/aws4_request, SignedHeaders=host, Signature=00\r\n\r\n")
            .encode())
        assert answer.startswith(b"HTTP/1.1 ")
        assert other.log == []
    finally:
        other.stop()
    still_serves(server, proxy)


def test_fields_of_the_client_cannot_end_the_head(server: Server,
                                                  proxy: Proxy) -> None:
    """A line break in an escaped part stays escaped."""
    answer = raw(proxy, b"GET /data/a%0d%0ax-evil:%201?x=%0d%0ay HTTP/1.1\r\n"
                 b"host: x\r\nconnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 ")
    for seen in server.log:
        assert not seen.field("x-evil")
    still_serves(server, proxy)


def test_a_thousand_clients_of_one_process(server: Server,
                                           tmp_path: Path) -> None:
    """Each is looked for in a process that has a thousand descriptors."""
    n = 1000
    put(server, "k", b"small")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    proxy = started(server, tmp_path)  # with the limits of a shell
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    try:
        clients = [Connection(proxy.endpoint) for _ in range(n)]
        for connection in clients:
            connection.sock.sendall(
                connection.parts(Request("GET", "/data/k"))[0])
        answers = [connection.answer("GET") for connection in clients]
        for connection in clients:
            connection.close()
        assert {(a.status, a.body) for a in answers} == {(200, b"small")}
        log = proxy.ended_log()
    finally:
        proxy.stop()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert [line.pid for line in log] == [str(os.getpid())] * n


def test_slow_heads_do_not_block_others(server: Server, proxy: Proxy) -> None:
    sockets = [Connection(proxy.endpoint) for _ in range(50)]
    for connection in sockets:
        connection.sock.sendall(b"GET /data/k HTTP/1.1\r\nhost:")
    still_serves(server, proxy)
    for connection in sockets:
        connection.close()


# -- upstreams --------------------------------------------------------------

@pytest.mark.parametrize("kind", ["close", "garbage"])
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_an_upstream_that_does_not_answer(server: Server, proxy: Proxy,
                                          kind: str, method: str) -> None:
    put(server, "k")
    server.forget()
    server.fault(kind, times=10)
    answer = get(proxy, "k") if method == "GET" else put(proxy, "new")
    is_upstream_error(answer, 502)
    if method == "PUT":
        assert len(server.seen("put", "new")) == 1, "a PUT was retried"
    still_serves(server, proxy)
    not_complete(proxy, method.lower(), "k" if method == "GET" else "new")


def test_an_upstream_with_a_head_of_1_mb(server: Server,
                                         proxy: Proxy) -> None:
    server.fault("big-head", size=1 << 20)
    is_upstream_error(get(proxy, "k"), 502)
    still_serves(server, proxy)


def test_an_upstream_that_is_not_there(server: Server, proxy: Proxy) -> None:
    server.stop()
    is_upstream_error(get(proxy, "k"), 502)
    is_upstream_error(put(proxy, "k"), 502)
    not_complete(proxy, "put")


def test_an_upstream_that_resets_an_upload(server: Server,
                                           proxy: Proxy) -> None:
    server.fault("reset-request", at=500_000)
    is_upstream_error(put(proxy, "k"), 502)
    assert len(server.seen("put", "k")) == 1, "an upload was retried"
    still_serves(server, proxy)
    not_complete(proxy, "put")


@pytest.mark.parametrize(("kind", "more"), [
    ("reset", {"at": 0}), ("reset", {"at": 700_000}), ("short", {"at": 0}),
    ("short", {"at": 1_499_999}), ("length", {"size": 1}),
    ("stall", {"at": 100_000})])
def test_a_download_that_is_cut(server: Server, proxy: Proxy, kind: str,
                                more: dict[str, object]) -> None:
    put(server, "k")
    server.fault(kind, op="get", **more)
    answer = get(proxy, "k")
    assert not answer.complete or answer.status == 502, "the cut was hidden"
    if answer.status == 200:
        assert BODY.startswith(answer.body)
    still_serves(server, proxy)
    logged = not_complete(proxy, "get")
    assert logged is not None


def test_a_length_that_is_too_small(server: Server, proxy: Proxy) -> None:
    """The bytes after the body are never the answer to another request."""
    put(server, "k")
    server.fault("length", op="get", size=-5)
    with Connection(proxy.endpoint) as connection:
        first = connection.send(Request("GET", "/data/k"))
        assert first.body == BODY[:-5]
        try:
            assert connection.send(Request("GET", "/data/k")).body == BODY
        except CUT:
            pass
    still_serves(server, proxy)


def test_an_upstream_that_stalls(server: Server, proxy: Proxy) -> None:
    put(server, "k")
    server.fault("stall-request", op="put", at=100_000)
    is_upstream_error(put(proxy, "new"), 504)
    still_serves(server, proxy)
    not_complete(proxy, "put", "new")


def test_a_stalled_upstream_costs_no_memory(server: Server,
                                            proxy: Proxy) -> None:
    big = os.urandom(1 << 20) * 64
    server.fault("stall-request", op="put", at=100_000, times=4)
    answers: list[Answer] = []

    def upload() -> None:
        try:
            answers.append(put(proxy, "new", big, mode="unsigned"))
        except CUT:
            pass

    threads = [threading.Thread(target=upload) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(a.status == 504 for a in answers)
    assert proxy.memory_kib() < LIMIT_KIB
    still_serves(server, proxy)


def test_a_client_that_does_not_read_costs_no_memory(server: Server,
                                                     proxy: Proxy) -> None:
    big = os.urandom(1 << 20) * 64
    server.buckets["data"].put("big", big, {}, {})
    with Connection(proxy.endpoint) as connection:
        head, _ = connection.parts(Request("GET", "/data/big"))
        connection.sock.sendall(head)
        time.sleep(0.5)
        assert proxy.memory_kib("VmRSS") < LIMIT_KIB
    still_serves(server, proxy)
    not_complete(proxy, "get", "big")


def test_bytes_that_drip_arrive(server: Server, proxy: Proxy) -> None:
    put(server, "k", BODY[:50])
    server.fault("drip", op="get", size=10, pause_s=0.3)  # 1.5 s in all
    assert get(proxy, "k").body == BODY[:50]


@pytest.mark.parametrize(("status", "code"), [
    (503, "SlowDown"), (500, "InternalError"), (503, "ServiceUnavailable"),
    (400, "ExpiredToken"), (403, "AccessDenied"), (409, "OperationAborted")])
@pytest.mark.parametrize("late", [False, True])
def test_errors_of_s3_are_passed_on(server: Server, proxy: Proxy, status: int,
                                    code: str, late: bool) -> None:
    """The client decides about another try: the proxy makes none."""
    server.fault("error", status=status, code=code, late=late, times=10)
    answer = put(proxy, "k")
    assert (answer.status, answer.code) == (status, code)
    assert len(server.seen("put")) == 1
    answer = get(proxy, "k")
    assert (answer.status, answer.code) == (status, code)
    assert len(server.seen("get")) == 1
    still_serves(server, proxy)
    not_complete(proxy, "put")


def test_an_upload_whose_answer_was_lost_is_not_complete(
        server: Server, proxy: Proxy) -> None:
    server.fault("lost", status=500, code="InternalError")
    assert put(proxy, "k").code == "InternalError"
    assert len(server.seen("put")) == 1
    not_complete(proxy, "put")


def test_a_success_before_the_end_of_the_body_is_not_complete(
        server: Server, proxy: Proxy) -> None:
    server.fault("error", op="put", status=200, code="TooEarly")
    connection = Connection(proxy.endpoint)
    head, body = connection.parts(Request("PUT", "/data/k", b"x" * 10000))
    connection.sock.sendall(head + body[:100])
    assert connection.sock.recv(100).startswith(b"HTTP/1.1 200")
    connection.sock.close()
    line, = proxy.ended_log()
    assert (line.op, line.blake3, line.range) == ("put", "", "")
    assert "unfinished" in line.flags


def test_appended_content_is_not_the_object(server: Server,
                                            proxy: Proxy) -> None:
    answer = send(proxy.endpoint, Request(
        "PUT", "/data/k", b"more", fields=[("x-amz-write-offset-bytes", "9")]))
    assert answer.status == 200, answer.body
    line, = proxy.ended_log()
    assert (line.op, line.blake3, line.size) == ("put", "", "")


def test_a_completion_is_sent_once(server: Server, proxy: Proxy) -> None:
    begun = send(proxy.endpoint, Request("POST", "/data/k?uploads"))
    upload = begun.body.partition(b"<UploadId>")[2].partition(b"<")[0].decode()
    etag = send(proxy.endpoint, Request(
        "PUT", f"/data/k?partNumber=1&uploadId={upload}", BODY)).field("etag")
    server.fault("close", op="complete-upload", times=10)
    is_upstream_error(send(proxy.endpoint, Request(
        "POST", f"/data/k?uploadId={upload}",
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber>"
        f"<ETag>{etag}</ETag></Part></CompleteMultipartUpload>".encode())),
        502)
    assert len(server.seen("complete-upload")) == 1
    not_complete(proxy, "complete-upload")


def test_a_completion_with_an_error_in_a_200(server: Server,
                                             proxy: Proxy) -> None:
    """S3 may answer 200 and put an <Error> into the document."""
    begun = send(proxy.endpoint, Request("POST", "/data/k?uploads"))
    upload = begun.body.partition(b"<UploadId>")[2].partition(b"<")[0].decode()
    etag = send(proxy.endpoint, Request(
        "PUT", f"/data/k?partNumber=1&uploadId={upload}", BODY)).field("etag")
    server.fault("error", op="complete-upload", status=200,
                 code="InternalError", late=True)
    answer = send(proxy.endpoint, Request(
        "POST", f"/data/k?uploadId={upload}",
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber>"
        f"<ETag>{etag}</ETag></Part></CompleteMultipartUpload>".encode()))
    assert answer.code == "InternalError"
    found = [o for o in proxy.ended_log() if o.op == "complete-upload"]
    assert not any(o.blake3 for o in found)
    assert all(o.flags or not o.status.startswith("2") for o in found), found


@pytest.mark.parametrize("status", [301, 307, 400])
def test_a_bucket_in_another_region(server: Server, proxy: Proxy,
                                    status: int) -> None:
    server.redirect_status = status
    server.add_bucket("far", region="eu-west-1")
    server.buckets["far"].put("k", BODY, {}, {})
    answer = send(proxy.endpoint, Request("GET", "/far/k"))
    assert answer.status == 200 and answer.body == BODY
    assert [s.region for s in server.seen("get")] == ["us-east-1", "eu-west-1"]
    # Learned: an upload goes there at once.
    answer = send(proxy.endpoint, Request("PUT", "/far/new", BODY))
    assert answer.status == 200
    assert [s.region for s in server.seen("put")] == ["eu-west-1"]


def test_an_upload_to_another_region(server: Server, proxy: Proxy) -> None:
    """Its body is gone: the client sees what S3 said, and tries again."""
    server.add_bucket("far", region="eu-west-1")
    first = send(proxy.endpoint, Request("PUT", "/far/k", BODY))
    if first.status != 200:  # unless nothing of the body was sent yet
        assert first.status == 301 and first.code == "PermanentRedirect"
        assert first.field("x-amz-bucket-region") == "eu-west-1"
        assert send(proxy.endpoint,
                    Request("PUT", "/far/k", BODY)).status == 200
    assert server.buckets["far"].find("k").data == BODY


def test_a_redirect_that_never_ends(server: Server, proxy: Proxy) -> None:
    server.fault("error", status=301, code="PermanentRedirect",
                 region="eu-west-1", times=50)
    answer = get(proxy, "k")
    assert answer.status == 301
    assert len(server.seen("get")) <= 2
    still_serves(server, proxy)


def test_a_redirect_elsewhere_is_not_followed(server: Server,
                                              proxy: Proxy) -> None:
    other = Server()
    try:
        server.fault("error", status=307, code="TemporaryRedirect",
                     location=other.endpoint + "/data/k", times=5)
        assert get(proxy, "k").status == 307
        assert other.log == []
    finally:
        other.stop()


# -- credentials ------------------------------------------------------------

def started(server: Server, folder: Path, *options: str,
            **env: str) -> Proxy:
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    return Proxy(server.endpoint, folder, *options, env=env)


def test_absent_credentials(server: Server, tmp_path: Path) -> None:
    proxy = started(server, tmp_path, AWS_ACCESS_KEY_ID="",
                    AWS_SECRET_ACCESS_KEY="")
    try:
        answer = put(proxy, "k")
        assert 400 <= answer.status < 600 and answer.code, answer
        assert b"credentials" in answer.body.lower(), answer.body
        assert server.log == []
        not_complete(proxy, "put")
    finally:
        proxy.stop()


def test_expired_credentials(server: Server, tmp_path: Path) -> None:
    server.credentials["E"] = Credential("secret", "token", expired=True)
    proxy = started(server, tmp_path, AWS_ACCESS_KEY_ID="E",
                    AWS_SECRET_ACCESS_KEY="secret", AWS_SESSION_TOKEN="token")
    try:
        answer = put(proxy, "k")
        assert (answer.status, answer.code) == (400, "ExpiredToken")
        assert len(server.log) == 1
        not_complete(proxy, "put")
    finally:
        proxy.stop()


def test_wrong_credentials(server: Server, tmp_path: Path) -> None:
    proxy = started(server, tmp_path, AWS_SECRET_ACCESS_KEY="wrong")
    try:
        answer = put(proxy, "k", mode=SIGNED)
        assert (answer.status, answer.code) == (403, "SignatureDoesNotMatch")
        not_complete(proxy, "put")
    finally:
        proxy.stop()


def test_secrets_reach_no_log(server: Server, tmp_path: Path) -> None:
    server.credentials["T"] = Credential(SECRET, token="tok-en-secret")
    proxy = started(server, tmp_path, AWS_ACCESS_KEY_ID="T",
                    AWS_SESSION_TOKEN="tok-en-secret")
    client_secret: dict[str, object] = {
        "key_id": "C", "secret": "client-secret", "token": "client-token"}
    put(proxy, "k", BODY, mode=SIGNED, **client_secret)
    get(proxy, "k", presign_s=60, **client_secret)
    server.fault("close", times=3)
    errors = [get(proxy, "k", presign_s=60, **client_secret), put(proxy, "k")]
    raw(proxy, b"GET /data/k?X-Amz-Security-Token=client-token HTTP/1.1\r\n"
        b"host: x\r\nhost: y\r\n\r\n")
    assert proxy.stop() == 0
    text = proxy.log.read_text() + proxy.said() + \
        "".join(e.body.decode() for e in errors)
    for secret in (SECRET, "tok-en-secret", "client-secret", "client-token",
                   "Signature=", "chunk-signature"):
        assert secret not in text, secret


# -- the program ------------------------------------------------------------

@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"])
def test_other_machines_are_refused(server: Server, tmp_path: Path,
                                    address: str) -> None:
    with pytest.raises(RuntimeError, match="allow-remote"):
        started(server, tmp_path, "--listen", address).stop()


def test_all_interfaces_when_told(server: Server, tmp_path: Path) -> None:
    proxy = started(server, tmp_path, "--listen", "0.0.0.0:0",
                    "--allow-remote")
    assert proxy.stop() == 0


def begun_transfer(proxy: Proxy, request: Request) -> Connection:
    """A connection in the middle of a request."""
    connection = Connection(proxy.endpoint)
    head, body = connection.parts(request)
    connection.sock.sendall(head + body[:len(body) // 2])
    return connection


def wait_for(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < give_up, "waited too long"
        time.sleep(0.01)


def test_a_proxy_killed_in_the_middle(server: Server, proxy: Proxy) -> None:
    put(proxy, "done")
    connection = begun_transfer(proxy, Request("PUT", "/data/k", BODY))
    wait_for(lambda: bool(server.seen("put", "k")))
    proxy.kill()
    connection.close()
    operations, begun, ended = read_log(proxy.log)
    assert [o.key for o in operations] == ["done"]
    assert begun > len(operations) and not ended
    assert "k" not in server.buckets["data"].versions


def test_a_proxy_ended_in_the_middle(server: Server, proxy: Proxy) -> None:
    """It waits a little for open requests, and then says that they were."""
    connection = begun_transfer(proxy, Request("PUT", "/data/k", BODY))
    wait_for(lambda: bool(server.seen("put", "k")))
    logged = not_complete(proxy, "put")
    assert logged is not None and "unfinished" in logged.flags
    connection.close()


def test_a_request_at_the_end_is_finished(server: Server,
                                          proxy: Proxy) -> None:
    connection = begun_transfer(proxy, Request("PUT", "/data/k", BODY))
    wait_for(lambda: bool(server.seen("put", "k")))
    proxy.process.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    connection.sock.sendall(BODY[len(BODY) // 2:])
    assert connection.answer("PUT").status == 200
    connection.close()
    logged, = proxy.ended_log()
    assert (logged.status, logged.flags) == ("200", "")


def test_the_parent_is_gone(server: Server, tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.set_inheritable(read_end, True)
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    ready, ready_end = os.pipe()
    process = subprocess.Popen(
        [os.environ["ROAR_PROXY"], "--upstream", server.endpoint, "--log",
         str(tmp_path / "objects"), "--ready-fd", str(ready_end), "--end-fd",
         str(read_end)], pass_fds=[read_end, ready_end])
    os.close(ready_end)
    os.close(read_end)
    with os.fdopen(ready) as lines:
        assert lines.read().startswith("ready ")
    os.close(write_end)
    assert process.wait(20) == 0
    assert read_log(tmp_path / "objects") == ([], 0, True)


def test_a_full_disk(server: Server, tmp_path: Path) -> None:
    """Requests go on; the log has no end that would make it complete."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("a full disk of its own needs root")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("no mount namespaces here")
    if not os.environ.get("ROAR_PROXY"):
        pytest.skip("roar-proxy was not built")
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(
        "#!/bin/sh\nmount -t tmpfs -o size=16k none '" + str(small) +
        f"' && exec '{os.environ['ROAR_PROXY']}' \"$@\"\n")
    wrapper.chmod(0o755)
    ready, ready_end = os.pipe()
    errors = (tmp_path / "stderr").open("w+")
    process = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", str(wrapper),
         "--upstream", server.endpoint, "--log", str(small / "objects"),
         "--ready-fd", str(ready_end)],
        pass_fds=[ready_end], stderr=errors,
        env={**os.environ, "AWS_ACCESS_KEY_ID": "AKIAROARTEST",
             "AWS_SECRET_ACCESS_KEY": SECRET, "HOME": str(tmp_path)})
    os.close(ready_end)
    with os.fdopen(ready) as lines:
        endpoint = lines.read().split()[1]
    log = Path(f"/proc/{process.pid}/root{small}/objects")
    with Connection(endpoint) as connection:
        for i in range(300):
            answer = connection.send(
                Request("PUT", f"/data/{'x' * 200}{i}", b"x"))
            assert answer.status == 200, answer.body
    kept = os.open(log, os.O_RDONLY)  # outlives the mount
    process.send_signal(signal.SIGTERM)
    status = process.wait(20)
    with os.fdopen(kept) as f:
        text = f.read()
    assert not text.rstrip("\n").split("\n")[-1].startswith("end\t")
    errors.seek(0)
    said = errors.read()
    assert "No space left" in said or "ENOSPC" in said, said
    assert said.count("\n") < 20, "one line for each request"
    assert status in (0, 1)


def test_two_hundred_clients_leave_in_the_middle(server: Server,
                                                 proxy: Proxy) -> None:
    for i in range(200):
        method = "PUT" if i % 2 else "GET"
        connection = begun_transfer(proxy, Request(
            method, "/data/k", BODY[:200_000] if i % 2 else b""))
        connection.close()
    still_serves(server, proxy)
    descriptors = os.listdir(f"/proc/{proxy.process.pid}/fd")
    wait_for(lambda: len(os.listdir(
        f"/proc/{proxy.process.pid}/fd")) < max(40, len(descriptors) // 2))
