/* pool.h - data that dies together.
 *
 * A bump allocator: allocations are never freed one by one, all of them end
 * with pool_release().  One pool per run, per query, per request.  Blocks
 * grow from 4 KiB to 256 KiB, so a small pool stays small and a million
 * paths cost a few thousand mallocs.  A pool belongs to one thread. */
#ifndef ROAR_BASE_POOL_H
#define ROAR_BASE_POOL_H

#include <stddef.h>

struct pool_block;

struct pool {
	struct pool_block *head; /* the block that is being filled */
	size_t used; /* bytes taken in `head` */
	size_t total; /* bytes allocated from malloc */
};

#define POOL_INIT ((struct pool){ 0 })

void pool_release(struct pool *p);

/* `size` bytes aligned for any object, uninitialised.  NULL without memory. */
void *pool_alloc(struct pool *p, size_t size);
void *pool_zalloc(struct pool *p, size_t size);

/* A copy of `len` bytes with a NUL behind it (unaligned, so paths pack). */
char *pool_dup(struct pool *p, const void *data, size_t len);
char *pool_strdup(struct pool *p, const char *text);

/* printf into the pool. */
char *pool_printf(struct pool *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
