"""DatasetRegistry and roar.shards(): samples dealt out exactly."""

import collections
import io
import itertools
import json
import os
import pickle
import resource
import subprocess
import sys
import tarfile
import threading
import time

import pytest

import roar
from arena_helpers import both, used
from roar import _collection
from roar._braces import braces
from roar.readers import ShardChanged, ShardError, open_shard


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(name="tars")
def some_tars(tmp_path):
    """Shards of different sizes: 0 to 12, 100 samples in all."""
    sizes, number = [13, 1, 20, 30, 0, 36], itertools.count()
    for n, size in enumerate(sizes):
        with tarfile.open(tmp_path / f"train-{n}.tar", "w") as tar:
            for _ in range(size):
                info = tarfile.TarInfo(f"{next(number):06d}.txt")
                info.size = 10
                tar.addfile(info, io.BytesIO(info.name[:10].encode()))
    return str(tmp_path / "train-*.tar")


def numbers(samples):
    return [int(sample["__key__"]) for sample in samples]


# ---- the registry of a process

def registry_of(*workers):
    registry = roar.DatasetRegistry()
    for worker in workers:
        registry.register_worker(worker)
    return registry


def test_every_shard_is_somebodys_and_nobody_has_two_more():
    workers = [f"w{i}" for i in range(7)]
    registry = registry_of(*workers)
    assert registry.register_dataset("d", 1_000_003, 10_000) == 101
    dealt = [registry.get_shards("d", w, 0) for w in workers]
    assert sorted(s.shard_id for mine in dealt for s in mine) == \
        list(range(101))
    assert {len(mine) for mine in dealt} == {14, 15}
    last, = (s for mine in dealt for s in mine if s.shard_id == 100)
    assert last == ("d", 100, 101, 1_000_000, 1_000_003, 0, [])
    assert last.num_samples == 3


def test_few_shards_move_when_a_worker_joins_or_leaves():
    workers = [f"w{i}" for i in range(10)]
    registry = registry_of(*workers)
    registry.register_dataset("d", 1000, 1)

    def owners():
        return {s.shard_id: w for w in registry.active_workers()
                for s in registry.get_shards("d", w, 0)}

    before = owners()
    registry.register_worker("new")
    after = owners()
    moved = [s for s in before if before[s] != after[s]]
    assert len(moved) == 1000 // 11
    assert all(after[s] == "new" for s in moved)
    registry.remove_worker("new")
    now = owners()
    assert len([s for s in after if after[s] != now[s]]) == len(moved)
    registry.remove_worker("new")   # who is not there
    assert registry.worker_count == 10


def counts(registry, dataset_id):
    return {w: len(registry.get_shards(dataset_id, w))
            for w in registry.active_workers()}


def test_shards_may_be_balanced_otherwise():
    registry = roar.DatasetRegistry()
    registry.register_worker("a", weight=3, home="east")
    sizes = [n * n % 77 + 1 for n in range(100)]
    registry.register_dataset("w", 100, 1, balance="weight")
    registry.register_dataset("b", 100, 1, balance="bytes", shard_bytes=sizes)
    registry.register_dataset("l", 100, 1, balance="locality",
                              shard_homes=["west", "east"])
    registry.register_dataset("r", 100, 1, balance="ring")
    registry.register_worker("b", home="west")
    assert counts(registry, "w") == {"a": 75, "b": 25}
    assert sum(counts(registry, "r").values()) == 100
    assert {s.shard_id for s in registry.get_shards("l", "a")} == \
        set(range(50, 100))
    loads = [sum(sizes[s.shard_id] for s in registry.get_shards("b", w))
             for w in "ab"]
    assert max(loads) - min(loads) <= max(sizes)
    with pytest.raises(ValueError, match="another balance"):
        registry.register_dataset("w", 100, 1)
    with pytest.raises(ValueError, match="one value for each shard"):
        registry.register_dataset("x", 2, 1, balance="bytes",
                                  shard_bytes=[1, 2, 3])
    with pytest.raises(ValueError, match="weight"):
        registry.register_worker("c", weight=0)


def test_the_order_of_shards_is_the_epochs():
    registry = registry_of("w")
    registry.register_dataset("d", 50, 1, seed=7)
    registry.register_dataset("still", 50, 1, shuffle=False)
    first, again, second = ([s.shard_id for s in registry.get_shards(
        "d", "w", epoch)] for epoch in (0, 0, 1))
    assert first == again != second
    assert sorted(second) == sorted(first) == list(range(50))
    assert [s.shard_id for s in registry.get_shards("still", "w", 3)] == \
        list(range(50))
    other = registry_of("w")
    other.register_dataset("d", 50, 1, seed=7)
    assert [s.shard_id for s in other.get_shards("d", "w", 0)] == first


