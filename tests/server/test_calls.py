"""What gRPC clients do with the coordinator, by Debian's grpcio."""

import queue

import grpc
import pytest

from coordinator import (PATIENCE_S, Coordinator, Frames, control, pb, raises,
                         wait_until)

CODE = grpc.StatusCode


@pytest.fixture(name="server", scope="module")
def _server():
    with Coordinator() as server:
        yield server


@pytest.fixture(name="client")
def _client(server):
    with server.client() as client:
        yield client


@pytest.fixture(name="job")
def _job(request):
    return request.node.name[:100]


def test_workers_get_ranks_and_hear_of_the_world(client, job):
    first = client.register("a", job)
    assert (first.rank, first.world_size, first.incarnation) == (0, 1, 1)
    assert first.heartbeat_interval_ms > 0
    second = client.register("b", job)
    assert (second.rank, second.world_size) == (1, 2)
    reply = client.heartbeat("a", job)
    assert reply.acknowledged
    assert (reply.rank, reply.world_size) == (0, 2)
    assert reply.world_epoch == second.world_epoch


def test_heartbeats_stream_both_ways(client, job):
    client.register("a", job)
    requests = queue.Queue()
    replies = client.coordinator.StreamHeartbeats(iter(requests.get, None),
                                                  timeout=PATIENCE_S)
    for step in range(20):
        requests.put(pb.HeartbeatRequest(
            worker_id="a", job_id=job,
            status=pb.WorkerStatus(state=4, current_step=step)))
        assert next(replies).acknowledged
    requests.put(None)
    assert list(replies) == []
    assert replies.code() == CODE.OK
    workers = client.control.ListWorkers(
        control.ListWorkersRequest(job_id=job)).workers
    assert workers[0].status.current_step == 19


def test_a_stream_of_an_unknown_worker_is_not_acknowledged(client, job):
    replies = client.coordinator.StreamHeartbeats(iter(
        [pb.HeartbeatRequest(worker_id="nobody", job_id=job)]))
    with raises(CODE.NOT_FOUND):
        list(replies)


def test_commands_come_with_heartbeats_once(client, job):
    client.register("a", job)
    reply = client.control.SendCommand(
        control.CommandRequest(job_id=job, command="checkpoint"))
    assert reply.n_workers == 1
    assert list(client.heartbeat("a", job).pending_commands) == ["checkpoint"]
    assert list(client.heartbeat("a", job).pending_commands) == []


def test_a_barrier_releases_all_when_the_last_arrives(client, job):
    for name in ("a", "b", "c"):
        client.register(name, job)
    waits = [client.arrive("a", job=job), client.arrive("b", job=job)]
    client.wait_for_arrivals(2, job)
    assert not any(w.done() for w in waits)
    waits.append(client.arrive("c", job=job))
    replies = [w.result() for w in waits]
    assert all(r.released and r.participants == 3 for r in replies)
    assert sorted(r.arrival_order for r in replies) == [1, 2, 3]
    assert client.barriers(job) == []


def test_an_arrival_that_is_repeated_counts_once(client, job):
    client.register("a", job)
    client.register("b", job)
    first = client.arrive("a", job=job)
    client.wait_for_arrivals(1, job)
    again = client.arrive("a", job=job)
    with raises(CODE.ABORTED):
        first.result()
    assert client.barriers(job)[0].arrived == 1
    other = client.arrive("b", job=job)
    assert other.result().participants == 2
    assert again.result().participants == 2


def test_a_cancelled_wait_leaves_the_barrier(client, job):
    client.register("a", job)
    client.register("b", job)
    wait = client.arrive("a", job=job)
    client.wait_for_arrivals(1, job)
    wait.cancel()
    wait_until(lambda: sum(b.arrived for b in client.barriers(job)) == 0)
    other = client.arrive("b", job=job)
    client.wait_for_arrivals(1, job)
    assert not other.done()
    assert client.arrive("a", job=job).result().participants == 2
    assert other.result().released


def test_a_deadline_names_the_absent(client, job):
    """The answer has a tenth of the time to arrive: too little on some days."""
    client.register("a", job)
    client.register("b", job)
    for timeout in (0.5, 1, 2, 2, 2):
        wait = client.arrive("a", job=job, timeout=timeout)
        with raises(CODE.DEADLINE_EXCEEDED):
            wait.result()
        if dict(wait.trailing_metadata()).get("roar-absent") == "b":
            break
    else:
        pytest.fail("nobody was named")
    assert "b" in wait.details()
    wait_until(lambda: sum(b.arrived for b in client.barriers(job)) == 0)


def test_a_deadline_of_frames_is_kept_by_the_server(server, client, job):
    client.register("a", job)
    client.register("b", job)
    frames = server.frames()
    frames.send(8, pb.BarrierRequest(worker_id="a", barrier_id="b",
                                     job_id=job).SerializeToString(), call=1,
                number=50)
    _, _, call, status, message = frames.receive()
    assert (call, status) == (1, CODE.DEADLINE_EXCEEDED.value[0])
    assert message.split(b"\0")[1:] == [b"roar-absent=b"]
    frames.close()


