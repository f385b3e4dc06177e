"""What the tests of roar-cli check from outside, in our words.

Where roar differs on purpose, the test has our rule and docs/coming-from-roar-cli.md the
reason.  Tracers and systems calls have their workloads in tests/trace."""

import json
import os
import shutil
import sys

import pytest
from helpers import PYTHON, lines, names_of


@pytest.fixture
def flow(project):
    """A project with one file."""
    project.write("raw", "1\n")
    return project


def step(place, to, *sources):
    place.sh(f"cat {' '.join(sources)} > {to}")


def nodes(place):
    return {n["step_ref"]: n for n in place.json("dag")["nodes"]}


def artifacts(place):
    return {os.path.basename(a["path"]): a for a in place.json("dag")["artifacts"]}


# ---- pipelines ----

def test_two_steps_in_a_line(flow):
    step(flow, "features", "raw")
    step(flow, "model", "features")
    drawn = flow("dag").out
    assert drawn.startswith("Pipeline: 2 steps\n")
    assert "@1" in drawn and "@2" in drawn
    assert names_of(flow, flow.json("show", "@2")["inputs"]) == ["features"]
    assert names_of(flow, flow.json("show", "@1")["outputs"]) == ["features"]
    found = nodes(flow)
    assert found["@2"]["dependency_refs"] == ["@1"]
    assert found["@1"]["metrics"]["consumed"] == 1


def test_branches_that_meet_and_what_a_change_makes_stale(flow):
    flow.write("other", "2\n")
    for to, *sources in (("a", "raw"), ("b", "a"), ("c", "a"), ("d", "b", "c"),
                         ("x", "other")):
        step(flow, to, *sources)
    assert names_of(flow, flow.json("show", "@4")["inputs"]) == ["b", "c"]
    assert nodes(flow)["@4"]["dependency_refs"] == ["@2", "@3"]
    made = artifacts(flow)
    assert [made["a"][k] for k in ("state", "consumer_steps", "is_terminal")] == [
        "active", [2, 3], False]
    assert made["d"]["is_terminal"]

    flow("run", "-q", "@1")  # the same content
    assert flow.json("dag")["stale_count"] == 0
    flow.write("raw", "3\n")
    flow("run", "-q", "@1")
    dag = flow.json("dag")
    assert dag["stale_count"] == 3
    assert [ref for ref, n in nodes(flow).items() if n["state"] == "stale"] == [
        "@2", "@3", "@4"]
    stale = flow("dag", "--stale-only").out
    assert "cat a > b" in stale and "cat other" not in stale
    assert "\x1b" not in flow("dag", "--no-color").out
    assert artifacts(flow)["d"]["state"] == "stale"
    # A step keeps its number, and its executions are all there.
    assert len([line for line in flow("dag", "--expanded").out.splitlines()
                if "cat raw > a" in line]) == 3


def test_other_parameters_are_another_step(project):
    project.write("train.py", "import sys\n"
                  "open(sys.argv[1].split('=')[1] + '.pt', 'w').write(sys.argv[1])\n")
    project.run(sys.executable, "train.py", "--epochs=1")
    project.run(sys.executable, "train.py", "--epochs=2")
    assert sorted(nodes(project)) == ["@1", "@2"]
    project("run", "-q", "@1")
    assert sorted(nodes(project)) == ["@1", "@2"]
    said = project("run", "-q", "--hash", "sha256", "@1", "--epochs=10")
    assert said.out == said.err == ""
    assert project.last()["command"].endswith("train.py --epochs=10")
    assert set(project.digests("10.pt")) >= {"blake3", "sha256"}


def test_a_name_and_a_build(project):  # deep ones: test_pipelines.py
    project("build", "-q", "--name", "compile", "--", "sh", "-c", "echo 0 > 0")
    for n in range(2):
        project.sh(f"cat {n} > {n + 1}")
    dag = project.json("dag")
    assert dag["total_steps"] == 3
    drawn = project("dag", env={"COLUMNS": "80"}).out
    assert "@B1" in drawn and "compile:" in drawn and "@2" in drawn
    assert all(len(line) <= 80 for line in lines(drawn))
    assert nodes(project)["@2"]["dependency_refs"] == ["@1"]


def test_an_empty_session(project):
    assert project("dag").out == "No steps in the active session.\n"
    assert project("log").out == "No log entries found.\n"
    assert project("pop", "-y").out == "No jobs in the active session.\n"


