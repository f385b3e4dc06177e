/* duet.h - BLAKE3 on a second thread, while the caller computes other digests of the same
 * bytes.
 *
 * SHA-256 is several times slower than BLAKE3 and cannot be divided.  With a second CPU
 * both together take as long as the slower one.  Without a second thread the caller
 * computes both. */
#ifndef ROAR_HASH_DUET_H
#define ROAR_HASH_DUET_H

#include <pthread.h>
#include <stdatomic.h>

#include "hash/blake3/leaf_tree.h"

struct duet {
	struct leaf_tree *tree; /* gets the leaves */
	pthread_t thread;
	bool alone; /* no second thread */
	_Atomic uint32_t given; /* leaves passed, plus one for the end */
	_Atomic uint32_t taken; /* leaves done by the second thread */
	/* Set by the caller before `given` is raised, read by the second thread after: */
	const void *data; /* the current leaf; NULL: the end */
	size_t len;
	uint64_t index;
};

/* Starts the second thread, if `second` permits it. */
void duet_start(struct duet *d, struct leaf_tree *tree, bool second);

/* Passes the next leaf, which must be valid until duet_wait() has returned. */
void duet_give(struct duet *d, uint64_t index, const void *data, size_t len);
void duet_wait(struct duet *d);

void duet_end(struct duet *d);

#endif
