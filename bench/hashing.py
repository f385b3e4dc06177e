"""How fast files are identified, beside b3sum and OpenSSL.

Every row is a ratio of times in one run: ours to theirs, file by file in turn, so
that 0.50 means twice as fast.  A goal that is a speed ("1.1 times b3sum") is turned
into the ratio it allows (1 / 1.1).

Cold means that the pages of a file were dropped (POSIX_FADV_DONTNEED, after they were
written to the disk); what the device can give is the parallel O_DIRECT read of the
same file by the tool `file_reader`, in the same round.

Small files cost what the kernel charges for them: the tool `floor` measures that over
the same list, and the figure is printed beside the row.  A goal below the floor cannot
be met on the machine at hand.

At the end stands the table of throughput by CPUs that was published for the original
roar (its machine: 30 vCPUs and a fast SSD), with ours and b3sum's on this machine
beside it.  Only ratios within one line compare; the tools and python3 are all it
needs."""

import json
import os
import shutil
import subprocess
import time

from measure import wall_ms

MIB = 1 << 20
N_SMALL = 5000

# Published: 200 files of 50 MB, GB/s by vCPUs, cached and cold.
PUBLISHED = {1: (3.2, 1.8), 2: (6.5, 3.6), 4: (12.4, 6.0), 8: (20.8, 9.9),
             16: (31.6, 14.1), 30: (37.2, 13.5)}
# Published: one thread, GB/s, from the page cache.
PUBLISHED_ALGORITHMS = {"blake3": 3.3, "sha256": 1.0, "sha512": 0.54,
                        "md5": 0.60}


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


def on_cpus(n, argv):
    cpus = sorted(os.sched_getaffinity(0))[:n]
    return [shutil.which("taskset"), "-c", ",".join(map(str, cpus)), *argv]


