"""Iterating in other processes: epochs, errors, deaths, and nothing left behind."""

import collections
import gc
import multiprocessing
import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import popen_fork

import pytest
from pipeline_helpers import (
    Altered,
    Awkward,
    Calls,
    Each,
    counted_fds,
    double,
    each,
    fail_on_odd,
    flag,
    fresh_flag,
    generator,
    numbers,
    one_then_altered,
    one_then_awkward,
    one_then_exit,
    one_then_kill,
    one_then_long_error,
    one_then_os_exit,
    one_then_raise,
    one_then_sleep,
    one_then_unloadable,
    one_then_unpicklable,
    pid_for_ever,
    raise_value_error,
    random_number,
    set_flag,
    stubborn,
)
from program_helpers import gone, start_program

from roar.pipeline import (
    PipelineBuilder,
    PipelineFailure,
    SharedMemoryRingBuffer,
    SharedMemorySegmentPool,
    WorkerDied,
    WorkerTimeout,
    iterate_in_subprocess,
    run_pipeline_in_subprocess,
    worker_info,
)

METHODS = ["fork", "spawn", "forkserver"]


def spread(first, second, third):
    """Every pair of the first two, and the third in turn with both: all triples would
    start three times as many processes and find nothing more."""
    return [
        (a, b, third[(i + j) % len(third)])
        for i, a in enumerate(first)
        for j, b in enumerate(second)
    ]



@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    gc.collect()
    assert multiprocessing.active_children() == []


ARENAS = {
    "queue": lambda: None,
    "ring": lambda: SharedMemoryRingBuffer(1 << 20, acquire_timeout=20),
    "pool": lambda: SharedMemorySegmentPool(1 << 16, 6, acquire_timeout=20),
}


@pytest.fixture(params=list(ARENAS))
def arena(request):
    """A maker of arenas: each iterable needs its own."""
    return ARENAS[request.param]


def iterate(fn, arena, **kwargs):
    return iterate_in_subprocess(fn, arena=arena(), timeout=30, **kwargs)


@pytest.mark.parametrize("method", METHODS)
def test_every_epoch_gives_everything(method, arena):
    items = iterate(numbers(7), arena, mp_context=method)
    for _ in range(3):
        assert list(items) == list(range(7))


@pytest.mark.parametrize("method", METHODS)
def test_an_epoch_may_be_left(method, arena):
    items = iterate(numbers(1000), arena, mp_context=method)
    for stop in (0, 1, 5, 999):
        for item in items:
            if item == stop:
                break
        assert item == stop
    assert list(items) == list(range(1000))


def test_an_epoch_that_is_left_unbegun(arena):
    items = iterate(numbers(10), arena)
    iter(items)
    assert list(items) == list(range(10))


def test_an_older_iteration_ends_when_another_is_begun(arena):
    items = iterate(numbers(10), arena)
    old = iter(items)
    assert next(old) == 0
    assert list(items) == list(range(10))
    with pytest.raises(RuntimeError, match="another one was begun"):
        next(old)
    assert list(items) == list(range(10))


def test_a_generator_is_made_anew_for_each_epoch(arena):
    items = iterate(Calls(generator, 5), arena)
    for _ in range(2):
        assert list(items) == list(range(5))
        for _ in items:
            break


@pytest.mark.timing
def test_an_empty_epoch_is_cheap(arena):
    items = iterate(numbers(0), arena)
    times = []
    for _ in range(50):
        start = time.perf_counter()
        assert list(items) == []
        times.append(time.perf_counter() - start)
    assert sorted(times)[5] < 0.001


def test_the_worker_is_only_so_far_ahead(arena):
    value = multiprocessing.Value("i", 0)

    def counting():
        for i in range(100):
            value.value = i
            yield i

    items = iterate(each(counting), arena, mp_context="fork", buffer_size=4)
    iterator = iter(items)
    assert next(iterator) == 0
    time.sleep(0.3)
    assert 3 <= value.value <= 8
    assert list(iterator) == list(range(1, 100))


@pytest.mark.parametrize(
    "arena, method, error",
    spread(ARENAS, METHODS, [ValueError("odd"), KeyError("k"), OSError(2, "no")]),
    indirect=["arena"],
)
def test_an_exception_arrives_with_type_and_traceback(method, error, arena):
    items = iterate(each(one_then_raise, error), arena, mp_context=method)
    for _ in range(2):  # and the worker is still there
        iterator = iter(items)
        assert next(iterator) == 1
        with pytest.raises(type(error)) as caught:
            next(iterator)
        assert caught.value.args == error.args
        assert "in one_then_raise" in str(caught.value.__cause__)


