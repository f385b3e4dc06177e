/* fuzz_wire.h - bytes of one connection into a server of echo.h.
 *
 * The first byte of an input says in which pieces the others are sent.  Whatever they
 * are: the server goes on, and when the client has gone nothing of it is left. */
#ifndef TESTS_FUZZ_WIRE_H
#define TESTS_FUZZ_WIRE_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "echo.h"

enum { MAX_UNSENT = 1 << 20, MAX_MESSAGE = 1 << 16, ROUNDS = 3 };

static inline void require(int promise)
{
	if (!promise)
		abort();
}

struct fuzz_wire {
	struct loop *loop;
	struct echo echo;
	int fd; /* the client's end */
};

static inline void fuzz_wire_open(struct fuzz_wire *w)
{
	const struct rpc_limits limits = { .max_message = MAX_MESSAGE,
					   .max_unsent = MAX_UNSENT,
					   .max_streams = 100 };
	int ends[2];

	*w = (struct fuzz_wire){ 0 };
	require(loop_new(&w->loop) == 0);
	require(rpc_server_new(w->loop, &echo_handler, &w->echo, &limits,
			       &w->echo.server) == 0);
	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			   0, ends) == 0);
	require(rpc_server_take(w->echo.server, ends[1], NULL) == 0);
	w->fd = ends[0];
}

/* Sends a piece and takes what comes back; false when the server has closed. */
static inline int
fuzz_wire_send(struct fuzz_wire *w, const uint8_t *data, size_t len,
	       void (*got)(void *arg, const uint8_t *data, size_t len),
	       void *arg)
{
	uint8_t reply[4096];
	ssize_t n = send(w->fd, data, len, MSG_NOSIGNAL);

	for (int i = 0; i < ROUNDS; i++)
		require(loop_round(w->loop, 0) == 0);
	if (n >= 0 && (size_t)n < len)
		return 0;
	while ((n = recv(w->fd, reply, sizeof(reply), 0)) > 0) {
		if (got)
			got(arg, reply, (size_t)n);
		require(loop_round(w->loop, 0) == 0);
	}
	return n != 0;
}

static inline void fuzz_wire_close(struct fuzz_wire *w)
{
	struct rpc_counts counts;

	close(w->fd);
	for (int i = 0; i < ROUNDS; i++)
		require(loop_round(w->loop, 0) == 0);
	rpc_server_count(w->echo.server, &counts);
	require(counts.n_connections == 0);
	require(counts.n_lanes == 0);
	require(counts.n_calls == 0);
	require(counts.unsent_bytes == 0);
	require(counts.accepted == counts.closed);
	rpc_server_free(w->echo.server);
	loop_free(w->loop);
}

/* `preface`, and then all of the input. */
static inline void
fuzz_wire_run(struct fuzz_wire *w, const void *preface, size_t preface_len,
	      const uint8_t *data, size_t len,
	      void (*got)(void *arg, const uint8_t *data, size_t len),
	      void *arg)
{
	size_t piece = len && data[0] ? data[0] : len;
	size_t at = len ? 1 : 0;

	if (!fuzz_wire_send(w, preface, preface_len, got, arg))
		return;
	while (at < len) {
		size_t n = len - at < piece ? len - at : piece;

		if (!fuzz_wire_send(w, data + at, n, got, arg))
			return;
		at += n;
	}
}

#endif
