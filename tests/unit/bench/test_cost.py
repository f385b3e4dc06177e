"""The table of what a run costs in README.md, and the benchmark that writes it."""

import os
import re
import sys

ROOT = os.path.abspath(os.path.join(__file__, "../../../.."))
sys.path.insert(0, os.path.join(ROOT, "bench"))
sys.dont_write_bytecode = True

import cost  # noqa: E402
import cost_docs  # noqa: E402
from measure import judged  # noqa: E402


class Recorder:
    """A bench that runs nothing and notes the names of its rows."""

    medium, ram = "tmpfs", "/nowhere"

    def __init__(self):
        self.names = []

    def project(self, name, where=None):
        return name

    def reps(self, _):
        return 1

    def add(self, name, *_):
        self.names.append(name)


def readme():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        return f.read()


def test_readme_has_the_rows_that_the_benchmark_knows():
    _, inside, _ = cost_docs.split(readme())
    assert list(cost_docs.lines_of(inside)) == list(cost_docs.TABLE)


def test_readme_has_a_figure_in_each_row():
    _, inside, _ = cost_docs.split(readme())
    for label, cell in cost_docs.lines_of(inside).items():
        assert re.match(r"-?[0-9.]+ (us|ms|MiB)", cell), label


def test_each_row_of_this_group_is_in_the_table(monkeypatch):
    bench = Recorder()
    monkeypatch.setattr(cost, "added_ms", lambda *_: 1.0)
    monkeypatch.setattr(cost, "after_ms", lambda *_: 1.0)
    cost.rows(bench)
    assert bench.names and set(bench.names) <= set(cost_docs.TABLE.values())


def test_a_row_that_was_not_measured_stays(tmp_path):
    path = tmp_path / "doc.md"
    first, second, *_ = cost_docs.TABLE
    path.write_text(f"a\n{cost_docs.BEGIN}{cost_docs.END}\nz\n")
    for label, value in ((first, 4.0), (second, 5.25)):
        row = judged(cost_docs.TABLE[label], "ms", 6.0, [value] * 3)
        cost_docs.into(path, [row])
    text = path.read_text()
    assert text.startswith("a\n") and text.endswith("\nz\n")
    cells = cost_docs.lines_of(cost_docs.split(text)[1])
    assert cells[first] == "4.0 ms" and cells[second] == "5.2 ms"


def test_noise_is_shown_as_such():
    row = judged("x", "ms", 1.0, [-3.0, 2.0, 9.0])
    assert cost_docs.cell(row) == "2.0 ms (-0.5 to 5.5)"


def test_a_wide_spread_above_the_goal_is_a_miss():
    assert judged("a", "ms", 30.0, [440.0, 450.0, 470.0, 480.0])["pass"] is False
    assert judged("a", "ms", 30.0, [20.0, 25.0, 50.0, 60.0])["pass"] is None
    assert judged("a", "ms", 30.0, [20.0, 21.0, 22.0, 23.0])["pass"] is True
