"""Digests of bytes and files: roar.hash(), hash_file() and hash_files()."""

import errno
import gc
import hashlib
import mmap
import os
import pathlib
import pickle
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

import roar
from arena_helpers import descriptors, in_fork
from leak_helpers import growth, leaks_show

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = ("blake3", "sha256", "sha512", "md5", "crc64nvme", "git-blob")
ABC = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"
# Around the bounds between ways to read: 16 KiB and 2 MiB.
SIZES = (0, 1, 1024, 16384, 16385, 300000, (2 << 20) - 1, (3 << 20) + 5)
LARGE = (17 << 20) + 3


def content(size, seed=1):
    return hashlib.shake_128(b"%d" % seed).digest(size)


def crc64nvme(data):
    """Bit by bit, as its definition has it."""
    crc = (1 << 64) - 1
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x9A6C9329AC4BC9B5 if crc & 1 else 0)
    return f"{crc ^ (1 << 64) - 1:016x}"


def by_hashlib(data):
    """What is known of the digests without us."""
    return {**{name: hashlib.new(name, data).hexdigest()
               for name in ("sha256", "sha512", "md5")},
            "git-blob": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()}


def vectors():
    text = (ROOT / "tests/unit/hash/blake3_vectors.h").read_text()
    return [(int(n), digest) for n, digest
            in re.findall(r'\{ (\d+),\s*"([0-9a-f]{64})"', text)]


@pytest.fixture(name="large", scope="module")
def make_large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large"
    path.write_bytes(content(LARGE))
    return path


@pytest.fixture(name="endless", scope="module")
def make_endless(tmp_path_factory):
    """More than anybody waits for."""
    path = tmp_path_factory.mktemp("endless") / "endless"
    with open(path, "wb") as f:
        f.truncate(64 << 30)
    return path


# ---- digests ----

def test_blake3_is_as_published():
    known = vectors()
    assert len(known) > 30
    data = bytes(i % 251 for i in range(known[-1][0]))
    for size, digest in known:
        assert roar.hash(data[:size]) == digest


@pytest.mark.parametrize("size", SIZES)
def test_all_algorithms_at_once_and_each_alone(size, tmp_path):
    data = content(size)
    path = tmp_path / "file"
    path.write_bytes(data)
    found = roar.hash(data, NAMES)
    assert list(found) == list(NAMES)
    assert by_hashlib(data).items() <= found.items()
    if size <= 20000:
        assert found["crc64nvme"] == crc64nvme(data)
    assert roar.hash_file(path, NAMES) == found
    for name in NAMES:
        assert roar.hash(data, name) == found[name]
        assert roar.hash_file(path, name) == found[name]


def test_a_large_file(large):
    data = large.read_bytes()
    found = roar.hash_file(large, NAMES)
    assert by_hashlib(data).items() <= found.items()
    assert found == roar.hash(data, NAMES)
    assert roar.hash_file(large) == found["blake3"]
    if shutil.which("b3sum"):
        done = subprocess.run(["b3sum", "--no-names", large], check=True,
                              capture_output=True, text=True)
        assert found["blake3"] == done.stdout.strip()


def test_one_name_gives_a_str_and_several_a_dict():
    assert roar.hash(b"abc") == ABC
    assert roar.hash(b"abc", ["blake3"]) == {"blake3": ABC}
    assert list(roar.hash(b"", ("md5", "blake3", "md5"))) == ["md5", "blake3"]
    assert roar.hash(b"123456789", "crc64nvme") == "ae8b14860a799888"
    assert roar.hash(buffer=b"abc", algorithms="md5") == \
        "900150983cd24fb0d6963f7d28e17f72"


# ---- buffers ----

def test_any_contiguous_buffer_will_do():
    for buffer in (b"abc", bytearray(b"abc"), memoryview(b"abc"),
                   memoryview(b"xabcx")[1:4]):
        assert roar.hash(buffer) == ABC
    with mmap.mmap(-1, 4096) as memory:
        assert roar.hash(memory) == roar.hash(bytes(4096))
    assert roar.hash(memoryview(content(48)).cast("f", (3, 4))) == \
        roar.hash(content(48))


