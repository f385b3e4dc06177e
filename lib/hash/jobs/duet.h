/* duet.h - BLAKE3 on a second thread, while the caller takes other digests of the
 * same bytes.
 *
 * SHA-256 is several times slower than BLAKE3 and cannot be divided: with a second
 * CPU both together take as long as the slower one.  Without a second thread the
 * caller's does both. */
#ifndef ROAR_HASH_DUET_H
#define ROAR_HASH_DUET_H

#include <pthread.h>
#include <stdatomic.h>

#include "hash/blake3/leaf_tree.h"

struct duet {
	struct leaf_tree *tree; /* whose leaves are filled in */
	pthread_t thread;
	bool alone; /* there is no second thread */
	_Atomic uint32_t given; /* leaves, and once more for the end */
	_Atomic uint32_t taken;
	const void *data; /* the leaf under way; NULL: the end */
	size_t len;
	uint64_t index;
};

/* Starts the second thread, where there may be one. */
void duet_start(struct duet *d, struct leaf_tree *tree, bool second);

/* The next leaf, which must stay until duet_wait() has returned. */
void duet_give(struct duet *d, uint64_t index, const void *data, size_t len);
void duet_wait(struct duet *d);

void duet_end(struct duet *d);

#endif
