"""The process that answers for a dead tracer is itself replaced when it dies."""

import os
import signal
import subprocess
import sys

import pytest

from helpers import alive, children_of, gaps_of, runs_program, until

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kernel  # noqa: E402

WORK = "echo ready; read x; cat in >out && echo fine"


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""


def guardians_of(tracer):
    return [p for p in children_of(tracer)
            if name_of(p) == "roar-guardian" and alive(p)]


@pytest.fixture
def run(project):
    """A run under the hybrid tracer that waits for a line: its process, the
    tracer and the guardian."""
    project.write("in", "data\n")
    process = project.popen("run", "-q", "--tracer", "hybrid",
                            "--no-tracer-fallback", "sh", "-c", WORK,
                            stdin=subprocess.PIPE)
    if process.stdout.readline() != b"ready\n":
        assert not kernel.offers("hybrid"), process.stderr.read()
        pytest.skip("the kernel does not offer seccomp user notification")
    tracer, = [p for p in children_of(process.pid)
               if runs_program(p, project.roar_program)]
    guardian, = until(lambda: guardians_of(tracer), "a guardian")
    return project, process, tracer, guardian


def kill_and_await_another(tracer, guardian):
    os.kill(guardian, signal.SIGKILL)
    return until(lambda: [p for p in guardians_of(tracer) if p != guardian],
                 "another guardian")[0]


def test_guardian_and_tracer_killed_one_after_the_other(run):
    project, process, tracer, guardian = run
    for _ in range(2):
        guardian = kill_and_await_another(tracer, guardian)
    os.kill(tracer, signal.SIGKILL)
    out, _ = process.communicate(b"\n", timeout=60)
    assert out == b"fine\n" and process.returncode == 0
    assert project.read("out") == b"data\n"
    until(lambda: not alive(guardian), "the end of the guardian")
    assert project.last()["status"] == "interrupted"


def test_a_replaced_guardian_costs_nothing(run):
    project, process, tracer, guardian = run
    another = kill_and_await_another(tracer, guardian)
    out, err = process.communicate(b"\n", timeout=60)
    assert (out, err, process.returncode) == (b"fine\n", b"", 0)
    assert gaps_of(project.last()) == []
    until(lambda: not alive(another), "the end of the guardian")
