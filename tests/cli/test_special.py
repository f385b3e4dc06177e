"""Odd names, odd files, many processes, and children that outlive."""

import json
import os
import resource
import socket
import subprocess
import sys
import time

import pytest

from helpers import (PYTHON, SETTLE, alive, gaps_of, lines, names_of,
                     row_of, until)
from terminal import on_terminal

NAMES = [b"new\nline", b"tab\there", b"bad\xff\xfebytes", b"esc\x1b[31mred",
         b"quote\"back\\slash", b"space  two", b"-dash", b"'single'",
         "ünïcödé ✓".encode(), b"\x7fdel", b"trailing ", b"*?[x]", b"$(id)",
         b"\xc3", b"@1", b"deadbeef"]


def name_of(row, key="path"):
    """The bytes of a name: JSON has them apart where they are no UTF-8."""
    if key + "_bytes" in row:
        return bytes.fromhex(row[key + "_bytes"])
    return row[key].encode()


@pytest.fixture
def odd(project):
    for i, name in enumerate(NAMES):
        project.write(name, f"content {i}\n", age=0)
    time.sleep(SETTLE)
    script = ("import os\n"
              "for n in sorted(os.listdir(b'.')):\n"
              "    if n in (b'.roar', b'out'): continue\n"
              "    d = open(n, 'rb').read()\n"
              "    os.makedirs(b'out', exist_ok=True)\n"
              "    open(b'out/' + n, 'wb').write(d + b'!')\n")
    project.run(*PYTHON, script)
    return project


def test_odd_names_are_recorded_byte_by_byte(odd):
    job = odd.last()
    root = os.fsencode(odd.root) + b"/"
    got = {name_of(f) for f in job["inputs"]}
    assert got == {root + n for n in NAMES}
    got = {name_of(f) for f in job["outputs"]}
    assert got == {root + b"out/" + n for n in NAMES}
    assert job["verdict"] == "complete"
    assert all(f["digests"] for f in job["inputs"] + job["outputs"])


def test_odd_names_in_json_are_one_document_of_valid_utf8(odd):
    for args in (["log"], ["status"], ["show"], ["show", "@1"], ["dag"],
                 ["inputs", "@1"], ["show", "--all", "@1"]):
        done = odd.raw(*args, "--json")
        assert done.code == 0
        document = json.loads(done.out.decode("utf-8", "strict"))
        # Lone surrogates, which strict readers refuse, have no UTF-8.
        json.dumps(document, ensure_ascii=False).encode("utf-8", "strict")
        assert b"\x1b" not in done.out


def test_odd_names_in_text_cannot_drive_the_terminal(odd):
    for args in (["log"], ["status"], ["show"], ["show", "@1"],
                 ["dag", "--show-artifacts"], ["inputs", "@1"],
                 ["show", "--all", "@1"]):
        done = odd.raw(*args)
        assert done.code == 0
        done.out.decode("utf-8", "strict")
        assert b"\x1b" not in done.out
        assert b"\x7f" not in done.out
        assert b"new\nline" not in done.out
        assert b"\t" not in done.out


def test_odd_names_in_the_words_of_run(project):
    for i, name in enumerate(NAMES):
        project.write(name, f"content {i}\n", age=0)
    done = project.raw("run", "-vv", "sh", "-c", "cat -- *")
    done.err.decode("utf-8", "strict")
    assert b"\x1b" not in done.err
    assert b"new\nline" not in done.err


def test_odd_names_in_the_block_on_a_terminal(project):
    project.write(NAMES[3], "x\n")
    with on_terminal(project, "run", "sh", "-c", "cat -- *",
                     env={"NO_COLOR": "1"}) as t:
        assert t.wait() == 0
    assert b"\x1b" not in t.output


def test_odd_names_can_be_named(odd):
    for name in NAMES:
        if name in (b"@1", b"deadbeef", b"-dash"):
            continue
        shown = json.loads(odd.raw("show", "--json", "--path",
                                   b"./" + name).out)
        assert shown["type"] == "artifact"
        assert name_of(shown["paths"][0]).endswith(name)


def test_a_file_named_like_a_step_is_found_by_path(odd):
    assert odd.json("show", "--path", "@1")["type"] == "artifact"
    assert odd.json("show", "./@1")["type"] == "artifact"


def test_an_odd_command_line_is_stored_and_run_again(project):
    words = [b"sh", b"-c", b"printf '%s|' \"$@\"", b"x", *NAMES, b""]
    first = project.raw("run", "-q", "--", *words)
    again = project.raw("run", "-q", "@1")
    assert first.out == again.out
    assert first.code == again.code == 0
    assert b"bad\xff\xfebytes|" in first.out


