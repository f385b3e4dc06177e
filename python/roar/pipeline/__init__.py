"""Pipelines that prepare items, in threads or in processes of their own."""

from .._shared_memory import SharedMemoryRingBuffer, SharedMemorySegmentPool
from ._builder import PipelineBuilder
from ._config import Aggregator, PipelineConfig
from ._errors import PipelineFailure, WorkerDied, WorkerTimeout
from ._pipeline import Pipeline, build_pipeline
from ._subprocess import iterate_in_subprocess, run_pipeline_in_subprocess
from ._worker import WorkerInfo, worker_info

__all__ = [
    "Aggregator",
    "Pipeline",
    "PipelineBuilder",
    "PipelineConfig",
    "PipelineFailure",
    "SharedMemoryRingBuffer",
    "SharedMemorySegmentPool",
    "WorkerDied",
    "WorkerInfo",
    "WorkerTimeout",
    "build_pipeline",
    "iterate_in_subprocess",
    "run_pipeline_in_subprocess",
    "worker_info",
]
