"""The group `arena` of run.py: arena.py with its goals, as rows among the others.

It runs under a Python of its own choice: the one that has NumPy, and Torch if any has,
because those are what people move."""

import glob
import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PROBE = "import roar.pipeline, numpy; import importlib.util as u; " \
    "print(bool(u.find_spec('torch')))"


def folders(bench):
    """Where the package is: extensions in the build, the rest where it lies."""
    build = os.path.dirname(os.path.abspath(bench.args.tools))
    return sorted(glob.glob(os.path.join(build, "python", "_*/"))) + [
        os.path.join(os.path.dirname(HERE), "python")]


def choose(bench):
    """The Python to be used; None when none can import what is needed."""
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(folders(bench)))
    found = None
    for python in dict.fromkeys((bench.python, "/usr/bin/python3")):
        done = subprocess.run([python, "-c", PROBE], env=env, check=False,
                              stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL)
        if done.returncode == 0 and (not found or "True" in done.stdout):
            found = python
    return found


def rows(bench):
    python = choose(bench)
    if not python:
        print("bench: no Python here has NumPy and can import the package roar: "
              "no rows of the arena")
        return
    out = os.path.join(bench.work, "arena.json")
    argv = [python, os.path.join(HERE, "arena.py"), "--goals", "--tools",
            bench.args.tools, "--work", bench.args.work, "--json", out]
    for folder in folders(bench):
        argv += ["--package", folder]
    if bench.args.quick:
        argv.append("--quick")
    if bench.args.docs:
        argv += ["--docs", bench.args.docs]
    if subprocess.run(argv, check=False).returncode == 0:
        with open(out, encoding="utf-8") as f:
            bench.rows += json.load(f)["rows"]
