"""Pipelines in one process: what comes out, in which order, and what goes wrong."""

import asyncio
import gc
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction

import pytest

from roar.pipeline import PipelineBuilder, PipelineFailure


def run(builder, num_threads=2, **kwargs):
    with builder.build(num_threads=num_threads, **kwargs).auto_stop() as pipeline:
        return list(pipeline.get_iterator(timeout=20))


def source(items):
    return PipelineBuilder().add_source(items)


def double(x):
    return 2 * x


def twice(x):
    yield x
    yield x


def fail_on_odd(x):
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x


async def async_double(x):
    await asyncio.sleep(0)
    return 2 * x


async def async_twice(x):
    yield x
    yield x


class AsyncRange:
    def __init__(self, n):
        self.n = n

    async def __aiter__(self):
        for i in range(self.n):
            yield i


class Doubler:
    def __call__(self, x):
        return 2 * x


class AsyncDoubler:
    async def __call__(self, x):
        return 2 * x


@pytest.mark.parametrize("n", [0, 1, 2, 100])
@pytest.mark.parametrize("threads", [1, 4])
def test_items_arrive_in_order(n, threads):
    assert run(source(range(n)).add_sink(), threads) == list(range(n))


@pytest.mark.parametrize(
    "op, expected",
    [
        (double, [0, 2, 4]),
        (lambda x: 2 * x, [0, 2, 4]),
        (Doubler(), [0, 2, 4]),
        (async_double, [0, 2, 4]),
        (AsyncDoubler(), [0, 2, 4]),
        (twice, [0, 0, 1, 1, 2, 2]),
        (async_twice, [0, 0, 1, 1, 2, 2]),
        ([7, 8, 9], [7, 8, 9]),
        ({0: "a", 1: "b", 2: "c"}, ["a", "b", "c"]),
    ],
)
@pytest.mark.parametrize("order", ["input", "completion"])
def test_every_kind_of_operation(op, expected, order):
    assert run(source(range(3)).pipe(op, output_order=order).add_sink()) == expected


def test_an_async_source():
    assert run(source(AsyncRange(5)).pipe(double).add_sink()) == [0, 2, 4, 6, 8]


def test_none_drops_the_item():
    ops = source(range(6)).pipe(lambda x: x if x % 2 else None)
    assert run(ops.add_sink()) == [1, 3, 5]


@pytest.mark.parametrize("threads", [1, 3])
def test_input_order_is_kept_when_later_items_are_faster(threads):
    def slow_first(x):
        time.sleep(0.05 if x == 0 else 0)
        return x

    ops = source(range(20)).pipe(slow_first, concurrency=4, output_order="input")
    assert run(ops.add_sink(), threads) == list(range(20))


def test_completion_order_lets_fast_items_pass():
    gate = threading.Event()

    def first_waits(x):
        if x == 0:
            assert gate.wait(10)
        return x

    builder = source(range(3)).pipe(first_waits, concurrency=2).add_sink()
    with builder.build(num_threads=2).auto_stop() as pipeline:
        assert pipeline.get_item(timeout=10) == 1
        gate.set()
        assert sorted([pipeline.get_item(timeout=10) for _ in range(2)]) == [0, 2]


def test_generators_keep_input_order_too():
    def many(x):
        for i in range(50):
            yield x, i

    ops = source(range(4)).pipe(many, concurrency=3, output_order="input")
    expected = [(x, i) for x in range(4) for i in range(50)]
    assert run(ops.add_sink(), 3) == expected


def test_an_endless_generator_is_advanced_only_as_far_as_needed():
    made = []

    def endless(x):
        i = 0
        while True:
            made.append(i)
            yield i
            i += 1

    builder = source([0]).pipe(endless).add_sink(buffer_size=2)
    with builder.build(num_threads=1).auto_stop() as pipeline:
        assert [pipeline.get_item(timeout=10) for _ in range(5)] == list(range(5))
        time.sleep(0.1)
        assert len(made) <= 5 + 2 + 2


def test_concurrency_is_a_limit_and_is_reached():
    lock = threading.Lock()
    now = most = 0

    def count(x):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with lock:
            now -= 1
        return x

    run(source(range(30)).pipe(count, concurrency=3).add_sink(), 8)
    assert most == 3


def test_one_thread_serves_many_stages():
    ops = source(range(50))
    for _ in range(5):
        ops.pipe(double, concurrency=4, output_order="input")
    assert run(ops.add_sink(1), 1) == [32 * x for x in range(50)]


def test_the_sink_holds_back_the_source():
    read = []

    def items():
        for i in range(1000):
            read.append(i)
            yield i

    with source(items()).add_sink(3).build(num_threads=1).auto_stop() as pipeline:
        assert pipeline.get_item(timeout=10) == 0
        time.sleep(0.1)
        assert len(read) <= 1 + 3 + 1


