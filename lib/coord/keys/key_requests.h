/* key_requests.h - which numbered requests about the keys of a job were done.
 *
 * A client whose connection ends before the answer comes sends its request again.  If the
 * first was done, and others have set the key since, the second would undo what they did: take
 * away a lock that is another's, put back a value that is over.  So a request has a number,
 * and what was done is remembered by it; as many as KEY_REQUESTS_MAX, the last of the job.
 *
 * It is slow state: changed by the records of keys, and in snapshots. */
#ifndef COORD_KEYS_KEY_REQUESTS_H
#define COORD_KEYS_KEY_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_REQUESTS_MAX = 1024 };

struct key_request {
	uint64_t request; /* its number, not 0 */
	uint64_t version; /* that it made; 0: it took the key away */
};

/* Zeroed: nothing was done. */
struct key_requests {
	struct key_request *done; /* a ring, when it is full */
	size_t n, cap;
	size_t first; /* the longest ago */
};

void key_requests_release(struct key_requests *p);

/* Before a change: room for it.  Without a number (0) none is needed. */
int key_requests_reserve(struct key_requests *p, uint64_t request);
/* After it; forgets the longest ago where there are too many. */
void key_requests_add(struct key_requests *p, uint64_t request,
		      uint64_t version);

/* Whether it was done, and what it made.  Never for 0. */
bool key_requests_find(const struct key_requests *p, uint64_t request,
		       uint64_t *ret_version);
/* The i-th, from the longest ago on. */
const struct key_request *key_requests_at(const struct key_requests *p,
					  size_t i);

#endif
