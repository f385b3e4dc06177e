"""The witness itself: AWS's published examples of Signature Version 4 for S3.

The key pair, the requests and the signatures are those of the chapter "Authenticating
Requests" of the Amazon S3 API reference.
"""

import hashlib

import payload
import pytest
import signature
from signature import Credential, Fields, Refused, Seed

KEY_ID = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"  # noqa: S105
DATE = "20130524T000000Z"
NOW_S = signature.seconds_of(DATE)
HOST = "examplebucket.s3.amazonaws.com"
BODY = b"Welcome to Amazon S3."
BODY_SHA256 = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
LONG = b"a" * 66560


def signed(fields: dict[str, str], mac: str, payload_name: str) -> Fields:
    every = {"host": HOST, "x-amz-date": DATE,
             "x-amz-content-sha256": payload_name, **fields}
    names = ";".join(sorted(n.lower() for n in every))
    return [*every.items(),
            ("Authorization", "AWS4-HMAC-SHA256 Credential="
             f"{KEY_ID}/20130524/us-east-1/s3/aws4_request,"
             f"SignedHeaders={names},Signature={mac}")]


def check(method: str, target: str, fields: Fields,
          now_s: float = NOW_S) -> signature.Verified:
    return signature.verify(method, target, fields,
                            {KEY_ID: Credential(SECRET)}, now_s)


