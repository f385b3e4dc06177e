"""objects.py - the buckets of the test server, in memory.

Bucket holds versions of objects and uploads in parts, and answers what S3 promises of
them: ETags, the order of versions, pages of a listing.  It knows nothing of HTTP; one
lock of the server protects all of it.
"""

import hashlib
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from signature import Refused

MIN_PART = 5 * 1024 * 1024


@dataclass
class Version:
    """One content of a key, or a marker that it was deleted."""

    key: str
    data: bytes
    etag: str
    version_id: str
    modified_s: float
    fields: dict[str, str] = field(default_factory=dict)
    checksums: dict[str, str] = field(default_factory=dict)
    deleted: bool = False
    part_sizes: list[int] = field(default_factory=list)


@dataclass
class Part:
    data: bytes
    etag: str
    modified_s: float
    checksums: dict[str, str] = field(default_factory=dict)


@dataclass
class Upload:
    key: str
    upload_id: str
    fields: dict[str, str]
    parts: dict[int, Part] = field(default_factory=dict)
    began_s: float = field(default_factory=time.time)


@dataclass
class Page:
    """A part of a listing."""

    versions: list[Version] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    last: str = ""  # key or prefix that the next page starts after
    truncated: bool = False


class Bucket:
    """One bucket."""

    def __init__(self, name: str, region: str = "us-east-1",
                 versioned: bool = False, public: bool = False) -> None:
        self.name = name
        self.region = region
        self.versioned = versioned
        self.public = public
        self.versions: dict[str, list[Version]] = {}  # newest last
        self.uploads: dict[str, Upload] = {}
        self.min_part = MIN_PART

    def current(self, key: str) -> Version | None:
        versions = self.versions.get(key)
        if not versions or versions[-1].deleted:
            return None
        return versions[-1]

    def find(self, key: str, version_id: str | None = None) -> Version:
        if version_id is None:
            found = self.current(key)
        else:
            found = next((v for v in self.versions.get(key, [])
                          if v.version_id == version_id), None)
            if found is None:
                raise Refused(404, "NoSuchVersion",
                              "The specified version does not exist.",
                              {"Key": key, "VersionId": version_id})
            if found.deleted:
                raise Refused(405, "MethodNotAllowed",
                              "The specified method is not allowed against "
                              "this resource.",
                              fields={"x-amz-delete-marker": "true"})
        if found is None:
            raise Refused(404, "NoSuchKey",
                          "The specified key does not exist.", {"Key": key})
        return found

    def put(self, key: str, data: bytes, fields: dict[str, str],
            checksums: dict[str, str], etag: str = "") -> Version:
        version = Version(key, data, etag or hashlib.md5(data).hexdigest(),
                          secrets.token_hex(16) if self.versioned else "null",
                          time.time(), fields, checksums)
        self.keep(version)
        return version

    def keep(self, version: Version) -> None:
        if self.versioned:
            self.versions.setdefault(version.key, []).append(version)
        else:
            self.versions[version.key] = [version]

    def delete(self, key: str, version_id: str | None = None) -> Version | None:
        """Returns the marker that a deletion without a version leaves."""
        if version_id is not None:
            left = [v for v in self.versions.get(key, [])
                    if v.version_id != version_id]
            if left:
                self.versions[key] = left
            else:
                self.versions.pop(key, None)
            return None
        if not self.versioned:
            self.versions.pop(key, None)
            return None
        marker = Version(key, b"", "", secrets.token_hex(16), time.time(),
                         deleted=True)
        self.versions.setdefault(key, []).append(marker)
        return marker

    def page(self, prefix: str, delimiter: str, after: str,
             limit: int) -> Page:
        """Keys in the order of their UTF-8 bytes; those with a common prefix
        count as one."""
        page = Page()
        for key in self.keys_after(prefix, after):
            version = self.current(key)
            if version is None:
                continue
            end = key.find(delimiter, len(prefix)) if delimiter else -1
            common = key[:end + len(delimiter)] if end >= 0 else ""
            if common and (common == after or common in page.prefixes):
                continue
            if len(page.versions) + len(page.prefixes) >= limit:
                page.truncated = limit > 0
                break
            if common:
                page.prefixes.append(common)
            else:
                page.versions.append(version)
            page.last = common or key
        return page

    def keys_after(self, prefix: str, after: str) -> Iterator[str]:
        def order(key: str) -> bytes:
            return key.encode("utf-8", "surrogateescape")

        for key in sorted(self.versions, key=order):
            if key.startswith(prefix) and order(key) > order(after):
                yield key

    def upload(self, upload_id: str, key: str) -> Upload:
        upload = self.uploads.get(upload_id)
        if upload is None or upload.key != key:
            raise Refused(404, "NoSuchUpload",
                          "The specified upload does not exist. The upload ID "
                          "may be invalid, or the upload may have been aborted "
                          "or completed.", {"UploadId": upload_id})
        return upload

    def begin_upload(self, key: str, fields: dict[str, str]) -> Upload:
        upload = Upload(key, secrets.token_hex(16), fields)
        self.uploads[upload.upload_id] = upload
        return upload

    def complete(self, upload: Upload,
                 wanted: list[tuple[int, str, dict[str, str]]]) -> Version:
        """Joins the parts that the request names by number and ETag."""
        numbers = [number for number, _, _ in wanted]
        if numbers != sorted(set(numbers)):
            raise Refused(400, "InvalidPartOrder",
                          "The list of parts was not in ascending order.")
        parts = []
        for number, etag, checksums in wanted:
            part = upload.parts.get(number)
            if part is None or part.etag != etag or \
                    any(part.checksums.get(n, v) != v
                        for n, v in checksums.items()):
                raise Refused(400, "InvalidPart",
                              "One or more of the specified parts could not "
                              "be found.", {"PartNumber": str(number)})
            parts.append(part)
        for part in parts[:-1]:
            if len(part.data) < self.min_part:
                raise Refused(400, "EntityTooSmall",
                              "Your proposed upload is smaller than the "
                              "minimum allowed size")
        digests = b"".join(bytes.fromhex(p.etag) for p in parts)
        etag = f"{hashlib.md5(digests).hexdigest()}-{len(parts)}"
        version = self.put(upload.key, b"".join(p.data for p in parts),
                           upload.fields, {}, etag)
        version.part_sizes = [len(p.data) for p in parts]
        del self.uploads[upload.upload_id]
        return version
