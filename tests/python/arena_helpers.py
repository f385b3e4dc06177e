"""What the tests of the arena share."""

import gc
import multiprocessing
import os
import time

import roar

SIZE = 32 << 20
LARGE = 1 << 17


def both(**options):
    """An arena that this process sends to and receives from."""
    arena = roar.Arena(SIZE, timeout=2, **options)
    arena.join("both")
    return arena


def through(arena, obj):
    arena.send(obj)
    return arena.receive(timeout=2)


def used(arena):
    gc.collect()
    return arena.stats()["n_used"]


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def start(method, target, *args):
    """A process that is the other side."""
    context = multiprocessing.get_context(method)
    process = context.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def in_fork(function):
    """What `function` returned in a child made by fork, as text."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = str(function())
        except BaseException as error:  # pylint: disable=broad-except
            text = f"{type(error).__name__}: {error}"
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return text


def wait_until(condition, seconds=5):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)
