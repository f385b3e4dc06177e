"""Wrong usage: exit 2, one sentence, nothing changed."""

import os

import pytest

from helpers import lines

WRONG = [
    ["nonsense"],
    ["--nonsense"],
    ["-x"],
    ["rnu", "true"],
    [""],
    ["init", "word"],
    ["init", "--nonsense"],
    ["init", "-x"],
    ["init", "--path"],
    ["init", "--yes", "--no"],
    ["init", "--yes=1"],
    ["run"],
    ["run", "-q"],
    ["run", "--"],
    ["run", "--nonsense", "true"],
    ["run", "-x", "true"],
    ["run", "--hash", "crc32", "true"],
    ["run", "--hash"],
    ["run", "--tracer", "magic", "true"],
    ["run", "--tracer=", "true"],
    ["run", "--name"],
    ["run", "--quiet=yes", "true"],
    ["build"],
    ["build", "--nonsense", "make"],
    ["build", "--hash", "x", "make"],
    ["arena", "word"],
    ["arena", "stat"],
    ["arena", "stat", "1", "2"],
    ["arena", "ls", "word"],
    ["arena", "--nonsense"],
    ["shards"],
    ["shards", "word"],
    ["shards", "audit"],
    ["shards", "audit", "x", "--workers", "1"],
    ["shards", "plan"],
    ["shards", "plan", "word"],
    ["shards", "plan", "--workers", "3"],
    ["shards", "plan", "--shards", "3"],
    ["shards", "plan", "-w", "0", "-s", "3"],
    ["shards", "plan", "-w", "-1", "-s", "3"],
    ["shards", "plan", "-w", "3", "-s", "99999999999999999999"],
    ["shards", "plan", "-w", "3", "-s", "9", "--leave", "3"],
    ["shards", "plan", "-w", "3", "-s", "9", "--leave", "1,1"],
    ["shards", "plan", "-w", "3", "-s", "9", "--leave", "1,,2"],
    ["shards", "plan", "-w", "3", "-s", "9", "--weights", "x"],
    ["shards", "plan", "-w", "3", "-s", "9", "--mode", "magic"],
    ["status", "word"],
    ["status", "--nonsense"],
    ["log", "word"],
    ["log", "-n"],
    ["log", "-n", "many"],
    ["log", "-n", "0"],
    ["log", "-n", "-5"],
    ["log", "-n", "99999999999999999999"],
    ["log", "--nonsense"],
    ["show", "a", "b"],
    ["show", "@1", "--path", "x"],
    ["show", "--path", "x", "--job", "@1"],
    ["show", "--artifact"],
    ["show", "--nonsense"],
    ["dag", "word"],
    ["dag", "--nonsense"],
    ["inputs"],
    ["inputs", "a", "b"],
    ["inputs", "@1", "--path", "x"],
    ["inputs", "@1", "--direct", "--all"],
    ["inputs", "@1", "--sourced", "--unsourced"],
    ["inputs", "@1", "--nonsense"],
    ["config", "nonsense"],
    ["config", "get"],
    ["config", "get", "a", "b"],
    ["config", "get", "no.such.key"],
    ["put"],
    ["put", "a", "s3://b/c"],
    ["put", "a", "b", "-m", "m"],
    ["get"],
    ["get", "a"],
    ["get", "s3://a/b", "c", "d"],
    ["get", "s3://a/b", "--hash", "x"],
    ["get", "s3://a/", "--hash", "0123456789"],
    ["config", "set", "output.quiet"],
    ["config", "set", "output.quiet", "a", "b"],
    ["config", "set", "output.quiet", "perhaps"],
    ["config", "set", "output.verbosity", "shouting"],
    ["config", "set", "hash.run", "[unclosed"],
    ["config", "set", "hash.run", "\udcff"],
    ["config", "unset"],
    ["config", "--nonsense"],
    ["env", "nonsense"],
    ["env", "get"],
    ["env", "set", "NAME"],
    ["env", "set", "1NAME", "x"],
    ["env", "set", "A=B", "x"],
    ["env", "unset"],
    ["env", "--nonsense"],
    ["reset", "word"],
    ["reset", "--nonsense"],
    ["pop", "word"],
    ["pop", "--nonsense"],
    ["filter", "nonsense"],
    ["filter", "add"],
    ["filter", "add", ""],
    ["filter", "remove"],
    ["filter", "--nonsense"],
    ["db", "word"],
    ["db", "--nonsense"],
    ["verify", "--nonsense"],
    ["verify", "--range", "0:0", "x"],
    ["verify", "--digest", "12", "x"],
    ["help", "nonsense"],
]


