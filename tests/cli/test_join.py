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
    assert session["closed_at"] and session["imported_at"]
    assert "(closed, imported)" in other("show", digest).out
    assert session["labels"] == {"owner": "alice"}
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


def test_records_of_nodes_become_one_step_with_one_verdict(project, other):
    for place in (project, other):
        place.write("raw", "raw\n")
    project("run", "-q", "true")
    project("run", "-q", "--group", "job 7", "--node", "0/2", "sh", "-c",
            "cat raw > a; echo a >> a")
    other("run", "-q", "--group", "job 7", "--node", "1/2", "sh", "-c",
          "cat raw > b; echo b >> b")
    alone = project("session", "join").out
    assert "incomplete, missing: node 1 of 2" in alone
    record = export(other)
    out = project("session", "join", "--group", "job 7", record).out
    assert out.startswith(f"Imported 1 job from {record}.\n")
    assert "Joined 2 records of group job 7 as @2 " in out
    assert out.endswith(": complete.\n")
    assert project("session", "join").out.startswith("Unchanged: 2 records")

    shown = project.json("show", "@2")
    assert shown["group"] == {"id": "job 7", "node": None, "node_count": 2}
    assert shown["verdict"] == "complete" and shown["attempt"] == 3
    assert [(n["node"], n["verdict"]) for n in shown["nodes"]] == [
        (0, "complete"), (1, "complete")]
    assert {os.path.basename(f["path"]) for f in shown["outputs"]} == {
        "a", "b"}
    assert "node 1, " in project("show", "@2").out
    assert "[2 nodes] " in project("log").out
    dag = project.json("dag")
    assert [n["step_ref"] for n in dag["nodes"]] == ["@1", "@2"]
    assert len(dag["nodes"][1]["nodes"]) == 2
    assert "[2 nodes] " in project("dag").out
    # Files of another machine are not looked for on this one.
    os.unlink(other.path("raw"))
    assert project.json("dag")["outdated_count"] == 0

    # A joined job travels with its parts, and taking it back deletes nothing.
    third = make_place(project.roar_program)
    try:
        third("init")
        third("import", export(project, "@2"))
        assert len(third.json("show", shown["job_uid"])["nodes"]) == 2
    finally:
        third.remove()
    project("pop", "-y")
    assert project.exists("a")
    assert "sound" in project("db", "--check").out


def test_ranks_and_the_group_come_from_the_environment(project):
    """As srun starts it: one task per node, below one Slurm job."""
    for rank in ("0", "1", "3"):
        project("run", "-q", "sh", "-c", "true; true", env={
            "SLURM_JOB_ID": "4242", "SLURM_STEP_ID": "0",
            "SLURM_PROCID": rank, "SLURM_NTASKS": "4",
            "SLURM_NODEID": rank, "SLURM_STEP_NUM_NODES": "4"})
    assert project.json("show", "@1")["group"] == {
        "id": "4242", "node": 3, "node_count": 4}
    out = project("session", "join").out
    assert "Joined 3 records of group 4242" in out
    assert "missing: rank 2 of 4" in out
    gaps = project.json("show", "@1")["gaps"]
    assert [(g["reason"], g["detail"]) for g in gaps] == [
        ("node", "rank 2 of 4")]


def test_wrong_groups_and_nodes_are_refused(project):
    for words in (["--group", ""], ["--group", "g", "--node", "2/2"],
                  ["--group", "g", "--node", "x"], ["--node", "0/2"]):
        project("run", *words, "true", code=2)
    assert "no recorded job belongs" in project("session", "join",
                                                code=1).err
    assert "'nobody'" in project("session", "join", "--group", "nobody",
                                 code=1).err
    assert project.jobs() == []
