"""Jobs form a pipeline by the content they exchange; nobody declares it."""

import os
import subprocess
import time

import pytest

from helpers import SETTLE, gaps_of, names_of, row_of
from terminal import on_terminal


def linear(place):
    place.write("raw.csv", "1,2,3\n")
    place.sh("cat raw.csv >clean.csv")
    place.sh("cat clean.csv >model.bin; echo m >>model.bin")


def node(dag, ref):
    found = [n for n in dag["nodes"] if n["step_ref"] == ref]
    assert len(found) == 1, [n["step_ref"] for n in dag["nodes"]]
    return found[0]


def artifact(place, dag, name, state=None):
    found = [a for a in dag["artifacts"] if a["path"] == place.path(name)
             and (state is None or a["state"] == state)]
    assert len(found) == 1, dag["artifacts"]
    return found[0]


def test_linear_pipeline_has_two_steps(project):
    linear(project)
    out = project("dag").out
    assert out.startswith("Pipeline: 2 steps")
    assert "@1" in out and "@2" in out


def test_the_second_step_consumes_the_output_of_the_first(project):
    linear(project)
    dag = project.json("dag")
    assert node(dag, "@2")["dependencies"] == [1]
    assert node(dag, "@2")["dependency_refs"] == ["@1"]
    assert node(dag, "@1")["dependencies"] == []
    clean = artifact(project, dag, "clean.csv")
    assert clean["producer_step"] == 1
    assert clean["consumer_steps"] == [2]
    assert not clean["is_terminal"]
    assert artifact(project, dag, "model.bin")["is_terminal"]
    assert node(dag, "@1")["metrics"] == {"inputs": 1, "outputs": 1,
                                          "consumed": 1}


def test_diamond_has_both_branches_as_dependencies(project):
    project.write("raw")
    project.sh("cat raw >a")
    project.sh("cat a >b1; echo 1 >>b1")
    project.sh("cat a >b2; echo 2 >>b2")
    project.sh("cat b1 b2 >c")
    dag = project.json("dag")
    assert sorted(node(dag, "@4")["dependencies"]) == [2, 3]
    assert node(dag, "@2")["dependencies"] == [1]
    assert node(dag, "@3")["dependencies"] == [1]


def test_fan_in_records_all_inputs(project):
    names = [f"part{i}" for i in range(12)]
    for name in names:
        project.sh(f"echo {name} >{name}")
    project.sh("cat part* >whole")
    assert names_of(project, project.last()["inputs"]) == sorted(names)
    dag = project.json("dag")
    assert sorted(node(dag, "@13")["dependencies"]) == list(range(1, 13))


def test_several_models_of_one_data_set_are_terminal(project):
    project.write("raw")
    project.sh("cat raw >data; echo d >>data")
    for i in range(3):
        project.sh(f"cat data >model{i}; echo {i} >>model{i}")
    dag = project.json("dag")
    assert artifact(project, dag, "data")["consumer_steps"] == [2, 3, 4]
    assert all(artifact(project, dag, f"model{i}")["is_terminal"]
               for i in range(3))


def test_other_parameters_with_other_outputs_are_other_steps(project):
    for lr in (1, 2, 3):
        project.sh(f"echo {lr} >model_{lr}")
    assert [j["step_number"] for j in project.jobs()] == [1, 2, 3]


def test_a_rerun_keeps_its_number(project):
    project.sh("echo a >a")
    project.sh("echo b >b")
    project.sh("echo a >a")
    jobs = project.jobs()
    assert [j["step_number"] for j in jobs] == [1, 2, 1]
    assert [j["attempt"] for j in jobs] == [1, 1, 2]


def test_the_same_program_with_the_same_outputs_is_the_same_step(project):
    project.write("train.sh", "echo $1 >model\n")
    project.run("sh", "train.sh", "1")
    project.run("sh", "train.sh", "2")
    assert [j["step_number"] for j in project.jobs()] == [1, 1]


