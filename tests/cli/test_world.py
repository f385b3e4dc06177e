"""The command finds the world that it would find without roar."""

import json
import os
import resource
import signal
import subprocess

import pytest

from helpers import PYTHON

# Prints what a process can see of its surroundings, as JSON.
LOOK = r"""
import ctypes, fcntl, json, os, resource, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
def status(*names):
    with open('/proc/self/status') as f:
        found = dict(line.rstrip('\n').split(':\t', 1) for line in f
                     if ':\t' in line)
    return {n: found.get(n) for n in names}
def prctl(option):
    value = ctypes.c_int(-1)
    libc.prctl(option, ctypes.byref(value), 0, 0, 0)
    return value.value
def descriptor(fd):
    st = os.fstat(fd)
    return [fd, st.st_dev, st.st_ino, fcntl.fcntl(fd, fcntl.F_GETFL),
            fcntl.fcntl(fd, fcntl.F_GETFD)]
def descriptors():
    found = []
    for name in sorted(os.listdir('/proc/self/fd'), key=int):
        try: found.append(descriptor(int(name)))
        except OSError: pass
    return found
umask = os.umask(0); os.umask(umask)
print(json.dumps({
    'environment': sorted(os.environb.items(), key=repr) and
        sorted((os.fsdecode(k), os.fsdecode(v))
               for k, v in os.environb.items()),
    'limits': {n: resource.getrlimit(getattr(resource, n))
               for n in dir(resource) if n.startswith('RLIMIT_')},
    'umask': umask,
    'cwd': os.getcwd(),
    'nice': os.getpriority(os.PRIO_PROCESS, 0),
    'policy': os.sched_getscheduler(0),
    'affinity': sorted(os.sched_getaffinity(0)),
    'io priority': libc.syscall(252, 1, 0),
    'group is callers': os.getpgrp(),
    'session': os.getsid(0),
    'ids': [os.getresuid(), os.getresgid(), os.getgroups()],
    'signals': status('SigBlk', 'SigIgn', 'SigPnd', 'ShdPnd'),
    'capabilities': status('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'),
    'death signal': prctl(2),
    'subreaper': prctl(37),
    'dumpable': libc.prctl(3, 0, 0, 0, 0),
    'timer slack': libc.prctl(30, 0, 0, 0, 0),
    'oom': open('/proc/self/oom_score_adj').read(),
    'personality': libc.personality(0xffffffff),
    'coredump': open('/proc/self/coredump_filter').read(),
    'arguments': sys.argv,
    'descriptors': descriptors(),
}))
"""


def look(place, under, prepare=None, pass_fds=(), env=None, extra=()):
    """What the program sees, with roar or without."""
    argv = [*PYTHON, LOOK, *extra]
    if under:
        argv = place.argv("run", "-q", "--", *argv)
    done = subprocess.run(argv, cwd=place.root, env=place.environment(env),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=60, check=True,
                          preexec_fn=prepare, pass_fds=pass_fds,
                          restore_signals=False)
    seen = json.loads(done.stdout)
    # The pipe to us is another one each time.
    seen["descriptors"] = [d for d in seen["descriptors"] if d[0] != 1]
    return seen


def compare(place, **options):
    plain = look(place, False, **options)
    traced = look(place, True, **options)
    for key, value in plain.items():
        assert traced[key] == value, key
    return traced


def test_everything_a_process_can_see_of_itself(project):
    compare(project)


def test_the_same_for_an_ordinary_user(user):
    prefix = user.argv()[:-1]
    plain = subprocess.run([*prefix, *PYTHON, LOOK], cwd=user.root,
                           env=user.env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, check=True, timeout=60)
    traced = user.raw("run", "-q", "--", *PYTHON, LOOK)
    plain, traced = json.loads(plain.stdout), json.loads(traced.out)
    for name in ("descriptors",):
        plain.pop(name), traced.pop(name)
    assert traced == plain


