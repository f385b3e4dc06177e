"""signature.py - Signature Version 4 as a server checks it.

Written from the description of the protocol alone and sharing nothing with the C
library, so that it is a witness: test_signature.py holds it to AWS's published
examples.  verify() answers for one request head; a streaming body needs the Seed it
returns, from which each chunk's signature follows.
"""

import datetime
import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
STREAMING_UNSIGNED_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
STREAMING_SIGNED = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
STREAMING_SIGNED_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
STREAMING = (STREAMING_UNSIGNED_TRAILER, STREAMING_SIGNED,
             STREAMING_SIGNED_TRAILER)
SKEW_S = 15 * 60
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()

Fields = list[tuple[str, str]]


class Refused(Exception):
    """A request that S3 answers with an error document."""

    def __init__(self, status: int, code: str, message: str = "",
                 more: Mapping[str, str] | None = None,
                 fields: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message or code
        self.more = dict(more or {})  # further elements of the document
        self.fields = dict(fields or {})  # further fields of the answer


@dataclass
class Credential:
    """A key pair that the server knows."""

    secret: str
    token: str | None = None
    expired: bool = False


@dataclass
class Seed:
    """What the signatures of chunks and trailers start from."""

    key: bytes
    date: str  # 20130524T000000Z
    scope: str  # 20130524/us-east-1/s3/aws4_request
    signature: str

    def next_chunk(self, sha256_hex: str) -> str:
        text = "\n".join((ALGORITHM + "-PAYLOAD", self.date, self.scope,
                          self.signature, EMPTY_SHA256, sha256_hex))
        self.signature = mac_hex(self.key, text)
        return self.signature

    def trailer(self, canonical: bytes) -> str:
        text = "\n".join((ALGORITHM + "-TRAILER", self.date, self.scope,
                          self.signature,
                          hashlib.sha256(canonical).hexdigest()))
        return mac_hex(self.key, text)


@dataclass
class Verified:
    """How a request was signed."""

    how: str  # "header", "presigned", "anonymous"
    key_id: str = ""
    region: str = ""
    payload: str = UNSIGNED  # a mode, or the hex SHA-256 of the body
    seed: Seed | None = None
    signed_names: list[str] = field(default_factory=list)


def mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def mac_hex(key: bytes, text: str) -> str:
    return mac(key, text).hex()


def signing_key(secret: str, date: str, region: str,
                service: str = "s3") -> bytes:
    key = mac(b"AWS4" + secret.encode(), date)
    for step in (region, service, "aws4_request"):
        key = mac(key, step)
    return key


def uri_encode(raw: bytes, keep: bytes = b"") -> str:
    """Percent-encodes all but the unreserved characters and `keep`."""
    plain = (b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
             b"0123456789-._~" + keep)
    return "".join(chr(b) if b in plain else f"%{b:02X}" for b in raw)


def split_target(target: str) -> tuple[str, str]:
    path, _, query = target.partition("?")
    return path, query


def split_query(query: str) -> list[tuple[bytes, bytes]]:
    """The decoded parameters, in their order."""
    pairs = []
    for item in query.split("&"):
        if item:
            name, _, value = item.partition("=")
            pairs.append((unquote_to_bytes(name.replace("+", "%20")),
                          unquote_to_bytes(value.replace("+", "%20"))))
    return pairs


def canonical_query(pairs: Iterable[tuple[bytes, bytes]]) -> str:
    encoded = sorted((uri_encode(n), uri_encode(v)) for n, v in pairs
                     if n != b"X-Amz-Signature")
    return "&".join(f"{n}={v}" for n, v in encoded)


def canonical_fields(fields: Fields, names: Iterable[str]) -> str:
    """One line `name:value` for each signed field."""
    lines = []
    for name in names:
        values = [" ".join(value.split()) for n, value in fields
                  if n.lower() == name]
        if not values:
            raise Refused(403, "AccessDenied",
                          f"the signed header {name} is not there")
        lines.append(f"{name}:{','.join(values)}\n")
    return "".join(lines)


def canonical_request(method: str, target: str, fields: Fields,
                      names: list[str], payload: str) -> str:
    path, query = split_target(target)
    return "\n".join((
        method, uri_encode(unquote_to_bytes(path), b"/") or "/",
        canonical_query(split_query(query)), canonical_fields(fields, names),
        ";".join(names), payload))


def string_to_sign(date: str, scope: str, canonical: str) -> str:
    return "\n".join((ALGORITHM, date, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()))


def one_field(fields: Fields, name: str) -> str | None:
    for n, value in fields:
        if n.lower() == name:
            return value
    return None


def seconds_of(date: str) -> float:
    """The Unix time of 20130524T000000Z."""
    try:
        moment = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ")
    except ValueError:
        raise Refused(403, "AccessDenied", f"'{date}' is not a date") from None
    return moment.replace(tzinfo=datetime.timezone.utc).timestamp()


@dataclass
class Claim:
    """What a request says of its own signature."""

    how: str
    key_id: str
    scope: list[str]  # date, region, service, aws4_request
    names: list[str]
    signature: str
    date: str
    payload: str
    token: str | None
    expires_s: int | None = None


def claim_of_header(fields: Fields, value: str) -> Claim:
    match = re.fullmatch(
        ALGORITHM + r" +Credential=([^,\s]+),\s*SignedHeaders=([^,\s]+),"
        r"\s*Signature=([0-9a-f]{64})", value.strip())
    if not match:
        raise Refused(400, "AuthorizationHeaderMalformed",
                      "the Authorization header is not of Signature Version 4")
    key_id, *scope = match[1].rsplit("/", 4)
    if len(scope) != 4:
        raise Refused(400, "AuthorizationHeaderMalformed",
                      "the credential scope has not four parts")
    payload = one_field(fields, "x-amz-content-sha256")
    if payload is None:
        raise Refused(400, "InvalidRequest",
                      "Missing required header x-amz-content-sha256")
    return Claim("header", key_id, scope, match[2].split(";"), match[3],
                 one_field(fields, "x-amz-date") or "", payload,
                 one_field(fields, "x-amz-security-token"))


def claim_of_query(fields: Fields, pairs: dict[bytes, bytes]) -> Claim:
    def need(name: str) -> str:
        if name.encode() not in pairs:
            raise Refused(400, "AuthorizationQueryParametersError",
                          f"the query has no {name}")
        return pairs[name.encode()].decode("utf-8", "replace")

    if need("X-Amz-Algorithm") != ALGORITHM:
        raise Refused(400, "AuthorizationQueryParametersError",
                      "the algorithm is not supported")
    key_id, *scope = need("X-Amz-Credential").rsplit("/", 4)
    if len(scope) != 4:
        raise Refused(400, "AuthorizationQueryParametersError",
                      "the credential scope has not four parts")
    token = pairs.get(b"X-Amz-Security-Token")
    expires = need("X-Amz-Expires")
    if not expires.isdigit() or int(expires) > 604800:
        raise Refused(400, "AuthorizationQueryParametersError",
                      "X-Amz-Expires must be less than a week")
    return Claim("presigned", key_id, scope,
                 need("X-Amz-SignedHeaders").split(";"),
                 need("X-Amz-Signature"), need("X-Amz-Date"),
                 one_field(fields, "x-amz-content-sha256") or UNSIGNED,
                 token.decode() if token is not None else None, int(expires))


def check_names(fields: Fields, claim: Claim) -> None:
    """The host and all of Amazon's own fields have to be signed."""
    if claim.names != sorted(claim.names):
        raise Refused(403, "AccessDenied", "SignedHeaders are not sorted")
    wanted = {"host"} | {n.lower() for n, _ in fields
                         if n.lower().startswith("x-amz-")}
    if claim.how == "presigned":
        wanted.discard("x-amz-content-sha256")
    missing = sorted(wanted - set(claim.names))
    if missing:
        raise Refused(403, "AccessDenied",
                      "There were headers present in the request which were "
                      "not signed", {"HeadersNotSigned": ", ".join(missing)})


def check_time(claim: Claim, now_s: float) -> None:
    sent_s = seconds_of(claim.date)
    if claim.date[:8] != claim.scope[0]:
        raise Refused(400, "AuthorizationHeaderMalformed",
                      "the scope has another date than x-amz-date")
    if claim.expires_s is not None:
        if now_s > sent_s + claim.expires_s:
            raise Refused(403, "AccessDenied", "Request has expired")
        if now_s < sent_s - SKEW_S:
            raise Refused(403, "AccessDenied", "Request is not valid yet")
    elif abs(now_s - sent_s) > SKEW_S:
        raise Refused(403, "RequestTimeTooSkewed",
                      "The difference between the request time and the "
                      "current time is too large.")


def check_token(claim: Claim, known: Credential) -> None:
    if known.expired:
        raise Refused(400, "ExpiredToken",
                      "The provided token has expired.")
    if known.token != claim.token:
        raise Refused(400 if claim.token else 403, "InvalidToken",
                      "The provided token is malformed or otherwise invalid.")


def check_payload_name(payload: str) -> None:
    if payload == UNSIGNED or payload in STREAMING or \
            re.fullmatch("[0-9a-f]{64}", payload):
        return
    raise Refused(400, "InvalidArgument",
                  "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, a "
                  "STREAMING mode, or a valid sha256 value.")


def claim_of(target: str, fields: Fields) -> Claim | None:
    """None for a request without any signature."""
    pairs = dict(split_query(split_target(target)[1]))
    authorization = one_field(fields, "authorization")
    if authorization is not None:
        if b"X-Amz-Signature" in pairs:
            raise Refused(400, "InvalidArgument",
                          "Only one auth mechanism allowed")
        return claim_of_header(fields, authorization)
    if b"X-Amz-Signature" in pairs or b"X-Amz-Credential" in pairs:
        return claim_of_query(fields, pairs)
    return None


def verify(method: str, target: str, fields: Fields,
           credentials: Mapping[str, Credential], now_s: float) -> Verified:
    """Checks the signature of a request head.  Raises Refused as S3 would."""
    claim = claim_of(target, fields)
    if claim is None:
        payload = one_field(fields, "x-amz-content-sha256") or UNSIGNED
        check_payload_name(payload)
        return Verified("anonymous", payload=payload)
    check_payload_name(claim.payload)
    if claim.scope[2:] != ["s3", "aws4_request"]:
        raise Refused(400, "AuthorizationHeaderMalformed",
                      "the scope is not of s3")
    if claim.key_id not in credentials:
        raise Refused(403, "InvalidAccessKeyId",
                      "The AWS Access Key Id you provided does not exist in "
                      "our records.")
    known = credentials[claim.key_id]
    check_names(fields, claim)
    check_time(claim, now_s)
    key = signing_key(known.secret, *claim.scope[:3])
    canonical = canonical_request(method, target, fields, claim.names,
                                  claim.payload)
    to_sign = string_to_sign(claim.date, "/".join(claim.scope), canonical)
    if not hmac.compare_digest(mac_hex(key, to_sign), claim.signature):
        raise Refused(403, "SignatureDoesNotMatch",
                      "The request signature we calculated does not match "
                      "the signature you provided.",
                      {"StringToSign": to_sign, "CanonicalRequest": canonical})
    check_token(claim, known)
    return Verified(claim.how, claim.key_id, claim.scope[1], claim.payload,
                    Seed(key, claim.date, "/".join(claim.scope),
                         claim.signature), claim.names)
