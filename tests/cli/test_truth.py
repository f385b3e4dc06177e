"""What is easily got wrong: contents that change behind one's back, calls that
fail for hidden reasons, names that move."""

import os
import signal
import subprocess
import time

import pytest

from helpers import PYTHON, children_of, gaps_of, names_of, row_of, until

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def test_a_rewrite_with_restored_times_is_hashed_again(project):
    project.sh("printf AAAA >out; touch -d @1000 out; sleep 0.5; "
               "printf BBBB >out; touch -d @1000 out; printf BBBB >same")
    job = project.last()
    assert row_of(project, job["outputs"], "out")["digests"] == row_of(
        project, job["outputs"], "same")["digests"]


def test_a_write_to_a_mapped_page_after_a_close_is_hashed(project):
    project.run(*PYTHON, "import mmap, os, time\n"
                "fd = os.open('out', os.O_RDWR | os.O_CREAT, 0o644)\n"
                "os.ftruncate(fd, 4096)\n"
                "m = mmap.mmap(fd, 4096)\n"
                "m[:4] = b'AAAA'\n"
                "os.close(os.open('out', os.O_RDWR))\n"
                "time.sleep(0.5)\n"
                "m[:4] = b'BBBB'\n"
                "open('same', 'wb').write(b'BBBB' + bytes(4092))\n"
                "os._exit(0)\n")
    job = project.last()
    assert row_of(project, job["outputs"], "out")["digests"] == row_of(
        project, job["outputs"], "same")["digests"]


def test_an_input_that_others_change_meanwhile_is_a_gap(project):
    project.write("in", "one\n")
    process = project.popen("run", "-q", "sh", "-c",
                            "exec 3<in; echo ready; sleep 0.5; cat <&3")
    assert process.stdout.readline() == b"ready\n"
    with open(project.path("in"), "a", encoding="utf-8") as f:
        f.write("two\n")
    process.communicate(timeout=30)
    assert "changed" in gaps_of(project.last())


@needs_root
def test_root_of_a_user_namespace_has_less_rights(project):
    for name in ("in", "out"):
        project.write(name, "old\n", mode=0o600)
        os.chown(project.path(name), 65534, 65534)
    code = project.raw("run", "-q", "unshare", "-U", "sh", "-c",
                       "cat in; echo new >out").code
    if code == 0:
        pytest.skip("the kernel refuses user namespaces")
    job = project.last()
    assert job["inputs"] == [] and job["outputs"] == []


@needs_root
def test_names_changed_behind_other_mounts_are_a_gap(project):
    project.write("src/f")
    os.mkdir(project.path("d"))
    project.run("unshare", "-m", "sh", "-c",
                "mount --bind src d && mv d/f d/g")
    assert "namespace" in gaps_of(project.last())


def test_a_hundred_renamed_folders_all_count(project):
    for i in range(100):
        project.write(f"d{i}/f", f"{i}\n")
    project.sh("i=0; while [ $i -lt 100 ]; do mv d$i e$i; i=$((i+1)); done")
    assert len(project.last()["outputs"]) == 100


def test_a_thread_that_changes_directory_does_not_confuse_its_sibling(project):
    os.mkdir(project.path("d0"))
    os.mkdir(project.path("d1"))
    project.run(*PYTHON, "import os, threading\n"
                "turn = 0\n"
                "def mover():\n"
                "    global turn\n"
                "    for i in range(50):\n"
                "        while turn != 2 * i: pass\n"
                "        os.chdir(f'{top}/d{i % 2}')\n"
                "        turn = 2 * i + 1\n"
                "top = os.getcwd()\n"
                "t = threading.Thread(target=mover)\n"
                "t.start()\n"
                "for i in range(50):\n"
                "    while turn != 2 * i + 1: pass\n"
                "    open(f'o{i}', 'w').close()\n"
                "    turn = 2 * i + 2\n"
                "t.join()\n")
    assert sorted(names_of(project, project.last()["outputs"])) == sorted(
        f"d{i % 2}/o{i}" for i in range(50))


