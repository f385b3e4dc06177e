"""roar.readers and roar.shards() of objects: what is read, what faults do to it.

Each test is a program of its own: the thread that talks to the server reads the
environment once in a process.
"""

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from project import PATIENCE_S, Project
from server import KEY_ID, SECRET, Server

MIB = 1 << 20
BEFORE = """
import json, os, sys
import roar
from roar.readers import ShardChanged, ShardError, open_shard
def show(what):
    print(json.dumps(what), flush=True)
"""


def sanitizer() -> dict[str, str]:
    """What a Python needs whose extension modules have one."""
    return {name: os.environ[name] for name in (
        "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "LD_PRELOAD",
        "PYTHONMALLOC") if name in os.environ}


class Program:
    """Runs Python against a server."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.folder = folder
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(folder),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": str(folder / "cache"), "no_proxy": "*",
            "AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL_S3": server.endpoint}
        self.env |= sanitizer()

    def start(self, text: str) -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-c", BEFORE + text],
                                env=self.env, cwd=self.folder, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def run(self, text: str) -> list[Any]:
        """What it shows, line by line."""
        with self.start(text) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, out + err
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def program(server: Server, tmp_path: Path) -> Program:
    return Program(server, tmp_path)


def put(server: Server, key: str, data: bytes) -> None:
    server.buckets["data"].put(key, data, {}, {})


def tar(name: str, n: int, size: int) -> bytes:
    """Samples whose bytes tell their number."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for i in range(n):
            member = tarfile.TarInfo(f"{name}/{i:05}.txt")
            member.size = size
            archive.addfile(member, io.BytesIO(sample(name, i, size)))
    return made.getvalue()


