"""`roar status`, `log`, `reset`, `pop` and `db`."""

import os
import time

import pytest

from helpers import SETTLE, lines, names_of
from terminal import on_terminal


# ---- log ----

def test_log_is_a_table_oldest_first(project):
    project.sh("echo one >1")
    project.sh("exit 3", code=3)
    out = lines(project("log").out)
    assert out[0] == "Job Log (2 jobs)"
    assert out[1].split() == ["UID", "STEP", "TIMESTAMP", "DURATION",
                              "STATUS", "COMMAND"]
    assert "@1" in out[2] and " OK " in out[2] and "echo one" in out[2]
    assert "@2" in out[3] and " FAIL " in out[3]


def test_log_of_an_empty_session(project):
    assert project("log").out == "No log entries found.\n"


def test_log_shows_the_last_20_and_says_how_many_there_are(project):
    for i in range(22):
        project.run("true", str(i))
    out = project("log").out
    assert "22 jobs, last 20" in out
    assert len(project.json("log")["jobs"]) == 20
    assert len(project.json("log", "-n", "5")["jobs"]) == 5
    assert project.json("log", "-n", "5")["total_jobs"] == 22


def test_log_search_finds_words_of_commands(project):
    project.run("echo", "training", "resnet")
    project.run("echo", "evaluation", "resnet")
    found = project.json("log", "--search", "train")["jobs"]
    assert [j["command"] for j in found] == ["echo training resnet"]
    assert project.json("log", "--search", "\"(*' OR")["jobs"] == []


def test_log_of_all_sessions(project):
    project.run("echo", "old")
    project("reset", "-y")
    project.run("echo", "new")
    assert [j["command"] for j in project.json("log")["jobs"]] == ["echo new"]
    out = project("log", "--all-sessions").out
    assert "echo old" in out and "echo new" in out


def test_log_into_a_closed_pipe_ends_quietly(project):
    for i in range(30):
        project.run("true", "x" * 2000, str(i))
    process = project.popen("log", "-n", "30", "--json")
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(30) in (1, 141, -13)
    assert err == b""
    process.stderr.close()


# ---- status ----

def test_status_shows_hash_steps_and_artifacts(project):
    project("build", "-q", "sh", "-c", "echo lib >lib")
    project.sh("echo a >a")
    out = project("status").out
    assert "DAG hash: " in out
    assert "Build steps: 1" in out and "Run steps: 1" in out
    digest = project.digests("a")["blake3"]
    line = [n for n in lines(out) if n.endswith(" a")][0]
    assert line.split()[:2] == ["Present", digest[:12]]
    assert "Total: 2 artifacts" in out


def test_status_tells_present_changed_and_missing(project):
    project.sh("echo a >a; echo b >b; echo c >c")
    time.sleep(SETTLE)
    project.write("b", "B\n")
    os.unlink(project.path("c"))
    rows = project.json("status")["artifacts"]
    assert {os.path.basename(r["path"]): r["state"] for r in rows} == {
        "a": "present", "b": "changed", "c": "missing"}
    out = project("status").out
    assert "(1 present, 1 changed, 1 missing)" in out


def test_status_of_a_touched_file_with_the_same_content_is_present(project):
    project.sh("echo a >a")
    os.utime(project.path("a"), (1, 1))
    assert project.json("status")["artifacts"][0]["state"] == "present"


def test_status_names_the_last_job(project):
    project.sh("exit 9", code=9)
    last = project.json("status")["last_job"]
    assert last["exit_code"] == 9
    assert last["job_uid"] in project("status").out


def test_the_same_content_gives_the_same_dag_hash(project, user):
    for place in (project, user):
        place.write("in", "x\n")
        place.sh("cat in >out")
    assert project.json("status")["dag_hash"] == user.json("status")[
        "dag_hash"]


def test_other_content_gives_another_dag_hash(project):
    project.write("in", "x\n")
    project.sh("cat in >out")
    before = project.json("status")["dag_hash"]
    project.write("in", "y\n")
    project.sh("cat in >out")
    assert project.json("status")["dag_hash"] != before


# ---- reset ----

def test_reset_closes_the_session_and_opens_one(project):
    project.run("true", "1")
    project.run("true", "2")
    out = project("reset", "-y").out
    assert "Current session has 2 step(s)." in out
    assert "Deactivated session" in out
    assert "Created new session" in out
    assert project("log").out == "No log entries found.\n"
    with project.database() as db:
        active = db.execute("SELECT count(*) FROM sessions "
                            "WHERE closed_ns = 0").fetchone()[0]
    assert active == 1


def test_reset_counts_steps_from_one_again(project):
    project.run("true", "1")
    project("reset", "-y")
    project.run("true", "2")
    assert project.json("log")["jobs"][0]["step_number"] == 1


def test_reset_without_terminal_needs_yes(project):
    project.run("true")
    done = project("reset", code=1)
    assert "-y" in done.err
    assert len(project.json("log")["jobs"]) == 1


def test_reset_of_an_empty_session_asks_nothing(project):
    project("reset")


@pytest.mark.parametrize("answer, changed", [("y", True), ("n", False),
                                             ("", False)])
def test_reset_asks_on_a_terminal(project, answer, changed):
    project.run("true")
    with on_terminal(project, "reset") as t:
        t.expect(r"\[y/N\] ")
        t.type(answer + "\n")
        assert t.wait() == (0 if changed else 1)
    assert len(project.json("log")["jobs"]) == (0 if changed else 1)


# ---- pop ----

def test_pop_without_jobs(project):
    assert project("pop", "-y").out == "No jobs in the active session.\n"


