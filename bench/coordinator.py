"""The coordinator against the goals it was built for.

A server has one CPU, those who ask it the other.  Ours and what it is compared with are
asked by turns, each as a fresh process with a log of its own; a ratio has one value a
round, of which the median and the quartiles are shown.

 - barrier: every worker has a connection of its own; from when the last arrival is sent
   to when the last release has been read, by coord_load.  The bound is coord_floor, a
   bare epoll loop that only counts.  torch's TCPStore is asked by threads of Python
   (coordinator_threads.py), and so is roar's own client for that ratio.
 - heartbeats: one after the other on each stream, by coord_load, against gRPC's own
   C++ server; then at a fixed rate, timed from when each should have been sent.
 - agents: as barriers and heartbeats on frames, with 8 workers on each connection, whose
   requests of one moment are one packet; coord_load plays the agents.
 - memory: what the resident memory of the server grows by, a worker that has registered.
 - start: from exec to the line that says it serves; with a log of 10,000 workers and
   1,000,000 records the same is the time of its replay."""

import contextlib
import os
import resource
import shutil
import subprocess
import tempfile
import time

import coordinator_docs
from coordinator_servers import (Coordinator, Failed, Place, Server, grpc_peer,
                                 program, python_env, python_with)
from measure import slope

THREADS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "coordinator_threads.py")
# Workers at a barrier: how often they meet, in a quick run and in a full one.
BARRIER_ROUNDS = {100: (200, 300), 1000: (40, 60), 8000: (4, 8)}
THREAD_ROUNDS = {100: (20, 40), 1000: (5, 10)}
RANKS = 8  # of a host, behind its agent
AGENT_ROUNDS = {125: (40, 100), 1250: (6, 12)}
P99_GOAL_MS = {100: 4, 1000: 40, 8000: None}
SPARE_FDS = 100  # beside the connections of a server
# Repetitions in a quick run and in a full one, of rows that take their time.
SLOW = (1, 3)


class Rows:
    """What the groups of rows share."""

    def __init__(self, bench):
        self.bench = bench
        self.quick = bench.args.quick
        self.place = Place(bench)
        self.rounds = 2 if self.quick else 7
        # Short: whoever has precedence for longer must let others in (--urgent).
        self.seconds = 0.6

    def slow(self):
        return range(SLOW[not self.quick])

    def add(self, *args, **words):
        self.bench.add(*args, **words)

    def skip(self, name, why):
        print(f"{name:<46} {'':>9} {'-':>9}      {why}", flush=True)

    def ours(self, mode, wire, unix=False, **words):
        with Coordinator(self.place, unix=unix) as server:
            return self.place.load(mode, wire, server, **words)

    def floor(self, mode, members, *file, **words):
        with Server(self.place, [self.bench.tool("coord_floor"), str(members),
                                 *file]) as server:
            return self.place.load(mode, "frames", server, bare=True, **words)

    def peer(self, mode, **words):
        with Server(self.place, grpc_peer(self.bench)) as server:
            return self.place.load(mode, "grpc", server, **words)


def of(answers, name, scale=1.0):
    return [a[name] * scale for a in answers]


def ratios(over, under, name):
    return [a[name] / b[name] for a, b in zip(over, under)]


# ---- barriers -----------------------------------------------------------

