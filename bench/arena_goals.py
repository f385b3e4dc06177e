"""The arena against the goals it was built for, and what the published rows hide.

Everything is asked of fresh processes (arena_run.py), ours and SPDL's by turns, so that
slow drifts of the machine meet both; a ratio has one value for each round, of which the
median and the quartiles are shown.  Rows without a goal stand there to be seen.

Groups: published (the twelve rows and their ratios), honest (both processes, a consumer
that reads, latency, memory), own (in-place production, several producers, views that are
kept) and native (C to C, by the tool arena_stream)."""

import json
import statistics
import subprocess

import arena_peer
import arena_rows
from arena_run import MIB
from measure import judged, print_row

GROUPS = ("published", "honest", "own", "native")
SIZE = 32 * MIB
DEPTH = 3  # items that a sink, or the way to the consumer, holds

# Times no-arena, by kind and transport.
TO_NO_ARENA = {("bytes", "pool"): 15, ("numpy", "pool"): 15,
               ("bytes", "ring"): 8, ("numpy", "ring"): 8,
               ("torch", "pool"): 4}
# Times SPDL's pool.
TO_SPDL = {("bytes", "pool"): 2, ("numpy", "pool"): 2}


class Goals:
    """The rows so far, and whom to ask."""

    def __init__(self, ask, args, peer, stream):
        self.ask = ask  # ask(python or None, **words) -> dict
        self.peer = peer  # SPDL's Python, None: not there
        self.stream = stream  # the C tool's path, None: not built
        self.quick = args.quick
        self.kinds = args.kinds
        self.n = args.num_items
        self.rounds = 1 if args.quick else 5
        self.runs = 2 if args.quick else 4
        self.clips = {}
        self.rows = []
        self.table = []  # rows of arena_rows, at 32 MiB
        self.rates = {}  # (library, kind, transport) -> MB/s of each round

    def add(self, name, unit, goal, values, at_least=False, **extra):
        row = judged(name, unit, goal, values, at_least)
        row.update(extra)
        self.rows.append(row)
        print_row(row)

    def skip(self, name, why):
        print(f"{name:<46} {'':>9} {'-':>9}      {why}", flush=True)

    def tried(self, name, task, **words):
        """What a task answers; None, and a line, when it fails."""
        try:
            return self.ask(None, task=task, library="roar.pipeline", **words)
        except RuntimeError as e:
            self.skip(name, str(e))
            return None


# ---- the published rows -------------------------------------------------

def ways(goals):
    """(library, Python, transport) of each configuration."""
    ours = [("roar", None, t) for t in arena_rows.TRANSPORTS]
    theirs = [("spdl", goals.peer, t) for t in ("ring", "pool")]
    return ours + (theirs if goals.peer else [])


def one_round(goals, kind, found):
    for library, python, transport in ways(goals):
        clip = goals.clips.get((library, kind))
        if kind == "packets" and library == "spdl" and not clip:
            continue
        answer = goals.ask(
            python, kind=kind, size=SIZE, transport=transport, n=goals.n,
            runs=goals.runs, clip=clip,
            library="roar.pipeline" if library == "roar"
            else arena_peer.LIBRARY)
        found.setdefault((library, transport), []).append(answer)


def joined(answers):
    """Several rounds of one configuration as one."""
    whole = dict(answers[0])
    whole["samples"] = [s for a in answers for s in a["samples"]]
    for name in ("cpu_self_s", "cpu_worker_s", "faults_self", "faults_worker",
                 "n_items"):
        whole[name] = sum(a[name] for a in answers)
    whole["rss_mb"] = max(a["rss_mb"] for a in answers)
    return whole


def mb_per_s(answers):
    return [statistics.fmean(a["samples"]) * a["payload_bytes"] / 1e6
            for a in answers]


