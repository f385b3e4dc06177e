"""The figures of the proxy as Markdown, between two marks of a document.

Beside them stands what the seed publishes of its own proxy: phases over 400 requests, and
medians of what it adds from an EC2 instance to S3 in the same region."""

from arena_docs import figures_table, machine_line
from measure import number

BEGIN = '<!-- figures: make bench BENCH="--only proxy --docs docs/proxy.md" ' \
    "writes what follows -->"
END = "<!-- end of figures -->"

# Milliseconds at p50, p95 and p99.
SEED_PHASES = {"credentials": (1.4, 3.2, 5.6), "signing": (0.07, 0.09, 0.11),
               "total": (1.5, 3.3, 5.7)}
# Milliseconds: direct, through the proxy.
SEED_LATENCY = {
    ("PUT", "64 KB"): (28.8, 28.2), ("PUT", "1 MB"): (35.8, 40.3),
    ("PUT", "8 MB"): (100.0, 133.2), ("GET", "64 KB"): (25.1, 27.5),
    ("GET", "1 MB"): (27.3, 31.3), ("GET", "8 MB"): (95.7, 108.8),
    ("range GET", "64 KB"): (24.8, 28.1), ("range GET", "1 MB"): (26.6, 31.6),
    ("range GET", "8 MB"): (29.0, 31.5)}


def phases_table(rows):
    lines = ["| phase | p50, us | p95, us | p99, us | seed: p50, p95, p99, us |",
             "|---|--:|--:|--:|---|"]
    for row in rows:
        seed = SEED_PHASES.get(row["phase"])
        published = ", ".join(f"{1000 * v:.0f}" for v in seed) if seed else ""
        lines.append(f"| {row['phase']} | " + " | ".join(
            number(row[q]) for q in ("p50_us", "p95_us", "p99_us")) +
            f" | {published} |")
    return "\n".join(lines)


def latency_table(rows):
    lines = ["| request | direct, ms | proxy, ms | added, ms | goal | seed: "
             "direct, proxy, ms |", "|---|--:|--:|--:|--:|---|"]
    for row in rows:
        direct, proxy = SEED_LATENCY[row["latency"], row["size"]]
        lines.append(
            f"| {row['latency']} of {row['size']} | {row['direct_ms']:.3f} | "
            f"{row['proxy_ms']:.3f} | {row['measured']:.3f} "
            f"[{row['q1']:.3f} to {row['q3']:.3f}] | {row['goal']:g} | "
            f"{direct:g}, {proxy:g} |")
    return "\n".join(lines)


def section(facts, rows):
    phases = [r for r in rows if "phase" in r]
    latency = [r for r in rows if "latency" in r]
    others = [r for r in rows if r not in phases and r not in latency]
    parts = [BEGIN, machine_line(facts)]
    for found, table in ((latency, latency_table), (phases, phases_table),
                         (others, figures_table)):
        if found:
            parts.append(table(found))
    return "\n\n".join([*parts, END])


def into(path, facts, rows):
    """Replaces what stands between the marks, where a document has them."""
    with open(path, encoding="utf-8") as f:
        document = f.read()
    if BEGIN not in document or END not in document:
        print(f"bench: {path} has no place for the proxy's figures: put "
              f"'{BEGIN}' and '{END}' there")
        return
    before, rest = document.split(BEGIN, 1)
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + section(facts, rows) + rest.split(END, 1)[1])
    print(f"the figures are in {path}")
