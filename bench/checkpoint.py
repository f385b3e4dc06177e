"""Checkpoints: saved, loaded and copied, beside what bounds them and beside torch.

    CHECKPOINT_SIZE_MB    size of the state, 1024 if it is not set
    STORAGE_BACKEND       local or s3; both if it is not set
    CHECKPOINT_BUCKET     with s3: a bucket of the configured server; without it, a server in
                          memory on loopback (s3_origin)

checkpoint_io (checkpoint_io.c) alternates what is compared within each round."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

import shards_docs
from coordinator_servers import Failed as NoPython
from coordinator_servers import python_with

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "checkpoint_peers.py")
CHUNK = 1 << 20


class Failed(Exception):
    """A figure that cannot be had, and why."""


def size_mib():
    return int(os.environ.get("CHECKPOINT_SIZE_MB", "1024"))


def rounds_of(bench, what, *args, env=None):
    """The seconds by name of each round."""
    done = subprocess.run([bench.tool("checkpoint_io"), what, *map(str, args)],
                          stdout=subprocess.PIPE, check=False, env=env)
    if done.returncode:
        raise Failed(f"checkpoint_io {what} exits with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def gb_s(size, rounds, name):
    return [size / took[name] / 1e9 for took in rounds]


def ratio(rounds, above, below):
    return [took[above] / took[below] for took in rounds]


def folder(bench, name):
    path = os.path.join(bench.work, name)
    os.makedirs(path, exist_ok=True)
    return path


# ---- a disk ----

def peer(bench, package, path, n):
    """Seconds of the package's save and load, each durable or cold; None without it."""
    try:
        python = python_with(bench, package + ".torch" if package != "torch" else package)
    except NoPython as error:
        print(f"bench: {error}: no rows beside it", file=sys.stderr)
        return None
    done = subprocess.run([python, PEERS, package, path, str(size_mib()), str(n)],
                          stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise Failed(f"checkpoint_peers.py {package} exits with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def local_rows(bench):
    path, size, n = folder(bench, "checkpoints"), size_mib() << 20, bench.reps(9)
    saves = rounds_of(bench, "write", path, size_mib(), n)
    bench.add(f"checkpoint of {size_mib()} MiB, saved durably", "GB/s", None,
              gb_s(size, saves, "save"), at_least=True)
    bench.add("  to O_DIRECT writes of as much", "x", 0.9, ratio(saves, "floor", "save"),
              at_least=True)
    loads = rounds_of(bench, "load", path, size_mib(), n)
    bench.add("  loaded cold and verified", "GB/s", None, gb_s(size, loads, "load"),
              at_least=True)
    bench.add("  to O_DIRECT reads of as much", "x", 0.9, ratio(loads, "floor", "load"),
              at_least=True)
    for package in ("torch", "safetensors"):
        peers = peer(bench, package, path, min(n, 5))
        if peers:
            pairs = list(zip(peers, saves, loads))
            bench.add(f"  saved, to {package} with fsync", "x",
                      2.5 if package == "torch" else None,
                      [p["save"] / s["save"] for p, s, _ in pairs], at_least=True)
            bench.add(f"  loaded, to {package}", "x", 2.0 if package == "torch" else None,
                      [p["load"] / m["load"] for p, _, m in pairs], at_least=True)
    deltas = rounds_of(bench, "delta", path, size_mib(), bench.reps(5))
    bench.add("second save, 1 % changed: bytes written", "%", 1.5,
              [100 * took["written"] for took in deltas])
    bench.add("  of the state", "GB/s", None, gb_s(size, deltas, "delta"), at_least=True)
    shutil.rmtree(path)


# ---- memory ----

def memory_rows(bench):
    size, n = size_mib() << 20, bench.reps(15)
    bench.add("header of 10,000 tensors", "ms", 1.0,
              [1e3 * took["header"] for took in rounds_of(bench, "header", 10000, n)])
    hashes = rounds_of(bench, "hash", size_mib(), n)
    bench.add("tensors serialised and hashed in memory", "GB/s", None,
              gb_s(size, hashes, "serialised"), at_least=True)
    bench.add("  to BLAKE3 alone on the same CPUs", "x", 0.9,
              ratio(hashes, "hashed", "serialised"), at_least=True)
    stalls = rounds_of(bench, "stall", size_mib(), n)
    bench.add("asynchronous save: stall to memcpy()", "x", 1.15,
              ratio(stalls, "stall", "memcpy"))


# ---- object storage ----

def receive_all(listener):
    connection, _ = listener.accept()
    buffer = bytearray(CHUNK)
    while connection.recv_into(buffer):
        pass
    connection.close()


def tcp_seconds(size):
    """A plain copy over one loopback connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=receive_all, args=(listener,))
        thread.start()
        data = bytes(CHUNK)
        start = time.perf_counter()
        with socket.create_connection(listener.getsockname()) as sender:
            for _ in range(size // CHUNK):
                sender.sendall(data)
            sender.shutdown(socket.SHUT_WR)
            thread.join()
        return time.perf_counter() - start


BOTO3 = """
import io, sys, time, boto3
url, mib, name = sys.argv[1:]
body = bytes(int(mib) << 20)
client = boto3.client("s3", endpoint_url=url or None)
bucket, _, key = name.removeprefix("s3://").partition("/")
start = time.perf_counter()
client.upload_fileobj(io.BytesIO(body), bucket, key)
print(time.perf_counter() - start)
"""


def boto3_seconds(bench, env, name):
    """An upload of as much from memory by boto3, which takes parts of 8 MB on ten
    threads; None where there is no boto3."""
    try:
        python = python_with(bench, "boto3")
    except NoPython as error:
        print(f"bench: {error}: no rows beside it", file=sys.stderr)
        return None
    done = subprocess.run([python, "-c", BOTO3, env.get("AWS_ENDPOINT_URL_S3", ""),
                           str(size_mib()), name],
                          stdout=subprocess.PIPE, check=False, env=env)
    if done.returncode:
        raise Failed(f"boto3 exits with {done.returncode}")
    return float(done.stdout)


def object_rows(bench):
    from proxy_servers import Origin, environment
    size, n = size_mib() << 20, bench.reps(5)
    bucket = os.environ.get("CHECKPOINT_BUCKET")
    origin = None if bucket else Origin(bench)
    try:
        env = dict(os.environ) if bucket else \
            environment(AWS_ENDPOINT_URL_S3=origin.endpoint)
        # The own server drops what is below "sink": it has no pages to fill.
        url = f"s3://{bucket or 'bench'}/sink-roar-bench-{os.getpid()}"
        # A round each: the server keeps what is stored.
        saves, peers = [], []
        for i in range(n):
            saves += rounds_of(bench, "write", f"{url}-{i}", size_mib(), 1, env=env)
            peers.append(boto3_seconds(bench, env, f"{url}-boto3-{i}"))
    finally:
        if origin:
            origin.stop()
    copies = [tcp_seconds(size) for _ in saves]
    bench.add(f"checkpoint of {size_mib()} MiB, saved to S3", "GB/s", None,
              gb_s(size, saves, "save"), at_least=True)
    bench.add("  to a plain TCP copy on loopback", "x", None if bucket else 0.8,
              [copy / took["save"] for copy, took in zip(copies, saves)], at_least=True)
    if None not in peers:
        bench.add("  to boto3", "x", 2.0,
                  [peer_s / took["save"] for peer_s, took in zip(peers, saves)],
                  at_least=True)


def rows(bench, facts):
    backend = os.environ.get("STORAGE_BACKEND", "both")
    if backend not in ("local", "s3", "both"):
        sys.exit(f"bench: STORAGE_BACKEND is '{backend}': local or s3")
    before = len(bench.rows)
    try:
        if backend != "s3":
            memory_rows(bench)
            local_rows(bench)
        if backend != "local" and not os.path.exists(bench.tool("s3_origin")):
            print("bench: roar was built without S3: no rows of checkpoints there",
                  file=sys.stderr)
        elif backend != "local":
            object_rows(bench)
    except Failed as error:
        sys.exit(f"bench: {error}")
    if bench.args.docs:
        shards_docs.into(bench.args.docs, facts, bench.rows[before:], "checkpoint")
