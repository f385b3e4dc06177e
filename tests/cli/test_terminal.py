"""The command has the terminal: size, job control, keys, full screen."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from helpers import SETTLE, children_of, state_of, until
from terminal import Terminal, on_terminal


def python(script):
    return [sys.executable, "-I", "-S", "-c", script]


def test_the_command_has_the_same_terminal(project):
    script = "tty; test -t 0 && test -t 1 && test -t 2 && echo all"
    with Terminal(["sh", "-c", f"tty; {project.roar_program} run -q sh -c "
                   f"'{script}'"], project.root, project.env) as t:
        assert t.wait() == 0
    first, second, third = t.text.split()
    assert first == second and first.startswith("/dev/")
    assert third == "all"


def test_the_controlling_terminal_can_be_opened(project):
    with on_terminal(project, "run", "-q", "sh", "-c",
                     "echo direct >/dev/tty") as t:
        assert t.wait() == 0
    assert "direct" in t.text


def test_the_command_is_in_the_foreground(project):
    script = ("import os; print('same', os.tcgetpgrp(0) == os.getpgrp())")
    with on_terminal(project, "run", "-q", *python(script)) as t:
        assert t.wait() == 0
    assert "same True" in t.text


def test_window_size(project):
    with on_terminal(project, "run", "-q", "stty", "size", rows=33,
                     columns=99) as t:
        assert t.wait() == 0
    assert t.text == "33 99\r\n"


def test_window_size_changes_arrive(project):
    script = ("import os, signal, time\n"
              "n = []\n"
              "signal.signal(signal.SIGWINCH, lambda *a: n.append(1))\n"
              "print('ready', flush=True)\n"
              "while not n: time.sleep(0.01)\n"
              "time.sleep(0.3)\n"
              "print('size', *os.get_terminal_size(0), 'times', len(n))\n")
    with on_terminal(project, "run", "-q", *python(script)) as t:
        t.expect("ready")
        t.resize(50, 120)
        assert t.wait() == 0
    assert "size 120 50 times 1" in t.text


def test_settings_of_the_terminal_stay_as_the_command_leaves_them(project):
    with Terminal(["sh", "-c", f"{project.roar_program} run -q stty -echo; "
                   "stty -a; stty sane"], project.root, project.env) as t:
        assert t.wait() == 0
    assert re.search(r"-echo\b", t.text)


def test_typed_input_reaches_the_command(project):
    with on_terminal(project, "run", "-q", "sh", "-c",
                     "read x; echo \"got $x\"; cat") as t:
        t.type("hello\n")
        t.expect("got hello")
        t.type("line\n")
        t.expect("line\r\nline")
        t.type("\x04")
        assert t.wait() == 0


# A program that counts what it gets and ends by itself.
COUNTER = """
import os, signal, sys, time
n = 0
def on(*_):
    global n
    n += 1
signal.signal(signal.SIGINT, on)
print('ready', flush=True)
while not n: time.sleep(0.01)
time.sleep(0.5)
print('interrupts', n, flush=True)
sys.exit(int(sys.argv[1]))
"""


def test_ctrl_c_arrives_once_and_the_command_may_go_on(project):
    with on_terminal(project, "run", "-q", *python(COUNTER), "0") as t:
        t.expect("ready")
        t.type("\x03")
        assert t.wait() == 0
    assert "interrupts 1\r" in t.text
    job = project.last()
    assert job["exit_code"] == 0
    assert job["verdict"] == "complete"


def test_ctrl_c_with_an_exit_code_of_its_own(project):
    with on_terminal(project, "run", "-q", *python(COUNTER), "5") as t:
        t.expect("ready")
        t.type("\x03")
        assert t.wait() == 5
    assert project.last()["exit_code"] == 5


def test_ctrl_c_ends_a_plain_command_and_the_record_says_interrupted(project):
    with on_terminal(project, "run", "-q", "sh", "-c",
                     "echo a >a; echo ready; sleep 60") as t:
        t.expect("ready")
        time.sleep(0.3)  # sh forgets an interrupt while it starts sleep
        started = time.monotonic()
        t.type("\x03")
        assert t.wait() == 130
    assert time.monotonic() - started < 10
    job = project.last()
    assert job["status"] == "interrupted"
    assert job["exit_code"] == 130
    assert [os.path.basename(f["path"]) for f in job["outputs"]] == ["a"]
    assert " INT" in project("log").out


STUBBORN = """
import signal, time
for s in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
    signal.signal(s, signal.SIG_IGN)
