/* pool.c - see pool.h */
#include "base/pool.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MIN = 4096, BLOCK_MAX = 256 * 1024 };

struct pool_block {
	struct pool_block *next;
	size_t size; /* bytes of data[] */
	_Alignas(max_align_t) char data[];
};

void pool_release(struct pool *p)
{
	struct pool_block *b = p->head;

	while (b) {
		struct pool_block *next = b->next;

		free(b);
		b = next;
	}
	*p = POOL_INIT;
}

static int add_block(struct pool *p, size_t need)
{
	size_t size = p->head ? p->head->size * 2 : BLOCK_MIN;
	struct pool_block *b;

	if (size > BLOCK_MAX)
		size = BLOCK_MAX;
	if (size < need)
		size = need;
	b = malloc(sizeof(*b) + size);
	if (!b)
		return -1;
	b->next = p->head;
	b->size = size;
	p->head = b;
	p->used = 0;
	p->total += sizeof(*b) + size;
	return 0;
}

static void *take(struct pool *p, size_t size, size_t align)
{
	size_t at = (p->used + align - 1) & ~(align - 1);

	if (size > SIZE_MAX / 2)
		return NULL;
	if (!p->head || at > p->head->size || size > p->head->size - at) {
		if (add_block(p, size) < 0)
			return NULL;
		at = 0;
	}
	p->used = at + size;
	return p->head->data + at;
}

void *pool_alloc(struct pool *p, size_t size)
{
	return take(p, size, _Alignof(max_align_t));
}

void *pool_zalloc(struct pool *p, size_t size)
{
	void *mem = pool_alloc(p, size);

	return mem ? memset(mem, 0, size) : NULL;
}

char *pool_dup(struct pool *p, const void *data, size_t len)
{
	char *mem = take(p, len + 1, 1);

	if (!mem)
		return NULL;
	if (len)
		memcpy(mem, data, len);
	mem[len] = '\0';
	return mem;
}

char *pool_strdup(struct pool *p, const char *text)
{
	return pool_dup(p, text, strlen(text));
}

char *pool_printf(struct pool *p, const char *fmt, ...)
{
	va_list ap;
	va_list again;
	char *mem;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	mem = n < 0 ? NULL : take(p, (size_t)n + 1, 1);
	if (mem)
		(void)vsnprintf(mem, (size_t)n + 1, fmt, again);
	va_end(again);
	return mem;
}
