"""payload.py - request bodies of S3: their envelope, their checksums.

Checksum is one running checksum by its name; read_body() takes the body of a request
in any of the five payload modes, checks everything that the request says of it, and
returns the object's bytes.
"""

import base64
import binascii
import ctypes
import functools
import hashlib
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from signature import (STREAMING, STREAMING_SIGNED, STREAMING_UNSIGNED_TRAILER,
                       UNSIGNED, Fields, Refused, Seed, Verified, one_field)

PIECE = 256 * 1024
MIN_CHUNK = 8192  # of all chunks but the last with data
MAX_CHUNK = 64 * 1024 * 1024
MAX_LINE = 8192

# Reflected polynomials, as the register holds them.
CRC32C = 0x82F63B78
CRC64NVME = 0x9A6C9329AC4BC9B5

Reader = Callable[[int], bytes]  # up to n bytes; b"" at the end of the body


@functools.cache
def crc_table(polynomial: int) -> list[int]:
    """The effect of each byte on the register."""
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (polynomial if value & 1 else 0)
        table.append(value)
    return table


@functools.cache
def crc_library() -> ctypes.CDLL | None:
    """crc_table.c, where Meson has built it."""
    path = os.environ.get("S3_CRC_LIBRARY")
    if not path:
        return None
    library = ctypes.CDLL(path)
    library.crc_table.restype = ctypes.c_uint64
    library.crc_table.argtypes = (ctypes.c_uint64 * 256, ctypes.c_uint64,
                                  ctypes.c_char_p, ctypes.c_size_t)
    return library


def crc_reflected(polynomial: int, bits: int, data: bytes,
                  value: int = 0) -> int:
    """Continues a CRC with all bits set at its start and flipped at its end."""
    table = crc_table(polynomial)
    ones = (1 << bits) - 1
    value ^= ones
    library = crc_library()
    if library:
        value = int(library.crc_table((ctypes.c_uint64 * 256)(*table), value,
                                      data, len(data)))
    else:
        for byte in data:
            value = table[(value ^ byte) & 255] ^ (value >> 8)
    return value ^ ones


def crc32(data: bytes, value: int) -> int:
    return zlib.crc32(data, value)


def crc32c(data: bytes, value: int) -> int:
    return crc_reflected(CRC32C, 32, data, value)


def crc64nvme(data: bytes, value: int) -> int:
    return crc_reflected(CRC64NVME, 64, data, value)


CRCS: dict[str, tuple[Callable[[bytes, int], int], int]] = {
    "crc32": (crc32, 4), "crc32c": (crc32c, 4), "crc64nvme": (crc64nvme, 8)}
HASHES = ("sha1", "sha256")
CHECKSUMS = (*CRCS, *HASHES)