def barrier_rows(rows, n, repetitions):
    words = {"lanes": n, "rounds": BARRIER_ROUNDS[n][not rows.quick]}
    grpc, frames, floor = [], [], []
    for _ in repetitions:
        grpc.append(rows.ours("barrier", "grpc", **words))
        frames.append(rows.ours("barrier", "frames", **words))
        floor.append(rows.floor("barrier", n, **words))
    name = f"barrier of {n:,}"
    rows.add(f"{name}, gRPC, p50", "ms", None, of(grpc, "p50_us", 1e-3))
    rows.add(f"{name}, gRPC, p99", "ms", P99_GOAL_MS[n],
             of(grpc, "p99_us", 1e-3))
    rows.add(f"{name}, frames, p50", "ms", None, of(frames, "p50_us", 1e-3))
    rows.add(f"{name}, frames, p99", "ms", None, of(frames, "p99_us", 1e-3))
    rows.add("  a bare epoll loop, p50", "ms", None, of(floor, "p50_us", 1e-3))
    rows.add("  a bare epoll loop, p99", "ms", None, of(floor, "p99_us", 1e-3))
    rows.add("  frames to that, p50", "x", 1.5,
             ratios(frames, floor, "p50_us"))
    rows.add("  frames to that, p99", "x", None,
             ratios(frames, floor, "p99_us"))
    return frames


def small_barrier_rows(rows):
    """Of few workers the disk is a good part: nobody is let go before the release is
    on it.  So also beside a loop that writes a page."""
    frames = barrier_rows(rows, 100, range(rows.rounds))
    file = os.path.join(rows.bench.work, "floor")
    floor = [rows.floor("barrier", 100, file, lanes=100,
                        rounds=BARRIER_ROUNDS[100][not rows.quick])
             for _ in frames]
    os.remove(file)
    rows.add("  a bare loop with one fdatasync, p50", "ms", None,
             of(floor, "p50_us", 1e-3))
    rows.add("  frames to that, p50", "x", None,
             ratios(frames, floor, "p50_us"))


def large_barrier_rows(rows):
    n = 8000
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if limit < n + SPARE_FDS:
        rows.skip(f"barrier of {n:,}",
                  f"the limit of descriptors is {limit:,} (ulimit -Hn)")
    else:
        barrier_rows(rows, n, rows.slow())


def ask_threads(rows, python, kind, server, n):
    return rows.place.asked(
        [python, THREADS, kind, server.address, str(n),
         str(THREAD_ROUNDS[n][not rows.quick])], python_env(rows.bench))


def one_round_of_threads(rows, python, n, found):
    """Everybody by turns; those who use the store have keys of their own in it."""
    words = {"lanes": n, "rounds": BARRIER_ROUNDS[n][not rows.quick]}
    with Server(rows.place, [python, THREADS, "serve"],
                python_env(rows.bench)) as server:
        for kind in ("torch", "store"):
            found[kind].append(ask_threads(rows, python, kind, server, n))
        found["wire"].append(rows.place.load("barrier", "store", server,
                                             bare=True, **words))
    with Coordinator(rows.place) as server:
        found["roar"].append(ask_threads(rows, python, "roar", server, n))
        found["frames"].append(rows.place.load("barrier", "frames", server,
                                               **words))
    with Server(rows.place, [rows.bench.tool("coord_floor"),
                             str(n)]) as server:
        found["bare"].append(ask_threads(rows, python, "bare", server, n))


def thread_barriers(rows, n, python):
    """torch's own barrier asks the store every 10 ms; one that waits for a key can be
    made of the same store."""
    found = {k: [] for k in ("torch", "store", "roar", "wire", "frames",
                              "bare")}
    for _ in rows.slow():
        one_round_of_threads(rows, python, n, found)
    name = f"barrier of {n:,} Python threads"
    rows.add(f"{name}, p50", "ms", None, of(found["roar"], "p50_us", 1e-3))
    rows.add("  torch's own by TCPStore, p50", "ms", None,
             of(found["torch"], "p50_us", 1e-3))
    rows.add("  times as fast as that", "x", 4,
             ratios(found["torch"], found["roar"], "p50_us"), at_least=True)
    rows.add("  Python's sockets and a bare epoll loop, p50", "ms", None,
             of(found["bare"], "p50_us", 1e-3))
    rows.add("  torch's own to that, the most there is", "x", None,
             ratios(found["torch"], found["bare"], "p50_us"))
    rows.add("  add and wait by TCPStore, p50", "ms", None,
             of(found["store"], "p50_us", 1e-3))
    rows.add("  times as fast as that", "x", None,
             ratios(found["store"], found["roar"], "p50_us"))
    rows.add("  the same without Python, p50", "ms", None,
             of(found["wire"], "p50_us", 1e-3))
    rows.add("  frames, times as fast as that", "x", None,
             ratios(found["wire"], found["frames"], "p50_us"))


