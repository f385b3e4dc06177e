"""linear.py - is a recorded history that of one thing, used by one client at a time?

A history is linearizable when each call can be given a moment between its begin and its
end so that all results are those of the calls done one after the other at these moments.
The search is that of Wing and Gong: of the calls that may be next, try each, and give up
where a set of calls that were done and a value were met before (Lowe).

A call whose answer was lost may have been done, at any time after its begin, or not."""

import collections

# What was asked, and when; `end` is None when there was no answer.
Call = collections.namedtuple("Call", "begin end what args result")

MANY = 1000000  # states of a search that will not end


class Undecided(Exception):
    """The history has too many orders: it proves nothing either way."""


def do_cell(value, call):
    """What a cell with this value would answer, and its value then."""
    if call.what == "get":
        return value, value
    if call.what == "set":
        return True, call.args[0]
    if call.what == "add":
        total = (value or 0) + call.args[0]
        return total, total
    assert call.what == "compare_set"
    expected, new = call.args
    return (True, new) if value == expected else (False, value)


def do_dataset(state, call):
    """The same of a dataset: its epoch, and the positions consumed in it as bits."""
    epoch, consumed = state or (0, 0)
    if call.what == "advance":
        wanted, = call.args
        if not epoch <= wanted <= epoch + 1:
            return "refused", (epoch, consumed)
        return wanted, (wanted, consumed if wanted == epoch else 0)
    assert call.what == "report"
    of, first, end = call.args
    if of != epoch:
        return "refused", (epoch, consumed)
    new = (1 << end) - (1 << first) & ~consumed
    return bin(new).count("1"), (epoch, consumed | new)


def do_places(workers, call):
    """The same of a job: who has its places, by rank.  Who has the highest rank takes that
    of a place that is given up."""
    workers = workers or ()
    worker, = call.args
    if call.what == "join":
        assert worker not in workers
        return len(workers), workers + (worker,)
    assert call.what == "leave"
    if worker not in workers:
        return False, workers
    rank = workers.index(worker)
    last = workers[-1:] if rank < len(workers) - 1 else ()
    return True, workers[:rank] + last + workers[rank + 1:len(workers) - len(last)]


def candidates(answered, first, done):
    """Those that may be next, begun before any that is not done has ended; and that end."""
    bound = float("inf")
    found = []
    for i in range(first, len(answered)):
        call = answered[i]
        if call.begin > bound:
            break
        if not done >> (i - first) & 1:
            found.append(i)
            bound = min(bound, call.end)
    return [i for i in found if answered[i].begin <= bound], bound


def matters(do, before, after, calls):
    """Does one of them answer otherwise?"""
    return any(do(before, c)[0] != do(after, c)[0] for c in calls)


def search(answered, lost, do, value, lazily):
    """Tries the orders; `lazily` lets a call without an answer be done only where an answer
    that may be next depends on it."""
    seen = set()
    stack = [(0, 0, 0, value)]
    while stack:
        first, done, used, value = stack.pop()
        while done & 1:
            first, done = first + 1, done >> 1
        if first == len(answered):
            return True
        if (first, done, used, value) in seen:
            continue
        seen.add((first, done, used, value))
        if len(seen) >= MANY:
            raise Undecided("too many calls without an answer to try all orders")
        near, bound = candidates(answered, first, done)
        # The last is tried first: those without an answer where nothing else explains.
        for k, call in enumerate(lost):
            if used >> k & 1 or call.begin > bound:
                continue
            after = do(value, call)[1]
            if not lazily or matters(do, value, after, [answered[i] for i in near]):
                stack.append((first, done, used | 1 << k, after))
        for i in near:
            result, after = do(value, answered[i])
            if result == answered[i].result:
                stack.append((first, done | 1 << (i - first), used, after))
    return False


def is_linear(history, do=do_cell, value=None):
    """Does some order explain it?  `do` is how the thing behaves, `value` its state before."""
    calls = sorted(history, key=lambda c: c.begin)
    answered = [c for c in calls if c.end is not None]
    # What had no answer and changes nothing says nothing.
    lost = [c for c in calls if c.end is None and c.what != "get"]
    return (search(answered, lost, do, value, True)
            or search(answered, lost, do, value, False))
