"""Servers that are measured, and what asks them: started, pinned, and ended.

The server has one CPU and its clients another, so that a figure is what one core of
the server gives.  With --urgent, which root may, both run before everything else that
the machine does (SCHED_FIFO): on a busy machine that is the only way to a figure."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ADDRESS = re.compile(r"127\.0\.0\.1:\d+")
HERE = os.path.dirname(os.path.abspath(__file__))
PROTO = os.path.join(os.path.dirname(HERE), "lib", "coord", "proto")


def cpus():
    """That of the server and that of the clients."""
    mine = sorted(os.sched_getaffinity(0))
    return mine[0], mine[-1]


class Failed(Exception):
    """A figure that cannot be had, and why."""


class Place:
    """Where things run."""

    def __init__(self, bench):
        self.bench = bench
        self.server_cpu, self.client_cpu = cpus()
        self.urgent = bench.args.urgent

    def on(self, cpu):
        def prepare():
            os.sched_setaffinity(0, {cpu})
            if self.urgent:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        return prepare

    def load(self, mode, wire, server, **words):
        """What coord_load answers."""
        argv = [self.bench.tool("coord_load"), mode, wire, server.address,
                "--server", str(server.pid)]
        for name, value in words.items():
            argv += [f"--{name}"] if value is True else [f"--{name}",
                                                         str(value)]
        return self.asked(argv)

    def asked(self, argv, env=None):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=env,
                              preexec_fn=self.on(self.client_cpu))
        if done.returncode:
            raise Failed(done.stderr.strip().splitlines()[-1][:200]
                         if done.stderr.strip() else
                         f"{argv[0]} ended with {done.returncode}")
        return json.loads(done.stdout)


class Server:
    """A process that prints where it listens; a context."""

    def __init__(self, place, argv, env=None):
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=env,
            preexec_fn=place.on(place.server_cpu))
        self.pid = self.process.pid
        line = self.process.stdout.readline()
        found = ADDRESS.search(line)
        if not found:
            self.process.kill()
            words = self.process.communicate()[1]
            raise Failed(f"{os.path.basename(argv[0])} does not serve: "
                         f"{words.strip()[-200:]}")
        self.address = found[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def rss_kib(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            for line in f:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        raise Failed("the server is gone")


class Coordinator(Server):
    """Ours, with a log of its own on the disk."""

    def __init__(self, place, data=None, unix=False):
        self.made = None if data else tempfile.mkdtemp(dir=place.bench.work)
        # The path of a socket must be short.
        self.folder = tempfile.mkdtemp() if unix else None
        listen = ["--listen", "127.0.0.1:0"]
        if unix:
            listen += ["--listen", f"unix:{self.folder}/s"]
        super().__init__(place, [
            program(place.bench), *listen, "--http", "off", "--log-level",
            "warning", "--data-dir", data or self.made])
        if unix:
            self.address = f"unix:{self.folder}/s"

    def __exit__(self, *rest):
        super().__exit__(*rest)
        for folder in filter(None, (self.made, self.folder)):
            shutil.rmtree(folder, ignore_errors=True)


def program(bench):
    build = os.path.dirname(os.path.dirname(os.path.dirname(bench.roar)))
    return os.path.join(build, "src", "roar-coordinator", "roar-coordinator")


# ---- peers --------------------------------------------------------------

def newest(*paths):
    return max(os.path.getmtime(p) for p in paths)


def compile_peer(bench, out):
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "grpc++", "protobuf"], check=False,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    tools = [shutil.which(t) for t in ("protoc", "grpc_cpp_plugin", "g++")]
    if flags.returncode or not all(tools):
        raise Failed("libgrpc++-dev, protobuf-compiler-grpc or g++ is missing")
    where = bench.made("peer")
    subprocess.run([tools[0], f"--proto_path={PROTO}", f"--cpp_out={where}",
                    f"--grpc_out={where}",
                    f"--plugin=protoc-gen-grpc={tools[1]}",
                    "coordinator.proto"], check=True)
    print("bench: compiling gRPC's C++ server to compare with", flush=True)
    subprocess.run([tools[2], "-O2", "-std=c++17", f"-I{where}", "-o", out,
                    os.path.join(HERE, "coord_grpc_peer.cc"),
                    *sorted(glob.glob(os.path.join(where, "*.cc"))),
                    *flags.stdout.split()], check=True)


def grpc_peer(bench):
    """gRPC's C++ server, compiled when it is missing or too old."""
    out = bench.tool("coord_grpc_peer")
    if not os.path.exists(out) or os.path.getmtime(out) < newest(
            os.path.join(HERE, "coord_grpc_peer.cc"),
            os.path.join(PROTO, "coordinator.proto")):
        compile_peer(bench, out)
    return [out]


def python_env(bench):
    """Finds the package roar: extensions in the build, the rest where it lies."""
    build = os.path.dirname(os.path.abspath(bench.args.tools))
    folders = sorted(glob.glob(os.path.join(build, "python", "_*/")))
    folders.append(os.path.join(os.path.dirname(HERE), "python"))
    return dict(os.environ, PYTHONPATH=os.pathsep.join(folders))


def python_with(bench, module):
    """A Python that can import it."""
    for python in dict.fromkeys((bench.python, "/usr/bin/python3",
                                 sys.executable)):
        if os.path.exists(python) and subprocess.run(
                [python, "-c", f"import {module}"], check=False,
                env=python_env(bench), stderr=subprocess.DEVNULL).returncode == 0:
            return python
    raise Failed(f"no Python here can import {module}")