def test_a_sink_of_size_0_holds_nothing_back():
    done = threading.Event()

    def items():
        yield from range(1000)
        done.set()

    with source(items()).add_sink(0).build(num_threads=1).auto_stop() as pipeline:
        assert done.wait(10)
        assert len(list(pipeline)) == 1000


@pytest.mark.parametrize(
    "drop_last, expected", [(False, [[0, 1, 2], [3, 4]]), (True, [[0, 1, 2]])]
)
def test_aggregate(drop_last, expected):
    ops = source(range(5)).aggregate(3, drop_last=drop_last)
    assert run(ops.add_sink()) == expected


def test_aggregate_of_nothing_gives_nothing():
    assert run(source([]).aggregate(3).add_sink()) == []


def test_aggregate_with_an_own_aggregator():
    class UpTo:
        def __init__(self, limit):
            self.limit, self.sum = limit, 0

        def accumulate(self, item):
            self.sum += item
            if self.sum < self.limit:
                return None
            done, self.sum = self.sum, 0
            return done

        def flush(self):
            return self.sum or None

    assert run(source([3, 3, 5, 1]).aggregate(UpTo(6)).add_sink()) == [6, 6]
    assert run(source([3, 3, 5]).aggregate(UpTo(6)).add_sink()) == [6, 5]


def test_disaggregate():
    ops = source([[1, 2], [], [3]]).disaggregate()
    assert run(ops.add_sink()) == [1, 2, 3]


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
@pytest.mark.parametrize("op, expected", [(double, [0, 2, 4]), (twice, [0, 0, 1, 1, 2, 2])])
def test_an_executor_of_the_users(pool, op, expected):
    with pool(2) as executor:
        ops = source(range(3)).pipe(op, executor=executor, output_order="input")
        assert run(ops.add_sink()) == expected


def test_an_executor_that_is_made_for_the_pipeline():
    ops = source(range(3)).pipe(double, executor=lambda: ThreadPoolExecutor(1))
    assert run(ops.add_sink()) == [0, 2, 4]


def test_a_failed_item_is_dropped_and_logged(caplog):
    assert run(source(range(4)).pipe(fail_on_odd).add_sink()) == [0, 2]
    assert len(caplog.records) == 2
    assert "1:fail_on_odd" in caplog.text and "1 is odd" in caplog.text


@pytest.mark.parametrize("own", [False, True])
def test_too_many_failures_end_the_pipeline(own, caplog):
    ops = source(range(100)).pipe(fail_on_odd, max_failures=2 if own else None)
    pipeline = ops.add_sink().build(num_threads=1, max_failures=-1 if own else 2)
    with pipeline.auto_stop(), pytest.raises(PipelineFailure) as caught:
        list(pipeline)
    assert caught.value.stage == "1:fail_on_odd"
    assert caught.value.failures == 3
    assert "max_failures=2" in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)  # the last one


def test_as_many_failures_as_allowed_are_no_failure(caplog):
    assert run(source(range(4)).pipe(fail_on_odd).add_sink(), max_failures=2) == [0, 2]


def test_a_share_of_failures(caplog):
    half = source(range(100)).pipe(fail_on_odd, max_failures=Fraction(1, 2)).add_sink()
    assert len(run(half)) == 50
    third = source(range(100)).pipe(fail_on_odd, max_failures=Fraction(1, 3)).add_sink()
    with pytest.raises(PipelineFailure, match="max_failures=1/3"):
        run(third)


def test_a_share_of_failures_counts_at_the_end_of_few_items(caplog):
    few = source([1, 3]).pipe(fail_on_odd, max_failures=Fraction(1, 2)).add_sink()
    with pytest.raises(PipelineFailure, match="2 of 2"):
        run(few)


def test_a_failed_source_gives_what_it_had_and_then_the_failure():
    def items():
        yield 1
        yield 2
        raise OSError("the disk is gone")

    pipeline = source(items()).pipe(double).add_sink().build(num_threads=1)
    got = []
    with pipeline.auto_stop(), pytest.raises(PipelineFailure, match="disk is gone") as e:
        for item in pipeline:
            got.append(item)
    assert got == [2, 4]
    assert isinstance(e.value.__cause__, OSError)


def test_a_failure_that_nobody_saw_is_raised_by_stop():
    def items():
        raise OSError("nothing here")
        yield

    pipeline = source(items()).add_sink().build(num_threads=1)
    pipeline.start()
    time.sleep(0.1)
    with pytest.raises(PipelineFailure, match="nothing here"):
        pipeline.stop()
    pipeline.stop()


def test_an_operation_that_wants_to_exit_ends_the_pipeline_only():
    def leave(x):
        sys.exit(3)

    with pytest.raises(PipelineFailure, match="SystemExit"):
        run(source(range(3)).pipe(leave).add_sink())