def test_pop_removes_the_job_and_its_output_file(project):
    project.sh("echo a >a")
    project.sh("echo b >b")
    out = project("pop", "-y").out
    assert "Deleted 1 output file(s)." in out
    assert not project.exists("b") and project.exists("a")
    assert len(project.jobs()) == 1


def test_pop_keep_files(project):
    project.sh("echo a >a")
    project("pop", "-y", "--keep-files")
    assert project.exists("a")
    assert project.jobs() == []


def test_pop_keeps_what_changed_since(project):
    project.sh("echo a >a")
    project.write("a", "precious\n")
    out = project("pop", "-y").out
    assert "Deleted 0 output file(s)." in out
    assert project.read("a") == b"precious\n"


def test_pop_keeps_inputs_and_what_existed_before(project):
    project.write("old", "old\n")
    project.write("in", "in\n")
    project.sh("cat in >out; echo more >>old")
    project("pop", "-y")
    assert project.exists("in") and project.exists("old")
    assert not project.exists("out")


def test_pop_keeps_what_lies_outside_of_the_project(project):
    os.mkdir(os.path.join(project.base, "outside"))
    project("config", "set", "filters.ignore_tmp_files", "false")
    target = os.path.join(project.base, "outside", "x")
    project.sh(f"echo a >{target}")
    project("pop", "-y")
    assert os.path.exists(target)


def test_pop_does_not_follow_a_link_put_there_since(project):
    project.sh("mkdir d; echo a >d/a")
    outside = os.path.join(project.base, "outside")
    os.rename(project.path("d"), outside)
    os.symlink(outside, project.path("d"))
    project("pop", "-y")
    assert os.path.exists(os.path.join(outside, "a"))


def test_pop_without_terminal_needs_yes(project):
    project.sh("echo a >a")
    assert "-y" in project("pop", code=1).err
    assert project.exists("a") and len(project.jobs()) == 1


def test_pop_asks_on_a_terminal(project):
    project.sh("echo a >a")
    with on_terminal(project, "pop") as t:
        t.expect(r"delete(\x1b\[0m)?\s+a\s")
        t.expect(r"\[y/N\] ")
        t.type("n\n")
        assert t.wait() == 1
    assert project.exists("a") and len(project.jobs()) == 1


def test_after_pop_the_number_is_free_again(project):
    project.sh("echo a >a")
    project.sh("echo b >b")
    project("pop", "-y")
    project.sh("echo c >c")
    assert [j["step_number"] for j in project.jobs()] == [1, 2]


def test_pop_leaves_shared_artifacts_of_other_jobs(project):
    project.sh("echo same >a")
    project.sh("echo same >b")
    project("pop", "-y")
    assert project.digests("a")["blake3"]


def test_pop_removes_what_was_written_aside_and_renamed(project):
    project.sh("for i in 1 2 3; do echo $i >m.tmp; mv m.tmp model; done; "
               "echo x >x.tmp; mv x.tmp x; ln -s model best; "
               "ln -s x t; mv -T t last")
    assert sorted(names_of(project, project.last()["outputs"])) == [
        "best", "last", "model", "x"]
    assert "Deleted 4 output file(s)." in project("pop", "-y").out
    for name in ("best", "last", "model", "x"):
        assert not project.exists(name)


def test_pop_keeps_what_was_renamed_and_changed_since(project):
    project.sh("echo 1 >m.tmp; mv m.tmp model; ln -s model best")
    project.write("model", "2\n")
    os.unlink(project.path("best"))
    os.symlink("other", project.path("best"))
    project("pop", "-y")
    assert project.exists("model") and project.exists("best")


def test_pop_keeps_old_content_that_was_moved_or_replaced(project):
    project.write("mine", "mine\n")
    project.write("old", "old\n")
    project.sh("mv mine moved; echo more >>moved; cat old >/dev/null; "
               "echo new >t; mv t old")
    project("pop", "-y")
    assert project.exists("moved") and project.exists("old")


def test_pop_keeps_what_took_the_place_of_another_jobs_file(project):
    project.sh("echo 1 >model")
    project.sh("echo 2 >t; mv t model")
    assert "earlier job" in project("pop", "-y").out
    assert project.exists("model")


# ---- db ----

def test_db_counts_what_is_recorded(project):
    project.write("in")
    project.sh("cat in >out")
    facts = project.json("db")
    assert facts["jobs"] == 1 and facts["sessions"] == 1
    assert facts["artifacts"] == 1  # the same content twice
    assert facts["size_bytes"] > 0
    assert facts["path"] == project.path(".roar", "roar.db")
    assert "Integrity" in project("db").out


def test_db_check_and_compact(project):
    project.sh("echo a >a")
    project.sh("echo b >b")
    project("pop", "-y")
    facts = project.json("db", "--check", "--compact")
    assert facts["integrity"] == "sound"
    assert facts["freed_bytes"] is not None
    assert len(project.jobs()) == 1


def test_the_database_is_sound_for_any_sqlite(project):
    for i in range(5):
        project.sh(f"echo {i} >f{i}")
    with project.database() as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [(b"ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.execute("PRAGMA journal_mode").fetchone() == (b"wal",)


def test_session_hash_is_that_of_status_alone_on_a_line(project):
    project.sh("echo a >a")
    first = project("session", "hash").out
    assert first == project.json("status")["dag_hash"] + "\n"
    project.sh("echo a >a")
    assert project("session", "hash").out == first
    project.sh("echo b >b")
    assert project("session", "hash").out != first


def test_session_needs_an_action_it_knows(project):
    assert "session hash" in project("session", code=2).err
    project("session", "hash", "x", code=2)
    assert "hash" in project("session", "hsah", code=2).err