def test_odd_names_of_folders_and_of_the_project(empty):
    root = os.path.join(os.fsencode(empty.base), b"pro\nject \xff")
    os.mkdir(root)
    empty.raw("init", cwd=root)
    done = empty.raw("run", "-q", "sh", "-c", "echo x >x; pwd", cwd=root)
    assert done.code == 0
    shown = json.loads(empty.raw("show", "@1", "--json", cwd=root).out)
    assert name_of(shown, "cwd") == root
    assert name_of(shown["outputs"][0]) == root + b"/x"
    for args in (["status"], ["db"], ["dag"], ["show", "@1"]):
        done = empty.raw(*args, cwd=root)
        assert done.code == 0
        done.out.decode("utf-8", "strict")


def test_an_odd_name_of_the_step(project):
    project.raw("run", "-q", "-n", b"na\nme \xff\x1b", "true")
    assert name_of(project.last(), "name") == b"na\nme \xff\x1b"
    assert b"\x1b" not in project.raw("dag").out


# ---- long paths and long command lines ----

def deep_folder(place, length):
    """A folder below the project whose path is longer than any call takes."""
    fd = os.open(place.root, os.O_RDONLY | os.O_DIRECTORY)
    size = len(place.root)
    while size < length:
        name = "d" * min(200, max(1, length - size - 1))
        os.mkdir(name, dir_fd=fd)
        new = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd, size = new, size + len(name) + 1
    return fd, size


def test_a_path_of_4095_bytes_is_recorded(project):
    fd, size = deep_folder(project, 4000)
    os.close(fd)
    name = "f" * (4095 - size - 1)
    script = ("import os, sys\n"
              "d = [n for n in os.listdir('.') if n.startswith('ddd')]\n"
              "while d:\n"
              "    os.chdir(d[0])\n"
              "    d = [n for n in os.listdir('.') if n.startswith('d')]\n"
              "open(sys.argv[1], 'w').write('x')\n")
    project.run(*PYTHON, script, name)
    job = project.last()
    assert [len(name_of(f)) for f in job["outputs"]] == [4095]
    assert job["outputs"][0]["digests"]
    assert job["verdict"] == "complete"
    for args in (["status"], ["show", "@1"], ["dag", "-a"]):
        project(*args)


@pytest.mark.parametrize("length", [4096, 4200, 9000])
def test_a_longer_path_is_recorded_or_a_gap(project, length):
    fd, _ = deep_folder(project, length)
    os.close(fd)
    script = ("import os\n"
              "d = [n for n in os.listdir('.') if n.startswith('ddd')]\n"
              "while d:\n"
              "    os.chdir(d[0])\n"
              "    d = [n for n in os.listdir('.') if n.startswith('d')]\n"
              "open('file', 'w').write('x')\n"
              "print(open('file').read())\n")
    done = project.run(*PYTHON, script)
    assert done.out == "x\n" and done.err == ""
    job = project.last()
    if job["verdict"] == "complete":
        assert [f["size_bytes"] for f in job["outputs"]] == [1]
        assert job["outputs"][0]["digests"]
    else:
        assert set(gaps_of(job)) <= {"path", "unreadable"}


def test_run_in_a_folder_with_a_long_path(project):
    fd, _ = deep_folder(project, 4500)
    process = subprocess.Popen(
        project.argv("run", "-q", "sh", "-c", "echo x >x; cat x; exit 3"),
        env=project.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, preexec_fn=lambda: os.fchdir(fd))
    out, err = process.communicate(timeout=60)
    os.close(fd)
    assert (out, process.returncode) == (b"x\n", 3)
    assert len(lines(err.decode())) <= 1


def test_a_command_line_of_two_megabytes(project):
    pieces = ["x" * 120 * 1024] * 17
    assert sum(map(len, pieces)) > 2000000

    def prepare():
        _, hard = resource.getrlimit(resource.RLIMIT_STACK)
        want = 64 * 1024 * 1024
        if hard != resource.RLIM_INFINITY:
            want = min(want, hard)
        resource.setrlimit(resource.RLIMIT_STACK, (want, hard))
    done = project.raw("run", "sh", "-c", "echo $#", "x", *pieces,
                       preexec_fn=prepare)
    assert done.code == 0
    assert done.out == b"17\n"
    assert len(lines(done.err.decode())) == 1
    assert len(done.err) < 10000
    assert len(project.last()["command"]) > 2000000
    for args in (["log"], ["status"], ["show", "@1"], ["dag"], ["show"]):
        out = project(*args, env={"COLUMNS": "80"}).out
        assert len(out) < 100000
    done = project.raw("run", "-q", "@1", preexec_fn=prepare)
    assert done.out == b"17\n"


# ---- files that are no files ----

