"""Iterating in other processes: the two functions that users call."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from fractions import Fraction
from multiprocessing.context import BaseContext
from multiprocessing.util import Finalize
from typing import Any, Generic, TypeVar

from .._arena import Arena
from .._elsewhere import Following, following
from ._arena_channel import ArenaChannel
from ._channel import Channel, QueueChannel
from ._config import PipeConfig, PipelineConfig, check_count, check_max_failures
from ._pipeline import Pipeline, build_pipeline
from ._session import EpochEnd, Session

__all__ = ["iterate_in_subprocess", "run_pipeline_in_subprocess"]

T = TypeVar("T")

Initializer = Callable[[], Any] | Sequence[Callable[[], Any]] | None


def iterate_in_subprocess(
    fn: Callable[[], Iterable[T]],
    *,
    buffer_size: int = 3,
    initializer: Initializer = None,
    mp_context: str | BaseContext | None = None,
    timeout: float | None = None,
    daemon: bool = False,
    arena: Any = None,
    num_workers: int = 1,
    ordered: bool = True,
) -> Iterable[T]:
    """Iterates over ``fn()`` in a separate process, any number of times.

    The worker is started once, calls `initializer` (one function or several) and
    then ``fn()``; each iteration here is one over that iterable there.  (An iterator,
    such as a generator, ends but once: then ``fn()`` is called for each iteration.)
    Leaving an iteration early is fine.  The worker ends with the returned object.

    :param fn: returns the iterable.  Under spawn and forkserver it is pickled.
    :param buffer_size: number of items that the worker may be ahead.
    :param mp_context: "fork", "spawn", "forkserver" or a context.
    :param timeout: seconds without an item after which the worker is ended and
        WorkerTimeout is raised; None: never.
    :param daemon: as for multiprocessing.Process.
    :param arena: a SharedMemoryRingBuffer or SharedMemorySegmentPool for the items;
        None: Python's own queue.
    :param num_workers: number of processes, each with its own ``fn()``;
        ``worker_info()`` distinguishes them.
    :param ordered: take items from the workers in turn, in a reproducible order;
        False: the first one that is ready.

    An exception in the worker is raised here, of the same type, with the remote
    traceback as its cause; the next iteration can be tried.  If a worker dies,
    WorkerDied is raised.  ``random``, NumPy's legacy generator and Torch's CPU generator
    continue in the worker with the parent's state.
    """
    buffer_size = check_count("buffer_size", buffer_size, 1)
    num_workers = check_count("num_workers", num_workers, 1)
    if not callable(fn):
        raise TypeError(f"fn must be a function that returns an iterable, not {fn!r}.")
    context, timeout = _context(mp_context), _checked_timeout(timeout)
    initializers = _initializers(initializer)
    in_turn = ordered and num_workers > 1
    session = Session(
        context,
        _channel(context, arena, num_workers, buffer_size, in_turn),
        num_workers=num_workers,
        ordered=in_turn,
        timeout=timeout,
    )
    items: _SubprocessIterable[T] = _SubprocessIterable(session)
    session.start(fn, initializers, daemon)  # what ends them at exit is in place
    return items


def run_pipeline_in_subprocess(
    config: PipelineConfig[T],
    /,
    *,
    num_threads: int,
    max_failures: int | Fraction = -1,
    **kwargs: Any,
) -> Iterable[T]:
    """Runs a pipeline in a separate process and iterates over its results.

    `config` is what ``PipelineBuilder.get_config()`` returned; `num_threads` and
    `max_failures` are as of ``PipelineBuilder.build()``, the rest as of
    ``iterate_in_subprocess()``.  Each iteration builds a new pipeline, unless its
    source is continuous: then the pipeline continues and prepares the next epoch.

    An executor of a stage cannot be sent to another process: give ``pipe()`` a function
    that makes one.  (Under fork, an executor that has not been used yet works.)

    A source that is a roar.shards() stream keeps its position here: its ``epoch`` is that
    of the consumer, and ``state_dict(steps)`` is the position after these steps.
    Several workers share its samples.
    """
    if not isinstance(config, PipelineConfig):
        config = config.get_config()
    num_threads = check_count("num_threads", num_threads, 1)
    max_failures = check_max_failures(max_failures)
    _check_executors(config, _context(kwargs.get("mp_context")).get_start_method())
    source = following(
        config.source.source, _in_order(config, kwargs.get("num_workers", 1))
    )
    items = iterate_in_subprocess(
        _PipelineMaker(config, num_threads, max_failures), **kwargs
    )
    assert isinstance(items, _SubprocessIterable)
    items.source = source
    return items


def _in_order(config: PipelineConfig[Any], num_workers: Any) -> bool:
    """Do results come in the order of the source?"""
    return num_workers == 1 and all(
        stage.concurrency == 1 or stage.output_order == "input"
        for stage in config.stages
        if isinstance(stage, PipeConfig)
    )


class _SubprocessIterable(Generic[T]):
    """The iterable that the functions above return."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.source: Following | None = None
        # multiprocessing's own finalizer, because at exit it comes before
        # multiprocessing waits for our workers, which would wait for us.
        Finalize(self, session.end, args=("it was finalized",), exitpriority=100)

    def __iter__(self) -> Iterator[T]:
        if self.source is not None:
            self.source.begin()
        return self._iterate(self._session.begin_epoch())

    def _iterate(self, epoch: int) -> Iterator[T]:
        try:
            while True:
                try:
                    item = self._session.next_item(epoch)
                except EpochEnd:
                    if self.source is not None:
                        self.source.finish()
                    return
                yield item
                del item  # so that the consumer alone decides how long it lives
        finally:
            self._session.stop_epoch(epoch)


