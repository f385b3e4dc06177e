"""Readers of shards beside cat and Python's own loop, on files in the page cache.

A tar as WebDataset has them (a picture of 110 kB and a label for each sample) and raw
records (224 x 224 x 3 bytes), each gone through as a whole from Python, in turn with `cat
FILE >/dev/null`.  Ratios are of speeds, one a round: 1 is as fast as cat, which hands
nothing to anybody."""

import io
import json
import os
import subprocess
import sys
import tarfile

import s3_shards
import shards_docs
from coordinator_servers import Failed, python_env, python_with

LOAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "readers_load.py")
PICTURE, LABEL, RECORD = 110_000, 2, 224 * 224 * 3
TO_CAT, TO_TARFILE = 0.9, 3


def write_tar(path, n):
    picture = os.urandom(PICTURE)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(n):
            for name, data in (("jpg", picture), ("cls", b"7\n")):
                info = tarfile.TarInfo(f"{i:06d}.{name}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


def write_raw(path, n):
    record = os.urandom(RECORD)
    with open(path, "wb") as f:
        for _ in range(n):
            f.write(record)


def measured(bench):
    """Seconds by way, of each round."""
    folder = os.path.join(bench.work, "readers")
    size = (256 if bench.args.quick else 1024) << 20
    os.mkdir(folder)
    write_tar(os.path.join(folder, "shard.tar"), size // PICTURE)
    write_raw(os.path.join(folder, "shard.bin"), size // RECORD)
    done = subprocess.run(
        [python_with(bench, "roar.readers"), LOAD, folder, str(bench.reps(15))],
        env=python_env(bench), stdout=subprocess.PIPE, check=True)
    sizes = {kind: os.path.getsize(os.path.join(folder, f"shard.{end}"))
             for kind, end in (("tar", "tar"), ("raw", "bin"))}
    return [json.loads(line) for line in done.stdout.splitlines()][1:], sizes


def ratio_row(bench, title, rounds, ours, theirs, goal):
    bench.add(title, "x", goal, [took[theirs] / took[ours] for took in rounds],
              at_least=True)


def kind_rows(bench, kind, title, rounds, size):
    bench.add(f"{title}, cat", "GB/s", None,
              [size / took[f"{kind} cat"] / 1e9 for took in rounds],
              at_least=True)
    for way, words in (("views", "as views"), ("bytes", "as bytes")):
        ratio_row(bench, f"  roar.readers to that, {words}", rounds,
                  f"{kind} {way}", f"{kind} cat", TO_CAT)


def rows(bench, facts):
    try:
        rounds, sizes = measured(bench)
    except Failed as error:
        print(f"bench: {error}: no rows of readers", file=sys.stderr)
        return
    before = len(bench.rows)
    kind_rows(bench, "tar", "WebDataset tar", rounds, sizes["tar"])
    ratio_row(bench, "  as bytes, to Python's tarfile", rounds, "tar bytes",
              "tar tarfile", TO_TARFILE)
    if "tar webdataset" in rounds[0]:
        ratio_row(bench, "  as bytes, to webdataset", rounds, "tar bytes",
                  "tar webdataset", TO_TARFILE)
    for way, what in (("tar", "roar.shards()"), ("shard", "open_shard()")):
        for end, words in (("", "with its index"), (", no index", "without")):
            bench.add(f"  first sample of {what}, {words}", "ms", None,
                      [1000 * took[f"{way} first{end}"] for took in rounds])
    kind_rows(bench, "raw", "raw records", rounds, sizes["raw"])
    s3_shards.rows(bench)
    if bench.args.docs:
        shards_docs.into(bench.args.docs, facts, bench.rows[before:], "readers")
