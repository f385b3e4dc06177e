/* arena_layout.h - what is where in an arena, and who may change it when.
 *
 * An arena is one mapping.  Everything in it is found by offsets that each process
 * computes for itself from the sizes in the header, which it checks once (geometry.h);
 * afterwards it goes by its own copy.  A number read from the mapping is an index
 * to be checked, never an address.
 *
 *	header		magic, version, sizes; the ends of the queue; bells
 *	parties		64 places: who has joined, and what it has counted
 *	cells		the queue: which units were committed, in order
 *	free bits	where a free unit may be found (a hint)
 *	units		one header of 128 bytes for each place
 *	owners		a word for each block of the data: which unit has it
 *	inline		each unit's own small room: table, envelope, small buffers
 *	data		the rest, aligned to a page: segments, or blocks
 *
 * One rule decides every order of writing: a process may be killed between any two
 * instructions, and whatever it had must be found by the others from words that say
 * so.  So a thing is marked as somebody's before it is used and not a moment later, and
 * those marks are the authority; all else is a hint that may be lost.
 *
 * A unit's word holds its generation, its state and the party that answers for it:
 *
 *	 FREE --unit_claim--> WRITING --unit_publish--> READY --queue_take--> HELD
 *	  ^                      |                        |                    |
 *	  +------ unit_free -----+--(died before push)----+---- unit_free -----+
 *
 *	 WRITING --unit_adopt--> CHILD    goes with its parent, freed with it
 *
 * Only the owner of WRITING and HELD touches such a unit, or, when the owner is dead, the
 * one party that sweeps it (sweep.h).  READY belongs to its producer until the unit is in
 * the queue: the compare-and-swap of the cell is the moment of publication.  Who died before
 * it has not sent, and the unit is swept; who died after it has.
 *
 * In a broadcast arena a published unit stays READY.  `holders` has a bit for each consumer
 * it is for, and one, GUARD, for the producer until publication is settled; whoever
 * clears the last bit makes the unit HELD by itself and frees it.  A CHILD's
 * holders are its parent (GUARD as well) and, while it keeps it, the producer. */
#ifndef ROAR_ARENA_LAYOUT_H
#define ROAR_ARENA_LAYOUT_H

#include <stdint.h>

/* An explorer stops at each place and each cell that a sweep looks at, and wants to see the
 * queue come round. */
#ifdef ARENA_EXPLORE
enum { ARENA_PARTIES = 6, ARENA_CELL_SHIFT_MIN = 2 };
#else
enum { ARENA_PARTIES = 64, ARENA_CELL_SHIFT_MIN = 6 };
#endif

enum {
	ARENA_CONSUMERS = ARENA_PARTIES - 1, /* for consumers of a broadcast */
	ARENA_LINE = 128, /* what two sides write lies that far apart: CPUs
			   * fetch lines in pairs */
	ARENA_JOINED = 256, /* processes that are remembered to have joined */
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
	PARTY_JOINING, /* has the place, is not to be seen yet */
	PARTY_ALIVE,
	PARTY_SWEEPING, /* is dead; the sweeper gives back what it had */
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

	/* Of producers: the next position to be published, or one before. */
	uint64_t tail __attribute__((aligned(ARENA_LINE)));
	/* Of consumers that share: the next position to be taken, or one before. */
	uint64_t head __attribute__((aligned(ARENA_LINE)));

	/* Who sleeps: a bit for each party, and the word it sleeps on. */
	uint64_t waiting_consumers __attribute__((aligned(ARENA_LINE)));
	uint32_t bell_units;
	uint64_t waiting_producers __attribute__((aligned(ARENA_LINE)));
	uint32_t bell_room;

	/* Read by all, seldom written. */
	uint64_t consumers __attribute__((aligned(ARENA_LINE))); /* alive */
	uint64_t departures; /* of consumers, counted after their bit is gone */
	uint64_t deaths; /* counted after they are written down */
	uint64_t messages; /* in pieces, counted */
	uint32_t shutdown;

	/* The last ones that joined, wherever they are now: see joined_word(). */
	uint64_t n_joined;
	uint64_t joined[ARENA_JOINED];
};

/* What a party has counted; it alone writes here. */
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
	uint64_t started; /* when, as /proc/PID/stat has it: pids are used again */
	uint64_t pid_space; /* the namespace that its pid is of */
	uint64_t died; /* the word of the last one here that died */
	uint64_t joined_at; /* broadcast: the position it began at */
	uint64_t reader; /* who gets the pieces it sends: message << 8 | place */
	uint64_t share;

	/* Broadcast: the position it takes next. */
	uint64_t head __attribute__((aligned(ARENA_LINE)));

	struct arena_counts counts __attribute__((aligned(ARENA_LINE)));
} __attribute__((aligned(ARENA_LINE)));

struct arena_unit {
	uint64_t word; /* see unit_word() */
	uint64_t holders; /* see above */
	uint64_t extent; /* first block << 32 | number; an intent as well: the
			  * owners say which blocks it has */
	uint64_t parent; /* of a CHILD: see unit_name() */
	uint64_t mark; /* a sweep's: position + 1 it was found at */
	uint64_t flags; /* enum arena_unit_flags */
	uint64_t n_buffers;
	uint64_t envelope_len;
	uint64_t tag;
	uint64_t sequence;
	uint64_t producer;
	uint64_t bytes; /* of its buffers */
	uint64_t message; /* that it is a piece of: from 1, each number once */
	uint64_t changed_ns; /* CLOCK_MONOTONIC_COARSE of the last change */
} __attribute__((aligned(ARENA_LINE)));

/* One row of a unit's table. */
struct arena_row {
	uint64_t unit; /* whose room it is in: this one, or a child */
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

/* A cell: the lap it was written in (16 bits), and whom it names: a unit (24 bits) in
 * one generation (24 bits).  A name tells a unit from what later took its place. */
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

/* A process: its pid (24 bits), and when it was started as far as there is room. */
static inline uint64_t joined_word(uint64_t pid, uint64_t started)
{
	return started << 24 | (pid & 0xffffff);
}

/* Who is in a place: the how-manieth (24 bits), its pid (24), who sweeps it, its roles. */
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
