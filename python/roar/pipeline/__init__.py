"""Pipelines that prepare items, in threads or in processes of their own."""

from ._builder import PipelineBuilder
from ._config import Aggregator, PipelineConfig
from ._errors import PipelineFailure, WorkerDied, WorkerTimeout
from ._pipeline import Pipeline, build_pipeline

__all__ = [
    "Aggregator",
    "Pipeline",
    "PipelineBuilder",
    "PipelineConfig",
    "PipelineFailure",
    "WorkerDied",
    "WorkerTimeout",
    "build_pipeline",
]
