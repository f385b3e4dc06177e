"""What roar-proxy adds to S3 requests, and how fast roar put and roar get are.

Every figure is a pair: the same request straight to the server and through the proxy, or
through haproxy and through roar-proxy, in an order that is random in each repetition.
Uploads are UNSIGNED-PAYLOAD unless the row says otherwise; "hashing" is BLAKE3 of every
body.  The client's own work is small and the same each time (s3_load).  put and get run
beside Debian's awscli with its defaults, at the same server in memory."""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

import proxy_docs
from measure import difference
from proxy_servers import (Failed, Haproxy, Load, Origin, Roar, client,
                           environment)

KB, MB, GB = 1 << 10, 1 << 20, 1 << 30
SIZES = {"64 KB": 64 * KB, "1 MB": MB, "8 MB": 8 * MB}
LATENCY_GOALS_MS = {"64 KB": 0.3, "1 MB": 0.3, "8 MB": 3.0}
RANGE = MB  # at most so much of an object is read by a range
N_SMALL, SMALL = 5000, 4 * KB
MODES = {"signed": ("signed", ""), "trailer CRC32":
         ("STREAMING-UNSIGNED-PAYLOAD-TRAILER", "crc32"),
         "signed chunks": ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "")}


def put(size, mode="unsigned", checksum=""):
    return client.Request("PUT", "/bench/sink", os.urandom(size), mode=mode,
                          checksum=checksum)


def get(size, window=0):
    fields = [("range", f"bytes=0-{min(window, size) - 1}")] if window else []
    return client.Request("GET", f"/bench/made-{size}", fields=fields)


class Group:
    """The servers of this group, running until close()."""

    def __init__(self, bench):
        self.bench = bench
        self.random = random.Random(16)
        self.servers = {}
        try:
            self.servers["direct"] = Origin(bench)
            origin = self.servers["direct"]
            self.servers["plain"] = Roar(bench, "plain", origin, "--no-hash")
            self.servers["hashing"] = Roar(bench, "hashing", origin)
            self.start_haproxy(origin)
        except BaseException:
            self.close()
            raise

    def start_haproxy(self, origin):
        try:
            self.servers["haproxy"] = Haproxy(origin, self.bench.work)
        except Failed as failed:
            print(f"bench: {failed}; its rows are left out")

    def close(self):
        for server in reversed(self.servers.values()):
            server.stop()

    def rounds(self, load, names, reps, connections, requests):
        """{name: [result]}: each round has every server once, in any order."""
        names = [n for n in names if n in self.servers]
        results = {name: [] for name in names}
        for i in range(self.bench.reps(reps) + 1):
            for name in self.random.sample(names, len(names)):
                result = load.run(self.servers[name], connections, requests)
                if result["bad"]:
                    raise Failed(f"{result['bad']} requests failed by {name}")
                if i:  # the first warms up
                    results[name].append(result)
        return results


def values(results, what):
    return [result[what] for result in results]


def cpu_rows(bench, group):
    """CPU time of the proxy itself for one request, with 8 connections."""
    requests = 500 if bench.args.quick else 4000
    names = ("plain", "hashing", "haproxy")
    goals = {"plain": 50.0, "hashing": 100.0, "haproxy": None}
    for method, request in (("PUT", put(64 * KB)), ("GET", get(64 * KB))):
        results = group.rounds(Load(bench, request), names, 9, 8, requests)
        for name, found in results.items():
            bench.add(f"CPU per {method} of 64 KB, {name}", "us", goals[name],
                      values(found, "cpu_us"))
    for title, (mode, checksum) in MODES.items():
        load = Load(bench, put(64 * KB, mode, checksum))
        found = group.rounds(load, ["hashing"], 5, 8, requests)["hashing"]
        bench.add(f"CPU per PUT of 64 KB, {title}, hashing", "us", None,
                  values(found, "cpu_us"))


