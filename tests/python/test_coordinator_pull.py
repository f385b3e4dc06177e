"""Workers that pull pieces of an epoch: pull() and Lease against the real coordinator."""

import gc
import time
from concurrent import futures

import pytest

from coordinator_helpers import (  # noqa: F401
    Background, Server, one_server, until, workers)
from roar import _lease, coordinator

MODES = pytest.mark.parametrize("exactly_once", [False, True],
                                ids=["at-least-once", "exactly-once"])


@pytest.fixture(name="two")
def _two(server, request):
    """Two workers of a job of its own, with a dataset of 20 positions in shards of 10."""
    job = request.node.name[:60].replace("[", "-").replace("]", "")
    with workers(server, 2, job=job) as pair:
        pair[0].register_dataset("d", "/data", 20, 10)
        yield pair


@pytest.fixture(name="silent")
def _silent(monkeypatch):
    """Nobody renews: as if the machine was cut off."""
    monkeypatch.setattr(_lease.Renewer, "add", lambda self, lease: None)


def lose(b, lease, **terms):
    """Waits until `b` is lent what another has."""
    until(lambda: b.take_lease("d", **terms).positions == lease.positions)


# ---- the whole of it ----

@MODES
def test_two_workers_pull_an_epoch(two, exactly_once):
    a, b = two
    terms = {"exactly_once": exactly_once, "timeout": 60}
    stopped = b.pull("d", **terms)
    next(stopped)
    stopped.close()     # what it had is free
    with futures.ThreadPoolExecutor() as pool:
        found = list(pool.map(
            lambda w: [n for lease in w.pull("d", **terms)
                       for n in lease.positions], two))
    assert sorted(found[0] + found[1]) == list(range(20))
    assert a.consumed("d") == [range(20)]


@MODES
def test_a_body_may_take_longer_than_the_timeout(two, exactly_once):
    """Others ask all the while, and are not given the piece."""
    a, b = two
    terms = {"exactly_once": exactly_once, "timeout": 3, "chunk": 20}
    pieces = a.pull("d", **terms)
    lease = next(pieces)
    end = time.monotonic() + 5
    while time.monotonic() < end:
        assert b.take_lease("d", **terms).lease_id == 0
        time.sleep(0.1)
    assert not lease.lost
    assert next(pieces, None) is None
    assert a.consumed("d") == [range(20)]


# ---- breaking off ----

@MODES
def test_break_counts_what_the_loop_has_behind_it(two, exactly_once):
    a, b = two
    for lease in a.pull("d", exactly_once=exactly_once):
        for position in lease:
            if position == 4:
                break
        break
    assert a.consumed("d") == [range(4)]
    assert b.take_lease("d", exactly_once=exactly_once).positions == range(4, 14)


@MODES
def test_break_behind_the_last_position_counts_all(two, exactly_once):
    a, _ = two
    for lease in a.pull("d", exactly_once=exactly_once):
        for _position in lease:
            pass
        break
    assert a.consumed("d") == [range(10)]


@MODES
def test_break_keeps_what_was_said_to_be_consumed(two, exactly_once):
    a, b = two
    for lease in a.pull("d", exactly_once=exactly_once):
        assert lease.consumed(7) == 7
        break
    assert a.consumed("d") == [range(7)]
    assert b.take_lease("d", exactly_once=exactly_once).positions.start == 7


@MODES
def test_an_exception_counts_what_was_finished(two, exactly_once):
    a, b = two
    with pytest.raises(ZeroDivisionError):
        for lease in a.pull("d", exactly_once=exactly_once):
            for position in lease:
                1 // (position - 3)
    assert a.consumed("d") == [range(3)]
    assert b.take_lease("d", exactly_once=exactly_once).positions.start == 3


def test_with_counts_a_lease_or_gives_it_back(two):
    a, _ = two
    with a.take_lease("d", chunk=5) as lease:
        assert lease.positions == range(5)
    assert a.consumed("d") == [range(5)]
    with pytest.raises(KeyError), a.take_lease("d", chunk=5) as lease:
        raise KeyError
    assert a.take_lease("d", chunk=5).positions == range(5, 10)


# ---- losing ----

def test_exactly_once_a_lost_piece_is_told_before_it_is_applied(two, silent):
    a, b = two
    terms = {"exactly_once": True, "timeout": 0.1}
    applied = []
    with pytest.raises(coordinator.LeaseLost, match="discard their results"):
        for lease in a.pull("d", **terms):
            lose(b, lease, **terms)
            lease.consumed()
            applied.append(lease)
    assert not applied
    assert a.consumed("d") == []


def test_exactly_once_a_body_that_does_not_ask_is_told_at_its_end(two, silent):
    a, b = two
    terms = {"exactly_once": True, "timeout": 0.1}
    with pytest.raises(coordinator.LeaseLost):
        for lease in a.pull("d", **terms):
            lose(b, lease, **terms)
    assert a.consumed("d") == []


