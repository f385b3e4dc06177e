"""roar lineage: the whole ancestry, as a tree, a table and JSON."""


def record(project):
    project.write("raw", "1\n")
    project.sh("cat raw >features")
    project("reset", "-y")
    project.sh("cat raw features >model")
    project.sh("cat model features >report")


def names(project, rows):
    return [(r["path"].rpartition("/")[2], r["depth"], r["again"]) for r in rows]


def test_a_tree_prints_shared_inputs_once(project):
    record(project)
    text = project("lineage", "report", env={"LC_ALL": "C"}).out
    lines = text.splitlines()
    assert lines[0].startswith("report") and " from @2 " in lines[0]
    assert lines[1].startswith("|- model") and " from @1 " in lines[1]
    assert lines[2].startswith("|  |- raw") and "unsourced" in lines[2]
    assert lines[3].startswith("|  `- features") and "of session" in lines[3]
    assert lines[4].startswith("|     `- raw")
    assert lines[5].startswith("`- features") and lines[5].endswith("(see above)")
    assert len(lines) == 6
    assert "unsourced" in project("lineage", "raw").out


def test_json_table_and_depth(project):
    record(project)
    answer = project.json("lineage", "@2")
    assert names(project, answer["inputs"]) == [
        ("model", 1, False), ("features", 1, False),
        ("raw", 2, False), ("features", 2, True), ("raw", 2, True)]
    first = project.jobs()[0]["job_uid"]
    assert answer["inputs"][1]["made_by"]["job_uid"] == first
    near = project.json("lineage", "@2", "--depth", "1")
    assert [r["depth"] for r in near["inputs"]] == [1, 1]
    table = project("lineage", "--table", "@2", "--depth", "1").out.splitlines()
    assert table[0].split()[0] == "DEPTH" and len(table) == 3
    project("lineage", code=2)
    project("lineage", "--depth", "0", "@1", code=2)
