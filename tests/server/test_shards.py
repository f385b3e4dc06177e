"""Shards of a dataset, dealt to workers that come and go, by stock clients."""

import signal
import time

import grpc
import pytest

from coordinator import (PATIENCE_S, Coordinator, control, pb, raises, shards,
                         wait_until)

CODE = grpc.StatusCode
N = 101


@pytest.fixture(name="server")
def _server():
    with Coordinator() as server:
        yield server


def begin(client, *workers, dataset="d", samples=N):
    """Returns their sessions."""
    sessions = {worker: client.register(worker).session for worker in workers}
    client.coordinator.RegisterDataset(
        pb.DatasetInfo(dataset_id=dataset, total_samples=samples, shard_size=1),
        timeout=PATIENCE_S)
    return sessions


def page(client, worker, dataset="d", **more):
    return client.shards.ListShards(
        shards.ListShardsRequest(worker_id=worker, dataset_id=dataset, **more),
        timeout=PATIENCE_S)


def listed(client, worker, dataset="d", limit=0, session=0):
    """All shards of a worker, over as many pages as it takes."""
    found, after, version = [], 0, 0
    while True:
        reply = page(client, worker, dataset, after=after, version=version, limit=limit,
                     session=session)
        found += [n for r in reply.ranges for n in range(r.first, r.first + r.count)]
        after, version = reply.next, reply.version
        if not after:
            assert len(found) == reply.n_shards
            return found


def table(client, dataset="d"):
    return client.shards.GetTable(shards.TableRequest(dataset_id=dataset),
                                  timeout=PATIENCE_S)


def leave(client, worker):
    client.control.Leave(control.LeaveRequest(worker_id=worker), timeout=PATIENCE_S)


def test_all_have_as_many_and_together_all(server):
    with server.client() as client:
        begin(client, "a", "b", "c")
        found = [listed(client, w, limit=1) for w in "abc"]
        assert sorted(sum(found, [])) == list(range(N))
        assert sorted(map(len, found)) == [33, 34, 34]


def test_who_comes_and_goes_moves_the_fewest(server):
    """Moves are counted here, from the lists before and after."""
    with server.client() as client:
        begin(client, "a", "b", "c", "d")
        workers = list("abcd")
        for change in ("-b", "+e", "-a", "-c", "+f", "+g"):
            before = {n: w for w in workers for n in listed(client, w)}
            if change[0] == "+":
                client.register(change[1])
                workers.append(change[1])
                fewest = N // len(workers)
            else:
                fewest = sum(w == change[1] for w in before.values())
                leave(client, change[1])
                workers.remove(change[1])
            after = {n: w for w in workers for n in listed(client, w)}
            assert len(after) == N
            moved = sum(after[n] != before[n] for n in after)
            told = table(client)
            assert moved == fewest == told.moved == told.minimum
            assert told.most - told.least <= 1


def test_kill_9_loses_no_table(server):
    with server.client() as client:
        sessions = begin(client, "a", "b", "c")
        listed(client, "a")
        leave(client, "b")
        sessions["d"] = client.register("d").session
        before = {w: listed(client, w) for w in "acd"}
        known = table(client)
    server.kill()
    server.start()
    with server.client() as client:
        assert {w: listed(client, w, session=sessions[w]) for w in "acd"} == before
        again = table(client)
        assert (again.version, again.hash) == (known.version, known.hash)


BALANCES = {
    "weight": {},
    "bytes": {"shard_bytes": [1 + n * n % 77 for n in range(N)]},
    "locality": {"homes": ["east", "west"], "shard_homes": [0, 1, 1, 0]},
    "rendezvous": {}, "jump": {}, "ring": {},
}


