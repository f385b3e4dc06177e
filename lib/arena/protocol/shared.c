/* shared.c - see shared.h */
#include "arena/protocol/shared.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void shared_wait(uint32_t *word, uint32_t seen, int64_t timeout_ns)
{
	struct timespec t = { timeout_ns / 1000000000,
			      timeout_ns % 1000000000 };

	(void)syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0);
}

void shared_wake_all(uint32_t *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
