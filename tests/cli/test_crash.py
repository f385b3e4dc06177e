"""kill -9 at any moment: nothing recorded is lost, nothing stays stopped."""

import copy
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from helpers import (ORDINARY, alive, children_of, descendants_of, gaps_of, names_of,
                     runs_program, state_of, until)

WORK = ("echo a >a; echo ready; read x; cat a >b; echo again; read x; "
        "echo c >c; echo end")


class Run:
    """A run that waits for us, with all its processes known."""

    def __init__(self, place, script=WORK, tracer="auto", command=None,
                 **options):
        self.place = place
        self.process = place.popen("run", "-q", "--tracer", tracer,
                                   *(command or ["sh", "-c", script]),
                                   stdin=subprocess.PIPE, **options)
        assert self.process.stdout.readline() == b"ready\n"
        self.front = self.process.pid
        tracers = [p for p in children_of(self.front)
                   if runs_program(p, place.roar_program)]
        assert len(tracers) == 1
        self.tracer = tracers[0]
        self.tree = [p for p in descendants_of(self.tracer)]

    def go_on(self):
        try:
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
        except OSError:
            pass

    def end(self, timeout=30):
        try:
            out, err = self.process.communicate(timeout=timeout)
        except (OSError, ValueError):
            out, err = b"", b""
            self.process.wait(timeout)
        return out, err

    def settle(self):
        """Waits until every process has come to its end, or is running."""
        until(lambda: not [p for p in self.tree if alive(p)], "the tree", 20)


def assert_nobody_stopped(place):
    stopped = [p for p in place.leftovers() if state_of(p) in ("T", "t")]
    assert stopped == []


def assert_interrupted(place, n_jobs=1):
    """The next command completes the record."""
    jobs = place.jobs()
    assert len(jobs) == n_jobs
    assert jobs[-1]["status"] == "interrupted"
    assert jobs[-1]["verdict"] == "incomplete"
    assert "interrupted" in gaps_of(place.last())
    assert place.journals() == []


def test_a_journal_exists_while_the_command_runs_and_not_after(project):
    run = Run(project)
    assert len(project.journals()) == 1
    assert [j["job_uid"] for j in project.jobs()] == []
    run.go_on()
    run.go_on()
    run.end()
    assert project.journals() == []
    assert len(project.jobs()) == 1


def follows_the_command(pid):
    """The front holds on to the command, in case its tracer is killed."""
    folder = f"/proc/{pid}/fd"
    try:
        return any("pidfd" in os.readlink(os.path.join(folder, fd))
                   for fd in os.listdir(folder))
    except FileNotFoundError:  # one was closed meanwhile
        return False


@pytest.mark.parametrize("tracer, code", [("ptrace", 137), ("hybrid", 0),
                                          ("preload", 0)])
def test_the_tracer_killed_while_the_command_runs(project, tracer, code):
    run = Run(project, tracer=tracer)
    until(lambda: follows_the_command(run.front), "the front")
    os.kill(run.tracer, signal.SIGKILL)
    run.go_on()
    run.go_on()
    run.end()
    run.settle()
    assert run.process.returncode == code
    assert project.exists("c") == (code == 0)
    assert_nobody_stopped(project)
    assert_interrupted(project)
    assert "a" in names_of(project, project.last()["outputs"])
    assert project.last()["command"].startswith("sh -c")


def test_the_tracer_killed_says_so_in_one_line(project):
    process = project.popen("run", "--tracer", "ptrace", "sh", "-c",
                            "echo ready; sleep 60", stdin=subprocess.DEVNULL)
    assert process.stdout.readline() == b"ready\n"
    tracer = children_of(process.pid)[0]
    os.kill(tracer, signal.SIGKILL)
    _, err = process.communicate(timeout=30)
    assert len(err.splitlines()) == 1
    assert err.startswith(b"roar: ")


@pytest.mark.parametrize("end, code", [("exit 7", 7), ("kill -TERM $$", 143)])
@pytest.mark.parametrize("tracer", ["hybrid", "preload"])
def test_the_tracer_killed_the_front_ends_as_the_command_does(project, tracer,
                                                              end, code):
    run = Run(project, "echo ready; read x; " + end, tracer)
    os.kill(run.tracer, signal.SIGKILL)
    time.sleep(0.1)
    assert run.process.poll() is None
    run.go_on()
    _, err = run.end()
    assert run.process.returncode == code
    assert b"the command continues unobserved" in err
    assert len(err.splitlines()) == 1


