"""roard: eBPF for those who may not load programs, and for nobody else's eyes."""

import array
import contextlib
import mmap
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

from helpers import (ORDINARY, children_of, gaps_of, make_place, names_of,
                     runs_program, until)

OTHER = 65533  # another ordinary user
MAGIC, VERSION = 0x64726172, 2
HELLO, START, STATE = 1, 2, 3
REQUEST = struct.Struct("=IHHiI")
REPLY = struct.Struct("=IHHiiQQQQQ48s")
EPERM, ESRCH, EBADF, EALREADY, EBADMSG = 1, 3, 9, 114, 74
RING_BYTES = 2 << 20


def roard_path():
    path = os.environ.get("ROARD")
    if not path or not os.path.exists(path):
        pytest.skip("roard was not built")
    return os.path.abspath(path)


class Daemon:
    """A roard with a socket of its own."""

    def __init__(self, folder, *options):
        self.socket = os.path.join(folder, "roard.sock")
        self.process = subprocess.Popen(
            [roard_path(), "--foreground", "--socket", self.socket, *options],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until(lambda: self.process.poll() is not None or self.answers(),
              "the daemon")
        if self.process.poll() is not None:
            pytest.skip(self.process.stderr.read().decode())

    def answers(self):
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(20)
        s.connect(self.socket)
        return s

    def kept(self, what):
        """What /proc says of each of its descriptors, as they come and go."""
        folder = f"/proc/{self.process.pid}/{what}"
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            with contextlib.suppress(FileNotFoundError):
                if what == "fd":
                    yield os.readlink(path)
                else:
                    with open(path, encoding="utf-8") as f:
                        yield f.read()

    def links(self):
        """How many programs it has attached."""
        return sum("bpf_link" in name or "bpf-link" in name
                   for name in self.kept("fd"))

    def hooks(self):
        """How many of them every system call of the machine passes."""
        return sum(bool(re.search(r"^tp_name:\s*sys_", info, re.M))
                   for info in self.kept("fdinfo"))

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(20)


@pytest.fixture
def folder():
    if os.geteuid() != 0:
        pytest.skip("roard has to be run by root")
    place = make_place("roar")
    yield place.base
    place.remove()


@pytest.fixture
def daemon(folder):
    d = Daemon(folder)
    yield d
    d.end()


def make_user(daemon, public_roar, uid):
    place = make_place(public_roar, uid)
    place.env["ROAR_ROARD_SOCKET"] = daemon.socket
    place("init")
    place("tracer", "use", "ebpf")
    return place


@pytest.fixture
def nobody(daemon, public_roar):
    place = make_user(daemon, public_roar, ORDINARY)
    yield place
    place.remove()


@pytest.fixture
def other(daemon, public_roar):
    place = make_user(daemon, public_roar, OTHER)
    yield place
    place.remove()


# ---- runs ----

def test_the_better_record_is_the_default(nobody):
    """eBPF works, and yet it is for those who ask for it."""
    nobody("tracer", "use", "auto")
    nobody.run("true")
    assert nobody.last()["tracer"] == "hybrid"
    assert [t["ready"] for t in nobody.json("tracer", "status")["tracers"]
            if t["name"] == "ebpf"] == [True]


def test_an_ordinary_user_is_observed_by_ebpf(nobody):
    nobody.write("in", "data\n")
    nobody.sh("cat in >out")
    job = nobody.last()
    assert job["tracer"] == "ebpf"
    assert job["verdict"] == "complete", job["gaps"]
    assert names_of(nobody, job["inputs"]) == ["in"]
    assert names_of(nobody, job["outputs"]) == ["out"]
    assert [(f["read_bytes"], f["written_bytes"])
            for f in job["inputs"] + job["outputs"]] == [(5, 0), (0, 5)]
    assert job["observation"]["byte_counts_lost"] == 0


def test_check_proves_it(nobody):
    assert nobody("tracer", "check", "ebpf").out.startswith("ebpf works: ")
    assert nobody.json("tracer", "status")["choice"] == "ebpf"


def all_paths(place):
    job = place.last("--all")
    return [f["path"] for key in ("inputs", "outputs", "temporaries",
                                  "touched") for f in job[key]]


def test_two_users_at_a_time_see_nothing_of_each_other(nobody, other):
    script = ("i=0; while [ $i -lt 60 ]; do echo $i >f$i; cat f$i >/dev/null; "
              "i=$((i+1)); done")
    places = [nobody, other]
    runs = [p.popen("run", "-q", "sh", "-c", script) for p in places]
    for run in runs:
        _, err = run.communicate(timeout=60)
        assert run.returncode == 0, err
    for mine, theirs in (places, places[::-1]):
        assert mine.last()["tracer"] == "ebpf"
        assert mine.last()["verdict"] == "complete"
        paths = all_paths(mine)
        assert sum(p.startswith(mine.root + "/f") for p in paths) == 60
        assert not [p for p in paths if p.startswith(theirs.base)]


def test_nobody_can_have_all_rings(nobody, other):
    """There are eight; two are for others."""
    runs = [start_waiting(nobody)[0] for _ in range(6)]
    nobody.sh("echo c >c")
    job = nobody.last()
    assert (job["tracer"], job["verdict"]) == ("hybrid", "complete")
    other.sh("echo c >c")
    assert other.last()["tracer"] == "ebpf"
    for run in runs:
        run.communicate(b"\n", timeout=30)
        assert run.returncode == 5


def test_many_runs_one_after_the_other(nobody):
    """More than there are rings: each gets one that nobody has seen."""
    for i in range(20):
        nobody.sh(f"echo {i} >f{i}")
        job = nobody.last()
        assert (job["tracer"], job["verdict"]) == ("ebpf", "complete")
        assert names_of(nobody, job["outputs"]) == [f"f{i}"]


def test_a_set_user_id_program_keeps_its_privilege_and_its_secrets(nobody):
    program = "/usr/bin/passwd"
    if not os.path.exists(program) or not os.stat(program).st_mode & 0o4000:
        pytest.skip("there is no set-user-id passwd")
    done = nobody("run", "-q", "sh", "-c", "cat /dev/null >a; passwd -S; "
                  "cat a >b", code=None)
    assert "nobody" in done.out  # only root can read that
    job = nobody.last()
    assert gaps_of(job) == ["escaped"]
    assert "/etc/shadow" not in all_paths(nobody)
    assert names_of(nobody, job["outputs"]) == ["a", "b"]


# ---- killed ----

def start_waiting(place):
    """A run whose command waits for a line, and roar's tracing process."""
    run = place.popen("run", "sh", "-c",
                      "echo a >a; echo ready; read x; cat a >b; exit 5",
                      stdin=subprocess.PIPE)
    assert run.stdout.readline() == b"ready\n"
    tracer = [p for p in children_of(run.pid)
              if runs_program(p, place.roar_program)]
    return run, tracer[0]


def test_the_daemon_killed_the_command_goes_on(daemon, nobody):
    run, _ = start_waiting(nobody)
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait(20)
    _, err = run.communicate(b"\n", timeout=30)
    assert run.returncode == 5, err
    assert nobody.read("b") == b"a\n"
    job = nobody.last()
    assert job["verdict"] == "incomplete" and "lost" in gaps_of(job)
    assert "roard" in job["gaps"][0]["detail"]
    assert "a" in names_of(nobody, job["outputs"])
    # And the next run takes another tracer.
    nobody.sh("echo c >c")
    assert nobody.last()["tracer"] == "hybrid"


def test_the_daemon_stopped_keeps_nobody_waiting_for_long(daemon, nobody):
    run, _ = start_waiting(nobody)
    daemon.process.send_signal(signal.SIGSTOP)
    start = time.monotonic()
    run.communicate(b"\n", timeout=60)
    assert run.returncode == 5
    assert time.monotonic() - start < 20
    daemon.process.send_signal(signal.SIGCONT)
    assert "lost" in gaps_of(nobody.last())


def test_clients_killed_leave_nothing_behind(daemon, nobody):
    """Twice as often as there are rings."""
    for _ in range(16):
        run, tracer = start_waiting(nobody)
        os.kill(tracer, signal.SIGKILL)
        run.stdin.close()
        run.stdout.close()
        run.wait(30)
    until(lambda: not nobody.leftovers(), "the end of all commands")
    nobody.sh("echo c >c")
    job = nobody.last()
    assert (job["tracer"], job["verdict"]) == ("ebpf", "complete")
    assert daemon.process.poll() is None


# ---- the protocol ----

def talk(s, kind, pid=0, fds=(), magic=MAGIC, version=VERSION, tail=b""):
    control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                array.array("i", fds))] if fds else []
    s.sendmsg([REQUEST.pack(magic, version, kind, pid, 0) + tail], control)
    data, rest, _, _ = s.recvmsg(4096, socket.CMSG_SPACE(16))
    got = array.array("i")
    for _, _, content in rest:
        got.frombytes(content[:4])
    if not data:
        return None, list(got)
    return REPLY.unpack(data), list(got)