def test_environment_is_identical_but_for_roar_env(project):
    odd = {"EMPTY": "", "ODD": "a=b\nc", "BYTES": "\udcff\udcfe",
           "LD_LIBRARY_PATH": "/nowhere", "PYTHONPATH": "x"}
    assert compare(project, env=odd)
    project("env", "set", "ADDED", "by roar")
    plain = look(project, False)
    traced = look(project, True)
    added = [e for e in traced["environment"] if e not in
             plain["environment"]]
    assert added == [["ADDED", "by roar"]]
    assert [e for e in plain["environment"]
            if e not in traced["environment"]] == []


def test_environment_keeps_order_and_duplicates(project):
    """execve() takes any array of strings; so must we."""
    program = project.path("dump")
    source = project.write("dump.c", r"""
        #include <stdio.h>
        extern char **environ;
        int main(void) {
            for (char **e = environ; *e; e++) puts(*e);
            return 0;
        }""")
    if subprocess.run(["cc", "-o", program, source], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no C compiler")
    caller = project.path("caller")
    source = project.write("caller.c", r"""
        #include <unistd.h>
        int main(int argc, char **argv) {
            char *env[] = { "Z=1", "PATH=/usr/bin:/bin", "A=1", "A=2",
                            "noequals", "HOME=/nowhere", 0 };
            execve(argv[1], argv + 1, env);
            return 99;
        }""")
    subprocess.run(["cc", "-o", caller, source], check=True)
    plain = subprocess.run([caller, program], stdout=subprocess.PIPE,
                           cwd=project.root, check=True)
    traced = subprocess.run([caller, project.roar_program, "run", "-q",
                             program], stdout=subprocess.PIPE,
                            cwd=project.root, check=True)
    assert traced.stdout == plain.stdout


def test_limits(project):
    def prepare():
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (100, 200))
    compare(project, prepare=prepare)


def test_a_low_limit_of_descriptors_is_enough(project):
    def prepare():
        resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
    compare(project, prepare=prepare)
    assert project.last()["verdict"] == "complete"


def test_umask_nice_and_directory(project):
    os.mkdir(project.path("sub"))

    def prepare():
        os.umask(0o137)
        os.nice(5)
        os.chdir(project.path("sub"))
    seen = compare(project, prepare=prepare)
    assert seen["umask"] == 0o137
    assert seen["cwd"] == project.path("sub")


def test_files_of_roar_do_not_depend_on_the_umask(project):
    project.sh("echo a >a", umask=0o777)
    for name in os.listdir(project.path(".roar")):
        mode = os.stat(project.path(".roar", name)).st_mode & 0o777
        assert mode & 0o600 == 0o600, name
        assert mode & 0o077 == 0, name
    project("log")


@pytest.mark.parametrize("ignored", [(), (signal.SIGPIPE,),
                                     (signal.SIGINT, signal.SIGQUIT),
                                     (signal.SIGHUP,), (signal.SIGCHLD,),
                                     (signal.SIGTSTP, signal.SIGTTOU),
                                     (signal.SIGTERM, signal.SIGUSR1),
                                     (signal.SIGXFSZ,)])
def test_ignored_signals_stay_ignored_and_others_default(project, ignored):
    def prepare():
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
    # Python itself ignores SIGPIPE and SIGXFSZ: look from a shell's view.
    script = "grep -E 'Sig(Ign|Blk)' /proc/self/status"

    def status(argv):
        done = subprocess.run(argv, cwd=project.root, env=project.env,
                              stdin=subprocess.DEVNULL, timeout=60,
                              stdout=subprocess.PIPE, check=True,
                              preexec_fn=prepare, restore_signals=False)
        return done.stdout
    plain = status(["sh", "-c", script])
    assert status(project.argv("run", "-q", "sh", "-c", script)) == plain
    assert len(project.jobs()) == 1
    assert project.last()["verdict"] == "complete"


def test_blocked_signals_stay_blocked(project):
    def prepare():
        signal.pthread_sigmask(signal.SIG_BLOCK, [
            signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM,
            signal.SIGRTMIN + 1])
    seen = compare(project, prepare=prepare)
    assert seen["signals"]["SigBlk"] != "0000000000000000"


