"""`roar verify`: files against the record, whole and in parts."""

import functools
import json
import os
import random
import shutil
import subprocess

import pytest

from helpers import ORDINARY, lines
from terminal import Terminal

MIB = 1 << 20
BIG = 20 * MIB + 4321
ABC = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"
NO_TREE = ("roar: 'big': no hash tree of the file is stored, so a part cannot "
           "be proved: verify the file once without --range to store one\n")


@functools.cache
def big_content():
    return random.Random(5).randbytes(BIG)


@pytest.fixture
def big(project):
    """A project whose one step copied a large file and a small one."""
    project.write("source", big_content(), age=0)
    project.write("small", "abc")
    project.sh("cat source >big; cp small copy")
    return project


def flip(place, name, offset, keep_times=True):
    """Changes one bit, and leaves size and times as they were."""
    path = place.path(name)
    st = os.stat(path)
    with open(path, "r+b") as f:
        f.seek(offset)
        byte = f.read(1)[0] ^ 4
        f.seek(offset)
        f.write(bytes([byte]))
    if keep_times:
        os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))


def trees(place):
    try:
        return sorted(os.listdir(place.path(".roar", "trees")))
    except FileNotFoundError:
        return []


def tree_of(place, name):
    return place.path(".roar", "trees", place.digests(name)["blake3"])


def only_tree(place):
    [name] = trees(place)
    return place.path(".roar", "trees", name)


def drop_trees(place):
    shutil.rmtree(place.path(".roar", "trees"), ignore_errors=True)


# ---- whole files ----

def test_what_is_as_recorded_is_ok(big):
    done = big("verify", "big", "copy")
    assert done.out == "big: OK\ncopy: OK\n"
    assert done.err == ""


def test_without_a_name_it_is_the_session(big):
    done = big("verify")
    assert sorted(lines(done.out)) == [
        "big: OK", "copy: OK", "small: OK", "source: OK"]
    assert sorted(lines(big("verify", "--outputs").out)) == [
        "big: OK", "copy: OK"]
    assert sorted(lines(big("verify", "--inputs").out)) == [
        "small: OK", "source: OK"]


def test_what_a_step_wrote_is_newer_than_what_it_read(project):
    project.write("b", "one\n")
    project.sh("cat b; echo new >b.t; mv b.t b")
    assert project("verify", "b").out == "b: OK\n"
    assert "b: OK" in project("verify").out
    project.write("b", "one\n")
    for words in (["b"], []):
        assert "b: FAILED" in project("verify", *words, code=1).out


def test_the_newest_version_counts(project):
    project.sh("echo one >a")
    project.sh("echo two >a; cat a >b")
    assert sorted(lines(project("verify").out)) == ["a: OK", "b: OK"]
    project.write("a", "one\n")
    assert project("verify", "a", code=1).out == "a: FAILED\n"


def test_what_a_later_step_renamed_is_not_missing(project):
    project.sh("echo one >a")
    project.sh("mv a b")
    assert project("verify").out == "b: OK\n"


def test_what_a_step_removed_is_not_missing(project):
    project.write("a")
    project.sh("cat a >b; rm a")
    assert project("verify").out == "b: OK\n"


def test_an_empty_session_has_nothing_wrong(project):
    done = project("verify")
    assert done.out == ""
    assert done.err == ("roar: nothing to verify: the session has no such "
                        "files yet\n")
    assert project("verify", "--quiet").err == ""
    assert project.json("verify") == []


def test_from_a_folder_below(big):
    os.mkdir(big.path("below"))
    done = big("verify", "../copy", cwd=big.path("below"))
    assert done.out == "../copy: OK\n"
    names = {line.partition(":")[0]
             for line in lines(big("verify", cwd=big.path("below")).out)}
    assert big.path("big") in names


def test_a_link_is_its_text(project):
    project.write("a", "abc")
    project.sh("ln -s a link")
    assert project("verify", "link").out == "link: OK\n"
    os.unlink(project.path("link"))
    os.symlink("b", project.path("link"))
    assert project("verify", "link", code=1).out == "link: FAILED\n"
    os.unlink(project.path("link"))
    project.write("link", "a")
    assert project("verify", "link", code=1).out == "link: FAILED\n"


