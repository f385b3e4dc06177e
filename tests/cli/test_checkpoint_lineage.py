"""A checkpoint in the record: who saved it, with which code, from which samples."""

import json
import os
import shutil
import subprocess

import pytest

from helpers import row_of

REPORTER = os.environ.get("RUN_REPORTER", "")
TRACERS = ("ptrace", "hybrid", "preload")
SAVE = "9f3ac2d1"

pytestmark = pytest.mark.skipif(
    not REPORTER, reason="RUN_REPORTER does not name the helper")


def step_name(step):
    return f"step-{step:012}"


def data_name(rank=0, world=1):
    return f"data-{rank:05}-of-{world:05}-{SAVE}.safetensors"


def manifest(step, parent=None, world=1, **members):
    """The smallest valid one: a vector of two floats, written by rank 0."""
    files, parts = [], []
    for rank in range(world):
        name = data_name(rank, world)
        files.append({"rank": rank, "name": name, "size": 4104, "blake3": "ab" * 32,
                      "tree": name.replace(".safetensors", ".tree"),
                      "leaf_bytes": 1 << 20, "data_bytes": 4104,
                      "extents": [[0, 1, f"{step_name(step)}/{name}", 0]]})
        parts.append({"file": rank, "offset": [2 * rank], "shape": [2], "at": 4096})
    return {"roar_checkpoint": 1, "step": step, "epoch": 3, "save": SAVE,
            "created": "2026-11-18T05:00:00Z", "world_size": world, "world_epoch": 7,
            "fencing_token": 0, "job": None, "parent": parent,
            "metrics": {"loss": 0.25}, "tags": ["best"], "state": None,
            "data_position": {"epoch": 3, "steps": 12}, "rng": None, "files": files,
            "tensors": {"w": {"dtype": "F32", "shape": [2 * world], "parts": parts}},
            **members}


