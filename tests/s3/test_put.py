"""`roar put`: what arrives, what is recorded, what faults do to it."""

import hashlib
import os
import re
import signal
import threading
import time

import pytest
from project import Project
from server import Server

MIB = 1 << 20
LARGE = 17 * MIB  # three parts


def write_large(project: Project) -> bytes:
    """A file of three parts.  An MD5 costs the server less than a CRC."""
    data = os.urandom(LARGE)
    project.write("big", data)
    project.env["AWS_REQUEST_CHECKSUM_CALCULATION"] = "when_required"
    return data


def stored(server: Server, key: str) -> bytes:
    return server.buckets["data"].find(key).data


def test_a_file_is_an_object(project: Project, server: Server) -> None:
    project.write("model.pt", b"weights")
    done = project.roar("put", "model.pt", "s3://data/models/", "-m", "Final")
    assert stored(server, "models/model.pt") == b"weights"
    digest = project.blake3("model.pt")
    fields = server.buckets["data"].find("models/model.pt").fields
    assert fields["x-amz-meta-roar-blake3"] == digest
    assert done.stdout == (f"{digest[:12]}  model.pt -> "
                           "s3://data/models/model.pt\n")
    assert "sent 1 file, 7 B" in done.stderr
    seen = server.seen("put")[0]
    assert seen.field("x-amz-checksum-crc64nvme")
    assert seen.payload == "UNSIGNED-PAYLOAD"  # within the machine
    (project.home / ".aws").mkdir()
    (project.home / ".aws/config").write_text(
        "[default]\ns3 =\n  payload_signing_enabled = true\n")
    project.roar("put", "model.pt", "s3://data/models/", "-m", "Final")
    assert re.fullmatch("[0-9a-f]{64}", server.seen("put")[1].payload)


def test_the_step_has_file_and_object(project: Project) -> None:
    project.write("model.pt", b"weights")
    project.roar("put", "model.pt", "s3://data/m.pt", "-m", "Final model")
    step = project.show("@1")
    assert step["name"] == "Final model"
    assert step["command"] == "roar put -m 'Final model' model.pt s3://data/m.pt"
    assert [f["path"] for f in step["inputs"]] == \
        [str(project.root / "model.pt")]
    output = step["outputs"][0]
    assert output["path"] == "s3://data/m.pt"
    assert output["type"] == "object"
    assert output["hash"] == step["inputs"][0]["hash"] == \
        project.blake3("model.pt")


@pytest.mark.parametrize("name", [
    "a b+c%2F.txt", "ümlaut 😀", "new\nline", "'quote\"&<>"])
def test_names_are_kept(project: Project, server: Server, name: str) -> None:
    project.write(name, b"x")
    project.roar("put", name, "s3://data/p/", "-m", "m")
    assert stored(server, "p/" + name) == b"x"
    project.roar("get", "s3://data/p/", "back")
    assert (project.root / "back" / name).read_bytes() == b"x"


def test_a_directory_is_a_composite(project: Project, server: Server) -> None:
    for name in ("a", "sub/b", "sub/c", "empty"):
        project.write("d/" + name, name.encode() if name != "empty" else b"")
    project.roar("put", "d", "s3://data/run", "-m", "all")
    for name in ("a", "sub/b", "sub/c"):
        assert stored(server, "run/" + name) == name.encode()
    assert stored(server, "run/empty") == b""
    tree = project.roar("hash", "--tree", "d").stdout.split()[0]
    outputs = {f["path"]: f["hash"] for f in project.show("@1")["outputs"]}
    assert outputs["s3://data/run/"] == tree
    assert len(outputs) == 5


def test_several_sources_keep_their_names(project: Project,
                                          server: Server) -> None:
    project.write("a/x", b"1")
    project.write("b/x", b"2")
    project.write("f", b"3")
    project.roar("put", "a", "b", "f", "s3://data/all", "-m", "m")
    assert stored(server, "all/a/x") == b"1"
    assert stored(server, "all/b/x") == b"2"
    assert stored(server, "all/f") == b"3"
    project.write("c/f", b"4")
    done = project.roar("put", "f", "c/f", "s3://data/", "-m", "m", status=1)
    assert "two files would become 's3://data/f'" in done.stderr


