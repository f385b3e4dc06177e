"""Datasets that the workers of a job share through a coordinator."""

import array
import itertools

import pytest

import roar
from coordinator_helpers import Background, one_server, workers  # noqa: F401


@pytest.fixture(name="records")
def some_records(tmp_path):
    """Two files of 30 records of 2 bytes, numbered."""
    for n in range(2):
        (tmp_path / f"{n}.bin").write_bytes(
            b"".join((n * 30 + i).to_bytes(2, "little") for i in range(30)))
    return str(tmp_path / "*.bin")


def together(function, data):
    """At the same time, as ranks do."""
    waiting = [Background(function, one) for one in data]
    return [one.result() for one in waiting]


def numbers(samples):
    return [int.from_bytes(sample, "little") for sample in samples]


def test_workers_of_a_job_see_the_same_datasets(server, records):
    with workers(server, 3, job="see") as jobs:
        books = [roar.DatasetRegistry(job) for job in jobs]
        assert books[0].register_dataset("d", 60, 7, path=records,
                                         record_bytes=2) == 9
        books[1].register_dataset("d", 60, 7, path=records, record_bytes=2)
        assert [book.datasets() for book in books] == [["d"]] * 3
        assert {book.worker_count for book in books} == {3}
        assert sorted(books[2].active_workers()) == ["w-0", "w-1", "w-2"]
        dealt = [book.get_shards("d", f"w-{i}", 0)
                 for i, book in enumerate(books)]
        assert sorted(s.shard_id for mine in dealt for s in mine) == \
            list(range(9))
        assert {len(mine) for mine in dealt} == {3}
        assert all(s.file_paths for mine in dealt for s in mine)
        with pytest.raises(ValueError, match="sent to that worker only"):
            books[0].get_shards("d", "w-1", 0)
        with pytest.raises(ValueError, match="there is no worker 'nobody'"):
            books[0].get_shards("d", "nobody", 0)
        with pytest.raises(ValueError, match="only 'w-1' itself"):
            books[0].remove_worker("w-1")


@pytest.mark.parametrize("name, other", [
    ("total_samples", {"total_samples": 61}), ("shard_size", {"shard_size": 8}),
    ("shuffle", {"shuffle": False}), ("seed", {"seed": 43}),
    ("path", {"path": "elsewhere"}), ("record_bytes", {"record_bytes": 4}),
    ("kind", {"kind": "raw"})])
def test_a_dataset_stays_as_it_was_registered(server, records, name, other):
    """The same again changes nothing; what is another is named, and nothing of it
    is kept."""
    facts = {"total_samples": 60, "shard_size": 7, "path": records,
             "record_bytes": 2}
    with workers(server, 2, job=f"stays-{name}") as jobs:
        a, b = (roar.DatasetRegistry(job) for job in jobs)
        a.register_dataset("d", **facts)
        before = jobs[0].kv.list()
        b.register_dataset("d", **facts)
        if "path" in other:
            other = {"path": [__file__]}
        with pytest.raises(roar.CoordinatorError, match=f"another {name}"):
            b.register_dataset("d", **{**facts, **other})
        assert jobs[0].kv.list() == before
        assert b.spec("d") == a.spec("d")
        assert b.spec("d").options == {"record_bytes": 2}


def test_who_comes_second_is_told_by_the_coordinator(server, records):
    """Two register at once: the first one counts, in whole."""
    with workers(server, 2, job="second") as jobs:
        a, b = (roar.DatasetRegistry(job) for job in jobs)
        known, b._books.spec = b._books.spec, lambda _: None  # not yet there
        a.register_dataset("d", 60, 7, path=records, record_bytes=2)
        with pytest.raises(roar.CoordinatorError, match="another metadata"):
            b.register_dataset("d", 60, 7, path=records, record_bytes=4)
        b._books.spec = known
        assert b.spec("d").options == {"record_bytes": 2}


