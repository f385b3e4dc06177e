#!/usr/bin/env python3
"""Measures what roar costs, against the goals it was built for.

    run.py --roar ROAR --tools DIR [--work DIR] [--full] [--quick]
           [--only WORD]... [--program TEXT]... [--way TEXT]...
           [--json FILE] [--check]
           [--plot FILE] [--docs FILE] [--peer VENV] [--urgent]

Each WORD is a group of rows: start, git, attach, trace, tracer, programs, hash,
whole, memory, cost, capture, lineage, arena, checkpoint, coordinator, ha, shards, readers, scale, proxy.
cost is what a user
sees of a run and has the groups start, git, whole and memory in it: the table of
README.md.  cost.py has that, tracer.py has the tracers one by one,
programs.py whole programs, hashing.py files that are identified, arena.py payloads
between processes, coordinator.py workers that meet, ha.py what they notice when their
coordinator is killed, shards.py what they are dealt, readers.py how
that is read, scale.py what very many of them cost, checkpoint.py how a state is saved and loaded, and
proxy.py what S3 requests cost on their way.  Each TEXT is part of the
name of one of those programs, or of one of the ways to run them; the others are
left out.

How figures are taken is told in measure.py.  Start-up rows write their record to
the disk under --work.

--tools is the folder with files, trace_only and primitives; --work a folder
that is not below /tmp; --full adds the row of a million files; --check exits
with 1 when a goal is missed; --plot writes an SVG picture of the tracers, --docs
puts their table, that of what a run costs, the coordinator's, that of shards, of readers, of scale or of the proxy into a document; --urgent lets what is measured
of the coordinator run before all else (root, on a busy machine); --peer names a virtual environment into which
the public package roar-cli has been installed: its tracers run beside ours."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import arena_bench  # noqa: E402
import capture  # noqa: E402
import checkpoint  # noqa: E402
import coordinator  # noqa: E402
import cost  # noqa: E402
import cost_docs  # noqa: E402
import figures  # noqa: E402
import ha  # noqa: E402
import hashing  # noqa: E402
import lineage  # noqa: E402
import programs  # noqa: E402
import proxy  # noqa: E402
import readers  # noqa: E402
import scale  # noqa: E402
import shards  # noqa: E402
import tracer  # noqa: E402
from cost import MAKE_PY  # noqa: E402
from measure import (Bench, difference, enter_namespace, machine,  # noqa: E402
                     wall_ms)

TOUCH_N = (0, 200, 500, 1000, 2000, 5000)
REOPEN_K = (1, 2, 4, 8, 16, 32, 64)
RW_N = (400, 800, 1600, 3200, 6400, 12800, 25600)
MAKE_N = (0, 100, 500, 1000, 5000)
N_JOBS = 1000  # recorded before the start-up rows
N_REPO_FILES = 1000

# The same work as files.c does, as scripts write it.
TOUCH_PY = """
import os, shutil, sys, tempfile
n, base = int(sys.argv[1]), sys.argv[2]
if n:
    d = tempfile.mkdtemp(dir=base)
    for i in range(n):
        with open(os.path.join(d, f"f_{i}"), "w") as f:
            f.write("x" * 256)
    for i in range(n):
        with open(os.path.join(d, f"f_{i}"), "r") as f:
            f.read()
    shutil.rmtree(d)
"""
REOPEN_PY = """
import os, shutil, sys, tempfile
k, base = int(sys.argv[1]), sys.argv[2]
d = tempfile.mkdtemp(dir=base)
names = [os.path.join(d, f"f_{i}") for i in range(200)]
for name in names:
    with open(name, "wb") as f:
        f.write(b"x" * 256)
for _ in range(k):
    for name in names:
        with open(name, "r+b") as f:
            f.seek(0)
            f.write(b"y" * 256)
    for name in names:
        with open(name, "rb") as f:
            f.read(256)
