"""What was hashed before is not read again, in whichever project.

A digest that only the cache has shows that content was not read."""

import copy
import hashlib
import mmap
import os
import struct
import subprocess
import sys
import time

import pytest

from helpers import ORDINARY, SETTLE, b3sum, input_hash, output_hash

SENTINEL = "5e" * 32
ENTRY = 64  # bytes; see lib/hash/digest/digest_cache_internal.h
MASK = (1 << 64) - 1


def checksum(entry):
    total = 0x9e3779b97f4a7c15
    for i in range(0, ENTRY - 8, 8):
        word, = struct.unpack_from("=Q", entry, i)
        product = (total ^ word) * 0xd6e8feb86659fd93
        total = (product & MASK) ^ (product >> 64) ^ i
    return struct.pack("=Q", total)


def cache_path(place):
    return os.path.join(place.home, ".cache", "roar", "digests")


def poison(place, name):
    """Puts a mark into the cache that no real content has.  How often the digest
    was in it."""
    digest = bytes.fromhex(b3sum(place.path(name)))
    found = 0
    with open(cache_path(place), "r+b") as f, \
            mmap.mmap(f.fileno(), 0) as cache:
        at = cache.find(digest)
        while at >= 0:
            begin = at - 16
            entry = bytearray(cache[begin:begin + ENTRY])
            entry[16:48] = bytes.fromhex(SENTINEL)
            entry[-8:] = checksum(entry)
            cache[begin:begin + ENTRY] = bytes(entry)
            found += 1
            at = cache.find(digest, begin + ENTRY)
    return found


@pytest.fixture
def other(project):
    """Another project of the same user."""
    place = copy.copy(project)
    place.root = os.path.join(project.base, "other")
    os.makedirs(place.root)
    place("init")
    return place


@pytest.mark.parametrize("whose", ["project", "user"])
def test_a_second_run_takes_the_hash_from_the_cache(request, whose):
    project = request.getfixturevalue(whose)
    project.write("in", "content\n", age=2.1)
    project.sh("cat in")
    assert poison(project, "in") == 1
    project.sh("cat in")
    assert input_hash(project, "in") == SENTINEL


def test_what_one_project_has_read_another_does_not_read(project, other):
    path = project.write("in", "content\n")
    project.sh("cat in")
    assert poison(project, "in") == 1
    other.run("cat", path)
    row, = other.last()["inputs"]
    assert row["digests"]["blake3"] == SENTINEL


def test_what_roar_hash_has_read_a_run_does_not_read(project):
    project.write("in", "content\n")
    project("hash", "in")
    assert poison(project, "in") == 1
    project.sh("cat in")
    assert input_hash(project, "in") == SENTINEL


def test_what_a_run_has_read_or_made_roar_hash_does_not_read(project):
    project.write("in", "content\n")
    project.sh("cat in >/dev/null; echo more >out; sleep 0.1")
    for name in ("in", "out"):
        assert poison(project, name) == 1
        assert project("hash", name).out == f"{SENTINEL}  {name}\n"


def test_of_many_small_outputs_only_the_first_are_remembered(project):
    """To read the others again is cheaper than to make the shell wait now."""
    project.sh("i=0; while [ $i -lt 150 ]; do echo a >f$i; i=$((i + 1)); done; "
               "head -c 70000 /dev/zero >large; sleep 0.1")
    # Of these, what was hashed in the tick of its last write is not remembered.
    assert 0 < poison(project, "f0") <= 100
    assert poison(project, "large") == 1


def test_a_folder_is_read_as_far_as_it_has_changed(project):
    os.mkdir(project.path("d"))
    for name in ("a", "b"):
        project.write(f"d/{name}", name)
    project("hash", "--tree", "d")
    assert poison(project, "d/a") == 1
    project.write("d/b", "changed")
    found = project("hash", "-r", "d").out
    assert found == (f"{SENTINEL}  d/a\n{b3sum(project.path('d/b'))}  d/b\n")
    tree = project("hash", "--tree", "d").out
    assert tree != project("hash", "--tree", "--no-cache", "d").out
    project.write("d/b", "b")
    assert tree != project("hash", "--tree", "d").out


OUTSIDER = """
import mmap, os, sys, time
while not os.path.exists("out") or os.path.getsize("out") < 8192:
    time.sleep(0.01)
with open("out", "r+b") as f:
    pages = mmap.mmap(f.fileno(), 0)
pages[:5] = b"first"
open("mapped", "w").close()
sys.stdin.read()
pages[:5] = b"later"
"""


def test_what_somebody_else_has_mapped_is_not_remembered(project):
    """A page that is dirty already changes without a sign in the stamp."""
    with subprocess.Popen([sys.executable, "-c", OUTSIDER], cwd=project.root,
                          stdin=subprocess.PIPE) as outsider:
        project.sh("exec 3>out; head -c 20000 /dev/zero >&3; "
                   "while ! test -e mapped; do sleep 0.05; done; sleep 0.1")
        outsider.communicate()
    project.sh("cat out")
    assert input_hash(project, "out") == b3sum(project.path("out"))


