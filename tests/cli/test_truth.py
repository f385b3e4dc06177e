"""What is easily got wrong: contents that change behind one's back, calls that
fail for hidden reasons, names that move."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from helpers import (PYTHON, SETTLE, bytes_read_by, children_of, gaps_of, names_of,
                     row_of, runs_program, until)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kernel  # noqa: E402

FICLONE = 0x40049409  # linux/fs.h

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


@pytest.mark.parametrize("tracer", ["hybrid", "ptrace", "preload", "ebpf"])
@pytest.mark.parametrize("write, role", [
    # Opened without being emptied: the cache knows what it was.
    ("dd if=copy of=file conv=notrunc", "touched"),
    # Read first, then emptied or changed in place.
    ("dd if=file of=part; sleep 0.3; dd if=copy of=file", "inputs"),
    ("dd if=file of=part; sleep 0.3; dd if=copy of=file conv=notrunc",
     "inputs"),
    # Nobody knows any more what it was.
    ("dd if=copy of=file", "outputs"),
    ("cp copy new; mv new file", "outputs"),
    ("dd if=other of=file conv=notrunc", "outputs"),
])
def test_a_file_rewritten_with_the_bytes_it_had_is_unchanged(project, tracer,
                                                              write, role):
    if not kernel.offers(tracer):
        pytest.skip(f"no {tracer} here")
    for name in ("file", "copy"):
        project.write(name, "the same\n")
    project.write("other", "another\n")
    project.sh("cat file")  # the cache has its digest now
    time.sleep(SETTLE)
    project("run", "-q", "--tracer", tracer, "--", "sh", "-c",
            f"{{ {write}; }} 2>/dev/null")
    job = project.last()
    assert set(gaps_of(job)) <= {"library"}
    assert [r for r in ("inputs", "outputs", "touched")
            if "file" in names_of(project, job[r])] == [role]


def test_an_input_that_others_change_meanwhile_is_a_gap(project):
    project.write("in", "one\n")
    process = project.popen("run", "-q", "sh", "-c",
                            "exec 3<in; echo ready; sleep 0.5; cat <&3")
    assert process.stdout.readline() == b"ready\n"
    with open(project.path("in"), "a", encoding="utf-8") as f:
        f.write("two\n")
    process.communicate(timeout=30)
    assert "changed" in gaps_of(project.last())


def test_an_input_that_others_change_while_it_is_open_is_a_gap(project):
    """Whatever its digest was when it was opened: it was read later."""
    size = 5000000
    project.write("in", "o" * size)
    process = project.popen("run", "-q", "sh", "-c",
                            "exec 3<in; echo ready; read x; head -c 3 <&3",
                            stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    tracer, = [p for p in children_of(process.pid)
               if runs_program(p, project.roar_program)]
    until(lambda: bytes_read_by(tracer) >= size, "the hash of the input")
    time.sleep(SETTLE)  # it is looked at once more
    with open(project.path("in"), "r+", encoding="utf-8") as f:
        f.write("new")
    out, _ = process.communicate(b"\n", timeout=60)
    assert out == b"new"
    assert gaps_of(project.last()) == ["changed"]


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


@needs_root
def test_what_was_mounted_and_unmounted_is_not_what_it_covered(project):
    project.write("d/a", "1\n2\n3\n")
    project.sh("mount -t tmpfs t d && seq 9 >d/a && umount d")
    job = project.last()
    assert gaps_of(job) == []
    assert names_of(project, job["outputs"]) == []
    assert names_of(project, job["temporaries"]) == ["d/a"]


@needs_root
def test_what_was_written_through_a_bind_mount_has_the_name_that_stays(project):
    project.write("d/a", "1\n")
    os.mkdir(project.path("e"))
    project.sh("mount --bind d e && cat e/a >e/p && umount e")
    job = project.last()
    assert gaps_of(job) == []
    assert names_of(project, job["inputs"]) == ["d/a"]
    assert names_of(project, job["outputs"]) == ["d/p"]
    assert row_of(project, job["outputs"], "d/p")["digests"] == row_of(
        project, job["inputs"], "d/a")["digests"]


@needs_root
def test_an_output_that_was_covered_by_a_mount_is_a_gap(project):
    os.mkdir(project.path("d"))
    project.sh("seq 3 >d/a && mount -t tmpfs t d")
    try:
        assert gaps_of(project.last()) == ["unreadable"]
    finally:
        subprocess.run(["umount", project.path("d")], check=True)


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
    process = project.popen("run", "-q", "--tracer", "ptrace", "sh", "-c",
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
    result = project.raw("run", "sh", "-c", "echo x >out")
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


# ---- content that only changed its name ----

def inputs_of(place, *words):
    return [(os.path.basename(i["path"]), i["moved"], i["sourced"])
            for i in place.json("inputs", *words)["inputs"]]


@pytest.mark.parametrize("command", ["mv raw data", "ln raw data",
                                     "ln raw data; rm raw",
                                     "mv raw x; mv x data"])
def test_what_was_moved_from_before_the_run_is_an_unsourced_input(project,
                                                                  command):
    project.write("raw", "from outside\n")
    project.sh(command)
    assert names_of(project, project.last()["outputs"]) == ["data"]
    assert inputs_of(project, "@1", "--unsourced") == [("raw", True, False)]
    project.sh("cat data >model")
    assert inputs_of(project, "model", "--all", "--unsourced") == [
        ("raw", True, False)]


def test_a_folder_that_was_moved_names_what_was_in_it(project):
    project.write("raw/a", "a\n")
    project.write("raw/b", "b\n")
    project.sh("mv raw data; cat data/a")
    assert sorted(inputs_of(project, "@1", "--unsourced")) == [
        ("a", False, False), ("b", True, False)]


def test_what_the_run_made_and_renamed_came_from_nowhere(project):
    project.write("data", "old\n")
    project.sh("echo new >t; mv t data; echo x >u; ln u v; "
               "echo more >w; mv w z; echo last >>z")
    assert inputs_of(project, "@1") == []


def test_what_was_moved_and_then_changed_is_new(project):
    project.write("raw", "from outside\n")
    project.sh("mv raw data; echo more >>data")
    assert inputs_of(project, "@1") == []


def test_what_was_moved_away_and_back_is_no_output(project):
    project.write("a", "a\n")
    project.write("b", "b\n")
    project.sh("mv a t; mv t a; mv b t; echo more >>t; mv t b")
    assert names_of(project, project.last()["outputs"]) == ["b"]


def test_popping_does_not_delete_the_last_name_of_old_content(project):
    project.write("raw", "from outside\n")
    project.sh("ln raw data; rm raw")
    project("pop", "-y")
    assert project.read("data") == b"from outside\n"


# ---- names that are replaced while they are used ----

def test_a_script_that_replaces_itself_was_read_under_its_own_name(project):
    for how in ("sed -i s/aaa/bbb/ s.sh", "cp s.sh t; echo >>t; mv t s.sh"):
        project.write("s.sh", f"#!/bin/sh\n{how}\n# aaa\n", mode=0o755)
        project.run("./s.sh")
        job = project.last()
        read = row_of(project, job["inputs"], "s.sh")
        made = row_of(project, job["outputs"], "s.sh")
        assert read["renamed_from"] is None
        assert made["renamed_from"] is not None
        assert read["digests"] != made["digests"]
        assert inputs_of(project, job["job_uid"]) == [("s.sh", False, False)]


def test_a_script_that_checks_out_another_version_of_itself(repo):
    repo.write("s.sh", "#!/bin/sh\ngit checkout -q other\necho x >out\n",
               mode=0o755)
    repo.commit()
    repo.git("checkout", "-q", "-b", "other")
    repo.write("s.sh", "#!/bin/sh\n# the other one, which is longer by far\n",
               mode=0o755)
    repo.commit()
    repo.git("checkout", "-q", "main")
    time.sleep(0.05)
    repo.run("./s.sh")
    job = repo.last()
    read = row_of(repo, job["inputs"], "s.sh")
    made = row_of(repo, job["outputs"], "s.sh")
    assert read["renamed_from"] is None and made["renamed_from"] is None
    assert read["digests"] != made["digests"]
    assert job["verdict"] == "complete"


# ---- a file that several steps change in place ----

@pytest.fixture
def in_place(project):
    """gen writes a.csv, clean changes it in place, train reads it."""
    project.write("seed", "b\na\n")
    project.write("gen.sh", "cat seed >a.csv\n")
    project.write("clean.sh", "sort a.csv >t; cat t >a.csv; rm t\n")
    project.write("train.sh", "wc -c <a.csv >model; head -n 1 a.csv >>model\n")
    for step in ("gen", "clean", "train"):
        project.run("sh", f"{step}.sh")
    return project


def stale(place):
    return place.json("status")["stale_steps"]


def dependencies(place):
    dag = place.json("dag")
    return {n["step_number"]: n["dependencies"] for n in dag["nodes"]}


def test_a_change_in_place_stands_between_maker_and_reader(in_place):
    assert stale(in_place) == []
    assert dependencies(in_place) == {1: [], 2: [1], 3: [2]}
    made = [(os.path.basename(i["path"]), (i["made_by"] or {}).get("step_ref"))
            for i in in_place.json("inputs", "@3", "--all")["inputs"]]
    assert [m for m in made if m[1]] == [("a.csv", "@2"), ("a.csv", "@1")]
    shown = in_place.json("show", "a.csv")
    assert [j["step_ref"] for j in shown["made_by"]] == ["@2"]
    assert [j["step_ref"] for j in shown["used_by"]] == ["@3"]


@pytest.mark.parametrize("seed", [None, "d\nc\n"])
def test_a_change_in_place_is_to_be_made_again_after_its_input(in_place, seed):
    """Also where the input is what it was: the change is gone."""
    if seed:
        in_place.write("seed", seed)
    in_place("run", "-q", "@1")
    assert stale(in_place) == ["@2", "@3"]
    assert dependencies(in_place) == {1: [], 2: [1], 3: [2]}
    in_place("run", "-q", "@2")
    assert stale(in_place) == ([] if seed is None else ["@3"])
    in_place("run", "-q", "@3")
    assert stale(in_place) == []
    assert dependencies(in_place) == {1: [], 2: [1], 3: [2]}


# ---- several names of one file ----

def states(place):
    return {os.path.basename(a["path"]): a["state"]
            for a in place.json("status")["artifacts"]}


def test_a_write_through_another_name_shows_where_one_looks(project):
    """The second step never names what the first one made."""
    project.sh("echo first >a")
    os.link(project.path("a"), project.path("b"))
    time.sleep(0.05)
    project.sh("echo second >>b")
    assert names_of(project, project.last()["outputs"]) == ["b"]
    assert states(project) == {"a": "changed", "b": "present"}
    assert project.json("show", "a")["digests"] != project.digests("b")


@pytest.mark.parametrize("tracer", ["hybrid", "ptrace", "preload", "ebpf"])
@pytest.mark.parametrize("write", [
    "echo x >b", "echo x >>b",
    "echo x 1<>b"])
def test_what_was_read_before_a_write_through_another_name(project, tracer,
                                                           write):
    """Under ptrace and hybrid the writer waits for the hash.  The others have it
    from the cache; eBPF hears of an emptied file when it is too late."""
    if not kernel.offers(tracer):
        pytest.skip(f"no {tracer} here")
    for name in ("a", "copy"):
        project.write(name, f"{tracer} {write}\n")
    os.link(project.path("a"), project.path("b"))
    time.sleep(SETTLE)
    if tracer in ("preload", "ebpf"):
        project.sh("cat a")
    project("run", "-q", "--tracer", tracer, "--", "sh", "-c",
            f"cat copy a >/dev/null; {write}")
    job = project.last()
    assert row_of(project, job["inputs"], "a")["digests"] == row_of(
        project, job["inputs"], "copy")["digests"]
    if tracer == "ebpf" and write == "echo x >b":
        assert gaps_of(job) == ["changed"]
        return
    assert set(gaps_of(job)) <= {"library"}
    made = [row_of(project, job["outputs"], name)["digests"]
            for name in ("a", "b")]
    assert made[0] == made[1]


ROTATE = """
import os
old = open("ck").read()
os.rename("ck", "ck.old")
open("ck.new", "w").write(old + "more")
os.rename("ck.new", "ck")
"""


@pytest.mark.parametrize("tracer", ["hybrid", "ptrace"])
def test_a_checkpoint_that_was_read_is_rotated(project, tracer):
    """The name leads elsewhere in a moment: the hash must not come too late."""
    if not kernel.offers(tracer):
        pytest.skip(f"no {tracer} here")
    for turn in range(4):
        for name in ("ck", "copy"):
            project.write(name, f"{tracer} {turn}\n")
        time.sleep(SETTLE)
        project("run", "-q", "--tracer", tracer, "--", sys.executable, "-c",
                f"open('copy').read()\n{ROTATE}")
        job = project.last()
        assert gaps_of(job) == []
        assert row_of(project, job["inputs"], "ck")["digests"] == row_of(
            project, job["inputs"], "copy")["digests"]


# ---- files that a program serves (FUSE) ----

@needs_root
@pytest.mark.parametrize("tracer", ["hybrid", "ptrace", "preload", "ebpf"])
def test_files_on_a_fuse_mount_are_recorded_like_others(project, tracer):
    if not kernel.offers(tracer):
        pytest.skip(f"no {tracer} here")
    if not shutil.which("bindfs") or not os.path.exists("/dev/fuse"):
        pytest.skip("bindfs and /dev/fuse are needed")
    for name in ("in", "log", "old"):
        project.write("real/" + name, f"{name}\n")
    os.mkdir(project.path("m"))
    subprocess.run(["bindfs", project.path("real"), project.path("m")],
                   check=True)
    try:
        time.sleep(SETTLE)
        project("run", "-q", "--tracer", tracer, "--", "sh", "-c",
                "cat m/in >m/out; echo x >>m/log; mv m/old m/new; "
                "echo >m/t; rm m/t")
        job = project.last()
    finally:
        subprocess.run(["umount", project.path("m")], check=True)
    assert set(gaps_of(job)) <= {"library"}
    assert names_of(project, job["inputs"]) == ["m/in"]
    assert sorted(names_of(project, job["outputs"])) == ["m/log", "m/new",
                                                         "m/out"]
    assert row_of(project, job["outputs"], "m/out")["digests"] == row_of(
        project, job["inputs"], "m/in")["digests"]


# ---- links and folders under other names ----

def renamed(place):
    """Each output of the last job with the name it had before."""
    def short(path):
        return path and os.path.relpath(path, place.root)
    return {short(r["path"]): short(r["renamed_from"])
            for r in place.last()["outputs"]}


def test_a_symbolic_link_is_present_until_it_leads_elsewhere(project):
    project.write("t")
    project.sh("ln -s t l")
    assert states(project) == {"l": "present"}
    os.unlink(project.path("l"))
    os.symlink("t", project.path("l"))
    assert states(project) == {"l": "present"}
    os.unlink(project.path("l"))
    os.symlink("u", project.path("l"))
    assert states(project) == {"l": "changed"}
    os.unlink(project.path("l"))
    assert states(project) == {"l": "missing"}


def test_a_renamed_symbolic_link_is_not_what_it_leads_to(project):
    project.write("t", "content\n")
    os.symlink("t", project.path("l"))
    project.sh("mv l m; cat m")
    assert renamed(project) == {"m": "l"}
    assert names_of(project, project.last()["inputs"]) == ["t"]
    row = row_of(project, project.last()["outputs"], "m")
    assert row["digests"] != project.digests("t")
    assert row["size_bytes"] == 1


@pytest.mark.parametrize("script", [
    "mv d e", "mkdir e; mv -T d e", "mkdir e x; mv -T d x; mv -T x e",
    "mv d e; cat e/f", "cat d/f; mv d e"])
def test_a_renamed_folder_takes_files_and_links_along(project, script):
    project.write("d/f", "x\n")
    os.symlink("f", project.path("d", "l"))
    project.sh(script)
    assert renamed(project) == {"e/f": "d/f", "e/l": "d/l"}
    assert project.last()["verdict"] == "complete"
    assert {name for name, _, _ in inputs_of(project, "@1")} == {"f", "l"}


def test_a_folder_made_again_under_the_old_name_is_new(project):
    project.write("d/f", "x\n")
    project.sh("mv d e; mkdir d; echo y >d/f; mv d g; mkdir d; echo z >d/f")
    assert renamed(project) == {"e/f": "d/f", "g/f": "d/f", "d/f": None}
    assert inputs_of(project, "@1") == [("f", True, False)]


# ---- what git did not tell ----

def git_note(place, **options):
    """Runs something and returns what the record says git kept back; `show`
    says the same as its JSON."""
    place.run("/bin/true", **options)
    note = place.last()["git"]["note"]
    shown = place("show", place.jobs()[-1]["job_uid"]).out
    assert ("Note:" in shown) == (note is not None)
    assert (note or "") in shown
    return note


def test_a_healthy_repository_needs_no_note(repo):
    repo.write("code.py", "print('changed')\n")
    assert git_note(repo) is None
    assert repo.last()["git"]["snapshot"]


def test_a_damaged_index_is_noted(repo):
    repo.write(".git/index", "DIRC nonsense")
    assert "git says: " in git_note(repo)
    assert repo.last()["git"]["commit"] == repo.git("rev-parse",
                                                    "HEAD").strip()
    assert repo.last()["verdict"] == "complete"


def test_uncommitted_code_without_git_is_noted(repo):
    repo.write("code.py", "print('changed')\n")
    os.mkdir(repo.path("..", "bin"))
    note = git_note(repo, env={"PATH": os.path.join(repo.base, "bin")})
    assert "git is not installed" in note
    git = repo.last()["git"]
    assert git["snapshot"] is None
    assert git["commit"] == repo.git("rev-parse", "HEAD").strip()


def test_uncommitted_code_in_a_repository_one_may_not_write_to_is_noted(user):
    user.git("init", "-q")
    user.write("code.py", "print('hello')\n")
    user.commit()
    user.write("code.py", "print('changed')\n")
    os.chmod(user.path(".git", "objects"), 0o555)
    note = git_note(user)
    os.chmod(user.path(".git", "objects"), 0o755)
    assert "no snapshot was made: git says: " in note
    assert user.last()["git"]["dirty"] is True
    assert user.last()["git"]["snapshot"] is None


def test_a_submodule_is_noted_as_not_looked_into(repo):
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q",
             repo.root, "part")
    repo.commit()
    repo.write("part/code.py", "print('changed inside')\n")
    assert "1 submodule" in git_note(repo)


def test_a_large_input_changed_in_place_is_recorded_as_it_was_read(project):
    path = project.write("big", "what was read")
    os.truncate(path, 65 << 20)
    with open(path, "rb") as f, tempfile.TemporaryFile(dir=project.root) as to:
        try:
            fcntl.ioctl(to, FICLONE, f.fileno())
        except OSError as e:
            pytest.skip(f"no clones (FICLONE) in this file system: {e.strerror}")
    time.sleep(SETTLE)
    expected = project.json("hash", "big")[0]["digests"]["blake3"]
    project.run(*PYTHON, "open('big', 'rb').read(1)\n"
                "f = open('big', 'r+b'); f.write(b'changed'); f.close()")
    job = project.last()
    assert job["verdict"] == "complete", gaps_of(job)
    assert row_of(project, job["inputs"], "big")["digests"]["blake3"] == expected
    assert project.journals() == []
