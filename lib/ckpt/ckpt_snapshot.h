/* ckpt_snapshot.h - a copy of all that a save needs, in memory that is used again.
 *
 * The tensors are copied by all CPUs at once; so the training stops for about as long as
 * memcpy() takes.  The memory grows to the largest state that was copied and stays.  One
 * thread at a time uses a snapshot. */
#ifndef ROAR_CKPT_SNAPSHOT_H
#define ROAR_CKPT_SNAPSHOT_H

#include <roar/checkpoint.h>

#include "base/pool.h"

struct roar_error;

struct ckpt_snapshot {
	struct roar_checkpoint_save save; /* the copy */
	struct pool pool; /* of its strings and lists */
	char *memory; /* of its tensors */
	size_t cap;
};

/* Copies `from`.  -EINVAL: a tensor is not valid; -ENOMEM; the error of a tensor's fill(). */
int ckpt_snapshot_take(struct ckpt_snapshot *s,
		       const struct roar_checkpoint_save *from,
		       struct roar_error *err);
void ckpt_snapshot_release(struct ckpt_snapshot *s);

#endif
