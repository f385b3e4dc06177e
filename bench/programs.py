"""What being watched costs whole programs, in per cent of the untraced run.

A build with gcc, a script of data work in Python, a loop of training in PyTorch
where that is installed, a copy of 5,000 small files, a shell that starts 500
programs.  Each repetition runs every variant once, and each is compared with the
untraced run of the same repetition:

    empty launcher   the noise, and one more process
    hybrid, ...      the tracer alone (trace_only)
    roar run         the whole: traced by the hybrid, hashed and recorded
    nothing          the kernel's and the loader's part of the hybrid: a listener
                     that lets all calls go on, a library that does nothing

Last a burst of 200,000 files under every tracer: no event may be lost without the
record saying so."""

import json
import os
import shutil
import subprocess

from measure import spread, wall_ms
from tracer import BYSTANDER, NULL, Variant, once

N_SOURCES = 60
N_COPIED = 5000
N_STARTED = 500
N_BURST = 200000
BURST_KIB = 1500000  # of memory, for that many files on a tmpfs

SOURCE = """
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "part.h"

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

%(functions)s
"""
FUNCTION = """
int part_%(i)d_%(k)d(const char *text, size_t len)
{
	int counts[256] = { 0 }, sum = %(k)d;

	for (size_t i = 0; i < len; i++)
		counts[(unsigned char)toupper((unsigned char)text[i])]++;
	qsort(counts, 256, sizeof(int), compare);
	for (int i = 0; i < 256; i += %(k)d + 1)
		sum = sum * 31 + counts[i] * (i ^ %(i)d);
	return sum;
}
"""
MAKEFILE = """
OBJECTS := $(patsubst %.c,%.o,$(wildcard *.c))
program: $(OBJECTS)
	$(CC) -o $@ $^
%.o: %.c part.h
	$(CC) -O2 -c -o $@ $<
"""

DATA_WORK = """
import collections, csv, json, math, os, random, sqlite3, statistics, sys
try:
    import numpy, pandas
except ImportError:
    pass
where, n = sys.argv[1], int(sys.argv[2])
os.makedirs(where, exist_ok=True)
os.chdir(where)
random.seed(7)
for part in range(8):
    with open(f"part-{part}.csv", "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["id", "group", "value"])
        for i in range(n):
            out.writerow([i, random.randrange(50), random.gauss(0, 1)])
groups = collections.defaultdict(list)
for part in range(8):
    with open(f"part-{part}.csv", newline="") as f:
        for row in csv.DictReader(f):
            groups[row["group"]].append(float(row["value"]))
with open("summary.json", "w") as f:
    json.dump({k: [len(v), statistics.fmean(v), math.sqrt(statistics.pvariance(v))]
               for k, v in groups.items()}, f)
if os.path.exists("data.db"):
    os.unlink("data.db")
base = sqlite3.connect("data.db")
base.execute("create table facts (part int, id int, value real)")
base.executemany("insert into facts values (?, ?, ?)",
                 ((int(k), i, x) for k, v in groups.items()
                  for i, x in enumerate(v)))
base.commit()
base.execute("select part, avg(value) from facts group by part").fetchall()
"""

TRAINING = """
import os, sys
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
where, steps = sys.argv[1], int(sys.argv[2])
os.makedirs(where, exist_ok=True)
torch.manual_seed(7)
torch.set_num_threads(1)
for i in range(64):
    torch.save(torch.randn(64, 257), os.path.join(where, f"shard-{i}.pt"))

class Shards(Dataset):
    def __len__(self):
        return 64 * steps
    def __getitem__(self, i):
        return torch.load(os.path.join(where, f"shard-{i % 64}.pt"))

model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 1))
optimizer = torch.optim.Adam(model.parameters())
for i, batch in enumerate(DataLoader(Shards(), batch_size=4, num_workers=2)):
    batch = batch.reshape(-1, 257)
    loss = ((model(batch[:, :256]) - batch[:, 256:]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), os.path.join(where, "model.pt"))
"""


# ---- the programs -------------------------------------------------------

def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def build_command(bench):
    """Makes a project of C files; -B builds all of it again."""
    where = bench.made("sources")
    n = N_SOURCES // 4 if bench.args.quick else N_SOURCES
    declarations = ["#include <stddef.h>"]
    for i in range(n):
        functions = [FUNCTION % {"i": i, "k": k} for k in range(12)]
        declarations += [f"int part_{i}_{k}(const char *, size_t);"
                         for k in range(12)]
        write(os.path.join(where, f"part_{i}.c"),
              SOURCE % {"functions": "".join(functions)})
    write(os.path.join(where, "part.h"), "\n".join([*declarations, ""]))
    write(os.path.join(where, "main.c"), '#include "part.h"\nint main(void)\n'
          '{\n\treturn part_0_1("x", 1) & 0;\n}\n')
    write(os.path.join(where, "Makefile"), MAKEFILE)
    return [shutil.which("make"), "-s", "-B", "-j2", "-C", where], None


