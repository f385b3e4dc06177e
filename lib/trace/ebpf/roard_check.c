/* roard_check.c - checks that both ends make before they use a message */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/ebpf/roard.h"

int roard_check_request(const void *data, uint64_t len)
{
	struct roard_request q;

	if (len != sizeof(q))
		return -EBADMSG;
	memcpy(&q, data, sizeof(q));
	if (q.magic != ROARD_MAGIC)
		return -EBADMSG;
	if (q.version != ROARD_VERSION)
		return -EPROTONOSUPPORT;
	if (q.kind < ROARD_HELLO || q.kind >= ROARD_KIND_END || q.unused)
		return -EBADMSG;
	return q.kind == ROARD_START && q.pid <= 0 ? -EBADMSG : 0;
}

int roard_check_reply(const void *data, uint64_t len, enum roard_kind kind)
{
	struct roard_reply a;

	if (len != sizeof(a))
		return -EBADMSG;
	memcpy(&a, data, sizeof(a));
	if (a.magic != ROARD_MAGIC || a.kind != kind || a.error > 0)
		return -EBADMSG;
	if (a.version != ROARD_VERSION)
		return -EPROTONOSUPPORT;
	if (memchr(a.build, '\0', sizeof(a.build)) == NULL)
		return -EBADMSG;
	return a.error;
}

const char *roard_socket_path(void)
{
	const char *path = getenv(ROARD_SOCKET_VARIABLE);

	return path && *path ? path : ROARD_SOCKET;
}
