"""TrainingOrchestrator behind agents: nothing is different."""

import contextlib
import socket
import struct
import threading
import time

import pytest

import roar
from coordinator_helpers import Agent, Background, Server, until
from roar import coordinator

REGISTER, HEARTBEAT = 1, 2


@pytest.fixture(name="server")
def _server():
    made = Server()
    yield made
    made.close()


@pytest.fixture(name="hosts")
def _hosts(server):
    """Two, with two workers each."""
    with contextlib.ExitStack() as stack:
        agents, jobs = [], []
        for i in range(2):
            agents.append(Agent(server))
            stack.callback(agents[i].close)
            for j in range(2):
                job = stack.enter_context(
                    roar.TrainingOrchestrator(agents[i].address))
                job.register_worker(f"w-{i}-{j}")
                jobs.append(job)
        yield agents, jobs


def meet(jobs, **more):
    waits = [Background(job.barrier, "b", timeout=60, **more) for job in jobs]
    return [w.result() for w in waits]


def test_workers_of_two_hosts_meet_again_and_again(hosts):
    _, jobs = hosts
    assert sorted(job.rank for job in jobs) == [0, 1, 2, 3]
    for _ in range(5):
        assert [r.participants for r in meet(jobs)] == [4] * 4
    gathered = [Background(job.gather, "g", job.worker_id.encode())
                for job in jobs]
    assert all(len(g.result()) == 4 for g in gathered)


def test_a_wait_survives_the_coordinator(server, hosts):
    _, jobs = hosts
    meet(jobs)
    waits = [Background(job.barrier, "b", timeout=60) for job in jobs[:3]]
    with roar.TrainingOrchestrator(server.address) as looks:
        until(lambda: looks.barriers() and
              looks.barriers()[0]["arrived"] == 3)
    server.kill()
    server.start()
    last = Background(jobs[3].barrier, "b", timeout=60)
    assert all(w.result().participants == 4 for w in waits + [last])
    assert [job.rank for job in jobs] == [0, 1, 2, 3]


def test_a_wait_survives_the_agent(hosts):
    agents, jobs = hosts
    meet(jobs)
    wait = Background(jobs[0].barrier, "b", timeout=60, policy="wait")
    until(lambda: jobs[3].barriers())
    agents[0].kill()
    agents[0].start()
    others = [Background(job.barrier, "b", timeout=60, policy="wait")
              for job in jobs[1:]]
    assert all(w.result().participants == 4 for w in [wait] + others)


def test_workers_wait_for_the_first_coordinator(server):
    """Agents and workers of a host are started in any order."""
    server.kill()
    agent = Agent(server)
    with roar.TrainingOrchestrator(agent.address) as job:
        place = Background(job.register_worker, "w", wait=60)
        server.start()
        assert place.result().rank == 0
    agent.close()


def test_the_end_of_a_worker_breaks_the_barrier_of_others(hosts):
    _, jobs = hosts
    jobs[3].configure(heartbeat_interval=0.5)  # dead after two of them
    wait = Background(jobs[2].barrier, "b", timeout=60)
    until(lambda: jobs[3].barriers())
    jobs[0].close()
    with pytest.raises(coordinator.BarrierBroken) as broken:
        wait.result()
    assert broken.value.absent == ["w-0-0"]


# ---- when heartbeats are sent ----

class SlowServer(threading.Thread):
    """Answers one worker; its second heartbeat must come an interval after the answer to
    the first, however late that was."""

    INTERVAL_MS = 200

    def __init__(self):
        super().__init__(daemon=True)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listening.getsockname()[1]
        self.waited = None

    def run(self):
        sock, _ = self.listening.accept()
        with sock, sock.makefile("rb") as stream:
            stream.read(8)
            self.answered = None
            while self.waited is None:
                self.take(sock, stream)

    def take(self, sock, stream):
        length, method, _, call, _ = struct.unpack("<IHHII", stream.read(16))
        stream.read(length)
        if method == REGISTER:
            # heartbeat_interval_ms and session
            body = b"\x20" + varint(self.INTERVAL_MS) + b"\xa0\x06\x01"
        elif method == HEARTBEAT:
            if self.answered is not None:
                self.waited = time.monotonic() - self.answered
            time.sleep(0.1)
            self.answered = time.monotonic()
            body = b"\x08\x01"
        else:
            return
        sock.sendall(struct.pack("<IHHII", len(body), method, 1, call, 0) +
                     body)


def varint(n):
    data = b""
    while n > 127:
        data += bytes([n & 127 | 128])
        n >>= 7
    return data + bytes([n])


def test_the_interval_is_counted_from_the_answer():
    server = SlowServer()
    server.start()
    job = roar.TrainingOrchestrator(server.address)
    job.register_worker("w")
    until(lambda: server.waited is not None)
    job.close()
    server.listening.close()
    # The client counts whole milliseconds.
    assert server.waited >= (SlowServer.INTERVAL_MS - 5) / 1000
