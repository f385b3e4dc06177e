/* rpc_output.h - replies that wait for their reader: bytes of their own, and blocks that many
 * replies have in common.
 *
 * What ten thousand clients are told at once, a value of a mebibyte maybe, is there once:
 * each of their queues has a link to it.  Links say how many own bytes leave before
 * their block:
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
	uint32_t n_links; /* of them, those of queues */
	size_t len;
	uint8_t data[];
};

struct out_link {
	struct out_link *next;
	struct rpc_shared *block;
	size_t used; /* bytes of it that have left */
	size_t before; /* own bytes between the block before it and this one */
};

struct out {
	struct buffer own;
	struct out_link *first, *last;
	size_t before; /* the sum of theirs */
	size_t shared; /* bytes of blocks that wait */
};

static inline size_t out_len(const struct out *o)
{
	return buffer_len(&o->own) + o->shared;
}

/* Adds `len` bytes, and then `block` unless it is NULL.  0 or -ENOMEM (unchanged). */
int out_add(struct shelf *s, struct out *o, const void *data, size_t len,
	    struct rpc_shared *block);
/* Takes up to `len` bytes from the front, in order; returns how many. */
size_t out_read(struct shelf *s, struct out *o, uint8_t *to, size_t len);
void out_release(struct shelf *s, struct out *o);

#endif
