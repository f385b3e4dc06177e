#!/usr/bin/env python3
"""How fast payloads get from one process to another: without an arena, through a ring
and through a pool.

    arena.py [--sizes MIB...] [--kinds KIND...] [--transports T...] [--num-items N]
             [--runs N] [--buffer-size N] [--duration-sec S] [--gap-sec S]
             [--isolate] [--output CSV]
    arena.py --goals [GROUP...] [--quick] [--check]
    both:    [--json FILE] [--plot FILE]... [--docs FILE] [--package DIR]...
             [--tools DIR] [--work DIR] [--peer auto|none|VENV]

The first form is the benchmark that SPDL publishes for its arena: kinds of payload x
transports x sizes.  A worker makes items, the consumer receives them and does nothing.
--isolate gives each configuration a process of its own and tells its CPU time and memory,
by the published formulas.  The second form measures by turns with SPDL's own arena, adds
what those rows hide, and compares with the goals; see arena_goals.py for the groups.

no-arena is Python's multiprocessing queue.  Kinds whose library is missing are left out
with a line that says so; packets without FFmpeg are as many plain buffers.

--package names folders to be searched for the package `roar` and its extensions,
--tools the one with arena_stream, beside which is the one with the tool clip; --plot takes
names that end in .png or .svg."""

import argparse
import importlib.metadata
import importlib.util
import itertools
import json
import os
import platform
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import arena_docs  # noqa: E402
import arena_goals  # noqa: E402
import arena_load  # noqa: E402
import arena_peer  # noqa: E402
import arena_rows  # noqa: E402
import arena_run  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT_S = 600  # of one configuration
NEEDS = {"numpy": "numpy", "torch": "torch"}


def parse():
    parser = argparse.ArgumentParser(
        description="throughput of large payloads between two processes")
    parser.add_argument("--num-items", type=int, help="of a pass")
    parser.add_argument("--buffer-size", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2, 8, 32],
                        metavar="MIB")
    parser.add_argument("--runs", type=int, default=3, help="timed passes")
    parser.add_argument("--kinds", nargs="+", choices=arena_rows.KINDS,
                        default=list(arena_rows.KINDS))
    parser.add_argument("--transports", nargs="+",
                        choices=arena_rows.TRANSPORTS,
                        default=list(arena_rows.TRANSPORTS))
    parser.add_argument("--duration-sec", type=float, default=0.0,
                        help="passes for so long instead of --runs")
    parser.add_argument("--gap-sec", type=float, default=0.0,
                        help="of rest between transports")
    parser.add_argument("--isolate", action="store_true",
                        help="a process for each configuration")
    parser.add_argument("--output", metavar="CSV")
    parser.add_argument("--goals", nargs="*", choices=arena_goals.GROUPS,
                        metavar="GROUP")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true",
                        help="exit with 1 when a goal is missed")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--plot", action="append", default=[], metavar="FILE")
    parser.add_argument("--docs", metavar="FILE",
                        help="puts the figures into a document")
    parser.add_argument("--package", action="append", default=[],
                        metavar="DIR")
    parser.add_argument("--tools", metavar="DIR")
    parser.add_argument("--work", default=os.getcwd(), metavar="DIR")
    parser.add_argument("--peer", default="auto", metavar="auto|none|VENV")
    args = parser.parse_args()
    if args.num_items is None:
        args.num_items = 300 if args.goals is None else 16
    for name in ("num_items", "buffer_size", "runs"):
        if getattr(args, name) < 1:
            parser.error(f"--{name.replace('_', '-')} has to be 1 or more")
    if min(args.sizes) < 1:
        parser.error("--sizes are whole MiB, 1 or more")
    return args


# ---- asking -------------------------------------------------------------

