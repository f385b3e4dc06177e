"""mutant_list.py - faults that the explorer must find, each with its cases.

A mutant replaces one place of the protocol, `right`, by `wrong`.  When that place
is written anew, the mutant is to be written anew as well.
"""

from dataclasses import dataclass

PROTOCOL = ["bell.c", "block_run.c", "failure.c", "geometry.c", "party.c",
            "queue.c", "sweep.c", "unit.c"]


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    right: str
    wrong: str
    cases: tuple[str, ...]
    how: tuple[str, ...] = ()  # such as --deep
    quick: bool = False


MUTANTS = [
    # The queue.
    Mutant("push helps nobody", "queue.c",
           """\
		if (cell_lap(cell) == lap) {
			(void)shared_cas(tail, t, t + 1);
			continue;
""", """\
		if (cell_lap(cell) == lap) {
			continue;
""", ("death-two-producers",)),
    Mutant("push writes over another push", "queue.c",
           """\
		if (shared_cas(cell_at(m, t), cell,
			       (uint64_t)lap << 48 | name)) {
""", """\
		if (shared_swap(cell_at(m, t), (uint64_t)lap << 48 | name), 1) {
""", ("two-producers-two-units",), quick=True),
    Mutant("take believes a former name", "queue.c",
           """\
			unit_name(index, word) == cell_name(cell);
""", """\
			true;
""", ("former-name",)),
    Mutant("take does not swap", "queue.c",
           """\
	return shared_cas(&m->units[index].word, word,
			  unit_word(unit_generation(word), UNIT_HELD, me));
""", """\
	shared_store(&m->units[index].word,
		     unit_word(unit_generation(word), UNIT_HELD, me));
	return true;
""", ("two-consumers",)),
    Mutant("take leaves the head to others", "queue.c",
           """\
		(void)shared_cas(head, h, h + 1);
		if (there)
			return (int64_t)index;
""", """\
		if (there) {
			(void)shared_cas(head, h, h + 1);
			return (int64_t)index;
		}
""", ("death-two-consumers",)),
    Mutant("a broadcast is taken by anybody", "queue.c",
           "unit_state(word) == UNIT_READY && holders >> me & 1 &&",
           "unit_state(word) == UNIT_READY && (holders | 1) &&",
           ("broadcast-visitor",)),
    Mutant("a broadcast believes a former name", "queue.c",
           """\
	       unit_name(cell_index(cell), word) == cell_name(cell) &&
""", "", ("broadcast-visitor",)),

    Mutant("pieces go to anybody", "queue.c",
           "if (there && is_anothers(m, me, index))",
           "if (0 && there && is_anothers(m, me, index))", ("pieces",)),
    Mutant("only the reader says that it is one", "queue.c",
           "		note_reader(m, index, cell);\n",
           "		if (there)\n			note_reader(m, index, cell);\n",
           ("pieces",)),

    # Units.
    Mutant("a unit is claimed without a swap", "unit.c",
           """\
	if (unit_state(word) != UNIT_FREE ||
	    !shared_cas(&u->word, word,
			unit_word(unit_generation(word), UNIT_WRITING, me)))
		return false;
""", """\
	if (unit_state(word) != UNIT_FREE)
		return false;
	shared_store(&u->word,
		     unit_word(unit_generation(word), UNIT_WRITING, me));
""", ("two-producers",), quick=True),
    Mutant("hints are believed", "unit.c",
           "thorough && r < 0 && i < s.end_unit;",
           "0 && thorough && r < 0 && i < s.end_unit;",
           ("death-two-producers",), quick=True),
    Mutant("published before it is ready", "unit.c",
           """\
	shared_store(&u->word, ready);
	if (queue_push(m, unit) < 0) {
		shared_store(&u->word, word);
		return -EBADMSG;
	}
	return 0;
""", """\
	if (queue_push(m, unit) < 0)
		return -EBADMSG;
	shared_store(&u->word, ready);
	return 0;
""", ("one-to-one",), quick=True),
    Mutant("free before its blocks are", "unit.c",
           """\
	if (shared_load(&u->extent))
		block_free(m, unit);
	shared_store(&u->holders, 0);
	(void)shared_swap(&u->word,
			  unit_word(unit_generation(word) + 1, UNIT_FREE, 0));
""", """\
	shared_store(&u->holders, 0);
	(void)shared_swap(&u->word,
			  unit_word(unit_generation(word) + 1, UNIT_FREE, 0));
	if (shared_load(&u->extent))
		block_free(m, unit);
""", ("blocks", "death-blocks")),
    Mutant("generations stand still", "unit.c",
           "unit_word(unit_generation(word) + 1, UNIT_FREE, 0));",
           "unit_word(unit_generation(word), UNIT_FREE, 0));",
           ("former-name",)),
    Mutant("nobody hears of room", "unit.c",
           """\
	(void)shared_or(&m->free_bits[unit / 64], 1ULL << unit % 64);
	bell_ring(m, BELL_ROOM);
""", """\
	(void)shared_or(&m->free_bits[unit / 64], 1ULL << unit % 64);
""", ("one-to-one",), quick=True),
    Mutant("room is told before it is there", "unit.c",
           """\
	(void)shared_swap(&u->word,
			  unit_word(unit_generation(word) + 1, UNIT_FREE, 0));
	(void)shared_or(&m->free_bits[unit / 64], 1ULL << unit % 64);
	bell_ring(m, BELL_ROOM);
""", """\
	bell_ring(m, BELL_ROOM);
	(void)shared_swap(&u->word,
			  unit_word(unit_generation(word) + 1, UNIT_FREE, 0));
	(void)shared_or(&m->free_bits[unit / 64], 1ULL << unit % 64);
""", ("one-to-one",), quick=True),
    Mutant("nobody hears of units", "unit.c",
           """\
	if (r == 0)
		bell_ring(m, BELL_UNITS);
""", "", ("one-to-one",), quick=True),
    Mutant("a broadcast without a guard", "unit.c",
           "shared_store(&u->holders, consumers | ARENA_GUARD);",
           "shared_store(&u->holders, consumers);",
           ("broadcast", "broadcast-visitor", "death-broadcast")),
    Mutant("departures are not looked at", "unit.c",
           "if (shared_load(&h->departures) != departures)",
           "if (0 && shared_load(&h->departures) != departures)",
           ("broadcast-visitor", "broadcast-successor")),
    Mutant("the set is read before it is announced", "unit.c",
           """\
	(void)shared_swap(&u->holders, ARENA_GUARD);
	departures = shared_load(&h->departures);
	consumers = shared_load(&h->consumers) & ~ARENA_GUARD;
""", """\
	departures = shared_load(&h->departures);
	consumers = shared_load(&h->consumers) & ~ARENA_GUARD;
	(void)shared_swap(&u->holders, ARENA_GUARD);
""", ("broadcast-successor",)),
    Mutant("parts are free with their producer", "unit.c",
           "shared_store(&u->holders, ARENA_GUARD | 1ULL << me);",
           "shared_store(&u->holders, 1ULL << me);", ("parts",)),
    Mutant("parts are forgotten", "unit.c",
           "	if (shared_load(&m->units[unit].flags) & UNIT_PARENT)\n",
           "	if (0)\n",
           ("parts",)),
    Mutant("a part that was never sent stays", "sweep.c",
           "unit_drop_bit(m, me, unit, word, 1ULL << dead);\n		return false;",
           "return false;", ("death-parts",)),
    Mutant("two free the last hold", "unit.c",
           """\
	if (shared_load(&u->holders) != 0 ||
	    !shared_cas(&u->word, word,
			unit_word(unit_generation(word), UNIT_HELD, me)))
		return;
""", """\
	if (shared_load(&u->holders) != 0)
		return;
""", ("dead-consumer",)),

    # Blocks.
    Mutant("blocks are claimed before they are named", "block_run.c",
           """\
	shared_store(&m->units[unit].extent, first << 32 | n);
	while (i < first + n && shared_cas32(&m->owners[i], 0, unit + 1))
		i++;
""", """\
	while (i < first + n && shared_cas32(&m->owners[i], 0, unit + 1))
		i++;
	shared_store(&m->units[unit].extent, first << 32 | n);
""", ("death-blocks",)),
    Mutant("half a run is kept", "block_run.c",
           """\
	if (i < first + n)
		give_back(m, unit, first, i);
""", "", ("blocks",), quick=True),
    Mutant("blocks are taken without a swap", "block_run.c",
           "while (i < first + n && shared_cas32(&m->owners[i], 0, unit + 1))",
           "while (i < first + n && (shared_store32(&m->owners[i], unit + 1), 1))",
           ("blocks",), quick=True),
    Mutant("the blocks of others are given back", "block_run.c",
           "if (shared_load32(&m->owners[i]) == unit + 1)",
           "if (shared_load32(&m->owners[i]))",
           ("dead-claim",)),

    # Bells.
    Mutant("who sleeps says nothing", "bell.c",
           "(void)shared_or(waiting(m, bell), 1ULL << me);", "",
           ("one-to-one",), quick=True),
    Mutant("a bell without a number", "bell.c",
           "	shared_add32(word(m, bell), 1);\n", "",
           ("one-to-one",), quick=True),
    Mutant("woken before the bell has rung", "bell.c",
           """\
	shared_add32(word(m, bell), 1);
	shared_wake_all(word(m, bell));
""", """\
	shared_wake_all(word(m, bell));
	shared_add32(word(m, bell), 1);
""", ("one-to-one",), quick=True),
    Mutant("the number is read after the last look", "bell.c",
           """\
	*ret_seen = shared_load32(word(m, bell));
	(void)shared_or(waiting(m, bell), 1ULL << me);
""", """\
	(void)shared_or(waiting(m, bell), 1ULL << me);
	*ret_seen = *word(m, bell) + 1 - 1;
	shared_wait(word(m, bell), *ret_seen, 0);
""", ("one-to-one",)),

    # Parties.
    Mutant("a consumer departs uncounted", "party.c",
           """\
	(void)shared_and(&m->header->consumers, ~(1ULL << me));
	(void)shared_add(&m->header->departures, 1);
	if (m->g.flags & ROAR_ARENA_BROADCAST)
""", """\
	(void)shared_and(&m->header->consumers, ~(1ULL << me));
	if (m->g.flags & ROAR_ARENA_BROADCAST)
""", ("broadcast-visitor", "broadcast-successor")),
    Mutant("a consumer looks before it departs", "party.c",
           """\
	(void)shared_and(&m->header->consumers, ~(1ULL << me));
	(void)shared_add(&m->header->departures, 1);
	if (m->g.flags & ROAR_ARENA_BROADCAST)
		drop_untaken(m, me, keeps, arg);
""", """\
	if (m->g.flags & ROAR_ARENA_BROADCAST)
		drop_untaken(m, me, keeps, arg);
	(void)shared_and(&m->header->consumers, ~(1ULL << me));
	(void)shared_add(&m->header->departures, 1);
""", ("broadcast-visitor", "broadcast-successor")),
    Mutant("a consumer begins too late", "party.c",
           """\
	uint64_t position = queue_tail(m);
""", """\
	uint64_t position = (shared_or(&m->header->consumers, 1ULL << me),
			     queue_tail(m));
""", ("broadcast-visitor",)),
    Mutant("a place is taken while a unit is on its way", "party.c",
           "if (!party_nth(word) || party_is_clean(m, place))",
           "if (1)", ("broadcast-successor",)),

    Mutant("an heir does not look", "sweep.c",
           "	if (party_is_clean(m, place))\n		return n;\n",
           "	return n;\n", ("broadcast-heir",)),

    # The dead.
    Mutant("what the dead published is lost", "sweep.c",
           "		if (!mark) {\n", "		if (1 || !mark) {\n",
           ("death", "death-swept")),
    Mutant("what the dead did not publish stays", "sweep.c",
           "		if (!mark) {\n", "		if (0 && !mark) {\n",
           ("death", "death-swept")),
    Mutant("who sweeps may not die", "sweep.c",
           "	int n = take_over(m, me, dead);\n", "	int n = 0;\n",
           ("death-swept",), quick=True),
    Mutant("two sweep one", "sweep.c",
           """\
	if (!shared_cas(&m->parties[dead].word, word, mine))
		return -EALREADY;
	n = sweep(m, me, dead, mine);
""", """\
	shared_store(&m->parties[dead].word, mine);
	n = sweep(m, me, dead, mine);
""", ("two-sweepers",)),
    Mutant("the guard of the dead stays", "sweep.c",
           "if (shared_load(&u->holders) & ARENA_GUARD)",
           "if (0 && shared_load(&u->holders) & ARENA_GUARD)",
           ("death-broadcast", "death-broadcast-swept")),
    Mutant("what nobody holds stays", "sweep.c",
           "(holders >> dead & 1 || !holders))", "(holders >> dead & 1))",
           ("death-broadcast", "death-broadcast-swept")),
    Mutant("the dead stay consumers", "sweep.c",
           "	(void)shared_and(&h->consumers, ~bit);\n", "",
           ("death-broadcast",), quick=True),
]
