"""Digests are right, taken once, and never of the wrong content."""

import ctypes
import hashlib
import os
import platform
import subprocess
import time

import pytest

from helpers import (PYTHON, SETTLE, b3sum, bytes_read_by, children_of,
                     descendants_of, gaps_of, input_hash, output_hash, row_of,
                     runs_program, until)

@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1023, 1024, 1025, 65536,
                                  131073, 1048576, 5000011])
def test_blake3_equals_b3sum(project, size):
    project.write("in", os.urandom(size))
    project.sh("cat in >out")
    expected = b3sum(project.path("in"))
    assert input_hash(project, "in") == expected
    assert output_hash(project, "out") == expected


def test_other_digests_equal_those_of_other_programs(project):
    content = os.urandom(300001)
    project.write("in", content)
    project("run", "-q", "--hash", "sha256", "--hash", "sha512", "--hash",
            "md5", "sh", "-c", "cat in >out")
    for name in ("in", "out"):
        digests = project.digests(name)
        assert digests["sha256"] == hashlib.sha256(content).hexdigest()
        assert digests["sha512"] == hashlib.sha512(content).hexdigest()
        assert digests["md5"] == hashlib.md5(content).hexdigest()


def test_checksums_of_s3_and_git_are_kept_and_found(project):
    """By the option and by the setting; git says what a blob is."""
    project.write("in", "123456789")
    blob = project.git("hash-object", "--no-filters", "in").strip()
    project("config", "set", "hash.run", "git-blob")
    project("run", "-q", "--hash", "crc64nvme", "cat", "in")
    digests = row_of(project, project.last()["inputs"], "in")["digests"]
    assert project.digests("in") == {
        "blake3": digests["blake3"], "crc64nvme": "ae8b14860a799888",
        "git-blob": blob}
    for digest in ("ae8b1486", blob[:12]):
        shown = project("show", digest).out
        assert "ae8b14860a799888" in shown and blob in shown


def test_a_digest_nobody_knows_is_refused(project):
    result = project("run", "--hash", "crc32", "true", code=2)
    assert ("option '--hash' takes one of blake3|sha256|sha512|md5|crc64nvme|"
            "git-blob, not 'crc32'") in result.err


def test_setting_hash_run_takes_more_digests(project):
    project("config", "set", "hash.run", "sha256")
    project.sh("echo a >a")
    assert project.digests("a")["sha256"] == hashlib.sha256(
        b"a\n").hexdigest()


def test_a_digest_asked_for_later_is_added_to_the_artifact(project):
    project.write("in", "x\n")
    project.sh("cat in")
    assert set(project.digests("in")) == {"blake3"}
    project("run", "-q", "--hash", "sha256", "cat", "in")
    assert project.digests("in")["sha256"] == hashlib.sha256(
        b"x\n").hexdigest()


def test_an_overwritten_input_keeps_its_hash_from_before(project):
    project.write("x", b"before\n")
    expected = b3sum(project.path("x"))
    project.sh("cat x; echo after >x")
    assert input_hash(project, "x") == expected
    assert output_hash(project, "x") == b3sum(project.path("x"))
    assert project.last()["verdict"] == "complete"


def test_an_input_overwritten_at_once_keeps_its_hash(project):
    """No time between reading and writing for a lazy hasher."""
    project.write("x", os.urandom(3000000))
    expected = b3sum(project.path("x"))
    project.run(*PYTHON, "d = open('x', 'rb').read(); "
                "open('x', 'wb').write(d[::-1])")
    assert input_hash(project, "x") == expected
    assert output_hash(project, "x") == b3sum(project.path("x"))


def test_an_input_removed_at_once_keeps_its_hash(project):
    project.write("x", os.urandom(1000000))
    expected = b3sum(project.path("x"))
    project.run(*PYTHON, "import os; open('x', 'rb').read(); os.unlink('x')")
    assert input_hash(project, "x") == expected


def test_an_input_replaced_by_rename_keeps_its_hash(project):
    project.write("x", "before\n")
    project.write("y", "after\n")
    expected = b3sum(project.path("x"))
    project.run(*PYTHON, "import os; open('x').read(); os.rename('y', 'x')")
    assert input_hash(project, "x") == expected


def test_an_input_truncated_by_name_keeps_its_hash(project):
    project.write("x", "before\n")
    expected = b3sum(project.path("x"))
    project.run(*PYTHON, "import os; open('x').read(); os.truncate('x', 0)")
    assert input_hash(project, "x") == expected


def test_an_output_written_several_times_has_its_last_hash(project):
    project.sh("echo 1 >x; sleep 0.5; echo 22 >x; sleep 0.5; echo 333 >>x")
    assert output_hash(project, "x") == b3sum(project.path("x"))
    assert project.read("x") == b"22\n333\n"


def test_an_output_changed_through_an_old_descriptor(project):
    project.run(*PYTHON, "import os, time\n"
                "fd = os.open('x', os.O_WRONLY | os.O_CREAT)\n"
                "other = os.dup(fd)\n"
                "os.write(fd, b'first')\nos.close(fd)\ntime.sleep(0.5)\n"
                "os.pwrite(other, b'FIRST', 0)\n")
    assert project.read("x") == b"FIRST"
    assert output_hash(project, "x") == b3sum(project.path("x"))


