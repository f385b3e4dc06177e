"""How a thing is named: @N, @BN, a UID, a hash, a path."""

import os

import pytest

from helpers import lines


@pytest.fixture
def recorded(project):
    project.write("raw", "raw\n")
    project("build", "-q", "sh", "-c", "echo lib >lib")
    project.sh("cat raw lib >clean; echo 1 >>clean")
    project.sh("cat clean >model; echo 2 >>model")
    return project


def uid(place, ref):
    return [j["job_uid"] for j in place.jobs() if j["step_ref"] == ref][-1]


def test_step_number(recorded):
    shown = recorded.json("show", "@2")
    assert shown["type"] == "job"
    assert shown["job_uid"] == uid(recorded, "@2")
    assert "cat clean" in recorded("show", "@2").out


def test_build_step_number(recorded):
    for word in ("@B1", "@b1"):
        assert recorded.json("show", word)["job_uid"] == uid(recorded, "@B1")


def test_the_latest_execution_of_a_step_is_meant(recorded):
    recorded("run", "-q", "@2")
    assert recorded.json("show", "@2")["attempt"] == 2


def test_uid_and_its_prefix(recorded):
    full = uid(recorded, "@1")
    assert recorded.json("show", full)["job_uid"] == full
    assert recorded.json("show", full.upper())["job_uid"] == full
    assert recorded.json("show", "--job", full[:6])["job_uid"] == full


def test_hash_and_its_prefix(recorded):
    full = recorded.digests("model")["blake3"]
    assert len(full) == 64
    for word in (full, full[:16], full[:12].upper()):
        shown = recorded.json("show", word)
        assert shown["type"] == "artifact"
        assert shown["digests"]["blake3"] == full
    assert recorded.json("show", "--artifact", full[:10])["digests"][
        "blake3"] == full


def test_hash_of_another_algorithm(recorded):
    recorded("run", "-q", "--hash", "sha256", "sh", "-c", "echo s >s")
    digests = recorded.digests("s")
    shown = recorded.json("show", digests["sha256"][:20])
    assert shown["digests"] == digests


def test_path_relative_absolute_and_from_another_folder(recorded):
    full = recorded.digests("model")["blake3"]
    os.mkdir(recorded.path("sub"))
    for word, cwd in (("model", None), ("./model", None),
                      (recorded.path("model"), "/"),
                      ("../model", recorded.path("sub"))):
        if cwd == "/":
            cwd = None
        assert recorded.json("show", word, cwd=cwd)["digests"][
            "blake3"] == full


def test_path_through_a_symbolic_link(recorded):
    os.symlink("model", recorded.path("latest"))
    assert recorded.json("show", "latest")["digests"] == recorded.digests(
        "model")


def test_path_of_a_file_that_is_gone(recorded):
    os.unlink(recorded.path("model"))
    shown = recorded.json("show", "model")
    assert shown["paths"] == [{"path": recorded.path("model"),
                               "state": "missing"}]


def test_path_of_a_file_that_changed_shows_the_recorded_content(recorded):
    before = recorded.digests("model")
    recorded.write("model", "something else entirely\n")
    shown = recorded.json("show", "model")
    assert shown["digests"] == before
    assert shown["paths"][0]["state"] == "changed"
    assert "other content" in recorded("show", "model").out


def test_artifact_names_makers_and_users(recorded):
    shown = recorded.json("show", "clean")
    assert [m["step_ref"] for m in shown["made_by"]] == ["@1"]
    assert [u["step_ref"] for u in shown["used_by"]] == ["@2"]
    out = recorded("show", "clean").out
    assert "Made by" in out and "Used by" in out


def test_without_a_word_the_session_is_shown(recorded):
    shown = recorded.json("show")
    assert shown["type"] == "session"
    assert [j["step_ref"] for j in shown["jobs"]] == ["@B1", "@1", "@2"]
    assert recorded.json("show", "--session", shown["session"]["uid"])[
        "session"]["uid"] == shown["session"]["uid"]


