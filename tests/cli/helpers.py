"""How tests of the `roar` program drive it.

A Place is a fresh folder with a home of its own and without the settings of the
person who runs the tests; calling it runs roar there."""

import collections
import glob
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import pytest

TIMEOUT = 120  # seconds, far more than any command here needs
PYTHON = [sys.executable, "-I", "-S", "-c"]
ORDINARY = 65534  # nobody, when the tests are run by root
# File stamps younger than this could hide a change; see lib/base/stamp.h.
SETTLE = 0.05

Result = collections.namedtuple("Result", "code out err")


def as_text(data):
    return data.decode("utf-8", "surrogateescape")


def lines(text):
    return [line for line in text.split("\n") if line]


def alive(pid):
    """Is the process there and not just waiting to be reaped?"""
    return state_of(pid) not in (None, "Z", "X")


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8",
                  errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0]
    except OSError:
        return None


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8",
                  errors="replace") as f:
            return int(f.read().rpartition(")")[2].split()[1])
    except OSError:
        return None


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def children_of(pid):
    return [p for p in all_pids() if parent_of(p) == pid]


def descendants_of(pid):
    found, todo = [], [pid]
    while todo:
        new = children_of(todo.pop())
        found += new
        todo += new
    return found


def runs_program(pid, path):
    try:
        return os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(path)
    except OSError:
        return False


def bytes_read_by(pid):
    with open(f"/proc/{pid}/io", encoding="utf-8") as f:
        return int(f.readline().removeprefix("rchar:"))


def until(condition, what="the condition", timeout=30):
    """Waits for it; returns what it returned."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} s for {what}")
        time.sleep(0.01)


def clean_environment(home):
    """An environment in which nobody's habits matter."""
    env = {
        "HOME": home,
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm-256color",
        "USER": "tester",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.path.join(home, ".gitconfig"),
        "GIT_AUTHOR_DATE": "2024-01-02T03:04:05Z",
        "GIT_COMMITTER_DATE": "2024-01-02T03:04:05Z",
    }
    for name, value in os.environ.items():
        if name.endswith("SAN_OPTIONS"):
            env[name] = value
    return env


# roar makes an index of the distribution's packages once per user; here every test is a
# new user.  The first test of each worker leaves its index to the others.
INDEXES = "/tmp/roar-cli-packages-%d" % os.getuid()


def seed_index(home, user):
    folder = os.path.join(home, ".cache", "roar")
    for path in glob.glob(os.path.join(INDEXES, "packages-*")):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        try:
            shutil.copy(path, folder)
        except OSError:
            continue
        if user is not None:
            for made in (os.path.dirname(folder), folder,
                         os.path.join(folder, os.path.basename(path))):
                os.chown(made, user, user)


def key_of(index):
    """Of the database that it was made of; see capture/owner_index.h."""
    with open(index, "rb") as f:
        return f.read(88)


def save_index(home):
    os.makedirs(INDEXES, mode=0o700, exist_ok=True)
    for manager in ("dpkg", "rpm", "apk"):
        found = glob.glob(os.path.join(home, ".cache", "roar",
                                       f"packages-{manager}-*[0-9a-f]"))
        for path in found:
            kept = os.path.join(INDEXES, os.path.basename(path))
            try:
                if not os.path.exists(kept) or key_of(kept) != key_of(path):
                    shutil.copy(path, f"{kept}.{os.getpid()}")
                    os.replace(f"{kept}.{os.getpid()}", kept)
            except OSError:
                pass


