/* hash_lane.h - content that a second thread hashes while the proxy goes on.
 *
 * A piece stays in the memory that it was read to.  Whoever read it gets another buffer for
 * that from the lane, so nothing is copied.  There are HASH_LANE_PIECES of them; when all are
 * in use, the proxy waits for the thread.
 *
 * The pieces of one message are hashed in order.  One thread: that of the loop. */
#ifndef PROXY_HASH_LANE_H
#define PROXY_HASH_LANE_H

#include "hash/digest/multihash.h"
#include "http/head.h"
#include "net/side_thread.h"

enum {
	HASH_LANE_PIECES = 8,
	HASH_LANE_MIN = 32 << 10, /* bytes of a piece */
	/* Bytes: to wake a thread for a smaller body takes as long as it saves. */
	HASH_LANE_MIN_BODY = 2 << 20,
};

struct hash_piece {
	struct side_job job; /* first: its pointer is ours */
	struct multihash *hash;
	char *buffer; /* of HTTP_READ_LEN bytes; NULL: none yet */
	const char *data; /* in it */
	size_t len;
	bool is_used; /* it has been a job */
};

struct hash_lane {
	struct side_thread *side;
	struct hash_piece pieces[HASH_LANE_PIECES];
	unsigned next; /* that was not used for longest */
};

int hash_lane_init(struct hash_lane *l, struct loop *loop);
void hash_lane_release(struct hash_lane *l);

/* A buffer that the lane can spare; NULL: none, or no memory. */
char *hash_lane_buffer(struct hash_lane *l);
/* Adds `data` in `buffer` to the hash `m`; the lane has `buffer` for the one that it gave. */
void hash_lane_add(struct hash_lane *l, struct multihash *m, char *buffer,
		   const char *data, size_t len);
/* Waits until all that was added is hashed. */
void hash_lane_finish(struct hash_lane *l);

#endif