def test_epochs_go_forward_only():
    registry = registry_of("w")
    registry.register_dataset("d", 10, 5)
    assert registry.current_epoch("d") == 0
    assert registry.advance_epoch("d") == 1
    assert registry.advance_epoch("d") == registry.current_epoch("d") == 2
    assert {s.epoch for s in registry.get_shards("d", "w")} == {2}
    with pytest.raises(ValueError, match="epoch 1 of dataset 'd' is over"):
        registry.get_shards("d", "w", 1)


def test_what_is_registered_can_be_seen():
    registry = registry_of("b", "a")
    registry.register_dataset("x", 10, 5)
    registry.register_dataset("x", 10, 5)
    assert registry.active_workers() == ["b", "a"]
    assert registry.datasets() == ["x"]
    assert (registry.worker_count, registry.dataset_count) == (2, 1)
    assert repr(registry) == "DatasetRegistry(workers=2, datasets=1)"


@pytest.mark.parametrize("values", [
    (-1, 5), (1 << 63, 5), (10, 0), (10, -1), (1.5, 5), (10, True),
    (1 << 62, 1)])
def test_senseless_numbers_are_refused(values):
    with pytest.raises(ValueError):
        roar.DatasetRegistry().register_dataset("d", *values)


def test_wrong_words_get_a_sentence():
    registry = registry_of("w")
    registry.register_dataset("d", 10, 5)
    with pytest.raises(ValueError, match="registered with another"):
        registry.register_dataset("d", 11, 5)
    with pytest.raises(ValueError, match="no dataset 'e'"):
        registry.get_shards("e", "w", 0)
    with pytest.raises(ValueError, match="no dataset 'e'"):
        registry.advance_epoch("e")
    with pytest.raises(ValueError, match="no worker 'v'"):
        registry.get_shards("d", "v", 0)
    with pytest.raises(TypeError, match="no option 'recordbytes'"):
        registry.register_dataset("f", 10, 5, recordbytes=3)


def test_a_dataset_without_samples_has_no_shards():
    registry = registry_of("w")
    assert registry.register_dataset("d", 0, 5) == 0
    assert registry.get_shards("d", "w", 0) == []


def test_shards_name_the_files_that_have_their_samples(tars):
    registry = registry_of("w")
    registry.register_dataset("d", 100, 30, shuffle=False, path=tars)
    names = [[os.path.basename(path) for path in s.file_paths]
             for s in registry.get_shards("d", "w", 0)]
    assert names == [["train-0.tar", "train-1.tar", "train-2.tar"],
                     ["train-2.tar", "train-3.tar"],
                     ["train-3.tar", "train-4.tar", "train-5.tar"],
                     ["train-5.tar"]]
    registry.register_dataset("e", 99, 30, path=tars)
    with pytest.raises(ValueError, match="99 samples, but its files have 100"):
        registry.get_shards("e", "w", 0)


# ---- many shards as one

def test_a_collection_is_one_row_of_samples(tars):
    files = _collection.Collection(tars)
    assert len(files) == 100
    assert numbers(files.samples(range(100))) == list(range(100))
    wanted = [99, 0, 13, 12, 14, 50, 13]
    assert numbers(files.samples(wanted)) == wanted
    assert numbers([files[13]]) == [13]
    with pytest.raises(IndexError):
        files[100]


BRACES = [
    "train-{0..5}.tar", "train-{3..1}.tar", "tr{ain,}-{0,5}.tar",
    "a{08..11}-{1..2}{x,yz}", "{1..3", "{a}", "{2..11}",
    "{000..005..2}", "{5..0..2}", "{1..7..-3}", "{1..3..0}", "{-02..3}", "{0..-3}",
    "{0..10}", "{a..e}", "{E..A..2}", "{a..e..2}x", "{a..1}", "{1..}", "{1..2..x}",
    "{000,00{1..5}}", "{a,{b,c{1..3},{x}}}", "{a{1,2}}", "{a,b}}",
    "{a,{b,c}", "{{a,b}", "a,b}", "}{a,b", "x{,}y", "{,a,}", "{a,b}{",
    r"\{a,b}", r"\{a,b\}", r"{a\,b,c}", r"{a,\{b,c}", r"{a,b\}}", r"x\\{a,b}", r"{a,b}\\",
]


