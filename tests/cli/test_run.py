"""`roar run` and `roar build`: what is recorded of a command."""

import os
import shlex
import subprocess

from helpers import PYTHON, lines, names_of


def test_the_command_is_recorded_as_it_was_typed(project):
    project.run("sh", "-c", "echo 'a b' >out", "name with space", "")
    job = project.last()
    assert shlex.split(job["command"]) == [
        "sh", "-c", "echo 'a b' >out", "name with space", ""]


def test_a_script_is_recorded_as_typed_not_as_executed(project):
    project.write("train.sh", "#!/bin/sh\necho a >a\n", mode=0o755)
    project.run("./train.sh", "--epochs", "3")
    job = project.last()
    assert job["command"] == "./train.sh --epochs 3"
    assert "train.sh" in names_of(project, job["inputs"])


def test_an_env_wrapper_is_recorded_as_typed(project):
    project.run("env", "-u", "HOME", "sh", "-c", "echo >a")
    assert project.last()["command"].startswith("env -u HOME sh -c ")


def test_short_lived_commands_are_all_recorded(project):
    for _ in range(5):
        project.run("/usr/bin/true")
    assert [j["command"] for j in project.jobs()] == ["/usr/bin/true"] * 5


def test_job_has_time_host_user_and_directory(project):
    project.run("sh", "-c", "sleep 0.2")
    job = project.last()
    assert 0.2 <= job["duration_s"] < 20
    assert job["cwd"] == project.root
    assert job["host"] == os.uname().nodename
    assert job["user"]
    assert job["tracer"] in ("ebpf", "hybrid", "ptrace")
    assert job["verdict"] == "complete" and job["gaps"] == []
    assert job["status"] == "ok"
    assert job["resources"]["processes"] == 2
    assert job["resources"]["max_rss_bytes"] > 100000


def test_processes_have_parents_commands_and_an_end(project):
    project.run("sh", "-c", "/bin/true one; /bin/true two")
    processes = project.last("--all")["processes"]
    assert len(processes) == 3
    root = processes[0]
    assert root["command"].startswith("sh -c")
    assert {p["command"] for p in processes[1:]} == {"/bin/true one",
                                                     "/bin/true two"}
    assert {p["parent_pid"] for p in processes[1:]} == {root["pid"]}
    assert all(p["ended_at"] and p["wait_status"] == 0 for p in processes)


def test_name_option(project):
    project("run", "-q", "--name", "first", "true")
    assert project.last()["name"] == "first"
    assert "first" in project("show", "@1").out


def test_run_step_again(project):
    project.write("in", "1\n")
    project.sh("cat in >out; echo done")
    project.write("in", "2\n")
    done = project("run", "-q", "@1")
    assert done.out == "done\n"
    assert project.read("out") == b"2\n"
    jobs = project.jobs()
    assert [j["step_number"] for j in jobs] == [1, 1]
    assert jobs[0]["command"] == jobs[1]["command"]


def test_run_step_again_in_the_folder_where_it_ran(project):
    os.mkdir(project.path("sub"))
    project.sh("pwd", cwd=project.path("sub"))
    assert project("run", "-q", "@1").out == project.path("sub") + "\n"
    assert [j["step_number"] for j in project.jobs()] == [1, 1]


def test_run_step_with_an_override_replaces_key_and_value(project):
    project.write("t.sh", "echo \"$@\"\n")
    project.run("sh", "t.sh", "--epochs=3", "--lr", "0.1", "last")
    assert project("run", "-q", "@1", "--epochs=10").out == (
        "--epochs=10 --lr 0.1 last\n")


def test_run_step_with_an_override_of_a_separate_value(project):
    project.write("t.sh", "echo \"$@\"\n")
    project.run("sh", "t.sh", "--epochs", "3", "--lr", "0.1")
    out = project("run", "-q", "@1", "--lr=0.5").out
    assert out in ("--epochs 3 --lr=0.5\n", "--epochs 3 --lr 0.5\n")


def test_run_step_with_an_unknown_key_appends_it(project):
    project.write("t.sh", "echo \"$@\"\n")
    project.run("sh", "t.sh", "--epochs=3")
    assert project("run", "-q", "@1", "--seed=7").out == (
        "--epochs=3 --seed=7\n")


