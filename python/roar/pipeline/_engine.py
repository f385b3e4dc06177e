"""Runs the stages of a pipeline on a few threads.

There is one lock and no thread per stage.  A thread that is free looks for the stage
nearest to the sink that can go on, advances one of its tasks by a step, and looks
again: so few items are under way and a single thread serves any number of stages.
What runs elsewhere (executors, async functions) is handed over as soon as it can be,
by whichever thread made that possible, and comes back by a callback.  Threads are
started when there is work for them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from typing import Any, cast

from ._errors import PipelineFailure
from ._ops import Elsewhere, Here, Loop
from ._stage import Mark, Stage, Task

__all__ = ["Engine"]


class Engine:
    """Moves items from the source, ``stages[0]``, to `sink`."""

    def __init__(
        self,
        stages: list[Stage],
        sink: Stage,
        num_threads: int,
        *,
        continuous: bool,
        executors: list[Executor],
        loop: Loop | None,
    ) -> None:
        for stage, following in zip(stages, [*stages[1:], sink]):
            stage.next = following
        self._stages = stages
        self._backwards = stages[::-1]
        self._sink = sink
        self._num_threads = num_threads
        self._continuous = continuous
        self._executors = executors  # made for this pipeline, ended with it
        self._loop = loop
        self._lock = threading.RLock()
        self._work = threading.Condition(self._lock)  # for the threads
        self._items = threading.Condition(self._lock)  # for the consumer
        self._threads: list[threading.Thread] = []
        self._n_idle = 0
        self._stopping = False
        self.failure: PipelineFailure | None = None

    def start(self) -> None:
        with self._lock:
            self._begin_epoch()
            self._go_on()

    def _begin_epoch(self) -> None:
        mark = Mark.EPOCH if self._continuous else Mark.END
        self._stages[0].inbox.extend((None, mark))

    def get(self, timeout: float | None) -> Any:
        """The next result.  EOFError at the end of an epoch, TimeoutError."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            while not self._sink.inbox:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"The pipeline gave no item for {timeout} s.")
                self._items.wait(left)
            item = self._sink.inbox[0]
            if item is Mark.END:
                if self.failure is not None:
                    raise self.failure
                raise EOFError("The pipeline has no more items.")
            self._sink.inbox.popleft()
            self._go_on()
        if item is Mark.EPOCH:
            raise EOFError("The pipeline has no more items in this epoch.")
        return item

    def stop(self, timeout: float | None = None) -> bool:
        """Ends all threads after their current step; False if one goes on."""
        with self._lock:
            self._halt()
        end = None if timeout is None else time.monotonic() + timeout

        def left() -> float | None:
            return None if end is None else max(0.0, end - time.monotonic())

        for executor in self._executors:
            executor.shutdown(wait=False, cancel_futures=True)
        ended = self._loop is None or self._loop.close(left())
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(left())
                ended = ended and not thread.is_alive()
        return ended

    def _halt(self) -> None:
        self._stopping = True
        if not self._sink.inbox or self._sink.inbox[-1] is not Mark.END:
            self._sink.inbox.append(Mark.END)
        self._work.notify_all()
        self._items.notify_all()

    # ---- under the lock ----

    def _fail(self, failure: PipelineFailure | None) -> None:
        if failure is not None and self.failure is None:
            self.failure = failure
            self._halt()

    def _go_on(self) -> None:
        """After any change: moves marks, hands work over, wakes who can go on."""
        if self._stopping:
            return
        for stage in self._backwards:
            mark = stage.pass_mark()
            if mark is not None:
                self._marked(stage, mark)
        for stage in self._backwards:
            while stage.remote and not self._stopping and stage.ready():
                self._submit(stage, stage.take())
        if self._sink.inbox:
            self._items.notify()
        self._wake()

    def _marked(self, stage: Stage, mark: Mark) -> None:
        self._fail(stage.failures.exceeded(at_end=True))
        if stage is self._stages[0] and mark is Mark.EPOCH:
            self._begin_epoch()
        if stage.next is not self._sink:
            mark_next = stage.next.pass_mark()
            if mark_next is not None:
                self._marked(stage.next, mark_next)

    def _wake(self) -> None:
        if not any(s.ready() for s in self._stages if not s.remote):
            return
        if self._n_idle:
            self._work.notify()
        elif len(self._threads) < self._num_threads:
            thread = threading.Thread(
                target=self._serve,
                name=f"roar-pipeline-{len(self._threads)}",
                daemon=True,
            )
            self._threads.append(thread)
            thread.start()

    def _take(self) -> tuple[Stage, Task] | None:
        for stage in self._backwards:
            if not stage.remote and stage.ready():
                return stage, stage.take()
        return None

    def _serve(self) -> None:
        with self._lock:
            while not self._stopping:
                found = self._take()
                if found is None:
                    self._n_idle += 1
                    self._work.wait()
                    self._n_idle -= 1
                    continue
                self._wake()
                stage, task = found
                self._lock.release()
                try:
                    step, error = _attempt(cast(Here, task.op).advance,
                                           task.state)
                finally:
                    self._lock.acquire()
                self._settle(stage, task, step, error)

    def _submit(self, stage: Stage, task: Task) -> None:
        op = cast(Elsewhere, task.op)
        future, error = _attempt(op.submit, task.state)
        if error is not None:
            self._settle(stage, task, None, error)
            return

        def arrived(future: Future[Any]) -> None:
            step, error = _attempt(op.collect, future)
            with self._lock:
                if not (self._stopping and isinstance(error, CancelledError)):
                    self._settle(stage, task, step, error)

        future.add_done_callback(arrived)

    def _settle(
        self, stage: Stage, task: Task, step: Any, error: BaseException | None
    ) -> None:
        if error is None:
            stage.complete(task, *step)
        elif stage is self._stages[0]:
            self._source_failed(task, error)
        elif isinstance(error, Exception):
            self._fail(stage.failed(task, error))
        else:
            stage.complete(task, (), True)
            self._fail(_fatal(stage.name, error))
        self._go_on()

    def _source_failed(self, task: Task, error: BaseException) -> None:
        """What the source gave before it failed is still handed out."""
        source = self._stages[0]
        source.complete(task, (), True)
        source.inbox.clear()
        source.inbox.append(Mark.END)
        self.failure = _fatal(source.name, error)


def _attempt(
    fn: Callable[[Any], Any], argument: Any
) -> tuple[Any, BaseException | None]:
    try:
        return fn(argument), None
    except BaseException as error:  # a thread has nobody to raise it to
        return None, error


def _fatal(stage: str, error: BaseException) -> PipelineFailure:
    failure = PipelineFailure(
        f"The stage '{stage}' ended with {type(error).__name__}: {error}", stage
    )
    failure.__cause__ = error
    return failure
