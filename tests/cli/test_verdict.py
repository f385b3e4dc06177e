"""What a record says of what was not seen is counted, shown, and not invented."""

import json
import os
import shutil
import struct
import threading

import pytest

from helpers import PYTHON, gaps_of, lines

COUNTS = ("processes_escaped", "events_lost", "io_uring_rings",
          "foreign_namespace_files")

# Numbers that all architectures share since 424; seccomp has its own.
RING = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(425, 4, ctypes.create_string_buffer(256)) < 0:
    sys.exit(77)
"""

LISTENER = """
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
class Instruction(ctypes.Structure):
    _fields_ = [('code', ctypes.c_uint16), ('jt', ctypes.c_uint8),
                ('jf', ctypes.c_uint8), ('k', ctypes.c_uint32)]
class Program(ctypes.Structure):
    _fields_ = [('len', ctypes.c_uint16), ('code', ctypes.c_void_p)]
allow = Instruction(6, 0, 0, 0x7fff0000)
program = Program(1, ctypes.addressof(allow))
number = {'x86_64': 317, 'aarch64': 277}[platform.machine()]
libc.prctl(38, 1, 0, 0, 0)
libc.syscall(number, 1, 8, ctypes.byref(program))
"""

SPAWN = """
import os
pid = os.posix_spawn('/bin/true', ['true'], {}, file_actions=[
    (os.POSIX_SPAWN_OPEN, 3, '/dev/null', os.O_RDONLY, 0)])
