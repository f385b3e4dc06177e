/* next.h - the functions that our wrappers replace.
 *
 * dlsym(RTLD_NEXT) would find them, but it is in libdl on old systems, and may allocate
 * and lock.  So the symbol tables of the loaded libraries are read directly.  Those
 * between us and libc are read once at the start, because another library may have
 * replaced a function too (that one must still be called); libc's own is read when a
 * function is first needed.  That needs no lock and is correct in any context. */
#ifndef ROAR_PRELOAD_NEXT_H
#define ROAR_PRELOAD_NEXT_H

#include <stdatomic.h>
#include <stdbool.h>

enum next {
#define X(name) NEXT_##name,
#include "next_names.inc"
#undef X
	NEXT_END,
};

extern _Atomic(void *) next_table[NEXT_END]; /* any thread writes the same
					      * address; NULL: not searched yet */
extern bool next_foreign[NEXT_END]; /* written by next_init() before the program
				     * starts: not libc's */

/* Reads the libraries that were loaded with us. */
void next_init(void);

void *next_find(enum next which);

/* Never NULL: a function that libc lacks fails with ENOSYS. */
static inline void *next_function(enum next which)
{
	void *f = atomic_load_explicit(&next_table[which],
				       memory_order_relaxed);

	return f ? f : next_find(which);
}

/* Must the function be called although we could do without it? */
static inline bool next_is_foreign(enum next which)
{
	return next_foreign[which];
}

#endif
