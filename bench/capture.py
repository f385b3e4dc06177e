"""What it costs to record more than files: the situation of a job, and collections.

The machine, the environment and the packages are found after the command has ended:
`situation_ms` of ROAR_TIMING.  The job imports torch.  When it is cold, the user's cache
has nothing of it; the files of the package database are in the page cache.

A collection of 100,000 small files is created, which hashes them (the digest cache is
emptied before) and records its members, and then listed."""

import json
import os
import shutil
import subprocess
import sys

from measure import spawn_ms, wall_ms

FILES, FOLDER = 100_000, 1000


def make_files(path):
    for n in range(FILES):
        if n % FOLDER == 0:
            folder = os.path.join(path, f"{n // FOLDER:04d}")
            os.makedirs(folder)
        with open(os.path.join(folder, f"{n:07d}.bin"), "wb") as f:
            f.write(b"%d" % n)


def collection_rows(bench):
    project = bench.project("collection", bench.ram)
    home = bench.made("home")
    env = ["env", f"HOME={home}", f"XDG_CACHE_HOME={home}/cache", bench.roar]
    path = os.path.join(project, "set")
    os.mkdir(path)
    make_files(path)

    created = []
    for _ in range(bench.reps(5)):
        shutil.rmtree(os.path.join(home, "cache"), ignore_errors=True)
        shutil.rmtree(os.path.join(project, ".roar"))
        subprocess.run([bench.roar, "init", "-n"], cwd=project, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        created.append(wall_ms([*env, "collection", "create", "all", "set"],
                               project))
    bench.add("collection of 100,000 files: create, per file", "us", None,
              [1000 * ms / FILES for ms in created])
    for title, args in (("list", ["ls"]), ("show", ["show", "all"]),
                        ("show every member", ["show", "all", "--all"]),
                        ("compare", ["diff", "all", "set"])):
        bench.add(f"  {title}", "ms", None,
                  [wall_ms([*env, "collection", *args], project)
                   for _ in range(bench.reps(5))])


def situation_ms(bench, project, env, command):
    done = subprocess.run([bench.roar, "run", "-q", *command], cwd=project,
                          env=dict(os.environ, ROAR_TIMING="1", **env),
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    _, found, timing = done.stderr.partition("ROAR_TIMING:")
    if done.returncode or not found:
        sys.exit(f"bench: no ROAR_TIMING in: {done.stderr[-400:]}")
    return json.loads(timing)["situation_ms"]


def situation_rows(bench):
    project = bench.project("situation", bench.ram)
    cache = os.path.join(bench.made("situation-home"), "cache")
    env = {"XDG_CACHE_HOME": cache}
    job = ["/usr/bin/python3", "-c", "import torch"]
    if subprocess.run(job, stderr=subprocess.DEVNULL, check=False).returncode:
        print("the rows about torch are left out: python3-torch is missing")
        job = ["/usr/bin/python3", "-c", "import json"]
    situation_ms(bench, project, env, job)
    cold, warm = [], []
    for _ in range(bench.reps(9)):
        shutil.rmtree(cache)
        cold.append(situation_ms(bench, project, env, job))
        warm.append(situation_ms(bench, project, env, job))
    bench.add("machine, environment, packages of a job with torch, cold", "ms",
              20.0, cold)
    bench.add("  warm", "ms", 1.0, warm)
    # The first of these run in a cold cache.
    bench.add("  of `roar run true`", "ms", None,
              [situation_ms(bench, project, env, ["true"])
               for _ in range(bench.reps(41) + 3)][3:])
    bench.add("roar run true", "ms", 6.0,
              [spawn_ms([bench.roar, "run", "-q", "true"], project)
               for _ in range(bench.reps(101) + 3)][3:])


def rows(bench):
    situation_rows(bench)
    collection_rows(bench)