def test_a_file_behind_a_link_is_that_file(big):
    os.symlink("big", big.path("other"))
    assert big("verify", "other").out == "other: OK\n"


def test_names_are_written_as_by_hash(project):
    project.sh("echo 1 >'line\nbreak'; echo 2 >'back\\slash'")
    assert sorted(lines(project("verify").out)) == [
        "\\back\\\\slash: OK", "\\line\\nbreak: OK"]


def test_q_prints_what_is_wrong_only(big):
    flip(big, "copy", 1)
    done = big("verify", "-q", code=1)
    assert done.out == "copy: FAILED\n"
    assert done.err == "roar: not as expected: 1 file\n"


@pytest.mark.parametrize("threads", ["1", "3", "64"])
def test_with_n_threads(big, threads):
    assert big("verify", "-j", threads, "big").out == "big: OK\n"
    assert big("verify", "-j", threads, "big").out == "big: OK\n"
    flip(big, "big", 7 * MIB)
    assert big("verify", "-j", threads, "big", code=1).out == (
        f"big: FAILED, first bad range {7 * MIB}-{8 * MIB - 1}\n")


# ---- what is wrong ----

@pytest.mark.parametrize("offset", [0, MIB - 1, MIB, 9 * MIB + 5, 20 * MIB,
                                    BIG - 1])
def test_a_flipped_bit_is_found_and_placed(big, offset):
    big("verify", "big")
    flip(big, "big", offset)
    first = offset // MIB * MIB
    last = min(first + MIB, BIG) - 1
    done = big("verify", "big", "copy", code=1)
    assert done.out == (
        f"big: FAILED, first bad range {first}-{last}\ncopy: OK\n")
    assert done.err == "roar: not as expected: 1 file\n"


def test_of_several_bad_ranges_the_first_is_named(big):
    big("verify", "big")
    for offset in (19 * MIB, 11 * MIB, 4 * MIB + 9):
        flip(big, "big", offset)
    assert big("verify", "big", code=1).out == (
        f"big: FAILED, first bad range {4 * MIB}-{5 * MIB - 1}\n")


def test_without_a_tree_the_place_is_not_known(big):
    drop_trees(big)
    flip(big, "big", 5)
    assert big("verify", "big", code=1).out == "big: FAILED\n"
    assert trees(big) == []


def test_another_size_is_said(big):
    with open(big.path("big"), "ab") as f:
        f.write(b"x")
    os.truncate(big.path("copy"), 2)
    assert big("verify", "big", "copy", code=1).out == (
        f"big: FAILED, size {BIG + 1} instead of {BIG} bytes\n"
        "copy: FAILED, size 2 instead of 3 bytes\n")


def test_missing_is_said(big):
    os.unlink(big.path("big"))
    done = big("verify", "copy", "big", code=1)
    assert done.out == "copy: OK\nbig: FAILED, missing\n"
    assert "big: FAILED, missing\n" in big("verify", code=1).out


def test_what_is_no_file_any_more_is_never_opened(big):
    os.unlink(big.path("big"))
    os.mkfifo(big.path("big"))
    os.unlink(big.path("copy"))
    os.mkdir(big.path("copy"))
    done = big("verify", "big", "copy", "small", code=1)
    assert done.out == ("big: FAILED open or read\n"
                        "copy: FAILED open or read\nsmall: OK\n")
    assert done.err == ("roar: 'big': Not a regular file\n"
                        "roar: 'copy': Is a directory\n")


def test_unreadable_is_an_error_of_that_file(public_roar, empty):
    if os.geteuid() == 0:
        empty.roar_program = public_roar
        empty.user = ORDINARY
        for path in (empty.base, empty.root, empty.home):
            os.chown(path, ORDINARY, ORDINARY)
    empty("init")
    empty.sh("echo a >a; echo b >b; head -c 17000000 /dev/zero >c")
    os.chmod(empty.path("a"), 0)
    os.chmod(empty.path("c"), 0)
    done = empty("verify", "a", "b", "c", code=1)
    assert done.out == ("a: FAILED open or read\nb: OK\n"
                        "c: FAILED open or read\n")
    assert done.err == ("roar: 'a': Permission denied\n"
                        "roar: 'c': Permission denied\n")


