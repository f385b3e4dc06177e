"""Blocks of a process as steps: roar.record(), roar.lineage(), roar.last_run()."""

import os
import sqlite3
import subprocess
import sys
import threading
import types

import pytest

import roar
from roar import _record


@pytest.fixture(name="project", autouse=True)
def fresh_project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ROAR_PROGRAM", os.environ["ROAR"])
    # A sanitizer's library is for this process; the program has its own.
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    subprocess.run([os.environ["ROAR"], "init"], check=True, stdout=subprocess.DEVNULL)
    # pytest's directories are below /tmp.
    subprocess.run([os.environ["ROAR"], "config", "set", "filters.ignore_tmp_files",
                    "false"], check=True, stdout=subprocess.DEVNULL)
    return folder


def write(name, text="content\n"):
    """A file that is old enough to be told from a later one."""
    with open(name, "w") as f:
        f.write(text)
    os.utime(name, (1, 1))
    return name


def names(rows):
    return sorted(os.path.basename(row["path"]) for row in rows)


def shown(block):
    return roar.lineage(block.result["step_ref"])


def gaps(job):
    return [(gap["reason"], gap["detail"]) for gap in job["gaps"]]


# ---- what is recorded ----

def test_a_block_is_a_step_with_inputs_and_outputs():
    write("data.txt", "data\n")
    with roar.record("train", quiet=True) as block:
        with open("data.txt") as f, open("tmp.pt", "w") as g:
            g.write(f.read())
        os.replace("tmp.pt", "model.pt")
        with open("gone", "w"):
            pass
        os.remove("gone")
    job = shown(block)
    assert job["name"] == "train"
    assert names(job["inputs"]) == ["data.txt"]
    assert names(job["outputs"]) == ["model.pt"]
    assert names(job["temporaries"]) == ["gone"]
    assert job["outputs"][0]["digests"] == job["inputs"][0]["digests"]
    assert job["tracer"] == "python"
    assert job["cwd"] == os.getcwd()
    assert job["resources"]["max_rss_bytes"] is None and job["use"] is None
    assert block.result["inputs_count"] == block.result["outputs_count"] == 1


def test_the_verdict_says_what_it_cannot_see():
    with roar.record("a", quiet=True) as block:
        pass
    assert block.result["verdict"] == "incomplete"
    assert [gap["reason"] for gap in block.result["gaps"]] == ["python"]
    assert "extensions" in block.result["gaps"][0]["text"]
    with roar.record("b", quiet=True) as block:
        subprocess.run(["true"], check=True)
    assert ("python", "it started 1 process") in gaps(shown(block))


def test_names_are_those_of_their_time():
    os.mkdir("sub")
    write("sub/a")
    with roar.record("names", quiet=True) as block:
        os.chdir("sub")
        with open("a") as f, open(b"b", "w") as g:
            g.write(f.read())
        os.chdir("..")
        here = os.open("sub", os.O_RDONLY)
        os.rename("b", "c", src_dir_fd=here, dst_dir_fd=here)
        os.close(here)
        os.link("sub/c", "d")
        os.symlink("sub/a", "e")
        sqlite3.connect("f.db").execute("create table t (x)")
    job = shown(block)
    assert [os.path.relpath(r["path"]) for r in job["inputs"]] == ["sub/a"]
    assert sorted(os.path.relpath(r["path"]) for r in job["outputs"]) == [
        "d", "e", "f.db", "sub/c"]


def test_what_failed_is_not_recorded():
    write("kept")
    with roar.record("failing", quiet=True) as block:
        for call in (lambda: open("no"), lambda: open("no/no", "w"),
                     lambda: os.remove("no"), lambda: open("kept", "x")):
            with pytest.raises(OSError):
                call()
    job = shown(block)
    assert not job["inputs"] + job["outputs"] + job["temporaries"]


def test_an_input_that_changed_since_is_a_gap():
    write("data.txt")
    with roar.record("changed", quiet=True) as block:
        with open("data.txt"):
            pass
        subprocess.run(["sh", "-c", "sleep 0.1; echo other > data.txt"], check=True)
    job = shown(block)
    assert ("changed", os.path.abspath("data.txt")) in gaps(job)
    assert job["inputs"][0]["digests"] is None


def test_threads_count_and_children_do_not():
    def work():
        write("thread")

    with roar.record("threads", quiet=True) as block:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        child = os.fork()
        if not child:
            write("child")
            block.__exit__(None, None, None)
            os._exit(block.result is not None)
        assert os.waitpid(child, 0)[1] == 0
    assert names(shown(block)["outputs"]) == ["thread"]


# ---- the block ----

def test_an_exception_goes_on_and_is_recorded():
    with pytest.raises(KeyError), roar.record("bad", quiet=True) as block:
        raise KeyError
    assert shown(block)["exit_code"] == 1


def test_each_call_of_a_function_is_a_step():
    @roar.record("call", quiet=True)
    def call(name):
        write(name)

    call("one")
    call("two")
    last = roar.last_run()
    assert names(last["outputs"]) == ["two"]
    assert (last["step_ref"], last["executions"]) == ("@1", 2)


