"""Datasets, shards and checkpoints of a job, by TrainingOrchestrator."""

import time

import pytest

from coordinator_helpers import (  # noqa: F401
    PATIENCE, Background, one_server, own_job, workers)
from roar import coordinator


def test_datasets_and_shards(server, job):
    with workers(server, 2, job=job) as (a, b):
        for _ in range(2):
            assert a.register_dataset("d", "/data", 95, 10, shuffle=False,
                                      metadata={"kind": "text"}) == 10
        first, second = a.get_shard("d"), b.get_shard("d", 1)
        assert (first.start_index, first.end_index) == (0, 10)
        assert first.num_samples == 10 and first.total_shards == 10
        assert (second.shard_id, second.epoch) == (5, 1)
        with pytest.raises(coordinator.CoordinatorInvalid):
            a.register_dataset("e", "/data", 95, 0)
        with pytest.raises(coordinator.CoordinatorNotFound):
            a.get_shard("none")


def test_shards_by_weight_and_home(server, job):
    with workers(server, 1, job=job) as (a,), \
            coordinator.TrainingOrchestrator(server.address, job=job) as b:
        b.register_worker("b", weight=3, home="east")
        a.register_dataset("w", "", 100, 1, balance="weight")
        assert [sum(map(len, w.shards("w"))) for w in (a, b)] == [25, 75]
        # One name for fifty shards each.
        a.register_dataset("l", "", 100, 1, balance="locality",
                           shard_homes=["east", "west"])
        assert b.shards("l") == [range(50)]
        assert a.shard_table("l").at_home == 50
        assert a.shard_table("l").balance == "locality"


def test_shards_by_bytes(server, job):
    sizes = [n * n % 77 for n in range(100)]
    with workers(server, 3, job=job) as (a, b, c):
        a.register_dataset("d", "", 100, 1, balance="bytes", shard_bytes=sizes)
        loads = [sum(sizes[n] or 1 for part in w.shards("d") for n in part)
                 for w in (a, b, c)]
        assert max(loads) - min(loads) <= max(sizes)
        table = a.shard_table("d")
        assert (table.most_bytes, table.least_bytes) == (max(loads), min(loads))


def mixed(x):
    """As lib/shard/deal/hash_placement.c has it."""
    for factor in (0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53):
        x = (x ^ x >> 33) * factor % 2 ** 64
    return x ^ x >> 33


def key_of(name):
    x = 0xcbf29ce484222325
    for byte in name.encode():
        x = (x ^ byte) * 0x100000001b3 % 2 ** 64
    return mixed(x)


def by_rendezvous(shard, names):
    return max(names, key=lambda name: mixed(key_of(name) ^ shard))


def by_ring(shard, names):
    points = sorted((mixed((mixed(key_of(name)) + i) % 2 ** 64), name)
                    for name in names for i in range(150))
    return next((name for at, name in points if at >= shard), points[0][1])


@pytest.mark.parametrize("mode, place", [("rendezvous", by_rendezvous),
                                         ("ring", by_ring)])
def test_a_hash_needs_no_coordinator(server, job, mode, place):
    """Whoever knows the workers finds what the coordinator tells."""
    with workers(server, 3, job=job) as jobs:
        jobs[0].register_dataset("d", "", 50, 1, balance=mode)
        told = {n: w.worker_id for w in jobs
                for part in w.shards("d") for n in part}
        names = [w.worker_id for w in jobs]
        assert told == {n: place(mixed(n + 0x9e3779b97f4a7c15), names)
                        for n in range(50)}


@pytest.mark.parametrize("options, says", [
    ({"balance": "best"}, "must be one of"),
    ({"balance": "bytes"}, "need each other"),
    ({"shard_homes": ["a"]}, "need each other"),
    ({"balance": "bytes", "shard_bytes": [-1]}, "shard_bytes"),
    ({"balance": "locality", "shard_homes": "abc"}, "one value for each"),
])
def test_a_balance_that_is_none(server, options, says):
    with workers(server, 1, job="none") as (a,), \
            pytest.raises(ValueError, match=says):
        a.register_dataset("d", "", 10, 1, **options)


