"""roar shards: plans and their certificates, audits and what they prove."""

import json
import os
import pathlib
import struct

import pytest

from helpers import lines


def plan(place, *words):
    """The plans by mode."""
    told = place.json("shards", "plan", *words)
    return {p["mode"]: p for p in told["plans"]}


def fewest(shards, workers, leave, join):
    """What must move, from the rules alone: who leaves loses all, who stays what it has
    beyond its new share, and as many as possible keep the odd ones."""
    counts = [shards // workers + (w < shards % workers) for w in range(workers)]
    stay = sorted((n for w, n in enumerate(counts) if w not in leave), reverse=True)
    floor, odd = divmod(shards, workers - len(leave) + join)
    kept = sum(min(n, floor + (i < odd)) for i, n in enumerate(stay))
    return shards - kept


@pytest.mark.parametrize("shards, workers, leave, join", [
    (10000, 100, [], 1),
    (10000, 100, [0], 0),
    (10007, 100, [3, 99], 5),
    (5, 10, [0, 1], 3),
    (1000, 1, [], 1),
    (1000, 7, [0, 1, 2, 3, 4, 5], 0),
])
def test_a_table_moves_the_minimum(empty, shards, workers, leave, join):
    words = ["-s", str(shards), "-w", str(workers), "--join", str(join)]
    if leave:
        words += ["--leave", ",".join(map(str, leave))]
    after = plan(empty, *words)["table"]["after"]
    assert after["moved"] == after["minimum"] == fewest(shards, workers, leave, join)
    assert after["ratio"] == 1
    assert after["most"] - after["least"] <= 1
    assert after["workers"] == workers - len(leave) + join
    assert after["version"] == 2


def test_hashes_are_compared_with_the_table(empty):
    plans = plan(empty, "-w", "100", "-s", "10000", "--leave", "7", "--compare")
    assert list(plans) == ["table", "rendezvous", "jump", "ring"]
    for mode, told in plans.items():
        after = told["after"]
        assert after["workers"] == 99 and after["shards"] == 10000
        spread = after["most"] - after["least"]
        assert spread <= 1 if mode == "table" else spread > 1
    assert plans["jump"]["after"]["moved"] > 10 * plans["table"]["after"]["moved"]
    # Those that only move what the leaver had could not move less.
    for mode in ("rendezvous", "ring"):
        assert plans[mode]["after"]["moved"] == plans[mode]["after"]["minimum"]
    assert all(told["after"]["ratio"] >= 1 for told in plans.values())


def test_homes_are_kept_in_sight(empty):
    empty.write("homes", "".join(f"rack-{i % 2}\n" for i in range(40)))
    words = ["-w", "4", "--homes", "homes", "--at", "rack-0,rack-1"]
    told = plan(empty, *words, "--leave", "0")["table"]
    assert told["before"]["at_home"] == 40 and told["before"]["shards"] == 40
    # Of the leaver's 10, three can go to the other worker of its rack.
    after = told["after"]
    assert after["at_home"] == 33 or after["at_home"] == 34
    assert after["moved"] == after["minimum"] == 10
    said = lines(empty("shards", "plan", *words).out)
    assert said[1].split()[-2:] == ["HOME", "HASH"] and said[2].split()[-2] == "40"


def test_bad_homes_are_named(empty):
    empty.write("homes", "a\n\n")
    words = ["shards", "plan", "-w", "2", "--homes", "homes"]
    assert "require each other" in empty(*words, code=2).err
    words += ["--at", "a"]
    assert "line 2 of 'homes'" in empty(*words, code=1).err
    empty.write("homes", "a\nb\n")
    assert "--homes requires --mode table" in empty(*words, "--compare", code=2).err
    assert "has 2 lines" in empty(*words, "-s", "3", code=2).err
    empty.write("sizes", "1\n2\n")
    assert "exclude each other" in empty(*words, "--sizes", "sizes", code=2).err


def test_weights_are_shares(empty):
    told = plan(empty, "-w", "3", "-s", "100", "--weights", "1,1,2")["table"]
    assert (told["before"]["most"], told["before"]["least"]) == (50, 25)


def test_sizes_are_balanced(empty):
    sizes = [3 ** (i % 7) for i in range(50)]
    empty.write("sizes", "".join(f"{n}\n" for n in sizes))
    after = plan(empty, "-w", "5", "--sizes", "sizes", "--leave", "2")["table"]["after"]
    assert after["most_bytes"] - after["least_bytes"] <= max(sizes)
    assert after["minimum_bytes"] <= after["moved_bytes"] <= sum(sizes)
    assert after["shards"] == 50


def test_the_same_plan_has_the_same_hash(empty):
    words = ["-w", "5", "-s", "77", "--join", "2"]
    first = plan(empty, *words)["table"]
    assert first == plan(empty, *words)["table"]
    assert first["before"]["hash"] != first["after"]["hash"]


def test_text_has_a_line_for_each_mode(empty):
    said = lines(empty("shards", "plan", "-w", "100", "-s", "10000", "--join", "1",
                       "--compare").out)
    assert said[0] == "10,000 shards of 100 workers, 1 more comes"
    assert said[1].split() == ["MODE", "MOVED", "MINIMUM", "RATIO", "MOST", "LEAST",
                               "HASH"]
    assert said[2].split()[:6] == ["table", "99", "99", "1.00", "100", "99"]
    assert [line.split()[0] for line in said[2:]] == ["table", "rendezvous", "jump",
                                                      "ring"]


def test_bad_sizes_are_named(empty):
    empty.write("sizes", "1\nmany\n")
    said = empty("shards", "plan", "-w", "2", "--sizes", "sizes", code=1).err
    assert "line 2 of 'sizes'" in said
    assert "cannot read 'gone'" in empty("shards", "plan", "-w", "2", "--sizes", "gone",
                                         code=1).err
    empty.write("sizes", f"{2 ** 62}\n{2 ** 62}\n")
    assert "2^62" in empty("shards", "plan", "-w", "2", "--sizes", "sizes", code=1).err
    empty.write("sizes", "1\n2\n")
    assert "has 2 lines" in empty("shards", "plan", "-w", "2", "-s", "3", "--sizes",
                                  "sizes", code=2).err
    done = empty("shards", "plan", "-w", "2", "--sizes", "sizes", "--compare",
                 code=2)
    assert "--sizes requires --mode table" in done.err


# ---- audits ----

def crc64nvme(data, crc=0):
    """Bit by bit, as its definition has it; on from the value of what came before."""
    crc ^= (1 << 64) - 1
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x9A6C9329AC4BC9B5 if crc & 1 else 0)
    return crc ^ (1 << 64) - 1


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def encoded(ranges):
    """A set of positions, as lib/shard/order/interval_set.h has it."""
    out, at = b"RRS1" + varint(len(ranges)), 0
    for first, end in ranges:
        out += varint(first - at) + varint(end - first)
        at = end
    return out + struct.pack("<Q", crc64nvme(out))


