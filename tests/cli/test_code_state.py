"""The code that ran: strictly committed, uncommitted, and outside of git."""

import os

from helpers import lines
from test_kept_content import objects


# ---- run.require_clean ----

def test_a_dirty_repository_runs_nothing(repo):
    repo("config", "set", "run.require_clean", "true")
    repo.run("touch", "one")
    repo.write("code.py", "print('changed')\n")
    done = repo("run", "touch", "two", code=1)
    assert len(lines(done.err)) == 1
    for part in (repo.root, "uncommitted", "run.require_clean", "commit"):
        assert part in done.err
    assert not repo.exists("two")
    assert len(repo.json("log")["jobs"]) == 1


def test_outside_of_a_repository_nothing_is_dirty(project):
    project("config", "set", "run.require_clean", "true")
    project.run("touch", "one")
    assert project.exists("one")


# ---- roar show --diff ----

def test_the_difference_that_ran_is_printed(repo):
    repo.write("data.bin", "\0\1")
    repo.git("add", "data.bin")
    repo.git("commit", "-q", "-m", "data")
    repo.write("code.py", "print('changed')\n")
    repo.write("new.py", "import os\n")
    repo.write("data.bin", "\0\1\2")
    repo.run("true")
    repo.write("code.py", "print('later')\n")
    patch = repo("show", "--diff", "@1").out
    assert "-print('hello')\n+print('changed')\n" in patch
    assert "+import os\n" in patch
    assert "later" not in patch
    repo.git("stash", "-q", "-u")
    assert repo("show", "--diff", "@1").out == patch
    with open(repo.path("ran.patch"), "w", encoding="utf-8") as f:
        f.write(patch)
    repo.git("apply", "ran.patch")
    assert repo.read("code.py") == b"print('changed')\n"
    assert repo.read("data.bin") == b"\0\1\2"


def test_a_clean_job_has_no_difference(repo):
    repo.run("true")
    assert repo("show", "--diff", "@1").out == ""


def test_what_cannot_be_compared_is_one_sentence(repo):
    repo.write("code.py", "print('changed')\n")
    repo.run("cat", "code.py")
    assert "takes a job" in repo("show", "--diff", "code.py", code=2).err
    assert "takes a job" in repo("show", "--diff", code=2).err
    os.rename(repo.path(".git"), repo.path("git"))
    assert "repository" in repo("show", "--diff", "@1", code=1).err


# ---- outside of git ----

def test_code_that_a_run_read_is_kept_outside_of_git(project):
    project.write("steps/helper.sh", "echo helper > out\n")
    project.write("main.sh", ". steps/helper.sh\ncat data.bin .env.sh\n")
    project.write("data.bin", "data\n")
    project.write(".env.sh", "-----BEGIN RSA PRIVATE KEY-----\n")
    project.write("tool", "#!/bin/sh\n")
    project.run("sh", "main.sh")
    assert b"echo helper > out\n" in objects(project).values()
    assert len(objects(project)) == 2
    job = project.json("show", "@1")
    assert job["git"] is None
    assert job["code"]["kept"] == 2
    assert "Code:" in project("show", "@1").out
    project.run("sh", "tool")
    assert b"#!/bin/sh\n" in objects(project).values()
    assert "outside" in project("show", "--diff", "@1", code=1).err
    project.write("main.sh", "changed\n")
    project("objects", "restore", "main.sh", "old.sh")
    assert project.read("old.sh").startswith(b". steps")


def test_nothing_is_kept_in_a_repository(repo):
    repo.run("sh", "-c", "cat code.py")
    assert not objects(repo)
    assert repo.json("show", "@1")["code"] is None


def test_code_is_not_kept_when_snapshots_are_switched_off(project):
    project("config", "set", "git.snapshot", "false")
    project.write("main.sh", "true\n")
    project.run("sh", "main.sh")
    assert not objects(project)
    assert project.json("show", "@1")["code"] == {"kept": 0, "missing": 1}


# ---- settings ----

def test_code_of_the_repository_can_be_left_out_of_the_report(repo):
    repo.write("data.txt")
    command = ["run", "-v", "cat", "code.py", "data.txt"]
    assert "code.py" in repo(*command).err.replace("cat code.py", "")
    repo("config", "set", "output.track_repo_files", "false")
    report = repo(*command).err.replace("cat code.py", "")
    assert "code.py" not in report
    assert "1 code file of the repository" in report
    assert len(repo.json("show", "@1")["inputs"]) == 2


def test_the_log_has_what_its_level_asks_for(project):
    project.run("true")
    assert not project.exists(".roar/roar.log")
    project("config", "set", "logging.level", "info")
    project.run("false", code=1)
    (line,) = lines(project.read(".roar/roar.log").decode())
    assert " info @2 " in line
    assert line.endswith("complete, exit 1")
    assert os.stat(project.path(".roar/roar.log")).st_mode & 0o777 == 0o600


def test_named_values_and_variables_are_omitted(project):
    project("config", "set", "registration.omit.secrets.values", "hunter2022")
    project("config", "set", "registration.omit.env_vars.names", "MY_PLACE")
    command = ["sh", "-c", "true hunter2022 x", "--my-place=home"]
    project.run(*command)
    recorded = project.json("show", "@1")["command"]
    assert "hunter2022" not in recorded
    assert "home" not in recorded
    assert b"hunter2022" not in project.read(".roar/roar.db")
    project("config", "set", "registration.omit.enabled", "false")
    project.run(*command)
    assert "hunter2022" in project.json("show", "@2")["command"]
