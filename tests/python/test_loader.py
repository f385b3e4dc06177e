"""roar.DataLoader against torch's: same arguments, same batches, same errors."""

import copy
import dataclasses
import gc
import multiprocessing
import os
import pickle
import signal
import threading
import time

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

import loader_helpers as h  # noqa: E402
from program_helpers import gone, start_program  # noqa: E402
from torch.utils.data import RandomSampler, SubsetRandomSampler, TensorDataset  # noqa: E402
from torch.utils.data import DataLoader as TorchLoader  # noqa: E402

import roar  # noqa: E402
from roar.loader import DataLoader  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    gc.collect()
    end = time.monotonic() + 5
    while multiprocessing.active_children() and time.monotonic() < end:
        time.sleep(0.01)
    assert multiprocessing.active_children() == []


def same(a, b):
    """Equal to the last bit, with all types."""
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
        assert a.requires_grad == b.requires_grad and a.layout == b.layout
        assert torch.equal(a, b)
    elif isinstance(a, numpy.ndarray):
        assert (a.dtype, a.shape, a.flags.f_contiguous) == (
            b.dtype,
            b.shape,
            b.flags.f_contiguous,
        )
        assert a.tobytes() == b.tobytes()
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif dataclasses.is_dataclass(a):
        same(vars(a), vars(b))
    else:
        assert a == b


def epochs(cls, dataset, n, **kwargs):
    torch.manual_seed(3)
    seed = kwargs.pop("generator_seed", None)
    if seed is not None:
        kwargs["generator"] = torch.Generator().manual_seed(seed)
    if "sampler" in kwargs:
        kwargs["sampler"] = kwargs["sampler"](dataset)
    loader = cls(dataset, **kwargs)
    return [list(loader) for _ in range(n)]


def compare(dataset, n=2, **kwargs):
    mine = epochs(DataLoader, dataset, n, **kwargs)
    theirs = epochs(TorchLoader, dataset, n, **kwargs)
    assert any(theirs)
    same(mine, theirs)


# Of a dataset that is asked by index torch gives the same with any number of workers.
@pytest.mark.parametrize("workers", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"batch_size": 4},
        {"batch_size": 4, "drop_last": True},
        {"batch_size": 5, "shuffle": True},
        {"batch_size": 5, "shuffle": True, "generator_seed": 11},
        {"batch_size": None},
        {"batch_size": 3, "sampler": lambda d: RandomSampler(d, replacement=True)},
        {"batch_size": 3, "sampler": lambda d: SubsetRandomSampler(range(9))},
        {"batch_sampler": h.PairBatches()},
    ],
    ids=lambda kwargs: "-".join(kwargs) or "defaults",
)
def test_the_same_batches(workers, kwargs):
    mine = epochs(DataLoader, h.Images(), 2, num_workers=workers, **kwargs)
    theirs = epochs(TorchLoader, h.Images(), 2, **kwargs)
    assert any(theirs)
    same(mine, theirs)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_same_by_every_start_method(method):
    loader = DataLoader(
        h.Zoo(),
        num_workers=1,
        batch_size=4,
        multiprocessing_context=method,
        persistent_workers=True,
    )
    expected = list(TorchLoader(h.Zoo(), batch_size=4))
    for _ in range(2):
        same(list(loader), expected)


@pytest.mark.parametrize("batch_size", [None, 1, 5])
def test_everything_that_collates(batch_size):
    compare(h.Zoo(), num_workers=2, batch_size=batch_size)


@pytest.mark.parametrize("persistent", [False, True])
def test_the_same_random_numbers_per_worker_and_epoch(persistent):
    compare(
        h.Random(), 3, num_workers=2, batch_size=3, persistent_workers=persistent
    )


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_iterable_datasets(persistent, drop_last):
    compare(
        h.Stream(),
        num_workers=3,
        batch_size=4,
        persistent_workers=persistent,
        drop_last=drop_last,
    )


def test_worker_info_and_seeds():
    compare(h.Workers(), num_workers=3, batch_size=2, worker_init_fn=h.seed_by_worker)


@pytest.mark.parametrize("prefetch", [1, 5])
def test_prefetch_factor(prefetch):
    compare(h.Images(), num_workers=2, batch_size=4, prefetch_factor=prefetch)


def test_a_collate_function_of_the_users():
    compare(h.Numbers(), num_workers=2, batch_size=4, collate_fn=h.collate_objects)
    compare(h.Numbers(), num_workers=2, batch_size=4, collate_fn=h.collate_none)


def test_batches_that_grow():
    compare(h.Growing(), 2, num_workers=2, batch_size=1)


def test_tensor_datasets_and_pin_memory_without_a_device():
    dataset = TensorDataset(torch.arange(9000.0).reshape(90, 100), torch.arange(90))
    compare(dataset, num_workers=2, batch_size=8, pin_memory=True)


