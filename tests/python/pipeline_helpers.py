"""What the workers of the pipeline tests run: importable, so that it can be pickled."""

import os
import random
import signal
import threading
import time


class Numbers:
    """0 .. n-1, as often as wanted."""

    def __init__(self, n, share=False):
        self.n = n
        self.share = share

    def __iter__(self):
        from roar.pipeline import worker_info

        me = worker_info()
        if self.share:
            return iter(range(me.index, self.n, me.num_workers))
        return iter(range(self.n))


class Calls:
    """A function without arguments: ``Calls(fn, 1, 2)()`` is ``fn(1, 2)``."""

    def __init__(self, fn, *args, **kwargs):
        self.fn, self.args, self.kwargs = fn, args, kwargs

    def __call__(self):
        return self.fn(*self.args, **self.kwargs)


def numbers(n, share=False):
    return Calls(Numbers, n, share)


class Each:
    """Iterates over ``fn()`` anew each time."""

    def __init__(self, fn, *args):
        self.fn, self.args = fn, args

    def __iter__(self):
        return iter(self.fn(*self.args))


def each(fn, *args):
    return Calls(Each, fn, *args)


def generator(n):
    yield from range(n)


class Awkward(Exception):
    """Can be pickled but not put together again by its __init__."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")
        self.a = a
        self.lock = threading.Lock()


class Altered(Exception):
    """Is put together again with another text."""

    def __init__(self, a):
        super().__init__(f"about {a}")


def one_then_raise(error):
    yield 1
    raise error


def one_then_awkward():
    yield 1
    raise Awkward(1, 2)


def one_then_altered():
    yield 1
    raise Altered("it")


def one_then_long_error(n):
    yield 1
    raise ValueError("x" * n)


def one_then_exit():
    yield 1
    raise SystemExit(3)


def one_then_unpicklable():
    yield 1
    yield lambda: None
    yield 2


def one_then_kill(signal_number):
    yield 1
    time.sleep(0.1)  # Python's queue sends from a thread
    os.kill(os.getpid(), signal_number)
    time.sleep(60)


def one_then_os_exit(code):
    yield 1
    time.sleep(0.1)
    os._exit(code)


def one_then_sleep(seconds=600):
    yield 1
    time.sleep(seconds)


def stubborn():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    yield 1
    time.sleep(600)


def pid_for_ever():
    while True:
        yield os.getpid()


def raise_value_error(*_):
    raise ValueError("not today")


def set_flag():
    os.environ["ROAR_TEST_FLAG"] = os.environ.get("ROAR_TEST_FLAG", "") + "x"


def flag():
    yield os.environ.get("ROAR_TEST_FLAG", "")


def fresh_flag():
    os.environ.pop("ROAR_TEST_FLAG", None)


def random_number():
    yield random.random()


def random_numbers():
    import numpy
    import torch

    yield random.random(), float(numpy.random.rand()), float(torch.rand(()))


def counted_fds():
    yield len(os.listdir("/proc/self/fd"))


def double(x):
    return 2 * x


def fail_on_odd(x):
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x


def slow_double(x):
    time.sleep(0.001)
    return 2 * x


class Unloadable:
    """Raises EOFError where it is unpickled."""

    def __reduce__(self):
        return raise_eof, ()


def raise_eof():
    raise EOFError("nothing in it")


def one_then_unloadable():
    yield 1
    yield Unloadable()


def arrays(n, size, dtype="float32"):
    """Items with an array of their own number."""
    import numpy

    for i in range(n):
        yield {"i": i, "data": numpy.full(size, i, dtype=dtype)}


def type_zoo():
    import numpy
    import torch

    yield bytes(range(256)) * 64
    yield bytearray(b"x" * 10000)
    yield numpy.asfortranarray(numpy.arange(6000.0).reshape(60, 100))
    yield numpy.arange(5000).astype("datetime64[s]")
    yield torch.arange(5000, dtype=torch.float32).to(torch.bfloat16)
    yield {"a": [numpy.zeros(3000, "i4"), (torch.ones(7), "x")], "b": None}


def fill_random(n, size):
    """Bytes that tell where they belong, of changing sizes."""
    for i in range(n):
        yield bytes([i % 256]) * (1 + i * 7919 % size)
