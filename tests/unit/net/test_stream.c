/* test_stream.c - output of a stream: what leaves at once, and what waits. */
#include "test.h"

#include <sys/socket.h>

#include "base/cleanup.h"
#include "net/stream.h"

enum { LONG = 64 << 10 };

struct pair {
	struct loop *loop;
	struct shelf shelf;
	struct stream stream;
	int peer;
	char sent[LONG], got[2 * LONG];
};

static void on_ready(struct loop_fd *f, uint32_t events)
{
	(void)f;
	(void)events;
}

static void open_pair(struct pair *p)
{
	int fds[2];

	*p = (struct pair){ 0 };
	for (size_t i = 0; i < LONG; i++)
		p->sent[i] = (char)(i * 7 + i / 251);
	assert_int_equal(loop_new(&p->loop), 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	p->peer = fds[1];
	assert_int_equal(stream_open(&p->stream, p->loop, &p->shelf, fds[0],
				     NULL, on_ready),
			 0);
}

static void close_pair(struct pair *p)
{
	stream_close(&p->stream);
	closep(&p->peer);
	shelf_release(&p->shelf);
	loop_free(p->loop);
}

/* What the peer has, up to the size of `got`. */
static size_t receive(struct pair *p, size_t n)
{
	ssize_t r;

	while ((r = recv(p->peer, p->got + n, sizeof(p->got) - n,
			 MSG_DONTWAIT)) > 0)
		n += (size_t)r;
	return n;
}

static void a_long_piece_leaves_at_once_after_what_waits(void **state)
{
	CLEANUP(close_pair) struct pair p;

	(void)state;
	open_pair(&p);
	assert_int_equal(stream_write(&p.stream, "head", 4), 0);
	assert_int_equal(receive(&p, 0), 0);
	assert_false(p.stream.has_written);
	assert_int_equal(stream_write(&p.stream, p.sent, LONG), 0);
	assert_true(p.stream.has_written);
	assert_int_equal(stream_unsent(&p.stream), 0);
	assert_int_equal(receive(&p, 0), 4 + LONG);
	assert_memory_equal(p.got, "head", 4);
	assert_memory_equal(p.got + 4, p.sent, LONG);
}

static void what_a_full_socket_refuses_follows_in_order(void **state)
{
	CLEANUP(close_pair) struct pair p;
	const int small = 8 << 10;
	size_t n = 0;

	(void)state;
	open_pair(&p);
	assert_int_equal(setsockopt(p.stream.fd.fd, SOL_SOCKET, SO_SNDBUF,
				    &small, sizeof(small)),
			 0);
	assert_int_equal(stream_write(&p.stream, p.sent, LONG), 0);
	assert_true(p.stream.full);
	assert_true(stream_unsent(&p.stream) > 0);
	/* Nothing overtakes it. */
	assert_int_equal(stream_write(&p.stream, p.sent, LONG), 0);
	assert_true(stream_unsent(&p.stream) > LONG);
	while (stream_unsent(&p.stream)) {
		n = receive(&p, n);
		assert_true(stream_flush(&p.stream) >= 0);
	}
	n = receive(&p, n);
	assert_int_equal(n, 2 * LONG);
	assert_memory_equal(p.got, p.sent, LONG);
	assert_memory_equal(p.got + LONG, p.sent, LONG);
}

static void a_peer_that_is_gone_shows_when_it_is_flushed(void **state)
{
	CLEANUP(close_pair) struct pair p;

	(void)state;
	open_pair(&p);
	closep(&p.peer);
	p.peer = -1;
	assert_int_equal(stream_write(&p.stream, p.sent, LONG), 0);
	assert_int_equal(stream_unsent(&p.stream), LONG);
	assert_true(stream_flush(&p.stream) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_piece_leaves_at_once_after_what_waits),
		cmocka_unit_test(what_a_full_socket_refuses_follows_in_order),
		cmocka_unit_test(a_peer_that_is_gone_shows_when_it_is_flushed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
