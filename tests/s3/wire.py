"""wire.py - one connection of the test server: HTTP/1.1 from its bytes.

It is written out so that a test can see and spoil everything: the raw target, the
order of the fields, the moment of `100 Continue`, the bytes of an answer.
"""

import socket
import struct
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from signature import Fields, Refused, one_field

MAX_HEAD = 64 * 1024
PIECE = 256 * 1024

REASONS = {200: "OK", 204: "No Content", 206: "Partial Content",
           301: "Moved Permanently", 304: "Not Modified",
           307: "Temporary Redirect", 400: "Bad Request", 403: "Forbidden",
           404: "Not Found", 405: "Method Not Allowed", 409: "Conflict",
           411: "Length Required", 412: "Precondition Failed",
           416: "Requested Range Not Satisfiable",
           500: "Internal Server Error", 501: "Not Implemented",
           503: "Slow Down"}


class Gone(Exception):
    """The connection is at its end, wanted or not."""


@dataclass
class Fault:
    """One thing that goes wrong, for the next `times` requests that match.

    Kinds, before anything of the body is read:
      close     the connection ends without an answer
      garbage   the answer is not HTTP
      big-head  the answer's head has a field of `size` bytes
    while the body of the request arrives:
      reset-request   RST after `at` bytes
      stall-request   nothing is read any more after `at` bytes
    with the answer's body:
      reset     RST after `at` bytes
      short     the connection ends after `at` bytes
      length    Content-Length is wrong by `size`
      stall     no more bytes after `at`
      drip      `size` bytes at a time, with `pause_s` between them
    and answers of S3:
      error     `status` and `code`; before the body is read, or after it with
                `late`; nothing is done.  `region` adds x-amz-bucket-region
      lost      the request is done, but the answer is an error
    """

    kind: str
    op: str = ""  # only requests of this operation
    key: str = ""  # only requests for this key
    method: str = ""
    times: int = 1
    at: int = 0
    size: int = 0
    pause_s: float = 0.0
    status: int = 503
    code: str = "SlowDown"
    late: bool = False
    region: str = ""
    location: str = ""
    released: threading.Event = field(default_factory=threading.Event)

    def matches(self, op: str, key: str, method: str) -> bool:
        return (self.times > 0 and self.op in ("", op) and
                self.key in ("", key) and self.method in ("", method))

    def error(self) -> Refused:
        fields = {}
        more = {}
        if self.region:
            fields["x-amz-bucket-region"] = self.region
            more["Region"] = self.region
        if self.location:
            fields["Location"] = self.location
        return Refused(self.status, self.code,
                       "Please reduce your request rate."
                       if self.code == "SlowDown" else "injected",
                       more, fields)


@dataclass
class Head:
    method: str
    target: str
    fields: Fields

    def field(self, name: str) -> str | None:
        return one_field(self.fields, name)


