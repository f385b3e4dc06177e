/* position.h - which positions of an epoch a rank takes, step by step.
 *
 * All ranks go through one order together.  In a step each of `world` ranks takes `batch`
 * positions, in the order of the ranks, so a step takes world * batch consecutive positions
 * without any communication.  The positions consumed after some steps are then a prefix of
 * the order: one integer.
 *
 * When the number of ranks changes, the new ranks continue with the positions that are
 * left; `before` has those consumed.  It need not be a prefix: workers in pull mode leave a
 * set of ranges, and the steps skip them.  No position is in two steps, nor in the parts of
 * two ranks, and every remaining position is in some step.  So each sample comes exactly
 * once, however often the world changes.
 *
 * The last step may have fewer than world * batch positions.  They are
 *
 *	POSITION_EXACT	distributed: ranks differ by at most one, and may have none
 *	POSITION_DROP	dropped by all ranks: there is no such step
 *	POSITION_PAD	padded with the first positions of the epoch
 *
 * A position is immutable, so any thread may ask for any step. */
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
	uint64_t left; /* positions not consumed before */
};

/* `before` may be NULL: nothing was consumed.  It is copied.  -EINVAL, with a message;
 * -ENOMEM. */
int position_init(struct position *p, const struct position_spec *spec,
		  const struct interval_set *before, struct roar_error *err);
void position_release(struct position *p);

/* The number of steps, which is the same for each rank. */
uint64_t position_n_steps(const struct position *p);

/* Writes the rank's positions of a step, in order, to `ret`, which has room for `batch`.
 * Returns their number.  The last *ret_n_pad of them (it may be NULL) are padding. */
size_t position_take(const struct position *p, uint64_t step, uint64_t *ret,
		     size_t *ret_n_pad);

/* Adds the rank's positions of a step to `ret`, without padding. */
int position_ranges(const struct position *p, uint64_t step,
		    struct interval_set *ret);

/* Adds to `ret` the positions that all ranks together have consumed after `n_steps` steps,
 * including `before`. */
int position_consumed(const struct position *p, uint64_t n_steps,
		      struct interval_set *ret);

/* Adds to `ret` the positions that POSITION_DROP drops. */
int position_dropped(const struct position *p, struct interval_set *ret);

#endif
