"""What counts as input, output, intermediate, temporary, touched."""

import os
import sys
import time

from helpers import PYTHON, SETTLE, names_of, row_of


def roles(place):
    job = place.last()
    return {role: names_of(place, job[role])
            for role in ("inputs", "outputs", "temporaries", "touched")}


def only(**expected):
    return {role: expected.get(role, []) for role in
            ("inputs", "outputs", "temporaries", "touched")}


def py(place, script, **options):
    return place.run(*PYTHON, "import os\n" + script, **options)


# ---- the shell ----

def test_redirection_of_a_shell(project):
    project.run("bash", "-c", "echo hi > x")
    assert roles(project) == only(outputs=["x"])


def test_pipe_into_a_redirection(project):
    project.write("in", "b\na\n")
    project.sh("cat in | sort | uniq >out")
    assert roles(project) == only(inputs=["in"], outputs=["out"])


def test_written_then_read_is_intermediate_not_input(project):
    project.sh("awk 'BEGIN { print 1 }' >x; cat x")
    job = project.last()
    assert roles(project) == only(outputs=["x"])
    assert row_of(project, job["outputs"], "x")["intermediate"] is True


def test_three_stages_of_a_shell_pipeline(project):
    project.write("raw", "3\n1\n2\n")
    project.sh("sort raw >a; head -2 a >b; wc -l b >c")
    assert roles(project) == only(inputs=["raw"], outputs=["a", "b", "c"])
    marks = {os.path.basename(f["path"]): f["intermediate"]
             for f in project.last()["outputs"]}
    assert marks == {"a": True, "b": True, "c": False}


def test_relative_paths_become_absolute(project):
    os.mkdir(project.path("d"))
    project.sh("cd d; echo x >../x; cd ..; echo y >d/y; echo z >./d/../z")
    assert [f["path"] for f in sorted(project.last()["outputs"],
                                      key=lambda f: f["path"])] == [
        project.path("d/y"), project.path("x"), project.path("z")]


# ---- writing ----

def test_an_empty_stamp_file_is_an_output(project):
    project.sh(": >stamp; touch stamp2")
    assert roles(project) == only(outputs=["stamp", "stamp2"])
    row = row_of(project, project.last()["outputs"], "stamp")
    assert row["size_bytes"] == 0
    assert row["digests"]["blake3"].startswith("af1349b9f5f9a1a6")


def test_open_with_truncation_counts_as_output(project):
    project.write("x", "old\n")
    py(project, "os.close(os.open('x', os.O_WRONLY | os.O_TRUNC))")
    assert roles(project) == only(outputs=["x"])


def test_opened_for_writing_but_unchanged_is_touched(project):
    project.write("x", "old\n")
    py(project, "os.close(os.open('x', os.O_WRONLY))")
    assert roles(project) == only(touched=["x"])


def test_append_is_an_output_and_no_input(project):
    project.write("x", "old\n")
    project.sh("echo new >>x")
    assert roles(project) == only(outputs=["x"])


def test_read_write_changed_is_input_and_output(project):
    project.write("x", "old\n")
    py(project, "fd = os.open('x', os.O_RDWR); os.read(fd, 9); "
       "os.write(fd, b'more')")
    assert roles(project) == only(inputs=["x"], outputs=["x"])


def test_read_write_unchanged_is_input_only(project):
    project.write("x", "old\n")
    py(project, "fd = os.open('x', os.O_RDWR); os.read(fd, 9)")
    assert roles(project) == only(inputs=["x"])


def test_read_write_of_a_new_file_is_output_only(project):
    py(project, "fd = os.open('x', os.O_RDWR | os.O_CREAT); "
       "os.write(fd, b'x')")
    assert roles(project) == only(outputs=["x"])


def test_truncate_by_name(project):
    project.write("x", "0123456789")
    py(project, "os.truncate('x', 4)")
    assert roles(project) == only(outputs=["x"])


def test_a_failed_open_leaves_no_trace(project):
    py(project, "\ntry: open('missing')\nexcept OSError: pass")
    assert roles(project) == only()


def test_a_failed_write_open_leaves_no_trace(user):
    user.write("x", "old\n", mode=0o444)
    user.run(*PYTHON, "\ntry: open('x', 'w')\nexcept OSError: pass\n"
             "else: raise SystemExit(1)")
    assert roles(user) == only()


def test_the_same_content_written_again_is_an_output(project):
    project.write("x", "same\n")
    project.sh("echo same >x")
    assert roles(project) == only(outputs=["x"])


# ---- names ----

def test_rename_publishes_the_destination(project):
    project.sh("echo x >x.tmp; mv x.tmp x")
    job = project.last()
    assert roles(project) == only(outputs=["x"])
    assert job["outputs"][0]["renamed_from"] == project.path("x.tmp")


