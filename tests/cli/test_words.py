"""What roar says, where it says it, and how it looks."""

import json
import re

import pytest

from helpers import lines
from terminal import on_terminal

ESCAPE = "\033"
TIMING = {"tracer_ms", "postrun_ms", "provenance_ms", "situation_ms", "record_ms",
          "n_inputs", "n_outputs", "max_rss_kib"}


def test_one_line_on_stderr_when_it_is_no_terminal(project):
    project.write("in")
    done = project("run", "sh", "-c", "cat in >out")
    assert done.out == ""
    said = lines(done.err)
    assert len(said) == 1
    assert said[0].startswith("roar: ")
    assert "@1" in said[0]
    assert "1 input" in said[0] and "1 output" in said[0]
    assert "exit 0" in said[0] and "complete" in said[0]
    assert ESCAPE not in done.err


def test_the_line_tells_a_failure(project):
    assert "exit 3" in project("run", "sh", "-c", "exit 3", code=3).err


def test_nothing_with_q(project):
    done = project("run", "-q", "sh", "-c", "echo a >a; exit 3", code=3)
    assert done.out == "" and done.err == ""
    done = project("run", "--quiet", "true")
    assert done.err == ""


def test_nothing_with_q_on_a_terminal(project):
    with on_terminal(project, "run", "-q", "sh", "-c", "echo hello") as t:
        assert t.wait() == 0
    assert t.text == "hello\r\n"


def test_v_lists_files(project):
    project.write("in.txt")
    done = project("run", "-v", "sh", "-c", "cat in.txt >out.txt; echo t >t; "
                   "rm t")
    for name in ("in.txt", "out.txt"):
        assert len([n for n in lines(done.err) if n.endswith(name)]) == 1
    assert "filtered" in done.err
    assert "/usr/" not in done.err.replace(project.root, "")


def test_v_lists_all_files_however_many(project):
    for i in range(30):
        project.write(f"f{i}", str(i), age=0)
    done = project("run", "-v", "sh", "-c", "cat f*")
    assert len([n for n in lines(done.err) if re.search(r" f\d+$", n)]) == 30


def test_vv_lists_filtered_files_with_their_filter(project):
    done = project("run", "-vv", "true")
    assert re.search(r"system\s.*ld\.so\.cache", done.err)
    assert project("run", "-v", "-v", "true").err.count("ld.so.cache") == 1


def test_block_on_a_terminal(project):
    project.write("in.txt", "input\n")
    with on_terminal(project, "run", "sh", "-c",
                     "cat in.txt >out.txt; echo hello") as t:
        assert t.wait() == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", t.text)
    assert text.startswith("hello\r\n")
    assert "@1" in text
    assert "sh -c" in text
    assert "in.txt" in text and "out.txt" in text
    assert project.digests("out.txt")["blake3"][:12] in text
    assert "complete" in text
    assert ESCAPE in t.text


def test_block_has_the_git_state(repo):
    repo.write("code.py", "print('changed')\n")
    with on_terminal(repo, "run", "true") as t:
        assert t.wait() == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", t.text)
    commit = repo.git("rev-parse", "HEAD").strip()
    assert "main @ " + commit[:12] in text
    assert "uncommitted" in text


def test_block_shows_at_most_four_files_of_a_kind(project):
    with on_terminal(project, "run", "sh", "-c",
                     "for i in 1 2 3 4 5 6 7; do echo $i >f$i; done") as t:
        assert t.wait() == 0
    assert "3 more" in t.text


def test_no_color_is_honoured(project):
    project.run("true")
    for args in (["run", "true"], ["log"], ["status"], ["show", "@1"],
                 ["dag"], ["db"], ["config"], ["--help"], ["run", "--help"]):
        with on_terminal(project, *args, env={"NO_COLOR": "1"}) as t:
            assert t.wait() == 0
        assert ESCAPE not in t.text, args


def test_an_empty_no_color_counts_as_unset(project):
    project.run("true")
    with on_terminal(project, "log", env={"NO_COLOR": ""}) as t:
        assert t.wait() == 0
    assert ESCAPE in t.text


