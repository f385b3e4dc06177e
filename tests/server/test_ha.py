"""Three members of etcd, three coordinators, and what may happen to them under load."""

import itertools
import os
import random
import shutil
import signal
import subprocess
import threading
import time

import grpc
import pytest

import etcd as etcd_module
from coordinator import PATIENCE_S, Client, control, wait_until
from etcd import Candidate, Etcd, leader_of, patiently, pause
from linear import Call, is_linear

CODE = grpc.StatusCode

needs_etcd = pytest.mark.skipif(
    not etcd_module.is_there(), reason="etcd-server or etcd-client is missing")


# ---- the checker itself ----

def history(*rows):
    return [Call(*row) for row in rows]


@pytest.mark.parametrize("good, calls", [
    # One after the other.
    (True, history((0, 1, "set", (1,), True), (2, 3, "get", (), 1))),
    (False, history((0, 1, "set", (1,), True), (2, 3, "get", (), None))),
    # At one time: either order.
    (True, history((0, 5, "set", (1,), True), (1, 4, "get", (), None))),
    (True, history((0, 5, "set", (1,), True), (1, 4, "get", (), 1))),
    # What was seen is not unseen.
    (False, history((0, 9, "set", (1,), True), (1, 2, "get", (), 1),
                    (3, 4, "get", (), None))),
    # A sum that is done once.
    (True, history((0, 3, "add", (1,), 2), (1, 2, "add", (1,), 1))),
    (False, history((0, 1, "add", (1,), 1), (2, 3, "add", (1,), 1))),
    (False, history((0, 1, "add", (1,), 1), (2, 3, "get", (), 2))),
    # Without an answer: done, not done, or done later.
    (True, history((0, None, "set", (1,), None), (2, 3, "get", (), 1))),
    (True, history((0, None, "set", (1,), None), (2, 3, "get", (), None))),
    (True, history((0, None, "set", (1,), None), (2, 3, "get", (), None),
                   (4, 5, "get", (), 1))),
    (False, history((0, None, "set", (1,), None), (2, 3, "get", (), 1),
                    (4, 5, "get", (), None))),
    (True, history((0, 1, "set", (1,), True),
                   (2, 5, "compare_set", (1, 2), True),
                   (3, 6, "compare_set", (1, 3), False),
                   (7, 8, "get", (), 2))),
    (False, history((0, 1, "set", (1,), True),
                    (2, 5, "compare_set", (1, 2), True),
                    (3, 6, "compare_set", (1, 3), True))),
])
def test_the_checker_knows_what_can_be(good, calls):
    assert is_linear(calls) == good
    assert is_linear(list(reversed(calls))) == good


# ---- clients that write down what they see ----

class Load:
    """Threads that ask whoever leads, and record it."""

    KEYS = ("a", "b", "c")
    THREADS = 5

    def __init__(self, coordinators):
        self.coordinators = coordinators
        self.calls = {key: [] for key in self.KEYS}
        self.stop = False
        self.errors = []
        self.values = itertools.count(1)
        self.threads = [threading.Thread(target=self.run, args=(i,))
                        for i in range(self.THREADS)]
        for thread in self.threads:
            thread.start()

    def n_answered(self):
        return sum(c.end is not None for calls in self.calls.values()
                   for c in calls)

    def wait_for_more(self, n=40):
        """Until so many more were answered: the load goes on."""
        before = self.n_answered()
        wait_until(lambda: self.errors or self.n_answered() >= before + n,
                   "more answers")

    def run(self, number):
        rng = random.Random(number)
        try:
            self.ask(rng)
        except Exception as e:  # pylint: disable=broad-except
            self.errors.append(e)

    def ask(self, rng):
        clients = {}
        address = None
        try:
            while not self.stop:
                address = address or rng.choice(self.coordinators).address
                if address not in clients:
                    clients[address] = Client(address)
                address = self.once(clients[address], rng, address)
                time.sleep(rng.uniform(0.001, 0.01))
        finally:
            for client in clients.values():
                client.close()

    def once(self, client, rng, address):
        """One call; returns where to ask next."""
        key = rng.choice(self.KEYS)
        what = rng.choice(("get", "get", "set", "add", "compare_set"))
        number = next(self.values)
        args = {"get": (), "set": (number,), "add": (number,),
                "compare_set": (rng.randint(1, number), number)}[what]
        begin = time.monotonic()
        try:
            result = request(client, key, what, args, timeout=3)
        except grpc.RpcError as e:
            assert e.code() in (CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED), e
            leader = dict(e.trailing_metadata() or ()).get("roar-leader")
            if leader is None and "failed to connect" not in e.details():
                # It may have been done.
                self.calls[key].append(Call(begin, None, what, args, None))
            return leader or None
        self.calls[key].append(Call(begin, time.monotonic(), what, args,
                                    result))
        return address

    def finish(self):
        """All that was recorded, by key."""
        self.stop = True
        for thread in self.threads:
            thread.join(PATIENCE_S)
        assert not self.errors, self.errors
        return self.calls