def test_a_failed_rename_publishes_nothing(project):
    project.write("a", "a\n")
    os.mkdir(project.path("d"))
    py(project, "\ntry: os.rename('a', 'd')\nexcept OSError: pass")
    assert roles(project) == only()


def test_hard_link_publishes_the_destination(project):
    project.sh("echo x >x; ln x y")
    assert roles(project) == only(outputs=["x", "y"])
    assert project.digests("x") == project.digests("y")


def test_a_failed_link_publishes_nothing(project):
    project.write("a", "a\n")
    project.write("b", "b\n")
    py(project, "\ntry: os.link('a', 'b')\nexcept OSError: pass")
    assert roles(project) == only()


def test_a_folder_that_became_a_link_is_recorded_where_it_is(project):
    project.sh("mkdir data; echo x >data/x; mv data v1; ln -s v1 data; "
               "cat data/x")
    assert roles(project) == only(outputs=["data", "v1/x"])
    row = row_of(project, project.last()["outputs"], "v1/x")
    assert row["intermediate"] is True


def test_what_came_with_a_folder_takes_the_place_of_what_left(project):
    project.write("new/x", "prior")
    project.sh("mkdir d; echo x >d/x; mv d old; mv new d")
    assert roles(project) == only(outputs=["d/x", "old/x"])
    row = row_of(project, project.last()["outputs"], "d/x")
    assert row["renamed_from"] == project.path("new/x")


def test_symbolic_link_is_an_output_and_what_it_leads_to_is_read(project):
    project.write("in", "in\n")
    project.sh("ln -s in l; cat l")
    found = roles(project)
    assert found["outputs"] == ["l"]
    assert found["inputs"] == ["in"]


def test_reading_through_a_symbolic_link_names_the_file(project):
    project.write("real", "x\n")
    os.symlink("real", project.path("link"))
    project.sh("cat link")
    assert roles(project) == only(inputs=["real"])


def test_a_renamed_directory_takes_its_files_along(project):
    project.sh("mkdir d; echo 1 >d/a; echo 2 >d/b; mv d e")
    assert roles(project) == only(outputs=["e/a", "e/b"])


def test_a_moved_input_keeps_its_old_name(project):
    project.write("in", "in\n")
    project.sh("mv in moved; cat moved")
    found = roles(project)
    assert found["inputs"] == ["in"]


def test_atomic_replacement_of_an_input(project):
    project.write("x", "old\n")
    project.sh("sed s/old/new/ x >x.tmp; mv x.tmp x")
    assert roles(project) == only(inputs=["x"], outputs=["x"])


# ---- temporaries ----

def test_written_and_gone_is_temporary(project):
    project.sh("echo secret sauce >t; cat t >out; rm t")
    job = project.last()
    assert roles(project) == only(outputs=["out"], temporaries=["t"])
    assert row_of(project, job["temporaries"], "t")["intermediate"] is True


def test_a_temporary_closed_early_keeps_its_hash(project):
    project.sh("echo same >t; echo same >out; sleep 1; rm t")
    job = project.last()
    temporary = row_of(project, job["temporaries"], "t")
    output = row_of(project, job["outputs"], "out")
    assert temporary["digests"] == output["digests"]
    assert temporary["size_bytes"] == 5


def test_a_temporary_that_is_gone_at_once_is_kept_without_hash(project):
    py(project, "\nfor i in range(20):\n open('t', 'w').close()\n "
       "os.unlink('t')")
    assert roles(project) == only(temporaries=["t"])
    assert project.last()["verdict"] == "complete"


def test_a_removed_input_is_still_an_input_with_its_hash(project):
    project.write("in", "data\n")
    project.sh("cat in; rm in; echo data >copy")
    job = project.last()
    assert row_of(project, job["inputs"], "in")["digests"] == row_of(
        project, job["outputs"], "copy")["digests"]


def test_a_file_removed_unread_is_nothing(project):
    project.write("x", "x\n")
    project.sh("rm x")
    assert roles(project) == only()


def test_o_tmpfile_without_a_name_is_no_output(project):
    py(project, "fd = os.open('.', os.O_TMPFILE | os.O_RDWR); "
       "os.write(fd, b'x')")
    found = roles(project)
    assert found["inputs"] == [] and found["outputs"] == []


def test_o_tmpfile_with_a_link_is_an_output(project):
    py(project, "fd = os.open('.', os.O_TMPFILE | os.O_RDWR); "
       "os.write(fd, b'x'); "
       "os.link(f'/proc/self/fd/{fd}', 'named', src_dir_fd=0, "
       "follow_symlinks=True)")
    assert roles(project)["outputs"] == ["named"]


