"""A network that is cut: the coordinator that leads is on the smaller side."""

import itertools
import json
import os
import shutil
import subprocess
import threading

import grpc
import pytest

import etcd as etcd_module
from coordinator import PATIENCE_S, wait_until
from etcd import Etcd, Place, leader_of, patiently, raft_leader
from load import request

CODE = grpc.StatusCode

pytestmark = pytest.mark.skipif(
    not etcd_module.is_there(), reason="etcd-server or etcd-client is missing")


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
    """A network of its own: one wire to the rest of the cluster, one to clients."""

    numbers = itertools.count()  # a name may be taken for a while after its end

    def __init__(self):
        number = next(self.numbers)
        self.name = f"roar-{os.getpid()}-{number}"
        self.prefix = ("ip", "netns", "exec", self.name)
        self.wires = [f"re{os.getpid()}.{number}", f"rc{os.getpid()}.{number}"]
        self.here, self.there = [], []
        self.ip("netns", "add", self.name)
        try:
            self.wire_up(number)
        except BaseException:
            self.close()
            raise

    def wire_up(self, number):
        self.inside("ip", "link", "set", "lo", "up")
        for i, wire in enumerate(self.wires):
            net = f"10.{200 + os.getpid() % 50}.{20 * number + 10 * i + os.getpid() % 10}"
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
        pytest.skip("network namespaces (CONFIG_NET_NS, veth) need root and iproute2")
    island = Island()
    yield island
    island.close()


def let_lead(etcd, member):
    """Makes it the one that leads etcd."""
    status = json.loads(etcd.ctl("endpoint", "status", "-w", "json",
                                 member=member))
    number = f"{status[0]['Status']['header']['member_id']:x}"

    def leads():
        leader = raft_leader(etcd)
        if leader is not member:
            etcd.ctl("move-leader", number, member=leader, check=False)
        return leader is member

    wait_until(leads, "another member to lead etcd")


class Writer:
    """Writes to a coordinator all the time, and counts what it says was done."""

    def __init__(self, client):
        self.client = client
        self.n_done, self.n_refused = 0, 0
        self.stop = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stop:
            try:
                request(self.client, "k", "set", (1000,), timeout=1)
                self.n_done += 1
            except grpc.RpcError as e:
                assert e.code() in (CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED), e
                self.n_refused += 1

    def finish(self):
        self.stop = True
        self.thread.join(PATIENCE_S)


@pytest.mark.parametrize("with_raft_leader", [False, True])
def test_a_leader_in_the_minority_stops_answering(island, with_raft_leader):
    """It is cut off together with a member of etcd, which the two others do without."""
    places = [Place(island.there[0], island.prefix), Place(island.here[0]),
              Place(island.here[0])]
    with Etcd(places=places) as etcd:
        let_lead(etcd, etcd.members[0 if with_raft_leader else 1])
        inside = etcd.coordinator(listen=(f"{island.there[1]}:0",),
                                  prefix=island.prefix)
        inside.wait_until_it_leads()
        outside = etcd.coordinator()
        wait_until(lambda: outside.logged("a standby"))
        client = inside.client()
        request(client, "k", "set", (1,))
        island.cut()
        writer = Writer(client)
        outside.wait_until_it_leads()
        assert outside.token() > inside.token()
        assert patiently(lambda: request(outside.client(), "k", "set", (2,)))
        with pytest.raises(grpc.RpcError) as e:
            request(client, "k", "get", ())
        assert e.value.code() == CODE.UNAVAILABLE
        # What it could not keep it has not acknowledged, nor does it come later.
        wait_until(lambda: writer.n_refused, "a refusal")
        writer.finish()
        assert writer.n_done == 0
        island.mend()
        wait_until(lambda: inside.logged(f"'{outside.address}' leads"))
        # The members that meet again may elect a leader of theirs anew, so ours may change.
        assert patiently(lambda: request(
            leader_of([inside, outside]).client(), "k", "get", ())) == 2
        outside.kill()
        wait_until(inside.leads, "the lead again")
        assert patiently(lambda: request(client, "k", "get", ())) == 2
