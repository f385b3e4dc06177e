"""What the tests for leaks share."""

import gc
import os

import pytest

leaks_show = pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="the sanitizer keeps what was freed")


def resident():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * 4096


def growth(work, times, rounds=4):
    """Objects and bytes that remain of doing this so often: the least of some
    rounds, since memory also grows for reasons of malloc's and torch's own,
    but a leak is there in each."""
    grown = []
    for _ in range(rounds):
        gc.collect()
        objects, memory = len(gc.get_objects()), resident()
        for _ in range(times):
            work()
        gc.collect()
        grown.append((len(gc.get_objects()) - objects, resident() - memory))
    return min(g[0] for g in grown), min(g[1] for g in grown)
