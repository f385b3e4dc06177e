/* futex.h - sleeps on a word until it changes.  Private to lib/hash.
 *
 * A condition variable needs a mutex, and a mutex held by a thread at idle priority delays
 * all others (see task_ring.h). */
#ifndef ROAR_HASH_FUTEX_H
#define ROAR_HASH_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while the word is `seen`, at most `timeout_ms` unless that is negative.  May
 * return early: callers must check again. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t seen,
			      int timeout_ms)
{
	struct timespec t = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };

	(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen,
		      timeout_ms < 0 ? NULL : &t, NULL, 0);
}

/* Changes the word and wakes up to `n` sleepers. */
static inline void futex_bump(_Atomic uint32_t *word, int n)
{
	atomic_fetch_add(word, 1);
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

#endif