def test_expanded_shows_both_executions(project):
    project.sh("echo a >a")
    project.sh("echo a >a")
    assert len(project.json("dag")["nodes"]) == 1
    expanded = project.json("dag", "--expanded")
    assert expanded["is_expanded"]
    assert len(expanded["nodes"]) == 2
    assert project("dag", "--expanded").out.count("@1") >= 2


def test_changed_content_upstream_makes_downstream_stale(project):
    project.write("raw", "1\n")
    project.sh("cat raw >a; echo >>a")
    project.sh("cat a >b; echo >>b")
    project.sh("cat b >c; echo >>c")
    project.sh("echo other >other")
    project.write("raw", "2\n")
    project.sh("cat raw >a; echo >>a")
    dag = project.json("dag")
    assert node(dag, "@2")["state"] == "stale"
    assert node(dag, "@3")["state"] == "stale"
    assert node(dag, "@1")["state"] != "stale"
    assert node(dag, "@4")["state"] != "stale"
    assert dag["stale_count"] == 2
    assert dag["stale_artifact_count"] >= 2
    assert artifact(project, dag, "c")["state"] == "stale"


def test_only_the_affected_branch_is_stale(project):
    project.write("raw1", "1\n")
    project.write("raw2", "2\n")
    project.sh("cat raw1 >a1; echo >>a1")
    project.sh("cat raw2 >a2; echo >>a2")
    project.sh("cat a1 >b1; echo >>b1")
    project.sh("cat a2 >b2; echo >>b2")
    project.write("raw1", "one\n")
    project.sh("cat raw1 >a1; echo >>a1")
    dag = project.json("dag")
    assert node(dag, "@3")["state"] == "stale"
    assert node(dag, "@4")["state"] == "active"


def test_identical_content_upstream_leaves_downstream_alone(project):
    linear(project)
    project.sh("cat raw.csv >clean.csv")
    dag = project.json("dag")
    assert dag["stale_count"] == 0
    assert node(dag, "@2")["state"] != "stale"


def test_a_rerun_of_a_stale_step_cures_it(project):
    linear(project)
    project.write("raw.csv", "4,5,6\n")
    project.sh("cat raw.csv >clean.csv")
    assert project.json("dag")["stale_count"] == 1
    project("run", "-q", "@2")
    assert project.json("dag")["stale_count"] == 0


def test_replaced_output_is_superseded(project):
    project.write("raw", "1\n")
    project.sh("cat raw >a")
    first = project.json("dag")["artifacts"]
    first_hash = [a["hash"] for a in first if a["path"].endswith("/a")][0]
    project.write("raw", "2\n")
    project.sh("cat raw >a")
    dag = project.json("dag", "--expanded")
    old = [a for a in dag["artifacts"] if a["hash"] == first_hash
           and a["path"].endswith("/a")]
    assert [a["state"] for a in old] == ["superseded"]
    new = [a for a in dag["artifacts"] if a["path"].endswith("/a")
           and a["hash"] != first_hash]
    assert old[0]["superseded_by"] == new[0]["hash"]
    assert dag["superseded_artifact_count"] == 1


def test_stale_only_filters(project):
    linear(project)
    assert "No stale or outdated steps" in project("dag", "--stale-only").out
    project.write("raw.csv", "4,5,6\n")
    project.sh("cat raw.csv >clean.csv")
    refs = [n["step_ref"] for n in project.json("dag", "--stale-only")["nodes"]]
    assert refs == ["@2"]


def test_stale_steps_have_a_star_and_are_named_by_status(project):
    linear(project)
    project.write("raw.csv", "4,5,6\n")
    project.sh("cat raw.csv >clean.csv")
    assert "*" in project("dag").out
    assert "Stale steps: @2" in project("status").out
    assert project.json("status")["stale_steps"] == ["@2"]


def test_dag_of_an_empty_session_says_so(project):
    done = project("dag")
    assert "No steps" in done.out
    dag = project.json("dag")
    assert dag["nodes"] == [] and dag["total_steps"] == 0