def on_one_cpu(argv):
    return on_cpus(1, argv)


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
    if os.path.exists(bench.tool("file_reader")):
        ratio_row(bench, "cold, to reading with O_DIRECT alone", 1 / 0.9,
                  [*roar, path],
                  [bench.tool("file_reader"), "-c", "-w", "direct", "-t",
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
    scaling_table(bench, roar, b3sum, names)
    algorithm_table(bench, roar, names)
    for name in names:
        os.unlink(name)


def median(values):
    return sorted(values)[len(values) // 2]


def speeds(bench, commands, n_bytes, before):
    """GB/s of each command, by turns."""
    times = {name: [] for name in commands}
    for i in range(bench.reps(5) + 1):
        for name, argv in commands.items():
            before()
            ms = wall_ms(argv)
            if i:
                times[name].append(ms)
    return {name: n_bytes / median(values) / 1e6
            for name, values in times.items()}


def scaling_table(bench, roar, b3sum, names):
    cpus = len(os.sched_getaffinity(0))
    n_bytes = sum(os.path.getsize(name) for name in names)
    steps = sorted({n for n in PUBLISHED if n < cpus} | {cpus})
    print(f"{len(names)} files of 50 MiB, BLAKE3, GB/s "
          "(published | ours, b3sum, ours : b3sum)")
    for way, before, column in (
            ("cached", lambda: [warm(n) for n in names], 0),
            ("cold", lambda: [cool(n) for n in names], 1)):
        before()
        for n in steps:
            found = speeds(
                bench,
                {"ours": on_cpus(n, [*roar, f"-j{n}", *names]),
                 "b3sum": on_cpus(n, [*b3sum, "--num-threads", str(n),
                                      *names])},
                n_bytes, before if way == "cold" else lambda: None)
            known = PUBLISHED.get(n, (None, None))[column]
            print(f"  {way:<7} {n:>2} CPU  {known or '-':>5} | "
                  f"{found['ours']:6.2f} {found['b3sum']:6.2f} "
                  f"{found['ours'] / found['b3sum']:6.2f}")
            bench.rows.append({"name": f"table: {way}, {n} CPUs",
                               "unit": "GB/s", "goal": None,
                               "measured": found["ours"],
                               "b3sum": found["b3sum"],
                               "published": known})


def algorithm_table(bench, roar, names):
    openssl = shutil.which("openssl")
    size = os.path.getsize(names[0])
    print("one thread, cached, GB/s (published | ours, OpenSSL)")
    for algo, known in PUBLISHED_ALGORITHMS.items():
        commands = {"ours": [*roar, "-j1", "-a", algo, *names[:4]]}
        if openssl and algo != "blake3":
            commands["openssl"] = [openssl, "dgst", f"-{algo}", *names[:4]]
        found = speeds(bench, commands, 4 * size, lambda: None)
        other = found.get("openssl")
        print(f"  {algo:<7} {known:>12} | {found['ours']:6.2f} "
              f"{f'{other:6.2f}' if other else ''}")
        bench.rows.append({"name": f"table: {algo}, 1 thread", "unit": "GB/s",
                           "goal": None, "measured": found["ours"],
                           "openssl": other, "published": known})


def floor(bench, folder, names):
    """What the kernel alone charges for these files; {} without the tool."""
    if not os.path.exists(bench.tool("floor")):
        return {}
    out = subprocess.run([bench.tool("floor"), folder,
                          *map(os.path.basename, names)],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    facts = json.loads(out)
    print("floor of small files: " +
          ", ".join(f"{k} {v}" for k, v in facts.items()))
    return facts


def small_rows(bench, roar, b3sum, cpus):
    folder = bench.made("small")
    names = [os.path.join(folder, f"f{i}") for i in range(N_SMALL)]
    for name in names:
        with open(name, "wb") as f:
            f.write(os.urandom(4096))
    ratio_row(bench, f"{N_SMALL:,} files of 4 KiB, to b3sum", 1 / 2.2,
              [*roar, *names], [*b3sum, *names], 21)
    least = floor(bench, folder, names)
    for threads, goal in ((1, 4.5), (2, 3.0)):
        if threads > cpus:
            continue
        argv = [*roar, f"-j{threads}"]
        if threads == 1:
            argv = on_one_cpu(argv)
        cost_row(bench, f"4 KiB files, {threads} thread{'s'[:threads - 1]}",
                 goal, argv, names, 21,
                 least.get("guess_near_us", 0) / threads)
    known = [roar[0], "hash"]
    settle(names)
    wall_ms([*known, *names])
    cost_row(bench, "4 KiB files that are known", 2.0, known, names, 21,
             least.get("look_near_us", 0) / min(cpus, 2))


def settle(names):
    """Only what has been left alone for a while is remembered."""
    for name in names:
        os.utime(name, (1e9, 1e9))
    time.sleep(0.1)


def cost_row(bench, title, goal, argv, names, reps, least):
    """Per file, without the start of the program; at best `least` microseconds."""
    costs = []
    for i in range(bench.reps(reps) + 1):
        one, full = wall_ms([*argv, names[0]]), wall_ms([*argv, *names])
        if i:
            costs.append(1000 * (full - one) / (len(names) - 1))
    bench.add(title, "us", goal, costs, {"floor_us": least})
    print(f"{'':<46} {'floor':>9} {least:>9.2f} us")


def make_tree(top, n):
    """Many small files in folders of a thousand."""
    data = os.urandom(4096)
    os.mkdir(top)
    for first in range(0, n, 1000):
        folder = os.path.join(top, f"d{first:07}")
        os.mkdir(folder)
        for i in range(first, min(first + 1000, n)):
            with open(os.path.join(folder, f"f{i:07}"), "wb",
                      buffering=0) as f:
                f.write(data[i % 3900:][:i % 101])


def tree_row(bench, roar):
    """A large tree that is known: each file is looked at once."""
    n = 1000000 if bench.args.full else 50000
    top = os.path.join(bench.disk, "tree")
    make_tree(top, n)
    time.sleep(0.1)
    argv = [roar, "hash", "--tree", top]
    wall_ms(argv)  # fills the cache
    seconds = [wall_ms(argv) / 1e3 for _ in range(bench.reps(7))]
    title = f"tree of 1,000,000 known files{'' if n == 1000000 else ', scaled'}"
    bench.add(title, "s", 3.0, [s * 1000000 / n for s in seconds],
              {"n_files": n})
    shutil.rmtree(top)


def cache_rows(bench):
    if not os.path.exists(bench.tool("digest_cache")):
        return
    out = subprocess.run([bench.tool("digest_cache"), bench.ram], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    for key, value in json.loads(out).items():
        if key.endswith("_ns"):
            bench.add(f"digest cache: {key[:-3]}", "us", None, [value / 1000])
    facts = json.loads(out)
    bench.add("digest cache: kept of a million files", "%", None,
              [100 * facts["kept"] / facts["files"]])


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
    tree_row(bench, bench.roar)
    many_rows(bench, roar, [b3sum])
    cache_rows(bench)
