"""Pipeline: runs a description in threads of this process."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Generic, TypeVar

from ._config import (
    AggregateConfig,
    Aggregator,
    DisaggregateConfig,
    PipeConfig,
    PipelineConfig,
    check_count,
    check_max_failures,
)
from ._engine import Engine
from ._errors import PipelineFailure
from ._ops import Call, Each, Loop, op_of_pipe, op_of_source
from ._stage import Stage

__all__ = ["Pipeline", "build_pipeline"]

T = TypeVar("T")

# How long a lost pipeline, or the end of the program, waits for what is under way.
_EXIT_S = 1.0


class Pipeline(Generic[T]):
    """A pipeline in this process.  Made by ``PipelineBuilder.build()``.

    It is used once, from beginning to end (with a continuous source: epoch by
    epoch).  Iterating starts it; ``auto_stop()`` or ``stop()`` ends it, and so do
    the end of the program and the loss of the last reference.

    >>> with pipeline.auto_stop():
    ...     for item in pipeline:
    ...         use(item)
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._started = False
        self._told = False  # has the consumer seen the failure?
        self._finalizer = weakref.finalize(self, engine.stop, _EXIT_S)

    def start(self) -> None:
        """Begins to work.  RuntimeError if it has been started before."""
        if self._started:
            raise RuntimeError("The pipeline was started before; build another one.")
        if not self._finalizer.alive:
            raise RuntimeError("The pipeline was stopped; build another one.")
        self._started = True
        self._engine.start()

    def stop(self, *, timeout: float | None = None) -> None:
        """Ends the work: operations under way are finished, results are kept.

        Raises TimeoutError if one of them takes longer than `timeout` seconds, and
        PipelineFailure if the pipeline failed and has not raised that yet.
        """
        self._finalizer.detach()
        if not self._engine.stop(timeout):
            raise TimeoutError(f"An operation was still at work after {timeout} s.")
        failure = self._engine.failure
        if failure is not None and not self._told:
            self._told = True
            raise failure

    @contextmanager
    def auto_stop(self, *, timeout: float | None = None) -> Iterator[Pipeline[T]]:
        """Starts the pipeline, and stops it when the ``with`` block is left."""
        if not self._started:
            self.start()
        try:
            yield self
        except BaseException:
            self._told = True  # one error is enough
            self.stop(timeout=timeout)
            raise
        self.stop(timeout=timeout)

    def get_item(self, *, timeout: float | None = None) -> T:
        """The next result.

        EOFError at the end (of an epoch), TimeoutError after `timeout` seconds,
        PipelineFailure at the end of a pipeline that failed.
        """
        if not self._started:
            raise RuntimeError("The pipeline is not started; call start() first.")
        try:
            return self._engine.get(timeout)
        except PipelineFailure:
            self._told = True
            raise

    def get_iterator(self, *, timeout: float | None = None) -> Iterator[T]:
        """Iterates over the results that are left (in this epoch)."""
        if not self._started:
            self.start()
        return self._iterate(timeout)

    def _iterate(self, timeout: float | None) -> Iterator[T]:
        while True:
            try:
                item = self.get_item(timeout=timeout)
            except EOFError:
                return
            yield item
            del item  # so that the consumer alone decides how long it lives

    def __iter__(self) -> Iterator[T]:
        return self.get_iterator()


class _Group:
    """The aggregator behind ``aggregate(n)``."""

    def __init__(self, size: int, drop_last: bool) -> None:
        self._size = size
        self._drop_last = drop_last
        self._items: list[Any] = []

    def accumulate(self, item: Any) -> list[Any] | None:
        self._items.append(item)
        return self._take() if len(self._items) == self._size else None

    def flush(self) -> list[Any] | None:
        rest = self._take()
        return None if self._drop_last or not rest else rest

    def _take(self) -> list[Any]:
        items, self._items = self._items, []
        return items


class _Parts:
    """What the stages of a pipeline share: the loop and the executors made for it."""

    def __init__(self) -> None:
        self.made: Loop | None = None
        self.executors: list[Executor] = []

    def loop(self) -> Loop:
        if self.made is None:
            self.made = Loop()
        return self.made

    def executor(
        self, given: Executor | Callable[[], Executor] | None
    ) -> Executor | None:
        if given is None or isinstance(given, Executor):
            return given
        self.executors.append(given())
        return self.executors[-1]


def _stage_of(
    config: PipeConfig | AggregateConfig | DisaggregateConfig,
    name: str,
    parts: _Parts,
    max_failures: int | Fraction,
) -> Stage:
    if isinstance(config, DisaggregateConfig):
        return Stage(name, Each(lambda item: item), max_failures=max_failures)
    if isinstance(config, AggregateConfig):
        size = config.size
        group = size if isinstance(size, Aggregator) else _Group(size, config.drop_last)
        return Stage(
            name,
            Call(group.accumulate),
            drops_none=True,
            max_failures=max_failures,
            flush=(lambda: None) if config.drop_last and group is size else group.flush,
        )
    limit = max_failures if config.max_failures is None else config.max_failures
    return Stage(
        name,
        op_of_pipe(config, parts.loop, parts.executor(config.executor)),
        capacity=config.concurrency,
        concurrency=config.concurrency,
        ordered=config.output_order == "input",
        drops_none=True,
        max_failures=limit,
    )


def build_pipeline(
    config: PipelineConfig[T], /, *, num_threads: int, max_failures: int | Fraction = -1
) -> Pipeline[T]:
    """A pipeline of this process from its description."""
    num_threads = check_count("num_threads", num_threads, 1)
    max_failures = check_max_failures(max_failures)
    parts = _Parts()
    stages = [Stage("source", op_of_source(config.source, parts.loop))]
    for i, stage in enumerate(config.stages, 1):
        stages.append(_stage_of(stage, f"{i}:{stage.name}", parts, max_failures))
    engine = Engine(
        stages,
        Stage("sink", None, capacity=config.sink.buffer_size),
        num_threads,
        continuous=config.source.continuous,
        executors=parts.executors,
        loop=parts.made,
    )
    return Pipeline(engine)
