"""Is a digest that of the content it stands for?  Files that are mapped, that are
updated in place, that others change, that go away with their file system."""

import os
import resource
import signal
import subprocess
import time

import pytest

from helpers import (PYTHON, SETTLE, descendants_of, alive, gaps_of,
                     names_of, row_of, until)
from terminal import Terminal

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
MIB = 1 << 20


@pytest.fixture
def mounts(project):
    """Mounts a file system in the project; unmounts at the end."""
    made = []

    def mount(name, *options):
        path = project.path(name)
        os.makedirs(path, exist_ok=True)
        if subprocess.run(["mount", *options, "none", path],
                          stderr=subprocess.DEVNULL,
                          check=False).returncode:
            pytest.skip("nothing can be mounted here")
        made.append(path)
        return path

    yield mount
    for path in made:
        while subprocess.run(["umount", "-l", path],
                             stderr=subprocess.DEVNULL,
                             check=False).returncode == 0:
            pass  # what the command mounted there, too


def digest_of(project, content):
    """The digests roar has for that content."""
    project.write("probe", content)
    project.sh("cat probe >/dev/null")
    return row_of(project, project.last()["inputs"], "probe")["digests"]


# ---- mapped files ----

MAPPED = """
import mmap, os, time
%s
m = mmap.mmap(fd, 4096)
m[:] = b'A' * 4096
os.close(fd)
%s
os.close(os.open('x', os.O_WRONLY))
time.sleep(0.7)
m[:] = b'B' * 4096
os._exit(0)
"""


@pytest.mark.parametrize("make, name", [
    ("fd = os.open('t', os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)\n"
     "os.ftruncate(fd, 4096)", "os.rename('t', 'x')"),
    ("fd = os.open('t', os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)\n"
     "os.ftruncate(fd, 4096)", "os.link('t', 'x'); os.unlink('t')"),
    ("fd = os.open('.', os.O_RDWR | os.O_TMPFILE, 0o644)\n"
     "os.ftruncate(fd, 4096)\n"
     "os.link(f'/proc/self/fd/{fd}', 'x', src_dir_fd=fd)", ""),
])
def test_a_mapped_file_under_another_name_is_hashed_at_the_end(project, make,
                                                               name):
    project.run(*PYTHON, MAPPED % (make, name))
    row = row_of(project, project.last()["outputs"], "x")
    assert project.read("x") == b"B" * 4096
    assert row["digests"] == digest_of(project, "B" * 4096)
    project.run("cat", "x")
    assert row_of(project, project.last()["inputs"],
                  "x")["digests"] == row["digests"]


