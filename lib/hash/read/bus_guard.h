/* bus_guard.h - looking at a mapping whose file somebody may truncate.
 *
 * Private to lib/hash, and for programs of our own alone: the handler of SIGBUS is the
 * process's.  A page that is gone, or that cannot be read, ends the call. */
#ifndef ROAR_HASH_BUS_GUARD_H
#define ROAR_HASH_BUS_GUARD_H

#include <stddef.h>

/* Calls `look`, which may do nothing but look at the `len` bytes at `data` and write to
 * memory that it can lose: it is left in the middle when one of them is not there.
 * -EFAULT then, else what it returned. */
int bus_guard_call(int (*look)(void *ctx), void *ctx, const void *data,
		   size_t len);

#endif