def test_ten_thousand_files_are_a_dataset(server, tmp_path):
    paths = [f"{tmp_path}/a-name-as-long-as-they-are/shard-{n:06}.bin"
             for n in range(10_000)]
    digests = {path: f"{n:064x}" for n, path in enumerate(paths)}
    with workers(server, 2, job="many") as jobs:
        a, b = (roar.DatasetRegistry(job) for job in jobs)
        for one in (a, b):
            one.register_dataset("d", 10**6, 100, path=paths, digests=digests,
                                 record_bytes=8)
        assert b.spec("d").source == paths
        assert b.spec("d").options["digests"] == digests
        assert len(jobs[0].kv.list("roar/content/")) > 1
        with pytest.raises(ValueError, match="1000001 files are more"):
            a.register_dataset("e", 10, 1, path=["x"] * 1_000_001)
        with pytest.raises(ValueError, match="more than 67108864"):
            a.register_dataset("e", 10, 1, path=["x" * 700] * 100_000)
        assert b.datasets() == ["d"]


def test_files_that_somebody_changed_are_not_believed(server, records):
    with workers(server, 1, job="changed") as (job,):
        roar.DatasetRegistry(job).register_dataset("d", 60, 7, path=records,
                                                   record_bytes=2)
        entry, = job.kv.list("roar/content/")
        job.kv.set(entry.key, entry.value.replace(b"0.bin", b"x.bin"))
        with pytest.raises(roar.CoordinatorError, match="not what was kept"):
            roar.shards("d", coordinator=job)
        job.kv.delete(entry.key)
        with pytest.raises(roar.CoordinatorError, match="0 bytes are left"):
            roar.DatasetRegistry(job).spec("d")


