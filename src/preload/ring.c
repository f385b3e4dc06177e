/* ring.c - telling and asking: the producer's side of log.h. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "preload.h"

enum {
	CELLS_MAX = (sizeof(struct log_record) + 2 * (LOG_PATH_MAX + 1)) /
			    LOG_CELL +
		    1,
	NAP_NS = 100 * 1000, /* between looks for room, at first */
	TRIES = 4, /* of a record that the reader has given up */
};

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts); /* vDSO: no system call */
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* The clock of file stamps.  `exact` records are rare and may be all that a program
 * tells: a system call is cheaper than the first use of the vDSO. */
static int64_t stamp_ns(bool exact)
{
	struct timespec ts;

	if (likely(!exact) ||
	    raw_call(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &ts) < 0)
		return now_ns(CLOCK_REALTIME_COARSE);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* ---- taking cells ---- */

static struct log_record *record_at(uint64_t cell)
{
	return (void *)(preload.ring + (cell & preload.mask) * LOG_CELL);
}

/* The word that a record's commit will replace. */
static uint64_t word_before(struct log_record *r)
{
	return atomic_load_explicit(&r->commit, memory_order_relaxed);
}

/* False: the reader did not wait for us. */
static bool commit(struct log_record *r, uint64_t cell, uint64_t before)
{
	return before != log_skipped(preload.log, cell) &&
	       atomic_compare_exchange_strong_explicit(
		       &r->commit, &before, log_commit(preload.log, cell),
		       memory_order_release, memory_order_relaxed);
}

static void pad(uint64_t cell, uint64_t n)
{
	struct log_record *r = record_at(cell);
	uint64_t before = word_before(r);

	r->n_cells = (uint16_t)n;
	r->kind = LOG_PAD;
	(void)commit(r, cell, before); /* a skipped padding loses nothing */
}

static void ring_bell(void)
{
	struct log_header *h = preload.log;

	atomic_fetch_add(&h->doorbell, 1);
	(void)raw_call(SYS_futex, &h->doorbell, FUTEX_WAKE, INT_MAX);
}

/* Reserves `n` consecutive cells; false when there is no room. */
static bool take(uint64_t n, uint64_t *ret_cell)
{
	struct log_header *h = preload.log;
	uint64_t size = preload.mask + 1, half = size / 2;
	uint64_t head = atomic_load_explicit(&h->head, memory_order_relaxed);
	uint64_t tail, skip;

	do {
		tail = atomic_load_explicit(&h->tail, memory_order_acquire);
		skip = size - (head & preload.mask);
		skip = skip < n ? skip : 0;
		if (head - tail + skip + n > size)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&h->head, &head, head + skip + n, memory_order_acq_rel,
		memory_order_relaxed));

	if (skip)
		pad(head, skip);
	if (unlikely(head - tail < half && head - tail + skip + n >= half))
		ring_bell();
	*ret_cell = head + skip;
	return true;
}

bool ring_has_room(void)
{
	struct log_header *h = preload.log;
	uint64_t head = atomic_load_explicit(&h->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&h->tail, memory_order_relaxed);

	return head - tail + 2 * CELLS_MAX <= preload.mask + 1;
}

bool ring_is_early(void)
{
	return preload.seccomp &&
	       now_ns(CLOCK_REALTIME_COARSE) <= preload.log->start_ns;
}

/* ---- waiting for the reader ---- */

/* Nobody waits twice for a reader that does not move. */
static bool is_stalled(void)
{
	struct log_header *h = preload.log;

	return atomic_load(&h->stalled) == atomic_load(&h->tail) + 1;
}

static void give_up(enum log_trouble trouble)
{
	struct log_header *h = preload.log;

	atomic_store(&h->stalled, atomic_load(&h->tail) + 1);
	atomic_fetch_or(&h->trouble, (uint32_t)trouble);
}

static bool wait_for_room(uint64_t n, uint64_t *ret_cell)
{
	int64_t end = now_ns(CLOCK_MONOTONIC) + LOG_ASK_MS * INT64_C(1000000);
	struct timespec nap = { .tv_nsec = NAP_NS };

	ring_bell();
	while (!is_stalled() && !atomic_load(&preload.log->closed)) {
		if (take(n, ret_cell))
			return true;
		if (now_ns(CLOCK_MONOTONIC) >= end)
			break;
		(void)raw_call(SYS_nanosleep, &nap, 0);
		if (nap.tv_nsec < 20 * NAP_NS)
			nap.tv_nsec *= 2;
	}
	give_up(LOG_FULL);
	return false;
}

/* ---- records ---- */

static size_t argv_len(char *const *argv)
{
	size_t len = 0;

	for (; !is_no_pointer(argv) && *argv && len < LOG_PATH_MAX; argv++)
		len += strlen(*argv) + 1;
	len = len ? len - 1 : 0; /* no NUL after the last */
	return len < LOG_PATH_MAX ? len : LOG_PATH_MAX;
}

/* At most `len` bytes: the arguments may have grown since they were measured. */
static void copy_argv(char *to, char *const *argv, size_t len)
{
	size_t at = 0;

	for (; at < len && *argv; argv++) {
		size_t n = strlen(*argv) + 1;

		n = n < len - at ? n : len - at;
		memcpy(to + at, *argv, n);
		at += n;
	}
}

static size_t path_len(const char *path)
{
	return is_no_pointer(path) ? 0 : strnlen(path, LOG_PATH_MAX);
}

