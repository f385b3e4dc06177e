/* protocol.h - how parties change shared state: queue, units, blocks, places.
 *
 * Pure: the only system call is the wake-up of bell_ring(), the only private state is the
 * map.  Any thread of any party may call each function, and may be killed anywhere in it.  `me` is the place of the calling party.  arena_layout.h has the states. */
#ifndef ROAR_ARENA_PROTOCOL_H
#define ROAR_ARENA_PROTOCOL_H

#include <stdbool.h>

#include "arena/protocol/geometry.h"
#include "arena/protocol/shared.h"

/* ---- bells ---- */

enum arena_bell { BELL_UNITS, BELL_ROOM };

/* Wakes all sleepers of this bell; makes no system call if there are none.  Call it after
 * the change that they wait for. */
void bell_ring(const struct arena_map *m, enum arena_bell bell);

/* Call it before the last attempt and the sleep.  Returns the word to sleep on, and its
 * value in *ret_seen. */
uint32_t *bell_arm(const struct arena_map *m, enum arena_bell bell, unsigned me,
		   uint32_t *ret_seen);
void bell_disarm(const struct arena_map *m, enum arena_bell bell, unsigned me);

/* ---- the queue ---- */

/* Publishes a unit under its present generation.  Returns its position; -EBADMSG for a
 * damaged queue. */
int64_t queue_push(const struct arena_map *m, uint32_t unit);

/* The next position to be published. */
uint64_t queue_tail(const struct arena_map *m);

/* Takes the oldest unit that is for us: it is HELD by us, or has our bit (broadcast).
 * Returns its index; -EAGAIN when there is none; -EBADMSG for a damaged cell, which is
 * skipped. */
int64_t queue_take(const struct arena_map *m, unsigned me);

/* The position that the cell number `i` was published at. */
uint64_t queue_position(const struct arena_map *m, uint32_t i, uint64_t cell);

/* ---- units ---- */

/* Claims a free unit of a share: it is WRITING, owned by us.  -EAGAIN.  `thorough`: checks
 * every unit, not only those with a hint. */
int64_t unit_claim(const struct arena_map *m, unsigned me, unsigned share,
		   bool thorough);

/* Gives a unit to the consumers.  -EBADMSG: it is still WRITING. */
int unit_publish(const struct arena_map *m, unsigned me, uint32_t unit);

/* Ends the publication of a broadcast unit at `position`, called by its producer or by the
 * sweeper of that: takes the bits of consumers that have left. */
void unit_settle(const struct arena_map *m, unsigned me, uint32_t unit,
		 uint64_t position);

/* Makes a WRITING unit a child of another one, to be published with it. */
void unit_adopt(const struct arena_map *m, unsigned me, uint32_t child,
		uint32_t parent);

/* Takes it back from a parent that could not be published. */
void unit_disown(const struct arena_map *m, unsigned me, uint32_t child);

/* Drops this party's hold on a unit: a WRITING or HELD one, its bit in a broadcast unit, its
 * own hold of a CHILD.  The last drop frees the unit.  Does nothing if the unit is no longer
 * of `generation`. */
void unit_drop(const struct arena_map *m, unsigned me, uint32_t unit,
	       uint64_t generation);

/* Clears a bit of the holders of a unit whose word is `word`; clearing the last one frees
 * the unit. */
void unit_drop_bit(const struct arena_map *m, unsigned me, uint32_t unit,
		   uint64_t word, uint64_t bit);

/* Frees a unit that only this party holds, with its children. */
void unit_free(const struct arena_map *m, unsigned me, uint32_t unit);

/* The rows of a unit's table and the place of its envelope, after checking their bounds.
 * `ret_rows` points into the mapping: read each word once.  -EBADMSG. */
struct arena_meta {
	const struct arena_row *rows;
	uint64_t n_rows;
	uint64_t envelope_at; /* in the mapping */
	uint64_t envelope_len;
};

int unit_meta(const struct arena_map *m, uint32_t unit, struct arena_meta *ret);

/* Does [offset, offset + len) lie within this unit? */
bool unit_has_range(const struct arena_map *m, uint32_t unit, uint64_t offset,
		    uint64_t len);

/* Offsets of its inline area and of its part of the data, in the mapping. */
uint64_t unit_inline_at(const struct arena_map *m, uint32_t unit);
uint64_t unit_room(const struct arena_map *m, uint32_t unit, uint64_t *ret_len);

/* ---- blocks ---- */

/* Claims the lowest free run of blocks of a share for `bytes`, into unit->extent.
 * -EAGAIN. */
int block_claim(const struct arena_map *m, uint32_t unit, unsigned share,
		uint64_t bytes);
void block_free(const struct arena_map *m, uint32_t unit);

/* ---- parties ---- */

/* Claims the place `place`; with `any`, the first free place from there on.  Returns it in
 * state JOINING.  -EUSERS: no place is free; -EADDRINUSE: that one is taken. */
int party_claim(const struct arena_map *m, unsigned place, bool any, int pid,
		unsigned roles);

/* May a consumer of a broadcast start in this place?  Not while a unit is being published
 * that may be meant for the former occupant. */
bool party_is_clean(const struct arena_map *m, unsigned place);

/* JOINING to ALIVE; a consumer gets what is published from now on.  -ESTALE when
 * another party took us for dead and took the place. */
int party_enter(const struct arena_map *m, unsigned me);

/* Ends the roles of a party: drops units that it has not taken.  keeps(arg, unit) says which
 * units of a broadcast it still holds; NULL: none. */
void party_retire(const struct arena_map *m, unsigned me,
		  bool (*keeps)(void *arg, uint32_t unit), void *arg);

/* Frees the place.  The party must own nothing. */
void party_leave(const struct arena_map *m, unsigned me);

/* Frees the place of a dead party that was swept, and publishes the death. */
void party_bury(const struct arena_map *m, unsigned dead, uint64_t word);

/* ---- the dead ---- */

/* Frees everything that a dead party owned.  `word` is its word when it was found dead.
 * Returns the number of units freed; -EALREADY when another party sweeps or has swept it. */
int sweep_party(const struct arena_map *m, unsigned me, unsigned dead,
		uint64_t word);

/* The same, and takes over the place as party_claim() would: for a process that finds all
 * places taken, or the one that it needs. */
int sweep_inherit(const struct arena_map *m, unsigned place, uint64_t word,
		  int pid, unsigned roles);

#endif
