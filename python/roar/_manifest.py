"""Files and reading options of a dataset, which the coordinator stores as opaque keys.

A list of ten thousand files is too large for a registration.  It is stored as content: the
JSON text of paths and options (a Manifest), split into parts, which are keys of the job
under the BLAKE3 of the whole:

    roar/content/HASH/0000, roar/content/HASH/0001, ...

The registration has the hash, so registering is atomic: the parts are stored before it,
equal content has equal keys, and readers verify the hash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .coordinator import TrainingOrchestrator

KEYS = "roar/content/"
PART = 512 << 10            # bytes of a key
MAX_BYTES = 64 << 20
MAX_FILES = 1_000_000


class Manifest(NamedTuple):
    """Paths of a dataset's files, and the options to read them."""

    paths: list[str]
    options: Mapping[str, Any]

    def text(self) -> bytes:
        """The same bytes in every process; raises ValueError if too large."""
        if len(self.paths) > MAX_FILES:
            raise ValueError(
                f"{len(self.paths)} files are more than the {MAX_FILES} that a "
                "dataset may have: put samples together into larger files")
        text = json.dumps({"options": dict(self.options), "paths": self.paths},
                          sort_keys=True, separators=(",", ":")).encode()
        if len(text) > MAX_BYTES:
            raise ValueError(
                f"the names of {len(self.paths)} files and their options have "
                f"{len(text)} bytes, more than {MAX_BYTES}: put samples "
                "together into larger files")
        return text


def _prefix(name: str) -> str:
    return f"{KEYS}{name}/"


def keep(job: "TrainingOrchestrator", text: bytes) -> str:
    """Stores content for all workers of the job.  Returns its name, which depends on
    the content only."""
    from ._hash import hash as digest

    name = digest(text)
    there = set(_keys(job, _prefix(name)))
    for n, first in enumerate(range(0, len(text), PART)):
        key = f"{_prefix(name)}{n:04}"
        if key not in there:
            job.kv.set(key, text[first:first + PART])
    return name


def find(job: "TrainingOrchestrator", name: str) -> bytes:
    """The content with this name."""
    from ._coord_errors import CoordinatorError
    from ._hash import hash as digest

    text = b"".join(entry.value for entry in job.kv.list(_prefix(name)))
    if digest(text) != name:
        raise CoordinatorError(
            f"{KEYS}{name} is not what was kept there ({len(text)} bytes are "
            "left): another client changed these keys; register the dataset under "
            "another id")
    return text


def parse(text: bytes) -> Manifest:
    """A manifest from its text."""
    found = json.loads(text)
    return Manifest(found["paths"], found["options"])


def _keys(job: "TrainingOrchestrator", prefix: str) -> list[str]:
    """The names of the parts; another worker may have stored them already."""
    from ._coord_errors import CoordinatorNotFound

    try:
        page = job.call("/roar.Control/KvList", {
            "job_id": job.job or "", "prefix": prefix, "keys_only": True})
    except CoordinatorNotFound:
        return []   # the job begins with what is kept now
    return [entry["key"] for entry in page["entries"]]
