"""The arena's benchmark: what it counts is what it says.

ROAR_BENCH_PACKAGE names the folders with the built package `roar`, if there are any."""

import json
import os
import subprocess
import sys
import time

import pytest

BENCH = os.path.abspath(os.path.join(__file__, "../../../../bench"))
sys.path.insert(0, BENCH)
sys.dont_write_bytecode = True

import arena_docs  # noqa: E402
import arena_load  # noqa: E402
import arena_plot  # noqa: E402
import arena_rows  # noqa: E402
import arena_run  # noqa: E402
from measure import judged  # noqa: E402

RESULTS = {"no-arena": {"samples": [9.0, 11.0], "payload_bytes": 2000000,
                        "rss_mb": 7.0, "cpu_self_s": 0.5},
           "pool": {"samples": [100.0, 100.0], "payload_bytes": 2000000}}


# ---- rows ----

def test_rows_are_means_with_their_interval():
    plain, pool = arena_rows.make_rows(2, "bytes", RESULTS)
    assert plain.items_per_s == 10 and plain.mb_per_s == 20
    assert plain.mb_per_s_lo == pytest.approx(20 - 1.96 * 2)
    assert plain.mb_per_s_hi == pytest.approx(20 + 1.96 * 2)
    assert (plain.speedup, plain.peak_rss_mb, plain.cpu_sec) == (1, 7, 0.5)
    assert pool.speedup == 10 and pool.mb_per_s_lo == pool.mb_per_s_hi == 200


def test_without_no_arena_nothing_is_faster_than_it():
    row, = arena_rows.make_rows(2, "bytes", {"pool": RESULTS["pool"]})
    assert row.speedup == 1


def test_the_columns_are_those_that_were_published(tmp_path):
    path = tmp_path / "rows.csv"
    rows = arena_rows.make_rows(2, "bytes", RESULTS)
    arena_rows.write_csv(rows, path)
    assert path.read_text().splitlines()[0] == (
        "size_mb,kind,transport,items_per_s,mb_per_s,mb_per_s_lo,mb_per_s_hi,"
        "speedup,peak_rss_mb,cpu_sec")
    assert arena_rows.read_csv(path) == rows