open('a', 'w').write('a')
print('ready', flush=True)
time.sleep(60)
"""


def test_second_ctrl_c_ends_a_stubborn_command(project):
    with on_terminal(project, "run", *python(STUBBORN)) as t:
        t.expect("ready")
        t.type("\x03")
        time.sleep(0.5)
        assert t.status is None
        pid, _ = os.waitpid(t.pid, os.WNOHANG)
        assert pid == 0
        t.type("\x03")
        code = t.wait()
    assert code in (130, 137)
    job = project.last()
    assert job["status"] == "interrupted"
    assert [os.path.basename(f["path"]) for f in job["outputs"]] == ["a"]
    assert "interrupted" in t.text
    assert project.leftovers() == []


def test_second_ctrl_c_ends_a_whole_stubborn_tree(project):
    # Nor does the end of the terminal end it.
    script = ("import os, signal, time\n"
              "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
              "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
              "for i in range(3): os.fork()\n"
              "print('ready', flush=True)\n"
              "time.sleep(60)\n")
    with on_terminal(project, "run", "-q", *python(script)) as t:
        for _ in range(8):
            t.expect("ready")
        t.type("\x03")
        time.sleep(0.3)
        t.type("\x03")
        t.wait()
    until(lambda: not project.leftovers(), "the end of the tree", 10)
    assert project.last()["status"] == "interrupted"


def press(t, times, pace):
    for _ in range(times):
        t.type("\x03")
        time.sleep(pace)


def is_running(t):
    return os.waitpid(t.pid, os.WNOHANG) == (0, 0)


# Catches interrupts and does not end; tells how many there were.
HUNG = """
import os, signal, time
n = 0
def on(*_):
    global n
    n += 1
    os.write(1, b'caught %d\\n' % n)