def sample(name: str, i: int, size: int) -> bytes:
    text = f"{name}:{i};".encode()
    return (text * (size // len(text) + 1))[:size]


CHECK = """
def right(sample, size):
    name, number = sample["__key__"].split("/")
    text = f"{name}:{int(number)};".encode()
    return sample["txt"] == (text * (size // len(text) + 1))[:size]
"""


def test_samples_of_a_tar_in_order_and_by_number(server: Server,
                                                 program: Program) -> None:
    put(server, "a.tar", tar("a", 150, 100_001))  # 15 MB: four pieces
    shown = program.run(CHECK + """
with open_shard("s3://data/a.tar") as shard:
    show([sample["__key__"] for sample in shard if right(sample, 100001)])
    show(len(shard))
    show([right(shard[n], 100001) for n in (149, 0, 77, -1)])
    show([s["__key__"] for s in shard.samples([140, 3, 90, 3])])
""")
    assert shown == [[f"a/{i:05}" for i in range(150)], 150, [True] * 4,
                     ["a/00140", "a/00003", "a/00090", "a/00003"]]
    assert len(server.seen("head")) == 1


def test_lines_and_records(server: Server, program: Program) -> None:
    put(server, "l.jsonl", b"".join(b'{"n": %d}\n' % i for i in range(500)))
    put(server, "r.bin", b"HEAD" + b"".join(b"%08d" % i for i in range(999)))
    shown = program.run("""
shard = open_shard("s3://data/l.jsonl")
show([line["n"] for line in shard] == list(range(500)))
show(shard[499])
shard = open_shard("s3://data/r.bin", record_bytes=8, header_bytes=4)
show([int(bytes(r)) for r in shard] == list(range(999)))
batch = bytearray(16)
shard.fill([998, 5], batch)
show(batch.decode())
""")
    assert shown == [True, {"n": 499}, True, "0000099800000005"]


def test_random_reads_take_what_they_need(server: Server,
                                          program: Program) -> None:
    data = os.urandom(25_000_000)
    put(server, "r.bin", data)
    shown = program.run("""
shard = open_shard("s3://data/r.bin", record_bytes=1000)
numbers = [20_000, 3_000, 14_000, 9_000, 24_000, 17_000]
show([bytes(r).hex() for r in shard.samples(numbers)])
""")
    numbers = [20_000, 3_000, 14_000, 9_000, 24_000, 17_000]
    assert shown[0] == [data[n * 1000:n * 1000 + 1000].hex() for n in numbers]
    asked = sorted(dict(seen.fields)["Range"] for seen in server.seen("get"))
    assert asked == sorted(f"bytes={n}000-{n}999" for n in numbers)


def test_an_index_is_kept_until_the_object_changes(server: Server,
                                                   program: Program) -> None:
    text = """
shard = open_shard("s3://data/a.tar")
show([len(shard), shard.index_was_kept])
"""
    put(server, "a.tar", tar("a", 100, 1000))
    assert program.run(text) == [[100, False]]
    n_gets = len(server.seen("get"))
    assert program.run(text) == [[100, True]]
    assert len(server.seen("get")) == n_gets
    put(server, "a.tar", tar("b", 100, 1000))
    assert program.run(text) == [[100, False]]


def test_a_pattern_and_a_shuffled_order(server: Server,
                                        program: Program) -> None:
    for name in "abc":
        put(server, f"d/train-{name}.tar", tar(name, 40, 50_000))
    put(server, "d/train-a.txt", b"no")
    put(server, "d/deeper/train-d.tar", b"no")
    text = CHECK + """
data = roar.shards(sys.argv[1], seed=7)
keys = [s["__key__"] for s in data if right(s, 50000)]
show([data.files.paths, keys])
"""
    stars, braced = (program.run(f"sys.argv[1:] = [{pattern!r}]" + text)[0]
                     for pattern in ("s3://data/d/train-*.tar",
                                     "s3://data/d/train-{a,b,c}.tar"))
    assert stars[0] == [f"s3://data/d/train-{name}.tar" for name in "abc"]
    assert stars == braced
    assert sorted(stars[1]) == [f"{name}/{i:05}" for name in "abc"
                                for i in range(40)]
    assert stars[1] != sorted(stars[1])


def test_google_is_read_with_its_own_keys(server: Server,
                                          program: Program) -> None:
    """Beside S3 in one process, where the keys for S3 are wrong."""
    for name in "ab":
        put(server, f"{name}.tar", tar(name, 30, 1000))
    server.buckets["data"].region = "auto"
    program.env |= {
        "GS_ACCESS_KEY_ID": KEY_ID, "GS_SECRET_ACCESS_KEY": SECRET,
        "GS_ENDPOINT_URL": server.endpoint, "AWS_SECRET_ACCESS_KEY": "wrong"}
    shown = program.run(CHECK + """
try:
    open_shard("s3://data/a.tar")
except PermissionError as error:
    show("s3://data/a.tar" in str(error))
with open_shard("gs://data/a.tar") as shard:
    show([len(shard), right(shard[29], 1000)])
data = roar.shards("gs://data/*.tar", seed=1)
show([data.files.paths, sum(right(s, 1000) for s in data)])
try:
    open_shard("gs://data/no.tar")
except FileNotFoundError as error:
    show("'gs://data/no.tar'" in str(error))
""")
    assert shown == [True, [30, True],
                     [["gs://data/a.tar", "gs://data/b.tar"], 60], True]
    assert {seen.region for seen in server.seen("get")} == {"auto"}


def test_other_urls_are_refused(server: Server, program: Program) -> None:
    shown = program.run("""
for call in (open_shard, roar.shards):
    for url in ("https://localhost/a.tar", "http://localhost/a-*.tar",
                "file:///a.tar", "hdfs://host/{a,b}.tar"):
        try:
            call(url)
        except ShardError as error:
            show(str(error))
""")
    assert len(shown) == 8
    assert all("s3:// or gs://" in text and "'roar get'" in text
               for text in shown)


def test_what_is_missing_is_named(server: Server, program: Program) -> None:
    shown = program.run("""
def say(call, *args, **more):
    try:
        call(*args, **more)
    except Exception as error:
        show([type(error).__name__, str(error)])
say(open_shard, "s3://data/no.tar")
say(roar.shards, "s3://data/no-*.tar")
say(open_shard, "s3://nobucket/a.tar")
say(roar.shards, "s3://nobucket/a-*.tar")
say(open_shard, "s3://data/", "tar")
say(open_shard, "s3:///a.tar")
""")
    assert [kind for kind, _ in shown] == \
        ["FileNotFoundError"] * 4 + ["ShardError"] * 2
    assert "'s3://data/no.tar'" in shown[0][1]
    assert "s3://data/no-*.tar" in shown[1][1]
    assert "NoSuchBucket" in shown[3][1]
    assert "name an object" in shown[4][1]


def test_wrong_keys_are_a_permission_error(server: Server,
                                           program: Program) -> None:
    put(server, "a.tar", tar("a", 3, 10))
    program.env["AWS_SECRET_ACCESS_KEY"] = "another-secret"
    shown = program.run("""
try:
    open_shard("s3://data/a.tar")
except PermissionError as error:
    show(str(error))
""")
    assert "s3://data/a.tar" in shown[0]
    assert "another-secret" not in shown[0]


@pytest.mark.parametrize("kind, more", [
    ("error", {}), ("reset", {"at": 70_000}), ("short", {"at": 1}),
    ("close", {})])
def test_faults_are_retried(server: Server, program: Program, kind: str,
                            more: dict[str, Any]) -> None:
    put(server, "a.tar", tar("a", 120, 50_000))
    server.fault(kind, op="get", times=2, **more)
    assert program.run(CHECK + """
with open_shard("s3://data/a.tar") as shard:
    show(sum(right(sample, 50000) for sample in shard))
""") == [120]


def test_a_failure_that_stays_is_told(server: Server,
                                      program: Program) -> None:
    put(server, "a.tar", tar("a", 20, 100))
    server.fault("error", op="get", times=1000, status=500,
                 code="InternalError")
    program.env["AWS_MAX_ATTEMPTS"] = "2"
    shown = program.run("""
try:
    list(open_shard("s3://data/a.tar"))
except OSError as error:
    show(str(error))
""")
    assert "InternalError" in shown[0] and "s3://data/a.tar" in shown[0]


def test_another_content_is_told(server: Server, program: Program) -> None:
    put(server, "r.bin", b"1" * 30 * MIB)
    with program.start("""
shard = open_shard("s3://data/r.bin", record_bytes=1 << 20)
shard[0]
show("opened")
input()
try:
    shard[25]
except ShardChanged as error:
    show(str(error))
again = open_shard("s3://data/r.bin", record_bytes=1 << 20)
show(bytes(again[25][:3]).decode())
""") as process:
        assert process.stdout and process.stdin
        assert json.loads(process.stdout.readline()) == "opened"
        put(server, "r.bin", b"2" * 30 * MIB)
        out, err = process.communicate("\n", timeout=PATIENCE_S)
    lines = out.splitlines()
    assert "'s3://data/r.bin' was replaced" in lines[0], err
    assert json.loads(lines[1]) == "222"


def test_content_must_be_that_of_its_digest(server: Server,
                                            program: Program) -> None:
    put(server, "a.tar", tar("a", 60, 100_000))
    (program.folder / "copy.tar").write_bytes(tar("a", 60, 100_000))
    shown = program.run("""
right = roar.hash_file("copy.tar")
show(len(open_shard("s3://data/a.tar", blake3=right)))
show(len(roar.shards("s3://data/a.tar", digests={"a.tar": right})))
try:
    open_shard("s3://data/a.tar", blake3="00" * 32)
except ShardChanged as error:
    show(str(error))
""")
    assert shown[:2] == [60, 60]
    assert "its BLAKE3 is not 0000" in shown[2]


def test_a_position_is_gone_on_from(server: Server, program: Program) -> None:
    for name in "ab":
        put(server, f"{name}.tar", tar(name, 30, 20_000))
    shown = program.run("""
data = roar.shards("s3://data/{a,b}.tar", seed=1)
all_keys = [s["__key__"] for s in data]
data = roar.shards("s3://data/{a,b}.tar", seed=1)
first = [s["__key__"] for _, s in zip(range(25), data)]
state = json.loads(json.dumps(data.state_dict()))
rest = [s["__key__"] for s in
        roar.shards("s3://data/{a,b}.tar", seed=1, resume=state)]
show([len(rest), first + rest == all_keys])
""")
    assert shown[0] == [35, True]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_other_processes_read_too(server: Server, program: Program,
                                  method: str) -> None:
    put(server, "a.tar", tar("a", 150, 100_000))
    (program.folder / "worker.py").write_text(CHECK + """
def read(shard):
    return sum(right(sample, 100000) for sample in shard)
""")
    assert program.run(f"""
sys.path.insert(0, "")
import multiprocessing
import worker
if __name__ == "__main__":
    shard = open_shard("s3://data/a.tar")
    ahead = iter(shard)         # pieces are under way
    next(ahead)
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        show(pool.map(worker.read, [shard, shard]))
    show(worker.read(shard))
""") == [[150, 150], 150]


def test_workers_of_torch_read_each_sample_once(server: Server,
                                                program: Program) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    for name in "abc":
        put(server, f"{name}.tar", tar(name, 20, 1000))
    assert program.run("""
import torch.utils.data
data = roar.shards("s3://data/{a,b,c}.tar")
loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=2)
show(sorted(s["__key__"] for s in loader))
""") == [[f"{name}/{i:05}" for name in "abc" for i in range(20)]]


def test_ctrl_c_ends_the_waiting(server: Server, program: Program) -> None:
    put(server, "a.tar", tar("a", 10, 1000))
    server.fault("stall", op="get", at=100)
    with program.start("""
show("begins")
try:
    list(open_shard("s3://data/a.tar"))
except KeyboardInterrupt:
    show("interrupted")
""") as process:
        assert process.stdout
        assert json.loads(process.stdout.readline()) == "begins"
        while not server.seen("head"):
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert json.loads(out) == "interrupted", err


def test_memory_is_bounded(server: Server, program: Program) -> None:
    put(server, "r.bin", bytes(320 * MIB))
    shown = program.run("""
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status
                    if line.startswith("VmHWM"))
before = peak()
n = 0
for record in open_shard("s3://data/r.bin", record_bytes=1 << 20):
    n += 1
show([n, (peak() - before) >> 10])
""")
    assert shown[0][0] == 320
    assert shown[0][1] < 128


@pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="a sanitized roar does not start beside a preloaded sanitizer")
def test_the_record_has_the_shards(server: Server, project: Project) -> None:
    for name in "ab":
        put(server, f"{name}.tar", tar(name, 30, 1000))
    project.env["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    project.write("train.py", b"""
import roar
print(len(list(roar.shards("s3://data/*.tar", seed=3))))
""")
    project.git("add", "train.py")
    project.git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm",
                "train")
    project.roar("run", sys.executable, "train.py")
    shards = project.show("@1")["shards"]
    assert sorted((s["path"], s["samples"]) for s in shards) == \
        [("s3://data/a.tar", 30), ("s3://data/b.tar", 30)]
