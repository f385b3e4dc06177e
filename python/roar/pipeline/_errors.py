"""Exceptions of pipelines."""

from __future__ import annotations

import signal
from multiprocessing.process import BaseProcess

__all__ = ["PipelineFailure", "WorkerDied", "WorkerTimeout", "describe_exit",
           "worker_died"]


class PipelineFailure(RuntimeError):
    """A pipeline failed.

    Raised instead of the end of the iteration, after everything that was
    finished has been handed out.  ``stage`` names the stage that gave up and
    ``failures`` says how many items had failed there (0 for the source, which
    fails only once).
    """

    def __init__(self, message: str, stage: str = "", failures: int = 0) -> None:
        super().__init__(message, stage, failures)
        self.stage = stage
        self.failures = failures

    def __str__(self) -> str:
        return str(self.args[0])


class WorkerDied(RuntimeError):
    """A worker process ended without being asked to.

    ``pid`` is its process id; ``exitcode`` is as of
    ``multiprocessing.Process.exitcode``: negative for a signal, ``None`` when
    only its parent could tell.
    """

    def __init__(self, message: str, pid: int = 0, exitcode: int | None = None) -> None:
        super().__init__(message, pid, exitcode)
        self.pid = pid
        self.exitcode = exitcode

    def __str__(self) -> str:
        return str(self.args[0])


class WorkerTimeout(TimeoutError, RuntimeError):
    """A worker process gave no item for as long as ``timeout`` allows."""


def describe_exit(exitcode: int | None) -> str:
    """How a process ended, in words: "was killed by signal 9 (SIGKILL)"."""
    if exitcode is None:
        return "ended"
    if exitcode >= 0:
        return f"ended with exit code {exitcode}"
    try:
        name = f" ({signal.Signals(-exitcode).name})"
    except ValueError:
        name = ""
    return f"was killed by signal {-exitcode}{name}"


def worker_died(process: BaseProcess) -> WorkerDied:
    """The error about a worker that has ended."""
    process.join(1.0)
    pid, exitcode = process.pid or 0, process.exitcode
    return WorkerDied(
        f"The worker process {pid} {describe_exit(exitcode)}; items it had not "
        "sent are lost.",
        pid,
        exitcode,
    )