def test_colours_on_a_terminal(project):
    project.run("true")
    for args in (["log"], ["status"], ["show", "@1"], ["dag"]):
        with on_terminal(project, *args) as t:
            assert t.wait() == 0
        assert ESCAPE in t.text, args


def test_no_colours_without_a_terminal(project):
    project.run("true")
    for args in (["run", "-vv", "true"], ["log"], ["status"], ["show", "@1"],
                 ["dag"], ["db"], ["config"], ["--help"]):
        done = project(*args)
        assert ESCAPE not in done.out + done.err, args


def test_no_colours_on_a_dumb_terminal(project):
    project.run("true")
    with on_terminal(project, "log", env={"TERM": "dumb"}) as t:
        assert t.wait() == 0
    assert ESCAPE not in t.text


def test_dag_no_color(project):
    project.run("true")
    with on_terminal(project, "dag", "--no-color") as t:
        assert t.wait() == 0
    assert ESCAPE not in t.text


def test_ascii_in_the_c_locale(project):
    project.write("in")
    project.sh("cat in >a; echo 1 >>a")
    project.sh("cat a >b; echo 2 >>b")
    project.sh("cat a b >c")
    for args in (["dag"], ["dag", "--show-artifacts"], ["log"], ["status"],
                 ["show", "@1"], ["run", "true"], ["--help"]):
        with on_terminal(project, *args, env={"LC_ALL": "C"}) as t:
            assert t.wait() == 0
        assert t.output.isascii(), (args, t.output)


def test_names_are_escaped_in_the_c_locale(project):
    project.sh("echo 1 >caf\N{LATIN SMALL LETTER E WITH ACUTE}")
    for args in (["dag", "--show-artifacts"], ["log"], ["show", "@1"]):
        with on_terminal(project, *args, columns=120,
                         env={"LC_ALL": "C"}) as t:
            assert t.wait() == 0
        assert t.output.isascii(), (args, t.output)
        assert "caf\\xc3\\xa9" in t.text, args
    done = project("show", "@1", "--json", env={"LC_ALL": "C"})
    assert "caf\N{LATIN SMALL LETTER E WITH ACUTE}" in done.out


def test_unicode_where_the_locale_has_it(project):
    project.write("in")
    project.sh("cat in >a; echo 1 >>a")
    project.sh("cat a >b; echo 2 >>b")
    with on_terminal(project, "dag", env={"LC_ALL": "C.UTF-8"}) as t:
        assert t.wait() == 0
    assert not t.text.isascii()


def test_lines_fit_the_terminal(project):
    project.run("echo", "x" * 500)
    for args in (["log"], ["dag"], ["status"], ["show"]):
        with on_terminal(project, *args, columns=90,
                         env={"NO_COLOR": "1"}) as t:
            assert t.wait() == 0
        for line in t.text.split("\r\n"):
            if "xxx" in line:
                assert len(line) <= 90, args


@pytest.mark.parametrize("columns", [30, 40, 50, 60])
def test_the_log_fits_a_narrow_terminal(project, columns):
    project.run("echo", "x" * 500)
    with on_terminal(project, "log", "-a", columns=columns,
                     env={"NO_COLOR": "1"}) as t:
        assert t.wait() == 0
    assert max(map(len, t.text.split("\r\n"))) <= columns


def timing_of(err):
    found = [n for n in lines(err) if n.startswith("ROAR_TIMING:")]
    assert len(found) == 1
    return json.loads(found[0][len("ROAR_TIMING:"):])


def test_timing_is_json_with_the_documented_keys(project):
    project.write("in")
    done = project("run", "sh", "-c", "sleep 0.1; cat in >out",
                   env={"ROAR_TIMING": "1"})
    timing = timing_of(done.err)
    assert TIMING <= set(timing)
    assert timing["n_inputs"] == 1 and timing["n_outputs"] == 1
    assert 100 <= timing["tracer_ms"] < 60000
    assert 0 < timing["max_rss_kib"] < 1000000
    assert timing["provenance_ms"] + timing["record_ms"] <= (
        timing["postrun_ms"] + 1)