def test_exactly_once_a_break_that_does_not_count_is_told(two, silent):
    a, b = two
    terms = {"exactly_once": True, "timeout": 0.1}
    with pytest.warns(RuntimeWarning, match="were finished, but do not count"):
        for lease in a.pull("d", **terms):
            for _position in lease:
                pass
            lose(b, lease, **terms)
            break


def test_at_least_once_a_late_piece_counts_and_the_loop_goes_on(two, silent):
    a, b = two
    terms = {"timeout": 0.1}
    for n, lease in enumerate(a.pull("d", **terms)):
        if n == 0:
            lose(b, lease, **terms)
    assert a.consumed("d") == [range(20)]


def test_at_least_once_a_piece_that_is_refused_ends_no_loop(two):
    """The worker's place was given up: somebody else has it."""
    a, b = two
    found = []
    for lease in a.pull("d"):
        found.append(lease.positions)
        if len(found) == 2:
            break
        b.call("/roar.Control/Leave", {"job_id": a.job, "worker_id": "w-0"})
        a.heartbeat()   # and it has a place again
        until(lambda: len(b.workers()) == 2)
        other = b.take_lease("d")
        assert other.positions == lease.positions
    assert found == [range(10), range(10, 20)]
    assert b.consumed("d") == []


def test_a_word_that_counted_before_the_lease_was_lost_keeps_no_more(two, silent):
    """Its answer was lost, and the lease lapsed before it was said again."""
    a, b = two
    terms = {"exactly_once": True, "timeout": 0.1}
    lease = a.take_lease("d", **terms)
    a.call("/roar.Shards/UseLease", {
        **a._me("d"), "lease_id": lease.lease_id, "consumed_to": 4})
    until(lambda: b.take_lease("d", **terms).positions.start == 4)
    assert lease.consumed(4) == 4
    assert lease.lost and lease.positions == range(4, 10)
    with pytest.raises(coordinator.LeaseLost):
        lease.consumed()


def test_a_lease_that_is_over_says_so_by_itself(two):
    a, _ = two
    lease = a.take_lease("d", exactly_once=True, timeout=2)
    a.call("/roar.Shards/UseLease", {
        **a._me("d"), "lease_id": lease.lease_id, "give_back": True})
    until(lambda: lease.lost)
    for say in (lease.renew, lease.consumed, lease.give_back):
        with pytest.raises(coordinator.LeaseLost):
            say()


def test_a_lease_that_nobody_has_is_not_renewed(two):
    a, b = two
    lease = a.take_lease("d", timeout=0.3, chunk=20)
    assert lease.positions == range(20)
    del lease
    gc.collect()
    assert until(lambda: b.take_lease("d", timeout=0.3, chunk=20).lease_id)


# ---- renewing ----

def test_the_thread_is_there_while_there_are_leases(two):
    renewer = two[0]._renewer
    for _ in range(2):
        assert renewer._thread is None
        with two[0].take_lease("d"):
            assert renewer._thread.is_alive()
        until(lambda: renewer._thread is None)


def test_leases_outlive_the_coordinator():
    """It is away for longer than the timeout, which is not the workers' silence."""
    server = Server()
    try:
        with workers(server, 2) as (a, b):
            a.register_dataset("d", "/data", 20, 10)
            terms = {"exactly_once": True, "timeout": 2}
            lease = a.take_lease("d", **terms)
            server.kill()
            time.sleep(2.5)
            server.start()
            assert b.take_lease("d", **terms).positions == range(10, 20)
            assert lease.consumed() == 10
            assert a.consumed("d") == [range(10)]
    finally:
        server.close()


def test_a_take_whose_answer_is_lost_takes_one(two):
    a, b = two
    request = {**a._me("d"), "request": 77}
    first, again = (a.call("/roar.Shards/TakeLease", request) for _ in range(2))
    assert first == again
    assert b.take_lease("d").positions == range(10, 20)


def test_nobody_uses_the_leases_of_another(two):
    a, b = two
    lease = a.take_lease("d")
    for session in (0, b._session()):
        with pytest.raises((coordinator.CoordinatorDenied,
                            coordinator.CoordinatorStale)):
            b.call("/roar.Shards/UseLease", {
                **a._me("d"), "session": session, "lease_id": lease.lease_id,
                "consumed_to": 10})
    assert a.consumed("d") == []


def test_waiting_for_the_last_piece_ends_with_it(two):
    a, b = two
    held = a.take_lease("d", chunk=20, timeout=60)
    waiting = Background(lambda: list(b.pull("d", chunk=20, timeout=60)))
    held.consumed()
    assert waiting.result() == []