def test_outputs_of_a_step_and_of_the_session(project: Project,
                                              server: Server) -> None:
    project.roar("run", "sh", "-c", "mkdir -p out; echo 1 > out/one")
    project.roar("run", "sh", "-c", "echo 2 > out/two; echo 3 > gone")
    (project.root / "gone").unlink()
    project.roar("put", "@1", "s3://data/step", "-m", "m")
    assert set(server.buckets["data"].versions) == {"step/out/one"}
    project.roar("put", "s3://data/session", "-m", "m")
    assert set(server.buckets["data"].versions) == {
        "step/out/one", "session/out/one", "session/out/two"}
    project.roar("put", "@9", "s3://data/", "-m", "m", status=1)


def test_a_large_file_is_sent_in_parts(project: Project,
                                       server: Server) -> None:
    data = write_large(project)
    del project.env["AWS_REQUEST_CHECKSUM_CALCULATION"]
    project.roar("put", "big", "s3://data/big", "-m", "m")
    assert stored(server, "big") == data
    assert len(server.seen("upload-part")) == 3
    assert all(s.field("x-amz-checksum-crc64nvme")
               for s in server.seen("upload-part"))
    assert project.transfers() == []
    assert server.buckets["data"].uploads == {}


def test_overload_and_lost_connections_are_retried(project: Project,
                                                   server: Server) -> None:
    write_large(project)
    server.fault("error", op="create-upload")
    server.fault("error", op="upload-part", status=500, code="InternalError",
                 late=True)
    server.fault("reset-request", op="upload-part", at=MIB)
    server.fault("close", op="upload-part")
    server.fault("lost", op="complete-upload", status=500)
    project.roar("put", "big", "s3://data/big", "-m", "m")
    assert stored(server, "big") == (project.root / "big").read_bytes()
    assert len(server.seen("create-upload")) == 2
    assert len(server.seen("upload-part")) > 4


def test_what_is_not_idempotent_is_not_repeated(project: Project,
                                                server: Server) -> None:
    write_large(project)
    server.fault("error", op="create-upload", status=500, code="InternalError")
    done = project.roar("put", "big", "s3://data/big", "-m", "m", status=1)
    assert "500 InternalError" in done.stderr
    assert len(server.seen("create-upload")) == 1
    assert project.roar("log").stdout.count("roar put") == 0


def test_a_refusal_ends_it_at_once(project: Project, server: Server) -> None:
    project.write("f", b"x")
    server.fault("error", op="put", status=403, code="AccessDenied")
    done = project.roar("put", "f", "s3://data/f", "-m", "m", status=1)
    assert "cannot PUT 's3://data/f': the server answered 403 AccessDenied" \
        in done.stderr
    assert len(server.seen("put")) == 1


def test_an_interrupted_upload_continues(project: Project,
                                         server: Server) -> None:
    data = write_large(project)
    stall = server.fault("stall-request", op="upload-part", at=MIB)
    started = project.start("put", "big", "s3://data/big", "-m", "m")
    while len([s for s in server.seen("upload-part") if s.status == 200]) < 2:
        assert started.poll() is None
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, errors = started.communicate(timeout=30)
    assert started.returncode == 130
    assert "the same command continues" in errors
    stall.released.set()
    assert len(project.transfers()) == 1
    server.forget()
    project.roar("put", "big", "s3://data/big", "-m", "m")
    assert stored(server, "big") == data
    # All of the part that stalled may have been on its way; then it is stored by now.
    assert len(server.seen("upload-part")) <= 1
    assert not server.seen("create-upload")
    assert project.transfers() == []


def test_an_upload_of_other_content_is_not_continued(project: Project,
                                                     server: Server) -> None:
    write_large(project)
    server.fault("error", op="complete-upload", status=403,
                 code="AccessDenied")
    project.roar("put", "big", "s3://data/big", "-m", "m", status=1)
    assert len(project.transfers()) == 1
    data = write_large(project)
    project.roar("put", "big", "s3://data/big", "-m", "m")
    assert stored(server, "big") == data
    assert len(server.seen("abort-upload")) == 1
    assert server.buckets["data"].uploads == {}


def test_a_part_of_other_content_is_sent_again(project: Project,
                                               server: Server) -> None:
    data = write_large(project)
    server.fault("error", op="complete-upload", status=403,
                 code="AccessDenied")
    project.roar("put", "big", "s3://data/big", "-m", "m", status=1)
    upload, = server.buckets["data"].uploads.values()
    # The file was another one for a moment, while this part was sent.
    upload.parts[2].data = os.urandom(len(upload.parts[2].data))
    upload.parts[2].etag = hashlib.md5(upload.parts[2].data).hexdigest()
    server.forget()
    project.roar("put", "big", "s3://data/big", "-m", "m")
    assert stored(server, "big") == data
    assert len(server.seen("upload-part")) == 1


