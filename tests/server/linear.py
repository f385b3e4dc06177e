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


def candidates(calls, done, first):
    """Those that may be next: begun before any that is not done has ended."""
    bound = float("inf")
    found = []
    for i in range(first, len(calls)):
        call = calls[i]
        if call.begin > bound:
            break
        if done >> i & 1:
            continue
        found.append(i)
        if call.end is not None and call.end < bound:
            bound = call.end
    # The last is tried first: those without an answer only where nothing else explains.
    return sorted((i for i in found if calls[i].begin <= bound),
                  key=lambda i: calls[i].end is not None)


def first_open(done, first):
    while done >> first & 1:
        first += 1
    return first


def is_linear(history, do=do_cell, value=None):
    """Does some order explain it?  `do` is how the thing behaves, `value` its state before."""
    # What had no answer and changes nothing says nothing.
    calls = sorted((c for c in history
                    if c.end is not None or c.what != "get"),
                   key=lambda c: c.begin)
    answered = 0
    for i, call in enumerate(calls):
        if call.end is not None:
            answered |= 1 << i
    seen = set()
    stack = [(0, 0, value)]
    while stack:
        done, first, value = stack.pop()
        if done & answered == answered:
            return True
        first = first_open(done, first)
        assert len(seen) < MANY, "too much is unknown to be checked"
        for i in candidates(calls, done, first):
            result, after = do(value, calls[i])
            if calls[i].end is not None and result != calls[i].result:
                continue
            state = (done | 1 << i, after)
            if state not in seen:
                seen.add(state)
                stack.append((state[0], first, after))
    return False
