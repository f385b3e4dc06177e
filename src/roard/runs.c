/* runs.c - see runs.h */
#include "runs.h"

#include <errno.h>

#include "peer.h"
#include "trace/ebpf/session.h"

enum {
	SPARE = 2, /* rings kept ready for runs to come */
	PER_USER = EBPF_RINGS - 2, /* nobody can have them all */
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

void runs_end(struct runs *r, struct session *session)
{
	int ring = session ? session_fd(session) : -1;

	session_close(session);
	for (unsigned i = 0; ring >= 0 && i < EBPF_RINGS; i++) {
		if (!r->lent[i] || ebpf_maps(r->programs)->rings[i] != ring)
			continue;
		r->lent[i] = false;
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
	if (e < 0)
		return e;
	lend(r, session, uid);
	e = begin(session, uid, pidfd, pid);
	if (e < 0) {
		runs_end(r, session);
		return e;
	}
	*ret_session = session;
	return 0;
}