# ---- runs ----

def test_the_exit_code_is_that_of_the_command(project):
    project.sh("exit 7", code=7)
    project.sh("kill -9 $$", code=137)
    n = len(project.jobs())
    assert "command not found" in project.run("no-such-command", code=127).err
    assert len(project.jobs()) == n


def test_a_dirty_tree_runs_unless_it_must_be_clean(repo):
    repo.write("code.py", "print('changed')\n")
    repo.run(sys.executable, "code.py")
    git = repo.last()["git"]
    assert git["dirty"] and git["snapshot"]
    repo("config", "set", "run.require_clean", "true")
    n = len(repo.jobs())
    assert "uncommitted" in repo.run("true", code=1).err
    assert len(repo.jobs()) == n


def test_what_is_an_output(project):
    project.write("kept", "old\n")
    project.write("empty", "")
    project.run(*PYTHON, r"""
import os
os.close(os.open("kept", os.O_WRONLY))            # opened only
open("empty", "a").close()
open("stamp", "w").close()                        # a new name
open("real", "w").write("x")
fd = os.open("kept", os.O_RDONLY)                 # its number is used again
os.read(fd, 3)
r, w = os.pipe()
os.dup2(w, fd)
os.write(fd, b"to the pipe")
try:
    os.dup2(10**6, fd)                            # fails, and changes nothing
except OSError:
    pass
os.write(fd, b"still")
""")
    last = project.last()
    assert names_of(project, last["outputs"]) == ["real", "stamp"]
    assert names_of(project, last["inputs"]) == ["kept"]


def test_shell_pipelines(project):
    project.write("in", "b\na\n")
    project.run("bash", "-c", "echo x > one; sort in | uniq > two; "
                "awk '{print}' two > three; cat three >/dev/null")
    last = project.last()
    assert names_of(project, last["outputs"]) == ["one", "three", "two"]
    assert names_of(project, last["inputs"]) == ["in"]
    assert all(os.path.isabs(row["path"]) for row in last["outputs"])
    assert {os.path.basename(r["path"]): r["intermediate"] for r in last["outputs"]} == {
        "one": False, "two": True, "three": True}


def test_names_that_are_published(project):
    project.write("in", "data" * 1000)
    project.run(*PYTHON, r"""
import mmap, os
open("tmp1", "w").write("1"); os.rename("tmp1", "renamed")
open("tmp2", "w").write("2"); os.link("tmp2", "linked"); os.unlink("tmp2")
try:
    os.rename("missing", "never")
except OSError:
    pass
with open("in", "rb") as f:
    mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:4]
with open("mapped", "w+b") as f:
    f.truncate(4096)
    with mmap.mmap(f.fileno(), 4096) as m:
        m[:2] = b"hi"
r, w = os.pipe()
with open("in", "rb") as f:
    os.splice(f.fileno(), w, 100)
""")
    last = project.last()
    assert names_of(project, last["outputs"]) == ["linked", "mapped", "renamed"]
    assert names_of(project, last["inputs"]) == ["in"]


def test_the_command_is_what_was_typed(project):
    project.write("go", "#!/bin/sh\necho x > out\n", mode=0o755)
    for command in (["./go"], ["env", "-u", "LANG", "./go"], ["/usr/bin/env", "true"]):
        project.run(*command)
        assert project.last()["command"] == " ".join(command)
    for _ in range(2):
        project.run("true")
        assert project.last()["command"] == "true"


@pytest.mark.parametrize("options", [["-E"], ["-I", "-S"]])
def test_python_needs_nothing_injected(project, options):
    project.write("code.py", "open('out', 'w').write('x')\n")
    done = project("run", "--", sys.executable, *options, "code.py")
    last = project.last()
    assert last["verdict"] == "complete" and "warning" not in done.err
    assert names_of(project, last["outputs"]) == ["out"]


def test_packages_of_what_ran(project):
    if not shutil.which("dpkg"):
        pytest.skip("the packages of this system are not those of dpkg")
    project.run("/usr/bin/env", "cat", "/usr/bin/env")
    project.sh("/usr/bin/env cat /dev/null > out; echo x > out")
    shown = project("show", "@2", "--all").out
    assert "coreutils" in shown
    assert "coreutils" in project("reproduce", "out", "--list-requirements").out


# ---- projects, sessions and settings ----

