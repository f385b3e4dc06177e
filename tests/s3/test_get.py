"""`roar get`: what arrives, what is recorded, what faults do to it."""

import hashlib
import http.server
import os
import shutil
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from project import Project
from server import Server

MIB = 1 << 20
LARGE = 17 * MIB  # three ranges


def put(server: Server, key: str, data: bytes, **meta: str) -> None:
    fields = {f"x-amz-meta-{n.replace('_', '-')}": v for n, v in meta.items()}
    server.buckets["data"].put(key, data, fields, {})


def parts(project: Project) -> list[str]:
    return [n for _, _, names in os.walk(project.root) for n in names
            if n.startswith(".roar-")]


def test_an_object_is_a_file_and_a_source(project: Project,
                                          server: Server) -> None:
    put(server, "models/m.pt", b"weights")
    project.roar("get", "s3://data/models/m.pt", "local/", "-m", "why")
    assert (project.root / "local/m.pt").read_bytes() == b"weights"
    step = project.show("@1")
    assert step["inputs"] == []
    assert step["name"] == "why"
    output = step["outputs"][0]
    assert output["path"] == str(project.root / "local/m.pt")
    assert output["hash"] == project.blake3("local/m.pt")
    assert "fetched from s3://data/models/m.pt" in \
        project.roar("show", "@1").stdout
    done = project.roar("run", "@1", status=1)
    assert "is a transfer" in done.stderr


@pytest.mark.parametrize("destination, path", [
    (None, "m.pt"), ("x", "x"), ("new/", "new/m.pt"), ("there", "there/m.pt"),
    ("a/b/c", "a/b/c")])
def test_where_it_goes(project: Project, server: Server,
                       destination: str | None, path: str) -> None:
    put(server, "m.pt", b"1")
    (project.root / "there").mkdir()
    project.roar("get", "s3://data/m.pt",
                 *([destination] if destination else []))
    assert (project.root / path).read_bytes() == b"1"


def test_a_prefix_is_a_directory(project: Project, server: Server) -> None:
    for i in range(1100):  # two pages
        put(server, f"p/d{i % 7}/f{i:04}", b"%d" % i)
    put(server, "p/", b"")
    put(server, "pq", b"no")
    put(server, "p/zero", b"")
    project.roar("get", "s3://data/p/", "got")
    for i in range(1100):
        assert (project.root / f"got/d{i % 7}/f{i:04}").read_bytes() == b"%d" % i
    assert (project.root / "got/zero").read_bytes() == b""
    assert not (project.root / "got/pq").exists()
    tree = project.roar("hash", "--tree", "got").stdout.split()[0]
    outputs = {f["path"]: f["hash"] for f in project.show("@1")["outputs"]}
    assert outputs[str(project.root / "got")] == tree
    assert len(outputs) == 1102


def test_a_directory_has_not_changed(project: Project,
                                     server: Server) -> None:
    put(server, "p/f", b"1")
    project.roar("get", "s3://data/p/", "d")
    said = project.roar("status").stdout
    assert "1 present, 0 changed, 0 missing, 1 not verified" in said


def test_a_large_object_is_fetched_in_ranges(project: Project,
                                             server: Server) -> None:
    data = os.urandom(LARGE)
    put(server, "big", data)
    project.roar("get", "s3://data/big")
    assert (project.root / "big").read_bytes() == data
    ranges = sorted(s.field("range") or "" for s in server.seen("get"))
    assert ranges == ["bytes=0-8388607", "bytes=16777216-17825791",
                      "bytes=8388608-16777215"]
    assert all(s.field("if-match") for s in server.seen("get"))
    assert project.transfers() == [] and parts(project) == []


def test_names_that_lead_elsewhere_are_refused(project: Project,
                                               server: Server) -> None:
    for key in ("p/../../x", "p//abs", "p/./y"):
        put(server, key, b"evil")
        done = project.roar("get", "s3://data/p/", "got", status=1)
        assert "cannot be stored below" in done.stderr
        server.buckets["data"].delete(key)
    assert not (project.root.parent / "x").exists()


def test_files_are_not_replaced_unless_forced(project: Project,
                                              server: Server) -> None:
    put(server, "f", b"new")
    project.write("f", b"old")
    done = project.roar("get", "s3://data/f", status=1)
    assert "--force" in done.stderr
    assert (project.root / "f").read_bytes() == b"old"
    project.roar("get", "s3://data/f", "--force")
    assert (project.root / "f").read_bytes() == b"new"


