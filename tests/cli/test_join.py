"""Records that travel between machines, and jobs that ran on several of them."""

import json
import os

import pytest
from helpers import make_place


@pytest.fixture
def other(project):
    """A project of another machine."""
    place = make_place(project.roar_program)
    place("init")
    yield place
    place.remove()


def export(place, *args):
    path = os.path.join(place.base, "record.jsonl")
    place("export", *args, "-o", path)
    return path


def facts(place, *target):
    """What show says of a job, without what depends on the place."""
    shown = place.json("show", *target)
    for key in ("session_uid", "labels", "tags"):
        shown.pop(key)
    for side in ("inputs", "outputs"):
        shown[side] = [(f["path"], f["digests"]) for f in shown[side]]
    return shown


def test_an_exported_session_arrives_as_a_closed_one(project, other):
    project.write("raw", "raw\n")
    project("run", "-q", "--hash", "sha256", "sh", "-c", "cat raw > data")
    project("run", "-q", "sh", "-c", "cat data > model; echo x >> model")
    project("label", "set", "dag", "current", "owner=alice")
    project("label", "set", "artifact", "model", "stage=best")
    uids = [j["job_uid"] for j in project.jobs()]
    path = export(project)
    assert other("import", path).out == f"Imported 2 jobs from {path}.\n"
    assert "(2 known already)" in other("import", path).out
    assert [j["job_uid"] for j in other.jobs()] == uids
    for uid in uids:
        assert facts(other, uid) == facts(project, uid)
    digest = project("session", "hash").out.strip()
    session = other.json("show", digest)["session"]
    assert session["uid"] == project.json("show")["session"]["uid"]
    assert session["closed_at"] and session["labels"] == {"owner": "alice"}
    model = project.json("show", "model")["digests"]["blake3"]
    assert other.json("show", model)["labels"] == {"stage": "best"}
    assert other.json("log")["jobs"] == []
    assert "sound" in other("db", "--check").out


def test_the_lineage_of_a_file_is_what_led_to_it(project, other):
    project.write("raw", "raw\n")
    project("run", "-q", "sh", "-c", "cat raw > data; echo 1 >> data")
    project("run", "-q", "sh", "-c", "cat raw > side; echo 2 >> side")
    project("run", "-q", "sh", "-c", "cat data > model; echo 3 >> model")
    other("import", export(project, "model"))
    assert [j["step_ref"] for j in other.jobs()] == ["@1", "@3"]
    out = project("export", "@2").out
    assert [json.loads(x)["job"]["step"] for x in out.splitlines()
            if x.startswith('{"job"')] == [2]


def test_what_is_no_record_is_refused_with_a_sentence(project, other):
    project("run", "-q", "true")
    whole = export(project)
    with open(whole, encoding="utf-8") as f:
        text = f.read()
    cut = os.path.join(project.base, "cut")
    for content, words in ((text[:-30], "cut off"),
                           (text.replace('"step":1', '"step":-1'), "'step'"),
                           ("hello\n", "none of the formats"),
                           ("", "none of the formats")):
        with open(cut, "w", encoding="utf-8") as f:
            f.write(content)
        done = other("import", cut, code=1)
        assert words in done.err and len(done.err.splitlines()) == 1
    assert "No such file" in other("import", "nothing", code=1).err
    assert other.jobs() == []
    assert "-" in project("export", "-f", "nonsense", code=2).err
    project("export", "nothing", code=1)
    # A failed export leaves no file.
    project("export", "-o", os.path.join(project.base, "no/such"), code=1)