@pytest.mark.parametrize("balance", BALANCES)
def test_kill_9_loses_no_table_however_it_is_balanced(server, balance):
    sessions = {}
    with server.client() as client:
        for worker, weight, home in (("a", 1, "east"), ("b", 3, "west"),
                                     ("c", 2, "west")):
            sessions[worker] = client.coordinator.RegisterWorker(
                pb.WorkerInfo(worker_id=worker, metadata={
                    "roar.weight": str(weight), "roar.home": home}),
                timeout=PATIENCE_S).session
        client.coordinator.RegisterDataset(pb.DatasetInfo(
            dataset_id="d", total_samples=N, shard_size=1,
            balance=getattr(pb, "BALANCE_" + balance.upper()),
            **BALANCES[balance]), timeout=PATIENCE_S)
        listed(client, "a")
        leave(client, "b")
        sessions["d"] = client.register("d").session
        before = {w: listed(client, w) for w in "acd"}
        assert sorted(sum(before.values(), [])) == list(range(N))
        known = table(client)
        assert known.balance == balance and known.version > 1
    server.kill()
    server.start()
    with server.client() as client:
        assert {w: listed(client, w, session=sessions[w])
                for w in "acd"} == before
        assert table(client) == known


def test_a_watch_tells_of_moves(server):
    with server.client() as client:
        begin(client, "a", "b")
        listed(client, "a")
        stream = client.control.Watch(control.WatchRequest(shards=True),
                                      timeout=PATIENCE_S)
        next(stream)
        leave(client, "b")
        event = next(e for e in stream if e.kind == control.WatchEvent.SHARDS)
        assert event.table.dataset_id == "d" and event.table.n_workers == 1
        assert event.table.moved == event.table.minimum == 50
        stream.cancel()


def test_a_worker_sees_its_own(server):
    with server.client() as one, server.client() as other, \
            server.client() as stranger:
        begin(one, "a")
        session = other.register("b").session
        with raises(CODE.PERMISSION_DENIED):
            page(one, "b")
        with raises(CODE.PERMISSION_DENIED, "send the session"):
            page(stranger, "b")
        assert page(stranger, "b", session=session).n_shards == 50
        with raises(CODE.FAILED_PRECONDITION):
            page(one, "b", session=session ^ 1)
        assert page(other, "b").n_shards == 50
        with raises(CODE.PERMISSION_DENIED):
            one.coordinator.GetDataShard(pb.ShardRequest(worker_id="b", dataset_id="d"),
                                         timeout=PATIENCE_S)


def test_a_client_of_the_reference_asks_on_any_connection(server):
    """It registers, and knows of no session."""
    with server.client() as one, server.client() as other:
        begin(one, "a", "b")
        for client in (one, other):
            shard = client.coordinator.GetDataShard(
                pb.ShardRequest(worker_id="b", dataset_id="d"), timeout=PATIENCE_S)
            assert shard.shard_id == 51


def test_leases_are_a_workers_own(server):
    with server.client() as one, server.client() as stranger:
        session = begin(one, "a")["a"]
        lease = take(one, "a").lease_id
        stranger.heartbeat("a")     # that proves nothing
        for client in (stranger, one):
            with raises(CODE.FAILED_PRECONDITION):
                take(client, "a", session=session ^ 1)
        for ask in (lambda **more: take(stranger, "a", **more),
                    lambda **more: use(stranger, "a", lease, 4, **more),
                    lambda **more: report(stranger, (0, 1), **more)):
            with raises(CODE.PERMISSION_DENIED, "send the session"):
                ask()
        assert use(stranger, "a", lease, 4, session=session).n_new == 4


def test_pages_of_two_tables_are_not_mixed(server):
    with server.client() as client:
        begin(client, "a", "b", "c")
        listed(client, "a")
        leave(client, "b")
        first = page(client, "a", limit=1)
        assert first.next
        client.register("e")
        with raises(CODE.FAILED_PRECONDITION):
            page(client, "a", after=first.next, version=first.version)


def test_an_epoch_does_not_come_back(server):
    def advance(epoch):
        return client.shards.AdvanceEpoch(shards.AdvanceEpochRequest(
            worker_id="a", dataset_id="d", epoch=epoch), timeout=PATIENCE_S).epoch

    with server.client() as client:
        begin(client, "a")
        assert [advance(1), advance(2), advance(2)] == [1, 2, 2]
        for epoch, code in ((1, CODE.FAILED_PRECONDITION), (4, CODE.FAILED_PRECONDITION),
                            (2 ** 63 - 1, CODE.FAILED_PRECONDITION),
                            (-1, CODE.INVALID_ARGUMENT)):
            with raises(code):
                advance(epoch)
        assert page(client, "a").epoch == 2


