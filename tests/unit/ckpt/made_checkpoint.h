/* made_checkpoint.h - checkpoints for tests, written in the plainest way.
 *
 * It shares the layout and the manifest with the writer of lib/ckpt, but neither its
 * threads nor its ways to the disk.  Leaves have 4 KiB, so that small checkpoints have
 * many. */
#ifndef ROAR_TESTS_MADE_CHECKPOINT_H
#define ROAR_TESTS_MADE_CHECKPOINT_H

#include <stdint.h>

enum { MADE_TENSORS = 4, MADE_LEAF = 4096, MADE_WORLD_MAX = 8 };

/* The state: tensors with different element sizes and numbers of dimensions. */
struct made_state {
	unsigned char *bytes[MADE_TENSORS];
};

struct made_tensor {
	const char *name;
	int dtype;
	unsigned n_dims;
	uint64_t shape[3];
	uint64_t n_bytes;
};

extern const struct made_tensor made_tensors[MADE_TENSORS];

void made_state_init(struct made_state *s, uint32_t seed);
void made_state_release(struct made_state *s);

struct made_options {
	uint64_t step;
	unsigned world; /* tensors are cut by their first dimension */
	uint64_t parent; /* 0: none; of the same world */
	const struct made_state *parent_state; /* what the parent has */
	const char *save; /* 8 hex digits; NULL: from the step */
	const char *tag; /* NULL: none */
	double loss; /* metric */
	int uncommitted; /* no manifest */
};

/* Writes BASE/step-N. */
void made_checkpoint_write(const char *base, const struct made_state *s,
			   const struct made_options *o);

#endif