def test_names_in_braces_are_those_of_bash():
    for pattern in BRACES:
        wanted = subprocess.run(["bash", "-c", f"printf '%s\\n' {pattern}"],
                                check=True, capture_output=True, text=True)
        # A word of bash that is empty goes away; as a name it stays.
        assert [name for name in braces(pattern) if name] == wanted.stdout.split(), \
            pattern


def test_names_in_braces_have_a_limit():
    assert braces("") == [""] and braces("{,a}") == ["", "a"]
    assert len(braces("{1..1000000}")) == 1000000
    for pattern in ("{0..1000000}", "{0..9}" * 7, "{1,2}" * 20, "{0..99999999999}"):
        with pytest.raises(ValueError, match="stands for more than 1000000 shards"):
            braces(pattern)


def test_shards_are_named_by_braces(tars):
    folder = os.path.dirname(tars)
    data = roar.shards(f"{folder}/train-{{0..2}}.tar")
    assert sorted(numbers(data)) == list(range(34))
    for pattern in ("train-{0..2..1}.tar", "train-{0,{1..2}}.tar"):
        assert sorted(numbers(roar.shards(f"{folder}/{pattern}"))) == list(range(34))
    os.symlink(f"{folder}/train-0.tar", f"{folder}/{{0}}.tar")
    assert len(roar.shards(rf"{folder}/\{{{{0,0}}\}}.tar")) == \
        2 * len(roar.shards(f"{folder}/{{0}}.tar"))
    with pytest.raises(FileNotFoundError, match="train-6.tar"):
        roar.shards(f"{folder}/train-{{0..6}}.tar")


@pytest.fixture(name="opened")
def opened_shards(monkeypatch):
    """The shards that are opened from now on, each with the name of its thread."""
    opened = []

    def noting(path, *args, **options):
        opened.append((os.path.basename(path), threading.current_thread().name))
        return open_shard(path, *args, **options)

    monkeypatch.setattr(_collection, "open_shard", noting)
    return opened


def test_shards_are_counted_when_the_numbers_are_first_needed(tars, opened):
    data = roar.shards(tars, seed=1)
    with pytest.raises(ValueError, match="tail is one of"):
        roar.shards(tars, tail="none")
    assert not opened
    assert len(data) == 100
    assert sorted(name for name, _ in opened) == \
        [f"train-{n}.tar" for n in range(6)]
    assert opened[0][1] == "MainThread"     # which found no index
    assert all(name.startswith("roar-scan") for _, name in opened[1:])
    assert sorted(numbers(data)) == list(range(100))
    copy = pickle.loads(pickle.dumps(roar.shards(tars, seed=1)))
    opened.clear()
    assert len(copy) == 100 and not opened


def test_kept_indexes_are_loaded_without_threads(tars, opened):
    end = time.monotonic() + 60     # files that changed only now get no index
    while not open_shard(tars.replace("*", "5")).index_was_kept:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert len(roar.shards(tars)) == 100
    opened.clear()
    assert len(roar.shards(tars)) == 100
    assert {name for _, name in opened} == {"MainThread"}


def test_damage_is_told_when_shards_are_counted(tars):
    with open(tars.replace("*", "3"), "r+b") as file:
        file.truncate(5000)
    data = roar.shards(tars)
    for _ in range(2):
        with pytest.raises(ShardError, match="train-3.tar' is truncated"):
            next(iter(data))


def test_few_shards_are_open_at_a_time(tars, monkeypatch):
    monkeypatch.setattr(_collection, "MAX_OPEN", 2)
    monkeypatch.setattr(_collection, "WINDOW", 7)
    files = _collection.Collection(tars)
    assert numbers(files.samples(range(100))) == list(range(100))
    assert len(files._open) <= 2


@pytest.mark.parametrize("batch", [None, 64, 300])
def test_many_shards_do_not_need_many_files(tmp_path, batch):
    for n in range(300):
        (tmp_path / f"{n:03d}.bin").write_bytes(n.to_bytes(2, "little"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    data = roar.shards(str(tmp_path / "*.bin"), record_bytes=2, window=0,
                       batch=batch)
    data.files.close()
    used_by_now = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used_by_now + 280, hard))
    try:
        found = list(data)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if batch is not None:
        found = list(itertools.chain.from_iterable(found))
    assert sorted(int.from_bytes(one, "little") for one in found) == \
        list(range(300))


