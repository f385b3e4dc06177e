"""`roar hash`: the digests other programs print, and lists in both directions."""

import hashlib
import json
import os
import resource
import shutil
import socket
import subprocess
import time

import pytest

from helpers import ORDINARY, lines
from terminal import Terminal

MIB = 1 << 20

# What BLAKE3 makes of some inputs, for machines without b3sum.
EMPTY = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
ABC = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"
BYTE = "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"

TOOLS = {"blake3": "b3sum", "sha256": "sha256sum", "sha512": "sha512sum",
         "md5": "md5sum"}
NAMES = ["plain", "with blank", " lead and trail ", "*star", "-dash",
         "line\nbreak", "back\\slash", "\\n", "a) = b", "#comment",
         "\N{SNOWMAN}", "tab\tand\x1b[31m"]
SIZES = [0, 1, 1023, 1024, 1025, 65536, 3 * MIB + 17]


def content(size):
    return bytes(i % 251 for i in range(251)) * (size // 251 + 1)


@pytest.fixture
def files(empty):
    """Files of many names and sizes."""
    for i, name in enumerate(NAMES):
        size = SIZES[i % len(SIZES)]
        empty.write(name, content(size)[:size], age=0)
    return empty


@pytest.fixture
def guest(public_roar, empty):
    """The empty place for an ordinary user, whoever runs the tests."""
    if os.geteuid() == 0:
        empty.roar_program = public_roar
        empty.user = ORDINARY
    return empty


def tool(place, *command, code=0, stdin=b""):
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=place.root, input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=place.env, check=False)
    assert done.returncode == code, done
    return done.stdout


def sha256_line(name, data):
    return f"{hashlib.sha256(data).hexdigest()}  {name}\n"


# ---- hashing ----

def test_known_digests(empty):
    empty.write("empty", "", age=0)
    empty.write("abc", "abc", age=0)
    empty.write("byte", b"\0", age=0)
    assert empty("hash", "abc", "empty", "byte").out == (
        f"{ABC}  abc\n{EMPTY}  empty\n{BYTE}  byte\n")


@pytest.mark.parametrize("algorithm", ["sha256", "sha512", "md5"])
def test_digests_are_those_of_python(files, algorithm):
    shown = json.loads(files("hash", "--json", "-a", algorithm, "-j", "3",
                             "--", *NAMES).out)
    assert [f["path"] for f in shown] == NAMES
    for f in shown:
        data = files.read(f["path"])
        assert f["size_bytes"] == len(data)
        assert f["digests"][algorithm] == hashlib.new(algorithm, data).hexdigest()


@pytest.mark.parametrize("algorithm", TOOLS)
def test_lines_are_those_of_the_usual_program(files, algorithm):
    assert (files.raw("hash", "-a", algorithm, "--", *NAMES).out ==
            tool(files, TOOLS[algorithm], "--", *NAMES))


def test_tagged_lines_are_those_of_sha256sum(files):
    assert (files.raw("hash", "-a", "sha256", "--tag", "--", *NAMES).out ==
            tool(files, "sha256sum", "--tag", "--", *NAMES))


def test_a_carriage_return_is_escaped_as_well(empty):
    empty.write("a\rb", "abc", age=0)
    assert empty.raw("hash", "a\rb").out == f"\\{ABC}  a\\rb\n".encode()


def test_a_name_of_any_bytes_is_printed_as_it_is(empty):
    empty.write(b"\xff\xfe", "abc", age=0)
    assert (empty.raw("hash", b"\xff\xfe").out ==
            ABC.encode() + b"  \xff\xfe\n")
    shown = empty.json("hash", b"\xff\xfe")[0]
    assert shown["path"] == "\ufffd\ufffd"
    assert shown["path_bytes"] == "fffe"


def test_several_algorithms_are_tagged_and_in_the_order_asked_for(empty):
    empty.write("a", "abc", age=0)
    md5 = hashlib.md5(b"abc").hexdigest()
    for options in (["-a", "md5,blake3"], ["-amd5", "-a", "blake3"],
                    ["-a", "md5,md5,blake3,md5"]):
        assert empty("hash", *options, "a").out == (
            f"MD5 (a) = {md5}\nBLAKE3 (a) = {ABC}\n")
    assert empty("hash", "--tag", "a").out == f"BLAKE3 (a) = {ABC}\n"


