"""What libroar-preload.so tells, asks and leaves alone.

Every case runs a command with the library under log_dump (see log_dump.c for the
lines) in a fresh directory that holds r1 ... r10.  Names are those of the programs
in this folder; acts.c and storms.c check by themselves that nothing the program sees
has changed."""

import os
import re
import shutil
import signal
import subprocess
import time

import pytest

BIN = os.environ["PRELOAD_PROGRAMS"]
LIBRARY = os.environ["PRELOAD_LIBRARY"]
DUMP = os.path.join(BIN, "log_dump")
ACTS = os.path.join(BIN, "acts")
STORMS = os.path.join(BIN, "storms")
TIMEOUT = 60
MODES = pytest.mark.parametrize("mode", [[], ["--seccomp"]],
                                ids=["plain", "stub"])


class Result:
    def __init__(self, lines, out, err):
        self.lines, self.out, self.err = lines, out, err

    def has(self, *wanted):
        """All of these lines, in this order."""
        rest = iter(self.lines)
        for line in wanted:
            assert line in rest, f"no {line!r} in {self.lines}"

    def count(self, start):
        return sum(line.startswith(start) for line in self.lines)


class Place:
    def __init__(self, path):
        self.path = str(path)
        for i in range(1, 11):
            with open(f"{path}/r{i}", "w") as f:
                f.write("x\n")

    def command(self, *argv, options=()):
        self.output = self.path + ".log"
        return [DUMP, *options, "-l", LIBRARY, "-o", self.output, "--", *argv]

    def lines(self):
        with open(self.output, errors="surrogateescape") as f:
            return [line.replace(self.path, "DIR")
                    for line in f.read().splitlines()]

    def run(self, *argv, options=(), env=None, status="exit 0"):
        done = subprocess.run(self.command(*argv, options=options),
                              cwd=self.path, env=env, timeout=TIMEOUT,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        result = Result(self.lines(), done.stdout, done.stderr)
        if result.lines[-1] == "status exit 77":
            pytest.skip("not possible here")
        assert result.lines[-1] == f"status {status}", (result.lines[-3:],
                                                        result.err)
        return result


@pytest.fixture
def place(tmp_path):
    work = tmp_path / "d"
    work.mkdir()
    return Place(os.path.realpath(work))


def program(name):
    path = os.path.join(BIN, name)
    if not os.path.exists(path):
        pytest.skip(f"{name} could not be built here")
    return path


def asked(mode, line):
    """The line of a question; with --seccomp the kernel would have told."""
    return [] if mode else [line]


# ---- what is told and what is asked ----

@MODES
def test_reads_are_told_once_they_succeeded(place, mode):
    r = place.run(ACTS, "reads", options=mode)
    r.has("hello 1 DIR", *(f"open 1 r r{i}" for i in range(1, 9)),
          *asked(mode, "ask 1 open r r10"), "done 1 open ok",
          *asked(mode, "ask 1 open r /proc/self/status"), "done 1 open ok")
    assert "r9" not in str(r.lines) and "nothing" not in str(r.lines)


def test_told_calls_are_marked(place):
    """Those that are asked do not: a filter sees them."""
    r = place.run(ACTS, "marked", options=["--filter"])
    r.has("open 1 r r1", "open 1 r r2", "done 1 open EXDEV")


@MODES
def test_writes_are_told_before_and_after_or_asked(place, mode):
    place.run(ACTS, "writes", options=mode).has(
        "intent 1 w+creat+trunc w1", "result 1 ok",
        "intent 1 w+creat+trunc w2", "result 1 ok",
        "intent 1 w+creat+trunc w3", "result 1 ok",
        "intent 1 rw+creat+excl w4", "result 1 ok",
        "intent 1 rw+creat+excl w4", "result 1 EEXIST",
        *asked(mode, "ask 1 open w w1"), "done 1 open ok",
        *asked(mode, "ask 1 open w+append w1"), "done 1 open ok",
        "open 1 r w1",
        *asked(mode, "ask 1 open w+creat+trunc w1"), "done 1 open ok",
        *asked(mode, "ask 1 open r+creat w5"), "done 1 open ok",
        *asked(mode, "ask 1 open rw ."), "done 1 open ok",
        "intent 1 w+creat+trunc no/where", "result 1 ENOENT")


@MODES
def test_streams(place, mode):
    place.run(ACTS, "streams", options=mode).has(
        "intent 1 w+creat+trunc s1", "result 1 ok", "open 1 r s1",
        *asked(mode, "ask 1 open w+creat+trunc s2"), "done 1 open ok",
        *asked(mode, "ask 1 open w+creat+append s1"), "done 1 open ok",
        *asked(mode, "ask 1 open rw s1"), "done 1 open ok",
        "intent 1 w+creat+excl+trunc s1", "result 1 EEXIST")


def test_temporary_files_are_told_when_their_name_is_known(place):
    r = place.run(ACTS, "temporary")
    assert r.count("intent 1 rw+creat+excl t") == 3
    assert r.count("ask 1 rename t") == 3


@MODES
def test_changes_of_names_are_asked(place, mode):
    r = place.run(ACTS, "names", options=mode)
    if not mode:
        r.has("ask 1 rename a b", "done 1 rename ok", "ask 1 rename b c",
              "ask 1 rename c d", "ask 1 link d e", "ask 1 link d f",
              "ask 1 symlink text g", "ask 1 symlink text h",
              "ask 1 unlink e", "ask 1 unlink f", "ask 1 unlink i",
              "ask 1 unlink i", "done 1 unlink EISDIR", "ask 1 unlink i",
              "ask 1 unlink g", "ask 1 truncate d", "ask 1 mknod j",
              "ask 1 rename nothing b", "done 1 rename ENOENT")
    assert r.count("done 1 rename") == 4
    assert r.count("done 1 mknod") == 1  # the FIFO has no content


@MODES
def test_the_current_directory_is_told_after_it_changed(place, mode):
    place.run(ACTS, "places", options=mode).has(
        "done 1 chdir ok", "cwd 1 DIR/sub", "intent 1 w+creat+trunc x",
        "done 1 chdir ok", "cwd 1 DIR", "done 1 chdir ENOENT",
        "open 1 r sub/x")


def test_a_current_directory_of_2000_bytes(place):
    r = place.run(ACTS, "deep")
    assert max(len(x) for x in r.lines if x.startswith("cwd")) > 2000


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_after_chroot_everything_is_asked(place):
    place.run(ACTS, "elsewhere").has(
        "ask 1 namespace .", "done 1 namespace ok", "ask 1 open r /r1")


def test_system_calls_by_number(place):
    r = place.run(ACTS, "raw")
    r.has("open 1 r r1", "ask 1 rename r2 r2b", "done 1 rename ok")
    assert r.count("ask 1 io_uring") == 1


@MODES
def test_received_descriptors_are_seen_before_they_are_closed(place, mode):
    place.run(ACTS, "receive", options=[]).has("fd 1 DIR/r1", "ask 1 sync ")
    assert place.run(ACTS, "receive", options=mode).count("fd 1") == 1


@MODES
def test_a_known_open_is_told_once_per_generation(place, mode):
    r = place.run(ACTS, "known", options=mode)
    assert r.count("open 1 r r1") == 2


# ---- what the program sees ----

@MODES
@pytest.mark.parametrize("act", ["modes", "errno", "descriptors"])
def test_nothing_changes_for_the_program(place, act, mode):
    place.run(ACTS, act, options=mode)


def test_the_environment_is_the_same(place):
    env = dict(os.environ, A="1", B="2")
    plain = subprocess.run([ACTS, "environment"], env=env, text=True,
                           capture_output=True, check=True).stdout
    assert place.run(ACTS, "environment", env=env).out == plain


def test_a_preload_of_the_users_own_stays(place):
    mine = program("libinterpose.so")
    env = dict(os.environ, LD_PRELOAD=mine)
    r = place.run(ACTS, "run", ACTS, "environment", env=env)
    assert f"LD_PRELOAD={mine}\n" in r.out
    assert r.count("hello") == 2 and "ROAR_PRELOAD" not in r.out


def test_proc_environ_does_not_show_us(place):
    r = place.run("cat", "/proc/self/environ")
    assert "ROAR_PRELOAD" not in r.out and "LD_PRELOAD" not in r.out


@pytest.mark.parametrize("first", [True, False])
def test_another_interposer_sees_every_call(place, first):
    """Before us as a preload of the user's, behind us as a needed library."""
    mine = program("libinterpose.so")
    if first:
        r = place.run(ACTS, "names", env=dict(os.environ, LD_PRELOAD=mine))
    else:
        r = place.run(program("acts_interposed"), "names")
    assert "1 opens, 2 renames" in r.out
    assert r.count("ask 1 rename") == 4


def test_constructors_of_other_libraries(place):
    early = program("libearly.so")
    env = dict(os.environ, LD_PRELOAD=early)
    place.run(ACTS, "nothing", env=env).has("hello 1 DIR", "open 1 r r9")


# ---- processes ----

@MODES
@pytest.mark.parametrize("act", ["fork", "clone"])
def test_a_child_says_who_it_is(place, act, mode):
    place.run(ACTS, act, options=mode).has("fork 2 of 1 DIR", "open 2 r r1")


@MODES
def test_vfork_leaves_the_parents_directory_alone(place, mode):
    r = place.run(ACTS, "vfork", options=mode)
    r.has("hello 2 DIR/sub", "open 2 r ../r1", "open 1 r r3")
    assert r.count("cwd") == 0
    assert "open 1 r ../r2" not in r.lines


@MODES
@pytest.mark.parametrize("how", ["execve", "execv", "execvp", "execvpe",
                                 "execl", "execlp", "execle", "fexecve",
                                 "execveat"])
def test_exec_brings_us_along(place, how, mode):
    r = place.run(ACTS, "exec", how, options=mode)
    r.has("hello 2 DIR", "open 2 r r1")
    assert r.out == "x\n" and r.err == ""


@MODES
@pytest.mark.parametrize("how", ["posix_spawn", "posix_spawnp", "system",
                                 "popen"])
def test_spawned_programs_bring_us_along(place, how, mode):
    r = place.run(ACTS, "spawn", how, options=mode)
    assert re.search(r"open \d r r1", "\n".join(r.lines))
    assert r.err == ""


def test_env_i_is_recorded(place):
    r = place.run("env", "-i", "/bin/cat", "r1")
    r.has("hello 2 DIR", "open 2 r r1")
    assert place.run("env", "-i", "/usr/bin/env").out == ""


def test_big_environments_do_not_eat_memory(place):
    assert place.run(ACTS, "big").count("hello") == 51


@pytest.mark.parametrize("name", ["visitor_static", "visitor_32",
                                  "visitor_musl", "visitor_asan_gcc"])
def test_programs_that_cannot_bear_us_are_unharmed(place, name):
    visitor = program(name)
    assert subprocess.run([DUMP, "--bears", visitor], check=False).returncode
    r = place.run(ACTS, "run", visitor)
    assert (r.out, r.err) == ("fine\n", "")
    assert r.count("hello") == 1


def test_a_program_with_its_own_sanitizer_is_recorded(place):
    r = place.run(ACTS, "run", program("visitor_asan_clang"))
    assert (r.out, r.err) == ("fine\n", "")
    assert r.count("hello") == 2 and r.count("intent 2") == 1


def test_scripts_and_set_uid_programs(place):
    def bears(path):
        return subprocess.run([DUMP, "--bears", path],
                              check=False).returncode == 0
    script, nested, suid = (f"{place.path}/{n}" for n in ("s", "n", "u"))
    for path, text in ((script, "#! /bin/sh -e\ntrue\n"),
                       (nested, f"#!{script}\n")):
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o755)
    shutil.copy("/bin/true", suid)
    assert bears(script) and bears(nested) and bears(suid)
    os.chmod(suid, 0o4755)
    assert not bears(suid)
    assert not bears(f"{place.path}/r1") and not bears(place.path)
    place.run(script).has("hello 1 DIR")


