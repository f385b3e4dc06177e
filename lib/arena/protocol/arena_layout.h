/* arena_layout.h - the layout of an arena, and which party may change what.
 *
 * An arena is one mapping.  Everything in it is found by offsets that each process
 * computes from the sizes in the header.  It checks these once (geometry.h) and uses its
 * own copy from then on.  A number read from the mapping is an index to be checked, never
 * an address.
 *
 *	header		magic, version, sizes; the ends of the queue; bells
 *	parties		64 places, one for each process that joined, with its counters
 *	cells		the queue: which units were committed, in order
 *	free bits	where a free unit may be found (a hint)
 *	units		one header of 128 bytes for each unit
 *	owners		a word for each block of the data: the unit that owns it
 *	inline		a small area of each unit: table, envelope, small buffers
 *	data		the rest, aligned to a page: segments, or blocks
 *
 * One rule decides every order of writes: a process may be killed between any two
 * instructions, and the others must find all that it owned.  So ownership is written down
 * before a thing is used.  These ownership words are the authority; everything else is a
 * hint that may be lost.
 *
 * A unit's word holds its generation, its state and the party that owns it:
 *
 *	 FREE --unit_claim--> WRITING --unit_publish--> READY --queue_take--> HELD
 *	  ^                      |                        |                    |
 *	  +------ unit_free -----+--(died before push)----+---- unit_free -----+
 *
 *	 WRITING --unit_adopt--> CHILD    goes with its parent, freed with it
 *
 * Only its owner changes a WRITING or HELD unit, or, when the owner is dead, the one party
 * that sweeps it (sweep.c).  A READY unit belongs to its producer until it is in the queue:
 * the compare-and-swap of the cell publishes it.  If the producer dies before that, the unit
 * was not sent and is swept; if it dies after that, the unit was sent.
 *
 * In a broadcast arena a published unit stays READY.  `holders` has a bit for each consumer
 * it is for, and one, GUARD, for the producer until publication is settled.  The party that
 * clears the last bit makes the unit HELD by itself and frees it.  A CHILD's
 * holders are its parent (GUARD as well) and, while it keeps it, the producer. */
#ifndef ROAR_ARENA_LAYOUT_H
#define ROAR_ARENA_LAYOUT_H

#include <stdint.h>

/* The explorer (tests/model/arena) visits every interleaving: small sizes keep their number
 * finite and let the queue wrap. */
#ifdef ARENA_EXPLORE
enum { ARENA_PARTIES = 6, ARENA_CELL_SHIFT_MIN = 2 };
#else
enum { ARENA_PARTIES = 64, ARENA_CELL_SHIFT_MIN = 6 };
#endif

enum {
	ARENA_CONSUMERS = ARENA_PARTIES - 1, /* of a broadcast, at most */
	ARENA_LINE = 128, /* distance between words of different writers, against
			   * false sharing: CPUs fetch cache lines in pairs */
	ARENA_JOINED = 256, /* length of the history of joins */
	ARENA_VERSION = 1,
};

#define ARENA_MAGIC 0x616e6572412d6f52ULL /* "Ro-Arena" */
#define ARENA_GUARD (1ULL << 63) /* in holders: no consumer */

enum arena_unit_state {
	UNIT_FREE,
	UNIT_WRITING,
	UNIT_READY,
	UNIT_HELD,
	UNIT_CHILD,
};

enum arena_party_state {
	PARTY_FREE,
	PARTY_JOINING, /* owns the place, not yet visible to others */
	PARTY_ALIVE,
	PARTY_SWEEPING, /* dead; the sweeper frees what it owned */
};

enum arena_unit_flags {
	UNIT_META_OUTSIDE = 1, /* table and envelope lie in the extent */
	UNIT_PARENT = 2, /* has buffers in children */
	UNIT_PIECE = 4, /* of a message that is larger than the arena */
	UNIT_FIRST = 8, /* its first piece */
};

struct arena_header {
	uint64_t magic;
	uint32_t version;
	uint32_t flags; /* enum roar_arena_flags */
	uint64_t size_bytes; /* of the data; of all segments together */
	uint64_t segment_bytes; /* 0: blocks */
	uint64_t total_bytes; /* of the mapping */
	uint32_t n_units;
	uint32_t inline_bytes;
	uint32_t n_shares; /* 1 without a partition */
	uint32_t block_shift;
	uint32_t page_bytes;
	uint32_t reserved;

	/* Written by producers: the next position to publish, or an earlier one. */
	uint64_t tail __attribute__((aligned(ARENA_LINE)));
	/* Written by consumers of a shared queue: the next position to take, or an earlier
	 * one. */
	uint64_t head __attribute__((aligned(ARENA_LINE)));

	/* Sleepers: a bit for each party, and the futex word they sleep on. */
	uint64_t waiting_consumers __attribute__((aligned(ARENA_LINE)));
	uint32_t bell_units;
	uint64_t waiting_producers __attribute__((aligned(ARENA_LINE)));
	uint32_t bell_room;

