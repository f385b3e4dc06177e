"""The builds that tests and lint share, and how a command is run.

Each build has a folder under build/matrix/.  All of them treat warnings as
errors; the build a user gets (build/ itself) does not.
"""

import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MATRIX = os.path.join(ROOT, "build", "matrix")
JOBS = str(os.cpu_count() or 2)
# A checkout elsewhere compiles the same: what a compiler made is kept by content,
# wherever it was made.
CACHE = shutil.which("ccache")


def cached(source):
    """The environment for builds of that copy of the source."""
    return dict(os.environ, CCACHE_NOHASHDIR="1", CCACHE_BASEDIR=source)


CACHED = cached(ROOT)

# What a finding of the undefined-behaviour sanitizer must do: end the program.
STRICT = "-fno-sanitize-recover=undefined -fno-omit-frame-pointer"

# The dashboard's page is the same in all of them: one builds and tests it.
NO_PAGE = "-Ddashboard=disabled"

BUILDS = {
    # What a distribution would build, with its assertions left in.
    "gcc": ("gcc", ["--buildtype=release", "-Db_ndebug=false"]),
    "asan": ("clang", ["--buildtype=debug", "-Doptimization=1",
                       "-Db_sanitize=address,undefined", "-Db_lundef=false",
                       "-Dc_args=" + STRICT, NO_PAGE]),
    "tsan": ("clang", ["--buildtype=debug", "-Doptimization=1",
                       "-Db_sanitize=thread", "-Db_lundef=false",
                       NO_PAGE]),
    "fuzz": ("clang", ["--buildtype=debug", "-Doptimization=1",
                       "-Db_sanitize=address,undefined", "-Db_lundef=false",
                       "-Dfuzz=enabled", NO_PAGE,
                       "-Dc_args=-fsanitize=fuzzer-no-link " + STRICT]),
}


def run(command, **options):
    """Runs without stdin; returns (exit status, output of both streams)."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          encoding="utf-8", errors="replace", check=False,
                          **options)
    return done.returncode, done.stdout


def say(text):
    print(text, flush=True)


def fail_early(what, output):
    """A build that does not stand: the end of its output says why."""
    lines = [line for line in output.rstrip().splitlines()
             if not re.match(r"\[\d+/\d+\] ", line)]
    say(f"-- {what} failed:")
    say("\n".join(lines[-60:]))


def configure(name, source=ROOT, folder=None):
    """Sets the build folder up, anew when its options are not today's."""
    folder = folder or os.path.join(MATRIX, name)
    compiler, options = BUILDS[name]
    setup = ["meson", "setup", folder, source, "-Dwerror=true",
             "-Dtests=enabled"] + options
    stamp = os.path.join(folder, ".options")
    try:
        with open(stamp, encoding="utf-8") as f:
            if f.read() == json.dumps(setup):
                return folder
    except OSError:
        pass
    shutil.rmtree(folder, ignore_errors=True)
    if CACHE:
        compiler = f"{CACHE} {compiler}"
    status, output = run(setup, env=dict(cached(source), CC=compiler))
    if status:
        fail_early(f"configuring {name}", output)
        return None
    with open(stamp, "w", encoding="utf-8") as f:
        f.write(json.dumps(setup))
    return folder


def build(name, source=ROOT, folder=None, targets=(), before=()):
    """Configures and compiles, by a command with these words before it; returns
    the folder, or None after a failure."""
    folder = configure(name, source, folder)
    if not folder:
        return None
    status, output = run([*before, "ninja", "-C", folder, "-j", JOBS,
                          *targets], env=cached(source))
    if status:
        fail_early(f"building {name}", output)
        return None
    return folder


def files():
    """The files of the project: tracked, or new and not ignored."""
    listing = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"], stdout=subprocess.PIPE, check=True).stdout
    names = [os.fsdecode(n) for n in listing.split(b"\0") if n]
    return sorted(n for n in set(names)
                  if os.path.isfile(os.path.join(ROOT, n)))


if __name__ == "__main__":
    sys.exit("matrix.py is a module of tools/run-tests and tools/lint")
