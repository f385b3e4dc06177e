#!/usr/bin/env python3
"""Runs one tracer workload under every backend and compares.

    run.py [--tracer NAME]... [--keep] [--under CMD] TRACE_DUMP WORKLOAD

The lines that a workload prints are described in workloads/workload.h, those
of trace_dump in trace_dump.c.  ROAR_TEST_TRACERS names the backends to try, if
not all.  Each run has a fresh directory.  The workload
also runs untraced: what it prints and how it ends must be the same, because
being watched must change nothing.  With --under, trace_dump is started by that
command line, to take something away from it.

Exit status: 0 right, 1 wrong, 77 not possible here (the reason is printed).  A
backend that is refused although the kernel offers what it needs is wrong; other
refusals are printed as skipped."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kernel  # noqa: E402

NOBODY = 65534  # the user without rights
TIMEOUT = 120  # seconds, far more than any workload needs
# File stamps younger than this could hide a change; see base/stamp.h.
SETTLE = 0.05
FACTS = ("input", "output", "intermediate", "temporary", "touched",
         "special", "gap", "stopped", "bytes")
# An `event exec` line makes executions part of the sequence, `event change` what
# the job was told before content changed.
FILE_EVENTS = ("exec", "open", "rename", "exchange", "link", "symlink", "unlink",
               "truncate", "change")
# A gap that every record of the backend has.
STANDING = {"preload": "gap library"}
# Backends that hear of a change when it has happened.
AFTERWARDS = ("ebpf",)
# What a backend cannot see: facts and events of these workloads are not compared,
# but the gap must be there (None: nobody can notice that).
BLIND = {
    "preload": {
        "arch_32bit": "escaped", "arch_32bit_calls": "escaped",
        "arch_go": "escaped", "arch_musl": "escaped",
        "arch_static": "escaped", "arch_static_lies": "escaped",
        "arch_static_passed": "escaped", "arch_static_receives": "escaped",
        "arch_static_ring": "escaped", "arch_static_unknown_owner": "escaped",
        "landlock_static": "escaped",
        "fd_passed_by_workers_static": "escaped",
        "open_limit_lowered_static": "escaped",
        "ptrace_itself_static": "escaped", "ptrace_shared_memory_static": "escaped",
        "ptrace_threads_static": "escaped",
        "signal_restart_static": "escaped",
        "signal_stop_static": "escaped", "thread_exec_static": "escaped",
        "arch_int80": None,
        # A program given as O_PATH descriptor, whose inside nobody may read.
        "exec_execveat": "escaped",
        # The library is not for set-uid programs.
        "priv_setuid": "escaped", "priv_setuid_down": "escaped",
        # libc opens and changes directories without calling itself by name.
        "libc_dlopen": None, "libc_getpwnam": None, "libc_iconv": None,
        "libc_locale": None, "libc_nftw_chdir": "path or changed",
        "libc_preload_own": None, "libc_wordexp": None,
        "libc_spawn_fails": "lost", "process_posix_spawn": "lost",
        # Nobody tells of a child that has not come to itself when the
        # command ends.
        "process_daemon": "library",
        # It is asked for later, when the process is elsewhere.
        "open_own_directory": "changed",
        # It is read later, when something else is mounted there.
        "mount_over": "library",
        # Programs are not given the library where it may not be found.
        "space_bwrap": "escaped", "space_bwrap_user": "escaped",
        "space_program": "escaped", "space_program_user": "escaped",
    },
    # The kernel has names there for files alone, not for what happens to names.
    "ebpf": {"space_names": "namespace"},
}
OPEN_MODE = {0: os.O_RDONLY, 1: os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
             2: os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 7: os.O_RDWR}


class Skip(Exception):
    """The workload cannot run here."""


def refused(tracer, reason, under=(), nobody=False):
    """The backend did not start: is that a reason to skip, or to fail?"""
    if nobody and tracer == "ebpf":
        raise Skip(f"{tracer}: {reason}")
    if kernel.offers(tracer, under):
        raise ValueError(f"{tracer} was refused, and the kernel offers it: "
                         f"{reason}")
    raise Skip(f"{tracer}: {reason}")


class Expected:
    """What the workload printed, by meaning."""

    def __init__(self, lines):
        self.facts, self.may, self.state = set(), set(), []
        self.doubtful = set()
        self.only, self.excepted, self.may_only = [], [], []
        self.events, self.redirects = [], {}
        self.nobody = False
        self.status = "exit 0"
        for line in lines:
            self.add(line)

    def add(self, line):
        word, _, rest = line.partition(" ")
        if word in FACTS:
            self.facts.add(line)
        elif word == "may":
            self.may.add(rest)
        elif word == "doubtful":
            self.doubtful.add(rest)
        elif word == "only":
            tracer, fact = rest.split(" ", 1)
            if fact.startswith("may "):
                self.may_only.append((tracer, fact[4:]))
            else:
                self.only.append((tracer, fact))
        elif word == "except":
            self.excepted.append(rest.split(" ", 1))
        elif word == "event":
            self.events.append(rest)
        elif word == "state":
            self.state.append(rest)
        elif word == "status":
            self.status = rest
        elif line == "nobody":
            self.nobody = os.geteuid() == 0
        elif word == "redirect":
            number, name = rest.split(" ", 1)
            self.redirects[int(number)] = name
        elif line:
            raise ValueError(f"the workload printed {line!r}")

    def facts_of(self, tracer):
        """The facts that this backend must find."""
        return (self.facts |
                {fact for name, fact in self.only if name == tracer} |
                {fact for name, fact in self.excepted if name != tracer})

    def may_of(self, tracer, seen):
        """The facts that it may find, beside those that it has found."""
        may = self.may | {fact for name, fact in self.may_only
                          if name == tracer}
        # What every record of the backend has is no reason to doubt this one.
        gaps = any(fact.startswith("gap ") for fact in seen
                   if fact != STANDING.get(tracer))
        return may | self.doubtful if gaps else may


class Seen:
    """What trace_dump wrote, by meaning."""

    def __init__(self, lines):
        self.facts, self.events, self.status = set(), [], "missing"
        self.untraced = None
        for line in lines:
            word, _, rest = line.partition(" ")
            if word in FACTS:
                self.facts.add(line)
            elif word in FILE_EVENTS:
                # A backend may see one call twice.
                if self.events[-1:] != [line]:
                    self.events.append(line)
            elif word == "status":
                self.status = rest
            elif word == "untraced":
                self.untraced = rest


class Place:
    """A fresh directory and a place beside it for the tracer's output."""

    def __init__(self):
        base = tempfile.mkdtemp(prefix="roar-trace-")
        self.base = os.path.realpath(base)
        self.root = os.path.join(self.base, "d")
        self.output = os.path.join(self.base, "trace")
        os.mkdir(self.root)
        os.chmod(self.base, 0o755)

    def remove(self):
        for path in mounts_below(self.root):
            subprocess.run(["umount", "-l", path], check=False)
        shutil.rmtree(self.base, ignore_errors=True)
        if os.path.exists(self.base):
            # Workloads leave directories without permissions behind.
            subprocess.run(["chmod", "-R", "u+rwx", self.base],
                           stderr=subprocess.DEVNULL, check=False)
            shutil.rmtree(self.base, ignore_errors=True)


