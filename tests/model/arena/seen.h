/* seen.h - the states that were met, each with the price at which it was reached.
 *
 * A state reached again is worth another look only if it was cheaper this time: from there
 * more can still be afforded.  Open addressing over 64-bit keys. */
#ifndef TESTS_EXPLORE_SEEN_H
#define TESTS_EXPLORE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seen {
	uint64_t *keys; /* 0 = empty */
	uint8_t *prices;
	size_t mask; /* places - 1 */
	size_t count;
};

/* -ENOMEM */
int seen_init(struct seen *s);
void seen_release(struct seen *s);

/* 1 when the state is new, or cheaper than before; 0 when there is nothing to find
 * any more; -ENOMEM. */
int seen_add(struct seen *s, uint64_t key, uint8_t price);

#endif