def error_of(answer):
    return -answer[0][3]


def test_hello(daemon):
    answer, _ = talk(daemon.connect(), HELLO)
    assert answer[:4] == (MAGIC, VERSION, HELLO, 0)
    assert answer[-1].rstrip(b"\0")


@pytest.mark.parametrize("message", [
    b"", b"x", b"\0" * 15, b"\0" * 16, b"\xff" * 16, b"\xff" * 5000,
    REQUEST.pack(MAGIC, VERSION, 77, 0, 0),
    REQUEST.pack(MAGIC, VERSION, START, 1, 0),
    REQUEST.pack(MAGIC, 99, HELLO, 0, 0),
    REQUEST.pack(MAGIC, VERSION, HELLO, 0, 1)])
def test_what_is_no_message_ends_the_connection(daemon, message):
    s = daemon.connect()
    s.send(message)
    while s.recv(4096):
        pass
    assert talk(daemon.connect(), HELLO)[0][3] == 0


def test_descriptors_nobody_asked_for(daemon):
    keep = daemon.connect()
    assert talk(keep, HELLO)[0][3] == 0
    before = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
    for kind, n in ((HELLO, 1), (STATE, 1), (START, 2), (START, 30)):
        s = daemon.connect()
        with open("/dev/null", "rb") as f:
            answer, _ = talk(s, kind, pid=1, fds=[f.fileno()] * n)
        assert answer is None or answer[3] == -EBADMSG
        s.close()
    until(lambda: len(os.listdir(f"/proc/{daemon.process.pid}/fd")) <= before,
          "the end of all descriptors")


