"""The table of README.md: what a user will see, from the rows of a run."""

BEGIN = '<!-- figures: make bench BENCH="--only cost --full --docs README.md" ' \
    "writes what follows -->"
END = "<!-- end of figures -->"
HEAD = ["| what | measured |", "|---|---|"]

# What README.md says, and the name of the row that it is.
TABLE = {
    "`roar run true`, more than `true`, in a project with 1,000 jobs":
        "roar run true, added to true",
    "the same in a clean git repository of 1,000 files":
        "roar run true in a clean repository",
    "`roar --version`": "roar --version",
    "`roar status` with 1,000 jobs": "roar status",
    "a Python script that writes one file, more than if it wrote none":
        "roar run with one output, added to none",
    "1,000 files of 4 KiB that Python writes and reads, in memory: all that "
    "roar adds, per file": "all that 1,000 files add, each, hybrid, tmpfs",
    "the same on a disk": "all that 1,000 files add, each, hybrid, disk",
    "the same in memory with ptrace":
        "all that 1,000 files add, each, ptrace, tmpfs",
    "hashing and recording 1,000 outputs, when the command has ended":
        "after the command, 1,000 outputs",
    "each further file of 4 KiB, written and read by a C program":
        "roar run per 4 KiB file, hybrid, C, tmpfs",
    "the same from Python": "roar run per 4 KiB file, hybrid, Python, tmpfs",
    "the same from C with ptrace": "roar run per 4 KiB file, ptrace, C, tmpfs",
    "memory of roar, 5,000 files": "memory of roar, 5,000 files",
    "memory of roar, 1,000,000 files": "memory of roar, 1,000,000 files",
}


def split(document):
    """What stands before the figures, they, and what stands after them."""
    if BEGIN not in document or END not in document:
        raise SystemExit(f"bench: the document has no place for what a run "
                         f"costs: put '{BEGIN}' and '{END}' there")
    before, rest = document.split(BEGIN, 1)
    inside, after = rest.split(END, 1)
    return before, inside, after


def lines_of(section):
    """Cells by label."""
    rows = [line.strip("|").split("|") for line in section.splitlines()
            if line.startswith("|")][len(HEAD):]
    return {label.strip(): cell.strip() for label, cell in rows}


def cell(row):
    """A median; of what is lost in noise, the quartiles as well."""
    text = f"{row['measured']:.1f} {row['unit']}"
    if row.get("pass", True) is None:
        text += f" ({row['q1']:.1f} to {row['q3']:.1f})"
    return text


def section(inside, rows):
    """What was not measured this time stays as it is."""
    cells = lines_of(inside)
    found = {row["name"]: cell(row) for row in rows}
    table = [f"| {label} | {found.get(name, cells.get(label, 'not measured'))} |"
             for label, name in TABLE.items()]
    return "\n\n".join([BEGIN, "\n".join(HEAD + table), END])


def into(path, rows):
    with open(path, encoding="utf-8") as f:
        before, inside, after = split(f.read())
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + section(inside, rows) + after)
    print(f"the figures are in {path}")
