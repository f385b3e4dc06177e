"""`roar rerun`: what runs again, what is left alone, and how it ends."""

import fcntl
import json
import os
import re
import shutil
import signal

import pytest

from helpers import names_of, until
from terminal import on_terminal


def results(project, *options, code=0):
    done = project("rerun", "--json", *options, code=code)
    return {s["step_ref"]: (s.get("result") or s.get("action"), s["reason"])
            for s in json.loads(done.out)["steps"]}


def executions(project, ref="@1"):
    return project.json("show", ref)["executions"]


@pytest.fixture
def chain(project):
    """@1 sorts, @2 takes the first line, @3 reports; @4 has nothing to do with it."""
    project.write("data", "2\n3\n")
    project.write("sort.sh", "sort data >sorted\n")
    project.run("sh", "sort.sh")
    project.sh("head -n1 sorted >first")
    project.sh("cat first >report")
    project.sh("echo 1 >alone")
    return project


def test_nothing_to_do(chain):
    n = len(chain.jobs())
    assert chain("rerun").err == "4 steps, all up to date\n"
    assert chain("rerun", "-n").out == "4 steps, all up to date\n"
    assert chain.json("rerun") == {"status": "done", "up_to_date": 4, "steps": []}
    assert len(chain.jobs()) == n


def test_what_came_out_identical_is_left_alone(chain):
    chain.write("data", "3\n2\n4\n")
    plan = chain("rerun", "--dry-run").out
    assert plan == ("Plan: 1 step, 2 that may follow, 1 up to date\n"
                    "  @1     run      sh sort.sh  (data has changed)\n"
                    "  @2     maybe    sh -c 'head -n1 sorted >first'  "
                    "(if @1 changes what it reads)\n"
                    "  @3     maybe    sh -c 'cat first >report'  "
                    "(if @2 changes what it reads)\n")
    assert executions(chain) == 1
    said = chain("rerun").err
    assert said.startswith(plan)
    assert "roar: @3 unchanged: what it reads is as it was" in said
    assert said.endswith("roar: 2 run, 1 unchanged, 1 up to date before\n")
    assert [executions(chain, f"@{n}") for n in (1, 2, 3, 4)] == [2, 2, 1, 1]
    assert chain.last()["verdict"] == "complete"
    assert chain.json("rerun")["steps"] == []

    chain.write("data", "1\n")
    assert results(chain, "-j", "3") == {
        "@1": ("run", "outdated"), "@2": ("run", "stale"), "@3": ("run", "stale")}
    assert chain.read("report") == b"1\n"
    assert {j["verdict"] for j in chain.jobs()} == {"complete"}


def test_steps_are_chosen_and_forced(chain):
    chain.write("data", "1\n")
    assert results(chain, "-n", "@4") == {}
    assert results(chain, "-n", "@2") == {
        "@1": ("run", "outdated"), "@2": ("maybe", "upstream")}
    assert results(chain, "-n", "--downstream", "@1").keys() == {"@1", "@2", "@3"}
    assert results(chain, "--force", "@4") == {"@4": ("run", "forced")}
    assert executions(chain, "@4") == 2


def test_a_failure_stops_and_says_what_is_left(chain):
    chain.write("sort.sh", "echo out; sort data >sorted; exit 3\n")
    done = chain("rerun", code=3)
    assert done.out == "out\n"
    assert "roar: @1 failed with exit status 3 after " in done.err
    assert done.err.endswith(
        "roar: stopped at @1; not run: @2, @3; 'roar rerun' goes on\n")
    chain.write("sort.sh", "sort <data >sorted\n")
    assert results(chain)["@1"] == ("run", "outdated")


def test_an_input_and_a_script_that_vanished(chain):
    os.unlink(chain.path("sort.sh"))
    done = chain("rerun", code=1)
    assert ("roar: @1 cannot run: sort.sh, which it reads, is missing, and no step "
            "makes it; 'roar run @1' runs it all the same") in done.err
    assert results(chain, "-n")["@1"] == ("blocked", "missing-input")


def test_outputs_that_vanished_are_made_again(chain):
    os.unlink(chain.path("sorted"))
    assert results(chain) == {}
    os.unlink(chain.path("report"))
    os.unlink(chain.path("first"))
    assert results(chain) == {
        "@1": ("run", "needed-output"), "@2": ("run", "needed-output"),
        "@3": ("run", "missing-output")}
    assert chain.read("report") == b"2\n"