class Place:
    """A folder and a user that runs roar in it."""

    def __init__(self, base, roar, user=None):
        self.base = base
        self.roar_program = roar
        self.user = user
        self.home = os.path.join(base, "home")
        self.root = os.path.join(base, "project")
        os.makedirs(self.home)
        os.makedirs(self.root)
        with open(os.path.join(self.home, ".gitconfig"), "w",
                  encoding="utf-8") as f:
            f.write("[user]\n\tname = Tester\n\temail = tester@example.org\n"
                    "[init]\n\tdefaultBranch = main\n"
                    "[gc]\n\tauto = 0\n")
        self.env = clean_environment(self.home)
        if user is not None:
            for path in (base, self.home, self.root):
                os.chown(path, user, user)
            os.chown(os.path.join(self.home, ".gitconfig"), user, user)
        seed_index(self.home, user)

    # ---- files ----

    def path(self, *names):
        return os.path.join(self.root, *names)

    def write(self, name, content="content\n", mode=None, age=SETTLE):
        """Makes a file that is old enough not to be racy."""
        path = os.path.join(os.fsencode(self.root), os.fsencode(name))
        if isinstance(content, str):
            content = content.encode()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content)
        if mode is not None:
            os.chmod(path, mode)
        if self.user is not None:
            os.chown(path, self.user, self.user)
        time.sleep(age)
        return os.fsdecode(path)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def exists(self, name):
        return os.path.lexists(self.path(name))

    # ---- roar ----

    def argv(self, *args):
        """The command line that runs roar as the place's user."""
        prefix = []
        if self.user is not None:
            prefix = ["setpriv", "--reuid", str(self.user), "--regid",
                      str(self.user), "--clear-groups", "--"]
        return [*prefix, self.roar_program, *args]

    def environment(self, extra=None):
        env = dict(self.env)
        for name, value in (extra or {}).items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        return env

    def without_leak_check(self):
        """For where a sanitizer would want ptrace and cannot have it."""
        if "ASAN_OPTIONS" not in self.env:
            return {}
        return {"ASAN_OPTIONS": self.env["ASAN_OPTIONS"] + ":detect_leaks=0"}

    def popen(self, *args, env=None, cwd=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(self.argv(*args), cwd=cwd or self.root,
                                env=self.environment(env), **options)

    def raw(self, *args, stdin=b"", timeout=TIMEOUT, **options):
        """Runs roar; all output as bytes."""
        process = self.popen(*args, stdin=subprocess.PIPE, **options)
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(
                f"roar {args!r} did not end in {timeout} s; "
                f"it said {err!r}") from None
        return Result(process.returncode, out, err)

    def __call__(self, *args, code=0, **options):
        """Runs roar, expects an exit code (None: any); output as text."""
        done = self.raw(*args, **options)
        done = Result(done.code, as_text(done.out), as_text(done.err))
        if code is not None:
            assert done.code == code, (
                f"roar {args!r} ended with {done.code}, not {code}; stdout "
                f"{done.out!r}, stderr {done.err!r}")
        return done

    def run(self, *command, code=0, **options):
        """`roar run -q -- COMMAND`."""
        return self("run", "-q", "--", *command, code=code, **options)

    def sh(self, script, code=0, **options):
        """`roar run -q -- sh -c SCRIPT`."""
        return self.run("sh", "-c", script, code=code, **options)

    def json(self, *args, **options):
        return json.loads(self(*args, "--json", **options).out)

    def jobs(self):
        return self.json("log", "-n", "1000000", "--all-sessions")["jobs"]

    def last(self, *options):
        """What is known of the newest job; with "--all", all of it."""
        jobs = self.jobs()
        assert jobs, "no job was recorded"
        return self.json("show", "--job", jobs[-1]["job_uid"], *options)

    def digests(self, name):
        """The digests of a recorded file, by algorithm."""
        return self.json("show", "--path", self.path(name))["digests"]

    def journals(self):
        try:
            return sorted(os.listdir(self.path(".roar", "runs")))
        except OSError:
            return []

    def database(self):
        connection = sqlite3.connect(self.path(".roar", "roar.db"),
                                     isolation_level=None)
        connection.text_factory = bytes
        return connection

    # ---- git ----

    def git(self, *args, check=True):
        prefix = []
        if self.user is not None:
            prefix = ["setpriv", "--reuid", str(self.user), "--regid",
                      str(self.user), "--clear-groups", "--"]
        done = subprocess.run([*prefix, "git", *args], cwd=self.root,
                              env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT, check=False)
        if check:
            assert done.returncode == 0, done.stderr
        return as_text(done.stdout)

    def commit(self, message="work"):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    # ---- after the test ----

    def leftovers(self):
        """Processes that still work in this place."""
        found = []
        for pid in all_pids():
            try:
                cwd = os.readlink(f"/proc/{pid}/cwd")
            except OSError:
                continue
            if cwd.startswith(self.base) and alive(pid):
                found.append(pid)
        return found

    def remove_logs(self):
        """Of killed runs that no command has completed."""
        for journal in self.journals():
            uid = journal.partition(".")[0]
            for path in glob.glob(f"/dev/shm/roar-log-*-{glob.escape(uid)}"):
                try:
                    os.unlink(path)
                except OSError:
                    pass

    def remove(self):
        for pid in self.leftovers():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.remove_logs()
        save_index(self.home)
        shutil.rmtree(self.base, ignore_errors=True)
        if os.path.exists(self.base):
            # There are folders that nobody may enter.
            subprocess.run(["chmod", "-R", "u+rwx", self.base],
                           stderr=subprocess.DEVNULL, check=False)
            shutil.rmtree(self.base, ignore_errors=True)


def names_of(place, rows):
    """The paths of file rows, relative to the project where they are in it."""
    root = place.root + "/"
    return sorted(r["path"][len(root):] if r["path"].startswith(root)
                  else r["path"] for r in rows)


def row_of(place, rows, name):
    found = [r for r in rows if r["path"] == place.path(name)]
    assert len(found) == 1, f"{name}: {[r['path'] for r in rows]}"
    return found[0]


def gaps_of(job):
    return sorted(gap["reason"] for gap in job["gaps"])


def make_place(roar, user=None):
    base = os.path.realpath(tempfile.mkdtemp(prefix="roar-cli-"))
    os.chmod(base, 0o755)
    return Place(base, roar, user)


def b3sum(path):
    if not shutil.which("b3sum"):
        pytest.skip("b3sum is not installed")
    done = subprocess.run(["b3sum", "--no-names", path], check=True,
                          stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def input_hash(place, name):
    return row_of(place, place.last()["inputs"], name)["digests"]["blake3"]


def output_hash(place, name):
    return row_of(place, place.last()["outputs"], name)["digests"]["blake3"]
