"""The elastic loop of docs/readers.md, run as processes that join, die and leave."""

import os
import signal
import subprocess
import sys

import pytest

import roar
from coordinator_helpers import (  # noqa: F401
    PATIENCE, one_server, own_job, until)

N = 64 * 900    # samples of 2 bytes: far more than are trained on by then
HERE = os.path.dirname(os.path.abspath(__file__))


class Worker:
    """elastic_example.py, and what it noted."""

    def __init__(self, server, job, name, folder):
        self.log = folder / f"{name}.log"
        self.leaving = folder / f"{name}.leave"
        self.errors = open(folder / f"{name}.errors", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "elastic_example.py"),
             server.address, job, name, str(folder)], stderr=self.errors)

    def lines(self):
        if not self.log.exists():
            return []
        return [line.split() for line in
                self.log.read_text().splitlines()]

    def wait_steps(self, size):
        """Until it has trained a while in a world of that size."""
        def trained():
            assert self.process.poll() is None, self.said()
            return sum(line[:2] == ["train", str(size)]
                       for line in self.lines()) > 60
        until(trained)

    def trained(self):
        """Samples, in order."""
        return [int(word) for line in self.lines() if line[0] == "train"
                for word in line[2:]]

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self):
        assert self.process.wait(PATIENCE) == 0, self.said()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.errors.close()


@pytest.fixture(name="start")
def workers_of_a_job(server, job, tmp_path):
    """Starts workers by name, and ends them."""
    (tmp_path / "a.bin").write_bytes(
        b"".join(i.to_bytes(2, "little") for i in range(N)))
    made = []

    def start(name):
        made.append(Worker(server, job, name, tmp_path))
        return made[-1]

    with roar.TrainingOrchestrator(server.address, job=job) as observer:
        # A second is enough for the place of who is dead.
        observer.configure(start_workers=2, heartbeat_interval=0.25, timeout=5,
                           hold=1)
        roar.DatasetRegistry(observer).register_dataset(
            "imagenet", N, N // 4, path=str(tmp_path / "a.bin"),
            record_bytes=2)
        yield start
        for worker in made:
            worker.close()


def test_workers_join_die_and_leave(start, tmp_path):
    first, second = start("w-0"), start("w-1")
    first.wait_steps(2)     # so that there is a checkpoint, and more
    assert (tmp_path / "checkpoint").exists()
    third = start("w-2")    # begins with that
    third.wait_steps(3)
    ranks = [line[1] for worker in (first, second, third)
             for line in worker.lines() if line[0] == "group" and line[2] == "3"]
    assert sorted(ranks) == ["0", "1", "2"]
    before = first.trained() + second.trained()
    joined = third.trained()
    assert len(set(before)) == len(before)      # nobody went back for it
    assert not set(joined) & set(before)

    second.process.send_signal(signal.SIGKILL)
    until(lambda: first.lines().count(["load"]) == 2)
    n_before = len(first.lines())
    until(lambda: len(first.lines()) > n_before + 10)
    third.leaving.touch()
    third.end()
    until(lambda: first.lines().count(["load"]) == 3)
    (tmp_path / "hurry").touch()
    first.end()
    seen = first.trained() + second.trained() + third.trained()
    assert set(seen) == set(range(N))


def test_no_checkpoint_counts_what_a_dead_rank_never_took(start, tmp_path):
    """The other rank goes on for a second, past several checkpoints."""
    (tmp_path / "apart").touch()
    first, second = start("w-0"), start("w-1")
    second.wait_steps(2)
    second.process.send_signal(signal.SIGKILL)
    until(lambda: first.lines().count(["load"]) == 2)
    (tmp_path / "hurry").touch()
    first.end()
    assert set(first.trained() + second.trained()) == set(range(N))
