"""What must not happen: the command still runs, one sentence says what is
wrong, and nothing already recorded is lost."""

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from helpers import children_of, gaps_of, lines, until

SCHEMA_1 = os.path.join(os.path.dirname(__file__), "..", "..", "lib", "store", "schema.sql")
WORK = ["sh", "-c", "echo out; echo made >made; exit 3"]


def check_command_ran(place, done, sentences=1):
    """The command did its work, and roar said one sentence."""
    assert done.code == 3
    assert done.out == "out\n"
    assert place.read("made") == b"made\n"
    assert len(lines(done.err)) == sentences, done.err
    assert all(line.startswith("roar: ") for line in lines(done.err))
    os.unlink(place.path("made"))


# ---- the folder ----

def test_the_folder_is_deleted_during_the_run(project):
    done = project("run", "sh", "-c", "rm -rf .roar; echo out; "
                   "echo made >made; exit 3", code=3)
    check_command_ran(project, done)
    assert project.leftovers() == []


def test_the_folder_is_deleted_and_the_next_run_starts_anew(project):
    project("run", "sh", "-c", "rm -rf .roar")
    project.run("true")
    assert len(project.jobs()) >= 1


def test_the_database_is_deleted_during_the_run(project):
    done = project("run", "sh", "-c", "rm -f .roar/roar.db*; echo out; "
                   "echo made >made; exit 3", code=3)
    check_command_ran(project, done)


def test_the_folder_of_journals_is_missing(project):
    shutil.rmtree(project.path(".roar", "runs"))
    done = project("run", *WORK, code=3)
    check_command_ran(project, done)
    assert len(project.jobs()) == 1


def test_the_database_is_missing(project):
    for name in os.listdir(project.path(".roar")):
        if name.startswith("roar.db"):
            os.unlink(project.path(".roar", name))
    done = project("run", *WORK, code=3)
    check_command_ran(project, done)
    assert len(project.jobs()) == 1


def test_the_database_is_a_directory(project):
    for name in os.listdir(project.path(".roar")):
        if name.startswith("roar.db"):
            os.unlink(project.path(".roar", name))
    os.mkdir(project.path(".roar", "roar.db"))
    check_command_ran(project, project("run", *WORK, code=3))
    assert len(lines(project("log", code=1).err)) == 1


def test_a_read_only_project_that_was_initialised(user):
    user.sh("echo a >a")
    subprocess.run(["chmod", "-R", "a-w", user.path(".roar")], check=True)
    done = user("run", *WORK, code=3)
    check_command_ran(user, done)
    subprocess.run(["chmod", "-R", "u+w", user.path(".roar")], check=True)
    assert [j["exit_code"] for j in user.jobs()][0] == 0


def test_a_read_only_folder_without_project(user):
    shutil.rmtree(user.path(".roar"))
    os.chmod(user.root, 0o555)
    done = user("run", "sh", "-c", "echo out; exit 3", code=3)
    assert done.out == "out\n"
    assert len(lines(done.err)) == 1
    assert "not recorded" in done.err or ".roar" in done.err
    os.chmod(user.root, 0o755)


def test_reading_commands_in_a_read_only_project(user):
    user.sh("echo a >a")
    subprocess.run(["chmod", "-R", "a-w", user.path(".roar")], check=True)
    for args in (["log"], ["status"], ["show", "@1"], ["dag"], ["db"]):
        user(*args)
    done = user("reset", "-y", code=1)
    assert len(lines(done.err)) == 1
    subprocess.run(["chmod", "-R", "u+w", user.path(".roar")], check=True)


def test_a_project_of_somebody_else(user):
    """The folder may be entered but not looked into."""
    if os.geteuid() != 0:
        pytest.skip("needs root to make a project of another user")
    user.sh("echo a >a")
    for folder, _, files in os.walk(user.path(".roar")):
        os.chown(folder, 0, 0)
        for name in files:
            os.chown(os.path.join(folder, name), 0, 0)
    done = user("run", *WORK, code=3)
    check_command_ran(user, done)
    assert len(lines(user("log", code=1).err)) == 1


def test_a_closed_project_of_root_above_is_passed_over(user):
    """In a folder that is everybody's it would disable roar below."""
    if os.geteuid() != 0:
        pytest.skip("needs root to make a project of root")
    subprocess.run(["rm", "-r", user.path(".roar")], check=True)
    os.chown(user.base, 0, 0)
    os.mkdir(os.path.join(user.base, ".roar"), 0o700)
    assert "initialised" in user("run", "sh", "-c", "echo a >a").err
    assert len(user.jobs()) == 1
    assert os.listdir(os.path.join(user.base, ".roar")) == []


