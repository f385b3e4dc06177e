"""call.py - one request on its way through the test server, and the XML of answers.

World is what a request may know of the server: its buckets, its key pairs, its clock.
"""

import email.utils
import re
import threading
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes
from xml.sax.saxutils import escape

from objects import Bucket
from payload import Body, read_body
from signature import (Credential, Fields, Refused, Verified, one_field,
                       split_query, split_target, verify)
from wire import Head, Wire

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


class World:
    """What the requests of one server share."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # of the buckets, the log and the faults
        self.buckets: dict[str, Bucket] = {}
        self.credentials: dict[str, Credential] = {}
        self.domains = ["s3.test", "s3.amazonaws.com", "localhost"]
        self.redirect_status = 301  # for a wrong region; or 307, 400
        self.clock_ahead_s = 0.0

    def now(self) -> float:
        return time.time() + self.clock_ahead_s

    def add_bucket(self, name: str, region: str = "us-east-1",
                   versioned: bool = False, public: bool = False) -> Bucket:
        bucket = self.buckets[name] = Bucket(name, region, versioned, public)
        return bucket


@dataclass
class Seen:
    """What arrived in one request and what was answered."""

    connection: int
    method: str
    target: str
    fields: Fields
    op: str = ""
    bucket: str = ""
    key: str = ""
    how: str = ""  # header, presigned, anonymous
    region: str = ""
    payload: str = ""  # mode, or hex SHA-256
    length: int = 0  # of the decoded body
    wire_length: int = 0
    sha256: str = ""  # of the decoded body, if it arrived whole
    trailers: Fields = field(default_factory=list)
    chunk_lengths: list[int] = field(default_factory=list)
    status: int = 0  # 0: not answered
    code: str = ""
    cut: bool = False  # the client left in the middle

    def field(self, name: str) -> str | None:
        return one_field(self.fields, name)


@dataclass
class Reply:
    status: int = 200
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    length: int | None = None  # of the body, where HEAD does not send it


class Call:
    """One request on its way through the server."""

    def __init__(self, server: World, wire: Wire, head: Head) -> None:
        self.server = server
        self.wire = wire
        self.head = head
        self.seen = Seen(wire.number, head.method, head.target, head.fields)
        self.path, self.query_text = split_target(head.target)
        self.query = {n.decode("utf-8", "replace"): v.decode("utf-8", "replace")
                      for n, v in split_query(self.query_text)}
        self.bucket_name, self.key = self.place()
        self.seen.bucket = self.bucket_name
        self.seen.key = self.key
        self.seen.op = operation(self)

    def place(self) -> tuple[str, str]:
        """Bucket and key by the style of the address."""
        raw = unquote_to_bytes(self.path)
        try:
            path = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused(400, "InvalidURI",
                          "Couldn't parse the specified URI.") from None
        host = re.sub(r":\d+$", "", self.head.field("host") or "").lower()
        for domain in self.server.domains:
            if host.endswith("." + domain):
                return host.removesuffix("." + domain), path[1:]
        bucket, _, key = path[1:].partition("/")
        return bucket, key

    def field(self, name: str) -> str | None:
        return self.head.field(name)

    def bucket(self) -> Bucket:
        bucket = self.server.buckets.get(self.bucket_name)
        if bucket is None:
            raise Refused(404, "NoSuchBucket",
                          "The specified bucket does not exist",
                          {"BucketName": self.bucket_name})
        return bucket

    def body(self) -> Body:
        """Reads and checks the body; the log gets what it was."""
        body = read_body(self.head.fields, self.verified, self.wire.read)
        self.seen.length = len(body.data)
        self.seen.wire_length = body.wire_length
        self.seen.sha256 = body.sha256
        self.seen.trailers = body.trailers
        self.seen.chunk_lengths = body.chunk_lengths
        return body

    def authorize(self) -> None:
        verified = verify(self.head.method, self.head.target, self.head.fields,
                          self.server.credentials, self.server.now())
        self.verified: Verified = verified
        self.seen.how = verified.how
        self.seen.region = verified.region
        self.seen.payload = verified.payload
        bucket = self.server.buckets.get(self.bucket_name)
        if verified.how == "anonymous":
            if bucket is None or not bucket.public:
                raise Refused(403, "AccessDenied", "Access Denied")
        elif bucket is not None and verified.region != bucket.region:
            raise self.wrong_region(bucket.region)

    def wrong_region(self, region: str) -> Refused:
        fields = {"x-amz-bucket-region": region}
        if self.server.redirect_status == 400:
            return Refused(400, "AuthorizationHeaderMalformed",
                           f"the region is wrong; expecting '{region}'",
                           {"Region": region}, fields)
        return Refused(self.server.redirect_status, "PermanentRedirect",
                       "The bucket you are attempting to access must be "
                       "addressed using the specified endpoint.",
                       {"Endpoint": f"s3.{region}.amazonaws.com",
                        "Bucket": self.bucket_name}, fields)


def operation(call: Call) -> str:
    """The name of what a request wants, as the object log has it."""
    method, query = call.head.method, call.query
    if not call.bucket_name:
        return "list-buckets" if method == "GET" else "other"
    if not call.key:
        return bucket_operation(method, query)
    copies = call.field("x-amz-copy-source") is not None
    if "uploadId" in query:
        if method == "PUT":
            return "upload-part-copy" if copies else "upload-part"
        return {"POST": "complete-upload", "DELETE": "abort-upload",
                "GET": "list-parts"}.get(method, "other")
    if "uploads" in query:
        return "create-upload" if method == "POST" else "other"
    if "tagging" in query and method == "GET":
        return "get-tagging"
    if set(query) & {"acl", "tagging", "retention", "legal-hold", "select",
                     "restore", "torrent", "attributes"}:
        return "other"
    if method == "PUT":
        return "copy" if copies else "put"
    return {"GET": "get", "HEAD": "head",
            "DELETE": "delete"}.get(method, "other")


def bucket_operation(method: str, query: dict[str, str]) -> str:
    if method == "POST":
        return "multi-delete" if "delete" in query else "other"
    for name in ("location", "versioning", "uploads", "versions"):
        if name in query:
            return f"{method.lower()}-{name}"
    if set(query) & {"acl", "policy", "cors", "lifecycle", "tagging",
                     "object-lock", "website", "logging", "encryption"}:
        return "other"
    return {"GET": "list", "HEAD": "head-bucket", "PUT": "create-bucket",
            "DELETE": "delete-bucket"}.get(method, "other")


# -- XML --------------------------------------------------------------------

def element(name: str, *inner: str) -> str:
    return f"<{name}>{''.join(inner)}</{name}>"


def text(name: str, value: object) -> str:
    shown = escape(str(value), {"\n": "&#10;", "\r": "&#13;"})
    shown = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]",
                   lambda m: f"&#{ord(m[0])};", shown)
    return f"<{name}>{shown}</{name}>"


def document(name: str, *inner: str) -> bytes:
    return ('<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<{name} xmlns="{NAMESPACE}">{"".join(inner)}</{name}>'
            ).encode("utf-8", "surrogateescape")


def xml_of(body: bytes) -> ElementTree.Element:
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        raise Refused(400, "MalformedXML",
                      "The XML you provided was not well-formed or did not "
                      "validate against our published schema") from None
    for node in root.iter():
        node.tag = node.tag.partition("}")[2] or node.tag
    return root


def iso(moment_s: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(moment_s))


def http_date(moment_s: float) -> str:
    return email.utils.formatdate(moment_s, usegmt=True)
