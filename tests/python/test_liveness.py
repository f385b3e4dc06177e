"""The death of a process is an exception of the others."""

import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

import roar
from arena_helpers import LARGE, SIZE, start, wait_until


def produce_and_wait(arena, count):
    arena.join("producer")
    for i in range(count):
        arena.send((i, bytes(LARGE)))
    time.sleep(60)


def consume_and_wait(arena, count):
    arena.join("consumer")
    held = [arena.receive() for _ in range(count)]
    time.sleep(60)
    return held


def exit_at_once(arena, status):
    arena.join("producer")
    os._exit(status)


def just_exit(status):
    os._exit(status)


@pytest.mark.timing
def test_a_killed_producer_is_named_after_its_items():
    with roar.Arena(SIZE) as arena:
        arena.join("consumer")
        process = start("fork", produce_and_wait, arena, 3)
        assert [arena.receive(timeout=10)[0] for _ in range(2)] == [0, 1]
        wait_until(lambda: arena.stats()["committed"] == 3)
        os.kill(process.pid, signal.SIGKILL)
        assert arena.receive(timeout=10)[0] == 2
        began = time.monotonic()
        with pytest.raises(roar.PeerDied) as died:
            arena.receive(timeout=10)
        assert time.monotonic() - began < 0.5
        assert died.value.pid == process.pid
        assert died.value.role == "producer"
        assert died.value.status == "killed by signal 9 (SIGKILL)"
        assert str(process.pid) in str(died.value)
        with pytest.raises(roar.ArenaEmpty):
            arena.receive(timeout=0.1)
        process.join()


@pytest.mark.timing
def test_the_death_of_a_waiting_peer_is_noticed_soon():
    with roar.Arena(SIZE) as arena:
        arena.join("consumer")
        process = start("fork", produce_and_wait, arena, 0)
        wait_until(lambda: arena.stats()["n_producers"] == 1)
        os.kill(process.pid, signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(roar.PeerDied):
            arena.receive(timeout=10)
        assert time.monotonic() - began < 0.3
        process.join()


def test_an_exit_status_is_told():
    with roar.Arena(SIZE) as arena:
        arena.join("consumer")
        process = start("fork", exit_at_once, arena, 3)
        with pytest.raises(roar.PeerDied) as died:
            arena.receive(timeout=10)
        assert died.value.status == "exited with status 3"
        process.join()


def test_a_process_that_never_joins_can_be_expected():
    with roar.Arena(SIZE) as arena:
        arena.join("consumer")
        process = start("fork", just_exit, 7)
        arena.expect(process.pid)
        with pytest.raises(roar.PeerDied) as died:
            arena.receive(timeout=10)
        assert died.value.pid == process.pid
        assert died.value.role == ""
        process.join()


def test_what_a_dead_consumer_held_is_taken_back():
    with roar.Arena(segment_size=LARGE, n_units=3, timeout=5) as arena:
        arena.join("producer")
        process = start("fork", consume_and_wait, arena, 3)
        for i in range(3):
            arena.send(bytes([i]) * LARGE)
        wait_until(lambda: arena.stats()["received"] == 3)
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(roar.PeerDied) as died:
            for _ in range(10):
                arena.send(bytes(LARGE))
        assert died.value.role == "consumer"
        process.join()


def test_peer_died_can_be_pickled():
    error = roar.PeerDied("text", 5, "producer", "exited with status 1")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.pid, again.role, again.status) == \
        ("text", 5, "producer", "exited with status 1")
    assert isinstance(again, roar.ArenaError)


SCRIPT = """
import multiprocessing, roar
def work(arena):
    arena.join("producer")
    for i in range(50):
        arena.send({"i": i, "data": bytes(1 << 16)})
if __name__ == "__main__":
    arena = roar.SharedMemorySegmentPool(1 << 17, 6)
    arena.join("both")
    context = multiprocessing.get_context("METHOD")
    process = context.Process(target=work, args=(arena,))
    process.start()
    kept = [arena.receive(timeout=30) for i in range(3)]
    for i in range(47):
        arena.receive(timeout=30)
    process.join()
    empty = arena.empty(100, like="memoryview")
    END
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("end", ["pass", "arena.close()", "1 / 0"])
def test_nothing_is_said_at_exit(tmp_path, method, end):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("METHOD", method).replace("END", end))
    before = set(os.listdir("/dev/shm"))
    done = subprocess.run([sys.executable, script], capture_output=True,
                          text=True, timeout=60, check=False)
    said = [line for line in done.stderr.splitlines()
            if end != "1 / 0" or "Error" in line]
    assert said == ([] if end != "1 / 0" else
                    ["ZeroDivisionError: division by zero"])
    # Tracers of other tests have logs there.
    assert not {n for n in set(os.listdir("/dev/shm")) - before
                if "roar" in n and not n.startswith("roar-log-")}
