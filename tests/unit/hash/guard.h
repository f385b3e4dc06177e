/* guard.h - memory that ends at a page nobody may touch. */
#ifndef ROAR_TEST_GUARD_H
#define ROAR_TEST_GUARD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

struct guard {
	uint8_t *map;
	size_t len; /* usable bytes: whole pages */
	size_t page;
};

static inline struct guard guard_map(size_t at_least)
{
	struct guard g = { .page = (size_t)sysconf(_SC_PAGESIZE) };

	g.len = (at_least / g.page + 1) * g.page;
	g.map = mmap(NULL, g.len + g.page, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(g.map != MAP_FAILED);
	assert_int_equal(mprotect(g.map + g.len, g.page, PROT_NONE), 0);
	return g;
}

/* The last `len` bytes before the guard. */
static inline uint8_t *guard_tail(const struct guard *g, size_t len)
{
	return g->map + g->len - len;
}

static inline void guard_unmap(struct guard *g)
{
	munmap(g->map, g->len + g->page);
}

#endif
