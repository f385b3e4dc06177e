"""Saves: what is stored, sharded and not, whole and as a delta, in the background."""

import json
import os
import subprocess
import time

import pytest

from saves import expected, leftovers, load
from second import read_header

MIB = 1 << 20


def tensor(name, dtype, shape, seed, *part):
    return ",".join([name, dtype, shape, str(seed), *part])


STATE = [tensor("model.w", "F32", "100x7", 1), tensor("model.b", "BF16", "7", 2),
         tensor("step", "I64", "", 3), tensor("mask", "BOOL", "3x0", 4),
         tensor("f8", "F8_E4M3", "5", 5), tensor("ä \"x\"", "U8", "1000", 6)]
SIZES = {"model.w": (2800, 1), "model.b": (14, 2), "step": (8, 3), "mask": (0, 4),
         "f8": (5, 5), "ä \"x\"": (1000, 6)}


def test_every_tensor_has_its_bytes(store):
    result = store.save(100, *STATE, state='{"lr": 0.5, "w": {"$tensor": "model.w"}}')
    manifest, tensors = load(store.path, 100)
    assert {n: t[2] for n, t in tensors.items()} == \
        {n: expected(*size) for n, size in SIZES.items()}
    assert tensors["model.w"][:2] == ("F32", [100, 7])
    assert manifest["state"] == {"lr": 0.5, "w": {"$tensor": "model.w"}}
    assert manifest["metrics"] == {"loss": 0.25} and manifest["tags"] == ["best"]
    assert manifest["save"] == result["save"] and manifest["epoch"] == 3
    assert len(store.names(100)) == 3
    assert not leftovers(store.path)


def test_the_file_is_the_same_in_any_order(store):
    store.save(1, *STATE)
    store.save(2, *reversed(STATE), threads=1)
    files = []
    for step in (1, 2):
        name = [n for n in store.names(step) if n.endswith(".safetensors")][0]
        with open(os.path.join(store.step(step), name), "rb") as f:
            files.append(f.read())
    assert files[0] == files[1]


def test_the_official_package_reads_it(store):
    safetensors = pytest.importorskip(
        "safetensors.numpy", reason="the package safetensors is not installed")
    store.save(1, tensor("a", "F32", "10x3", 1), tensor("b", "I64", "", 2))
    name = [n for n in store.names(1) if n.endswith(".safetensors")][0]
    loaded = safetensors.load_file(os.path.join(store.step(1), name))
    assert loaded["a"].shape == (10, 3) and loaded["a"].tobytes() == expected(120, 1)
    assert loaded["b"].tobytes() == expected(8, 2)


def test_no_tensors_are_a_checkpoint_too(store):
    store.save(0, state="[1, 2]")
    manifest, tensors = load(store.path, 0)
    assert manifest["state"] == [1, 2] and not tensors


@pytest.mark.parametrize("threads", [1, 8])
def test_files_of_many_leaves(store, threads):
    sizes = {"a": 9 * MIB + 17, "b": 5 * MIB}
    store.save(7, *(tensor(n, "U8", str(s), i) for i, (n, s) in enumerate(sizes.items())),
               threads=threads)
    _, tensors = load(store.path, 7)
    for i, (name, size) in enumerate(sizes.items()):
        assert tensors[name][2] == expected(size, i)


# ---- deltas ----

BIG = [("a", 6 * MIB), ("b", 5 * MIB), ("c", 3 * MIB + 5)]


def big(*seeds):
    return [tensor(n, "U8", str(s), seed) for (n, s), seed in zip(BIG, seeds)]


def check_big(store, step, *seeds):
    manifest, tensors = load(store.path, step)
    for (name, size), seed in zip(BIG, seeds):
        assert tensors[name][2] == expected(size, seed)
    return manifest


@pytest.mark.parametrize("threads", [1, 8])
def test_a_delta_writes_what_has_changed(store, threads):
    store.save(1, *big(1, 2, 3))
    changed = store.save(2, *big(1, 9, 3), parent="step-000000000001", threads=threads)
    manifest = check_big(store, 2, 1, 9, 3)
    assert manifest["parent"] == "step-000000000001"
    assert 5 * MIB <= changed["written"] <= 7 * MIB + 4096
    # Against a delta: extents lead to the files that have the bytes.
    third = store.save(3, *big(8, 9, 3), parent="step-000000000002", threads=threads)
    assert third["written"] <= 8 * MIB + 4096
    paths = {e[2].split("/")[0] for e in check_big(store, 3, 8, 9, 3)["files"][0]["extents"]}
    assert paths == {f"step-00000000000{i}" for i in (1, 2, 3)}
    assert not leftovers(store.path)