class Checksum:
    """A running checksum; its text is what x-amz-checksum-NAME carries."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.value = 0
        self.hash = hashlib.new(name) if name in HASHES else None

    def add(self, data: bytes) -> None:
        if self.hash:
            self.hash.update(data)
        else:
            self.value = CRCS[self.name][0](data, self.value)

    def digest(self) -> bytes:
        if self.hash:
            return self.hash.digest()
        return self.value.to_bytes(CRCS[self.name][1], "big")

    def text(self) -> str:
        return base64.b64encode(self.digest()).decode()


def checksum_of(name: str, data: bytes) -> str:
    checksum = Checksum(name)
    checksum.add(data)
    return checksum.text()


@dataclass
class Body:
    """A body that passed all checks."""

    data: bytes = b""
    md5: str = ""
    sha256: str = ""
    wire_length: int = 0  # with the chunks' envelope
    checksums: dict[str, str] = field(default_factory=dict)
    trailers: Fields = field(default_factory=list)
    chunk_lengths: list[int] = field(default_factory=list)


class Chunks:
    """The envelope `aws-chunked`: hands out the data, checks the signatures."""

    def __init__(self, read: Reader, mode: str, seed: Seed | None) -> None:
        self.read_wire = read
        self.mode = mode
        self.seed = seed
        self.buffer = bytearray()
        self.lengths: list[int] = []
        self.trailers: Fields = []
        self.signed = mode != STREAMING_UNSIGNED_TRAILER
        if self.signed and seed is None:
            raise Refused(403, "AccessDenied",
                          "signed chunks need a signed request")

    def fill(self) -> None:
        piece = self.read_wire(PIECE)
        if not piece:
            raise Refused(400, "IncompleteBody",
                          "the body ended inside of a chunk")
        self.buffer += piece

    def line(self) -> bytes:
        while True:
            at = self.buffer.find(b"\n")
            if at >= 0:
                line = bytes(self.buffer[:at])
                del self.buffer[:at + 1]
                return line.removesuffix(b"\r")
            if len(self.buffer) > MAX_LINE:
                raise Refused(400, "InvalidRequest", "a chunk's line is long")
            self.fill()

    def exact(self, n: int) -> bytes:
        while len(self.buffer) < n:
            self.fill()
        data = bytes(self.buffer[:n])
        del self.buffer[:n]
        return data

    def head(self) -> tuple[int, str]:
        """The length and the signature of the next chunk."""
        size, *extensions = self.line().decode("latin-1").split(";")
        try:
            length = int(size, 16)
        except ValueError:
            raise Refused(400, "InvalidRequest",
                          "a chunk's length is not a number") from None
        if length < 0 or length > MAX_CHUNK:
            raise Refused(400, "InvalidRequest", "a chunk's length is wrong")
        signature = ""
        for extension in extensions:
            name, _, value = extension.partition("=")
            if name.strip() == "chunk-signature":
                signature = value.strip()
        return length, signature

    def check(self, signature: str, data: bytes) -> None:
        if self.seed is None or not self.signed:
            return
        wanted = self.seed.next_chunk(hashlib.sha256(data).hexdigest())
        if wanted != signature:
            raise Refused(403, "SignatureDoesNotMatch",
                          "The signature of a chunk does not match.")

    def __iter__(self) -> Iterator[bytes]:
        while True:
            length, signature = self.head()
            if length and self.lengths and self.lengths[-1] < MIN_CHUNK:
                raise Refused(403, "InvalidChunkSizeError",
                              "Only the last chunk is allowed to have a size "
                              "less than 8192 bytes")
            data = self.exact(length)
            self.check(signature, data)
            if length == 0:
                break
            self.lengths.append(length)
            if self.line():
                raise Refused(400, "InvalidRequest",
                              "a chunk is longer than its length")
            yield data
        self.end()

    def end(self) -> None:
        """After the chunk of length 0: trailers, an empty line, nothing."""
        while True:
            line = self.line()
            if not line:
                break
            name, _, value = line.decode("latin-1").partition(":")
            self.trailers.append((name.strip().lower(), value.strip()))
        if self.mode == STREAMING_SIGNED and self.trailers:
            raise Refused(400, "InvalidRequest",
                          "this payload mode has no trailers")
        if self.mode not in (STREAMING_SIGNED, STREAMING_UNSIGNED_TRAILER):
            self.check_trailer_signature()
        if self.buffer or self.read_wire(1):
            raise Refused(400, "InvalidRequest",
                          "there are bytes after the last chunk")

    def check_trailer_signature(self) -> None:
        assert self.seed is not None
        given = [v for n, v in self.trailers if n == "x-amz-trailer-signature"]
        self.trailers = [(n, v) for n, v in self.trailers
                         if n != "x-amz-trailer-signature"]
        canonical = "".join(f"{n}:{v}\n" for n, v in self.trailers)
        if given != [self.seed.trailer(canonical.encode())]:
            raise Refused(403, "SignatureDoesNotMatch",
                          "The signature of the trailer does not match.")


def pieces_of(read: Reader) -> Iterator[bytes]:
    while piece := read(PIECE):
        yield piece


def named_trailers(fields: Fields) -> list[str]:
    """The names that x-amz-trailer promises."""
    value = one_field(fields, "x-amz-trailer") or ""
    return [n.strip().lower() for n in value.split(",") if n.strip()]


def checksum_names(fields: Fields) -> list[str]:
    """The checksums that are given, or promised as a trailer."""
    given = [n.lower() for n, _ in fields] + named_trailers(fields)
    return [c for c in CHECKSUMS if f"x-amz-checksum-{c}" in given]


def check_md5(fields: Fields, digest: bytes) -> None:
    given = one_field(fields, "content-md5")
    if given is None:
        return
    try:
        wanted = base64.b64decode(given, validate=True)
    except binascii.Error:
        wanted = b""
    if len(wanted) != 16:
        raise Refused(400, "InvalidDigest",
                      "The Content-MD5 you specified was invalid.")
    if wanted != digest:
        raise Refused(400, "BadDigest",
                      "The Content-MD5 you specified did not match what we "
                      "received.")


def check_checksums(fields: Fields, trailers: Fields,
                    found: dict[str, Checksum]) -> None:
    for name, checksum in found.items():
        wanted = one_field(fields + trailers, f"x-amz-checksum-{name}")
        if wanted is None:
            raise Refused(400, "MalformedTrailerError",
                          "The request contained trailing data that was not "
                          "well-formed or did not conform to our schema.")
        if wanted != checksum.text():
            raise Refused(400, "BadDigest",
                          f"The {name.upper()} you specified did not match "
                          "the calculated checksum.")


def check_length(fields: Fields, length: int) -> None:
    value = one_field(fields, "x-amz-decoded-content-length")
    if value is None or not value.isdigit():
        raise Refused(411, "MissingContentLength",
                      "You must provide x-amz-decoded-content-length.")
    if int(value) != length:
        raise Refused(400, "IncompleteBody",
                      "You did not provide the number of bytes specified by "
                      "the x-amz-decoded-content-length header")


def read_body(fields: Fields, verified: Verified, read: Reader) -> Body:
    """Reads the body to its end.  Raises Refused for whatever S3 refuses; then
    the rest of the body has not been read."""
    body = Body()

    def count(n: int) -> bytes:
        piece = read(n)
        body.wire_length += len(piece)
        return piece

    mode = verified.payload
    checksums = {n: Checksum(n) for n in checksum_names(fields)}
    md5 = hashlib.md5()
    sha256 = hashlib.sha256()
    data = bytearray()
    chunks = Chunks(count, mode, verified.seed) if mode in STREAMING else None
    pieces = iter(chunks) if chunks else pieces_of(count)
    for piece in pieces:
        data += piece
        md5.update(piece)
        sha256.update(piece)
        for checksum in checksums.values():
            checksum.add(piece)
    if chunks:
        check_length(fields, len(data))
        body.trailers = chunks.trailers
        body.chunk_lengths = chunks.lengths
        unexpected = {n for n, _ in body.trailers} - set(named_trailers(fields))
        if unexpected:
            raise Refused(400, "MalformedTrailerError",
                          f"x-amz-trailer does not name {unexpected}")
    elif mode != UNSIGNED and mode != sha256.hexdigest():
        raise Refused(400, "XAmzContentSHA256Mismatch",
                      "The provided 'x-amz-content-sha256' header does not "
                      "match what was computed.")
    check_md5(fields, md5.digest())
    check_checksums(fields, body.trailers, checksums)
    body.data = bytes(data)
    body.md5 = md5.hexdigest()
    body.sha256 = sha256.hexdigest()
    body.checksums = {n: c.text() for n, c in checksums.items()}
    return body
