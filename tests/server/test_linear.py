"""The checkers of recorded histories themselves: what they let pass, and what not."""

import random

import pytest

from facts import Joined, Met, faults_of_meetings, faults_of_places
from linear import Call, do_dataset, do_places, is_linear


def history(*rows):
    return [Call(*row) for row in rows]


@pytest.mark.parametrize("good, calls", [
    # One after the other.
    (True, history((0, 1, "set", (1,), True), (2, 3, "get", (), 1))),
    (False, history((0, 1, "set", (1,), True), (2, 3, "get", (), None))),
    # At one time: either order.
    (True, history((0, 5, "set", (1,), True), (1, 4, "get", (), None))),
    (True, history((0, 5, "set", (1,), True), (1, 4, "get", (), 1))),
    # What was seen is not unseen.
    (False, history((0, 9, "set", (1,), True), (1, 2, "get", (), 1),
                    (3, 4, "get", (), None))),
    # A sum that is done once.
    (True, history((0, 3, "add", (1,), 2), (1, 2, "add", (1,), 1))),
    (False, history((0, 1, "add", (1,), 1), (2, 3, "add", (1,), 1))),
    (False, history((0, 1, "add", (1,), 1), (2, 3, "get", (), 2))),
    # Without an answer: done, not done, or done later.
    (True, history((0, None, "set", (1,), None), (2, 3, "get", (), 1))),
    (True, history((0, None, "set", (1,), None), (2, 3, "get", (), None))),
    (True, history((0, None, "set", (1,), None), (2, 3, "get", (), None),
                   (4, 5, "get", (), 1))),
    (False, history((0, None, "set", (1,), None), (2, 3, "get", (), 1),
                    (4, 5, "get", (), None))),
    (True, history((0, 1, "set", (1,), True),
                   (2, 5, "compare_set", (1, 2), True),
                   (3, 6, "compare_set", (1, 3), False),
                   (7, 8, "get", (), 2))),
    (False, history((0, 1, "set", (1,), True),
                    (2, 5, "compare_set", (1, 2), True),
                    (3, 6, "compare_set", (1, 3), True))),
])
def test_the_checker_knows_what_can_be(good, calls):
    assert is_linear(calls) == good
    assert is_linear(list(reversed(calls))) == good




# ---- datasets ----

@pytest.mark.parametrize("good, calls", [
    # What was reported before is not new.
    (True, history((0, 1, "report", (0, 0, 10), 10), (2, 3, "report", (0, 5, 15), 5))),
    (False, history((0, 1, "report", (0, 0, 10), 10), (2, 3, "report", (0, 5, 15), 10))),
    # A report whose answer was lost may have counted.
    (True, history((0, None, "report", (0, 0, 10), None), (2, 3, "report", (0, 5, 15), 5))),
    (True, history((0, None, "report", (0, 0, 10), None), (2, 3, "report", (0, 5, 15), 10))),
    # Each epoch begins anew, and none comes back.
    (True, history((0, 1, "report", (0, 0, 10), 10), (2, 3, "advance", (1,), 1),
                   (4, 5, "report", (1, 0, 10), 10))),
    (False, history((0, 1, "advance", (1,), 1), (2, 3, "report", (0, 0, 10), 10))),
    (True, history((0, 1, "advance", (1,), 1), (2, 3, "advance", (0,), "refused"))),
    (False, history((0, 1, "advance", (1,), 1), (2, 3, "advance", (0,), 0))),
    (True, history((0, 1, "advance", (1,), 1), (2, 3, "advance", (3,), "refused"))),
    (False, history((0, 1, "advance", (2,), 2), (2, 3, "advance", (3,), 3))),
])
def test_what_can_be_of_a_dataset(good, calls):
    assert is_linear(calls, do_dataset) == good


# ---- places ----