def test_a_length():
    assert len(DataLoader(h.Images(), batch_size=4, num_workers=2)) == 10


def test_batches_can_be_kept_and_written_to():
    loader = DataLoader(h.Images(40, 64), batch_size=4, num_workers=2)
    kept = list(loader)  # more than any arena was made for
    for images, labels in kept:
        for image, label in zip(images, labels):
            assert torch.all(image == float(label))
    kept[3][0].zero_()
    kept[3][0] += 5
    assert torch.all(kept[3][0] == 5)
    assert torch.all(kept[4][0][0] == 16)
    del loader
    gc.collect()
    assert torch.all(kept[9][0][3] == 39)


def test_an_epoch_may_be_left():
    loader = DataLoader(
        h.Images(), batch_size=4, num_workers=2, persistent_workers=True
    )
    for _ in range(3):
        for images, labels in loader:
            break
        assert labels.tolist() == [0, 1, 2, 3]
    assert sum(len(labels) for _, labels in loader) == 37


def error_of(cls, dataset, **kwargs):
    iterator = iter(cls(dataset, num_workers=2, **kwargs))
    with pytest.raises(Exception) as caught:
        list(iterator)
    # The collector would take it apart in an order that makes torch wait for 10 s.
    iterator._shutdown_workers()
    return caught.value


@pytest.mark.parametrize("error", [KeyError, ValueError, OSError])
def test_exceptions_are_torchs(error):
    mine, theirs = (
        error_of(cls, h.Failing(error=error)) for cls in (DataLoader, TorchLoader)
    )
    assert type(mine) is type(theirs)
    assert "worker process 1" in str(mine) and "no such sample" in str(mine)
    assert "in __getitem__" in str(mine)
    assert str(mine).splitlines()[0] == str(theirs).splitlines()[0]


def test_a_worker_that_cannot_start():
    mine, theirs = (
        error_of(cls, h.Images(), worker_init_fn=h.fail_to_start)
        for cls in (DataLoader, TorchLoader)
    )
    assert type(mine) is type(theirs) and "cannot start" in str(mine)


def test_the_loader_goes_on_after_an_error():
    iterator = iter(DataLoader(h.Failing(), num_workers=2, batch_size=1))
    got = []
    while True:
        try:
            got.append(int(next(iterator)[0, 0]))
        except KeyError:
            got.append("error")
        except StopIteration:
            break
    assert got == [0, 1, 2, 3, 4, "error", 6, 7, 8, 9]


def test_workers_end_with_an_epoch_that_failed():
    loader = DataLoader(h.Failing(), num_workers=2, batch_size=1)
    gc.disable()
    try:
        with pytest.raises(KeyError):
            list(loader)
        assert multiprocessing.active_children() == []
    finally:
        gc.enable()


def test_an_iterator_that_a_child_inherits_is_none_of_its_business():
    iterator = iter(DataLoader(h.Images(), num_workers=2))
    next(iterator)
    pid = os.fork()
    if pid == 0:
        try:
            iterator._shutdown_workers()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert len(list(iterator)) == 36


def test_a_batch_that_cannot_be_pickled_is_an_error_of_that_batch():
    error = error_of(
        DataLoader, h.Numbers(), batch_size=4, collate_fn=h.collate_lambda
    )
    assert "pickle" in str(error) and "worker process 0" in str(error)


def test_a_killed_worker_is_noticed():
    start = time.monotonic()
    error = error_of(DataLoader, h.Dying(signal.SIGKILL))
    assert isinstance(error, RuntimeError) and "exited unexpectedly" in str(error)
    assert "killed by signal" in str(error.__cause__)
    assert time.monotonic() - start < 5


@pytest.mark.timing
@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_a_killed_worker_is_noticed_at_once_in_any_thread(method, tmp_path):
    caught = []

    def iterate():
        try:
            list(DataLoader(h.Dying(signal.SIGKILL, tmp_path / "when"),
                            num_workers=2, multiprocessing_context=method))
        except RuntimeError as error:
            died = float((tmp_path / "when").read_text())
            caught.append((error, time.monotonic() - died))

    thread = threading.Thread(target=iterate)
    thread.start()
    thread.join()
    ((error, seconds),) = caught
    assert "exited unexpectedly" in str(error) and seconds < 2.5
    assert "was killed by signal 9 (SIGKILL)" in str(error.__cause__)
    assert str(error.__cause__.pid) in str(error)


@pytest.mark.parametrize("persistent", [False, True])
def test_a_worker_that_has_no_more_is_not_missed(persistent):
    loader = DataLoader(h.Uneven(), num_workers=2, persistent_workers=persistent)
    for _ in range(2):
        assert len(list(loader)) == 11


