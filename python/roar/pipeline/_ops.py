"""How an operation is carried out: one small class per kind.

An operation works on one item in one or more steps, each of which gives values
and says whether the item is finished:

    state = op.begin(item)
    values, finished = op.advance(state)           here, in the calling thread
    values, finished = op.collect(op.submit(state))    elsewhere (op.remote)

Iterators are advanced value by value, so that one that yields without end fills
no memory and holds no thread while nobody takes what it made.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from typing import Any

from ._config import PipeConfig, SourceConfig, kind_of

__all__ = ["Call", "Each", "Loop", "op_of_pipe", "op_of_source"]

Step = tuple[tuple[Any, ...], bool]
_ENDED: Step = ((), True)


class Loop:
    """An event loop in a thread of its own, for async operations."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, name="roar-pipeline-loop", daemon=True
        )
        self._thread.start()

    def _run(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    def submit(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self, timeout: float | None = None) -> bool:
        """Cancels what runs; False if that does not end in time."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop)
            self._thread.join(timeout)
        return not self._thread.is_alive()

    async def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._loop.stop()


class Call:
    """A function: one value per item."""

    remote = False

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def begin(self, item: Any) -> Any:
        return item

    def advance(self, item: Any) -> Step:
        return (self._fn(item),), True


class Each:
    """A function that returns an iterable: any number of values per item."""

    remote = False

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def begin(self, item: Any) -> list[Any]:
        return [item, None]

    def advance(self, state: list[Any]) -> Step:
        values = state[1]
        if values is None:
            values = state[1] = iter(self._fn(state[0]))
            state[0] = None
        for value in values:
            return (value,), False
        return _ENDED


class Submit:
    """A function that an executor calls; `many`: what it returns are the values."""

    remote = True

    def __init__(
        self, executor: Executor, fn: Callable[[Any], Any], many: bool
    ) -> None:
        self._executor = executor
        self._fn: Callable[[Any], Any] = fn
        if many:
            self._fn = _Listed(fn)
        self._many = many

    def begin(self, item: Any) -> Any:
        return item

    def submit(self, item: Any) -> Future[Any]:
        return self._executor.submit(self._fn, item)

    def collect(self, future: Future[Any]) -> Step:
        result = future.result()
        return (tuple(result) if self._many else (result,)), True


class _Listed:
    """Runs a generator to its end, where the generator itself cannot be pickled."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def __call__(self, item: Any) -> list[Any]:
        return list(self._fn(item))


class Await:
    """An async function: one value per item."""

    remote = True

    def __init__(self, loop: Loop, fn: Callable[[Any], Any]) -> None:
        self._loop = loop
        self._fn = fn

    def begin(self, item: Any) -> Any:
        return item

    def submit(self, item: Any) -> Future[Any]:
        return self._loop.submit(self._fn(item))

    def collect(self, future: Future[Any]) -> Step:
        return (future.result(),), True


class AwaitEach:
    """A function that returns an async iterable: any number of values per item."""

    remote = True

    def __init__(self, loop: Loop, fn: Callable[[Any], Any]) -> None:
        self._loop = loop
        self._fn = fn

    def begin(self, item: Any) -> list[Any]:
        return [item, None]

    def submit(self, state: list[Any]) -> Future[Any]:
        return self._loop.submit(self._next(state))

    async def _next(self, state: list[Any]) -> Step:
        values = state[1]
        if values is None:
            values = state[1] = aiter(self._fn(state[0]))
            state[0] = None
        try:
            return (await anext(values),), False
        except StopAsyncIteration:
            return _ENDED

    def collect(self, future: Future[Any]) -> Step:
        return future.result()


Here = Call | Each
Elsewhere = Submit | Await | AwaitEach
Op = Here | Elsewhere


def op_of_source(config: SourceConfig[Any], loop: Callable[[], Loop]) -> Op:
    """The source as an operation whose one item is the beginning of an epoch."""
    source = config.source
    if hasattr(source, "__aiter__"):
        return AwaitEach(loop(), lambda _: source)
    return Each(lambda _: source)


def op_of_pipe(
    config: PipeConfig, loop: Callable[[], Loop], executor: Executor | None
) -> Op:
    """The operation of a pipe(); `loop` makes a loop when one is needed."""
    kind = kind_of(config.op)
    if kind == "async":
        return Await(loop(), config.op)
    if kind == "async_generator":
        return AwaitEach(loop(), config.op)
    fn = config.op.__getitem__ if kind == "container" else config.op
    if executor is not None:
        return Submit(executor, fn, kind == "generator")
    return Each(fn) if kind == "generator" else Call(fn)
