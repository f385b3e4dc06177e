"""Results of meetings of workers; returned by roar.coordinator.

Most callers of a barrier do not read its result.  A result therefore holds the bytes of
the reply and parses them when a field is read.  A training step, and a thousand threads
that are released at once, do not pay for fields that are not used."""

from __future__ import annotations

from typing import Any, Generic, Iterator, Mapping, NamedTuple, TypeVar

import _roar_coord

T = TypeVar("T")


class Late(NamedTuple):
    """How much later than the first worker another one arrived."""

    worker_id: str
    seconds: float


class _Told(Generic[T]):
    """A read-only field of a result, parsed at its first use."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, result: Any, owner: Any = None) -> T:
        if result is None:
            raise AttributeError(self._name)
        return result.told()[self._name]

    def __set__(self, result: Any, value: T) -> None:
        raise AttributeError(
            f"'{self._name}' is the coordinator's result and cannot be set")


class BarrierResult(Mapping[str, Any]):
    """The result of a barrier; also usable as a dict: result["released"]."""

    __slots__ = ("_reply", "_fields")

    released = _Told[bool]()
    barrier_id = _Told[str]()
    participants = _Told[int]()
    arrival_order = _Told[int]()    # 1 for who came first
    generation = _Told[int]()       # which use of the barrier it was: step + 1
    late = _Told[list[Late]]()      # who came last, the latest first
    missing = _Told[list[str]]()    # who was let go because it died ("shrink")

    def __init__(self, reply: bytes) -> None:
        self._reply = reply
        self._fields: dict[str, Any] | None = None

    def told(self) -> dict[str, Any]:
        """All fields by name."""
        if self._fields is None:
            self._fields = self._read(_roar_coord.meet_reply(self._reply))
        return self._fields

    def _read(self, reply: dict[str, Any]) -> dict[str, Any]:
        return {
            "released": True, "barrier_id": reply["meeting_id"],
            "participants": reply["participants"],
            "arrival_order": reply["arrival_order"],
            "generation": reply["generation"],
            "late": [Late(item["worker_id"], item["late_ms"] / 1000)
                     for item in reply["late"]],
            "missing": reply["missing"],
        }

    def __getitem__(self, name: str) -> Any:
        return self.told()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.told())

    def __len__(self) -> int:
        return len(self.told())

    def __bool__(self) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(self._reply)

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v!r}" for k, v in self.told().items())
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[type, tuple[bytes]]:
        return type(self), (self._reply,)


class VoteResult(BarrierResult):
    """The votes of all."""

    __slots__ = ()

    votes_for = _Told[int]()
    votes_against = _Told[int]()

    def _read(self, reply: dict[str, Any]) -> dict[str, Any]:
        return {**super()._read(reply), "votes_for": reply["votes_for"],
                "votes_against": reply["votes_against"]}

    @property
    def unanimous(self) -> bool:
        """No worker voted against."""
        return self.votes_against == 0


def gathered(reply: bytes) -> dict[str, bytes]:
    """The values of all, by worker id."""
    return {item["worker_id"]: item["value"]
            for item in _roar_coord.meet_reply(reply)["values"]}
