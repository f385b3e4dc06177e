"""What a user sees of roar at the end of a run: rows of run.py.

Other rows have the slope over many files, which leaves out what every run pays.
These have all of it: the difference between two runs of the same script, with
roar and without."""

import json
import os
import shutil
import subprocess
import sys

from measure import spawn_ms

N_FILES = 1000
# The table of README.md (cost_docs.py) has rows of these groups.
GROUPS = ("cost", "start", "git", "whole", "memory")

MAKE_PY = """
import os, sys
n, d = int(sys.argv[1]), sys.argv[2]
os.mkdir(d)
for i in range(n):
    with open(os.path.join(d, f"f_{i}"), "wb") as f:
        f.write(b"x" * 4096)
for i in range(n):
    with open(os.path.join(d, f"f_{i}"), "rb") as f:
        f.read()
"""


def run_ms(bench, project, n, tracer=None):
    """The script with `n` files, by itself or in `roar run`."""
    where = bench.fresh(project)
    argv = [bench.python, "-c", MAKE_PY, str(n), where]
    if tracer:
        argv = [bench.roar, "run", "-q", "--tracer", tracer, *argv]
    ms = spawn_ms(argv, project)
    shutil.rmtree(where)
    return ms


def added_ms(bench, project, n, tracer):
    return run_ms(bench, project, n, tracer) - run_ms(bench, project, n)


def one_output_row(bench, project):
    values = []
    for i in range(bench.reps(41) + 2):
        more = added_ms(bench, project, 1, "hybrid") - \
            added_ms(bench, project, 0, "hybrid")
        if i >= 2:  # two warm-ups
            values.append(more)
    bench.add("roar run with one output, added to none", "ms", 1.0, values)


def thousand_rows(bench, project, medium, goals):
    """A millisecond for 1,000 files is a microsecond for each."""
    for tracer, goal in goals.items():
        values = [added_ms(bench, project, N_FILES, tracer)
                  for _ in range(bench.reps(15) + 1)][1:]
        bench.add(f"all that 1,000 files add, each, {tracer}, {medium}", "us",
                  goal, values)


def after_ms(bench, project):
    """Hashing and recording, which the shell waits for."""
    where = bench.fresh(project)
    done = subprocess.run(
        [bench.roar, "run", "-q", "--tracer", "hybrid", bench.python, "-c",
         MAKE_PY, str(N_FILES), where],
        cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, check=False,
        env=dict(os.environ, ROAR_TIMING="1"))
    shutil.rmtree(where)
    _, found, timing = done.stderr.partition("ROAR_TIMING:")
    if done.returncode or not found:
        sys.exit(f"bench: no ROAR_TIMING in: {done.stderr[-400:]}")
    return json.loads(timing)["postrun_ms"]


def after_row(bench, project):
    values = [after_ms(bench, project) for _ in range(bench.reps(15) + 1)]
    bench.add("after the command, 1,000 outputs", "ms", 12.0, values[1:])


def rows(bench):
    project = bench.project("cost", bench.ram)
    one_output_row(bench, project)
    goals = {"hybrid": 25.0, "ptrace": None}
    if bench.medium != "disk":
        thousand_rows(bench, project, bench.medium, goals)
    thousand_rows(bench, bench.project("cost"), "disk", {"hybrid": 30.0})
    after_row(bench, project)