def test_the_tracer_killed_signals_still_reach_the_command(project):
    run = Run(project, "trap 'echo term; exit 3' TERM; echo ready; "
              "while :; do sleep 0.05; done", "hybrid")
    os.kill(run.tracer, signal.SIGKILL)
    time.sleep(0.1)
    os.kill(run.front, signal.SIGTERM)
    out, _ = run.end()
    assert (run.process.returncode, out) == (3, b"term\n")


def test_the_tracer_killed_the_front_stops_with_the_command(project):
    run = Run(project, tracer="hybrid")
    os.kill(run.tracer, signal.SIGKILL)
    time.sleep(0.1)
    os.kill(run.tree[0], signal.SIGSTOP)
    until(lambda: state_of(run.front) == "T", "the stop")
    assert state_of(run.tree[0]) in "Tt"
    os.kill(run.tree[0], signal.SIGCONT)
    os.kill(run.front, signal.SIGCONT)
    run.go_on()
    run.go_on()
    run.end()
    assert run.process.returncode == 0


# Reads and creates files in ways that nobody is asked about.
TELLS = """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
for i in range(20):
    os.close(os.open(f"in{i}", os.O_RDONLY))
    os.close(os.open(f"out{i}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
print("told", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("front", [True, False])
@pytest.mark.parametrize("tracer", ["hybrid", "preload"])
def test_what_programs_told_a_tracer_that_was_killed_is_not_lost(
        project, tracer, front):
    """It does not get to read the log, which the front or the next roar does."""
    for i in range(20):
        project.write(f"in{i}", age=0)
    time.sleep(0.05)
    run = Run(project, tracer=tracer,
              command=[sys.executable, "-I", "-S", "-c", TELLS])
    os.kill(run.tracer, signal.SIGSTOP)
    run.go_on()
    assert run.process.stdout.readline() == b"told\n"
    if not front:
        os.kill(run.front, signal.SIGKILL)
    os.kill(run.tracer, signal.SIGKILL)
    run.go_on()
    run.end()
    run.settle()
    assert_interrupted(project)
    job = project.last()
    names = sorted(f"{kind}{i}" for kind in ("in", "out") for i in range(20))
    assert names == sorted(n for n in names_of(project, job["inputs"]) +
                           names_of(project, job["outputs"])
                           if n.startswith(("in", "out")))
    assert [n for n in os.listdir("/dev/shm")
            if n.endswith("-" + job["job_uid"])] == []


def test_the_front_killed_the_run_goes_on_and_is_recorded(project):
    run = Run(project)
    os.kill(run.front, signal.SIGKILL)
    run.go_on()
    time.sleep(0.3)
    run.go_on()
    run.settle()
    until(lambda: not alive(run.tracer), "the end of the tracer", 20)
    run.end()
    assert_nobody_stopped(project)
    assert project.read("c") == b"c\n"
    assert len(project.jobs()) == 1
    assert names_of(project, project.last()["outputs"]) == ["a", "b", "c"]
    assert project.journals() == []


def test_both_killed_at_once(project):
    run = Run(project)
    os.kill(run.front, signal.SIGKILL)
    os.kill(run.tracer, signal.SIGKILL)
    run.go_on()
    run.go_on()
    run.end()
    run.settle()
    assert_nobody_stopped(project)
    assert_interrupted(project)


def test_the_command_killed_is_an_ordinary_end(project):
    run = Run(project)
    os.kill(run.tree[0], signal.SIGKILL)
    run.end()
    assert run.process.returncode == 137
    job = project.last()
    assert job["exit_code"] == 137
    assert job["verdict"] == "complete"
    assert names_of(project, job["outputs"]) == ["a"]


@pytest.mark.parametrize("delay_ms", [0, 1, 2, 3, 5, 8, 12, 20, 35, 60, 120])
def test_killed_at_some_moment_of_a_busy_run(project, delay_ms):
    """The tracer dies while the command opens files all the time."""
    process = project.popen(
        "run", "-q", "sh", "-c",
        "i=0; while [ $i -lt 150 ]; do echo $i >f; cat f; "
        "i=$((i+1)); done", stdout=subprocess.DEVNULL)
    until(lambda: children_of(process.pid) or process.poll() is not None,
          "the tracer")
    tracer = children_of(process.pid)[:1]
    time.sleep(delay_ms / 1000)
    for pid in tracer:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.communicate(timeout=60)
    until(lambda: not project.leftovers(), "the end of all", 20)
    jobs = project.jobs()
    assert len(jobs) <= 1
    # Once the command has begun, its run is recorded.
    assert jobs or not project.exists("f")
    assert project.journals() == []
    assert project.json("db", "--check")["integrity"] == "sound"


def test_a_tree_of_stopped_tracees_is_never_left(project):
    """Many processes, all likely to be in a stop when the tracer dies."""
    script = ("for i in 1 2 3 4 5 6 7 8; do (while :; do cat /dev/null; "
              "done) & done; echo ready; wait")
    process = project.popen("run", "-q", "--tracer", "ptrace", "sh", "-c",
                            script)
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.3)
    tracer = children_of(process.pid)[0]
    tree = descendants_of(tracer)
    os.kill(tracer, signal.SIGKILL)
    process.communicate(timeout=30)
    time.sleep(0.5)
    assert [p for p in tree if state_of(p) in ("T", "t")] == []
    for pid in [p for p in project.leftovers()]:
        os.kill(pid, signal.SIGKILL)
    project("log")


def keep_journal(place, run):
    name = place.journals()[0]
    with open(place.path(".roar", "runs", name), "rb") as f:
        return name, f.read()


def put_journal(place, name, data):
    with open(place.path(".roar", "runs", name), "wb") as f:
        f.write(data)


def test_killed_between_commit_and_removal_of_the_journal(project):
    run = Run(project)
    run.go_on()
    run.process.stdout.readline()
    name, data = keep_journal(project, run)
    run.go_on()
    run.end()
    assert len(project.jobs()) == 1
    before = project.last()
    put_journal(project, name, data)
    assert len(project.jobs()) == 1
    assert project.last() == before
    assert project.journals() == []


def test_torn_journals_are_completed_or_dropped(project):
    run = Run(project)
    run.go_on()
    run.process.stdout.readline()
    name, data = keep_journal(project, run)
    os.kill(run.tracer, signal.SIGKILL)
    run.end()
    run.settle()
    os.unlink(project.path(".roar", "runs", name))
    used = len(data.rstrip(b"\0"))
    lengths = [0, 1, 8, 63, 64, 65, 100, used // 4, used // 2, used - 1, used]
    for i, length in enumerate(lengths):
        put_journal(project, name.replace(name[:4], f"{i:04x}"),
                    data[:length])
    done = project("log", "--json")
    assert len(project.jobs()) <= 1
    assert project.journals() == []
    assert done.code == 0


def test_torn_journals_with_garbage_behind(project):
    run = Run(project)
    name, data = keep_journal(project, run)
    os.kill(run.tracer, signal.SIGKILL)
    run.end()
    run.settle()
    used = len(data.rstrip(b"\0"))
    put_journal(project, name, data[:used] + os.urandom(4096))
    assert_interrupted(project)


def test_garbage_in_the_folder_of_journals_stops_nobody(project):
    project.run("true")
    runs = project.path(".roar", "runs")
    for name, content in (("empty.journal", b""), ("text.journal", b"hello"),
                          ("magic.journal", b"roarjrn1"),
                          ("long.journal", b"roarjrn1" + b"\xff" * 5000),
                          ("random.journal", os.urandom(10000)),
                          ("note.txt", b"not ours")):
        with open(os.path.join(runs, name), "wb") as f:
            f.write(content)
    os.mkdir(os.path.join(runs, "folder.journal"))
    os.symlink("/nowhere", os.path.join(runs, "link.journal"))
    os.mkfifo(os.path.join(runs, "fifo.journal"))
    for args in (["log"], ["status"], ["show"], ["dag"], ["db"],
                 ["run", "-q", "true"]):
        project(*args, timeout=20)
    assert len(project.jobs()) == 2
    assert project.exists(".roar/runs/note.txt")


def test_garbage_does_not_keep_a_real_journal_from_recovery(project):
    run = Run(project)
    for i in range(16):
        os.mkdir(project.path(".roar", "runs", f"{i:08x}.journal"))
    os.kill(run.tracer, signal.SIGKILL)
    run.end()
    run.settle()
    jobs = project.jobs()
    assert [j["status"] for j in jobs] == ["interrupted"]


def test_an_unreadable_journal_stops_nobody(user):
    user.run("true")
    path = user.write(".roar/runs/12345678.journal", "roarjrn1", mode=0)
    if os.geteuid() == 0:
        os.chown(path, 0, 0)
    for args in (["log"], ["status"], ["run", "-q", "true"]):
        user(*args)


def test_the_journal_of_a_living_run_is_left_alone(project):
    run = Run(project)
    for _ in range(3):
        assert project.jobs() == []
        project.run("true", "other")
        project("pop", "-y")
    assert len(project.journals()) == 1
    run.go_on()
    run.go_on()
    run.end()
    assert [j["status"] for j in project.jobs()] == ["ok"]


def test_two_runs_at_once_are_both_recorded(project):
    first = Run(project)
    second = Run(project, script="echo z >z; echo ready; read x; echo end")
    assert len(project.journals()) == 2
    first.go_on()
    first.go_on()
    second.go_on()
    first.end()
    second.end()
    jobs = project.jobs()
    assert len(jobs) == 2
    assert {j["step_number"] for j in jobs} == {1, 2}
    assert all(j["verdict"] == "complete" for j in jobs)


def test_many_runs_at_once_are_all_recorded(project):
    processes = [project.popen("run", "-q", "sh", "-c",
                               f"cat in{i}; echo {i} >out{i}")
                 for i in range(12) if project.write(f"in{i}", age=0)]
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    jobs = project.jobs()
    assert len(jobs) == 12
    assert sorted(j["step_number"] for j in jobs) == list(range(1, 13))
    assert project.json("db", "--check")["integrity"] == "sound"


def test_many_first_runs_at_once_make_one_project(empty):
    processes = [empty.popen("run", "-q", "sh", "-c", f"echo {i} >out{i}")
                 for i in range(6)]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, b"")
    assert len(empty.jobs()) == 6


def test_recovery_by_several_commands_at_once_records_once(project):
    run = Run(project)
    os.kill(run.tracer, signal.SIGKILL)
    run.end()
    run.settle()
    readers = [project.popen("log") for _ in range(6)]
    for reader in readers:
        _, err = reader.communicate(timeout=60)
        assert reader.returncode == 0, err
    assert_interrupted(project)


def test_recovery_keeps_kind_name_and_folder(project):
    os.mkdir(project.path("sub"))
    process = project.popen("build", "-q", "-n", "my build", "sh", "-c",
                            "echo ready; read x", stdin=subprocess.PIPE,
                            cwd=project.path("sub"))
    process.stdout.readline()
    os.kill(children_of(process.pid)[0], signal.SIGKILL)
    process.communicate(timeout=30)
    job = project.last()
    assert job["kind"] == "build"
    assert job["name"] == "my build"
    assert job["cwd"] == project.path("sub")
    assert job["status"] == "interrupted"


def test_recovery_hashes_what_can_still_be_hashed(project):
    project.write("in", "input\n")
    run = Run(project, script="cat in >out; echo ready; read x")
    os.kill(run.tracer, signal.SIGKILL)
    run.end()
    run.settle()
    job = project.last()
    for row in job["inputs"] + job["outputs"]:
        assert row["digests"], row


def test_recovery_does_not_take_a_changed_input_for_what_was_read(project):
    project.write("in", "input\n")
    run = Run(project, script="cat in >/dev/null; echo ready; read x")
    os.kill(run.tracer, signal.SIGKILL)
    run.end()
    run.settle()
    project.write("in", "something else\n")
    job = project.last()
    row = [r for r in job["inputs"] if r["path"] == project.path("in")][0]
    project.write("probe", "something else\n")
    project.sh("cat probe")
    changed = project.digests("probe")
    assert row["digests"] is None or row["digests"] != changed


def test_a_run_after_a_crash_recovers_it_too(project):
    run = Run(project)
    os.kill(run.tracer, signal.SIGKILL)
    run.end()
    run.settle()
    project.run("true")
    jobs = project.jobs()
    assert sorted(j["status"] for j in jobs) == ["interrupted", "ok"]
    assert project.journals() == []


def test_a_journal_that_was_never_born_is_removed(project):
    """What a kill leaves before the journal has its name."""
    project.write(".roar/runs/12345678.journal.new", "", age=0)
    project.write(".roar/runs/23456789.journal.new", b"roarjrn1" * 9, age=0)
    assert project.jobs() == []
    assert project.journals() == []


def test_recovery_killed_is_done_by_the_next_command(project):
    """The promise holds for the roar that completes a record, too."""
    for i in range(12):
        run = Run(project)
        os.kill(run.tracer, signal.SIGKILL)
        run.end()
        run.settle()
        reader = project.popen("log")
        time.sleep(0.001 * i)
        reader.kill()
        reader.communicate(timeout=30)
        assert_interrupted(project, i + 1)
    assert project.json("db", "--check")["integrity"] == "sound"


def test_killed_writers_leave_a_sound_database(project):
    """The end of the run, where it records, is where it is killed."""
    for i in range(12):
        process = project.popen("run", "-q", "sh", "-c",
                                f"for j in 1 2 3 4 5 6; do echo {i} >f{i}.$j;"
                                " done")
        until(lambda p=process: children_of(p.pid) or p.poll() is not None,
              "the tracer")
        tracer = children_of(process.pid)[:1]
        time.sleep(0.002 * i)
        for pid in tracer:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.communicate(timeout=60)
    jobs = project.jobs()
    assert len({j["job_uid"] for j in jobs}) == len(jobs)
    assert project.json("db", "--check")["integrity"] == "sound"
    assert project.journals() == []


def test_reading_commands_killed_leave_everything(project):
    project.sh("echo a >a")
    for i in range(10):
        process = project.popen("log")
        time.sleep(0.0005 * i)
        process.kill()
        process.communicate(timeout=30)
    assert len(project.jobs()) == 1


def test_the_python_of_the_tests_sees_no_zombies(project):
    """The front reaps its tracer."""
    project.run(sys.executable, "-c", "pass")
    assert children_of(os.getpid()) == []


# ---- root works for a user ----

@pytest.fixture
def sudo(user):
    """A user's project, and roar as root in it: sudo without a password."""
    if os.geteuid() != 0:
        pytest.skip("needs root to be root for somebody")
    as_root = copy.copy(user)
    as_root.user = None
    as_root.env = {**user.env, "SUDO_UID": str(ORDINARY),
                   "SUDO_GID": str(ORDINARY)}
    return user, as_root


