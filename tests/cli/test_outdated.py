"""Steps whose scripts or data somebody changed after they ran."""

import os

from helpers import SETTLE


def states(project):
    return {n["step_ref"]: n["state"] for n in project.json("dag")["nodes"]}


def test_an_edited_script_or_source_outdates_its_steps_until_they_run_again(project):
    project.write("data", "1\n")
    project.write("train.sh", "cat data >model\n")
    project.run("sh", "train.sh")
    project.sh("cat model >report")
    assert set(states(project).values()) == {"active"}

    project.write("train.sh", "sort data >model\n")
    assert states(project) == {"@1": "outdated", "@2": "active"}
    status = project.json("status")
    assert status["outdated_steps"] == ["@1"] and status["stale_steps"] == []
    assert "Outdated steps: @1\n" in project("status").out
    only = project.json("dag", "--stale-only")
    assert [n["outdated_by"] for n in only["nodes"]] == [project.path("train.sh")]
    assert only["outdated_count"] == 1
    project("run", "-q", "@1")
    assert states(project) == {"@1": "cached", "@2": "active"}

    # The same size and an old time: the content decides.
    project.write("data", "2\n", age=0)
    os.utime(project.path("data"), (1000, 1000))
    assert states(project) == {"@1": "outdated", "@2": "active"}
    project("run", "-q", "@1")
    assert states(project) == {"@1": "active", "@2": "stale"}

    # A result that somebody edited, and a source that is gone.
    project("run", "-q", "@2")
    project.write("model", "edited by hand\n", age=SETTLE)
    os.unlink(project.path("data"))
    assert states(project) == {"@1": "outdated", "@2": "outdated"}
