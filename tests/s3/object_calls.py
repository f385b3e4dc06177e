"""object_calls.py - what the test server does with objects and uploads in parts."""

import email.utils
import re
import time
from urllib.parse import unquote_to_bytes

from call import Call, Reply, document, element, http_date, iso, text, xml_of
from objects import Bucket, Part, Upload, Version
from payload import CHECKSUMS
from signature import STREAMING, Refused

KEPT_FIELDS = ("content-type", "content-disposition", "content-encoding",
               "content-language", "cache-control", "expires")


def kept_fields(call: Call) -> dict[str, str]:
    """What of a request's head belongs to the object."""
    fields = {}
    for name, value in call.head.fields:
        name = name.lower()
        if name == "content-encoding":
            codings = [c.strip() for c in value.split(",")]
            if call.verified.payload in STREAMING:
                codings = [c for c in codings if c != "aws-chunked"]
            value = ",".join(codings)
        if value and (name in KEPT_FIELDS or name.startswith("x-amz-meta-")):
            fields[name] = value
    fields.setdefault("content-type", "binary/octet-stream")
    return fields


def check_write(call: Call, bucket: Bucket) -> None:
    """If-None-Match and If-Match of a PUT."""
    found = bucket.current(call.key)
    if call.field("if-none-match") == "*" and found:
        raise Refused(412, "PreconditionFailed",
                      "At least one of the pre-conditions you specified did "
                      "not hold", {"Condition": "If-None-Match"})
    wanted = call.field("if-match")
    if wanted is not None and (not found or
                               wanted.strip('"') != found.etag):
        raise Refused(412 if found else 404,
                      "PreconditionFailed" if found else "NoSuchKey",
                      "At least one of the pre-conditions you specified did "
                      "not hold", {"Condition": "If-Match"})


def version_fields(bucket: Bucket, version: Version) -> dict[str, str]:
    if not bucket.versioned:
        return {}
    return {"x-amz-version-id": version.version_id}


def put(call: Call) -> Reply:
    bucket = call.bucket()
    if call.field("content-length") is None and \
            call.field("transfer-encoding") is None:
        raise Refused(411, "MissingContentLength",
                      "You must provide the Content-Length HTTP header.")
    body = call.body()
    with call.server.lock:
        check_write(call, bucket)
        version = bucket.put(call.key, body.data, kept_fields(call),
                             body.checksums, body.md5)
    fields = {"ETag": f'"{version.etag}"', **version_fields(bucket, version)}
    fields.update({f"x-amz-checksum-{n}": v
                   for n, v in body.checksums.items()})
    return Reply(fields=fields)


def tags_of(value: str) -> list[str]:
    return [tag.strip().removeprefix("W/").strip('"')
            for tag in value.split(",")]


