"""Digests that the process that wrote a file reports, instead of hashing by roar."""

import errno
import os
import signal
import subprocess

import pytest

from helpers import PYTHON, children_of, row_of, runs_program, until

REPORTER = os.environ.get("RUN_REPORTER", "")
TRACERS = ("ptrace", "hybrid", "ebpf")
LARGE = 3 << 20     # early hashing is left out from 1 MiB on
WRITE = ("open=out", f"fill={LARGE}")

pytestmark = pytest.mark.skipif(
    not REPORTER, reason="RUN_REPORTER does not name the helper")


def report(place, *actions, tracer="ptrace", code=0):
    return place("run", "-q", "--tracer", tracer, "--", REPORTER, *actions,
                 code=code).out


def shell(place, script, tracer="ptrace"):
    return place("run", "-q", "--tracer", tracer, "--", "sh", "-c", script, REPORTER)


def usable(place, tracer):
    if tracer == "ebpf" and os.geteuid() != 0:
        pytest.skip("eBPF needs root")
    done = place("run", "-q", "--tracer", tracer, "true", code=None)
    job = place.last()
    if done.code or job["tracer"] != tracer:
        pytest.skip(f"the tracer {tracer} cannot be used here")
    place("reset", "-y", code=None)


def output(place, name="out"):
    return row_of(place, place.last()["outputs"], name)