def data_command(bench):
    where = os.path.join(bench.ram, "data")
    n = 2000 if bench.args.quick else 12000
    return [bench.python, "-c", DATA_WORK, where, str(n)], None


def training_command(bench):
    for python in (bench.python, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import torch"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            steps = 1 if bench.args.quick else 5
            return [python, "-c", TRAINING,
                    os.path.join(bench.ram, "training"), str(steps)], None
    print("bench: PyTorch is not installed (python3-torch): no training row")
    return None, None


def copy_command(bench):
    source = bench.made("tree")
    for i in range(N_COPIED):
        folder = os.path.join(source, f"d{i // 100}")
        if i % 100 == 0:
            os.mkdir(folder)
        write(os.path.join(folder, f"f{i}"), f"file {i}\n" * 20)
    target = os.path.join(bench.ram, "copy")
    return [shutil.which("cp"), "-r", source, target], target


def loop_command(bench):
    del bench
    script = f"i=0; while [ $i -lt {N_STARTED} ]; do /bin/true; i=$((i+1)); done"
    return ["/bin/sh", "-c", script], None


# Name, what makes the command, the goal in per cent, repetitions.
PROGRAMS = (
    ("gcc build", build_command, 6.0, 9),
    ("Python data work", data_command, 2.0, 11),
    ("PyTorch training", training_command, 0.5, 9),
    ("cp -r of 5,000 files", copy_command, 25.0, 15),
    ("500 programs from a shell", loop_command, 15.0, 11),
)


# ---- rows ---------------------------------------------------------------

def per_cent(bench, ways, argv, leftover, reps):
    """Of the untraced run, by variant, one figure per repetition."""
    def run(way):
        ms = wall_ms([*way.prefix, *argv], bench.project_dir)
        if leftover:
            shutil.rmtree(leftover)
        return ms
    costs = {way.name: [] for way in ways if not way.is_base()}
    for i in range(bench.reps(reps) + 1):
        times = once(bench, ways, run)
        for name, values in costs.items():
            if i:  # the first round warms up
                values.append(100 * (times[name] / times["untraced"] - 1))
    return costs


def is_wanted(texts, title):
    return not texts or any(text in title for text in texts)


def program_rows(bench, ways):
    for title, make, goal, reps in PROGRAMS:
        if not is_wanted(bench.args.program, title):
            continue
        argv, leftover = make(bench)
        if not argv:
            continue
        costs = per_cent(bench, ways, argv, leftover, reps)
        null = spread(costs[NULL])
        for name, values in costs.items():
            judged = name in ("hybrid", "roar run")
            q1, median, q3 = spread(values)
            extra = {"in_null": null[0] <= median <= null[2]}
            if judged and (q1 > goal or q3 <= goal):
                extra["pass"] = median <= goal
            bench.add(f"{title}: {name}", "%", goal if judged else None,
                      values, extra)


def free_kib():
    with open("/proc/meminfo", encoding="utf-8") as f:
        for entry in f:
            if entry.startswith("MemAvailable:"):
                return int(entry.split()[1])
    return 0


def burst_rows(bench):
    """Lost or not, and was it said?"""
    n = N_BURST // 10 if bench.args.quick else N_BURST
    where = bench.ram if free_kib() > 2 * BURST_KIB else bench.work
    out = os.path.join(bench.work, "counts")
    tracers = ["hybrid", "preload", "ptrace", "ebpf"]
    known = {way.name for way in bench.ways}
    for name in tracers:
        if ("eBPF, cold" if name == "ebpf" else name) not in known:
            continue
        folder = bench.fresh(where)
        subprocess.run([bench.tool("trace_only"), name, bench.tool("files"),
                        "many", str(n), folder], check=True,
                       env=dict(os.environ, TRACE_ONLY_COUNTS=out))
        shutil.rmtree(folder)
        with open(out, encoding="utf-8") as f:
            counts = json.load(f)
        unseen = n - counts["created"]
        told = counts["lost"] > 0 and counts["gaps"] > 0
        bench.add(f"{n:,} files, unseen: {name}", "", 0, [unseen],
                  {"pass": unseen <= 0 or told, "counts": counts})


def rows(bench):
    ways = [way for way in bench.ways
            if not way.static and not way.cold and way.name != BYSTANDER]
    bench.project_dir = bench.project("programs", bench.ram)
    ways += [Variant(
        "roar run", [bench.roar, "run", "-q", "--tracer", "hybrid", "--"]),
        Variant("nothing", [
            bench.tool("idle_listener"), shutil.which("env"),
            "LD_PRELOAD=" + bench.tool("idle_library.so")])]
    program_rows(bench, [way for way in ways
                         if way.is_base() or way.name == NULL or
                         is_wanted(bench.args.way, way.name)])
    if is_wanted(bench.args.program, "burst of files"):
        burst_rows(bench)
