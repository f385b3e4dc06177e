"""client.py - a client of S3 that can send anything, right or wrong.

Request describes one request; sign() completes its fields, envelope() its body in one
of the five payload modes; `spoil` functions of a test change what comes out.  send()
talks HTTP/1.1 over a socket and returns the answer as it arrived.
"""

import base64
import hashlib
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import payload
import signature
from signature import Fields

PATIENCE_S = 30


@dataclass
class Request:
    method: str = "GET"
    target: str = "/"  # raw, as it is sent
    body: bytes = b""
    fields: Fields = field(default_factory=list)
    mode: str = "signed"  # signed, unsigned, or a STREAMING mode
    checksum: str = ""  # of CHECKSUMS; a field, or the trailer
    chunk: int = 64 * 1024
    host: str = ""  # instead of the address
    region: str = "us-east-1"
    key_id: str = "AKIAROARTEST"
    secret: str = "s3cr3t/of+the=test"  # noqa: S105
    token: str | None = None
    date_s: float | None = None
    presign_s: int = 0  # signed in the query, for so many seconds
    anonymous: bool = False
    expect: bool = False  # Expect: 100-continue
    http_chunked: bool = False  # Transfer-Encoding instead of a length
    spoil_chunk: Callable[[int, str], str] | None = None  # of a signature
    spoil_trailer: Callable[[bytes], bytes] | None = None


@dataclass
class Answer:
    status: int
    fields: Fields
    body: bytes
    continued: bool = False  # 100 Continue came first
    complete: bool = True  # the body had its length

    def field(self, name: str) -> str:
        return signature.one_field(self.fields, name) or ""

    @property
    def code(self) -> str:
        """The <Code> of an error document."""
        found = self.body.partition(b"<Code>")[2].partition(b"</Code>")[0]
        return found.decode()


def payload_name(request: Request) -> str:
    if request.mode == "signed":
        return hashlib.sha256(request.body).hexdigest()
    if request.mode == "unsigned":
        return signature.UNSIGNED
    return request.mode


def has_trailer(request: Request) -> bool:
    return request.mode in (signature.STREAMING_UNSIGNED_TRAILER,
                            signature.STREAMING_SIGNED_TRAILER)


def data_fields(request: Request) -> Fields:
    """What the fields say of the body."""
    fields: Fields = []
    if request.mode in signature.STREAMING:
        fields += [("content-encoding", "aws-chunked"),
                   ("x-amz-decoded-content-length", str(len(request.body)))]
    name = f"x-amz-checksum-{request.checksum}"
    if request.checksum and has_trailer(request):
        fields.append(("x-amz-trailer", name))
    elif request.checksum:
        fields.append((name, payload.checksum_of(request.checksum,
                                                 request.body)))
    return fields


def sign(request: Request, host: str) -> tuple[str, Fields,
                                               signature.Seed | None]:
    """The target and the fields to send, and what the chunks start from."""
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(
        time.time() if request.date_s is None else request.date_s))
    fields = [("host", host), *data_fields(request), *request.fields]
    if request.anonymous:
        if request.mode in signature.STREAMING:
            fields.append(("x-amz-content-sha256", request.mode))
        return request.target, fields, None
    scope = "/".join((date[:8], request.region, "s3", "aws4_request"))
    if request.presign_s:
        return presign(request, fields, date, scope), fields, None
    fields += [("x-amz-date", date),
               ("x-amz-content-sha256", payload_name(request))]
    if request.token is not None:
        fields.append(("x-amz-security-token", request.token))
    names = sorted({n.lower() for n, _ in fields})
    canonical = signature.canonical_request(
        request.method, request.target, fields, names, payload_name(request))
    key = signature.signing_key(request.secret, date[:8], request.region)
    mac = signature.mac_hex(
        key, signature.string_to_sign(date, scope, canonical))
    fields.append(("authorization",
                   f"{signature.ALGORITHM} Credential={request.key_id}/{scope}"
                   f", SignedHeaders={';'.join(names)}, Signature={mac}"))
    return request.target, fields, signature.Seed(key, date, scope, mac)


def presign(request: Request, fields: Fields, date: str, scope: str) -> str:
    names = sorted({n.lower() for n, _ in fields
                    if n == "host" or n.lower().startswith("x-amz-")})
    path, query = signature.split_target(request.target)
    pairs = [*signature.split_query(query),
             (b"X-Amz-Algorithm", signature.ALGORITHM.encode()),
             (b"X-Amz-Credential", f"{request.key_id}/{scope}".encode()),
             (b"X-Amz-Date", date.encode()),
             (b"X-Amz-Expires", str(request.presign_s).encode()),
             (b"X-Amz-SignedHeaders", ";".join(names).encode())]
    if request.token is not None:
        pairs.append((b"X-Amz-Security-Token", request.token.encode()))
    target = f"{path}?{signature.canonical_query(pairs)}"
    canonical = signature.canonical_request(
        request.method, target, fields, names, signature.UNSIGNED)
    key = signature.signing_key(request.secret, date[:8], request.region)
    mac = signature.mac_hex(
        key, signature.string_to_sign(date, scope, canonical))
    return f"{target}&X-Amz-Signature={mac}"


def envelope(request: Request, seed: signature.Seed | None) -> bytes:
    """The body as it is sent."""
    if request.mode not in signature.STREAMING:
        return request.body
    out = []
    signed = request.mode != signature.STREAMING_UNSIGNED_TRAILER
    starts = [*range(0, len(request.body), request.chunk), len(request.body)]
    for number, at in enumerate(starts):
        data = request.body[at:at + request.chunk]
        line = f"{len(data):x}"
        if signed and seed:
            mac = seed.next_chunk(hashlib.sha256(data).hexdigest())
            if request.spoil_chunk:
                mac = request.spoil_chunk(number, mac)
            line += f";chunk-signature={mac}"
        out.append(f"{line}\r\n".encode() + data)
        if data:
            out.append(b"\r\n")
    return b"".join(out) + trailer(request, seed) + b"\r\n"


