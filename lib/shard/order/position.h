/* position.h - which positions of an epoch a rank takes, step by step.
 *
 * All ranks go through one order together.  In a step each of `world` ranks takes
 * `batch` positions, one rank behind the other, so a step takes world * batch
 * positions that follow each other and nobody needs to be asked.  What was consumed
 * after a number of steps is then the beginning of the order: one integer.
 *
 * When the number of ranks changes, the new ranks go through what is left, from
 * wherever the old ones had come to: `before` says what was consumed.  It need not be
 * the beginning; what workers took in pull mode, or by themselves, is a set of
 * ranges, and the steps skip them.  As no position is in two steps, nor in two
 * ranks' parts of one, and all that is left is in some step, each sample comes
 * exactly once, however often the size changes.
 *
 * The last step may find less than world * batch positions.  They are
 *
 *	POSITION_EXACT	dealt out: ranks have as many but for one, and may have none
 *	POSITION_DROP	left out, by all ranks: there is no such step
 *	POSITION_PAD	filled up with the first positions of the epoch, again
 *
 * Nothing here changes once made, so any thread may ask for any step. */
#ifndef SHARD_ORDER_POSITION_H
#define SHARD_ORDER_POSITION_H

#include <stddef.h>
#include <stdint.h>

#include "shard/order/interval_set.h"

struct roar_error;

enum position_tail {
	POSITION_EXACT,
	POSITION_DROP,
	POSITION_PAD,
};

enum {
	POSITION_MAX_WORLD = 1 << 20, /* ranks */
	POSITION_MAX_BATCH = 1 << 24, /* positions of a rank in a step */
};

struct position_spec {
	uint64_t total; /* positions of the epoch, 1 to 2^63 - 1 */
	uint64_t world;
	uint64_t rank; /* below world */
	uint64_t batch;
	enum position_tail tail;
};

struct position {
	struct position_spec spec;
	struct interval_set before; /* consumed by earlier worlds */
	uint64_t *sums; /* [i]: positions in the first i ranges of it */
	uint64_t left; /* positions that were not */
};

/* `before` may be NULL: the epoch begins.  It is copied.  -EINVAL with a sentence,
 * -ENOMEM. */
int position_init(struct position *p, const struct position_spec *spec,
		  const struct interval_set *before, struct roar_error *err);
void position_release(struct position *p);

/* How many steps there are, for each rank alike. */
uint64_t position_n_steps(const struct position *p);

/* The rank's positions of a step, in order, into room for `batch` of them; how many
 * they are.  The last *ret_n_pad of them, which may be NULL, are there to fill up
 * only. */
size_t position_take(const struct position *p, uint64_t step, uint64_t *ret,
		     size_t *ret_n_pad);

/* Adds the rank's positions of a step to `ret`, without those that only fill up. */
int position_ranges(const struct position *p, uint64_t step,
		    struct interval_set *ret);

/* Adds to `ret` what all ranks together have consumed after that many steps, and
 * before them. */
int position_consumed(const struct position *p, uint64_t n_steps,
		      struct interval_set *ret);

/* Adds to `ret` what POSITION_DROP leaves out. */
int position_dropped(const struct position *p, struct interval_set *ret);

#endif