def test_numpy_arrays_are_their_bytes():
    numpy = pytest.importorskip("numpy")
    for kind in ("u1", "<f4", "c16", "M8[s]", "S3"):
        array = numpy.frombuffer(content(480), kind).reshape(2, -1)
        assert roar.hash(array) == roar.hash(content(480))
    assert roar.hash(numpy.zeros((3, 0))) == roar.hash(b"")
    assert roar.hash(numpy.float32(0)) == roar.hash(bytes(4))


def test_memory_with_gaps_is_refused_with_a_remedy():
    gaps = [memoryview(bytes(10))[::2], memoryview(bytes(10))[::-1]]
    try:
        import numpy
        gaps += [numpy.zeros((4, 4)).T, numpy.zeros(9)[::2]]
    except ImportError:
        pass
    for gap in gaps:
        with pytest.raises(BufferError, match="not C-contiguous.*hash a copy"):
            roar.hash(gap)


@pytest.mark.parametrize("thing", ["abc", None, 3, [1], object()])
def test_what_is_no_buffer_is_a_type_error(thing):
    with pytest.raises(TypeError, match="a buffer is needed"):
        roar.hash(thing)


def test_a_released_memoryview_is_an_error():
    view = memoryview(b"abc")
    view.release()
    with pytest.raises((ValueError, BufferError)):
        roar.hash(view)


# ---- arguments ----

@pytest.mark.parametrize("call", [
    lambda a: roar.hash(b"", a), lambda a: roar.hash_file("/", a),
    lambda a: roar.hash_files(["/"], a), lambda a: roar.hash_files([], a)])
def test_algorithms_that_are_none(call):
    for name in ("sha1", "", "BLAKE3", "blake3,md5", "md5\0", "\ud800", "git"):
        for names in (name, ["blake3", name]):
            with pytest.raises(ValueError,
                               match="no algorithm.*" + ", ".join(NAMES)):
                call(names)
    with pytest.raises(ValueError, match="at least one"):
        call([])
    for names in (None, 3, b"md5", [None], [b"md5"], [["md5"]]):
        with pytest.raises(TypeError):
            call(names)


def test_paths_that_are_none():
    for path in (None, 3, [], memoryview(b"x")):
        with pytest.raises(TypeError):
            roar.hash_file(path)
        with pytest.raises(TypeError):
            roar.hash_files(["/", path])
    for path in ("a\0b", b"a\0b", pathlib.Path("a\0b")):
        with pytest.raises(ValueError, match="NUL"):
            roar.hash_file(path)
        with pytest.raises(ValueError, match="NUL"):
            roar.hash_files(["/", path])
    with pytest.raises(ValueError):
        roar.hash_file("\ud800")  # stands for no byte


def test_one_path_where_several_are_wanted():
    for path in ("a", b"a", pathlib.Path("a")):
        with pytest.raises(TypeError, match=r"hash_file\(\) takes one"):
            roar.hash_files(path)
    with pytest.raises(TypeError):
        roar.hash_files(3)


def test_numbers_of_threads(large):
    with pytest.raises(TypeError):
        roar.hash_files([], "blake3", 1)
    for threads in (None, "2", 1.0, [1]):
        with pytest.raises(TypeError):
            roar.hash_files([large], threads=threads)
    for threads in (-1, 257, 1 << 40, 10 ** 9000):
        with pytest.raises(ValueError, match="threads must be from 0 to 256"):
            roar.hash_files([large], threads=threads)
    for threads in (0, 1, 3, 256):
        assert roar.hash_files([large], threads=threads) == \
            roar.hash_files([large])


# ---- paths ----