def trailer(request: Request, seed: signature.Seed | None) -> bytes:
    if not has_trailer(request):
        return b""
    canonical = b""
    if request.checksum:
        value = payload.checksum_of(request.checksum, request.body)
        canonical = f"x-amz-checksum-{request.checksum}:{value}\n".encode()
    if request.spoil_trailer:
        canonical = request.spoil_trailer(canonical)
    lines = canonical.replace(b"\n", b"\r\n")
    if request.mode == signature.STREAMING_SIGNED_TRAILER and seed:
        mac = seed.trailer(canonical)
        lines += f"x-amz-trailer-signature:{mac}\r\n".encode()
    return lines


def parts(request: Request, host: str) -> tuple[bytes, bytes]:
    """Head and body, as bytes to send."""
    target, fields, seed = sign(request, request.host or host)
    body = envelope(request, seed)
    if request.http_chunked:
        fields.append(("transfer-encoding", "chunked"))
        body = http_chunks(body)
    elif body or request.method in ("PUT", "POST"):
        fields.append(("content-length", str(len(body))))
    if request.expect:
        fields.append(("expect", "100-continue"))
    lines = [f"{request.method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in fields]
    head = "\r\n".join(lines) + "\r\n\r\n"
    return head.encode("utf-8", "surrogateescape"), body


class Connection:
    """A connection that stays open for several requests."""

    def __init__(self, endpoint: str) -> None:
        address, _, port = endpoint.partition("//")[2].rpartition(":")
        self.host = f"{address}:{port}"
        self.sock = socket.create_connection((address.strip("[]"), int(port)),
                                             PATIENCE_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def close(self) -> None:
        self.sock.close()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def parts(self, request: Request) -> tuple[bytes, bytes]:
        return parts(request, self.host)

    def send(self, request: Request) -> Answer:
        head, body = self.parts(request)
        self.sock.sendall(head)
        if request.expect:
            first = self.answer(request.method, interim=True)
            if first.status != 100:
                return first
            self.sock.sendall(body)
            last = self.answer(request.method)
            last.continued = True
            return last
        try:
            self.sock.sendall(body)
        except (ConnectionResetError, BrokenPipeError):
            pass  # an early refusal: its answer may still be there
        return self.answer(request.method)

    def fill(self) -> bool:
        more = self.sock.recv(1 << 20)
        self.buffer += more
        return bool(more)

    def answer(self, method: str, interim: bool = False) -> Answer:
        while True:
            while b"\r\n\r\n" not in self.buffer:
                if not self.fill():
                    raise ConnectionError(
                        f"the connection ended after {self.buffer!r}")
            text, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
            first, *lines = text.decode("utf-8", "surrogateescape") \
                .split("\r\n")
            status = int(first.split(" ")[1])
            if status != 100 or interim:
                break
        fields = [(n, v.strip()) for n, _, v in
                  (line.partition(":") for line in lines)]
        answer = Answer(status, fields, b"")
        if method != "HEAD" and status not in (100, 204, 304):
            self.read_body(answer)
        return answer

    def read_body(self, answer: Answer) -> None:
        if answer.field("transfer-encoding").lower() == "chunked":
            answer.body, answer.complete = self.read_chunks()
            return
        length = answer.field("content-length")
        wanted = int(length) if length else -1
        pieces, have = [self.buffer], len(self.buffer)
        self.buffer = b""
        while wanted < 0 or have < wanted:
            try:
                piece = self.sock.recv(1 << 20)
            except ConnectionResetError:
                piece = b""
            if not piece:
                answer.complete = wanted < 0
                break
            pieces.append(piece)
            have += len(piece)
        data = b"".join(pieces)
        if wanted >= 0:
            data, self.buffer = data[:wanted], data[wanted:]
        answer.body = data

    def read_chunks(self) -> tuple[bytes, bool]:
        out: list[bytes] = []
        while True:
            while b"\r\n" not in self.buffer:
                if not self.fill():
                    return b"".join(out), False
            line, _, self.buffer = self.buffer.partition(b"\r\n")
            length = int(line.split(b";")[0], 16)
            while len(self.buffer) < length + 2:
                if not self.fill():
                    return b"".join([*out, self.buffer]), False
            out.append(self.buffer[:length])
            self.buffer = self.buffer[length + 2:]
            if length == 0:
                return b"".join(out), True


def http_chunks(body: bytes, size: int = 50_000) -> bytes:
    out = [f"{len(body[i:i + size]):x}\r\n".encode() + body[i:i + size] +
           b"\r\n" for i in range(0, len(body), size)]
    return b"".join(out) + b"0\r\n\r\n"


def send(endpoint: str, request: Request) -> Answer:
    """One request on a connection of its own."""
    with Connection(endpoint) as connection:
        return connection.send(request)


def content_md5(body: bytes) -> str:
    return base64.b64encode(hashlib.md5(body).digest()).decode()


# (payload mode, checksum) for each way to send a body.
MODES = [("signed", ""), ("signed", "crc32"), ("unsigned", ""),
         ("unsigned", "crc32"), (signature.STREAMING_SIGNED, ""),
         *((mode, checksum) for mode in (signature.STREAMING_UNSIGNED_TRAILER,
                                         signature.STREAMING_SIGNED_TRAILER)
           for checksum in payload.CHECKSUMS)]