def test_an_exception_of_a_class_nobody_can_import_is_a_runtime_error(arena):
    class Local(Exception):
        pass

    fn = Calls(one_then_raise, Local("here"))
    iterator = iter(iterate(each(fn), arena, mp_context="fork"))
    assert next(iterator) == 1
    with pytest.raises(RuntimeError, match="Local: here") as caught:
        next(iterator)
    assert "in one_then" in str(caught.value.__cause__)


def test_exceptions_whose_init_wants_something_else_keep_their_type(arena):
    iterator = iter(iterate(each(one_then_awkward), arena))
    assert next(iterator) == 1
    with pytest.raises(Awkward, match="^1 and 2$") as caught:
        next(iterator)
    assert caught.value.a == 1 and not hasattr(caught.value, "lock")
    assert "in one_then_awkward" in str(caught.value.__cause__)
    with pytest.raises(Altered, match="^about it$"):
        list(iterate(each(one_then_altered), arena))


def test_an_exception_may_be_larger_than_the_arena(arena):
    items = iterate(each(one_then_long_error, 8 << 20), arena)
    for _ in range(2):
        with pytest.raises(ValueError, match="^x+$") as caught:
            list(items)
        assert len(str(caught.value)) == 8 << 20
        del caught


def test_system_exit_in_a_worker_is_not_the_parents(arena):
    iterator = iter(iterate(each(one_then_exit), arena))
    assert next(iterator) == 1
    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        next(iterator)


def test_an_item_that_cannot_be_pickled_is_an_error_of_the_epoch(arena):
    items = iterate(each(one_then_unpicklable), arena, buffer_size=1)
    for _ in range(2):
        with pytest.raises(Exception, match="pickle"):
            list(items)


def test_an_item_that_cannot_be_unpickled_is_an_error_of_the_epoch(arena):
    items = iterate(each(one_then_unloadable), arena)
    for _ in range(2):
        iterator = iter(items)
        assert next(iterator) == 1
        with pytest.raises((EOFError, RuntimeError), match="nothing in it"):
            next(iterator)


@pytest.mark.parametrize("method", METHODS)
def test_a_start_that_fails_is_an_error_at_once(method, arena):
    for fn, kwargs in (
        (raise_value_error, {}),
        (numbers(1), {"initializer": raise_value_error}),
        (numbers(1), {"initializer": [fresh_flag, raise_value_error]}),
    ):
        with pytest.raises(ValueError, match="not today") as caught:
            iterate(fn, arena, mp_context=method, **kwargs)
        assert "in raise_value_error" in str(caught.value.__cause__)


def test_what_is_no_iterable_is_refused(arena):
    with pytest.raises(TypeError, match="must return an iterable"):
        iterate(Calls(int), arena)


def test_initializers_run_in_order(arena):
    items = iterate(each(flag), arena, initializer=[fresh_flag, set_flag, set_flag])
    assert list(items) == ["xx"]
    assert "ROAR_TEST_FLAG" not in os.environ


@pytest.mark.parametrize(
    "arena, method, number",
    spread(ARENAS, METHODS, [signal.SIGKILL, signal.SIGTERM]),
    indirect=["arena"],
)
def test_a_killed_worker_is_noticed(method, number, arena):
    items = iterate(each(one_then_kill, number), arena, mp_context=method)
    iterator = iter(items)
    assert next(iterator) == 1
    with pytest.raises(WorkerDied, match=f"signal {number:d} \\(SIG") as caught:
        next(iterator)
    assert caught.value.exitcode == -number
    assert str(caught.value.pid) in str(caught.value)
    with pytest.raises(RuntimeError, match="nothing to iterate"):
        list(items)


@pytest.mark.timing
def test_a_kill_is_noticed_within_100_ms(arena):
    items = iterate(each(one_then_sleep), arena)
    iterator = iter(items)
    assert next(iterator) == 1
    (worker,) = multiprocessing.active_children()
    times = []
    killer = threading.Timer(
        0.1, lambda: (times.append(time.monotonic()), os.kill(worker.pid, 9))
    )
    killer.start()
    with pytest.raises(WorkerDied, match="SIGKILL"):
        next(iterator)
    assert time.monotonic() - times[0] < 0.1


