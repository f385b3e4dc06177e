"""Disks that are full or fail, and processes that are killed: each outcome is the old state or
the new one, and the checkpoint before is intact."""

import errno
import os
import random
import shutil
import subprocess
import time

import pytest

from saves import expected, leftovers, load
from second import Refused

MIB = 1 << 20
ALL = bool(os.environ.get("FAULTS_ALL"))     # in the suite stress
OLD = ["a,U8,1100000,1", "b,F32,5x7,2"]
NEW = ["a,U8,1100000,1", "b,F32,5x7,3"]


def check_old(store):
    tensors = load(store.path, 1)[1]
    assert tensors["a"][2] == expected(1100000, 1)
    assert tensors["b"][2] == expected(140, 2)


def outcome(store):
    """Of step 2: is it there?  Then all of it is."""
    check_old(store)
    if not os.path.exists(os.path.join(store.step(2), "manifest.json")):
        return "old"
    tensors = load(store.path, 2)[1]
    assert tensors["a"][2] == expected(1100000, 1)
    assert tensors["b"][2] == expected(140, 3)
    return "new"


# ---- calls that fail ----

CALLS = [("fallocate", errno.ENOSPC), ("fallocate", errno.EIO), ("pwrite", errno.ENOSPC),
         ("pwrite", errno.EIO), ("pwrite", errno.EDQUOT), ("fsync", errno.EIO),
         ("renameat2", errno.EIO), ("openat", errno.EACCES), ("openat", errno.EMFILE),
         ("ftruncate", errno.EIO), ("mkdirat", errno.EROFS), ("flock", errno.EIO),
         ("write", errno.ENOSPC)]
CASES = [(*call, delta) for delta in (False, True) for call in CALLS] if ALL else [
    ("fallocate", errno.ENOSPC, False), ("pwrite", errno.EIO, True),
    ("fsync", errno.EIO, False), ("renameat2", errno.EIO, False),
    ("openat", errno.EMFILE, True), ("write", errno.ENOSPC, False)]


def check_failure(store, done, what):
    assert done.returncode in (0, 1), f"{what}: {done.stderr}"
    found = outcome(store)
    if done.returncode == 0:
        assert found == "new", what
        return False
    assert found == "old", f"{what}: {done.stderr}"
    assert store.path in done.stderr or "step 2" in done.stderr, done.stderr
    assert not leftovers(store.path), what
    return True


@pytest.mark.parametrize("call, number, delta", CASES)
def test_a_call_that_fails(store, call, number, delta):
    store.save(1, *OLD)
    options = {"parent": "step-000000000001"} if delta else {}
    n_failed = 0
    for nth in range(1, 40):
        done = store.try_save(2, *NEW, threads=1, **options, env={
            "LD_PRELOAD": os.environ["FAILING_CALLS"], "FAIL_BELOW": store.path,
            "FAIL": f"{call}:{nth}:{number}"})
        if not check_failure(store, done, f"{call} number {nth}"):
            break
        n_failed += 1
    assert n_failed or delta and call == "fallocate"
    # The next save is not disturbed by what has happened.
    if outcome(store) == "old":
        store.save(2, *NEW)
    assert outcome(store) == "new"


@pytest.mark.parametrize("call", ["fsync", "pwrite", "openat"])
def test_a_disk_that_fails_for_good(store, call):
    store.save(1, *OLD)
    for nth in range(1, 12, 1 if ALL else 4):
        done = store.try_save(2, *NEW, env={
            "LD_PRELOAD": os.environ["FAILING_CALLS"], "FAIL_BELOW": store.path,
            "FAIL": f"{call}:{nth}+:{errno.EIO}"})
        assert done.returncode in (0, 1)
        if outcome(store) == "new":
            break
        assert done.returncode == 1
        if os.path.isdir(store.step(2)):
            shutil.rmtree(store.step(2))


# ---- a full disk ----

@pytest.fixture(name="small")
def a_small_disk(tmp_path):
    path = tmp_path / "small"
    path.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", path],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", path], check=True)