def test_nothing_changed_writes_no_data(store):
    store.save(1, *big(1, 2, 3))
    assert store.save(2, *big(1, 2, 3), parent="step-000000000001")["written"] == 0
    manifest = check_big(store, 2, 1, 2, 3)
    assert manifest["files"][0]["name"] is None
    assert [n for n in store.names(2) if n.endswith(".safetensors")] == []


def test_a_parent_that_cannot_be_used_is_no_obstacle(store):
    store.save(1, *big(1, 2, 3))
    full = store.save(2, *big(1, 2, 3), parent="step-000000000009")
    assert full["written"] == full["size"]
    tree = [n for n in store.names(1) if n.endswith(".tree")][0]
    with open(os.path.join(store.step(1), tree), "r+b") as f:
        f.seek(40)
        f.write(b"xxxx")
    full = store.save(3, *big(1, 2, 3), parent="step-000000000001")
    assert full["written"] == full["size"]
    check_big(store, 3, 1, 2, 3)


def test_a_smaller_state_after_a_larger_one(store):
    store.save(1, *big(1, 2, 3))
    store.save(2, tensor("a", "U8", str(6 * MIB), 1), parent="step-000000000001")
    assert load(store.path, 2)[1]["a"][2] == expected(6 * MIB, 1)


# ---- sharded ----

def rows(rank, world, n=8, width=5):
    share = n // world
    return [tensor("w", "F32", f"{n}x{width}", 10 + rank, f"{rank * share}x0",
                   f"{share}x{width}"),
            tensor("v", "U8", f"4x{world}", 20 + rank, f"0x{rank}", "4x1")]


def check_rows(store, step, world, n=8, width=5):
    _, tensors = load(store.path, step)
    share = n // world * width * 4
    assert tensors["w"][2] == b"".join(expected(share, 10 + r) for r in range(world))
    columns = [expected(4, 20 + r) for r in range(world)]
    assert tensors["v"][2] == bytes(columns[c][r] for r in range(4) for c in range(world))


def test_each_rank_writes_its_part(store):
    for rank in (3, 1, 2):
        store.save(5, *rows(rank, 4), rank=f"{rank}/4", save_id="9f3ac2d1", part=True)
    assert not os.path.exists(os.path.join(store.step(5), "manifest.json"))
    store.save(5, *rows(0, 4), rank="0/4", save_id="9f3ac2d1", commit=True)
    check_rows(store, 5, 4)
    assert len(store.names(5)) == 9
    assert not leftovers(store.path)
    with open(os.path.join(store.step(5), "data-00001-of-00004-9f3ac2d1.safetensors"),
              "rb") as f:
        assert sorted(read_header(f.read(), f.name)[0]) == ["v@0,1", "w@2,0"]


def test_a_rank_that_did_not_write_is_named(store):
    store.save(5, *rows(1, 3, 9), rank="1/3", save_id="9f3ac2d1", part=True)
    done = store.try_save(5, *rows(0, 3, 9), rank="0/3", save_id="9f3ac2d1", commit=True)
    assert done.returncode == 1
    assert "rank 2 of 3 has not written its part of step 5" in done.stderr
    assert not os.path.exists(os.path.join(store.step(5), "manifest.json"))
    assert "data-00000-of-00003-9f3ac2d1.safetensors" not in store.names(5)


def test_parts_that_overlap_are_refused(store):
    overlapping = tensor("w", "U8", "8", 1, "2", "4")
    store.save(5, overlapping, rank="1/2", save_id="9f3ac2d1", part=True)
    done = store.try_save(5, tensor("w", "U8", "8", 1, "0", "4"), rank="0/2",
                          save_id="9f3ac2d1", commit=True)
    assert done.returncode == 1 and "overlap" in done.stderr


def test_a_commit_that_is_not_confirmed_does_not_happen(store):
    done = store.try_save(5, tensor("w", "U8", "8", 1), rank="0/1", save_id="9f3ac2d1",
                          commit=True, refuse=True)
    assert done.returncode == 1 and "refused" in done.stderr
    assert not os.path.exists(store.step(5))


