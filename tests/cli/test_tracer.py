"""Which tracer is taken, what it says of itself, and what the verdict tells."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from helpers import gaps_of, lines, names_of

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kernel  # noqa: E402

NAMES = ["hybrid", "ebpf", "ptrace", "preload"]  # in the order of auto
NO_LIBRARY = {"ROAR_PRELOAD_LIBRARY": "/nowhere/libroar-preload.so"}
NO_DAEMON = {"ROAR_ROARD_SOCKET": "/nowhere/roard.sock"}


def skip_unless_offered(name):
    """By what the kernel says, not roar: one that is broken must fail."""
    if name == "ebpf" and "ROARD" not in os.environ:
        pytest.skip("roar was built without eBPF")
    if not kernel.offers(name):
        pytest.skip(f"the kernel does not offer what {name} needs")


def is_ready(place, name, **kwargs):
    tracers = place.json("tracer", "status", **kwargs)["tracers"]
    return [t["ready"] for t in tracers if t["name"] == name] == [True]


# ---- status ----

def test_status_is_what_it_does_without_an_action(project):
    assert project("tracer").out == project("tracer", "status").out
    for name in NAMES:
        assert f" {name} " in project("tracer").out


def test_status_as_json(project):
    status = project.json("tracer", "status")
    assert set(status) == {"default", "fallback", "choice", "auto", "tracers"}
    assert status["default"] == "auto" and status["fallback"] is True
    assert [t["name"] for t in status["tracers"]] == NAMES
    for tracer in status["tracers"]:
        assert set(tracer) == {"name", "summary", "ready", "slow_start",
                               "note", "cost"}
    assert status["choice"] == status["auto"]


def test_status_outside_of_a_project(empty):
    assert "no project" in empty("tracer").out


def test_an_ordinary_user_gets_hybrid_without_asking(user):
    status = user.json("tracer", "status", env=NO_DAEMON)
    assert status["auto"] == "hybrid"
    assert not is_ready(user, "ebpf", env=NO_DAEMON)
    user.run("true", env=NO_DAEMON)
    assert user.last()["tracer"] == "hybrid"


@pytest.mark.parametrize("tracer", ["ptrace", "hybrid", "preload"])
def test_how_every_process_ended_is_recorded(project, tracer):
    project("run", "-q", "--tracer", tracer, "sh", "-c",
            "sh -c 'exit 3'; sh -c 'kill -TERM $$'; sh -c true; exit 0")
    rows = project.database().execute("SELECT status FROM processes")
    assert sorted(status for status, in rows) == [0, 0, 15, 3 << 8]


# ---- the default ----

@pytest.mark.parametrize("verb", ["use", "set-default"])
def test_the_default_is_a_setting(project, verb):
    project("tracer", verb, "ptrace")
    assert project("config", "get", "tracer.default").out == "ptrace\n"
    project.run("true")
    assert project.last()["tracer"] == "ptrace"
    project("tracer", verb, "auto")
    assert project.json("tracer", "status")["default"] == "auto"


def test_a_default_that_does_not_exist(project):
    before = project.read(".roar/config.toml")
    done = project("tracer", "use", "magic", code=2)
    assert "'magic'" in done.err and len(lines(done.err)) == 1
    assert project.read(".roar/config.toml") == before


def test_a_default_needs_a_project(empty):
    assert "roar init" in empty("tracer", "use", "ptrace", code=1).err


# ---- check ----

@pytest.mark.parametrize("name", NAMES)
def test_check_runs_a_command_under_the_tracer(project, name):
    skip_unless_offered(name)
    done = project("tracer", "check", name, "--json", code=None)
    answer = json.loads(done.out)
    assert done.code == 0, answer["reason"]
    assert answer["tracer"] == name and answer["ready"] is True
    assert answer["reason"] is None and answer["events"] > 4
    assert answer["processes"] == 2 and answer["wait_status"] == 0
    assert 0 < answer["attach_s"] < answer["total_s"]


def test_check_without_a_name_takes_what_a_run_would_take(project):
    project("tracer", "use", "ptrace")
    assert project("tracer", "check").out.startswith("ptrace works: ")


def test_check_of_what_does_not_work(project):
    done = project("tracer", "check", "preload", env=NO_LIBRARY, code=1)
    assert done.out.startswith("preload does not work here: ")
    answer = json.loads(project("tracer", "check", "preload", "--json",
                                env=NO_LIBRARY, code=1).out)
    assert answer["ready"] is False
    assert "libroar-preload.so" in answer["reason"]


def test_check_with_a_command(project):
    done = project("tracer", "check", "ptrace", "--command", "echo x >made")
    assert project.read("made") == b"x\n"
    assert done.out.startswith("ptrace works")


def test_check_leaves_nothing_behind(project):
    before = sorted(os.listdir(project.home))
    project("tracer", "check", "ptrace", env={"TMPDIR": project.home})
    assert sorted(os.listdir(project.home)) == before


def test_only_ebpf_can_be_enabled(project):
    done = project("tracer", "enable", "ptrace", "-y", code=1)
    assert "only ebpf" in done.err
    project("tracer", "enable", "magic", "-y", code=2)


# ---- the choice of a run ----

@pytest.mark.parametrize("name", NAMES)
def test_each_tracer_makes_the_same_record(project, name):
    skip_unless_offered(name)
    project.write("in", "data\n")
    project("run", "-q", "--tracer", name, "sh", "-c", "cat in >out")
    job = project.last()
    assert job["tracer"] == name
    assert gaps_of(job) == (["library"] if name == "preload" else [])
    assert names_of(project, job["inputs"]) == ["in"]
    assert names_of(project, job["outputs"]) == ["out"]


def denied(place, deny, words, *args, env=None):
    target = os.path.join(place.base, "deny")
    shutil.copy(deny, target)
    os.chmod(target, 0o755)
    return subprocess.run(
        [*place.argv()[:-1], target, *words, "--", place.roar_program, *args],
        cwd=place.root, timeout=60, stdin=subprocess.DEVNULL,
        env=place.environment({**place.without_leak_check(), **NO_DAEMON,
                               **(env or {})}),
        capture_output=True, check=False, text=True)


def test_a_refused_tracer_is_replaced_before_the_command_runs(user, deny):
    done = denied(user, deny, ["seccomp"], "run", "sh", "-c", "echo x >>log")
    assert done.returncode == 0 and len(lines(done.stderr)) == 1
    assert user.read("log") == b"x\n"
    assert user.last()["tracer"] == "ptrace"


def test_a_named_tracer_that_is_refused_is_news(user, deny):
    done = denied(user, deny, ["seccomp"], "run", "--tracer", "hybrid", "sh",
                  "-c", "echo x >>log")
    assert done.returncode == 0
    assert "tracer hybrid: " in lines(done.stderr)[0]
    assert "using ptrace instead" in lines(done.stderr)[0]
    assert user.read("log") == b"x\n"
    assert len(user.jobs()) == 1 and user.last()["tracer"] == "ptrace"
    assert user.journals() == []


def test_a_named_tracer_without_fallback(user, deny):
    done = denied(user, deny, ["seccomp"], "run", "--tracer", "hybrid",
                  "--no-tracer-fallback", "sh", "-c", "echo x >>log")
    assert done.returncode == 1 and len(lines(done.stderr)) == 1
    assert not user.exists("log")
    assert user.jobs() == [] and user.journals() == []


def test_nothing_works(user, deny):
    done = denied(user, deny, ["ptrace", "seccomp"], "run", "sh", "-c",
                  "echo x >>log", env=NO_LIBRARY)
    assert done.returncode == 0
    assert user.read("log") == b"x\n"
    job = user.last()
    assert job["tracer"] == "none" and gaps_of(job) == ["untraced"]


def test_a_refusal_is_remembered_and_found_out_anew(user, deny):
    cache = os.path.join(user.home, ".cache", "roar", "tracers")
    done = denied(user, deny, ["ptrace", "seccomp"], "run", "true",
                  env=NO_LIBRARY)
    assert done.returncode == 0
    with open(cache, encoding="utf-8") as f:
        text = lines(f.read())
    assert text[0].startswith("roar-tracers 1 ")
    assert text[1].split()[0] == "ptrace"
    assert os.stat(cache).st_mode & 0o777 == 0o600
    # It holds for a process with that seccomp filter, not for this one.
    assert is_ready(user, "ptrace")
    user("tracer", "check", "ptrace")
    assert not os.path.exists(cache)


def test_a_damaged_memory_of_refusals_is_none(user):
    folder = os.path.join(user.home, ".cache", "roar")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "tracers"), "wb") as f:
        f.write(b"roar-tracers 1 \0\nptrace " + os.urandom(3000))
    for path in (os.path.dirname(folder), folder):
        os.chown(path, os.stat(user.home).st_uid, -1)
    assert is_ready(user, "ptrace")


# ---- the verdict ----

def test_the_verdict_says_how_it_was_observed(project):
    project("run", "-q", "--tracer", "ptrace", "sh", "-c", "true; true")
    seen = project.last()["observation"]
    assert set(seen) == {"tracer", "attach_s", "environment", "filters",
                         "processes_seen",
                         "processes_escaped", "events_lost",
                         "io_uring_rings", "byte_counts_lost",
                         "foreign_namespace_files"}
    assert seen["tracer"] == "ptrace"
    assert 0 < seen["attach_s"] < 10
    assert "system" in seen["filters"] and "patterns" not in seen["filters"]
    assert seen["processes_seen"] == 1
    assert [seen[k] for k in ("processes_escaped", "events_lost",
                              "io_uring_rings", "foreign_namespace_files")] == [
                                  0, 0, 0, 0]
    shown = project("show", "@1").out
    assert "Tracer:       ptrace, attached in " in shown
    assert "1 process, no process escaped, no event lost" in shown
    assert "Filters:      roar git " in shown


def test_filters_that_are_off_are_not_in_the_verdict(project):
    project("config", "set", "filters.ignore_tmp_files", "false")
    project("config", "set", "filters.ignore_paths", '["*.log"]')
    project.run("true")
    filters = project.last()["observation"]["filters"]
    assert "tmp" not in filters and "patterns" in filters


def test_require_complete_and_complete(project):
    project("config", "set", "run.require_complete", "true")
    project.run("true")
    project.run("sh", "-c", "exit 3", code=3)


def test_require_complete_and_incomplete(project):
    project("config", "set", "run.require_complete", "true")
    done = project.sh("sleep 1 >/dev/null 2>&1 & exit 0", code=125)
    assert "run.require_complete" in done.err and len(lines(done.err)) == 1
    assert gaps_of(project.last()) == ["outlived"]
    assert project.last()["exit_code"] == 0


def test_require_complete_leaves_a_failure_alone(project):
    project("config", "set", "run.require_complete", "true")
    done = project.sh("sleep 1 >/dev/null 2>&1 & exit 7", code=7)
    assert done.err == ""


def find_set_user_id():
    for path in ("/usr/bin/passwd", "/usr/bin/su", "/bin/su"):
        try:
            if os.stat(path).st_mode & 0o4000:
                return path
        except OSError:
            pass
    return pytest.skip("there is no set-user-id program")


def test_a_program_that_lost_its_privilege_is_named(user):
    program = find_set_user_id()
    done = user("run", "--tracer", "hybrid", program, "--help", code=None)
    said = [line for line in lines(done.err) if "set-user-id" in line]
    assert len(said) == 1
    assert program in said[0] and "--tracer preload" in said[0]
    assert "setuid" in gaps_of(user.last())


def test_the_library_alone_takes_no_privilege(user):
    """It is only that nobody watches such a program."""
    program = find_set_user_id()
    library = os.path.join(user.base, "libroar-preload.so")
    shutil.copy(os.path.join(os.path.dirname(os.environ["ROAR"]), "..",
                             "preload", "libroar-preload.so"), library)
    done = user("run", "--tracer", "preload", program, "--help", code=None,
                env={"ROAR_PRELOAD_LIBRARY": library})
    assert user.last()["tracer"] == "preload"
    assert "set-user-id" not in done.err
    gaps = gaps_of(user.last())
    assert "escaped" in gaps and "setuid" not in gaps


# ---- without the library ----

PASSING = """
import multiprocessing, os
from multiprocessing.reduction import DupFd

