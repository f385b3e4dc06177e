"""Names in braces, as bash expands them.

    train-{000..099}.tar    a range of numbers; {000..099..3} takes every third
    {a..f}                  a range of letters, all small or all capital
    {train,val}-0.tar       a list; its parts may be empty and have braces, too
    \\{ \\} \\, \\\\             the character itself

Braces that are none of these stand for themselves: {a}, {}, and one without a
partner.  Bash reads some patterns with such a brace in another way ({a},b}).
"""

from __future__ import annotations

import re

MAX_NAMES = 1000000  # that one pattern may stand for

_MARK = re.compile(r"\\.|[{},]", re.DOTALL)
_QUOTED = re.compile(r"\\([{},\\])")
_NUMBERS = re.compile(r"(-?[0-9]+)\.\.(-?[0-9]+)(?:\.\.(-?[0-9]+))?")
_LETTERS = re.compile(r"(?:([a-z])\.\.([a-z])|([A-Z])\.\.([A-Z]))"
                      r"(?:\.\.(-?[0-9]+))?")


def braces(pattern: str) -> list[str]:
    """The names that a pattern stands for, in its order."""
    return [_QUOTED.sub(r"\1", name) for name in _expand(pattern)]


def _expand(text: str) -> list[str]:
    """The same with the backslashes still there."""
    for mark in _MARK.finditer(text):
        cuts = _cuts(text, mark.start()) if mark[0] == "{" else []
        middles = _alternatives(text, cuts)
        if middles is None:
            continue
        rests = _expand(text[cuts[-1] + 1:])
        _check(text, len(middles) * len(rests))
        return [text[:mark.start()] + middle + rest
                for middle in middles for rest in rests]
    return [text]


def _cuts(text: str, start: int) -> list[int]:
    """Where the brace at `start`, the commas of its own and its closing brace are;
    [] where it is not closed."""
    depth, cuts = 0, []
    for mark in _MARK.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if mark.start() == start or depth == 0 or (mark[0], depth) == (",", 1):
            cuts.append(mark.start())
        if depth == 0:
            return cuts
    return []


def _alternatives(text: str, cuts: list[int]) -> list[str] | None:
    """What a pair of braces stands for, or None where that is itself."""
    if not cuts:
        return None
    parts = [text[a + 1:b] for a, b in zip(cuts, cuts[1:])]
    if len(parts) > 1:
        return [name for part in parts for name in _expand(part)]
    if match := _NUMBERS.fullmatch(parts[0]):
        ends = match.group(1, 2)
        padded = any(re.match("-?0[0-9]", end) for end in ends)
        width = max(map(len, ends)) if padded else 0
        numbers = _range(text, int(ends[0]), int(ends[1]), match[3])
        return [f"{n:0{width}d}" for n in numbers]
    if match := _LETTERS.fullmatch(parts[0]):
        first, last = filter(None, match.group(1, 2, 3, 4))
        return [chr(n) for n in _range(text, ord(first), ord(last), match[5])]
    return None


def _range(text: str, first: int, last: int, step: str | None) -> range:
    """From first to last, up or down; the sign of the step does not matter."""
    by = abs(int(step or 1)) or 1
    found = range(first, last + 1, by) if first <= last else \
        range(first, last - 1, -by)
    _check(text, abs(last - first) // by + 1)
    return found


def _check(text: str, count: int) -> None:
    if count > MAX_NAMES:
        raise ValueError(f"{text!r:.80} stands for more than {MAX_NAMES} shards; name "
                         "fewer in one pattern")
