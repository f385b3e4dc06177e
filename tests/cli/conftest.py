"""Fixtures: fresh places to run roar in.

The program under test is named by ROAR, a helper that forbids system calls by
DENY; `meson test --suite cli` sets both."""

import os
import shutil
import sys
import tempfile
import time

import pytest

sys.dont_write_bytecode = True

from helpers import ORDINARY, SETTLE, make_place  # noqa: E402


def roar_path():
    path = os.environ.get("ROAR")
    if not path:
        pytest.exit("ROAR has to name the program to test", 2)
    return os.path.abspath(path)


@pytest.fixture
def empty():
    """A folder that is no project yet."""
    place = make_place(roar_path())
    yield place
    place.remove()


@pytest.fixture
def project(empty):
    """A fresh project outside of any git repository."""
    empty("init")
    return empty


@pytest.fixture
def repo(empty):
    """A fresh project in a git repository whose tree is clean."""
    empty.git("init", "-q")
    empty.write("code.py", "print('hello')\n")
    empty("init", "-y")
    empty.commit("first")
    time.sleep(SETTLE)
    return empty


@pytest.fixture(scope="session")
def public_roar():
    """The program where everybody may execute it."""
    folder = tempfile.mkdtemp(prefix="roar-cli-bin-")
    os.chmod(folder, 0o755)
    path = os.path.join(folder, "roar")
    shutil.copy(roar_path(), path)
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def user(public_roar):
    """A fresh project of an ordinary user, whoever runs the tests."""
    root = os.geteuid() == 0
    place = make_place(public_roar if root else roar_path(),
                       ORDINARY if root else None)
    place("init")
    yield place
    place.remove()


@pytest.fixture
def deny():
    path = os.environ.get("DENY")
    if not path:
        pytest.skip("DENY does not name the helper that forbids calls")
    return os.path.abspath(path)