def ask(python, **words):
    """What arena_run.py answers, in a process of its own; RuntimeError when it fails.
    What ours says besides is shown: it should be silent."""
    argv = [python or sys.executable, os.path.join(HERE, "arena_run.py"),
            json.dumps(words)]
    try:
        done = subprocess.run(argv, check=False, text=True, timeout=TIMEOUT_S,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no answer within {TIMEOUT_S} s") from None
    said = done.stderr.strip().splitlines()
    if not done.stdout.strip():
        raise RuntimeError(said[-1] if said else
                           f"it ended with status {done.returncode}")
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    if "error" in answer:
        raise RuntimeError(answer["error"])
    if (said or done.returncode) and python is None:
        print(f"arena: it ended with status {done.returncode} and said: "
              f"{said[-1] if said else ''}", file=sys.stderr)
    return answer


def use_package(folders):
    """Makes `roar` known here and in what is started."""
    folders = [os.path.abspath(folder) for folder in folders]
    sys.path[:0] = folders
    os.environ["PYTHONPATH"] = os.pathsep.join(
        folders + list(filter(None, [os.environ.get("PYTHONPATH")])))


def available(kinds):
    found = []
    for kind in kinds:
        module = NEEDS.get(kind)
        if module and not importlib.util.find_spec(module):
            print(f"{kind} is left out: {sys.executable} has no {module}")
        else:
            found.append(kind)
    return found


def has(module):
    try:
        importlib.import_module(module)
        return True
    except ImportError:
        return False


def clip_of(args, size_mb):
    """(module, path) of a clip to be demuxed, None where there is none."""
    module = "roar.media"
    tool = os.path.join(args.tools or "", os.pardir, "tools", "clip")
    try:
        if has(module):
            return module, arena_load.make_clip(size_mb << 20, args.work, tool)
        why = f"there is no {module}"
    except OSError as e:
        why = f"no clip could be made ({e})"
    print(f"packets of {size_mb} MiB are {arena_load.FRAMES} plain buffers: {why}")
    return None


def machine():
    """What the figures are of."""
    facts = {"cpus": len(os.sched_getaffinity(0)),
             "kernel": os.uname().release,
             "python": platform.python_version(),
             "load": round(os.getloadavg()[0], 2)}
    for name in ("numpy", "torch"):
        if importlib.util.find_spec(name):
            facts[name] = importlib.metadata.version(name)
    print("machine: " + ", ".join(f"{k} {v}" for k, v in facts.items()))
    if facts["load"] > facts["cpus"] / 2:
        print("machine: busy with other work; these figures will be poor")
    return facts


# ---- the published form -------------------------------------------------

def marker(args, word, kind, size_mb, transport):
    """For whoever samples the machine from outside."""
    if args.duration_sec:
        print(f"### {word:<5} {kind} {size_mb}M {transport} "
              f"ts={time.time():.0f}", flush=True)


def configuration(args, size_mb, kind):
    """The rows of one size and kind."""
    clip = clip_of(args, size_mb) if kind == "packets" else None
    results = {}
    for i, transport in enumerate(args.transports):
        if i and args.gap_sec:
            time.sleep(args.gap_sec)
        words = {"kind": kind, "size": size_mb << 20, "transport": transport,
                 "n": args.num_items, "runs": args.runs, "clip": clip,
                 "duration_s": args.duration_sec, "buffer": args.buffer_size}
        marker(args, "begin", kind, size_mb, transport)
        if args.isolate:
            results[transport] = ask(None, **words)
        else:
            results[transport] = arena_run.measure(arena_run.Spec(**words))
            results[transport].pop("rss_mb")
            results[transport].pop("cpu_self_s")
        marker(args, "end", kind, size_mb, transport)
    return arena_rows.make_rows(size_mb, kind, results)


def sweep(args):
    rows = []
    for size_mb, kind in itertools.product(args.sizes, args.kinds):
        try:
            rows += configuration(args, size_mb, kind)
        except (OSError, RuntimeError) as e:
            print(f"### {kind} {size_mb}M is left out: {e}", flush=True)
    if args.isolate:
        arena_rows.print_isolated(rows)
    else:
        arena_rows.print_sweep(rows)
    return rows


# ---- the goals ----------------------------------------------------------

def with_goals(args):
    peer = arena_peer.find(args.peer, args.work)
    stream = os.path.join(args.tools or "", "arena_stream")
    goals = arena_goals.Goals(ask, args, peer,
                              stream if os.path.exists(stream) else None)
    if "packets" in args.kinds:
        clip = clip_of(args, 32)
        if clip:
            goals.clips = {("roar", "packets"): clip,
                           ("spdl", "packets"): ("spdl.io", clip[1])}
    figures = arena_goals.measure(goals, args.goals or arena_goals.GROUPS)
    missed = [r["name"] for r in figures if r.get("pass") is False]
    noisy = [r["name"] for r in figures if r.get("pass", 0) is None]
    print(f"{len(figures)} figures, {len(missed)} goals missed, "
          f"{len(noisy)} lost in noise")
    return goals.table, figures, missed


def write_json(path, facts, rows, figures):
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"machine": facts, "table": [vars(row) for row in rows],
                   "rows": figures}, f, indent=2)
        f.write("\n")


def main():
    args = parse()
    use_package(args.package)
    try:
        importlib.import_module("roar.pipeline")
    except ImportError as e:
        sys.exit(f"arena: the package roar cannot be imported ({e}): build it, "
                 "and name its folders with --package")
    facts = machine()
    args.kinds = available(args.kinds)
    figures, missed = [], []
    if args.goals is None:
        rows = sweep(args)
    else:
        rows, figures, missed = with_goals(args)
    if args.output:
        arena_rows.write_csv(rows, args.output)
    if args.plot:
        import arena_plot
        arena_plot.plot(rows, args.plot)
    if args.docs:
        arena_docs.into(args.docs, arena_docs.section(facts, rows, figures))
    if args.json:
        write_json(args.json, facts, rows, figures)
    return 1 if missed and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
