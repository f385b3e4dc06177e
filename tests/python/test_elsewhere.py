"""roar.shards() read by workers: each sample once, and no position that is not true."""

import io
import itertools
import os
import pickle
import subprocess
import sys
import tarfile

import pytest

import roar
from roar.pipeline import PipelineBuilder, run_pipeline_in_subprocess
from roar.readers import open_shard

torch_data = None
try:
    import torch.utils.data as torch_data
except ImportError:
    pass

needs_torch = pytest.mark.skipif(torch_data is None, reason="needs torch")
LOADERS = [] if torch_data is None else [torch_data.DataLoader, roar.DataLoader]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(name="tars")
def some_tars(tmp_path):
    """200 samples in shards of different sizes."""
    number = itertools.count()
    for n, size in enumerate((70, 1, 0, 99, 30)):
        with tarfile.open(tmp_path / f"{n}.tar", "w") as tar:
            for _ in range(size):
                info = tarfile.TarInfo(f"{next(number):06d}.txt")
                info.size = 3
                tar.addfile(info, io.BytesIO(b"abc"))
    return str(tmp_path / "*.tar")


def key(sample):
    return int(sample["__key__"])


def keys(batch):
    return [key(sample) for sample in batch]


def all_of(items):
    return [key(sample) for batch in items for sample in batch]


def pipeline(data, stage=keys, workers=1, method="fork", continuous=False, **how):
    config = (PipelineBuilder().add_source(data, continuous=continuous)
              .pipe(stage, **how).add_sink(4).get_config())
    return run_pipeline_in_subprocess(config, num_threads=2, timeout=30,
                                      mp_context=method, num_workers=workers)


# ---- pipelines

@pytest.mark.parametrize("method, continuous", [
    ("fork", False), ("spawn", False), ("fork", True)])
def test_the_position_follows_the_consumer_over_epochs(tars, method, continuous):
    data = roar.shards(tars, batch=10)
    items, wanted = pipeline(data, method=method, continuous=continuous), \
        roar.shards(tars, batch=10)
    for epoch in range(3):
        whole = all_of(wanted)
        seen = []
        for steps, batch in enumerate(items, 1):
            seen += batch
            state = data.state_dict(steps)
            assert (state["epoch"], data.epoch) == (epoch, epoch)
            if steps in (1, 13, 20):
                rest = roar.shards(tars, batch=10, resume=state)
                assert seen + all_of(rest) == whole if steps < 20 else True
                assert state["consumed"] == 10 * steps
        assert seen == whole
        assert data.state_dict() == wanted.state_dict()


def test_a_position_that_is_not_known_is_an_error(tars):
    data = roar.shards(tars, batch=10)
    items = pipeline(data)
    iterator = iter(items)
    next(iterator)
    with pytest.raises(RuntimeError, match="give the number of steps"):
        data.state_dict()
    with pytest.raises(IndexError):
        data.state_dict(21)
    state = data.state_dict(7)
    iterator.close()
    assert data.state_dict(7) == state      # the loop was left after 7
    with pytest.raises(RuntimeError, match="was left early"):
        iter(items)
    data.load_state_dict(state)
    assert data.state_dict() == state
    assert len(list(pipeline(data))) == 13
    assert data.epoch == 1 and data.state_dict()["consumed"] == 0
    with pytest.raises(ValueError, match="cannot have seen 20 steps of epoch 1"):
        data.state_dict(20)


def test_workers_do_not_stay_where_the_stream_is_no_more(tars):
    data = roar.shards(tars, batch=10)
    items = pipeline(data)
    data.load_state_dict({**data.state_dict(), "consumed": 50})
    with pytest.raises(RuntimeError, match="was changed after the workers"):
        iter(items)
    other = pipeline(data)
    assert len(list(other)) == 15
    data.set_epoch(7)
    with pytest.raises(RuntimeError, match="was changed after the workers"):
        iter(other)


def test_samples_out_of_order_have_no_position(tars):
    data = roar.shards(tars)
    for how in ({"concurrency": 2}, {"workers": 2}):
        seen = []
        for item in pipeline(data, stage=key, **how):
            seen.append(item)
            with pytest.raises(RuntimeError, match="out of order"):
                data.state_dict(len(seen))
        assert sorted(seen) == list(range(200))
        assert data.state_dict()["consumed"] == 0
    assert data.epoch == 2
    in_order = pipeline(data, stage=key, concurrency=2, output_order="input")
    next(iter(in_order))
    assert data.state_dict(1)["consumed"] == 1


def test_reading_ahead_over_the_end_of_an_epoch_is_told():
    order = roar.SampleOrder("d", 100, batch_size=10)
    assert len(list(order)) == 10       # read ahead; the model has seen 7 of them
    with pytest.raises(ValueError, match="name the epoch"):
        order.state_dict(7)
    state = order.state_dict(7, 0)
    assert (state["epoch"], state["consumed"]) == (0, 70)
    order.load_state_dict(state)
    list(order)
    assert order.state_dict(2, 0)["consumed"] == 90     # since it was resumed
    assert order.state_dict(2, 1)["consumed"] == 20
    with pytest.raises(ValueError, match="epoch needs steps"):
        order.state_dict(epoch=0)