def content(place):
    """Every file below the project with its content."""
    found = {}
    for folder, folders, names in os.walk(place.root):
        for name in folders:
            found[os.path.join(folder, name)] = None
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith("-shm"):
                continue
            with open(path, "rb") as f:
                found[path] = f.read()
    return found


def title(words):
    return ascii(" ".join(words)) or "nothing"


@pytest.mark.parametrize("words", WRONG, ids=title)
def test_wrong_usage(project, words):
    project.sh("echo a >a")
    before = content(project)
    done = project(*words, code=2)
    assert done.out == ""
    assert len(lines(done.err)) == 1
    assert done.err.startswith("roar: ")
    assert "--help" in done.err
    assert content(project) == before


@pytest.mark.parametrize("words", [["run"], ["run", "--nonsense", "true"],
                                   ["run", "--hash", "crc32", "true"],
                                   ["run", "--tracer", "magic", "true"],
                                   ["build", "--nonsense", "true"]],
                         ids=title)
def test_wrong_usage_makes_no_project(empty, words):
    empty(*words, code=2)
    assert not empty.exists(".roar")


def test_what_was_meant_is_suggested(project):
    assert "'status'" in project("statsu", code=2).err
    assert "--json" in project("log", "--jsn", code=2).err
    assert "--version" in project("--versoin", code=2).err
    assert "'list'" in project("config", "lsit", code=2).err


@pytest.mark.parametrize("command", ["telemetry", "k8s"])
def test_commands_of_roar_cli_that_are_absent_are_named(empty, command):
    for words in ([command], [command, "x", "--y"], ["help", command]):
        done = empty(*words, code=2)
        assert done.out == ""
        assert len(lines(done.err)) == 1
        assert f"'roar {command}' is not part of this version" in done.err
    assert not empty.exists(".roar")


def test_a_very_long_wrong_word_is_cut(project):
    done = project("x" * 100000, code=2)
    assert len(done.err) < 2000


def test_a_wrong_word_cannot_drive_the_terminal(project):
    for words in (["\033[31mred"], ["run", "--\033[31m"],
                  ["show", "\033[31m\nx"], ["config", "get", "\033\n"],
                  ["env", "get", "\033\n"], ["filter", "remove", "\033\n"],
                  ["log", "-n", "\033\n"], ["run", "\033[31m\nx"],
                  ["init", "--path", "\033[31m\nx"]):
        done = project(*words, code=None)
        assert done.code != 0
        assert len(lines(done.err)) == 1, words
        assert "\033" not in done.err, words


def test_a_word_too_many_is_refused(empty):
    for words in (["--version", "extra"], ["--help", "x"], ["-V", "-V"],
                  ["help", "run", "x"]):
        done = empty(*words, code=2)
        assert done.out == ""
        assert len(lines(done.err)) == 1


def test_the_help_lists_its_own_options(empty):
    out = empty("--help").out
    assert "-h, --help" in out
    assert "-V, --version" in out


def test_what_cannot_be_a_target_is_wrong_usage(project):
    for words in (["show", "@0"], ["inputs", "@x"], ["show", "--job", "a.b"]):
        project(*words, code=2)
    said = project("show", "--path", "nosuch", code=1).err
    assert "@N" not in said and "hash" not in said


def test_an_option_takes_no_empty_value(project):
    project("run", "-n", "", "true", code=2)
    project("run", "--name=", "true", code=2)
    assert project.jobs() == []