def test_a_full_disk_is_named(small, store):
    store.path = str(small / "checkpoints")
    store.save(1, *OLD)
    done = store.try_save(2, f"a,U8,{7 * MIB},1")
    assert done.returncode == 1 and "No space left on device" in done.stderr
    assert store.path in done.stderr
    assert outcome(store) == "old" and not leftovers(store.path)
    delta = store.try_save(2, *(f"x{i},U8,{MIB},{i}" for i in range(7)),
                           parent="step-000000000001")
    assert delta.returncode == 1 and "No space left on device" in delta.stderr
    assert outcome(store) == "old" and not leftovers(store.path)
    store.save(2, *NEW)
    assert outcome(store) == "new"


# ---- a directory that vanishes ----

def test_a_directory_that_vanishes(store, tmp_path):
    store.save(1, *OLD)
    go = tmp_path / "go"
    writer = subprocess.Popen(
        store.command(2, *NEW, rank="0/1", save_id="9f3ac2d1", commit=True, wait=str(go)),
        stderr=subprocess.PIPE, text=True)
    tree = os.path.join(store.step(2), "data-00000-of-00001-9f3ac2d1.tree")
    while not os.path.exists(tree) and writer.poll() is None:
        time.sleep(0.001)
    shutil.rmtree(store.step(2))
    go.touch()
    assert writer.wait(30) == 1
    assert "step-000000000002" in writer.stderr.read()
    assert outcome(store) == "old"


def test_a_file_instead_of_a_directory(store):
    os.makedirs(os.path.dirname(store.path), exist_ok=True)
    with open(store.path, "w", encoding="utf-8") as f:
        f.write("x")
    done = store.try_save(2, *NEW)
    assert done.returncode == 1 and store.path in done.stderr


# ---- kill -9 ----

def kill_at(store, moment, options):
    done = store.try_save(2, *NEW, threads=1, **options,
                          prefix=[os.environ["KILLAT"], "program", str(moment)])
    assert done.returncode in (0, 3), done.stderr
    return done.returncode == 0


def check_kill(store, moment):
    """What the save left behind can be told from what belongs to checkpoints."""
    found = outcome(store)
    for name in leftovers(store.path):
        assert name.startswith("step-000000000002/"), f"moment {moment}: {name}"
        assert "/data-" in name or "/writing-" in name or "/manifest.json." in name, name
    return found


@pytest.mark.parametrize("options", [{}, {"parent": "step-000000000001"},
                                     {"rank": "0/1", "save_id": "9f3ac2d1", "commit": True}],
                         ids=["full", "delta", "two phases"])
def test_kill_at_any_system_call(store, options):
    """With FAULTS_ALL each one, else a sample."""
    rng = random.Random(17)
    step = 1 if ALL else 30
    store.save(1, *OLD)
    seen, moment = set(), 1
    while True:
        moment += rng.randint(1, 2 * step - 1) if step > 1 else 1
        if not kill_at(store, moment, options):
            break
        found = check_kill(store, moment)
        seen.add(found)
        # A later save of the step is not disturbed by leftovers.
        if found == "old" and rng.random() < 0.2:
            store.save(2, *NEW)
            assert outcome(store) == "new"
        if os.path.isdir(store.step(2)):
            shutil.rmtree(store.step(2))
    assert "old" in seen
    assert outcome(store) == "new"


def test_a_killed_writer_holds_no_lock(store):
    store.save(1, *OLD)
    writer = subprocess.Popen(
        store.command(2, *NEW, rank="0/1", save_id="9f3ac2d1", part=True, hold=True),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "written\n"
    lock = os.path.join(store.step(2), "writing-9f3ac2d1")
    assert subprocess.run(["flock", "-n", lock, "true"], check=False).returncode == 1
    writer.kill()
    writer.wait(10)
    assert subprocess.run(["flock", "-n", lock, "true"], check=False).returncode == 0
    assert check_kill(store, "hold") == "old"


# ---- damage ----

def test_each_flipped_byte_is_found(store):
    """By the format alone: what the reader verifies covers every byte of a checkpoint."""
    store.save(1, "a,U8,20000,1", "b,F32,5x7,2")
    load(store.path, 1)
    rng = random.Random(5)
    names = store.names(1)
    for _ in range(200 if ALL else 40):
        path = os.path.join(store.step(1), rng.choice(names))
        with open(path, "rb") as f:
            data = bytearray(f.read())
        at = rng.randrange(len(data))
        changed = bytearray(data)
        changed[at] ^= 1 << rng.randrange(8)
        with open(path, "wb") as f:
            f.write(changed)
        with pytest.raises(Refused):
            load(store.path, 1)
        with open(path, "wb") as f:
            f.write(data)