def test_the_status_does_not_read_what_is_known(project):
    """The file is another than the recorded one and has the same size."""
    project.sh("echo 12345678 >out")
    project.write("copy", "12345678\n")
    os.rename(project.path("copy"), project.path("out"))
    time.sleep(SETTLE)
    assert "1 present" in project("status").out
    project("hash", "out")
    assert poison(project, "out") >= 1  # the first one may be known as well
    assert "1 changed" in project("status").out


def test_a_project_can_do_without_the_cache(project):
    project("config", "set", "hash.cache", "false")
    project.write("in", "content\n")
    project.sh("cat in")
    assert not os.path.exists(cache_path(project))
    project("hash", "in")
    assert poison(project, "in") == 1
    project.sh("cat in")
    assert input_hash(project, "in") == b3sum(project.path("in"))


@pytest.mark.parametrize("env", [
    {"HOME": None}, {"HOME": "relative"}, {"HOME": "/nonexistent"},
    {"XDG_CACHE_HOME": "/proc"}, {"XDG_CACHE_HOME": "/dev/null"}])
def test_a_run_goes_on_where_there_is_no_cache(project, env):
    project.write("in", "content\n")
    done = project("run", "--", "sh", "-c", "cat in >out", env=env)
    assert "cache" not in done.err
    assert output_hash(project, "out") == b3sum(project.path("in"))


def test_a_cache_that_is_not_ours_is_left_alone(project):
    folder = os.path.dirname(cache_path(project))
    os.makedirs(folder, exist_ok=True)
    with open(cache_path(project), "wb") as f:
        f.write(b"of somebody else")
    os.chmod(cache_path(project), 0o666)
    project.write("in", "content\n")
    project.sh("cat in")
    assert input_hash(project, "in") == b3sum(project.path("in"))
    with open(cache_path(project), "rb") as f:
        assert f.read() == b"of somebody else"


@pytest.mark.parametrize("made_before", [False, True])
def test_sudo_puts_nothing_into_the_cache_of_its_user(user, made_before):
    """Root with the home of who typed sudo, which root could write to."""
    if os.geteuid() != 0:
        pytest.skip("needs root to be root for somebody")
    root = copy.copy(user)
    root.user = None
    root.env = {**user.env, "SUDO_UID": str(ORDINARY),
                "SUDO_GID": str(ORDINARY)}
    user.write("in", "content\n")
    user.write("first", "first\n")
    if made_before:
        user("hash", "first")
    root.sh("cat in")
    root("hash", "in")
    for folder, names, files in os.walk(os.path.join(user.home, ".cache")):
        for name in [folder, *names, *files]:
            assert os.stat(os.path.join(folder, name)).st_uid == ORDINARY
    if made_before:
        assert poison(user, "in") == 0
    user.sh("cat in")
    assert poison(user, "in") == 1


def test_a_changed_file_is_read_again(project):
    project.write("in", "content\n", age=2.1)
    project.sh("cat in")
    assert poison(project, "in") == 1
    project.write("in", "CONTENT\n")
    project.sh("cat in")
    assert input_hash(project, "in") == b3sum(project.path("in"))


def test_a_change_that_keeps_size_and_mtime_is_read_again(project):
    project.write("in", "content\n", age=2.1)
    project.sh("cat in")
    stat = os.stat(project.path("in"))
    assert poison(project, "in") == 1
    project.write("in", "CONTENT\n")
    os.utime(project.path("in"), ns=(stat.st_atime_ns, stat.st_mtime_ns))
    project.sh("cat in")
    assert input_hash(project, "in") == b3sum(project.path("in"))


def test_a_replaced_file_with_the_same_mtime_is_read_again(project):
    project.write("in", "content\n", age=2.1)
    project.sh("cat in")
    stat = os.stat(project.path("in"))
    project.write("other", "CONTENT\n")
    os.utime(project.path("other"), ns=(stat.st_atime_ns, stat.st_mtime_ns))
    os.rename(project.path("other"), project.path("in"))
    project.sh("cat in")
    assert input_hash(project, "in") == b3sum(project.path("in"))


def test_a_file_too_young_to_tell_is_not_remembered(project):
    project.write("in", "content\n")
    later = time.time() + 1000  # a clock that is ahead: always too young
    os.utime(project.path("in"), (later, later))
    project.sh("cat in")
    assert poison(project, "in") == 0


def test_rewriting_in_the_same_moment_is_never_missed(project):
    for i in range(15):
        project.write("in", f"{i:04d}\n", age=0)
        project.sh("cat in")
        expected = b3sum(project.path("in"))
        assert input_hash(project, "in") == expected


def test_another_algorithm_is_not_answered_by_the_cache(project):
    project.write("in", "content\n", age=2.1)
    project.sh("cat in")
    project("run", "-q", "--hash", "sha256", "cat", "in")
    assert project.digests("in")["sha256"] == hashlib.sha256(
        b"content\n").hexdigest()
