"""Redis's own tests of its files on disk, from Debian's sources.

The server that they start is redis-tools's redis-check-rdb: Debian links one program
under both names, and the package redis-server would start a service.  The tests call
ldd, which preload does not follow."""

import collections
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest

from outside import TRACERS, known_tests, run, traced

UNITS = ["integration/aof", "integration/convert-zipmap-hash-on-load",
         "integration/logging", "integration/rdb", "unit/shutdown"]
PROGRAMS = {"redis-server": "redis-check-rdb", "redis-cli": "redis-cli",
            "redis-benchmark": "redis-benchmark", "redis-check-aof": "redis-check-aof",
            "redis-check-rdb": "redis-check-rdb"}
RESULT = re.compile(r"\[(ok|err|exception|ignore|skip|timeout)\]: (.*?)"
                    r"(?: \(\d+ ms\))?$", re.MULTILINE)
COLOUR = re.compile("\x1b\\[[0-9;]*m")


def codename():
    """Debian's name of this release, or nothing."""
    release = pathlib.Path("/etc/os-release").read_text()
    found = re.search(r"^VERSION_CODENAME=(\w+)$", release, re.MULTILINE)
    return found[1] if found and "\nID=debian\n" in release else None


def apt(folder, *arguments):
    """Runs apt-get with a list of sources and a cache of its own."""
    settings = {"Dir::Etc::sourcelist": folder / "sources.list",
                "Dir::Etc::sourceparts": "-", "Dir::State::lists": folder / "lists",
                "Dir::Cache": folder / "cache", "APT::Sandbox::User": "",
                "Acquire::Languages": "none", "Acquire::http::Timeout": "20"}
    options = [f"-o{key}={value}" for key, value in settings.items()]
    done = subprocess.run(["apt-get", "-q", *options, *arguments], cwd=folder,
                          text=True, capture_output=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip(f"apt-get {arguments[0]} gives no source of redis: "
                    f"{done.stderr.strip().splitlines()[-1]}")


@pytest.fixture(name="source", scope="module")
def source_folder(tmp_path_factory):
    """Redis's sources with the installed programs in the places of built ones."""
    for program in ("tclsh", "apt-get", *PROGRAMS.values()):
        if not shutil.which(program):
            pytest.skip(f"needs {program}: apt-get install redis-tools tcl")
    if not codename():
        pytest.skip("needs Debian's sources: this is another distribution")
    folder = tmp_path_factory.mktemp("apt")
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True)
    (folder / "sources.list").write_text(
        f"deb-src http://deb.debian.org/debian {codename()} main\n")
    apt(folder, "update")
    apt(folder, "source", "--download-only", "--only-source", "redis")
    with tarfile.open(next(folder.glob("redis_*.orig.tar.*"))) as tar:
        tar.extractall(folder / "source")
    source = next((folder / "source").iterdir())
    for name, program in PROGRAMS.items():
        (source / "src" / name).symlink_to(shutil.which(program))
    return source


def suite(source, folder):
    """The command, to be run in a copy: it writes below itself."""
    for part in ("src/redis-*", "tests", "redis.conf"):
        for path in source.glob(part):
            copy = folder / path.relative_to(source)
            copy.parent.mkdir(exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, copy)
            else:
                shutil.copy(path, copy, follow_symlinks=False)
    units = [word for unit in UNITS for word in ("--single", unit)]
    return ["tclsh", "tests/test_helper.tcl", "--clients", "2", "--config", "bind",
            "127.0.0.1", *units]


def results(said):
    """How often each test had which result."""
    return collections.Counter((test, result) for result, test
                               in RESULT.findall(COLOUR.sub("", said)))


@pytest.fixture(name="bare", scope="module")
def bare_results(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare")
    code, said = run(suite(source, folder), folder)
    assert results(said)["FLUSHDB / FLUSHALL should persist in AOF", "ok"], said[-3000:]
    return code, results(said)


@pytest.mark.parametrize("tracer", [one for one in TRACERS if one != "preload"])
def test_it_says_the_same_as_without(bare, source, tracer, tmp_path):
    code, said = traced("redis", tracer, suite(source, tmp_path), tmp_path)
    there = results(said)
    other = {test for test, _ in [*(bare[1] - there), *(there - bare[1])]}
    unknown = other - known_tests("redis", tracer)
    assert not unknown, (unknown, said[-3000:])
    assert other or code == bare[0]