def test_a_timeout():
    error = error_of(DataLoader, h.Slow(), timeout=1)
    assert isinstance(error, RuntimeError) and "timed out after 1 s" in str(error)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 4},
        {"persistent_workers": True},
        {"batch_size": 2, "batch_sampler": h.PairBatches()},
        {"num_workers": 1, "multiprocessing_context": "teleport"},
        {"shuffle": True, "sampler": RandomSampler(h.Images())},
    ],
)
def test_garbage_is_refused_as_torch_does(kwargs):
    for cls in (TorchLoader, DataLoader):
        with pytest.raises(ValueError):
            cls(h.Images(), **kwargs)


def test_descriptors_stay_constant():
    loader = DataLoader(
        h.Images(200, 16), batch_size=1, num_workers=2, persistent_workers=True
    )
    for _ in loader:
        pass
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        for _ in loader:
            pass
        assert len(os.listdir("/proc/self/fd")) == before


def test_descriptors_are_given_back():
    def once():
        for _ in DataLoader(h.Images(), batch_size=4, num_workers=2):
            pass
        gc.collect()
        # A queue of multiprocessing is closed by its thread, some time after its end.
        for thread in threading.enumerate():
            if thread.name == "QueueFeederThread":
                thread.join(60)

    once()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        once()
    assert len(os.listdir("/proc/self/fd")) == before


def test_memory_is_used_again_in_the_next_epoch():
    loader = DataLoader(h.Images(40, 64), batch_size=4, num_workers=2)
    for _ in loader:
        pass
    first = [a.fileno() for a in loader._roar_spares._arenas]
    assert len(first) == 2
    for images, _ in loader:  # and an epoch that is left leaves nothing in there
        break
    held = images.clone()
    gc.collect()
    for _ in range(3):
        assert sum(len(labels) for _, labels in loader) == 40
    assert sorted(a.fileno() for a in loader._roar_spares._arenas) == sorted(first)
    assert torch.equal(images, held)
    assert pickle.loads(pickle.dumps(loader))._roar_spares._arenas == []


def test_a_batch_outlives_loader_and_workers():
    batch = next(iter(DataLoader(h.Zoo(), batch_size=4, num_workers=1)))
    gc.collect()
    expected = next(iter(TorchLoader(h.Zoo(), batch_size=4)))
    same(batch["tensor"], expected["tensor"])
    same(copy.deepcopy(batch["half"]), expected["half"])
    same(pickle.loads(pickle.dumps(batch["numpy"])), expected["numpy"])


PROGRAM = """
import loader_helpers
from roar.loader import DataLoader

def main():
    loader = DataLoader(loader_helpers.Pids(), batch_size=2, num_workers=2,
                        multiprocessing_context={method!r}, persistent_workers=True)
    iterator = iter(loader)
    kept = [next(iterator) for _ in range(4)]
    print(*sorted({{int(x[0]) for x in kept}}), flush=True)
    {then}

if __name__ == "__main__":
    main()
"""


def program(tmp_path, method, then):
    source = PROGRAM.format(method=method, then=then)
    return start_program(tmp_path, source, "-W", "ignore")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_program_ends_in_silence(tmp_path, method):
    done = program(tmp_path, method, "pass")
    out, err = done.communicate(timeout=60)
    assert (done.returncode, err) == (0, "")
    assert len(out.split()) == 2 and all(gone(int(pid)) for pid in out.split())


def test_a_program_ends_in_silence_while_a_daemon_thread_iterates(tmp_path):
    then = "import threading, time; " \
        "wait = DataLoader(loader_helpers.Sleeping(), num_workers=2); " \
        "threading.Thread(target=list, args=(wait,), daemon=True).start(); " \
        "time.sleep(0.5)"
    done = program(tmp_path, "fork", then)
    out, err = done.communicate(timeout=60)
    assert (done.returncode, err) == (0, "")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_die_with_their_parent(tmp_path, method):
    parent = program(tmp_path, method, "import time; time.sleep(60)")
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    parent.kill()
    parent.wait(10)
    end = time.monotonic() + 1
    while not all(gone(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.005)
    assert len(pids) == 2 and all(gone(pid) for pid in pids)


@pytest.mark.parametrize("kind", [TorchLoader, DataLoader])
def test_an_order_of_samples_is_a_batch_sampler(kind):
    """Epoch by epoch, for a rank among two; the state counts what the model saw."""
    ranks = [roar.SampleOrder("d", 100, rank=rank, world_size=2, batch_size=8)
             for rank in range(2)]
    loaders = [kind(range(100), batch_sampler=rank,
                    num_workers=rank.rank)
               for rank in ranks]
    epochs = []
    for _ in range(2):
        assert len(loaders[0]) == 7
        epochs.append([batch.tolist() for loader in loaders for batch in loader])
        assert sorted(sum(epochs[-1], [])) == list(range(100))
    assert epochs[0] != epochs[1] and ranks[0].epoch == 2
    assert ranks[1].state_dict() == ranks[0].state_dict()
