"""PipelineBuilder: describes a pipeline step by step."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from concurrent.futures import Executor
from fractions import Fraction
from typing import Any, Generic, TypeVar

from ._config import (
    AggregateConfig,
    Aggregator,
    DisaggregateConfig,
    PipeConfig,
    PipelineConfig,
    SinkConfig,
    SourceConfig,
    check_count,
    check_max_failures,
    kind_of,
)
from ._pipeline import Pipeline, build_pipeline

__all__ = ["PipelineBuilder"]

T = TypeVar("T")


class PipelineBuilder(Generic[T]):
    """Describes a pipeline, step by step; each method returns the builder.

    >>> builder = PipelineBuilder().add_source(range(10)).pipe(str).add_sink()
    >>> with builder.build(num_threads=2).auto_stop() as pipeline: ...
    """

    def __init__(self: PipelineBuilder[Any]) -> None:  # Any: unless T is named
        self._source: SourceConfig[Any] | None = None
        self._stages: list[PipeConfig | AggregateConfig | DisaggregateConfig] = []
        self._sink: SinkConfig | None = None

    def add_source(
        self, source: Iterable[Any] | AsyncIterable[Any], *, continuous: bool = False
    ) -> PipelineBuilder[T]:
        """Sets where the items come from: an iterable or an async iterable.

        With `continuous` it is iterated again each time it ends, so that the
        next epoch is prepared while the consumer still uses this one.
        """
        if self._source is not None:
            raise ValueError("A pipeline has one source, and this one has it already.")
        if not hasattr(source, "__iter__") and not hasattr(source, "__aiter__"):
            raise TypeError(f"A source must be iterable, {source!r} is not.")
        self._source = SourceConfig(source, continuous)
        return self

    def pipe(
        self,
        op: Any,
        /,
        *,
        concurrency: int = 1,
        executor: Executor | Callable[[], Executor] | None = None,
        name: str | None = None,
        output_order: str = "completion",
        max_failures: int | Fraction | None = None,
    ) -> PipelineBuilder[T]:
        """Adds an operation on each item.

        `op` is a function, any callable, a generator function (each item gives
        any number of items), an async one of these, or a container that is
        indexed with the item.  An item whose result is None is dropped, and so
        is one whose `op` raises: that is logged and counted, and more than
        `max_failures` of them (a number, or a share as a Fraction) end the
        pipeline with PipelineFailure.

        Up to `concurrency` items are processed at a time.  Results come in the
        order of completion, or, with ``output_order="input"``, in input order.
        `executor` (or a function that makes one) runs `op` outside the
        pipeline's threads, for example in a ProcessPoolExecutor.
        """
        kind = kind_of(op)
        concurrency = check_count("concurrency", concurrency, 1)
        if output_order not in ("completion", "input"):
            raise ValueError(
                f"output_order must be 'completion' or 'input', not {output_order!r}."
            )
        if max_failures is not None:
            max_failures = check_max_failures(max_failures)
        if executor is not None and kind.startswith("async"):
            raise ValueError("An async operation takes no executor: it runs in a loop.")
        if name is None:
            name = getattr(op, "__name__", None) or type(op).__name__
        self._stages.append(
            PipeConfig(op, name, concurrency, executor, output_order, max_failures)
        )
        return self

    def aggregate(
        self, num: int | Aggregator, /, *, drop_last: bool = False
    ) -> PipelineBuilder[T]:
        """Groups `num` items into a list, or lets an Aggregator group them.

        The last group may be smaller; `drop_last` drops it in that case.
        """
        if not isinstance(num, Aggregator):
            num = check_count("The size of a group", num, 1)
        self._stages.append(AggregateConfig(num, drop_last))
        return self

    def disaggregate(self) -> PipelineBuilder[T]:
        """Splits groups: each element of an item becomes an item."""
        self._stages.append(DisaggregateConfig())
        return self

    def add_sink(self, buffer_size: int = 3) -> PipelineBuilder[T]:
        """Ends the description: `buffer_size` results may wait; 0: any number."""
        if self._sink is not None:
            raise ValueError("A pipeline has one sink, and this one has it already.")
        self._sink = SinkConfig(check_count("buffer_size", buffer_size, 0))
        return self

    def get_config(self) -> PipelineConfig[T]:
        """The description as data, for ``run_pipeline_in_subprocess``."""
        if self._source is None:
            raise ValueError("The pipeline has no source: call add_source() first.")
        if self._sink is None:
            raise ValueError("The pipeline has no sink: call add_sink() at the end.")
        return PipelineConfig(self._source, tuple(self._stages), self._sink)

    def build(
        self, *, num_threads: int, max_failures: int | Fraction = -1
    ) -> Pipeline[T]:
        """A pipeline that runs in this process.

        `num_threads` threads run its source and operations; `max_failures`
        holds for every operation that has no limit of its own.
        """
        return build_pipeline(
            self.get_config(), num_threads=num_threads, max_failures=max_failures
        )
