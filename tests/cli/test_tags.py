"""Tags: what is said of data goes where the data goes."""

import os
import signal

import pytest
from helpers import children_of, lines, until

KINDS = ("license", "contains_pii", "jurisdiction", "classification",
         "special_category")


def tags_of(place, *target):
    """{"kind=value": [steps it comes from]}"""
    found = {}
    for tag in place.json("show", *target)["tags"]:
        assert tag["origin"] == "user"
        found.setdefault(f"{tag['kind']}={tag['value']}", []).append(
            tag["from"]["step_ref"])
    return found


def run(place, *args, **options):
    return place("run", "-q", *args, **options)


@pytest.fixture
def pipeline(project):
    """prepare -> train -> evaluate, where the first one is MIT."""
    project.write("raw", "raw\n")
    run(project, "--add-tag", "license=MIT", "sh", "-c",
        "cat raw > data; echo 1 >> data")
    run(project, "sh", "-c", "cat data > model; echo 2 >> model")
    run(project, "sh", "-c", "cat model > score; echo 3 >> score")
    return project


def test_outputs_inherit_what_inputs_carry(pipeline):
    for target in ("@1", "@2", "@3", "data", "model", "score"):
        assert tags_of(pipeline, target) == {"license=MIT": ["@1"]}, target
    digest = pipeline.digests("score")["blake3"]
    assert tags_of(pipeline, digest[:16]) == {"license=MIT": ["@1"]}


def test_what_no_job_made_carries_nothing(pipeline):
    assert tags_of(pipeline, "raw") == {}


def test_several_values_of_several_kinds(pipeline):
    run(pipeline, "--add-tag=license=GPL", "--add-tag", "contains_pii=true",
        "--add-tag", "license=GPL", "sh", "-c", "cat model > more")
    assert tags_of(pipeline, "@4") == {
        "license=GPL": ["@4"], "license=MIT": ["@1"],
        "contains_pii=true": ["@4"]}
    job = pipeline.json("show", "@4")
    assert [t["kind"] for t in job["tags"]] == ["contains_pii", "license",
                                                "license"]


def test_a_kind_is_blocked(pipeline):
    run(pipeline, "--add-tag", "license=GPL", "--add-tag",
        "jurisdiction=EU", "sh", "-c", "cat model > a; echo a >> a")
    run(pipeline, "--block-tag", "license", "sh", "-c", "cat a > b; echo >> b")
    run(pipeline, "sh", "-c", "cat b > c; echo c >> c")
    assert tags_of(pipeline, "@5") == {"jurisdiction=EU": ["@4"]}
    assert tags_of(pipeline, "c") == {"jurisdiction=EU": ["@4"]}
    assert pipeline.json("show", "@5")["blocked_tags"] == [
        {"kind": "license", "value": None}]


def test_one_value_is_blocked(pipeline):
    run(pipeline, "--add-tag", "license=GPL", "--block-tag", "license=MIT",
        "sh", "-c", "cat model > a; echo a >> a")
    assert tags_of(pipeline, "a") == {"license=GPL": ["@4"]}
    assert pipeline.json("show", "@4")["blocked_tags"] == [
        {"kind": "license", "value": "MIT"}]


def test_a_block_and_an_addition_replace(pipeline):
    run(pipeline, "--block-tag=license", "--add-tag=license=BSD", "sh", "-c",
        "cat model > a; echo a >> a")
    assert tags_of(pipeline, "a") == {"license=BSD": ["@4"]}


def test_renamed_outputs_carry_them_too(pipeline):
    run(pipeline, "mv", "model", "moved")
    assert tags_of(pipeline, "moved") == {"license=MIT": ["@1"]}


def test_a_copy_that_was_changed_by_its_user_is_from_outside(pipeline):
    pipeline.write("data", "by hand\n")
    run(pipeline, "sh", "-c", "cat data > other")
    assert tags_of(pipeline, "other") == {}


