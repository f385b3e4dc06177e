/* checkpoint_place.h - from what the user typed to a checkpoint, and its reader with a
 * progress bar. */
#ifndef ROAR_CHECKPOINT_PLACE_H
#define ROAR_CHECKPOINT_PLACE_H

#include <stdint.h>

#include "base/str.h"
#include "blob/blob.h"
#include "ckpt/ckpt_listing.h"
#include "ckpt/ckpt_reader.h"
#include "cli/progress.h"

struct args;

struct checkpoint_place {
	struct blob_store *store; /* BASE */
	uint64_t step;
	struct blob_store *replicas[CKPT_READER_REPLICAS_MAX];
	size_t n_replicas;
	struct progress progress;
	unsigned n_threads;
	bool page_cache; /* as in ckpt_reader.h */
	/* Of the reader; `damage` may be set before checkpoint_place_open(). */
	void (*damage)(void *ctx, const struct ckpt_damage *damage);
	void *ctx;
};

#define CHECKPOINT_PLACE_INIT ((struct checkpoint_place){ 0 })

/* Finds the checkpoint of an operand, BASE/step-N or BASE, and --step, and opens --replica.
 * These functions return an exit status, after printing the reason of a failure. */
int checkpoint_place_find(struct checkpoint_place *p, const struct args *args,
			  const char *operand);

/* Refuses an operand for BASE that ends in step-N: usage, exit status 2. */
int checkpoint_place_is_base(const struct args *args, const char *operand);

/* The same for BASE alone; `create`: as a destination. */
int checkpoint_place_base(struct checkpoint_place *p, const struct args *args,
			  const char *operand, bool create);
void checkpoint_place_release(struct checkpoint_place *p);

/* Opens the reader of p->step; its calls show a bar with that verb ("verifying"). */
int checkpoint_place_open(struct checkpoint_place *p, const char *verb,
			  struct ckpt_reader **ret);

/* Prints the message of a failed call.  Returns the exit status 1. */
int checkpoint_fail(int r, const struct roar_error *err);

#endif