def test_values_are_gathered_and_votes_counted(client, job):
    client.register("a", job)
    client.register("b", job)

    def meet(kind, **more):
        return [client.control.Meet.future(control.MeetRequest(
            worker_id=w, job_id=job, meeting_id=f"m{kind}", kind=kind,
            value=w.encode() * 3, in_favour=w == "a"), timeout=PATIENCE_S)
            for w in ("a", "b")]

    for wait in meet(control.GATHER):
        assert [(v.rank, v.value) for v in wait.result().values] == [
            (0, b"aaa"), (1, b"bbb")]
    for wait in meet(control.VOTE):
        reply = wait.result()
        assert (reply.votes_for, reply.votes_against) == (1, 1)


def test_keys_wait_add_and_compare(client, job):
    kv = client.control
    wait = kv.KvGet.future(control.KvGetRequest(job_id=job, key="k",
                                                wait=True), timeout=PATIENCE_S)
    kv.KvSet(control.KvSetRequest(job_id=job, key="k", value=b"1"))
    assert wait.result().entry.value == b"1"
    assert kv.KvAdd(control.KvAddRequest(job_id=job, key="k",
                                         delta=41)).entry.value == b"42"
    entry = kv.KvGet(control.KvGetRequest(job_id=job, key="k")).entry
    swap = control.KvCompareSetRequest(job_id=job, key="k", value=b"x",
                                       version=entry.version)
    assert kv.KvCompareSet(swap).done
    assert not kv.KvCompareSet(swap).done
    assert [e.key for e in kv.KvList(
        control.KvListRequest(job_id=job)).entries] == ["k"]
    assert kv.KvDelete(control.KvDeleteRequest(job_id=job, key="k")).done


def test_a_watcher_sees_who_comes(server, client, job):
    client.register("a", job)
    with server.client() as other:
        events = other.control.Watch(control.WatchRequest(job_id=job),
                                     timeout=PATIENCE_S)
        assert next(events).world_size == 1
        client.register("b", job)
        event = next(events)
        assert event.world_size == 2
        assert [w.worker_id for w in event.changed] == ["b"]


def test_metadata_may_name_the_job(client, job):
    metadata = (("roar-job", job),)
    client.register("a", metadata=metadata)
    assert client.heartbeat("a", job).acknowledged
    with raises(CODE.PERMISSION_DENIED):
        client.heartbeat("a", "another", metadata=metadata)
    with raises(CODE.INVALID_ARGUMENT, "roar-job"):
        client.heartbeat("a", metadata=(("roar-job", "a/b"),))


def test_a_large_value_comes_back_whole(client, job):
    value = bytes(range(256)) * 200
    client.control.KvSet(control.KvSetRequest(job_id=job, key="k",
                                              value=value))
    entry = client.control.KvGet(control.KvGetRequest(job_id=job,
                                                      key="k")).entry
    assert entry.value == value


def test_status_is_of_this_server(client):
    reply = client.control.GetStatus(control.StatusRequest())
    assert reply.version
    assert reply.n_connections >= 1
    assert reply.n_requests >= 1
    assert not reply.stopping


def test_a_unix_socket_serves_as_well(tmp_path):
    path = tmp_path / "s"
    with Coordinator(listen=["127.0.0.1:0", f"unix:{path}"]) as server:
        assert server.addresses[1] == f"unix:{path}"
        server.client(f"unix:{path}").register("a")
        assert server.client().heartbeat("a").acknowledged
    assert not path.exists()


def heartbeat_bytes(worker_id, job):
    return pb.HeartbeatRequest(worker_id=worker_id,
                               job_id=job).SerializeToString()


def test_frames_carry_the_same_messages(server, client, job):
    client.register("a", job)
    frames = server.frames()
    frames.send(2, heartbeat_bytes("a", job), call=7)
    _, flags, call, status, message = frames.receive()
    assert (flags & 1, call, status) == (1, 7, 0)
    assert pb.HeartbeatResponse.FromString(message).acknowledged
    frames.send(2, heartbeat_bytes("nobody", job), call=8)
    _, _, call, status, message = frames.receive()
    assert (call, status) == (8, CODE.NOT_FOUND.value[0])
    assert b"nobody" in message
    frames.close()


def test_the_hello_of_frames_names_the_job(server, client, job):
    client.register("a", job)
    frames = Frames(server.connect(), job=job)
    frames.send(2, heartbeat_bytes("a", ""), call=1)
    assert frames.receive()[3] == 0
    frames.close()


def test_a_barrier_has_members_of_both_wires(server, client, job):
    client.register("a", job)
    client.register("b", job)
    wait = client.arrive("a", job=job)
    frames = server.frames()
    frames.send(8, pb.BarrierRequest(worker_id="b", barrier_id="b",
                                     job_id=job).SerializeToString(), call=3)
    assert frames.receive()[3] == 0
    assert wait.result().participants == 2
    frames.close()