class Wire:
    """The bytes of one connection, both ways."""

    def __init__(self, sock: socket.socket, number: int) -> None:
        self.sock = sock
        self.number = number
        self.buffer = b""
        self.left: int | None = 0  # of the body; None: chunks of HTTP
        self.chunk_left = 0
        self.body_read = 0
        self.continue_owed = False
        self.fault: Fault | None = None

    # -- reading ------------------------------------------------------------

    def receive(self, n: int = PIECE) -> bytes:
        if self.buffer:
            piece, self.buffer = self.buffer[:n], self.buffer[n:]
            return piece
        try:
            return self.sock.recv(n)
        except OSError as error:
            raise Gone from error

    def line(self) -> bytes:
        while b"\n" not in self.buffer:
            more = self.sock.recv(PIECE)
            if not more or len(self.buffer) > MAX_HEAD:
                raise Gone
            self.buffer += more
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line.removesuffix(b"\r")

    def read_head(self) -> Head:
        try:
            while b"\r\n\r\n" not in self.buffer:
                if len(self.buffer) > MAX_HEAD:
                    raise Refused(400, "RequestHeaderSectionTooLarge",
                                  "Your request header section exceeds the "
                                  "maximum allowed size.")
                more = self.sock.recv(PIECE)
                if not more:
                    raise Gone
                self.buffer += more
        except OSError as error:
            raise Gone from error
        text, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        first, *lines = text.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0"):
            raise Refused(400, "BadRequest", "the request line is malformed")
        fields = []
        for item in lines:
            name, colon, value = item.partition(":")
            if not colon or not name or name != name.strip():
                raise Refused(400, "BadRequest", "a header is malformed")
            fields.append((name, value.strip().encode("latin-1")
                           .decode("utf-8", "surrogateescape")))
        head = Head(words[0], words[1], fields)
        self.begin_body(head)
        return head

    def begin_body(self, head: Head) -> None:
        length = head.field("content-length")
        chunked = (head.field("transfer-encoding") or "").lower() == "chunked"
        if chunked and length is not None:
            raise Refused(400, "BadRequest", "two lengths of one body")
        if length is not None and not length.isdigit():
            raise Refused(400, "BadRequest", "Content-Length is not a number")
        self.left = None if chunked else int(length or 0)
        self.chunk_left = 0
        self.body_read = 0
        self.continue_owed = (
            (head.field("expect") or "").lower() == "100-continue")

    def has_unread_body(self) -> bool:
        return self.left is None or self.left > 0

    def read(self, n: int) -> bytes:
        """The next bytes of the body, without the chunks of HTTP; b"" at its
        end.  Raises Gone if the client left before it."""
        if not self.has_unread_body():
            return b""
        if self.continue_owed:
            self.continue_owed = False
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.spoil_request()
        if self.left is None:
            return self.read_chunked(n)
        piece = self.receive(min(n, self.left))
        if not piece:
            raise Gone
        self.left -= len(piece)
        self.body_read += len(piece)
        return piece

    def read_chunked(self, n: int) -> bytes:
        try:
            if self.chunk_left == 0:
                self.chunk_left = int(self.line().split(b";")[0], 16)
                if self.chunk_left == 0:
                    while self.line():
                        pass
                    self.left = 0
                    return b""
            piece = self.receive(min(n, self.chunk_left))
            if not piece:
                raise Gone
            self.chunk_left -= len(piece)
            self.body_read += len(piece)
            if self.chunk_left == 0 and self.line():
                raise Gone
        except (OSError, ValueError) as error:
            raise Gone from error
        return piece

    # -- writing ------------------------------------------------------------

    def send(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except OSError as error:
            raise Gone from error

    def reset(self) -> None:
        """Ends the connection with RST instead of FIN."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        raise Gone

    def spoil_request(self) -> None:
        fault = self.fault
        if not fault or self.body_read < fault.at:
            return
        if fault.kind == "reset-request":
            self.reset()
        if fault.kind == "stall-request":
            fault.released.wait()
            raise Gone

    def spoil_before(self) -> None:
        fault = self.fault
        if not fault:
            return
        if fault.kind == "close":
            raise Gone
        if fault.kind == "garbage":
            self.send(b"\x15\x03\x01\x00\x02\x02\x16 not HTTP\r\n\r\n")
            raise Gone
        if fault.kind == "big-head":
            self.send(b"HTTP/1.1 200 OK\r\nx-big: ")
            self.send(b"x" * fault.size + b"\r\ncontent-length: 0\r\n\r\n")
            raise Gone

    def answer(self, status: int, fields: Fields, body: bytes,
               length: int | None, keep: bool) -> None:
        """Sends an answer; `length` is that of the body of a GET where this
        is one of a HEAD."""
        wrong = 0
        if self.fault and self.fault.kind == "length":
            wrong = self.fault.size
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in fields]
        if status not in (204, 304):
            size = len(body) if length is None else length
            lines.append(f"Content-Length: {size + wrong}")
        if not keep:
            lines.append("Connection: close")
        head = "\r\n".join(lines) + "\r\n\r\n"
        self.send(head.encode("utf-8", "surrogateescape"))
        for piece in self.spoiled(body):
            self.send(piece)
        if wrong:
            raise Gone

    def spoiled(self, body: bytes) -> Iterable[bytes]:
        """The pieces of an answer's body as the fault wants them."""
        fault = self.fault
        kind = fault.kind if fault else ""
        if fault and kind in ("reset", "short", "stall"):
            yield body[:fault.at]
            if kind == "stall":
                fault.released.wait()
            if kind == "reset":
                # What was sent has to arrive before the RST discards it.
                time.sleep(0.05)
                self.reset()
            raise Gone
        if fault and kind == "drip":
            for i in range(0, len(body), fault.size):
                yield body[i:i + fault.size]
                time.sleep(fault.pause_s)
            return
        if body:
            yield body