class AuditFile:
    """Writes what lib/shard/audit/audit.h describes, and knows nothing else of it."""

    def __init__(self, path):
        self.path, self.chain, self.n = path, 0, 0
        path.write_bytes(b"ROARAUD1")

    def record(self, kind, body):
        data = struct.pack("<II", len(body), kind) + body
        self.chain = crc64nvme(data, self.chain)
        with self.path.open("ab") as f:
            f.write(data + struct.pack("<Q", self.chain))

    def begin(self, world_epoch, rank, world, total=100, base=(),
              dataset=b"corpus", seed=42, epoch=3):
        self.record(1, struct.pack("<QIIQQQI", world_epoch, rank, world, seed,
                                   epoch, total, len(dataset)) + dataset +
                    encoded(base))
        self.n += 1
        return self

    def positions(self, *ranges, kind=2):
        self.record(kind, struct.pack("<I", self.n - 1) + encoded(ranges))
        return self


@pytest.fixture
def ranks(empty):
    """The files of two ranks that shared 100 samples."""
    files = [AuditFile(pathlib.Path(empty.path(f"rank-{i}"))) for i in range(2)]
    files[0].begin(1, 0, 2).positions((0, 30)).positions((60, 100))
    files[1].begin(1, 1, 2).positions((30, 60))
    return files


def audit(place, *words, code=0):
    return place("shards", "audit", "rank-0", "rank-1", *words, code=code)


def audit_json(place, *words, code=0):
    return json.loads(audit(place, "--json", *words, code=code).out)


def test_an_audit_proves_an_epoch(empty, ranks):
    del ranks
    done = audit(empty)
    assert (done.out, done.err) == (
        "corpus, seed 42, epoch 3: exact\n"
        "  100 of 100 samples consumed, by 1 world\n", "")
    told = audit_json(empty)
    assert told["exact"] and told["files"] == 2
    assert not told["files_failed"] and not told["files_cut"]
    assert told["epochs"] == [{
        "dataset": "corpus", "seed": 42, "epoch": 3, "exact": True,
        "total": 100, "consumed": 100, "worlds": 1, "redone": 0, "gaps": [],
        "dropped": [], "padded": [], "twice": [], "unproven": [], "problems": []}]


