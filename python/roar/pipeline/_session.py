"""The parent's side of its workers: starts them, takes their items, ends them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any

from ._channel import Channel, Command, Dead, Kind, Late, Message
from ._errors import WorkerDied, WorkerTimeout, describe_exit, worker_died
from .._lifetime import Parent, stay_at_exit
from ._random_state import RandomState
from ._remote_error import unpack_error
from ._worker import WorkerInfo, WorkerPlan, work

__all__ = ["EpochEnd", "Session"]

# How long a worker may take to leave by itself, and then to die of SIGTERM.
_LEAVE_S = 2.0
_TERMINATE_S = 1.0


class EpochEnd(Exception):
    """All workers have given all items of an epoch."""


class Session:
    """A group of workers and the channel they send on.

    It has one consumer.  After an error that concerns the workers themselves (death,
    timeout, failed start) all of them are ended and the session is of no more use.
    """

    def __init__(
        self,
        context: BaseContext,
        channel: Channel,
        *,
        num_workers: int,
        ordered: bool,
        timeout: float | None,
    ) -> None:
        self._context = context
        self._channel = channel
        self._num_workers = num_workers
        self._ordered = ordered
        self._timeout = timeout
        self._processes: list[BaseProcess] = []
        self._commands: list[Connection] = []
        self._pid = os.getpid()
        self._epoch = 0
        self._at_work: list[int] = []  # workers that have not ended this epoch
        self._turn = 0  # whose item is next, as an index of these
        self._ended = ""  # why there are no workers any more

    # ---- the beginning ----

    def start(
        self,
        fn: Callable[[], Iterable[Any]],
        initializers: Sequence[Callable[[], Any]],
        daemon: bool,
    ) -> None:
        """Starts the workers and waits until all are ready."""
        parent = Parent.of_worker(self._context.get_start_method())
        random_state = RandomState()
        try:
            for i in range(self._num_workers):
                info = WorkerInfo(i, self._num_workers)
                mine, theirs = self._context.Pipe()
                outlet = self._channel.outlet(i)
                plan = WorkerPlan(
                    fn, initializers, info, outlet, theirs, parent, random_state
                )
                self._start_one(plan, mine, daemon)
                theirs.close()
            self._at_work = list(range(self._num_workers))
            while self._at_work:
                message = self._receive(None)
                if message.kind == Kind.ERROR:
                    raise unpack_error(message.payload)
                self._at_work.remove(message.worker)
        except BaseException:
            self.end("its workers could not be started")
            stay_at_exit()
            raise

    def _start_one(self, plan: WorkerPlan, mine: Connection, daemon: bool) -> None:
        name = f"roar-worker-{plan.info.index}"
        process = self._context.Process(  # type: ignore[attr-defined]
            target=work, args=(plan,), name=name, daemon=daemon
        )
        self._commands.append(mine)
        self._check()
        process.start()
        if self._ended:  # meanwhile: the program ends
            process.kill()
            self._check()
        self._processes.append(process)
        self._channel.started(plan.info.index, process, mine)

    # ---- epochs ----

    def begin_epoch(self) -> int:
        """Begins an epoch; what is left of the one before is dropped."""
        self._check()
        self._epoch += 1
        self._at_work = list(range(self._num_workers))
        self._turn = 0
        self._channel.begin(self._epoch)
        self._tell_all(Command.START)
        return self._epoch

    def stop_epoch(self, epoch: int) -> None:
        """The consumer left that epoch before its end."""
        if epoch != self._epoch or self._ended or self._pid != os.getpid():
            return
        if self._at_work:
            self._at_work = []
            self._tell_all(Command.STOP)

    def next_item(self, epoch: int) -> Any:
        """The next item; EpochEnd when there is none."""
        try:
            return self._next_item(epoch)
        except Exception:
            stay_at_exit()
            raise

    def _next_item(self, epoch: int) -> Any:
        self._check()
        if epoch != self._epoch:
            raise RuntimeError(
                "This iteration ended when another one was begun; "
                "a worker serves one at a time."
            )
        while self._at_work:
            wanted = self._at_work[self._turn] if self._ordered else None
            message = self._receive(wanted)
            if message.kind == Kind.ITEM:
                self._channel.delivered(message.worker)
            if message.epoch != epoch:
                continue  # of an epoch that was left
            if message.kind == Kind.ITEM:
                self._turn = (self._turn + 1) % len(self._at_work)
                return message.payload
            if message.kind == Kind.ERROR:
                raise unpack_error(message.payload)
            self._worker_ended_epoch(message.worker)
        raise EpochEnd

    def _worker_ended_epoch(self, worker: int) -> None:
        at = self._at_work.index(worker)
        self._at_work.remove(worker)
        if at < self._turn:
            self._turn -= 1
        if self._turn >= len(self._at_work):
            self._turn = 0

    def _receive(self, worker: int | None) -> Message:
        try:
            return self._channel.receive(self._timeout, worker)
        except Late:
            pids = ", ".join(str(p.pid) for p in self._processes)
            self.end("a worker gave no item in time", at_once=True)
            raise WorkerTimeout(
                f"The worker process {pids} gave no item for {self._timeout} s and "
                "was ended; a larger timeout gives it more."
            ) from None
        except Dead as dead:
            raise self._died(dead.worker) from None

    def _died(self, worker: int) -> WorkerDied:
        died = worker_died(self._processes[worker])
        how = describe_exit(died.exitcode)
        self.end(f"its worker process {died.pid} {how}", at_once=True)
        return died

    def _tell_all(self, command: Command) -> None:
        for worker, commands in enumerate(self._commands):
            try:
                commands.send((command, self._epoch))
            except OSError:
                if command == Command.START:
                    raise self._died(worker) from None

    def _check(self) -> None:
        if self._pid != os.getpid():
            raise RuntimeError(
                "Workers belong to the process that started them, which this is not."
            )
        if self._ended:
            raise RuntimeError(
                f"There is nothing to iterate over any more: {self._ended}."
            )

    # ---- the end ----

    def end(self, why: str, at_once: bool = False) -> None:
        """Ends the workers and gives everything back.  Harmless when repeated."""
        if self._ended or self._pid != os.getpid():
            return
        self._ended = why
        self._tell_all(Command.ABORT)
        self._channel.shutdown()
        self._join(0.0 if at_once else _LEAVE_S)
        for process in self._processes:
            if process.is_alive():
                process.terminate()
        self._join(_TERMINATE_S)
        for process in self._processes:
            if process.is_alive():
                process.kill()
        for process in self._processes:
            _close(process)
        for commands in self._commands:
            commands.close()
        self._channel.close()
        self._processes.clear()
        self._commands.clear()

    def _join(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self._processes:
            process.join(max(0.0, end - time.monotonic()))


def _close(process: BaseProcess) -> None:
    """Waits for the end of a process that was told to, and forgets it.

    multiprocessing looks after all its children whenever one is started.  Where another
    thread just did so and has not written down yet what it found, ours seems to be
    running still, and waiting for it returns at once.
    """
    end = time.monotonic() + _TERMINATE_S
    while time.monotonic() < end:
        process.join()
        try:
            process.close()
            return
        except ValueError:
            time.sleep(0.001)