def put_manifest(place, name, step, **options):
    """Stores it with the seal, the BLAKE3 of all that is before."""
    text = json.dumps(manifest(step, **options))[:-1]
    path = place.write(name, text)
    seal = subprocess.run([REPORTER, f"show={path}"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()
    place.write(name, f'{text},"seal":"{seal}"}}\n')


def prepare(place, step, **options):
    """The files of a checkpoint, outside of what runs write."""
    put_manifest(place, f"made/{step}/manifest.json", step, **options)
    for rank in range(options.get("world", 1)):
        place.write(f"made/{step}/{data_name(rank, options.get('world', 1))}",
                    bytes([rank]) * 4104)


def save(step, world=1, parent=""):
    """The commands that write and commit a prepared checkpoint."""
    directory = f"c/{step_name(step)}"
    return f"""
mkdir -p {directory}
cp made/{step}/data-* {directory}
cp made/{step}/manifest.json {directory}/manifest.json.{SAVE}
mv {directory}/manifest.json.{SAVE} {directory}/manifest.json
"$0" checkpoint={step}:{world}:{parent}:{directory}
"""


def run(place, script, tracer="ptrace"):
    return place("run", "-q", "--tracer", tracer, "--", "sh", "-ec", script, REPORTER)


def shards(shown):
    return [(s["rank"], s["path"], s["samples"]) for s in shown["shards"]]


@pytest.mark.parametrize("tracer", TRACERS)
def test_a_checkpoint_says_where_it_comes_from(repo, tracer):
    prepare(repo, 100, world=2, parent=step_name(90))
    run(repo, '"$0" took=0:5:/d/0.tar took=1:7:/d/1.tar' + save(100, 2, step_name(90)),
        tracer)
    job = repo.last()
    shown = repo.json("show", f"c/{step_name(100)}")
    assert shown["type"] == "checkpoint"
    assert shown["path"] == repo.path("c", step_name(100))
    assert (shown["step"], shown["ranks"], shown["parent"]) == (100, 2, step_name(90))
    assert shown["manifest"] == "recorded"
    assert (shown["job_uid"], shown["step_ref"]) == (job["job_uid"], "@1")
    assert shown["git_commit"] == repo.git("rev-parse", "HEAD").strip()
    assert (shown["samples"], shown["shard_count"]) == (12, 2)
    assert shards(shown) == [(0, "/d/0.tar", 5), (1, "/d/1.tar", 7)]
    content = shown["content"]
    assert (content["tensors"], content["size_bytes"]) == (1, 8208)
    assert content["metrics"] == {"loss": 0.25} and content["tags"] == ["best"]
    assert content["data_position"] == {"epoch": 3, "steps": 12}
    text = repo("show", f"c/{step_name(100)}").out
    for part in ("Checkpoint 100", "as recorded", job["job_uid"], "1 tensor",
                 "Parent:", step_name(90),
                 shown["git_commit"][:12], "loss 0.25",
                 "Fed by 12 samples of 2 shards on 2 ranks", "/d/1.tar"):
        assert part in text
    assert repo.journals() == []


def test_its_files_lead_to_it(project):
    prepare(project, 1)
    run(project, save(1))
    directory = f"c/{step_name(1)}"
    for name in ("manifest.json", data_name()):
        shown = project.json("show", f"{directory}/{name}")
        assert shown["type"] == "artifact"
        assert shown["checkpoint"]["step"] == 1
        text = project("show", f"{directory}/{name}").out
        assert "Checkpoint 1\n" in text and "reported no samples" in text
    assert project.json("show", f"made/1/{data_name()}")["checkpoint"] is None
    digest = project.json("show", f"{directory}/manifest.json")["digests"]["blake3"]
    assert project.json("show", "--artifact", digest)["checkpoint"] is None


def test_the_directory_is_one_artifact(project):
    prepare(project, 1)
    run(project, save(1))
    directory = f"c/{step_name(1)}"
    row = row_of(project, project.last()["outputs"], directory)
    assert row["type"] == "directory"
    shown = project.json("show", directory)
    assert shown["digests"] == row["digests"]
    assert row["digests"]["blake3"] in project("hash", "--tree", directory).out
    assert row["size_bytes"] == sum(entry.stat().st_size for entry in
                                    os.scandir(project.path(directory)))
    assert project("verify").err == ""
    assert "FAILED" not in project("verify").out


def test_verify_of_the_directory_reads_its_files(project):
    prepare(project, 1)
    run(project, save(1))
    done = project("verify", f"c/{step_name(1)}")
    assert f"c/{step_name(1)}/manifest.json: OK" in done.out


def test_a_file_of_another_origin_makes_no_artifact_of_the_directory(project):
    prepare(project, 1)
    project.write(f"c/{step_name(1)}/other", "from before\n")
    run(project, save(1))
    assert project.json("show", f"c/{step_name(1)}")["digests"] is None
    assert all(row["type"] == "regular" for row in project.last()["outputs"])


def test_samples_count_up_to_each_step(project):
    for step in (1, 2, 3):
        prepare(project, step)
    run(project, '"$0" took=0:5:/a took=1:1:/b' + save(1)
        + '"$0" took=0:5:/a' + save(2, parent=step_name(1)) + save(3))
    for step, total, expected in ((1, 6, [(0, "/a", 5), (1, "/b", 1)]),
                                  (2, 11, [(0, "/a", 10), (1, "/b", 1)]),
                                  (3, 11, [(0, "/a", 10), (1, "/b", 1)])):
        shown = project.json("show", f"c/{step_name(step)}")
        assert shown["samples"] == total
        assert shards(shown) == expected
    with project.database() as db:
        assert db.execute("SELECT count(*) FROM checkpoint_shards").fetchone() == (3,)
        assert [tuple(row) for row in db.execute(
            "SELECT n, step FROM checkpoints ORDER BY n")] == [(1, 1), (2, 2), (3, 3)]


def test_the_record_is_enough(project):
    prepare(project, 1)
    run(project, '"$0" took=0:5:/a' + save(1))
    shutil.rmtree(project.path("c"))
    shown = project.json("show", f"c/{step_name(1)}")
    assert shown["manifest"] == "missing" and shown["content"] is None
    assert (shown["step"], shown["ranks"], shown["samples"]) == (1, 1, 5)
    assert "missing" in project("show", f"c/{step_name(1)}").out


def test_the_manifest_and_the_job_it_names_are_enough(project):
    project.run("true")
    uid = project.last()["job_uid"]
    prepare(project, 1, job=uid)
    os.rename(project.path("made/1"), project.path("made", step_name(1)))
    shown = project.json("show", f"made/{step_name(1)}")
    assert shown["manifest"] == "unrecorded"
    assert (shown["job_uid"], shown["command"]) == (uid, "true")
    assert shown["samples"] is None and shown["shards"] == []
    shown = project.json("show", f"made/{step_name(1)}/{data_name()}")
    assert shown["type"] == "checkpoint"    # the file itself is in no record


def test_a_job_of_another_record(project):
    prepare(project, 1, job="0123abcd")
    os.rename(project.path("made/1"), project.path("made", step_name(1)))
    assert "0123abcd (not in this record)" in project("show", f"made/{step_name(1)}").out


def test_a_manifest_that_was_replaced_or_damaged(project):
    prepare(project, 1)
    run(project, save(1))
    path = f"c/{step_name(1)}/manifest.json"
    put_manifest(project, path, 1, epoch=4)
    assert project.json("show", f"c/{step_name(1)}")["manifest"] == "changed"
    project.write(path, project.read(path).replace(b"0.25", b"0.24"))
    assert "seal" in project.json("show", f"c/{step_name(1)}")["manifest_error"]
    put_manifest(project, path, 2)
    assert "step 2" in project.json("show", f"c/{step_name(1)}")["manifest_error"]
    project.write(path, "{")
    shown = project.json("show", f"c/{step_name(1)}")
    assert shown["manifest"] == "invalid" and "manifest.json" in shown["manifest_error"]
    assert shown["ranks"] == 1
    assert "not valid: " in project("show", f"c/{step_name(1)}").out


def test_a_checkpoint_in_object_storage(project):
    url = f"s3://bucket/run/{step_name(5)}"
    run(project, f'"$0" took=0:2:/a checkpoint=5:4::{url}')
    for word in (url, url + "/", url + "/manifest.json"):
        shown = project.json("show", word)
        assert (shown["step"], shown["ranks"], shown["samples"]) == (5, 4, 2)
        assert shown["digests"] is None


@pytest.mark.parametrize("report", [
    "checkpoint=1:1::elsewhere",                        # not its name
    f"checkpoint=2:1::c/{step_name(1)}",                # another step
    f"checkpoint=1:0::c/{step_name(1)}",                # no writer
    f"checkpoint=1:1:../x:c/{step_name(1)}",            # not a parent
    f"checkpoint=1:1::before/{step_name(1)}",           # the run has not written it
])
def test_a_note_that_cannot_be_true_is_ignored(project, report):
    prepare(project, 1)
    put_manifest(project, f"before/{step_name(1)}/manifest.json", 1)
    script = save(1).rpartition('"$0"')[0]
    run(project, f'mkdir elsewhere\n{script}"$0" {report}')
    with project.database() as db:
        assert db.execute("SELECT count(*) FROM checkpoints").fetchone() == (0,)
    assert project.last()["verdict"] == "complete"
    assert project.journals() == []


def test_malformed_notes_are_ignored(project):
    project.run("sh", "-c", """
for run in .roar/runs/*.journal; do
    n=1
    for text in '' x '1\t1\t1\t0\t0\tab\t-\t/c'; do
        printf 'roar-checkpoints 1\n%b\n' "$text" >"${run%.journal}.checkpoints-$n"
        n=$((n + 1))
    done
done
""")
    with project.database() as db:
        assert db.execute("SELECT count(*) FROM checkpoints").fetchone() == (0,)
    assert project.journals() == []


def test_what_is_not_a_checkpoint_is_shown_as_before(project):
    project.write(f"{step_name(1)}/x", "x\n")
    project("show", step_name(1), code=1)
    project.run("cp", f"{step_name(1)}/x", "manifest.json")
    assert project.json("show", "manifest.json")["checkpoint"] is None


def test_outside_of_a_run_nothing_is_reported(empty):
    done = subprocess.run([REPORTER, f"checkpoint=1:1::s3://b/{step_name(1)}"],
                          check=True, cwd=empty.root, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "3\n"     # ESRCH