def test_standard_input_is_hashed(empty):
    empty.write("a", "", age=0)
    assert empty("hash", stdin=b"abc").out == f"{ABC}  -\n"
    assert empty("hash", "a", "-", stdin=b"abc").out == (
        f"{EMPTY}  a\n{ABC}  -\n")
    assert empty("hash", "-", "-", stdin=b"abc").out == (
        f"{ABC}  -\n{EMPTY}  -\n")
    big = content(5 * MIB)
    assert empty("hash", "-a", "sha256", stdin=big).out == sha256_line(
        "-", big)


def test_standard_input_is_read_from_where_it_stands(empty):
    path = empty.write("a", "xxxabc", age=0)
    with open(path, "rb") as f:
        os.lseek(f.fileno(), 3, os.SEEK_SET)
        process = empty.popen("hash", stdin=f)
        assert process.communicate()[0].decode() == f"{ABC}  -\n"


def test_a_closed_standard_input_is_an_error(empty):
    done = subprocess.run(["sh", "-c", '"$0" hash <&-', empty.roar_program],
                          env=empty.env, cwd=empty.root, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"roar: '-': Bad file descriptor\n"


@pytest.mark.parametrize("threads", ["1", "2", "7", "64"])
def test_any_number_of_threads_gives_the_same(empty, threads):
    expected = ""
    for i in range(300):
        empty.write(f"f{i:03}", str(i), age=0)
        expected += sha256_line(f"f{i:03}", str(i).encode())
    names = [f"f{i:03}" for i in range(300)]
    assert empty("hash", "-a", "sha256", "-j", threads,
                 *names).out == expected


def test_more_files_than_one_window_holds(empty):
    os.mkdir(empty.path("d"))
    for i in range(9000):
        with open(empty.path("d", f"{i:04}"), "w", encoding="utf-8") as f:
            f.write(str(i % 10))
    shown = lines(empty("hash", "-r", "-a", "sha256", "d").out)
    assert len(shown) == 9000
    for i in (0, 1, 8191, 8192, 8999):
        assert shown[i] + "\n" == sha256_line(f"d/{i:04}",
                                              str(i % 10).encode())


def test_no_project_is_made(empty):
    empty.write("a", "abc", age=0)
    empty("hash", "a")
    assert os.listdir(empty.root) == ["a"]


# ---- folders ----

def test_a_folder_is_an_error_without_recursion(empty):
    os.mkdir(empty.path("d"))
    empty.write("a", "abc", age=0)
    done = empty("hash", "d", "a", code=1)
    assert done.out == f"{ABC}  a\n"
    assert done.err == "roar: 'd': Is a directory (-r hashes the files in it)\n"


def test_files_below_folders_are_sorted_by_bytes(empty):
    names = ["d/a/b", "d/a.txt", "d/a-b", "d/B", "d/\N{SNOWMAN}", "d/z/y/x",
             "d/.hidden"]
    for name in names:
        empty.write(name, "abc", age=0)
    os.makedirs(empty.path("d", "nothing", "below"))
    empty.write("0", "abc", age=0)
    expected = sorted(names, key=os.fsencode)
    assert empty("hash", "-r", "d", "0").out == "".join(
        f"{ABC}  {name}\n" for name in [*expected, "0"])
    assert empty("hash", "-r", "d/").out == "".join(
        f"{ABC}  {name}\n" for name in expected)


def test_an_empty_folder_has_no_lines(empty):
    assert empty("hash", "-r", ".").out == ""
    assert empty.json("hash", "-r", ".") == []


def test_links_are_followed_as_arguments_only(empty):
    empty.write("d/a", "abc", age=0)
    os.symlink("a", empty.path("d", "to_file"))
    os.symlink(".", empty.path("d", "to_folder"))
    os.symlink("nowhere", empty.path("d", "dangling"))
    os.symlink("d", empty.path("link"))
    assert empty("hash", "-r", "link").out == f"{ABC}  link/a\n"
    assert empty("hash", "d/to_file").out == f"{ABC}  d/to_file\n"


def test_special_files_are_reported_and_not_opened(empty):
    empty.write("d/z", "abc", age=0)
    os.mkfifo(empty.path("d", "fifo"))
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(os.path.relpath(empty.path("d", "socket")))
    done = empty("hash", "-r", "d", "/dev/null", "d/fifo", code=1)
    assert done.out == f"{ABC}  d/z\n"
    assert lines(done.err) == [
        "roar: 'd/fifo': Not a regular file",
        "roar: 'd/socket': Not a regular file",
        "roar: '/dev/null': Not a regular file",
        "roar: 'd/fifo': Not a regular file",
    ]


def test_a_deep_tree_costs_no_descriptors(empty):
    path = "d" + "/x" * 200
    empty.write(path + "/a", "abc", age=0)
    done = empty("hash", "-r", "d", preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_NOFILE, (16, 16)))
    assert done.out == f"{ABC}  {path}/a\n"