def kill_run(place):
    """A run of which the journal is all that is left."""
    run = Run(place)
    for pid in (run.front, run.tracer):
        os.kill(pid, signal.SIGKILL)
    run.end()
    run.settle()
    assert len(place.journals()) == 1
    return place.path(".roar", "runs", place.journals()[0])


def test_a_killed_run_of_sudo_is_completed_by_its_user(sudo):
    user, as_root = sudo
    journal = kill_run(as_root)
    assert os.stat(journal).st_uid == ORDINARY
    done = user("log")
    assert done.err == ""
    jobs = user.jobs()
    assert [j["status"] for j in jobs] == ["interrupted"]
    assert user.journals() == []
    # The tracer's log is root's, whose later runs would remove it.
    for log in glob.glob(f"/dev/shm/roar-log-*-{jobs[0]['job_uid']}"):
        os.unlink(log)


def test_a_journal_that_is_not_to_be_read_is_named_with_the_remedy(sudo):
    user, as_root = sudo
    user.run("true")
    journal = kill_run(user)
    os.chown(journal, 0, 0)
    done = user("log")
    assert done.err == (
        f"roar: runs that were killed are not recorded yet: '{journal}' cannot "
         "be completed: Permission denied: the run belongs to another user, "
         "often root; 'sudo roar status' completes it\n")
    assert done.out.count("\n") >= 1
    assert as_root("status").err == ""
    assert user("log").err == ""
    assert len(user.jobs()) == 2