def test_inner_blocks_are_part_of_the_outer_one(capsys):
    with roar.record("outer") as outer:
        with roar.record("inner") as inner:
            write("a")
    assert inner.result is None
    assert names(shown(outer)["outputs"]) == ["a"]
    said = capsys.readouterr().err
    assert "'inner'" in said and "'outer'" in said
    assert "@1" in said     # the line of the record


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="the library of a sanitizer cannot "
                    "be passed through a program that has its own")
def test_under_roar_run_a_block_is_part_of_the_run():
    source = ("import sys\n"
              f"sys.path[:0] = {[p for p in sys.path if p]!r}\n"
              "import roar\n"
              "with roar.record('inner') as block: open('made', 'w').close()\n"
              "assert block.result is None\n")
    done = subprocess.run([os.environ["ROAR"], "run", sys.executable, "-c", source],
                          capture_output=True, text=True, check=True)
    assert "a part of the run" in done.stderr
    assert roar.last_run()["step_ref"] == "@1"
    assert roar.last_run()["tracer"] != "python"


def test_nothing_is_noted_between_blocks():
    with roar.record("a", quiet=True):
        pass
    write("later")
    with roar.record("b", quiet=True) as block:
        pass
    assert not _record._handlers
    assert block.result["outputs_count"] == 0


def test_operations_have_a_bound(monkeypatch):
    monkeypatch.setattr(_record, "_OPERATIONS_MAX", 2)
    with roar.record("many", quiet=True) as block:
        for name in "abcd":
            write(name)
    assert names(shown(block)["outputs"]) == ["a", "b"]
    assert ("lost", "") in gaps(shown(block))


def test_without_the_program_the_block_runs(monkeypatch, capsys):
    monkeypatch.setenv("ROAR_PROGRAM", "/no/such/roar")
    with roar.record("a") as block:
        write("made")
    assert os.path.exists("made")
    assert block.result is None
    assert "/no/such/roar" in capsys.readouterr().err
    with pytest.raises(roar.LineageError, match="/no/such/roar"):
        roar.last_run()


def test_names_are_text():
    for wrong in (None, 3, "a\0b"):
        with pytest.raises(TypeError):
            roar.record(wrong)


# ---- questions ----

def test_lineage_has_all_that_a_file_was_made_from():
    write("data.txt")
    with roar.record("one", quiet=True):
        with open("data.txt") as f, open("middle", "w") as g:
            g.write(f.read() + "1")
    with roar.record("two", quiet=True):
        with open("middle") as f, open("model.pt", "w") as g:
            g.write(f.read() + "2")
    lineage = roar.lineage("model.pt")
    assert lineage["type"] == "artifact"
    assert names(lineage["ancestry"]) == ["data.txt", "middle"]
    with pytest.raises(roar.LineageError, match="nothing"):
        roar.lineage("nothing")


def test_there_is_no_last_run_at_first():
    assert roar.last_run() is None


# ---- Jupyter ----

class Shell:
    """As much of IPython's shell as the magic uses."""

    def __init__(self):
        self.magics = {}

    def register_magic_function(self, function, magic_kind, magic_name):
        self.magics[magic_kind, magic_name] = function

    def run_cell(self, cell):
        try:
            exec(cell, {})
        except Exception:
            return types.SimpleNamespace(success=False)
        return types.SimpleNamespace(success=True)


def test_the_magic_records_a_cell(capsys):
    shell = Shell()
    roar.load_ipython_extension(shell)
    magic = shell.magics["cell", "roar"]
    magic("train", "open('cell.txt', 'w').close()")
    job = roar.last_run()
    assert names(job["outputs"]) == ["cell.txt"]
    assert "train" in job["command"]
    magic("", "1 / 0")
    assert roar.last_run()["exit_code"] == 1
    assert "@2" in capsys.readouterr().err


# ---- roar record-files ----

@pytest.mark.parametrize("text", [
    b"", b"nonsense", b"roar-files 1\0", b"roar-files 1\0arg\0a",
    b"roar-files 1\0arg\0a\0started\0002\0ended\0001\0",
    b"roar-files 1\0arg\0a\0open\0r\0-\0001\0relative\0"])
def test_a_wrong_list_changes_nothing(text):
    done = subprocess.run([os.environ["ROAR"], "record-files"], input=text,
                          capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    assert roar.last_run() is None


def test_a_block_is_not_run_again_as_a_command():
    with roar.record("a", quiet=True):
        pass
    done = subprocess.run([os.environ["ROAR"], "run", "@1"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1
    assert "block of a Python process" in done.stderr


def test_an_open_costs_little():
    """Not a time, which a busy machine cannot keep: the number of steps."""
    trace = _record._Trace()
    steps = []
    sys.setprofile(lambda frame, event, arg: steps.append(event))
    try:
        for _ in range(100):
            trace.handlers["open"]("data.txt", "rb", 0)
    finally:
        sys.setprofile(None)
    assert len(trace.operations) == 1
    assert len(steps) < 450