def test_a_worker_killed_between_epochs_is_noticed(arena):
    items = iterate(numbers(3), arena)
    assert list(items) == [0, 1, 2]
    (worker,) = multiprocessing.active_children()
    os.kill(worker.pid, signal.SIGKILL)
    time.sleep(0.05)
    with pytest.raises(WorkerDied, match="SIGKILL"):
        list(items)


def test_a_worker_that_exits_is_noticed(arena):
    iterator = iter(iterate(each(one_then_os_exit, 7), arena))
    assert next(iterator) == 1
    with pytest.raises(WorkerDied, match="exit code 7") as caught:
        next(iterator)
    assert caught.value.exitcode == 7


def test_a_worker_that_dies_before_it_is_ready(arena):
    with pytest.raises(WorkerDied, match="exit code 5"):
        iterate(Calls(os._exit, 5), arena)


def test_an_interrupt_that_the_parent_survives_ends_no_epoch(arena):
    """Ctrl-C reaches all processes of a terminal; what it means is the parent's affair."""

    def slow_numbers():
        yield os.getpid()
        yield from range(30)

    items = iterate(each(slow_numbers), arena, mp_context="fork", buffer_size=2)
    for _ in range(3):
        iterator = iter(items)
        pid, found = next(iterator), []
        for item in iterator:
            found.append(item)
            time.sleep(0.002)  # the worker waits until there is room again
            os.kill(pid, signal.SIGINT)
        assert found == list(range(30))


def test_a_silent_worker_is_ended_after_the_timeout(arena):
    items = iterate_in_subprocess(each(one_then_sleep), timeout=0.2, arena=arena())
    iterator = iter(items)
    assert next(iterator) == 1
    with pytest.raises(WorkerTimeout, match="no item for 0.2 s"):
        next(iterator)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("fn", [one_then_sleep, pid_for_ever])
def test_dropping_the_iterable_ends_a_busy_worker(fn, arena):
    items = iterate(each(fn), arena)
    iterator = iter(items)
    next(iterator)
    time.sleep(0.1)
    start = time.monotonic()
    del iterator, items
    gc.collect()
    assert time.monotonic() - start < 5
    assert multiprocessing.active_children() == []


def test_a_worker_that_ignores_sigterm_is_killed(arena):
    iterator = iter(iterate(each(stubborn), arena))
    assert next(iterator) == 1
    start = time.monotonic()
    del iterator
    gc.collect()
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    "arena, method, ordered",
    spread(ARENAS, METHODS, [True, False]),
    indirect=["arena"],
)
def test_several_workers(method, ordered, arena):
    items = iterate(
        numbers(20, share=True),
        arena,
        mp_context=method,
        num_workers=3,
        ordered=ordered,
    )
    for _ in range(3):
        got = list(items)
        assert (got if ordered else sorted(got)) == list(range(20))
        for item in items:
            if item > 7:
                break


def test_first_ready_does_not_wait_for_a_slow_worker(arena):
    def work():
        index = worker_info().index
        for i in range(3):
            if index == 0:
                time.sleep(0.5)
            yield index

    items = iterate(
        each(work), arena, mp_context="fork", num_workers=2, ordered=False
    )
    assert list(items)[:3] == [1, 1, 1]
    slow = iterate(each(work), arena, mp_context="fork", num_workers=2)
    assert list(slow) == [0, 1, 0, 1, 0, 1]


def test_the_death_of_one_worker_ends_all(arena):
    def work():
        if worker_info().index == 1:
            return one_then_kill(signal.SIGKILL)
        return pid_for_ever()

    items = iterate(each(work), arena, mp_context="fork", num_workers=2)
    with pytest.raises(WorkerDied, match="SIGKILL"):
        for _ in items:
            pass
    assert multiprocessing.active_children() == []


def test_an_error_of_one_worker_ends_the_epoch_only(arena):
    def work():
        if worker_info().index == 1:
            return one_then_raise(ValueError("odd"))
        return range(100)

    items = iterate(each(work), arena, mp_context="fork", num_workers=2)
    for _ in range(3):
        with pytest.raises(ValueError, match="odd"):
            list(items)


@pytest.mark.parametrize("method", METHODS)
def test_random_numbers_go_on_in_the_worker(method, arena):
    random.seed(7)
    items = iterate(each(random_number), arena, mp_context=method)
    assert list(items) == [random.random()]


def test_several_workers_draw_different_numbers_each_time_the_same(arena):
    def draw():
        random.seed(7)
        return list(iterate(each(random_number), arena, num_workers=3))

    first = draw()
    assert len(set(first)) == 3
    assert draw() == first


