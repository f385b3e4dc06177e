"""Signals reach the command as often as they were sent."""

import os
import signal
import subprocess
import sys
import time

import pytest

from helpers import children_of, descendants_of, until

# Counts signals, tells how many, and ends a while after the last.
COUNTER = r"""
import os, signal, sys, time
names = sys.argv[1].split(',')
count = {n: 0 for n in names}
last = [time.monotonic()]
def on(number, _):
    count[signal.Signals(number).name[3:]] += 1
    last[0] = time.monotonic()
for n in names:
    signal.signal(getattr(signal, 'SIG' + n), on)
print('ready', os.getpid(), flush=True)
deadline = time.monotonic() + 30
while time.monotonic() < deadline:
    if any(count.values()) and time.monotonic() - last[0] > 0.5:
        break
    time.sleep(0.01)
print(' '.join(f'{n}={count[n]}' for n in names), flush=True)
"""


def start(place, names, **options):
    """A counting command under roar; returns the process and its pid."""
    process = place.popen("run", "-q", sys.executable, "-I", "-S", "-c",
                          COUNTER, names, **options)
    word, pid = process.stdout.readline().split()
    assert word == b"ready"
    return process, int(pid)


def finish(process):
    out, err = process.communicate(timeout=60)
    return out.decode().strip(), err.decode(), process.returncode


@pytest.mark.parametrize("name", ["TERM", "HUP", "INT", "USR1", "USR2",
                                  "QUIT", "ALRM", "WINCH"])
def test_a_signal_to_roar_is_passed_on_once(project, name):
    process, _ = start(project, name)
    os.kill(process.pid, getattr(signal, "SIG" + name))
    assert finish(process) == (f"{name}=1", "", 0)
    assert len(project.jobs()) == 1


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "USR1"])
def test_a_signal_to_the_group_arrives_once(project, name):
    process, pid = start(project, name, start_new_session=True)
    os.killpg(os.getpgid(pid), getattr(signal, "SIG" + name))
    assert finish(process) == (f"{name}=1", "", 0)


def test_a_signal_to_the_command_alone_arrives_once(project):
    process, pid = start(project, "TERM")
    os.kill(pid, signal.SIGTERM)
    assert finish(process) == ("TERM=1", "", 0)
    assert project.last()["status"] == "ok"


def test_different_signals_each_arrive(project):
    process, _ = start(project, "TERM,USR1,USR2,HUP")
    for name in ("USR1", "USR2", "HUP", "TERM"):
        os.kill(process.pid, getattr(signal, "SIG" + name))
    assert finish(process) == ("TERM=1 USR1=1 USR2=1 HUP=1", "", 0)


def test_the_same_signal_sent_again_arrives_again(project):
    process, _ = start(project, "USR1")
    for _ in range(3):
        os.kill(process.pid, signal.SIGUSR1)
        time.sleep(0.2)
    assert finish(process) == ("USR1=3", "", 0)


def test_term_to_roar_ends_a_plain_command(project):
    process = project.popen("run", "-q", "sh", "-c",
                            "echo a >a; echo ready; exec sleep 60")
    assert process.stdout.readline() == b"ready\n"
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    job = project.last()
    assert job["status"] == "interrupted"
    assert job["exit_code"] == 143
    assert project.journals() == []


def test_a_signal_right_after_the_start_is_not_lost(project):
    """The command may not exist yet."""
    for delay in (0, 0.001, 0.002, 0.004, 0.008, 0.016):
        process = project.popen("run", "-q", "sleep", "30")
        time.sleep(delay)
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=20)
        assert process.returncode in (128 + signal.SIGTERM, -signal.SIGTERM)
    until(lambda: not project.leftovers(), "the end of all", 10)


