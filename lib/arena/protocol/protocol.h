/* protocol.h - how parties change what they share: queue, units, blocks, places.
 *
 * Pure: no system call but the wake-up of bell_ring(), nothing private but the map.  Each
 * function may be called by any thread of any party, and its caller may be killed
 * anywhere in it.  `me` is the place of the calling party.  arena_layout.h has the states. */
#ifndef ROAR_ARENA_PROTOCOL_H
#define ROAR_ARENA_PROTOCOL_H

#include <stdbool.h>

#include "arena/protocol/geometry.h"
#include "arena/protocol/shared.h"

/* ---- bells ---- */

enum arena_bell { BELL_UNITS, BELL_ROOM };

/* Wakes all that sleep for this; no system call when nobody does.  To be called after
 * the change they sleep for. */
void bell_ring(const struct arena_map *m, enum arena_bell bell);

/* To be called before a last look and a sleep: returns the word to sleep on with its
 * value in *ret_seen. */
uint32_t *bell_arm(const struct arena_map *m, enum arena_bell bell, unsigned me,
		   uint32_t *ret_seen);
void bell_disarm(const struct arena_map *m, enum arena_bell bell, unsigned me);

/* ---- the queue ---- */

/* Publishes a unit under its present generation.  Returns its position; -EBADMSG for a
 * queue that makes no sense. */
int64_t queue_push(const struct arena_map *m, uint32_t unit);

/* The next position to be published. */
uint64_t queue_tail(const struct arena_map *m);

/* Takes the oldest unit that is for us: it is HELD by us, or has our bit (broadcast).
 * Returns its index; -EAGAIN when there is none; -EBADMSG for a cell that makes no sense, which
 * is skipped. */
int64_t queue_take(const struct arena_map *m, unsigned me);

/* The position that the cell number `i` was published at. */
uint64_t queue_position(const struct arena_map *m, uint32_t i, uint64_t cell);

/* ---- units ---- */

/* A free unit of a share, WRITING by us.  -EAGAIN.  `thorough`: looks at each unit and
 * not at the hints alone. */
int64_t unit_claim(const struct arena_map *m, unsigned me, unsigned share,
		   bool thorough);

/* Gives a unit to the consumers.  -EBADMSG: it is still WRITING. */
int unit_publish(const struct arena_map *m, unsigned me, uint32_t unit);

/* Ends the publication of a unit of a broadcast at `position`, for its producer or who
 * sweeps that: consumers that are gone do not hold it. */
void unit_settle(const struct arena_map *m, unsigned me, uint32_t unit,
		 uint64_t position);

/* Hands a WRITING unit on with another one. */
void unit_adopt(const struct arena_map *m, unsigned me, uint32_t child,
		uint32_t parent);

/* Takes it back from a parent that could not be published. */
void unit_disown(const struct arena_map *m, unsigned me, uint32_t child);

/* Drops what this party has in a unit: a WRITING or HELD one, its bit in one of a broadcast, its
 * own hold of a CHILD.  The last one frees it.  `generation` is the one it had; nothing
 * happens when that is gone. */
void unit_drop(const struct arena_map *m, unsigned me, uint32_t unit,
	       uint64_t generation);

/* Takes a bit out of the holders of a unit whose word is `word`; the last one frees. */
void unit_drop_bit(const struct arena_map *m, unsigned me, uint32_t unit,
		   uint64_t word, uint64_t bit);

/* Frees a unit that is ours alone, with its children. */
void unit_free(const struct arena_map *m, unsigned me, uint32_t unit);

/* The rows of a unit's table and where its envelope is, if they lie where they may.
 * `ret_rows` points into the mapping: read each word once.  -EBADMSG. */
struct arena_meta {
	const struct arena_row *rows;
	uint64_t n_rows;
	uint64_t envelope_at; /* in the mapping */
	uint64_t envelope_len;
};

int unit_meta(const struct arena_map *m, uint32_t unit, struct arena_meta *ret);

/* Is [offset, offset + len) room of this unit? */
bool unit_has_range(const struct arena_map *m, uint32_t unit, uint64_t offset,
		    uint64_t len);

/* Where its inline room and its room in the data begin, in the mapping. */
uint64_t unit_inline_at(const struct arena_map *m, uint32_t unit);
uint64_t unit_room(const struct arena_map *m, uint32_t unit, uint64_t *ret_len);

/* ---- blocks ---- */

/* A run of blocks of a share for `bytes`, the lowest there is; in unit->extent.
 * -EAGAIN. */
int block_claim(const struct arena_map *m, uint32_t unit, unsigned share,
		uint64_t bytes);
void block_free(const struct arena_map *m, uint32_t unit);

/* ---- parties ---- */

/* Takes the place `place`, or any that is free from `place` on when it is `any`.
 * Returns it, as JOINING; -EUSERS, or -EADDRINUSE. */
int party_claim(const struct arena_map *m, unsigned place, bool any, int pid,
		unsigned roles);

/* May a consumer of a broadcast begin in this place, which was another's before?  Not while
 * a unit is being published that may be for the former one. */
bool party_is_clean(const struct arena_map *m, unsigned place);

/* JOINING to ALIVE; a consumer gets what is published from now on.  -ESTALE when the
 * place was taken from us: we were held for dead. */
int party_enter(const struct arena_map *m, unsigned me);

/* Has no role any more: what it had not taken is dropped.  keeps(arg, unit) says which units
 * of a broadcast are still in its hands; NULL: none. */
void party_retire(const struct arena_map *m, unsigned me,
		  bool (*keeps)(void *arg, uint32_t unit), void *arg);

/* Gives the place up.  Everything it had must be gone. */
void party_leave(const struct arena_map *m, unsigned me);

/* The place of a dead one that was swept is free, and all are told. */
void party_bury(const struct arena_map *m, unsigned dead, uint64_t word);

/* ---- the dead ---- */

/* Gives back all that a dead party had, if nobody else does: `word` is the one by which
 * it was found dead.  Returns the number of units given back, -EALREADY when another one
 * is at it, or was. */
int sweep_party(const struct arena_map *m, unsigned me, unsigned dead,
		uint64_t word);

/* The same, and the place is ours at once, as of party_claim(): for who has no place yet
 * and finds all taken, or the one it needs. */
int sweep_inherit(const struct arena_map *m, unsigned place, uint64_t word,
		  int pid, unsigned roles);

#endif
