"""SPDL's own arena beside ours: the package `spdl`, in an environment of its own.

It is installed by pip into the work folder, once, with the system's NumPy and Torch in
sight, so that both libraries move the same objects.  Where that cannot be, one line
says so and there are no ratios."""

import os
import subprocess
import sys

LIBRARY = "spdl.pipeline"
NAME = "spdl-venv"


def works(python):
    done = subprocess.run([python, "-c", f"import {LIBRARY}"], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return done.returncode == 0


def install(folder):
    """'' or why not."""
    steps = ([sys.executable, "-m", "venv", "--system-site-packages", folder],
             [os.path.join(folder, "bin", "python"), "-m", "pip", "install",
              "--quiet", "--disable-pip-version-check", "spdl"])
    for argv in steps:
        try:
            done = subprocess.run(argv, check=False, text=True, timeout=300,
                                  stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        except (OSError, subprocess.TimeoutExpired) as e:
            return str(e)
        if done.returncode:
            lines = done.stdout.strip().splitlines() or ["no reason given"]
            return lines[-1]
    return ""


def find(where, work):
    """Its Python: of the environment `where`, or of one made in `work` ("auto").
    None, and a line that says why, when it cannot be had."""
    if where == "none":
        return None
    folder = os.path.join(work, NAME) if where == "auto" else where
    python = os.path.join(folder, "bin", "python")
    why = ""
    if where == "auto" and not os.path.exists(python):
        why = install(folder)
    if not why and works(python):
        return python
    print(f"SPDL is not measured: {why or f'{python} cannot import {LIBRARY}'}")
    return None