def test_names_of_any_bytes(tmp_path):
    folder = os.fsencode(tmp_path)
    for name in (b"\xff\xfe", "\u00e9\u4e2d".encode(), b"a\nb", b"-", b" "):
        path = os.path.join(folder, name)
        with open(path, "wb") as f:
            f.write(b"abc")
        text = os.fsdecode(path)
        for way in (path, text, pathlib.Path(text)):
            assert roar.hash_file(way) == ABC
        os.unlink(path)
        with pytest.raises(FileNotFoundError) as caught:
            roar.hash_file(text)
        assert caught.value.filename == text


def test_relative_paths_and_links(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("file")
    monkeypatch.chdir(tmp_path)
    assert roar.hash_file("file") == roar.hash_file("link") == ABC


def special(folder):
    """{path: the errno of hashing it}"""
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "fifo")
    # Names of sockets are short.
    at = os.open(folder, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{at}/socket")
    os.close(at)
    (folder / "folder").mkdir()
    (folder / "file").write_bytes(b"")
    return {folder / "none": errno.ENOENT, folder / "loop": errno.ELOOP,
            folder / "folder": errno.EISDIR, folder / "fifo": errno.EINVAL,
            folder / "socket": errno.EINVAL, "/dev/zero": errno.EINVAL,
            folder / "file" / "x": errno.ENOTDIR, "": errno.ENOENT,
            folder / ("x" * 300): errno.ENAMETOOLONG,
            # The size of these is made up: never the content that was announced.
            "/proc/self/status": errno.EBUSY}


def test_what_cannot_be_hashed_raises_the_os_error_of_its_kind(tmp_path):
    for path, number in special(tmp_path).items():
        with pytest.raises(OSError) as caught:
            roar.hash_file(path, NAMES)
        assert caught.value.errno == number
        assert caught.value.filename == os.fspath(path)
        assert type(caught.value) is type(OSError(number, ""))


def test_errors_are_sentences(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(FileNotFoundError, match="No such file or directory: '/x'"):
        roar.hash_file("/x")
    with pytest.raises(IsADirectoryError, match="Is a directory: '/'"):
        roar.hash_file("/")
    with pytest.raises(OSError, match="Not a regular file: '.*/fifo'"):
        roar.hash_file(tmp_path / "fifo")
    with pytest.raises(OSError, match="changed each time it was read, hash it "
                                      "when no process writes to it: '/proc/self/"):
        roar.hash_file("/proc/self/status")


def test_a_file_one_may_not_read(tmp_path):
    (tmp_path / "secret").write_bytes(b"abc")
    (tmp_path / "secret").chmod(0)
    tmp_path.chmod(0o755)

    def as_nobody():
        os.chdir(tmp_path)
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        return roar.hash_file("secret")

    assert in_fork(as_nobody) == \
        "PermissionError: [Errno 13] Permission denied: 'secret'"


def test_a_file_that_keeps_changing_has_no_digest(large, tmp_path):
    path = tmp_path / "changes"
    shutil.copy(large, path)
    changes = threading.Event()

    def change():
        with open(path, "r+b", buffering=0) as f:
            while not changes.wait(0.0005):
                os.pwrite(f.fileno(), os.urandom(1), 7)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):  # the writer may have to wait for a CPU meanwhile
            error = roar.hash_files([path], "md5")[0].error
            if error:
                break
    finally:
        changes.set()
        thread.join()
    assert error.errno == errno.EBUSY
    assert roar.hash_file(path) == roar.hash(path.read_bytes())


# ---- many files ----

def test_many_files_with_bad_ones_among_them(tmp_path, large):
    bad = special(tmp_path)
    paths = []
    for i in range(300):
        path = tmp_path / f"f{i}"
        path.write_bytes(content(i * 97, i))
        paths.append(path)
    paths[100:100] = bad
    paths[200:200] = [large, str(paths[0]), os.fsencode(paths[0])]
    for threads in (0, 7):
        found = roar.hash_files(iter(paths), ["md5", "blake3"], threads=threads)
        assert [f.path for f in found] == paths
        for file in found:
            if file.path in bad:
                assert file.error.errno == bad[file.path]
                assert file.error.filename == os.fspath(file.path)
                assert (file.size, file.digests) == (0, {})
                continue
            data = pathlib.Path(os.fsdecode(file.path)).read_bytes()
            assert file.error is None
            assert file.size == len(data)
            assert file.digests == roar.hash(data, ["md5", "blake3"])
            assert file.digest == hashlib.md5(data).hexdigest()


def test_more_files_than_are_hashed_at_a_time(tmp_path):
    paths = []
    for i in range(50):
        (tmp_path / f"{i}").write_bytes(b"%d" % i)
        paths.append(str(tmp_path / f"{i}"))
    found = roar.hash_files(paths * 100)
    assert [f.path for f in found] == paths * 100
    assert [f.digest for f in found] == \
        [roar.hash(b"%d" % i) for i in range(50)] * 100


def test_no_files_are_no_error():
    assert roar.hash_files([]) == []


def test_a_digest_that_is_not_there_raises_why(tmp_path):
    good = tmp_path / "good"
    good.write_bytes(b"abc")
    found = roar.hash_files([good, "/x"])
    assert found[0] == roar.FileHash(good, 3, {"blake3": ABC}, None)
    with pytest.raises(FileNotFoundError, match="'/x'"):
        print([file.digest for file in found])
    again = pickle.loads(pickle.dumps(found))
    assert again[0] == found[0] and repr(again) == repr(found)


def test_paths_that_raise_are_not_swallowed():
    def paths():
        yield "/"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        roar.hash_files(paths())


# ---- others in the process ----

def ticks_during(work):
    """How often another thread came to run meanwhile."""
    ticks = [0]
    end = threading.Event()

    def tick():
        while not end.wait(0.001):
            ticks[0] += 1

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        before = ticks[0]
        work()
        return ticks[0] - before
    finally:
        end.set()
        thread.join()


def test_other_threads_run_meanwhile(large):
    data = bytes(30 << 20)
    assert ticks_during(lambda: roar.hash(data, ["md5", "sha512"])) > 5
    assert ticks_during(lambda: roar.hash_file(large, ["md5", "sha512"])) > 5
    assert ticks_during(
        lambda: roar.hash_files([large] * 3, ["md5", "sha512"])) > 5


def test_many_threads_hash_at_once(large, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content(300000))
    expected = roar.hash_files([large, path], ["blake3", "md5"])
    found = []

    def work():
        for _ in range(2):
            found.append(roar.hash_files([large, path], ["blake3", "md5"]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


class Alarm(Exception):
    pass


@pytest.fixture(name="alarm")
def set_alarm():
    """Has SIGALRM call something after a moment, again and again."""
    before = signal.getsignal(signal.SIGALRM)

    def start(function):
        signal.signal(signal.SIGALRM, lambda *_: function())
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.02)

    yield start
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def ring():
    signal.setitimer(signal.ITIMER_REAL, 0)
    raise Alarm


@pytest.mark.parametrize("threads", [1, 0])
def test_a_signal_ends_the_hashing_of_files(alarm, endless, threads):
    began = time.monotonic()
    n = descriptors()
    alarm(ring)
    with pytest.raises(Alarm):
        roar.hash_files([endless] * 9, "md5", threads=threads)
    assert time.monotonic() - began < 5
    assert descriptors() == n


def test_a_signal_ends_the_hashing_of_one_file(alarm, endless):
    alarm(ring)
    with pytest.raises(Alarm):
        roar.hash_file(endless)


def test_a_signal_ends_the_hashing_of_memory(alarm):
    # All of it is one page of zeroes.
    with mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                   prot=mmap.PROT_READ) as memory:
        alarm(ring)
        with pytest.raises(Alarm):
            roar.hash(memory, "md5")


def test_a_handler_may_hash_while_hashing_is_interrupted(alarm, tmp_path):
    outer, inner = tmp_path / "outer", tmp_path / "inner"
    outer.write_bytes(content(1900000))
    inner.write_bytes(content(1500000, 2))
    expected = roar.hash(outer.read_bytes(), ["md5", "sha512"])
    wanted = roar.hash_file(inner)
    seen = []
    alarm(lambda: seen.append(roar.hash_file(inner)))
    found = roar.hash_files([outer] * 60, ["md5", "sha512"], threads=1)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert seen and set(seen) == {wanted}
    assert all(file.digests == expected for file in found)


AT_EXIT = """
import os, sys, threading, time
import roar
class Last:
    def __del__(self, sleep=time.sleep, listdir=os.listdir, write=os.write):
        sleep(0.3)  # Python ends threads that ask for the GIL meanwhile
        write(1, b"%d threads" % len(listdir("/proc/self/task")))
last = Last()
threading.Thread(target=roar.hash_files, args=([sys.argv[1]] * 99999, "md5"),
                 kwargs={"threads": 4}, daemon=True).start()
while len(os.listdir("/proc/self/task")) < 5:
    time.sleep(0.001)
"""


def test_a_daemon_thread_hashes_until_python_has_ended(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(300000))
    done = subprocess.run([sys.executable, "-c", AT_EXIT, path], timeout=60,
                          check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "5 threads"  # helpers need the stack of their caller


def test_a_child_made_by_fork_hashes(large):
    expected = roar.hash_file(large, NAMES)
    assert in_fork(lambda: roar.hash_file(large, NAMES)) == str(expected)


# ---- what it costs ----

IMPORT = """
import sys
def loaded():
    with open("/proc/self/maps") as f:
        maps = f.read()
    return ["_roar_hash" in sys.modules, "_roar_hash" in maps, "libcrypto" in maps]
import roar
print(any(loaded()))
from roar import hash_file
print(loaded()[:2])
"""


def test_hashing_is_loaded_when_it_is_asked_for():
    done = subprocess.run([sys.executable, "-c", IMPORT], check=True,
                          capture_output=True, text=True)
    assert done.stdout == "False\n[True, True]\n"


def test_without_its_extension_the_rest_works():
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['_roar_hash'] = None\n"
         "import roar; roar.Arena(1 << 20).close()\n"
         "try:\n    roar.hash(b'')\nexcept ImportError as e:\n    print(e)"],
        check=True, capture_output=True, text=True)
    assert "install BLAKE3 and libcrypto" in done.stdout
    assert "and install roar again" in done.stdout


