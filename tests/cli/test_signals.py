"""Signals reach the command as often as they were sent."""

import ctypes
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


def test_a_signal_to_each_process_of_roar_ends_the_command(project):
    """As pkill sends it."""
    process = project.popen("run", "-q", "sh", "-c", "echo ready; "
                            "exec sleep 60")
    assert process.stdout.readline() == b"ready\n"
    for pid in [process.pid, *children_of(process.pid)]:
        os.kill(pid, signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 143
    until(lambda: not project.leftovers(), "the end of all", 10)


def test_a_signal_right_after_the_start_is_not_lost(project):
    """The command may not exist yet."""
    for delay in (0, 0.001, 0.002, 0.004, 0.008, 0.016):
        process = project.popen("run", "-q", "sleep", "30")
        time.sleep(delay)
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=20)
        assert process.returncode in (128 + signal.SIGTERM, -signal.SIGTERM)
    until(lambda: not project.leftovers(), "the end of all", 10)


def test_interrupts_that_nobody_typed_are_only_passed_on(project):
    """However many: who sends them knows of SIGKILL."""
    process, _ = start(project, "INT")
    for _ in range(3):
        os.kill(process.pid, signal.SIGINT)
        time.sleep(0.25)
    assert finish(process) == ("INT=3", "", 0)
    assert project.last()["status"] == "ok"


# Saves what it has when it is interrupted, which takes a while; a second
# interrupt would spoil it.
SAVER = r"""
import signal, sys, time
n = 0
def on(*_):
    global n
    n += 1
    time.sleep(1)
    open('saved', 'w').write(str(n))
    sys.exit(0)
signal.signal(signal.SIGINT, on)
signal.signal(signal.SIGTERM, on)
print('ready', flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_timeout_interrupts_a_command_that_saves(project, name):
    """timeout(1) signals its child, and then the whole group."""
    project.write("saver.py", SAVER)
    process = subprocess.Popen(
        ["timeout", "-s", name, "2", project.roar_program, "run", "-q",
         sys.executable, "-I", "-S", "saver.py"], cwd=project.root,
        env=project.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        start_new_session=True)
    process.communicate(timeout=60)
    assert process.returncode == 124
    assert project.read("saved") == b"1"
    assert project.last()["verdict"] == "complete"


# Adds up the values of a real-time signal, with their senders.
ADDER = r"""
import os, signal, sys
number = signal.SIGRTMIN + 1
signal.pthread_sigmask(signal.SIG_BLOCK, {number})
print('ready', os.getpid(), flush=True)
got = []
while len(got) < int(sys.argv[1]):
    info = signal.sigtimedwait({number}, 10)
    if info is None:
        break
    got.append(info.si_pid)
print(len(got), len(set(got)), got[0] if got else 0, flush=True)
"""


def queue_signal(pid, number, value):
    """sigqueue(3)."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.sigqueue(pid, number, ctypes.c_void_p(value)) == 0


def test_queued_signals_arrive_one_by_one_from_their_sender(project):
    process = project.popen("run", "-q", sys.executable, "-I", "-S", "-c",
                            ADDER, "5")
    assert process.stdout.readline().startswith(b"ready")
    for _ in range(5):
        queue_signal(process.pid, signal.SIGRTMIN + 1, 7)
    assert finish(process) == (f"5 1 {os.getpid()}", "", 0)


VALUES = r"""
#include <signal.h>
#include <stdio.h>

int main(void)
{
	sigset_t set;
	siginfo_t info;
	int sum = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	printf("ready\n");
	fflush(stdout);
	for (int i = 0; i < 5; i++) {
		sigwaitinfo(&set, &info);
		sum += info.si_value.sival_int;
	}
	printf("%d\n", sum);
	return 0;
}
"""


def test_queued_signals_keep_their_values(project):
    project.write("values.c", VALUES)
    subprocess.run(["cc", "-o", "values", "values.c"], cwd=project.root,
                   check=True)
    process = project.popen("run", "-q", "./values")
    assert process.stdout.readline() == b"ready\n"
    for value in range(1, 6):
        queue_signal(process.pid, signal.SIGRTMIN + 1, value)
    assert finish(process) == ("15", "", 0)


def test_real_time_signals_of_kill_are_not_merged(project):
    process = project.popen("run", "-q", sys.executable, "-I", "-S", "-c",
                            ADDER, "4")
    assert process.stdout.readline().startswith(b"ready")
    for _ in range(4):
        os.kill(process.pid, signal.SIGRTMIN + 1)
    assert finish(process)[0].startswith("4 1 ")