# ---- DataLoaders

@needs_torch
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("loader", LOADERS)
def test_each_sample_comes_once_over_ranks_and_workers(tars, loader, persistent):
    ranks = [roar.shards(tars, rank=rank, world_size=2) for rank in range(2)]
    loaders = [loader(data, batch_size=7, num_workers=2 - rank,
                      persistent_workers=persistent)
               for rank, data in enumerate(ranks)]
    epochs = [[int(name) for items in loaders for batch in items
               for name in batch["__key__"]] for _ in range(2)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(200))] * 2
    assert epochs[0] != epochs[1]


@needs_torch
def test_spawned_workers_go_on_to_the_next_epoch(tars):
    items = torch_data.DataLoader(roar.shards(tars, batch=10), batch_size=None,
                                  num_workers=1, multiprocessing_context="spawn")
    wanted = roar.shards(tars, batch=10)
    for _ in range(2):
        assert all_of(items) == all_of(wanted)


@needs_torch
def test_without_workers_a_loader_is_like_a_loop(tars):
    for loader in LOADERS:
        data = roar.shards(tars)
        seen = [int(name) for batch in itertools.islice(
            loader(data, batch_size=7), 3) for name in batch["__key__"]]
        assert seen == [key(s) for s in itertools.islice(roar.shards(tars), 21)]
        assert data.state_dict()["consumed"] == 21


@needs_torch
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_a_loader_of_whole_batches_can_be_resumed(tars, loader, workers):
    data = roar.shards(tars, batch=8)
    whole = all_of(roar.shards(tars, batch=8))
    items = loader(data, batch_size=None, num_workers=workers)
    seen = []
    for steps, batch in enumerate(items, 1):
        seen += keys(batch)
        with pytest.raises(RuntimeError, match="give the number of steps"):
            data.state_dict()
        if loader is not roar.DataLoader:
            with pytest.raises(RuntimeError, match="name the epoch"):
                data.state_dict(steps)
        state = data.state_dict(steps, 0)
        if loader is roar.DataLoader:
            assert state == data.state_dict(steps)
        if steps == 11:
            break
    resumed = roar.shards(tars, batch=8, resume=state)
    rest = loader(resumed, batch_size=None, num_workers=workers)
    assert seen + all_of(rest) == whole
    assert len(all_of(rest)) == 200     # the next epoch
    assert resumed.state_dict(3, 1)["consumed"] == 24


@needs_torch
@pytest.mark.parametrize("loader", LOADERS)
def test_samples_of_several_workers_have_no_position(tars, loader):
    data = roar.shards(tars)
    for steps, _ in enumerate(loader(data, batch_size=8, num_workers=2), 1):
        with pytest.raises(RuntimeError, match="give roar.shards.. a batch"):
            data.state_dict(8 * steps, 0)


@needs_torch
@pytest.mark.parametrize("loader", LOADERS)
def test_workers_that_stay_do_not_go_on_after_a_loop_that_was_left(tars, loader):
    data = roar.shards(tars, batch=4)
    items = loader(data, batch_size=None, num_workers=2, persistent_workers=True)
    next(iter(items))
    with pytest.raises(RuntimeError, match="start new workers"):
        list(items)
    if loader is roar.DataLoader:
        assert len(list(loader(data, batch_size=None, num_workers=2))) == 50


def test_torch_is_not_imported_for_a_stream(tars):
    program = ("import sys, roar; data = roar.shards(sys.argv[1]); next(iter(data)); "
               "import roar.pipeline; sys.exit('torch' in sys.modules)")
    subprocess.run([sys.executable, "-c", program, tars], check=True,
                   env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


# ---- pickles

def test_streams_shards_and_orders_can_be_pickled(tars):
    data = roar.shards(tars, batch=10)
    loop = iter(data)
    for _ in range(3):
        next(loop)
    copy = pickle.loads(pickle.dumps(data))
    assert copy.state_dict() == data.state_dict()
    assert all_of(copy) == all_of(loop) and copy.epoch == data.epoch == 1
    with open_shard(tars.replace("*", "0"), views=True) as shard:
        again = pickle.loads(pickle.dumps(shard))
        assert (len(again), again.views) == (70, True)
        assert bytes(again[3]["txt"]) == b"abc"
    mix = roar.MixedOrder([roar.Part("a", 50, 2), roar.Part("b", 9, 1)], 60,
                          batch_size=6)
    next(iter(mix))
    assert list(pickle.loads(pickle.dumps(mix))) == list(mix)


def test_what_cannot_be_pickled_is_told(tars, tmp_path):
    data = roar.shards(tars, audit=tmp_path / "audit", world_epoch=1)
    with pytest.raises(TypeError, match="make the order in the process"):
        pickle.dumps(data)
    data.close()