def request(client, key, what, args, timeout=PATIENCE_S):
    kv = client.control
    more = {"timeout": timeout}
    if what == "get":
        try:
            entry = kv.KvGet(control.KvGetRequest(job_id="l", key=key),
                             **more).entry
        except grpc.RpcError as e:
            if e.code() == CODE.NOT_FOUND:
                return None
            raise
        return int(entry.value)
    if what == "set":
        return kv.KvSet(control.KvSetRequest(
            job_id="l", key=key, value=b"%d" % args[0]), **more).done
    if what == "add":
        return int(kv.KvAdd(control.KvAddRequest(
            job_id="l", key=key, delta=args[0]), **more).entry.value)
    return kv.KvCompareSet(control.KvCompareSetRequest(
        job_id="l", key=key, by_value=True, expected=b"%d" % args[0],
        value=b"%d" % args[1]), **more).done


# ---- a cluster ----

@pytest.fixture(name="etcd")
def _etcd():
    with Etcd(3) as etcd:
        yield etcd


def another_leader(coordinators, old_token):
    """The one that leads by a later token."""
    found = []

    def look():
        found[:] = [c for c in coordinators if c.process.returncode is None
                    and c.leads() and c.token() > old_token]
        return found

    wait_until(look, "another leader")
    return found[-1]


def raft_leader(etcd):
    """The member that leads etcd's own."""
    for member in etcd.members:
        if member.process.poll() is not None:
            continue
        fields = etcd.ctl("endpoint", "status", "--endpoints", member.url,
                          check=False).split(",")
        if len(fields) > 4 and fields[4].strip() == "true":
            return member
    return etcd.members[0]


@needs_etcd
def test_nothing_that_was_acknowledged_is_lost(etcd):
    """kill -9 of the leader, a pause beyond its lease, and the death of an etcd
    member, all under load; then every history must have an explanation."""
    coordinators = [etcd.coordinator() for _ in range(3)]
    leader = leader_of(coordinators)
    load = Load(coordinators)
    load.wait_for_more()

    token = leader.token()
    leader.kill()
    leader = another_leader(coordinators, token)
    load.wait_for_more()

    token = leader.token()
    pause(leader.process)
    paused, leader = leader, another_leader(coordinators, token)
    load.wait_for_more()
    paused.signal(signal.SIGCONT)
    wait_until(lambda: paused.logged("no longer leads"))
    load.wait_for_more()

    raft_leader(etcd).kill()
    load.wait_for_more()

    for key, calls in load.finish().items():
        assert is_linear(calls), (key, calls)