signal.signal(signal.SIGINT, on)
open('a', 'w').write('a')
print('ready', flush=True)
while True: time.sleep(60)
"""


def test_third_ctrl_c_ends_a_command_that_catches_it(project):
    with on_terminal(project, "run", *python(HUNG)) as t:
        t.expect("ready")
        t.type("\x03")
        t.expect("caught 1")
        time.sleep(0.6)
        assert "press Ctrl-C" not in t.text
        t.type("\x03")
        t.expect("caught 2")
        t.expect("\nroar: press Ctrl-C again to end the run\r")
        time.sleep(0.6)
        assert is_running(t)
        t.type("\x03")
        assert t.wait() == 137
    assert t.text.count("press Ctrl-C") == 1
    job = project.last()
    assert job["status"] == "interrupted"
    assert [os.path.basename(f["path"]) for f in job["outputs"]] == ["a"]
    assert project.leftovers() == []


def test_quiet_is_quiet_about_the_third_ctrl_c(project):
    with on_terminal(project, "run", "-q", *python(HUNG)) as t:
        t.expect("ready")
        press(t, 3, 0.7)
        assert t.wait() == 137
    assert "roar" not in t.text


def test_ctrl_c_now_and_then_ends_nothing(project):
    with on_terminal(project, "run", "-q", *python(HUNG)) as t:
        t.expect("ready")
        for i in range(3):
            t.type("\x03")
            t.expect(f"caught {i + 1}")
            time.sleep(2.4)
        assert is_running(t)


def test_a_ctrl_c_that_is_held_down_counts_once(project):
    with on_terminal(project, "run", "-q", *python(HUNG)) as t:
        t.expect("ready")
        press(t, 60, 0.033)
        time.sleep(0.5)
        assert is_running(t)


def test_a_prompt_survives_any_number_of_ctrl_c(project):
    with on_terminal(project, "run", "-q", sys.executable, "-I", "-S",
                     "-q") as t:
        t.expect(">>> ")
        for _ in range(6):
            time.sleep(0.4)  # until it reads
            t.type("\x03")
            t.expect("KeyboardInterrupt")
            t.expect(">>> ")
        t.type("print(6 * 7)\n")
        t.expect(r"\n42\r")
        t.type("\x04")
        assert t.wait() == 0
    assert "press Ctrl-C" not in t.text


def test_a_prompt_without_line_editing_survives_too(project):
    script = ("import sys\n"
              "while True:\n"
              "    try:\n"
              "        print('prompt>', flush=True)\n"
              "        if sys.stdin.readline() == 'end\\n': break\n"
              "    except KeyboardInterrupt: pass\n")
    with on_terminal(project, "run", *python(script)) as t:
        t.expect("prompt>")
        for _ in range(6):
            time.sleep(0.4)
            t.type("\x03")
            t.expect("prompt>")
        t.type("end\n")
        assert t.wait() == 0
    assert "press Ctrl-C" not in t.text


def test_less_survives_any_number_of_ctrl_c(project):
    if not shutil.which("less"):
        pytest.skip("less is not installed")
    project.write("text", "".join(f"line {i}\n" for i in range(60)))
    with on_terminal(project, "run", "-q", "less", "+F", "text") as t:
        t.expect("Waiting for data")
        for _ in range(4):
            time.sleep(0.3)
            t.type("\x03")
            time.sleep(0.3)
            t.type("F")
            t.expect("Waiting for data")
        t.type("\x03")
        time.sleep(0.3)
        t.type("q")
        assert t.wait() == 0


def test_vim_survives_any_number_of_ctrl_c(project):
    if not shutil.which("vim"):
        pytest.skip("vim is not installed")
    project.write("text", "some line\n")
    with on_terminal(project, "run", "-q", "vim", "-u", "NONE", "-N",
                     "text") as t:
        t.expect("some line")
        press(t, 5, 0.4)
        t.type("\x1b:q!\r")
        assert t.wait() == 0


def test_ctrl_c_while_only_hashing_ends_that(project):
    with on_terminal(project, "run", "sh", "-c", "truncate -s 200G big; "
                     "exit 3") as t:
        t.expect("hashing")
        time.sleep(1)
        t.type("\x03")
        assert t.wait() == 3
    assert "the next roar command completes the record" in t.text
    os.unlink(project.path("big"))
    until(project.jobs, "the record")
    assert project.last()["exit_code"] == 3


def test_quit_key_arrives_once(project):
    script = ("import signal, time\n"
              "n = []\n"
              "signal.signal(signal.SIGQUIT, lambda *a: n.append(1))\n"
              "print('ready', flush=True)\n"
              "while not n: time.sleep(0.01)\n"
              "time.sleep(0.3)\n"
              "print('quits', len(n))\n")
    with on_terminal(project, "run", "-q", *python(script)) as t:
        t.expect("ready")
        t.type("\x1c")
        assert t.wait() == 0
    assert "quits 1\r" in t.text


def shell(place):
    """An interactive shell with job control and a plain prompt."""
    t = Terminal(["bash", "--norc", "--noprofile", "-i"], place.root,
                 place.environment({"PS1": "prompt> ", "TERM": "dumb"}))
    t.expect("prompt> ")
    return t


TICKS = ("i=0; while [ $i -lt 30 ]; do echo tick $i; i=$((i+1)); "
         "sleep 0.1; done; echo finished")


def test_ctrl_z_stops_and_fg_continues(project):
    with shell(project) as t:
        t.type(f"{project.roar_program} run -q sh -c '{TICKS}'\n")
        t.expect(r"tick 3\r")
        t.type("\x1a")
        t.expect(r"Stopped")
        t.expect("prompt> ")
        ticks = t.text.count("tick ")
        time.sleep(0.6)
        t.pump(0)
        assert t.text.count("tick ") <= ticks + 1
        t.type("jobs\n")
        t.expect("Stopped")
        t.type("fg\n")
        t.expect(r"\nfinished\r", timeout=30)
        t.expect("prompt> ")
        t.type("echo code $?\n")
        t.expect(r"code 0\r")
        t.type("exit\n")
        assert t.wait() == 0
    job = project.last()
    assert job["exit_code"] == 0
    assert job["verdict"] == "complete"


def test_ctrl_z_and_bg_and_wait(project):
    with shell(project) as t:
        t.type(f"{project.roar_program} run -q sh -c "
               "'echo begun; sleep 1; echo end >done'\n")
        t.expect(r"\nbegun\r")
        t.type("\x1a")
        t.expect("Stopped")
        t.expect("prompt> ")
        t.type("bg\n")
        t.expect("prompt> ")
        t.type("wait; echo waited\n")
        t.expect(r"\nwaited\r", timeout=30)
        t.type("exit\n")
        assert t.wait() == 0
    assert project.read("done") == b"end\n"
    assert project.last()["exit_code"] == 0


def stop_and_go(project, patience=30):
    """Ctrl-Z and fg three times; the shell's exit code."""
    with shell(project) as t:
        t.type(f"{project.roar_program} run -q sh -c '{TICKS}'\n")
        for i in (2, 6, 10):
            t.expect(rf"tick {i}\r")
            t.type("\x1a")
            t.expect("Stopped")
            t.expect("prompt> ")
            t.type("fg\n")
        t.expect(r"\nfinished\r")
        t.expect("prompt> ", timeout=patience)
        t.type("exit\n")
        return t.wait()