def test_a_continuous_source_gives_epoch_after_epoch():
    builder = PipelineBuilder().add_source(range(5), continuous=True)
    builder.pipe(double).aggregate(2).add_sink()
    with builder.build(num_threads=2).auto_stop() as pipeline:
        for _ in range(4):
            assert list(pipeline) == [[0, 2], [4, 6], [8]]


def test_a_continuous_source_that_is_empty_does_not_run_wild():
    builder = PipelineBuilder().add_source([], continuous=True).pipe(double).add_sink(2)
    with builder.build(num_threads=1).auto_stop() as pipeline:
        for _ in range(10):
            assert list(pipeline) == []


def test_get_item_has_a_timeout_and_an_end():
    def slow():
        yield 1
        time.sleep(0.5)
        yield 2

    with source(slow()).add_sink().build(num_threads=1).auto_stop() as pipeline:
        assert pipeline.get_item(timeout=5) == 1
        with pytest.raises(TimeoutError):
            pipeline.get_item(timeout=0.05)
        assert pipeline.get_item(timeout=5) == 2
        for _ in range(2):
            with pytest.raises(EOFError):
                pipeline.get_item(timeout=5)


@pytest.mark.timing
def test_stop_while_everything_is_full():
    builder = source(iter(int, 1)).pipe(double, concurrency=4).add_sink(1)
    pipeline = builder.build(num_threads=4)
    pipeline.start()
    assert pipeline.get_item(timeout=5) == 0
    start = time.monotonic()
    pipeline.stop(timeout=5)
    assert time.monotonic() - start < 1


def test_stop_says_when_an_operation_goes_on():
    gate = threading.Event()
    pipeline = source([1]).pipe(lambda x: gate.wait(10)).add_sink().build(num_threads=1)
    pipeline.start()
    time.sleep(0.05)
    with pytest.raises(TimeoutError):
        pipeline.stop(timeout=0.05)
    gate.set()


def test_states_are_checked():
    pipeline = source([1]).add_sink().build(num_threads=1)
    with pytest.raises(RuntimeError, match="not started"):
        pipeline.get_item()
    pipeline.start()
    with pytest.raises(RuntimeError, match="started before"):
        pipeline.start()
    pipeline.stop()
    stopped = source([1]).add_sink().build(num_threads=1)
    stopped.stop()
    with pytest.raises(RuntimeError, match="was stopped"):
        stopped.start()


@pytest.mark.parametrize(
    "build, error",
    [
        (lambda b: b.add_source(3), TypeError),
        (lambda b: b.add_source([]).add_source([]), ValueError),
        (lambda b: b.pipe(3), TypeError),
        (lambda b: b.pipe(double, concurrency=0), ValueError),
        (lambda b: b.pipe(double, concurrency=1.5), TypeError),
        (lambda b: b.pipe(double, concurrency=True), TypeError),
        (lambda b: b.pipe(double, output_order="random"), ValueError),
        (lambda b: b.pipe(double, max_failures=-2), ValueError),
        (lambda b: b.pipe(double, max_failures=0.5), TypeError),
        (lambda b: b.pipe(double, max_failures=Fraction(3, 2)), ValueError),
        (lambda b: b.pipe(async_double, executor=ThreadPoolExecutor), ValueError),
        (lambda b: b.aggregate(0), ValueError),
        (lambda b: b.aggregate("3"), TypeError),
        (lambda b: b.add_sink(-1), ValueError),
        (lambda b: b.add_sink().add_sink(), ValueError),
        (lambda b: b.add_sink().get_config(), ValueError),
        (lambda b: b.add_source([]).get_config(), ValueError),
        (lambda b: b.add_source([]).add_sink().build(num_threads=0), ValueError),
        (
            lambda b: b.add_source([]).add_sink().build(num_threads=1, max_failures=-3),
            ValueError,
        ),
    ],
)
def test_garbage_is_refused(build, error):
    with pytest.raises(error):
        build(PipelineBuilder())


class Index:
    """An integer of another library."""

    def __index__(self):
        return 2


def test_integers_may_be_of_another_library():
    ops = source(range(4))
    ops = ops.pipe(double, concurrency=Index(), output_order="input").aggregate(Index())
    assert run(ops.add_sink(Index()), num_threads=Index()) == [[0, 2], [4, 6]]


def test_a_lost_pipeline_ends_its_threads():
    def names():
        return [t for t in threading.enumerate() if t.name.startswith("roar-pipeline")]

    pipeline = source(iter(int, 1)).pipe(async_double).add_sink(1).build(num_threads=2)
    pipeline.start()
    assert pipeline.get_item(timeout=5) == 0
    assert names()
    del pipeline
    gc.collect()
    assert not names()


def test_a_program_may_end_while_a_pipeline_runs():
    code = (
        "from roar.pipeline import PipelineBuilder\n"
        "b = PipelineBuilder().add_source(iter(int, 1)).pipe(lambda x: x).add_sink()\n"
        "p = b.build(num_threads=2)\n"
        "p.start()\n"
        "print(p.get_item())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