def test_an_arena_is_filled_from_many_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(_collection, "MAX_NEEDED", 3)
    for n in range(10):
        (tmp_path / f"{n}.bin").write_bytes(bytes([n, n]))
    files = _collection.Collection(str(tmp_path / "*.bin"), record_bytes=1)
    order = [19, 0, 7, 7, 3, 12, 1, 18, 5, 9]
    found = bytearray(len(order))
    files.fill(order, found)
    assert list(found) == [number // 2 for number in order]


def test_a_shard_that_is_another_one_now_is_refused(tars, monkeypatch):
    monkeypatch.setattr(_collection, "MAX_OPEN", 1)
    files = _collection.Collection(tars)
    assert numbers([files[50]]) == [50]
    with tarfile.open(files.paths[0], "w"):
        pass
    with pytest.raises(ShardError, match="had 13 samples and has 0 now"):
        files[0]


def test_content_is_compared_before_it_is_used(tars, tmp_path):
    paths = _collection.paths_of(tars)
    digests = {os.path.basename(path): roar.hash_file(path) for path in paths}
    digests["train-3.tar"] = digests["train-0.tar"]
    files = _collection.Collection(tars, digests=digests)
    assert len(files) == 100
    assert numbers([files[0], files[99]]) == [0, 99]
    with pytest.raises(ShardChanged, match="content of '.*train-3.tar' is not the expected"):
        files[50]
    with pytest.raises(ShardChanged, match="train-3.tar"):
        list(roar.shards(tars, digests=digests))


def test_content_is_compared_once(tars, monkeypatch):
    opened = []
    real = _collection.open_shard
    monkeypatch.setattr(_collection, "MAX_OPEN", 1)
    monkeypatch.setattr(_collection, "open_shard", lambda path, **options:
                        opened.append(options.get("blake3")) or
                        real(path, **options))
    path = _collection.paths_of(tars)[0]
    files = _collection.Collection(tars, digests={path: roar.hash_file(path)})
    for _ in range(3):
        assert numbers([files[0], files[50]]) == [0, 50]
    assert sum(digest is not None for digest in opened) == 1
    os.utime(path, ns=(1, 1))
    assert numbers([files[50], files[0]]) == [50, 0]
    assert sum(digest is not None for digest in opened) == 2


# ---- roar.shards()

def test_one_rank_has_all_samples_once_in_another_order_each_epoch(tars):
    data = roar.shards(tars, seed=3)
    first, second = numbers(data), numbers(data)
    assert sorted(first) == sorted(second) == list(range(100))
    assert first != second != list(range(100))
    assert data.epoch == 2
    assert numbers(roar.shards(tars, seed=3, epoch=1)) == second
    assert numbers(roar.shards(tars, shuffle=False)) == list(range(100))


@pytest.mark.parametrize("world", (1, 2, 3, 7, 120))
def test_ranks_share_samples_without_overlap(tars, world):
    seen = [n for rank in range(world)
            for n in numbers(roar.shards(tars, rank=rank, world_size=world))]
    assert sorted(seen) == list(range(100))


def test_the_order_does_not_depend_on_the_number_of_ranks(tars):
    alone = numbers(roar.shards(tars, seed=5))
    three = [numbers(roar.shards(tars, seed=5, rank=r, world_size=3))
             for r in range(3)]
    together = [n for step in itertools.zip_longest(*three)
                for n in step if n is not None]
    assert together == alone


def test_the_first_sample_does_not_wait_for_a_plan_of_many(tmp_path, monkeypatch):
    (tmp_path / "a.bin").write_bytes(bytes(10000))
    planned = []
    ahead = roar.SampleOrder.ahead

    def noted(order, n):
        planned.append(n)
        return ahead(order, n)

    monkeypatch.setattr(roar.SampleOrder, "ahead", noted)
    data = iter(roar.shards(tmp_path / "a.bin", record_bytes=1))
    next(data)
    assert planned == [64]
    assert len(list(data)) == 9999
    assert planned == [64, 256, 1024, 4096, 4096, 4096]


def test_batches_are_lists(tars):
    data = roar.shards(tars, batch=32)
    assert [len(batch) for batch in data] == [32, 32, 32, 4]
    assert [len(b) for b in roar.shards(tars, batch=32, tail="drop")] == \
        [32] * 3


@pytest.mark.parametrize("batch", (None, 4))
def test_any_number_of_ranks_goes_on_where_others_stopped(tars, batch):
    seen, state, epoch = [], None, 0
    for world, steps in ((2, 5), (3, 4), (1, 2), (5, 1000)):
        ranks = [roar.shards(tars, seed=9, rank=r, world_size=world,
                             batch=batch, resume=state) for r in range(world)]
        for data in ranks:
            for item in itertools.islice(data, steps):
                seen += numbers(item if batch else [item])
        if steps < 1000:
            states = {json.dumps(data.position()) for data in ranks}
            assert len(states) == 1
            state = json.loads(states.pop())
            assert state["epoch"] == epoch
    assert sorted(seen) == list(range(100))


def test_a_position_counts_what_was_handed_out_not_what_was_read(tars):
    data = roar.shards(tars, seed=1)
    stream = iter(data)
    first = numbers(itertools.islice(stream, 7))
    rest = numbers(roar.shards(tars, seed=1, resume=data.state_dict()))
    assert sorted(first + rest) == list(range(100))
    seen = roar.shards(tars, seed=1, resume=data.state_dict(4))
    assert sorted(first[:4] + numbers(seen)) == list(range(100))
    last = roar.shards(tars, seed=1)
    stream = iter(last)
    numbers(itertools.islice(stream, 100))
    assert last.position()["epoch"] == 0    # not before the loop ends
    assert last.position()["consumed"] == 100
    assert list(stream) == []
    assert (last.epoch, last.position()["consumed"]) == (1, 0)


def test_one_loop_goes_on_at_a_time(tars):
    """What two would read ahead would come twice, or not at all."""
    data = roar.shards(tars)
    first, second = iter(data), iter(data)
    seen = numbers([next(first), next(second)])
    with pytest.raises(RuntimeError, match="another loop"):
        next(first)
    seen += numbers(second)
    assert sorted(seen) == list(range(100))


def test_a_state_is_not_loaded_under_a_loop(tars):
    data = roar.shards(tars, batch=10)
    state = data.state_dict()
    seen = []
    with pytest.raises(RuntimeError, match="a state was loaded"):
        for batch in data:
            seen += numbers(batch)
            if len(seen) == 50:
                data.load_state_dict(state)
    assert len(seen) == 50
    assert len(list(data)) == 10


def test_states_of_other_datasets_are_refused(tars):
    state = roar.shards(tars, seed=1).state_dict()
    with pytest.raises(ValueError, match="seed"):
        roar.shards(tars, seed=2, resume=state)
    with pytest.raises(ValueError, match="dataset"):
        roar.shards(tars, seed=1, name="other", resume=state)


def test_a_registry_tells_how_to_read(tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes(range(40)))
    registry = roar.DatasetRegistry()
    registry.register_dataset("d", 10, 5, shuffle=False,
                              path=tmp_path / "a.bin", record_bytes=4)
    assert list(roar.shards("d", registry=registry)) == [
        bytes(range(i, i + 4)) for i in range(0, 40, 4)]
    with pytest.raises(ValueError, match="no dataset 'e'"):
        roar.shards("e", registry=registry)
    registry.register_dataset("nowhere", 10, 5, record_bytes=4)
    with pytest.raises(ValueError, match="registered without a path"):
        roar.shards("nowhere", registry=registry)
    assert len(list(roar.shards("nowhere", registry=registry,
                                path=tmp_path / "a.bin"))) == 10


def test_lines_and_views_come_as_they_are_asked_for(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"[{i}]\n" for i in range(10)))
    assert sorted(roar.shards(path)) == [[i] for i in range(10)]
    raw = list(roar.shards(path, parse=False, views=True))
    assert all(isinstance(line, memoryview) for line in raw)
    assert sorted(map(bytes, raw))[0] == b"[0]"


