/* pool.h - a bump allocator.
 *
 * Allocations are never freed one by one: pool_release() frees all of them.  One pool per
 * run, per query, per request.  Blocks grow from 4 KiB to 256 KiB, so a small pool stays
 * small, and a million paths need a few thousand mallocs.  A pool belongs to one thread. */
#ifndef ROAR_BASE_POOL_H
#define ROAR_BASE_POOL_H

#include <stddef.h>

struct pool_block;

struct pool {
	struct pool_block *head; /* the current block */
	size_t used; /* bytes taken in `head` */
	size_t total; /* bytes allocated from malloc */
};

#define POOL_INIT ((struct pool){ 0 })

void pool_release(struct pool *p);

/* `size` bytes aligned for any object, uninitialised.  NULL when out of memory. */
void *pool_alloc(struct pool *p, size_t size);
void *pool_zalloc(struct pool *p, size_t size);

/* A copy of `len` bytes, NUL-terminated (unaligned, so that paths are packed). */
char *pool_dup(struct pool *p, const void *data, size_t len);
char *pool_strdup(struct pool *p, const char *text);

/* printf into the pool. */
char *pool_printf(struct pool *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