def test_long_commands_are_cut(project):
    project.sh("true " + "x" * 5000)
    for command in ("dag", "log"):
        out = project(command, env={"COLUMNS": "80"}).out
        assert max(len(line) for line in out.split("\n")) <= 80
        # Into a pipe goes all of it.
        assert "x" * 5000 in project(command).out
    assert len(project.json("dag")["nodes"][0]["command"]) > 5000


def test_named_steps_show_their_name(project):
    project("run", "-q", "-n", "prepare the data", "sh", "-c", "echo >a")
    assert "prepare the data" in project("dag").out
    assert project.json("dag")["nodes"][0]["step_name"] == "prepare the data"


def test_build_steps_are_counted_apart(project):
    project("build", "-q", "sh", "-c", "echo lib >lib.so")
    project.sh("cat lib.so >a")
    dag = project.json("dag")
    assert node(dag, "@B1")["is_build"]
    assert not node(dag, "@1")["is_build"]
    assert node(dag, "@1")["dependency_refs"] == ["@B1"]
    assert "@B1" in project("dag").out


def test_show_artifacts_lists_what_each_step_made(project):
    linear(project)
    out = project("dag", "--show-artifacts").out
    assert "clean.csv" in out and "model.bin" in out
    assert "clean.csv" not in project("dag").out.replace(
        project.jobs()[0]["command"], "").replace(
            project.jobs()[1]["command"], "")


def test_a_deep_pipeline_of_25_steps(project):
    project.write("f0")
    for i in range(25):
        project.sh(f"cat f{i} >f{i + 1}; echo {i} >>f{i + 1}")
    dag = project.json("dag")
    assert dag["total_steps"] == 25
    assert node(dag, "@25")["dependencies"] == [24]
    project.write("f0", "new\n")
    project.sh("cat f0 >f1; echo 0 >>f1")
    assert project.json("dag")["stale_count"] == 24


def test_failed_and_interrupted_jobs_are_part_of_the_pipeline(project):
    project.sh("echo a >a; exit 3", code=3)
    found = node(project.json("dag"), "@1")
    assert found["exit_code"] == 3
    assert "3" in project("dag").out or "fail" in project("dag").out.lower()


def test_a_temporary_is_no_artifact_of_the_pipeline(project):
    project.sh("echo a >t; cat t >out; rm t")
    assert names_of(project, project.json("dag")["artifacts"]) == ["out"]


def test_an_input_of_nobody_is_orphaned_of_a_producer(project):
    linear(project)
    raw = artifact(project, project.json("dag"), "raw.csv")
    assert raw["producer_step"] is None
    assert raw["consumer_steps"] == [1]


def test_content_moved_outside_of_runs_still_links_steps(project):
    project.sh("echo a >a")
    project.write("b", project.read("a"))
    time.sleep(SETTLE)
    project.sh("cat b >c; echo c >>c")
    assert node(project.json("dag"), "@2")["dependencies"] == [1]


# ---- equal content is no proof ----

def test_equal_content_of_another_step_makes_no_dependency(project):
    project.write("src", "1\n")
    for script in ("cat src >a", "cat a >b", "cat a >c", "cat b c >d",
                   "cat src >lone"):
        project.sh(script)
    dag = project.json("dag")
    assert node(dag, "@5")["dependencies"] == []
    inputs = project.json("inputs", "@5")["inputs"]
    assert [i["sourced"] for i in inputs] == [False]
    project.write("src", "2\n")
    project("run", "-q", "@1")
    dag = project.json("dag")
    assert node(dag, "@5")["state"] == "outdated"  # by its own source, not by @1
    expanded = project.json("dag", "--expanded")
    assert not [n for n in expanded["nodes"] if n["step_number"] == 1
                and n["dependencies"]]


def test_what_was_there_before_was_not_made_by_a_job_that_wrote_the_same(
        project):
    project.write("cfg.json", "{}\n")
    project.sh("echo '{}' >results.json")
    project.sh("cat cfg.json >o2; echo 2 >>o2")
    assert node(project.json("dag"), "@2")["dependencies"] == []
    assert project.json("inputs", "o2")["inputs"][0]["sourced"] is False
    assert project.json("show", "@2")["inputs"][0]["made_by"] is None


