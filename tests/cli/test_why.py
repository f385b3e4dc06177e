"""roar why: how a file came into the record, or what kept it out."""


def commands(deed):
    return [p["command"] for p in deed["processes"]]


def test_the_processes_that_used_a_file_up_to_the_command(project):
    project.write("data", "1\n")
    project.sh("sh -c 'cat data; echo 2' >model; true")
    (use,) = project.json("why", "data")["uses"]
    assert (use["role"], use["filter"]) == ("input", None)
    (deed,) = use["evidence"]
    assert deed["how"] == "read"
    chain = commands(deed)
    assert chain[0].endswith("cat data") and len(chain) == 3
    assert "sh -c" in chain[-1]

    text = project("why", "data").out
    assert "read by" in text and text.count("started by") == 2

    # By hash: at each place; another job that did not use it.
    project.run("cp", "model", "copy")
    answer = project.json("why", project.digests("model")["blake3"][:16], "--all")
    assert {u["path"] for u in answer["uses"]} == {project.path("model"), project.path("copy")}
    done = project("why", "data", "@2", code=1)
    assert "That job has not used data" in done.out
    assert "1 other job used it too" in project("why", "model").out


def test_the_filter_that_left_a_file_out_and_the_remedy(project):
    project("filter", "add", "*.log")
    project.sh("cat /etc/passwd >/dev/null; echo 1 >a.log")
    (use,) = project.json("why", "/etc/passwd")["uses"]
    assert use["filter"] == "system"
    assert use["remedy"] == "roar config set filters.ignore_system_reads false"
    assert commands(use["evidence"][0])[0].endswith("cat /etc/passwd")
    (use,) = project.json("why", "a.log")["uses"]
    assert (use["filter"], use["remedy"]) == ("patterns", "roar filter remove '*.log'")
    text = project("why", "a.log").out
    assert "left out by the filter patterns" in text
    project("filter", "remove", "*.log")
    assert "was removed since" in project("why", "a.log").out


def test_a_file_that_no_run_saw(project):
    project.write("stranger")
    done = project("why", "stranger", code=1)
    assert "No recorded job has used stranger" in done.out
    assert project.json("why", "stranger", code=1)["uses"] == []
    project("why", code=2)
    project("why", "stranger", "@x", code=2)