def test_damage_is_told(tars, tmp_path):
    data = iter(roar.shards(tars, shuffle=False))
    next(data)
    target = tmp_path / "train-5.tar"
    os.truncate(target, 1000)
    with pytest.raises((ShardChanged, ShardError)):
        list(data)
    with pytest.raises(FileNotFoundError):
        roar.shards(tmp_path / "nothing-*.tar")


def test_a_bucket_is_named_and_not_a_pattern():
    with pytest.raises(ValueError, match="name one bucket"):
        roar.shards("s3://buck*/train-0.tar")


def test_a_rank_alone_means_nothing(tars):
    with pytest.raises(ValueError, match="belong together"):
        roar.shards(tars, rank=1)


def test_samples_can_feed_a_pipeline_in_a_subprocess(tars):
    from roar.pipeline import iterate_in_subprocess

    found = iterate_in_subprocess(lambda: roar.shards(tars, batch=10),
                                  mp_context="fork")
    keys = [sample["__key__"] for batch in found for sample in batch]
    assert sorted(map(int, keys)) == list(range(100))


def test_samples_can_be_the_source_of_a_pipeline(tars):
    from roar.pipeline import PipelineBuilder, build_pipeline

    config = (PipelineBuilder().add_source(roar.shards(tars))
              .pipe(lambda sample: int(sample["__key__"]), concurrency=2)
              .aggregate(7).add_sink(2).get_config())
    with build_pipeline(config, num_threads=2).auto_stop() as pipeline:
        batches = list(pipeline)
    assert sorted(n for batch in batches for n in batch) == list(range(100))