HEADER_EXAMPLES: dict[str, tuple[str, str, dict[str, str], str, str]] = {
    "get object": (
        "GET", "/test.txt", {"Range": "bytes=0-9"}, signature.EMPTY_SHA256,
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
    "put object": (
        "PUT", "/test%24file.text",
        {"Date": "Fri, 24 May 2013 00:00:00 GMT",
         "x-amz-storage-class": "REDUCED_REDUNDANCY"}, BODY_SHA256,
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
    "get bucket lifecycle": (
        "GET", "/?lifecycle", {}, signature.EMPTY_SHA256,
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    "list objects": (
        "GET", "/?max-keys=2&prefix=J", {}, signature.EMPTY_SHA256,
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
}


@pytest.mark.parametrize("name", HEADER_EXAMPLES)
def test_a_published_header_example_is_verified(name: str) -> None:
    method, target, fields, sha256, mac = HEADER_EXAMPLES[name]
    assert check(method, target, signed(fields, mac, sha256)).how == "header"


def test_a_changed_example_is_refused() -> None:
    method, target, fields, sha256, mac = HEADER_EXAMPLES["get object"]
    with pytest.raises(Refused, match="SignatureDoesNotMatch"):
        check(method, target + "x", signed(fields, mac, sha256))
    with pytest.raises(Refused, match="SignatureDoesNotMatch"):
        check(method, target,
              signed({**fields, "Range": "bytes=0-8"}, mac, sha256))


def test_an_unsigned_field_of_amazon_is_refused() -> None:
    method, target, fields, sha256, mac = HEADER_EXAMPLES["get object"]
    with pytest.raises(Refused, match="not signed"):
        check(method, target,
              [*signed(fields, mac, sha256), ("x-amz-acl", "public-read")])


PRESIGNED = ("/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential="
             "AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
             "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"
             "&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c010"
             "9b86d86835f995330da4c265957d157751f604d404")


def test_the_published_presigned_url_is_verified_until_it_expires() -> None:
    fields = [("Host", HOST)]
    assert check("GET", PRESIGNED, fields).how == "presigned"
    with pytest.raises(Refused, match="expired"):
        check("GET", PRESIGNED, fields, NOW_S + 86401)
    with pytest.raises(Refused, match="SignatureDoesNotMatch"):
        check("PUT", PRESIGNED, fields)


STREAM_FIELDS = {"x-amz-storage-class": "REDUCED_REDUNDANCY",
                 "Content-Encoding": "aws-chunked",
                 "x-amz-decoded-content-length": "66560",
                 "Content-Length": "66824"}
STREAM_SEED = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
STREAM_CHUNKS = (
    "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
    "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
    "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9")
TRAILER_FIELDS = {"x-amz-storage-class": "REDUCED_REDUNDANCY",
                  "Content-Encoding": "aws-chunked",
                  "x-amz-decoded-content-length": "66560",
                  "x-amz-trailer": "x-amz-checksum-crc32c"}
TRAILER_SEED = \
    "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e"
TRAILER_CHUNKS = (
    "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
    "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
    "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992")
TRAILER_MAC = \
    "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435"


def stream(chunks: tuple[str, ...], trailer: bytes = b"") -> bytes:
    pieces = LONG[:65536], LONG[65536:], b""
    out = b"".join(f"{len(p):x};chunk-signature={mac}\r\n".encode() + p +
                   (b"\r\n" if p else b"")
                   for p, mac in zip(pieces, chunks))
    return out + trailer + b"\r\n"


def reader(data: bytes) -> payload.Reader:
    left = bytearray(data)

    def read(n: int) -> bytes:
        piece = bytes(left[:n])
        del left[:n]
        return piece

    return read


def read(fields: dict[str, str], mac: str, mode: str,
         wire: bytes) -> payload.Body:
    head = signed(fields, mac, mode)
    verified = check("PUT", "/examplebucket/chunkObject.txt",
                     [("host", "s3.amazonaws.com"),
                      *(f for f in head if f[0] != "host")])
    return payload.read_body(head, verified, reader(wire))


def test_the_published_chunks_are_verified() -> None:
    wire = stream(STREAM_CHUNKS)
    body = read(STREAM_FIELDS, STREAM_SEED, signature.STREAMING_SIGNED, wire)
    assert body.data == LONG
    assert body.wire_length == len(wire) == 66824


def test_the_published_trailer_is_verified() -> None:
    wire = stream(TRAILER_CHUNKS,
                  b"x-amz-checksum-crc32c:sOO8/Q==\r\n"
                  b"x-amz-trailer-signature:" + TRAILER_MAC.encode() + b"\r\n")
    body = read(TRAILER_FIELDS, TRAILER_SEED,
                signature.STREAMING_SIGNED_TRAILER, wire)
    assert body.data == LONG
    assert body.trailers == [("x-amz-checksum-crc32c", "sOO8/Q==")]


@pytest.mark.parametrize("spoiled", range(3))
def test_each_chunk_signature_is_checked(spoiled: int) -> None:
    chunks = list(STREAM_CHUNKS)
    chunks[spoiled] = "0" * 64
    with pytest.raises(Refused, match="chunk does not match"):
        read(STREAM_FIELDS, STREAM_SEED, signature.STREAMING_SIGNED,
             stream(tuple(chunks)))


def test_trailers_are_checked() -> None:
    trailer = b"x-amz-checksum-crc32c:sOO8/Q==\r\n" \
        b"x-amz-trailer-signature:" + TRAILER_MAC.encode() + b"\r\n"
    for wrong in (trailer.replace(b"sOO8", b"sOO9"), trailer[:32],
                  trailer.replace(b"d81f", b"d81e"), b""):
        with pytest.raises(Refused):
            read(TRAILER_FIELDS, TRAILER_SEED,
                 signature.STREAMING_SIGNED_TRAILER,
                 stream(TRAILER_CHUNKS, wrong))


@pytest.mark.parametrize("cut", [0, 10, 100, 65536 + 100, 66824 - 2])
def test_a_body_that_is_cut_is_refused(cut: int) -> None:
    with pytest.raises(Refused, match="IncompleteBody"):
        read(STREAM_FIELDS, STREAM_SEED, signature.STREAMING_SIGNED,
             stream(STREAM_CHUNKS)[:cut])


# The check values of the CRC catalogue, and those of the empty string.
CHECK_VALUES = {"crc32": "cbf43926", "crc32c": "e3069283",
                "crc64nvme": "ae8b14860a799888",
                "sha1": hashlib.sha1(b"123456789").hexdigest(),
                "sha256": hashlib.sha256(b"123456789").hexdigest()}


@pytest.mark.parametrize("name", payload.CHECKSUMS)
def test_checksums_have_their_published_values(name: str) -> None:
    checksum = payload.Checksum(name)
    checksum.add(b"1234")
    checksum.add(b"")
    checksum.add(b"56789")
    assert checksum.digest().hex() == CHECK_VALUES[name]
    if name.startswith("crc"):
        assert payload.Checksum(name).digest().strip(b"\0") == b""


@pytest.mark.parametrize("name", ["crc32c", "crc64nvme"])
def test_a_crc_is_the_same_in_pieces(name: str) -> None:
    data = bytes(i * 7 & 255 for i in range(1000))
    whole = payload.checksum_of(name, data)
    for cut in (0, 1, 7, 8, 9, 500, 999, 1000):
        checksum = payload.Checksum(name)
        checksum.add(data[:cut])
        checksum.add(data[cut:])
        assert checksum.text() == whole


def test_a_seed_moves_on_with_each_chunk() -> None:
    seed = Seed(signature.signing_key(SECRET, "20130524", "us-east-1"), DATE,
                "20130524/us-east-1/s3/aws4_request", STREAM_SEED)
    pieces = LONG[:65536], LONG[65536:], b""
    assert tuple(seed.next_chunk(hashlib.sha256(p).hexdigest())
                 for p in pieces) == STREAM_CHUNKS
