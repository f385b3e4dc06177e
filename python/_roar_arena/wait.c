/* wait.c - waiting in slices, as handle.h tells */
#include "handle.h"

#include <errno.h>
#include <time.h>

/* How late a signal handler or close() may be noticed. */
enum { SLICE_NS = 100 * 1000 * 1000 };

static long long now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

struct wait wait_begin(long long timeout_ns)
{
	return (struct wait){ .timeout_ns = timeout_ns };
}

void wait_unlock(struct wait *w)
{
	if (w->slice_ns != 0)
		w->saved = PyEval_SaveThread();
}

void wait_lock(struct wait *w)
{
	if (w->saved)
		PyEval_RestoreThread(w->saved);
	w->saved = NULL;
}

/* The next slice, or false when the time is over. */
static bool next_slice(struct wait *w)
{
	long long left = SLICE_NS;

	if (w->timeout_ns > 0) {
		long long now = now_ns();

		if (w->slice_ns == 0 &&
		    __builtin_add_overflow(now, w->timeout_ns, &w->deadline_ns))
			w->deadline_ns = INT64_MAX;
		left = w->deadline_ns - now;
	}
	w->slice_ns = left < SLICE_NS ? left : SLICE_NS;
	return left > 0;
}

bool wait_more(const struct handle *h, struct wait *w, int *r)
{
	if (*r != -EAGAIN && *r != -ETIMEDOUT && *r != -EINTR)
		return false;
	if (w->timeout_ns == 0)
		return false;
	if (PyErr_CheckSignals() < 0) {
		*r = -EINTR;
		return false;
	}
	if (h->closing) {
		handle_say_closed(h);
		*r = -EPIPE;
		return false;
	}
	if (!next_slice(w)) {
		*r = -ETIMEDOUT;
		return false;
	}
	return true;
}
