"""A coordinator to talk to: COORDINATOR names the program."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest

import roar

PATIENCE = 60
QUICK = {"heartbeat_interval": 0.1, "timeout": 1}    # for configure()


class Server:
    """The program, with a folder and a port of its own."""

    def __init__(self, *options, listen="127.0.0.1:0"):
        program = os.environ.get("COORDINATOR")
        if not program:
            pytest.skip("COORDINATOR does not name the server")
        self.folder = tempfile.mkdtemp(prefix="roar-python-")
        self.command = [program, *self.kind(), *options]
        self.address = self.process = None
        self.start(listen)

    def kind(self):
        return ["--http", "127.0.0.1:0", "--data-dir",
                os.path.join(self.folder, "data")]

    def start(self, listen=None):
        """Also after kill(): at the same address, with what it remembers."""
        # Its log goes to a file: a pipe that nobody reads would stop it.
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [*self.command, "--listen", listen or self.address],
                stdout=subprocess.PIPE, stderr=log, text=True,
                # A sanitizer's library that Python needs is not the server's.
                env={k: v for k, v in os.environ.items()
                     if k != "LD_PRELOAD"})
        said = self.process.stdout.readline()
        found = re.search(r"(127\.0\.0\.1:\d+|unix:\S+)", said)
        assert found, f"the server said {said!r}"
        self.address = found.group()

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait()
        self.process.stdout.close()

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder)


class Agent(Server):
    """That of a host, for the coordinator `server`."""

    def __init__(self, server):
        self.server = server
        super().__init__()

    def kind(self):
        return ["--agent", "--upstream", self.server.address]


@contextlib.contextmanager
def workers(server, n, settings=None, **options):
    """So many registered workers, w-0 to w-(n-1)."""
    made = []
    if settings:
        with roar.TrainingOrchestrator(server.address, **options) as first:
            first.configure(**settings)
    try:
        for i in range(n):
            job = roar.TrainingOrchestrator(server.address, **options)
            made.append(job)
            job.register_worker(f"w-{i}")
        yield made
    finally:
        for job in made:
            job.close()


class Background:
    """A call in a thread; result() gives what it returned or raises."""

    def __init__(self, function, *args, **kwargs):
        self._done = None
        self._error = None
        self._call = (function, args, kwargs)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        function, args, kwargs = self._call
        try:
            self._done = function(*args, **kwargs)
        except BaseException as error:  # pylint: disable=broad-except
            self._error = error

    def result(self):
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "it waits for ever"
        if self._error is not None:
            raise self._error
        return self._done


def until(condition):
    """Waits for it; returns what it returned."""
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)
    return value


@pytest.fixture(name="server", scope="module")
def one_server():
    """One coordinator for the tests of a file."""
    made = Server()
    yield made
    made.close()


@pytest.fixture(name="job")
def own_job(request):
    """A name for a job that no other test has."""
    return request.node.name[:60].replace("[", "-").replace("]", "")