def test_the_path_decides_between_two_makers_of_the_same_content(project):
    project.write("raw", "raw\n")
    run(project, "--add-tag", "contains_pii=true", "cp", "raw", "private")
    run(project, "--block-tag", "contains_pii", "cp", "private", "public")
    assert tags_of(project, "private") == {"contains_pii=true": ["@1"]}
    assert tags_of(project, "public") == {}


def test_a_later_copy_of_an_input_does_not_tag_it(project):
    project.write("raw", "raw\n")
    run(project, "cp", "raw", "a")
    run(project, "--add-tag", "license=GPL", "cp", "a", "b")
    run(project, "@1")
    assert tags_of(project, "@1") == {}


def test_build_steps_have_tags(project):
    project("build", "-q", "--add-tag", "license=MIT", "sh", "-c",
            "echo 1 > tool")
    run(project, "sh", "-c", "cat tool > made; echo 2 >> made")
    assert tags_of(project, "@B1") == {"license=MIT": ["@B1"]}
    assert tags_of(project, "@1") == {"license=MIT": ["@B1"]}


def test_inheritance_ends_with_the_session(pipeline):
    uid = pipeline.json("show", "@1")["job_uid"]
    pipeline("reset", "-y")
    run(pipeline, "sh", "-c", "cat model > next; echo 4 >> next")
    assert tags_of(pipeline, "@1") == {}
    assert tags_of(pipeline, uid) == {"license=MIT": ["@1"]}
    assert tags_of(pipeline, "score") == {"license=MIT": ["@1"]}


# ---- the same step again ----


def test_a_rerun_keeps_the_tags(pipeline):
    run(pipeline, "--block-tag=jurisdiction=EU", "--add-tag=license=GPL",
        "sh", "-c", "cat model > a")
    run(pipeline, "@4")
    job = pipeline.json("show", "@4")
    assert job["executions"] == 2
    assert tags_of(pipeline, "@4") == {"license=GPL": ["@4"],
                                       "license=MIT": ["@1"]}
    assert job["blocked_tags"] == [{"kind": "jurisdiction", "value": "EU"}]


def test_a_rerun_takes_what_is_given_anew(pipeline):
    run(pipeline, "--add-tag=license=BSD", "@1")
    assert tags_of(pipeline, "@1") == {"license=BSD": ["@1"]}
    # The others have read what the first execution made.
    assert tags_of(pipeline, "@1.1") == {"license=MIT": ["@1"]}


def test_what_is_added_anew_leaves_what_is_blocked(pipeline):
    run(pipeline, "--block-tag=license", "--add-tag=x=1", "sh", "-c",
        "cat model > a")
    run(pipeline, "--add-tag=x=2", "@4")
    assert tags_of(pipeline, "@4") == {"x=2": ["@4"]}
    run(pipeline, "--block-tag=x", "@4")
    assert tags_of(pipeline, "@4") == {"x=2": ["@4"], "license=MIT": ["@1"]}


# ---- what is printed ----


def test_show_tells_where_a_tag_comes_from(pipeline):
    uid = pipeline.json("show", "@1")["job_uid"]
    run(pipeline, "--add-tag=license=GPL", "--block-tag=jurisdiction",
        "--block-tag=contains_pii=no", "sh", "-c", "cat model > a")
    shown = lines(pipeline("show", "@4").out)
    at = shown.index("  Tags:         license=GPL  added here")
    assert shown[at + 1] == f"                license=MIT  from @1 {uid}"
    assert shown[at + 2] == ("  Blocked:      contains_pii=no, jurisdiction")
    assert (f"  Tags:         license=MIT  from @1 {uid}"
            in lines(pipeline("show", "model").out))


def test_a_value_from_two_jobs_names_both(pipeline):
    first = pipeline.json("show", "@1")["job_uid"]
    run(pipeline, "--add-tag=license=MIT", "sh", "-c", "cat model > a")
    assert (f"  Tags:         license=MIT  added here, from @1 {first}"
            in lines(pipeline("show", "@4").out))