# ---- errors ----

def test_each_failure_is_a_sentence_and_the_others_are_hashed(guest):
    guest.write("a", "abc", age=0)
    guest.write("secret", "abc", mode=0, age=0)
    guest.write("locked/a", "abc", age=0)
    os.chmod(guest.path("locked"), 0)
    os.symlink("loop", guest.path("loop"))
    long = "x" * 4096
    done = guest("hash", "-r", "secret", "missing", "loop", "locked", long,
                 "a/b", "", "a", code=1)
    os.chmod(guest.path("locked"), 0o755)
    assert done.out == f"{ABC}  a\n"
    assert lines(done.err) == [
        "roar: 'secret': Permission denied",
        "roar: 'missing': No such file or directory",
        "roar: 'loop': Too many levels of symbolic links",
        "roar: 'locked': Permission denied",
        f"roar: '{long}': File name too long",
        "roar: 'a/b': Not a directory",
        "roar: '': No such file or directory",
    ]


def test_an_error_cannot_drive_the_terminal(empty):
    assert empty("hash", "x\x1b[2J\n", code=1).err == (
        "roar: 'x\\x1b[2J\\n': No such file or directory\n")


def test_no_descriptors_left_is_an_error_of_each_file(empty):
    for name in ("a", "b"):
        empty.write(name, "abc", age=0)
    process = empty.popen("hash", "-c", stdin=subprocess.PIPE,
                          env=empty.without_leak_check())
    # More than a pipe holds: once it is written, the program is reading.
    process.stdin.write(b"#\n" * 200000)
    process.stdin.flush()
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (3, 3))
    out, err = process.communicate(f"{ABC}  a\n{ABC}  b\n".encode(), 60)
    assert process.returncode == 1
    assert lines(out.decode()) == ["a: FAILED open or read",
                                   "b: FAILED open or read"]
    assert lines(err.decode()) == ["roar: 'a': Too many open files",
                                   "roar: 'b': Too many open files"]


def test_json_names_the_errors(empty):
    empty.write("a", "abc", age=0)
    done = empty("hash", "--json", "-a", "blake3,md5", "a", "b", code=1)
    assert json.loads(done.out) == [
        {"path": "a", "size_bytes": 3, "digests": {"blake3": ABC,
         "md5": hashlib.md5(b"abc").hexdigest()}, "error": None},
        {"path": "b", "size_bytes": None, "digests": {},
         "error": "No such file or directory"},
    ]
    assert done.err == "roar: 'b': No such file or directory\n"


