"""What is wrong is told by the right status, and leaves others alone."""

import os
import re

import grpc
import pytest

from coordinator import (PATIENCE_S, Coordinator, control, pb, raises,
                         wait_until)

CODE = grpc.StatusCode


@pytest.fixture(name="server", scope="module")
def _server():
    with Coordinator("--max-message", str(1 << 20)) as server:
        yield server


@pytest.fixture(name="client")
def _client(server):
    with server.client() as client:
        yield client


@pytest.fixture(name="job")
def _job(request):
    return re.sub("[^A-Za-z0-9_.-]", "-", request.node.name[:100])


def call(client, path, data=b""):
    return client.channel.unary_unary(path)(data, timeout=PATIENCE_S)


@pytest.mark.parametrize("path", [
    "/coordinator.Coordinator/Nothing", "/nobody.Service/Heartbeat", "/",
    "/coordinator.Coordinator/heartbeat", "/coordinator.Coordinator/"])
def test_a_wrong_method_is_unimplemented(client, path):
    with raises(CODE.UNIMPLEMENTED):
        call(client, path)


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\xff\xff\xff\xff\x0f",
                                  b"\x0a\x02\xff\xfe"])
def test_a_message_that_is_none_is_invalid(client, data):
    with raises(CODE.INVALID_ARGUMENT, "protobuf"):
        call(client, "/coordinator.Coordinator/Heartbeat", data)


def test_a_message_beyond_the_limit_is_refused(client, job):
    with raises(CODE.RESOURCE_EXHAUSTED):
        client.register("x" * (10 << 20), job)
    client.register("a", job)
    assert client.heartbeat("a", job).acknowledged


@pytest.mark.parametrize("name", ["", "a/b", "a b", "a\n", "\u00e4",
                                  "x" * 129, "../../etc", "x" * 500000])
def test_ids_have_rules(client, job, name):
    with raises(CODE.INVALID_ARGUMENT):
        client.register(name, job)
    client.register("a", job)
    if "/" not in name:
        with raises(CODE.INVALID_ARGUMENT):
            client.arrive("a", barrier=name, job=job).result()
    if name:
        with raises(CODE.INVALID_ARGUMENT):
            client.register("a", name)


def test_an_unknown_worker_is_not_found(client, job):
    with raises(CODE.NOT_FOUND, job):
        client.heartbeat("nobody", job)
    client.register("a", job)
    with raises(CODE.NOT_FOUND, "nobody"):
        client.heartbeat("nobody", job)
    with raises(CODE.NOT_FOUND, "nobody"):
        client.arrive("nobody", job=job).result()


def test_a_second_live_worker_with_the_id_is_refused(server, client, job):
    first = client.register("a", job)
    client.heartbeat("a", job)
    with server.client() as other:
        with raises(CODE.ALREADY_EXISTS, "a"):
            other.register("a", job)
        back = other.register("a", job, session=first.session)
        assert (back.rank, back.incarnation) == (0, 1)


def test_a_successor_takes_the_place_of_who_is_gone(server, job):
    with server.client() as first:
        one = first.register("a", job)
        first.heartbeat("a", job)
    with server.client() as second:
        # The end of a connection makes a worker suspect at once; grpcio ends
        # one when it likes.
        wait_until(lambda: state(second, job) == control.WorkerView.SUSPECT)
        two = second.register("a", job)
    assert (two.rank, two.incarnation) == (one.rank, one.incarnation + 1)


def state(client, job):
    return client.control.ListWorkers(control.ListWorkersRequest(
        job_id=job)).workers[0].state


def test_a_wrong_session_is_refused(client, job):
    config = client.register("a", job)
    beat = pb.HeartbeatRequest(worker_id="a", job_id=job,
                               session=config.session + 1)
    with pytest.raises(grpc.RpcError) as e:
        client.coordinator.Heartbeat(beat)
    assert e.value.code() in (CODE.FAILED_PRECONDITION, CODE.ABORTED)


def test_a_generation_that_is_over_is_told_again_or_refused(client, job):
    client.register("a", job)
    assert client.arrive("a", job=job, generation=1).result().released
    assert client.arrive("a", job=job, generation=2).result().generation == 2
    # The same again: the same answer.
    assert client.arrive("a", job=job, generation=2).result().generation == 2
    with raises(CODE.FAILED_PRECONDITION, "generation 1"):
        client.arrive("a", job=job, generation=1).result()


def test_all_must_come_to_the_same_generation(client, job):
    client.register("a", job)
    client.register("b", job)
    wait = client.arrive("a", job=job, generation=1)
    client.wait_for_arrivals(1, job)
    with raises(CODE.FAILED_PRECONDITION, "generation 7"):
        client.arrive("b", job=job, generation=7).result()
    client.arrive("b", job=job, generation=1).result()
    assert wait.result().generation == 1


def test_a_death_fails_who_waits_and_names_the_dead(server, client, job):
    client.control.Configure(control.JobSettings(
        job_id=job, timeout_ms=200, heartbeat_interval_ms=50))
    client.register("a", job)
    with server.client() as dying:
        dying.register("b", job)
        dying.heartbeat("b", job)
        wait = client.arrive("a", job=job)
        client.wait_for_arrivals(1, job)
    with raises(CODE.ABORTED, "b"):
        wait.result()
    assert dict(wait.trailing_metadata())["roar-absent"] == "b"


def test_no_path_of_a_client_is_touched(client, job, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("x")
    client.register("a", job)
    for step in range(200):
        try:
            client.coordinator.NotifyCheckpoint(pb.CheckpointInfo(
                worker_id="a", job_id=job, checkpoint_id=f"c{step}",
                step=step, storage_path=str(precious)))
        except grpc.RpcError as e:
            assert e.code() in (CODE.UNIMPLEMENTED, CODE.RESOURCE_EXHAUSTED)
    stat = os.stat(precious)
    assert stat.st_atime_ns <= stat.st_mtime_ns
    assert precious.read_text() == "x"


def test_compressed_messages_are_refused_cleanly(server):
    with server.client(options=(
            ("grpc.default_compression_algorithm", 2),)) as client:
        with raises(CODE.UNIMPLEMENTED):
            client.coordinator.RegisterWorker(pb.WorkerInfo(
                worker_id="a", hostname="x" * 5000, job_id="compressed"))
    with server.client() as client:
        client.register("a", "compressed")
