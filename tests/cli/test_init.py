"""`roar init` makes a project and nothing else."""

import os
import stat
import tomllib

from helpers import lines
from terminal import on_terminal


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_makes_folder_database_journal_folder_and_config(empty):
    done = empty("init")
    assert f"Initialised a roar project in {empty.path('.roar')}" in done.out
    made = set(os.listdir(empty.path(".roar")))
    assert {"config.toml", "roar.db", "runs"} <= made


def test_only_the_owner_may_look_inside_whatever_the_umask(empty):
    empty("init", umask=0)
    assert mode_of(empty.path(".roar")) == 0o700
    assert mode_of(empty.path(".roar", "runs")) == 0o700
    assert mode_of(empty.path(".roar", "roar.db")) == 0o600
    assert mode_of(empty.path(".roar", "config.toml")) == 0o600


def settings_of(table, prefix=""):
    for name, value in table.items():
        if isinstance(value, dict):
            yield from settings_of(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def test_config_is_valid_toml_and_equal_to_the_defaults(project):
    with open(project.path(".roar", "config.toml"), "rb") as f:
        written = tomllib.load(f)
    before = project.json("config", "list")
    assert all(row["default"] for row in before)
    os.unlink(project.path(".roar", "config.toml"))
    after = project.json("config", "list")
    assert [(r["key"], r["value"]) for r in before] == [
        (r["key"], r["value"]) for r in after]
    known = {r["key"]: r["value"] for r in after}
    for name, value in settings_of(written):
        assert known[name] == value


def test_is_idempotent(project):
    project("config", "set", "output.quiet", "true")
    project.sh("echo a >a")
    done = project("init")
    assert "already initialised" in done.out
    assert project("config", "get", "output.quiet").out == "true\n"
    assert len(project.jobs()) == 1


def test_says_what_comes_next(empty):
    assert "roar run" in empty("init").out


def test_path_option_makes_it_elsewhere(empty):
    os.mkdir(empty.path("other"))
    empty("init", "--path", "other")
    assert empty.exists("other/.roar/roar.db")
    assert not empty.exists(".roar")


def test_path_that_does_not_exist_is_one_sentence(empty):
    done = empty("init", "--path", "nowhere", code=1)
    assert len(lines(done.err)) == 1
    assert "nowhere" in done.err
    assert not empty.exists("nowhere")


def test_yes_creates_gitignore_in_a_repository(empty):
    empty.git("init", "-q")
    done = empty("init", "-y")
    assert empty.read(".gitignore") == b".roar/\n"
    assert "Added .roar/ to" in done.out
    assert empty.git("status", "--porcelain") == "?? .gitignore\n"


def test_yes_appends_to_a_gitignore_without_last_newline(empty):
    empty.git("init", "-q")
    empty.write(".gitignore", "*.pyc")
    empty("init", "-y")
    assert empty.read(".gitignore") == b"*.pyc\n.roar/\n"


def test_yes_leaves_a_gitignore_alone_that_has_the_line(empty):
    empty.git("init", "-q")
    empty.write(".gitignore", ".roar\n")
    empty("init", "-y")
    assert empty.read(".gitignore") == b".roar\n"


def test_git_ignores_the_project_by_itself_and_nothing_is_asked(empty):
    empty.git("init", "-q")
    done = empty("init")
    assert not empty.exists(".gitignore")
    assert "gitignore" not in done.out + done.err
    assert empty.git("status", "--porcelain", "-uall") == ""
    with on_terminal(empty, "init") as t:
        assert t.wait() == 0
    assert b"?" not in t.output


def test_no_leaves_gitignore_alone(empty):
    empty.git("init", "-q")
    for option in ("-n", "--no", "--no-gitignore"):
        assert "gitignore" not in empty("init", option).out
        assert not empty.exists(".gitignore")


def test_outside_of_a_repository_there_is_no_gitignore(empty):
    empty("init", "-y")
    assert not empty.exists(".gitignore")


def test_a_project_is_found_from_a_folder_below(project):
    os.makedirs(project.path("a", "b"))
    project.run("true", cwd=project.path("a", "b"))
    assert not project.exists("a/b/.roar")
    assert project.last()["cwd"] == project.path("a", "b")


def test_reading_commands_outside_a_project_name_init(empty):
    for command in ("status", "log", "show", "dag", "db", "config", "env",
                    "filter", "reset", "pop"):
        done = empty(command, code=1)
        assert len(lines(done.err)) == 1
        assert "roar init" in done.err
        assert done.out == ""
    done = empty("inputs", "@1", code=1)
    assert "roar init" in done.err
    assert not empty.exists(".roar")


def test_run_before_init_initialises_and_says_so_in_one_line(empty):
    done = empty("run", "true")
    said = [line for line in lines(done.err) if "nitialised" in line]
    assert len(said) == 1
    assert empty.path(".roar") in said[0] or "project" in said[0]
    assert len(empty.jobs()) == 1
    assert "nitialised" not in empty("run", "true").err


def test_run_before_init_with_q_says_nothing(empty):
    done = empty("run", "-q", "true")
    assert done.err == ""
    assert len(empty.jobs()) == 1


def test_a_file_in_the_place_of_the_folder_is_one_sentence(empty):
    empty.write(".roar", "not a folder")
    done = empty("init", code=1)
    assert len(lines(done.err)) == 1
    assert ".roar" in done.err
    assert empty.read(".roar") == b"not a folder"


def test_what_cannot_be_run_makes_no_project(empty):
    for words, code in ((["@1"], 1), (["@1", "--x=1"], 1),
                        (["nosuchcommand"], 127), (["-n", "", "true"], 2)):
        done = empty("run", *words, code=code)
        assert len(lines(done.err)) == 1
        assert not empty.exists(".roar")
    assert "no roar project" in empty("run", "@1", code=1).err


def test_a_lost_folder_of_journals_is_made_again(project):
    os.rmdir(project.path(".roar", "runs"))
    project.run("true")
    assert project.last()["verdict"] == "complete"


def test_an_empty_database_names_the_remedy(project):
    project.write(".roar/roar.db", "")
    done = project("status", code=1)
    assert "is empty" in done.err
    assert "roar init" in done.err
    project("init")
    project("status")
