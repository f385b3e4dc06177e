"""What the published benchmark leaves out: each task runs in a process of its own, which
arena_run.py is, and answers with a dict.

The source holds noise, so that no page of zeros stays in a cache; a consumer that reads
adds up every word of every item, each of which has new content."""

import importlib
import mmap
import os
import statistics
import time

import arena_load
import arena_run
from arena_run import MIB, Spec


def library_of(name):
    return importlib.import_module(name)


def begin(library, source, transport, size, n, tight=True):
    spec = Spec(transport=transport, n=n, size=size, tight=tight)
    return arena_run.start(library_of(library), source, spec, size)


def rate(items, n, use=lambda item: None):
    """MB/s of the passes after the first; `use` gets each item."""
    count, size = 0, 0
    begin_s = time.perf_counter()
    for item in items:
        use(item)
        size += item["data"].nbytes
        count += 1
        del item
    seconds = time.perf_counter() - begin_s
    if count != n:
        raise RuntimeError(f"{count} items came instead of {n}")
    return size / seconds / 1e6


def passes(items, n, runs, use=lambda item: None):
    rate(items, n, use)
    return [rate(items, n, use) for _ in range(runs)]


# ---- time ---------------------------------------------------------------

def latency(library, transport, size, n, gap_s):
    """From `ready to be sent` to `in the consumer's hands`, one item at a time."""
    items = begin(library, arena_load.Paced(size, n, gap_s), transport, size, n)
    found = []
    for _ in range(2):  # the first pass warms up
        found.clear()
        for item in items:
            found.append((time.monotonic_ns() - item["sent"]) / 1e3)
            del item
    found.sort()
    return {"p50_us": statistics.median(found),
            "p99_us": found[min(len(found) - 1, len(found) * 99 // 100)]}


def empty_epoch(library, transport, runs):
    """A pass over a source that has nothing, ms."""
    items = begin(library, arena_load.Small(0), transport, MIB, 16)
    found = []
    for _ in range(runs + 3):
        start = time.perf_counter()
        for _ in items:
            pass
        found.append((time.perf_counter() - start) * 1e3)
    return {"ms": found[3:]}


def small_items(library, transport, n, runs):
    """Items/s of integers, from an iterator in a worker."""
    lib = library_of(library)
    spec = Spec(transport=transport, n=1024, tight=False)
    items = lib.iterate_in_subprocess(
        arena_load.Call(arena_load.Small(n)), buffer_size=256,
        arena=arena_run.make_arena(lib, spec, 4096))
    return {"items_per_s": [arena_run.one_pass(items, n)
                            for _ in range(runs + 1)][1:]}


# ---- reading ------------------------------------------------------------

def read_mb_per_s(data):
    """Adds up every word."""
    start = time.perf_counter()
    data.sum()
    return data.nbytes / (time.perf_counter() - start) / 1e6


def private_buffers(size, n, small_pages):
    """Noise in memory of one's own.  NumPy asks for huge pages; shared memory has
    small ones on most machines, and reading those takes longer."""
    import numpy
    buffers = arena_load.noise(size, n)
    if not small_pages:
        return buffers
    found = []
    for buffer in buffers:
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        found.append(numpy.frombuffer(memory, numpy.uint64))
        found[-1][:] = buffer
    return found


class Reader:
    """Reads each item and proves that it is the right one.  With buffers of its own
    it reads one of them after each item: what private memory gives at that moment,
    while the producer writes."""

    def __init__(self, private=()):
        self.private = private
        self.n = 0
        self.views, self.others = [], []

    def __call__(self, item):
        data, number = item["data"], item["number"]
        self.views.append(read_mb_per_s(data))
        if data[0] != number or data[-512] != number:
            raise RuntimeError("an item has the content of another one")
        if self.private:
            self.n += 1
            buffer = self.private[self.n % len(self.private)]
            self.others.append(read_mb_per_s(buffer))


def reading(library, transport, size, n, runs):
    """The consumer reads all; the private buffers are more than caches hold."""
    items = begin(library, arena_load.Noise(size, n, "ends"), transport, size,
                  n)
    answer = {"mb_per_s": passes(items, n, runs, Reader())}
    for name, small_pages in (("same_pages", True), ("huge_pages", False)):
        reader = Reader(private_buffers(size, 10, small_pages))
        passes(items, n, runs, reader)
        private = statistics.median(reader.others)
        answer[name] = statistics.median(reader.views) / private
        answer[name + "_mb_per_s"] = private
    return answer


# ---- producing ----------------------------------------------------------

def produced(library, transport, size, n, runs, in_place=False):
    """Every byte of every item is made anew: in memory of the worker's own, then
    copied; or in the arena, where it stays."""
    if not in_place:
        source = arena_load.Noise(size, n, "all")
        items = begin(library, source, transport, size, n)
        return {"mb_per_s": passes(items, n, runs)}
    lib = library_of(library)
    spec = Spec(transport=transport, n=n, tight=True)
    arena = arena_run.make_arena(lib, spec, size)
    items = lib.iterate_in_subprocess(
        arena_load.Call(arena_load.InPlace(arena, size, n)), buffer_size=3,
        arena=arena)
    return {"mb_per_s": passes(items, n, runs)}


def holding(library, transport, size, n, runs):
    """The first item of each pass is kept until the pass is over."""
    items = begin(library, arena_load.Noise(size, n, "page"), transport, size,
                  n)
    held = []

    def hold(item):
        if not held:
            held.append(item)

    found = []
    for i in range(runs + 1):
        value = rate(items, n, hold)
        if held[0]["data"][0] != 1:
            raise RuntimeError("a view that was kept has changed")
        held.clear()
        if i:
            found.append(value)
    return {"mb_per_s": found}


def producers(library, transport, size, n, runs, n_workers, ordered):
    """Several workers, one consumer; n items of each."""
    lib = library_of(library)
    spec = Spec(transport=transport, n=n, buffer=3 * n_workers, tight=True)
    items = lib.iterate_in_subprocess(
        arena_load.Call(arena_load.Noise(size, n)), buffer_size=3,
        num_workers=n_workers, ordered=ordered,
        arena=arena_run.make_arena(lib, spec, size))
    return {"mb_per_s": passes(items, n * n_workers, runs)}


def steady(library, transport, size, n):
    """One long pass: its beginning and end do not count.  Also the CPU of both; here that
    of this thread, since those of NumPy's library turn in circles when they are new."""
    items = begin(library, arena_load.Noise(size, n), transport, size, n)
    rate(items, n)
    before, began = arena_run.usage(), time.thread_time()
    value = rate(items, n)
    cpu_s = time.thread_time() - began
    used = [b - a for a, b in zip(before, arena_run.usage())]
    return {"mb_per_s": value, "cpu_self_s": cpu_s, "cpu_worker_s": used[1],
            "faults_self": used[2], "faults_worker": used[3], "n": n,
            "cpus": len(os.sched_getaffinity(0))}


def making(library, kind, size, n):
    """Items/s of the source alone, with nobody to send them to.  The first item has
    to import what makes it."""
    items = iter(arena_load.Items(kind, size, n + 1))
    next(items)
    return {"items_per_s": arena_run.one_pass(items, n)}


def prepared(library, transport, kind, size, n, runs):
    """MB/s from the moment on when all items are made."""
    items = begin(library, arena_load.Prepared(kind, size, n), transport, size,
                  n)
    found = []
    for _ in range(runs + 1):
        iterator = iter(items)
        next(iterator)
        found.append(arena_run.one_pass(iterator, n) * size / 1e6)
    return {"mb_per_s": found[1:]}


TASKS = {f.__name__: f for f in (empty_epoch, holding, latency, making,
                                 prepared, produced, producers, reading,
                                 small_items, steady)}
