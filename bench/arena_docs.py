"""The figures of the arena as Markdown, between two marks of a document."""

import os

import arena_rows
from measure import number

BEGIN = "<!-- figures: bench/arena.py --goals --docs writes what follows -->"
END = "<!-- end of figures -->"

VERDICTS = {True: "reached", False: "**missed**", None: "lost in noise"}


def machine_line(facts):
    return "Machine: " + ", ".join(f"{k} {v}" for k, v in facts.items()) + "."


def published_table(rows):
    """Ours beside what SPDL publishes; each speedup is to no-arena on its machine."""
    lines = ["| payload | transport | MB/s | to no-arena | CPU s | peak RSS, MB | "
             "published MB/s | to no-arena | CPU s | peak RSS, MB |",
             "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for r in arena_rows.by_order(rows):
        cells = [r.kind, r.transport, f"{r.mb_per_s:.0f}",
                 f"{r.speedup:.2f}", f"{r.cpu_sec:.2f}",
                 f"{r.peak_rss_mb:.0f}"]
        if r.size_mb == arena_rows.PUBLISHED_SIZE:
            speed, cpu, rss = arena_rows.PUBLISHED[r.kind, r.transport]
            plain = arena_rows.PUBLISHED[r.kind, "no-arena"][0]
            cells += [str(speed), f"{speed / plain:.2f}", f"{cpu:.1f}",
                      str(rss)]
        else:
            cells += [""] * 4
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def figures_table(figures):
    lines = ["| | measured | quartiles | goal | |", "|---|--:|--:|--:|---|"]
    for row in figures:
        goal, verdict = "", ""
        if row["goal"] is not None:
            sign = "≥" if row.get("at_least") else "≤"
            goal = f"{sign} {number(row['goal'])}"
            verdict = VERDICTS[row["pass"]]
        lines.append(f"| {row['name'].strip()} | {number(row['measured'])} "
                     f"{row['unit']} | {number(row['q1'])} to "
                     f"{number(row['q3'])} | {goal} | {verdict} |")
    return "\n".join(lines)


def section(facts, rows, figures):
    parts = [BEGIN, machine_line(facts)]
    if rows:
        parts.append(published_table(rows))
    if figures:
        parts.append(figures_table(figures))
    return "\n\n".join([*parts, END])


def into(path, text):
    """Replaces what stands between the marks; a new document is nothing else."""
    document = f"{BEGIN}{END}\n"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            document = f.read()
    if BEGIN not in document or END not in document:
        raise SystemExit(f"arena: {path} has no place for the figures: put "
                         f"'{BEGIN}' and '{END}' there")
    before, rest = document.split(BEGIN, 1)
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + text + rest.split(END, 1)[1])
    print(f"the figures are in {path}")
