"""Three members of etcd, three coordinators, and what may happen to them under load."""

import os
import signal
import subprocess
import time

import grpc
import pytest

import etcd as etcd_module
from coordinator import PATIENCE_S, control, wait_until
from etcd import Candidate, Etcd, leader_of, patiently, pause, raft_leader
from facts import faults_of_meetings, faults_of_places
from linear import Undecided, do_dataset, do_places, is_linear
from load import DataLoad, KeyLoad, MeetLoad, PlaceLoad, request

CODE = grpc.StatusCode

needs_etcd = pytest.mark.skipif(
    not etcd_module.is_there(), reason="etcd-server or etcd-client is missing")


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


def disturbed_histories(etcd):
    """What clients saw of kill -9 of the leader, a pause beyond its lease, and the
    death of an etcd member, all under load."""
    coordinators = [etcd.coordinator() for _ in range(3)]
    leader = leader_of(coordinators)
    loads = [kind(coordinators) for kind in (KeyLoad, DataLoad, MeetLoad, PlaceLoad)]

    def go_on():
        for load in loads:
            load.wait_for_more()

    go_on()
    token = leader.token()
    leader.kill()
    leader = another_leader(coordinators, token)
    go_on()

    token = leader.token()
    pause(leader.process)
    paused, leader = leader, another_leader(coordinators, token)
    go_on()
    paused.signal(signal.SIGCONT)
    wait_until(lambda: paused.logged("no longer leads"))
    go_on()

    raft_leader(etcd).kill()
    go_on()
    return [load.finish() for load in loads]


def check(keys, data, meetings, places):
    """What every client saw has an explanation."""
    for key, calls in keys.items():
        assert is_linear(calls), (key, calls)
    assert is_linear(data, do_dataset), data
    assert not faults_of_meetings(MeetLoad.WORKERS, meetings)
    assert not faults_of_places(places)
    assert is_linear([c._replace(result=c.result.rank) if c.what == "join"
                      and c.result else c for c in places], do_places), places


@needs_etcd
def test_nothing_that_was_acknowledged_is_lost():
    """Every history must have an explanation.  On a busy machine one can have so many
    calls without an answer that no search through it ends: then another is made."""
    for _ in range(3):
        with Etcd(3) as etcd:
            histories = disturbed_histories(etcd)
        try:
            check(*histories)
            return
        except Undecided:
            pass
    pytest.fail("three histories had too many calls without an answer")


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
