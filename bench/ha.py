"""Failover: how long nobody answers when the coordinator that leads is killed.

Three members of etcd, two coordinators and 1,000 workers, all on this machine, the workers
with a connection each (ha_workers).  They meet at one barrier after the other while one
more client sets keys.  The leader gets SIGKILL at some moment between two signs of life to
etcd; the figure is from there to the end of the first barrier that only its successor
can have released: all workers are back then.  In the end every key that was acknowledged
is looked for.  SIGSTOP is a machine that is gone without a word: no connection ends."""

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from coordinator_servers import program

LEASE_S = 5
WORKERS = 1000
MEMBERS = 3
PATIENCE_S = 120
LEADS = re.compile(r"leads with token (\d+)")


class Failed(Exception):
    """A figure that cannot be had, and why."""


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for sock in sockets:
        sock.bind(("127.0.0.1", 0))
    ports = [sock.getsockname()[1] for sock in sockets]
    for sock in sockets:
        sock.close()
    return ports


class Etcd:
    """A cluster with its data on the disk under --work."""

    def __init__(self, work):
        self.folder = tempfile.mkdtemp(dir=work)
        ports = free_ports(2 * MEMBERS)
        clients, peers = ports[:MEMBERS], ports[MEMBERS:]
        whole = ",".join(f"m{i}=http://127.0.0.1:{p}"
                         for i, p in enumerate(peers))
        self.urls = ",".join(f"http://127.0.0.1:{p}" for p in clients)
        self.members = [subprocess.Popen(
            ["etcd", "--name", f"m{i}", "--data-dir", f"{self.folder}/m{i}",
             "--listen-client-urls", f"http://127.0.0.1:{clients[i]}",
             "--advertise-client-urls", f"http://127.0.0.1:{clients[i]}",
             "--listen-peer-urls", f"http://127.0.0.1:{peers[i]}",
             "--initial-advertise-peer-urls", f"http://127.0.0.1:{peers[i]}",
             "--initial-cluster", whole, "--logger=zap", "--log-level=error"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL) for i in range(MEMBERS)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for member in self.members:
            member.kill()
            member.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Candidate:
    """A coordinator, and when it began to lead."""

    def __init__(self, bench, etcd, cluster):
        self.process = subprocess.Popen(
            [program(bench), "--etcd", etcd.urls, "--cluster", cluster,
             "--lease", str(LEASE_S), "--listen", "127.0.0.1:0", "--http",
             "off"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[1]
        self.leads = threading.Event()
        self.led_s = None
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            if LEADS.search(line):
                self.led_s = time.monotonic()
                self.leads.set()

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait()
        self.reader.join(PATIENCE_S)
        self.process.stdout.close()
        self.process.stderr.close()

    def strike(self, number):
        """Who is stopped ends later."""
        if number == signal.SIGSTOP:
            self.process.send_signal(number)
        else:
            self.end(number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.end()


class Workers:
    """ha_workers, and the barriers it tells of."""

    def __init__(self, bench, addresses):
        self.process = subprocess.Popen(
            [bench.tool("ha_workers"), addresses, str(WORKERS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.expect("joined")

    def expect(self, word):
        line = self.process.stdout.readline().split()
        if not line or line[0] != word:
            raise Failed(" ".join(["ha_workers:", *line]) if line else
                         "ha_workers ended")
        return line

    def barrier(self):
        """(generation, seconds of the monotonic clock)"""
        line = self.expect("barrier")
        return int(line[1]), int(line[2]) / 1000

    def until(self, generation):
        while True:
            met, when = self.barrier()
            if met >= generation:
                return when

    def facts(self):
        """How many keys were acknowledged, and how many of them are lost."""
        self.process.stdin.close()
        last = [line.split() for line in self.process.stdout][-1]
        self.process.wait()
        return int(last[1]), int(last[3])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def failover(bench, etcd, cluster, how):
    """One: seconds until another one leads, until all are back, facts, lost."""
    with Candidate(bench, etcd, cluster) as first:
        if not first.leads.wait(PATIENCE_S):
            raise Failed("no coordinator leads")
        with Candidate(bench, etcd, cluster) as second, Workers(
                bench, f"{first.address},{second.address}") as workers:
            end = time.monotonic() + LEASE_S * random.random()
            last, when = workers.barrier()
            while when < end:
                last, when = workers.barrier()
            killed = time.monotonic()
            first.strike(how)
            # The next one may have been released before; not that behind it.
            back = workers.until(last + 2)
            if not second.leads.is_set():
                raise Failed("the barrier was released by nobody")
            return (second.led_s - killed, back - killed, *workers.facts())


def rows(bench):
    if not shutil.which("etcd"):
        print("bench: etcd-server is not installed: no rows of failover")
        return
    if not os.path.exists(bench.tool("ha_workers")):
        print("bench: there is no ha_workers: no rows of failover")
        return
    try:
        with Etcd(bench.work) as etcd:
            killed = [failover(bench, etcd, f"killed-{i}", signal.SIGKILL)
                      for i in range(1 if bench.args.quick else 5)]
            ended = [failover(bench, etcd, f"ended-{i}", signal.SIGTERM)
                     for i in range(1 if bench.args.quick else 3)]
            silent = [failover(bench, etcd, f"silent-{i}", signal.SIGSTOP)
                      for i in range(1 if bench.args.quick else 5)]
    except Failed as e:
        print(f"bench: no rows of failover: {e}")
        return
    name = f"failover, lease {LEASE_S} s, {WORKERS:,} workers"
    bench.add(f"{name}, SIGKILL: another leads", "s", None,
              [f[0] for f in killed])
    bench.add("  all workers have met again", "s", LEASE_S + 1,
              [f[1] for f in killed])
    bench.add("  facts that were acknowledged", "", None,
              [f[2] for f in killed])
    bench.add("  of these lost", "", 0, [f[3] for f in killed])
    bench.add("  the same after SIGTERM: all have met again", "s", None,
              [f[1] for f in ended])
    bench.add("  the same after SIGSTOP, which ends no connection", "s",
              LEASE_S + 1, [f[1] for f in silent])
    bench.add("  of these lost", "", 0, [f[3] for f in silent])