def test_older_files_have_no_memory_and_no_cpu(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("size_mb,kind,transport,items_per_s,mb_per_s,mb_per_s_lo,"
                    "mb_per_s_hi,speedup\n2,bytes,pool,1,2,3,4,5\n")
    row, = arena_rows.read_csv(path)
    assert (row.speedup, row.peak_rss_mb, row.cpu_sec) == (5, 0, 0)


def test_a_file_that_is_none_is_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("size_mb,kind\nx,bytes\n")
    with pytest.raises(ValueError, match="rows.csv, line 2"):
        arena_rows.read_csv(path)


def test_the_tables_have_every_row(capsys):
    rows = arena_rows.make_rows(32, "bytes", RESULTS)
    arena_rows.print_sweep(rows)
    assert "200 (10.00x)" in capsys.readouterr().out
    arena_rows.print_isolated(rows)
    assert "3760    5.23x" in capsys.readouterr().out


# ---- verdicts ----

@pytest.mark.parametrize("values, at_least, verdict", [
    ([20, 21, 22], True, True), ([1, 2, 3], True, False),
    ([5, 15, 30], True, None), ([40, 60, 80], True, True),
    ([1, 2, 3], False, True), ([20, 21, 22], False, False),
    ([1, 5, 20], False, None)])
def test_a_goal_is_reached_missed_or_lost_in_noise(values, at_least, verdict):
    assert judged("x", "x", 15, values, at_least)["pass"] is verdict


# ---- the plot ----

def test_the_plot_is_a_picture_and_the_same_every_time(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [row for size in (2, 8)
            for row in arena_rows.make_rows(size, "numpy", RESULTS)]
    names = [str(tmp_path / name) for name in ("a.png", "a.svg", "b.svg")]
    arena_plot.plot(rows, names)
    data = [open(name, "rb").read() for name in names]
    assert data[0].startswith(b"\x89PNG") and b"<svg" in data[1]
    assert data[1] == data[2]


def plotted(*args):
    return subprocess.run([sys.executable,
                           os.path.join(BENCH, "arena_plot.py"), *args],
                          capture_output=True, text=True, check=False)


def test_a_plot_of_nothing_says_so(tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text("size_mb,kind\n")
    done = plotted("--input", empty, "--output", tmp_path / "a.png")
    assert done.returncode == 1 and "has no rows" in done.stderr
    done = plotted("--input", tmp_path / "none", "--output",
                   tmp_path / "a.png")
    assert done.returncode == 1 and "No such file" in done.stderr
    done = plotted("--input", empty, "--output", tmp_path / "a.gif")
    assert done.returncode == 2 and "a.gif" in done.stderr


# ---- documents ----

def test_figures_go_between_the_marks_of_a_document(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"before\n{arena_docs.BEGIN}\nold\n{arena_docs.END}\n"
                    "after\n")
    rows = arena_rows.make_rows(32, "bytes", RESULTS)
    figures = [judged("it", "x", 15, [20.0], True),
               judged("that", "ms", 1, [2.0]), judged("what", "us", None, [3.0])]
    arena_docs.into(path, arena_docs.section({"cpus": 2}, rows, figures))
    text = path.read_text()
    assert text.startswith("before\n") and text.endswith("after\n")
    assert "old" not in text and "cpus 2" in text
    assert "| bytes | pool | 200 | 10.00 | 0.00 | 0 | 3760 | 5.23 |" in text
    assert "| it | 20.00 x | 20.00 to 20.00 | ≥ 15.00 | reached |" in text
    assert "≤ 1.00 | **missed** |" in text
    assert "| what | 3.00 us | 3.00 to 3.00 |  |  |" in text


def test_a_document_without_marks_stays_as_it_is(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("something else\n")
    with pytest.raises(SystemExit, match="page.md has no place"):
        arena_docs.into(path, "text")
    assert path.read_text() == "something else\n"
    arena_docs.into(tmp_path / "new.md", "text")
    assert (tmp_path / "new.md").read_text() == "text\n"


# ---- what is counted ----

def test_cpu_and_faults_of_a_child_are_seen_while_it_lives():
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys\nx = bytearray(50 << 20)\n"
         "for i in range(10 ** 6): pass\nprint(flush=True)\n"
         "sys.stdin.read()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    assert child.pid in arena_run.children()
    _, cpu, _, faults = arena_run.usage()
    assert cpu > 0.01 and faults > 1000
    assert arena_run.pss_kib(child.pid)[0] > 50 << 10
    child.communicate()
    assert child.pid not in arena_run.children()


def test_memory_is_what_grew():
    with arena_run.Sampler() as sampler:
        kept = bytearray(os.urandom(1 << 20)) * 64
        time.sleep(0.2)
    assert 60 < sampler.growth_mb() < 100
    del kept


@pytest.mark.parametrize("kind", ["bytes", "numpy", "packets"])
def test_payloads_have_the_size_that_was_asked_for(kind):
    if kind == "numpy":
        pytest.importorskip("numpy")
    size = arena_load.payload_bytes(kind, 2 << 20, None)
    assert (2 << 20) * 0.99 < size <= 2 << 20


def test_a_source_gives_as_many_as_were_asked_for():
    items = list(arena_load.Items("packets", 1 << 20, 3))
    assert len(items) == 3 and len(items[0]["data"]["packets"]) == 60
    assert items[0]["data"] is items[2]["data"]


# ---- all of it ----

def arena(tmp_path, *args):
    package = os.environ.get("ROAR_BENCH_PACKAGE")
    if not package:
        pytest.skip("ROAR_BENCH_PACKAGE does not name the built package")
    folders = [word for folder in package.split(os.pathsep)
               for word in ("--package", folder)]
    return subprocess.run(
        [sys.executable, os.path.join(BENCH, "arena.py"), *folders, "--work",
         str(tmp_path), "--peer", "none", *args],
        capture_output=True, text=True, check=False)


@pytest.mark.parametrize("isolate", [[], ["--isolate"]])
def test_a_small_sweep(tmp_path, isolate):
    out, as_json = tmp_path / "rows.csv", tmp_path / "rows.json"
    done = arena(tmp_path, "--sizes", "1", "--num-items", "3", "--runs", "2",
                 "--kinds", "bytes", "--output", str(out), "--json",
                 str(as_json), *isolate)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    rows = arena_rows.read_csv(out)
    assert [r.transport for r in rows] == ["no-arena", "ring", "pool"]
    assert all(r.mb_per_s > 1 for r in rows)
    assert all((r.cpu_sec > 0) == bool(isolate) for r in rows)
    assert len(json.loads(as_json.read_text())["table"]) == 3


def test_passes_for_a_time_are_marked(tmp_path):
    done = arena(tmp_path, "--sizes", "1", "--num-items", "2", "--kinds",
                 "bytes", "--transports", "pool", "--duration-sec", "0.1")
    assert "### begin bytes 1M pool ts=" in done.stdout
    assert "### end   bytes 1M pool ts=" in done.stdout


@pytest.mark.parametrize("args", [["--num-items", "0"], ["--runs", "-1"],
                                  ["--sizes", "0"], ["--kinds", "wood"]])
def test_wrong_arguments(tmp_path, args):
    assert arena(tmp_path, *args).returncode == 2
