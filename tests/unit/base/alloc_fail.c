/* alloc_fail.c - see alloc_fail.h */
#include "alloc_fail.h"

#include <stdbool.h>
#include <stddef.h>

/* The names are the linker's: --wrap=malloc sends malloc() to __wrap_malloc()
 * and the original is __real_malloc(). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static int left = -1; /* allocations that still succeed; -1 is no limit */

void alloc_fail_after(int n)
{
	left = n;
}

void alloc_fail_never(void)
{
	left = -1;
}

int alloc_fail_pause(void)
{
	int n = left;

	left = -1;
	return n;
}

static bool must_fail(void)
{
	if (left > 0)
		left--;
	else if (left == 0)
		return true;
	return false;
}

void *__wrap_malloc(size_t size)
{
	return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return must_fail() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return must_fail() ? NULL : __real_realloc(old, size);
}