@pytest.mark.parametrize("good, calls", [
    (True, history((0, 1, "join", ("a",), 0), (2, 3, "join", ("b",), 1),
                   (4, 5, "leave", ("a",), True), (6, 7, "join", ("c",), 1))),
    (False, history((0, 1, "join", ("a",), 0), (2, 3, "join", ("b",), 0))),
    (False, history((0, 1, "join", ("a",), 0), (2, 3, "join", ("b",), 2))),
    # Who left is gone, once.
    (False, history((0, 1, "join", ("a",), 0), (2, 3, "leave", ("a",), True),
                    (4, 5, "leave", ("a",), True))),
    # A place may have been taken or not.
    (True, history((0, None, "join", ("a",), None), (2, 3, "join", ("b",), 1))),
    (True, history((0, None, "join", ("a",), None), (2, 3, "join", ("b",), 0))),
])
def test_what_can_be_of_places(good, calls):
    assert is_linear(calls, do_places) == good


def joined(begin, end, worker, rank, world):
    return Call(begin, end, "join", (worker,), Joined(worker, rank, world))


@pytest.mark.parametrize("fault, calls", [
    ("", [joined(0, 1, "a", 0, 1), joined(2, 3, "b", 1, 2)]),
    ("is a and b", [joined(0, 3, "a", 0, 1), joined(1, 2, "b", 0, 1)]),
    ("is not after", [joined(0, 1, "a", 0, 2), joined(2, 3, "b", 1, 1)]),
])
def test_ranks_of_a_world_are_told_apart(fault, calls):
    faults = faults_of_places(calls)
    assert bool(faults) == bool(fault)
    assert not fault or fault in faults[0]


# ---- meetings ----

def met(begin, end, worker, order, values=(), generation=1, participants=2,
        gave=b"x"):
    return Call(begin, end, "meet", (worker, generation, gave),
                Met(worker, generation, participants, order, values, (0, 0)))


GOOD = (("a", b"x"), ("b", b"x"))


@pytest.mark.parametrize("fault, calls", [
    ("", [met(0, 5, "a", 1, GOOD), met(4, 6, "b", 2, GOOD)]),
    ("before b came", [met(0, 2, "a", 1), met(3, 4, "b", 2)]),
    ("was released as", [met(0, 5, "a", 1, GOOD),
                         met(4, 6, "b", 2, (("a", b"y"), ("b", b"x")))]),
    ("nobody gave", [met(0, 5, "a", 1, (("a", b"x"), ("b", b"z"))),
                     met(4, 6, "b", 2, (("a", b"x"), ("b", b"z")))]),
    ("released with 1", [met(0, 5, "a", 1, participants=1),
                         met(4, 6, "b", 2, participants=1)]),
    ("two came at one place", [met(0, 5, "a", 1), met(4, 6, "b", 1)]),
    ("alone", [met(0, 5, "a", 1), Call(1, None, "meet", ("b", 1, b"x"), None),
               met(6, 8, "a", 1, generation=2), met(7, 9, "b", 2, generation=2)]),
    ("not all were released", [met(0, 5, "a", 1, generation=2),
                               met(0, 5, "b", 2, generation=2)]),
])
def test_a_use_of_a_meeting_is_released_once_for_all(fault, calls):
    faults = faults_of_meetings(("a", "b"), calls)
    assert bool(faults) == bool(fault)
    assert not fault or any(fault in text for text in faults)


# ---- many that are unknown ----

def test_what_is_unknown_does_not_take_forever():
    """Reports without an answer, of which every second was done; then one is told too few."""
    rng = random.Random(1)
    calls, consumed = [], 0
    for at in range(400):
        first = rng.randrange(280)
        bits = (1 << first + 10) - (1 << first)
        args = (0, first, first + 10)
        if at % 20 == 0:
            calls.append(Call(at, None, "report", args, None))
            consumed |= bits if at % 40 else 0
            continue
        calls.append(Call(at, at + 1.5, "report", args,
                          bin(bits & ~consumed).count("1")))
        consumed |= bits
    assert is_linear(calls, do_dataset)


def test_two_that_only_matter_together_are_found():
    assert is_linear(history(
        (0, 1, "set", (1,), True), (2, None, "compare_set", (1, 2), None),
        (3, None, "compare_set", (2, 3), None),
        (4, 5, "compare_set", (3, 4), True)))