def thread_rows(rows):
    python = python_with(rows.bench, "torch.distributed, roar.coordinator")
    for n in THREAD_ROUNDS:
        thread_barriers(rows, n, python)


# ---- heartbeats ---------------------------------------------------------

def heartbeat_rows(rows, title, shape, to_peer, goal):
    ours, theirs = [], []
    for _ in range(rows.rounds):
        ours.append(rows.ours("beat", "grpc", seconds=rows.seconds, **shape))
        with contextlib.suppress(Failed):
            theirs.append(rows.peer("beat", seconds=rows.seconds, **shape))
    rows.add(f"heartbeats, gRPC, {title}", "1/s", goal, of(ours, "per_s"),
             at_least=True)
    rows.add("  CPU of the server, each", "us", None, of(ours, "server_us"))
    if not theirs:
        grpc_peer(rows.bench)  # says why
    rows.add("  gRPC's C++ server", "1/s", None, of(theirs, "per_s"))
    rows.add("  times as many as that", "x", to_peer,
             ratios(ours, theirs, "per_s"), at_least=True)


def frames_rows(rows):
    words = {"lanes": 1000, "seconds": rows.seconds}
    ours, floor = [], []
    for _ in range(rows.rounds):
        ours.append(rows.ours("beat", "frames", **words))
        floor.append(rows.floor("beat", 1000, **words))
    rows.add("heartbeats, frames, 1,000 connections", "1/s", 150000,
             of(ours, "per_s"), at_least=True)
    rows.add("  CPU of the server, each", "us", None, of(ours, "server_us"))
    rows.add("  a bare epoll loop", "1/s", None, of(floor, "per_s"))
    rows.add("  times as many as that", "x", None,
             ratios(ours, floor, "per_s"), at_least=True)
    rows.add("heartbeats, frames, 1,000 Unix sockets", "1/s", None,
             of([rows.ours("beat", "frames", unix=True, **words)
                 for _ in range(rows.rounds)], "per_s"))


def offered_rows(rows):
    for wire in ("grpc", "frames"):
        answers = [rows.ours("offer", wire, lanes=100, rate=10000,
                             seconds=2 * rows.seconds)
                   for _ in range(rows.rounds)]
        name = f"10,000 heartbeats/s offered, {wire}"
        rows.add(f"{name}, p50", "ms", None, of(answers, "p50_us", 1e-3))
        rows.add(f"{name}, p99", "ms", 1, of(answers, "p99_us", 1e-3))


# ---- agents -------------------------------------------------------------

def agent_barrier_rows(rows, agents, goal, repetitions):
    """Agents as coord_load plays them: their wire, without their processes."""
    found = [rows.ours("barrier", "frames", lanes=agents, ranks=RANKS,
                       rounds=AGENT_ROUNDS[agents][not rows.quick])
             for _ in repetitions]
    name = f"barrier of {agents * RANKS:,}: {agents:,} agents x {RANKS} ranks"
    rows.add(f"{name}, p50", "ms", None, of(found, "p50_us", 1e-3))
    rows.add(f"{name}, p99", "ms", goal, of(found, "p99_us", 1e-3))
    rows.add("  CPU of the server, a worker's part", "us", None,
             of(found, "server_us", 1 / (agents * RANKS)))


def agent_beat_rows(rows):
    found = [rows.ours("beat", "frames", lanes=125, ranks=RANKS,
                       seconds=rows.seconds) for _ in range(rows.rounds)]
    rows.add(f"heartbeats, 125 agents x {RANKS} ranks", "1/s", None,
             of(found, "per_s"), at_least=True)
    rows.add("  CPU of the server, each", "us", None, of(found, "server_us"))
    return found


