/* key_requests.h - numbered requests about the keys of a job that were carried out.
 *
 * A client whose connection ends before the reply arrives retries its request.  If the
 * first attempt was carried out and another client has set the key since, a retry would
 * undo that change: remove another client's lock, or restore an old value.  So each request
 * has a number, and the last KEY_REQUESTS_MAX requests of the job are remembered by it.
 *
 * This is slow state: changed by records of keys, and part of snapshots. */
#ifndef COORD_KEYS_KEY_REQUESTS_H
#define COORD_KEYS_KEY_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_REQUESTS_MAX = 1024 };

struct key_request {
	uint64_t request; /* its number, not 0 */
	uint64_t version; /* of the key after it; 0: the key was deleted */
};

/* Zeroed: empty. */
struct key_requests {
	struct key_request *done; /* a ring, when it is full */
	size_t n, cap;
	size_t first; /* the oldest */
};

void key_requests_release(struct key_requests *p);

/* Before a change: reserves memory for its entry.  Number 0 needs none. */
int key_requests_reserve(struct key_requests *p, uint64_t request);
/* After the change: adds the entry, and drops the oldest if there are too many. */
void key_requests_add(struct key_requests *p, uint64_t request,
		      uint64_t version);

/* Was this request carried out, and which version did it make?  False for 0. */
bool key_requests_find(const struct key_requests *p, uint64_t request,
		       uint64_t *ret_version);
/* The i-th entry, starting with the oldest. */
const struct key_request *key_requests_at(const struct key_requests *p,
					  size_t i);

#endif
