"""What each tracer costs: start-up, per file, per read or write.

Three measurements, as the public figures of the seed were taken, for every tracer
and for an empty launcher that traces nothing (the null: what it shows is the
noise and the price of one more process):

    start-up         a command that does nothing, traced minus untraced
    per file         0 to 5,000 files, each written and read once: a slope
    per read/write   400 to 25,600 calls over 16 open files: a slope

Below half a microsecond a regression over whole commands resolves nothing; there
the pairs of pair.c speak.  A measurement can tell when its quartiles are on one
side of the goal, or no further apart than half of it, its median is not
negative, and the null of the same series is less than half the goal.  A verdict
is the regression's where it can tell, else that of the pairs, else "noise"; per
read and write the pairs come first.

A run under eBPF taxes every process of the machine a little while it lasts.
"untraced beside eBPF" is what others pay meanwhile.  Programs that are pinned and
wait for a run should tax nobody; still, a run without tracer is measured with
nothing loaded, and the programs are pinned only for those that need it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from measure import number, slope, spawn_ms, spread, wall_ms

FILES_N = (0, 200, 500, 1000, 2000, 5000)
RW_N = (400, 800, 1600, 3200, 6400, 12800, 25600)
BPF_FS = "/sys/fs/bpf"
DETACHED_S = 0.03  # until programs that were let go trouble nobody

# What the seed publishes: ms of start-up, us per file, us per read or write.
SEED = {
    "ptrace": (1.3, 207.0, 86.0),
    "preload": (2.9, 33.0, 29.0),
    "eBPF, warm": (50.0, 4.7, 1.0),
    "eBPF, cold": (112.0, None, None),
}
# Overhead in ms at these numbers of files; the seed's own series.
SEED_N = (200, 500, 1000, 2000, 5000)
SEED_SERIES = {
    "ptrace": (45.3, 104.5, 204.3, 396.4, 1041.5),
    "preload": (10.4, 19.3, 36.6, 69.5, 170.0),
    "eBPF, warm": (22.0, 7.2, 34.1, 37.3, 48.2),
}
# Ours to reach.  ptrace has 26 us where a call needs a second stop for its
# result; how many stops there were is counted.
GOALS = {
    "hybrid": (2.0, 1.5, 0.06),
    "hybrid, static program": (2.0, 14.0, 0.06),
    "eBPF, warm": (3.0, 2.0, 0.2),
    "eBPF, cold": (15.0, None, None),
    "ptrace": (1.5, 17.0, 0.06),
}
PTRACE_WITH_RESULTS = 26.0
NULL = "empty launcher"
BYSTANDER = "untraced beside eBPF"


class Variant:
    """One way to run the work, and the run it is compared with."""

    def __init__(self, name, prefix, base="untraced", static=False,
                 pinned=False, cold=False):
        self.name, self.prefix, self.base = name, prefix, base
        self.static, self.pinned, self.cold = static, pinned, cold

    def is_base(self):
        return self.base is None


def variants(bench):
    """In the order they are run; what needs pinned programs is last."""
    under = bench.tool("trace_only")
    found = [Variant("untraced", [], None), Variant(NULL, [under, "none"])]
    for name in ("hybrid", "preload", "ptrace"):
        if works(bench, name):
            found.append(Variant(name, [under, name]))
    if os.path.exists(bench.tool("files_static")) and works(bench, "hybrid"):
        found.append(Variant("untraced, static program", [], None, True))
        found.append(Variant("hybrid, static program", [under, "hybrid"],
                             "untraced, static program", True))
    if works(bench, "ebpf"):
        found.append(Variant("eBPF, cold", [under, "ebpf"], cold=True))
        if bench.can_pin:
            found.append(Variant(BYSTANDER, [], pinned=True))
            found.append(Variant("eBPF, warm", [under, "ebpf"], pinned=True))
    return found


def peers(bench):
    """The tracers of the public package, which has programs of the same shape.
    Measured after ours and with untraced runs of their own: its daemon stays, and
    all pay for it."""
    folder = os.path.join(bench.args.peer, "lib")
    found = [Variant("untraced", [], None),
             Variant(f"{NULL}, beside roar-cli", [bench.tool("trace_only"),
                                                  "none"])]
    for name, program in (("ptrace", "roar-tracer"),
                          ("preload", "roar-tracer-preload"),
                          ("eBPF", "roar-tracer-ebpf")):
        for where, _, names in os.walk(folder):
            if program in names and os.path.basename(where) == "bin":
                out = os.path.join(bench.work, "peer.out")
                way = Variant(f"roar-cli: {name}",
                              [os.path.join(where, program), out])
                if peer_sees(bench, way, out):
                    found.append(way)
    if len(found) == 2:
        sys.exit(f"bench: no tracers of roar-cli under {folder}")
    return found


def peer_sees(bench, way, out):
    """A tracer that records nothing is cheap; it is left out."""
    where = bench.fresh(bench.ram)
    wall_ms([*way.prefix, bench.tool("files"), "make", "50", where])
    shutil.rmtree(where)
    with open(out, "rb") as f:
        seen = len(set(re.findall(rb"f_\d+", f.read())))
    if seen < 50:
        print(f"bench: {way.name} is left out: of 50 files it saw {seen}")
    return seen >= 50


def works(bench, name):
    done = subprocess.run([bench.tool("trace_only"), name, bench.true],
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          text=True, check=False)
    if done.returncode:
        print(f"bench: {name} is left out: {done.stderr.strip()}")
    return done.returncode == 0


# ---- eBPF programs that stay --------------------------------------------

def private_pins(bench):
    """A BPF file system of our own over the machine's: nobody else's pinned
    programs are touched, and ours go with the namespace."""
    return bench.inside and subprocess.run(
        ["mount", "-t", "bpf", "none", BPF_FS], check=False,
        stderr=subprocess.DEVNULL).returncode == 0


class Beside:
    """While another run under eBPF lasts."""

    def __init__(self, bench):
        self.argv = [bench.tool("trace_only"), "ebpf", "/bin/sh", "-c",
                     "echo; exec sleep 600"]

    def __enter__(self):
        self.run = subprocess.Popen(self.argv, stdout=subprocess.PIPE,
                                    start_new_session=True)
        self.run.stdout.readline()

    def __exit__(self, *_):
        os.killpg(self.run.pid, signal.SIGKILL)
        self.run.communicate()
        time.sleep(DETACHED_S)


class Pinned:
    """With the programs of this build in the kernel."""

    def __init__(self, bench):
        self.tool = bench.tool("trace_only")

    def __enter__(self):
        subprocess.run([self.tool, "--pin"], check=True)

    def __exit__(self, *_):
        subprocess.run([self.tool, "--unpin"], check=True)
        time.sleep(DETACHED_S)


def once(bench, ways, run):
    """Runs every variant; the times by name."""
    times = {}
    for way in ways:
        if not way.pinned:
            times[way.name] = run(way)
        if way.cold:
            time.sleep(DETACHED_S)
    if any(way.pinned for way in ways):
        with Pinned(bench):
            for way in ways:
                if way.name == BYSTANDER:
                    with Beside(bench):
                        times[way.name] = run(way)
                elif way.pinned:
                    times[way.name] = run(way)
    return times


# ---- the three measurements ---------------------------------------------

def start_up(bench, ways):
    """Differences in ms by variant, one per repetition."""
    static = bench.tool("files_static")

    def run(way):
        argv = [static, "touch", "0", "/"] if way.static else [bench.true]
        return spawn_ms([*way.prefix, *argv], bench.work)
    costs = {way.name: [] for way in ways if not way.is_base()}
    for i in range(bench.reps(31) + 2):
        times = once(bench, ways, run)
        for way in ways:
            if i >= 2 and not way.is_base():
                costs[way.name].append(times[way.name] - times[way.base])
    return costs


def regression(bench, ways, work, points):
    """Slopes in us by variant, one per repetition, and at each point the
    differences in ms."""
    def run_at(n):
        def run(way):
            program = bench.tool("files_static" if way.static else "files")
            where = bench.ram if work == "rw" else bench.fresh(bench.ram)
            ms = wall_ms([*way.prefix, program, work, str(n), where])
            if work != "rw":
                shutil.rmtree(where)
            return ms
        return run
    slopes = {way.name: [] for way in ways if not way.is_base()}
    series = {name: {n: [] for n in points} for name in slopes}
    for i in range(bench.reps(9) + 1):
        costs = {name: [] for name in slopes}
        for n in points:
            # The better of two: what disturbs only ever adds.
            rounds = [once(bench, ways, run_at(n)) for _ in range(2)]
            times = {k: min(r[k] for r in rounds) for k in rounds[0]}
            for way in ways:
                if not way.is_base():
                    costs[way.name].append(times[way.name] - times[way.base])
        if i == 0:  # the first round warms up
            continue
        for name, values in costs.items():
            slopes[name].append(1000 * slope(points, values))
            for n, value in zip(points, values):
                series[name][n].append(value)
    return slopes, series


def pairs(bench, ways):
    """In-process pairs in us: {variant: {"file"|"op": (q1, median, q3)}}."""
    def ask(tracer, worker):
        where = bench.fresh(bench.ram)
        os.mkdir(where)
        done = subprocess.run([bench.tool("pair"), tracer, bench.tool(worker),
                               where], stdout=subprocess.PIPE, check=True)
        shutil.rmtree(where)
        return json.loads(done.stdout)

    def in_us(answer):
        return {unit: tuple(answer[unit][q] / 1000
                            for q in ("q1", "median", "q3"))
                for unit in ("file", "op")}
    tracers = {NULL: "none", "hybrid": "hybrid", "preload": "preload",
               "ptrace": "ptrace", "hybrid, static program": "hybrid"}
    found = {}
    for way in ways:
        if way.name in tracers:
            worker = "pair_worker_static" if way.static else "pair_worker"
            found[way.name] = in_us(ask(tracers[way.name], worker))
    if any(way.cold for way in ways):
        answer = ask("--ebpf", "pair_worker")
        found[BYSTANDER] = in_us(answer["bystander"])
        found["eBPF, warm"] = in_us(answer["member"])
    return found


def stops_per_file(bench):
    """How often a process waits for ptrace, for each file written and read."""
    def stops(n):
        where, out = bench.fresh(bench.ram), os.path.join(bench.work, "counts")
        subprocess.run([bench.tool("trace_only"), "ptrace",
                        bench.tool("files"), "make", str(n), where],
                       check=True, env=dict(os.environ, TRACE_ONLY_COUNTS=out))
        shutil.rmtree(where)
        with open(out, encoding="utf-8") as f:
            return json.load(f)["stops"]
    return (stops(1100) - stops(100)) / 1000


# ---- rows and verdicts --------------------------------------------------

def resolved(measured, null, goal):
    """Can it tell on which side of the goal the truth is?"""
    q1, median, q3 = measured
    if null and abs(null[1]) > goal / 2:
        return False  # whatever that was, it was not the tracer
    one_side = q1 > goal or q3 <= goal
    return (one_side or q3 - q1 <= goal / 2) and median >= -goal / 10


def judge(goal, measurements):
    """(verdict, by which): of the first measurement that can tell."""
    for name, measured, null in measurements:
        if goal is not None and measured and resolved(measured, null, goal):
            return measured[1] <= goal, name
    return None, None


def add(bench, title, unit, goal, values, null, pair=None, pair_null=None):
    """A row of the table with its verdict."""
    measured = spread(values)
    order = [("regression", measured, null), ("pairs", pair, pair_null)]
    if unit == "ms":  # one more process is part of what a tracer costs
        order = [("difference", measured, None)]
    elif "read/write" in title:
        order.reverse()
    verdict, by = judge(goal, order)
    extra = {"judged_by": by, "pairs": pair,
             "in_null": null[0] <= measured[1] <= null[2]}
    if goal is not None:
        extra["pass"] = verdict
    if pair:
        title += f" (pairs {number(pair[1])})"
    bench.add(title, unit, goal, values, extra)


def goals_of(bench, name):
    goals = list(GOALS.get(name, (None, None, None)))
    if name == "ptrace":
        stops = stops_per_file(bench)
        print(f"ptrace stops {stops:.2f} times for a file written and read")
        if stops > 2.1:
            goals[1] = PTRACE_WITH_RESULTS
    return goals


def prepare(bench):
    """Finds out which tracers work here; before any of the rows."""
    bench.can_pin = private_pins(bench)
    bench.ways = variants(bench)


def rows(bench):
    """Measures it all; returns what the table and the plot are made of."""
    result = rows_of(bench, bench.ways)
    if bench.args.peer:
        result.update(rows_of(bench, peers(bench)))
    return result


def rows_of(bench, ways):
    starts = start_up(bench, ways)
    files, series = regression(bench, ways, "make", FILES_N)
    calls, _ = regression(bench, ways, "rw", RW_N)
    inner = pairs(bench, ways)
    null = next(way.name for way in ways if way.name.startswith(NULL))
    quiet = inner.get(null, {})
    result = {}
    for way in ways:
        name = way.name
        if way.is_base():
            continue
        goals, inside = goals_of(bench, name), inner.get(name, {})
        add(bench, f"{name}: start-up over true", "ms", goals[0],
            starts[name], spread(starts[null]))
        add(bench, f"{name}: per file", "us", goals[1], files[name],
            spread(files[null]), inside.get("file"), quiet.get("file"))
        add(bench, f"{name}: per read/write", "us", goals[2], calls[name],
            spread(calls[null]), inside.get("op"), quiet.get("op"))
        result[name] = {"rows": bench.rows[-3:], "goals": goals,
                        "series": {n: spread(v)[1]
                                   for n, v in series[name].items()}}
    return result
