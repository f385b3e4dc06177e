"""The table and the plot of the tracers, from what tracer.py has measured.

The table is Markdown, to be read as it is or pasted into docs/tracers.md; the
plot is an SVG file written by hand: overhead over the number of files, both
axes logarithmic, the seed's own series dashed."""

import math

from measure import number
from tracer import NULL, SEED, SEED_N, SEED_SERIES

BEGIN = '<!-- figures: make bench BENCH="--only tracer --docs docs/tracers.md" ' \
    "writes what follows -->"
END = "<!-- end of figures -->"

WIDTH, HEIGHT = 860, 520
LEFT, RIGHT, TOP, BOTTOM = 70, 250, 50, 60
X_RANGE, Y_RANGE = (180, 5600), (0.1, 2000)
COLOURS = {"ptrace": "#b3261e", "preload": "#1a73e8", "hybrid": "#188038",
           "hybrid, static program": "#80690d", "eBPF, warm": "#8430ce",
           "eBPF, cold": "#c58af9", NULL: "#80868b"}


# ---- the table ----------------------------------------------------------

def cell(row, goal):
    """A figure with its quartiles and what is to be said of it."""
    text = f"{number(row['measured'])} " \
        f"[{number(row['q1'])} to {number(row['q3'])}]"
    if row["pairs"]:
        text += f"; pairs {number(row['pairs'][1])}"
    if goal is None:
        return text
    word = {True: "reached", False: "**missed**", None: "lost in noise"}
    text += f"; goal {number(goal)} {word[row['pass']]}"
    return text


def seed_cells(name):
    return [number(v) if v is not None else "" for v in SEED[name]]


def table(result):
    lines = ["| | start-up over `true`, ms | per file written and read, us | "
             "per read or write, us |", "|---|---|---|---|"]
    for name in SEED:
        lines.append(f"| seed: {name} | " + " | ".join(seed_cells(name)) + " |")
    for name, found in result.items():
        cells = [cell(r, g) for r, g in zip(found["rows"], found["goals"])]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def of_machine(facts):
    units = {"us": "us", "ms": "ms"}
    parts = []
    for key, value in facts.items():
        words = key.split("_")
        unit = units.get(words[-1])
        name = " ".join(words[:-1] if unit else words)
        parts.append(f"{name} {value}" + (f" {unit}" if unit else ""))
    return "Machine: " + ", ".join(parts) + "."


def ratios(result, facts):
    """What a file costs in the machine's own coin; it is opened twice."""
    trip, call = facts["pipe_trip_one_cpu_us"], facts["system_call_us"]
    coins = {"ptrace": ("pipe round trips on one CPU", trip),
             "hybrid, static program": ("pipe round trips on one CPU", trip),
             "hybrid": ("empty system calls", call),
             "preload": ("empty system calls", call),
             "eBPF, warm": ("empty system calls", call)}
    parts = [f"{name} {result[name]['rows'][1]['measured'] / 2 / us:.1f} {coin}"
             for name, (coin, us) in coins.items() if name in result]
    return "Per open: " + ", ".join(parts) + "."


def section(result, facts):
    return "\n\n".join([BEGIN, of_machine(facts), ratios(result, facts),
                        table(result), END])


def into_docs(path, text):
    """Puts the section between its marks in a document."""
    with open(path, encoding="utf-8") as f:
        document = f.read()
    if BEGIN not in document or END not in document:
        raise SystemExit(f"bench: {path} has no place for the figures")
    before, rest = document.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + text + after)


# ---- the plot -----------------------------------------------------------

def at(value, limits, start, length):
    low, high = (math.log(v) for v in limits)
    return start + (math.log(value) - low) / (high - low) * length


def point(n, ms):
    ms = min(max(ms, Y_RANGE[0]), Y_RANGE[1])
    return (at(n, X_RANGE, LEFT, WIDTH - LEFT - RIGHT),
            at(ms, Y_RANGE, HEIGHT - BOTTOM, -(HEIGHT - TOP - BOTTOM)))


def label(x, y, text, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{text}</text>'


def grid():
    out = []
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    for ms in (0.1, 1, 10, 100, 1000):
        y = point(X_RANGE[0], ms)[1]
        out.append(f'<path d="M{LEFT} {y:.1f}H{right}" class="grid"/>')
        out.append(label(LEFT - 8, y + 4, f"{ms:g}", 'text-anchor="end"'))
    for n in SEED_N:
        x = point(n, 1)[0]
        out.append(f'<path d="M{x:.1f} {TOP}V{bottom}" class="grid"/>')
        out.append(label(x, bottom + 18, f"{n:,}", 'text-anchor="middle"'))
    middle = (LEFT + right) / 2
    out.append(label(middle, bottom + 42, "files written and read",
                     'text-anchor="middle"'))
    out.append(label(18, (TOP + bottom) / 2, "added to the untraced run, ms",
                     f'text-anchor="middle" transform="rotate(-90 18 '
                     f'{(TOP + bottom) / 2:.1f})"'))
    return out


def line(values, colour, dashed):
    points = [point(n, ms) for n, ms in values]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dash = ' stroke-dasharray="6 4"' if dashed else ""
    dots = "" if dashed else "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>'
        for x, y in points)
    return f'<path d="{path}" stroke="{colour}"{dash} class="line"/>{dots}'


def all_lines(result):
    """(name, points, colour, dashed), the dearest first."""
    lines = [(f"seed: {name}", list(zip(SEED_N, values)), COLOURS[name], True)
             for name, values in SEED_SERIES.items()]
    for name, found in result.items():
        if name in COLOURS:
            values = [(n, found["series"][n]) for n in SEED_N]
            lines.append((name, values, COLOURS[name], False))
    return sorted(lines, key=lambda entry: -entry[1][-1][1])


def spread_out(wanted, gap):
    """Heights near the wanted ones that leave room for a line of text each."""
    heights = []
    for y in wanted:
        heights.append(max(y, heights[-1] + gap) if heights else y)
    over = max(0, heights[-1] - (HEIGHT - BOTTOM)) if heights else 0
    return [y - over for y in heights]


def plot(result, path):
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           "<style>.grid{stroke:#e0e0e0}.line{fill:none;stroke-width:1.8}"
           "text{fill:#202124}</style>",
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           label(LEFT, 28, "What a tracer adds, by number of files",
                 'font-size="16"'), *grid()]
    lines = all_lines(result)
    ends = [point(*values[-1]) for _, values, _, _ in lines]
    heights = spread_out([y for _, y in ends], 15)
    for (name, values, colour, dashed), y in zip(lines, heights):
        out.append(line(values, colour, dashed))
        text = f"{name}, {number(values[-1][1])} ms"
        out.append(label(WIDTH - RIGHT + 12, y + 4, text,
                         f'style="fill:{colour}"'))
    out.append(label(LEFT, HEIGHT - 4, "dashed: published by the seed, on its "
                     "machine; below 0.1 ms drawn at 0.1", 'font-size="10"'))
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join([*out, "</svg>", ""]))