def test_an_audit_names_what_came_twice_and_never(empty, ranks):
    ranks[1].positions((10, 12))
    ranks[0].begin(1, 0, 2, epoch=4)
    ranks[1].begin(1, 1, 2, epoch=4).positions((0, 7), (8, 100))
    done = audit(empty, code=1)
    assert done.out == (
        "corpus, seed 42, epoch 3: not exact\n"
        "  100 of 100 samples consumed, by 1 world\n"
        "  positions 10-11: consumed by rank 0 and by rank 1 in world epoch 1\n"
        "corpus, seed 42, epoch 4: not exact\n"
        "  99 of 100 samples consumed, by 1 world\n"
        "  position 7: not consumed\n")
    told = audit_json(empty, code=1)
    assert [e["exact"] for e in told["epochs"]] == [False, False]
    assert told["epochs"][0]["twice"] == [[10, 12]]
    assert told["epochs"][1]["gaps"] == [[7, 8]]
    told = audit_json(empty, "--unfinished", code=1)
    assert [e["exact"] for e in told["epochs"]] == [False, True]


def test_an_epoch_that_goes_on_is_exact_so_far(empty, ranks):
    for i, rank in enumerate(ranks):
        rank.begin(1, i, 2, epoch=4).positions((10 * i, 10 * i + 10))
    assert "epoch 4: exact so far\n  20 of 100 samples" in \
        audit(empty, "--unfinished").out
    assert "positions 20-99: not consumed" in audit(empty, code=1).out


def test_what_a_restart_redid_counts_once(empty, ranks):
    ranks[0].begin(2, 0, 1, base=[(0, 80)]).positions((80, 100))
    assert "100 of 100 samples consumed, by 2 worlds; 20 samples repeated after a " \
        "restart" in audit(empty).out
    ranks[0].begin(3, 0, 1, epoch=4, base=[(0, 5)]).positions((5, 100))
    assert "positions 0-4: consumed before world epoch 3 began, but no file " \
        "names the rank" in audit(empty, code=1).out


def test_large_numbers_are_grouped(empty, ranks):
    for i, rank in enumerate(ranks):
        rank.begin(1, i, 2, dataset=b"big", total=10**10)
        rank.positions((i * 5 * 10**9, (i + 1) * 5 * 10**9))
    assert "10,000,000,000 of 10,000,000,000 samples" in audit(empty).out


def test_what_was_dropped_is_said(empty, ranks):
    for i, rank in enumerate(ranks):
        rank.begin(1, i, 2, epoch=4).positions((45 * i, 45 * i + 45))
    ranks[0].positions((90, 100), kind=3)
    done = audit(empty)
    assert "epoch 4: exact, except for dropped samples\n" in done.out
    assert "  positions 90-99: dropped on purpose\n" in done.out


def test_what_fills_up_is_said(empty, ranks):
    ranks[1].positions((0, 4), kind=4)
    assert audit(empty).out == (
        "corpus, seed 42, epoch 3: exact, except for padding\n  100 of 100 "
        "samples consumed, by 1 world\n  positions 0-3: repeated to pad the "
        "last step\n")
    assert audit_json(empty)["epochs"][0]["padded"] == [[0, 4]]


def test_a_file_that_is_named_twice_counts_once(empty, ranks):
    del ranks
    os.symlink("rank-1", empty.path("link"))
    told = audit_json(empty, "./rank-0", "link")
    assert told["exact"] and told["files"] == 2


def test_a_missing_file_is_named(empty, ranks):
    del ranks
    done = empty("shards", "audit", "rank-1", code=1)
    assert "there is no file of rank 0 in world epoch 1" in done.out
    done = audit(empty, "rank-9", code=1)
    assert done.err == ("roar: cannot read audit file 'rank-9': No such file or "
                        "directory\n")


def test_damaged_foreign_and_cut_files_are_told(empty, ranks):
    whole = ranks[1].path.read_bytes()
    ranks[1].path.write_bytes(whole[:40] + b"?" + whole[41:])
    done = audit(empty, code=1)
    assert done.err == ("roar: audit file 'rank-1' is damaged from byte 8 on: "
                        "the rest cannot be trusted, use an undamaged copy\n")
    ranks[1].path.write_bytes(whole + b"\x20\0\0\0\2")
    assert "1 file truncated by a crash: the remaining records count.\n" in \
        audit(empty).out
    ranks[1].path.write_bytes(b"hello")
    assert "'rank-1' is not an audit file" in audit(empty, code=1).err
    ranks[1].path.write_bytes(b"")
    assert "'rank-1' is empty" in audit(empty, code=1).err


def test_names_of_datasets_cannot_act_on_a_terminal(empty, ranks):
    for i, rank in enumerate(ranks):
        rank.begin(1, i, 2, dataset=b"a\x1b[2J\xff", total=2)
        rank.positions((i, i + 1))
    assert "\x1b" not in audit(empty).out
    names = [e["dataset"] for e in audit_json(empty)["epochs"]]
    assert names == ["a\x1b[2J\ufffd", "corpus"]


def test_an_audit_needs_files(empty):
    done = empty("shards", "audit", code=2)
    assert "missing argument: usage is 'roar shards audit" in done.err
    assert "takes no option '--join'" in \
        empty("shards", "audit", "x", "--join", "1", code=2).err