def test_run_of_an_override_is_recorded_with_it(project):
    project.write("t.sh", "echo \"$@\" >out\n")
    project.run("sh", "t.sh", "--epochs=3")
    project("run", "-q", "@1", "--epochs=10")
    assert project.last()["command"] == "sh t.sh --epochs=10"
    assert project.last()["step_number"] == 1


def test_run_build_step_again(project):
    project("build", "-q", "sh", "-c", "echo built")
    assert project("run", "-q", "@B1").out == "built\n"
    assert [j["kind"] for j in project.jobs()] == ["build", "build"]


def test_run_of_a_step_that_is_not_there_is_one_sentence(project):
    for word in ("@1", "@B1", "@0"):
        done = project("run", word, code=None)
        assert done.code in (1, 2)
        assert len(lines(done.err)) == 1
        assert word in done.err
    assert project.jobs() == []


def test_a_redacted_step_is_not_run_again_with_a_wrong_secret(project):
    project.write("t.sh", "echo \"$@\" >out\n")
    project.run("sh", "t.sh", "--api-key", "abcdefgh12345678")
    os.unlink(project.path("out"))
    done = project("run", "@1", code=None)
    assert done.code != 0
    assert len(lines(done.err)) == 1
    assert not project.exists("out")
    project("run", "-q", "@1", "--api-key=newvalue12345678")
    assert b"newvalue12345678" in project.read("out")


def test_options_of_the_command_are_not_options_of_roar(project):
    done = project("run", "-q", "echo", "-q", "--name", "x", "--help")
    assert done.out == "-q --name x --help\n"


def test_double_dash_ends_the_options_of_roar(project):
    assert project("run", "-q", "--", "echo", "--", "a").out == "-- a\n"


def test_build_records_a_step_of_its_own_kind(project):
    project("build", "-q", "sh", "-c", "echo a >a")
    job = project.last()
    assert job["kind"] == "build"
    assert job["step_ref"] == "@B1"


def test_exit_code_is_passed_through_and_recorded(project):
    project.sh("exit 7", code=7)
    job = project.last()
    assert job["exit_code"] == 7
    assert job["status"] == "failed"


def test_hash_option_stores_that_algorithm_too(project):
    project("run", "-q", "--hash", "sha256", "sh", "-c", "echo a >a")
    assert set(project.digests("a")) == {"blake3", "sha256"}


def test_tracer_option(project):
    project("run", "-q", "--tracer", "ptrace", "true")
    assert project.last()["tracer"] == "ptrace"
    project("run", "--tracer", "magic", "true", code=2)


def test_a_command_found_through_path(project):
    project.write("bin/mine", "#!/bin/sh\necho mine\n", mode=0o755)
    path = project.path("bin") + ":" + project.env["PATH"]
    assert project.run("mine", env={"PATH": path}).out == "mine\n"


def test_an_empty_path_variable(project):
    assert project.run("/bin/echo", "a", env={"PATH": ""}).out == "a\n"
    assert project.run("/bin/echo", "a", env={"PATH": None}).out == "a\n"


def test_a_file_without_shebang_runs_as_in_a_shell(project):
    project.write("plain", "echo plain\nexit 4\n", mode=0o755)
    assert project.run("./plain", code=4).out == "plain\n"


def test_roar_inside_of_roar_runs_the_command(project):
    """A traced process cannot be traced again; the command must not suffer."""
    done = project.run(project.roar_program, "run", "-q", "--", "sh", "-c",
                       "echo inner >inner; echo said; exit 5", code=5,
                       env=project.without_leak_check())
    assert done.out == "said\n"
    assert project.read("inner") == b"inner\n"
    outer = [j for j in project.jobs() if "run" in j["command"]
             and project.roar_program in j["command"]]
    assert len(outer) == 1


def test_runs_in_a_deleted_directory(project):
    os.mkdir(project.path("gone"))
    script = ("mkdir -p gone && cd gone && rmdir ../gone && "
              f"exec {shlex.quote(project.roar_program)} run -q -- "
              "sh -c 'exit 6'")

    done = subprocess.run(["sh", "-c", script], cwd=project.root,
                          env=project.env, stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 6


def test_python_is_observed_like_anything_else(project):
    project.write("in.txt", "data")
    project.run(*PYTHON, "open('out.txt', 'w').write(open('in.txt').read())")
    job = project.last()
    assert names_of(project, job["inputs"]) == ["in.txt"]
    assert names_of(project, job["outputs"]) == ["out.txt"]
    assert job["verdict"] == "complete"