static int32_t thread_id(uint32_t process, bool exact)
{
	if (unlikely(exact))
		return (int32_t)raw_call(SYS_gettid, 0);
	if (unlikely(self.process != process)) {
		self.tid = (int32_t)raw_call(SYS_gettid, 0);
		self.process = process;
	}
	return self.tid;
}

static void fill(struct log_record *r, const struct telling *t, uint64_t n)
{
	char *path2 = r->paths + t->path_len + 1;

	r->n_cells = (uint16_t)n;
	r->kind = t->kind;
	r->call = t->call;
	r->path_len = (uint16_t)t->path_len;
	r->path2_len = (uint16_t)t->path2_len;
	r->process = process_id();
	r->tid = thread_id(r->process, t->exact);
	r->time_ns = stamp_ns(t->exact);
	r->flags = t->flags;
	r->dirfd = t->dirfd;
	r->dirfd2 = t->dirfd2;
	r->value = t->value;
	r->other = t->other;
	if (t->path_len)
		memcpy(r->paths, t->path, t->path_len);
	r->paths[t->path_len] = '\0';
	if (t->argv)
		copy_argv(path2, t->argv, t->path2_len);
	else if (t->path2_len)
		memcpy(path2, t->path2, t->path2_len);
	path2[t->path2_len] = '\0';
}

int tell(struct telling *t, bool patient)
{
	uint64_t n;

	/* Before any cell is reserved: this may write a record itself. */
	(void)process_id();
	if (!t->path_len)
		t->path_len = path_len(t->path);
	t->path2_len = t->argv ? argv_len(t->argv) : path_len(t->path2);
	n = (offsetof(struct log_record, paths) + t->path_len + t->path2_len +
	     2 + LOG_CELL - 1) /
	    LOG_CELL;
	for (int i = 0; i < TRIES; i++) {
		struct log_record *r;
		uint64_t before;

		if (!take(n, &t->cell) &&
		    (!patient || !wait_for_room(n, &t->cell)))
			return -ENOSPC;
		r = record_at(t->cell);
		before = word_before(r);
		fill(r, t, n);
		if (likely(commit(r, t->cell, before)))
			return 0;
	}
	/* Only a reader that skips whatever it sees brings us here. */
	atomic_fetch_or(&preload.log->trouble, LOG_FULL);
	return -ENOSPC;
}

/* ---- asking ---- */

static bool is_answered(uint32_t answered, uint64_t cell)
{
	return (int32_t)(answered - (uint32_t)cell) > 0;
}

static void wait_for_answer(uint64_t cell)
{
	struct log_header *h = preload.log;
	int64_t end = now_ns(CLOCK_MONOTONIC) + LOG_ASK_MS * INT64_C(1000000);

	while (!atomic_load(&h->closed)) {
		uint32_t seen = atomic_load(&h->answered);
		int64_t left = end - now_ns(CLOCK_MONOTONIC);
		struct timespec ts = { .tv_sec = left / 1000000000,
				       .tv_nsec = left % 1000000000 };

		if (is_answered(seen, cell))
			return;
		if (left <= 0) {
			give_up(LOG_LATE);
			return;
		}
		/* A signal ends the wait early; its handler has run. */
		(void)raw_call(SYS_futex, &h->answered, FUTEX_WAIT, seen, &ts);
	}
}

void ask(struct telling *t)
{
	bool stalled = is_stalled();

	t->kind = LOG_ASK;
	t->exact = true;
	if (tell(t, true) < 0)
		return;
	ring_bell();
	if (!stalled)
		wait_for_answer(t->cell);
}

void tell_sync(void)
{
	struct telling t = { .call = LOG_CALL_SYNC };

	if (preload.seccomp)
		(void)raw_call(SYS_recvmsg, -1, 0, 0);
	else
		ask(&t);
}

bool ask_begin(struct telling *t)
{
	int saved = errno;

	if (!live())
		return false;
	raise_generation();
	if (!preload.seccomp)
		ask(t);
	errno = saved;
	return true;
}

long ask_end(bool asked, struct telling *t, long result)
{
	int saved = errno;
	struct telling done = {
		.kind = LOG_RESULT_ASKED,
		.call = t->call,
		.exact = true,
		.value = (int32_t)(result < 0 ? -saved : result),
		.other = (uint32_t)t->cell,
	};

	if (!asked || !live())
		return result;
	raise_generation();
	(void)tell(&done, !preload.seccomp);
	errno = saved;
	return result;
}

/* ---- signals ---- */

bool signals_hold(uint64_t *ret_mask)
{
	/* Faults cannot be blocked. */
	uint64_t most = ~(
		UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1) |
		UINT64_C(1) << (SIGILL - 1) | UINT64_C(1) << (SIGFPE - 1) |
		UINT64_C(1) << (SIGTRAP - 1));

	return preload.seccomp && raw_call(SYS_rt_sigprocmask, SIG_BLOCK, &most,
					   ret_mask, sizeof(most)) == 0;
}

void signals_let_go(uint64_t mask)
{
	(void)raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL,
		       sizeof(mask));
}

bool patience_is_left(struct patience *p)
{
	if (!preload.seccomp || p->held || p->n++ >= PATIENCE_EXEC)
		return false;
	if (!p->execs && p->n > PATIENCE) {
		if (!signals_hold(&p->mask))
			return false;
		p->held = true;
	}
	errno = p->saved;
	return true;
}

void patience_end(const struct patience *p)
{
	signals_let_go(p->mask);
}
