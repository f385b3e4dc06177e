"""ROAR_RUN_REPORT_FILE tells the caller how a run went."""

import json
import os

from helpers import lines


def report(place, *words, code=0, name="report.json", **options):
    place("run", *words, code=code,
          env={"ROAR_RUN_REPORT_FILE": name}, **options)
    with open(place.path(name), encoding="utf-8") as f:
        return json.load(f)


def test_a_recorded_run(project):
    told = report(project, "-q", "sh", "-c", "exit 3", code=3)
    job = project.last()
    assert told == {"exit_code": 3, "setup_error": None,
                    "tracer_backend": job["tracer"], "recorded": True,
                    "record_error": None, "job_uid": job["job_uid"],
                    "step_ref": "@1", "verdict": "complete"}


def test_a_command_that_is_not_there(project):
    told = report(project, "nosuchcommand", code=127)
    assert told["exit_code"] == 127
    assert "nosuchcommand" in told["setup_error"]
    assert told["recorded"] is False
    assert told["job_uid"] is None


def test_a_run_that_could_not_be_recorded(project):
    for name in os.listdir(project.path(".roar")):
        if name.startswith("roar.db"):
            os.remove(project.path(".roar", name))
    os.mkdir(project.path(".roar", "roar.db"))
    told = report(project, "true")
    assert told["exit_code"] == 0
    assert told["recorded"] is False
    assert "roar.db" in told["record_error"]


def test_wrong_usage(project):
    told = report(project, "@9", code=1)
    assert told["exit_code"] == 1
    assert "@9" in told["setup_error"]


def test_the_name_is_relative_to_where_roar_was_started(project):
    os.mkdir(project.path("sub"))
    project.run("true", cwd=project.path("sub"))
    assert report(project, "@1")["step_ref"] == "@1"


def test_a_place_that_cannot_be_written_is_one_sentence(project):
    done = project("run", "-q", "true",
                   env={"ROAR_RUN_REPORT_FILE": "no/such/folder"})
    assert len(lines(done.err)) == 1
    assert "ROAR_RUN_REPORT_FILE" in done.err
    assert len(project.jobs()) == 1


def test_without_the_variable_there_is_no_file(project):
    project("run", "-q", "true", env={"ROAR_RUN_REPORT_FILE": ""})
    assert os.listdir(project.root) == [".roar"]
