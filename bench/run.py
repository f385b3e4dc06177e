#!/usr/bin/env python3
"""Measures what roar costs, against the goals it was built for.

    run.py --roar ROAR --tools DIR [--work DIR] [--full] [--quick]
           [--only WORD]... [--json FILE] [--check]

Every figure is a difference to the same command without roar, taken in the
same run: untraced and traced alternate, so slow drifts of the machine meet
both.  A cost per file is the slope of a least-squares line through the
differences at several numbers of files; of each repetition's slope the median
and the quartiles are shown.  Wall time is from start to reaped.  Where the
quartiles are further apart than half the goal, or a cost comes out negative, the
machine was too busy to tell, and the row says "noise".

A disk adds noise of its own, many times what is to be measured, so costs per
file are taken on a tmpfs where root can mount one (in a mount namespace of our
own).  Start-up rows write their record to the disk under --work.

--tools is the folder with files, trace_only and primitives; --work a folder
that is not below /tmp; --full adds the row of a million files; --check exits
with 1 when a goal is missed."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

INSIDE = "ROAR_BENCH_INSIDE"  # set in the mount namespace of our own
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


def wall_ms(argv, cwd=None):
    """Runs it once, silently; the time from start to reaped."""
    with open(os.devnull, "r+b") as null:
        start = time.perf_counter()
        done = subprocess.run(argv, cwd=cwd, stdin=null, stdout=null,
                              stderr=subprocess.PIPE, check=False)
        ms = (time.perf_counter() - start) * 1000
    if done.returncode != 0:
        sys.exit(f"bench: {argv} exit {done.returncode}: "
                 f"{done.stderr.decode(errors='replace')[-400:]}")
    return ms


def spawn_ms(argv, cwd):
    """As wall_ms() with less of our own time in it, for start-up rows."""
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
    os.chdir(cwd)
    start = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=actions)
    _, status = os.waitpid(pid, 0)
    ms = (time.perf_counter() - start) * 1000
    os.close(null)
    if status:
        sys.exit(f"bench: {argv} ended with status {status}")
    return ms


def slope(xs, ys):
    """Of the least-squares line."""
    mx, my = statistics.fmean(xs), statistics.fmean(ys)
    return (sum((x - mx) * (y - my) for x, y in zip(xs, ys)) /
            sum((x - mx) ** 2 for x in xs))


def spread(values):
    values = sorted(values)
    if len(values) < 2:
        return values[0], values[0], values[0]
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    return q1, median, q3


class Bench:
    """The rows measured so far, and what they are measured with."""

    def __init__(self, args):
        self.args = args
        self.rows = []
        self.roar = os.path.abspath(args.roar)
        self.true = shutil.which("true")
        # A version manager's shim would be measured instead of Python.
        self.python = os.path.realpath(sys.executable)
        self.work = tempfile.mkdtemp(prefix="roar-bench-", dir=args.work)
        self.n_dirs = 0
        self.outside = []
        self.ram = self.mount_tmpfs()

    def mount_tmpfs(self):
        """A folder in memory, or the one on disk where that cannot be."""
        path = os.path.join(self.work, "ram")
        os.mkdir(path)
        done = subprocess.run(["mount", "-t", "tmpfs", "none", path],
                              stderr=subprocess.DEVNULL, check=False) \
            if INSIDE in os.environ else None
        self.medium = "tmpfs" if done and done.returncode == 0 else "disk"
        return path

    def tool(self, name):
        return os.path.join(os.path.abspath(self.args.tools), name)

    def reps(self, n):
        return 3 if self.args.quick else n

    def wanted(self, word):
        return not self.args.only or word in self.args.only

    def close(self):
        if self.medium == "tmpfs":
            subprocess.run(["umount", self.ram], check=False)
        for path in (self.work, *self.outside):
            shutil.rmtree(path, ignore_errors=True)

    def add(self, name, unit, goal, values, extra=None):
        """One row; `values` are one figure per repetition."""
        q1, median, q3 = spread(values)
        row = {"name": name, "unit": unit, "goal": goal, "measured": median,
               "q1": q1, "q3": q3, "n": len(values)}
        # No cost is negative, and a wide spread proves nothing.
        if goal is not None and (q3 - q1 > goal / 2 or median < -goal / 10):
            row["pass"] = None
        elif goal is not None:
            row["pass"] = median <= goal
        row.update(extra or {})
        self.rows.append(row)
        print_row(row)

    def project(self, name, where=None):
        path = os.path.join(where or self.work, name)
        os.makedirs(path, exist_ok=True)
        subprocess.run([self.roar, "init", "-n"], cwd=path, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return path

    def made(self, name):
        path = os.path.join(self.ram, name)
        os.mkdir(path)
        return path

    def fresh(self, where):
        self.n_dirs += 1
        return os.path.join(where, f"new-{self.n_dirs}")

    # ---- rows -----------------------------------------------------------

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

    def alternate(self, commands, cwd, reps):
        times = {name: [] for name in commands}
        for i in range(self.reps(reps) + 2):
            for name, argv in commands.items():
                ms = spawn_ms(argv, cwd)
                if i >= 2:  # two warm-ups
                    times[name].append(ms)
        return times

    def slope_row(self, title, goal, points, plain, traced, reps, scale=1):
        """A cost per x in microseconds, one slope per repetition."""
        slopes, last = [], {}
        for i in range(self.reps(reps) + 1):
            costs = []
            for n in points:
                # The better of two: what disturbs only ever adds.
                pairs = [(plain(n), traced(n)) for _ in range(2)]
                last[n] = [min(times) for times in zip(*pairs)]
                costs.append(last[n][1] - last[n][0])
            if i:  # the first round warms up
                slopes.append(1000 * slope([scale * n for n in points], costs))
        top = points[-1]
        self.add(title, "us", goal, slopes,
                 {"untraced_ms": last[top][0], "traced_ms": last[top][1],
                  "n_max": top})

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
            roar = [self.roar, "run", "-q", *argv]
            self.slope_row(f"roar run per 4 KiB file, {title}", 45.0, MAKE_N,
                           lambda n: run(project, argv, n),
                           lambda n: run(project, roar, n), reps)
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


def difference(with_roar, without):
    """Pair by pair: both of a pair met the same moment."""
    return [a - b for a, b in zip(with_roar, without)]


def number(value):
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


def print_row(row):
    goal, verdict = "", ""
    if row["goal"] is not None:
        goal = f"<= {number(row['goal'])}"
        verdict = {True: "pass", False: "MISS", None: "noise"}[row["pass"]]
    print(f"{row['name']:<46} {goal:>9} {number(row['measured']):>9} "
          f"{row['unit']:<4} [{number(row['q1'])} - {number(row['q3'])}]"
          f"{verdict:>7}", flush=True)


def machine(bench):
    out = subprocess.run([bench.tool("primitives")], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    facts = json.loads(out)
    facts["cpus"] = len(os.sched_getaffinity(0))
    facts["kernel"] = os.uname().release
    facts["load"] = round(os.getloadavg()[0], 2)
    print("machine: " + ", ".join(f"{k} {v}" for k, v in facts.items()))
    if facts["load"] > facts["cpus"] / 2:
        print("machine: busy with other work; these figures will be poor")
    return facts


def tracers(bench):
    """Every backend has its rows; today's goals are ptrace's."""
    out = subprocess.run([bench.roar, "--version"], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    print(f"subject: {out.strip()}")
    return ["ptrace"]


def measure(bench):
    facts = machine(bench)
    names = tracers(bench)
    print(f"{'':<46} {'goal':>9} {'measured':>9}      quartiles")
    if bench.wanted("start"):
        bench.start_up()
    if bench.wanted("git"):
        bench.repository_row()
    if bench.wanted("trace"):
        for name in names:
            bench.tracer_rows(name)
    if bench.wanted("whole"):
        bench.whole_rows()
    if bench.wanted("memory"):
        bench.memory_row(5000, "make", 30.0)
        if bench.args.full:
            bench.memory_row(1000000, "many", 300.0)
    return facts


def enter_namespace():
    """Starts again where a tmpfs can be mounted that nobody else sees."""
    if os.geteuid() != 0 or INSIDE in os.environ:
        return
    prefix = ["unshare", "--mount", "--propagation", "private"]
    if shutil.which("unshare") and subprocess.run(
            [*prefix, "true"], check=False,
            stderr=subprocess.DEVNULL).returncode == 0:
        os.environ[INSIDE] = "1"
        os.execvp(prefix[0], [*prefix, sys.executable, *sys.argv])


def main():
    enter_namespace()
    parser = argparse.ArgumentParser()
    parser.add_argument("--roar", required=True)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--work", default=os.getcwd())
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append",
                        choices=("start", "git", "trace", "whole", "memory"))
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    args.work = os.path.abspath(args.work)
    args.tools = os.path.abspath(args.tools)
    json_path = os.path.abspath(args.json) if args.json else None

    bench = Bench(args)
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
