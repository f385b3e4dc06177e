"""proxy.py - starts roar-proxy, ends it, reads its object log."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from server import KEY_ID, SECRET

PATIENCE_S = 30
FIELDS = ("op", "pid", "start_ns", "end_ns", "status", "endpoint", "bucket",
          "key", "version", "etag", "size", "range", "blake3", "sha256",
          "flags", "copy_source", "upload_id", "part")


@dataclass
class Logged:
    """One line of the object log; "" where it has a dash."""

    op: str
    pid: str
    start_ns: str
    end_ns: str
    status: str
    endpoint: str
    bucket: str
    key: str
    version: str
    etag: str
    size: str
    range: str
    blake3: str
    sha256: str
    flags: str
    copy_source: str
    upload_id: str
    part: str


def read_log(path: Path) -> tuple[list[Logged], int, bool]:
    """The operations, how many were begun, and whether the end is there."""
    lines = path.read_text("utf-8", "surrogateescape").split("\n")
    assert lines[0] == "roar-objects 1" and lines[-1] == "", lines[:1]
    operations, begun, ended = [], 0, False
    for line in lines[1:-1]:
        op, *rest = line.split("\t")
        assert not ended, "a line after the end"
        if op == "begin":
            begun += 1
        elif op == "end":
            ended = True
        else:
            values = ["" if v == "-" else unquote(v) for v in (op, *rest)]
            assert len(values) == len(FIELDS), line
            logged = Logged(*values)
            # Only says that a line "begin" belongs to it.
            logged.flags = ",".join(f for f in logged.flags.split(",")
                                    if f != "begun")
            operations.append(logged)
    return operations, begun, ended


class Proxy:
    """A proxy of its own for one test."""

    def __init__(self, upstream: str, folder: Path, *options: str,
                 env: Mapping[str, str] | None = None) -> None:
        self.log = folder / "objects"
        self.errors = folder / "stderr"
        ready, ready_end = os.pipe()
        every = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET,
                 "AWS_CONFIG_FILE": "/dev/null", "HOME": str(folder),
                 "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
                 "AWS_EC2_METADATA_DISABLED": "true",
                 "PATH": os.environ["PATH"], **(env or {})}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                every[name] = os.environ[name]
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [os.environ["ROAR_PROXY"], "--upstream", upstream,
                 "--log", str(self.log), "--ready-fd", str(ready_end),
                 *options],
                env=every, pass_fds=[ready_end], stderr=errors,
                stdin=subprocess.DEVNULL, cwd=folder)
        os.close(ready_end)
        with os.fdopen(ready) as lines:
            words = lines.read().split()
        if words[:1] != ["ready"]:
            self.process.wait(PATIENCE_S)
            raise RuntimeError(f"roar-proxy did not start: {self.said()}")
        self.endpoint = words[1]

    def said(self) -> str:
        return self.errors.read_text("utf-8", "replace")

    def stop(self) -> int:
        """Ends it as `roar run` does; returns its exit status."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def ended_log(self) -> list[Logged]:
        """Stops the proxy; the operations of its complete log."""
        assert self.stop() == 0, self.said()
        operations, _, ended = read_log(self.log)
        assert ended, "the object log has no end"
        return operations

    def memory_kib(self, what: str = "VmHWM") -> int:
        for line in Path(f"/proc/{self.process.pid}/status").open():
            if line.startswith(what + ":"):
                return int(line.split()[1])
        return 0
