#!/usr/bin/env python3
"""kill -9 of any one process of the tracer must not be felt by the command.

    hybrid_kill.py [--seed N] [--rounds N] TRACE_DUMP STATIC [ROAR]

A command (a shell with children; then STATIC, a static program whose every open
waits for an answer) runs under the hybrid and the plain preload tracer while the
tracer, its guardian or, with ROAR, the front process is killed at a random moment.
The command must end with its right output and status, which the front tells, nothing
of the tracer may be left behind, and a killed guardian must not even make the record incomplete."""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kernel  # noqa: E402

LINES = 120
BEGUN = "begun"  # the command's first file
SCRIPT = f"""
: > {BEGUN}
i=0
while [ $i -lt {LINES} ]; do
  echo $i > f$i || echo "no f$i"
  cat f$i
  mv f$i g$i || echo "no g$i"
  [ $((i % 3)) = 0 ] && rm g$i
  i=$((i + 1))
done
(exit 7)
echo end $?
"""
EXPECTED = "".join(f"{i}\n" for i in range(LINES)) + "end 7\n"
PATIENCE = 60  # seconds
TRIES = 10  # kills until one comes in time


def stat(pid):
    """Name, state and parent of a process; zombies are nobody."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            head, rest = f.read().rsplit(")", 1)
    except OSError:
        return "", 0
    state, parent = rest.split()[:2]
    name = head.split("(", 1)[1]
    return ("", 0) if state == "Z" else (name, int(parent))


def children_of(pid):
    return [int(p) for p in os.listdir("/proc")
            if p.isdigit() and stat(int(p))[1] == pid]


def guardian_of(pid):
    return [p for p in children_of(pid) if stat(p)[0] == "roar-guardian"]


def family(pid):
    """The process, its children and their children."""
    return [pid] + [p for child in children_of(pid)
                    for p in [child, *children_of(child)]]


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def await_nothing(what, look):
    end = time.monotonic() + PATIENCE
    while look():
        if time.monotonic() > end:
            raise AssertionError(f"{what} was left behind")
        time.sleep(0.02)


def await_command(child, where):
    """A tracer that is killed before there is a command lets nobody down."""
    end = time.monotonic() + PATIENCE
    while not os.path.exists(os.path.join(where, BEGUN)):
        if child.poll() is not None or time.monotonic() > end:
            raise AssertionError("the command was not started")
        time.sleep(0.001)


def run(argv, delay, victims, where, after=None):
    """Starts it, kills after a while, returns what the command said."""
    with subprocess.Popen(argv, cwd=where, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:
        mine, ours = [], []
        await_command(child, where)
        time.sleep(delay)
        if child.poll() is None:
            ours = family(child.pid)
            mine = victims(child.pid)
            kill(mine)
        # The pipe ends when the command does, whoever its parent is now.
        out = child.stdout.read().decode()
        child.wait(PATIENCE)
    if after:
        subprocess.run(after, cwd=where, stdout=subprocess.DEVNULL, check=True)
    await_nothing("a guardian", lambda: any(
        stat(p)[0] == "roar-guardian" for p in ours))
    await_nothing("a log", lambda: any(
        name.startswith(f"roar-log-{pid}-")
        for name in os.listdir("/dev/shm") for pid in ours))
    return out, child.returncode, bool(mine)


def gaps(path):
    """Without the one that every record of the library alone has."""
    with open(path, encoding="utf-8") as f:
        return [line.strip() for line in f
                if line.startswith("gap ") and line != "gap library\n"]


def check(name, said, expected):
    if said != expected:
        raise AssertionError(f"{name}: the command said {said[-300:]!r}")


def one(args, tracer, whom, victims):
    """One command, one kill.  Returns whether the kill came in time."""
    delay = args.random.uniform(0, 0.25)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as where:
        output = os.path.join(where, "trace")
        argv = [args.dump, "--tracer", tracer, "--facts", "-o", output,
                "--", "sh", "-c", SCRIPT]
        said, code, hit = run(argv, delay, victims, where)
        name = f"{tracer}, {whom} killed after {delay:.3f} s"
        check(name, said, EXPECTED)
        if whom == "guardian" and (code != 0 or gaps(output)):
            raise AssertionError(f"{name}: {code} {gaps(output)}")
    return hit


def static(args):
    """A static program loses its tracer in the middle.  Returns whether it did."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as where:
        env = dict(os.environ, TRACE_ROOT=where)
        subprocess.run([args.static, "prepare"], cwd=where, check=True,
                       stdout=subprocess.DEVNULL)
        argv = [args.dump, "--tracer", "hybrid", "-o", where + "/trace", "--",
                "sh", "-c", f": > {BEGUN}; sleep 0.1; exec \"$0\" && :; echo $?",
                args.static]
        os.environ.update(env)
        said, _, hit = run(argv, 0.05, lambda pid: [pid], where)
        if "fail" in said or not os.path.exists(where + "/renamed.txt"):
            raise AssertionError(f"the static program said {said!r}")
    return hit


def front(args, whom):
    """`roar run`: the front, or the tracer behind it.  Returns whether the kill
    came in time."""
    delay = args.random.uniform(0, 0.2)
    # Of a killed front, the tracer may still write its record.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as where:
        argv = [args.roar, "run", "-q", "--tracer", "hybrid", "sh", "-c",
                SCRIPT]

        def victims(pid):
            return [pid] if whom == "front" else children_of(pid)[:1]
        # What is left then, the next command takes away.
        said, code, hit = run(argv, delay, victims, where, [args.roar, "log"])
        name = f"roar run, {whom} killed after {delay:.3f} s"
        check(name, said, EXPECTED)
        if whom == "tracer" and code != 0:
            raise AssertionError(f"{name}: the front ended with {code}")
    return hit


def some(what, rounds, attempt):
    """Kills that come too late show nothing: at least one of each kind must not.
    Returns how many did not."""
    tries = max(rounds, TRIES)
    hits = 0
    for n in range(tries):
        if n >= rounds and hits:
            break
        hits += attempt()
    if not hits:
        raise AssertionError(f"{what}: none of {tries} kills came in time")
    return hits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("dump", type=os.path.abspath)
    parser.add_argument("static", type=os.path.abspath)
    parser.add_argument("roar", type=os.path.abspath, nargs="?")
    args = parser.parse_args()
    args.random = random.Random(args.seed)
    print(f"seed {args.seed}")
    for tracer in ("hybrid", "preload"):
        if not kernel.offers(tracer):
            print(f"skipped: the kernel does not offer {tracer}")
            return 77
    hits = 0
    for tracer in ("hybrid", "preload"):
        for whom, victims in (("tracer", lambda pid: [pid]),
                              ("guardian", guardian_of)):
            hits += some(f"{tracer}, {whom}", args.rounds,
                         lambda t=tracer, w=whom, v=victims: one(args, t, w, v))
    hits += some("static", 1, lambda: static(args))
    for whom in ("front", "tracer") if args.roar else ():
        hits += some(f"roar run, {whom}", 1, lambda w=whom: front(args, w))
    print(f"{hits} kills came in time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