def test_init_leaves_a_project(empty):
    empty.git("init", "-q")
    empty.write(".gitignore", "*.log\n")
    empty("init", "-y")
    assert empty.read(".gitignore").decode().splitlines()[0] == "*.log"
    once = empty.read(".gitignore")
    empty("init", "-y")
    assert empty.read(".gitignore") == once
    assert all(row["default"] for row in empty.json("config", "list"))
    assert oct(os.stat(empty.path(".roar")).st_mode & 0o777) == "0o700"


def test_settings_and_variables_go_round(project):
    project("config", "set", "output.quiet", "true")
    assert project("config", "get", "output.quiet").out == "true\n"
    project("env", "set", "FOO", "bar")
    assert project("env", "get", "FOO").out == "bar\n"
    project.sh('test "$FOO" = bar')
    project("env", "unset", "FOO")
    project("env", "get", "FOO", code=1)


def test_reset_and_pop_say_what_they_did(project):
    project.sh("echo x > out")
    said = project("pop", "-y")
    assert "Deleted 1 output file(s)." in said.out + said.err
    assert not project.exists("out")
    project.sh("echo x > out")
    said = project("reset", "-y").out
    assert "Current session has 1 step(s)." in said
    assert "Deactivated session" in said and "Created new session" in said
    with project.database() as db:
        assert db.execute("SELECT count(*) FROM sessions WHERE closed_ns = 0").fetchone() == (1,)
    assert project("log").out == "No log entries found.\n"


def test_labels_are_patched_in_versions(project):
    project.sh("echo x > out")
    project("label", "set", "job", "@1", "phase=train", "lr=1")
    project("label", "set", "job", "@1", "lr=2")
    again = project("label", "set", "job", "@1", "lr=2")
    assert "unchanged" in (again.out + again.err).lower()
    project("label", "cp", "job", "@1", "artifact", "out")
    project("label", "unset", "job", "@1", "phase")
    history = project("label", "history", "job", "@1").out
    assert "lr" in history and "phase" in history
    assert "phase" not in project("label", "show", "job", "@1").out
    assert project.json("show", "@1")["labels"]["lr"] == 2
    assert project.json("show", "out")["labels"]["phase"] == "train"
    assert nodes(project)["@1"]["labels"]["lr"] == 2


def test_status_and_show(flow):
    step(flow, "a", "raw")
    step(flow, "b", "a")
    status = flow("status").out
    assert flow("session", "hash").out[:12] in status
    assert "DAG hash: " in status and "Run steps: 2" in status
    shown = flow("show", "@2").out
    assert "cat a > b" in shown and "@2" in shown


def test_secrets_are_not_kept(project):
    project.run("sh", "-c", "true", "--api-key", "sk-live-0123456789abcdef")
    assert "0123456789abcdef" not in json.dumps(project.last("--all"))
    for folder, _, names in os.walk(project.path(".roar")):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                assert b"0123456789abcdef" not in f.read()


def test_transfers_refuse_what_is_wrong(project):
    project.write("file", "x")
    target = f"file://{project.base}/there/"
    project("put", "file", target, code=2)
    project("put", "file", target, "-m", "m", "--no-tag")
    project("get", target + "file", "file", code=1)
    project("get", target + "file", "new", "--hash", "0" * 64, code=1)
    assert not project.exists("new")


def test_tracers_and_the_proxy_have_a_state(project):
    assert project.json("tracer")["default"] == "auto"
    project("tracer", "use", "ptrace")
    assert project.json("tracer")["default"] == "ptrace"
    assert project("tracer", "check", "ptrace").code == 0
    project.sh("true")
    assert project.last()["tracer"] == "ptrace"
    assert project("proxy", "status", code=1).out == "The proxy is not running.\n"


def test_jobs_come_before_sessions_for_eight_digits(flow):
    step(flow, "a", "raw")
    uid = flow.jobs()[0]["job_uid"]
    assert len(uid) == 8 and flow.json("show", uid)["type"] == "job"
    session = flow.json("status")["session"]["uid"]
    assert flow.json("show", session)["type"] == "session"


def test_publishing_needs_a_server_and_leaves_nothing(empty):
    for words in (["register", "--dry-run", "x"], ["login"], ["whoami"], ["scope"]):
        assert "needs a lineage server" in empty(*words, code=1).err
    assert not empty.exists(".roar")
