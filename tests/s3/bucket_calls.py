"""bucket_calls.py - what the test server does with buckets: listings, settings."""

from urllib.parse import quote
from xml.sax.saxutils import escape

from call import Call, Reply, document, element, iso, text, xml_of
from signature import Refused


def list_objects(call: Call) -> Reply:
    bucket = call.bucket()
    query = call.query
    v2 = query.get("list-type") == "2"
    encode = query.get("encoding-type") == "url"

    def shown(name: str, value: str) -> str:
        return text(name, quote(value, safe="/") if encode else value)

    after = query.get("marker", "")
    if v2:
        after = query.get("continuation-token", query.get("start-after", ""))
    limit = query.get("max-keys", "1000")
    if not limit.isdigit():
        raise Refused(400, "InvalidArgument",
                      "Provided max-keys not an integer")
    with call.server.lock:
        page = bucket.page(query.get("prefix", ""), query.get("delimiter", ""),
                           after, min(int(limit), 1000))
    inner = [text("Name", bucket.name), shown("Prefix", query.get("prefix", "")),
             text("MaxKeys", limit),
             text("IsTruncated", str(page.truncated).lower())]
    if "delimiter" in query:
        inner.append(shown("Delimiter", query["delimiter"]))
    if encode:
        inner.append(text("EncodingType", "url"))
    if v2:
        inner.append(text("KeyCount", len(page.versions) + len(page.prefixes)))
        if "start-after" in query:
            inner.append(shown("StartAfter", query["start-after"]))
        if page.truncated:
            inner.append(text("NextContinuationToken", page.last))
    else:
        inner.append(shown("Marker", after))
        if page.truncated and "delimiter" in query:
            inner.append(shown("NextMarker", page.last))
    for v in page.versions:
        inner.append(element(
            "Contents", shown("Key", v.key),
            text("LastModified", iso(v.modified_s)),
            text("ETag", f'"{v.etag}"'), text("Size", len(v.data)),
            text("StorageClass", "STANDARD")))
    for prefix in page.prefixes:
        inner.append(element("CommonPrefixes", shown("Prefix", prefix)))
    return Reply(body=document("ListBucketResult", *inner))


def list_versions(call: Call) -> Reply:
    bucket = call.bucket()
    inner = [text("Name", bucket.name), text("IsTruncated", "false")]
    with call.server.lock:
        for key, versions in sorted(bucket.versions.items()):
            if not key.startswith(call.query.get("prefix", "")):
                continue
            for v in reversed(versions):
                inner.append(element(
                    "DeleteMarker" if v.deleted else "Version",
                    text("Key", key), text("VersionId", v.version_id),
                    text("IsLatest", str(v is versions[-1]).lower()),
                    text("LastModified", iso(v.modified_s)),
                    text("ETag", f'"{v.etag}"'), text("Size", len(v.data))))
    return Reply(body=document("ListVersionsResult", *inner))


def list_buckets(call: Call) -> Reply:
    names = [element("Bucket", text("Name", name),
                     text("CreationDate", iso(0)))
             for name in sorted(call.server.buckets)]
    return Reply(body=document(
        "ListAllMyBucketsResult",
        element("Owner", text("ID", "roar"), text("DisplayName", "roar")),
        element("Buckets", *names)))


def create_bucket(call: Call) -> Reply:
    call.body()
    with call.server.lock:
        if call.bucket_name in call.server.buckets:
            raise Refused(409, "BucketAlreadyOwnedByYou")
        call.server.add_bucket(call.bucket_name,
                               region=call.verified.region or "us-east-1")
    return Reply(fields={"Location": "/" + call.bucket_name})


def delete_bucket(call: Call) -> Reply:
    with call.server.lock:
        if any(call.bucket().current(k) for k in call.bucket().versions):
            raise Refused(409, "BucketNotEmpty",
                          "The bucket you tried to delete is not empty")
        del call.server.buckets[call.bucket_name]
    return Reply(204)


def head_bucket(call: Call) -> Reply:
    return Reply(fields={"x-amz-bucket-region": call.bucket().region})


def get_location(call: Call) -> Reply:
    region = call.bucket().region
    shown = "" if region == "us-east-1" else escape(region)
    return Reply(body=document("LocationConstraint", shown))


def get_versioning(call: Call) -> Reply:
    inner = [text("Status", "Enabled")] if call.bucket().versioned else []
    return Reply(body=document("VersioningConfiguration", *inner))


def put_versioning(call: Call) -> Reply:
    root = xml_of(call.body().data)
    call.bucket().versioned = root.findtext("Status") == "Enabled"
    return Reply()
