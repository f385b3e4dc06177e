"""One configuration of the arena's benchmark, measured in this process.

    arena_run.py SPEC        SPEC and the answer are JSON; the answer is the last line,
                             {"error": ...} when it failed

A pipeline of a source and a sink runs in a worker; here its items are received and
dropped.  One pass warms up, the others are timed; worker and arena serve for all of
them.  The library is named by SPEC, so that SPDL's arena is measured by these very
lines.

What is told of a configuration:

    samples         items/s of each pass
    cpu_self_s      CPU time of this process over the timed passes
    cpu_worker_s    of its children, by their own clocks
    faults_self, faults_worker    page faults over the same time
    rss_mb          largest resident memory, this process plus children, above that
                    before the arena was made: shared pages count twice
    pss_mb          the most memory of both, each page counted once, above that before
    reserved_mb     what the arena's file takes, touched or not"""

import dataclasses
import gc
import glob
import importlib
import json
import os
import resource
import sys
import threading
import time

sys.dont_write_bytecode = True
import arena_load  # noqa: E402

MIB = 1 << 20


@dataclasses.dataclass
class Spec:
    """What is to be measured."""

    kind: str = "bytes"
    size: int = 32 * MIB
    transport: str = "pool"
    n: int = 16  # items of a pass
    runs: int = 10
    duration_s: float = 0.0  # passes go on for so long, if not 0
    buffer: int = 3  # of the sink, and of the way to this process
    clip: list | None = None  # module that takes it apart, path
    library: str = "roar.pipeline"
    tight: bool = False  # an arena of no more than the depth needs
    memory: bool = False  # one more pass, for pss_mb


# ---- looking at processes -----------------------------------------------

def children():
    """Of this process, all its threads'."""
    found = []
    for name in glob.glob("/proc/self/task/*/children"):
        with open(name, encoding="ascii") as f:
            found += map(int, f.read().split())
    return found


def cpu_of(pid):
    """Seconds by the process's own clock, which counts nanoseconds."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0


def faults_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        return int(f.read().rpartition(")")[2].split()[7])


def usage():
    """(CPU s, of workers, faults, of workers) until now."""
    pids = children()
    return (cpu_of(os.getpid()), sum(map(cpu_of, pids)),
            faults_of(os.getpid()), sum(map(faults_of, pids)))


def peak_rss_mb():
    return sum(resource.getrusage(who).ru_maxrss for who in
               (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def pss_kib(pid):
    """(all, of it shared memory)."""
    total = shared = 0
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
            for line in f:
                if line.startswith("Pss:"):
                    total = int(line.split()[1])
                elif line.startswith("Pss_Shmem:"):
                    shared = int(line.split()[1])
    except OSError:
        pass
    return total, shared


def reserved_mb():
    """Of the arenas whose descriptors this process has."""
    files = {}
    for name in glob.glob("/proc/self/fd/*"):
        try:
            if os.readlink(name).startswith("/memfd:roar-arena"):
                st = os.stat(name)
                files[st.st_dev, st.st_ino] = st.st_blocks * 512
        except OSError:
            pass
    return sum(files.values()) / MIB


class Sampler:
    """The most memory that this process and its children have, looked at often.
    What an arena has reserved counts in full, whether it was touched or not."""

    def __init__(self):
        self.base = self.peak = pss_kib(os.getpid())[0]
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended.wait(0.005):
            found = [pss_kib(pid) for pid in (os.getpid(), *children())]
            total = sum(all_ for all_, _ in found)
            shared = sum(shared for _, shared in found)
            reserved = int(reserved_mb() * 1024)
            self.peak = max(self.peak, total + max(0, reserved - shared))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def growth_mb(self):
        return (self.peak - self.base) / 1024


# ---- one configuration --------------------------------------------------

def make_arena(library, spec, payload):
    """As large as the published benchmark makes it, where a whole pass fits in;
    or for the depth alone."""
    slots = max(2 * spec.buffer + 6, spec.n + 2)
    unit = max(MIB, 2 * payload)
    if spec.tight:
        slots = spec.buffer + 2
        unit = payload + MIB // 4
    if spec.transport == "ring":
        return library.SharedMemoryRingBuffer(capacity=slots * unit)
    if spec.transport == "pool":
        return library.SharedMemorySegmentPool(segment_size=unit, count=slots)
    return None


def start(library, source, spec, payload):
    """The items of a source, through a worker; to be iterated once a pass."""
    config = library.PipelineBuilder().add_source(source).add_sink(
        buffer_size=spec.buffer).get_config()
    return library.run_pipeline_in_subprocess(
        config, num_threads=1, arena=make_arena(library, spec, payload),
        buffer_size=spec.buffer)


def one_pass(items, n):
    """Receives and drops them all; items/s."""
    count = 0
    begin = time.perf_counter()
    for item in items:
        count += 1
        del item  # gives a view's memory back
    seconds = time.perf_counter() - begin
    if count != n:
        raise RuntimeError(f"{count} items came instead of {n}")
    return n / seconds


def timed_passes(items, spec):
    samples = []
    end = time.perf_counter() + spec.duration_s
    while True:
        samples.append(one_pass(items, spec.n))
        if spec.duration_s > 0:
            if time.perf_counter() >= end:
                return samples
        elif len(samples) >= spec.runs:
            return samples


def measure(spec):
    """All that is told of a configuration; RuntimeError when it fails."""
    library = importlib.import_module(spec.library)
    clip = tuple(spec.clip) if spec.clip else None
    payload = arena_load.payload_bytes(spec.kind, spec.size, clip)
    gc.collect()
    sampler = Sampler() if spec.memory else None
    rss = peak_rss_mb()
    items = start(library, arena_load.Items(spec.kind, spec.size, spec.n, clip),
                  spec, payload)
    try:
        one_pass(items, spec.n)
        before = usage()
        samples = timed_passes(items, spec)
        used = [b - a for a, b in zip(before, usage())]
        reserved = reserved_mb()
        if sampler:
            with sampler:
                one_pass(items, spec.n)
    finally:
        del items  # ends worker and arena
        gc.collect()
    answer = {"samples": samples, "payload_bytes": payload,
              "cpu_self_s": used[0], "cpu_worker_s": used[1],
              "faults_self": used[2], "faults_worker": used[3],
              "n_items": len(samples) * spec.n,
              "reserved_mb": reserved, "rss_mb": peak_rss_mb() - rss}
    if sampler:
        answer["pss_mb"] = sampler.growth_mb()
    return answer


def answered(words):
    task = words.pop("task", None)
    if not task:
        return measure(Spec(**words))
    import arena_tasks
    return arena_tasks.TASKS[task](**words)


def main():
    try:
        answer = answered(json.loads(sys.argv[1]))
    except Exception as e:  # whatever it is, it is the answer
        answer = {"error": " ".join(f"{type(e).__name__}: {e}".split())}
    print(json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