@pytest.mark.parametrize("name", ["TTIN", "TTOU", "ABRT", "SEGV", "PIPE",
                                  "XCPU", "TRAP"])
def test_no_signal_is_kept_back(project, name):
    process, _ = start(project, name)
    os.kill(process.pid, getattr(signal, "SIG" + name))
    assert finish(process) == (f"{name}=1", "", 0)


def test_a_signal_that_roar_was_started_to_ignore_arrives(project):
    """The command may have stopped ignoring it."""
    process, _ = start(project, "HUP",
                       preexec_fn=lambda: signal.signal(signal.SIGHUP,
                                                        signal.SIG_IGN))
    os.kill(process.pid, signal.SIGHUP)
    assert finish(process) == ("HUP=1", "", 0)


def loop(place, command):
    """A shell whose loop is interrupted in its first round: what it says."""
    script = f"for i in 1 2 3; do echo round $i; {command}; done; echo over"
    process = subprocess.Popen(["bash", "-c", script], cwd=place.root,
                               env=place.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout.readline() == b"round 1\n"
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    return out, process.returncode


def test_an_interrupt_ends_the_loop_of_a_shell(project):
    plain = loop(project, "sleep 3")
    assert plain == (b"", -signal.SIGINT)
    assert loop(project, f"{project.roar_program} run -q sleep 3") == plain
    assert project.last()["status"] == "interrupted"
    assert project.last()["exit_code"] == 130


def test_a_late_front_still_dies_of_the_interrupt(project):
    """It hears of the signal when the command is gone and its files are
    hashed."""
    process = project.popen("run", "-q", "sh", "-c", "truncate -s 2G big; "
                            "echo $$; exec sleep 30", start_new_session=True)
    command = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGSTOP)
    os.killpg(process.pid, signal.SIGINT)
    until(lambda: not os.path.exists(f"/proc/{command}"), "its end")
    os.kill(process.pid, signal.SIGCONT)
    assert finish(process)[2] == -signal.SIGINT


def test_a_command_that_interrupts_itself_gives_its_code(project):
    project.run("sh", "-c", "kill -INT $$", code=130)


def wait_for_hashing(place, process):
    """Until the command has ended and roar is busy with what it left."""
    until(lambda: place.exists("ended"), "the end of the command")
    time.sleep(2)
    assert process.poll() is None, "not enough to hash"


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_hashing_ends_on_demand_with_the_code_of_the_command(project, name):
    process = project.popen("run", "sh", "-c", "truncate -s 200G big; "
                            "touch ended; exit 3")
    wait_for_hashing(project, process)
    os.kill(process.pid, getattr(signal, "SIG" + name))
    out, err, code = finish(process)
    assert (out, code) == ("", 3)
    assert err == ("roar: the command has ended, but hashing was interrupted: "
                   "the next roar command completes the record from its "
                   "journal\n")
    assert not project.leftovers()
    os.unlink(project.path("big"))
    until(project.jobs, "the record")
    job = project.last()
    assert job["exit_code"] == 3
    assert job["verdict"] != "complete"
    assert project.journals() == []


def test_what_ended_the_command_does_not_end_the_record(project):
    """The signal comes to both; the front may be slow to hear of it."""
    process = project.popen("run", "-q", "sh", "-c", "truncate -s 8G big; "
                            "echo ready; sleep 60", start_new_session=True)
    assert process.stdout.readline() == b"ready\n"
    os.killpg(process.pid, signal.SIGTERM)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGTERM)
    assert finish(process)[2] == 143
    assert project.last()["status"] == "interrupted"
    assert project.last()["outputs"][0]["size_bytes"] == 8 << 30


def test_what_outlived_the_command_outlives_interrupted_hashing(project):
    process = project.popen("run", "sh", "-c", "truncate -s 200G big; "
                            "setsid sh -c 'sleep 5; echo x >later' & "
                            "touch ended; exit 3")
    wait_for_hashing(project, process)
    os.kill(process.pid, signal.SIGINT)
    _, err, code = finish(process)
    assert code == 3
    assert "completed in the background" in err
    until(lambda: project.exists("later"), "the end of what outlived")
    os.truncate(project.path("big"), 0)
    until(lambda: not project.leftovers(), "the end of the record", 60)
    assert project.last()["exit_code"] == 3


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
