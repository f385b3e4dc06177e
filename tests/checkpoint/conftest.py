"""The program that saves (save.c), for tests of the C API."""

import json
import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

SAVE = os.environ.get("CKPT_SAVE", "")


class Store:
    """A directory with checkpoints."""

    def __init__(self, path):
        self.path = str(path)

    def command(self, step, *tensors, **options):
        argv = [SAVE]
        for name, value in options.items():
            argv.append("--" + name.replace("_", "-"))
            if value is not True:
                argv.append(str(value))
        return [*argv, self.path, str(step), *tensors]

    def try_save(self, step, *tensors, env=None, prefix=(), **options):
        return subprocess.run(
            [*prefix, *self.command(step, *tensors, **options)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=120, env={**os.environ, **(env or {})})

    def save(self, step, *tensors, **options):
        done = self.try_save(step, *tensors, **options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def step(self, step):
        return os.path.join(self.path, f"step-{step:012}")

    def names(self, step):
        return sorted(os.listdir(self.step(step)))


@pytest.fixture(name="store")
def a_store(tmp_path):
    return Store(tmp_path / "checkpoints")