def latency_rows(bench, group):
    """One client, one request at a time: what the way through the proxy adds."""
    counts = {"64 KB": 400, "1 MB": 150, "8 MB": 30}
    kinds = {"PUT": put, "GET": get,
             "range GET": lambda size: get(size, RANGE)}
    for kind, make in kinds.items():
        for title, size in SIZES.items():
            requests = counts[title] // (5 if bench.args.quick else 1)
            results = group.rounds(Load(bench, make(size)),
                                   ("direct", "hashing"), 11, 1, requests)
            ms = {name: [v / 1e3 for v in values(found, "p50_us")]
                  for name, found in results.items()}
            bench.add(f"added to a {kind} of {title}", "ms",
                      LATENCY_GOALS_MS[title],
                      difference(ms["hashing"], ms["direct"]),
                      {"direct_ms": statistics.median(ms["direct"]),
                       "proxy_ms": statistics.median(ms["hashing"]),
                       "latency": kind, "size": title})


def throughput_rows(bench, group):
    """Objects of 64 MB over 4 connections, beside haproxy."""
    if "haproxy" not in group.servers:
        return
    requests = 8 if bench.args.quick else 32
    for method, request in (("PUT", put(64 * MB)), ("GET", get(64 * MB))):
        results = group.rounds(Load(bench, request),
                               ("haproxy", "plain", "hashing"), 9, 4, requests)
        base = values(results["haproxy"], "mb_per_s")
        for name, goal in (("plain", 1.1), ("hashing", 0.7)):
            ours = values(results[name], "mb_per_s")
            bench.add(f"{method} of 64 MB to haproxy, {name}", "x", goal,
                      [a / b for a, b in zip(ours, base)],
                      {"haproxy_mb_per_s": statistics.median(base),
                       "proxy_mb_per_s": statistics.median(ours)},
                      at_least=True)