def work(there, back):
    fds = [os.open("in.txt", os.O_RDONLY) for _ in range(20)]
    there.put([DupFd(fd) for fd in fds])
    back.get()

there, back = multiprocessing.Queue(), multiprocessing.Queue()
worker = multiprocessing.Process(target=work, args=(there, back))
worker.start()
for each in there.get():
    fd = each.detach()
    os.read(fd, 1)
    os.close(fd)
back.put(0)
worker.join()
"""


def test_workers_pass_descriptors_to_who_has_no_library(project):
    """As the workers of torch's DataLoader do."""
    project.write("in.txt", "x")
    project("run", "-q", "--tracer", "hybrid", sys.executable, "-S", "-c",
            PASSING, env=NO_LIBRARY)
    job = project.last()
    assert (job["tracer"], job["gaps"]) == ("hybrid", [])
    assert "in.txt" in names_of(project, job["inputs"])


# ---- commands that trace ----

SANITIZED = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    FILE *f = fopen("in.txt", "r");
    int c = f ? fgetc(f) : 0;

    if (argc > 1)
        argv[1] = malloc(1000);
    argv[1] = NULL;
    puts("done");
    return c != 'x' || fclose(f);
}
"""


@pytest.fixture
def sanitized(project):
    """A program with LeakSanitizer, which traces its own threads."""
    project.write("in.txt", "x")
    project.write("a.c", SANITIZED)
    built = subprocess.run(["cc", "-fsanitize=address", "-o", "a", "a.c"],
                           cwd=project.root, capture_output=True, check=False)
    if built.returncode:
        pytest.skip("cc has no -fsanitize=address")
    return ["env", "ASAN_OPTIONS=detect_leaks=1",
            "LSAN_OPTIONS=exitcode=23", "./a"]


@pytest.mark.parametrize("tracer", ("hybrid", "ptrace"))
def test_leak_sanitizer_works(project, sanitized, tracer):
    done = project("run", "-q", "--tracer", tracer, *sanitized)
    assert (done.out, done.err) == ("done\n", "")
    job = project.last()
    assert (job["tracer"], job["verdict"]) == (tracer, "complete")
    assert "in.txt" in names_of(project, job["inputs"])
    done = project("run", "-q", "--tracer", tracer, *sanitized, "leak",
                   code=23)
    assert "Direct leak of 1000 byte(s)" in done.err
    assert project.last()["verdict"] == "complete"


def test_a_tracer_that_was_refused_is_named(project):
    project("run", "-q", "--tracer", "ptrace", sys.executable, "-c",
            "import ctypes; assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) < 0")
    job = project.last()
    assert gaps_of(job) == ["escaped"]
    assert "--tracer hybrid" in job["gaps"][0]["detail"]


# ---- who does not wait ----

def test_what_ebpf_finds_changed_is_known_by_its_stamp(project):
    """Nobody can read it in time, but it was hashed before."""
    skip_unless_offered("ebpf")
    path = project.write("a.txt", "one\n")
    before = project("hash", path).out.split()[0]
    project("run", "-q", "--tracer", "ebpf", "sed", "-i", "s/one/two/",
            "a.txt")
    job = project.last()
    assert (job["tracer"], job["gaps"]) == ("ebpf", [])
    digests = {f["path"]: f["digests"]["blake3"] for f in job["inputs"]}
    assert digests[path] == before
