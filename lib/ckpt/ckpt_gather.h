/* ckpt_gather.h - the bytes of a writer's logical file, from where they are in memory.
 *
 * The file is the header of the layout and then the tensors; any range of it can be asked
 * for, by any number of threads at once. */
#ifndef ROAR_CKPT_GATHER_H
#define ROAR_CKPT_GATHER_H

#include <roar/checkpoint.h>

#include "ckpt/ckpt_layout.h"

struct roar_error;

struct ckpt_gather {
	struct ckpt_layout layout;
	struct ckpt_item *items; /* one per tensor */
	const struct roar_checkpoint_tensor *tensors; /* the caller's */
};

/* Lays the tensors out.  -EINVAL with a sentence; -ENOMEM. */
int ckpt_gather_init(struct ckpt_gather *g,
		     const struct roar_checkpoint_tensor *tensors, size_t n,
		     struct roar_error *err);
void ckpt_gather_release(struct ckpt_gather *g);

/* Copies bytes of the file, which must be within it.  The error of a tensor's fill(). */
int ckpt_gather_copy(const struct ckpt_gather *g, uint64_t offset, void *to,
		     size_t len);

#endif