def test_what_is_not_on_record_is_not_proved(big):
    big.write("stranger", "abc")
    done = big("verify", "stranger", "copy", "nowhere", ".", code=1)
    assert done.out == ("stranger: NOT PROVED\ncopy: OK\n"
                        "nowhere: NOT PROVED\n.: NOT PROVED\n")
    said = lines(done.err)
    assert len(said) == 3
    assert "was not used by any recorded job" in said[0]
    assert "nowhere" in said[1]
    assert "directory" in said[2]


def test_json_has_it_all(big):
    big("verify", "big")
    flip(big, "big", 3 * MIB)
    os.truncate(big.path("copy"), 2)
    os.unlink(big.path("source"))
    rows = json.loads(big("verify", "--json", "small", "big", "copy",
                          "source", "nowhere", code=1).out)
    assert [r["state"] for r in rows] == [
        "ok", "changed", "changed", "missing", "unproved"]
    assert rows[0] == {"path": "small", "state": "ok", "blake3": ABC,
                       "size_bytes": 3, "proved": {"offset": 0, "length": 3},
                       "first_bad": None, "error": None}
    assert rows[1]["first_bad"] == {"offset": 3 * MIB, "length": MIB}
    assert rows[1]["proved"] is None
    assert rows[2]["error"] == "size 2 instead of 3 bytes"
    assert rows[3]["error"] == "No such file or directory"
    assert rows[4]["blake3"] is None and rows[4]["size_bytes"] is None
    assert "nowhere" in rows[4]["error"]


# ---- a part ----

def test_a_range_is_proved_without_the_rest(big):
    big("verify", "big")
    flip(big, "big", 0)
    flip(big, "big", 12 * MIB)
    done = big("verify", "--range", "5M:2M", "big")
    assert done.out == (
        f"big: OK, bytes {5 * MIB}-{7 * MIB - 1} of {BIG}\n")
    assert done.err == ""


@pytest.mark.parametrize("word,first,last", [
    ("0:1", 0, MIB - 1),
    ("1048575:2", 0, 2 * MIB - 1),
    ("1M:1M", MIB, 2 * MIB - 1),
    ("1024K:1", MIB, 2 * MIB - 1),
    ("19M", 19 * MIB, BIG - 1),
    ("0", 0, BIG - 1),
    (str(BIG - 1), 20 * MIB, BIG - 1),
    ("3M:1G", 3 * MIB, BIG - 1),
    ("0:9223372036854775807", 0, BIG - 1),
])
def test_what_was_proved_is_said_exactly(big, word, first, last):
    big("verify", "big")
    assert big("verify", "--range", word, "big").out == (
        f"big: OK, bytes {first}-{last} of {BIG}\n")
    [row] = json.loads(big("verify", "--json", "--range", word, "big").out)
    assert row["proved"] == {"offset": first, "length": last - first + 1}


def test_a_bad_range_is_placed(big):
    big("verify", "big")
    flip(big, "big", 6 * MIB)
    flip(big, "big", 8 * MIB)
    assert big("verify", "--range", "5M:5M", "big", code=1).out == (
        f"big: FAILED, first bad range {6 * MIB}-{7 * MIB - 1}\n")


def test_without_a_tree_no_range_is_proved(big):
    drop_trees(big)
    done = big("verify", "--range", "0:1M", "big", code=1)
    assert done.out == "big: NOT PROVED\n"
    assert done.err == NO_TREE
    big("verify", "big")
    big("verify", "--range", "0:1M", "big")


def test_a_range_of_a_small_file_is_all_of_it(big):
    done = big("verify", "--range", "1:1", "copy")
    assert done.out == "copy: OK, bytes 0-2 of 3\n"


@pytest.mark.parametrize("word", [str(BIG), "21M", "9223372036854775807"])
def test_a_range_behind_the_end_is_not_proved(big, word):
    big("verify", "big")
    done = big("verify", "--range", word, "big", "copy", code=1)
    assert done.out == "big: NOT PROVED\ncopy: NOT PROVED\n"
    assert lines(done.err)[0] == (
        "roar: 'big': the range starts after the end of the file: give a "
        "smaller OFFSET")


def test_a_range_of_a_file_of_another_size_fails(big):
    big("verify", "big")
    os.truncate(big.path("big"), BIG - 1)
    assert big("verify", "--range", "0:1M", "big", code=1).out == (
        f"big: FAILED, size {BIG - 1} instead of {BIG} bytes\n")


