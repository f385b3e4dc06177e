"""roar.shards("s3://...") beside a plain download of the same objects in parallel ranges,
both by Python, from a server in memory on loopback (s3_origin)."""

import http.client
import json
import os
import subprocess
import sys

from coordinator_servers import python_env, python_with
from coordinator_servers import Failed as NoPython

LOAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "s3_shards_load.py")
SHARDS, TO_DOWNLOAD = 3, 0.8


def put(origin, name, path):
    connection = http.client.HTTPConnection("127.0.0.1", origin.port)
    with open(path, "rb") as f:
        connection.request("PUT", f"/bench/{name}", f.read())
    status = connection.getresponse().status
    connection.close()
    if status != 200:
        raise NoPython(f"the server answered {status}")


def measured(bench):
    """Seconds by way, of each round."""
    from proxy_servers import Origin, environment
    shard = os.path.join(bench.work, "readers", "shard.tar")
    python = python_with(bench, "roar.readers")
    names = [f"train-{n}.tar" for n in range(SHARDS)]
    origin = Origin(bench)
    try:
        for name in names:
            put(origin, name, shard)
        done = subprocess.run(
            [python, LOAD, origin.endpoint, str(bench.reps(15)),
             *(f"s3://bench/{name}" for name in names)],
            env={**environment(AWS_ENDPOINT_URL_S3=origin.endpoint,
                               XDG_CACHE_HOME=os.path.join(bench.work, "s3")),
                 "PYTHONPATH": python_env(bench)["PYTHONPATH"]},
            stdout=subprocess.PIPE, check=True)
    finally:
        origin.stop()
    return ([json.loads(line) for line in done.stdout.splitlines()],
            SHARDS * os.path.getsize(shard))


def rows(bench):
    if not os.path.exists(bench.tool("s3_origin")):
        print("bench: roar was built without S3: no rows of its readers",
              file=sys.stderr)
        return
    try:
        rounds, size = measured(bench)
    except (NoPython, subprocess.CalledProcessError) as error:
        print(f"bench: {error}: no rows of readers of S3", file=sys.stderr)
        return
    bench.add("3 tars in S3, downloaded by 8 connections", "GB/s", None,
              [size / took["download"] / 1e9 for took in rounds],
              at_least=True)
    for way in ("in order", "shuffled"):
        bench.add(f'  roar.shards("s3://...") to that, {way}', "x",
                  TO_DOWNLOAD,
                  [took["download"] / took[way] for took in rounds],
                  at_least=True)
