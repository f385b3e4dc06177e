"""Standard streams and the exit code are the command's own."""

import os
import select
import signal
import subprocess
import threading
import time

import pytest

from helpers import PYTHON, lines

BINARY = bytes(range(256)) * 2000  # half a megabyte, every byte


def test_stdout_is_passed_byte_by_byte(project):
    project.write("data", BINARY)
    done = project.raw("run", "-q", "cat", "data")
    assert done == (0, BINARY, b"")


def test_stderr_is_passed_byte_by_byte(project):
    project.write("data", BINARY)
    done = project.raw("run", "-q", "sh", "-c", "cat data >&2")
    assert done == (0, b"", BINARY)


def test_stdin_is_passed_byte_by_byte(project):
    done = project.raw("run", "-q", "cat", stdin=BINARY)
    assert done == (0, BINARY, b"")


def test_roar_reads_nothing_of_stdin(project):
    """What the command leaves, the next program finds."""
    script = f"{project.roar_program} run -q head -c 5; cat"
    read, write = os.pipe()
    os.write(write, b"12345678")
    os.close(write)
    done = subprocess.run(["sh", "-c", script], cwd=project.root,
                          env=project.env, stdin=read, timeout=60,
                          stdout=subprocess.PIPE, check=True)
    os.close(read)
    assert done.stdout in (b"12345678", b"12345")
    with open(project.write("file", b"12345678"), "rb") as f:
        script = f"{project.roar_program} run -q dd bs=1 count=5; cat"
        done = subprocess.run(["sh", "-c", script], cwd=project.root,
                              env=project.env, stdin=f, timeout=60,
                              stdout=subprocess.PIPE, check=True,
                              stderr=subprocess.DEVNULL)
    assert done.stdout == b"12345678"


def test_a_conversation_is_not_delayed(project):
    """Bytes go through at once: nobody buffers."""
    process = project.popen("run", "-q", "sh", "-c",
                            "while read x; do echo \"got $x\"; done",
                            stdin=subprocess.PIPE)
    timer = threading.Timer(60, process.kill)
    timer.start()
    for i in range(20):
        process.stdin.write(f"{i}\n".encode())
        process.stdin.flush()
        assert process.stdout.readline() == f"got {i}\n".encode()
    process.stdin.close()
    assert process.wait(30) == 0
    timer.cancel()


@pytest.mark.timing
def test_the_end_of_stdout_comes_when_the_command_closes_it(project):
    """Nobody but the command and its children may hold it open."""
    process = project.popen("run", "-q", "sh", "-c",
                            "echo a; exec >&- 2>&-; sleep 1; exit 4")
    assert process.stdout.read() == b"a\n"
    closed = time.monotonic()
    assert process.wait(30) == 4
    assert time.monotonic() - closed > 0.5


@pytest.mark.timing
def test_a_writer_sees_that_the_command_closed_its_stdin(project):
    process = project.popen("run", "-q", "sh", "-c",
                            "exec <&-; sleep 1; exit 4",
                            stdin=subprocess.PIPE)
    poll = select.poll()
    poll.register(process.stdin, 0)
    assert poll.poll(30000), "no end was seen"
    closed = time.monotonic()
    assert process.wait(30) == 4
    assert time.monotonic() - closed > 0.5


def descriptors(place, closed):
    """What the command finds at 0, 1, 2 when its caller closed some."""
    report = place.path("report")
    script = ("import os\n"
              "r = []\n"
              "for fd in (0, 1, 2):\n"
              "    try: os.fstat(fd); r.append('open')\n"
              "    except OSError as e: r.append('closed')\n"
              f"fd = os.open({report!r}, os.O_WRONLY | os.O_CREAT, 0o644)\n"
              "os.write(fd, ' '.join(r).encode())\n")

    def close():
        for fd in closed:
            os.close(fd)
    process = subprocess.Popen(place.argv("run", "-q", *PYTHON, script),
                               cwd=place.root, env=place.env,
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, preexec_fn=close)
    assert process.wait(60) == 0
    with open(report, encoding="utf-8") as f:
        return f.read().split()


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2), (1, 2)])
def test_closed_descriptors_stay_closed(project, closed):
    expected = ["closed" if fd in closed else "open" for fd in (0, 1, 2)]
    assert descriptors(project, closed) == expected
    assert len(project.jobs()) == 1


