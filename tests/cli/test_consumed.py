"""Shards that processes of a run say they took are a part of its record."""

import os
import pathlib
import signal
import sqlite3
import subprocess
import sys

import pytest

from helpers import children_of, runs_program, until

# The module and the extension it calls; the package would need all of them.
EXTENSION = os.environ.get("SHARD_MODULE")
SAYS = pathlib.Path(__file__).resolve().parents[2] / "python/roar/_run.py"
TRACERS = ("ptrace", "hybrid", "preload")

pytestmark = pytest.mark.skipif(
    not EXTENSION, reason="this build has no extension _roar_shard")

PROGRAM = f"""
import importlib.util, sys
sys.path.insert(0, {EXTENSION!r})
spec = importlib.util.spec_from_file_location("_run", {str(SAYS)!r})
says = importlib.util.module_from_spec(spec)
spec.loader.exec_module(says)

def take(samples, path, rank=None, epoch=0, dataset="train"):
    says.notes().add(says.Taken(rank, epoch, dataset, path), samples)
"""


def python(place, text, *options, code=0):
    return place("run", "-q", *options, "--", sys.executable, "-c",
                 PROGRAM + text, code=code)


def shards_of(place, ref="@1"):
    return [{key: shard[key] for key in shard if key != "pid"}
            for shard in place.json("show", ref)["shards"]]


def left_over(place):
    return sorted(os.listdir(os.path.join(place.root, ".roar", "runs")))


@pytest.mark.parametrize("tracer", TRACERS)
def test_what_a_process_took_is_recorded(project, tracer):
    python(project, """
take(5, "/data/0.tar", rank=0, epoch=2)
take(7, "/data/1.tar", rank=0, epoch=2)
take(3, "/data/0.tar", rank=0, epoch=2)
""", "--tracer", tracer)
    assert shards_of(project) == [
        {"dataset": "train", "path": "/data/0.tar", "epoch": 2, "rank": 0,
         "samples": 8},
        {"dataset": "train", "path": "/data/1.tar", "epoch": 2, "rank": 0,
         "samples": 7}]
    assert left_over(project) == []
    shown = project.json("show", "@1")
    assert shown["outputs"] == []
    if tracer != "preload":     # which never is
        assert shown["verdict"] == "complete"
    text = project("show", "@1").out
    assert "Shards (2, as reported by its processes)" in text
    assert "rank 0" in text and "/data/1.tar" in text


def test_each_process_says_its_own(project):
    python(project, """
import os, subprocess
take(1, "a", rank=0)
for rank in (1, 2):
    pid = os.fork()
    if not pid:
        take(rank * 10, f"{rank}", rank=rank)
        says.notes().flush()
        os._exit(0)
    os.waitpid(pid, 0)
""")
    shown = project.json("show", "@1")["shards"]
    assert sorted((s["rank"], s["path"], s["samples"]) for s in shown) == [
        (0, "a", 1), (1, "1", 10), (2, "2", 20)]
    assert len({s["pid"] for s in shown}) == 3


def test_a_long_note_goes_on_in_another(project):
    """A process keeps no more than one note in memory, and writes no more again."""
    python(project, """
says._LINES = 3
for n in range(8):
    take(n, str(n))
    assert len(says.notes()._taken) < 3
take(8, "7")
""")
    shown = project.json("show", "@1")["shards"]
    assert sorted((s["path"], s["samples"]) for s in shown) == [
        *((str(n), n) for n in range(7)), ("7", 15)]
    assert len({s["pid"] for s in shown}) == 1
    assert left_over(project) == []


def test_the_note_of_another_process_with_the_pid_stays(project):
    python(project, """
import os
if len(sys.argv) == 1:
    take(1, "before")
    says.notes().flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], "again"])
take(2, "behind")
""")
    assert sorted((s["path"], s["samples"]) for s in shards_of(project)) == [
        ("before", 1), ("behind", 2)]


def test_it_may_work_in_another_folder_and_without_an_environment(project):
    project.write("work.py", PROGRAM + "take(4, 'x')\n")
    project.sh("cd / && exec env -i "
               f"{sys.executable} {project.root}/work.py")
    assert [s["samples"] for s in shards_of(project)] == [4]


def test_names_of_any_bytes_come_back(project):
    python(project, r"""
take(1, "/d/a\tb\n%41\udcff \u00e9.tar", dataset="a\tb")
""")
    shown = project.json("show", "@1")["shards"]
    assert shown[0]["dataset"] == "a\tb"
    assert shown[0]["rank"] is None
    assert bytes.fromhex(shown[0]["path_bytes"]) == \
        b"/d/a\tb\n%41\xff \xc3\xa9.tar"


def test_secrets_are_not_recorded(project):
    secret = "AKIA" + "IOSFODNN7EXAMPLQ"
    python(project, f"take(1, 'x', dataset='{secret}')")
    database = sqlite3.connect(os.path.join(project.root, ".roar", "roar.db"))
    (dataset,), = database.execute("SELECT dataset FROM shards")
    assert secret not in dataset


def test_without_shards_there_are_none(project):
    project.run("true")
    assert project.json("show", "@1")["shards"] == []
    assert "Shards" not in project("show", "@1").out


def test_outside_of_a_run_nothing_is_written(project):
    project.run("true")
    subprocess.run([sys.executable, "-c",
                    PROGRAM + "take(1, 'x'); says.notes().flush()"],
                   cwd=project.root, check=True)
    assert left_over(project) == []


def test_notes_that_say_nothing_sensible_are_left_out(project):
    python(project, r"""
run = says.find()
good = "0\t1\t2\tset\tpath\n"
bad = ["", "x\n", "0\t1\t2\tset\n", "0\t1\t2\tset\t\n", "-1\t0\t0\ta\tb\n",
       "0\t0\t99999999999999999999\ta\tb\n", "0\t0\t1\ta\t%0\n",
       "0\t0\t1\ta\t%00\n", "0\t0\t1\ta\tno end"]
with open(f"{run}.shards-7", "w") as f:
    f.write("roar-shards 1\n" + bad[1] + good + "".join(bad[2:]))
with open(f"{run}.shards-8", "w") as f:
    f.write("another thing\n" + good)
open(f"{run}.shards-9", "w").close()
open(f"{run}.shards-10.new", "w").close()
for name in ("11.", "12.x", "13.1.new", "14.1.2", "x.1", "99999999999999999999"):
    with open(f"{run}.shards-{name}", "w") as f:
        f.write("roar-shards 1\n" + good)
""")
    assert shards_of(project) == [{"dataset": "set", "path": "path",
                                   "epoch": 1, "rank": 0, "samples": 2}]
    assert left_over(project) == []


def test_they_survive_the_death_of_roar(project):
    run = project.popen("run", "-q", "--tracer", "ptrace", "--",
                        sys.executable, "-c", PROGRAM + """
take(9, "x", rank=3)
print("ready", flush=True)
input()
""", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert run.stdout.readline() == b"ready\n"
    notes = os.path.join(project.root, ".roar", "runs")
    assert any(".shards-" in name for name in os.listdir(notes))
    tracer, = (pid for pid in children_of(run.pid)
               if runs_program(pid, project.roar_program))
    os.kill(tracer, signal.SIGKILL)     # which the command does not survive
    run.communicate()
    job, = until(project.jobs, "the record")
    assert [s["samples"] for s in shards_of(project, job["job_uid"])] == [9]
    assert left_over(project) == []
