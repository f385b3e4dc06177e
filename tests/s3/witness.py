#!/usr/bin/env python3
"""witness.py - servers and clients of others, which only some machines have.

Debian's clients are found where Debian puts them.  versitygw (a server that verifies
streaming signatures) comes from the Go module proxy, moto and the newer Python clients
from PyPI; they are kept in a cache outside of the tree:

    tests/s3/witness.py            # fetches what is missing; minutes
    tests/s3/witness.py --list

Tests take what is there and skip the rest by name.  The stress suite fetches it itself.
"""

import argparse
import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CACHE = Path(os.environ.get("ROAR_S3_CACHE") or
             Path.home() / ".cache" / "roar-s3")
VERSITYGW = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
# One environment each: s3fs insists on an older botocore than boto3 has.
PACKAGES = {"boto3": ["boto3==1.44.3"],
            "s3fs": ["s3fs==2026.9.0"],
            "pyarrow": ["pyarrow==26.0.1"],
            "moto": ["moto[server]==5.2.5"]}
FETCH_S = 900


class Absent(Exception):
    """A witness is not here; the message is the reason of a skip."""


def python_of(name: str) -> Path:
    """The interpreter that has one of PACKAGES."""
    return CACHE / name / "bin" / "python"


def is_complete(name: str) -> bool:
    return (CACHE / name / "complete").exists()


def find(name: str) -> str:
    """The program, or the interpreter for a Python package.  Raises Absent."""
    if name in PACKAGES:
        if not is_complete(name):
            raise Absent(f"{PACKAGES[name][0]} is not in {CACHE}: "
                         "tests/s3/witness.py fetches it")
        return str(python_of(name))
    if name == "debian-boto3":
        probe = subprocess.run(["/usr/bin/python3", "-c", "import boto3"],
                               stderr=subprocess.DEVNULL, check=False)
        if probe.returncode:
            raise Absent("Debian's python3-boto3 is not installed")
        return "/usr/bin/python3"
    if name == "versitygw":
        program = CACHE / "bin" / "versitygw"
        if not program.exists():
            raise Absent(f"versitygw is not in {CACHE}: "
                         "tests/s3/witness.py builds it")
        return str(program)
    # Debian's program, not a version manager's of the same name.
    path = shutil.which(name, path="/usr/bin") or shutil.which(name)
    if not path:
        raise Absent(f"{name} is not installed")
    return path


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Two test programs never fetch at once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(*argv: str, **env: str) -> None:
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, timeout=FETCH_S,
                              env={**os.environ, **env})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Absent(str(error)) from error
    if done.returncode:
        last = done.stdout.decode("utf-8", "replace").strip().split("\n")[-1]
        raise Absent(f"{argv[0]}: {last}")


def fetch(name: str) -> str:
    """As find(), after an attempt to get it."""
    with locked():
        if name == "versitygw" and not (CACHE / "bin" / name).exists():
            if not shutil.which("go"):
                raise Absent("versitygw is not here, and no Go to build it")
            run("go", "install", "-trimpath", VERSITYGW,
                GOBIN=str(CACHE / "bin"), CGO_ENABLED="0")
        if name in PACKAGES and not is_complete(name):
            run(sys.executable, "-m", "venv", "--clear", str(CACHE / name))
            run(str(python_of(name)), "-m", "pip", "install", "-q",
                *PACKAGES[name])
            (CACHE / name / "complete").touch()
    return find(name)


def have(name: str) -> str:
    """find(), or fetch() where the caller of the tests allowed it."""
    return fetch(name) if os.environ.get("ROAR_S3_FETCH") else find(name)


EVERY = ("versitygw", *PACKAGES, "debian-boto3", "aws", "s3cmd", "rclone")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--list", action="store_true",
                        help="fetch nothing")
    options = parser.parse_args()
    for name in EVERY:
        try:
            found = find(name) if options.list else fetch(name)
        except Absent as absent:
            found = f"absent: {absent}"
        print(f"{name:14} {found}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