def test_an_open_project_of_root_above_is_found(user):
    if os.geteuid() != 0:
        pytest.skip("needs root to make a project of root")
    subprocess.run(["rm", "-r", user.path(".roar")], check=True)
    os.chown(user.base, 0, 0)
    os.mkdir(os.path.join(user.base, ".roar"), 0o755)
    assert "could not be recorded" in user("run", "true").err
    assert not user.exists(".roar")


# ---- the database ----

def corrupt(place, how):
    for name in ("roar.db-wal", "roar.db-shm"):
        if place.exists(os.path.join(".roar", name)):
            os.unlink(place.path(".roar", name))
    path = place.path(".roar", "roar.db")
    if how == "garbage":
        data = os.urandom(os.path.getsize(path))
    elif how == "empty tail":
        with open(path, "rb") as f:
            data = f.read()[:4096] + b"\0" * 20000
    else:
        with open(path, "rb") as f:
            data = f.read()
        data = data[:4096] + bytes(255 - b for b in data[4096:12288]) + (
            data[12288:])
    with open(path, "wb") as f:
        f.write(data)


@pytest.mark.parametrize("how", ["garbage", "empty tail", "flipped pages"])
def test_a_corrupted_database(project, how):
    project.sh("echo a >a")
    with project.database() as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    corrupt(project, how)
    done = project("run", *WORK, code=3)
    assert done.out == "out\n"
    assert project.read("made") == b"made\n"
    assert len(lines(done.err)) == 1
    reading = project("log", code=None)
    assert reading.code in (0, 1)
    # Where the damage is found only by reading, the run that waits to be
    # recorded is a second thing to say.
    assert len(lines(reading.err)) <= (2 if how == "flipped pages" else 1)


def test_a_corrupted_database_is_never_overwritten_by_guessing(project):
    project.sh("echo a >a")
    with project.database() as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    corrupt(project, "garbage")
    before = project.read(".roar/roar.db")
    project("run", *WORK, code=3)
    project("log", code=1)
    assert project.read(".roar/roar.db") == before


def test_a_run_during_a_corruption_is_recorded_when_it_is_repaired(project):
    """The journal is kept until the record can be made."""
    project.sh("echo a >a")
    with project.database() as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    good = project.read(".roar/roar.db")
    corrupt(project, "garbage")
    done = project("run", *WORK, code=3)
    assert "journal" in done.err
    assert len(project.journals()) == 1
    with open(project.path(".roar", "roar.db"), "wb") as f:
        f.write(good)
    jobs = project.jobs()
    assert len(jobs) == 2
    assert jobs[1]["command"].startswith("sh -c")
    assert jobs[1]["exit_code"] == 3
    assert project.journals() == []


