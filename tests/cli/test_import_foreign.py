"""`roar import` of what other programs have recorded."""

import json


LOCK = """schema: '2.0'
stages:
  train:
    cmd: python train.py --api-key=0123456789abcdef
    deps:
    - path: data.csv
      hash: md5
      md5: 8d777f385d3dfec8815d20f7496026dc
      size: 4
    outs:
    - path: model.pt
      hash: md5
      md5: 00000000000000000000000000000000
      size: 7
"""

EVENTS = [{"eventType": kind, "eventTime": f"2026-01-02T03:04:0{i}Z",
           "run": {"runId": "one"}, "job": {"namespace": "airflow", "name": "dag.task"},
           "inputs": [{"namespace": "postgres://db", "name": "public.users"}],
           "outputs": [{"namespace": "file", "name": "/data/users.csv"}]}
          for i, kind in enumerate(("START", "COMPLETE"))]


def test_stages_of_dvc_join_the_pipeline(project):
    project.write("data.csv", "data")
    project.write("dvc.lock", LOCK)
    assert "Imported 1 job" in project("import", "dvc.lock").out
    assert "(1 known already)" in project("import", "dvc.lock").out
    job = project.last("--all")
    assert job["tracer"] == "dvc" and job["verdict"] == "incomplete"
    assert "0123456789abcdef" not in json.dumps(job)
    assert [i["path"] for i in job["inputs"]] == [project.path("data.csv")]
    assert project.digests("data.csv")["blake3"]
    # A foreign command is never run unseen.
    done = project("run", "@1", code=1)
    assert "type it again" in done.err
    # What roar runs on the same file joins it.
    project.sh("cat data.csv > copy")
    assert len(project.json("dag")["nodes"]) == 2


def test_events_of_openlineage(project):
    project.write("events.ndjson", "\n".join(json.dumps(e) for e in EVENTS))
    assert "Imported 1 job" in project("import", "events.ndjson").out
    job = project.last()
    assert (job["tracer"], job["exit_code"]) == ("openlineage", 0)
    assert [i["path"] for i in job["inputs"]] == ["postgres://db/public.users"]
    # From roar to OpenLineage and back.
    project.sh("echo 1 > made")
    text = project("export", "--format", "openlineage", "-o", "mine.ndjson")
    assert text.code == 0
    assert "Imported" in project("import", "--format", "openlineage", "mine.ndjson").out


def test_what_is_wrong_is_named(project):
    project.write("dvc.lock", "stages: [")
    done = project("import", "dvc.lock", code=1)
    assert "dvc.lock" in done.err and "is not YAML" in done.err
    project.write("x.json", '{"runId": ')
    done = project("import", "--format", "openlineage", "x.json", code=1)
    assert "is not JSON" in done.err
    assert project.jobs() == []
