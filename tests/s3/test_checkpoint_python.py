"""roar.checkpoint in object storage.  The program runs in a process of its own, which has
the credentials of the server in its environment."""

import os
import subprocess
import sys
from pathlib import Path

from server import Server
from test_readers import Program

PROGRAM = """
import threading
import roar.checkpoint as ckpt

URL = "s3://data/runs/7"
state = {"w": memoryview(bytes(range(256)) * 90_000).cast("d"), "n": 3, "b": b"raw"}
manager = ckpt.CheckpointManager(URL, keep_count=2)
assert manager.latest() is None
for step in (1, 2, 3):
    manager.save({**state, "n": step}, step)
manager.wait_pending()
assert [c.step for c in manager.all_checkpoints()] == [2, 3]
loaded = manager.load(framework="buffer")
assert loaded["w"].tobytes() == state["w"].tobytes() and loaded["b"] == b"raw"
part = ckpt.load(URL, 2, tensors={"w": slice(100, 200)}, framework="buffer")["w"]
assert part.tobytes() == state["w"][100:200].tobytes()
try:
    ckpt.save(state, URL, 3)
    raise SystemExit("saved twice")
except ckpt.CheckpointExists:
    pass
save_id = ckpt.new_save_id()
other = threading.Thread(target=ckpt.save, args=(state, URL, 4), kwargs={
    "rank": 1, "world_size": 2, "save_id": save_id})
other.start()
ckpt.save(state, URL, 4, rank=0, world_size=2, save_id=save_id)
other.join()
assert ckpt.load(URL, 4, framework="buffer")["w"].tobytes() == state["w"].tobytes()
try:
    ckpt.load("s3://data/nothing")
    raise SystemExit("found nothing")
except ckpt.CheckpointMissing as error:
    print(error)
"""


def test_checkpoints_in_a_bucket(server: Server, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, text=True,
                          env=Program(server, tmp_path).env, capture_output=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "s3://data/nothing" in done.stdout
    assert os.listdir(tmp_path) == []