def test_descriptors_3_to_9_are_inherited_and_none_is_added(project):
    fds = []
    for number in range(3, 10):
        fd = os.open(project.write(f"f{number}", str(number), age=0),
                     os.O_RDWR | (os.O_APPEND if number % 2 else 0))
        fds.append((fd, number))

    def prepare():
        kept = [(os.dup(fd), number) for fd, number in fds]
        for fd, number in kept:
            os.dup2(fd, number, inheritable=True)
        for fd in range(10, 64):
            try:
                os.close(fd)
            except OSError:
                pass

    def seen(under):
        argv = [*PYTHON, LOOK]
        if under:
            argv = project.argv("run", "-q", "--", *argv)
        done = subprocess.run(argv, cwd=project.root, env=project.env,
                              stdin=subprocess.DEVNULL, timeout=60,
                              stdout=subprocess.PIPE, check=True,
                              preexec_fn=prepare, close_fds=False)
        rows = json.loads(done.stdout)["descriptors"]
        return [r for r in rows if r[0] != 1]
    plain, traced = seen(False), seen(True)
    for fd, _ in fds:
        os.close(fd)
    assert traced == plain
    assert {r[0] for r in traced} >= set(range(3, 10))


def test_writing_through_an_inherited_descriptor_is_recorded(project):
    fd = os.open(project.path("out"), os.O_WRONLY | os.O_CREAT, 0o644)
    process = project.popen("run", "-q", *PYTHON,
                            f"import os; os.write({fd}, b'hi\\n')",
                            pass_fds=(fd,))
    process.communicate(timeout=60)
    os.close(fd)
    assert process.returncode == 0
    assert project.read("out") == b"hi\n"
    assert [os.path.basename(f["path"])
            for f in project.last()["outputs"]] == ["out"]


def test_redirections_of_the_callers_shell_are_recorded(project):
    project.write("in", "input\n")
    with open(project.path("in"), "rb") as source, \
            open(project.path("out"), "wb") as sink:
        process = project.popen("run", "-q", "cat", stdin=source,
                                stdout=sink)
        process.communicate(timeout=60)
    assert project.read("out") == b"input\n"
    job = project.last()
    assert [os.path.basename(f["path"]) for f in job["inputs"]] == ["in"]
    assert [os.path.basename(f["path"]) for f in job["outputs"]] == ["out"]


def test_the_commands_group_and_session_are_the_callers(project):
    """Compared with a shell that starts both."""
    script = ("ps -o pgid=,sid= -p $$; "
              f"{project.roar_program} run -q sh -c "
              "'ps -o pgid=,sid= -p $$'")
    done = subprocess.run(["sh", "-c", script], cwd=project.root,
                          env=project.env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, timeout=60, check=True)
    first, second = done.stdout.splitlines()
    assert first.split() == second.split()


def test_arguments_are_passed_byte_by_byte(project):
    words = ["", " ", "a\nb", "\udcff\udcfe", "'\"\\$`", "-", "--", "@1",
             "*", "é", "x" * 100000]
    seen = look(project, True, extra=words)
    assert seen["arguments"] == ["-c", *words]


def test_argument_zero_is_what_was_typed(project):
    done = project.run("sh", "-c", "echo $0; cat /proc/$$/cmdline | tr '\\0' "
                       "'|'")
    assert done.out.splitlines()[0] == "sh"
    assert done.out.splitlines()[1].startswith("sh|-c|")


def test_time_limits_of_the_command_are_its_own(project):
    """RLIMIT_CPU ends the command by SIGXCPU and is recorded as that."""
    def prepare():
        resource.setrlimit(resource.RLIMIT_CPU, (1, 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    process = project.popen("run", "-q", "sh", "-c", "while :; do :; done",
                            preexec_fn=prepare)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGXCPU
    assert project.last()["exit_code"] == 128 + signal.SIGXCPU


def test_the_command_may_set_its_own_limits_and_group(project):
    project.sh("ulimit -n 50; ulimit -c 0; umask 077; "
               "setsid sh -c 'echo a >a'; exit 0")
    assert os.stat(project.path("a")).st_mode & 0o777 == 0o600