def test_roar_with_closed_descriptors_writes_into_no_file(project):
    """A file opened by roar must not take the place of a closed stdout."""
    def close():
        os.close(1)
        os.close(2)
    process = subprocess.Popen(project.argv("run", "sh", "-c", "echo x >out"),
                               cwd=project.root, env=project.env,
                               stdin=subprocess.DEVNULL, preexec_fn=close)
    assert process.wait(60) == 0
    assert project.read("out") == b"x\n"
    assert project.json("db", "--check")["integrity"] == "sound"
    assert b"roar:" not in project.read(".roar/config.toml")


def test_a_reader_that_goes_away_is_seen_by_the_command(project):
    """`roar run yes | head -1`"""
    done = subprocess.run(
        ["bash", "-c",
         f"{project.roar_program} run -q yes | head -1; "
         "echo ${PIPESTATUS[0]}"],
        cwd=project.root, env=project.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, timeout=60, check=True,
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    assert done.stdout == b"y\n141\n"


def test_stdout_and_stderr_of_roar_do_not_mix(project):
    done = project("run", "sh", "-c", "echo out; echo err >&2")
    assert done.out == "out\n"
    assert lines(done.err)[0] == "err"
    assert lines(done.err)[1].startswith("roar: ")
    assert len(lines(done.err)) == 2


@pytest.mark.parametrize("code", [0, 1, 2, 3, 42, 126, 127, 128, 129, 200,
                                  254, 255])
def test_exit_code_is_the_commands(project, code):
    project.sh(f"exit {code}", code=code)
    job = project.last()
    assert job["exit_code"] == code
    assert job["status"] == ("failed" if code else "ok")
    assert job["verdict"] == "complete"


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "ABRT", "KILL",
                                  "SEGV", "PIPE", "TERM", "USR1", "BUS",
                                  "TRAP", "XCPU", "SYS", "ILL", "FPE"])
def test_a_signal_gives_128_and_its_number(project, name):
    number = getattr(signal, "SIG" + name)
    project.sh(f"ulimit -c 0; kill -{name} $$", code=128 + number)
    assert project.last()["exit_code"] == 128 + number
    assert project.last()["verdict"] == "complete"


def test_a_real_time_signal(project):
    project.sh(f"kill -{signal.SIGRTMIN + 3} $$",
               code=128 + signal.SIGRTMIN + 3)


def test_all_256_exit_codes(project):
    """One run, many nested codes, then a sample around the edges."""
    for code in list(range(0, 256, 17)) + [255]:
        assert project.raw("run", "-q", "sh", "-c",
                           f"exit {code}").code == code


def test_command_not_found_is_127_with_one_line_and_no_record(project):
    for word in ("no-such-program", "./nothing", "/nowhere/at/all", ""):
        done = project("run", word, code=127)
        assert len(lines(done.err)) == 1
        assert done.out == ""
    assert project.jobs() == []
    assert project.journals() == []


def test_command_not_found_is_127_even_with_q(project):
    project("run", "-q", "no-such-program", code=127)


def test_missing_interpreter_is_127(project):
    project.write("orphan", "#!/no/such/interpreter\n", mode=0o755)
    done = project("run", "./orphan", code=None)
    direct = subprocess.run(["bash", "-c", "./orphan"], cwd=project.root,
                            stderr=subprocess.DEVNULL, check=False)
    assert done.code == direct.returncode
    assert done.err == ("roar: './orphan': its interpreter does not exist\n")
    assert project.jobs() == []


def test_not_executable_is_126_with_one_line_and_no_record(project):
    project.write("plain", "text", mode=0o644)
    done = project("run", "./plain", code=126)
    assert len(lines(done.err)) == 1
    assert "plain" in done.err
    assert project.jobs() == []
    assert project.journals() == []


def test_a_directory_is_126(project):
    os.mkdir(project.path("dir"))
    done = project("run", "./dir", code=126)
    assert len(lines(done.err)) == 1
    assert project.jobs() == []


def test_a_file_in_path_that_may_not_be_executed_is_126(project):
    project.write("bin/tool", "text", mode=0o644)
    done = project("run", "tool", code=126,
                   env={"PATH": project.path("bin")})
    assert len(lines(done.err)) == 1


def test_path_is_searched_past_a_file_that_may_not_be_executed(project):
    project.write("one/tool", "text", mode=0o644)
    project.write("two/tool", "#!/bin/sh\necho two\n", mode=0o755)
    path = f"{project.path('one')}:{project.path('two')}:/usr/bin:/bin"
    assert project.run("tool", env={"PATH": path}).out == "two\n"