# ---- descriptors ----

def test_a_reused_number_is_another_file(project):
    project.write("in", "in\n")
    py(project, "fd = os.open('in', os.O_RDONLY); os.read(fd, 9); "
       "r, w = os.pipe(); os.dup2(w, fd); os.write(fd, b'x')")
    assert roles(project) == only(inputs=["in"])


def test_a_failed_dup_changes_nothing(project):
    project.write("in", "in\n")
    py(project, "fd = os.open('in', os.O_RDONLY)\n"
       "try: os.dup2(999, fd)\nexcept OSError: pass\nos.read(fd, 9)")
    assert roles(project) == only(inputs=["in"])


def test_sendfile_splice_and_copy_file_range(project):
    project.write("in", "0123456789")
    py(project, "i = os.open('in', os.O_RDONLY)\n"
       "o = os.open('out', os.O_WRONLY | os.O_CREAT)\n"
       "os.sendfile(o, i, 0, 5)\n"
       "os.copy_file_range(i, o, 5, 5)\n"
       "r, w = os.pipe()\n"
       "os.splice(i, w, 3, offset_src=0)\n")
    assert roles(project) == only(inputs=["in"], outputs=["out"])


def test_memory_maps(project):
    project.write("in", "x" * 4096)
    project.write("both", "y" * 4096)
    py(project, "import mmap\n"
       "with open('in', 'rb') as f:\n"
       "    mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[0]\n"
       "with open('both', 'r+b') as f:\n"
       "    m = mmap.mmap(f.fileno(), 0); m[0:3] = b'new'; m.flush()\n")
    assert roles(project) == only(inputs=["both", "in"], outputs=["both"])


def test_executed_programs_and_scripts_of_the_project_are_inputs(project):
    project.write("lib.sh", "echo lib\n")
    project.write("tool", "#!/bin/sh\n. ./lib.sh\n", mode=0o755)
    project.run("./tool")
    assert roles(project) == only(inputs=["lib.sh", "tool"])


def test_background_jobs_of_the_command_are_followed(project):
    project.write("in", "in\n")
    project.sh("(cat in >a) & (cat in >b) & wait")
    assert roles(project) == only(inputs=["in"], outputs=["a", "b"])


def test_threads_are_followed(project):
    script = ("import threading\n"
              "def work(i): open(f't{i}', 'w').write('x')\n"
              "ts = [threading.Thread(target=work, args=(i,)) "
              "for i in range(16)]\n"
              "[t.start() for t in ts]; [t.join() for t in ts]\n")
    project.run(sys.executable, "-c", script)
    assert roles(project)["outputs"] == sorted(f"t{i}" for i in range(16))


# ---- order and processes ----

def test_order_of_first_use(project):
    for name in ("c", "a", "b"):
        project.write(name, name)
    project.sh("cat c; cat a; cat b; cat c; echo 1 >z; echo 2 >y")
    job = project.last()
    reads = sorted(job["inputs"], key=lambda f: f["read_order"])
    assert [os.path.basename(f["path"]) for f in reads] == ["c", "a", "b"]
    writes = sorted(job["outputs"], key=lambda f: f["write_order"])
    assert [os.path.basename(f["path"]) for f in writes] == ["z", "y"]
    assert all(f["write_order"] is None or f["write_order"] == 0
               for f in job["inputs"])


def test_each_file_knows_the_process_that_used_it_first(project):
    project.write("in", "in\n")
    project.sh("cat in >/dev/null; cp in out")
    job = project.last("--all")
    pids = {p["pid"]: p["command"] for p in job["processes"]}
    assert pids[row_of(project, job["inputs"], "in")["reader_pid"]] == (
        "cat in")
    assert pids[row_of(project, job["outputs"], "out")["writer_pid"]] == (
        "cp in out")


def test_sizes(project):
    project.write("in", b"x" * 12345)
    project.sh("cat in in >out")
    job = project.last()
    assert row_of(project, job["inputs"], "in")["size_bytes"] == 12345
    assert row_of(project, job["outputs"], "out")["size_bytes"] == 24690


def test_an_output_of_an_earlier_run_names_its_maker(project):
    project.sh("echo a >a")
    time.sleep(SETTLE)
    project.sh("cat a >b")
    made_by = row_of(project, project.last()["inputs"], "a")["made_by"]
    assert made_by["step_ref"] == "@1"


def test_a_large_number_of_files(project):
    project.sh("i=0; while [ $i -lt 3000 ]; do echo $i >f$i; "
               "i=$((i+1)); done; cat f* >all", timeout=300)
    job = project.last()
    assert job["outputs_count"] == 3001
    assert job["verdict"] == "complete"
    assert all(f["digests"] for f in job["outputs"])