def test_ctrl_z_several_times(project):
    assert stop_and_go(project) == 0
    assert project.last()["verdict"] == "complete"


def test_ctrl_z_on_a_busy_machine(project):
    """Word of a stop may come when the command goes on already."""
    with ThreadPoolExecutor(10) as pool:
        codes = pool.map(lambda _: stop_and_go(project, 10), range(10))
        assert list(codes) == [0] * 10


def test_ctrl_z_does_not_stop_what_does_not_want_to_stop(project):
    """Without roar nothing would happen, so nothing does."""
    project.write("stay.py", "import signal, time\n"
                  "signal.signal(signal.SIGTSTP, signal.SIG_IGN)\n"
                  "print('ready', flush=True)\n"
                  "time.sleep(1.5)\n"
                  "print('the end', flush=True)\n")
    with shell(project) as t:
        t.type(f"{project.roar_program} run -q {sys.executable} stay.py\n")
        t.expect("ready")
        t.type("\x1a")
        t.expect("the end")
        t.expect("prompt> ")
        assert "Stopped" not in t.text
        t.type("exit\n")
        assert t.wait() == 0


def test_one_stop_is_told_once(project):
    """Stopping and continuing in quick succession, also on a busy machine."""
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"])
            for _ in range(2 * os.cpu_count())]
    try:
        with shell(project) as t:
            t.type(f"{project.roar_program} run -q sh -c '{TICKS}'\n")
            for i in (2, 5, 8, 11, 14, 17, 20, 23):
                t.expect(rf"tick {i}\r")
                t.type("\x1a")
                t.expect("Stopped")
                t.expect("prompt> ")
                t.type("fg\n")
            t.expect(r"\nfinished\r")
            t.expect("prompt> ")
            assert t.text.count("Stopped") == 8
            t.type("exit\n")
            assert t.wait() == 0
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_a_stopped_run_can_be_interrupted_after_fg(project):
    with shell(project) as t:
        t.type(f"{project.roar_program} run -q sh -c 'echo begun; "
               "sleep 60'\n")
        t.expect(r"\nbegun\r")
        t.type("\x1a")
        t.expect("Stopped")
        t.expect("prompt> ")
        t.type("fg\n")
        time.sleep(0.5)
        t.type("\x03")
        t.expect(r"\^C")
        t.expect("prompt> ")
        t.type("echo code $?\n")
        t.expect(r"code 130\r")
        t.type("exit\n")
        t.wait()
    assert project.last()["status"] == "interrupted"