def test_a_full_disk_is_an_error(empty):
    empty.write("a", "abc", age=0)
    with open("/dev/full", "wb") as full:
        process = empty.popen("hash", "a", "a", stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert len(lines(err.decode())) == 1


@pytest.mark.parametrize("words, says", [
    (["-a", "sha1"], "unknown algorithm 'sha1'"),
    (["-a", "md5,"], "unknown algorithm ''"),
    (["-j", "0"], "takes a number from 1 to 64"),
    (["-j", "2x"], "takes a number from 1 to 64"),
    (["--quiet"], "--quiet needs --check"),
    (["--status"], "--status needs --check"),
    (["--ignore-missing"], "--ignore-missing needs --check"),
    (["-c", "--json"], "--check and --json exclude each other"),
    (["-cr"], "--check and --recursive exclude each other"),
    (["-c", "--tag"], "--check and --tag exclude each other"),
    (["--json", "--tag"], "--json and --tag exclude each other"),
    (["-c", "-a", "md5"], "digests of 64 digits"),
    (["-c", "-a", "blake3,sha256"], "digests of 64 digits"),
])
def test_wrong_usage(empty, words, says):
    done = empty("hash", *words, code=2)
    assert done.out == ""
    assert says in done.err
    assert len(lines(done.err)) == 1


# ---- lists ----

@pytest.mark.parametrize("options", [
    [], ["--tag"], ["-a", "sha512"], ["-a", "md5"], ["-a", "md5", "--tag"],
    ["-a", "blake3,sha256,sha512,md5"],
])
def test_our_lists_are_checked(files, options):
    listed = files.raw("hash", *options, "--", *NAMES).out
    done = files("hash", "-c", stdin=listed)
    assert len(lines(done.out)) == len(lines(listed.decode()))
    assert all(line.endswith(": OK") for line in lines(done.out))
    assert done.err == ""


@pytest.mark.parametrize("algorithm", TOOLS)
def test_the_usual_programs_check_our_lists(files, algorithm):
    listed = files.raw("hash", "-a", algorithm, "--", *NAMES).out
    files.write("list", listed)
    out = tool(files, TOOLS[algorithm], "-c", "list")
    assert out.count(b": OK\n") == len(NAMES)


@pytest.mark.parametrize("algorithm", TOOLS)
def test_lists_of_the_usual_programs_are_checked(files, algorithm):
    listed = tool(files, TOOLS[algorithm], "--", *NAMES)
    files.write("list." + algorithm, listed)
    done = files("hash", "--check", "list." + algorithm)
    assert done.out.count(": OK\n") == len(NAMES)


@pytest.mark.parametrize("program", ["sha256sum", "sha512sum", "md5sum"])
def test_tagged_and_binary_lists_of_the_usual_programs_are_checked(files,
                                                                   program):
    for option in ("--tag", "--binary"):
        listed = tool(files, program, option, "--", *NAMES)
        files.write("SHA256SUMS", listed)
        done = files("hash", "--check", "SHA256SUMS")
        assert done.out.count(": OK\n") == len(NAMES)


def test_what_64_digits_are(empty):
    empty.write("a", "abc", age=0)
    sha256 = sha256_line("a", b"abc")
    for name in ("x.sha256", "SHA256SUMS", "list"):
        empty.write(name, sha256, age=0)
    assert empty("hash", "-c", "x.sha256", "SHA256SUMS").out == (
        "a: OK\na: OK\n")
    assert empty("hash", "-c", "list", code=1).out == "a: FAILED\n"
    assert empty("hash", "-c", "-a", "sha256", "list").out == "a: OK\n"
    assert empty("hash", "-c", "-a", "blake3", "x.sha256",
                 code=1).out == "a: FAILED\n"


@pytest.fixture
def listed(empty):
    """A list of which one file is right, one changed and one gone."""
    for name in ("changed", "gone", "right"):
        empty.write(name, name, age=0)
    empty.write("list", empty("hash", "changed", "gone", "right").out, age=0)
    empty.write("changed", "other", age=0)
    os.unlink(empty.path("gone"))
    return empty


def test_failures_are_told_apart(listed):
    done = listed("hash", "-c", "list", code=1)
    assert lines(done.out) == ["changed: FAILED", "gone: FAILED open or read",
                               "right: OK"]
    assert lines(done.err) == ["roar: 'gone': No such file or directory",
                               "roar: not as listed: 1 digest"]


def test_quiet_shows_failures_only(listed):
    done = listed("hash", "-c", "--quiet", "list", code=1)
    assert lines(done.out) == ["changed: FAILED", "gone: FAILED open or read"]
    listed.write("good", f"{ABC}  abc\n", age=0)
    listed.write("abc", "abc", age=0)
    done = listed("hash", "-c", "--quiet", "good")
    assert done.out + done.err == ""


def test_status_shows_nothing(listed):
    done = listed("hash", "-c", "--status", "list", code=1)
    assert done.out + done.err == ""


def test_missing_files_can_be_ignored(listed):
    done = listed("hash", "-c", "--ignore-missing", "list", code=1)
    assert lines(done.out) == ["changed: FAILED", "right: OK"]
    listed.write("changed", "changed", age=0)
    done = listed("hash", "-c", "--ignore-missing", "list")
    assert done.err == ""
    for name in ("changed", "right"):
        os.unlink(listed.path(name))
    done = listed("hash", "-c", "--ignore-missing", "list", code=1)
    assert done.err == "roar: none of the listed files was verified\n"


def test_malformed_lines_are_counted_and_the_others_checked(empty):
    empty.write("a", "abc", age=0)
    empty.write("list", f"junk\n{ABC}  a\n\n# comment\n{ABC[1:]}  a\n"
                f"{'x' * 100000}\n{ABC}  a", age=0)
    done = empty("hash", "-c", "list")
    assert done.out == "a: OK\na: OK\n"
    assert done.err == "roar: skipped as malformed: 3 lines\n"


def test_a_list_without_a_good_line_is_a_failure(empty):
    empty.write("a", "abc", age=0)
    empty.write("bad", "junk\n", age=0)
    empty.write("empty", "", age=0)
    empty.write("good", f"{ABC}  a\n", age=0)
    done = empty("hash", "-c", "bad", "good", "empty", "none", ".", code=1)
    assert done.out == "a: OK\n"
    assert lines(done.err) == [
        "roar: 'bad': No line contains a digest",
        "roar: 'empty': No line contains a digest",
        "roar: 'none': No such file or directory",
        "roar: '.': Is a directory",
    ]


def test_a_list_with_carriage_returns_is_read(empty):
    empty.write("a", "abc", age=0)
    assert empty("hash", "-c", stdin=f"{ABC}  a\r\n".encode()).out == (
        "a: OK\n")


def test_a_fifo_never_blocks(empty):
    os.mkfifo(empty.path("fifo"))
    done = empty("hash", "-c", stdin=f"{ABC}  fifo\n".encode(), code=1)
    assert done.out == "fifo: FAILED open or read\n"
    done = empty("hash", "-c", "fifo", code=1)
    assert done.err == "roar: 'fifo': No line contains a digest\n"


# ---- terminals ----

def test_names_cannot_drive_the_terminal(empty):
    empty.write("x\x1b[2J", "abc", age=0)
    with Terminal(empty.argv("hash", "x\x1b[2J"), empty.root,
                  empty.environment()) as t:
        assert t.wait() == 0
    assert t.output.decode().strip() == f"{ABC}  x\\x1b[2J"


def test_a_bar_when_it_takes_long(empty):
    path = empty.write("big", "", age=0)
    os.truncate(path, 1 << 30)
    with Terminal(empty.argv("hash", "-j1", "-amd5", "big"), empty.root,
                  empty.environment(), columns=100) as t:
        t.expect(r"roar: hashing \[=* *\] 0/1 files, \S+ MiB of 1.0 GiB, "
                 r"\S+ .iB/s, \d+ s left\033\[K")
        t.expect(r"\r\033\[K[0-9a-f]{32}  big\r\n")
        assert t.wait() == 0


def test_no_bar_for_what_is_quick(empty):
    empty.write("a", "abc", age=0)
    with Terminal(empty.argv("hash", "a"), empty.root,
                  empty.environment()) as t:
        assert t.wait() == 0
    assert t.output.decode() == f"{ABC}  a\r\n"


# ---- the cache ----

def old(place, name, data):
    """A file whose times are long past, and settled."""
    place.write(name, data)
    os.utime(place.path(name), (1e9, 1e9))
    time.sleep(0.05)


@pytest.fixture
def cached(empty):
    empty.env["XDG_CACHE_HOME"] = empty.path("cache")
    return empty


def test_what_was_hashed_is_remembered_for_the_user_alone(cached):
    old(cached, "a", b"abc")
    assert cached("hash", "a").out.startswith(ABC)
    path = cached.path("cache/roar/digests")
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(path).st_blocks * 512 < MIB
    assert cached("hash", "a").out.startswith(ABC)


def test_a_change_is_seen_whatever_is_remembered(cached):
    old(cached, "a", b"abc")
    for data in (b"abd", b"abc", b"xyz"):
        cached("hash", "a")
        cached.write("a", data, age=0)
        os.utime(cached.path("a"), (1e9, 1e9))
        assert cached("hash", "a").out == cached("hash", "--no-cache", "a").out


def test_without_cache_nothing_is_made(cached):
    cached.write("a", b"abc")
    assert cached("hash", "--no-cache", "a").out.startswith(ABC)
    assert not os.path.exists(cached.path("cache"))


def test_a_cache_that_cannot_be_is_not_missed(cached):
    cached.write("cache", b"no folder")
    cached.write("a", b"abc")
    assert cached("hash", "a").out.startswith(ABC)
    done = cached("hash", "--audit", "a", code=1)
    assert done.err == ("roar: cannot open the digest cache to audit it: Not a "
                        "directory\n")


def test_garbage_in_place_of_the_cache_is_replaced(cached):
    os.makedirs(cached.path("cache/roar"))
    with open(cached.path("cache/roar/digests"), "wb") as f:
        f.write(os.urandom(5000))
    old(cached, "a", b"abc")
    assert cached("hash", "a").out.startswith(ABC)
    assert cached("hash", "a").out.startswith(ABC)


def test_an_audit_reads_everything_and_finds_nothing_wrong(cached):
    for i in range(20):
        old(cached, f"f{i}", b"x" * i)
    first = cached("hash", *[f"f{i}" for i in range(20)])
    audit = cached("hash", "--audit", *[f"f{i}" for i in range(20)])
    assert audit.out == first.out and audit.err == ""


@pytest.mark.parametrize("args", [("--audit", "--no-cache"),
                                  ("--check", "--audit"),
                                  ("--check", "--no-cache")])
def test_options_about_the_cache_that_make_no_sense(cached, args):
    cached("hash", *args, "a", code=2)


# ---- folders as a whole ----

def blake3_of(place, data):
    return place("hash", "--no-cache", stdin=data).out.split()[0]


def test_a_folder_has_one_digest(cached):
    os.makedirs(cached.path("d/e"))
    cached.write("d/a", b"abc")
    cached.write("d/e/b", b"")
    os.symlink("a", cached.path("d/l"))
    link = blake3_of(cached, b"a")
    text = (b"roar:blake3-tree:v1\n"
            b"a\0blake3:%b\ne/b\0blake3:%b\nl\0blake3:%b\n"
            % (ABC.encode(), EMPTY.encode(), link.encode()))
    wanted = blake3_of(cached, text)
    for _ in range(2):
        assert cached("hash", "--tree", "d").out == f"{wanted}  d\n"
    assert cached("hash", "--tree", "--no-cache", "d", "d/").out == (
        f"{wanted}  d\n{wanted}  d/\n")


def test_every_change_is_another_folder(cached):
    os.makedirs(cached.path("d"))
    for i in range(40):
        cached.write(f"d/f{i:02}", b"x" * i)
    seen = {cached("hash", "--tree", "d").out}
    cached.write("d/f07", b"y" * 7)
    seen.add(cached("hash", "--tree", "d").out)
    os.rename(cached.path("d/f08"), cached.path("d/g08"))
    seen.add(cached("hash", "--tree", "d").out)
    os.unlink(cached.path("d/f09"))
    seen.add(cached("hash", "--tree", "d").out)
    assert len(seen) == 4


def test_what_is_in_the_way_is_named(cached):
    os.makedirs(cached.path("d"))
    os.makedirs(cached.path("good"))
    cached.write("d/a", b"abc")
    os.mkfifo(cached.path("d/pipe"))
    done = cached("hash", "--tree", "d", "good", "nowhere", code=1)
    assert len(lines(done.out)) == 1 and done.out.endswith("  good\n")
    assert "'d/pipe'" in done.err and "'nowhere': No such file" in done.err
    cached("hash", "--tree", code=2)
    cached("hash", "--tree", "-r", "d", code=2)