def test_content_must_have_its_digest(project: Project,
                                      server: Server) -> None:
    put(server, "f", b"data")
    project.write("same", b"data")
    digest = project.blake3("same")
    wrong = ("0" if digest[0] != "0" else "1") + digest[1:]
    project.roar("get", "s3://data/f", "a", "--hash", digest[:12].upper())
    done = project.roar("get", "s3://data/f", "b", "--hash", wrong, status=1)
    assert "as expected" in done.stderr
    put(server, "g", b"data", roar_blake3=wrong)
    project.roar("get", "s3://data/g", "c", status=1)
    project.roar("get", "s3://data/", "all", status=1)
    assert not (project.root / "b").exists()
    assert not (project.root / "c").exists()
    assert parts(project) == []
    assert project.roar("log").stdout.count("roar get") == 1


@pytest.mark.parametrize("kind", ["reset", "short"])
def test_a_cut_body_goes_on_where_it_ended(project: Project, server: Server,
                                           kind: str) -> None:
    data = os.urandom(LARGE)
    put(server, "big", data)
    server.fault(kind, op="get", at=MIB // 2 + 5, times=2)
    project.roar("get", "s3://data/big")
    assert (project.root / "big").read_bytes() == data
    assert len(server.seen("get")) == 5
    total = sum(int(b) - int(a) + 1 for s in server.seen("get")
                for a, b in [(s.field("range") or "")[6:].split("-")])
    assert total < len(data) + 2 * 8 * MIB  # not from the beginning


def test_overload_is_waited_for(project: Project, server: Server) -> None:
    put(server, "f", b"data")
    server.fault("error", op="head", times=2)
    server.fault("error", op="get", status=500, code="InternalError")
    server.fault("close", op="get")
    project.roar("get", "s3://data/f")
    assert (project.root / "f").read_bytes() == b"data"
    project.env["AWS_MAX_ATTEMPTS"] = "2"
    server.fault("error", op="head", times=9)
    server.forget()
    server.fault("error", op="get", times=9)
    project.roar("get", "s3://data/f", "g", status=1)
    assert len(server.seen("get")) == 2


def test_an_interrupted_download_continues(project: Project,
                                           server: Server) -> None:
    data = os.urandom(24 * MIB)  # any of the three ranges may stall
    put(server, "big", data)
    stall = server.fault("stall", op="get", at=5 * MIB + 7)
    started = project.start("get", "s3://data/big")
    deadline = time.monotonic() + 30
    state = project.root / ".roar/transfers"
    while time.monotonic() < deadline:
        texts = [p.read_text() for p in state.glob("*")] if state.exists() \
            else []
        if texts and texts[0].count("\nleaf ") == 24 - 3:
            break
        time.sleep(0.05)
    started.send_signal(signal.SIGTERM)
    _, errors = started.communicate(timeout=30)
    assert started.returncode == 143, errors
    stall.released.set()
    assert len(parts(project)) == 1
    assert not (project.root / "big").exists()
    server.forget()
    project.roar("get", "s3://data/big")
    assert (project.root / "big").read_bytes() == data
    assert len(server.seen("get")) == 1  # three leaves were missing
    assert parts(project) == [] and project.transfers() == []


def test_a_damaged_partial_file_is_noticed(project: Project,
                                           server: Server) -> None:
    data = os.urandom(LARGE)
    put(server, "big", data)
    server.fault("error", op="get", status=403, code="AccessDenied",
                 key="big")
    project.roar("get", "s3://data/big", status=1)
    for name in parts(project):
        path = project.root / name
        path.write_bytes(b"\0" * path.stat().st_size)
    project.roar("get", "s3://data/big")
    assert (project.root / "big").read_bytes() == data


def test_another_object_is_not_mixed_with_it(project: Project,
                                             server: Server) -> None:
    put(server, "big", os.urandom(LARGE))
    server.fault("error", op="get", status=403, code="AccessDenied")
    project.roar("get", "s3://data/big", status=1)
    data = os.urandom(LARGE)
    put(server, "big", data)
    project.roar("get", "s3://data/big")
    assert (project.root / "big").read_bytes() == data


def test_absent_objects_are_named(project: Project, server: Server) -> None:
    put(server, "a/b", b"x")
    done = project.roar("get", "s3://data/a", status=1)
    assert "there is no object 's3://data/a'" in done.stderr
    assert "nothing below" in project.roar("get", "s3://data/x/",
                                           status=1).stderr
    assert "NoSuchBucket" in project.roar("get", "s3://nope/",
                                          status=1).stderr


def test_a_dry_run_fetches_nothing(project: Project, server: Server) -> None:
    put(server, "p/f", b"x" * 10)
    done = project.roar("get", "s3://data/p/", "d", "--dry-run")
    assert done.stdout == "10 B        s3://data/p/f -> d/f\n"
    assert not server.seen("get")


def test_a_full_disk_is_said(project: Project, server: Server) -> None:
    put(server, "big", b"x" * (40 * MIB))
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 20000; exec "$0" get s3://data/big',
         os.environ["ROAR"]], cwd=project.root, env=project.env,
        capture_output=True, text=True, check=False)
    assert done.returncode in (1, 128 + signal.SIGXFSZ, -signal.SIGXFSZ)
    assert not (project.root / "big").exists()


