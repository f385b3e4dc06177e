"""Collections: directories and sets of files are one artifact."""

import sqlite3

from helpers import names_of

MAKE = "mkdir out; for i in 0 1 2; do echo shard $i > out/$i.tar; done"


def tree_hash(place, name):
    return place("hash", "--tree", name).out.split()[0]


def make_shards(place):
    place.sh(MAKE)
    return tree_hash(place, "out")


def test_a_run_makes_and_reads_one_artifact(project):
    tree = make_shards(project)
    project.write("more/extra", "x")
    project.sh("cat out/0.tar out/1.tar out/2.tar more/extra")
    project.sh("cat out/0.tar")

    made, read, part = (project.json("show", f"@{n}")["collections"]
                        for n in (1, 2, 3))
    assert made == [{"hash": tree, "kind": "webdataset", "members": 3,
                     "size_bytes": 24, "names": [],
                     "path": project.path("out"), "role": "output"}]
    assert read == [{**made[0], "role": "input"}]
    assert part == []

    for ref in ("out", tree[:12], "./out/"):
        shown = project.json("show", ref)
        assert shown["type"] == "collection" and shown["hash"] == tree
        assert [f["name"] for f in shown["files"]] == ["0.tar", "1.tar", "2.tar"]
        assert [job["step_ref"] for job in shown["made_by"]] == ["@1"]
        assert [job["step_ref"] for job in shown["used_by"]] == ["@2"]
    assert "Members (3)" in project("show", "out").out
    assert "wrote  out  (webdataset, 3 files)" in project("show", "@1").out


def test_lists_have_one_line_for_it(project):
    tree = make_shards(project)
    project.write("alone", "x")
    project.sh("cat out/*.tar alone")

    inputs = project("inputs", "@2").out
    assert f"{tree[:12]}  24 B" in inputs and "(webdataset, 3 files)" in inputs
    assert "0.tar" not in inputs and "alone" in inputs
    assert "0.tar" in project("inputs", "@2", "--files").out
    told = project.json("inputs", "@2")
    assert names_of(project, told["inputs"]) == [
        "alone", "out/0.tar", "out/1.tar", "out/2.tar"]
    whole, = told["collections"]
    assert whole["hash"] == tree and whole["made_by"]["step_ref"] == "@1"

    drawn = project("dag", "--show-artifacts").out
    assert f"{tree[:12]}  24 B" in drawn and "0.tar" not in drawn
    listed, = project.json("dag")["collections"]
    assert listed["hash"] == tree and listed["producer_ref"] == "@1"
    assert project("inputs", "out").out.startswith("Inputs of @1 ")


def test_a_job_that_is_popped_takes_it_along(project):
    tree = make_shards(project)
    project.sh("cat out/*.tar > copy")
    project("collection", "create", "kept", "out")
    project("pop", "-y")
    project("pop", "-y")
    assert not project.exists("out/0.tar")
    kept = project.json("show", "kept")
    assert kept["hash"] == tree and len(kept["files"]) == 3
    project("db", "--compact")
    assert len(project.json("show", "kept")["files"]) == 3
    assert "sound" in project("db", "--check").out
    project.sh("mkdir d; echo 1 > d/a; echo 2 > d/b")
    project("pop", "-y")
    assert len(project.json("collection", "ls")["collections"]) == 1


def test_a_name_is_given_and_moves_on(project):
    project.write("set/a.tar", "1")
    project.write("set/b.tar", "2")
    project.write("readme", "3")
    first = project.json("collection", "create", "data", "set")
    assert first["kind"] == "webdataset" and first["is_new"]
    assert first["hash"] == tree_hash(project, "set")
    assert not project.json("collection", "create", "data", "set")["is_new"]

    project.write("set/b.tar", "22")
    project.write("set/c", "4")
    second = project.json("collection", "create", "data", "set")
    assert second["names"] == ["data"] and second["is_new"]
    assert project.json("collection", "show", "data")["hash"] == second["hash"]
    assert project.json("collection", "show", first["hash"])["names"] == []

    differ = project("collection", "diff", first["hash"][:12], "data", code=1)
    assert differ.out.splitlines() == [
        "  changed  b.tar  1 B -> 2 B", "  added    c",
        "1 added, 0 removed, 1 changed, 1 the same"]
    assert project.json("collection", "diff", "data", "set")["same"] == 3

    mixed = project.json("collection", "create", "all", "readme", "set")
    assert mixed["kind"] == "files"
    assert [(f["name"], f.get("members")) for f in
            project.json("show", "all")["files"]] == [("readme", None), ("set", 3)]
    rows = project.json("collection", "ls")["collections"]
    assert [row["names"] for row in rows] == [[], ["data"], ["all"]]


def test_what_cannot_be_one(project):
    project.write("set/a", "1")
    project("hash", "set/a")
    said = project("collection", "create", "x", "set/gone", code=1).err
    assert "'set/gone': No such file or directory" in said
    said = project("collection", "create", "x", "set", "set/a", code=1).err
    assert "given twice" in said
    project("collection", "create", "two words", "set", code=2)
    project("collection", "create", "x", code=2)
    said = project("collection", "show", "x", code=1).err
    assert "'x' is not a collection" in said
    assert project.json("collection", "ls")["collections"] == []
    # Not all that is there, or not of the run.
    project.sh("mkdir new; echo a > new/a; echo b > new/b; cat set/a >> new/a")
    project.sh("echo c > new/c")
    rows = project.json("collection", "ls")["collections"]
    assert [row["path"] for row in rows] == [project.path("new")]


def test_the_report_that_is_an_output_counts_as_it_ends_up(project):
    project("run", "--", "sh", "-c", "mkdir log; exec 2>log/err; echo x > log/out; echo y >&2")
    with sqlite3.connect(project.path(".roar", "roar.db")) as db:
        rows = db.execute("SELECT count(*) FROM job_collections").fetchone()
    assert rows == (1,)
    assert project.json("show", "log")["hash"] == tree_hash(project, "log")