@pytest.mark.parametrize("method", METHODS)
def test_a_pipeline_in_a_worker(method, arena):
    config = (
        PipelineBuilder()
        .add_source(range(10))
        .pipe(double, concurrency=2, output_order="input")
        .aggregate(3)
        .add_sink()
        .get_config()
    )
    items = run_pipeline_in_subprocess(
        config, num_threads=2, arena=arena(), mp_context=method
    )
    for _ in range(3):
        assert list(items) == [[0, 2, 4], [6, 8, 10], [12, 14, 16], [18]]
        for _ in items:
            break


def test_a_continuous_pipeline_in_a_worker(arena):
    builder = PipelineBuilder().add_source(range(5), continuous=True).pipe(double)
    config = builder.add_sink().get_config()
    items = run_pipeline_in_subprocess(config, num_threads=2, arena=arena())
    for _ in range(3):
        assert list(items) == [0, 2, 4, 6, 8]
    for _ in items:
        break
    assert list(items) == [0, 2, 4, 6, 8]


def test_a_pipeline_that_fails_in_a_worker(arena):
    builder = PipelineBuilder().add_source(range(10)).pipe(fail_on_odd).add_sink()
    items = run_pipeline_in_subprocess(
        builder.get_config(), num_threads=1, max_failures=1, arena=arena()
    )
    for _ in range(2):
        with pytest.raises(PipelineFailure, match="max_failures=1") as caught:
            list(items)
        assert (caught.value.stage, caught.value.failures) == ("1:fail_on_odd", 2)


def test_what_a_pipeline_failed_of_arrives_with_its_type(arena):
    config = PipelineBuilder().add_source(Each(one_then_raise, KeyError("odd"))) \
        .add_sink().get_config()
    items = run_pipeline_in_subprocess(config, num_threads=1, arena=arena())
    with pytest.raises(PipelineFailure) as caught:
        list(items)
    cause = caught.value.__cause__
    assert isinstance(cause, KeyError) and cause.args == ("odd",)
    assert "one_then_raise" in str(cause.__cause__)


def test_executors_are_made_in_the_worker():
    def items(executor, method):
        builder = PipelineBuilder().add_source(range(4)).pipe(double, executor=executor)
        config = builder.add_sink().get_config()
        return run_pipeline_in_subprocess(config, num_threads=1, mp_context=method)

    for method in METHODS:
        assert list(items(ThreadPoolExecutor, method)) == [0, 2, 4, 6]
    with ThreadPoolExecutor(1) as executor:
        assert list(items(executor, "fork")) == [0, 2, 4, 6]
        with pytest.raises(ValueError, match="1:double|'double'"):
            items(executor, "spawn")
        executor.submit(int).result()
        with pytest.raises(ValueError, match="a function that makes one"):
            items(executor, "fork")


@pytest.mark.timing
def test_an_empty_epoch_of_a_pipeline_is_cheap(arena):
    config = PipelineBuilder().add_source([]).add_sink().get_config()
    items = run_pipeline_in_subprocess(config, num_threads=1, arena=arena())
    times = []
    for _ in range(100):
        start = time.perf_counter()
        assert list(items) == []
        times.append(time.perf_counter() - start)
    assert sorted(times)[10] < 0.001


def test_descriptors_stay_constant_over_epochs(arena):
    items = iterate(each(counted_fds), arena)
    here, (there,) = len(os.listdir("/proc/self/fd")), list(items)
    for _ in range(100):
        for _ in items:
            break
    # Each side of an arena opens the other's pidfd when it first has to wait.
    assert list(items)[0] <= there + 1
    assert len(os.listdir("/proc/self/fd")) <= here + 1


def test_descriptors_are_given_back(arena):
    iterate(numbers(1), arena)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        assert list(iterate(numbers(3), arena, num_workers=2)) == [0, 0, 1, 1, 2, 2]
        gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_workers_outlive_the_thread_that_started_them(arena):
    made = []
    thread = threading.Thread(target=lambda: made.append(iterate(numbers(3), arena)))
    thread.start()
    thread.join()
    time.sleep(0.1)
    assert list(made[0]) == [0, 1, 2]


def test_a_forked_child_cannot_use_its_parents_workers(arena):
    items = iterate(numbers(3), arena)
    pid = os.fork()
    if pid == 0:
        try:
            list(items)
        except RuntimeError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    assert list(items) == [0, 1, 2]