def test_without_tags_show_does_not_speak_of_them(project):
    run(project, "sh", "-c", "echo 1 > a")
    assert "Tags" not in project("show", "@1").out
    assert "Tags" not in project("show", "a").out
    job = project.json("show", "@1")
    assert job["tags"] == [] and job["blocked_tags"] == []


def test_usual_kinds_are_taken_silently(project):
    options = [f"--add-tag={kind}=x" for kind in KINDS]
    told = project("run", *options, "true").err
    assert len(lines(told)) == 1 and "warning" not in told


def test_an_unusual_kind_is_recorded_with_one_warning(project):
    told = lines(project("run", "--add-tag=licence=MIT",
                         "--block-tag=licence=GPL", "sh", "-c",
                         "echo > a").err)
    assert len(told) == 2
    assert told[0].startswith("roar: warning: ") and "'licence'" in told[0]
    assert "license" in told[0]
    assert tags_of(project, "a") == {"licence=MIT": ["@1"]}
    assert project("run", "-q", "--add-tag=licence=MIT", "true").err == ""
    assert "warning" not in project("run", "@1").err


# ---- wrong usage ----


@pytest.mark.parametrize("word", [
    "license", "license=", "=MIT", "", "License=MIT", "9a=b", "a b=c",
    "license=a\nb", "license=\x1b[31m", "k" * 65 + "=v",
    "license=" + "v" * 257, "license=\udcff"])
def test_a_bad_tag_is_wrong_usage_and_nothing_is_run(empty, word):
    done = empty("run", "--add-tag", word, "sh", "-c", "echo ran > ran",
                 code=2)
    assert done.out == ""
    assert len(lines(done.err)) == 1 and done.err.startswith("roar: ")
    assert "\x1b" not in done.err
    assert os.listdir(empty.root) == []


def test_a_bad_block_is_wrong_usage(empty):
    for word in ("License", "license=", ""):
        done = empty("run", f"--block-tag={word}", "touch", "ran", code=2)
        assert len(lines(done.err)) == 1
    empty("run", "--block-tag", code=2)
    assert os.listdir(empty.root) == []


def test_the_longest_tag_is_kept(project):
    tag = "k" * 64 + "=" + "v" * 256
    run(project, "--add-tag", tag, "sh", "-c", "echo > a")
    assert tags_of(project, "a") == {tag: ["@1"]}


def test_a_value_may_hold_anything_printable(project):
    tag = "license=a = 'b' \"é\" \\n {}"
    run(project, "--add-tag", tag, "sh", "-c", "echo > a")
    assert tags_of(project, "a") == {tag: ["@1"]}


@pytest.mark.parametrize("option", [
    ["--capture-trackio"], ["--trackio-space", "me/space"],
    ["--trackio-space=me/space"]])
def test_options_that_are_not_supported_get_one_sentence(empty, option):
    done = empty("run", *option, "touch", "ran", code=2)
    assert len(lines(done.err)) == 1
    assert "not supported" in done.err and option[0].split("=")[0] in done.err
    assert os.listdir(empty.root) == []
    assert "trackio" not in empty("run", "--help").out


# ---- what happens to them ----


def test_a_killed_run_keeps_its_tags(project):
    process = project.popen("run", "-q", "--tracer=ptrace",
                            "--add-tag=license=MIT",
                            "--block-tag=jurisdiction", "sh", "-c",
                            "echo 1 > a; echo ready > ready; sleep 100")
    until(lambda: project.exists("ready"), "the command")
    for pid in children_of(process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=60)
    project("status")
    assert tags_of(project, "@1") == {"license=MIT": ["@1"]}
    assert project.json("show", "@1")["blocked_tags"] == [
        {"kind": "jurisdiction", "value": None}]


def test_pop_takes_them_along(pipeline):
    run(pipeline, "--add-tag=license=GPL", "sh", "-c", "cat model > a")
    pipeline("pop", "-y")
    rows = pipeline.database().execute(
        "SELECT action, kind, value, origin FROM job_tags").fetchall()
    assert rows == [(0, b"license", b"MIT", 0)]
