"""Runs a real program untraced and under every tracer, and compares.

Each run has the same absolute place, made anew: whatever a program writes about
where it is comes out the same.  What must be equal to the untraced run: exit
status, both streams, and every file left behind, byte by byte.  What must be
equal among the tracers: which files the record names in which role, and the
digests of what is in the project.

`preload` alone does not see what libc and the loader open by themselves, so only
files of the project are compared for it."""

import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
from helpers import TIMEOUT, gaps_of, make_place  # noqa: E402

TRACERS = ("ptrace", "hybrid", "ebpf", "preload")
SECTIONS = ("inputs", "outputs", "temporaries", "touched")
# Names that are drawn by lot, or made of process numbers.
RANDOM = (
    (r"/cc[A-Za-z0-9]{6}(?=\.|$)", "/cc*"),  # gcc
    (r"/(sed|st)[A-Za-z0-9]{6}$", r"/\1*"),  # sed, binutils
    (r"/(tmp|sh-thd|pym|pip|sort)[-.a-z]*[-_.A-Za-z0-9]{6,}", r"/\1*"),
    (r"/tmp/[a-z0-9_]{8}$", "/tmp/*"),  # Python, to see where it may write
    (r"tmp_(obj|pack|idx)_[A-Za-z0-9]{6}", r"tmp_\1_*"),  # git
    (r"/(\.[^/]+)\.[A-Za-z0-9]{6}$", r"/\1.*"),  # rsync
    (r"/proc/\d+", "/proc/*"),
    (r"/sem\.[^/]+|/mp-[^/]+", "/sem*"),
    (r"/torch_\d+_\d+_(\d+)$", r"/torch_*_\1"),  # pid, random, count
)


class Case:
    """One command line with what it needs and what may differ.

    setup(place)  makes its input files
    command       argv, or a script for bash
    varies        pattern of relative names whose content is not compared,
                  since the program puts a time or an inode number in there
    code          how it ends
    stdout        where its standard output goes: None for a pipe, else a file
                  of the project"""

    def __init__(self, command, setup=None, varies=None, code=0, stdout=None,
                 env=None):
        self.command = ["bash", "-c", command] if isinstance(command, str) \
            else list(command)
        self.setup, self.code, self.stdout = setup, code, stdout
        self.varies = re.compile(varies) if varies else None
        self.env = env or {}


class Outcome:
    """How one run ended, and what it left."""

    def __init__(self, code, out, err, files, job):
        # A command that a signal ends has the status that a shell gives it.
        self.code = code if code >= 0 else 128 - code
        self.out, self.err = out, err
        self.files, self.job = files, job


def plain(name):
    for pattern, text in RANDOM:
        name = re.sub(pattern, text, name)
    return name


def content(path, info):
    if stat.S_ISLNK(info.st_mode):
        return "link " + os.readlink(path)
    if not stat.S_ISREG(info.st_mode):
        return "special"
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def tree(root, varies):
    """Every name below with mode and content, without roar's own folder."""
    found = {}
    for folder, folders, names in os.walk(root):
        if folder == root and ".roar" in folders:
            folders.remove(".roar")
        for name in sorted(folders + names):
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, root)
            info = os.lstat(path)
            text = "varies" if varies and varies.search(relative) else \
                content(path, info)
            found[plain("/" + relative)] = (stat.filemode(info.st_mode), text)
    return found


def renew(place, case):
    """An empty project with the case's input."""
    for name in ("project", "tmp"):
        shutil.rmtree(os.path.join(place.base, name), ignore_errors=True)
        os.mkdir(os.path.join(place.base, name))
    place.env["TMPDIR"] = os.path.join(place.base, "tmp")
    if case.setup:
        case.setup(place)


def run(place, case, tracer):
    """Once, untraced when `tracer` is None."""
    renew(place, case)
    argv = case.command
    if tracer:
        place("init", "-n")
        argv = place.argv("run", "-q", "--tracer", tracer, "--", *argv)
    stdout = subprocess.PIPE
    if case.stdout:
        stdout = os.open(place.path(case.stdout), os.O_WRONLY | os.O_CREAT |
                         os.O_TRUNC, 0o644)
    done = subprocess.run(argv, cwd=place.root, stdin=subprocess.DEVNULL,
                          stdout=stdout, stderr=subprocess.PIPE,
                          env=place.environment(case.env), timeout=TIMEOUT,
                          check=False)
    if case.stdout:
        os.close(stdout)
    return Outcome(done.returncode, done.stdout, done.stderr,
                   tree(place.root, case.varies),
                   place.last("--all") if tracer else None)


def artifacts(place, case, job, everywhere):
    """What the record says of files, as a set."""
    found = set()
    for section in SECTIONS:
        for row in job[section]:
            inside = row["path"].startswith(place.root + "/")
            if not (inside or everywhere) or row["type"] != "regular":
                continue
            name = plain(row["path"])
            digest = None
            if inside and section in ("inputs", "outputs") and not (
                    case.varies and case.varies.search(name)):
                digest = (row["digests"] or {}).get("blake3")
            found.add((section, name, row["intermediate"], digest))
    return found


def difference(one, other, names):
    """The first few entries that only one of two sets has."""
    lines = [f"only {names[0]}: {e}" for e in sorted(one - other, key=str)]
    lines += [f"only {names[1]}: {e}" for e in sorted(other - one, key=str)]
    return lines[:30]


def usable(place):
    """The tracers that work here, of those in ROAR_TEST_TRACERS if it is set."""
    wanted = os.environ.get("ROAR_TEST_TRACERS", "").split() or TRACERS
    return [name for name in TRACERS if name in wanted
            and place("tracer", "check", name, code=None).code == 0]


def same_run(expected, found, tracer):
    assert found.code == expected.code, (tracer, found.err)
    assert found.out == expected.out, tracer
    assert found.err == expected.err, tracer
    wrong = difference(set(expected.files.items()), set(found.files.items()),
                       ("untraced", tracer))
    assert not wrong, "\n".join(wrong)


def same_record(place, case, reference, found, tracer):
    everywhere = tracer != "preload"
    wrong = difference(artifacts(place, case, reference.job, everywhere),
                       artifacts(place, case, found.job, everywhere),
                       (reference.job["tracer"], tracer))
    assert not wrong, "\n".join(wrong)


def compare(roar, case):
    """The test: everything above, for one case."""
    place = make_place(roar)
    try:
        expected = run(place, case, None)
        assert expected.code == case.code, (expected.out, expected.err)
        reference = None
        for tracer in usable(place):
            found = run(place, case, tracer)
            assert found.job["tracer"] == tracer
            same_run(expected, found, tracer)
            if tracer != "preload":
                assert found.job["verdict"] == "complete", \
                    (tracer, gaps_of(found.job))
            if reference is None:
                reference = found
                assert found.job["exit_code"] == case.code
            else:
                same_record(place, case, reference, found, tracer)
    finally:
        place.remove()
