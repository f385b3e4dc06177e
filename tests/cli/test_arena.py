"""roar arena: arenas of live processes, seen from outside.

ARENA_HOLDER names a helper that has an arena in a state that is known; what it can do
is told at its top."""

import collections
import json
import os
import signal
import subprocess
import sys

import pytest

from helpers import ORDINARY, alive, lines, until

SEGMENT = 1 << 20
PAYLOAD = 300000

Holder = collections.namedtuple("Holder", "pid other process")


@pytest.fixture
def holder():
    """Starts helpers, and ends them by ending their input."""
    started = []

    def start(*words, **options):
        path = os.environ.get("ARENA_HOLDER")
        if not path:
            pytest.skip("ARENA_HOLDER does not name the helper")
        process = subprocess.Popen([path, *words], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, **options)
        started.append(process)
        said = process.stdout.readline().split()
        assert len(said) == 2, f"the helper ended with {process.wait()}"
        return Holder(int(said[0]), int(said[1]), process)

    yield start
    for process in started:
        process.stdin.close()
        process.stdout.close()
        process.wait()


def arenas_of(place, pid):
    """What ls tells of a process: others may have arenas meanwhile."""
    return [a for a in place.json("arena", "ls")["arenas"]
            if pid in [p["pid"] for p in a["processes"]]]


def stat_of(place, pid):
    arenas = place.json("arena", "stat", str(pid))["arenas"]
    assert len(arenas) == 1
    return arenas[0]


# ---- ls ----

def test_ls_finds_an_arena_by_its_process(empty, holder):
    h = holder("segments")
    found, = arenas_of(empty, h.pid)
    assert found["size_bytes"] == 6 * SEGMENT
    assert found["segment_bytes"] == SEGMENT
    assert found["used_bytes"] == 3 * SEGMENT
    assert (found["units"], found["units_used"]) == (6, 3)
    assert (found["producers"], found["consumers"]) == (1, 1)
    assert found["error"] is None and found["shut_down"] is False
    process, = found["processes"]
    assert process["pid"] == h.pid and process["program"] == "arena_holder"
    assert os.readlink(f"/proc/{h.pid}/fd/{process['fd']}").startswith(
        "/memfd:roar-arena")


def test_ls_lists_an_arena_of_two_processes_once(empty, holder):
    h = holder("blocks")
    found, = arenas_of(empty, h.pid)
    assert [p["pid"] for p in found["processes"]] == sorted([h.pid, h.other])
    assert arenas_of(empty, h.other) == [found]
    assert found["consumers"] == 2


def test_ls_as_text(empty, holder):
    h = holder("segments")
    said = lines(empty("arena", "ls").out)
    assert said[0].split() == ["ARENA", "SIZE", "USED", "UNITS", "PROCESSES"]
    row, = [line for line in said if f" {h.pid} " in line]
    assert "6.0 MiB" in row and "3.0 MiB" in row and "3 of 6" in row
    assert row.endswith(f"{h.pid} arena_holder (producer, consumer)")


def test_ls_is_what_it_does_without_a_word(empty, holder):
    h = holder("segments")
    assert f" {h.pid} " in empty("arena").out
    assert f" {h.pid} " in empty("arena", "ls").out


def test_ls_forgets_an_arena_with_its_last_process(empty, holder):
    h = holder("segments")
    assert arenas_of(empty, h.pid)
    h.process.kill()
    h.process.wait()
    assert not arenas_of(empty, h.pid)


def test_ls_goes_by_the_whole_name(empty, holder):
    assert not arenas_of(empty, holder("named").pid)


@pytest.mark.parametrize("what", ["damaged", "empty"])
def test_ls_shows_an_arena_that_cannot_be_read(empty, holder, what):
    h = holder(what)
    found, = arenas_of(empty, h.pid)
    assert found["error"] and "size_bytes" not in found
    row, = [line for line in lines(empty("arena", "ls").out)
            if f" {h.pid} " in line]
    assert "damaged" in row


def test_ls_needs_no_project_and_leaves_nothing(empty, holder):
    holder("segments")
    empty("arena", "ls")
    assert os.listdir(empty.root) == []


def test_ls_says_whose_processes_it_did_not_see(user):
    if os.geteuid() != 0:
        pytest.skip("needs root to have a process of another user")
    assert user.json("arena", "ls")["processes_not_seen"] > 0
    assert "other users" in user("arena", "ls").out