def test_deltas_of_ranks(store):
    for step, seed in ((1, 0), (2, 1)):
        for rank in (1, 0):
            parts = [tensor("a", "U8", f"{4 * MIB}", rank, str(rank * 2 * MIB),
                            str(2 * MIB)),
                     tensor("b", "U8", f"{2 * MIB}", 7 + seed * rank, str(rank * MIB),
                            str(MIB))]
            store.save(step, *parts, rank=f"{rank}/2", save_id=f"9f3ac2d{step}",
                       **({"commit": True} if rank == 0 else {"part": True}),
                       **({"parent": "step-000000000001"} if step == 2 else {}))
    manifest, tensors = load(store.path, 2)
    assert tensors["a"][2] == expected(2 * MIB, 0) + expected(2 * MIB, 1)
    assert tensors["b"][2] == expected(MIB, 7) + expected(MIB, 8)
    assert manifest["files"][0]["name"] is None and manifest["files"][1]["name"]


# ---- two writers ----

def test_a_step_is_saved_once(store):
    store.save(5, tensor("w", "U8", "8", 1))
    done = store.try_save(5, tensor("w", "U8", "8", 2))
    assert done.returncode == 3
    assert "step 5 was already saved in" in done.stderr
    assert load(store.path, 5)[1]["w"][2] == expected(8, 1)


def test_of_two_writers_at_once_one_wins(store, tmp_path):
    go = tmp_path / "go"
    writers = [subprocess.Popen(
        store.command(5, tensor("w", "U8", "5000", seed), rank="0/1", save_id=f"0000000{seed}",
                      commit=True, wait=str(go)),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for seed in (1, 2)]
    while not os.path.isdir(store.step(5)) or len(store.names(5)) < 6:
        time.sleep(0.001)
    go.touch()
    codes = [w.wait(30) for w in writers]
    errors = [w.stderr.read() for w in writers]
    assert sorted(codes) == [0, 3], errors
    assert "already saved" in "".join(errors)
    winner = codes.index(0) + 1
    assert load(store.path, 5)[1]["w"][2] == expected(5000, winner)
    assert len(store.names(5)) == 3


# ---- in the background ----

def test_a_saver_saves_what_was_there_at_the_start(store):
    store.save(5, *big(1, 2, 3), **{"async": True})
    check_big(store, 5, 1, 2, 3)


def test_a_saver_saves_again(store):
    store.save(5, *big(1, 2, 3), twice=True)
    check_big(store, 5, 1, 2, 3)
    check_big(store, 6, 1, 2, 3)


def test_a_failure_in_the_background_is_raised(store):
    store.save(5, tensor("w", "U8", "8", 1))
    done = store.try_save(5, tensor("w", "U8", "8", 1), **{"async": True})
    assert done.returncode == 3 and "already saved" in done.stderr
    # The next start raises it and begins nothing.
    done = store.try_save(5, tensor("w", "U8", "8", 1), twice=True)
    assert done.returncode == 3 and "step 5 was already saved" in done.stderr
    assert not os.path.exists(store.step(6))


# ---- arguments ----

@pytest.mark.parametrize("tensors, options, words", [
    ([tensor("w", "F99", "8", 1)], {}, "'F99', which is not a type"),
    ([tensor("w", "U8", "8", 1), tensor("w", "U8", "8", 2)], {}, "'w' is there twice"),
    ([tensor("w", "U8", "8", 1, "6", "4")], {}, "not within its shape"),
    ([tensor("w", "U8", "8", 1, "0", "4")], {}, "not all of it"),
    ([], {"parent": "../x"}, "parent '../x'"),
    ([], {"state": "{"}, "state is not JSON"),
    ([], {"rank": "0/2", "part": True}, "save_id"),
    ([], {"rank": "2/2", "save_id": "9f3ac2d1", "part": True}, "rank 2 of 2"),
    ([], {"save_id": "../../xx"}, "save_id"),
])
def test_wrong_arguments_are_named(store, tensors, options, words):
    done = store.try_save(5, *tensors, **options)
    assert done.returncode == 1 and words in done.stderr
    assert not leftovers(store.path)


def test_a_run_is_named_as_job(store, tmp_path):
    roar = os.environ.get("ROAR")
    if not roar:
        pytest.skip("roar is not built")
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run([roar, "init", "-n"], cwd=project, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([roar, "run", "-q", *store.command(5, *STATE)], cwd=project, check=True,
                   stdout=subprocess.DEVNULL)
    out = subprocess.run([roar, "log", "--json"], cwd=project, check=True,
                         capture_output=True, text=True).stdout
    assert load(store.path, 5)[0]["job"] in json.dumps(json.loads(out))