def test_a_fifo_as_input_is_kept_as_such(project):
    os.mkfifo(project.path("pipe"))
    project.sh("echo through >pipe & cat pipe; wait")
    job = project.last()
    assert job["verdict"] == "complete"
    rows = [f for f in job["inputs"] + job["outputs"] + job["touched"]
            if f["path"] == project.path("pipe")]
    assert rows and all(r["type"] == "fifo" and not r["digests"]
                        for r in rows)


def test_a_fifo_without_a_writer_at_the_end_does_not_block(project):
    os.mkfifo(project.path("pipe"))
    project.run(*PYTHON, "import os; os.open('pipe', os.O_RDWR)", timeout=20)
    assert project.last()["verdict"] == "complete"


def test_a_fifo_made_by_the_run(project):
    project.sh("mkfifo p; echo x >p & cat p", timeout=20)
    assert project.last()["verdict"] == "complete"


def test_devices_are_no_content(project):
    project.sh("head -c 100 /dev/zero >out; cat /dev/null; echo x >/dev/null",
               timeout=20)
    job = project.last()
    assert names_of(project, job["inputs"] + job["outputs"]) == ["out"]
    assert job["verdict"] == "complete"


def test_a_device_node_in_the_project(project):
    if os.geteuid() != 0:
        pytest.skip("only root makes device nodes")
    try:
        os.mknod(project.path("zero"), 0o600 | 0o020000, os.makedev(1, 5))
        with open(project.path("zero"), "rb"):
            pass
    except OSError as e:
        pytest.skip(f"no device nodes here: {e}")
    project.sh("head -c 10 zero >out", timeout=20)
    job = project.last()
    assert job["verdict"] == "complete"
    assert row_of(project, job["inputs"], "zero")["type"] == "device"


def test_a_directory_as_input_is_no_file(project):
    os.mkdir(project.path("dir"))
    project.sh("ls dir; cat dir 2>/dev/null; true")
    job = project.last()
    assert job["inputs"] == [] and job["verdict"] == "complete"


def test_a_socket_is_no_file(project):
    s = socket.socket(socket.AF_UNIX)
    s.bind(project.path("sock"))
    s.close()
    project.sh("cat sock 2>/dev/null; true")
    assert project.last()["verdict"] == "complete"


def test_proc_files_are_read_by_the_command_as_ever(project):
    out = project.run("sh", "-c", "cat /proc/self/comm").out
    assert out == "cat\n"
    assert project.last()["verdict"] == "complete"


def test_endless_proc_and_dev_files_are_never_hashed(project):
    project("config", "set", "filters.ignore_system_reads", "false")
    project.sh("head -c 1 /dev/urandom >/dev/null; head -c 1 /dev/zero "
               ">/dev/null; cat /proc/self/maps >/dev/null", timeout=30)
    assert project.last()["verdict"] == "complete"


# ---- many processes and those that outlive ----

def test_two_thousand_processes(project):
    project.run("sh", "-c", "i=0; while [ $i -lt 2000 ]; do /bin/true; "
                "i=$((i+1)); done; echo x >x", timeout=300)
    job = project.last()
    assert job["resources"]["processes"] == 2001
    assert job["verdict"] == "complete"


def test_two_hundred_processes_at_once(project):
    script = ("i=0; while [ $i -lt 200 ]; do (echo $i >f$i) & "
              "i=$((i+1)); done; wait")
    project.sh(script, timeout=120)
    job = project.last()
    assert job["outputs_count"] == 200
    assert job["verdict"] == "complete"


DAEMON = """
import os, sys, time
if os.fork():
    print('parent ends', flush=True)
    sys.exit(5)
os.setsid()
n = os.open('/dev/null', os.O_RDWR)
for fd in (0, 1, 2): os.dup2(n, fd)
time.sleep(1.5)
try:
    open('late', 'w').write(open('in').read())
    open('result', 'w').write('worked')
except Exception as e:
    open('/proc/self/cwd/result', 'w').write(repr(e))
time.sleep(0.5)
"""


@pytest.mark.timing
def test_a_child_that_outlives_the_command(project):
    project.write("in", "data\n")
    started = time.monotonic()
    done = project.run(*PYTHON, DAEMON, code=5)
    assert time.monotonic() - started < 1.4
    assert done.out == "parent ends\n"
    job = project.last()
    assert job["exit_code"] == 5
    assert job["verdict"] == "incomplete"
    assert gaps_of(job) == ["outlived"]
    until(lambda: project.exists("result"), "the daemon's work", 20)
    time.sleep(0.2)
    assert project.read("result") == b"worked"
    assert project.read("late") == b"data\n"
    until(lambda: not project.leftovers(), "the end of the daemon", 20)


def test_a_child_that_outlives_by_a_moment_is_waited_for(project):
    project.sh("(sleep 0.01; echo x >x) & exit 0")
    until(lambda: not project.leftovers(), "the end of the child", 20)
    job = project.last()
    if job["verdict"] == "complete":
        assert names_of(project, job["outputs"]) == ["x"]
    else:
        assert gaps_of(job) == ["outlived"]