	/* Read by all, rarely written. */
	uint64_t consumers __attribute__((aligned(ARENA_LINE))); /* alive */
	uint64_t departures; /* of consumers, counted after their bit is cleared */
	uint64_t deaths; /* counted after `died` of the place is written */
	uint64_t messages; /* number of messages sent in pieces */
	uint32_t shutdown;

	/* The processes that joined last, dead or alive: see joined_word(). */
	uint64_t n_joined;
	uint64_t joined[ARENA_JOINED];
};

/* Counters of a party, which only that party writes. */
struct arena_counts {
	uint64_t committed;
	uint64_t committed_bytes;
	uint64_t received;
	uint64_t released;
	uint64_t in_pieces;
	uint64_t reclaimed;
	uint64_t producer_stalls;
	uint64_t producer_stall_ns;
	uint64_t consumer_stalls;
	uint64_t consumer_stall_ns;
};

struct arena_party {
	uint64_t word; /* see party_word() */
	uint64_t started; /* start time from /proc/PID/stat, because PIDs are reused */
	uint64_t pid_space; /* PID namespace of its pid */
	uint64_t died; /* word of the last party in this place that died */
	uint64_t joined_at; /* broadcast: the position it began at */
	uint64_t reader; /* receiver of the pieces it sends: message << 8 | place */
	uint64_t share;

	/* Broadcast: the position it takes next. */
	uint64_t head __attribute__((aligned(ARENA_LINE)));

	struct arena_counts counts __attribute__((aligned(ARENA_LINE)));
} __attribute__((aligned(ARENA_LINE)));

struct arena_unit {
	uint64_t word; /* see unit_word() */
	uint64_t holders; /* see above */
	uint64_t extent; /* first block << 32 | number of blocks; written before
			  * the blocks are claimed, so `owners` decides */
	uint64_t parent; /* of a CHILD: see unit_name() */
	uint64_t mark; /* set by a sweep: position + 1 that it was found at */
	uint64_t flags; /* enum arena_unit_flags */
	uint64_t n_buffers;
	uint64_t envelope_len;
	uint64_t tag;
	uint64_t sequence;
	uint64_t producer;
	uint64_t bytes; /* of its buffers */
	uint64_t message; /* it is a piece of; unique, from 1 */
	uint64_t changed_ns; /* CLOCK_MONOTONIC_COARSE of the last change */
} __attribute__((aligned(ARENA_LINE)));

/* One row of a unit's table. */
struct arena_row {
	uint64_t unit; /* the unit that the buffer lies in: this one, or a child */
	uint64_t offset; /* in the mapping */
	uint64_t len;
};

_Static_assert(sizeof(struct arena_header) <= 4096, "one page");
_Static_assert(sizeof(struct arena_party) == 3 * ARENA_LINE, "three lines");
_Static_assert(sizeof(struct arena_unit) == ARENA_LINE, "one line");

/* ---- words ---- */

static inline uint64_t unit_word(uint64_t generation, unsigned state,
				 unsigned owner)
{
	return generation << 16 | state << 8 | owner;
}

static inline uint64_t unit_generation(uint64_t word)
{
	return word >> 16;
}

static inline unsigned unit_state(uint64_t word)
{
	return word >> 8 & 0xff;
}

static inline unsigned unit_owner(uint64_t word)
{
	return word & 0xff;
}

/* A cell: the lap it was written in (16 bits), and the name of a unit: its index (24 bits)
 * and its generation (24 bits), which tells it from later uses of the same index. */
static inline uint64_t unit_name(uint64_t index, uint64_t word)
{
	return (unit_generation(word) & 0xffffff) << 24 | index;
}

static inline uint64_t cell_index(uint64_t cell)
{
	return cell & 0xffffff;
}

static inline uint64_t cell_name(uint64_t cell)
{
	return cell & 0xffffffffffffULL;
}

static inline unsigned cell_lap(uint64_t cell)
{
	return cell >> 48;
}

/* A process: its pid (24 bits), and its start time in the remaining bits. */
static inline uint64_t joined_word(uint64_t pid, uint64_t started)
{
	return started << 24 | (pid & 0xffffff);
}

/* Occupant of a place: occupancy counter (24 bits), pid (24), sweeper, roles, state. */
static inline uint64_t party_word(uint64_t nth, uint64_t pid, unsigned sweeper,
				  unsigned roles, unsigned state)
{
	return (nth & 0xffffff) << 40 | (pid & 0xffffff) << 16 | sweeper << 8 |
	       roles << 4 | state;
}

static inline uint64_t party_nth(uint64_t word)
{
	return word >> 40;
}

static inline int party_pid(uint64_t word)
{
	return (int)(word >> 16 & 0xffffff);
}

static inline unsigned party_sweeper(uint64_t word)
{
	return word >> 8 & 0xff;
}

static inline unsigned party_roles(uint64_t word)
{
	return word >> 4 & 0xf;
}

static inline unsigned party_state(uint64_t word)
{
	return word & 0xf;
}

#endif
