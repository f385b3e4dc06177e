"""Suites of other projects, bare and under each tracer.

What a suite says must be the same with a tracer as without: the result of each test
and the exit code.  The verdict of the record is complete, or its gaps are named in
known.toml for that tracer."""

import json
import os
import pathlib
import subprocess
import sys
import tomllib

import pytest

ROAR = os.environ["ROAR"]
TRACERS = ["hybrid", "ptrace", "preload", "ebpf"]
PATIENCE = 280  # seconds, for one suite under one tracer
KERNEL = pathlib.Path(__file__).resolve().parents[2] / "kernel.py"
KNOWN = tomllib.loads((pathlib.Path(__file__).parent / "known.toml").read_text())


def refusal(tracer):
    """Why this kernel does not offer what the tracer needs, or nothing."""
    done = subprocess.run([sys.executable, KERNEL, tracer], capture_output=True,
                          text=True, timeout=60, check=False)
    return done.stdout.strip() if done.returncode else ""


def environment(folder):
    return {"HOME": str(folder), "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LC_ALL": "C.UTF-8", "TMPDIR": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}


def run(command, folder, **more):
    """(exit code, output) of the bare command."""
    done = subprocess.run(command, cwd=folder, env=environment(folder) | more,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


def known_gaps(suite, tracer):
    """The gaps that this suite may have under the tracer."""
    return {gap["reason"] for gap in KNOWN.get("gap", [])
            if tracer in gap["tracers"] and gap.get("suite", suite) == suite}


def traced(suite, tracer, command, folder, **more):
    """The same below `roar run`; checks the verdict."""
    if refusal(tracer):
        pytest.skip(refusal(tracer))
    code, _ = run([ROAR, "init", "-y"], folder)
    assert code == 0
    done = run([ROAR, "run", "-q", "--tracer", tracer, "--", *command], folder, **more)
    _, shown = run([ROAR, "show", "@1", "--json"], folder)
    job = json.loads(shown)
    assert job["tracer"] == tracer
    allowed = known_gaps(suite, tracer)
    unknown = [gap for gap in job["gaps"] if gap["reason"] not in allowed]
    assert not unknown, unknown
    assert job["verdict"] == "complete" or job["gaps"]
    return done


def known_tests(suite, tracer):
    """The tests of a suite that may end differently under a tracer."""
    return {one["test"] for one in KNOWN.get(suite, []) if tracer in one["tracers"]}
