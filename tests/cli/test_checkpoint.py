"""roar checkpoint: what is saved is listed, verified, compared, copied and removed."""

import json
import os
import pathlib
import struct
import subprocess

import pytest

from helpers import lines

KINDS = {"model.w": ("F32", [600, 1000], 0), "model.b": ("BF16", [1001], 1),
         "optim.m": ("F64", [400, 500], 2), "count": ("I64", [], 3)}
BYTES = {"F32": 4, "BF16": 2, "F64": 8, "I64": 8}


def content(name, seed, changed=()):
    """The bytes that checkpoint_maker has put into a tensor."""
    dtype, shape, k = KINDS[name]
    n = BYTES[dtype]
    for dim in shape:
        n *= dim
    period = bytes((i + 13 * k + seed) % 256 for i in range(251))
    data = bytearray((period * (n // 251 + 1))[:n])
    if name == "model.w":
        for at in changed:
            data[at] ^= 0xff
    return bytes(data)


def make(place, step, world=1, seed=1, parent="", changed=(), base="base"):
    subprocess.run([os.environ["CHECKPOINT_MAKER"], base, str(step), str(world), str(seed),
                    parent, *map(str, changed)], cwd=place.root, check=True, timeout=60)


def name_of(step):
    return f"step-{step:012d}"


def folder(place, step, base="base"):
    return pathlib.Path(place.root) / base / name_of(step)


def the_file(place, step, pattern, base="base"):
    found, = folder(place, step, base).glob(pattern)
    return found


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1]))


def safetensors(path):
    """Tensors by name, read in the plainest way."""
    data = pathlib.Path(path).read_bytes()
    size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"],
                   data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]])
            for name, t in header.items()}


def check_state(path, seed, changed=()):
    found = safetensors(path)
    assert found.keys() == KINDS.keys()
    for name, (dtype, shape, data) in found.items():
        assert [dtype, shape] == list(KINDS[name][:2])
        assert data == content(name, seed, changed), name


def test_ls_and_show(empty):
    make(empty, 10, world=2, seed=1)
    make(empty, 20, world=2, seed=1, parent=name_of(10), changed=[5])
    make(empty, 30, seed=3)
    told = empty.json("checkpoint", "ls", "base")
    assert [c["step"] for c in told["checkpoints"]] == [10, 20, 30]
    first, second, third = told["checkpoints"]
    assert first["size"] == second["size"] and first["stored"] == first["size"]
    assert second["parent"] == name_of(10) and first["parent"] is None
    # A leaf of a MiB and the header before it, of four.
    assert second["stored"] < first["stored"] / 2
    assert third["metrics"] == {"loss": 0.75} and third["world_size"] == 1
    assert told["failed"] == [] and told["leftovers"] == []
    said = lines(empty("checkpoint", "ls", "base").out)
    assert said[0].split()[:3] == ["STEP", "CREATED", "RANKS"] and len(said) == 4
    said = empty("checkpoint", "show", "base", "--tensors").out
    assert "step       30" in said and "600x1000" in said and "scalar" in said
    told = empty.json("checkpoint", "show", f"base/{name_of(20)}")
    assert told["step"] == 20 and told["state"] == {"lr": 0.5}
    assert "step       20" in empty("checkpoint", "show", "base", "--step", "20").out


def test_ls_shows_saves_that_failed(empty):
    make(empty, 10)
    folder(empty, 20).mkdir()
    (folder(empty, 20) / "failed-0badcafe.json").write_text('{"error": "no space left"}')
    assert empty.json("checkpoint", "ls", "base")["failed"] == [
        {"step": 20, "save": "0badcafe", "error": "no space left"}]
    said = empty("checkpoint", "ls", "base").out
    assert "failed  step 20, save 0badcafe: no space left\n" in said


def test_verify_is_silent_about_what_is_whole(empty):
    make(empty, 10, world=3)
    make(empty, 20, world=3, parent=name_of(10), changed=[1, 2_000_000])
    told = empty.json("checkpoint", "verify", "base", "--all")
    assert [c["ok"] for c in told["checkpoints"]] == [True, True]
    assert all(c["damage"] == [] for c in told["checkpoints"])
    said = empty("checkpoint", "verify", "base").out
    assert said.startswith(f"{name_of(20)}: OK, ")


