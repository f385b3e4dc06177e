"""Saves that a real coordinator commits: all ranks, or none."""

import json
import pathlib
import signal
import subprocess
import sys

import pytest

import roar
import roar.checkpoint as ckpt

numpy = pytest.importorskip("numpy")

sys.path.append(str(pathlib.Path(__file__).parent.parent / "python"))

from coordinator_helpers import (  # noqa: E402,F401
    PATIENCE, QUICK, Background, one_server, own_job, until, workers)
import blake3_numpy  # noqa: E402
from second import Second  # noqa: E402

WHOLE = numpy.arange(600_000, dtype="f4")


def save(worker, url, step=1, state=None, **more):
    return ckpt.save({"w": WHOLE} if state is None else state, url, step,
                     coordinator=worker, timeout=PATIENCE, **more)


def files(url):
    return sorted(p.name for p in pathlib.Path(url).glob("step-*/*"))


@pytest.mark.parametrize("asynchronous", [False, True])
def test_two_ranks_commit(tmp_path, server, job, asynchronous):
    with workers(server, 2, job=job) as both:
        ranks = [Background(save, worker, tmp_path, epoch=3) for worker in both[1:]]
        saved = save(both[0], tmp_path, epoch=3, asynchronous=asynchronous)
        if asynchronous:
            saved = saved.wait(PATIENCE)
        for rank in ranks:
            assert rank.result().save_id == saved.save_id
        found = both[1].latest_checkpoint()
        assert (found.step, found.epoch, found.checkpoint_id, found.path) == \
            (1, 3, saved.save_id, saved.path)
        manifest = pathlib.Path(saved.path, "manifest.json").read_bytes()
        assert blake3_numpy.subtree(manifest) == found.manifest
        assert json.loads(manifest)["world_epoch"] == both[1].world.epoch == 2
        assert len(json.loads(manifest)["files"]) == 2
    assert numpy.array_equal(Second(tmp_path, 1).tensor("w"), WHOLE)
    assert not [name for name in files(tmp_path) if "part-" in name or "writing" in name]


def test_one_rank_commits_alone(tmp_path, server, job):
    with workers(server, 1, job=job) as (alone,):
        manager = ckpt.CheckpointManager(tmp_path, keep_count=1, coordinator=alone)
        for step in (1, 2):
            manager.save({"w": WHOLE}, step)
        manager.wait_pending()
        assert alone.latest_checkpoint().step == 2
        assert [c.step for c in manager.all_checkpoints()] == [2]
        with pytest.raises(ckpt.CheckpointExists):
            save(alone, tmp_path, 2)


@pytest.mark.parametrize("failing", [0, 1])
def test_a_rank_that_fails_is_known_at_once(tmp_path, server, job, failing):
    with workers(server, 2, job=job) as both:
        save_both(both, tmp_path, 1)
        # With a timeout of ten minutes: whoever waited for it would not end.
        other = Background(ckpt.save, {"w": WHOLE}, tmp_path, 2,
                           coordinator=both[1 - failing])
        with pytest.raises(TypeError):
            ckpt.save({"w": object()}, tmp_path, 2, coordinator=both[failing])
        with pytest.raises(ckpt.CheckpointError, match=f"TypeError.*'w-{failing}'"):
            other.result()
        assert ckpt.open_checkpoint(tmp_path).step == 1
        assert not list(tmp_path.glob("step-000000000002/*"))
        save_both(both, tmp_path, 2)    # and again
    assert ckpt.open_checkpoint(tmp_path).step == 2


def save_both(both, url, step):
    other = Background(save, both[1], url, step)
    save(both[0], url, step)
    other.result()


def test_a_manifest_that_contradicts_itself_fails_on_all(tmp_path, server, job):
    with workers(server, 2, job=job) as both:
        other = Background(save, both[1], tmp_path, state={"w": WHOLE[1:]})
        with pytest.raises(ckpt.CheckpointError, match="another type or shape"):
            save(both[0], tmp_path)
        with pytest.raises(ckpt.CheckpointError, match="another type or shape"):
            other.result()
    assert files(tmp_path) == []


