"""The description of a pipeline: plain data, made by the builder, sent to workers.

A config says what is to be done and holds nothing that runs, so it can be pickled
whenever the functions in it can.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import AsyncIterable, Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

__all__ = [
    "AggregateConfig",
    "Aggregator",
    "DisaggregateConfig",
    "PipeConfig",
    "PipelineConfig",
    "SinkConfig",
    "SourceConfig",
    "check_count",
    "check_max_failures",
    "kind_of",
]

T = TypeVar("T")
MaxFailures = int | Fraction


@runtime_checkable
class Aggregator(Protocol):
    """Makes groups of items, for ``PipelineBuilder.aggregate``."""

    def accumulate(self, item: Any, /) -> Any | None:
        """Takes an item; returns a group when one is complete, else None."""

    def flush(self) -> Any | None:
        """Returns the group that is left at the end, or None."""


@dataclass(frozen=True)
class SourceConfig(Generic[T]):
    """Where items come from."""

    source: Iterable[T] | AsyncIterable[T]
    continuous: bool = False


@dataclass(frozen=True)
class PipeConfig:
    """An operation that is applied to each item."""

    op: Any
    name: str
    concurrency: int = 1
    executor: Executor | Callable[[], Executor] | None = None
    output_order: str = "completion"
    max_failures: MaxFailures | None = None


@dataclass(frozen=True)
class AggregateConfig:
    """Items become lists of items."""

    size: int | Aggregator
    drop_last: bool = False
    name: str = "aggregate"


@dataclass(frozen=True)
class DisaggregateConfig:
    """Lists of items become items."""

    name: str = "disaggregate"


@dataclass(frozen=True)
class SinkConfig:
    """How many finished items wait for their consumer; 0: any number."""

    buffer_size: int = 3


@dataclass(frozen=True)
class PipelineConfig(Generic[T]):
    """A whole pipeline, as ``PipelineBuilder.get_config()`` returns it."""

    source: SourceConfig[Any]
    stages: tuple[PipeConfig | AggregateConfig | DisaggregateConfig, ...]
    sink: SinkConfig


def check_count(name: str, value: Any, least: int) -> int:
    """`value` if it is an integer of at least `least`; otherwise it raises."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, not {value!r}.")
    value = operator.index(value)
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}.")
    return value


def check_max_failures(value: Any) -> MaxFailures:
    """A number of failures (-1: any), or a share of the items as a Fraction."""
    if isinstance(value, Fraction):
        if not 0 < value <= 1:
            raise ValueError(
                f"max_failures as a Fraction must be over 0 and at most 1, not {value}."
            )
        return value
    return check_count("max_failures", value, -1)


def kind_of(op: Any) -> str:
    """How `op` is to be called: async, async_generator, generator, call or container."""
    for candidate in (op, getattr(type(op), "__call__", None)):
        if inspect.iscoroutinefunction(candidate):
            return "async"
        if inspect.isasyncgenfunction(candidate):
            return "async_generator"
        if inspect.isgeneratorfunction(candidate):
            return "generator"
    if callable(op):
        return "call"
    if hasattr(op, "__getitem__"):
        return "container"
    raise TypeError(
        f"An operation must be callable or have __getitem__, {op!r} has neither."
    )