def test_an_ambiguous_prefix_lists_candidates(project):
    for i in range(300):
        project.write(f"f{i}", str(i), age=0)
    project.sh("cat f* >/dev/null")
    seen, word = {}, None
    for row in project.last()["inputs"]:
        digest = row["digests"]["blake3"]
        if digest[:4] in seen:
            word = digest[:4]
        seen[digest[:4]] = digest
    if not word:
        pytest.skip("no two of 300 files share four digits")
    done = project("show", "--artifact", word, code=1)
    assert "several" in done.err
    assert seen[word][:8] in done.err


@pytest.mark.parametrize("word, code", [
    ("@9", 1), ("@B9", 1), ("deadbeef", 1), ("nothing.txt", 1),
    ("abcd" * 16, 1), ("@", 2), ("@1x", 2), ("@99999999999", 2)])
def test_unknown_things_are_one_sentence_that_names_them(recorded, word,
                                                         code):
    for command in ("show", "inputs"):
        done = recorded(command, word, code=code)
        assert len(lines(done.err)) == 1
        assert word[:40] in done.err
        assert done.out == ""


def test_a_file_that_no_job_used_is_said_to_be_unused(recorded):
    recorded.write("unused")
    assert "unused" in recorded("show", "unused", code=1).err


def test_a_directory_is_no_artifact(recorded):
    os.mkdir(recorded.path("folder"))
    assert "directory" in recorded("show", "folder", code=1).err


def test_an_empty_word_is_refused(recorded):
    assert len(lines(recorded("show", "", code=2).err)) == 1


def test_inputs_direct_and_all(recorded):
    def names(*options):
        rows = recorded.json("inputs", "@2", *options)["inputs"]
        return sorted(os.path.basename(r["path"]) for r in rows)
    assert names() == ["clean"]
    assert names("--direct") == ["clean"]
    assert names("--all") == ["clean", "lib", "raw"]
    assert names("--all", "--unsourced") == ["raw"]
    assert names("--all", "--sourced") == ["clean", "lib"]


def test_inputs_by_path_job_and_hash(recorded):
    expected = recorded.json("inputs", "@2")
    digest = recorded.digests("model")["blake3"]
    for selector in (["model"], ["--path", "model"],
                     ["--job", uid(recorded, "@2")],
                     ["--artifact", digest], [digest[:12]]):
        assert recorded.json("inputs", *selector) == expected


def test_inputs_name_their_source(recorded):
    row = recorded.json("inputs", "@2")["inputs"][0]
    assert row["sourced"] is True
    assert row["made_by"]["step_ref"] == "@1"
    assert row["depth"] == 1
    raw = [r for r in recorded.json("inputs", "@2", "--all")["inputs"]
           if r["path"].endswith("/raw")][0]
    assert raw["sourced"] is False and raw["made_by"] is None
    assert raw["depth"] == 2
    assert raw["used_by"]["step_ref"] == "@1"
    assert "unsourced" in recorded("inputs", "@2", "--all").out


def test_inputs_of_something_from_outside(recorded):
    assert "outside" in recorded("inputs", "raw").out
    assert recorded.json("inputs", "raw")["job"] is None


def test_jobs_of_a_closed_session_are_found_by_uid_hash_and_path(recorded):
    job = uid(recorded, "@2")
    recorded("reset", "-y")
    assert recorded.json("show", job)["job_uid"] == job
    assert recorded.json("show", "model")["type"] == "artifact"
    recorded("show", "@2", code=1)


def test_a_step_is_written_alike_for_show_and_run(recorded):
    for word, ref in (("@b1", "@B1"), ("@B1.1", "@B1"), ("@1.1", "@1"),
                      ("@2", "@2")):
        recorded("run", "-q", word)
        assert recorded.last()["step_ref"] == ref
        assert recorded.json("show", word)["step_ref"] == ref
    recorded("build", "-q", "@b1")


def test_what_is_no_step_is_said_alike_by_show_and_run(recorded):
    for word in ("@foo", "@", "@0", "@1.", "@1x", "@B", "@1.0"):
        said = recorded("show", word, code=None).err
        assert "is not a step" in said
        done = recorded("run", word, code=2)
        assert len(lines(done.err)) >= 1 and "is not a step" in done.err
    assert "is not a build step" in recorded("build", "@1.1", code=2).err
    assert len(recorded.jobs()) == 3


def test_what_is_no_step_makes_no_project(empty):
    empty("run", "@foo", code=2)
    empty("run", "@1", code=1)
    assert not empty.exists(".roar")