def test_a_descriptor_that_is_no_process(daemon):
    with open("/dev/null", "rb") as f:
        answer = talk(daemon.connect(), START, pid=1, fds=[f.fileno()])
    assert error_of(answer) == EBADF


AS_CLIENT = """
import array, os, socket, struct, sys
uid, path, pid = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
fd = os.pidfd_open(pid)
os.setgroups([]); os.setgid(uid); os.setuid(uid)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(path)
s.sendmsg([struct.pack("=IHHiI", 0x64726172, 2, 2, pid, 0)],
          [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
data, rest, _, _ = s.recvmsg(4096, 64)
print(-struct.unpack("=IHHi", data[:12])[3], len(rest))
"""


def ask_for(daemon, uid, pid):
    done = subprocess.run([sys.executable, "-I", "-c", AS_CLIENT, str(uid),
                           daemon.socket, str(pid)], check=True,
                          capture_output=True, text=True, timeout=30)
    return done.stdout.split()


def sleeper(uid):
    return subprocess.Popen(["setpriv", "--reuid", str(uid), "--regid",
                             str(uid), "--clear-groups", "sleep", "60"])


@pytest.mark.parametrize("owner, wanted", [
    (0, str(EPERM)), (OTHER, str(EPERM)), (ORDINARY, "0")])
def test_a_user_can_only_have_his_own_processes(daemon, owner, wanted):
    process = sleeper(owner)
    try:
        until(lambda: b"sleep" in open(f"/proc/{process.pid}/cmdline",
                                       "rb").read()[:6], "the sleeper")
        error, n_rings = ask_for(daemon, ORDINARY, process.pid)
        assert error == wanted
        assert n_rings == ("1" if wanted == "0" else "0")
    finally:
        process.kill()
        process.wait()


