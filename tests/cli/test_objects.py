"""Objects of an S3 store are places of content beside files.

The log that the proxy of a run writes is written here by the command itself, so that
each case has exactly the requests it is about."""

import json
import os
import signal
import sqlite3
import subprocess

import pytest

from helpers import children_of, lines, until

ENDPOINT = "http://127.0.0.1:9000"
HEADING = "roar-objects 1\n"
LOG = ".roar/log.txt"  # where no record sees it
HELLO = "hello object\n"


def request(op, key, etag="", *, bucket="data", status=200, size=100,
            span="whole", blake3="-", flags="-", source="-", upload="-",
            part="-", version="-"):
    """A line of the log; span is FIRST-LAST, `whole` or -."""
    return "\t".join([op, "77", "1000", "2000", str(status), ENDPOINT, bucket,
                      key or "-", version, etag or "-", str(size), span,
                      blake3, "-", flags, source, upload, part]) + "\n"


def log_of(*requests, end=True):
    text = HEADING + "".join(requests)
    return text + f"end\t{len(requests)}\n" if end else text


def run(place, log, *command, code=0, options=()):
    """Runs a command that also leaves this log, as its proxy would."""
    place.write(LOG, log)
    script = ('for j in .roar/runs/*.journal; do '
              'cat ' + LOG + ' >"${j%.journal}.objects"; done; ' +
              (command[0] if command else ":"))
    return place("run", *options, "sh", "-c", script, *command[1:], code=code)


def objects(place, ref="@1"):
    """What the record says of each object: role, path, object."""
    shown = place.json("show", ref)
    rows = [row for key in ("inputs", "outputs", "temporaries")
            for row in shown[key] if row["type"] == "object"]
    return {(row["role"], row["path"]): row for row in rows}


def blake3_of(place, path):
    return place("hash", path).out.split()[0]


def left_over(place):
    return sorted(os.listdir(os.path.join(place.root, ".roar", "runs")))


# ---- roles and facts ----

def test_a_get_is_an_input_and_a_put_an_output(project):
    digest = "ab" * 32
    run(project, log_of(
        request("get", "in/a b", "e1", blake3=digest, version="v1"),
        request("put", "out", "e2", blake3="cd" * 32)))
    found = objects(project)
    assert set(found) == {("input", "s3://data/in/a b"),
                          ("output", "s3://data/out")}
    row = found["input", "s3://data/in/a b"]
    assert row["digests"] == {"blake3": digest}
    assert row["size_bytes"] == 100 and row["read_bytes"] == 100
    assert row["object"] == {
        "operation": "get", "endpoint": ENDPOINT, "version": "v1",
        "etag": "e1", "ranges": "whole", "copy_source": None, "parts": 0,
        "requests": 1, "pid": 77}
    shown = project.json("show", "@1")
    assert shown["verdict"] == "complete"
    assert left_over(project) == []


def test_counts_and_lists_know_objects(project):
    done = run(project, log_of(request("get", "a", "e1", span="0-9"),
                               request("put", "b", "e2")),
               options=["-v"])
    assert "s3://data/a" in done.err and "s3://data/b" in done.err
    job = project.json("log")["jobs"][0]
    assert (job["inputs_count"], job["outputs_count"]) == (1, 1)
    text = project("show", "@1").out
    assert "s3://data/a  (object)" in text
    assert "bytes 0-9  etag e1" in text


def test_a_local_file_and_its_object_are_one_artifact(project):
    project.write("local", HELLO)
    digest = blake3_of(project, "local")
    run(project, log_of(request("put", "copy", "e", size=len(HELLO),
                                blake3=digest)), "cat local >/dev/null")
    shown = project.json("show", digest[:16])
    assert {(p["path"].rpartition("/")[2], p["state"])
            for p in shown["paths"]} == {("local", "present"),
                                         ("copy", "remote")}
    assert [use["path"] for use in shown["made_by"]] == ["s3://data/copy"]
    assert shown["made_by"][0]["object"]["etag"] == "e"
    assert [use["object"] for use in shown["used_by"]] == [None]
    assert project.json("show", "s3://data/copy") == shown
    text = project("show", "s3://data/copy").out
    assert "remote      s3://data/copy" in text


def test_what_is_deleted_again_is_temporary(project):
    run(project, log_of(request("put", "k", "e", blake3="ab" * 32),
                        request("get", "k", "e"),
                        request("delete", "k", status=204)))
    row = objects(project)["temporary", "s3://data/k"]
    assert row["intermediate"]


def test_the_same_requests_make_the_same_session_hash(project):
    log = log_of(request("put", "k", "e", blake3="ab" * 32))
    run(project, log)
    first = project.json("status")["dag_hash"]
    project("reset", "-y")
    run(project, log.replace("data", "elsewhere"))
    assert project.json("status")["dag_hash"] == first
    project("reset", "-y")
    run(project, log.replace("ab" * 32, "ac" * 32))
    assert project.json("status")["dag_hash"] != first


# ---- what the log lacks ----

@pytest.mark.parametrize("log, reason, detail", [
    (log_of(request("get", "k", "e"), end=False), "proxy", ""),
    ("", "proxy", ""),
    (HEADING + "begin\t1\nend\t0\n", "request", "1 request"),
    (log_of(request("put", "k", "e", flags="unfinished")), "request",
     "s3://data/k"),
    (log_of("nonsense\n", request("get", "k", "e")), "object_log", "1 line"),
    ("nonsense\n", "object_log", "Bad message"),
    (log_of(request("get", "k")), "unreadable", "s3://data/k"),
])
def test_what_the_log_lacks_is_a_gap(project, log, reason, detail):
    run(project, log)
    shown = project.json("show", "@1")
    assert shown["verdict"] == "incomplete"
    assert [(gap["reason"], gap["detail"]) for gap in shown["gaps"]] == [
        (reason, detail)]


