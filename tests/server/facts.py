"""facts.py - what must hold in recorded histories of meetings and of places.

Each function returns what does not hold, in words: nothing when all is well."""

import collections

# What a worker heard of a use of a meeting.
Met = collections.namedtuple("Met", "worker generation participants order values votes")
# What a worker heard when it took a place.
Joined = collections.namedtuple("Joined", "worker rank world_epoch")


def by_generation(calls):
    """{generation: (calls, those of them that were answered)}"""
    found = {}
    for call in calls:
        _, generation, _ = call.args
        asked, answered = found.setdefault(generation, ([], []))
        asked.append(call)
        if call.end is not None:
            answered.append(call)
    return found


def faults_of_release(workers, generation, asked, answered):
    """One use of a meeting: released once, with all, and for all the same."""
    first_end = min(c.end for c in answered)
    for worker in workers:
        if not any(c.args[0] == worker and c.begin < first_end for c in asked):
            yield f"{generation} was released before {worker} came"
    outcomes = {(c.result.participants, c.result.values, c.result.votes)
                for c in answered}
    if len(outcomes) != 1:
        yield f"{generation} was released as {outcomes}"
    orders = collections.defaultdict(set)
    for c in answered:
        orders[c.result.order].add(c.args[0])
        if c.result.participants != len(workers):
            yield f"{generation} was released with {c.result.participants}"
        if c.result.generation != generation:
            yield f"{generation} was answered as {c.result.generation}"
        given = {(a.args[0], a.args[2]) for a in asked}
        # Of a vote, values that are the same are told once.
        if c.result.values and not (
                (any(c.result.votes)
                 or {w for w, _ in c.result.values} == set(workers))
                and given.issuperset(c.result.values)):
            yield f"{generation} gathered what nobody gave: {c.result.values}"
    if any(len(who) > 1 for who in orders.values()):
        yield f"{generation}: two came at one place: {dict(orders)}"


def faults_of_meetings(workers, calls):
    """`calls` have (worker, generation, what it gave) as arguments; each worker goes on to the
    next generation when it was released from the one before."""
    faults = []
    uses = by_generation(calls)
    released = sorted(g for g, (_, answered) in uses.items() if answered)
    if released != list(range(1, len(released) + 1)):
        faults.append(f"not all were released: {released}")
    for generation in released:
        faults += faults_of_release(workers, generation, *uses[generation])
    # All but the last are over for everybody.
    for generation in released[:-1]:
        heard = {c.args[0] for c in uses[generation][1]}
        if heard != set(workers):
            faults.append(f"{generation} was released for {heard} alone")
    return faults


def faults_of_places(calls):
    """Who joined is told its rank in a world that nobody else has the same rank in."""
    faults = []
    ranks = {}
    joins = [c for c in calls if c.end is not None and c.what == "join"]
    for call in joins:
        place = (call.result.world_epoch, call.result.rank)
        if ranks.setdefault(place, call.result.worker) != call.result.worker:
            faults.append(f"{place} is {ranks[place]} and {call.result.worker}")
    return faults + list(faults_of_worlds(joins))


def faults_of_worlds(joins):
    """Each world is after all that were told of before it was asked for."""
    ended = sorted(joins, key=lambda c: c.end)
    newest, n = None, 0
    for call in sorted(joins, key=lambda c: c.begin):
        while ended[n].end < call.begin:
            if not newest or newest.world_epoch < ended[n].result.world_epoch:
                newest = ended[n].result
            n += 1
        if newest and newest.world_epoch >= call.result.world_epoch:
            yield f"the world of {call.result} is not after {newest}"
