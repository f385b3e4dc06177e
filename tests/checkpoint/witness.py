#!/usr/bin/env python3
"""witness.py - a Python with torch 2, safetensors and ml_dtypes, which only some machines have.

Debian's torch is older than DTensor and DCP.  This environment comes from PyPI and is
kept in a cache outside of the tree; it takes 7 GB:

    tests/checkpoint/witness.py            # fetches it; minutes

Tests take it if it is there and skip otherwise.  The stress suite fetches it.
"""

import os
import subprocess
import sys
from pathlib import Path

CACHE = Path(os.environ.get("ROAR_CHECKPOINT_CACHE") or
             Path.home() / ".cache" / "roar-checkpoint")
PACKAGES = ["torch==2.8.0", "safetensors==0.8.0", "ml_dtypes==0.6.0", "numpy", "pytest"]
FETCH_S = 1800


class Absent(Exception):
    """The witness is not here; the message is the reason of a skip."""


def find() -> str:
    """The interpreter.  Raises Absent."""
    if not (CACHE / "torch" / "complete").exists():
        raise Absent(f"torch 2 is not in {CACHE}: tests/checkpoint/witness.py fetches it")
    return str(CACHE / "torch" / "bin" / "python")


def fetch() -> str:
    """As find(), after an attempt to get it."""
    if not (CACHE / "torch" / "complete").exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        for command in ([sys.executable, "-m", "venv", "--clear", str(CACHE / "torch")],
                        [str(CACHE / "torch" / "bin" / "python"), "-m", "pip", "install",
                         "-q", *PACKAGES]):
            try:
                subprocess.run(command, check=True, timeout=FETCH_S)
            except (OSError, subprocess.SubprocessError) as error:
                raise Absent(f"torch 2 cannot be fetched: {error}") from error
        (CACHE / "torch" / "complete").touch()
    return find()


def have() -> str:
    """find(), or fetch() where the caller of the tests allowed it."""
    return fetch() if os.environ.get("ROAR_CHECKPOINT_FETCH") else find()


if __name__ == "__main__":
    print(fetch())
