"""The manager, saves in the background, deltas, damage."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading

import pytest

import roar.checkpoint as ckpt

numpy = pytest.importorskip("numpy")

from roar.checkpoint._save import (Members, Part, pieces_of,  # noqa: E402
                                   request_of)
from roar.checkpoint._sources import source_of  # noqa: E402
from second import Second  # noqa: E402

MIB = 1 << 20


def steps(manager):
    return [c.step for c in manager.all_checkpoints()]


def test_bytes_as_in_the_beginning(tmp_path):
    manager = ckpt.CheckpointManager(str(tmp_path / "new"), keep_count=2)
    assert manager.latest() is None and manager.all_checkpoints() == []
    ids = [manager.save(b"model %d" % step, step, epoch=step // 2,
                        metadata={"loss": 0.5, "note": "x"}) for step in (1, 2, 3)]
    manager.wait_pending()
    assert steps(manager) == [2, 3]
    assert manager.load(ids[2]) == b"model 3" == manager.load()
    info = manager.latest()
    assert (info.checkpoint_id, info.step, info.epoch) == ("step-000000000003", 3, 1)
    assert info.path == f"{tmp_path}/new/step-000000000003" and os.path.isdir(info.path)
    assert info.size_bytes > 0 and info.created_at.endswith("Z")
    assert manager.get_by_step(2).step == 2 and manager.get_by_step(1) is None
    assert manager.open(3).metadata == {"loss": 0.5, "note": "x"}
    with pytest.raises(ckpt.CheckpointMissing):
        manager.load(ids[0])
    with pytest.raises(ckpt.CheckpointMissing, match="is not the id"):
        manager.load("nonsense")
    # Another process finds them.
    assert ckpt.CheckpointManager(tmp_path / "new").latest() == info


def test_what_is_kept(tmp_path):
    manager = ckpt.CheckpointManager(tmp_path, keep_count=2, keep_every=5, best="loss",
                                     asynchronous=False)
    for step in range(1, 10):
        manager.save({"w": numpy.ones(3)}, step, metrics={"loss": abs(step - 3.0)},
                     tags=["mine"] if step == 1 else [])
    assert steps(manager) == [1, 3, 5, 8, 9]


def test_a_step_is_saved_once(tmp_path):
    ckpt.save({"a": 1}, tmp_path, 1)
    with pytest.raises(ckpt.CheckpointExists, match="step"):
        ckpt.save({"a": 2}, tmp_path, 1)
    assert ckpt.load(tmp_path) == {"a": 1}
    assert len(list(tmp_path.glob("step-*/*"))) == 3


def test_a_save_in_the_background_has_the_state_of_its_call(tmp_path):
    w = numpy.zeros(8 * MIB // 8)
    for step in range(1, 4):
        w[:] = step
        pending = ckpt.save({"w": w, "step": step}, tmp_path, step, asynchronous=True)
        w[:] = -1
    saved = pending.wait()
    assert pending.done() and saved.step == 3 and saved.written_bytes >= w.nbytes
    done, total = pending.progress
    assert done == total >= w.nbytes
    for step in range(1, 4):
        state = ckpt.load(tmp_path, step)
        assert state["step"] == step and (state["w"] == step).all()


def test_a_failure_in_the_background_is_raised_by_the_next_call(tmp_path):
    ckpt.save({"a": 1}, tmp_path, 1)
    pending = ckpt.save({"a": 2}, tmp_path, 1, asynchronous=True)
    pending._done.wait(10)
    (note,) = tmp_path.glob("*/failed-*.json")      # for `roar checkpoint ls`
    assert "step" in json.loads(note.read_text())["error"]
    with pytest.raises(ckpt.CheckpointFailed, match="step-000000000001.*background"):
        ckpt.save({"a": 3}, tmp_path, 2)
    ckpt.save({"a": 3}, tmp_path, 2)    # it was raised once

    manager = ckpt.CheckpointManager(tmp_path)
    manager.save({"a": 4}, 2)
    manager._pending._done.wait(10)
    with pytest.raises(ckpt.CheckpointExists):
        manager.latest()
    assert manager.latest().step == 2


AT_EXIT = """
import sys, roar.checkpoint as ckpt
ckpt.save({"a": bytes(1 << 20)}, sys.argv[1], 1, asynchronous=True)
"""


def test_a_program_that_ends_waits_for_its_save(tmp_path):
    subprocess.run([sys.executable, "-c", AT_EXIT, tmp_path], check=True, timeout=60)
    assert ckpt.load(tmp_path) == {"a": bytes(1 << 20)}
    done = subprocess.run([sys.executable, "-c", AT_EXIT, tmp_path], check=False,
                          timeout=60, capture_output=True, text=True)
    assert "CheckpointExists" in done.stderr


def test_a_delta_writes_what_has_changed(tmp_path):
    w = numpy.random.default_rng(0).random(16 * MIB // 8)
    manager = ckpt.CheckpointManager(tmp_path, keep_count=2, delta=True, asynchronous=False)
    manager.save({"w": w}, 1)
    w[MIB] = 7.0
    saved = ckpt.save({"w": w}, tmp_path, 2, parent=1)
    assert saved.size_bytes >= w.nbytes and MIB <= saved.written_bytes < 2 * MIB
    assert numpy.array_equal(Second(tmp_path, 2).tensor("w"), w)
    manager.save({"w": w}, 3)
    assert manager.open(3).parent == "step-000000000002"
    assert steps(manager) == [2, 3]     # 1 is gone, but not its data
    assert numpy.array_equal(manager.load(3)["w"], w)


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0] ^ 1
        f.seek(at)
        f.write(bytes([byte]))


def test_damage_is_named_and_repaired_from_a_copy(tmp_path):
    base, copy = tmp_path / "base", tmp_path / "copy"
    state = {"small": numpy.ones(4), "w": numpy.arange(3 * MIB // 8, dtype="i8")}
    ckpt.save(state, base, 1)
    subprocess.run(["cp", "-r", base, copy], check=True)
    (data,) = base.glob("*/*.safetensors")
    flip(data, 2 * MIB + 5)
    with pytest.raises(ckpt.CheckpointDamaged) as raised:
        ckpt.load(base)
    assert data.name in str(raised.value) and "'w'" in str(raised.value)
    with ckpt.open_checkpoint(base) as checkpoint:
        assert checkpoint.verify() == 1
        assert numpy.array_equal(checkpoint.tensor("small"), state["small"])
    assert numpy.array_equal(ckpt.load(base, replicas=[copy])["w"], state["w"])
    flip(base / "step-000000000001" / "manifest.json", 30)
    with pytest.raises(ckpt.CheckpointDamaged, match="manifest.json"):
        ckpt.load(base)
    with pytest.warns(UserWarning, match="left out"):
        assert ckpt.CheckpointManager(base).latest() is None


def test_new_memory_agrees_with_the_file_modulo_a_page(tmp_path):
    state = {f"w{i}": numpy.full(1000 + i, i, "f4") for i in range(9)}
    ckpt.save({**state, "big": numpy.zeros(5 * MIB // 8)}, tmp_path, 1)
    with ckpt.open_checkpoint(tmp_path) as checkpoint:
        loaded = checkpoint.state()
        for name, tensor in checkpoint.tensors.items():
            address = loaded[name].__array_interface__["data"][0]
            assert address % 4096 == tensor.parts[0]["at"] % 4096
        assert checkpoint.bytes_read <= checkpoint.size_bytes + 2 * MIB
    loaded["w3"][:] = 5     # it can be written to
    assert loaded["w4"][0] == 4


def test_a_checkpoint_is_used_by_one_thread_at_a_time_and_not_after_close(tmp_path):
    ckpt.save({"w": numpy.ones(5)}, tmp_path, 1)
    checkpoint = ckpt.open_checkpoint(tmp_path)
    checkpoint.close()
    with pytest.raises(RuntimeError, match="closed"):
        checkpoint.state()


INTERRUPTED = """
import sys, time, roar.checkpoint as ckpt
state = {str(i): memoryview(bytes(1 << 20)).cast("d") for i in range(300)}
print("begin", flush=True)
ckpt.save(state, sys.argv[1], 1)
print("saved", flush=True)
time.sleep(60)
"""


def test_control_c_ends_a_save_and_leaves_all_or_nothing(tmp_path):
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED, tmp_path], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "begin\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in err
    if ckpt.CheckpointManager(tmp_path).latest():   # the signal came after the commit
        assert ckpt.open_checkpoint(tmp_path).verify() == 0
    else:
        assert not list(tmp_path.glob("*/data*"))


def test_a_save_that_is_stopped_leaves_nothing(tmp_path):
    sources = {"w": source_of(numpy.ones(4 * MIB), "w")}
    request = request_of(str(tmp_path), Part(1, 0, 1, ckpt.new_save_id()),
                         pieces_of(sources), Members())
    request.stop()
    with pytest.raises(OSError) as raised:
        request.run()
    assert raised.value.errno == errno.ECANCELED
    assert not [p for p in tmp_path.glob("*/*") if p.is_file()]


def test_ranks_wait_for_the_commit(tmp_path):
    save_id = ckpt.new_save_id()
    state = {"w": numpy.arange(100_000.)}
    seen = []

    def other():
        ckpt.save(state, tmp_path, 1, rank=1, world_size=2, save_id=save_id)
        seen.append(ckpt.open_checkpoint(tmp_path).step)

    thread = threading.Thread(target=other)
    thread.start()
    ckpt.save(state, tmp_path, 1, rank=0, world_size=2, save_id=save_id)
    thread.join()
    assert seen == [1]
    with pytest.raises(ckpt.CheckpointError, match="not committed by rank 0"):
        ckpt.save(state, tmp_path, 2, rank=1, world_size=2, save_id=save_id, timeout=0)
    assert not list((tmp_path / "step-000000000002").glob("*.safetensors"))


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="the allocator of AddressSanitizer "
                    "before LLVM 17 may be locked in the child of a process with threads")
def test_a_forked_child_does_not_wait_for_its_parents_save(tmp_path):
    """The thread that writes is not in the child, which would wait for ever."""
    program = """if True:
        import os, signal, sys
        import roar.checkpoint as ckpt

        pending = ckpt.save({"a": bytes(64 << 20)}, sys.argv[1], 1, asynchronous=True)
        child = os.fork()
        if child == 0:
            signal.alarm(100)
            try:
                pending.wait()
            except ckpt.CheckpointError as error:
                assert "parent process" in str(error), error
            ckpt.save({"a": 2}, sys.argv[1], 2)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        pending.wait()
    """
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=200)
    assert ckpt.load(tmp_path, 2) == {"a": 2} and len(ckpt.load(tmp_path, 1)["a"]) == 64 << 20


@pytest.mark.parametrize("url", ["", "s3://", "file://"])
def test_a_url_names_a_place(url):
    with pytest.raises(ValueError, match="names no place"):
        ckpt.save({}, url, step=1)


def test_tags_are_a_list(tmp_path):
    with pytest.raises(TypeError, match="'best'"):
        ckpt.save({}, tmp_path, step=1, tags="best")
    assert os.listdir(tmp_path) == []
