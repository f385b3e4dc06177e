"""torch 2 in its own interpreter: its types, DTensor, FSDP and DCP."""

import os
import pathlib
import subprocess

import pytest

import witness

HERE = pathlib.Path(__file__).parent


@pytest.mark.parametrize("name", ["test_state", "torch2_cases"])
def test_with_torch_2(name):
    try:
        python = witness.have()
    except witness.Absent as absent:
        pytest.skip(str(absent))
    done = subprocess.run(
        [python, "-m", "pytest", "-c", "/dev/null", "-p", "no:cacheprovider", "-q",
         "--rootdir", HERE, HERE / f"{name}.py"], env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=900, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-6000:]