@pytest.mark.parametrize(
    "kwargs, error",
    [
        ({"fn": 3}, TypeError),
        ({"buffer_size": 0}, ValueError),
        ({"buffer_size": "3"}, TypeError),
        ({"num_workers": 0}, ValueError),
        ({"timeout": 0}, ValueError),
        ({"timeout": -1}, ValueError),
        ({"timeout": float("nan")}, ValueError),
        ({"timeout": "1"}, TypeError),
        ({"mp_context": "teleport"}, ValueError),
        ({"mp_context": 3}, TypeError),
        ({"initializer": [3]}, TypeError),
        ({"arena": 3}, TypeError),
    ],
)
def test_garbage_is_refused(kwargs, error):
    arguments = {"fn": numbers(1), **kwargs}
    with pytest.raises(error):
        iterate_in_subprocess(arguments.pop("fn"), **arguments)


PROGRAM = """
import os, time
from pipeline_helpers import each, pid_for_ever
from roar.pipeline import (
    SharedMemoryRingBuffer, SharedMemorySegmentPool, iterate_in_subprocess)

def main():
    items = iterate_in_subprocess(
        each(pid_for_ever), mp_context={method!r}, arena={arena}, num_workers=2)
    iterator = iter(items)
    print(next(iterator), next(iterator), flush=True)
    {then}

if __name__ == "__main__":
    main()
"""


PROGRAM_ARENAS = ["None", "SharedMemoryRingBuffer(99999)",
                  "SharedMemorySegmentPool(9999, 4)"]


def program(tmp_path, method, then, arena):
    source = PROGRAM.format(method=method, then=then, arena=arena)
    return start_program(tmp_path, source)


@pytest.mark.parametrize(
    "arena, method, then",
    spread(PROGRAM_ARENAS, METHODS, ["pass", "sys.exit(0)", "del items, iterator"]),
)
def test_a_program_ends_in_silence(tmp_path, arena, method, then):
    done = program(tmp_path, method, then, arena)
    out, err = done.communicate(timeout=30)
    assert (done.returncode, err) == (0, "")
    assert all(gone(int(pid)) for pid in out.split())


@pytest.mark.parametrize("arena", PROGRAM_ARENAS)
def test_a_program_ends_in_silence_while_a_daemon_thread_iterates(tmp_path, arena):
    then = "import threading; " \
        "threading.Thread(target=list, args=(iterator,), daemon=True).start(); " \
        "time.sleep(0.2)"
    done = program(tmp_path, "fork", then, arena)
    out, err = done.communicate(timeout=30)
    assert (done.returncode, err) == (0, "")
    assert all(gone(int(pid)) for pid in out.split())


@pytest.mark.parametrize(
    "arena, method, number",
    spread(PROGRAM_ARENAS, METHODS, [signal.SIGKILL, signal.SIGTERM]),
)
def test_workers_die_with_their_parent(tmp_path, arena, method, number):
    parent = program(tmp_path, method, "time.sleep(60)", arena)
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2 and not any(gone(pid) for pid in pids)
    parent.send_signal(number)
    assert parent.wait(10) == -number
    end = time.monotonic() + 1
    while not all(gone(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.005)
    assert all(gone(pid) for pid in pids)


ENDS_EARLY = """
import threading, time
from pipeline_helpers import each, pid_for_ever
from roar.pipeline import iterate_in_subprocess

def iterate():
    for _ in iterate_in_subprocess(each(pid_for_ever), initializer=[slow]):
        pass

def slow():
    time.sleep(1)

threading.Thread(target=iterate, daemon=True).start()
time.sleep(0.3)
"""


def test_a_program_may_end_while_its_workers_are_started(tmp_path):
    done = start_program(tmp_path, ENDS_EARLY)
    assert done.communicate(timeout=20) == ("", "")
    assert done.returncode == 0


def test_a_worker_that_another_thread_looks_after_is_closed(monkeypatch):
    """Where another thread has waited for a child and not written that down yet,
    multiprocessing takes it for one that is running."""
    poll = popen_fork.Popen.poll
    asked = collections.Counter()

    def slow_to_know(self, flag=os.WNOHANG):
        result = poll(self, flag)
        asked[self.pid] += result is not None
        return result if asked[self.pid] > 12 else None

    monkeypatch.setattr(popen_fork.Popen, "poll", slow_to_know)
    items = iterate_in_subprocess(numbers(3), timeout=30)
    assert list(items) == [0, 1, 2]
    del items
    gc.collect()
    assert asked and min(asked.values()) > 12