def test_a_worker_that_recovers_is_told_its_shards(server):
    with server.client() as client:
        begin(client, "a", "b")
        mine = listed(client, "a")
        found = client.coordinator.GetLatestCheckpoint(
            pb.RecoveryRequest(worker_id="a"), timeout=PATIENCE_S)
        assert [s.shard_id for s in found.shard_assignments] == mine
        assert not found.has_checkpoint


# ---- what was consumed ----

def report(client, *ranges, epoch=0, **more):
    return client.shards.ReportConsumed(shards.ConsumedReport(
        worker_id="a", dataset_id="d", epoch=epoch, **more,
        ranges=[shards.PositionRange(first=f, end=e) for f, e in ranges]),
        timeout=PATIENCE_S)


def consumed(client, **more):
    reply = client.shards.GetConsumed(shards.ConsumedRequest(dataset_id="d", **more),
                                      timeout=PATIENCE_S)
    return [(r.first, r.end) for r in reply.ranges], reply.next


def test_kill_9_loses_nothing_that_was_consumed(server):
    with server.client() as client:
        begin(client, "a")
        assert report(client, (0, 10), (20, 30)).n_new == 20
        assert report(client, (5, 12)).n_repeated == 5
    server.kill()
    server.start()
    with server.client() as client:
        assert consumed(client) == ([(0, 12), (20, 30)], 0)
        assert consumed(client, missing=True, limit=1) == ([(12, 20)], 30)
        assert consumed(client, missing=True, after=30) == ([(30, N)], 0)


def test_reports_that_make_no_sense_are_refused(server):
    with server.client() as client:
        begin(client, "a")
        for ranges in ([(-1, 1)], [(2, 1)], [(0, N + 1)], [(0, 2 ** 63 - 1)],
                       [(0, 1)] * 10001):
            with raises(CODE.INVALID_ARGUMENT):
                report(client, *ranges)
        with raises(CODE.FAILED_PRECONDITION):
            report(client, (0, 1), epoch=1)


def test_an_epoch_in_as_many_pieces_as_are_kept_can_be_finished(server):
    pieces, at_once = 1 << 16, 10000
    with server.client() as client:
        begin(client, "a", samples=2 * pieces + 2)
        for first in range(0, pieces, at_once):
            report(client, *((2 * i, 2 * i + 1) for i in
                             range(first, min(first + at_once, pieces))))
        with raises(CODE.RESOURCE_EXHAUSTED):
            report(client, (2 * pieces, 2 * pieces + 1))
        found, after = consumed(client, after=2 * pieces - 5)
        assert (found[0], len(found), after) == (
            (2 * pieces - 4, 2 * pieces - 3), 2, 0)
        assert report(client, (1, 2)).n_new == 1
        assert report(client, (0, 2 * pieces + 2)).consumed == 2 * pieces + 2
        assert consumed(client) == ([(0, 2 * pieces + 2)], 0)


# ---- leases ----

def take(client, worker, mode=shards.EXACTLY_ONCE, **more):
    return client.shards.TakeLease(shards.TakeLeaseRequest(
        worker_id=worker, dataset_id="d", mode=mode, chunk=10, **more),
        timeout=PATIENCE_S)


def use(client, worker, lease, to, **more):
    return client.shards.UseLease(shards.UseLeaseRequest(
        worker_id=worker, dataset_id="d", lease_id=lease, consumed_to=to, **more),
        timeout=PATIENCE_S)


