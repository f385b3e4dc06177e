/* scene.c - see scene.h */
#include "scene.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	TURNS = 16
}; /* rounds in which one step leads to the next, on a busy machine too */

void scene_open(struct scene *s, const struct rpc_limits *limits)
{
	memset(s, 0, sizeof(*s));
	assert_int_equal(loop_new(&s->loop), 0);
	assert_int_equal(rpc_server_new(s->loop, &echo_handler, &s->echo,
					limits, &s->echo.server),
			 0);
}

void scene_close(struct scene *s)
{
	rpc_server_free(s->echo.server);
	loop_free(s->loop);
}

int scene_connect(struct scene *s)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				    0, ends),
			 0);
	assert_int_equal(rpc_server_take(s->echo.server, ends[1], NULL), 0);
	return ends[0];
}

void scene_turn(struct scene *s)
{
	for (int i = 0; i < TURNS; i++)
		assert_int_equal(loop_round(s->loop, 0), 0);
}

struct rpc_counts scene_counts(struct scene *s)
{
	struct rpc_counts counts;

	rpc_server_count(s->echo.server, &counts);
	return counts;
}

struct rpc_call *scene_waiting(struct scene *s)
{
	struct rpc_call *call = rpc_call_find(s->echo.server, s->echo.waiting);

	assert_non_null(call);
	return call;
}

void scene_write(struct scene *s, int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EPIPE)
			break; /* the server has had enough */
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
		scene_turn(s);
	}
	scene_turn(s);
}

ssize_t scene_read(struct scene *s, int fd, void *data, size_t len)
{
	size_t got = 0;

	for (int quiet = 0; got < len && quiet < 2;) {
		ssize_t n = recv(fd, (char *)data + got, len - got, 0);

		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return got ? (ssize_t)got : -1;
		if (n > 0)
			got += (size_t)n;
		quiet = n > 0 ? 0 : quiet + 1;
		scene_turn(s);
	}
	return (ssize_t)got;
}