def mounts_below(root):
    """The last first: one may be in another."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        points = [line.split()[4] for line in f]
    return [p for p in reversed(points) if p.startswith(root + "/")]


def environment(place):
    env = dict(os.environ, TRACE_ROOT=place.root, LC_ALL="C.UTF-8")
    # LeakSanitizer needs ptrace for itself and cannot have it here.
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return env


def split(data):
    return data.decode("utf-8", "surrogateescape").split("\n")


def prepare(workload, place):
    done = subprocess.run([workload, "prepare"], cwd=place.root,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          timeout=TIMEOUT, check=False)
    lines = split(done.stdout)
    if done.returncode == 77:
        raise Skip(next((line[5:] for line in lines
                         if line.startswith("skip ")), "no reason given"))
    if done.returncode != 0:
        raise ValueError(f"prepare ended with {done.returncode}")
    time.sleep(SETTLE)
    return lines


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def redirect(redirects, root, nobody):
    """Opens the descriptors a shell would have opened; runs in the child.  None
    where there is nothing to do: a child without it costs a fraction."""
    def apply():
        if nobody:
            become_nobody()
        for number, name in redirects.items():
            fd = os.open(os.path.join(root, name), OPEN_MODE[number], 0o644)
            os.dup2(fd, number, inheritable=True)
            if fd != number:
                os.close(fd)
    return apply if redirects or nobody else None


def run(argv, place, wanted):
    """Runs it; returns its lines and its wait status as text."""
    if wanted.nobody:
        os.chown(place.base, NOBODY, NOBODY)
        os.chown(place.root, NOBODY, NOBODY)
    try:
        child = subprocess.Popen(
            argv, cwd=place.root, env=environment(place),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            close_fds=7 not in wanted.redirects,
            preexec_fn=redirect(wanted.redirects, place.root, wanted.nobody))
    except PermissionError:
        raise Skip("nobody else can run programs from this folder") from None
    try:
        out, _ = child.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        child.kill()
        raise ValueError(f"no end after {TIMEOUT} s") from None
    code = child.returncode
    return split(out), f"killed {-code}" if code < 0 else f"exit {code}"


def in_place(workload, keep, body):
    place = Place()
    try:
        return body(place, prepare(workload, place))
    finally:
        if keep:
            print(f"kept {place.base}")
        else:
            place.remove()


def untraced(workload, keep):
    """The same without a tracer: expectations and status."""
    def body(place, lines):
        said, status = run([workload], place, Expected(lines))
        wait_for_daemons(place)
        return Expected(lines + said), status
    return in_place(workload, keep, body)


def wait_for_daemons(place):
    """A tracer waits for the whole tree; a plain parent has to ask."""
    def lives_there(pid):
        try:
            cwd = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return False
        return cwd.startswith(place.root)
    for _ in range(100):
        if not any(lives_there(p) for p in os.listdir("/proc") if p.isdigit()):
            return
        time.sleep(0.02)


def name_of(workload):
    return os.path.basename(workload).removeprefix("workload_")


def sums_option(workload):
    """Only these say how many bytes they read and write."""
    return ["--sums"] if name_of(workload).startswith("sums_") else []


def traced(command, tracer, workload, keep):
    def body(place, lines):
        argv = [*command, "--tracer", tracer, "--events", "--facts",
                *sums_option(workload), "-o", place.output, "--", workload]
        said, status = run(argv, place, Expected(lines))
        if status != "exit 0":
            raise ValueError(f"trace_dump ended with {status}")
        with open(place.output, "rb") as f:
            seen = Seen(split(f.read()))
        return Expected(lines + said), seen
    return in_place(workload, keep, body)


def differences(kind, missing, extra):
    return ([f"missing {kind}: {line}" for line in missing] +
            [f"extra {kind}: {line}" for line in extra])


def compare(tracer, plain, plain_status, expected, seen):
    """All that is wrong, as lines."""
    facts = expected.facts_of(tracer)
    if tracer in STANDING:
        facts = facts | {STANDING[tracer]}
    wrong = []
    if plain_status != expected.status:
        wrong.append(f"untraced it ended with {plain_status}, "
                     f"not {expected.status}")
    if seen.status != expected.status:
        wrong.append(f"it ended with {seen.status}, not {expected.status}")
    wrong += differences("fact", sorted(facts - seen.facts),
                         sorted(seen.facts - facts - expected.may_of(tracer, seen.facts)))
    events = seen.events
    for word in ("exec ", "change "):
        if not any(e.startswith(word) for e in expected.events):
            events = [e for e in events if not e.startswith(word)]
    wanted = [e for e in expected.events
              if tracer not in AFTERWARDS or not e.startswith("change ")]
    # What was left out may have stood between two of a kind.
    events = [e for i, e in enumerate(events) if events[i - 1:i] != [e]]
    if wanted and wanted != events:
        wrong.append("expected events: " + "; ".join(wanted))
        wrong.append("events seen:     " + "; ".join(events))
    wrong += differences("state", [s for s in plain.state
                                   if s not in expected.state],
                         [s for s in expected.state if s not in plain.state])
    return wrong


def compare_blind(plain_status, seen, gap):
    """The command is not disturbed, and the record says that it is not whole."""
    wrong = []
    if seen.status != plain_status:
        wrong.append(f"it ended with {seen.status}, not {plain_status}")
    if gap and not any(f"gap {g}" in seen.facts for g in gap.split(" or ")):
        wrong.append(f"missing fact: gap {gap}")
    return wrong


def check(args, tracer, plain, plain_status):
    expected, seen = traced(args.command, tracer, args.workload, args.keep)
    if seen.untraced is not None:
        refused(tracer, seen.untraced, args.under.split(), expected.nobody)
    name = name_of(args.workload)
    blind = BLIND.get(tracer, {})
    if name in blind:
        wrong = compare_blind(plain_status, seen, blind[name])
    if name not in blind or wrong:  # who looks in time sees it all
        wrong = compare(tracer, plain, plain_status, expected, seen)
    for line in wrong:
        print(f"{tracer}: {line}".encode("utf-8", "backslashreplace").decode())
    return not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tracer", action="append")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--under", default="")
    parser.add_argument("dump")
    parser.add_argument("workload")
    args = parser.parse_args()
    args.dump = os.path.abspath(args.dump)
    args.command = [*args.under.split(), args.dump]
    args.workload = os.path.abspath(args.workload)
    if args.tracer:
        tracers = args.tracer
    else:
        tracers = subprocess.run([args.dump, "--list"], check=True,
                                 stdout=subprocess.PIPE,
                                 text=True).stdout.split()
    if os.environ.get("ROAR_TEST_TRACERS"):
        only = os.environ["ROAR_TEST_TRACERS"].split()
        tracers = [tracer for tracer in tracers if tracer in only]
    try:
        plain, status = untraced(args.workload, args.keep)
    except Skip as reason:
        print(f"skipped: {reason}")
        return 77
    results = []
    for tracer in tracers:
        try:
            results.append(check(args, tracer, plain, status))
        except Skip as reason:
            print(f"skipped: {reason}")
    if not results:
        return 77
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
