"""Makes a worker end when its parent dies.

There are two mechanisms, because each has a gap.  The kernel can kill the worker when its
parent dies (PR_SET_PDEATHSIG), even while C code holds the interpreter.  But "parent" is
the thread that forked, which may end long before its process, and under forkserver it is
the server.  So this is used only if the parent's main thread forked the worker.  In any
case a thread of the worker waits on a pidfd of the parent.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import threading
from dataclasses import dataclass
from multiprocessing.util import is_exiting

__all__ = ["Parent", "stay_at_exit"]

_PR_SET_PDEATHSIG = 1


def _start_time(pid: int) -> str | None:
    """When a process was started, in clock ticks: tells a pid from its reuse."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return None


@dataclass(frozen=True)
class Parent:
    """The process that a worker belongs to; made there, used in the worker."""

    pid: int
    start_time: str | None
    direct: bool  # does the kernel see our main thread as the parent?

    @classmethod
    def of_worker(cls, start_method: str | None) -> Parent:
        """This process, as the parent of a worker that is started now."""
        pid = os.getpid()
        in_main_thread = threading.current_thread() is threading.main_thread()
        direct = in_main_thread and start_method in ("fork", "spawn")
        return cls(pid, _start_time(pid), direct)

    def tie(self) -> int | None:
        """Ties this process to the parent.  Returns a descriptor that is readable when the
        parent is dead, or None if the system has none.  Ends the process if
        the parent is dead already."""
        if self.direct:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != self.pid:
                os._exit(1)
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            os._exit(1)
        except OSError:
            return None
        if _start_time(self.pid) != self.start_time:
            os._exit(1)  # another process has its number by now
        return fd

    def tie_in_background(self) -> None:
        """As tie(), with a thread that ends this process when the parent is dead."""
        fd = self.tie()
        if fd is not None:
            threading.Thread(
                target=_follow, args=(fd,), name="roar-parent", daemon=True
            ).start()


def _follow(fd: int) -> None:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.poll()
    os._exit(1)


def stay_at_exit() -> None:
    """Hides the end of workers from a daemon thread at program exit: its traceback
    would be the last output of the program."""
    if is_exiting() and threading.current_thread().daemon:
        threading.Event().wait()
