"""Goes through shards in all ways that are compared, one after the other, and prints
what each took: one JSON object a round, of seconds by way.

    readers_load.py FOLDER ROUNDS

The files are read once before, so that all are in the page cache.  Ours is timed from
opening the shard, whose index is kept, to the end of the loop; cat from its start to its
end; tarfile and webdataset from opening the archive to the end of the loop."""

import json
import os
import subprocess
import sys
import tarfile
import time

import roar
from roar.readers import open_shard

try:
    import webdataset
except ImportError:
    webdataset = None

RECORD_BYTES = 224 * 224 * 3


def by_cat(path):
    subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True)


def by_us(path, **options):
    for _ in open_shard(path, **options):
        pass


def first_of_shards(path, **options):
    """From opening the stream to its first sample."""
    with roar.shards(path, **options) as data:
        next(iter(data))


def first_of_shard(path, **options):
    with open_shard(path, **options) as shard:
        next(iter(shard))


def by_tarfile(path):
    with tarfile.open(path) as tar:
        for member in tar:
            tar.extractfile(member).read()


def by_webdataset(path):
    for _ in webdataset.WebDataset(path, shardshuffle=False):
        pass


def ways(folder):
    tar = os.path.join(folder, "shard.tar")
    raw = os.path.join(folder, "shard.bin")
    yield "tar cat", by_cat, tar, {}
    yield "tar bytes", by_us, tar, {}
    yield "tar views", by_us, tar, {"views": True}
    yield "tar tarfile", by_tarfile, tar, {}
    if webdataset:
        yield "tar webdataset", by_webdataset, tar, {}
    yield "tar first", first_of_shards, tar, {}
    yield "tar first, no index", first_of_shards, tar, {"index": "none"}
    yield "shard first", first_of_shard, tar, {}
    yield "shard first, no index", first_of_shard, tar, {"index": "none"}
    yield "raw cat", by_cat, raw, {}
    yield "raw bytes", by_us, raw, {"record_bytes": RECORD_BYTES, "views": False}
    yield "raw views", by_us, raw, {"record_bytes": RECORD_BYTES}


def main():
    folder, rounds = sys.argv[1], int(sys.argv[2])
    os.environ["XDG_CACHE_HOME"] = folder   # for the index
    for _ in range(rounds + 1):             # the first one is for the page cache
        took = {}
        for name, way, path, options in ways(folder):
            start = time.perf_counter()
            way(path, **options)
            took[name] = time.perf_counter() - start
        print(json.dumps(took), flush=True)


main()