# ---- storms ----

@MODES
def test_200_threads(place, mode):
    r = place.run(STORMS, "threads", options=mode)
    assert r.count("intent") == 4000 and r.count("result 1 ok") == 4000


@MODES
def test_fork_in_threads(place, mode):
    r = place.run(STORMS, "fork", options=mode)
    assert r.count("fork") == 80 and r.count("intent") == 80 + 160


@MODES
def test_signals_every_50_microseconds(place, mode):
    r = place.run(STORMS, "signals", options=mode)
    assert r.count("trouble") == 0 and r.count("bad") == 0
    assert r.count("intent") == r.count("result") > 5050


@MODES
@pytest.mark.parametrize("storm", ["stack", "cancel", "cancel_blocked"])
def test_small_stacks_and_cancellation(place, storm, mode):
    place.run(STORMS, storm, options=mode)


def test_opens_while_the_directory_changes(place):
    r = place.run(STORMS, "directory")
    assert r.count("intent") == 300
    assert all(re.fullmatch(r"fd 1 DIR/(sub/)?d\d+-0", x)
               for x in r.lines if x.startswith("fd "))


def only_child(process):
    """Its pid, once there is one."""
    path = f"/proc/{process.pid}/task/{process.pid}/children"
    for _ in range(TIMEOUT * 100):
        with open(path, encoding="utf-8") as f:
            pids = f.read().split()
        if pids:
            return int(pids[0])
        time.sleep(0.01)
    process.kill()
    raise AssertionError("the program was not started")