def test_batches_of_records_are_read_into_an_arena(tmp_path):
    for n in range(2):
        (tmp_path / f"{n}.bin").write_bytes(
            b"".join(bytes([n * 10 + i]) * 5000 for i in range(10)))
    arena = both()
    data = roar.shards(str(tmp_path / "*.bin"), record_bytes=5000, batch=6,
                       arena=arena, seed=2)
    plain = roar.shards(str(tmp_path / "*.bin"), record_bytes=5000, batch=6,
                        seed=2)
    for batch, want in zip(data, plain, strict=True):
        arena.send(batch)
        del batch
        got = arena.receive(timeout=2)
        assert bytes(got) == b"".join(want)
        del got
    assert used(arena) == 0
    with pytest.raises(ValueError, match="arena= is for batches of raw"):
        roar.shards(str(tmp_path / "*.bin"), record_bytes=5000, arena=arena)


def test_audits_of_all_ranks_prove_that_each_sample_came_once(tars, tmp_path):
    program = os.environ.get("ROAR")
    if not program:
        pytest.skip("needs the program roar")
    files, state = [], None
    for world, steps in ((2, 3), (3, 1000)):
        ranks = []
        for rank in range(world):
            files.append(tmp_path / f"{world}-{rank}.audit")
            ranks.append(roar.shards(
                tars, rank=rank, world_size=world, batch=5, resume=state,
                audit=files[-1], world_epoch=world))
        for data in ranks:
            for _ in itertools.islice(data, steps):
                pass
        if steps < 1000:
            state = ranks[0].state_dict()
        for data in ranks:
            data.close()
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    done = subprocess.run([program, "shards", "audit", *files], env=env,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([program, "shards", "audit", *files[:-1]], env=env,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1


# ---- inside `roar run`

TRAIN = """
import sys
import roar
data = roar.shards(sys.argv[1], rank=int(sys.argv[2]), world_size=2, name="set")
stop = int(sys.argv[3])
for i, sample in enumerate(data, 1):
    if i == stop:
        break
"""


def test_a_run_records_which_rank_took_what(tars, tmp_path):
    program = os.environ.get("ROAR")
    if not program or "LD_PRELOAD" in os.environ:
        pytest.skip("needs the program roar, without a sanitizer's library")
    train = tmp_path / "train.py"
    train.write_text(TRAIN)
    env = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run([program, "run", "-q", "--", "sh", "-c",
                    f"{sys.executable} train.py '{tars}' 0 0 && "
                    f"{sys.executable} train.py '{tars}' 1 30"],
                   cwd=tmp_path, env=env, check=True)
    shown = json.loads(subprocess.run(
        [program, "show", "@1", "--json"], cwd=tmp_path, env=env, check=True,
        capture_output=True).stdout)
    took = collections.Counter()
    ranks = collections.Counter()
    for shard in shown["shards"]:
        assert (shard["dataset"], shard["epoch"]) == ("set", 0)
        took[os.path.basename(shard["path"])] += shard["samples"]
        ranks[shard["rank"]] += shard["samples"]
    assert ranks == {0: 50, 1: 30}
    assert all(count <= size for count, size in zip(
        (took[f"train-{n}.tar"] for n in range(6)), (13, 1, 20, 30, 0, 36)))
    inputs = {os.path.basename(i["path"]) for i in shown["inputs"]}
    assert "train-3.tar" in inputs