def test_a_star_leaves_pythons_own_hash():
    assert "hash" not in roar.__all__


def try_everything(paths, threads=0):
    roar.hash(b"abc", NAMES)
    roar.hash_files(paths, NAMES, threads=threads)
    for wrong in (lambda: roar.hash(b"", "x"), lambda: roar.hash("abc"),
                  lambda: roar.hash(memoryview(b"abc")[::2]),
                  lambda: roar.hash_file("/x"), lambda: roar.hash_file("/x\0"),
                  lambda: roar.hash_files(["/", 3])):
        with pytest.raises((ValueError, TypeError, BufferError, OSError)):
            wrong()


def test_no_descriptor_stays_open(tmp_path, large):
    paths = [large, *special(tmp_path)]
    try_everything(paths)
    n = descriptors()
    for _ in range(3):
        try_everything(paths)
    assert descriptors() == n


@leaks_show
def test_memory_stays_level(tmp_path):
    paths = [*special(tmp_path), tmp_path / "medium"]
    (tmp_path / "medium").write_bytes(bytes(100000))

    def work():
        try_everything(paths, threads=1)

    # Memory of some size lies here and there, so that it takes a while.
    _, memory = growth(work, 40, rounds=14)
    assert memory < 30000
    blocks = sys.getallocatedblocks()
    for _ in range(40):
        work()
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 20
