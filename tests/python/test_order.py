"""Orders, positions and audits: roar.SampleOrder and what is below it."""

import array
import copy
import gc
import json
import math
import os
import pickle
import random
import struct
import subprocess
from fractions import Fraction

import pytest

import _roar_shard
import roar
from arena_helpers import descriptors
from leak_helpers import growth, leaks_show
from roar.order import whole_weights

MASK = (1 << 64) - 1


# ---- the order, written down a second time from its description ----

def splitmix64(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def key_of(dataset, seed, epoch):
    name = dataset.encode()
    h = splitmix64(len(name))
    for i in range(0, len(name), 8):
        h = splitmix64(h ^ int.from_bytes(name[i:i + 8], "little"))
    return splitmix64((splitmix64(h ^ seed) + epoch) & MASK)


def permuted(n, key, x, tweak=0):
    a = math.isqrt(n - 1) + 1 if n > 1 else 1
    b = -(-n // a)
    rounds = 18 if n <= 1024 else 6
    while True:
        half, size = list(divmod(x, b)), (a, b)
        for i in range(rounds):
            k = splitmix64((key + (i + 1) * 0x9E3779B97F4A7C15) & MASK)
            h = (half[1 - i % 2] + k + tweak) * 0x9E3779B97F4A7C15 & MASK
            h = (h ^ h >> 32) * 0xD6E8FEB86659FD93 & MASK
            half[i % 2] = (half[i % 2] + (h * size[i % 2] >> 64)) % size[i % 2]
        x = half[0] * b + half[1]
        if x < n:
            return x


@pytest.mark.parametrize("n", [1, 2, 10, 1000, 1025, 99991, 10**10, 2**63 - 1])
def test_an_order_is_the_one_that_is_described(n):
    order = _roar_shard.Order("a dataset", n, seed=7, epoch=3)
    key = key_of("a dataset", 7, 3)
    for position in {0, n // 3, n // 2, n - 1}:
        assert order[position] == permuted(n, key, position)
        assert order.position(order[position]) == position


def test_blocks_are_those_that_are_described():
    n, size, window = 1005, 10, 4
    order = _roar_shard.Order("d", n, seed=1, shard_size=size, window=window)
    key, shards = key_of("d", 1, 0), -(-n // size)
    slots = [permuted(shards, key, slot) for slot in range(shards)]
    want = []
    for block in range(0, shards, window):
        inside = [sample for shard in slots[block:block + window]
                  for sample in range(shard * size, min((shard + 1) * size, n))]
        tweak = splitmix64(block // window + 1)
        want += [inside[permuted(len(inside), key + 1, i, tweak)]
                 for i in range(len(inside))]
    assert order.fill(0, n).tolist() == want


def test_filling_and_asking_are_one():
    order = _roar_shard.Order("d", 100000, shard_size=100, window=8)
    filled = order.fill(500, 10000)
    assert filled.format == "Q" and filled.nbytes == 80000
    assert filled.tolist() == [order[i] for i in range(500, 10500)]
    positions = array.array("Q", [*range(40, 90), 3, 99999, 99998])
    assert order.samples(positions).tolist() == [order[i] for i in positions]
    assert order[-1] == order[99999]


@pytest.mark.parametrize("call", [
    lambda o: o[100], lambda o: o[-101], lambda o: o.position(100),
    lambda o: o.fill(99, 2), lambda o: o.fill(-1, 2),
    lambda o: o.samples(array.array("Q", [100])), lambda o: o.fill(0, 1 << 70)])
def test_what_is_beyond_an_order_is_refused(call):
    with pytest.raises((IndexError, ValueError)):
        call(_roar_shard.Order("d", 100))


def test_arrays_of_numpy_go_in_and_out():
    numpy = pytest.importorskip("numpy")
    order = _roar_shard.Order("d", 1000)
    positions = numpy.arange(10, 990, 7, dtype=numpy.uint64)
    samples = numpy.asarray(order.samples(positions))
    assert samples.dtype == numpy.uint64
    assert samples.tolist() == [order[int(p)] for p in positions]


@pytest.mark.parametrize("what", [array.array("i", [1]), b"12345678", [1]])
def test_positions_are_numbers_of_64_bits(what):
    with pytest.raises(TypeError):
        _roar_shard.Order("d", 100).samples(what)


# ---- sets ----

def test_ranges_are_a_set_of_positions():
    ranges = roar.Ranges([(10, 20), (30, 40)])
    assert ranges.add(15, 30) == 10
    assert ranges.items() == list(ranges) == [(10, 40)]
    assert ranges.count == 30 and len(ranges) == 1
    assert 10 in ranges and 40 not in ranges and 1 << 63 not in ranges
    ranges.remove(12, 14)
    assert ranges.gaps(0, 50).items() == [(0, 10), (12, 14), (40, 50)]
    other = roar.Ranges([(12, 14)])
    other.update(ranges)
    other.update(other)
    assert other == roar.Ranges([(10, 40)]) and other != ranges
    assert repr(ranges) == "<Ranges: 10-11, 14-39>"
    assert repr(roar.Ranges()) == "<Ranges: empty>"


def test_ranges_are_encoded_as_described():
    ranges = roar.Ranges([(0, 42), (178, 179)])
    data = ranges.encode()
    body = b"RRS1" + bytes([2, 0, 42, 0x88, 1, 1])
    assert data == body + struct.pack("<Q", int(roar.hash(body, "crc64nvme"), 16))
    assert roar.Ranges.decode(data) == ranges
    with pytest.raises(ValueError, match="damaged"):
        roar.Ranges.decode(data[:-1])


@pytest.mark.parametrize("wrong", [[(5, 4)], [(0, 1 << 63)], [(-1, 4)], [(1,)],
                                   [("a", 1)], [7], 7])
def test_what_is_no_range_is_refused(wrong):
    with pytest.raises((TypeError, ValueError)):
        roar.Ranges(wrong)


# ---- ranks ----

def all_ranks(n, world, batch=3, **options):
    return [roar.SampleOrder("d", n, rank=rank, world_size=world,
                             batch_size=batch, **options)
            for rank in range(world)]


def steps_of(ranks, n_steps=None):
    """What all ranks get in each step, in the order of ranks."""
    walks = [iter(rank) for rank in ranks]
    steps = len(ranks[0]) if n_steps is None else n_steps
    for _ in range(steps):
        yield [sample for walk in walks for sample in next(walk)]


def test_the_order_does_not_know_how_many_ranks_there_are():
    orders = [sum(steps_of(all_ranks(1000, world, batch=24 // world)), [])
              for world in (1, 2, 3, 4, 8)]
    assert all(order == orders[0] for order in orders)
    assert sorted(orders[0]) == list(range(1000))


def test_each_epoch_has_an_order_of_its_own():
    order = roar.SampleOrder("d", 100, batch_size=100)
    first, second = next(iter(order)), None
    assert order.epoch == 0 and len(order) == 0
    assert list(order) == [] and order.epoch == 1
    (second,) = order
    assert sorted(first) == sorted(second) and first != second
    assert order.epoch == 2


def test_every_sample_comes_once_over_elastic_restarts():
    chance = random.Random(1)
    for _ in range(30):
        n, state, seen = chance.randrange(1, 500), None, []
        while True:
            ranks = all_ranks(n, chance.randrange(1, 9), chance.randrange(1, 6))
            for rank in ranks if state else []:
                rank.load_state_dict(state)
            steps = chance.randrange(len(ranks[0]) + 1)
            seen += sum(steps_of(ranks, steps), [])
            states = [rank.state_dict() for rank in ranks]
            assert all(s == states[0] for s in states)
            state = json.loads(json.dumps(states[0]))
            if len(ranks[0]) == 0:
                break
        assert sorted(seen) == list(range(n))
        whole = roar.SampleOrder("d", n, batch_size=n)
        assert seen == next(iter(whole))


def test_a_state_is_a_few_numbers():
    order = roar.SampleOrder("d", 10**10, world_size=512, rank=7, batch_size=64)
    walk = iter(order)
    for _ in range(100):
        next(walk)
    state = order.state_dict()
    assert state["consumed"] == 100 * 512 * 64
    assert len(pickle.dumps(state)) < 300
    assert order.state_dict(steps=10)["consumed"] == 10 * 512 * 64
    with pytest.raises(IndexError):
        order.state_dict(steps=1 << 40)


def test_a_state_goes_into_the_middle_of_what_is_being_given():
    order = roar.SampleOrder("d", 100, batch_size=10)
    batches = list(order)
    order.load_state_dict({**order.state_dict(), "epoch": 0, "consumed": 40})
    assert list(order) == batches[4:]
    walk = iter(order)
    next(walk)
    order.load_state_dict({**order.state_dict(), "epoch": 0, "consumed": 0})
    assert list(walk) == []  # it was of another epoch
    assert list(order) == batches


def test_holes_in_a_state_are_kept():
    order = roar.SampleOrder("d", 100, batch_size=7)
    state = {**order.state_dict(), "consumed": [[10, 20], [50, 60]]}
    order.load_state_dict(copy.deepcopy(state))
    assert order.state_dict() == state
    taken = {order.order[p] for p in (*range(10, 20), *range(50, 60))}
    assert sorted({*range(100)} - taken) == sorted(sum(order, []))


@pytest.mark.parametrize("tail, lengths, n", [
    ("exact", [3, 3, 3, 1], 100), ("drop", [3, 3, 3], 96),
    ("pad", [3, 3, 3, 3], 108)])
def test_the_tail_is_dealt_out_dropped_or_padded(tail, lengths, n):
    ranks = all_ranks(100, 4, tail=tail)
    batches = [[len(batch) for batch in rank] for rank in ranks]
    assert sum(map(sum, batches)) == n
    assert batches[0][-len(lengths):] == lengths or tail == "exact"
    assert len({len(b) for b in batches}) == 1


def test_a_dataset_can_come_in_turn():
    order = roar.SampleOrder("d", 10, batch_size=4, shuffle=False)
    assert list(order) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_epochs_do_not_go_back():
    order = roar.SampleOrder("d", 10, epoch=3)
    next(iter(order))
    order.set_epoch(3)
    assert order.step == 1
    order.set_epoch(5)
    assert (order.epoch, order.step) == (5, 0)
    with pytest.raises(ValueError, match="epoch 4 is over"):
        order.set_epoch(4)


def test_seeds_may_be_signed():
    minus, plus = (roar.SampleOrder("d", 50, seed=seed, batch_size=50)
                   for seed in (-1, MASK))
    assert list(minus) == list(plus)


@pytest.mark.parametrize("words", [
    {"n_samples": 0}, {"n_samples": -1}, {"n_samples": 1 << 63},
    {"n_samples": 1.5}, {"rank": 1}, {"rank": -1}, {"world_size": 0},
    {"batch_size": 0}, {"batch_size": 1 << 40}, {"epoch": -1}, {"window": 2},
    {"shard_size": -1}, {"tail": "cut"}, {"seed": 1 << 64},
    {"audit": "file"}, {"dataset": "x" * 2000}])
def test_numbers_that_cannot_be_are_refused(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError):
        roar.SampleOrder(**{"dataset": "d", "n_samples": 10, **words})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("change, words", [
    ({"dataset": "e"}, "dataset 'e'"), ({"n_samples": 11}, "n_samples 11"),
    ({"seed": 1}, "seed 1"), ({"version": 2}, "version 2"),
    ({"consumed": 11}, "another dataset"), ({"window": None}, "window None"),
    ({"consumed": None}, "damaged"), ({"consumed": [3]}, "damaged"),
    ({"consumed": -1}, "not -1"), ({"consumed": [[5, 2]]}, "not in the epoch"),
    ({"epoch": None}, "epoch must be")])
def test_the_state_of_another_order_is_refused(change, words):
    order = roar.SampleOrder("d", 10)
    next(iter(order))
    before = order.state_dict()
    with pytest.raises(ValueError, match=words):
        order.load_state_dict({**before, **change})
    assert order.state_dict() == before


# ---- mixes ----

PARTS = [roar.Part("web", 900, 0.7), roar.Part("books", 37, 0.2, seed=3),
         roar.Part("code", 500, 0.1, shard_size=10, window=4)]


def test_shares_are_exact():
    mix = roar.MixedOrder(PARTS, 1000, batch_size=10)
    assert mix.period == 10
    for batch in mix:
        counts = [sum(part == i for part, _ in batch) for i in range(3)]
        assert counts == [7, 2, 1]


def test_each_dataset_of_a_mix_goes_through_its_own_epochs():
    mix = roar.MixedOrder(PARTS, 1000, batch_size=50)
    web = [s for _ in range(9) for batch in mix for part, s in batch if part == 0]
    assert sorted(web) == sorted(7 * list(range(900)))  # 6300 places


def test_a_mix_is_resumed_by_another_number_of_ranks():
    whole = sum(roar.MixedOrder(PARTS, 777, batch_size=777, seed=5), [])
    first = roar.MixedOrder(PARTS, 777, batch_size=50, seed=5)
    seen = sum((batch for _, batch in zip(range(6), first)), [])
    ranks = [roar.MixedOrder(PARTS, 777, rank=r, world_size=3, batch_size=7,
                             seed=5) for r in range(3)]
    for rank in ranks:
        rank.load_state_dict(json.loads(json.dumps(first.state_dict())))
    seen += sum(steps_of(ranks), [])
    assert seen == whole


@pytest.mark.parametrize("weights, wanted", [
    ([0.7, 0.2, 0.1], [7, 2, 1]), ([2, 4], [1, 2]), ([1, 1 / 3], None),
    ([Fraction(1, 3), Fraction(2, 3)], [1, 2]), (["0.25", 1], [1, 4])])
def test_weights_become_the_smallest_whole_numbers(weights, wanted):
    parts = [roar.Part(str(i), 5, w) for i, w in enumerate(weights)]
    if wanted is None:
        with pytest.raises(ValueError, match="round them"):
            whole_weights(parts)
    else:
        assert whole_weights(parts) == wanted


@pytest.mark.parametrize("parts", [
    [], [roar.Part("d", 10, 0)], [roar.Part("d", 10, -1)],
    [roar.Part("d", 0, 1)], [roar.Part("d", 10, float("nan"))],
    [roar.Part("d", 10, None)]])
def test_what_cannot_be_mixed_is_refused(parts):
    with pytest.raises(ValueError):
        roar.MixedOrder(parts, 10)


# ---- audits ----

def audited(tmp_path, world, world_epoch, **options):
    return [roar.SampleOrder("d", 100, rank=r, world_size=world, batch_size=4,
                             audit=tmp_path / f"rank-{r}.audit",
                             world_epoch=world_epoch, **options)
            for r in range(world)]


def test_an_audit_is_on_the_disk_with_the_state(tmp_path):
    (order,) = audited(tmp_path, 1, 1)
    walk = iter(order)
    next(walk)
    before = (tmp_path / "rank-0.audit").stat().st_size
    next(walk)
    order.state_dict()
    assert (tmp_path / "rank-0.audit").stat().st_size > before
    order.close()
    order.close()
    with pytest.raises(ValueError, match="closed"):
        next(walk)


def test_a_file_has_one_writer(tmp_path):
    orders = audited(tmp_path, 1, 1)
    with pytest.raises(OSError, match="file of its own"):
        audited(tmp_path, 1, 2)
    del orders
    gc.collect()
    audited(tmp_path, 1, 2)[0].close()


def test_a_foreign_file_is_left_alone(tmp_path):
    path = tmp_path / "rank-0.audit"
    path.write_bytes(b"important")
    with pytest.raises(ValueError, match="is not an audit file"):
        audited(tmp_path, 1, 1)
    assert path.read_bytes() == b"important"


def judged(tmp_path):
    """What `roar shards audit` says of the one epoch in all files."""
    program = os.environ.get("ROAR")
    if not program:
        pytest.skip("ROAR does not name the program")
    # A sanitizer's library that Python needs is not the program's.
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    done = subprocess.run(
        [program, "shards", "audit", "--json", *sorted(tmp_path.iterdir())],
        stdout=subprocess.PIPE, env=env, check=False)
    (epoch,) = json.loads(done.stdout)["epochs"]
    assert done.returncode == (0 if epoch["exact"] else 1)
    return epoch


def close(ranks):
    for rank in ranks:
        rank.close()


def test_an_audit_of_a_crash_and_a_restart_is_exact(tmp_path):
    """Two ranks come to the fifth step, their checkpoint had the third, three go on."""
    ranks = audited(tmp_path, 2, 1)
    list(steps_of(ranks, 3))
    state = ranks[0].state_dict()
    list(steps_of(ranks, 2))
    close(ranks)
    ranks = audited(tmp_path, 3, 2)
    for rank in ranks:
        rank.load_state_dict(state)
        assert rank.consumed().count == 24
    list(steps_of(ranks))
    close(ranks)
    epoch = judged(tmp_path)
    assert epoch["exact"] and not epoch["problems"]
    assert epoch["redone"] == 16 and epoch["consumed"] == 100


def test_who_goes_back_within_a_process_is_another_world(tmp_path):
    ranks = audited(tmp_path, 2, 1)
    list(steps_of(ranks, 3))
    state = ranks[0].state_dict()
    list(steps_of(ranks, 4))
    for rank in ranks:
        with pytest.raises(ValueError, match="a world_epoch from 2"):
            rank.load_state_dict(state)
        with pytest.raises(ValueError, match="from 2"):
            rank.load_state_dict(state, world_epoch=1)
        assert rank.step == 7
        rank.load_state_dict(state, world_epoch=2)
    list(steps_of(ranks))
    close(ranks)
    epoch = judged(tmp_path)
    assert epoch["exact"] and epoch["worlds"] == 2 and epoch["redone"] == 32


def test_an_audit_finds_a_state_that_was_not_loaded(tmp_path):
    ranks = audited(tmp_path, 2, 1)
    list(steps_of(ranks, 3))
    state = ranks[0].state_dict()
    close(ranks)
    ranks = audited(tmp_path, 2, 2)
    ranks[0].load_state_dict(state)
    for walk in map(iter, ranks):
        next(walk)
    close(ranks)
    epoch = judged(tmp_path)
    assert not epoch["exact"]
    assert "begin world epoch 2 from different positions" in \
        " ".join(epoch["problems"])


@pytest.mark.parametrize("tail, dropped, padded", [
    ("exact", [], []), ("drop", [[96, 100]], []), ("pad", [], [[0, 8]])])
def test_an_audit_tells_of_the_tail(tmp_path, tail, dropped, padded):
    ranks = audited(tmp_path, 3, 1, tail=tail)
    for rank in ranks:
        list(rank)
    close(ranks)
    epoch = judged(tmp_path)
    assert epoch["exact"]
    assert (epoch["dropped"], epoch["padded"]) == (dropped, padded)


# ---- tables ----

def test_a_table_moves_the_fewest_shards():
    table = _roar_shard.Table(1000)
    for worker in range(10):
        table.join(worker, f"w{worker}")
    first = table.deal()
    assert (first["most"], first["least"], table.version) == (100, 100, 1)
    assert sorted(sum((table.shards(w) for w in range(10)), [])) == \
        list(range(1000))
    assert all(table.owner(s) == 3 for s in table.shards(3))
    table.leave(3)
    second = table.deal()
    assert second["moved"] == second["minimum"] == 100
    assert table.shards(3) == [] and table.owner(1000) is None
    assert second["hash"] == table.hash != first["hash"]


@pytest.mark.parametrize("call", [
    lambda t: t.join(0, "again"), lambda t: t.leave(7), lambda t: t.join(-1, "w"),
    lambda t: t.join(1 << 30, "w"), lambda t: _roar_shard.Table(1 << 31),
    lambda t: _roar_shard.Table(5, "magic"), lambda t: t.shards("w")])
def test_what_cannot_be_dealt_is_refused(call):
    table = _roar_shard.Table(10)
    table.join(0, "w0")
    table.deal()
    with pytest.raises((KeyError, OverflowError, TypeError, ValueError)):
        call(table)


# ---- memory ----

@leaks_show
def test_nothing_leaks(tmp_path):
    def work():
        order = roar.SampleOrder("d", 1000, batch_size=100, world_size=2,
                                 shard_size=10, window=3)
        list(order)
        order.load_state_dict({**order.state_dict(), "consumed": [[3, 9]]})
        roar.Ranges.decode(roar.Ranges([(1, 2), (5, 6)]).encode()).gaps(0, 9)
        list(roar.MixedOrder(PARTS, 100, batch_size=100))
        audit = _roar_shard.Audit(tmp_path / "leak")
        audit.begin("d", 0, 0, 10, 0, 0, 1)
        for wrong in (lambda: roar.Ranges([(5, 4)]),
                      lambda: _roar_shard.Order("d", 0),
                      lambda: _roar_shard.Position(1, 0, 0, 1),
                      lambda: _roar_shard.Mix([("d", 0, 1, 0, 0, 0, 0, 0)])):
            with pytest.raises(ValueError):
                wrong()
        table = _roar_shard.Table(100)
        table.join(0, "w")
        table.deal()
        table.shards(0)
        (tmp_path / "leak").unlink()

    work()
    n_open = descriptors()
    objects, memory = growth(work, 50)
    assert objects < 50 and memory < 1 << 20
    assert descriptors() == n_open