def test_verify_names_file_offset_tensor_and_repair(empty):
    make(empty, 10, world=2)
    make(empty, 10, world=2, base="replica")
    data = the_file(empty, 10, "data-00001-*.safetensors")
    flip(data, os.path.getsize(data) - 1)
    found = empty("checkpoint", "verify", "base", code=1).out
    assert "DAMAGED" in found and data.name in found and "wrong bytes" in found
    told = json.loads(empty("checkpoint", "verify", "base", "--json", "--replica", "replica",
                            code=1).out)
    damage, = told["checkpoints"][0]["damage"]
    assert damage["file"] == f"{name_of(10)}/{data.name}"
    assert damage["offset"] <= os.path.getsize(data) - 1 < damage["offset"] + damage["len"]
    assert "model.b" in damage["tensors"] and damage["repair"] == "replica"


@pytest.mark.parametrize("what", ["*.tree", "manifest.json"])
def test_damage_beside_the_data_is_found(empty, what):
    make(empty, 10)
    path = the_file(empty, 10, what)
    flip(path, os.path.getsize(path) // 2)
    assert empty("checkpoint", "verify", "base", "--all", code=1).out.count("DAMAGED") == 1
    empty("checkpoint", "verify", "base", code=1)


def test_a_truncated_file_is_damage(empty):
    make(empty, 10)
    data = the_file(empty, 10, "*.safetensors")
    os.truncate(data, os.path.getsize(data) - 5000)
    said = empty("checkpoint", "verify", "base", code=1).out
    assert "the file is too short" in said


def test_a_newer_format_is_refused(empty):
    folder(empty, 10).mkdir(parents=True)
    (folder(empty, 10) / "manifest.json").write_text('{"roar_checkpoint": 2}')
    assert "use a newer roar" in empty("checkpoint", "show", "base", code=1).err
    assert "use a newer roar" in empty("checkpoint", "ls", "base").out


def test_diff_counts_changed_elements(empty):
    make(empty, 10, world=2)
    make(empty, 20, world=3, changed=[0, 1, 400_000, 2_399_999])
    make(empty, 30, world=3, seed=2)
    both = [f"base/{name_of(10)}", f"base/{name_of(20)}"]
    told = json.loads(empty("checkpoint", "diff", "--json", *both, code=1).out)
    assert told["changed"] == [{"tensor": "model.w", "changed": 3, "elements": 600_000}]
    assert told["same"] == 3 and told["added"] == told["removed"] == told["reshaped"] == []
    assert empty("checkpoint", "diff", both[0], both[0]).out == "4 tensors equal, 0 different\n"
    said = empty("checkpoint", "diff", both[1], f"base/{name_of(30)}", code=1).out
    assert "0 tensors equal, 4 different" in said


def test_export_is_one_safetensors_file(empty):
    make(empty, 10, world=4, seed=7)
    make(empty, 20, world=4, seed=7, parent=name_of(10), changed=[3, 1_500_000])
    empty("checkpoint", "export", "base", "--step", "10", "ten.safetensors")
    empty("checkpoint", "export", "base", "twenty.safetensors")
    check_state(empty.path("ten.safetensors"), 7)
    check_state(empty.path("twenty.safetensors"), 7, [3, 1_500_000])
    assert "roar.checkpoint.export_torch(" in empty("checkpoint", "export", "--torch", "base",
                                                    "x", code=1).err
    assert sorted(os.listdir(empty.root)) == ["base", "ten.safetensors", "twenty.safetensors"]


@pytest.mark.parametrize("before, after", [(4, 3), (1, 5), (3, 1)])
def test_reshard_keeps_every_bit(empty, before, after):
    make(empty, 10, world=before, seed=9)
    make(empty, 20, world=before, seed=9, parent=name_of(10), changed=[77])
    empty("checkpoint", "reshard", str(after), "base", "other")
    told = empty.json("checkpoint", "ls", "other")["checkpoints"]
    assert [c["world_size"] for c in told] == [after] and told[0]["parent"] is None
    assert len(list(folder(empty, 20, "other").glob("*.safetensors"))) == after
    empty("checkpoint", "verify", "other")
    empty("checkpoint", "export", "other", "x.safetensors")
    check_state(empty.path("x.safetensors"), 9, [77])


def test_cp_is_complete_by_itself_and_repairs(empty):
    make(empty, 10, world=2, seed=5)
    make(empty, 20, world=2, seed=5, parent=name_of(10), changed=[9])
    empty("checkpoint", "cp", "base", "copy")
    data = the_file(empty, 10, "data-00000-*.safetensors")
    flip(data, 1_200_000)
    told = empty.json("checkpoint", "cp", "base", "again", "--replica", "copy")
    assert told["repaired"] == 1 and told["world_size"] == 2
    err = empty("checkpoint", "cp", "base", "bad", code=1).err
    assert "is damaged at offset 1048576" in err
    assert empty.json("checkpoint", "ls", "bad")["checkpoints"] == []
    assert empty.json("checkpoint", "ls", "bad")["leftovers"] == []
    for base in ("copy", "again"):
        empty("checkpoint", "verify", base)
        empty("checkpoint", "export", base, f"{base}.safetensors")
        check_state(empty.path(f"{base}.safetensors"), 5, [9])
        assert empty.json("checkpoint", "ls", base)["checkpoints"][0]["stored"] > 4_000_000
    assert "already saved" in empty("checkpoint", "cp", "--step", "20", "base", "copy",
                                    code=1).err


def test_gc_keeps_what_deltas_refer_to(empty):
    make(empty, 10, seed=4)
    for step in (20, 30, 40):
        make(empty, step, seed=4, parent=name_of(step - 10),
             changed=list(range(0, step // 10 - 1)))
    words = ["checkpoint", "gc", "base", "--keep-last", "1"]
    said = empty(*words, "--dry-run").out
    assert f"would remove {name_of(10)}\n" in said and "1 checkpoint kept, 3 would be" in said
    assert len(empty.json("checkpoint", "ls", "base")["checkpoints"]) == 4
    told = empty.json(*words)
    assert told["kept"] == 1 and told["removed"] == 3
    assert [c["step"] for c in empty.json("checkpoint", "ls", "base")["checkpoints"]] == [40]
    empty("checkpoint", "verify", "base")
    empty("checkpoint", "export", "base", "x.safetensors")
    check_state(empty.path("x.safetensors"), 4, [0, 1, 2])
    # The full file of step 10 is still needed; the deltas between are not.
    assert sorted(os.listdir(empty.path("base"))) == [name_of(10), name_of(40)]


def test_gc_rules_and_leftovers(empty):
    for step, seed in ((10, 8), (20, 2), (30, 4), (40, 6)):
        make(empty, step, seed=seed)
    (folder(empty, 30) / "manifest.json").unlink()
    left = empty.json("checkpoint", "ls", "base")["leftovers"]
    assert [x["step"] for x in left] == [30] and left[0]["files"] == 2
    assert "leftovers  step 30: 2 files" in empty("checkpoint", "ls", "base").out
    told = empty.json("checkpoint", "gc", "base")
    assert told["removed"] == 0 and told["files"] == 2
    assert "'los': nothing was removed" in empty("checkpoint", "gc", "base", "--keep-best",
                                                 "los", code=1).err
    assert sorted(os.listdir(empty.path("base"))) == list(map(name_of, (10, 20, 40)))
    told = empty.json("checkpoint", "gc", "base", "--keep-best", "loss")
    assert told["kept"] == 2
    assert sorted(os.listdir(empty.path("base"))) == [name_of(20), name_of(40)]


def test_wrong_usage(empty):
    make(empty, 10)
    for verb in (["ls"], ["gc"], ["cp", "base"], ["reshard", "2", "base"]):
        assert "the name of a checkpoint" in empty("checkpoint", *verb, f"base/{name_of(10)}",
                                                   code=2).err
    assert "number of ranks" in empty("checkpoint", "reshard", "0", "base", "x", code=2).err
    assert "exclude" in empty("checkpoint", "verify", "base", "--all", "--step", "10", code=2).err
    assert "no checkpoint of step 11" in empty("checkpoint", "show", "base", "--step", "11",
                                               code=1).err
    empty("checkpoint", "ls", "nowhere", code=1)
    empty("checkpoint", code=2)
