"""The tables of the proxy's figures, and the requests that they are measured with."""

import os
import sys

ROOT = os.path.abspath(os.path.join(__file__, "../../../.."))
sys.path.insert(0, os.path.join(ROOT, "bench"))
sys.dont_write_bytecode = True

import proxy  # noqa: E402
import proxy_docs  # noqa: E402
from measure import judged  # noqa: E402


class Recorder:
    """A bench that runs nothing and keeps its rows."""

    class args:
        quick = False

    def __init__(self, ram):
        self.ram = str(ram)
        self.rows = []

    def reps(self, n):
        return n

    def add(self, name, unit, goal, values, extra=None, at_least=False):
        self.rows.append({**judged(name, unit, goal, values, at_least),
                          **(extra or {})})


class Fixed:
    """Servers that answer everything in the same time."""

    servers = {"direct": None, "plain": None, "hashing": None, "haproxy": None}

    def rounds(self, load, names, reps, *_):
        one = {"p50_us": 100.0, "cpu_us": 40.0, "mb_per_s": 500.0, "bad": 0}
        slow = {**one, "p50_us": 300.0}
        return {n: [slow if n == "hashing" else one] * reps for n in names}


def test_each_latency_has_its_row_in_the_table(tmp_path):
    bench = Recorder(tmp_path)
    proxy.latency_rows(bench, Fixed())
    found = {(r["latency"], r["size"]) for r in bench.rows}
    assert found == set(proxy_docs.SEED_LATENCY)
    assert all(abs(r["measured"] - 0.2) < 1e-9 and r["pass"]
               for r in bench.rows)


def test_goals_of_throughput_are_lower_bounds(tmp_path):
    bench = Recorder(tmp_path)
    proxy.throughput_rows(bench, Fixed())
    assert [(r["goal"], r["pass"]) for r in bench.rows] == \
        [(1.1, False), (0.7, True)] * 2


def test_a_large_upload_is_a_small_file_repeated(tmp_path):
    load = proxy.Load(Recorder(tmp_path), proxy.put(1000), repeat=7)
    with open(load.head, "rb") as f:
        assert b"\r\ncontent-length: 7000\r\n" in f.read()
    assert os.path.getsize(load.body) == 1000


def test_the_section_stands_between_its_marks(tmp_path):
    bench = Recorder(tmp_path)
    proxy.latency_rows(bench, Fixed())
    proxy.cpu_rows(bench, Fixed())
    bench.add("phase signing, p50", "us", None, [2.0],
              {"phase": "signing", "p50_us": 2.0, "p95_us": 3.0,
               "p99_us": 4.0})
    path = tmp_path / "doc.md"
    path.write_text(f"before\n{proxy_docs.BEGIN}\nold\n{proxy_docs.END}\n"
                    "after\n")
    proxy_docs.into(str(path), {"cpus": 2}, bench.rows)
    text = path.read_text()
    assert text.startswith("before\n" + proxy_docs.BEGIN)
    assert text.endswith(proxy_docs.END + "\nafter\n")
    assert "old" not in text
    assert "| PUT of 8 MB | 0.100 | 0.300 | 0.200" in text
    assert "| signing | 2.00 | 3.00 | 4.00 | 70, 90, 110 |" in text
    assert "CPU per GET of 64 KB, plain" in text
