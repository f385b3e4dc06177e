/* fuzz_agent.c - what a coordinator may say to an agent.
 *
 * The first byte says in how large pieces the rest arrives, which is put behind the word that
 * it serves.  Behind the agent a worker has calls under way: a registration, a
 * heartbeat, a meeting and a watch, whose numbers are 0x10000 to 0x10003.  Whatever is said,
 * the agent goes on or connects anew, and nothing is left at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "agent/agent_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { ROUNDS = 3, PATIENCE = 1000 };

static void require(bool good)
{
	if (!good)
		abort();
}

static void turn(struct agent *a)
{
	for (int i = 0; i < ROUNDS; i++)
		require(loop_round(a->loop, 0) == 0);
}

/* ---- the coordinator's side ---- */

static struct sockaddr_un where = { .sun_family = AF_UNIX };

static int listen_once(void)
{
	static int fd = -1;

	if (fd >= 0)
		return fd;
	(void)snprintf(where.sun_path, sizeof(where.sun_path),
		       "/tmp/fuzz-agent-%d", (int)getpid());
	(void)unlink(where.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	require(fd >= 0 &&
		bind(fd, (struct sockaddr *)&where, sizeof(where)) == 0 &&
		listen(fd, 16) == 0);
	return fd;
}

static void remove_socket(void)
{
	(void)unlink(where.sun_path);
}

/* The agent of the input before may have come again at its end. */
static void refuse_earlier(int listening)
{
	int fd;

	while ((fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		(void)close(fd);
}

static int accept_agent(struct agent *a, int listening)
{
	int fd = -1;

	for (int i = 0; i < PATIENCE && fd < 0; i++) {
		require(loop_round(a->loop, 1) == 0);
		fd = accept4(listening, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
	}
	require(fd >= 0);
	return fd;
}

static void say(int fd, const void *data, size_t len)
{
	(void)send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void drop_input(int fd)
{
	char buffer[4096];

	while (recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
		continue;
}

static void say_it_serves(int fd)
{
	static const uint8_t serving[] = { 8, 1 };
	const struct frame f = { .len = sizeof(serving),
				 .method = METHOD_HEALTH,
				 .flags = FRAME_END,
				 .call = UINT32_MAX };
	uint8_t head[FRAME_HEADER_LEN];

	frame_pack(&f, head);
	say(fd, head, sizeof(head));
	say(fd, serving, sizeof(serving));
}

/* ---- the worker's side ---- */

static void call(int fd, uint16_t method, uint32_t number)
{
	const struct frame f = { .method = method, .call = number };
	uint8_t head[FRAME_HEADER_LEN];

	frame_pack(&f, head);
	say(fd, head, sizeof(head));
}

static int begin_worker(struct agent *a)
{
	static const uint16_t methods[] = { 1, 2, 8, 11 };
	int ends[2];

	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			   0, ends) == 0);
	require(rpc_server_take(a->rpc, ends[1], NULL) == 0);
	say(ends[0], FRAMES_PREFACE, FRAMES_PREFACE_LEN);
	for (uint32_t i = 0; i < 4; i++)
		call(ends[0], methods[i], i);
	turn(a);
	return ends[0];
}

/* ---- the agent ---- */

static void open_agent(struct agent *a)
{
	const struct rpc_limits limits = { .max_connections = 8 };
	char address[sizeof(where.sun_path) + 8];
	const struct uplink_options options = { .addresses = address };

	(void)snprintf(address, sizeof(address), "unix:%s", where.sun_path);
	require(loop_new(&a->loop) == 0);
	require(methods_init(&a->methods, builtin_methods) == 0);
	require(rpc_server_new(a->loop, &relay_handler, a, &limits, &a->rpc) ==
		0);
	require(uplink_open(a->loop, &options, &relay_user, a, &a->uplink,
			    NULL) == 0);
}

static void close_agent(struct agent *a)
{
	rpc_server_free(a->rpc);
	require(a->lanes.count == 0);
	uplink_close(a->uplink);
	lanes_release(a);
	errands_release(a);
	beats_release(&a->beats);
	methods_release(&a->methods);
	loop_free(a->loop);
	log_lines_release(&a->lines);
}

static void talk(struct agent *a, int fd, int worker, const uint8_t *data,
		 size_t len)
{
	size_t piece = len ? 1 + (size_t)data[0] * 4 : 1;

	for (size_t at = 1; at < len; at += piece) {
		say(fd, data + at, len - at < piece ? len - at : piece);
		turn(a);
		drop_input(fd);
		drop_input(worker);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static bool registered;
	int listening = listen_once();
	struct agent *a = calloc(1, sizeof(*a));
	int fd, worker;

	if (!registered)
		registered = atexit(remove_socket) == 0;
	require(a != NULL);
	refuse_earlier(listening);
	a->lines = (struct log_lines){ .fd = -1, .level = LOG_EMERG };
	open_agent(a);
	fd = accept_agent(a, listening);
	say_it_serves(fd);
	for (int i = 0; i < PATIENCE && !uplink_is_up(a->uplink); i++)
		require(loop_round(a->loop, 1) == 0);
	require(uplink_is_up(a->uplink));
	worker = begin_worker(a);
	talk(a, fd, worker, data, len);
	(void)close(fd);
	turn(a);
	require(!uplink_is_up(a->uplink));
	(void)close(worker);
	turn(a);
	close_agent(a);
	free(a);
	return 0;
}
