/* runs.c - see runs.h */
#include "runs.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "peer.h"
#include "trace/ebpf/session.h"

enum {
	SPARE = 2, /* rings kept ready for runs to come */
	PER_USER = EBPF_RINGS - 2, /* no user can have them all */
	LINGER_NS = 100000000, /* hooks outlast the last run for so long */
};

static bool is_ready(const struct runs *r, unsigned i)
{
	return !r->lent[i] && ebpf_maps(r->programs)->rings[i] >= 0;
}

static unsigned count_ready(const struct runs *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < EBPF_RINGS; i++)
		n += is_ready(r, i);
	return n;
}

static unsigned count_of(const struct runs *r, uid_t uid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < EBPF_RINGS; i++)
		n += r->lent[i] && r->owner[i] == uid;
	return n;
}

bool runs_any(const struct runs *r)
{
	for (unsigned i = 0; i < EBPF_RINGS; i++)
		if (r->lent[i])
			return true;
	return false;
}

void runs_unload(struct runs *r)
{
	assert(!runs_any(r));
	r->linger_end_ns = 0;
	ebpf_close(TAKE_PTR(r->programs));
}

/* Makes one ring ready.  -EBUSY when all are lent or ready. */
static int renew_one(struct runs *r)
{
	for (unsigned i = 0; i < EBPF_RINGS; i++)
		if (!r->lent[i] && !is_ready(r, i))
			return ebpf_renew_ring(r->programs, i);
	return -EBUSY;
}

bool runs_prepare(struct runs *r)
{
	if (!r->programs || count_ready(r) >= SPARE)
		return false;
	return renew_one(r) == 0 && count_ready(r) < SPARE;
}

static void lend(struct runs *r, const struct session *session, uid_t uid)
{
	for (unsigned i = 0; i < EBPF_RINGS; i++) {
		if (ebpf_maps(r->programs)->rings[i] != session_fd(session))
			continue;
		r->lent[i] = true;
		r->owner[i] = uid;
	}
}

/* The kernel takes ten milliseconds to hook in again what was just taken off, which
 * the runs of a script, one after another, would all wait for.  So the last one's
 * watch is ours for a moment. */
static void unwatch(struct runs *r)
{
	if (runs_any(r))
		ebpf_unwatch(r->programs);
	else
		r->linger_end_ns = clock_mono_ns() + LINGER_NS;
}

int runs_rest_ms(struct runs *r)
{
	int64_t left = r->linger_end_ns - clock_mono_ns();

	if (!r->linger_end_ns)
		return -1;
	if (left > 0)
		return (int)(left / 1000000) + 1;
	r->linger_end_ns = 0;
	ebpf_unwatch(r->programs);
	return -1;
}

/* A watch that was kept is the new run's. */
static int watch(struct runs *r)
{
	if (!r->linger_end_ns)
		return ebpf_watch(r->programs);
	r->linger_end_ns = 0;
	return 0;
}

void runs_end(struct runs *r, struct session *session)
{
	int ring = session ? session_fd(session) : -1;

	session_close(session);
	for (unsigned i = 0; ring >= 0 && i < EBPF_RINGS; i++) {
		if (!r->lent[i] || ebpf_maps(r->programs)->rings[i] != ring)
			continue;
		r->lent[i] = false;
		unwatch(r);
		ebpf_retire_ring(r->programs, i);
	}
}

/* What users must not see of each other is kept by the kernel; root sees all. */
static int begin(struct session *session, uid_t uid, int pidfd, pid_t pid)
{
	int e = uid ? session_guard(session, uid) : 0;

	return e < 0 ? e : session_add_pidfd(session, pidfd, pid);
}

int runs_start(struct runs *r, uid_t uid, int pidfd, pid_t pid,
	       struct session **ret_session)
{
	struct session *session = NULL;
	int e = peer_owns(uid, pidfd);

	if (e == 0 && count_of(r, uid) >= PER_USER)
		e = -EBUSY;
	if (e == 0 && !r->programs)
		e = ebpf_open(EBPF_FRESH, &r->programs, NULL);
	if (e == 0 && !count_ready(r))
		e = renew_one(r);
	if (e == 0)
		e = session_open(ebpf_maps(r->programs), &session);
	if (e == 0)
		e = watch(r);
	if (e < 0) {
		session_close(session);
		return e;
	}
	lend(r, session, uid);
	e = begin(session, uid, pidfd, pid);
	if (e < 0) {
		runs_end(r, session);
		return e;
	}
	*ret_session = session;
	return 0;
}