def test_the_file_system_is_a_source_too(project: Project) -> None:
    outside = project.root.parent / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "sub/f").write_bytes(b"1")
    project.roar("get", f"file://{outside}/", "copy")
    assert (project.root / "copy/sub/f").read_bytes() == b"1"
    project.roar("get", f"file://{outside}/sub/f", "--hash",
                 project.blake3("copy/sub/f"))
    assert (project.root / "f").read_bytes() == b"1"


def test_a_tag_is_made_when_asked_for(project: Project,
                                      server: Server) -> None:
    put(server, "f", b"x")
    project.write(".gitignore", b"*\n")
    project.roar("get", "s3://data/f")
    assert project.git("tag") == ""
    project.roar("get", "s3://data/f", "-f", "--tag")
    assert project.git("tag") == "roar/" + project.git("rev-parse", "HEAD")


# -- https:// without S3 ------------------------------------------------------

class Files(http.server.BaseHTTPRequestHandler):
    """Sends `content`; "/plain" knows no ranges, "/chunked" no length, "/untagged" no
    ETag."""

    content = b""
    log: list[tuple[str, str]] = []
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        self.log.append((self.path, wanted))
        data = self.content
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/weights.pt?signed=1")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data))
            return
        if self.path == "/empty":
            data = b""
        if wanted and self.path != "/plain":
            first, last = wanted.removeprefix("bytes=").split("-")
            end = min(int(last or len(data)), len(data) - 1)
            piece = data[int(first):end + 1]
            self.send_response(206 if data else 416)
            self.send_header("Content-Range",
                             f"bytes {first}-{end}/{len(data)}")
            data = piece
        else:
            self.send_response(200)
        if self.path != "/untagged":
            digest = hashlib.md5(self.content).hexdigest()
            self.send_header("ETag", f'"{digest}"')
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def files() -> Iterator[str]:
    Files.log = []
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
    web.daemon_threads = True
    threading.Thread(target=web.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{web.server_address[1]}"
    web.shutdown()


@pytest.mark.parametrize("path, name", [
    ("/weights.pt", "weights.pt"), ("/plain", "plain"),
    ("/chunked", "chunked"), ("/moved", "moved")])
def test_plain_urls(tmp_path: Path, files: str, path: str, name: str) -> None:
    project = Project(tmp_path / "project", None)
    Files.content = os.urandom(LARGE)
    project.roar("get", files + path)
    assert (project.root / name).read_bytes() == Files.content
    step = project.show("@1")
    assert step["outputs"][0]["hash"] == project.blake3(name)
    if name == "weights.pt":
        assert len(Files.log) == 4  # the question and three ranges


def test_ranges_of_a_url_need_an_etag(tmp_path: Path, files: str) -> None:
    """Else they could be of two contents, one after the other."""
    project = Project(tmp_path / "project", None)
    Files.content = os.urandom(LARGE)
    project.roar("get", files + "/untagged")
    assert (project.root / "untagged").read_bytes() == Files.content
    assert Files.log == [("/untagged", "bytes=0-0"), ("/untagged", "")]


def test_an_empty_url(tmp_path: Path, files: str) -> None:
    project = Project(tmp_path / "project", None)
    Files.content = b"x"
    project.roar("get", files + "/empty")
    assert (project.root / "empty").read_bytes() == b""


def test_https_with_an_authority_of_our_own(tmp_path: Path) -> None:
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj",
         "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
         "key.pem", "-out", "cert.pem"],
        cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
    web.socket = context.wrap_socket(web.socket, server_side=True)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    url = f"https://127.0.0.1:{web.server_address[1]}/weights.pt"
    project = Project(tmp_path / "project", None)
    Files.content = os.urandom(LARGE)
    done = project.roar("get", url, status=1)
    assert "certificate" in done.stderr or "TLS" in done.stderr
    project.env["AWS_CA_BUNDLE"] = str(tmp_path / "cert.pem")
    project.roar("get", url)
    assert (project.root / "weights.pt").read_bytes() == Files.content
    web.shutdown()