def test_output_of_a_job_is_not_waited_for_by_roar_but_passed(project):
    """A grandchild that holds stdout open writes to it after the command."""
    process = project.popen("run", "-q", "sh", "-c",
                            "(sleep 1; echo late) & echo early")
    out, _ = process.communicate(timeout=60)
    assert out == b"early\nlate\n"
    assert process.returncode == 0


# ---- the standard error is a file of the record ----

def run_into(place, *args, stdout=None, code=0, env=None, mode="wb"):
    """`roar run ARGS 2>log`; what stands in the log."""
    with open(place.path("log"), mode) as log:
        process = place.popen("run", *args, stderr=log,
                              stdout=log if stdout else subprocess.DEVNULL,
                              env=env)
        assert process.wait(60) == code
    return place.read("log").decode()


def assert_log_is_recorded(place):
    """The record tells the log as it is after roar has ended."""
    place.write("copy", place.read("log"))
    place.sh("cat copy >/dev/null")
    assert place.digests("log") == place.digests("copy")
    states = {os.path.basename(a["path"]): a["state"]
              for a in place.json("status")["artifacts"]}
    assert states["log"] == "present"


@pytest.mark.parametrize("both", [False, True])
def test_a_log_has_the_line_and_the_record_has_the_log(project, both):
    text = run_into(project, "sh", "-c", "echo out; echo err >&2; exit 3",
                    stdout=both, code=3)
    said = lines(text)
    assert said[:-1] == (["out", "err"] if both else ["err"])
    assert said[-1].startswith("roar: @1 ")
    assert "exit 3, complete" in said[-1]
    job = project.last()
    assert job["verdict"] == "complete"
    assert [os.path.basename(f["path"]) for f in job["outputs"]] == ["log"]
    assert job["outputs"][0]["size_bytes"] == len(text)
    assert_log_is_recorded(project)


def test_a_log_that_is_appended_to(project):
    for i in range(3):
        text = run_into(project, "sh", "-c", "echo err >&2", mode="ab")
        assert len(lines(text)) == 2 * (i + 1)
        assert_log_is_recorded(project)


def test_a_verbose_log_does_not_claim_to_know_its_own_digest(project):
    text = run_into(project, "-v", "sh", "-c", "echo err >&2; echo x >out")
    row = [line for line in lines(text) if line.endswith(" log")][0]
    assert "------------" in row
    assert_log_is_recorded(project)


def test_a_log_with_the_times(project):
    text = run_into(project, "-q", "sh", "-c", "echo err >&2",
                    env={"ROAR_TIMING": "1"})
    assert [line.split(":")[0] for line in lines(text)] == [
        "err", "ROAR_TIMING"]
    assert_log_is_recorded(project)


def test_a_log_of_a_quiet_run_is_the_commands_alone(project):
    assert run_into(project, "-q", "sh", "-c", "echo err >&2") == "err\n"
    assert_log_is_recorded(project)


def test_a_log_that_the_command_does_not_write_to(project):
    text = run_into(project, "true")
    assert len(lines(text)) == 1
    job = project.last()
    assert job["verdict"] == "complete"
    if job["outputs"]:  # made empty by the shell, for the command
        assert_log_is_recorded(project)


# ---- nothing with -q ----

def test_quiet_says_nothing_where_the_run_is_recorded(empty):
    """A new project, an incomplete record, a mistake in the settings and a
    journal that nobody can read."""
    done = empty.raw("run", "-q", "true")
    assert done == (0, b"", b"")
    done = empty.raw("run", "-q", "sh", "-c",
                     "echo x >x; (sleep 1; echo y >y) & exit 3")
    assert done == (3, b"", b"")
    assert empty.last()["verdict"] == "incomplete"
    empty.write(".roar/config.toml", "[nonsense\n")
    empty.write(".roar/runs/12345678.journal", "nonsense\n")
    assert empty.raw("run", "-q", "true") == (0, b"", b"")
    assert len(lines(empty("run", "true").err)) == 2


def test_quiet_still_says_that_a_run_is_not_recorded(project):
    done = project("run", "-q", "sh", "-c", "rm -rf .roar; mkdir .roar; "
                   "mkdir .roar/roar.db; exit 3", code=3)
    assert len(lines(done.err)) == 1
    assert "could not be recorded" in done.err
