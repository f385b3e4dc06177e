/* rpc_output.c - see rpc_output.h */
#include "net/rpc/rpc_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/rpc/rpc.h"

/* ---- blocks ---- */

struct rpc_shared *rpc_shared_new(const void *data, size_t len)
{
	struct rpc_shared *block = malloc(sizeof(*block) + len);

	if (!block)
		return NULL;
	*block = (struct rpc_shared){ .refs = 1, .len = len };
	if (len)
		memcpy(block->data, data, len);
	return block;
}

struct rpc_shared *rpc_shared_ref(struct rpc_shared *block)
{
	block->refs++;
	return block;
}

void rpc_shared_unref(struct rpc_shared *block)
{
	if (block && --block->refs == 0)
		free(block);
}

size_t rpc_shared_len(const struct rpc_shared *block)
{
	return block->len;
}

/* ---- links ---- */

static void link_block(struct shelf *s, struct out *o, struct out_link *l,
		       struct rpc_shared *block)
{
	*l = (struct out_link){ .block = rpc_shared_ref(block),
				.before = buffer_len(&o->own) - o->before };
	if (block->n_links++ == 0)
		s->shared += block->len;
	*(o->first ? &o->last->next : &o->first) = l;
	o->last = l;
	o->before += l->before;
	o->shared += block->len;
}

static void unlink_first(struct shelf *s, struct out *o)
{
	struct out_link *l = o->first;

	if (--l->block->n_links == 0)
		s->shared -= l->block->len;
	rpc_shared_unref(l->block);
	o->first = l->next;
	free(l);
}

/* ---- the queue ---- */

int out_add(struct shelf *s, struct out *o, const void *data, size_t len,
	    struct rpc_shared *block)
{
	struct out_link *l = block ? malloc(sizeof(*l)) : NULL;

	if ((block && !l) || buffer_add(s, &o->own, data, len) < 0) {
		free(l);
		return -ENOMEM;
	}
	if (block)
		link_block(s, o, l, block);
	return 0;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t read_own(struct shelf *s, struct out *o, uint8_t *to, size_t len)
{
	struct out_link *l = o->first;
	size_t n = least(len, l ? l->before : buffer_len(&o->own));

	if (n == 0)
		return 0;
	memcpy(to, buffer_bytes(&o->own), n);
	buffer_take(s, &o->own, n);
	if (l) {
		l->before -= n;
		o->before -= n;
	}
	return n;
}

static size_t read_block(struct shelf *s, struct out *o, uint8_t *to,
			 size_t len)
{
	struct out_link *l = o->first;
	size_t n = least(len, l->block->len - l->used);

	memcpy(to, l->block->data + l->used, n);
	l->used += n;
	o->shared -= n;
	if (l->used == l->block->len)
		unlink_first(s, o);
	return n;
}

size_t out_read(struct shelf *s, struct out *o, uint8_t *to, size_t len)
{
	size_t n = 0;

	while (n < len && out_len(o)) {
		n += read_own(s, o, to + n, len - n);
		if (n < len && o->first && o->first->before == 0)
			n += read_block(s, o, to + n, len - n);
	}
	return n;
}

void out_release(struct shelf *s, struct out *o)
{
	while (o->first)
		unlink_first(s, o);
	buffer_release(s, &o->own);
	*o = (struct out){ 0 };
}
