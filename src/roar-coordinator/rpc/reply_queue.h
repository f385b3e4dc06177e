/* reply_queue.h - replies that wait until what they tell is on disk.
 *
 * A reply may leave when all records that were handed to the log before it are durable.
 * Records are numbered, and numbers only grow, so this is a queue: what came first
 * leaves first, and the replies of one call stay in order.  What many replies have in
 * common is there once.
 *
 * One block of memory holds all of them, one behind the other; it keeps its size up
 * to REPLY_QUEUE_KEEP, so that in the steady state nothing is allocated. */
#ifndef COORDINATOR_REPLY_QUEUE_H
#define COORDINATOR_REPLY_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/rpc/rpc.h"

enum {
	REPLY_QUEUE_KEEP = 1 << 20, /* bytes that are not given back */
	REPLY_QUEUE_MAX = 64
			  << 20, /* bytes from which on nobody should add more */
};

struct queued_reply {
	uint64_t seq; /* of the last record before it */
	uint64_t call;
	unsigned status; /* enum coord_status */
	uint32_t len; /* of the message; REPLY_NO_MESSAGE: there is none */
	uint32_t sentence_len; /* with its NUL; 0: there is none */
	uint32_t absent_len; /* likewise: ids of workers, by commas */
	struct rpc_shared *end; /* of the message, behind the others; or NULL */
};

#define REPLY_NO_MESSAGE UINT32_MAX

struct reply_queue {
	struct str bytes; /* struct queued_reply and what belongs to it, aligned */
	size_t begin; /* what lies before it has left */
	size_t n; /* replies */
	struct rpc_shared *last; /* `end` of the last one; compared only */
	size_t shared; /* bytes of all ends, each once */
};

void reply_queue_release(struct reply_queue *h);

/* Copies the reply into the queue, which takes a reference of `end`.  -ENOMEM: it is not there. */
int reply_queue_add(struct reply_queue *h, const struct queued_reply *head,
		    const void *message, const char *sentence,
		    const char *absent);

/* Gives all replies up to `seq` away, in order, and forgets them.  `leave` may add
 * nothing. */
void reply_queue_drain(struct reply_queue *h, uint64_t seq,
		       void (*leave)(void *data, const struct queued_reply *head,
				     const void *message, const char *sentence,
				     const char *absent),
		       void *data);

size_t reply_queue_bytes(const struct reply_queue *h); /* that wait */

#endif
