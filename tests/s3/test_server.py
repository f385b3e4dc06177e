"""The verifying server by itself: what it takes, what it refuses, what it spoils."""

import hashlib
import os
import socket
import xml.etree.ElementTree as ElementTree
from urllib.parse import quote

import client
import pytest
import signature
from client import Answer, Connection, Request, content_md5, send
from server import KEY_ID, Server
from signature import Credential

BODY = os.urandom(200_000)
KEYS = ("plain", "a b+c", "ü/€/😀", "..", "a/../b", "%2F", "line\nbreak",
        "x" * 1000, "-._~!*'()&=;@,$")


def put(server: Server, key: str, body: bytes, **more: object) -> Answer:
    return send(server.endpoint, Request(
        "PUT", f"/data/{quote(key, safe='/')}", body, **more))  # type: ignore


def get(server: Server, key: str, *fields: tuple[str, str],
        query: str = "") -> Answer:
    return send(server.endpoint, Request(
        "GET", f"/data/{quote(key, safe='/')}{query}", fields=list(fields)))


def names(answer: Answer, tag: str) -> list[str]:
    root = ElementTree.fromstring(answer.body)
    return [node.text or "" for node in root.iter()
            if node.tag.endswith("}" + tag)]


@pytest.mark.parametrize(("mode", "checksum"), client.MODES)
@pytest.mark.parametrize("size", [0, 1, 8192, 65536, 200_000])
def test_every_payload_mode_stores_the_body(server: Server, mode: str,
                                            checksum: str, size: int) -> None:
    answer = put(server, "k", BODY[:size], mode=mode, checksum=checksum)
    assert answer.status == 200, answer.body
    assert get(server, "k").body == BODY[:size]
    seen = server.seen("put")[0]
    assert seen.sha256 == hashlib.sha256(BODY[:size]).hexdigest()
    assert seen.how == "header" and not seen.cut


@pytest.mark.parametrize(("mode", "checksum"), client.MODES)
def test_bodies_in_chunks_of_http_are_the_same(server: Server, mode: str,
                                               checksum: str) -> None:
    answer = put(server, "k", BODY, mode=mode, checksum=checksum,
                 http_chunked=True, expect=True)
    assert answer.status == 200 and answer.continued
    assert get(server, "k").body == BODY


@pytest.mark.parametrize("key", KEYS)
def test_keys_are_kept_as_they_are(server: Server, key: str) -> None:
    assert put(server, key, BODY[:10]).status == 200
    assert list(server.buckets["data"].versions) == [key]
    assert get(server, key).body == BODY[:10]


def test_both_styles_of_address_find_the_same_object(server: Server) -> None:
    put(server, "a/b", b"x")
    virtual = send(server.endpoint, Request("GET", "/a/b",
                                            host="data.s3.test"))
    assert virtual.body == b"x"
    assert send(server.endpoint6, Request("GET", "/data/a/b")).body == b"x"


def test_wrong_signatures_are_refused(server: Server) -> None:
    server.credentials["T"] = Credential("s", token="tok")
    server.credentials["E"] = Credential("s", token="tok", expired=True)
    wrong: list[tuple[dict[str, object], str]] = [
        ({"secret": "wrong"}, "SignatureDoesNotMatch"),
        ({"key_id": "AKIANOBODY"}, "InvalidAccessKeyId"),
        ({"date_s": 0.0}, "RequestTimeTooSkewed"),
        ({"anonymous": True}, "AccessDenied"),
        ({"key_id": "T", "secret": "s", "token": "no"}, "InvalidToken"),
        ({"key_id": "T", "secret": "s"}, "InvalidToken"),
        ({"key_id": "E", "secret": "s", "token": "tok"}, "ExpiredToken"),
        ({"region": "eu-west-1"}, "PermanentRedirect")]
    for more, code in wrong:
        assert put(server, "k", b"x", **more).code == code
    assert put(server, "k", b"x", key_id="T", secret="s",
               token="tok").status == 200


def test_presigned_urls_work_until_they_expire(server: Server) -> None:
    assert put(server, "k", BODY, mode="unsigned", presign_s=60).status == 200
    assert server.seen("put")[0].how == "presigned"
    request = Request("GET", "/data/k", presign_s=60)
    assert send(server.endpoint, request).body == BODY
    server.clock_ahead_s = 61
    assert send(server.endpoint, request).code == "AccessDenied"


