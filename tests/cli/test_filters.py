"""Filters decide what is shown, not what is seen; each is counted."""

import os
import sys

import pytest

from helpers import lines, names_of

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kernel  # noqa: E402


def filtered(job):
    return {f["filter"]: (f["read"], f["written"]) for f in job["filtered"]}


def shown(place):
    job = place.last()
    return names_of(place, job["inputs"] + job["outputs"])


def put(path, content="x\n"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(content)
    return path


def test_system_files_are_counted_and_not_shown(project):
    project.run("cat", "/etc/passwd")
    job = project.last()
    assert shown(project) == []
    assert filtered(job)["system"][0] >= 2
    assert "system" in project("show", "@1").out


def test_system_files_are_shown_with_all(project):
    project.run("cat", "/etc/passwd")
    rows = project.last("--all")["inputs"]
    row = [r for r in rows if r["path"] == "/etc/passwd"][0]
    assert row["filter"] == "system"
    assert "/etc/passwd" in project("show", "--all", "@1").out
    assert "/etc/passwd" not in project("show", "@1").out.replace(
        "cat /etc/passwd", "")


def test_system_filter_can_be_switched_off(project):
    project("config", "set", "filters.ignore_system_reads", "false")
    project.run("cat", "/etc/passwd")
    row = [r for r in project.last()["inputs"]
           if r["path"] == "/etc/passwd"][0]
    assert row["digests"]["blake3"]
    assert row["filter"] is None
    assert "system" not in filtered(project.last())


CASES = [
    # name, setting, path in the home, is it written
    ("packages", "ignore_package_reads",
     ".local/lib/python3.11/site-packages/m.py", False),
    ("packages", "ignore_package_reads", "env/lib/python3.11/os.py", False),
    ("torch_cache", "ignore_torch_cache", ".cache/torch/kernels/k", False),
    ("torch_cache", "ignore_torch_cache", ".triton/cache/k", False),
    ("library_caches", "ignore_library_caches", ".cache/matplotlib/fonts",
     False),
]


@pytest.mark.parametrize("name, key, path, written", CASES)
def test_each_filter_takes_its_files_and_can_be_switched_off(
        project, name, key, path, written):
    target = put(os.path.join(project.home, path))
    project.run("cat", target)
    assert target not in [r["path"] for r in project.last()["inputs"]]
    assert filtered(project.last())[name] == (1, 0)
    project("config", "set", "filters." + key, "false")
    project.run("cat", target)
    assert target in [r["path"] for r in project.last()["inputs"]]


def test_written_temporary_files_are_filtered(project):
    target = os.path.join(project.base, "scratch")
    env = {"TMPDIR": project.base}
    project.sh(f"echo x >{target}", env=env)
    assert shown(project) == []
    assert filtered(project.last())["tmp"] == (0, 1)
    project("config", "set", "filters.ignore_tmp_files", "false")
    project.sh(f"echo x >{target}", env=env)
    assert [r["path"] for r in project.last()["outputs"]] == [target]


def test_read_temporary_files_are_kept(project):
    target = put(os.path.join(project.base, "data.csv"))
    project.run("cat", target, env={"TMPDIR": project.base})
    assert [r["path"] for r in project.last()["inputs"]] == [target]


def test_files_of_the_project_are_never_tmp(project):
    project.sh("echo x >x", env={"TMPDIR": project.base})
    assert shown(project) == ["x"]


@pytest.mark.parametrize("tracer", ["hybrid", "ptrace", "preload", "ebpf"])
def test_a_link_of_the_project_into_tmp_leads_to_results(project, tracer):
    if not kernel.offers(tracer):
        pytest.skip(f"no {tracer} here")
    scratch = os.path.join(project.base, "tmp")
    for name in ("x", "torch_y", "z"):
        put(os.path.join(scratch, name, "in"))
    os.symlink(os.path.join(scratch, "x"), project.path("out"))
    project("run", "-q", "--tracer", tracer, "--", "sh", "-c",
            f"cat out/in >out/f; ln -s {scratch}/torch_y later; echo >later/g; "
            f"echo >>later/in; echo >{scratch}/z/junk",
            env={"TMPDIR": scratch})
    job = project.last()
    written = [os.path.relpath(r["path"], scratch) for r in job["outputs"]
               if r["path"].startswith(scratch)]
    assert sorted(written) == ["torch_y/g", "torch_y/in", "x/f"]
    assert os.path.join(scratch, "x/in") in [r["path"] for r in job["inputs"]]
    assert filtered(job)["tmp"] == (0, 1)


def test_a_link_counts_where_the_command_was_started(project):
    scratch = os.path.join(project.base, "tmp")
    for name in ("x", "y"):
        os.makedirs(os.path.join(scratch, name))
    os.makedirs(project.path("sub/deeper"))
    os.symlink(os.path.join(scratch, "x"), project.path("sub/out"))
    os.symlink(os.path.join(scratch, "y"), project.path("sub/deeper/out"))
    project.sh("echo >out/f; echo >deeper/out/f", cwd=project.path("sub"),
               env={"TMPDIR": scratch})
    assert [r["path"] for r in project.last()["outputs"]] == [
        os.path.join(scratch, "x/f")]


def test_a_link_to_all_temporary_files_says_nothing(project):
    scratch = os.path.join(project.base, "tmp")
    os.mkdir(scratch)
    os.symlink(scratch, project.path("tmp"))
    os.symlink(project.base, project.path("above"))
    project.sh("echo >tmp/f", env={"TMPDIR": scratch})
    assert project.last()["outputs"] == []
    assert filtered(project.last())["tmp"] == (0, 1)


def test_downloaded_models_are_inputs(project):
    target = put(os.path.join(
        project.home, ".cache/huggingface/hub/models--a/blobs/123"))
    project.run("cat", target)
    assert [r["path"] for r in project.last()["inputs"]] == [target]


def test_credentials_are_never_hashed(project):
    target = put(os.path.join(project.home, ".netrc"), "secret")
    project.run("cat", target)
    assert filtered(project.last())["credentials"] == (1, 0)
    row = [r for r in project.last("--all")["inputs"]
           if r["path"] == target][0]
    assert row["digests"] is None


def test_git_and_roar_files_are_always_filtered(repo):
    repo.sh("git log >log; cat .roar/config.toml")
    assert shown(repo) == ["log"]
    counts = filtered(repo.last())
    assert counts["git"][0] >= 1
    assert counts["roar"][0] >= 1


def test_own_patterns(project):
    for name in ("a.log", "keep.txt", "wandb/run-1/x", "data/raw/y"):
        put(project.path(name))
    project("filter", "add", "*.log", "wandb/run-*", project.path("data"))
    project.sh("cat a.log keep.txt wandb/run-1/x data/raw/y; echo >b.log")
    assert shown(project) == ["keep.txt"]
    assert filtered(project.last())["patterns"] == (3, 1)
    project("filter", "remove", "*.log", "wandb/run-*")
    project.sh("cat a.log keep.txt wandb/run-1/x data/raw/y")
    assert shown(project) == ["a.log", "keep.txt", "wandb/run-1/x"]


def test_the_verdict_is_made_before_filters(project):
    """A filtered file that could not be understood still counts."""
    project("filter", "add", "*.log")
    project.sh("echo a >a.log; echo b >b.txt")
    assert project.last()["outputs_count"] == 1
    with project.database() as db:
        rows = db.execute("SELECT count(*) FROM job_files f JOIN paths p ON "
                          "p.id = f.path_id WHERE p.path LIKE '%a.log'")
        assert rows.fetchone()[0] == 1


def test_filtered_files_are_counted_by_v_and_listed_by_vv(project):
    project("filter", "add", "*.log")
    said = project("run", "-v", "sh", "-c", "echo a >a.log").err
    assert "1 patterns" in said
    assert not [n for n in lines(said) if n.endswith("/a.log")]
    said = project("run", "-vv", "sh", "-c", "echo a >a.log").err
    assert [n for n in lines(said) if n.endswith("/a.log")
            and "patterns" in n]


def test_the_number_of_filtered_files_is_that_of_their_rows(project):
    project("filter", "add", "*.log")
    project.sh("cat /etc/passwd >a.log; cat a.log >b.txt; echo c >c.log")
    with project.database() as db:
        n, = db.execute("SELECT count(DISTINCT path_id) FROM job_files "
                        "WHERE filter != 0").fetchone()
    assert n >= 4
    assert f"Filtered ({n}; " in project("show", "@1").out


# ---- names inside the project ----

def test_names_prove_nothing_inside_the_project(project):
    names = ["bin/python_train.py", "R/library/data.csv", "runs/anaconda1/w",
             "exp/.env/cfg", "venv/lib/x"]
    for name in names:
        project.write(name, name + "\n", age=0)
    os.makedirs(project.path("lib/python3.d"))
    project.sh("cat " + " ".join(names) + " >lib/python3.d/out")
    assert shown(project) == sorted(names + ["lib/python3.d/out"])


@pytest.mark.parametrize("sign", ["pyvenv.cfg", "conda-meta/history"])
def test_an_environment_is_known_by_what_is_in_it(project, sign):
    put(project.path("py311", sign))
    put(project.path("py311/lib/a.so"))
    put(project.path("py312/lib/a.so"))
    project.run("cat", "py311/lib/a.so", "py312/lib/a.so")
    assert shown(project) == ["py312/lib/a.so"]
    assert filtered(project.last())["packages"] == (1, 0)


def test_an_environment_that_the_run_makes_is_one(project):
    project.sh("mkdir -p e/lib; echo a >e/lib/a; echo >e/pyvenv.cfg; "
               "echo b >b")
    assert shown(project) == ["b"]
    assert filtered(project.last())["packages"] == (0, 2)
