"""What is told below the report of a run, on a terminal only."""

import pytest

from helpers import lines
from terminal import on_terminal


def hints(place, script, *options):
    """The hints of a run on a terminal, without colours."""
    with on_terminal(place, "run", *options, "sh", "-c", script,
                     env={"NO_COLOR": "1"}, columns=200) as t:
        assert t.wait() == 0
    return [line.strip() for line in t.text.replace("\r", "").split("\n")
            if line.strip().startswith("hint ")]


def test_an_output_that_git_does_not_know(repo):
    said = hints(repo, "echo x >model.pt")
    assert said == ["hint  git does not track one of the outputs: commit it, "
                    "or add /model.pt to .gitignore"]
    repo.write(".gitignore", ".roar/\n/model.pt\n")
    assert hints(repo, "echo y >model.pt") == []


def test_an_output_that_git_tracks_is_no_news(repo):
    repo.write("metrics.json", "1\n")
    repo.commit("metrics")
    assert hints(repo, "echo 2 >metrics.json") == []


def test_many_outputs_in_one_folder(repo):
    said = hints(repo, "mkdir out; for i in 1 2 3 4 5; do : >out/$i; done")
    assert len(said) == 1 and "add /out/ to .gitignore" in said[0]


def test_the_line_for_gitignore_means_just_that_file(repo):
    said = hints(repo, "echo x >'a[1]*.txt'")
    assert len(said) == 1
    rule = said[0].split(" add ")[1].split(" to .gitignore")[0]
    repo.write(".gitignore", f".roar/\n{rule}\n")
    assert hints(repo, "echo y >'a[1]*.txt'") == []
    assert len(hints(repo, "echo z >a1b.txt")) == 1


def test_outputs_outside_of_the_repository_and_temporaries_are_no_news(repo):
    assert hints(repo, "echo x >../elsewhere; echo x >t; rm t") == []
    assert hints(repo, "true") == []


def test_no_repository_no_hint(project):
    assert hints(project, "echo x >out") == []


def test_steps_that_are_stale_now(project):
    project.write("in", "1\n")
    project.sh("cat in >a")
    project.sh("cat a >b")
    assert hints(project, "cat in >a") == []
    project.write("in", "2\n")
    assert hints(project, "cat in >a") == [
        "hint  @2 is stale now: 'roar run @2' brings it up to date"]
    assert hints(project, "cat a >b") == []
    project.sh("cat b >c")
    project.write("in", "3\n")
    assert hints(project, "cat in >a") == [
        "hint  @2, @3 are stale now: 'roar dag --stale-only' lists them"]


@pytest.mark.parametrize("how", ["setting", "quiet", "pipe"])
def test_no_hints_when_they_are_not_wanted(repo, how):
    if how == "setting":
        repo("config", "set", "hints.enabled", "false")
        assert hints(repo, "echo x >out") == []
    elif how == "quiet":
        assert hints(repo, "echo x >out", "-q") == []
    else:
        assert len(lines(repo("run", "sh", "-c", "echo x >out").err)) == 1


def test_the_setting_holds_for_stale_steps_as_well(project):
    project.write("in", "1\n")
    project.sh("cat in >a")
    project.sh("cat a >b")
    project.sh("cat b >c")
    project.write("in", "2\n")
    project.sh("cat in >a")
    assert "stale" in project("run", "@3").err
    project("config", "set", "hints.enabled", "false")
    assert "stale" not in project("run", "@3").err
