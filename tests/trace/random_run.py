#!/usr/bin/env python3
"""Random programs over files: does every backend see what the model says?

    random_run.py [--tracer NAME]... [--from SEED] [--count N] [--ops N]
                  [--under CMD] [--seconds S] TRACE_DUMP RANDOM_OPS

Each seed is a program (random/main.c) that does --ops operations in a fresh
directory and prints what they made of each name.  It runs untraced, which
checks the program against the kernel, and under each backend, whose facts must
be those lines.  Directories are made in batches, so that the files of all of
them grow old in one wait.  For a seed that fails, the fewest operations that
still fail are looked for and told, with what was done and the events.

With --seconds, batches go on until the time is over.

Exit status: 0 right, 1 wrong, 77 not possible here."""

import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import time

import run as workloads

BATCH = 250
TIMEOUT = 120
FAILURES_MAX = 3  # told at length; more say the same


def names_gap(tracer, expected, seen):
    """Does the record name a gap that the program allows?  Then it does not claim
    to be whole."""
    return any(fact.startswith("gap ")
               for fact in seen.facts & expected.may_of(tracer, seen.facts))


class Programs:
    """How the two programs are started."""

    def __init__(self, args):
        self.dump = [*args.under.split(), os.path.abspath(args.dump)]
        self.random = os.path.abspath(args.random)

    def prepare(self, base, first, count):
        subprocess.run([self.random, "prepare", str(first),
                        str(first + count), base], check=True)
        time.sleep(workloads.SETTLE)

    def call(self, root, argv):
        env = dict(os.environ, TRACE_ROOT=root)
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        return subprocess.run(argv, cwd=root, env=env, check=False,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def case(self, tracer, root, seed, n_ops, more=()):
        """Runs one; the lines that tell what is wrong, the program's steps
        and the events."""
        argv = [self.random, "run", str(seed), str(n_ops), *more]
        output = root + ".trace"
        if tracer != "untraced":
            argv = [*self.dump, "--tracer", tracer, "--events", "--facts",
                    "-o", output, "--", *argv]
        done = self.call(root, argv)
        steps = done.stderr.decode("utf-8", "replace")
        if done.returncode != 0:
            return [f"ended with {done.returncode}", *steps.split("\n")[-2:]], \
                steps, []
        if tracer == "untraced":
            return [], steps, []
        with open(output, "rb") as f:
            lines = workloads.split(f.read())
        os.unlink(output)
        seen = workloads.Seen(lines)
        if seen.untraced is not None:
            workloads.refused(tracer, seen.untraced, self.dump[:-1])
        expected = workloads.Expected(workloads.split(done.stdout))
        if names_gap(tracer, expected, seen):
            return workloads.compare_blind(expected.status, seen, None), \
                steps, lines
        return workloads.compare(tracer, expected, expected.status, expected,
                                 seen), steps, lines


class Place:
    """A directory for one batch."""

    def __enter__(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="roar-random-"))
        return self.base

    def __exit__(self, *_):
        shutil.rmtree(self.base, ignore_errors=True)


def batch(programs, tracer, first, count, n_ops, pool):
    """The seeds that fail, and how."""
    with Place() as base:
        programs.prepare(base, first, count)

        def one(seed):
            wrong, _, _ = programs.case(tracer, f"{base}/{seed}", seed, n_ops)
            return seed, wrong
        return {seed: wrong for seed, wrong in
                pool.map(one, range(first, first + count)) if wrong}


def shrink(programs, tracer, seed, n_ops, seen):
    """Tells the fewest first operations of a seed that still fail, or what was
    seen of one that does not any more."""
    for n in range(1, n_ops + 1):
        with Place() as base:
            programs.prepare(base, seed, 1)
            wrong, steps, events = programs.case(
                tracer, f"{base}/{seed}", seed, n, ("-v",))
            if wrong:
                print(f"{tracer}: seed {seed} fails with {n} operations")
                print(steps.replace(base, ""), end="")
                print("\n".join("    " + line for line in events if line))
                print("\n".join(wrong), flush=True)
                return
    print(f"{tracer}: seed {seed} failed with {n_ops} operations, "
          "but not again:")
    print("\n".join(seen), flush=True)


def check(programs, tracer, args, pool):
    """How many were run, and the seeds that failed."""
    deadline = time.monotonic() + args.seconds if args.seconds else None
    failed, n, first = {}, 0, args.first
    while (time.monotonic() < deadline if deadline else n < args.count):
        count = BATCH if deadline else min(BATCH, args.count - n)
        failed |= batch(programs, tracer, first, count, args.ops, pool)
        first += count
        n += count
    for seed in list(failed)[:FAILURES_MAX]:
        shrink(programs, tracer, seed, args.ops, failed[seed])
    return n, list(failed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tracer", action="append")
    parser.add_argument("--from", type=int, default=1, dest="first")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--ops", type=int, default=40)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--under", default="")
    parser.add_argument("dump")
    parser.add_argument("random")
    args = parser.parse_args()
    # No more than that, whatever the caller says.
    args.count = min(args.count, int(os.environ.get("ROAR_TEST_RANDOM",
                                                    args.count)))
    programs = Programs(args)
    n_failed = n_checked = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for tracer in args.tracer:
            start = time.monotonic()
            try:
                n, failed = check(programs, tracer, args, pool)
            except workloads.Skip as reason:
                print(f"skipped: {reason}")
                continue
            n_checked += n
            n_failed += len(failed)
            print(f"{tracer}: {n} programs from seed {args.first}, "
                  f"{len(failed)} failed, "
                  f"{1000 * (time.monotonic() - start) / n:.1f} ms each")
            if failed:
                print(f"{tracer}: failed seeds:",
                      " ".join(map(str, failed[:50])))
    if not n_checked:
        return 77
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
