"""etcd.py - a real etcd on loopback, and coordinators that share it."""

import collections
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import grpc

from coordinator import PATIENCE_S, PROGRAM, Coordinator, wait_until

PROGRAMS = ("etcd", "etcdctl")
# Slow machines must not have elections all the time.
TIMES = ("--heartbeat-interval=100", "--election-timeout=1000")


def is_there():
    return all(shutil.which(program) for program in PROGRAMS)


def free_ports(n):
    """Ports that nobody listens at, taken at one time so that they differ."""
    sockets = [socket.socket() for _ in range(n)]
    for sock in sockets:
        sock.bind(("127.0.0.1", 0))
    ports = [sock.getsockname()[1] for sock in sockets]
    for sock in sockets:
        sock.close()
    return ports


def pause(process):
    """Stops it; all of its threads stand still when this returns."""
    process.send_signal(signal.SIGSTOP)
    tasks = f"/proc/{process.pid}/task"

    def is_still():
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/stat", encoding="ascii") as f:
                if f.read().rsplit(")", 1)[1].split()[0] != "T":
                    return False
        return True

    wait_until(is_still, "the pause")


# Where a member is: its address, and what comes before its command.
Place = collections.namedtuple("Place", "host prefix", defaults=[()])
HERE = Place("127.0.0.1")


class Member:
    """One process of etcd."""

    def __init__(self, folder, name, place, ports, peers, scheme, more=()):
        client_port, peer_port = ports
        peer_url = f"http://{place.host}:{peer_port}"
        self.url = f"{scheme}://{place.host}:{client_port}"
        self.log_path = os.path.join(folder, name + ".log")
        self.arguments = [
            *place.prefix, "etcd", "--name", name, "--data-dir", os.path.join(folder, name),
            "--listen-client-urls", self.url,
            "--advertise-client-urls", self.url,
            "--listen-peer-urls", peer_url,
            "--initial-advertise-peer-urls", peer_url,
            "--initial-cluster", peers, "--initial-cluster-state", "new",
            "--logger=zap", "--log-level=error", "--unsafe-no-fsync",
            *TIMES, *more]
        self.process = None
        self.start()

    def start(self):
        # Older ones do not know how to leave fsync out.
        arguments = [a for a in self.arguments
                     if a != "--unsafe-no-fsync" or knows_no_fsync()]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(PATIENCE_S)


_KNOWN = []


def knows_no_fsync():
    if not _KNOWN:
        result = subprocess.run(["etcd", "--help"], capture_output=True,
                                text=True, timeout=PATIENCE_S, check=False)
        _KNOWN.append("unsafe-no-fsync" in result.stdout + result.stderr)
    return _KNOWN[0]


class Etcd:
    """A cluster of its own."""

    def __init__(self, n_members=1, places=None, more=(), scheme="http",
                 ctl_options=()):
        self.ctl_options = ctl_options
        # In memory: what is tested here is not the disk.
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="etcd-", dir=base)
        places = places or [HERE] * n_members
        ports = free_ports(2 * len(places))
        peers = ",".join(f"m{i}=http://{place.host}:{ports[2 * i + 1]}"
                         for i, place in enumerate(places))
        self.members = []
        for i, place in enumerate(places):
            self.members.append(Member(self.folder, f"m{i}", place,
                                       ports[2 * i:2 * i + 2], peers, scheme,
                                       more))
        self.coordinators = []
        try:
            wait_until(self.is_healthy, "etcd's start")
        except AssertionError:
            self.close()
            raise

    @property
    def urls(self):
        return ",".join(m.url for m in self.members)

    def ctl(self, *arguments, check=True, member=None):
        """etcdctl, asking all members or one."""
        result = subprocess.run(
            ["etcdctl", "--endpoints", member.url if member else self.urls,
             *self.ctl_options, *arguments],
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
            env=dict(os.environ, ETCDCTL_API="3"))
        assert not check or result.returncode == 0, result.stderr
        return result.stdout + (result.stderr if not check else "")

    def is_healthy(self):
        for member in self.members:
            assert member.process.poll() is None, "etcd did not start"
        return "is healthy" in self.ctl("endpoint", "health", check=False)

    def keys(self, prefix="/roar/"):
        return self.ctl("get", "--prefix", "--keys-only", prefix).split()

    def coordinator(self, *arguments, lease=2, **more):
        """One more of those that share the state."""
        one = Candidate("--etcd", self.urls, "--lease", str(lease),
                        *arguments, **more)
        self.coordinators.append(one)
        return one

    def close(self):
        for one in self.coordinators:
            one.end()
        for member in self.members:
            member.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Candidate(Coordinator):
    """A coordinator whose log is in etcd."""

    def __init__(self, *arguments, listen=("127.0.0.1:0",), env=None,
                 prefix=()):
        self.folder = None
        self.arguments = [*prefix, PROGRAM, *arguments]
        for address in listen:
            self.arguments += ["--listen", address]
        self.env = dict(os.environ, **(env or {}))
        self.process = None
        self.clients = []
        self.start()

    def leads(self):
        """Did it say so, after all that it said of standing by?"""
        for line in reversed(self.log):
            if "leads with token" in line:
                return True
            if "no longer leads" in line or "a standby" in line:
                return False
        return False

    def token(self):
        """Of its last lead."""
        lines = [line for line in self.log if "leads with token" in line]
        return int(lines[-1].rsplit(" ", 1)[1])

    def wait_until_it_leads(self):
        wait_until(self.leads, "the lead")

    def end(self):
        """However it stands."""
        for client in self.clients:
            client.close()
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)
            self.kill()


def leader_of(coordinators):
    """The one that leads, as soon as there is one."""
    found = []

    def look():
        found[:] = [c for c in coordinators
                    if c.process.returncode is None and c.leads()]
        return found

    wait_until(look, "a leader")
    return found[-1]


def raft_leader(etcd):
    """The member that leads etcd's own."""
    for member in etcd.members:
        if member.process.poll() is not None:
            continue
        fields = etcd.ctl("endpoint", "status", member=member,
                          check=False).split(",")
        if len(fields) > 4 and fields[4].strip() == "true":
            return member
    return etcd.members[0]


def patiently(call):
    """The answer, asked for until somebody has one."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call()
        except grpc.RpcError as e:
            assert e.code() == grpc.StatusCode.UNAVAILABLE, e
            assert time.monotonic() < deadline, e
            time.sleep(0.02)
