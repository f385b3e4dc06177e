"""Shards against the goals they were built for.

 - assignment: from nothing to a table that is dealt, in memory the process has not
   touched before; then one worker more, and one less.  Beside it the hashes that need
   no table, in the same run.
 - the ratio of what moved to what had to is exact and has no spread;
 - the order of samples: how long an epoch takes to begin and to resume, and what a
   sample costs in turn, by random access (each position follows from the sample before,
   so that nothing overlaps), in blocks of shards and mixed.  CPU time, all in one
   thread."""

import json
import os
import subprocess

import shards_docs

# Workers, shards: goals of the assignment in ms, of a join and a leave in us.
SIZES = {(1000, 10000): (0.1, 20), (100000, 10000000): (60, 1000)}
BYTES_GOAL = 5  # a shard, with what workers take beside
N_SAMPLES = 10**10
# What shard_order tells: title, unit, what it is divided by, goal.
ORDER = {
    "start_ns": ("epoch of 10^10 samples: start", "ms", 1e6, 1.0),
    "resume_ns": ("  resume in its middle, to a batch of 64", "ms", 1e6, 1.0),
    "in_turn_ns": ("  a sample, in turn", "ns", 1, 50),
    "random_ns": ("  a sample, by random access", "ns", 1, 50),
    "back_ns": ("  the position of a sample", "ns", 1, 50),
    "blocks_in_turn_ns": ("  a sample in blocks of 32 shards, in turn", "ns", 1,
                          50),
    "blocks_random_ns": ("  the same, by random access", "ns", 1, None),
    "mixed_ns": ("  a sample of 8 datasets, mixed by weight", "ns", 1, None),
    "order_bytes": ("  memory of an epoch", "B", 1, None),
}


def measured(bench, mode, workers, shards, rounds):
    """A dict of lists; the first round warms up the machine, not the memory."""
    done = subprocess.run(
        [bench.tool("shard_table"), mode, str(workers), str(shards), str(rounds + 1)],
        stdout=subprocess.PIPE, check=True)
    told = [json.loads(line) for line in done.stdout.splitlines()][1:]
    return {key: [t[key] for t in told] for key in told[0]}


def table_rows(bench, workers, shards):
    assign_goal, change_goal = SIZES[workers, shards]
    found = measured(bench, "table", workers, shards,
                     bench.reps(101 if shards < 1000000 else 15))
    name = f"{workers:,} x {shards:,}"
    bench.add(f"assignment {name}", "ms", assign_goal, found["assign_ms"])
    bench.add("  a worker joins", "us", change_goal, found["join_us"])
    bench.add("  a worker leaves", "us", change_goal, found["leave_us"])
    bench.add("  moved to the minimum, both", "x", 1,
              found["join_ratio"] + found["leave_ratio"])
    bench.add("  most - least", "", 1, found["spread"])
    if shards >= 1000000:
        bench.add("  memory a shard", "B", BYTES_GOAL, found["bytes_per_shard"])


def hash_rows(bench):
    """What the table is compared with, where all of them can be waited for."""
    workers, shards = 1000, 10000
    for mode in ("rendezvous", "jump", "ring"):
        found = measured(bench, mode, workers, shards, bench.reps(9))
        bench.add(f"assignment {workers:,} x {shards:,}, {mode}", "ms", None,
                  found["assign_ms"])
        bench.add("  moved to the minimum, a worker leaves", "x", None,
                  found["leave_ratio"])
        bench.add("  most - least", "", None, found["spread"])


def order_rows(bench):
    done = subprocess.run(
        [bench.tool("shard_order"), str(N_SAMPLES), str(bench.reps(21) + 1)],
        stdout=subprocess.PIPE, check=True)
    told = [json.loads(line) for line in done.stdout.splitlines()][1:]
    for key, (title, unit, divisor, goal) in ORDER.items():
        bench.add(title, unit, goal, [t[key] / divisor for t in told])


def rows(bench, facts):
    if not os.path.exists(bench.tool("shard_table")):
        print("bench: there is no shard_table: no rows of shards")
        return
    before = len(bench.rows)
    for workers, shards in SIZES:
        table_rows(bench, workers, shards)
    hash_rows(bench)
    order_rows(bench)
    if bench.args.docs:
        shards_docs.into(bench.args.docs, facts, bench.rows[before:])