def test_commands_with_quotes_newlines_and_a_megabyte(project):
    words = ["it's \"so\"\n\\n $HOME", "\x1b[31m", *["x" * 100000] * 10]
    project.write("data", "1\n")
    project.sh('cat data >out; printf "%s" "$@" >>out', code=0)
    project.run("sh", "-c", 'cat data >out2; printf "%s" "$@" >>out2', "sh", *words)
    expected = project.read("out2")
    project.write("data", "2\n")
    done = project("rerun", "-j", "2")
    assert project.read("out2") == b"2\n" + expected[2:]
    assert "\x1b" not in done.err and max(map(len, done.err.split("\n"))) < 200


def test_steps_that_run_at_the_same_time_print_in_one_piece(project):
    project.write("data", "1\n")
    # Each waits for the other: they do run at the same time.
    for me, other in ("ab", "ba"):
        project.sh(f"cat data >out.{me}; [ ! -e go ] || {{ echo {me}1; "
                   f"mkdir {me}; until [ -e {other} ]; do sleep 0.01; done; "
                   f"echo {me}2; }}")
    project.write("go", "")
    project.write("data", "2\n")
    assert project("rerun", "-q", "-j2").out in ("a1\na2\nb1\nb2\n",
                                                 "b1\nb2\na1\na2\n")


def test_a_signal_ends_the_steps_and_the_rerun(project):
    project.write("data", "1\n")
    project.sh("cat data >out; [ ! -e go ] || { echo >started; exec sleep 1000; }")
    project.sh("cat out >last")
    project.write("go", "")
    project.write("data", "2\n")
    process = project.popen("rerun")
    until(lambda: project.exists("started"))
    busy = project("rerun", code=1)
    assert "another 'roar rerun' is at work in this project" in busy.err
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"roar: interrupted; not run: @2; 'roar rerun' goes on\n" in err
    assert project.last()["status"] == "interrupted"
    assert project.leftovers() == []
    os.unlink(project.path("go"))
    assert results(project)["@1"][0] == "run"
    assert project.read("last") == b"2\n"


@pytest.fixture
def kept(project):
    """@1 makes sorted from data, first with 1, then with 2; everything is kept."""
    project("init")
    project("config", "set", "objects.keep", "outputs")
    project.write("data", "1\n")
    project.sh("sort data >sorted; mkdir -p d; cp sorted d/copy")
    project.sh("cat sorted >report")
    project.write("data", "2\n")
    assert results(project)["@2"] == ("run", "stale")
    return project


def test_kept_outputs_are_restored_and_the_record_says_so(kept):
    kept.write("data", "1\n")
    shutil.rmtree(kept.path("d"))
    assert "  @1     restore  sh" in kept("rerun", "-n").out
    assert results(kept) == {"@1": ("restored", "outdated"), "@2": ("restored", "stale")}
    assert kept.read("report") == kept.read("d/copy") == b"1\n"
    job = kept.json("show", "@1")
    assert (job["tracer"], job["status"], job["verdict"]) == (
        "restore", "restored", "complete")
    assert job["resources"]["processes"] == 0
    assert names_of(kept, job["outputs"]) == ["d/copy", "sorted"]
    assert "the command did not run; the outputs, verified, are those of @1.1 " in kept(
        "show", "@1").out
    # Nor does an export say that it ran.
    assert kept.json("show", "@1.1")["job_uid"] in kept(
        "export", "@1", "--format", "prov").out
    assert re.search(r"@1\.3 .* KEPT ", kept("log").out)
    assert results(kept) == {}


@pytest.mark.parametrize("change", ["environment", "script", "damage", "option"])
def test_the_command_runs_where_anything_is_not_as_it_was(kept, change):
    kept.write("data", "1\n")
    options, env = [], {}
    if change == "environment":
        env = {"RATE": "5"}
    elif change == "script":
        kept.write("data", "3\n")
    elif change == "option":
        options = ["--no-restore"]
    else:
        for folder, _, names in os.walk(kept.path(".roar", "objects")):
            for name in names:
                path = os.path.join(folder, name)
                os.chmod(path, 0o644)
                with open(path, "w", encoding="utf-8") as f:
                    f.write("damaged")
    done = kept("rerun", *options, env=env)
    assert "roar: @1 ran in " in done.err
    assert kept.read("report") == (b"3\n" if change == "script" else b"1\n")


def test_an_execution_without_a_file_that_is_there_now_is_no_source(project):
    project("init")
    project("config", "set", "objects.keep", "outputs")
    project.write("data", "1\n")
    project.sh("if test -f extra; then cat extra; fi >out; cat data >>out")
    project.write("extra", "2\n")
    assert results(project, "--force")["@1"][0] == "run"
    project.write("extra", "3\n")
    # The first execution read all that it read with the same content.
    assert results(project)["@1"] == ("run", "outdated")
    assert project.read("out") == b"3\n1\n"


