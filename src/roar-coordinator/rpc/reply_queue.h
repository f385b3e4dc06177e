/* reply_queue.h - replies that wait until the changes they report are durable.
 *
 * A reply may be sent when all records appended to the log before it are durable.  Record
 * numbers only grow, so this is a FIFO queue, and the replies of one call stay in order.
 * Bytes that several replies share are stored once.
 *
 * One block of memory holds all replies, one after the other.  It keeps its size up to
 * REPLY_QUEUE_KEEP, so that the steady state needs no allocation.
 *
 * One thread: that of the loop. */
#ifndef COORDINATOR_REPLY_QUEUE_H
#define COORDINATOR_REPLY_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/rpc/rpc.h"

enum {
	REPLY_QUEUE_KEEP = 1 << 20, /* bytes that stay allocated */
	REPLY_QUEUE_MAX = 64
			  << 20, /* bytes from which on new requests are refused */
};

struct queued_reply {
	uint64_t seq; /* of the last record before it */
	uint64_t call;
	unsigned status; /* enum coord_status */
	uint32_t len; /* of the message; REPLY_NO_MESSAGE: none */
	uint32_t sentence_len; /* with its NUL; 0: none */
	uint32_t absent_len; /* likewise: worker ids, separated by commas */
	struct rpc_shared *end; /* last bytes of the message, shared; or NULL */
};

#define REPLY_NO_MESSAGE UINT32_MAX

struct reply_queue {
	struct str bytes; /* each struct queued_reply with its strings, aligned */
	size_t begin; /* offset of the first reply that waits */
	size_t n; /* replies */
	struct rpc_shared *last; /* `end` of the last reply; compared only */
	size_t shared; /* bytes of all `end` blocks, each counted once */
};

void reply_queue_release(struct reply_queue *h);

/* Copies the reply into the queue, which takes a reference to `end`.  -ENOMEM: the queue is
 * unchanged. */
int reply_queue_add(struct reply_queue *h, const struct queued_reply *head,
		    const void *message, const char *sentence,
		    const char *absent);

/* Calls `leave` for every reply up to `seq`, in order, and removes it.  `leave` must not add to
 * the queue. */
void reply_queue_drain(struct reply_queue *h, uint64_t seq,
		       void (*leave)(void *data, const struct queued_reply *head,
				     const void *message, const char *sentence,
				     const char *absent),
		       void *data);

size_t reply_queue_bytes(const struct reply_queue *h); /* that wait */

#endif