def test_a_job_that_writes_again_what_was_there_is_no_producer(project):
    project.write("cfg", "1\n")
    project.sh("cat cfg >out; echo x >>out")
    time.sleep(SETTLE)
    project.sh("echo 1 >cfg")
    assert project.json("inputs", "@1")["inputs"][0]["sourced"] is False
    assert project.json("show", "@1")["inputs"][0]["made_by"] is None


def test_a_copy_made_by_hand_leads_to_its_maker_in_all_views(project):
    project.sh("echo a >a")
    time.sleep(SETTLE)
    os.link(project.path("a"), project.path("b"))
    project.sh("cat b >c; echo c >>c")
    assert node(project.json("dag"), "@2")["dependencies"] == [1]
    assert project.json("inputs", "@2")["inputs"][0]["sourced"] is True
    assert project.json("show", "@2")["inputs"][0]["made_by"]["step_ref"] == (
        "@1")


# ---- modules that Python has compiled ----

PYTHON3 = "/usr/bin/python3"


@pytest.fixture
def module(project):
    """A step that makes a module, one that uses it, and its bytecode."""
    project.write("gen.sh", "echo \"LR = $1\" >params.py\n")
    project.write("use.py", "import params; open('o', 'w').write("
                  "str(params.LR))\n")
    project.run("sh", "gen.sh", "1")
    time.sleep(SETTLE)
    project.run(PYTHON3, "use.py")
    assert project.exists("__pycache__")
    return project


def bytecode(place):
    return os.path.join("__pycache__", os.listdir(place.path("__pycache__"))[0])


def test_a_compiled_module_leads_to_its_source(module):
    module.run(PYTHON3, "use.py")
    job = module.last()
    assert names_of(module, job["inputs"]) == ["params.py", "use.py"]
    row = row_of(module, job["inputs"], "params.py")
    assert row["implied_by"] == module.path(bytecode(module))
    assert row["digests"] == module.json("show", "params.py")["digests"]
    assert row["made_by"]["step_ref"] == "@1"
    assert node(module.json("dag"), "@2")["dependencies"] == [1]
    assert gaps_of(job) == []
    rows = module.last("--all")["inputs"]
    assert row_of(module, rows, bytecode(module))["filter"] == "packages"
    assert "compiled" in module("show", "@2").out
    module.run("sh", "gen.sh", "22")
    assert node(module.json("dag"), "@2")["state"] == "stale"


def test_bytecode_that_was_written_is_no_output(module):
    assert names_of(module, module.last()["outputs"]) == ["o"]


def test_bytecode_without_its_source_is_what_ran(module):
    os.rename(module.path(bytecode(module)), module.path("params.pyc"))
    os.unlink(module.path("params.py"))
    os.rmdir(module.path("__pycache__"))
    time.sleep(SETTLE)
    module.run(PYTHON3, "use.py")
    assert names_of(module, module.last()["inputs"]) == ["params.pyc",
                                                         "use.py"]


def test_bytecode_that_python_does_not_check_is_what_ran(module):
    subprocess.run([PYTHON3, "-m", "compileall", "-q", "-f",
                    "--invalidation-mode", "unchecked-hash", "params.py"],
                   cwd=module.root, check=True)
    module.write("params.py", "LR = 'never seen'\n")
    module.run(PYTHON3, "use.py")
    assert module.read("o") == b"1"
    assert names_of(module, module.last()["inputs"]) == [bytecode(module),
                                                         "use.py"]


def test_a_change_that_python_does_not_see_keeps_what_ran(module):
    seen = os.stat(module.path("params.py"))
    module.write("params.py", "LR = 2\n")
    os.utime(module.path("params.py"),
             ns=(seen.st_atime_ns, seen.st_mtime_ns))
    time.sleep(SETTLE)
    module.run(PYTHON3, "use.py")
    assert module.read("o") == b"1"
    assert names_of(module, module.last()["inputs"]) == [
        bytecode(module), "params.py", "use.py"]