def test_a_link_that_leads_elsewhere_leads_to_no_source(project):
    project("init")
    project("config", "set", "objects.keep", "outputs")
    project.write("one", "1\n")
    project.write("two", "2\n")
    os.symlink("one", project.path("data"))
    project.write("rate", "a\n")
    project.sh("cat data rate >out")
    project.write("rate", "b\n")
    assert results(project)["@1"][0] == "run"
    project.write("rate", "a\n")
    os.unlink(project.path("data"))
    os.symlink("two", project.path("data"))
    assert results(project)["@1"] == ("run", "outdated")
    assert project.read("out") == b"2\na\n"


def test_executions_with_other_parameters_code_or_inputs_are_variants(project):
    project.write("train.sh", "echo $1 | cat - data >model\n")
    project.write("data", "1\n")
    project.run("sh", "train.sh", "--rate=1")
    project("run", "-q", "@1")
    project("run", "-q", "@1", "--rate=2")
    project.write("data", "2\n")
    project.write("train.sh", "echo $1 | cat data - >model\n")
    assert results(project) == {"@1": ("run", "outdated")}
    shown = [[v["execution_ref"], v["differs_in"]]
             for v in project.json("show", "@1")["variants"]]
    assert [ref for ref, _ in shown] == ["@1.1", "@1.2", "@1.3", "@1.4"]
    assert [None if parts is None else list(parts) for _, parts in shown] == [
        None, [], ["parameters"], ["code", "inputs"]]
    assert shown[3][1]["inputs"] == [project.path("data")]
    said = project("show", "@1").out
    assert "Executions (4)\n" in said and "code (train.sh), inputs (data)\n" in said
    log = project("log").out
    assert "@1.3 " in log and "[parameters] sh train.sh --rate=2\n" in log
    assert "[code, inputs] sh train.sh --rate=2\n" in project("dag", "--expanded").out
    assert [n["differs_in"] for n in project.json("dag", "--expanded")["nodes"]] == [
        None, [], ["parameters"], ["code", "inputs"]]


def test_ctrl_c_on_a_terminal_reaches_all_steps(project):
    project.write("data", "1\n")
    for name in "ab":
        project.sh(f"cat data >{name}; [ ! -e go ] || {{ echo >{name}.started; "
                   "exec sleep 1000; }")
    project.write("go", "")
    project.write("data", "2\n")
    with on_terminal(project, "rerun", "-j2") as t:
        until(lambda: project.exists("a.started") and project.exists("b.started"))
        t.type("\x03")
        assert t.wait() == 130
        t.expect("roar: @1 was interrupted after ")
        assert "roar: interrupted; no step is left; 'roar rerun' goes on" in t.text
    assert [j["status"] for j in project.jobs()[2:]] == ["interrupted"] * 2
    assert project.leftovers() == []


def test_a_cycle_is_run_once_and_named(project):
    project.write("x", "1\n")
    project.sh("cat x >y")
    project.sh("cat y - </dev/null >z; cat z >x.new")
    project.sh("cat x.new >x.tmp; mv x.tmp x; echo more >>x")
    assert "@1 depends on later steps that depend on it: each is run once\n" in project(
        "rerun", "-n").out
    assert results(project) == {"@1": ("run", "stale"), "@2": ("run", "stale"),
                                "@3": ("run", "stale")}


def test_what_roar_has_not_observed_here_is_not_run(chain):
    chain.database().execute("UPDATE jobs SET tracer = 'dvc' WHERE step = 2")
    chain.write("data", "1\n")
    done = chain("rerun")
    assert "roar: @2 not run, its record was not made by a run here: " in done.err
    assert "1 run, 1 unchanged, 1 not run, 1 up to date before" in done.err
    assert chain.read("first") == b"2\n"


def test_wrong_usage(chain):
    assert "'model' is not a step" in chain("rerun", "model", code=2).err
    assert "'@1.1' is one execution" in chain("rerun", "@1.1", code=2).err
    assert "@9" in chain("rerun", "@9", code=1).err
    chain("rerun", "-j", "0", code=2)
    with open(chain.path(".roar", "rerun.lock"), "w", encoding="utf-8") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        chain("rerun", "-n")
        chain("rerun", code=1)


def test_a_project_without_steps(project):
    project("init")
    assert project("rerun").err == "0 steps, all up to date\n"