def test_what_sudo_makes_belongs_to_who_typed_it(sudo):
    user, as_root = sudo
    shutil.rmtree(user.path(".roar"))
    as_root.sh("echo a >a")
    for folder, _, files in os.walk(user.path(".roar")):
        assert os.stat(folder).st_uid == ORDINARY
        for name in files:
            path = os.path.join(folder, name)
            if name != "git-look":
                assert os.stat(path).st_uid == ORDINARY, path
    user.sh("echo b >b")
    assert len(user.jobs()) == 2


def test_what_sudo_sets_belongs_to_who_typed_it(sudo):
    user, as_root = sudo
    shutil.rmtree(user.path(".roar"))
    user.write(".git/config")
    os.chown(user.path(".git"), ORDINARY, ORDINARY)
    as_root("init", "--yes")
    as_root("config", "set", "hints.enabled", "false")
    as_root("env", "set", "A", "b")
    as_root("filter", "add", "*.log")
    as_root("tracer", "use", "auto")
    for name in (".gitignore", ".roar/config.toml", ".roar/roar.db"):
        assert os.stat(user.path(name)).st_uid == ORDINARY, name
    assert user("env", "get", "A").out == "b\n"
    user.sh("echo $A >a")
    assert user.read("a") == b"b\n"


def test_sudo_works_in_a_project_where_root_has_left_files(sudo):
    user, as_root = sudo
    user.run("true")
    for name in ("roar.db", "runs"):
        os.chown(user.path(".roar", name), 0, 0)
    as_root.sh("echo a >a")
    assert as_root.last()["verdict"] == "complete"
    assert len(as_root.jobs()) == 2