@pytest.mark.timing
def test_the_next_run_does_not_wait_for_a_daemon_of_the_last(project):
    project.write("in", "data\n")
    project.run(*PYTHON, DAEMON, code=5)
    started = time.monotonic()
    project.run("true")
    assert time.monotonic() - started < 1.4
    assert project.last()["verdict"] == "complete"
    until(lambda: not project.leftovers(), "the end of the daemon", 20)


def test_a_daemon_that_writes_for_ever_while_its_output_is_hashed(project):
    """A file that grows while it is hashed."""
    script = ("import os, sys, time\n"
              "if os.fork(): time.sleep(0.3); sys.exit(0)\n"
              "os.setsid()\n"
              "n = os.open('/dev/null', os.O_RDWR)\n"
              "for fd in (0, 1, 2): os.dup2(n, fd)\n"
              "end = time.monotonic() + 3\n"
              "f = open('growing', 'wb')\n"
              "while time.monotonic() < end:\n"
              "    f.write(b'x' * 1000000); f.flush()\n"
              "    if f.tell() > 300000000: f.seek(0)\n")
    project.run(*PYTHON, script, timeout=60)
    job = project.last()
    assert job["verdict"] == "incomplete"
    assert "outlived" in gaps_of(job)
    row = row_of(project, job["outputs"], "growing")
    assert row["digests"] is None or row["size_bytes"] > 0
    until(lambda: not project.leftovers(), "the end of the daemon", 20)


def test_an_output_that_somebody_else_appends_to_while_it_is_hashed(project):
    path = project.path("log")
    process = project.popen("run", "-q", "sh", "-c",
                            "echo begin >log; : >ready; sleep 1")
    until(lambda: project.exists("ready"), "the command")
    end = time.monotonic() + 2
    with open(path, "ab") as f:
        while time.monotonic() < end or process.poll() is None:
            f.write(b"more\n" * 1000)
            f.flush()
            if time.monotonic() > end + 30:
                break
    process.communicate(timeout=60)
    assert process.returncode == 0
    job = project.last()
    row = row_of(project, job["outputs"], "log")
    if row["digests"] is None:
        assert "changed" in gaps_of(job)


def test_an_output_removed_by_somebody_else(project):
    process = project.popen("run", "-q", "sh", "-c",
                            "echo x >x; echo y >y; : >ready; sleep 1")
    until(lambda: project.exists("ready"), "the command")
    os.unlink(project.path("x"))
    process.communicate(timeout=60)
    assert process.returncode == 0
    job = project.last()
    assert "x" not in names_of(project, job["outputs"])
    assert "y" in names_of(project, job["outputs"])


def test_an_output_that_may_not_be_read(user):
    user.sh("echo x >x; chmod 000 x; echo y >y")
    job = user.last()
    assert names_of(user, job["outputs"]) == ["x", "y"]
    row = row_of(user, job["outputs"], "x")
    if row["digests"] is None:
        assert job["verdict"] == "incomplete"
        assert gaps_of(job) == ["unreadable"]


def test_an_output_that_may_never_be_read(user):
    """Not even early: it is born unreadable."""
    user.run(*PYTHON, "import os; fd = os.open('x', os.O_WRONLY | "
             "os.O_CREAT, 0); os.write(fd, b'x')")
    job = user.last()
    assert job["verdict"] == "incomplete"
    assert gaps_of(job) == ["unreadable"]
    assert job["exit_code"] == 0


def test_an_executable_that_may_not_be_read(user):
    user.write("tool", "", mode=0o755)
    path = user.path("tool")
    os.unlink(path)
    subprocess.run(["cp", "/bin/true", path], check=True)
    os.chmod(path, 0o111)
    if user.user is not None:
        os.chown(path, 0, 0)
    user.run("./tool")
    assert user.last()["exit_code"] == 0


def test_a_large_environment(project):
    env = {f"VARIABLE_{i}": "x" * 1000 for i in range(500)}
    assert project.run("sh", "-c", "echo $VARIABLE_499 | wc -c",
                       env=env).out == "1001\n"


def test_python_multiprocessing(project):
    script = ("import multiprocessing as m\n"
              "def work(i): open(f'p{i}', 'w').write(str(i)); return i\n"
              "if __name__ == '__main__':\n"
              "    with m.Pool(4) as p: print(sum(p.map(work, range(8))))\n")
    project.write("work.py", script)
    assert project.run(sys.executable, "work.py", timeout=60).out == "28\n"
    job = project.last()
    assert [n for n in names_of(project, job["outputs"])
            if n.startswith("p")] == [f"p{i}" for i in range(8)]
    assert job["verdict"] == "complete"
    assert not [p for p in project.leftovers() if alive(p)]
