"""How fast files are identified, beside b3sum and OpenSSL.

Every row is a ratio of times in one run: ours to theirs, file by file in turn, so
that 0.50 means twice as fast.  A goal that is a speed ("1.1 times b3sum") is turned
into the ratio it allows (1 / 1.1).

Cold means that the pages of a file were dropped (POSIX_FADV_DONTNEED, after they were
written to the disk); what the device can give is the parallel O_DIRECT read of the
same file by the tool `ranges`, in the same round."""

import json
import os
import shutil
import subprocess
import time

from measure import wall_ms

MIB = 1 << 20
N_SMALL = 5000


def random_file(path, size):
    chunk = os.urandom(MIB)
    with open(path, "wb") as f:
        for _ in range(size // MIB):
            f.write(chunk)
        f.flush()
        os.fsync(f.fileno())


def warm(path):
    with open(path, "rb", buffering=0) as f:
        while f.read(8 * MIB):
            pass


def cool(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def on_one_cpu(argv):
    cpu = min(os.sched_getaffinity(0))
    return [shutil.which("taskset"), "-c", str(cpu), *argv]


def ratio_row(bench, title, goal, ours, theirs, reps, before=lambda: None):
    """`theirs` may be several commands, whose times add up."""
    commands = theirs if isinstance(theirs[0], list) else [theirs]
    ratios, ours_ms, theirs_ms = [], [], []
    for i in range(bench.reps(reps) + 1):
        before()
        a = wall_ms(ours)
        b = 0
        for argv in commands:
            before()
            b += wall_ms(argv)
        if i:  # the first round warms up
            ratios.append(a / b)
            ours_ms.append(a)
            theirs_ms.append(b)
    bench.add(title, "x", goal, ratios,
              {"ours_ms": sorted(ours_ms)[len(ours_ms) // 2],
               "theirs_ms": sorted(theirs_ms)[len(theirs_ms) // 2]})


def large_rows(bench, roar, b3sum, cpus):
    size = 64 if bench.args.quick else 1024
    path = os.path.join(bench.disk, "large")
    random_file(path, size * MIB)
    warm(path)
    ratio_row(bench, f"{size} MiB in the cache, 1 thread, to b3sum", 1.0,
              [*roar, "-j1", path], [*b3sum, "--num-threads", "1", path], 11)
    ratio_row(bench, f"{size} MiB in the cache, {cpus} threads, to b3sum", 1.0,
              [*roar, path], [*b3sum, path], 11)
    both_rows(bench, roar, path)
    cold_rows(bench, roar, b3sum, path, cpus)
    os.unlink(path)


def both_rows(bench, roar, path):
    """Two digests over one read."""
    ratio_row(bench, "BLAKE3 and SHA-256 together, to SHA-256 alone", 1.1,
              [*roar, "-a", "blake3,sha256", path],
              [*roar, "-a", "sha256", path], 9)
    ratio_row(bench, "the same on one CPU, to the sum of both", 1.05,
              on_one_cpu([*roar, "-j1", "-a", "blake3,sha256", path]),
              [on_one_cpu([*roar, "-j1", "-a", "sha256", path]),
               on_one_cpu([*roar, "-j1", path])], 9)


def cold_rows(bench, roar, b3sum, path, cpus):
    ratio_row(bench, "cold, to b3sum", 1 / 2, [*roar, path], [*b3sum, path], 9,
              lambda: cool(path))
    if os.path.exists(bench.tool("ranges")):
        ratio_row(bench, "cold, to reading with O_DIRECT alone", 1 / 0.9,
                  [*roar, path],
                  [bench.tool("ranges"), "-c", "-w", "direct", "-t",
                   str(cpus), "-n", "1", path], 9,
                  lambda: cool(path))


def many_rows(bench, roar, b3sum):
    n = 8 if bench.args.quick else 200 if bench.args.full else 40
    names = []
    for i in range(n):
        names.append(os.path.join(bench.disk, f"many-{i}"))
        random_file(names[-1], 50 * MIB)
        warm(names[-1])
    ratio_row(bench, f"{n} files of 50 MiB in the cache, to b3sum", 1 / 1.1,
              [*roar, *names], [*b3sum, *names], 7)
    for name in names:
        os.unlink(name)


def small_rows(bench, roar, b3sum, cpus):
    folder = bench.made("small")
    names = [os.path.join(folder, f"f{i}") for i in range(N_SMALL)]
    for name in names:
        with open(name, "wb") as f:
            f.write(os.urandom(4096))
    ratio_row(bench, f"{N_SMALL:,} files of 4 KiB, to b3sum", 1 / 2.2,
              [*roar, *names], [*b3sum, *names], 21)
    for threads, goal in ((1, 4.5), (2, 3.0)):
        if threads > cpus:
            continue
        argv = [*roar, f"-j{threads}"]
        if threads == 1:
            argv = on_one_cpu(argv)
        cost_row(bench, f"4 KiB files, {threads} thread{'s'[:threads - 1]}",
                 goal, argv, names, 21)
    known = [roar[0], "hash"]
    settle(names)
    wall_ms([*known, *names])
    cost_row(bench, "4 KiB files that are known", 2.0, known, names, 21)


def settle(names):
    """Only what has been left alone for a while is remembered."""
    for name in names:
        os.utime(name, (1e9, 1e9))
    time.sleep(0.1)


def cost_row(bench, title, goal, argv, names, reps):
    """Per file, without the start of the program."""
    costs = []
    for i in range(bench.reps(reps) + 1):
        one, full = wall_ms([*argv, names[0]]), wall_ms([*argv, *names])
        if i:
            costs.append(1000 * (full - one) / (len(names) - 1))
    bench.add(title, "us", goal, costs)


def cache_rows(bench):
    if not os.path.exists(bench.tool("digest_cache")):
        return
    out = subprocess.run([bench.tool("digest_cache"), bench.ram], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    for key, value in json.loads(out).items():
        if key.endswith("_ns"):
            bench.add(f"digest cache: {key[:-3]}", "us", None, [value / 1000])


def rows(bench):
    b3sum = shutil.which("b3sum")
    if not b3sum:
        print("bench: b3sum is not installed: no rows of hashing")
        return
    bench.disk = os.path.join(bench.work, "disk")
    os.mkdir(bench.disk)
    cpus = len(os.sched_getaffinity(0))
    os.environ["XDG_CACHE_HOME"] = bench.disk
    roar = [bench.roar, "hash", "--no-cache"]
    small_rows(bench, roar, [b3sum], cpus)
    large_rows(bench, roar, [b3sum], cpus)
    many_rows(bench, roar, [b3sum])
    cache_rows(bench)
