"""Examples of the documentation, to be run."""

import os

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def snippet(page, part):
    """The one Python example of a page that has this part, as code."""
    path = os.path.join(ROOT, page)
    with open(path, encoding="utf-8") as f:
        found = [(before, block.partition("```")[0])
                 for before, block in _blocks(f.read())]
    found = [(line, text) for line, text in found if part in text]
    assert len(found) == 1, f"{page} has {len(found)} examples with {part!r}"
    line, text = found[0]
    return compile("\n" * line + text, page, "exec")


def _blocks(text):
    """What follows each opening fence, and its line."""
    parts = text.split("```python\n")
    line = 0
    for part, block in zip(parts, parts[1:]):
        line += part.count("\n") + 1
        yield line, block
