/* alloc_fail.h - makes the n-th allocation of a test fail.
 *
 * The test program is linked with --wrap for malloc, calloc and realloc, so
 * only calls from our own code and archives go through here; the C library
 * keeps its own.  A test arms the counter, acts, and disarms it before the
 * next assertion that may allocate. */
#ifndef ROAR_TESTS_ALLOC_FAIL_H
#define ROAR_TESTS_ALLOC_FAIL_H

/* The `n`-th allocation from now (0 is the next one) and all later ones fail
 * until alloc_fail_never(). */
void alloc_fail_after(int n);
void alloc_fail_never(void);

/* The same, and returns what alloc_fail_after() must be given to go on: for what a
 * test has to allocate in the middle of what it tests. */
int alloc_fail_pause(void);

#endif