# ---- stat ----

def test_stat_shows_each_unit_in_use(empty, holder):
    h = holder("segments")
    slots = stat_of(empty, h.pid)["slots"]
    assert sorted(s["state"] for s in slots) == ["held", "ready", "writing"]
    by_state = {s["state"]: s for s in slots}
    for slot in slots:
        assert slot["bytes"] == PAYLOAD and slot["buffers"] == 1
        assert 0 <= slot["age_s"] < 60
    assert by_state["held"]["tag"] == 1 and by_state["ready"]["tag"] == 2
    assert by_state["held"]["owner_pid"] == h.pid
    assert by_state["writing"]["owner_pid"] == h.pid


def test_stat_without_segments(empty, holder):
    h = holder("blocks")
    arena = stat_of(empty, h.pid)
    assert arena["segment_bytes"] == 0
    assert 3 * PAYLOAD <= arena["used_bytes"] < 4 * PAYLOAD
    assert arena["used_bytes"] <= arena["size_bytes"] == 4 << 20


def test_stat_shows_the_parties(empty, holder):
    h = holder("blocks")
    parties = stat_of(empty, h.pid)["parties"]
    assert sorted((p["pid"], p["producer"], p["consumer"], p["alive"])
                  for p in parties) == sorted([
                      (h.pid, True, False, True), (h.pid, False, True, True),
                      (h.other, False, True, True)])
    producer, = [p for p in parties if p["producer"]]
    assert producer["committed"] == 2
    assert producer["committed_bytes"] >= 2 * PAYLOAD


def test_a_party_that_was_killed_is_dead_before_anybody_notices(empty, holder):
    h = holder("blocks")
    os.kill(h.other, signal.SIGKILL)
    until(lambda: not alive(h.other), "the process to die")
    parties = stat_of(empty, h.pid)["parties"]
    assert {p["pid"]: p["alive"] for p in parties} == {
        h.pid: True, h.other: False}
    assert " dead " in empty("arena", "stat", str(h.pid)).out


def test_stat_of_either_process_is_the_same_arena(empty, holder):
    h = holder("blocks")
    assert stat_of(empty, h.pid)["inode"] == stat_of(empty, h.other)["inode"]


def test_stat_has_the_counters(empty, holder):
    totals = stat_of(empty, holder("segments").pid)["totals"]
    assert totals["committed"] == 2 and totals["received"] == 1
    assert totals["released"] == 0 and totals["reclaimed"] == 0
    assert totals["producer_waits"] == totals["consumer_waits"] == 0


def test_stat_counts_waits_of_both_sides(empty, holder):
    h = holder("stalled")
    arena = stat_of(empty, h.pid)
    totals = arena["totals"]
    assert totals["producer_waits"] >= 1 and totals["consumer_waits"] >= 1
    assert 0.01 < totals["producer_wait_s"] < 10
    assert 0.01 < totals["consumer_wait_s"] < 10
    for party in arena["parties"]:
        mine, other = "producer_waits", "consumer_waits"
        if party["consumer"]:
            mine, other = other, mine
        assert party[mine] >= 1 and party[other] == 0


def test_stat_names_the_consumers_that_a_broadcast_waits_for(empty, holder):
    h = holder("broadcast")
    arena = stat_of(empty, h.pid)
    slot, = arena["slots"]
    assert arena["broadcast"] is True
    assert slot["state"] == "ready" and slot["holders"] == [h.other]
    out = empty("arena", "stat", str(h.pid)).out
    assert "each unit goes to all consumers" in out
    assert lines(out)[-1].split()[:3] == ["0", "ready", str(h.other)]


def test_stat_as_text(empty, holder):
    h = holder("segments")
    out = empty("arena", "stat", str(h.pid)).out
    assert out.startswith("Arena ")
    assert "6 segments of 1.0 MiB" in out
    assert "3.0 MiB, 3 of 6 units" in out
    assert "producers never; consumers never" in out
    assert "2 units" in out
    said = [line.split() for line in lines(out)]
    assert ["UNIT", "STATE", "OWNER", "AGE", "BYTES", "BUFFERS", "TAG"] in said
    states = {row[1] for row in said[-3:]}
    assert states == {"held", "ready", "writing"}