def test_killed_anywhere_the_log_stays_readable(place):
    for i in range(12):
        with subprocess.Popen(place.command(STORMS, "churn"),
                              cwd=place.path) as dump:
            storm = only_child(dump)
            time.sleep(0.02 + i * 0.002)
            os.kill(storm, signal.SIGKILL)
            assert dump.wait(TIMEOUT) == 0
        lines = place.lines()
        assert lines[-1] == "status killed 9" and "bad" not in lines
        on_disk = {n for n in os.listdir(place.path) if n.startswith("c")}
        told = {x.split()[-1] for x in lines if x.startswith("intent")}
        assert on_disk <= told
        for name in on_disk:
            os.unlink(f"{place.path}/{name}")


# ---- a log that nobody serves ----

def test_a_small_ring_loses_nothing(place):
    """Where there is no room to tell, it is asked."""
    r = place.run(STORMS, "threads", options=["--cells", "1024"])
    assert r.count("intent") + r.count("ask 1 open") == 4000
    assert r.count("trouble") == 0


def test_a_deaf_reader_is_waited_for_once(place):
    start = time.monotonic()
    r = place.run(ACTS, "names", options=["--deaf"])
    assert time.monotonic() - start < 10
    assert r.lines[-2] == "trouble 1"  # late


def test_a_full_ring_is_waited_for_once_and_told(place):
    start = time.monotonic()
    r = place.run(STORMS, "threads", options=["--deaf", "--cells", "1024"])
    assert time.monotonic() - start < 15
    assert r.lines[-2] in ("trouble 2", "trouble 3")  # full


def test_a_closed_log_is_told_nothing(place):
    r = place.run(ACTS, "names", options=["--closed"])
    assert r.count("ask") == 0 and r.count("intent") == 0


def test_a_header_without_sense_makes_us_inert(place):
    r = place.run(ACTS, "run", ACTS, "environment", options=["--bad"])
    assert r.lines == ["status exit 0"] and r.err == ""


# ---- the library itself ----

def test_no_symbol_is_newer_than_glibc_2_17():
    if not shutil.which("objdump"):
        pytest.skip("no objdump")
    out = subprocess.run(["objdump", "-T", LIBRARY], text=True, check=True,
                         capture_output=True).stdout
    versions = {tuple(map(int, v.split(".")))
                for v in re.findall(r"GLIBC_([\d.]+)", out)}
    assert max(versions) <= (2, 17)


def test_libc_is_all_it_needs():
    if not shutil.which("readelf"):
        pytest.skip("no readelf")
    out = subprocess.run(["readelf", "-d", LIBRARY], text=True, check=True,
                         capture_output=True).stdout
    assert re.findall(r"NEEDED.*\[(.*)\]", out) == ["libc.so.6"]