os.waitpid(pid, 0)
"""


def observed(project, tracer, *command):
    """The observation of a run and what `roar show` says of it."""
    done = project("run", "-q", "--tracer", tracer, "--no-tracer-fallback",
                   *command, code=None)
    if done.code == 77 or (done.code == 1 and "tracer" in done.err):
        pytest.skip(f"not possible here: {done.err or command}")
    assert done.code == 0, done.err
    job = project.last()
    assert job["tracer"] == tracer
    return job, job["observation"], project("show", "@1").out


def others(seen, name):
    return [seen[key] for key in COUNTS if key != name]


def test_a_ring_is_counted(project):
    job, seen, shown = observed(project, "ptrace", *PYTHON, RING)
    assert gaps_of(job) == ["io_uring"]
    assert seen["io_uring_rings"] == 1
    assert others(seen, "io_uring_rings") == [0, 0, 0]
    assert "1 io_uring" in shown


def test_an_escape_is_counted(project):
    job, seen, shown = observed(project, "hybrid", *PYTHON, LISTENER)
    assert gaps_of(job) == ["escaped"]
    assert seen["processes_escaped"] == 1
    assert others(seen, "processes_escaped") == [0, 0, 0]
    assert "1 process escaped" in shown


def test_what_was_lost_is_counted(project):
    job, seen, shown = observed(project, "preload", *PYTHON, SPAWN)
    assert gaps_of(job) == ["library", "lost"]
    assert seen["events_lost"] == 1
    assert others(seen, "events_lost") == [0, 0, 0]
    assert "1 event lost" in shown


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount needs root")
def test_names_behind_other_mounts_are_counted(project):
    os.mkdir(project.path("m"))
    job, seen, shown = observed(
        project, "ptrace", "unshare", "-m", "sh", "-c",
        "mount -t tmpfs none m && echo x >m/a && echo x >m/b")
    assert gaps_of(job) == ["namespace", "namespace"]
    assert seen["foreign_namespace_files"] == 2
    assert others(seen, "foreign_namespace_files") == [0, 0, 0]
    assert "2 " in shown and "namespace" in shown


# ---- what is no gap ----

HASH_MODULE = os.environ.get("HASH_MODULE")
HASH_FILE = f"""
import sys
sys.path.insert(0, {HASH_MODULE!r})
import _roar_hash
print(_roar_hash.hash_files((b"large",), ("blake3",), 2, True))
"""


def cold_file(place, name):
    """A file of several leaves that is not in the page cache, so that roar reads it
    past the cache."""
    path = place.write(name, os.urandom(8 << 20))
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        # RWF_NOWAIT: only what is in the cache.
        try:
            os.preadv(file.fileno(), [bytearray(1)], 4 << 20, os.RWF_NOWAIT)
        except BlockingIOError:
            return
        except OSError as why:
            pytest.skip(f"cannot tell what is in the page cache: {why}")
    pytest.skip("this file system keeps every file in memory")


@pytest.mark.parametrize("tracer", ("ptrace", "hybrid"))
def test_roar_hash_in_a_run_uses_no_ring(project, tracer):
    cold_file(project, "large")
    job, seen, _ = observed(project, tracer, project.roar_program, "hash", "large")
    assert gaps_of(job) == [] and job["verdict"] == "complete"
    assert seen["io_uring_rings"] == 0
    assert project.path("large") in [row["path"] for row in job["inputs"]]


@pytest.mark.skipif(not HASH_MODULE, reason="this build has no _roar_hash")
@pytest.mark.parametrize("tracer", ("ptrace", "hybrid"))
def test_hash_file_of_python_in_a_run_uses_no_ring(project, tracer):
    cold_file(project, "large")
    job, seen, _ = observed(project, tracer, *PYTHON, HASH_FILE)
    assert gaps_of(job) == [] and job["verdict"] == "complete"
    assert seen["io_uring_rings"] == 0


@pytest.fixture
def exact_stamps(empty):
    """Since Linux 6.13 a file that was looked at gets an exact stamp when it
    changes, and no later stamp of any file is earlier: they run ahead of the
    clock of ticks."""
    end = threading.Event()

    def change():
        fd = os.open(os.path.join(empty.base, "busy"), os.O_RDWR | os.O_CREAT)
        while not end.wait(0.0005):
            os.fstat(fd)
            os.pwrite(fd, b"x", 0)
        os.close(fd)
    thread = threading.Thread(target=change)
    thread.start()
    yield
    end.set()
    thread.join()


@pytest.mark.parametrize("tracer", ["hybrid", "ptrace"])
def test_what_was_written_just_before_is_no_change(empty, tracer,
                                                   exact_stamps):
    """The check makes a file, and reads it at once under the tracer."""
    ready = {t["name"]: t["ready"]
             for t in empty.json("tracer", "status")["tracers"]}
    if not ready[tracer]:
        pytest.skip(f"{tracer} is refused here")
    for _ in range(40):
        empty("tracer", "check", tracer)


# ---- programs that lose their privileges ----

def set_group_id(path):
    os.chown(path, 0, 0)
    os.chmod(path, 0o2755)


def give_capability(path):
    """CAP_NET_RAW, as ping has it: version 2, effective, one bit."""
    data = struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)
    try:
        os.setxattr(path, "security.capability", data)
    except OSError as e:
        pytest.skip(f"no file capabilities here: {e}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives privileges")
@pytest.mark.parametrize("tracer", ["hybrid", "ptrace"])
@pytest.mark.parametrize("give", [set_group_id, give_capability])
def test_every_kind_of_lost_privilege_is_named(user, give, tracer):
    program = user.write("program", "", mode=0o755)
    shutil.copyfile("/bin/true", program)
    give(program)
    user("run", "-q", "--tracer", tracer, "--no-tracer-fallback", program)
    job = user.last()
    assert gaps_of(job) == ["setuid"]
    assert [g["detail"] for g in job["gaps"]] == [program]


# ---- the promise of the hybrid tracer ----

MANY = """
for i in range(2000):
    with open(f'f{i}', 'w') as f:
        f.write('x')
    with open(f'f{i}') as f:
        f.read()
"""


def stops(project, tracer):
    done = project("run", "-q", "--tracer", tracer, *PYTHON, MANY,
                   env={"ROAR_TIMING": "1"})
    said = [line for line in lines(done.err) if "ROAR_TIMING" in line]
    assert project.last()["tracer"] == tracer
    return json.loads(said[0].partition(":")[2])["n_stops"]


def test_programs_with_the_library_hardly_ever_wait(project):
    """Only that makes hybrid cheaper than ptrace: the record is the same."""
    assert stops(project, "ptrace") >= 2000
    assert stops(project, "hybrid") < 500


BELOW_A_MOUNT = """
import os, subprocess
d = os.open("d", os.O_RDONLY)
subprocess.run(["mount", "-t", "tmpfs", "none", "d"], check=True)
os.close(os.open("n", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=d))
os.close(d)
subprocess.run(["umount", "d"], check=True)
"""


@pytest.mark.parametrize("tracer", ["hybrid", "ptrace"])
def test_a_file_made_below_a_mount_is_a_gap(project, tracer):
    if os.geteuid() != 0:
        pytest.skip("a mount needs root")
    os.mkdir(project.path("d"))
    done = project("run", "--tracer", tracer, *PYTHON, BELOW_A_MOUNT)
    assert os.path.exists(project.path("d/n"))
    assert "another mount namespace" in done.err
