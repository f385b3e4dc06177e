"""How figures are taken: what run.py, tracer.py and programs.py share.

Every figure is a difference to the same command without roar, taken in the
same run: untraced and traced alternate, so slow drifts of the machine meet
both.  A cost per file is the slope of a least-squares line through the
differences at several numbers of files; of each repetition's slope the median
and the quartiles are shown.  Wall time is from start to reaped.  Where the
quartiles are further apart than half the goal, or a cost comes out negative, the
machine was too busy to tell, and the row says "noise".

A disk adds noise of its own, many times what is to be measured, so costs per
file are taken on a tmpfs where root can mount one (in a mount namespace of our
own)."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

INSIDE = "ROAR_BENCH_INSIDE"  # set in the mount namespace of our own


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


def judged(name, unit, goal, values, at_least=False):
    """A row with its verdict: not more than the goal, or not less."""
    q1, median, q3 = spread(values)
    row = {"name": name, "unit": unit, "goal": goal, "measured": median,
           "q1": q1, "q3": q3, "n": len(values)}
    if at_least:
        row["at_least"] = True
        noise = goal is not None and q3 - q1 > goal / 2 and q1 < goal < q3
    else:
        # No cost is negative, and a wide spread proves nothing, unless all of it is
        # above the goal.
        noise = goal is not None and (q3 - q1 > goal / 2 and q1 <= goal or
                                      median < -goal / 10)
    if goal is not None:
        good = median >= goal if at_least else median <= goal
        row["pass"] = None if noise else good
    return row


class Bench:
    """The rows measured so far, and what they are measured with."""

    def __init__(self, args):
        self.args = args
        self.rows = []
        self.roar = os.path.abspath(args.roar)
        self.true = shutil.which("true")
        # A version manager's shim would be measured instead of Python; that of
        # a virtual environment is what makes its packages known.
        self.python = sys.executable
        if sys.prefix == sys.base_prefix:
            self.python = os.path.realpath(sys.executable)
        self.work = tempfile.mkdtemp(prefix="roar-bench-", dir=args.work)
        self.n_dirs = 0
        self.outside = []
        self.inside = INSIDE in os.environ
        self.ram = self.mount_tmpfs()

    def mount_tmpfs(self):
        """A folder in memory, or the one on disk where that cannot be."""
        path = os.path.join(self.work, "ram")
        os.mkdir(path)
        done = subprocess.run(["mount", "-t", "tmpfs", "none", path],
                              stderr=subprocess.DEVNULL, check=False) \
            if self.inside else None
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

    def add(self, name, unit, goal, values, extra=None, at_least=False):
        """One row; `values` are one figure per repetition."""
        row = judged(name, unit, goal, values, at_least)
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


def difference(with_roar, without):
    """Pair by pair: both of a pair met the same moment."""
    return [a - b for a, b in zip(with_roar, without)]


def number(value):
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


def print_row(row):
    goal, verdict = "", ""
    if row["goal"] is not None:
        sign = ">=" if row.get("at_least") else "<="
        goal = f"{sign} {number(row['goal'])}"
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
