/* rpc_output.h - a queue of unsent replies: private bytes, and blocks shared by many
 * replies.
 *
 * A value that is sent to ten thousand clients, maybe a mebibyte, is stored once: each
 * queue has a link to it.  A link has the number of private bytes that precede its block:
 *
 *	own	|head 1|head 2|head 3|
 *	links	 6 ->A  6 ->A			head 1, A, head 2, A, head 3
 *
 * One thread. */
#ifndef NET_RPC_OUTPUT_H
#define NET_RPC_OUTPUT_H

#include "net/buffer.h"

struct rpc_shared {
	uint32_t refs;
	uint32_t n_links; /* of these, references from queues */
	size_t len;
	uint8_t data[];
};

struct out_link {
	struct out_link *next;
	struct rpc_shared *block;
	size_t used; /* bytes of it already sent */
	/* Private bytes between the previous block and this one. */
	size_t before;
};

struct out {
	struct buffer own;
	struct out_link *first, *last;
	size_t before; /* sum over all links */
	size_t shared; /* unsent bytes of blocks */
};

static inline size_t out_len(const struct out *o)
{
	return buffer_len(&o->own) + o->shared;
}

/* Adds `len` bytes, and then `block` unless it is NULL.  0 or -ENOMEM (unchanged). */
int out_add(struct shelf *s, struct out *o, const void *data, size_t len,
	    struct rpc_shared *block);
/* Removes up to `len` bytes from the front, in order; returns their number. */
size_t out_read(struct shelf *s, struct out *o, uint8_t *to, size_t len);
void out_release(struct shelf *s, struct out *o);

#endif