def measure_kind(goals, kind):
    found = {}
    for _ in range(goals.rounds):
        one_round(goals, kind, found)
    for (library, transport), answers in found.items():
        goals.rates[library, kind, transport] = mb_per_s(answers)
    results = {t: joined(found["roar", t]) for t in arena_rows.TRANSPORTS}
    goals.table += arena_rows.make_rows(SIZE // MIB, kind, results)


def ratios(goals, name, over, under, goal):
    if over in goals.rates and under in goals.rates:
        values = [a / b for a, b in zip(goals.rates[over],
                                        goals.rates[under])]
        goals.add(name, "x", goal, values, at_least=True)


def torch_rows(goals):
    """Each tensor is new, and its pages too: making it takes longer than moving it, by
    whatever transport.  So how long that takes, and the same with tensors that are all
    made before."""
    words = {"kind": "torch", "size": SIZE, "n": goals.n}
    made = [goals.ask(None, task="making", library="roar.pipeline",
                      **words)["items_per_s"] * SIZE / 1e6
            for _ in range(goals.rounds)]
    goals.add("  making the tensors alone", "MB/s", None, made)
    for transport in ("no-arena", "pool"):
        goals.rates["prepared", "torch", transport] = [
            statistics.fmean(goals.ask(
                None, task="prepared", library="roar.pipeline", runs=goals.runs,
                transport=transport, **words)["mb_per_s"])
            for _ in range(goals.rounds)]
    ratios(goals, "torch 32 MiB, made before, pool to no-arena",
           ("prepared", "torch", "pool"), ("prepared", "torch", "no-arena"),
           TO_NO_ARENA["torch", "pool"])


def kind_rows(goals, kind):
    measure_kind(goals, kind)
    for transport in ("ring", "pool"):
        for other, theirs, table in (
                ("no-arena", ("roar", kind, "no-arena"), TO_NO_ARENA),
                ("SPDL's", ("spdl", kind, transport), TO_SPDL)):
            ratios(goals, f"{kind} 32 MiB, {transport} to {other}",
                   ("roar", kind, transport), theirs,
                   table.get((kind, transport)))
    if kind == "torch":
        torch_rows(goals)


def packet_rows(goals):
    """Packets are in memory; the bytes of the published rows are one page of zeros, over
    and over.  So also to bytes that are in memory as well."""
    if "packets" not in goals.kinds:
        return
    ratios(goals, "packets 32 MiB, pool to bytes",
           ("roar", "packets", "pool"), ("roar", "bytes", "pool"), 0.8)
    try:
        goals.rates["roar", "solid", "pool"] = mb_per_s(
            [goals.ask(None, kind="solid", size=SIZE, transport="pool",
                       n=goals.n, runs=goals.runs, library="roar.pipeline")
             for _ in range(goals.rounds)])
    except RuntimeError as e:
        goals.skip("bytes in memory, 32 MiB", str(e))
    ratios(goals, "packets 32 MiB, pool to bytes in memory",
           ("roar", "packets", "pool"), ("roar", "solid", "pool"), 0.8)


def published_rows(goals):
    for kind in goals.kinds:
        try:
            kind_rows(goals, kind)
        except RuntimeError as e:
            goals.skip(f"{kind}, 32 MiB", str(e))
    packet_rows(goals)


# ---- what they hide -----------------------------------------------------

def copy_row(goals, native):
    """A pass so long that its beginning and end do not count."""
    n = 32 if goals.quick else 128
    answers = [a for a in (goals.tried("copying in", "steady", size=SIZE, n=n,
                                       transport="pool")
                           for _ in range(goals.rounds)) if a]
    if not answers:
        return
    rates = [a["mb_per_s"] for a in answers]
    goals.add("32 MiB, one long pass", "MB/s", None, rates)
    best = best_copy_mb_per_s(native)
    if best:
        goals.add("the same, to the best copy of one core", "x", 0.7,
                  [rate / best for rate in rates], at_least=True,
                  best_copy_mb_per_s=best)


def cpu_rows(goals):
    """Per item, whatever the size."""
    n = 64 if goals.quick else 300
    for size in (2, 8, 32):
        name = f"CPU of the consumer, an item of {size} MiB"
        answers = [a for a in (goals.tried(name, "steady", size=size * MIB, n=n,
                                           transport="pool")
                               for _ in range(goals.rounds)) if a]
        if not answers:
            continue
        goals.add(name, "us", 50, [a["cpu_self_s"] / n * 1e6 for a in answers])
        goals.add("  of the producer", "us", None,
                  [a["cpu_worker_s"] / n * 1e6 for a in answers])
        goals.add("  page faults of both, an item", "", None,
                  [(a["faults_self"] + a["faults_worker"]) / n
                   for a in answers])


def reading_rows(goals, native):
    """The bound: nothing is read faster than private memory in such pages, at the same
    moment, while the producer copies.  All of it together is bound by what both do to
    one memory, and is told beside it."""
    name = "reads every byte, 32 MiB"
    answer = goals.tried(name, "reading", size=SIZE, n=4 * goals.n,
                         runs=goals.rounds, transport="pool")
    if not answer:
        return
    goals.add(name, "MB/s", None, answer["mb_per_s"])
    bound = answer["same_pages_mb_per_s"]
    goals.add("  reading a view, to private memory", "x", 0.8,
              [answer["same_pages"]], at_least=True, private_mb_per_s=bound)
    goals.add("  the same, to private huge pages", "x", None,
              [answer["huge_pages"]],
              private_mb_per_s=answer["huge_pages_mb_per_s"])
    copy = best_copy_mb_per_s(native)
    if copy:
        slower = min(bound, copy)
        goals.add("  all of it, to the slower of copy and read", "x", None,
                  [r / slower for r in answer["mb_per_s"]], at_least=True)


def latency_rows(goals):
    """One item at a time: the gap is longer than any takes."""
    for size, text, transport, gap_s, n in (
            (1024, "1 KiB", "no-arena", 0.005, 400),
            (1024, "1 KiB", "pool", 0.005, 400),
            (SIZE, "32 MiB", "no-arena", 0.4, 20),
            (SIZE, "32 MiB", "pool", 0.02, 200)):
        name = f"latency of {text}, {transport}"
        answer = goals.tried(name, "latency", size=size, gap_s=gap_s,
                             n=max(10, n // 8) if goals.quick else n,
                             transport=transport)
        if answer:
            goals.add(name + ", p50", "us", None, [answer["p50_us"]])
            goals.add(name + ", p99", "us", None, [answer["p99_us"]])


def epoch_row(goals):
    answer = goals.tried("an empty epoch", "empty_epoch", transport="pool",
                         runs=20 if goals.quick else 100)
    if answer:
        goals.add("an empty epoch", "ms", 1, answer["ms"])
    if answer and goals.peer:
        theirs = goals.ask(goals.peer, task="empty_epoch", runs=5,
                           library=arena_peer.LIBRARY, transport="pool")
        goals.add("  SPDL's", "ms", None, theirs["ms"])


def small_row(goals):
    answer = goals.tried("small items from Python", "small_items", runs=3,
                         n=20000 if goals.quick else 200000, transport="pool")
    if answer:
        goals.add("small items from Python", "1/s", 100000,
                  answer["items_per_s"], at_least=True)


def memory_row(goals):
    """An arena for the depth: what it reserves counts, touched or not."""
    for kind in ("bytes", "numpy"):
        if kind not in goals.kinds:
            continue
        name = f"peak memory of both, {kind} 32 MiB"
        try:
            answer = goals.ask(None, kind=kind, size=SIZE, n=goals.n, runs=2,
                               transport="pool", tight=True, memory=True,
                               library="roar.pipeline")
        except RuntimeError as e:
            goals.skip(name, str(e))
            continue
        goals.add(name, "MiB", (DEPTH + 2) * SIZE / MIB + 64,
                  [answer["pss_mb"]], reserved_mb=answer["reserved_mb"])


def honest_rows(goals, native):
    copy_row(goals, native)
    cpu_rows(goals)
    reading_rows(goals, native)
    latency_rows(goals)
    epoch_row(goals)
    small_row(goals)
    memory_row(goals)


# ---- what only ours has -------------------------------------------------

def own_rows(goals):
    words = {"size": SIZE, "n": goals.n, "runs": goals.rounds,
             "transport": "pool"}
    copied = goals.tried("made, then copied, 32 MiB", "produced", **words)
    if copied:
        goals.add("made, then copied, 32 MiB", "MB/s", None,
                  copied["mb_per_s"])
    placed = goals.tried("made in the arena, 32 MiB", "produced", in_place=True,
                         **words)
    if placed:
        goals.add("made in the arena, 32 MiB", "MB/s", None,
                  placed["mb_per_s"])
    held = goals.tried("one view is kept, 32 MiB", "holding", **words)
    if held:
        goals.add("one view is kept, 32 MiB", "MB/s", None, held["mb_per_s"])
    for n_workers in (1, 2, 4):
        for ordered in (True, False):
            name = f"{n_workers} producer{'s' if n_workers > 1 else ''}, " \
                f"{'in order' if ordered else 'first ready'}, 8 MiB"
            found = goals.tried(name, "producers", size=8 * MIB, n=goals.n,
                                runs=goals.rounds, transport="pool",
                                n_workers=n_workers, ordered=ordered)
            if found:
                goals.add(name, "MB/s", None, found["mb_per_s"])


# ---- C to C -------------------------------------------------------------

# (what the tool calls it, name, unit, goal, is more better?)
NATIVE = (
    ("units_per_s", "small units, C to C", "1/s", 2000000, True),
    ("polling_p50_us", "latency to a poller", "us", 2, False),
    ("sleeping_p50_us", "latency to a sleeper", "us", None, False),
    ("sleeping_of_futex", "  the same, to a bare futex", "x", 1.3, False),
    ("copy_of_best", "copy engine, to the best copy", "x", None, True),
)


def native_facts(goals):
    """What the tool told, once for each round; [] without it."""
    facts = []
    for _ in range(goals.rounds if goals.stream else 0):
        done = subprocess.run([goals.stream, "0.3" if goals.quick else "1"],
                              check=False, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            goals.skip("C to C", f"{goals.stream} ended with status "
                       f"{done.returncode}")
            return []
        facts.append(json.loads(done.stdout))
    return facts


def best_copy_mb_per_s(facts):
    """The best turn of any way to copy on one core; None when nothing is known."""
    return max((rate * 1e3 for fact in facts for name, rate in fact.items()
                if name.startswith("copy_") and name.endswith("_gb_s")),
               default=None)


def native_rows(goals, facts):
    for key, name, unit, goal, at_least in NATIVE:
        if facts:
            goals.add(name, unit, goal, [fact[key] for fact in facts],
                      at_least)
    if facts:
        goals.add("best copy of one core", "MB/s", None,
                  [best_copy_mb_per_s([fact]) for fact in facts])


def measure(goals, groups):
    print(f"{'':<46} {'goal':>9} {'measured':>9}      quartiles")
    native = native_facts(goals)
    if "native" in groups:
        native_rows(goals, native)
    if "published" in groups:
        published_rows(goals)
    if "honest" in groups:
        honest_rows(goals, native)
    if "own" in groups:
        own_rows(goals)
    if goals.table:
        arena_rows.print_isolated(goals.table)
    return goals.rows
