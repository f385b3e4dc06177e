"""Every block of code in README.md and docs/ is run as the page shows it."""

import os
import pathlib

import pytest

import snippets
from snippet_pages import PAGES, Page

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [block for path in FILES for block in snippets.blocks_of(
    str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))]


@pytest.fixture(name="pages", scope="module")
def all_pages(tmp_path_factory):
    """The pages that were begun, by name."""
    begun, here = {}, os.getcwd()
    kept = dict(os.environ)
    yield lambda name: begun.get(name) or begun.setdefault(
        name, PAGES.get(name, Page)(tmp_path_factory.mktemp("page")))
    for page in begun.values():
        page.close()
    os.chdir(here)
    os.environ.clear()
    os.environ.update(kept)


@pytest.mark.parametrize("block", BLOCKS, ids=[block.name for block in BLOCKS])
def test_it_does_what_the_page_shows(block, pages):
    if block.reason:
        pytest.skip(block.reason)
    if "COORDINATOR" not in os.environ:
        pytest.skip("this build has no coordinator")
    page = pages(block.page)
    os.chdir(page.project)
    page.run(block)


TEXT = """
Text.

    $ roar hash x   # a comment
    0123456789abcdef  x  1.5 ms

<!-- not run: a reason -->

    formula x y

- item

    its second paragraph

```python
a = 1
```
"""


def test_blocks_are_found_with_their_kinds_and_reasons():
    found = snippets.blocks_of("page", TEXT)
    assert [(b.line, b.kind, b.reason) for b in found] == [
        (4, "session", ""), (9, "shell", "a reason"), (16, "python", "")]


def test_output_is_compared_but_for_hashes_and_times():
    [(_, shown)] = snippets.session_of(snippets.blocks_of("page", TEXT)[0])
    snippets.compare(shown, "fedcba9876543210  x  20 us\n")
    for other in ("fedcba9876543210  y  20 us\n", "fedcba9876543210  x\n", ""):
        with pytest.raises(AssertionError, match="the page shows"):
            snippets.compare(shown, other)