def test_a_sparse_file(project):
    project.sh("truncate -s 20000000 x; echo end >>x")
    row = row_of(project, project.last()["outputs"], "x")
    assert row["size_bytes"] == 20000004
    assert row["digests"]["blake3"] == b3sum(project.path("x"))


# ---- while the command runs ----

def test_outputs_are_hashed_while_the_command_still_runs(project):
    """Whoever waits for its end does not wait for the hash."""
    size = 60000000
    process = project.popen("run", "-q", "sh", "-c",
                            f"head -c {size} /dev/zero >big; echo ready; read x",
                            stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    tracer, = [p for p in children_of(process.pid)
               if runs_program(p, project.roar_program)]
    until(lambda: bytes_read_by(tracer) >= size, "the hash of the output")
    process.communicate(b"\n", timeout=60)
    assert process.returncode == 0
    assert output_hash(project, "big") == b3sum(project.path("big"))


def test_content_that_changes_while_it_is_used_makes_the_record_incomplete(
        project):
    """Somebody outside of the run rewrites an input that it reads twice."""
    project.write("in", "first\n")
    process = project.popen("run", "-q", "sh", "-c",
                            "cat in; : >ready; sleep 1; cat in")
    until(lambda: project.exists("ready"), "the first reading")
    time.sleep(SETTLE)
    project.write("in", "second!\n")
    out, _ = process.communicate(timeout=60)
    assert out == b"first\nsecond!\n"
    assert process.returncode == 0
    job = project.last()
    assert job["verdict"] == "incomplete"
    assert "changed" in gaps_of(job)


# ---- what is not read, and what does not stay ----

def test_ten_gibibytes_of_holes_are_not_read(project):
    process = project.popen("run", "-q", "truncate", "-s", "10G", "big")
    most = 0
    while process.poll() is None:
        for pid in descendants_of(process.pid):
            try:
                most = max(most, bytes_read_by(pid))
            except OSError:
                pass
        time.sleep(0.01)
    assert process.returncode == 0
    assert 0 < most < 1 << 26
    row = row_of(project, project.last()["outputs"], "big")
    assert row["size_bytes"] == 10 << 30 and row["digests"]["blake3"]


def resident_bytes(path):
    """What of a file is in the page cache, by mincore(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                          ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t,
                             ctypes.c_char_p]
    size = os.stat(path).st_size
    page = os.sysconf("SC_PAGESIZE")
    pages = ctypes.create_string_buffer((size + page - 1) // page)
    with open(path, "rb") as f:
        address = libc.mmap(None, size, 1, 1, f.fileno(), 0)
        assert libc.mincore(address, size, pages) == 0
        libc.munmap(address, size)
    return page * sum(byte & 1 for byte in pages.raw)


@pytest.mark.parametrize("size", [5 << 20, 40 << 20])
def test_what_only_the_hasher_reads_does_not_stay_in_memory(project, size):
    path = project.write("big", os.urandom(size))
    with open(path, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if resident_bytes(path):
        pytest.skip("the file system keeps files in memory")
    project.run("head", "-c", "1", "big")
    assert resident_bytes(path) <= 1 << 20  # what head has read ahead
    assert input_hash(project, "big") == b3sum(path)


# ---- priority ----

IOPRIO_GET = {"x86_64": 252, "aarch64": 31}
IOPRIO_CLASS_IDLE = 3


def io_class(tid):
    libc = ctypes.CDLL(None, use_errno=True)
    value = libc.syscall(IOPRIO_GET[platform.machine()], 1, tid)
    assert value >= 0, os.strerror(ctypes.get_errno())
    return value >> 13


def hashing_threads(process):
    """The threads of roar that hash, with the CPU time they have used."""
    found = {}
    for pid in [process.pid, *descendants_of(process.pid)]:
        try:
            tids = [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]
            for tid in tids:
                with open(f"/proc/{pid}/task/{tid}/stat",
                          encoding="utf-8") as f:
                    name, _, rest = f.read().rpartition(")")
                fields = rest.split()
                if name.endswith("(roar-hash"):
                    found[tid] = int(fields[11]) + int(fields[12])
        except OSError:
            continue
    return found


@pytest.mark.skipif(platform.machine() not in IOPRIO_GET,
                    reason="the number of the call is not known")
@pytest.mark.parametrize("whose", ["project", "user"])
def test_hashing_during_the_run_is_idle_for_cpu_and_disk(request, whose):
    """What is written and closed is hashed at once, and steals no time."""
    place = request.getfixturevalue(whose)
    process = place.popen("run", "-q", "sh", "-c",
                          "truncate -s 200G big; echo ready; read line",
                          stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    try:
        until(lambda: any(hashing_threads(process).values()),
              "a thread that hashes")
        before = hashing_threads(process)
        for tid in before:
            assert os.sched_getscheduler(tid) == os.SCHED_IDLE
            assert io_class(tid) == IOPRIO_CLASS_IDLE
        until(lambda: sum(hashing_threads(process).values()) >
              sum(before.values()), "more hashing")
        assert os.sched_getscheduler(process.pid) != os.SCHED_IDLE
    finally:
        os.truncate(place.path("big"), 0)
        process.communicate(b"\n", timeout=60)
    assert process.returncode == 0
    assert output_hash(place, "big") == b3sum(place.path("big"))