def test_a_ring_that_was_kept_learns_nothing_of_later_runs(daemon, nobody):
    process = subprocess.Popen(["sleep", "60"])
    s = daemon.connect()
    fd = os.pidfd_open(process.pid)
    answer, rings = talk(s, START, pid=process.pid, fds=[fd])
    assert answer[3] == 0 and len(rings) == 1
    assert error_of(talk(s, START, pid=process.pid, fds=[fd])) == EALREADY
    s.close()
    process.kill()
    process.wait()
    ring = mmap.mmap(rings[0], mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ,
                     offset=mmap.PAGESIZE)
    time.sleep(0.2)
    position = ring[:8]
    for i in range(12):
        nobody.sh(f"echo {i} >f{i}")
        assert nobody.last()["tracer"] == "ebpf"
    assert ring[:8] == position


# ---- life ----

def test_idle_programs_are_unloaded_and_loaded_again(folder, public_roar):
    daemon = Daemon(folder, "--idle", "1")
    place = make_user(daemon, public_roar, ORDINARY)
    try:
        place.sh("echo a >a")
        assert place.last()["tracer"] == "ebpf"
        until(lambda: daemon.links() == 0, "the end of the programs", 20)
        assert daemon.process.poll() is None
        place.sh("echo b >b")
        assert place.last()["tracer"] == "ebpf"
        assert place.last()["verdict"] == "complete"
    finally:
        daemon.end()
        place.remove()


def test_a_second_daemon_stays_away(daemon):
    done = subprocess.run([roard_path(), "--foreground", "--socket",
                           daemon.socket], capture_output=True, timeout=30,
                          check=False, text=True)
    assert done.returncode == 1 and "another roard" in done.stderr
    assert daemon.answers()


def test_stop_ends_it_and_removes_the_socket(daemon):
    subprocess.run([roard_path(), "--stop", "--socket", daemon.socket],
                   check=True, timeout=30)
    assert daemon.process.wait(20) == 0
    assert not os.path.exists(daemon.socket)
    subprocess.run([roard_path(), "--stop", "--socket", daemon.socket],
                   check=True, timeout=30)


def test_in_the_background(folder, public_roar):
    path = os.path.join(folder, "roard.sock")
    done = subprocess.run([roard_path(), "--daemon", "--socket", path],
                          capture_output=True, timeout=60, check=False)
    if done.returncode:
        pytest.skip(done.stderr.decode())
    place = make_place(public_roar, ORDINARY)
    place.env["ROAR_ROARD_SOCKET"] = path
    try:
        place("init")
        place("tracer", "use", "ebpf")
        place.sh("echo a >a")
        assert place.last()["tracer"] == "ebpf"
    finally:
        subprocess.run([roard_path(), "--stop", "--socket", path], check=True,
                       timeout=30)
        place.remove()


def test_handed_over_by_systemd_it_ends_when_idle(folder):
    """As systemd does it: descriptor 3, two variables."""
    script = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1]); s.listen(5)
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], [sys.argv[2], "--idle", "1"])
"""
    done = subprocess.run([sys.executable, "-I", "-c", script,
                           os.path.join(folder, "s"), roard_path()],
                          capture_output=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr


def test_without_a_socket_of_systemd_it_says_what_to_do():
    done = subprocess.run([roard_path()], capture_output=True, text=True,
                          timeout=30, check=False)
    assert done.returncode == 1 and "--foreground" in done.stderr


@pytest.mark.parametrize("args", [["--magic"], ["x"], ["--idle", "x"],
                                  ["--pin", "--stop"]])
def test_wrong_usage(args):
    done = subprocess.run([roard_path(), *args], capture_output=True,
                          text=True, timeout=30, check=False)
    assert done.returncode == 2 and "--help" in done.stderr


def test_enable_says_what_it_does_and_asks(daemon, public_roar, nobody):
    """Nothing is done where nobody can be asked."""
    assert "enabled" in nobody("tracer", "enable", "ebpf").out
    done = nobody("tracer", "disable", "ebpf", code=1)
    assert "--stop" in done.out or "roard was not found" in done.err
    assert daemon.answers()
