"""Health and reflection, as gRPC's own tools ask for them."""

import signal

import grpc
import pytest

from google.protobuf import descriptor_pb2

from coordinator import (PATIENCE_S, Coordinator, health_pb2, pb,
                         raises, reflection_pb2, wait_until)

CODE = grpc.StatusCode
SERVICES = ["coordinator.Coordinator", "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection", "roar.Control",
            "roar.Shards"]


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory):
    """With tokens: none of this needs one."""
    tokens = tmp_path_factory.mktemp("t") / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text("a secret-of-a\n")
    with Coordinator("--tokens", str(tokens)) as server:
        yield server


@pytest.fixture(name="client")
def _client(server):
    with server.client() as client:
        yield client


def check(client, service):
    return client.health.Check(
        health_pb2.HealthCheckRequest(service=service)).status


@pytest.mark.parametrize("service", ["", "coordinator.Coordinator",
                                     "roar.Control", "roar.Shards"])
def test_what_is_served_is_healthy(client, service):
    assert check(client, service) == 1


def test_what_is_not_served_is_not_found(client):
    with raises(CODE.NOT_FOUND):
        check(client, "nobody.Service")


def test_a_watcher_of_health_sees_the_end():
    with Coordinator("--grace", "100") as server:
        client = server.client()
        states = client.health.Watch(health_pb2.HealthCheckRequest(),
                                     timeout=PATIENCE_S)
        unknown = client.health.Watch(
            health_pb2.HealthCheckRequest(service="x"), timeout=PATIENCE_S)
        assert next(states).status == 1
        assert next(unknown).status == 3
        server.signal(signal.SIGTERM)
        assert next(states).status == 2
        with raises(CODE.UNAVAILABLE):
            list(states)
        assert server.wait() == 0


def ask(client, *requests, package="v1"):
    method = client.channel.stream_stream(
        f"/grpc.reflection.{package}.ServerReflection/ServerReflectionInfo",
        request_serializer=lambda m: m.SerializeToString(),
        response_deserializer=(
            reflection_pb2.ServerReflectionResponse.FromString))
    return list(method(iter([
        reflection_pb2.ServerReflectionRequest(**r) for r in requests]),
        timeout=PATIENCE_S))


@pytest.mark.parametrize("package", ["v1", "v1alpha"])
def test_services_are_listed(client, package):
    reply, = ask(client, {"list_services": "*"}, package=package)
    assert [s.name for s in reply.list_services_response.service] == SERVICES


@pytest.mark.parametrize("package", ["v1", "v1alpha"])
def test_a_client_without_files_learns_every_message(client, package):
    """Everything that is listed can be resolved, as grpcurl does."""
    replies = ask(client, *({"file_containing_symbol": s} for s in SERVICES),
                  package=package)
    files = {}
    for reply in replies:
        for data in reply.file_descriptor_response.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(data)
            files[file.name] = file
    assert all(d in files for f in files.values() for d in f.dependency)
    assert {f"{f.package}.{s.name}" for f in files.values()
            for s in f.service} == set(SERVICES)
    # protoc-gen-go makes nothing of a file that does not say where it belongs.
    assert all(files[name].options.go_package for name in files
               if name.startswith(("coordinator", "roar_")))
    beat, = [m for m in files["coordinator.proto"].message_type
             if m.name == "HeartbeatRequest"]
    assert {f.name: f.number for f in beat.field} == {
        "worker_id": 1, "timestamp_ms": 2, "status": 3, "resources": 4,
        "job_id": 100, "session": 101}


def test_the_descriptions_are_those_of_the_published_files(client):
    reply, = ask(client, {"file_by_filename": "coordinator.proto"})
    data, = reply.file_descriptor_response.file_descriptor_proto
    told = descriptor_pb2.FileDescriptorProto.FromString(data)
    known = descriptor_pb2.FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(known)
    for message in (*told.message_type, *known.message_type):
        for field in message.field:
            field.ClearField("json_name")
        for nested in message.nested_type:
            for field in nested.field:
                field.ClearField("json_name")
    assert told == known


def test_what_is_not_there_is_an_answer(client):
    replies = ask(client, {"file_by_filename": "../../etc/passwd"},
                  {"file_containing_symbol": "x.Y"},
                  {"file_containing_extension": {
                      "containing_type": "coordinator.WorkerInfo",
                      "extension_number": 7}},
                  {"all_extension_numbers_of_type": "coordinator.WorkerInfo"},
                  {"host": "h"})
    assert [r.error_response.error_code for r in replies] == [5, 5, 5, 0, 3]
    assert replies[3].HasField("all_extension_numbers_response")
    assert replies[4].original_request.host == "h"


def test_streams_without_a_token_have_a_limit(server, client):
    """By two connections: one may not have as many."""
    second = server.client()
    watches = [(client, second)[i % 2].health.Watch(
        health_pb2.HealthCheckRequest(), timeout=PATIENCE_S)
        for i in range(1100)]
    ended = []
    for watch in watches:
        try:
            assert next(watch).status == 1
        except grpc.RpcError as e:
            ended.append(e.code())
    assert ended == [CODE.RESOURCE_EXHAUSTED] * (1100 - 1024)
    for watch in watches:
        watch.cancel()
    with server.client() as other:
        wait_until(lambda: serves_a_watcher(other))


def serves_a_watcher(client):
    watch = client.health.Watch(health_pb2.HealthCheckRequest())
    try:
        return next(watch).status == 1
    except grpc.RpcError:
        return False
    finally:
        watch.cancel()
