#!/usr/bin/env python3
"""Draws what arena.py has measured.

    arena_plot.py --input CSV --output FILE...

A line for each kind and transport over the payload's size: colour and marker tell the
kind, the style of the line the transport; the band is the 95 % confidence interval of the
mean.  FILE ends in .png or .svg."""

import argparse
import os
import sys

sys.dont_write_bytecode = True
import arena_rows  # noqa: E402

COLOURS = {"bytes": "#1a73e8", "numpy": "#188038", "torch": "#b3261e",
           "packets": "#8430ce"}
MARKERS = {"bytes": "o", "numpy": "s", "torch": "^", "packets": "D"}
STYLES = {"no-arena": ":", "ring": "--", "pool": "-"}


def draw_line(axes, rows, kind, transport):
    rows = sorted((r for r in rows
                   if (r.kind, r.transport) == (kind, transport)),
                  key=lambda r: r.size_mb)
    if not rows:
        return
    sizes = [r.size_mb for r in rows]
    axes.plot(sizes, [r.mb_per_s for r in rows], STYLES[transport],
              color=COLOURS[kind], marker=MARKERS[kind], markersize=5,
              linewidth=1.6)
    axes.fill_between(sizes, [max(1, r.mb_per_s_lo) for r in rows],
                      [r.mb_per_s_hi for r in rows], color=COLOURS[kind],
                      alpha=0.15, linewidth=0)


def draw_legends(axes, rows):
    """What colours mean and what styles mean, apart: twelve lines need seven words."""
    from matplotlib.lines import Line2D
    kinds = [Line2D([], [], color=COLOURS[k], marker=MARKERS[k], label=k)
             for k in arena_rows.KINDS if any(r.kind == k for r in rows)]
    ways = [Line2D([], [], color="#5f6368", linestyle=STYLES[t], label=t)
            for t in arena_rows.TRANSPORTS
            if any(r.transport == t for r in rows)]
    first = axes.legend(handles=kinds, title="payload", loc="upper left",
                        bbox_to_anchor=(1.01, 1), frameon=False)
    axes.add_artist(first)
    axes.legend(handles=ways, title="transport", loc="upper left",
                bbox_to_anchor=(1.01, 0.6), frameon=False)


def plot(rows, paths):
    """Writes the same picture to each of the paths."""
    try:
        import matplotlib
    except ImportError:
        print("arena: no plot without Matplotlib (python3-matplotlib)")
        return
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "roar"  # the same rows, the same file
    from matplotlib import pyplot, ticker
    figure, axes = pyplot.subplots(figsize=(9, 5.5))
    for kind in arena_rows.KINDS:
        for transport in arena_rows.TRANSPORTS:
            draw_line(axes, rows, kind, transport)
    sizes = sorted({r.size_mb for r in rows})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    # A band that noise has made wide is cut off; the lines are what counts.
    axes.set_ylim(min(r.mb_per_s for r in rows) / 1.5,
                  max(r.mb_per_s for r in rows) * 1.5)
    axes.set_xticks(sizes, [str(s) for s in sizes])
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
    axes.minorticks_off()
    axes.set_xlabel("payload, MiB")
    axes.set_ylabel("received, MB/s")
    axes.set_title("Payloads received from a worker process")
    axes.grid(True, color="#e0e0e0")
    draw_legends(axes, rows)
    for path in paths:
        metadata = {"Date": None} if path.endswith(".svg") else None
        figure.savefig(path, dpi=150, bbox_inches="tight", metadata=metadata)
        print(f"the plot is in {path}")
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", required=True, metavar="CSV")
    parser.add_argument("--output", required=True, nargs="+", metavar="FILE")
    args = parser.parse_args()
    wrong = [p for p in args.output
             if os.path.splitext(p)[1] not in (".png", ".svg")]
    if wrong:
        parser.error(f"{wrong[0]} ends neither in .png nor in .svg")
    try:
        rows = arena_rows.read_csv(args.input)
    except (OSError, ValueError) as e:
        sys.exit(f"arena_plot: {e}")
    if not rows:
        sys.exit(f"arena_plot: {args.input} has no rows: arena.py --output "
                 "writes such files")
    plot(rows, args.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