def test_two_downloads_to_one_file_are_not_mixed(project: Project,
                                                 server: Server) -> None:
    data = os.urandom(LARGE)
    put(server, "one", data)
    put(server, "two", os.urandom(LARGE))
    stall = server.fault("stall", op="get", key="one", at=1000)
    first = project.start("get", "s3://data/one", "f")
    deadline = time.monotonic() + 30
    while not parts(project) and time.monotonic() < deadline:
        time.sleep(0.05)
    done = project.roar("get", "s3://data/two", "f", status=1)
    assert "another transfer writes" in done.stderr
    assert len(parts(project)) == 1
    stall.released.set()
    _, errors = first.communicate(timeout=60)
    assert first.returncode == 0, errors
    assert (project.root / "f").read_bytes() == data
    assert project.show("@1")["outputs"][0]["hash"] == project.blake3("f")


def test_a_file_that_appears_meanwhile_is_kept(project: Project,
                                               server: Server) -> None:
    put(server, "big", os.urandom(LARGE))
    stall = server.fault("stall", op="get", at=1000)
    started = project.start("get", "s3://data/big")
    deadline = time.monotonic() + 30
    while not parts(project) and time.monotonic() < deadline:
        time.sleep(0.05)
    project.write("big", b"mine")
    stall.released.set()
    _, errors = started.communicate(timeout=60)
    assert started.returncode == 1 and "File exists" in errors
    assert (project.root / "big").read_bytes() == b"mine"


def test_a_special_file_is_not_replaced(project: Project,
                                        server: Server) -> None:
    put(server, "f", b"1")
    os.mkfifo(project.root / "pipe")
    done = project.roar("get", "s3://data/f", "pipe", "--force", status=1)
    assert "'pipe' is not a regular file" in \
        done.stderr.replace(f"{project.root}/", "")
    assert (project.root / "pipe").is_fifo()


def test_secrets_of_a_url_are_not_recorded(tmp_path: Path,
                                           files: str) -> None:
    project = Project(tmp_path / "project", None)
    done = project.roar("get", files + "/w.bin?X-Amz-Signature=5ec7e7&"
                        "X-Amz-Security-Token=t0ken&download=true")
    shown = project.roar("show", "@1").stdout
    assert "download=true" in shown
    assert "5ec7e7" not in shown and "t0ken" not in shown, done.stdout
    for path in (project.root / ".roar").rglob("*"):
        if path.is_file():
            assert b"5ec7e7" not in path.read_bytes()


def test_an_interrupted_prefix_continues(project: Project,
                                         server: Server) -> None:
    for i in range(5):
        put(server, f"p/{i}", b"%d" % i)
    put(server, "p/z", b"last")
    server.fault("error", op="get", key="p/z", status=403, code="AccessDenied")
    project.roar("get", "s3://data/p/", "d", status=1)
    there = sorted(os.listdir(project.root / "d"))
    assert "z" not in there
    if "0" in there:  # what was changed is not ours any more
        project.write("d/0", b"?")
        done = project.roar("get", "s3://data/p/", "d", status=1)
        assert "d/0' exists: give --force" in done.stderr
        (project.root / "d/0").unlink()
        there.remove("0")
    server.forget()
    project.roar("get", "s3://data/p/", "d")
    assert len(server.seen("get")) == 6 - len(there)
    assert len(project.show("@1")["outputs"]) == 7
    assert (project.root / "d/0").read_bytes() == b"0"
    assert project.transfers() == []


@pytest.mark.parametrize("url, why", [
    ("https://", "is not a URL such as"),
    ("https://u:p@127.0.0.1:9/x", "user name or password is not supported"),
    ("file://", "has no path: write file:///PATH")])
def test_wrong_urls_are_told(project: Project, url: str, why: str) -> None:
    assert why in project.roar("get", url, "x", status=1).stderr


def test_wrong_keys_are_told(project: Project, server: Server) -> None:
    put(server, "f", b"1")
    project.env["AWS_SECRET_ACCESS_KEY"] = "another"
    done = project.roar("get", "s3://data/f", status=1)
    assert "the server answered 403 (forbidden): the keys are wrong" in \
        done.stderr


def test_an_unreadable_name_is_told(project: Project) -> None:
    outside = project.root.parent / "outside"
    outside.mkdir()
    os.mkfifo(outside / "pipe")
    done = project.roar("get", f"file://{outside}", "copy", status=1)
    assert f"'{outside}/pipe': it is a FIFO" in done.stderr