def true_digest(place, name="out"):
    return subprocess.run([REPORTER, f"show={place.path(name)}"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def expect_own(place, name="out"):
    """Roar has hashed the file itself, and rightly."""
    row = output(place, name)
    assert row["digest_by"] == "roar"
    assert row["digests"] == {"blake3": true_digest(place, name)}


@pytest.mark.parametrize("tracer", TRACERS)
@pytest.mark.parametrize("size", [0, 1000, LARGE])
def test_a_reported_digest_is_taken_and_marked(project, tracer, size):
    usable(project, tracer)
    assert report(project, "open=out", f"fill={size}", "report", "close",
                  tracer=tracer) == ""
    job = project.last()
    row = row_of(project, job["outputs"], "out")
    if row["digest_by"] == "roar":
        # A small file may have been hashed between its close and the end.
        assert size < 1 << 20
    assert row["digests"] == {"blake3": true_digest(project)}
    assert row["size_bytes"] == size
    assert job["verdict"] == "complete"
    assert project.journals() == []


@pytest.mark.parametrize("tracer", TRACERS)
def test_a_large_file_is_not_read(project, tracer):
    usable(project, tracer)
    report(project, *WRITE, "report", "close", tracer=tracer)
    assert output(project)["digest_by"] == "writer"
    assert "digest by writer" in project("show", "--job", project.last()["job_uid"]).out
    assert "(digest by writer)" in project("show", "out").out
    shown = project.json("show", "out")
    assert [use["digest_by"] for use in shown["made_by"]] == ["writer"]
    assert project("verify", "out").out.startswith("out: OK")


def test_the_file_was_really_not_read(project):
    """A wrong digest is in the record, and verify finds it."""
    report(project, *WRITE, "lie", "close")
    row = output(project)
    assert row["digest_by"] == "writer"
    assert row["digests"] == {"blake3": "ee" * 32}
    assert "FAILED" in project("verify", "out", code=1).out


def test_it_does_not_enter_the_digest_cache(project):
    report(project, *WRITE, "lie", "close")
    project.run("cat", "out")
    row = row_of(project, project.last()["inputs"], "out")
    assert row["digests"] == {"blake3": true_digest(project)}
    assert row["digest_by"] == "roar"


def test_a_file_is_reported_again_when_it_is_written_again(project):
    report(project, *WRITE, "lie", "close", "open=out", "fill=2000000", "report",
           "close")
    assert output(project)["digest_by"] == "writer"
    assert output(project)["digests"] == {"blake3": true_digest(project)}


@pytest.mark.parametrize("actions", [
    pytest.param(("lie", "append"), id="changed after the report"),
    pytest.param(("lie", "restamp"), id="its ctime changed"),
    pytest.param(("lie", "close", *WRITE), id="written again without a report"),
])
@pytest.mark.parametrize("tracer", TRACERS)
def test_a_changed_file_is_hashed(project, tracer, actions):
    usable(project, tracer)
    report(project, *WRITE, *actions, "close", tracer=tracer)
    expect_own(project)


@pytest.mark.parametrize("tracer", TRACERS)
def test_a_file_of_two_processes_is_hashed(project, tracer):
    usable(project, tracer)
    shell(project, f'printf x >out; "$0" open=out fill={LARGE} lie close', tracer)
    expect_own(project)
    shell(project, f'"$0" open=new fill={LARGE} lie close; : >>new', tracer)
    expect_own(project, "new")


@pytest.mark.parametrize("tracer", TRACERS)
def test_a_process_started_meanwhile_may_have_written(project, tracer):
    usable(project, tracer)
    report(project, "open=out", "fork", f"fill={LARGE}", "lie", "close",
           tracer=tracer)
    expect_own(project)


def test_a_file_that_may_be_mapped_is_hashed(project):
    report(project, "update=out", f"fill={LARGE}", "lie", "close")
    expect_own(project)


@pytest.mark.parametrize("script", [
    pytest.param('"$0" open=out {fill} lie close; mv out b; mv b out', id="renamed"),
    pytest.param('"$0" open=out {fill} lie close; ln out b', id="linked"),
    pytest.param('"$0" open=out {fill} lie close; ln out b; rm b', id="linked once"),
    pytest.param('exec 3>out; "$0" open=/proc/self/fd/3 {fill} lie close',
                 id="opened before by another process"),
])
def test_a_file_with_another_history_is_hashed(project, script):
    shell(project, script.format(fill=f"fill={LARGE}"))
    expect_own(project)


FORGER = """
import glob, os, sys, time
pid, heading, line = sys.argv[1:]
fd = os.open("out", os.O_WRONLY | os.O_CREAT, 0o644)
os.write(fd, b"x" * 3000000)
time.sleep(0.05)
st = os.fstat(fd)
stamp = f"{st.st_dev}\\t{st.st_ino}\\t{st.st_size}\\t{st.st_mtime_ns}\\t{st.st_ctime_ns}"
run = glob.glob(".roar/runs/*.journal")[0].removesuffix(".journal")
with open(f"{run}.digests-{pid or os.getpid()}", "w") as f:
    f.write(heading + "\\n")
    f.write(line.format(stamp=stamp, path=os.path.abspath("out")))
os.close(fd)
"""
GOOD = "{stamp}\t9000000000000000000\t" + "ee" * 32 + "\t{path}\n"


def forge(place, line, pid="", heading="roar-digests 1"):
    """A process writes the file, and a note that the library would not write."""
    place("run", "-q", "--tracer", "ptrace", "--", *PYTHON, FORGER, str(pid), heading,
          line)
    assert place.last()["verdict"] == "complete"
    assert place.journals() == []


def test_a_well_formed_note_is_believed_whatever_wrote_it(project):
    forge(project, GOOD)
    assert output(project)["digests"] == {"blake3": "ee" * 32}
    assert output(project)["digest_by"] == "writer"


def test_one_bad_line_does_not_void_the_others(project):
    forge(project, "x\n" + GOOD + "{stamp}\n")
    assert output(project)["digest_by"] == "writer"


def test_a_note_of_a_process_that_did_not_write_the_file(project):
    forge(project, GOOD, pid=1)
    expect_own(project)


@pytest.mark.parametrize("line", [
    "",
    "{stamp}",
    "{stamp}\n",
    "x\n",
    GOOD.replace("ee" * 32, "ee" * 31),
    GOOD.replace("ee" * 32, "ee" * 33),
    GOOD.replace("ee" * 32, "gg" * 32),
    GOOD.replace("{path}", "out"),
    GOOD.replace("{path}", ""),
    GOOD.replace("{path}", "{path}%00"),
    GOOD.replace("\n", ""),
    GOOD.replace("9000000000000000000", "-1"),
    GOOD.replace("9000000000000000000", "9" * 19),
    GOOD.replace("9000000000000000000", "0"),    # a change would not show
    GOOD.replace("{stamp}", "1\t{stamp}"),
    GOOD.replace("{stamp}", "0\t0\t0\t0\t0"),
    GOOD.replace("{path}", "/nosuch/{path}"),
], ids=range(17))
def test_malformed_notes_are_ignored(project, line):
    forge(project, line)
    expect_own(project)


def test_a_note_of_another_version_is_ignored(project):
    forge(project, GOOD, heading="roar-digests 2")
    expect_own(project)


def test_preload_sees_too_little_to_believe_it(project):
    report(project, *WRITE, "lie", "close", tracer="preload")
    expect_own(project)


def test_more_digests_are_computed_by_roar(project):
    project("run", "-q", "--hash", "sha256", "--tracer", "ptrace", "--", REPORTER,
            *WRITE, "lie", "close")
    expect_own(project)
    assert set(project.digests("out")) == {"blake3", "sha256"}


def test_a_writer_that_is_killed_after_the_report(project):
    report(project, *WRITE, "report", "die", code=137)
    row = output(project)
    assert row["digests"] == {"blake3": true_digest(project)}
    assert row["digest_by"] == "writer"


def test_a_writer_that_is_killed_before_the_report(project):
    report(project, *WRITE, "die", code=137)
    expect_own(project)


def test_a_record_from_the_journal_has_digests_of_its_own(project):
    run = project.popen("run", "-q", "--tracer", "ptrace", "--", "sh", "-c",
                        f'"$0" open=out fill={LARGE} lie close; echo ready; read x',
                        REPORTER, stdin=subprocess.PIPE)
    assert run.stdout.readline() == b"ready\n"
    tracer, = (pid for pid in children_of(run.pid)
               if runs_program(pid, project.roar_program))
    os.kill(tracer, signal.SIGKILL)
    run.communicate()
    until(project.jobs, "the record")
    expect_own(project)
    assert project.journals() == []


def test_outside_of_a_run_nothing_is_reported(empty):
    done = subprocess.run([REPORTER, "open=out", "fill=10", "report"], check=True,
                          cwd=empty.root, stdout=subprocess.PIPE, text=True)
    assert done.stdout == f"{errno.ESRCH}\n"