# ---- trees ----

def test_a_run_keeps_the_trees_of_its_large_files(big):
    """The source and its copy are one content; the small one has none."""
    assert trees(big) == [big.digests("big")["blake3"]]
    flip(big, "big", 3 * MIB)
    assert big("verify", "big", code=1).out == (
        f"big: FAILED, first bad range {3 * MIB}-{4 * MIB - 1}\n")


def test_a_verified_file_has_a_tree(big):
    drop_trees(big)
    big("verify")
    assert trees(big) == [big.digests("big")["blake3"]]
    size = os.stat(tree_of(big, "big")).st_size
    assert size == 24 + 32 * 21


def damage(place, how):
    path = tree_of(place, "big")
    if how == "truncated":
        os.truncate(path, 100)
    elif how == "empty":
        os.truncate(path, 0)
    elif how == "garbage":
        with open(path, "wb") as f:
            f.write(random.Random(1).randbytes(696))
    elif how == "flipped":
        with open(path, "r+b") as f:
            f.seek(300)
            f.write(b"\0\0")
    elif how == "of another size":
        with open(path, "r+b") as f:
            f.seek(16)
            f.write((BIG - 1).to_bytes(8, "little"))
    elif how == "of another file":
        place.write("other", big_content()[:17 * MIB])
        place.sh("cat other >/dev/null")
        place("verify", "other")
        shutil.copy(tree_of(place, "other"), path)
    elif how == "a folder":
        os.unlink(path)
        os.mkdir(path)
    else:
        os.unlink(path)
        os.mkfifo(path)


@pytest.mark.parametrize("how", ["truncated", "empty", "garbage", "flipped",
                                 "of another size", "of another file",
                                 "a FIFO"])
def test_a_bad_tree_is_none(big, how):
    big("verify", "big")
    damage(big, how)
    done = big("verify", "--range", "0:1M", "big", code=1)
    assert done.out == "big: NOT PROVED\n"
    assert done.err == NO_TREE
    assert not os.path.lexists(tree_of(big, "big"))
    assert big("verify", "big").out == "big: OK\n"
    big("verify", "--range", "0:1M", "big")


@pytest.mark.parametrize("how", ["truncated", "flipped", "of another size",
                                 "a folder"])
def test_a_bad_tree_does_not_fail_a_good_file(big, how):
    big("verify", "big")
    damage(big, how)
    assert big("verify", "big").out == "big: OK\n"


def test_a_tree_that_cannot_be_kept_is_no_failure(big):
    drop_trees(big)
    with open(big.path(".roar", "trees"), "w", encoding="utf-8"):
        pass
    done = big("verify", "big")
    assert done.out == "big: OK\n"
    assert "the hash tree of 'big' cannot be stored" in done.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can use sudo")
def test_a_tree_made_by_sudo_is_the_users(big):
    for root, folders, files in os.walk(big.root):
        for name in folders + files:
            os.lchown(os.path.join(root, name), ORDINARY, ORDINARY)
    os.chown(big.root, ORDINARY, ORDINARY)
    drop_trees(big)
    big("verify", "big", env={"SUDO_UID": str(ORDINARY),
                              "SUDO_GID": str(ORDINARY)})
    for path in (big.path(".roar", "trees"), only_tree(big)):
        assert os.stat(path).st_uid == ORDINARY


def test_pop_takes_the_trees_of_its_content(big):
    big("verify")
    kept = big.digests("big")["blake3"]
    big.sh(r"tr '\000' '\001' <big >changed")
    big("verify")
    assert len(trees(big)) == 2
    big("pop", "-y")
    assert trees(big) == [kept]
    big("pop", "-y")
    assert trees(big) == []


def test_reset_takes_nothing(big):
    big("verify")
    before = trees(big)
    big("reset", "-y")
    assert trees(big) == before
    assert big("verify", "--range", "0:1", "big").out.startswith("big: OK")


def test_compact_takes_trees_that_nobody_knows(big):
    big("verify")
    known = trees(big)
    stranger = big.path(".roar", "trees", "0" * 64)
    shutil.copy(tree_of(big, "big"), stranger)
    freed = json.loads(big("db", "--compact", "--json").out)["freed_bytes"]
    assert trees(big) == known
    assert freed >= 24 + 32 * 21


