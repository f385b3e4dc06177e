"""What a request passes on its way, started for a benchmark: origin, haproxy, roar-proxy.

All are processes of this machine on loopback.  The origin (s3_origin) verifies nothing and
keeps nothing, so that what is before it is measured; roar-proxy signs each request anew."""

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "s3"))

import client  # noqa: E402

PATIENCE_S = 30
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAROARBENCH",
        "AWS_SECRET_ACCESS_KEY": "of+the/bench", "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}


class Failed(Exception):
    """A figure that cannot be had, and why."""


def environment(**more):
    plain = {k: v for k, v in os.environ.items()
             if not k.startswith("AWS_") and not k.lower().endswith("_proxy")}
    return {**plain, **KEYS, "no_proxy": "*", **more}


def roar_proxy(bench):
    """The program beside roar, or None where it was not built."""
    path = os.path.join(os.path.dirname(os.path.dirname(bench.roar)),
                        "roar-proxy", "roar-proxy")
    return path if os.path.exists(path) else shutil.which("roar-proxy")


class Server:
    """A process that listens on a port."""

    def __init__(self, name, argv, port=0, **more):
        self.name = name
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                                        env=environment(), **more)
        self.port = port

    @property
    def pid(self):
        return self.process.pid

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def cpu_s(self):
        """CPU time of all threads, by the scheduler's own count."""
        total = 0
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{thread}/schedstat",
                      encoding="ascii") as f:
                total += int(f.read().split()[0])
        return total / 1e9

    def memory_mib(self, what):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            for line in f:
                if line.startswith(what + ":"):
                    return int(line.split()[1]) / 1024
        raise Failed(f"{self.name} has no {what}")

    def wait(self):
        give_up = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise Failed(f"{self.name} does not listen")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Origin(Server):
    def __init__(self, bench):
        super().__init__("direct", [bench.tool("s3_origin"), "127.0.0.1:0"],
                         stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def drop(self, keys):
        """Deletes objects; the server uses their memory for those that follow."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        for key in keys:
            connection.request("DELETE", f"/{key}")
            reply = connection.getresponse()
            reply.read()
            if reply.status != 204:
                raise Failed(f"cannot delete '{key}'")
        connection.close()


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


HAPROXY = """
defaults
    mode http
    timeout connect 10s
    timeout client 60s
    timeout server 60s
    maxconn 4000
    http-reuse always
frontend in
    bind 127.0.0.1:{port}
    default_backend origin
backend origin
    server origin 127.0.0.1:{origin} maxconn 4000
"""


class Haproxy(Server):
    """With its defaults, as plain HTTP: it signs nothing and hashes nothing."""

    def __init__(self, origin, folder):
        program = shutil.which("haproxy") or shutil.which(
            "haproxy", path="/usr/sbin")
        if not program:
            raise Failed("haproxy is not installed")
        port = free_port()
        path = os.path.join(folder, "haproxy.cfg")
        with open(path, "w", encoding="ascii") as f:
            f.write(HAPROXY.format(port=port, origin=origin.port))
        super().__init__("haproxy", [program, "-db", "-q", "-f", path], port)
        self.wait()


class Roar(Server):
    """With its object log, as a run has it."""

    def __init__(self, bench, name, origin, *options):
        program = roar_proxy(bench)
        if not program:
            raise Failed("roar-proxy was not built")
        self.folder = tempfile.mkdtemp(dir=bench.work)
        ready, ready_end = os.pipe()
        super().__init__(
            name, [program, "--upstream", origin.endpoint, "--log",
                   os.path.join(self.folder, "objects"), "--ready-fd",
                   str(ready_end), *options],
            pass_fds=[ready_end], cwd=self.folder)
        os.close(ready_end)
        with os.fdopen(ready) as lines:
            words = lines.read().split()
        if words[:1] != ["ready"]:
            raise Failed("roar-proxy did not start")
        self.port = int(words[1].rpartition(":")[2])


class Load:
    """Requests of one kind, ready to be sent to any server."""

    def __init__(self, bench, request, repeat=1, host="127.0.0.1"):
        self.bench = bench
        self.repeat = repeat
        folder = tempfile.mkdtemp(dir=bench.ram)
        self.head, self.body = (os.path.join(folder, n)
                                for n in ("head", "body"))
        head, body = client.parts(request, host)
        if repeat > 1:
            head = head.replace(f"content-length: {len(body)}\r\n".encode(),
                                f"content-length: {repeat * len(body)}\r\n"
                                .encode())
        for path, data in ((self.head, head), (self.body, body)):
            with open(path, "wb") as f:
                f.write(data)

    def run(self, server, connections, requests):
        """What s3_load says, with the CPU time of the server per request."""
        before = server.cpu_s()
        done = subprocess.run(
            [self.bench.tool("s3_load"), "127.0.0.1", str(server.port),
             self.head, self.body, str(self.repeat), str(connections),
             str(requests)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if not done.stdout:
            raise Failed(done.stderr.decode(errors="replace"))
        result = json.loads(done.stdout)
        result["cpu_us"] = (server.cpu_s() - before) * 1e6 / requests
        result["mb_per_s"] = result["bytes"] / 1e6 / result["wall_s"]
        return result
