"""--json of every reading command parses and has the documented fields."""

import json
import os
import re

import pytest

LOG_JOB = {"job_uid", "step_ref", "step_number", "kind", "name", "attempt",
           "command", "started_at", "duration_s", "status", "exit_code",
           "verdict", "inputs_count", "outputs_count", "session_uid",
           "labels", "nodes"}
SESSION = {"uid", "created_at", "closed_at", "imported_at", "jobs", "run_steps",
           "build_steps", "labels"}
FILE = {"path", "role", "digests", "digest_by", "size_bytes", "type", "intermediate",
        "filter", "read_order", "write_order", "reader_pid", "writer_pid",
        "read_bytes", "written_bytes", "renamed_from", "implied_by", "object"}


@pytest.fixture
def recorded(repo):
    repo.write("in", "input\n")
    repo("build", "-q", "sh", "-c", "echo lib >lib")
    repo.sh("cat in >out; echo t >t; rm t")
    repo.sh("cat out >final; exit 2", code=2)
    return repo


def test_log(recorded):
    log = recorded.json("log")
    assert set(log) == {"session", "total_jobs", "jobs"}
    assert set(log["session"]) == SESSION
    for job in log["jobs"]:
        assert set(job) == LOG_JOB
        assert re.fullmatch(r"[0-9a-f]{8}", job["job_uid"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z",
                            job["started_at"])
    assert [j["status"] for j in log["jobs"]] == ["ok", "ok", "failed"]
    assert log["jobs"][1]["inputs_count"] == 1
    assert log["jobs"][1]["outputs_count"] == 1


def test_status(recorded):
    status = recorded.json("status")
    assert set(status) == {"session", "dag_hash", "last_job", "stale_steps",
                           "outdated_steps", "artifacts", "totals"}
    assert set(status["last_job"]) == LOG_JOB
    assert re.fullmatch(r"[0-9a-f]{64}", status["dag_hash"])
    for a in status["artifacts"]:
        assert set(a) == {"path", "digests", "size_bytes", "state", "stale",
                          "made_by"}
    assert set(status["totals"]) == {"artifacts", "size_bytes", "present",
                                     "changed", "missing", "unverified",
                                     "remote"}


def test_show_session(recorded):
    shown = recorded.json("show")
    assert set(shown) == {"type", "session", "dag_hash", "jobs"}
    assert all(set(j) == LOG_JOB for j in shown["jobs"])


def test_show_job(recorded):
    shown = recorded.json("show", "@1")
    assert set(shown) == {"type"} | LOG_JOB | {
        "group", "executions", "variants", "script", "cwd", "gaps", "tracer", "observation",
        "roar_version", "host", "user", "git", "code", "resources", "tags", "blocked_tags", "inputs",
        "outputs", "temporaries", "touched", "collections", "shards", "filtered",
        "ranks", "machine", "use", "packages", "package_notes", "interpreters",
        "libraries", "environment", "trackers"}
    assert set(shown["git"]) == {"root", "commit", "branch", "remote",
                                 "dirty", "snapshot", "left_out",
                                 "left_out_count", "note"}
    assert set(shown["resources"]) == {"cpu_user_s", "cpu_system_s",
                                       "max_rss_bytes", "processes"}
    assert set(shown["inputs"][0]) == FILE | {"made_by"}
    assert set(shown["outputs"][0]) == FILE
    assert set(shown["temporaries"][0]) == FILE
    assert all(set(f) == {"filter", "read", "written"}
               for f in shown["filtered"])


def test_show_job_with_all_has_processes_and_filtered_files(recorded):
    shown = recorded.json("show", "--all", "@1")
    assert all(set(p) == {"pid", "parent_pid", "command", "started_at",
                          "ended_at", "wait_status", "rank"}
               for p in shown["processes"])
    assert any(f["filter"] == "system" for f in shown["inputs"])


def test_show_job_without_a_repository_has_no_git(project):
    project.run("true")
    assert project.json("show", "@1")["git"] is None


def test_show_artifact(recorded):
    shown = recorded.json("show", "out")
    assert set(shown) == {"type", "digests", "size_bytes", "first_seen_at",
                          "first_path", "kept", "paths", "labels", "tags", "made_by",
                          "used_by", "checkpoint"}
    assert set(shown["paths"][0]) == {"path", "state"}
    for use in shown["made_by"] + shown["used_by"]:
        assert set(use) == {"job_uid", "step_ref", "command", "started_at",
                            "path", "role", "digest_by", "read_bytes", "written_bytes",
                            "object"}


def test_dag(recorded):
    dag = recorded.json("dag")
    assert set(dag) == {"nodes", "artifacts", "total_steps", "stale_count",
                        "collections", "outdated_count", "stale_artifact_count", "superseded_artifact_count",
                        "session_id", "is_expanded", "labels"}
    for n in dag["nodes"]:
        assert set(n) == {"step_number", "step_ref", "job_id", "job_uid",
                          "command", "state", "outdated_by", "metrics", "dependencies",
                          "dependency_refs", "is_build", "step_name",
                          "exit_code", "verdict", "labels", "nodes"}
        assert n["state"] in ("active", "cached", "stale", "outdated",
                              "superseded")
    for a in dag["artifacts"]:
        assert set(a) == {"path", "hash", "size_bytes", "state",
                          "producer_step", "producer_ref", "consumer_steps",
                          "consumer_refs", "is_terminal", "superseded_by",
                          "labels"}


def test_inputs(recorded):
    found = recorded.json("inputs", "@2")
    assert set(found) == {"job", "scope", "inputs", "collections"}
    assert set(found["job"]) == {"job_uid", "step_ref"}
    assert set(found["inputs"][0]) == {"path", "digests", "size_bytes",
                                       "depth", "sourced", "moved", "object",
                                       "made_by", "used_by"}


def test_db(recorded):
    assert set(recorded.json("db")) == {
        "path", "size_bytes", "schema_version", "sessions", "jobs",
        "processes", "artifacts", "artifact_bytes", "paths", "file_uses",
        "unreferenced_artifacts", "oldest_job_at",
        "newest_job_at", "integrity", "freed_bytes"}


def test_config_env_and_filter(recorded):
    for row in recorded.json("config", "list"):
        assert set(row) == {"key", "value", "default", "help"}
    assert recorded.json("env", "list") == {}
    assert set(recorded.json("filter", "list")) == {"filters", "patterns"}


def test_an_empty_project_gives_json_too(project):
    assert project.json("log")["jobs"] == []
    assert project.json("status")["last_job"] is None
    assert project.json("dag")["nodes"] == []
    assert project.json("show")["jobs"] == []
    assert project.json("db")["jobs"] == 0


def test_json_is_one_document_on_stdout_and_nothing_on_stderr(recorded):
    for command in (["log"], ["status"], ["show"], ["show", "@1"], ["dag"],
                    ["inputs", "@1"], ["db"], ["config", "list"],
                    ["filter", "list"]):
        done = recorded(*command, "--json")
        json.loads(done.out)
        assert done.out.endswith("\n")
        assert done.err == ""
        assert "\033" not in done.out


def test_jobs_have_the_same_fields_everywhere(project):
    project.sh("echo a >a")
    session = project.json("status")["session"]["uid"]
    logged = project.json("log")["jobs"][0]
    assert logged["session_uid"] == session
    assert project.json("status")["last_job"] == logged
    assert project.json("show")["jobs"] == [logged]
    shown = project.json("show", "@1")
    assert {key: shown[key] for key in logged} == logged


def test_a_name_that_is_no_utf8_can_be_read_by_everybody(project):
    name = b"bad\xff\xfe"
    project.raw("run", "-q", "sh", "-c", "echo a >\"$1\"", "x", name)
    out = project.raw("show", "@1", "--json").out
    text = json.dumps(json.loads(out), ensure_ascii=False)
    text.encode("utf-8", "strict")
    row = json.loads(out)["outputs"][0]
    path = os.fsencode(project.root) + b"/" + name
    assert row["path"] == project.path("bad\ufffd\ufffd")
    assert bytes.fromhex(row["path_bytes"]) == path
    project.sh("cp bad* good")
    assert "path_bytes" not in project.json("show", "@2")["outputs"][0]
