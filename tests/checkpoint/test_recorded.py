"""A save inside of `roar run`: its files are not read again, and the record knows it."""

import json
import os
import subprocess

import pytest

from conftest import Store

ROAR = os.environ.get("ROAR", "")
TRACERS = ("ptrace", "hybrid", "preload")
STATE = ("w,F32,1024x1024,1", "b,BF16,4096,2")     # 4 MiB and a bit


class Project:
    """A project of roar with a store of checkpoints in it."""

    def __init__(self, path):
        self.path = path / "project"
        self.path.mkdir()
        self.store = Store(self.path / "ckpt")
        self.env = {**os.environ, "HOME": str(path), "XDG_CACHE_HOME": str(path / "cache")}
        self.roar("init", "-n")

    def roar(self, *argv):
        return subprocess.run([ROAR, *argv], cwd=self.path, check=True, env=self.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              timeout=120).stdout

    def save(self, tracer, step, *tensors, **options):
        self.roar("run", "-q", "--tracer", tracer, *self.store.command(step, *tensors,
                                                                       **options))

    def outputs(self, ref):
        shown = json.loads(self.roar("show", ref, "--json"))
        return shown, {os.path.basename(row["path"]): row for row in shown["outputs"]}

    def show(self, path):
        return json.loads(self.roar("show", path, "--json"))


@pytest.fixture(name="project")
def a_project(tmp_path):
    if not ROAR:
        pytest.skip("roar is not built")
    with open(ROAR, "rb") as program:
        is_sanitized = b"__asan_init" in program.read()
    if is_sanitized:
        pytest.skip("a sanitized writer starts a process, so that roar hashes itself")
    return Project(tmp_path)


@pytest.mark.parametrize("tracer", TRACERS)
def test_a_whole_save_is_recorded_by_the_digest_of_its_writer(project, tracer):
    project.save(tracer, 5, *STATE)
    job, outputs = project.outputs("@1")
    data, = (row for name, row in outputs.items() if name.endswith(".safetensors"))
    assert data["digest_by"] == ("roar" if tracer == "preload" else "writer")
    with open(os.path.join(project.store.step(5), "manifest.json"), encoding="utf-8") as f:
        manifest = json.load(f)
    assert data["digests"]["blake3"] == manifest["files"][0]["blake3"]
    assert project.roar("verify", "-q") == ""
    shown = project.show(project.store.step(5))
    assert shown["manifest"] == "recorded"
    assert shown["job_uid"] == job["job_uid"] == manifest["job"]
    assert shown["content"]["tensors"] == 2
    directory = outputs["step-000000000005"]
    assert shown["digests"] == directory["digests"]
    assert directory["digests"]["blake3"] in project.roar("hash", "--tree",
                                                          project.store.step(5))


def test_a_delta_has_its_parent_and_a_digest_of_roar(project):
    project.save("ptrace", 5, *STATE)
    project.save("ptrace", 6, "w,F32,1024x1024,1", "b,BF16,4096,3",
                 parent="step-000000000005")
    _, outputs = project.outputs("@2")
    data, = (row for name, row in outputs.items() if name.endswith(".safetensors"))
    assert data["digest_by"] == "roar"
    shown = project.show(project.store.step(6))
    assert shown["parent"] == "step-000000000005"
    assert shown["content"]["written_bytes"] < shown["content"]["size_bytes"]
    assert project.roar("verify", "-q") == ""


def test_the_ranks_of_a_sharded_save_report_their_own_files(project):
    ranks = []
    for rank in (0, 1):
        command = project.store.command(
            7, f"w,U8,4194304,1,{rank * 2097152},2097152", rank=f"{rank}/2",
            save_id="0123abcd", **({"commit": True} if rank == 0 else {"part": True}))
        ranks.insert(0, " ".join(f"'{word}'" for word in command))     # 0 commits last
    project.roar("run", "-q", "--tracer", "ptrace", "sh", "-ec", "\n".join(ranks))
    _, outputs = project.outputs("@1")
    data = [row for name, row in outputs.items() if name.endswith(".safetensors")]
    assert [row["digest_by"] for row in data] == ["writer", "writer"]
    shown = project.show(project.store.step(7))
    assert shown["ranks"] == 2 and shown["digests"]
    assert len(shown["content"]["files"]) == 2
    assert project.roar("verify", "-q") == ""