def test_a_database_of_a_newer_version(project):
    project.sh("echo a >a")
    with project.database() as db:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        db.execute(f"PRAGMA user_version = {version + 1}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = project.read(".roar/roar.db")
    done = project("run", *WORK, code=3)
    check_command_ran(project, done)
    assert "newer" in done.err
    for args in (["log"], ["status"], ["reset", "-y"], ["pop", "-y"],
                 ["db", "--compact"]):
        said = project(*args, code=1).err
        assert "newer" in said
        assert len(lines(said)) == 1
    assert project.read(".roar/roar.db") == before


def test_a_database_that_somebody_holds_locked(project):
    """A writer that takes its time delays the record, not the command."""
    project.run("true")
    db = project.database()
    db.execute("BEGIN IMMEDIATE")
    process = project.popen("run", "sh", "-c", "echo x >x; exit 3")
    until(lambda: project.exists("x"), "the command")
    db.execute("ROLLBACK")
    db.close()
    process.communicate(timeout=60)
    assert process.returncode == 3
    assert len(project.jobs()) == 2


# ---- no space ----

def on_small_disk(place, size, script):
    """Runs a script where a tiny file system is mounted as ./disk."""
    os.makedirs(place.path("disk"), exist_ok=True)
    mount = (f"mount -t tmpfs -o size={size} none disk && cd disk && "
             "exec sh -ec \"$1\"")
    options = ["-m"] if os.geteuid() == 0 else ["-rm"]
    probe = subprocess.run(["unshare", *options, "sh", "-c",
                            "mount -t tmpfs none /mnt"], check=False,
                           stderr=subprocess.PIPE)
    if probe.returncode:
        pytest.skip("no file system can be mounted here: "
                    f"{probe.stderr.decode().strip()}")
    env = place.environment({"ROAR": place.roar_program})
    return subprocess.run(["unshare", *options, "sh", "-c", mount, "sh",
                           script], cwd=place.root, env=env, timeout=120,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, text=True)


def test_a_full_disk_before_the_first_run(empty):
    done = on_small_disk(empty, "64k", """
        head -c 1000000 /dev/zero >fill || :
        code=0
        "$ROAR" run sh -c 'echo out; exit 3' || code=$?
        echo code $code
    """)
    said = [n for n in lines(done.stderr) if n.startswith("roar: ")]
    assert done.stdout == "out\ncode 3\n", done
    assert len(said) == 1


def test_a_full_disk_in_an_initialised_project(empty):
    done = on_small_disk(empty, "1m", """
        "$ROAR" init >/dev/null
        "$ROAR" run -q sh -c 'echo a >a'
        head -c 2000000 /dev/zero >fill || :
        code=0
        "$ROAR" run sh -c 'echo out; exit 3' 2>/dev/shm/said.$$ || code=$?
        echo code $code
        cat /dev/shm/said.$$ >&2; rm /dev/shm/said.$$
        rm fill
        "$ROAR" run -q true
        "$ROAR" log --json | grep -c job_uid
        "$ROAR" db --check | grep Integrity
    """)
    assert done.stdout.startswith("out\ncode 3\n"), done
    rest = lines(done.stdout)[2:]
    # The run on the full disk may be recorded later from its journal.
    assert rest[0] in ("2", "3")
    assert "sound" in rest[1]
    said = [n for n in lines(done.stderr) if n.startswith("roar: ")]
    assert len(said) == 1


def test_the_disk_becomes_full_by_the_command(empty):
    done = on_small_disk(empty, "1m", """
        "$ROAR" init >/dev/null
        code=0
        "$ROAR" run sh -c 'head -c 2000000 /dev/zero >fill; exit 3' \
            2>/dev/shm/said.$$ || code=$?
        echo code $code
        cat /dev/shm/said.$$ >&2; rm /dev/shm/said.$$
        rm -f fill
        "$ROAR" run -q true
        "$ROAR" db --check | grep Integrity
    """)
    assert lines(done.stdout)[0] == "code 3", done
    assert "sound" in done.stdout


def test_a_limit_on_the_size_of_files(project):
    """RLIMIT_FSIZE hits roar's own files, too, and comes with a signal."""
    project.sh("echo a >a")

    def prepare():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    done = project("run", "sh", "-c", "echo out; exit 3", code=3,
                   preexec_fn=prepare)
    assert done.out == "out\n"
    assert len(lines(done.err)) == 1
    assert len(project.jobs()) >= 1
    assert project.json("db", "--check")["integrity"] == "sound"


def test_a_limit_on_the_size_of_files_is_the_commands_as_well(project):
    """With its signal: SIGXFSZ ends the command as it would without roar."""
    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    done = project("run", "-q", "sh", "-c",
                   "ulimit -c 0; exec head -c 1000000 /dev/zero >big",
                   code=None, preexec_fn=prepare, restore_signals=False)
    assert done.code == 128 + signal.SIGXFSZ


def with_size_limit(limit, disposition=signal.SIG_DFL):
    """For preexec_fn: what `ulimit -f` and the shell leave behind."""
    def prepare():
        signal.signal(signal.SIGXFSZ, disposition)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return {"preexec_fn": prepare, "restore_signals": False}


@pytest.mark.parametrize("limit", [0, 1, 4096, 20480, 65535, 65536, 131072])
def test_no_limit_on_the_size_of_files_stops_roar_or_loses_a_record(project,
                                                                    limit):
    """One sentence; what was recorded stays; what is left of this run is
    recorded when there is no limit any more."""
    project.sh("echo a >a")
    for _ in range(2):
        done = project("run", "sh", "-c", "echo out; exit 3", code=3,
                       **with_size_limit(limit))
        assert done.out == "out\n"
        assert len(lines(done.err)) == 1, done.err
        assert done.err.startswith("roar: ")
        if "could not be recorded" in done.err:
            assert "ulimit -f" in done.err
    kept = len(project.journals())
    jobs = project.jobs()
    assert jobs[0]["exit_code"] == 0
    assert len(jobs) >= 1 + kept
    assert project.journals() == []
    assert project.json("db", "--check")["integrity"] == "sound"


def test_a_limit_on_the_size_of_files_before_the_first_run(empty):
    done = empty("run", "sh", "-c", "echo out; exit 3", code=3,
                 **with_size_limit(0))
    assert done.out == "out\n"
    assert len(lines(done.err)) == 1
    assert "not recorded" in done.err
    assert not empty.exists(".roar")
    empty.run("true")
    assert len(empty.jobs()) == 1


def test_a_limit_on_the_size_of_files_and_a_run_to_be_recovered(project):
    process = project.popen("run", "-q", "--tracer", "ptrace", "sh", "-c",
                            "echo ready; sleep 60")
    assert process.stdout.readline() == b"ready\n"
    os.kill(children_of(process.pid)[0], signal.SIGKILL)
    process.communicate(timeout=30)
    for args in (["run", "true"], ["log"], ["status"]):
        done = project(*args, code=None, **with_size_limit(0))
        assert done.code in (0, 1), done
    assert len(project.journals()) >= 1
    assert any(j["status"] == "interrupted" for j in project.jobs())


@pytest.mark.parametrize("limit", [0, 1000000])
@pytest.mark.parametrize("disposition, ignored", [
    (signal.SIG_DFL, False), (signal.SIG_IGN, True)])
def test_the_command_finds_sigxfsz_as_roar_did(project, limit, disposition,
                                               ignored):
    for place in (project, None):
        if place is None:  # unobserved
            shutil.rmtree(project.path(".roar"))
            project.write(".roar", "no folder\n")
        done = project("run", "-q", "grep", "SigIgn", "/proc/self/status",
                       **with_size_limit(limit, disposition))
        mask = int(done.out.split()[1], 16)
        assert bool(mask >> (signal.SIGXFSZ - 1) & 1) == ignored


def test_a_journal_that_cannot_grow_is_not_taken_for_a_killed_runs(project):
    """While such a run goes on, others leave it alone; it is recorded once."""
    script = ("i=0; while [ $i -lt 600 ]; do i=$((i+1)); : >file-$i; done; "
              "echo ready; read x")
    process = project.popen("run", "sh", "-c", script,
                            stdin=subprocess.PIPE, **with_size_limit(20480))
    assert process.stdout.readline() == b"ready\n"
    assert project.jobs() == []
    assert len(project.journals()) == 1
    _, err = process.communicate(b"\n", timeout=60)
    assert process.returncode == 0
    assert len(lines(err.decode())) == 1
    assert len(project.jobs()) == 1
    assert project.last()["verdict"] == "incomplete"


def test_no_memory_for_roar_is_not_the_commands_problem(project):
    if "ASAN_OPTIONS" in project.env:
        pytest.skip("a sanitizer needs more address space than this")
    for megabytes in (40, 80, 160):
        def prepare(limit=megabytes * 1024 * 1024):
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        done = project("run", "sh", "-c", "echo out; exit 3", code=3,
                       preexec_fn=prepare)
        assert done.out == "out\n"


def test_no_processes_left_for_roar(user):
    """RLIMIT_NPROC: where the shell could not fork, roar may not either."""
    if os.geteuid() == 0 and user.user is None:
        pytest.skip("root has no such limit")
    script = ("import os, resource, sys\n"
              "resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))\n"
              "os.execv(sys.argv[1], sys.argv[1:])\n")
    prefix = user.argv()[:-1]
    done = subprocess.run([*prefix, sys.executable, "-c", script,
                           user.roar_program, "run", "/bin/echo", "out"],
                          cwd=user.root, env=user.env, timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"out\n"
    assert len(lines(done.stderr.decode())) == 1


# ---- tracing forbidden ----

# No library to preload, no daemon to ask: then only ptrace and seccomp are left.
BARE = {"ROAR_PRELOAD_LIBRARY": "/nowhere/libroar-preload.so",
        "ROAR_ROARD_SOCKET": "/nowhere/roard.sock"}
ALL = ["ptrace", "seccomp"]


def denied(place, deny, words, *args):
    env = place.environment({**place.without_leak_check(), **BARE})
    prefix = place.argv()[:-1]
    done = subprocess.run([*prefix, deny, *words, "--", place.roar_program,
                           *args], cwd=place.root, env=env, timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, text=True)
    return done


@pytest.fixture(params=["root", "ordinary"])
def anyone(request):
    """A project of whoever runs the tests, and one of an ordinary user."""
    return request.getfixturevalue(
        "project" if request.param == "root" else "user")


@pytest.fixture
def deny_for(anyone, deny):
    """The helper where everybody may execute it."""
    target = os.path.join(anyone.base, "deny")
    shutil.copy(deny, target)
    os.chmod(target, 0o755)
    return target


def test_ptrace_forbidden(anyone, deny_for):
    """There are other tracers."""
    done = denied(anyone, deny_for, ["ptrace"], "run", *WORK)
    assert (done.returncode, done.stdout) == (3, "out\n"), done.stderr
    assert len(lines(done.stderr)) == 1
    job = anyone.last()
    assert (job["tracer"], job["verdict"]) == ("hybrid", "complete")
    assert [os.path.basename(f["path"]) for f in job["outputs"]] == ["made"]


def test_all_tracers_forbidden(anyone, deny_for):
    done = denied(anyone, deny_for, ALL, "run", *WORK)
    assert (done.returncode, done.stdout) == (3, "out\n"), done.stderr
    assert anyone.read("made") == b"made\n"
    assert len(lines(done.stderr)) == 1
    job = anyone.last()
    assert job["verdict"] == "incomplete"
    assert gaps_of(job) == ["untraced"]
    assert job["exit_code"] == 3
    assert job["tracer"] == "none"


def test_all_tracers_forbidden_and_no_fallback_wanted(anyone, deny_for):
    done = denied(anyone, deny_for, ALL, "run",
                  "--no-tracer-fallback", *WORK)
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(lines(done.stderr)) == 1
    assert not anyone.exists("made")
    assert anyone.jobs() == []
    assert anyone.journals() == []


def test_seccomp_forbidden(anyone, deny_for):
    done = denied(anyone, deny_for, ["seccomp"], "run", *WORK)
    assert (done.returncode, done.stdout) == (3, "out\n"), done.stderr
    assert anyone.read("made") == b"made\n"
    assert len(lines(done.stderr)) == 1
    job = anyone.last()
    if job["verdict"] == "complete":
        assert [os.path.basename(f["path"]) for f in job["outputs"]] == [
            "made"]


def test_reading_of_memory_forbidden(anyone, deny_for):
    done = denied(anyone, deny_for, ["vm"], "run", *WORK)
    assert (done.returncode, done.stdout) == (3, "out\n"), done.stderr
    assert anyone.read("made") == b"made\n"
    job = anyone.last()
    if job["verdict"] == "complete":
        assert [os.path.basename(f["path"]) for f in job["outputs"]] == [
            "made"]


def test_everything_forbidden(anyone, deny_for):
    done = denied(anyone, deny_for, ["ptrace", "seccomp", "vm", "io_uring"],
                  "run", *WORK)
    assert (done.returncode, done.stdout) == (3, "out\n"), done.stderr
    assert len(lines(done.stderr)) == 1
    assert anyone.last()["verdict"] == "incomplete"


def test_forbidden_tracing_and_a_missing_command(anyone, deny_for):
    done = denied(anyone, deny_for, ALL, "run", "no-such-program")
    assert done.returncode == 127
    assert len(lines(done.stderr)) == 1
    assert anyone.jobs() == []


def test_forbidden_tracing_keeps_signals_and_streams(anyone, deny_for):
    done = denied(anyone, deny_for, ["ptrace"], "run", "-q", "sh", "-c",
                  "echo out; echo err >&2; kill -TERM $$")
    assert done.returncode == 143
    assert (done.stdout, done.stderr) == ("out\n", "err\n")


def test_nothing_already_recorded_is_lost_by_all_of_this(project):
    project.write("in", "x\n")
    project.sh("cat in >out")
    before = project.last()
    project("run", "sh", "-c", "rm -rf .roar/runs")
    project.write(".roar/runs/x.journal", "garbage")
    project("run", "-q", "sh", "-c", "exit 1", code=1)
    found = project.json("show", before["job_uid"])
    assert found == before


# ---- a database of an older version ----

@pytest.mark.parametrize("words", [["status"], ["log"], ["verify"], ["db"]])
def test_who_reads_brings_an_old_database_up_to_date(project, words):
    project.sh("echo x >out")
    path = project.path(".roar", "roar.db")
    with closing(sqlite3.connect(path)) as base:
        newest, = base.execute("PRAGMA user_version").fetchone()
    for name in os.listdir(project.path(".roar")):
        if name.startswith("roar.db"):
            os.unlink(project.path(".roar", name))
    with closing(sqlite3.connect(path)) as base, open(SCHEMA_1, encoding="utf-8") as f:
        base.executescript(f.read())
        base.execute("PRAGMA application_id = 0x726f6172")
        base.execute("PRAGMA user_version = 1")
        base.commit()
    project(*words)
    with closing(sqlite3.connect(project.path(".roar", "roar.db"))) as base:
        assert base.execute("PRAGMA user_version").fetchone() == (newest,)
