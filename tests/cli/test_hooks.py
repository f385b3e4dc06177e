"""eBPF programs that stay loaded: nobody pays for them but while a run lasts."""

import os
import signal
import subprocess
import sys

import pytest

from helpers import children_of, make_place, names_of, runs_program, until
from test_roard import Daemon, roard_path

HOOKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hooks.py")
HELD = 2  # at the entry and at the exit of system calls


class Pinned:
    """A BPF file system of our own with pinned programs in it: the machine's own
    pins are not touched, and ours go with the namespace."""

    def __init__(self):
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-ec",
             "mount -t bpf bpf /sys/fs/bpf; \"$0\" --pin; echo ready; read x",
             roard_path()], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        if self.holder.stdout.readline() != b"ready\n":
            pytest.skip(self.holder.communicate()[1].decode())

    def inside(self, folder, *args):
        return ["nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt", "env",
                "-C", folder, *args]

    def hooks(self):
        done = subprocess.run(self.inside("/", sys.executable, "-I", HOOKS),
                              check=True, timeout=30, capture_output=True,
                              text=True)
        if "no programs" in done.stdout:
            pytest.skip("trampolines do it: there are no such hooks")
        return int(done.stdout)

    def end(self):
        self.holder.communicate(b"\n", timeout=30)


@pytest.fixture
def pinned():
    if os.geteuid() != 0:
        pytest.skip("only root can pin programs")
    p = Pinned()
    yield p
    p.end()


@pytest.fixture
def place(pinned):
    new = make_place(os.path.abspath(os.environ["ROAR"]))
    new.argv = lambda *args: pinned.inside(new.root, new.roar_program, *args)
    new("init")
    new("tracer", "use", "ebpf")
    yield new
    new.remove()


def start_waiting(place, name):
    """A run whose command waits for a line, and roar's tracing process."""
    run = place.popen("run", "sh", "-c", f"echo a >{name}; echo ready; read x",
                      stdin=subprocess.PIPE)
    assert run.stdout.readline() == b"ready\n"
    tracer = [p for p in children_of(run.pid)
              if runs_program(p, place.roar_program)]
    return run, tracer[0]


def finish(run):
    _, err = run.communicate(b"\n", timeout=30)
    assert run.returncode == 0, err


def test_a_run_that_has_ended_leaves_no_hooks(pinned, place):
    assert pinned.hooks() == 0
    run, _ = start_waiting(place, "out")
    assert pinned.hooks() == HELD
    finish(run)
    assert pinned.hooks() == 0
    job = place.last()
    assert (job["tracer"], job["verdict"]) == ("ebpf", "complete")
    assert names_of(place, job["outputs"]) == ["out"]


def test_a_tracer_that_was_killed_leaves_no_hooks(pinned, place):
    run, tracer = start_waiting(place, "out")
    os.kill(tracer, signal.SIGKILL)
    until(lambda: pinned.hooks() == 0, "the end of the hooks")
    run.communicate(b"\n", timeout=30)
    place.sh("echo b >b")
    assert place.last()["verdict"] == "complete"
    assert pinned.hooks() == 0


def test_runs_that_overlap_share_hooks(pinned, place):
    first, _ = start_waiting(place, "one")
    second, _ = start_waiting(place, "two")
    assert pinned.hooks() == HELD
    finish(first)
    assert pinned.hooks() == HELD
    finish(second)
    assert pinned.hooks() == 0
    job = place.last()
    assert names_of(place, job["outputs"]) == ["two"]
    assert job["verdict"] == "complete"


def test_runs_that_start_at_once_hook_in_once(pinned, place):
    script = "read x; echo $0 >$0; echo ready; read x"
    runs = [place.popen("run", "sh", "-c", script, f"out{i}",
                        stdin=subprocess.PIPE) for i in range(4)]
    for run in runs:
        run.stdin.write(b"\n")
        run.stdin.flush()
    for run in runs:
        assert run.stdout.readline() == b"ready\n"
    assert pinned.hooks() == HELD
    for run in runs:
        finish(run)
    assert pinned.hooks() == 0


def test_roard_hooks_in_for_its_clients_only():
    if os.geteuid() != 0:
        pytest.skip("roard has to be run by root")
    place = make_place(os.path.abspath(os.environ["ROAR"]))
    daemon = Daemon(place.base)
    place.env["ROAR_ROARD_SOCKET"] = daemon.socket
    try:
        place("init")
        place("tracer", "use", "ebpf")
        assert daemon.hooks() == 0
        runs = [start_waiting(place, name)[0] for name in ("one", "two")]
        if daemon.links() > 20:
            pytest.skip("trampolines do it: there are no such hooks")
        assert daemon.hooks() == HELD
        finish(runs[0])
        assert daemon.hooks() == HELD
        finish(runs[1])
        until(lambda: daemon.hooks() == 0, "the end of the hooks")
        assert daemon.links() > 0  # the programs stay loaded
    finally:
        daemon.end()
        place.remove()