def test_a_file_that_changes_is_not_recorded(project: Project,
                                             server: Server) -> None:
    path = project.write("f", b"0" * (15 * MIB))
    stop = threading.Event()

    def write() -> None:
        with path.open("r+b") as file:
            while not stop.wait(0.0001):
                file.seek(0)
                file.write(os.urandom(8))
                file.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        done = project.roar("put", "f", "s3://data/f", "-m", "m", status=1)
    finally:
        stop.set()
        writer.join()
    assert "changed while it was" in done.stderr
    assert not server.seen("put")


@pytest.mark.parametrize("status", [301, 307, 400])
def test_the_region_of_a_bucket_is_learned(project: Project, server: Server,
                                           status: int) -> None:
    server.add_bucket("far", region="eu-west-1")
    server.redirect_status = status
    for name in ("a", "b", "c"):
        project.write("d/" + name, b"x")
    project.roar("put", "d", "s3://far/", "-m", "m")
    assert server.buckets["far"].find("c").data == b"x"
    assert server.seen("put")[-1].region == "eu-west-1"


def test_a_server_without_checksums_gets_an_md5(project: Project,
                                                server: Server) -> None:
    project.write("f", b"x")
    server.fault("error", op="put", status=501, code="NotImplemented")
    project.roar("put", "f", "s3://data/f", "-m", "m")
    first, second = server.seen("put")
    assert first.field("x-amz-checksum-crc64nvme")
    assert second.field("content-md5")
    assert not second.field("x-amz-checksum-crc64nvme")


def test_google_is_asked_with_its_own_keys(project: Project,
                                           server: Server) -> None:
    project.env["GS_ACCESS_KEY_ID"] = project.env.pop("AWS_ACCESS_KEY_ID")
    project.env["GS_SECRET_ACCESS_KEY"] = \
        project.env.pop("AWS_SECRET_ACCESS_KEY")
    project.env["GS_ENDPOINT_URL"] = project.env.pop("AWS_ENDPOINT_URL_S3")
    server.buckets["data"].region = "auto"
    project.write("f", b"x")
    project.roar("put", "f", "gs://data/f", "-m", "m")
    assert server.seen("put")[0].field("content-md5")
    assert project.show("@1")["outputs"][0]["path"] == "gs://data/f"
    project.roar("get", "gs://data/f", "g")
    assert (project.root / "g").read_bytes() == b"x"
    assert "gs://data/f" in project.roar("show", "gs://data/f").stdout


def test_a_copy_in_the_file_system(project: Project) -> None:
    project.write("d/a", b"1")
    backup = project.root.parent / "backup"
    project.roar("put", "d", f"file://{backup}/", "-m", "m")
    assert (backup / "a").read_bytes() == b"1"
    outputs = [f["path"] for f in project.show("@1")["outputs"]]
    assert str(backup / "a") in outputs


def test_the_commit_gets_a_tag(project: Project) -> None:
    commit = project.git("rev-parse", "HEAD")
    project.write("f", b"x")
    project.write(".gitignore", b"*\n")
    project.roar("put", "f", "s3://data/f", "-m", "m", "--no-tag")
    assert project.git("tag") == ""
    project.roar("put", "f", "s3://data/f", "-m", "m")
    assert project.git("tag") == f"roar/{commit}"
    project.roar("put", "f", "s3://data/f", "-m", "m")  # it is there
    project.write(".gitignore", b".roar\n")
    project.write("code.py", b"pass\n")
    done = project.roar("put", "f", "s3://data/f", "-m", "m")
    snapshot = project.show("@1")["git"]["snapshot"]
    assert f"git tag roar/{snapshot}" in done.stderr


def test_a_dry_run_sends_nothing(project: Project, server: Server) -> None:
    project.write("f", b"x" * 2048)
    done = project.roar("put", "f", "s3://data/p/", "--dry-run")
    assert done.stdout == "2.0 KiB     f -> s3://data/p/f\n"
    assert server.seen() == []
    assert "roar put" not in project.roar("log").stdout


def test_wrong_usage_is_said(project: Project) -> None:
    project.write("f", b"x")
    assert "-m MESSAGE" in project.roar("put", "f", "s3://data/f",
                                        status=2).stderr
    assert "destination" in project.roar("put", "f", "-m", "m",
                                         status=2).stderr
    assert "bucket" in project.roar("put", "f", "s3:///f", "-m", "m",
                                    status=1).stderr
    assert "cannot read 'absent'" in project.roar(
        "put", "absent", "s3://data/f", "-m", "m", status=1).stderr