def test_what_others_write_through_a_mapping_is_not_cached(project):
    writer = subprocess.Popen(
        [*PYTHON, "import mmap, os, sys\n"
         "fd = os.open('w', os.O_RDWR | os.O_CREAT, 0o644)\n"
         "os.ftruncate(fd, 4096)\n"
         "m = mmap.mmap(fd, 4096)\n"
         "for c in b'AB':\n"
         "    m[:] = bytes([c]) * 4096\n"
         "    print(flush=True)\n"
         "    input()\n"],
        cwd=project.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        writer.stdout.readline()
        time.sleep(0.1)
        project.run("cat", "w")
        before = os.stat(project.path("w"))
        writer.stdin.write(b"\n")
        writer.stdin.flush()
        writer.stdout.readline()
        if os.stat(project.path("w")).st_mtime_ns != before.st_mtime_ns:
            pytest.skip("the store moved the stamp")
        assert project.run("cat", "w").out == "B" * 4096
        row = row_of(project, project.last()["inputs"], "w")
    finally:
        writer.kill()
        writer.communicate()
    assert row["digests"] == digest_of(project, "B" * 4096)


# ---- in place ----

# One descriptor: nothing tells of the write but its open.
UPDATE = "exec 3<>%s; read x <&3; printf 'new\\n' >&3"
OLD, NEW = "old\nold\n", "old\nnew\n"


def assert_updated(project, name, old, new):
    job = project.last()
    assert job["verdict"] == "complete", job["gaps"]
    assert row_of(project, job["inputs"], name)["digests"] == old
    assert row_of(project, job["outputs"], name)["digests"] == new


def test_an_update_in_place_keeps_the_digest_of_what_was_read(project):
    old, new = digest_of(project, OLD), digest_of(project, NEW)
    for _ in range(10):
        project.write("f", OLD)
        project.sh(UPDATE % "f")
        assert_updated(project, "f", old, new)


@needs_root
def test_stamps_that_tick_do_not_make_new_content_old(project, mounts):
    """Within one tick of the clock a write leaves no trace in the stamp."""
    mounts("r", "-t", "ramfs")
    old, new = digest_of(project, OLD), digest_of(project, NEW)
    for _ in range(40):
        project.write("r/f", OLD, age=0)
        project.sh(UPDATE % "r/f")
        assert_updated(project, "r/f", old, new)


def test_an_update_of_much_is_a_gap(project):
    project.write("f", b"old\n" + b"\0" * (65 * MIB))
    project.sh(UPDATE % "f")
    job = project.last()
    row = row_of(project, job["inputs"], "f")
    assert gaps_of(job) == (["changed"] if not row["digests"] else [])


# ---- others ----

def test_an_output_that_others_changed_is_a_gap(project):
    mine = digest_of(project, "mine\n")
    # A tracer that hears of the open when the file is closed already does not
    # see the close.
    process = project.popen("run", "-q", "--tracer", "ptrace", "sh", "-c",
                            "echo mine >o; echo done; sleep 1.5")
    assert process.stdout.readline() == b"done\n"
    time.sleep(0.7)
    with open(project.path("o"), "w", encoding="utf-8") as f:
        f.write("theirs\n")
    process.communicate(timeout=30)
    job = project.last()
    assert gaps_of(job) == ["changed"]
    assert row_of(project, job["outputs"], "o")["digests"] == mine


def test_an_output_whose_mode_others_changed_is_none(project):
    process = project.popen("run", "-q", "sh", "-c",
                            "echo mine >o; echo done; sleep 1")
    assert process.stdout.readline() == b"done\n"
    time.sleep(0.5)
    os.chmod(project.path("o"), 0o600)
    process.communicate(timeout=30)
    assert project.last()["verdict"] == "complete"


@pytest.mark.parametrize("script", [
    "echo a >o; sleep 0.5; echo b >>o",
    "exec 3>o; echo a >o; sleep 0.5; echo b >&3",
    "exec 3>o; mv o p; echo a >&3; sleep 0.5; echo b >&3; mv p o",
    "exec 3>o; ln o p; echo a >o; sleep 0.5; echo b >&3",
    "(echo a; sleep 0.5; echo b) >o & : >q; wait",
    "echo a >o; sleep 0.5; cp o q; mv q o; chmod 600 o",
])
def test_an_output_that_the_run_changed_again_is_none(project, script):
    project.sh(script)
    job = project.last()
    assert job["verdict"] == "complete", job["gaps"]
    assert row_of(project, job["outputs"], "o")["digests"] == digest_of(
        project, project.read("o"))


# ---- core dumps ----

def core_pattern():
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
        return f.read().strip()


@pytest.mark.skipif("core_pattern()[:1] in '|@/'",
                    reason="core dumps go elsewhere")
@pytest.mark.parametrize("folder, found", [(".", True), ("sub", False)])
def test_a_core_dump_is_an_output_or_a_gap(project, folder, found):
    os.mkdir(project.path("sub"))
    resource.setrlimit(resource.RLIMIT_CORE,
                       (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    script = f"cd {folder}; exec sh -c 'kill -SEGV $$'"
    code = project.raw("run", "-q", "sh", "-c", script).code
    assert code == 128 + signal.SIGSEGV
    if not [n for n in os.listdir(project.path(folder))
            if n.startswith("core")]:
        pytest.skip("no core dump was made")
    job = project.last()
    if found:
        assert [n[:4] for n in names_of(project, job["outputs"])] == ["core"]
        assert job["outputs"][0]["digests"]
        assert job["verdict"] == "complete"
    else:
        assert gaps_of(job) == ["path"]


# ---- space and mounts ----

@needs_root
def test_a_removed_input_does_not_keep_its_space(project, mounts):
    mounts("m", "-t", "tmpfs", "-o", "size=200m")
    project.write("m/big", b"\0" * (120 * 1000 * 1000))
    project.sh("cat m/big >/dev/null; rm m/big; "
               "head -c 120000000 /dev/zero >m/big2")
    job = project.last()
    assert names_of(project, job["outputs"]) == ["m/big2"]
    row = row_of(project, job["inputs"], "m/big")
    assert row["digests"] or gaps_of(job) == ["unreadable"]


def test_a_removed_input_is_identified_where_there_is_room(project):
    project.write("big", b"\0" * (80 * MIB))
    project.sh("cat big >/dev/null; rm big")
    job = project.last()
    assert job["verdict"] == "complete", job["gaps"]
    assert row_of(project, job["inputs"], "big")["digests"]


def test_removed_inputs_are_identified_when_their_turn_comes(project):
    """More than are hashed at once: what waits is kept open."""
    names = [f"big{i}" for i in range(8)]
    for name in names:
        with open(project.path(name), "wb") as f:
            f.truncate(80 * MIB)
    free = os.statvfs(project.root)
    if free.f_bavail * free.f_frsize < 4 * len(names) * 80 * MIB:
        pytest.skip("there is no room for what is kept")
    time.sleep(SETTLE)
    project.run(*PYTHON, f"import os\nfor n in {names}: open(n).read(1)\n"
                f"for n in {names}: os.unlink(n)\n")
    job = project.last()
    assert job["verdict"] == "complete", job["gaps"]
    digests = [row_of(project, job["inputs"], n)["digests"] for n in names]
    assert all(d and d == digests[0] for d in digests)


@needs_root
@pytest.mark.parametrize("tracer", ["auto", "ptrace"])
def test_what_is_being_hashed_can_be_unmounted(project, mounts, tracer):
    mounts("m", "-t", "tmpfs")
    with open(project.path("m/big"), "wb") as f:
        f.truncate(300 * MIB)
    time.sleep(SETTLE)
    project("run", "-q", "--tracer", tracer, "sh", "-c",
            "head -c 1 m/big >/dev/null && umount m")
    assert project.last()["exit_code"] == 0


@needs_root
def test_an_output_that_is_being_hashed_can_be_unmounted(project, mounts):
    mounts("m", "-t", "tmpfs")
    project.sh("mount -t tmpfs none m && head -c 300000000 /dev/zero >m/big "
               "&& cat m/big >/dev/null && sleep 0.3 && umount m")
    assert project.last()["exit_code"] == 0


# ---- recovery ----

def kill_all(process):
    tree = descendants_of(process.pid)
    for pid in (process.pid, *tree):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # ended with its tracer
    process.communicate(timeout=30)
    until(lambda: not [p for p in tree if alive(p)], "the end of the tree")


def test_a_later_edit_is_not_the_killed_runs_output(project):
    process = project.popen("run", "-q", "sh", "-c",
                            "echo run >o; echo run >p; (echo done); sleep 20")
    assert process.stdout.readline() == b"done\n"
    time.sleep(0.3)
    kill_all(process)
    time.sleep(0.05)
    with open(project.path("o"), "w", encoding="utf-8") as f:
        f.write("edited by hand\n")
    job = project.last()
    assert gaps_of(job) == ["changed", "interrupted"]
    assert not row_of(project, job["outputs"], "o")["digests"]
    assert row_of(project, job["outputs"], "p")["digests"]
    gap = [g for g in job["gaps"] if g["reason"] == "changed"][0]
    assert gap["detail"] == project.path("o")


def test_the_duration_of_a_killed_run_is_that_of_its_life(project):
    process = project.popen("run", "-q", "sh", "-c", "echo ready; exec sleep 60")
    assert process.stdout.readline() == b"ready\n"
    time.sleep(4.5)
    kill_all(process)
    assert project.last()["duration_s"] > 2


def test_a_killed_run_knows_its_commit(repo):
    process = repo.popen("run", "-q", "sh", "-c", "echo ready; sleep 60")
    assert process.stdout.readline() == b"ready\n"
    commit = repo.git("rev-parse", "HEAD").strip()
    kill_all(process)
    repo.write("more.py")
    repo.commit("later")
    git = repo.last()["git"]
    assert git["commit"] == commit
    assert git["branch"] == "main"
    assert git["dirty"] is None
    assert "killed" in git["note"]


# ---- the bar ----

def test_the_bar_tells_of_inputs_by_bytes(project):
    with open(project.path("big"), "wb") as f:
        f.truncate(64 << 30)  # of which nothing is read
    time.sleep(0.1)
    argv = project.argv("run", "head", "-c", "1", "big")
    with Terminal(argv, project.root, project.environment()) as t:
        match = t.expect(r"hashing \[(=*) *\] 0/1 files, "
                         r"(\S+ \S+) of (\S+ \S+), \S+ \S+/s", 60)
        assert match.group(3) == b"64.0 GiB"
        t.expect(r"hashing \[=+ *\] 0/1 files", 60)
        os.kill(t.pid, signal.SIGKILL)
        for pid in project.leftovers():
            os.kill(pid, signal.SIGKILL)