def test_a_background_job_that_reads_the_terminal_stops(project):
    with shell(project) as t:
        t.type(f"{project.roar_program} run -q cat &\n")
        t.expect("prompt> ")
        t.type("until jobs | grep Stopped; do sleep 0.2; done\n")
        t.expect(r"\]\+ +Stopped", timeout=60)
        t.expect("prompt> ")
        t.type("fg\n")
        time.sleep(0.3)
        t.type("typed\n\x04")
        t.expect(r"typed\r\ntyped\r")
        t.expect("prompt> ")
        t.type("exit\n")
        assert t.wait() == 0


def test_a_background_run_does_not_stop_by_itself(project):
    with shell(project) as t:
        t.type(f"{project.roar_program} run sh -c 'sleep 0.3; echo x >x' & "
               "wait; echo waited\n")
        t.expect(r"\nwaited\r", timeout=30)
        t.type("exit\n")
        t.wait()
    assert project.read("x") == b"x\n"
    assert len(project.jobs()) == 1


def test_a_hangup_of_the_terminal_ends_the_command(project):
    t = on_terminal(project, "run", "-q", "sh", "-c",
                    "echo a >a; echo ready; sleep 60")
    t.expect("ready")
    os.close(t.fd)
    until(lambda: not project.leftovers(), "the end of the tree", 15)
    _, t.status = os.waitpid(t.pid, 0)
    code = (128 + os.WTERMSIG(t.status) if os.WIFSIGNALED(t.status)
            else os.WEXITSTATUS(t.status))
    assert code == 128 + signal.SIGHUP
    assert project.last()["status"] == "interrupted"


def test_less_works(project):
    if not shutil.which("less"):
        pytest.skip("less is not installed")
    project.write("text", "".join(f"line {i}\n" for i in range(200)))
    with on_terminal(project, "run", "-q", "less", "text") as t:
        t.expect("line 20")
        t.type(" ")
        t.expect("line 40")
        t.type("G")
        t.expect("line 199")
        t.type("q")
        assert t.wait() == 0
    assert [os.path.basename(f["path"])
            for f in project.last()["inputs"]] == ["text"]


def test_vim_works(project):
    if not shutil.which("vim"):
        pytest.skip("vim is not installed")
    project.write("text", "old line\n")
    time.sleep(SETTLE)
    with on_terminal(project, "run", "-q", "vim", "-u", "NONE", "-N",
                     "text") as t:
        t.expect("old line")
        t.type("ggOnew line\x1b")
        time.sleep(0.3)
        t.type(":wq\r")
        assert t.wait() == 0
    assert project.read("text") == b"new line\nold line\n"
    job = project.last()
    assert "text" in [os.path.basename(f["path"]) for f in job["outputs"]]


def test_vim_can_be_suspended(project):
    if not shutil.which("vim"):
        pytest.skip("vim is not installed")
    project.write("text", "some line\n")
    with shell(project) as t:
        t.type(f"TERM=xterm {project.roar_program} run -q vim -u NONE -N "
               "text\n")
        t.expect("some line")
        time.sleep(0.3)
        t.type("\x1a")
        t.expect("Stopped")
        t.expect("prompt> ")
        t.type("fg\n")
        t.expect("some line")  # it draws its screen anew
        time.sleep(0.5)
        t.type(":q\r")
        t.expect("prompt> ")
        t.type("exit\n")
        assert t.wait() == 0


def test_script_and_roar(project):
    """A command that makes a terminal of its own."""
    if not shutil.which("script"):
        pytest.skip("script is not installed")
    with on_terminal(project, "run", "-q", "script", "-qec", "tty; exit 7",
                     "typescript") as t:
        assert t.wait() == 7
    assert "/dev/" in t.text


def test_no_process_of_roar_is_left_stopped_or_alive(project):
    with on_terminal(project, "run", "-q", "sh", "-c", "echo x") as t:
        assert t.wait() == 0
    assert [p for p in children_of(os.getpid())
            if state_of(p) in ("T", "t")] == []
    assert project.leftovers() == []
