"""How much was read from each file and written to it, where the tracer counts."""

import json
import os
import sqlite3
import subprocess

import pytest

from helpers import PYTHON

READER = """
import json
import os
a, b = os.open('a', os.O_RDONLY), os.open('b', os.O_RDONLY)
for _ in range(10):
    os.read(a, 3)
    os.read(b, 50)
os.write(os.open('out', os.O_WRONLY | os.O_CREAT), b'x' * 77)
"""

SHARED = """
import os, sys
fd = os.open('a', os.O_RDONLY)
print('open', flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    os.read(fd, 1)
"""


def counts(rows):
    return {os.path.basename(row["path"]):
            (row["read_bytes"], row["written_bytes"]) for row in rows}


def run(project, tracer, *command):
    done = project("run", "-q", "--tracer", tracer, "--no-tracer-fallback",
                   *command, code=None)
    if done.code == 1 and "tracer" in done.err:
        pytest.skip(done.err)
    assert done.code == 0, done.err
    return project.last()


@pytest.fixture
def files(project):
    project.write("a", "a" * 100)
    project.write("b", "b" * 500)
    return project


def test_ebpf_counts_by_file(files):
    job = run(files, "ebpf", *PYTHON, READER)
    assert job["verdict"] == "complete"
    assert job["observation"]["byte_counts_lost"] == 0
    assert counts(job["inputs"]) == {"a": (30, 0), "b": (500, 0)}
    assert counts(job["outputs"]) == {"out": (0, 77)}


def test_an_input_that_was_read_in_part_says_so(files):
    run(files, "ebpf", *PYTHON, READER)
    shown = [line.split()[-3:] for line in files("show", "@1").out.split("\n")
             if line.endswith(" read")]
    assert shown == [["30", "B", "read"]]


def test_an_artifact_says_it_of_each_use(files):
    run(files, "ebpf", *PYTHON, READER)
    used, = files.json("show", "a")["used_by"]
    assert (used["read_bytes"], used["written_bytes"]) == (30, 0)
    made, = files.json("show", "out")["made_by"]
    assert (made["read_bytes"], made["written_bytes"]) == (0, 77)


@pytest.mark.parametrize("tracer", ["ptrace", "hybrid", "preload"])
def test_who_does_not_count_does_not_say_zero(files, tracer):
    job = run(files, tracer, *PYTHON, READER)
    assert counts(job["inputs"]) == {"a": (None, None), "b": (None, None)}
    assert counts(job["outputs"]) == {"out": (None, None)}
    assert " read\n" not in files("show", "@1").out
    with sqlite3.connect(files.path(".roar/roar.db")) as base:
        assert base.execute("SELECT count(*) FROM job_files WHERE bytes_read "
                            "IS NOT NULL OR bytes_written IS NOT NULL"
                            ).fetchone() == (0,)


def test_runs_at_the_same_time_do_not_mix(files):
    run(files, "ebpf", *PYTHON, "pass")
    runs = [files.popen("run", "-q", "--tracer", "ebpf", *PYTHON, SHARED, n,
                        stdin=subprocess.PIPE) for n in ("11", "22")]
    for r in runs:
        assert r.stdout.readline() == b"open\n"
    for r in runs:
        r.communicate(b"\n", timeout=60)
        assert r.returncode == 0
    seen = {counts(files.json("show", f"@{step}")["inputs"])["a"]
            for step in (2, 3)}
    assert seen == {(11, 0), (22, 0)}


OVERLAY = """
mount -t tmpfs tmpfs "$1/top" || exit 77
mkdir "$1/top/upper" "$1/top/work"
mount -t overlay overlay "$1/merged" -o \\
    "lowerdir=$1/lower,upperdir=$1/top/upper,workdir=$1/top/work" || exit 77
cd "$1/merged"
"$2" init >&2
"$2" run -q --tracer ebpf sh -c 'read x <a; cat b >out; echo more >>b'
"$2" show --json @1
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount needs root")
def test_other_numbers_than_those_of_stat_are_seen_through(project):
    """The inodes of an overlay over two file systems have numbers of their own."""
    for name in ("lower", "top", "merged"):
        os.mkdir(project.path(name))
    project.write("lower/a", "a\n")
    project.write("lower/b", "b" * 500)
    done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh",
                           "-ec", OVERLAY, "sh", project.root,
                           os.path.abspath(os.environ["ROAR"])],
                          env=project.environment(None), capture_output=True,
                          timeout=60, check=False)
    if done.returncode == 77:
        pytest.skip(done.stderr.decode())
    assert done.returncode == 0, done.stderr
    job = json.loads(done.stdout)
    assert counts(job["inputs"]) == {"a": (2, 0), "b": (500, 5)}
    assert counts(job["outputs"]) == {"out": (0, 500), "b": (500, 5)}