def test_wrong_bodies_are_refused_and_not_stored(server: Server) -> None:
    signed = signature.STREAMING_SIGNED
    trailer = signature.STREAMING_UNSIGNED_TRAILER
    wrong_crc = Request(
        "PUT", "/data/k", BODY, mode=trailer, checksum="crc32",
        spoil_trailer=lambda t: t.replace(b":", b":AAAA"))
    wrong_mac = Request("PUT", "/data/k", BODY, mode=signed,
                        spoil_chunk=lambda n, m: m if n < 2 else "0" * 64)
    small = Request("PUT", "/data/k", BODY, mode=signed, chunk=4096)
    md5 = Request("PUT", "/data/k", BODY,
                  fields=[("content-md5", content_md5(b"other"))])
    for request, code in ((wrong_crc, "BadDigest"),
                          (wrong_mac, "SignatureDoesNotMatch"),
                          (small, "InvalidChunkSizeError"),
                          (md5, "BadDigest")):
        assert send(server.endpoint, request).code == code
    with Connection(server.endpoint) as connection:
        head, body = connection.parts(Request("PUT", "/data/k", BODY))
        connection.sock.sendall(head + b"x" + body[1:])
        assert connection.answer("PUT").code == "XAmzContentSHA256Mismatch"
    with Connection(server.endpoint) as connection:
        head, body = connection.parts(Request("PUT", "/data/k", BODY))
        connection.sock.sendall(head + body[:-1])
        connection.sock.shutdown(socket.SHUT_WR)
        assert connection.sock.recv(1) == b""
    assert server.seen("put")[-1].cut
    assert get(server, "k").code == "NoSuchKey"


def test_ranges_and_conditions(server: Server) -> None:
    etag = put(server, "k", BODY).field("etag")
    for spec, first, last in (("0-0", 0, 1), ("5-99", 5, 100),
                              ("199999-", 199_999, 200_000),
                              ("-7", 199_993, 200_000),
                              ("100-9999999", 100, 200_000)):
        answer = get(server, "k", ("range", "bytes=" + spec))
        assert answer.status == 206 and answer.body == BODY[first:last]
    assert get(server, "k", ("range", "bytes=200000-")).code == "InvalidRange"
    assert get(server, "k", ("if-none-match", etag)).status == 304
    assert get(server, "k", ("if-match", '"no"')).code == "PreconditionFailed"
    assert put(server, "k", b"", fields=[("if-none-match", "*")]).code == \
        "PreconditionFailed"


def test_lists_have_pages_and_prefixes(server: Server) -> None:
    for key in ("a/1", "a/2", "b", "c/1", "d d"):
        put(server, key, b"x")
    for style, token in (("?list-type=2", "continuation-token"),
                         ("?", "marker")):
        query = f"{style}&delimiter=/&max-keys=2"
        first = get(server, "", query=query)
        assert names(first, "Key") == ["b"]
        assert names(first, "Prefix")[1:] == ["a/"]
        assert names(first, "IsTruncated") == ["true"]
        rest = get(server, "", query=f"{query}&{token}=b")
        assert names(rest, "Key") == ["d d"]
        assert names(rest, "Prefix")[1:] == ["c/"]
    encoded = get(server, "", query="?list-type=2&encoding-type=url&prefix=d")
    assert names(encoded, "Key") == ["d%20d"]


def test_deletions_one_by_one_and_many(server: Server) -> None:
    for key in "abc":
        put(server, key, b"x")
    assert send(server.endpoint, Request("DELETE", "/data/a")).status == 204
    body = b"<Delete><Object><Key>b</Key></Object>" \
        b"<Object><Key>none</Key></Object></Delete>"
    many = Request("POST", "/data/?delete", body)
    assert send(server.endpoint, many).code == "InvalidRequest"
    many.fields = [("content-md5", content_md5(body))]
    assert names(send(server.endpoint, many), "Key") == ["b", "none"]
    assert list(server.buckets["data"].versions) == ["c"]


def test_uploads_in_parts_and_copies(server: Server) -> None:
    server.buckets["data"].min_part = 1000
    begun = send(server.endpoint, Request("POST", "/data/big?uploads"))
    upload = names(begun, "UploadId")[0]
    put(server, "source", BODY[:5000])
    parts = [put_part(server, upload, 1, BODY[:2000]),
             put_part(server, upload, 2, b"", ("x-amz-copy-source",
                                               "data/source"),
                      ("x-amz-copy-source-range", "bytes=2000-4999")),
             put_part(server, upload, 3, BODY[5000:5001])]
    document = "".join(
        f"<Part><PartNumber>{n}</PartNumber><ETag>{etag}</ETag></Part>"
        for n, etag in enumerate(parts, 1))
    body = ("<CompleteMultipartUpload>" + document +
            "</CompleteMultipartUpload>").encode()
    done = send(server.endpoint, Request(
        "POST", f"/data/big?uploadId={upload}", body))
    assert names(done, "ETag")[0].endswith('-3"')
    assert get(server, "big").body == BODY[:5001]
    copied = put(server, "again", b"",
                 fields=[("x-amz-copy-source", "/data/big")])
    assert copied.status == 200
    assert get(server, "again").body == BODY[:5001]
    assert put(server, "no", b"", fields=[
        ("x-amz-copy-source", "/data/none")]).code == "NoSuchKey"


