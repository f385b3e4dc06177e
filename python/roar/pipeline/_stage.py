"""One stage of a running pipeline: what waits for it, what it works on.

    inbox ──take()──▶ task ──advance──▶ complete() ──▶ inbox of the next stage
            mark  ──────────pass_mark()─────────────▶

Marks travel with the items: EPOCH ends one round of a continuous source, END ends
everything.  A stage sends a mark on when all items before it are done, so nothing
has to count or poll.  Everything here runs under the engine's lock; only the
operations themselves run outside it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from typing import Any

from ._errors import PipelineFailure
from ._ops import Call, Op

__all__ = ["Failures", "Mark", "Stage", "Task"]

_LOG = logging.getLogger("roar.pipeline")

# Values that an iterator may make ahead of its turn when outputs are kept in order.
_AHEAD = 8

# A share of failures means little before this many items have been seen.
_RATE_FROM = 10


class Mark(Enum):
    """What travels between the items."""

    EPOCH = 1
    END = 2


class Failures:
    """Counts the items that failed in one stage."""

    def __init__(self, stage: str, limit: int | Fraction) -> None:
        self.count = 0
        self.calls = 0
        self._stage = stage
        self._limit = limit

    def exceeded(self, *, at_end: bool = False) -> PipelineFailure | None:
        """The failure of the pipeline, if there were too many."""
        limit = self._limit
        if isinstance(limit, Fraction):
            early = self.calls < _RATE_FROM and not at_end
            if early or not self.calls or Fraction(self.count, self.calls) <= limit:
                return None
        elif limit < 0 or self.count <= limit:
            return None
        return PipelineFailure(
            f"The stage '{self._stage}' failed on {self.count} of {self.calls} items, "
            f"more than max_failures={limit} allows; the log has their errors.",
            self._stage,
            self.count,
        )


class Task:
    """One item in work."""

    __slots__ = ("op", "state", "outputs", "finished", "aside")

    def __init__(self, op: Op, item: Any) -> None:
        self.op = op
        self.state = op.begin(item)
        self.outputs: deque[Any] = deque()  # made before its turn
        self.finished = False
        self.aside = False  # made enough ahead, waits for its turn


class Stage:
    """A stage, or with ``op=None`` the sink, which only has an inbox."""

    def __init__(
        self,
        name: str,
        op: Op | None,
        *,
        capacity: int = 1,
        concurrency: int = 1,
        ordered: bool = True,
        drops_none: bool = False,
        max_failures: int | Fraction = -1,
        flush: Callable[[], Any] | None = None,
    ) -> None:
        self.name = name
        self.op = op
        self.inbox: deque[Any] = deque()
        self.failures = Failures(name, max_failures)
        self.next: Stage = self
        self._capacity = capacity
        self._concurrency = concurrency
        self._ordered = ordered
        self._drops_none = drops_none
        self._flush = flush
        self._flushed = False
        self._line: deque[Task] = deque()  # ordered: all tasks, oldest first
        self._n_active = 0  # tasks begun and not gone
        self._paused: deque[Task] = deque()  # tasks that can go on

    @property
    def remote(self) -> bool:
        return self.op is not None and self.op.remote

    def has_room(self) -> bool:
        return not self._capacity or len(self.inbox) < self._capacity

    def ready(self) -> bool:
        """Is there a task to go on with?"""
        if not self.next.has_room():
            return False
        if self._paused:
            return True
        if not self.inbox or self._n_active >= self._concurrency:
            return False
        return not isinstance(self.inbox[0], Mark) or self._must_flush()

    def _must_flush(self) -> bool:
        return self._flush is not None and not self._flushed and not self._n_active

    def _flush_now(self, _: None) -> Any:
        assert self._flush is not None
        return self._flush()

    def take(self) -> Task:
        """The task to go on with; only after ready()."""
        if self._paused:
            return self._paused.popleft()
        if isinstance(self.inbox[0], Mark):
            self._flushed = True
            task = Task(Call(self._flush_now), None)
        else:
            assert self.op is not None
            task = Task(self.op, self.inbox.popleft())
            self.failures.calls += 1
        self._n_active += 1
        if self._ordered:
            self._line.append(task)
        return task

    def complete(self, task: Task, values: tuple[Any, ...], finished: bool) -> None:
        """What came of a step."""
        task.finished = finished
        if self._ordered:
            task.outputs.extend(values)
            self._move_up()
            if task.finished or task.aside:
                return
            if task is not self._line[0] and len(task.outputs) >= _AHEAD:
                task.aside = True
                return
        else:
            self._emit(values)
        if finished:
            self._n_active -= 1
        elif task not in self._paused:
            self._paused.append(task)

    def _move_up(self) -> None:
        while self._line:
            head = self._line[0]
            self._emit(head.outputs)
            head.outputs.clear()
            if not head.finished:
                if head.aside:
                    head.aside = False
                    self._paused.append(head)
                return
            self._line.popleft()
            self._n_active -= 1

    def _emit(self, values: Any) -> None:
        for value in values:
            if value is not None or not self._drops_none:
                self.next.inbox.append(value)

    def failed(self, task: Task, error: BaseException) -> PipelineFailure | None:
        """Drops a task; returns the pipeline's failure when that was one too many."""
        self.failures.count += 1
        _LOG.error("The stage '%s' failed on an item.", self.name, exc_info=error)
        self.complete(task, (), True)
        failure = self.failures.exceeded()
        if failure is not None:
            failure.__cause__ = error
        return failure

    def pass_mark(self) -> Mark | None:
        """Sends the mark at the head of the inbox on, if it may go now."""
        if self._n_active or not self.inbox or not isinstance(self.inbox[0], Mark):
            return None
        if self._must_flush():
            return None
        if self.inbox[0] is Mark.EPOCH and not self.next.has_room():
            return None
        mark = self.inbox.popleft()
        self._flushed = False
        self.next.inbox.append(mark)
        return mark
