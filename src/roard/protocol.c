/* protocol.c - see protocol.h */
#include "protocol.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static int state(const struct protocol_host *host, struct roard_reply *ret)
{
	struct session_state s;
	int r = host->state(host->ctx, &s);

	if (r < 0)
		return r;
	ret->n_live = s.n_live;
	ret->lost = s.lost;
	ret->escaped = s.escaped;
	ret->sums_lost = s.sums_lost;
	ret->hidden = s.hidden;
	ret->n_rings = s.n_rings;
	return 0;
}

bool protocol_answer(const struct protocol_host *host, uid_t uid,
		     const void *data, size_t len, int fd,
		     struct roard_reply *ret, int *ret_ring)
{
	struct roard_request q = { 0 };
	int r = roard_check_request(data, len);

	assert(host->start && host->state);
	*ret = (struct roard_reply){ .magic = ROARD_MAGIC,
				     .version = ROARD_VERSION };
	*ret_ring = -1;
	ret->error = r;
	if (r < 0)
		return false;
	memcpy(&q, data, sizeof(q));
	ret->kind = q.kind;
	/* A descriptor belongs to START, and to nothing else. */
	if ((fd >= 0) != (q.kind == ROARD_START)) {
		ret->error = -EBADMSG;
		return false;
	}
	if (q.kind == ROARD_HELLO)
		roard_build(ret->build);
	else if (q.kind == ROARD_START)
		ret->error = host->start(host->ctx, uid, fd, q.pid, ret_ring);
	else
		ret->error = state(host, ret);
	return true;
}
