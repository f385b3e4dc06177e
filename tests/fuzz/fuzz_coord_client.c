/* fuzz_coord_client.c - what a server may say to a client of frames.
 *
 * The first byte says in how large pieces the rest arrives.  A worker joins (its call 1),
 * waits for changes of the world (2), in a meeting (3) and for a key (4).  Whatever is
 * said, what was begun ends once. */
#include <roar/coord.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "coord/client/client.h"
#include "roar_coordinator.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool good)
{
	if (!good)
		abort();
}

static void count(void *data, int error, const struct roar_coord_meeting *m)
{
	++*(int *)data;
	require((error == 0) == (m != NULL));
	require(!m || m->late);
}

static void begin_calls(struct roar_coord *c, struct client_call *key,
			int *told)
{
	struct roar_coord_meet m = { .id = "m", .timeout_ms = -1 };
	Roar__KvGetRequest get = ROAR__KV_GET_REQUEST__INIT;

	get.key = "k";
	get.wait = true;
	require(roar_coord_begin_meet(c, &m, "v", 1, count, told) == 0);
	require(client_enter(c) == 0);
	if (client_call_init(key, c, METHOD_KV_GET, &get.base, -1) == 0)
		client_call_begin(key);
	c->watching = true;
	client_leave(c);
}

/* What the client sends is of no interest, but must not fill the socket. */
static void drop_input(int fd)
{
	char buffer[4096];

	while (recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
		continue;
}

static void talk(struct roar_coord *c, int fd, const uint8_t *data, size_t len)
{
	size_t piece = len ? 1 + (size_t)data[0] * 4 : 1;
	int64_t ms;

	for (size_t at = 1; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;

		if (send(fd, data + at, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		(void)roar_coord_turn(c, &ms);
		drop_input(fd);
	}
	(void)shutdown(fd, SHUT_WR);
	(void)roar_coord_turn(c, &ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct roar_coord_options o = { .address = "unix:/nonexistent/socket",
					.worker_id = "w",
					.flags = ROAR_COORD_NO_THREAD };
	struct client_call key = { 0 };
	struct roar_coord_world w;
	struct roar_coord *c;
	int told = 0;
	int fds[2];

	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
	require(client_make(&o, &c) == 0 && client_start(c) == 0);
	require(client_enter(c) == 0);
	dial_take(&c->link.frames.dial, fds[1]);
	client_leave(c);
	begin_calls(c, &key, &told);
	talk(c, fds[0], data, len);
	roar_coord_world(c, &w);
	require(w.heartbeat_interval_ms > 0);
	require(told <= 1);
	client_stop(c);
	require(key.state == CALL_DONE);
	client_call_release(&key);
	roar_coord_free(c);
	(void)close(fds[0]);
	return 0;
}