class _PipelineMaker(Generic[T]):
    """Builds the pipeline in the worker."""

    def __init__(
        self,
        config: PipelineConfig[T],
        num_threads: int,
        max_failures: int | Fraction,
    ) -> None:
        self._config = config
        self._num_threads = num_threads
        self._max_failures = max_failures

    def __call__(self) -> Iterable[T]:
        if self._config.source.continuous:
            return _Continuous(self.build)
        return _Rebuilt(self.build)

    def build(self) -> Pipeline[T]:
        return build_pipeline(
            self._config,
            num_threads=self._num_threads,
            max_failures=self._max_failures,
        )


class _Rebuilt(Generic[T]):
    """A pipeline per epoch."""

    def __init__(self, build: Callable[[], Pipeline[T]]) -> None:
        self._build = build

    def __iter__(self) -> Iterator[T]:
        with self._build().auto_stop() as pipeline:
            yield from pipeline


class _Continuous(Generic[T]):
    """One pipeline for all epochs, until one is left early or fails."""

    def __init__(self, build: Callable[[], Pipeline[T]]) -> None:
        self._build = build
        self._pipeline: Pipeline[T] | None = None

    def __iter__(self) -> Iterator[T]:
        if self._pipeline is None:
            self._pipeline = self._build()
        pipeline, finished = self._pipeline, False
        try:
            yield from pipeline
            finished = True
        finally:
            if not finished:
                self._pipeline = None
                pipeline.stop()


def _check_executors(config: PipelineConfig[Any], start_method: str | None) -> None:
    for stage in config.stages:
        executor = getattr(stage, "executor", None)
        if not isinstance(executor, Executor):
            continue
        used = getattr(executor, "_threads", None) or getattr(
            executor, "_processes", None
        )
        if used or start_method != "fork":
            raise ValueError(
                f"The executor of the stage '{stage.name}' cannot go to another "
                "process; give pipe() a function that makes one there."
            )


def _context(given: str | BaseContext | None) -> BaseContext:
    if given is None or isinstance(given, str):
        return multiprocessing.get_context(given)
    if not isinstance(given, BaseContext):
        raise TypeError(f"mp_context must be a start method or context, not {given!r}.")
    return given


def _checked_timeout(timeout: float | None) -> float | None:
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout must be a number of seconds, not {timeout!r}.")
    if math.isnan(timeout) or timeout <= 0:
        raise ValueError(f"timeout must be over 0 seconds, not {timeout}.")
    return None if math.isinf(timeout) else float(timeout)


def _initializers(given: Initializer) -> Sequence[Callable[[], Any]]:
    if given is None:
        return ()
    if callable(given):
        return (given,)
    functions = tuple(given)
    for function in functions:
        if not callable(function):
            raise TypeError(f"An initializer must be callable, {function!r} is not.")
    return functions


def _channel(
    context: BaseContext, arena: Any, num_workers: int, buffer_size: int, ordered: bool
) -> Channel:
    if arena is None:
        return QueueChannel(context, buffer_size)
    if not isinstance(arena, Arena):
        raise TypeError(
            "arena must be a SharedMemoryRingBuffer, a SharedMemorySegmentPool or "
            f"another Arena, not {arena!r}."
        )
    return ArenaChannel(arena, num_workers, buffer_size, ordered=ordered)
