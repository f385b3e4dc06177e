"""A project of another user is refused, everywhere and in the same words."""

import os

import pytest

from helpers import ORDINARY, lines

pytestmark = pytest.mark.skipif(os.geteuid() != 0,
                                reason="only root can give a project away")


@pytest.fixture
def theirs(project):
    """A project of another user, in a folder of theirs."""
    project.write("sub/file")
    for root, folders, files in os.walk(project.root):
        for name in folders + files:
            os.lchown(os.path.join(root, name), ORDINARY, ORDINARY)
    os.chown(project.root, ORDINARY, ORDINARY)
    return project


def sentence(place, done):
    assert len(lines(done.err)) == 1
    assert f"'{place.path('.roar')}' belongs to " in done.err
    assert f"uid {ORDINARY}" in done.err
    assert f"chown -R 0 {place.path('.roar')}" in done.err
    return done.err.split("' belongs to ")[1]


def test_reading_and_making_say_the_same(theirs):
    said = {sentence(theirs, theirs(*words, code=1))
            for words in (["status"], ["init"], ["log"], ["config"],
                          ["run", "@1"])}
    assert len(said) == 1


def test_a_run_runs_without_a_record_and_says_so(theirs):
    done = theirs("run", "sh", "-c", "echo works; exit 3", code=3)
    assert done.out == "works\n"
    sentence(theirs, done)
    assert "not recorded" in done.err


def test_no_second_project_is_made_in_a_folder_below(theirs):
    sub = theirs.path("sub")
    sentence(theirs, theirs("run", "true", cwd=sub))
    sentence(theirs, theirs("status", code=1, cwd=sub))
    assert not theirs.exists("sub/.roar")


def test_the_remedy_helps(theirs):
    for root, folders, files in os.walk(theirs.path(".roar")):
        for name in folders + files:
            os.lchown(os.path.join(root, name), 0, 0)
    os.chown(theirs.path(".roar"), 0, 0)
    theirs.run("true")
    assert len(theirs.jobs()) == 1
