"""embed.py - builds the dashboard's page and writes it as C.

usage: embed.py OUTPUT
       embed.py OUTPUT --npm NPM --node NODE --work FOLDER [--required]

The first writes a table without files: a program without the page.  The second
fetches what package-lock.json names and lets Vite build, in a copy of the sources in
FOLDER, so that nothing is written beside them.  Where that fails, most likely
because nothing can be fetched, it says so and writes the empty table, unless
--required is given.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = ("index.html", "package.json", "package-lock.json", "tsconfig.json",
           "vite.config.ts", "src")
TYPES = {".html": "text/html; charset=utf-8",
         ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml"}
PATIENCE_S = 300

HEAD = """/* Written by web/embed.py. */
#include "http/static_files.h"

"""


def copy_sources(work):
    for name in SOURCES:
        source, target = os.path.join(HERE, name), os.path.join(work, name)
        if os.path.isdir(source):
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)


def run(command, work):
    """Its output is shown only where it fails."""
    done = subprocess.run(command, cwd=work, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          encoding="utf-8", errors="replace", check=False,
                          timeout=PATIENCE_S)
    if done.returncode:
        raise RuntimeError(done.stdout.strip()[-2000:])


def fetch(npm, work):
    """Once for each package-lock.json."""
    with open(os.path.join(work, "package-lock.json"), "rb") as f:
        wanted = hashlib.sha256(f.read()).hexdigest()
    stamp = os.path.join(work, "node_modules", ".fetched")
    try:
        with open(stamp, encoding="ascii") as f:
            if f.read() == wanted:
                return
    except OSError:
        pass
    run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund",
         "--prefer-offline", "--fetch-retries=1", "--fetch-timeout=30000"],
        work)
    with open(stamp, "w", encoding="ascii") as f:
        f.write(wanted)


def build(args):
    """The folder of the built page."""
    os.makedirs(args.work, exist_ok=True)
    copy_sources(args.work)
    fetch(args.npm, args.work)
    run([args.node, "node_modules/vite/bin/vite.js", "build", "--logLevel",
         "warn"], args.work)
    return os.path.join(args.work, "dist")


def files_of(folder):
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(base, name)
            with open(path, "rb") as f:
                yield "/" + os.path.relpath(path, folder), f.read()


def as_text(data):
    """Lines of a C string."""
    plain = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    for at in range(0, len(data), 60):
        yield '\t"' + "".join(
            plain.get(c) or (chr(c) if 0x20 <= c < 0x7f else f"\\{c:03o}")
            for c in data[at:at + 60]) + '"'


def as_c(files):
    rows, arrays = [], []
    for i, (path, data) in enumerate(files):
        etag = hashlib.sha256(data).hexdigest()[:16]
        arrays.append(f"static const char file_{i}[] =\n" +
                      ("\n".join(as_text(data)) or '\t""') + ";\n")
        rows.append(
            "\t{ " + ", ".join([
                f'"{"/" if path == "/index.html" else path}"',
                f'"{TYPES[os.path.splitext(path)[1]]}"',
                f'"\\"{etag}\\""',
                "true" if path.startswith("/assets/") else "false",
                f"file_{i}", f"sizeof(file_{i}) - 1"]) + " },")
    # No array is empty in C: the last row is never looked at.
    return (HEAD + "\n".join(arrays) +
            "\nconst struct static_file dashboard_files[] = {\n" +
            "\n".join(rows + ["\t{ 0 },"]) + "\n};\n" +
            f"const size_t dashboard_n_files = {len(rows)};\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("--npm")
    parser.add_argument("--node")
    parser.add_argument("--work")
    parser.add_argument("--required", action="store_true")
    args = parser.parse_args()
    files = []
    if args.npm:
        try:
            files = list(files_of(build(args)))
        except (OSError, RuntimeError, subprocess.SubprocessError) as e:
            print(f"web: the dashboard's page could not be built: {e}",
                  file=sys.stderr)
            if args.required:
                return 1
            print("web: going on without it; to try again, touch "
                  "web/package.json", file=sys.stderr)
    with open(args.output, "w", encoding="ascii") as f:
        f.write(as_c(files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
