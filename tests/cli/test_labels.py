"""Labels of sessions, jobs and artifacts, tags after the run, sessions by hash."""

import subprocess

import pytest


@pytest.fixture
def recorded(project):
    """prepare -> train"""
    project.write("raw", "raw\n")
    project("run", "-q", "--add-tag", "license=MIT", "sh", "-c",
            "cat raw > data; echo 1 >> data")
    project("run", "-q", "sh", "-c", "cat data > model; echo 2 >> model")
    return project


def test_labels_are_versions_that_everything_shows(recorded):
    out = recorded("label", "set", "job", "@2", "phase=train",
                   "model.lr=0.001").out
    assert out == ("Set labels (version 1):\n"
                   "  model.lr=0.001\n  phase=train\n")
    assert recorded("label", "set", "job", "@2",
                    "phase=train").out == "Labels unchanged.\n"
    recorded("label", "cp", "job", "@2", "artifact", "./model")
    recorded("label", "set", "dag", "current", "owner=alice", "n=3")
    assert recorded("label", "unset", "job", "@2", "model.lr").out == (
        "Removed labels (version 2):\n  phase=train\n")
    assert recorded("label", "unset", "job", "@2",
                    "nothing").out == "Labels unchanged.\n"
    history = recorded.json("label", "history", "job", "@2")
    assert [v["version"] for v in history] == [1, 2]
    assert history[0]["labels"] == {"model": {"lr": 0.001}, "phase": "train"}
    assert history[1]["origin"] == "user"
    assert recorded("label", "show", "dag",
                    "current").out == "n=3\nowner=alice\n"

    job = {"phase": "train"}
    content = {"model": {"lr": 0.001}, "phase": "train"}
    session = {"owner": "alice", "n": 3}
    uid = recorded.json("show", "@2")["job_uid"]
    assert recorded.json("label", "show", "job", uid)["labels"] == job
    assert recorded.json("show", "@2")["labels"] == job
    assert recorded.json("show", "model")["labels"] == content
    assert recorded.json("show")["session"]["labels"] == session
    log = recorded.json("log")
    assert [j["labels"] for j in log["jobs"]] == [{}, job]
    assert log["session"]["labels"] == session
    assert recorded.json("status")["session"]["labels"] == session
    dag = recorded.json("dag")
    assert dag["labels"] == session
    assert [n["labels"] for n in dag["nodes"]] == [{}, job]
    assert {a["path"].rpartition("/")[2]: a["labels"]
            for a in dag["artifacts"]}["model"] == content
    assert "phase=train" in recorded("show", "@2").out
    assert "model.lr=0.001" in recorded("show", "model").out
    assert "owner=alice" in recorded("show").out

    recorded("pop", "-y")
    assert recorded("label", "show", "job", uid, code=1).out == ""
    assert "sound" in recorded("db", "--check").out


def test_wrong_words_are_refused(recorded):
    for words in (["job", "@2", "roar.git=x"], ["job", "@2", "tag.pii=x"],
                  ["job", "@2", "x"], ["run", "@2", "x=1"],
                  ["dag", "nothing", "x=1"]):
        assert recorded("label", "set", *words, code=2).err.startswith("roar: ")
    assert "does not exist" in recorded("label", "set", "job", "@9", "x=1",
                                        code=1).err
    recorded("label", "set", "artifact", "unknown", "x=1", code=1)
    assert recorded("label", "show", "job", "@2").out == "No labels.\n"


def test_a_secret_does_not_reach_the_disk(recorded):
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    recorded("label", "set", "job", "@1", "x=" + secret)
    assert recorded("label", "show", "job", "@1").out == "x=[REDACTED]\n"
    recorded("tag", "add", "source=" + secret, "@1")
    recorded("config", "set", "redact.patterns", "own-[0-9]+")
    recorded("label", "set", "job", "@1", "y=own-123")
    assert secret not in recorded("tag", "history", "@1").out
    assert "123" not in recorded("label", "show", "job", "@1").out


def test_two_processes_that_label_at_once_both_survive(recorded):
    racers = [subprocess.Popen(
        [recorded.roar_program, "label", "set", "job", "@1", f"k{i}={i}"],
        cwd=recorded.root, env=recorded.env, stdout=subprocess.DEVNULL)
        for i in range(8)]
    assert [p.wait(120) for p in racers] == [0] * 8
    shown = recorded.json("label", "show", "job", "@1")
    assert shown["version"] == 8
    assert shown["labels"] == {f"k{i}": i for i in range(8)}


def test_tags_change_after_the_run_and_keep_a_history(recorded):
    recorded("tag", "add", "license=GPL", "model")
    recorded("tag", "add", "jurisdiction=EU", "@1")
    assert recorded("tag", "add", "jurisdiction=EU",
                    "data").out == "Tags unchanged.\n"
    shown = recorded.json("tag", "show", "model")
    assert [(t["kind"], t["value"], t["from"]["step_ref"])
            for t in shown["tags"]] == [("jurisdiction", "EU", "@1"),
                                        ("license", "GPL", "@2"),
                                        ("license", "MIT", "@1")]
    recorded("tag", "rm", "license", "@1")
    assert "of its own" in recorded("tag", "rm", "license=MIT", "@2",
                                    code=1).err
    assert "license=MIT" not in recorded("tag", "show", "@2").out
    history = recorded.json("tag", "history", "@1")
    assert [(c["change"], c["kind"], c["value"]) for c in history] == [
        ("added", "license", "MIT"), ("added", "jurisdiction", "EU"),
        ("removed", "license", "MIT")]
    assert "no recorded job wrote" in recorded("tag", "add", "license=X",
                                               "raw", code=1).err


def test_a_session_is_a_target_by_its_hash_before_and_after_it_closes(
        recorded):
    digest = recorded("session", "hash").out.strip()
    uid = recorded.json("show")["session"]["uid"]
    for _ in range(2):
        for word in (digest, digest[:8], uid):
            assert recorded.json("show", word)["session"]["uid"] == uid
        recorded("label", "set", "dag", digest[:8], "a=1")
        assert "is a session" in recorded("inputs", digest[:8], code=2).err
        recorded("reset", "-y")
    assert recorded.json("show", "--session", digest[:6])["session"]["labels"] == {"a": 1}
    assert recorded.json("show", digest)["dag_hash"] == digest
