/* bus_guard.h - reads a mapping whose file another process may truncate.
 *
 * Private to lib/hash, and only for roar's own programs, because the handler of SIGBUS
 * belongs to the process.  A missing or unreadable page ends the call. */
#ifndef ROAR_HASH_BUS_GUARD_H
#define ROAR_HASH_BUS_GUARD_H

#include <stddef.h>

/* Calls `look`, which may only read the `len` bytes at `data` and write to memory that may
 * be discarded: it is aborted if one of the bytes is missing.  Returns -EFAULT then,
 * otherwise the result of `look`. */
int bus_guard_call(int (*look)(void *ctx), void *ctx, const void *data,
		   size_t len);

#endif