def test_stat_as_text_lists_so_many_units_and_counts_the_rest(empty, holder):
    h = holder("many", "60")
    out = empty("arena", "stat", str(h.pid)).out
    assert out.count(" ready ") == 40 and "... and 20 more" in out
    assert len(stat_of(empty, h.pid)["slots"]) == 60


def test_stat_of_a_process_with_two_arenas(empty, holder):
    h = holder("two")
    arenas = empty.json("arena", "stat", str(h.pid))["arenas"]
    assert len({a["inode"] for a in arenas}) == 2
    out = empty("arena", "stat", str(h.pid)).out
    assert out.count("Arena ") == 2 and "\n\nArena " in out


def test_a_unit_that_is_kept_grows_old(empty, holder):
    h = holder("segments")
    first = stat_of(empty, h.pid)["slots"]

    def older():
        now = stat_of(empty, h.pid)["slots"]
        return all(b["age_s"] > a["age_s"] for a, b in zip(first, now))
    until(older, "units to grow older")


# ---- what cannot be shown ----

def fails(place, *args, code=1):
    done = place("arena", *args, code=code)
    assert len(lines(done.err)) == 1 and done.err.startswith("roar: ")
    return done.err


def test_stat_of_a_process_without_an_arena(empty, holder):
    pid = holder("none").pid
    assert f"process {pid} has no arena" in fails(empty, "stat", str(pid))


def test_stat_of_no_process(empty, holder):
    h = holder("none")
    h.process.kill()
    h.process.wait()
    assert f"no process {h.pid}" in fails(empty, "stat", str(h.pid))


@pytest.mark.parametrize("word", ["0", "-1", "x", "1x", "", "+5", " 5",
                                  "99999999999999999999", "\x1b[31m"])
def test_stat_of_what_is_no_process_id(empty, word):
    done = empty("arena", "stat", "--", word, code=2)
    assert "is not a process ID" in done.err and len(lines(done.err)) == 1
    assert "\x1b" not in done.err


def test_stat_of_another_users_process(user, holder):
    if os.geteuid() != 0:
        pytest.skip("needs root to have a process of another user")
    pid = holder("segments").pid
    assert f"process {pid} belongs to another user" in fails(user, "stat", str(pid))


def test_a_user_sees_his_own_arena(user, holder, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root to have a process of another user")
    h = holder("segments", user=ORDINARY, group=ORDINARY, extra_groups=[])
    assert len(arenas_of(user, h.pid)) == 1
    assert len(stat_of(user, h.pid)["slots"]) == 3


@pytest.mark.parametrize("what", ["damaged", "empty"])
def test_stat_of_a_damaged_arena(empty, holder, what):
    pid = holder(what).pid
    assert f"of process {pid}" in fails(empty, "stat", str(pid))
    done = empty("arena", "stat", str(pid), "--json", code=1)
    assert json.loads(done.out)["arenas"][0]["error"]


def test_looking_changes_nothing(empty, holder):
    h = holder("segments")
    before = stat_of(empty, h.pid)
    for _ in range(3):
        empty("arena", "ls")
        empty("arena", "stat", str(h.pid))
    after = stat_of(empty, h.pid)
    for arena in (before, after):
        for slot in arena["slots"]:
            del slot["age_s"]
    assert before == after


# ---- while it is in use ----

BUSY = """
import mmap, os, random, time
fd = int(os.environ["ARENA_FD"])
end = time.monotonic() + 1.5
memory = mmap.mmap(fd, 0)
while time.monotonic() < end:
    at = random.randrange(512, 65536)
    memory[at:at + 8] = os.urandom(8)
"""


def test_noise_in_the_tables_harms_nobody(empty, holder):
    """Whatever the tables hold: an answer or a sentence, at once."""
    h = holder("segments")
    found, = arenas_of(empty, h.pid)
    path = f"/proc/{h.pid}/fd/{found['processes'][0]['fd']}"
    fd = os.open(path, os.O_RDWR)
    noise = subprocess.Popen([sys.executable, "-c", BUSY], pass_fds=[fd],
                             env=dict(os.environ, ARENA_FD=str(fd)))
    os.close(fd)
    try:
        while noise.poll() is None:
            for args in (["ls"], ["stat", str(h.pid)],
                         ["stat", str(h.pid), "--json"]):
                done = empty("arena", *args, code=None)
                assert done.code in (0, 1)
                if "--json" in args:
                    json.loads(done.out)
    finally:
        noise.kill()
        noise.wait()