# ---- a digest ----

def test_a_digest_needs_no_project(empty):
    empty.write("abc", "abc")
    assert empty("verify", "--digest", ABC, "abc").out == "abc: OK\n"
    assert empty("verify", "--digest", ABC.upper(), "abc").out == "abc: OK\n"
    empty.write("abc", "abd")
    done = empty("verify", "--digest", ABC, "abc", code=1)
    assert done.out == "abc: FAILED\n"
    assert not empty.exists(".roar")


def test_a_digest_of_a_large_file_keeps_no_tree(big):
    digest = big.digests("big")["blake3"]
    drop_trees(big)
    assert big("verify", "--digest", digest, "big").out == "big: OK\n"
    assert trees(big) == []
    assert "verify the whole file, without --range" in big(
        "verify", "--digest", digest, "--range", "0:1", "big", code=1).err
    big("verify", "big")
    shutil.copy(big.path("big"), big.path("elsewhere"))
    assert big("verify", "--digest", digest, "--range", "0:1",
               "elsewhere").out == f"elsewhere: OK, bytes 0-{MIB - 1} of {BIG}\n"
    flip(big, "elsewhere", 9)
    assert big("verify", "--digest", digest, "elsewhere", code=1).out == (
        f"elsewhere: FAILED, first bad range 0-{MIB - 1}\n")


def test_a_digest_of_nothing(empty):
    done = empty("verify", "--digest", ABC, "nowhere", code=1)
    assert done.out == "nowhere: FAILED, missing\n"
    assert empty("verify", "--digest", ABC, ".", code=1).err == (
        "roar: '.': Is a directory\n")


# ---- usage ----

@pytest.mark.parametrize("words", [
    ["--range", "0:0", "big"],
    ["--range", "", "big"],
    ["--range", "x", "big"],
    ["--range", "-1", "big"],
    ["--range", "1:-1", "big"],
    ["--range", "1:", "big"],
    ["--range", ":1", "big"],
    ["--range", "1:2:3", "big"],
    ["--range", "1T", "big"],
    ["--range", "1KK", "big"],
    ["--range", "0x10", "big"],
    ["--range", "9223372036854775808", "big"],
    ["--range", "99999999999999999999999", "big"],
    ["--range", "9007199254740992G", "big"],
    ["--range", "0:8589934592G", "big"],
    ["--range", "0:1"],
    ["--digest", "12", "big"],
    ["--digest", "g" * 64, "big"],
    ["--digest", "0" * 66, "big"],
    ["--digest", "0" * 64],
    ["--digest", "0" * 64, "big", "copy"],
    ["--inputs", "--outputs"],
    ["--inputs", "big"],
    ["--outputs", "big"],
    ["--json", "--quiet"],
    ["-j", "0"],
    ["-j", "65"],
    ["-j", "many"],
    [""],
    ["--nonsense"],
], ids=" ".join)
def test_wrong_usage(project, words):
    done = project("verify", *words, code=2)
    assert done.out == ""
    assert len(lines(done.err)) == 1


def test_without_a_project_it_says_so(empty):
    assert "roar init" in empty("verify", code=1).err
    assert not empty.exists(".roar")


# ---- many ----

def test_many_small_files_in_their_order(project):
    project.sh("mkdir d; for i in $(seq 1000 5999); do echo $i >d/$i; done")
    flip(project, "d/1000", 0)
    flip(project, "d/5999", 0)
    done = project("verify", code=1)
    said = lines(done.out)
    assert len(said) == 5000
    assert [s for s in said if not s.endswith(": OK")] == [
        "d/1000: FAILED", "d/5999: FAILED"]
    names = [s.partition(":")[0] for s in said]
    assert names == sorted(names)


def test_a_reader_that_goes_away_ends_it(big):
    done = subprocess.run(
        ["sh", "-c", f"{big.roar_program} verify | true"], cwd=big.root,
        env=big.env, check=False, stderr=subprocess.PIPE)
    assert done.stderr == b""


def test_no_bar_stays_on_the_terminal(big):
    with Terminal(big.argv("verify"), big.root,
                  big.environment()) as t:
        assert t.wait() == 0
    assert "big: OK" in t.text
