"""Checkpoints in object storage: what is stored, by which requests, and what faults do."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from objects import Upload
from server import KEY_ID, SECRET, Server
from signature import Credential

# The second implementation of the format.
sys.path.append(str(Path(__file__).parent.parent / "checkpoint"))
saves = pytest.importorskip("saves")

MIB = 1 << 20


class Store:
    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.url = "s3://data/runs/one"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "no_proxy": "*",
                    "AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": KEY_ID,
                    "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_MAX_ATTEMPTS": "4",
                    "AWS_ENDPOINT_URL_S3": server.endpoint,
                    **{n: os.environ[n] for n in ("ASAN_OPTIONS", "UBSAN_OPTIONS")
                       if n in os.environ}}

    def try_save(self, step: int, *tensors: str,
                 options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [os.environ["CKPT_SAVE"], *options, self.url, str(step), *tensors],
            env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=100, check=False)

    def save(self, step: int, *tensors: str, options: tuple[str, ...] = ()) -> Any:
        done = self.try_save(step, *tensors, options=options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def keys(self) -> list[str]:
        bucket = self.server.buckets["data"]
        return sorted(key for key in bucket.versions if bucket.current(key))

    def load(self, step: int) -> Any:
        """The objects as files, read by the other implementation."""
        base = self.folder / "copy"
        for key in self.keys():
            path = base / key.removeprefix("runs/one/")
            path.parent.mkdir(parents=True, exist_ok=True)
            version = self.server.buckets["data"].current(key)
            assert version
            path.write_bytes(version.data)
        return saves.load(str(base), step)


@pytest.fixture
def store(server: Server, tmp_path: Path) -> Store:
    return Store(server, tmp_path)


SMALL = ("w,F32,10x3,1", "b,U8,5,2")


def check_small(store: Store, step: int) -> None:
    tensors = store.load(step)[1]
    assert tensors["w"][2] == saves.expected(120, 1)
    assert tensors["b"][2] == saves.expected(5, 2)


def test_a_small_checkpoint_is_three_puts(store: Store, server: Server) -> None:
    store.save(7, *SMALL)
    check_small(store, 7)
    assert len(store.keys()) == 3
    assert len(server.seen("put")) == 3 and not server.seen("create-upload")
    assert server.seen("put")[-1].key.endswith("step-000000000007/manifest.json")


def test_large_files_are_uploads_in_parallel(store: Store, server: Server) -> None:
    size = 140 * MIB + 5
    under_way, most = [0], [0]
    perform, lock = server.perform, threading.Lock()

    def counting(call: Any) -> Any:
        is_part = call.seen.op == "upload-part"
        with lock:
            under_way[0] += is_part
            most[0] = max(most[0], under_way[0])
        if is_part:
            time.sleep(0.3)
        try:
            return perform(call)
        finally:
            with lock:
                under_way[0] -= is_part

    server.perform = counting  # type: ignore[method-assign]
    store.save(1, f"a,U8,{size},3")
    key, = (k for k in store.keys() if k.endswith(".safetensors"))
    stored = server.buckets["data"].current(key)
    # Without the other implementation, which would take seconds for its hashes.
    assert stored and stored.data[4096:] == saves.expected(size, 3)
    assert len(server.seen("upload-part")) == 18
    assert most[0] >= 16
    assert not server.buckets["data"].uploads


def test_a_delta_has_parts_too(store: Store) -> None:
    first = [f"t{i},U8,{3 * MIB},{i}" for i in range(8)]
    store.save(1, *first)
    changed = [*first[:2], *(f"t{i},U8,{3 * MIB},{i + 50}" for i in range(2, 8))]
    result = store.save(2, *changed, options=("--parent", "step-000000000001"))
    assert 18 * MIB <= result["written"] <= 20 * MIB
    tensors = store.load(2)[1]
    for i in range(8):
        assert tensors[f"t{i}"][2] == saves.expected(3 * MIB, i if i < 2 else i + 50)


def test_ranks_commit_together(store: Store) -> None:
    for rank in (1, 0):
        store.save(5, f"w,U8,8,{rank},{4 * rank},4", options=(
            "--rank", f"{rank}/2", "--save-id", "9f3ac2d1",
            "--part" if rank else "--commit"))
    assert store.load(5)[1]["w"][2] == saves.expected(4, 0) + saves.expected(4, 1)
    assert not [k for k in store.keys() if "/part-" in k]


def test_the_first_commit_wins(store: Store, tmp_path: Path) -> None:
    go = tmp_path / "go"
    writers = [subprocess.Popen(
        [os.environ["CKPT_SAVE"], "--rank", "0/1", "--save-id", f"0000000{seed}", "--commit",
         "--wait", str(go), store.url, "5", f"w,U8,5000,{seed}"],
        env=store.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for seed in (1, 2)]
    while len(store.keys()) < 4:
        time.sleep(0.01)
    go.touch()
    codes = [w.wait(60) for w in writers]
    assert sorted(codes) == [0, 3]
    winner = codes.index(0) + 1
    assert store.load(5)[1]["w"][2] == saves.expected(5000, winner)
    assert len(store.keys()) == 3  # the loser has removed its own


def test_a_server_without_conditional_puts(store: Store, server: Server) -> None:
    server.fault("error", op="put", key="runs/one/step-000000000005/manifest.json",
                 status=501, code="NotImplemented", times=2)
    store.save(5, *SMALL)
    check_small(store, 5)
    assert store.try_save(5, *SMALL).returncode == 3


@pytest.mark.parametrize("kind, more", [
    ("error", {"status": 500, "code": "InternalError"}),
    ("error", {"status": 503, "code": "SlowDown"}),
    ("close", {}), ("garbage", {}), ("reset-request", {"at": 1000}),
    ("short", {"at": 10}), ("lost", {"status": 500, "code": "InternalError"}),
    ("drip", {"size": 20, "pause_s": 0.01})])
@pytest.mark.parametrize("op", ["put", "upload-part", "complete-upload"])
def test_faults_that_pass(store: Store, server: Server, op: str, kind: str,
                          more: dict[str, Any]) -> None:
    server.fault(kind, op=op, **more)
    size = 9 * MIB if op != "put" else 1000
    done = store.try_save(5, f"a,U8,{size},3")
    if done.returncode:
        # What cannot be repeated safely ends with a sentence, and without a trace.
        assert "Traceback" not in done.stderr and len(done.stderr) > 20
        assert not store.keys() and not server.buckets["data"].uploads
        assert kind == "garbage"
        return
    assert store.load(5)[1]["a"][2] == saves.expected(size, 3)


@pytest.mark.parametrize("op", ["create-upload", "upload-part", "complete-upload", "put"])
def test_a_server_that_stays_broken(store: Store, server: Server, op: str) -> None:
    store.save(1, *SMALL)
    before = store.keys()
    server.fault("error", op=op, status=500, code="InternalError", times=1000)
    done = store.try_save(5, f"a,U8,{9 * MIB},3")
    assert done.returncode == 1
    assert "InternalError" in done.stderr or "500" in done.stderr, done.stderr
    server.forget()
    assert store.keys() == before
    check_small(store, 1)


def test_expired_credentials_are_named(store: Store, server: Server) -> None:
    server.credentials["E"] = Credential("secret", "token", expired=True)
    store.env |= {"AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "secret",
                  "AWS_SESSION_TOKEN": "token"}
    done = store.try_save(5, *SMALL)
    assert done.returncode == 1 and "expired" in done.stderr.lower(), done.stderr
    assert not store.keys()


def test_a_bucket_that_does_not_exist(store: Store) -> None:
    store.url = "s3://nowhere/x"
    done = store.try_save(5, *SMALL)
    assert done.returncode == 1 and "nowhere" in done.stderr, done.stderr


def test_gc_ends_uploads_of_killed_writers(store: Store, server: Server) -> None:
    store.save(1, *SMALL)
    bucket, day = server.buckets["data"], 24 * 3600

    def begin(key: str, age_s: float) -> str:
        upload = Upload(key, f"{len(bucket.uploads):032x}", {}, {}, time.time() - age_s)
        bucket.uploads[upload.upload_id] = upload
        return upload.upload_id

    name = "data-00000-of-00001-9f3ac2d1.safetensors"
    for step in range(2, 9):
        begin(f"runs/one/step-{step:012}/{name}", day + 60)
    stay = {begin(f"runs/one/step-{2:012}/{name}", day - 60),
            begin(f"runs/one/step-{2:012}/other", 9 * day),
            begin(f"runs/two/step-{2:012}/{name}", 9 * day)}

    def gc(*options: str) -> str:
        return subprocess.run(
            [os.environ["ROAR"], "checkpoint", "gc", *options, store.url], env=store.env,
            cwd=store.folder, check=True, capture_output=True, text=True, timeout=100).stdout

    gc("--dry-run")
    # Who may not list uploads can still remove checkpoints.
    server.fault("error", op="get-uploads", status=403, code="AccessDenied", times=1)
    gc()
    assert len(bucket.uploads) == 10
    gc()
    assert set(bucket.uploads) == stay
    check_small(store, 1)