def agent_rows(rows):
    """What heartbeats cost is returned."""
    agent_barrier_rows(rows, 125, 10, range(rows.rounds))
    agent_barrier_rows(rows, 1250, None, rows.slow())
    return agent_beat_rows(rows)


# ---- memory, start ------------------------------------------------------

@contextlib.contextmanager
def idle_workers(rows, wire, server, n, first, ranks):
    process = subprocess.Popen(
        [rows.bench.tool("coord_load"), "idle", wire, server.address,
         "--lanes", str(n // ranks), "--ranks", str(ranks), "--first",
         str(first)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
        preexec_fn=rows.place.on(rows.place.client_cpu))
    try:
        if process.stdout.readline() != "ready\n":
            raise Failed("workers could not register")
        yield
    finally:
        process.communicate()


def kib_per_worker(rows, wire, ranks=1):
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Coordinator(rows.place))
        points = [(0, server.rss_kib())]
        for n in (1000, 3000):
            there = points[-1][0]
            stack.enter_context(
                idle_workers(rows, wire, server, n, there, ranks))
            points.append((there + n, server.rss_kib()))
    return slope(*zip(*points))


def agent_memory_row(rows):
    values = [kib_per_worker(rows, "frames", RANKS) for _ in rows.slow()]
    rows.add("memory of an idle worker, behind an agent", "KiB", None, values)
    return values


def memory_rows(rows):
    for wire, goal in (("grpc", 32), ("frames", 4)):
        values = [kib_per_worker(rows, wire) for _ in rows.slow()]
        rows.add(f"memory of an idle worker, {wire}", "KiB", goal, values)
    agent_memory_row(rows)


def start_ms(rows, data=None):
    began = time.perf_counter()
    with Coordinator(rows.place, data):
        return (time.perf_counter() - began) * 1000


def start_row(rows):
    values = [start_ms(rows) for _ in range(5 * rows.rounds)]
    rows.add("start to serving", "ms", 50, values[1:])


def replay_row(rows):
    folder = tempfile.mkdtemp(dir=rows.bench.work)
    data = os.path.join(folder, "data")
    copy = os.path.join(folder, "copy")
    subprocess.run([rows.bench.tool("coord_log"), data, "10000", "1000000"],
                   check=True)
    values = []
    for _ in rows.slow():
        shutil.copytree(data, copy)
        values.append(start_ms(rows, copy) / 1000)
        shutil.rmtree(copy)
    shutil.rmtree(folder)
    rows.add("start with 10,000 workers, 1,000,000 records", "s", 1, values)


# ---- all of it ----------------------------------------------------------

GROUPS = (
    ("barrier of 100", small_barrier_rows),
    ("barrier of 1,000", lambda r: barrier_rows(r, 1000, range(r.rounds))),
    ("barrier of 8,000", large_barrier_rows),
    ("barrier of threads", thread_rows),
    ("heartbeats, 1,000 connections", lambda r: heartbeat_rows(
        r, "1,000 connections", {"lanes": 1000}, 1.5, None)),
    ("heartbeats, 10 x 100 streams", lambda r: heartbeat_rows(
        r, "10 x 100 streams", {"lanes": 10, "streams": 100}, 4, 250000)),
    ("heartbeats, frames", frames_rows),
    ("heartbeats offered", offered_rows),
    ("agents", agent_rows),
    ("memory of an idle worker", memory_rows),
    ("start to serving", start_row),
    ("start with a long log", replay_row),
)


def rows(bench, facts):
    if not os.path.exists(program(bench)):
        print("bench: this build has no coordinator: no rows of it")
        return
    all_rows = Rows(bench)
    before = len(bench.rows)
    for name, group in GROUPS:
        try:
            group(all_rows)
        except Failed as e:
            all_rows.skip(name, str(e))
    if bench.args.docs:
        coordinator_docs.into(bench.args.docs, facts, bench.rows[before:],
                              bench.args.urgent)