def test_all_shards_of_a_worker(server, job):
    with workers(server, 2, job=job) as (a, b):
        a.register_dataset("d", "/data", 95, 10)
        assert a.shards("d") == [range(5)] and b.shards("d") == [range(5, 10)]
        last = b.get_shards("d")[-1]
        assert (last.shard_id, last.start_index, last.end_index) == (9, 90, 95)
        assert last.num_samples == 5 and last.total_shards == 10
        table = a.shard_table("d")
        assert (table.most, table.least, table.n_workers) == (5, 5, 2)
        b.deregister()
        table = a.shard_table("d")
        assert table.moved == table.minimum == 5
        assert sorted(n for part in a.shards("d") for n in part) == list(range(10))


def test_moves_of_shards_are_waited_for(server, job):
    with workers(server, 2, job=job) as (a, b):
        a.register_dataset("d", "/data", 95, 10)
        a.shards("d")
        version = a.shard_table("d").version
        with pytest.raises(coordinator.CoordinatorTimeout):
            a.wait_shards("d", version, 0.05)
        waiting = Background(a.wait_shards, "d", version, PATIENCE)
        b.deregister()
        table = waiting.result()
        assert (table.version, table.n_workers) == (version + 1, 1)
        assert a.wait_shards("d", version, 0) == table


def test_an_epoch_is_not_left_unfinished(server, job):
    with workers(server, 1, job=job) as (a,):
        a.register_dataset("d", "/data", 95, 10)
        a.report_consumed("d", [range(10)])
        with pytest.raises(coordinator.CoordinatorStale,
                           match="85 of 95 samples are left"):
            a.advance_epoch("d", 1)
        assert a.advance_epoch("d", 1, abandon=True) == 1
        a.report_consumed("d", [range(95)], 1)
        assert a.advance_epoch("d", 2) == 2


def test_epochs_do_not_come_back(server, job):
    with workers(server, 2, job=job) as (a, b):
        a.register_dataset("d", "/data", 95, 10)
        for epoch in (1, 2, 3):
            assert [w.advance_epoch("d", epoch) for w in (a, b)] == \
                [epoch, epoch]
        assert a.get_shards("d")[0].epoch == 3
        with pytest.raises(coordinator.CoordinatorStale, match="next is 4"):
            a.advance_epoch("d", 5, abandon=True)
        with pytest.raises(coordinator.CoordinatorStale, match="is over"):
            b.advance_epoch("d", 2)
        with pytest.raises(coordinator.CoordinatorStale):
            b.get_shard("d", 2)


def test_consumed_positions_are_kept(server, job):
    with workers(server, 1, job=job) as (a,):
        a.register_dataset("d", "/data", 100, 10)
        assert a.report_consumed("d", [range(10), range(20, 30)]) == 20
        assert a.report_consumed("d", [range(5, 15)]) == 5
        assert a.consumed("d") == [range(15), range(20, 30)]
        assert a.consumed("d", missing=True) == [range(15, 20), range(30, 100)]
        with pytest.raises(coordinator.CoordinatorInvalid):
            a.report_consumed("d", [range(90, 101)])
        with pytest.raises(coordinator.CoordinatorStale):
            a.report_consumed("d", [range(1)], epoch=1)


def test_a_checkpoint_counts_when_all_have_saved_it(server, job):
    with workers(server, 2, job=job) as (a, b):
        assert a.latest_checkpoint() is None
        assert a.notify_checkpoint("c-7-0", 7, 1, "/ckpt/0", 10) == 0
        assert a.latest_checkpoint() is None
        assert b.notify_checkpoint("c-7-1", 7, 1, "/ckpt/1", 11,
                                   type="model_only") == 7
        found = a.latest_checkpoint()
        assert (found.step, found.epoch, found.path) == (7, 1, "/ckpt/0")
        assert abs(found.timestamp_ms / 1000 - time.time()) < 3600
