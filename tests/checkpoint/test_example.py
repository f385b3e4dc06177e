"""The program of docs/checkpoint.md: killed by SIGKILL, resumed on other numbers of ranks."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import roar.checkpoint as ckpt

numpy = pytest.importorskip("numpy")

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 60
LAST = 300


def program():
    """The one example of the page that trains."""
    text = (ROOT / "docs" / "checkpoint.md").read_text(encoding="utf-8")
    found = [block.partition("```")[0] for block in text.split("```python\n")[1:]]
    (only,) = [block for block in found if "while step < STEPS" in block]
    return only


def launch(path, base, world_size):
    save_id = ckpt.new_save_id()
    return [subprocess.Popen([sys.executable, path, base, save_id, str(rank),
                              str(world_size)], env={**os.environ, "OMP_NUM_THREADS": "1"})
            for rank in range(world_size)]


def end(ranks):
    for rank in ranks:
        assert rank.wait(PATIENCE) == 0


def kill_after(ranks, manager, step):
    """Kills all ranks once this step is committed."""
    limit = time.monotonic() + PATIENCE
    while not any(c.step >= step for c in manager.all_checkpoints()):
        assert time.monotonic() < limit and all(r.poll() is None for r in ranks)
        time.sleep(0.01)
    for rank in ranks:
        rank.send_signal(signal.SIGKILL)
    for rank in ranks:
        rank.wait()


def test_killed_and_resumed_on_other_ranks_it_ends_with_the_same_bits(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(program())
    end(launch(path, tmp_path / "unbroken", 1))

    base = tmp_path / "broken"
    manager = ckpt.CheckpointManager(base)
    kill_after(launch(path, base, 2), manager, 60)
    resumed_from = manager.latest().step
    kill_after(launch(path, base, 3), manager, resumed_from + 50)
    assert resumed_from < manager.latest().step < LAST
    end(launch(path, base, 1))

    for name in ("w", "momentum"):
        one, other = (ckpt.load(url, LAST, tensors=[name])[name]
                      for url in (tmp_path / "unbroken", base))
        assert one.any() and one.tobytes() == other.tobytes()
    assert ckpt.open_checkpoint(base).data_position == \
        ckpt.open_checkpoint(tmp_path / "unbroken").data_position
    assert [c.step for c in manager.all_checkpoints()] == [280, 290, 300]