def test_a_dataset_of_another_client_can_be_read(server, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    with workers(server, 1, job="other") as (job,):
        job.register_dataset("d", str(tmp_path / "*.jsonl"), 2, 1,
                             format="jsonl")
        assert len(list(roar.shards("d", coordinator=job))) == 2


def test_shards_may_be_balanced_otherwise(server):
    with workers(server, 1, job="balance") as jobs, \
            roar.TrainingOrchestrator(server.address, job="balance") as other:
        books = [roar.DatasetRegistry(job) for job in (*jobs, other)]
        books[1].register_worker("strong", weight=4)
        for book in books:
            book.register_dataset("d", 100, 1, balance="weight")
            book.register_dataset("l", 100, 1, balance="locality",
                                  shard_homes=["x", "y"])
        assert len(books[1].get_shards("d", "strong")) == 80
        assert len(books[1].get_shards("l", "strong")) == 50
        with pytest.raises(roar.CoordinatorError, match="another balance"):
            books[0].register_dataset("d", 100, 1)
        with pytest.raises(roar.CoordinatorError, match="another balance"):
            books[0].register_dataset("l", 100, 1, balance="locality",
                                      shard_homes=["y", "x"])


@pytest.mark.parametrize("n", [1, 2, 8])    # with many shards each, and with few
def test_one_shard_is_the_first_of_all_in_the_epoch(server, n):
    """What clients of the reference train on is not the same in each epoch."""
    with workers(server, n, job=f"turn-{n}") as jobs:
        registries = [roar.DatasetRegistry(job) for job in jobs]
        registries[0].register_dataset("d", 400, 10, seed=3)
        jobs[0].register_dataset("in-turn", "", 400, 10, shuffle=False)
        found = set()
        for epoch in range(5):
            for rank, job in enumerate(jobs):
                shard = job.get_shard("d", epoch).shard_id
                found.add(shard)
                assert shard == registries[rank].get_shards(
                    "d", f"w-{rank}", epoch)[0].shard_id
            assert jobs[0].get_shard("in-turn", epoch).shard_id == 0
        assert len(found) > n


def test_an_epoch_goes_on_once_however_many_say_so(server, records):
    with workers(server, 3, job="epochs") as jobs:
        books = [roar.DatasetRegistry(job) for job in jobs]
        books[0].register_dataset("d", 60, 7, path=records, record_bytes=2)
        assert [book.current_epoch("d") for book in books] == [0, 0, 0]
        assert [book.advance_epoch("d") for book in books] == [1, 1, 1]
        assert [book.advance_epoch("d") for book in books] == [2, 2, 2]
        with pytest.raises(ValueError, match="is over"):
            books[1].get_shards("d", "w-1", 1)


def test_a_registry_can_make_its_own_connection(server):
    registry = roar.DatasetRegistry(server.address, job="own")
    registry.register_worker("me")
    registry.register_worker("me")
    assert registry.active_workers() == ["me"]
    registry.register_dataset("d", 10, 5)
    assert len(registry.get_shards("d", "me")) == 2
    registry.remove_worker("nobody")
    registry.remove_worker("me")
    registry.remove_worker("me")
    assert registry.worker_count == 0


def test_a_job_that_has_not_begun_has_no_workers(server):
    registry = roar.DatasetRegistry(server.address, job="not-begun")
    assert registry.active_workers() == registry.datasets() == []


def test_nobody_is_removed_by_another(server):
    with workers(server, 2, job="remove") as jobs:
        with pytest.raises(ValueError, match="only 'w-1' itself"):
            roar.DatasetRegistry(jobs[0]).remove_worker("w-1")


def test_a_dataset_may_be_registered_before_its_job_has_workers(server, records):
    registry = roar.DatasetRegistry(server.address, job="before")
    assert registry.register_dataset("d", 60, 7, path=records,
                                     record_bytes=2) == 9
    assert registry.spec("d").options == {"record_bytes": 2}


def test_workers_take_each_sample_once_over_a_change_of_size(server, records):
    seen = []
    with workers(server, 2, job="take") as jobs:
        roar.DatasetRegistry(jobs[0]).register_dataset(
            "d", 60, 7, seed=4, path=records, record_bytes=2)
        data = [roar.shards("d", coordinator=job, batch=5) for job in jobs]
        assert [(d.rank, d.world_size) for d in data] == [(0, 2), (1, 2)]
        for batches in together(lambda one: list(itertools.islice(one, 2)), data):
            seen += numbers(itertools.chain.from_iterable(batches))
        position = data[0].position()
        assert position == data[1].position()
        assert position["seed"] == 4
    with workers(server, 3, job="take-again") as jobs:
        roar.DatasetRegistry(jobs[0]).register_dataset(
            "d", 60, 7, seed=4, path=records, record_bytes=2)
        data = [roar.shards("d", coordinator=job, resume=position | {})
                for job in jobs]
        for samples in together(list, data):
            seen += numbers(samples)
    assert sorted(seen) == list(range(60))


def pull(job, name, most=None):
    """The numbers that a worker reads of what is lent to it; it may break off."""
    data = roar.shards(name, coordinator=job, window=2)
    seen = []
    for lease in job.pull(name, 0, exactly_once=True, timeout=30):
        for sample in data.lent(lease):
            if len(seen) == most:
                return seen
            seen += numbers([sample])
    return seen


def test_what_is_lent_is_read(server, records):
    with workers(server, 2, job="lent") as jobs:
        roar.DatasetRegistry(jobs[0]).register_dataset(
            "d", 60, 7, seed=4, path=records, record_bytes=2)
        first = pull(jobs[0], "d", 10)
        assert len(first) == 10
        found = together(lambda job: pull(job, "d"), jobs)
        assert sorted(first + found[0] + found[1]) == list(range(60))
        order = roar.SampleOrder("d", 60, seed=4, shard_size=7, window=2)
        assert first == order.of_epoch(0).samples(
            array.array("Q", range(10))).tolist()
        assert jobs[0].consumed("d") == [range(60)]


def test_epochs_are_pulled_one_after_the_other(server):
    """Who waits for the last piece of an epoch may find that others went on."""
    with workers(server, 2, job="pulled") as jobs:
        jobs[0].register_dataset("d", "", 40, 10)
        slow = jobs[1].take_lease("d", 0, timeout=30)
        seen = []

        def pull_all(job):
            datasets = roar.DatasetRegistry(job)
            while (epoch := datasets.current_epoch("d")) < 3:
                for lease in job.pull("d", epoch, timeout=30):
                    seen.append((epoch, lease.positions.start))
                datasets.advance_epoch("d")

        first = Background(pull_all, jobs[0])
        late = jobs[1].pull("d", 0, timeout=30)
        slow.consumed()
        first.result()
        assert list(late) == []
        pull_all(jobs[1])
        assert sorted([(0, slow.positions.start - 10), *seen]) == [
            (epoch, first) for epoch in range(3) for first in range(0, 40, 10)]
        with pytest.raises(roar.CoordinatorError, match="has not begun"):
            jobs[1].take_lease("d", 4, timeout=30)
        with pytest.raises(roar.CoordinatorError):
            jobs[1].take_lease("d", -1, timeout=30)


def test_what_nobody_registered_is_a_sentence(server):
    with pytest.raises(TypeError, match="register this process"):
        roar.shards("d", coordinator=server.address)
    with workers(server, 1, job="none") as (job,):
        with pytest.raises(ValueError, match="no dataset 'd'"):
            roar.shards("d", coordinator=job)