def test_a_log_without_requests_is_complete_and_says_so(project):
    done = run(project, log_of())
    assert "no request reached the S3 proxy" in done.err
    assert "0 requests through the S3 proxy" in done.err
    assert project.json("show", "@1")["verdict"] == "complete"
    assert run(project, log_of(), options=["-q"]).err == ""


def test_a_killed_roar_is_recorded_with_its_objects(project):
    project.write(LOG, log_of(request("put", "k", "e",
                                            blake3="ab" * 32)))
    front = subprocess.Popen(
        [project.roar_program, "run", "-q", "--tracer", "ptrace", "sh", "-c",
         'for j in .roar/runs/*.journal; do '
         'cat ' + LOG + ' >"${j%.journal}.objects"; done; touch ready; sleep 60'],
        cwd=project.root, env=project.env)
    until(lambda: os.path.exists(project.path("ready")))
    for pid in children_of(front.pid):
        os.kill(pid, signal.SIGKILL)
    front.wait()
    shown = project.json("show", "@1")
    assert "interrupted" in [gap["reason"] for gap in shown["gaps"]]
    assert ("output", "s3://data/k") in objects(project)
    assert left_over(project) == []


# ---- pipelines ----

def dependencies(place):
    return {node["step_ref"]: node["dependency_refs"]
            for node in place.json("dag")["nodes"]}


@pytest.mark.parametrize("put, get", [
    ({"blake3": "ab" * 32}, {"blake3": "ab" * 32}),
    ({"blake3": "ab" * 32}, {"span": "0-9"}),
    ({}, {"blake3": "ab" * 32}),
    ({}, {"span": "0-9"}),
])
def test_a_step_depends_on_the_step_that_stored_its_object(project, put, get):
    run(project, log_of(request("put", "k", "e1", **put)), "# first")
    run(project, log_of(request("get", "k", "e1", **get)), "# second")
    assert dependencies(project) == {"@1": [], "@2": ["@1"]}
    row = project.json("inputs", "@2")["inputs"]
    made = {r["path"]: r["made_by"] for r in row}
    assert made["s3://data/k"]["step_ref"] == "@1"
    assert "s3://data/k" in project("inputs", "@2").out


def test_a_part_of_a_known_object_is_that_artifact(project):
    run(project, log_of(request("put", "k", "e1", blake3="ab" * 32)), "# 1")
    run(project, log_of(request("get", "k", "e1", span="0-9")), "# 2")
    run(project, log_of(request("get", "k", "e2", span="0-9")), "# 3")
    assert objects(project, "@2")["input", "s3://data/k"]["digests"] == {
        "blake3": "ab" * 32}
    assert objects(project, "@3")["input", "s3://data/k"]["digests"] is None


def test_other_content_in_the_place_makes_its_readers_stale(project):
    """By ETag alone: none of these objects has a digest."""
    put = "# put"
    run(project, log_of(request("put", "k", "e1")), put)
    run(project, log_of(request("get", "k", "e1", span="0-9")), "# get")
    run(project, log_of(request("put", "k", "e1")), put)
    states = {n["step_ref"]: n["state"] for n in project.json("dag")["nodes"]}
    assert states == {"@1": "cached", "@2": "active"}
    run(project, log_of(request("put", "k", "e2")), put)
    states = {n["step_ref"]: n["state"] for n in project.json("dag")["nodes"]}
    assert states["@2"] == "stale"


def test_a_file_that_was_downloaded_leads_to_who_stored_it(project):
    project.write("local", HELLO)
    digest = blake3_of(project, "local")
    run(project, log_of(request("put", "k", "e", blake3=digest)),
        "cat local >/dev/null # up")
    run(project, log_of(request("get", "k", "e", blake3=digest)),
        "printf 'hello object\\n' >copy")
    project("run", "-q", "cat", "copy")
    assert dependencies(project) == {"@1": [], "@2": ["@1"], "@3": ["@2"]}


# ---- commands that work with files ----

def test_verify_leaves_objects_alone_and_says_so(project):
    run(project, log_of(request("put", "k", "e", blake3="ab" * 32)),
        "echo x >out")
    done = project("verify")
    assert "s3://data/k: not a local file" in lines(done.out)
    assert "out: OK" in lines(done.out)
    assert "objects of a store: 1 object" in done.err
    states = {row["path"]: row["state"]
              for row in json.loads(project("verify", "--json").out)}
    assert states == {"out": "ok", "s3://data/k": "remote"}
    assert "not a local file" in project("verify", "s3://data/k").out
    assert "not a local file" not in project("verify", "--quiet").out


def test_pop_removes_the_record_and_no_object(project):
    run(project, log_of(request("put", "k", "e", blake3="ab" * 32)),
        "echo x >out")
    done = project("pop", "-y")
    assert "keep    s3://data/k (it is an object of a store)" in done.out
    assert not os.path.exists(project.path("out"))
    with sqlite3.connect(project.path(".roar", "roar.db")) as base:
        assert base.execute("SELECT count(*) FROM objects").fetchone() == (0,)


def test_status_counts_objects_as_remote(project):
    run(project, log_of(request("put", "k", "e", blake3="ab" * 32)),
        "echo x >out")
    text = project("status").out
    assert "Remote" in text and "1 remote" in text
    found = project.json("status")
    assert found["totals"]["remote"] == 1
    assert {a["state"] for a in found["artifacts"]} == {"present", "remote"}


def test_a_place_that_nobody_used_is_named(project):
    project.sh("echo x >out")
    done = project("show", "s3://data/none", code=1)
    assert "no recorded job used an object 's3://data/none'" in done.err
