"""roar coordinator: a running coordinator and its workers, seen and steered.

COORDINATOR names the server program, COORDINATOR_WORKER a helper that is a worker."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from helpers import lines, until
from terminal import Terminal


class Server:
    """A coordinator of its own, at a port of its own."""

    def __init__(self, folder, *options):
        program = os.environ.get("COORDINATOR")
        if not program:
            pytest.skip("COORDINATOR does not name the server")
        self.workers = []
        # Its log goes to a file: a pipe that nobody reads would stop it.
        self.log = open(os.path.join(folder, "server.log"), "wb")
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
             "--data-dir", os.path.join(folder, "data"), *options],
            stdout=subprocess.PIPE, stderr=self.log)
        said = self.process.stdout.readline().decode()
        found = re.search(r"127\.0\.0\.1:\d+", said)
        assert found, f"the server said {said!r}"
        self.address = found.group()

    def worker(self, name, job="default", *barrier, env=None):
        """A worker that has its place."""
        w = subprocess.Popen(
            [os.environ["COORDINATOR_WORKER"], self.address, job, name,
             *barrier], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={**os.environ, **(env or {})})
        self.workers.append(w)
        assert w.stdout.readline().startswith("rank ")
        return w

    def close(self):
        for w in self.workers:
            w.stdin.close()
            w.wait()
            w.stdout.close()
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()


@pytest.fixture
def server(empty):
    empty.server = Server(empty.base)
    empty.env["ROAR_COORDINATOR"] = empty.server.address
    yield empty.server
    empty.server.close()


# ---- looking ----

def test_status_shows_the_server_and_its_jobs(empty, server):
    server.worker("w-0", "big")
    out = empty("coordinator").out
    assert out.startswith(server.address)
    assert re.search(r"^  big +1 +1 +1 +yes", out, re.M)
    status = empty.json("coordinator", "status")
    assert status["address"] == server.address
    assert status["workers"] == 1 and status["stopping"] is False
    job, = status["jobs"]
    assert (job["job"], job["places"], job["alive"]) == ("big", 1, 1)
    assert job["on_death"] == "fail" and job["timeout_ms"] > 0


def test_workers_are_listed_by_rank(empty, server):
    server.worker("w-a")
    server.worker("w-b")
    out = lines(empty("coordinator", "workers").out)
    assert out[0].split()[:3] == ["RANK", "WORKER", "STATE"]
    assert out[1].split()[:3] == ["0", "w-a", "alive"]
    assert "training: a task" in out[1] and "2/17" in out[1]
    first, second = empty.json("coordinator", "workers")["workers"]
    assert (first["worker"], first["rank"]) == ("w-a", 0)
    assert (second["worker"], second["rank"]) == ("w-b", 1)
    assert first["host"] == "some-host" and first["gpus"] == 8
    assert (first["doing"], first["step"]) == ("training", 17)


def test_a_job_without_workers_is_said_so(empty, server):
    empty("coordinator", "set", "k", "v")
    assert empty("coordinator", "workers").out == "The job has no workers.\n"
    assert empty("coordinator", "barriers").out == \
        "No worker waits at a barrier.\n"


def test_a_worker_whose_connection_ended_is_suspect(empty, server):
    w = server.worker("w-0")
    w.kill()
    w.wait()
    found, = until(lambda: [
        x for x in empty.json("coordinator", "workers")["workers"]
        if x["state"] != "alive"])
    assert found["state"] in ("suspect", "dead") and found["reason"]


def test_barriers_name_who_is_missing(empty, server):
    w = server.worker("w-1")
    waiting = server.worker("w-0", "default", "epoch")
    found, = until(lambda: [
        b for b in empty.json("coordinator", "barriers")["barriers"]
        if b["expected"] == 2])
    assert found["barrier"] == "epoch" and found["generation"] == 1
    assert found["arrived"] == 1 and found["missing"] == ["w-1"]
    row = lines(empty("coordinator", "barriers").out)[1]
    assert "1 of 2" in row and row.endswith("w-1")
    w.stdin.close()  # who leaves is waited for no more
    assert waiting.stdout.readline() == "released\n"


# ---- keys ----

def test_keys_are_set_shown_and_deleted(empty, server):
    empty("coordinator", "set", "a/b", "one two")
    empty("coordinator", "set", "c", "x", "--ttl", "3000")
    assert empty("coordinator", "get", "a/b").out == "one two"
    keys = empty.json("coordinator", "kv")["keys"]
    assert [k["key"] for k in keys] == ["a/b", "c"]
    assert keys[0]["expires_in_ms"] is None
    assert 0 < keys[1]["expires_in_ms"] <= 3000000
    assert lines(empty("coordinator", "kv", "a").out)[1].split()[0] == "a/b"
    assert empty("coordinator", "kv", "zz").out == "No such key.\n"
    empty("coordinator", "delete", "c")
    done = empty("coordinator", "delete", "c", code=1)
    assert "key 'c' does not exist" in done.err
    assert "no key 'c'" in empty("coordinator", "get", "c", code=1).err


def test_what_is_in_a_key_cannot_drive_the_terminal(empty, server):
    empty("coordinator", "set", "k", "a\x1b[2Jb\nc")
    assert "\x1b" not in empty("coordinator", "kv").out
    assert len(lines(empty("coordinator", "kv").out)) == 2
    assert empty.json("coordinator", "kv")["keys"][0]["value"] == \
        "a\x1b[2Jb\nc"


# ---- steering ----

def test_commands_reach_workers(empty, server):
    first, second = server.worker("w-0"), server.worker("w-1")
    out = empty("coordinator", "send", "checkpoint", "--all").out
    assert out == "2 workers will get the command with the next heartbeat.\n"
    assert first.stdout.readline() == "command checkpoint\n"
    assert second.stdout.readline() == "command checkpoint\n"
    assert empty.json("coordinator", "send", "reload", "w-1") == \
        {"workers": 1, "full": []}
    assert second.stdout.readline() == "command reload\n"


def test_who_fetches_no_commands_is_named_and_the_others_are_told(
        empty, server):
    deaf, other = server.worker("w-0"), server.worker("w-1")
    deaf.kill()
    deaf.wait()
    until(lambda: empty.json("coordinator", "workers")["workers"][0]["state"]
          != "alive")
    for _ in range(64):
        empty("coordinator", "send", "x", "w-0")
    done = empty("coordinator", "send", "x", "w-0", code=1)
    assert "'w-0' has not fetched 64 commands" in done.err
    done = empty("coordinator", "send", "reload", "--all", code=1)
    assert done.out == "1 worker will get the command with the next heartbeat.\n"
    assert "'w-0': not reached" in done.err
    assert other.stdout.readline() == "command reload\n"


def test_drain_asks_workers_to_leave(empty, server):
    w = server.worker("w-0")
    server.worker("w-1")
    assert empty.json("coordinator", "drain", "w-0") == \
        {"workers": 1, "full": []}
    assert w.stdout.readline() == "command drain\n"
    found = empty.json("coordinator", "workers")["workers"]
    assert [x["state"] for x in found] == ["draining", "alive"]


def test_all_workers_are_meant_only_when_it_is_said(empty, server):
    w = server.worker("w-0")
    for words in (["drain"], ["send", "stop"]):
        done = empty("coordinator", *words, code=2)
        assert done.out == "" and "--all" in done.err
        done = empty("coordinator", *words, "w-0", "--all", code=2)
        assert "not both" in done.err
    assert empty.json("coordinator", "drain", "--all") == \
        {"workers": 1, "full": []}
    assert w.stdout.readline() == "command drain\n"


def test_forget_ends_a_job_that_nobody_is_in(empty, server):
    empty("coordinator", "set", "--job", "old", "k", "v")
    server.worker("w-0", "big")
    assert "--job" in empty("coordinator", "forget", code=2).err
    done = empty("coordinator", "forget", "--job", "old", code=1)
    assert "job 'old'" in done.err and "add -y" in done.err
    done = empty("coordinator", "forget", "--job", "big", "-y", code=1)
    assert "job 'big' has 1 place(s)" in done.err
    empty("coordinator", "forget", "--job", "old", "-y")
    jobs = empty.json("coordinator")["jobs"]
    assert [job["job"] for job in jobs] == ["big"]


def test_stop_ends_the_server(empty, server):
    empty("coordinator", "stop", "--grace", "0.1")
    assert server.process.wait(60) == 0
    done = empty("coordinator", code=1)
    assert server.address in done.err and "--address" in done.err


# ---- what cannot be ----

def test_nobody_there_is_one_sentence_with_the_remedy(empty):
    began = time.monotonic()
    done = empty("coordinator", "--address", "unix:/nonexistent/s", code=1)
    assert done.out == "" and len(lines(done.err)) == 1
    assert "is roar-coordinator running there?" in done.err
    assert "ROAR_COORDINATOR" in done.err
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("words", [
    ["coordinator", "--address", "host:99999"],
    ["coordinator", "--address", "ftp://x"],
    ["coordinator", "--token-file", "nonexistent"],
])
def test_what_cannot_be_used_is_named(empty, words):
    done = empty(*words, code=1)
    assert len(lines(done.err)) == 1 and words[2] in done.err


@pytest.mark.parametrize("words", [
    ["coordinator", "nonsense"],
    ["coordinator", "get"],
    ["coordinator", "drain"],
    ["coordinator", "workers", "--all"],
    ["coordinator", "stop", "--json"],
    ["coordinator", "status", "--job", "x"],
])
def test_wrong_usage_is_refused(empty, words):
    empty(*words, code=2)


def test_a_wrong_interval_is_refused(empty, server):
    for wrong in ("0", "-1", "x", "1e9", "nan"):
        empty("coordinator", "--watch", "--interval", wrong, code=2)


def test_tokens_are_needed_where_they_are_in_use(empty):
    tokens = os.path.join(empty.base, "tokens")
    with open(tokens, "w", encoding="ascii") as out:
        out.write("* admin-token-0123456789\nj job-token-0123456789\n")
    os.chmod(tokens, 0o600)
    server = Server(empty.base, "--tokens", tokens)
    try:
        empty.env["ROAR_COORDINATOR"] = server.address
        w = server.worker("w", "j", env={"TOKEN": "job-token-0123456789"})
        done = empty("coordinator", "workers", "--job", "j", code=1)
        assert "ROAR_COORDINATOR_TOKEN" in done.err
        empty.env["ROAR_COORDINATOR_TOKEN"] = "job-token-0123456789"
        assert "w" in empty("coordinator", "workers").out
        empty("coordinator", "workers", "--job", "other", code=1)
        empty("coordinator", "stop", code=1)
        with open(empty.path("t"), "w", encoding="ascii") as out:
            out.write("admin-token-0123456789\n")
        w.stdin.close()
        w.wait()
        empty("coordinator", "stop", "--token-file", empty.path("t"))
        assert server.process.wait(60) == 0
    finally:
        server.close()


# ---- again and again ----

def test_without_a_terminal_the_view_is_repeated(empty, server):
    p = subprocess.Popen(
        [empty.roar_program, "coordinator", "--watch", "--json",
         "--interval", "0.05"], stdout=subprocess.PIPE, env=empty.env,
        cwd=empty.root)
    said = [json.loads(p.stdout.readline()) for _ in range(3)]
    p.send_signal(signal.SIGTERM)
    p.stdout.close()
    assert p.wait(60) in (0, 1)
    assert all(s["address"] == server.address for s in said)


def test_on_a_terminal_it_is_drawn_in_place_until_q(empty, server):
    server.worker("w-0")
    argv = [empty.roar_program, "coordinator", "workers", "--watch",
            "--interval", "0.05"]
    with Terminal(argv, empty.root, empty.env, rows=5, columns=30) as t:
        t.expect(r"\x1b\[\?1049h")
        t.expect("w-0")
        t.expect("w-0")
        t.type("q")
        assert t.wait() == 0
    assert t.output.rstrip().endswith(b"\x1b[?25h\x1b[?1049l")
    assert b"some-host" not in t.output  # it is not that wide


def test_ctrl_c_and_signals_leave_the_terminal_as_it_was(empty, server):
    argv = [empty.roar_program, "coordinator", "--watch"]
    with Terminal(argv, empty.root, empty.env) as t:
        t.expect("No jobs")
        t.type("\x03")
        assert t.wait() == 0
    with Terminal(argv, empty.root, empty.env) as t:
        t.expect("No jobs")
        os.kill(t.pid, signal.SIGTERM)
        t.wait()
    assert t.output.rstrip().endswith(b"\x1b[?1049l")


def test_a_view_outlives_the_coordinator(empty, server):
    argv = [empty.roar_program, "coordinator", "--watch", "--interval",
            "0.05"]
    with Terminal(argv, empty.root, empty.env) as t:
        t.expect("No jobs")
        server.process.kill()
        server.process.wait()
        t.expect("ended the connection|cannot connect|Connection refused",
                 timeout=60)
        t.type("q")
        assert t.wait() == 0


# ---- shards ----

def test_c_programs_have_their_shards(server):
    said = [server.worker(name, env={"DATASET": "d"}).stdout.readline()
            for name in ("a", "b")]
    assert said == ["shards of 10: 0+10 epoch 0\n", "shards of 10: 0+5 epoch 0\n"]


def test_c_programs_say_how_shards_are_balanced(server):
    said = [server.worker(name, env={"DATASET": "bytes"}).stdout.readline()
            for name in ("a", "b")]
    # The large one stays; the second gets small ones until that balances the bytes.
    shares = [[tuple(map(int, part.split("+"))) for part in words.split()[3:-2]]
              for words in said]
    counts = [sum(n for _, n in share) for share in shares]
    assert counts[0] == 10 and 3 <= counts[1] <= 9
    assert all(first > 0 for first, _ in shares[1])


def test_c_programs_take_leases(server):
    worker = server.worker("a", env={"DATASET": "d", "LEASE": "d"})
    worker.stdout.readline()
    assert worker.stdout.readline() == "10 new, lease 10-20, used\n"
