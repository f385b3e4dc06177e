"""roar shards: plans and their certificates."""

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
    assert "knows no bytes" in empty("shards", "plan", "-w", "2", "--sizes", "sizes",
                                     "--compare", code=2).err