@needs_etcd
@pytest.mark.parametrize("behind_agent", [False, True])
def test_workers_go_on_by_themselves(etcd, behind_agent):
    """Clients in C with all addresses, or an agent that has them: no barrier
    fails, and no fact is lost."""
    coordinators = [etcd.coordinator() for _ in range(2)]
    leader = leader_of(coordinators)
    addresses = ",".join(c.address for c in coordinators)
    if behind_agent:
        agent = Candidate("--agent", "--upstream", addresses)
        etcd.coordinators.append(agent)  # ends with the others
        addresses = agent.address
    workers = subprocess.Popen(
        [os.environ["HA_WORKERS"], addresses, "20"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with workers:
        assert workers.stdout.readline() == "joined\n"
        for _ in range(3):
            assert workers.stdout.readline().startswith("barrier ")
        token = leader.token()
        leader.kill()
        killed_ms = time.monotonic() * 1000
        new_token = another_leader(coordinators, token).token()
        for line in workers.stdout:
            assert line.startswith("barrier "), line
            if int(line.split()[2]) > killed_ms + 1000:
                break  # of the new leader surely: the lease is longer
        workers.stdin.close()
        last = list(workers.stdout)[-1].split()
        assert workers.wait(PATIENCE_S) == 0
    assert int(last[1]) > 0
    assert last[2:] == ["lost", "0", "token", str(new_token)]


@needs_etcd
def test_a_slow_etcd_delays_and_refuses_nothing(etcd):
    server = etcd.coordinator(lease=60)
    server.wait_until_it_leads()
    client = server.client()
    request(client, "k", "set", (1,))
    for member in etcd.members:
        pause(member.process)
    late = client.control.KvSet.future(control.KvSetRequest(
        job_id="l", key="k", value=b"2"), timeout=PATIENCE_S)
    time.sleep(0.3)
    assert not late.done()
    for member in etcd.members:
        member.signal(signal.SIGCONT)
    assert late.result().done
    assert request(client, "k", "get", ()) == 2


@needs_etcd
def test_a_member_that_hangs_is_left(etcd):
    """Whichever it is: ours, the one that leads etcd, or neither."""
    server = etcd.coordinator(lease=10)
    server.wait_until_it_leads()
    client = server.client()
    for n, member in enumerate(etcd.members):
        pause(member.process)
        assert patiently(lambda n=n: request(client, "k", "set", (n,)))
        member.signal(signal.SIGCONT)
        assert patiently(lambda: request(client, "k", "get", ())) == n


@needs_etcd
def test_without_a_majority_nobody_leads(etcd):
    server = etcd.coordinator()
    server.wait_until_it_leads()
    for member in etcd.members[1:]:
        member.kill()
    wait_until(lambda: server.logged("no longer leads"))
    with pytest.raises(grpc.RpcError) as e:
        request(server.client(), "k", "get", ())
    assert e.value.code() == CODE.UNAVAILABLE
    for member in etcd.members[1:]:
        member.start()
    wait_until(server.leads, "the lead again")


# ---- networks that are cut ----

def may_cut_networks():
    if os.geteuid() != 0 or not shutil.which("ip"):
        return False
    name = f"roar-{os.getpid()}-try"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True,
                      check=False).returncode:
        return False
    subprocess.run(["ip", "netns", "del", name], check=False)
    return True


class Island:
    """A network of its own: one wire to etcd, one to clients."""

    def __init__(self):
        self.name = f"roar-{os.getpid()}"
        self.wires = [f"re{os.getpid()}", f"rc{os.getpid()}"]
        self.here, self.there = [], []
        self.ip("netns", "add", self.name)
        for i, wire in enumerate(self.wires):
            net = f"10.{200 + os.getpid() % 50}.{10 * i + os.getpid() % 10}"
            self.ip("link", "add", wire, "type", "veth", "peer", "name",
                    wire + "p", "netns", self.name)
            self.ip("addr", "add", f"{net}.1/24", "dev", wire)
            self.ip("link", "set", wire, "up")
            self.inside("ip", "addr", "add", f"{net}.2/24", "dev", wire + "p")
            self.inside("ip", "link", "set", wire + "p", "up")
            self.here.append(f"{net}.1")
            self.there.append(f"{net}.2")

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True, capture_output=True,
                       timeout=PATIENCE_S)

    def inside(self, *command):
        self.ip("netns", "exec", self.name, *command)

    def cut(self):
        self.ip("link", "set", self.wires[0], "down")

    def mend(self):
        self.ip("link", "set", self.wires[0], "up")

    def close(self):
        # The wires end with one of their ends.
        subprocess.run(["ip", "netns", "del", self.name], check=False)


@pytest.fixture(name="island")
def _island():
    if not may_cut_networks():
        pytest.skip("namespaces of networks need root and iproute2")
    island = Island()
    yield island
    island.close()


@needs_etcd
def test_a_leader_that_is_cut_off_stops_answering(island):
    with Etcd(1, host=island.here[0]) as etcd:
        inside = etcd.coordinator(
            listen=(f"{island.there[1]}:0",),
            prefix=("ip", "netns", "exec", island.name))
        inside.wait_until_it_leads()
        outside = etcd.coordinator()
        wait_until(lambda: outside.logged("a standby"))
        client = inside.client()
        request(client, "k", "set", (1,))
        island.cut()
        outside.wait_until_it_leads()
        request(outside.client(), "k", "set", (2,))
        with pytest.raises(grpc.RpcError) as e:
            request(client, "k", "get", ())
        assert e.value.code() == CODE.UNAVAILABLE
        island.mend()
        wait_until(lambda: inside.logged(f"'{outside.address}' leads"))
        outside.kill()
        wait_until(inside.leads, "the lead again")
        assert patiently(lambda: request(client, "k", "get", ())) == 2
