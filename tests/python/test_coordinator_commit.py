"""Checkpoints that all ranks commit, or none, by TrainingOrchestrator."""

import hashlib

import pytest

from coordinator_helpers import (  # noqa: F401
    PATIENCE, QUICK, Background, one_server, own_job, Server, workers)
from roar import coordinator

SAVE = "9f3ac2d1"
MANIFEST = b"m" * 32


def part(worker):
    return hashlib.sha256(worker.worker_id.encode()).digest()  # 32 bytes


def never(parts):
    raise AssertionError(f"only rank 0 writes the manifest: {parts}")


def commit(worker, write=never, step=100, save=SAVE, **more):
    return worker.commit_checkpoint(step, save, part(worker), write,
                                    path="/c/step-000000000100",
                                    size_bytes=7, timeout=PATIENCE, **more)


def test_all_ranks_commit_one_manifest(server, job):
    with workers(server, 3, job=job) as (a, b, c):
        seen = []

        def write(parts):
            seen.append(parts)
            assert a.latest_checkpoint() is None
            return MANIFEST.hex()

        others = [Background(commit, w) for w in (b, c)]
        assert commit(a, write) == MANIFEST
        assert [other.result() for other in others] == [MANIFEST, MANIFEST]
        (parts, world_epoch, token), = seen
        assert [(p.rank, p.worker_id, p.digest, p.size_bytes)
                for p in parts] == [
            (rank, w.worker_id, part(w), 7)
            for rank, w in enumerate((a, b, c))]
        assert (world_epoch, token) == (c.world.epoch, 0)
        found = b.latest_checkpoint()
        assert (found.step, found.checkpoint_id, found.manifest, found.path) \
            == (100, SAVE, MANIFEST, "/c/step-000000000100")
        # Whoever lost the answer asks again.
        assert commit(c) == MANIFEST
        with pytest.raises(coordinator.CheckpointExists,
                           match="already saved as '9f3ac2d1'"):
            commit(b, save="00000000")


def test_a_manifest_that_cannot_be_written_fails_the_save(server, job):
    with workers(server, 2, job=job) as (a, b):
        def write(_):
            raise OSError(28, "No space left\non device")

        other = Background(commit, b)
        with pytest.raises(OSError, match="No space left"):
            commit(a, write)
        with pytest.raises(coordinator.CheckpointFailed,
                           match="No space left on device.*worker 'w-0'"):
            other.result()
        assert a.latest_checkpoint() is None


def test_a_rank_that_cannot_save_says_why(server, job):
    with workers(server, 2, job=job) as (a, b):
        waiting = Background(commit, a)
        b.fail_checkpoint(100, SAVE, "the disk is full")
        with pytest.raises(coordinator.CheckpointFailed,
                           match="the disk is full"):
            waiting.result()
        # And once more, as another save.
        other = Background(commit, b, save="00000001")
        assert commit(a, lambda _: MANIFEST, save="00000001") == MANIFEST
        assert other.result() == MANIFEST


def test_a_rank_that_dies_before_its_part_is_there(server, job):
    with workers(server, 2, QUICK, job=job) as (a, b):
        waiting = Background(commit, a)
        b.close()
        with pytest.raises(coordinator.CheckpointFailed,
                           match="1 of 2 parts were there; missing: 'w-1'"):
            waiting.result()


def test_another_world_is_refused(server, job):
    with workers(server, 2, job=job) as (a, _):
        with pytest.raises(coordinator.CheckpointFailed,
                           match="began in epoch 1 of the world"):
            commit(a, world_epoch=1)


def test_a_digest_that_is_none(server, job):
    with workers(server, 1, job=job) as (a,):
        for wrong in (b"short", "xyz", 7, "00" * 31):
            with pytest.raises(ValueError, match="part must be 32 bytes"):
                a.commit_checkpoint(1, SAVE, wrong, never)
        with pytest.raises(ValueError, match="the manifest's digest"):
            commit(a, lambda _: b"")
        with pytest.raises(coordinator.CheckpointFailed,
                           match="the manifest's digest must be"):
            commit(a)


def test_a_timeout_leaves_the_outcome_open(server, job):
    with workers(server, 2, job=job) as (a, b):
        with pytest.raises(coordinator.CoordinatorTimeout):
            b.commit_checkpoint(100, SAVE, part(b), never, timeout=0.2)
        assert commit(a, lambda _: MANIFEST) == MANIFEST
        assert commit(b) == MANIFEST


def test_a_save_goes_on_when_the_coordinator_is_killed():
    server = Server()
    try:
        with workers(server, 2, job="restart") as (a, b):
            other = Background(commit, b)

            def write(_):
                server.kill()
                server.start()
                return MANIFEST

            assert commit(a, write) == MANIFEST
            assert other.result() == MANIFEST
            server.kill()
            server.start()
            assert b.latest_checkpoint().manifest == MANIFEST
    finally:
        server.close()