def test_a_part_that_was_replaced_is_refused(tmp_path, server, job):
    class Slow(roar.TrainingOrchestrator):
        def commit_checkpoint(self, step, save_id, part, write, **more):
            def late(parts):
                path, = tmp_path.glob("*/part-00001-of-*")
                path.write_text(path.read_text() + " ")
                return write(parts)
            return super().commit_checkpoint(step, save_id, part, late, **more)

    with Slow(server.address, job=job) as a, \
            roar.TrainingOrchestrator(server.address, job=job) as b:
        a.register_worker("w-0")
        b.register_worker("w-1")
        other = Background(save, b, tmp_path)
        with pytest.raises(ckpt.CheckpointDamaged, match="rank 1.*coordinator was told"):
            save(a, tmp_path)
        with pytest.raises(ckpt.CheckpointError, match="coordinator was told"):
            other.result()


def test_a_stale_token_is_refused(tmp_path, server, job):
    class Stale(roar.TrainingOrchestrator):
        fencing_token = 7

    with Stale(server.address, job=job) as worker:
        worker.register_worker("w-0")
        with pytest.raises(ckpt.CheckpointError, match="not known.*fencing token"):
            save(worker, tmp_path)
        assert worker.latest_checkpoint() is None
    assert ckpt.CheckpointManager(tmp_path).all_checkpoints() == []
    assert files(tmp_path)      # they stay, as nobody can know


def test_ranks_that_save_different_steps(tmp_path, server, job):
    with workers(server, 2, job=job) as both:
        other = Background(save, both[1], tmp_path, 2)
        with pytest.raises(ckpt.CheckpointError, match="saves step 2 instead"):
            save(both[0], tmp_path, 1)
        with pytest.raises(ckpt.CheckpointError, match="save the same on all"):
            other.result()
    assert files(tmp_path) == []


def test_what_a_coordinator_decides_is_not_given(tmp_path, server, job):
    with workers(server, 1, job=job) as (alone,):
        with pytest.raises(ValueError, match="agree on a save_id"):
            save(alone, tmp_path, save_id=ckpt.new_save_id())
        with pytest.raises(ValueError, match="commit=False"):
            save(alone, tmp_path, commit=False)
        with pytest.raises(ValueError, match="has 1 workers"):
            save(alone, tmp_path, rank=1, world_size=2)


DYING = """
import os, sys
import numpy, roar, roar.checkpoint as ckpt
address, job, url, name, when = sys.argv[1:]
worker = roar.TrainingOrchestrator(address, job=job)
worker.register_worker(name)

def die(*unused, **more):
    print("now", flush=True)
    os.kill(os.getpid(), 9)

if when == "before its part is told":
    worker.commit_checkpoint = die
elif when == "before the manifest":
    import roar.checkpoint._together as together
    together.Together._publish = die
ckpt.save({"w": numpy.arange(600_000, dtype="f4")}, url, 2, coordinator=worker)
"""


@pytest.mark.parametrize("when", ["before its part is told", "before the manifest"])
def test_a_rank_that_dies_between_the_phases(tmp_path, server, job, when):
    job = job.replace(" ", "-")
    command = [sys.executable, "-c", DYING, server.address, job, str(tmp_path), "dying", when]
    ckpt.save({"w": WHOLE + 1}, tmp_path, 1)
    with roar.TrainingOrchestrator(server.address, job=job) as worker:
        worker.configure(start_workers=2, **QUICK)
        if when == "before the manifest":      # which rank 0 writes: the first to join
            rank = subprocess.Popen(command)
            until(worker.workers)
            worker.register_worker("living")
        else:
            worker.register_worker("living")
            rank = subprocess.Popen(command)
        # It learns of the death, long before the ten minutes are over.
        with pytest.raises(ckpt.CheckpointError, match="dying|died|lost"):
            ckpt.save({"w": WHOLE}, tmp_path, 2, coordinator=worker)
        assert rank.wait(PATIENCE) == -signal.SIGKILL
    assert ckpt.open_checkpoint(tmp_path).step == 1
    assert numpy.array_equal(ckpt.load(tmp_path)["w"], WHOLE + 1)