def test_interrupt_twice_without_a_terminal_ends_the_run(project):
    script = ("import signal, time\n"
              "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
              "print('ready', flush=True)\n"
              "time.sleep(60)\n")
    process = project.popen("run", "-q", sys.executable, "-I", "-S", "-c",
                            script)
    assert process.stdout.readline() == b"ready\n"
    os.kill(process.pid, signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode in (130, 137)
    assert project.last()["status"] == "interrupted"


def test_stop_and_continue_of_roar_reach_the_command(project):
    script = ("import time, sys\n"
              "print('ready', flush=True)\n"
              "for i in range(10): time.sleep(0.1)\n"
              "print('end', flush=True)\n")
    process = project.popen("run", "-q", sys.executable, "-I", "-S", "-c",
                            script)
    assert process.stdout.readline() == b"ready\n"
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGCONT)
    out, _ = process.communicate(timeout=30)
    assert out == b"end\n" and process.returncode == 0


def test_a_stopped_command_is_stopped_and_goes_on(project):
    process = project.popen("run", "-q", "sh", "-c",
                            "echo $$; sleep 0.5; echo end")
    pid = int(process.stdout.readline())
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1.2)
    assert process.poll() is None
    os.kill(pid, signal.SIGCONT)
    # A stopped command stops the front as well: the caller continues both.
    os.kill(process.pid, signal.SIGCONT)
    out, _ = process.communicate(timeout=30)
    assert out == b"end\n" and process.returncode == 0
    assert project.last()["verdict"] == "complete"


def test_a_command_that_kills_its_own_group(project):
    process = project.popen("run", "-q", "sh", "-c",
                            "trap '' TERM; echo a >a; kill -TERM 0; echo b",
                            start_new_session=True)
    out, _ = process.communicate(timeout=30)
    assert out == b"b\n"
    assert process.returncode == 0
    assert len(project.jobs()) == 1


def test_signal_senders_are_seen_as_they_are(project):
    """The command's own children signal it as before."""
    out = project.run("sh", "-c", "trap 'echo trapped' USR1; "
                      "sh -c 'kill -USR1 $PPID'; sleep 0.2; echo end").out
    assert out == "trapped\nend\n"


def test_timeout_program_inside_and_outside(project):
    project.run("timeout", "0.3", "sleep", "30", code=124)
    done = subprocess.run(["timeout", "--foreground", "0.5",
                           *project.argv("run", "-q", "sleep", "30")],
                          cwd=project.root, env=project.env,
                          stdin=subprocess.DEVNULL, timeout=30, check=False)
    assert done.returncode == 124
    done = subprocess.run(["timeout", "0.5",
                           *project.argv("run", "-q", "sleep", "30")],
                          cwd=project.root, env=project.env,
                          stdin=subprocess.DEVNULL, timeout=30, check=False)
    assert done.returncode == 124
    until(lambda: not project.leftovers(), "the end of all", 10)
    assert [j["exit_code"] for j in project.jobs()] == [124, 143, 143]


def test_nohup(project):
    process = project.popen("run", "-q", "nohup", "sh", "-c",
                            "echo ready; sleep 1; echo end")
    assert process.stdout.readline() == b"ready\n"
    os.kill(process.pid, signal.SIGHUP)
    out, _ = process.communicate(timeout=30)
    assert out == b"end\n"
    assert process.returncode == 0


def test_alarm_and_timers_of_the_command_work(project):
    script = ("import signal\n"
              "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
              "signal.pause()\n")
    project.run(sys.executable, "-I", "-S", "-c", script,
                code=128 + signal.SIGALRM)


def test_processes_of_one_run(project):
    """One front, one tracer, then the command: nobody else."""
    process = project.popen("run", "-q", "sh", "-c", "echo $$; read x",
                            stdin=subprocess.PIPE)
    pid = int(process.stdout.readline())
    tracer = [p for p in children_of(process.pid)]
    assert len(tracer) == 1
    assert pid in descendants_of(tracer[0])
    process.communicate(b"\n", timeout=30)
    assert process.returncode == 0