def crowd_rows(bench, group):
    """1,000 clients at once, and 16 large uploads."""
    load = Load(bench, put(SMALL))
    n = 1000
    bad = [load.run(group.servers["hashing"], n, 10 * n)["bad"]
           for _ in range(bench.reps(3))]
    bench.add("errors of 1,000 clients at once", "", 0.0, bad)
    proxy = Roar(bench, "large", group.servers["direct"])
    try:
        size = GB // 16 if bench.args.quick else GB
        uploads = Load(bench, put(MB), repeat=size // MB)
        result = uploads.run(proxy, 16, 16)
        if result["bad"]:
            raise Failed(f"{result['bad']} large uploads failed")
        bench.add(f"RSS with 16 uploads of {size // MB:,} MB at once", "MiB", 64.0,
                  [proxy.memory_mib("VmHWM")],
                  {"mb_per_s": result["mb_per_s"]})
    finally:
        proxy.stop()


def phase_rows(bench, _):
    """What the proxy does for a request apart from moving bytes."""
    runs = []
    for _ in range(bench.reps(5)):
        done = subprocess.run([bench.tool("s3_phases"), "20000"], check=True,
                              stdout=subprocess.PIPE, env=environment())
        runs.append(json.loads(done.stdout))
    for phase in runs[0]:
        found = {q: statistics.median(run[phase][q] for run in runs)
                 for q in ("p50_us", "p95_us", "p99_us")}
        bench.add(f"phase {phase}, p50", "us", None,
                  [run[phase]["p50_us"] for run in runs],
                  {"phase": phase, **found})


# ---- put and get ----

class Transfer:
    """The same files by roar and by awscli."""

    def __init__(self, bench, origin):
        self.bench = bench
        self.origin = origin
        self.endpoint = origin.endpoint
        self.project = bench.project("transfer", bench.ram)
        self.aws = shutil.which("aws", path="/usr/bin") or shutil.which("aws")
        self.env = environment(AWS_ENDPOINT_URL=origin.endpoint)
        self.n = 0

    def seconds(self, argv):
        start = time.perf_counter()
        done = subprocess.run(argv, cwd=self.project, env=self.env,
                              stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        if done.returncode:
            raise Failed(f"{argv}: {done.stderr.decode(errors='replace')}")
        return time.perf_counter() - start

    def copy_s(self, way, source, target, many):
        """One transfer; directories end with a slash for both."""
        if way == "awscli":
            words = ["--recursive"] if many else []
            return self.seconds(
                [self.aws, "--endpoint-url", self.endpoint, "s3", "cp",
                 "--only-show-errors", *words, source, target])
        if target.startswith("s3://"):
            return self.seconds([self.bench.roar, "put", source, target, "-m",
                                 "bench", "--no-tag"])
        return self.seconds([self.bench.roar, "get", source, target])

    def rows(self, title, source, goal, reps):
        many = os.path.isdir(source)
        slash = "/" if many else ""
        names = os.listdir(source) if many else [""]
        times = {(what, way): [] for what in ("put", "get")
                 for way in ("roar", "awscli")}
        for i in range(self.bench.reps(reps) + 1):
            for way in random.sample(("roar", "awscli"), 2):
                self.n += 1
                key = f"bench/t{self.n}{slash}"
                back = self.bench.fresh(self.project)
                put_s = self.copy_s(way, source + slash, f"s3://{key}", many)
                get_s = self.copy_s(way, f"s3://{key}", back + slash, many)
                check_same(source, back)
                self.origin.drop(key + name for name in names)
                if i:  # the first warms up: the server has its memory then
                    times["put", way].append(put_s)
                    times["get", way].append(get_s)
        for what in ("put", "get"):
            ours, theirs = times[what, "roar"], times[what, "awscli"]
            self.bench.add(
                f"roar {what} to awscli, {title}", "x", goal,
                [b / a for a, b in zip(ours, theirs)],
                {"roar_s": statistics.median(ours),
                 "awscli_s": statistics.median(theirs)}, at_least=True)


def check_same(source, back):
    done = subprocess.run(["diff", "-rq", source, back], check=False,
                          stdout=subprocess.PIPE)
    if done.returncode:
        raise Failed(f"not the same bytes: {done.stdout[:200]!r}")
    shutil.rmtree(back) if os.path.isdir(back) else os.unlink(back)


def transfer_rows(bench):
    help_text = subprocess.run([bench.roar, "put", "--help"], check=False,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    if help_text.returncode or not shutil.which("aws"):
        raise Failed("roar put or awscli is not here")
    origin = Origin(bench)
    try:
        transfer = Transfer(bench, origin)
        large = os.path.join(bench.ram, "large")
        with open(large, "wb") as f:
            size = GB // (16 if bench.args.quick else 1)
            for _ in range(size // MB):
                f.write(os.urandom(MB))
        transfer.rows(f"{size // MB:,} MiB", large, 2.0, 5)
        os.unlink(large)
        small = os.path.join(bench.ram, "small")
        os.mkdir(small)
        n = N_SMALL // (10 if bench.args.quick else 1)
        for i in range(n):
            with open(os.path.join(small, f"f{i:05}"), "wb") as f:
                f.write(os.urandom(SMALL))
        transfer.rows(f"{n:,} x 4 KiB", small, 5.0, 3)
    finally:
        origin.stop()


def rows(bench, facts):
    first = len(bench.rows)
    try:
        group = Group(bench)
        try:
            for part in (cpu_rows, latency_rows, throughput_rows, crowd_rows,
                         phase_rows):
                part(bench, group)
        finally:
            group.close()
    except Failed as failed:
        print(f"bench: proxy: {failed}", file=sys.stderr)
    try:
        transfer_rows(bench)
    except Failed as failed:
        print(f"bench: proxy: {failed}", file=sys.stderr)
    if bench.args.docs:
        proxy_docs.into(bench.args.docs, facts, bench.rows[first:])