shutil.rmtree(d)
"""


class Rows(Bench):
    """What roar costs as a whole, and ptrace by the scripts of the seed."""

    def start_up(self):
        """Rows 1 and 2: a command that does nothing, and looking."""
        # Not below the checkout, whose repository would be looked at.
        outside = tempfile.mkdtemp(prefix="roar-bench-", dir="/var/tmp")
        self.outside.append(outside)
        project = self.project("startup", outside)
        n_jobs = 100 if self.args.quick else N_JOBS
        for i in range(n_jobs):
            wall_ms([self.roar, "run", "-q", self.true, str(i)], project)
        commands = {"bare": [self.true],
                    "run": [self.roar, "run", "-q", self.true],
                    "version": [self.roar, "--version"],
                    "status": [self.roar, "status"]}
        times = self.alternate(commands, project, 41)
        bare = statistics.median(times["bare"])
        facts = {"bare_true_ms": bare, "jobs": n_jobs}
        self.add("roar run true, added to true", "ms", 6.0,
                 difference(times["run"], times["bare"]), facts)
        for name in ("version", "status"):
            title = "roar --version" if name == "version" else "roar status"
            self.add(title, "ms", 2 * bare + 2, times[name],
                     {"ratio_to_true": statistics.median(times[name]) / bare})

    def tracer_rows(self, tracer):
        """Row 3: the tracer alone."""
        prefix = [self.tool("trace_only"), tracer]
        files, python = self.tool("files"), self.python

        def pair(argv, where):
            return (lambda n: wall_ms([*argv, str(n), where]),
                    lambda n: wall_ms([*prefix, *argv, str(n), where]))

        def fresh_pair(argv):
            def run(prefix, n):
                where = self.fresh(self.ram)
                ms = wall_ms([*prefix, *argv, str(n), where])
                shutil.rmtree(where, ignore_errors=True)
                return ms
            return lambda n: run([], n), lambda n: run(prefix, n)
        # One write and one read of each file: two opens, so two stops.
        self.slope_row(f"{tracer} per file written and read, C", 26.0, TOUCH_N,
                       *fresh_pair([files, "make"]), 7)
        self.slope_row(f"{tracer} per file written and read, Python", None,
                       TOUCH_N, *fresh_pair([python, "-c", MAKE_PY]), 7)
        self.slope_row(f"{tracer} per file rewritten and read, C", 26.0,
                       TOUCH_N, *pair([files, "again"], self.made("again")), 7)
        # The script of the published figures (207 us there) removes each file
        # as well, which is a third stop.
        self.slope_row(f"{tracer} per file, also removed, C", None, TOUCH_N,
                       *pair([files, "touch"], self.ram), 5)
        self.slope_row(f"{tracer} per file, also removed, Python", None,
                       TOUCH_N, *pair([python, "-c", TOUCH_PY], self.ram), 5)
        self.slope_row(f"{tracer} per read/write", 0.1, RW_N,
                       *pair([files, "rw"], self.ram), 9)
        # Each operation of the next two rows opens its file anew.
        self.slope_row(f"{tracer} per reopened read/write, C", None, REOPEN_K,
                       *pair([files, "reopen"], self.ram), 3, 400)
        self.slope_row(f"{tracer} per reopened read/write, Python", None,
                       REOPEN_K, *pair([python, "-c", REOPEN_PY], self.ram),
                       3, 400)

    def whole_rows(self):
        """Row 4: trace, hash and record together."""
        files, python = self.tool("files"), self.python

        def run(project, argv, n):
            where = self.fresh(project)
            ms = wall_ms([*argv, str(n), where], project)
            shutil.rmtree(where)
            return ms

        def row(title, project, argv, reps):
            for name in ("ptrace", "hybrid"):
                roar = [self.roar, "run", "-q", "--tracer", name, *argv]
                self.slope_row(f"roar run per 4 KiB file, {name}, {title}",
                               45.0, MAKE_N, lambda n: run(project, argv, n),
                               lambda n, roar=roar: run(project, roar, n),
                               reps)
        project = self.project("whole", self.ram)
        row(f"C, {self.medium}", project, [files, "make"], 7)
        row(f"Python, {self.medium}", project, [python, "-c", MAKE_PY], 7)
        if self.medium != "disk":
            row("C, disk", self.project("whole"), [files, "make"], 5)

    def repository_row(self):
        """Row 5: a clean repository of 1,000 files."""
        if not shutil.which("git"):
            return
        path = os.path.join(self.work, "repo")
        os.mkdir(path)
        for i in range(N_REPO_FILES):
            folder = os.path.join(path, f"d{i // 50}")
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"f{i}"), "w",
                      encoding="utf-8") as f:
                f.write(f"file {i}\n")
        with open(os.path.join(path, ".gitignore"), "w",
                  encoding="utf-8") as f:
            f.write(".roar/\n")
        git = ["git", "-c", "user.name=bench", "-c", "user.email=b@localhost"]
        for argv in (["init", "-q"], ["add", "."],
                     ["commit", "-q", "-m", "bench"]):
            subprocess.run([*git, *argv], cwd=path, check=True,
                           stdout=subprocess.DEVNULL)
        self.project("repo")
        # Files as young as the index must be read to be believed; a user's
        # repository has settled.
        time.sleep(1.5)
        subprocess.run(["git", "status", "--short"], cwd=path, check=True,
                       stdout=subprocess.DEVNULL)
        times = self.alternate({"bare": [self.true],
                                "run": [self.roar, "run", "-q", self.true]},
                               path, 41)
        self.add("roar run true in a clean repository", "ms", 8.0,
                 difference(times["run"], times["bare"]))

    def attach_rows(self):
        """How long the command waits until it is observed, by tracer."""
        for name in ("ebpf", "hybrid", "ptrace", "preload"):
            argv = [self.roar, "tracer", "check", name, "--json"]
            values = []
            for _ in range(self.reps(15)):
                done = subprocess.run(argv, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, check=False)
                if done.returncode == 0:
                    values.append(json.loads(done.stdout)["attach_s"] * 1e3)
            if values:
                self.add(f"{name}: until the command is let go", "ms", None,
                         values)

    def memory_row(self, n, work, goal):
        """Row 6: the most memory roar itself has held."""
        project = self.project(f"memory-{n}")
        where = self.fresh(project)
        done = subprocess.run(
            [self.roar, "run", "-q", self.tool("files"), work, str(n), where],
            cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, check=False,
            env=dict(os.environ, ROAR_TIMING="1"))
        timing = timing_of(done.stderr)
        if done.returncode or "max_rss_kib" not in timing:
            sys.exit(f"bench: no max_rss_kib in: {done.stderr[-400:]}")
        self.add(f"memory of roar, {n:,} files", "MiB", goal,
                 [timing["max_rss_kib"] / 1024], {"timing": timing})
        shutil.rmtree(project)


def timing_of(text):
    for line in text.splitlines():
        if line.startswith("ROAR_TIMING:"):
            return json.loads(line[len("ROAR_TIMING:"):])
    return {}


def tracers(bench):
    """Every backend has its rows; today's goals are ptrace's."""
    out = subprocess.run([bench.roar, "--version"], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    print(f"subject: {out.strip()}")
    return ["ptrace"]


def each_tracer(bench, facts):
    result = tracer.rows(bench)
    print("\n" + figures.table(result) + "\n")
    print(figures.ratios(result, facts))
    if bench.args.plot:
        figures.plot(result, bench.args.plot)
    if bench.args.docs:
        figures.into_docs(bench.args.docs, figures.section(result, facts))


def measure(bench):
    facts = machine(bench)
    names = tracers(bench)
    print(f"{'':<46} {'goal':>9} {'measured':>9}      quartiles")
    if bench.wanted("start"):
        bench.start_up()
    if bench.wanted("attach"):
        bench.attach_rows()
    if bench.wanted("git"):
        bench.repository_row()
    if bench.wanted("trace"):
        for name in names:
            bench.tracer_rows(name)
    if bench.wanted("tracer") or bench.wanted("programs"):
        tracer.prepare(bench)
    if bench.wanted("tracer"):
        each_tracer(bench, facts)
    if bench.wanted("programs"):
        programs.rows(bench)
    if bench.wanted("hash"):
        hashing.rows(bench)
    if bench.wanted("whole"):
        bench.whole_rows()
    if bench.wanted("memory"):
        bench.memory_row(5000, "make", 30.0)
        if bench.args.full:
            bench.memory_row(1000000, "many", 300.0)
    if bench.wanted("cost"):
        cost.rows(bench)
        if bench.args.docs:
            cost_docs.into(bench.args.docs, bench.rows)
    if bench.wanted("capture"):
        capture.rows(bench)
    if bench.wanted("lineage"):
        lineage.rows(bench)
    if bench.wanted("arena"):
        arena_bench.rows(bench)
    if bench.wanted("checkpoint"):
        checkpoint.rows(bench, facts)
    if bench.wanted("coordinator"):
        coordinator.rows(bench, facts)
    if bench.wanted("ha"):
        ha.rows(bench)
    if bench.wanted("shards"):
        shards.rows(bench, facts)
    if bench.wanted("readers"):
        readers.rows(bench, facts)
    if bench.wanted("scale"):
        scale.rows(bench, facts)
    if bench.wanted("proxy"):
        proxy.rows(bench, facts)
    return facts


def main():
    enter_namespace()
    parser = argparse.ArgumentParser()
    parser.add_argument("--roar", required=True)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--work", default=os.getcwd())
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append",
                        choices=("start", "git", "attach", "trace", "tracer",
                                 "programs", "hash", "whole",
                                 "memory", "cost", "capture", "lineage", "arena", "checkpoint",
                                 "coordinator", "ha",
                                 "shards", "readers", "scale", "proxy"))
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--way", action="append", default=[])
    parser.add_argument("--json")
    parser.add_argument("--plot")
    parser.add_argument("--docs")
    parser.add_argument("--peer")
    parser.add_argument("--urgent", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.urgent and os.geteuid() != 0:
        parser.error("--urgent is for root")
    if args.only and "cost" in args.only:
        args.only.extend(cost.GROUPS)
    args.work = os.path.abspath(args.work)
    args.tools = os.path.abspath(args.tools)
    json_path = os.path.abspath(args.json) if args.json else None
    for name in ("plot", "docs", "peer"):
        if getattr(args, name):
            setattr(args, name, os.path.abspath(getattr(args, name)))

    bench = Rows(args)
    try:
        facts = measure(bench)
    finally:
        os.chdir("/")
        bench.close()
    text = json.dumps({"machine": facts, "rows": bench.rows}, indent=2)
    if json_path:
        with open(json_path, "w", encoding="utf-8") as f:
            f.write(text + "\n")
    else:
        print(text)
    missed = [r["name"] for r in bench.rows if r.get("pass") is False]
    noisy = [r["name"] for r in bench.rows if r.get("pass", 0) is None]
    print(f"{len(bench.rows)} figures, {len(missed)} goals missed, "
          f"{len(noisy)} lost in noise")
    return 1 if missed and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
