"""What one row of the arena's benchmark is, how it is written and how it is shown.

A row is one kind of payload, of one size, by one transport.  The columns of the CSV
file are those of SPDL's benchmark of the same name, so that either one's file can be
plotted by either one's script; its published figures stand here too, to be shown
beside ours.  They come from another machine: only ratios within one line compare."""

import csv
import dataclasses
import statistics

KINDS = ("bytes", "numpy", "torch", "packets")
TRANSPORTS = ("no-arena", "ring", "pool")

# (MB/s, CPU s, peak RSS MB) of 32 MiB, 16 items, 10 passes, a process for each.
PUBLISHED_SIZE = 32
PUBLISHED = {
    ("bytes", "no-arena"): (719, 7.1, 1872),
    ("bytes", "ring"): (2684, 1.8, 1015),
    ("bytes", "pool"): (3760, 0.0, 673),
    ("numpy", "no-arena"): (647, 7.7, 1865),
    ("numpy", "ring"): (3202, 1.1, 1009),
    ("numpy", "pool"): (3767, 0.0, 669),
    ("torch", "no-arena"): (2899, 0.6, 603),
    ("torch", "ring"): (3106, 1.2, 1262),
    ("torch", "pool"): (3116, 0.0, 834),
    ("packets", "no-arena"): (555, 8.6, 1885),
    ("packets", "ring"): (1359, 3.3, 1236),
    ("packets", "pool"): (1622, 0.1, 825),
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One measurement; the fields are the columns of the CSV file."""

    size_mb: int  # asked for, in MiB
    kind: str
    transport: str
    items_per_s: float  # mean of the passes
    mb_per_s: float  # the same in payload, 1e6 bytes
    mb_per_s_lo: float  # 95 % confidence interval of the mean
    mb_per_s_hi: float
    speedup: float  # to no-arena of this size and kind
    peak_rss_mb: float = 0.0  # both processes, shared pages twice; --isolate
    cpu_sec: float = 0.0  # of the consumer, as published; --isolate


def interval(samples):
    """Of the mean, 95 %, as if the passes were normally distributed."""
    mean = statistics.fmean(samples)
    if len(samples) < 2:
        return mean, mean
    half = 1.96 * statistics.stdev(samples) / len(samples) ** 0.5
    return mean - half, mean + half


def make_rows(size_mb, kind, results):
    """Of what arena_run.measure() told of each transport."""
    means = {t: statistics.fmean(r["samples"]) for t, r in results.items()}
    base = means.get("no-arena")
    rows = []
    for transport, result in results.items():
        scale = result["payload_bytes"] / 1e6
        low, high = interval(result["samples"])
        rows.append(Row(
            size_mb, kind, transport, means[transport],
            means[transport] * scale, low * scale, high * scale,
            means[transport] / base if base else 1.0,
            result.get("rss_mb", 0.0), result.get("cpu_self_s", 0.0)))
    return rows


# ---- CSV ----------------------------------------------------------------

def write_csv(rows, path):
    names = [field.name for field in dataclasses.fields(Row)]
    with open(path, "w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, fieldnames=names)
        writer.writeheader()
        writer.writerows(dataclasses.asdict(row) for row in rows)
    print(f"{len(rows)} rows are in {path}")


def read_csv(path):
    """Raises ValueError with the file and what is wrong in it."""
    types = {field.name: field.type for field in dataclasses.fields(Row)}
    rows = []
    with open(path, newline="", encoding="utf-8") as f:
        for line, words in enumerate(csv.DictReader(f), 2):
            try:
                rows.append(Row(**{name: kind(words.get(name) or 0)
                                   for name, kind in types.items()}))
            except (TypeError, ValueError) as e:
                raise ValueError(f"{path}, line {line}: {e}") from None
    return rows


# ---- tables -------------------------------------------------------------

def by_order(rows):
    return sorted(rows, key=lambda r: (KINDS.index(r.kind), r.size_mb,
                                       TRANSPORTS.index(r.transport)))


def cell(row):
    if row is None:
        return "-"
    if row.transport == "no-arena":
        return f"{row.mb_per_s:.0f}"
    return f"{row.mb_per_s:.0f} ({row.speedup:.2f}x)"


def print_sweep(rows):
    """A line for each kind and size, a column for each transport."""
    found = {(r.kind, r.size_mb, r.transport): r for r in rows}
    head = f"{'kind':<8} {'size':>5} {'no-arena':>9} {'ring':>16} {'pool':>16}"
    print(f"\n{head}\n{'-' * len(head)}")
    for kind, size in dict.fromkeys((r.kind, r.size_mb)
                                    for r in by_order(rows)):
        cells = [cell(found.get((kind, size, t))) for t in TRANSPORTS]
        print(f"{kind:<8} {size:>4}M {cells[0]:>9} {cells[1]:>16} "
              f"{cells[2]:>16}")
    print("(MB/s received; in brackets: times no-arena)")


def print_isolated(rows):
    """A line for each row; at 32 MiB with what was published."""
    head = (f"{'kind':<8} {'size':>5} {'transport':<9} {'recv MB/s':>10} "
            f"{'speedup':>8} {'CPU s':>7} {'peak RSS MB':>12}   "
            f"{'published':>9} {'speedup':>8} {'CPU s':>6} {'RSS':>6}")
    print(f"\n{head}\n{'-' * len(head)}")
    for r in by_order(rows):
        line = (f"{r.kind:<8} {r.size_mb:>4}M {r.transport:<9} "
                f"{r.mb_per_s:>10.0f} {r.speedup:>7.2f}x {r.cpu_sec:>7.2f} "
                f"{r.peak_rss_mb:>12.0f}")
        if r.size_mb == PUBLISHED_SIZE:
            speed, cpu, rss = PUBLISHED[r.kind, r.transport]
            times = speed / PUBLISHED[r.kind, "no-arena"][0]
            line += f"   {speed:>9} {times:>7.2f}x {cpu:>6.1f} {rss:>6}"
        print(line)
    print("(CPU s is the consumer's alone, and RSS counts shared pages twice: "
          "so they were published)")