def test_timing_with_q_is_the_only_line(project):
    done = project("run", "-q", "true", env={"ROAR_TIMING": "1"})
    assert len(lines(done.err)) == 1
    timing_of(done.err)


def test_no_timing_unless_asked(project):
    assert "ROAR_TIMING" not in project("run", "true").err


def test_memory_of_roar_stays_small(project):
    done = project("run", "sh", "-c",
                   "i=0; while [ $i -lt 500 ]; do echo $i >f$i; "
                   "i=$((i+1)); done", env={"ROAR_TIMING": "1"})
    # A sanitizer's run-time has a memory of its own.
    if "ASAN_OPTIONS" not in project.env:
        assert timing_of(done.err)["max_rss_kib"] < 30 * 1024


def test_listing_folders_stops_nobody(project):
    for i in range(100):
        project.write(f"tree/{i}/file")
    done = project("run", "-q", "ls", "-R", "tree", env={"ROAR_TIMING": "1"})
    assert timing_of(done.err)["n_stops"] < 100


def test_version_and_help(project):
    assert re.fullmatch(r"roar \d+\.\d+\.\d+\n", project("--version").out)
    for args in ([], ["help"], ["--help"], ["-h"]):
        out = project(*args).out
        for command in ("init", "run", "build", "status", "log", "show",
                        "dag", "inputs", "config", "env", "reset", "pop",
                        "filter", "db"):
            assert re.search(rf"^\s+{command}\b", out, re.MULTILINE)


def test_every_command_has_help(project):
    for command in ("init", "run", "build", "status", "log", "show", "dag",
                    "inputs", "config", "env", "reset", "pop", "filter",
                    "db"):
        out = project(command, "--help").out
        assert f"roar {command}" in out
        assert out == project("help", command).out
        assert out == project(command, "-h").out


def test_help_needs_no_project(empty):
    empty("run", "--help")
    empty("status", "--help")
    assert not empty.exists(".roar")


def test_verbosity_setting(project):
    project("config", "set", "output.verbosity", "quiet")
    assert project("run", "true").err == ""
    project("config", "set", "output.verbosity", "debug")
    assert "ld.so.cache" in project("run", "true").err
    assert project("run", "-q", "true").err == ""


def test_progress_bar_only_when_hashing_takes_long(project):
    with on_terminal(project, "run", "sh", "-c", "echo a >a") as t:
        assert t.wait() == 0
    assert "hashing" not in t.text


def test_progress_bar_when_hashing_takes_long(project):
    with on_terminal(project, "run", "truncate", "-s", "3G", "x",
                     env={"ROAR_TIMING": "1"}) as t:
        assert t.wait() == 0
    found = re.search(r"ROAR_TIMING:(\{.*\})", t.text)
    if json.loads(found[1])["provenance_ms"] > 800:
        assert "hashing" in t.text
        # The line is wiped before anything else is said.
        assert "\r\033[K" in t.text.split("roar", 1)[1]
    assert project.json("show", "x")["size_bytes"] == 3 << 30


def test_a_closed_stdout_of_a_reading_command_is_an_error(project):
    with open("/dev/full", "wb") as full:
        process = project.popen("config", stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert len(lines(err.decode())) == 1


def test_timing_can_be_switched_off(project):
    for value in ("0", ""):
        done = project("run", "-q", "true", env={"ROAR_TIMING": value})
        assert done.err == ""


def test_names_that_differ_look_different(project):
    project.raw("run", "-q", "sh", "-c", 'echo 1 >"$1"; echo 2 >"$2"', "x",
                b"a\nb", b"a\\nb")
    out = project("status").out
    assert "  a\\nb\n" in out
    assert "  a\\\\nb\n" in out


def test_text_that_turns_around_does_not_reach_the_terminal(project):
    project.sh("echo 1 >\"$(printf 'a\\342\\200\\256gpj.exe')\"")
    for words in (["status"], ["show", "@1"], ["log"]):
        assert "\u202e" not in project(*words).out
    assert "\\xe2\\x80\\xae" in project("status").out