def test_an_epoch_is_lent_over_a_crash(server):
    """What was acknowledged counts, and each position is lent to one at a time."""
    found = []
    with server.client() as client:
        sessions = begin(client, "a", "b")
        for worker in "abab":
            lease = take(client, worker)
            found += range(lease.range.first, lease.range.end)
            use(client, worker, lease.lease_id, lease.range.end)
        half = take(client, "a")
        use(client, "a", half.lease_id, half.range.first + 4)
    server.kill()
    server.start()
    with server.client() as client:
        for _ in range(2):  # as if the first answer had been lost
            assert use(client, "a", half.lease_id, half.range.end,
                       session=sessions["a"]).n_new == 6
        found += range(half.range.first, half.range.end)
        mine = {"session": sessions["b"]}
        while not (lease := take(client, "b", **mine)).done:
            found += range(lease.range.first, lease.range.end)
            use(client, "b", lease.lease_id, lease.range.end, **mine)
        assert found == list(range(N))
        assert consumed(client) == ([(0, N)], 0)


def test_a_pause_of_the_coordinator_ends_no_lease(server):
    """It stands still for longer than the timeout, and then hears who spoke meanwhile."""
    with server.client() as client:
        begin(client, "a", "b")
        lease = take(client, "a", timeout_ms=4000)
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(5)
        server.process.send_signal(signal.SIGCONT)
        assert take(client, "b", timeout_ms=4000).range.first == lease.range.end
        assert use(client, "a", lease.lease_id, lease.range.end).n_new == 10


def test_a_take_is_repeated_over_a_crash(server):
    with server.client() as client:
        session = begin(client, "a")["a"]
        first = take(client, "a", request=7)
        assert take(client, "a", request=7) == first
    server.kill()
    server.start()
    with server.client() as client:
        assert take(client, "a", request=7, session=session) == first
        other = take(client, "a", request=8, session=session)
        assert other.range.first == first.range.end


def test_who_leaves_gives_back(server):
    with server.client() as client:
        begin(client, "a", "b")
        lease = take(client, "a")
        use(client, "a", lease.lease_id, 3)
        leave(client, "a")
        assert take(client, "b").range.first == 3


def test_leases_of_others_and_of_no_sense_are_refused(server):
    with server.client() as client:
        begin(client, "a", "b")
        lease = take(client, "a").lease_id
        for worker, number, to, code in (
                ("b", lease, 1, CODE.PERMISSION_DENIED),
                ("a", lease + 1, 1, CODE.FAILED_PRECONDITION),
                ("a", lease, 11, CODE.INVALID_ARGUMENT),
                ("a", lease, -1, CODE.INVALID_ARGUMENT)):
            with raises(code):
                use(client, worker, number, to)
        with raises(CODE.FAILED_PRECONDITION):
            take(client, "b", mode=shards.AT_LEAST_ONCE)
        with raises(CODE.INVALID_ARGUMENT):
            take(client, "b", timeout_ms=-1)
        with raises(CODE.INVALID_ARGUMENT):
            take(client, "b", timeout_ms=2 ** 62)


def test_sizes_that_make_no_sense_are_refused(server):
    with server.client() as client:
        client.register("a")
        for samples, size, code in ((10, 0, CODE.INVALID_ARGUMENT),
                                    (10, -1, CODE.INVALID_ARGUMENT),
                                    (-1, 1, CODE.INVALID_ARGUMENT),
                                    (2 ** 63 - 1, 1, CODE.RESOURCE_EXHAUSTED)):
            with raises(code):
                client.coordinator.RegisterDataset(
                    pb.DatasetInfo(dataset_id="d", total_samples=samples,
                                   shard_size=size), timeout=PATIENCE_S)


def test_a_million_shards_take_five_bytes_each(server):
    with server.client() as client:
        begin(client, "a", "b", dataset="small", samples=10)
        listed(client, "a", "small")
        before = server.resident_bytes()
        begin(client, "a", "b", dataset="big", samples=10 ** 7)
        assert page(client, "a", "big").ranges[0].count == 1 << 20
        wait_until(lambda: server.resident_bytes() > before)
        # Pages, replies and the rest of a busy process beside.
        assert server.resident_bytes() - before < 5 * 10 ** 7 + (8 << 20)
