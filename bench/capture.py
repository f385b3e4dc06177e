"""What it costs to record more than files: collections.

A collection of 100,000 small files is created, which hashes them (the digest cache is
emptied before) and records its members, and then listed."""

import os
import shutil
import subprocess

from measure import wall_ms

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


def rows(bench):
    collection_rows(bench)
