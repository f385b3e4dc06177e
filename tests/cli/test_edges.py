"""Which process of a run read and wrote which file, and the ranks of processes."""

import os
import signal
import subprocess
import sys

import pytest

from helpers import children_of, runs_program

SCRIPT = """\
grep a in.txt > a.txt
grep b in.txt > b.txt
cat a.txt b.txt > all.tmp
sort < all.tmp > sorted.txt
wc -l sorted.txt > count.tmp; mv count.tmp count.txt
rm all.tmp
"""

# Stands for torchrun: it starts its workers with their ranks in the environment.
LAUNCHER = """\
for r in 0 1 2 3; do
    RANK=$r LOCAL_RANK=$r WORLD_SIZE=4 TORCHELASTIC_RUN_ID=job-7 \\
        sh -c 'cat in.txt > out.$RANK; true' &
done
wait
"""

WORKERS = """\
import os, sys, tempfile
names = [f"data/{i}" for i in range(20)]
for worker in range(8):
    if os.fork() == 0:
        with tempfile.NamedTemporaryFile():
            for name in names:
                open(name).read()
        os._exit(0)
for worker in range(8):
    os.wait()
for worker in range(3):
    if os.fork() == 0:
        os.execvp("cat", ["cat", *names])
    os.wait()
open("model", "w").write("m")
"""


def names(files):
    return sorted(os.path.basename(f) for f in files)


def substeps(project, *args):
    node, = project.json("dag", "--expanded", *args)["nodes"]
    return node["substeps"]


def processes(project, ref="@1"):
    return project.json("show", "--processes", ref)["processes"]


def of_command(listed, start):
    return [p for p in listed if p["command"].startswith(start)]


@pytest.mark.parametrize("tracer", ["ptrace", "hybrid", "ebpf"])
def test_a_script_of_five_commands_is_five_true_steps(project, tracer):
    for shell in ("sh", "bash"):
        project.write("in.txt", "b\na\nab\n")
        project.write("s.sh", SCRIPT)
        project("reset", "--yes")
        done = project("run", "-q", "--tracer", tracer, "--no-tracer-fallback",
                       shell, "s.sh", code=None)
        if done.code == 77 or (done.code == 1 and "tracer" in done.err):
            pytest.skip(f"{tracer} is refused here")
        assert done.code == 0, done.err
        found = [(s["command"].split()[0], names(s["inputs"]),
                  names(s["outputs"]), s["after"])
                 for s in substeps(project)]
        assert found == [
            ("grep", ["in.txt"], ["a.txt"], []),
            ("grep", ["in.txt"], ["b.txt"], []),
            ("cat", ["a.txt", "b.txt"], ["all.tmp"], [1, 2]),
            ("sort", ["all.tmp"], ["sorted.txt"], [3]),
            ("wc", ["sorted.txt"], ["count.txt"], [4]),
            ("mv", [], ["count.txt"], [5]),
        ], shell
    text = project("dag", "--expanded").out
    assert "after .1,.2  cat a.txt b.txt" in text
    text = project("show", "--processes", "@1").out
    assert "read a.txt, b.txt" in text
    assert "wrote sorted.txt" in text


def test_a_temporary_name_that_is_used_again_does_not_connect(project):
    project.write("in.txt", "x\n")
    for shell in ("sh", "bash"):
        project("reset", "--yes")
        project.run(shell, "-c", "for i in 1 2 3; do head -n $i in.txt > t; "
                    "sort t > out.$i; done; rm t")
        assert [s["after"] for s in substeps(project)] == \
            [[], [1], [], [3], [], [5]], shell


def test_workers_that_read_the_same_are_one_line(project):
    for i in range(20):
        project.write(f"data/{i}", str(i))
    project.write("w.py", WORKERS)
    project.run(sys.executable, "w.py")
    listed = processes(project)
    readers = [p for p in listed
               if names(f["path"] for f in p["read"]
                        if "/data/" in f["path"]) ==
               sorted(str(i) for i in range(20))]
    assert len(readers) == 11
    main, cats = substeps(project)
    assert main["copies"] == 1 and main["processes"] == 9
    assert main["input_count"] == 21 and names(main["outputs"]) == ["model"]
    assert cats["command"].startswith("cat ") and cats["copies"] == 3
    text = project("show", "--processes", "@1").out
    assert " w.py x8\n" in text, text
    assert "read data/0, data/1, data/2 and 17 more (--all)" in text
    text = project("show", "--processes", "--all", "@1").out
    assert " x8" not in text and "more (--all)" not in text


def test_ranks_are_known_from_the_environment_of_each_process(project):
    project.write("in.txt", "x")
    project.write("launch.sh", LAUNCHER)
    project.run("sh", "launch.sh")
    job = project.json("show", "--processes", "@1")
    assert job["ranks"] == [{"launcher": "torchrun", "group": "job-7",
                             "world_size": 4, "ranks": [0, 1, 2, 3]}]
    found = {(p["rank"]["rank"], *names(f["path"] for f in p["written"]))
             for p in of_command(job["processes"], "cat ")}
    assert found == {(r, f"out.{r}") for r in range(4)}
    root = job["processes"][0]
    assert root["rank"] is None
    text = project("show", "--processes", "@1").out
    assert "Ranks:        4 of 4 (torchrun, group job-7)\n" in text
    assert "(rank 3 of 4)" in text


def test_edges_are_recovered_from_the_journal(project):
    project.write("in.txt", "x\n")
    run = project.popen("run", "-q", "--tracer", "ptrace", "sh", "-c",
                        "cat in.txt > a; cat in.txt a > b; echo ready; read x",
                        stdin=subprocess.PIPE)
    assert run.stdout.readline() == b"ready\n"
    tracer, = [p for p in children_of(run.pid)
               if runs_program(p, project.roar_program)]
    os.kill(tracer, signal.SIGKILL)
    run.communicate(timeout=60)
    first, second = of_command(processes(project), "cat ")
    assert [(os.path.basename(f["path"]), f["by"]) for f in first["written"]] \
        == [("a", "stream")]
    assert names(f["path"] for f in second["read"]) == ["a", "in.txt"]
    assert names(f["path"] for f in second["written"]) == ["b"]


def test_edges_are_removed_with_their_job(project):
    project.write("in.txt", "x\n")
    project.sh("cat in.txt > a; cat in.txt a > b; true")
    assert len(of_command(processes(project), "cat ")) == 2
    project("pop", "--yes")
    project("db", "--check")
    assert project.json("dag", "--expanded")["nodes"] == []