def put_part(server: Server, upload: str, number: int, body: bytes,
             *fields: tuple[str, str]) -> str:
    answer = send(server.endpoint, Request(
        "PUT", f"/data/big?partNumber={number}&uploadId={upload}", body,
        list(fields)))
    assert answer.status == 200, answer.body
    return answer.field("etag") or names(answer, "ETag")[0]


def test_versions_stay(server: Server) -> None:
    server.buckets["data"].versioned = True
    first = put(server, "k", b"1").field("x-amz-version-id")
    second = put(server, "k", b"2").field("x-amz-version-id")
    assert first != second
    assert get(server, "k", query=f"?versionId={first}").body == b"1"
    gone = send(server.endpoint, Request("DELETE", "/data/k"))
    assert gone.field("x-amz-delete-marker") == "true"
    assert get(server, "k").code == "NoSuchKey"
    assert get(server, "k", query=f"?versionId={second}").body == b"2"


def test_requests_in_a_pipeline_are_answered_in_order(server: Server) -> None:
    with Connection(server.endpoint) as connection:
        requests = [Request("PUT", "/data/k", BODY), Request("GET", "/data/k"),
                    Request("HEAD", "/data/k"), Request("DELETE", "/data/k")]
        parts = [connection.parts(r) for r in requests]
        connection.sock.sendall(b"".join(h + b for h, b in parts[:1]))
        connection.sock.sendall(b"".join(h + b for h, b in parts[1:]))
        answers = [connection.answer(r.method) for r in requests]
    assert [a.status for a in answers] == [200, 200, 200, 204]
    assert answers[1].body == BODY
    assert answers[2].field("content-length") == str(len(BODY))
    assert len({s.connection for s in server.log}) == 1


def test_faults_happen_as_often_as_asked(server: Server) -> None:
    put(server, "k", BODY)
    server.fault("error", op="get", times=2)
    assert [get(server, "k").status for _ in range(3)] == [503, 503, 200]
    server.fault("error", status=301, code="PermanentRedirect",
                 region="eu-west-1")
    assert get(server, "k").field("x-amz-bucket-region") == "eu-west-1"
    server.fault("error", status=500, code="InternalError", late=True)
    assert put(server, "other", BODY).code == "InternalError"
    assert server.seen("put", "other")[0].length == len(BODY)
    assert get(server, "other").code == "NoSuchKey"
    server.fault("lost", status=500, code="InternalError")
    assert put(server, "other", BODY).code == "InternalError"
    assert get(server, "other").status == 200


@pytest.mark.parametrize(("kind", "more", "length"), [
    ("short", {"at": 1000}, 1000), ("reset", {"at": 1000}, 1000),
    ("length", {"size": 5}, 200_000), ("length", {"size": -5}, 199_995),
    ("drip", {"size": 100_000, "pause_s": 0.01}, 200_000)])
def test_answers_are_spoiled(server: Server, kind: str,
                             more: dict[str, object], length: int) -> None:
    put(server, "k", BODY)
    server.fault(kind, op="get", **more)
    answer = get(server, "k")
    assert answer.body == BODY[:length]
    assert answer.complete == (kind == "drip" or more.get("size") == -5)
    assert get(server, "k").body == BODY


@pytest.mark.parametrize("kind", ["close", "garbage", "reset-request"])
def test_connections_break(server: Server, kind: str) -> None:
    server.fault(kind, at=100_000 if kind == "reset-request" else 0)
    with pytest.raises((ConnectionError, ValueError, IndexError)):
        put(server, "k", BODY)
    assert get(server, "k").code == "NoSuchKey"


def test_a_stall_ends_when_it_is_released(server: Server) -> None:
    put(server, "k", BODY)
    fault = server.fault("stall", at=500)
    with Connection(server.endpoint) as connection:
        connection.sock.sendall(connection.parts(
            Request("GET", "/data/k"))[0])
        connection.sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            while True:
                connection.buffer += connection.sock.recv(65536)
        assert connection.buffer.endswith(BODY[:500])
        fault.released.set()
        connection.sock.settimeout(10)
        assert connection.sock.recv(1) == b""


def test_the_log_has_what_arrived(server: Server) -> None:
    put(server, "a b", BODY, mode=signature.STREAMING_SIGNED_TRAILER,
        checksum="sha256", fields=[("x-amz-meta-who", "me")])
    seen, = server.log
    assert (seen.method, seen.target, seen.bucket, seen.key, seen.status) == \
        ("PUT", "/data/a%20b", "data", "a b", 200)
    assert seen.length == len(BODY) < seen.wire_length
    assert seen.chunk_lengths == [65536, 65536, 65536, 3392]
    assert [n for n, _ in seen.trailers] == ["x-amz-checksum-sha256"]
    assert seen.field("X-Amz-Meta-Who".lower()) == "me"
    assert KEY_ID in (seen.field("authorization") or "")
