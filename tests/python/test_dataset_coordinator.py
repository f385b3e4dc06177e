"""Datasets that the workers of a job share through a coordinator."""

import itertools

import pytest

import roar
from coordinator_helpers import Server, workers


@pytest.fixture(name="server", scope="module")
def a_server():
    server = Server()
    yield server
    server.close()


@pytest.fixture(name="records")
def some_records(tmp_path):
    """Two files of 30 records of 2 bytes, numbered."""
    for n in range(2):
        (tmp_path / f"{n}.bin").write_bytes(
            b"".join((n * 30 + i).to_bytes(2, "little") for i in range(30)))
    return str(tmp_path / "*.bin")


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
        with pytest.raises(ValueError, match="told to itself"):
            books[0].get_shards("d", "w-1", 0)
        with pytest.raises(ValueError, match="only 'w-1' itself"):
            books[0].remove_worker("w-1")
        with pytest.raises(roar.CoordinatorError):
            books[0].register_dataset("d", 61, 7, path=records,
                                      record_bytes=2)


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
    registry.remove_worker("me")


def test_workers_take_each_sample_once_over_a_change_of_size(server, records):
    seen = []
    with workers(server, 2, job="take") as jobs:
        roar.DatasetRegistry(jobs[0]).register_dataset(
            "d", 60, 7, seed=4, path=records, record_bytes=2)
        data = [roar.shards("d", coordinator=job, batch=5) for job in jobs]
        assert [(d.rank, d.world_size) for d in data] == [(0, 2), (1, 2)]
        for one in data:
            for batch in itertools.islice(one, 2):
                seen += numbers(batch)
        position = data[0].position()
        assert position == data[1].position()
        assert position["seed"] == 4
    with workers(server, 3, job="take-again") as jobs:
        roar.DatasetRegistry(jobs[0]).register_dataset(
            "d", 60, 7, seed=4, path=records, record_bytes=2)
        for job in jobs:
            seen += numbers(roar.shards("d", coordinator=job,
                                        resume=position | {}))
    assert sorted(seen) == list(range(60))


def test_what_nobody_registered_is_a_sentence(server):
    with workers(server, 1, job="none") as (job,):
        with pytest.raises(ValueError, match="no dataset 'd'"):
            roar.shards("d", coordinator=job)