def test_a_source_that_was_read_needs_no_implication(module):
    module.write("params.py", "LR = 333\n")
    module.env["PYTHONDONTWRITEBYTECODE"] = "1"
    module.run(PYTHON3, "use.py")
    job = module.last()
    assert names_of(module, job["inputs"]) == ["params.py", "use.py"]
    assert row_of(module, job["inputs"], "params.py")["implied_by"] is None


# ---- a step again ----

def test_a_step_that_is_run_again_stays_that_step(project):
    project.write("t.sh", "echo \"$@\"\n")
    project("run", "-q", "-n", "my name", "sh", "t.sh", "--epochs=3")
    project("run", "-q", "@1", "--epochs=10")
    project("run", "-q", "@1.1")
    jobs = project.jobs()
    assert [j["step_ref"] for j in jobs] == ["@1", "@1", "@1"]
    assert [j["command"].split("=")[1] for j in jobs] == ["3", "10", "3"]
    assert [project.json("show", j["job_uid"])["name"] for j in jobs] == [
        "my name"] * 3
    project("run", "-q", "-n", "other", "@1")
    assert project.last()["name"] == "other"


def test_a_step_that_is_run_again_with_other_outputs_stays_that_step(project):
    project.write("t.sh", "echo x >$2\n")
    project.run("sh", "t.sh", "--out", "a")
    project("run", "-q", "@1", "--out=b")
    assert project.last()["step_ref"] == "@1"
    assert len(project.json("dag", "--expanded")["nodes"]) == 2


@pytest.mark.parametrize("stored, change, expected", [
    ("--b --c", "--b=9", "--b=9 --c"),
    ("--b -x", "--b=9", "--b=9 -x"),
    ("--b", "--b=9", "--b=9"),
    ("--lr -0.5 last", "--lr=-1", "--lr -1 last"),
    ("--epochs=5 --epochs=6", "--epochs=1", "--epochs=1"),
    ("--epochs 5 x --epochs=6", "--epochs=1", "--epochs 1 x"),
    ("--tag=a x", "--tag=b --tag=c", "--tag=b --tag=c x"),
    ("--epochs-max=5", "--epochs=1", "--epochs-max=5 --epochs=1"),
    ("--a=1", "--a=", "--a="),
])
def test_an_override_changes_its_option_and_nothing_else(project, stored,
                                                         change, expected):
    project.write("t.sh", "echo \"$@\"\n")
    project.run("sh", "t.sh", *stored.split())
    done = project("run", "-q", "@1", *change.split())
    assert done.out == expected + "\n"


@pytest.fixture
def stale(project):
    project.write("raw", "1\n")
    project.sh("cat raw >a; echo a >>a")
    project.sh("cat a >b; echo b >>b")
    project.sh("cat b >c; echo c >>c")
    project.write("raw", "2\n")
    project("run", "-q", "@1")
    return project


def test_a_step_on_stale_ones_is_run_with_a_warning_where_nobody_can_answer(
        stale):
    said = stale("run", "@3").err
    assert "@2, which this step depends on, is stale" in said
    assert "[y/N]" not in said
    assert stale.last()["step_ref"] == "@3"


def test_a_step_on_stale_ones_is_run_when_the_user_agrees(stale):
    for answer, code, n in (("n", 1, 4), ("y", 0, 5)):
        with on_terminal(stale, "run", "@3") as t:
            t.expect("is stale")
            t.expect(r"\[y/N\] ")
            t.type(answer + "\n")
            assert t.wait() == code
        assert len(stale.jobs()) == n


def test_yes_and_quiet_do_not_ask(stale):
    for option in ("-y", "-q"):
        with on_terminal(stale, "run", option, "@3") as t:
            assert t.wait() == 0
            assert "[y/N]" not in t.text