def date_of(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        return email.utils.parsedate_to_datetime(value).timestamp()
    except ValueError:
        return None


def check_read(call: Call, version: Version, prefix: str = "") -> None:
    """The conditions of a GET or HEAD, or, with a prefix, of a copy."""
    match = call.field(prefix + "if-match")
    none = call.field(prefix + "if-none-match")
    since = date_of(call.field(prefix + "if-modified-since"))
    until = date_of(call.field(prefix + "if-unmodified-since"))
    modified = int(version.modified_s)
    failed = Refused(412, "PreconditionFailed",
                     "At least one of the pre-conditions you specified did "
                     "not hold")
    if match is not None:
        if version.etag not in tags_of(match) and match != "*":
            raise failed
    elif until is not None and modified > until:
        raise failed
    unchanged = none is not None and (none == "*" or
                                      version.etag in tags_of(none))
    if none is None and since is not None:
        unchanged = modified <= since
    if unchanged and prefix:
        raise failed
    if unchanged:
        raise Refused(304, "NotModified",
                      fields={"ETag": f'"{version.etag}"'})


def range_of(value: str | None, size: int) -> tuple[int, int] | None:
    """First and last byte, or None for the whole."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", value or "")
    if not match or not (match[1] or match[2]):
        return None
    if match[1]:
        first = int(match[1])
        last = min(int(match[2]) if match[2] else size - 1, size - 1)
        if match[2] and int(match[2]) < first:
            return None
    else:
        first, last = max(0, size - int(match[2])), size - 1
    if first >= size or (not match[1] and match[2] == "0"):
        raise Refused(416, "InvalidRange",
                      "The requested range is not satisfiable",
                      {"ActualObjectSize": str(size)},
                      {"Content-Range": f"bytes */{size}"})
    return first, last


def get(call: Call) -> Reply:
    bucket = call.bucket()
    with call.server.lock:
        version = bucket.find(call.key, call.query.get("versionId"))
    check_read(call, version)
    fields = {"ETag": f'"{version.etag}"',
              "Last-Modified": http_date(version.modified_s),
              "Accept-Ranges": "bytes",
              **version.fields, **version_fields(bucket, version)}
    for name, value in call.query.items():
        if name.startswith("response-"):
            fields[name.removeprefix("response-")] = value
    size = len(version.data)
    part = range_of(call.field("range"), size)
    data = version.data if part is None else \
        version.data[part[0]:part[1] + 1]
    if part is not None:
        fields["Content-Range"] = f"bytes {part[0]}-{part[1]}/{size}"
    elif (call.field("x-amz-checksum-mode") or "").upper() == "ENABLED":
        fields.update({f"x-amz-checksum-{n}": v
                       for n, v in version.checksums.items()})
    return Reply(206 if part else 200, fields, data)


def get_tagging(call: Call) -> Reply:
    """No object has tags; awscli asks before it copies in parts."""
    with call.server.lock:
        call.bucket().find(call.key, call.query.get("versionId"))
    return Reply(body=document("Tagging", element("TagSet")))


def delete(call: Call) -> Reply:
    bucket = call.bucket()
    version_id = call.query.get("versionId")
    with call.server.lock:
        marker = bucket.delete(call.key, version_id)
    fields = {}
    if marker:
        fields = {"x-amz-delete-marker": "true",
                  "x-amz-version-id": marker.version_id}
    elif version_id:
        fields = {"x-amz-version-id": version_id}
    return Reply(204, fields)


def multi_delete(call: Call) -> Reply:
    bucket = call.bucket()
    body = call.body()
    if call.field("content-md5") is None and not body.checksums:
        raise Refused(400, "InvalidRequest",
                      "Missing required header for this request: Content-MD5 "
                      "OR x-amz-checksum-*")
    root = xml_of(body.data)
    if root.tag != "Delete" or len(root.findall("Object")) > 1000:
        raise Refused(400, "MalformedXML", "one to 1000 objects")
    done = []
    for item in root.findall("Object"):
        key = item.findtext("Key") or ""
        version_id = item.findtext("VersionId")
        with call.server.lock:
            marker = bucket.delete(key, version_id)
        inner = [text("Key", key)]
        if version_id:
            inner.append(text("VersionId", version_id))
        if marker:
            inner += [text("DeleteMarker", "true"),
                      text("DeleteMarkerVersionId", marker.version_id)]
        done.append(element("Deleted", *inner))
    if root.findtext("Quiet") == "true":
        done = []
    return Reply(body=document("DeleteResult", *done))


def copy_source(call: Call) -> tuple[Bucket, Version]:
    value = call.field("x-amz-copy-source") or ""
    path, _, query = value.partition("?")
    bucket_name, _, key = unquote_to_bytes(path).decode(
        "utf-8", "replace").removeprefix("/").partition("/")
    bucket = call.server.buckets.get(bucket_name)
    if bucket is None:
        raise Refused(404, "NoSuchBucket", more={"BucketName": bucket_name})
    version_id = query.removeprefix("versionId=") or None
    return bucket, bucket.find(key, version_id)


def copy(call: Call) -> Reply:
    bucket = call.bucket()
    call.body()
    with call.server.lock:
        source_bucket, source = copy_source(call)
        check_read(call, source, "x-amz-copy-source-")
        check_write(call, bucket)
        directive = call.field("x-amz-metadata-directive") or "COPY"
        if directive == "COPY" and source_bucket is bucket and \
                source.key == call.key and \
                source is bucket.current(call.key):
            raise Refused(400, "InvalidRequest",
                          "This copy request is illegal because it is trying "
                          "to copy an object to itself without changing "
                          "anything.")
        fields = source.fields if directive == "COPY" else kept_fields(call)
        version = bucket.put(call.key, source.data, dict(fields),
                             dict(source.checksums))
    reply = version_fields(bucket, version)
    if source_bucket.versioned:
        reply["x-amz-copy-source-version-id"] = source.version_id
    return Reply(fields=reply, body=document(
        "CopyObjectResult", text("LastModified", iso(version.modified_s)),
        text("ETag", f'"{version.etag}"')))


# -- Uploads in parts -------------------------------------------------------

def create_upload(call: Call) -> Reply:
    bucket = call.bucket()
    call.body()
    with call.server.lock:
        upload = bucket.begin_upload(call.key, kept_fields(call))
    fields = {}
    algorithm = call.field("x-amz-checksum-algorithm")
    if algorithm:
        fields["x-amz-checksum-algorithm"] = algorithm
    return Reply(fields=fields, body=document(
        "InitiateMultipartUploadResult", text("Bucket", bucket.name),
        text("Key", call.key), text("UploadId", upload.upload_id)))


def part_number(call: Call) -> int:
    value = call.query.get("partNumber", "")
    if not value.isdigit() or not 1 <= int(value) <= 10000:
        raise Refused(400, "InvalidArgument",
                      "Part number must be an integer between 1 and 10000, "
                      "inclusive")
    return int(value)


def find_upload(call: Call) -> Upload:
    return call.bucket().upload(call.query["uploadId"], call.key)


def upload_part(call: Call) -> Reply:
    number = part_number(call)
    find_upload(call)
    body = call.body()
    with call.server.lock:
        find_upload(call).parts[number] = Part(
            body.data, body.md5, time.time(), body.checksums)
    fields = {"ETag": f'"{body.md5}"'}
    fields.update({f"x-amz-checksum-{n}": v
                   for n, v in body.checksums.items()})
    return Reply(fields=fields)


def upload_part_copy(call: Call) -> Reply:
    number = part_number(call)
    call.body()
    with call.server.lock:
        upload = find_upload(call)
        _, source = copy_source(call)
        check_read(call, source, "x-amz-copy-source-")
        part = range_of(call.field("x-amz-copy-source-range"),
                        len(source.data))
        data = source.data if part is None else \
            source.data[part[0]:part[1] + 1]
        version = Bucket("").put("", data, {}, {})
        upload.parts[number] = Part(data, version.etag, time.time())
    return Reply(body=document(
        "CopyPartResult", text("LastModified", iso(version.modified_s)),
        text("ETag", f'"{version.etag}"')))


def complete_upload(call: Call) -> Reply:
    root = xml_of(call.body().data)
    wanted = []
    for part in root.findall("Part"):
        checksums = {c: part.findtext(f"Checksum{c.upper()}") or ""
                     for c in CHECKSUMS
                     if part.find(f"Checksum{c.upper()}") is not None}
        wanted.append((int(part.findtext("PartNumber") or 0),
                       (part.findtext("ETag") or "").strip('"'), checksums))
    if not wanted:
        raise Refused(400, "MalformedXML", "no parts are named")
    bucket = call.bucket()
    with call.server.lock:
        upload = find_upload(call)
        check_write(call, bucket)
        version = bucket.complete(upload, wanted)
    return Reply(fields=version_fields(bucket, version), body=document(
        "CompleteMultipartUploadResult",
        text("Location", f"http://localhost/{bucket.name}/{call.key}"),
        text("Bucket", bucket.name), text("Key", call.key),
        text("ETag", f'"{version.etag}"')))


def abort_upload(call: Call) -> Reply:
    with call.server.lock:
        del call.bucket().uploads[find_upload(call).upload_id]
    return Reply(204)


def list_parts(call: Call) -> Reply:
    with call.server.lock:
        upload = find_upload(call)
        parts = [element("Part", text("PartNumber", n),
                         text("LastModified", iso(p.modified_s)),
                         text("ETag", f'"{p.etag}"'),
                         text("Size", len(p.data)))
                 for n, p in sorted(upload.parts.items())]
    return Reply(body=document(
        "ListPartsResult", text("Bucket", call.bucket_name),
        text("Key", call.key), text("UploadId", upload.upload_id),
        text("MaxParts", 10000), text("IsTruncated", "false"), *parts))


def list_uploads(call: Call) -> Reply:
    """Pages of three, so that clients need several."""
    after = (call.query.get("key-marker", ""), call.query.get("upload-id-marker", ""))
    with call.server.lock:
        found = sorted(
            (u for u in call.bucket().uploads.values()
             if u.key.startswith(call.query.get("prefix", "")) and
             (u.key, u.upload_id) > after), key=lambda u: (u.key, u.upload_id))
        page = found[:3]
        uploads = [element("Upload", text("Key", u.key), text("UploadId", u.upload_id),
                           text("Initiated", iso(u.began_s))) for u in page]
    more = [text("NextKeyMarker", page[-1].key),
            text("NextUploadIdMarker", page[-1].upload_id)] if page != found else []
    return Reply(body=document(
        "ListMultipartUploadsResult", text("Bucket", call.bucket_name),
        text("MaxUploads", 3), text("IsTruncated", str(bool(more)).lower()), *more,
        *uploads))
