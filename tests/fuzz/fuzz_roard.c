/* fuzz_roard.c - packets to roard from anybody, and to roar from a false roard
 *
 * The first byte says whether a descriptor comes along. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "protocol.h"

struct fake {
	int n_starts;
};

static int start(void *ctx, uid_t uid, int pidfd, pid_t pid, int *ret_ring)
{
	struct fake *f = ctx;

	assert(uid == 1000 && pidfd >= 0 && pid > 0);
	*ret_ring = 7;
	return f->n_starts++ ? -EALREADY : 0;
}

static int state(void *ctx, struct session_state *ret)
{
	(void)ctx;
	*ret = (struct session_state){ .lost = 1, .n_live = 2 };
	return 0;
}

static void be_daemon(const uint8_t *data, size_t len, int fd)
{
	struct fake fake = { 0 };
	const struct protocol_host host = { start, state, &fake };
	struct roard_reply a;
	int ring = -2;
	bool ours = protocol_answer(&host, 1000, data, len, fd, &a, &ring);

	assert(a.magic == ROARD_MAGIC && a.version == ROARD_VERSION);
	assert(a.error <= 0);
	assert(ours || a.error < 0);
	assert(ring == -1 || (ring == 7 && fake.n_starts == 1));
	if (ours && a.error == 0)
		assert(roard_check_reply(&a, sizeof(a), a.kind) == 0);
}

static void be_client(const uint8_t *data, size_t len)
{
	struct roard_reply a;

	for (int kind = ROARD_HELLO; kind < ROARD_KIND_END; kind++) {
		if (roard_check_reply(data, len, (enum roard_kind)kind) != 0)
			continue;
		memcpy(&a, data, sizeof(a));
		assert(len == sizeof(a) && a.kind == kind && a.error == 0);
		assert(strnlen(a.build, sizeof(a.build)) < sizeof(a.build));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (!len)
		return 0;
	be_daemon(data + 1, len - 1, data[0] & 1 ? 5 : -1);
	be_client(data + 1, len - 1);
	return 0;
}
