"""A checkpoint that a recorded training saves knows the samples that fed it."""

import json
import os
import subprocess
import sys

import pytest

TRAIN = """
import numpy, roar, roar.checkpoint
data = roar.shards("train.jsonl", rank=0, world_size=1, name="set")
for i, sample in enumerate(data, 1):
    if i in (3, 7):
        roar.checkpoint.save({"w": numpy.full(1 << 20, i, "f4")}, "ckpt", i,
                             data_position=data.state_dict())
"""


def test_the_samples_of_each_checkpoint(tmp_path):
    program = os.environ.get("ROAR")
    if not program or "LD_PRELOAD" in os.environ:
        pytest.skip("needs the program roar, without a sanitizer's library")
    pytest.importorskip("numpy")
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "train.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(10)))
    env = {**os.environ, "HOME": str(tmp_path)}

    def roar(*argv):
        return subprocess.run([program, *argv], cwd=tmp_path, env=env, check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    roar("run", "-q", "--", sys.executable, "train.py")
    for step in (3, 7):
        shown = json.loads(roar("show", f"ckpt/step-{step:012}", "--json"))
        assert (shown["manifest"], shown["ranks"], shown["step_ref"]) == (
            "recorded", 1, "@1")
        assert [(s["dataset"], s["rank"]) for s in shown["shards"]] == [("set", 0)]
        assert shown["samples"] == shown["shards"][0]["samples"] == step
        assert shown["content"]["data_position"]