def test_a_killed_run_is_recorded_before_the_next_one_writes(project):
    process = project.popen("run", "-q", "sh", "-c",
                            "echo FIRST >out; echo ready; sleep 30")
    assert process.stdout.readline() == b"ready\n"
    os.kill(children_of(process.pid)[0], signal.SIGKILL)
    process.communicate(timeout=30)
    project.sh("echo SECOND-LONGER >out")
    jobs = project.jobs()
    assert [j["status"] for j in jobs] == ["interrupted", "ok"]
    contents = [project.json("show", j["job_uid"])["outputs"][0]["digests"]
                for j in jobs]
    assert contents[0] != contents[1]


def test_a_record_made_late_tells_how_the_command_ended(project):
    project.run("true")
    database = project.path(".roar", "roar.db")
    process = project.popen("run", "-q", "sh", "-c",
                            "echo ready; read x; echo x >done; exit 4",
                            stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    os.rename(database, database + ".away")
    os.mkdir(database)
    process.communicate(b"\n", timeout=30)
    os.rmdir(database)
    os.rename(database + ".away", database)
    job = project.last()
    assert (job["status"], job["exit_code"]) == ("failed", 4)
    assert gaps_of(job) == ["late"]


def test_our_line_does_not_go_into_a_recorded_log(project):
    with open(project.path("log"), "wb") as log:
        subprocess.run(project.argv("run", "sh", "-c", "echo hi >&2"),
                       cwd=project.root, env=project.env, stderr=log,
                       check=True)
    assert project.read("log") == b"hi\n"
    assert names_of(project, project.last()["outputs"]) == ["log"]


def test_roar_goes_on_when_the_command_does(project):
    result = project.raw("run", "-q", "sh", "-c",
                         "(sleep 0.3; kill -CONT $$) & kill -STOP $$; exit 5",
                         timeout=30)
    assert result.code == 5


def test_one_liners_with_one_output_are_different_steps(project):
    project.sh("printf 'b\\na\\n' >d.csv")
    project.sh("sort d.csv >t; mv t d.csv")
    assert [j["step_number"] for j in project.jobs()] == [1, 2]


def test_words_that_change_no_option_are_refused(project):
    project.run("true")
    for words in (["foo"], ["k=5"], ["--k", "5"], ["--"]):
        assert project.raw("run", "@1", *words).code == 2
    assert project.raw("build", "@1").code == 2
    assert len(project.jobs()) == 1


def test_a_mistake_in_the_settings_does_not_cost_the_record(project):
    project.write(".roar/config.toml", "x = = 1\n")
    result = project.raw("run", "-q", "sh", "-c", "echo x >out")
    assert result.code == 0 and b"config.toml" in result.err
    project.write(".roar/config.toml", "")
    assert names_of(project, project.last()["outputs"]) == ["out"]


def test_a_journal_of_somebody_else_is_left_alone(project):
    os.rmdir(project.path(".roar", "runs"))
    project.write("victim/system.journal", "x" * 200)
    os.symlink(project.path("victim"), project.path(".roar", "runs"))
    project.raw("status")
    assert project.exists("victim/system.journal")
    os.unlink(project.path(".roar", "runs"))
    os.mkdir(project.path(".roar", "runs"))
    project.write(".roar/runs/system.journal", "x" * 200)
    project("status")
    assert project.exists(".roar/runs/system.journal")


def test_secrets_and_packages_are_in_no_snapshot(repo):
    repo.write(".env", "TOKEN=abc\n")
    repo.write("id_rsa", "key\n")
    repo.write("node_modules/x.js", "x\n")
    repo.write("new.py", "x = 1\n")
    repo.run("true")
    snapshot = repo.last()["git"]["snapshot"]
    names = repo.git("ls-tree", "-r", "--name-only", snapshot).split()
    assert "new.py" in names
    assert not {".env", "id_rsa", "node_modules/x.js"} & set(names)


def test_a_stubborn_tree_ends_while_hashing_on_the_second_interrupt(project):
    process = project.popen("run", "-q", "sh", "-c",
                            "truncate -s 200G out; echo ready",
                            start_new_session=True)
    assert process.stdout.readline() == b"ready\n"
    until(lambda: not [p for p in children_of(process.pid)
                       for _ in children_of(p)], "the end of the command")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    os.truncate(project.path("out"), 0)
