"""The code blocks of a Markdown page, and how they are run.

A block is fenced, or indented by four spaces after an empty line.  It is a session
when it has lines `$ COMMAND`, which may be followed by what the command prints; else
Python where it can be parsed as Python; else the lines are commands.  A block that
cannot be run here has a comment before it, which no reader of the page sees:

    <!-- not run: REASON -->
"""

import ast
import dataclasses
import re
import subprocess

NOT_RUN = re.compile(r"<!-- not run: (.*) -->")
# What is different each time, as it looks on a page: hashes, times, sizes of files
# that hold times, process numbers.
VARIABLE = re.compile(r"(?P<hash>\b[0-9a-f]{8,64}\b)|(?P<time>\b[\d.]+ (?:us|ms|s)\b)")
PATIENCE = 60


@dataclasses.dataclass
class Block:
    page: str
    line: int           # of its first line, from 1 on
    text: str
    language: str = ""  # what the fence says
    reason: str = ""    # not to run it

    @property
    def name(self):
        return f"{self.page}:{self.line}"

    @property
    def kind(self):
        if re.search(r"^\$ ", self.text, re.M):
            return "session"
        if self.language:
            return self.language
        try:
            ast.parse(self.text)
        except SyntaxError:
            return "shell"
        return "python"


def blocks_of(page, text):
    """All blocks of a page, in order."""
    found, lines, reason, i = [], text.split("\n"), "", 0
    while i < len(lines):
        fence = re.match(r"```(\w*)$", lines[i])
        indented = lines[i].startswith("    ") and not lines[i - 1].strip() \
            and not in_list(lines, i)
        if fence:
            end = lines.index("```", i + 1)
            body, begin = lines[i + 1:end], i + 2
        elif indented:
            end = i
            while end < len(lines) and (lines[end].startswith("    ")
                                        or not lines[end].strip()):
                end += 1
            body, begin = [line[4:] for line in lines[i:end]], i + 1
        else:
            told = NOT_RUN.match(lines[i])
            if told or lines[i].strip():
                reason = told.group(1) if told else ""
            i += 1
            continue
        found.append(Block(page, begin, "\n".join(body).rstrip() + "\n",
                           fence.group(1) if fence else "", reason))
        reason, i = "", max(end, i + 1) if indented and not fence else end + 1
    return found


def in_list(lines, i):
    """Is an indented line the second paragraph of an item?"""
    above = next((line for line in reversed(lines[:i]) if line.strip()), "")
    return bool(re.match(r"( {0,3}([-*]|\d+\.) |  )", above))


def session_of(block):
    """[(command, lines that it prints)] of a session or of plain commands."""
    steps = []
    for line in block.text.splitlines():
        if block.kind == "shell" or line.startswith("$ "):
            steps.append((line.removeprefix("$ "), []))
        else:
            steps[-1][1].append(line)
    for _, shown in steps:
        while shown and not shown[-1].strip():
            shown.pop()
    return steps


def pattern_of(line):
    """A shown line as an expression in which hashes and times may be others."""
    made, last = "", 0
    for found in VARIABLE.finditer(line):
        made += re.escape(line[last:found.start()])
        made += r"[0-9a-f]+" if found["hash"] else r"[\d.]+ (?:us|ms|s|min)"
        last = found.end()
    # Columns are as wide as their content.
    return re.sub(r"(\\ )+", lambda m: r" +", made + re.escape(line[last:]))


def compare(shown, printed):
    """Raises unless each line is as shown."""
    lines = printed.rstrip("\n").split("\n")
    same = len(lines) == len(shown) and all(
        re.fullmatch(pattern_of(want) + " *", got)
        for want, got in zip(shown, lines))
    assert same, ("the page shows\n" + "\n".join(shown)
                  + "\nand the command prints\n" + printed)


def run_step(command, shown, **options):
    """Runs a command; without output that is shown it must succeed."""
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=PATIENCE, check=False, **options)
    if shown:
        compare(shown, done.stdout)
    else:
        assert done.returncode == 0, f"{command}: {done.stdout}"
