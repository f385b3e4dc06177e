"""The keys of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

from ._coord_errors import CoordinatorNotFound
from ._coord_results import KeyValue
from ._coord_values import CONTROL, bytes_of, ttl_ms

if TYPE_CHECKING:
    from .coordinator import TrainingOrchestrator


def _entry(entry: Mapping[str, Any]) -> KeyValue:
    ms = entry["expires_in_ms"]
    return KeyValue(entry["key"], entry["value"], entry["version"],
                    ms / 1000 if ms else None)


class Keys:
    """The keys of a job: TrainingOrchestrator.kv.

    A value is bytes or another buffer; a str is encoded as UTF-8.  If the connection
    ends before the reply, get(), set(), delete() and list() are retried.  add() and
    compare_set() are not idempotent: they raise CoordinatorUnreachable, because the
    call may or may not have been executed.
    """

    def __init__(self, owner: "TrainingOrchestrator") -> None:
        self._owner = owner

    def _call(self, method: str, timeout: float | None = 60.0,
              **request: Any) -> dict[str, Any]:
        return self._owner.call(CONTROL + method, {
            "job_id": self._owner.job or "", **request}, timeout)

    def set(self, key: str, value: bytes | str,
            ttl: float | None = None) -> int:
        """Sets the key, for `ttl` seconds (more than 0) or for ever.  Returns its
        version."""
        return self._call("KvSet", key=key, value=bytes_of(value),
                          ttl_ms=ttl_ms(ttl))["entry"]["version"]

    def get(self, key: str, default: Any = None) -> Any:
        """The value as bytes, or `default` if the key does not exist."""
        found = self.entry(key)
        return default if found is None else found.value

    def entry(self, key: str) -> KeyValue | None:
        """Value and version, or None."""
        try:
            reply = self._call("KvGet", key=key)
        except CoordinatorNotFound:
            return None
        entry = reply["entry"]
        return _entry(entry) if entry and entry["version"] else None

    def wait(self, key: str, timeout: float | None = None, *,
             after_version: int = 0) -> KeyValue:
        """Waits until the key exists with a version above `after_version`."""
        return _entry(self._call("KvGet", timeout, key=key, wait=True,
                                 after_version=after_version)["entry"])

    def add(self, key: str, delta: int = 1) -> int:
        """Adds to a number (0 if the key does not exist) and returns the sum."""
        return int(self._call("KvAdd", key=key, delta=delta)["entry"]["value"])

    def compare_set(self, key: str, version: int, value: bytes | str,
                    ttl: float | None = None) -> bool:
        """Sets the key if it has this version; 0: if it does not exist."""
        return self._call("KvCompareSet", key=key, version=version,
                          value=bytes_of(value), ttl_ms=ttl_ms(ttl))["done"]

    def delete(self, key: str) -> bool:
        """Removes the key.  False if it did not exist."""
        try:
            return self._call("KvDelete", key=key)["done"]
        except CoordinatorNotFound:
            return False

    def list(self, prefix: str = "") -> list[KeyValue]:
        """All keys with this prefix, in order."""
        found: list[KeyValue] = []
        after = ""
        while True:
            page = self._call("KvList", prefix=prefix, after=after)
            found += [_entry(entry) for entry in page["entries"]]
            if not page["more"] or not page["entries"]:
                return found
            after = found[-1].key
