/* A server on one end of a socket pair, bytes of a client on the other. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "http/server.h"

enum { HUGE = 16 << 20 }; /* bytes, more than sockets take */

struct scene {
	struct loop *loop;
	struct http_server *server;
	int client;
	struct str got; /* what the client has received */
	bool ended; /* the server has closed its half */
	struct http_exchange *held; /* one that has no reply yet */
	unsigned n_begun, n_closed, n_drained;
	struct str body; /* as body() got it */
};

/* ---- what the server does, by the path ---- */

static void begin(struct http_exchange *x)
{
	struct scene *s = x->ctx;
	const char *path = x->request->target;

	s->n_begun++;
	if (strcmp(path, "/early") == 0)
		http_reply(x, 403, "text/plain", "no", 2);
	if (strcmp(path, "/defer") == 0)
		http_exchange_defer_continue(x);
	if (strcmp(path, "/large") == 0)
		http_exchange_set_max_body(x, 1 << 20);
	if (strcmp(path, "/stream") == 0)
		http_reply_begin(x, 200, HTTP_LENGTH_CHUNKED);
	if (strcmp(path, "/stream") == 0)
		s->held = x;
}

static void end(struct http_exchange *x)
{
	struct scene *s = x->ctx;
	const char *path = x->request->target;

	if (strcmp(path, "/hold") == 0 || strcmp(path, "/defer") == 0) {
		s->held = x;
	} else if (strcmp(path, "/short") == 0) {
		http_reply_begin(x, 200, 10);
		(void)http_reply_write(x, "four", 4);
		http_reply_end(x);
	} else if (strcmp(path, "/chunks") == 0) {
		http_reply_begin(x, 200, HTTP_LENGTH_CHUNKED);
		(void)http_reply_write(x, "ab", 2);
		(void)http_reply_write(x, "cde", 3);
		http_reply_trailer(x, "Sum", "5");
		http_reply_end(x);
	} else if (strcmp(path, "/trailers") == 0) {
		assert_int_equal(x->n_trailers, 1);
		http_reply(x, 200, NULL, x->trailers[0].value,
			   strlen(x->trailers[0].value));
	} else if (strcmp(path, "/huge") == 0) {
		char *body = calloc(1, HUGE);

		http_reply(x, 200, NULL, body, HUGE);
		free(body);
	} else if (strcmp(path, "/none") == 0) {
		http_reply(x, 204, NULL, NULL, 0);
	} else if (strcmp(path, "/split") == 0) {
		http_reply_field(x, "X-A", "one\r\nX-B: two");
		http_reply(x, 200, NULL, "ok", 2);
	} else if (!http_reply_has_begun(x)) {
		http_reply(x, 200, "text/plain", str_cstr(&x->body),
			   x->body.len);
	}
}

static void drained(struct http_exchange *x)
{
	((struct scene *)x->ctx)->n_drained++;
}

static void closed(struct http_exchange *x)
{
	struct scene *s = x->ctx;

	s->n_closed++;
	if (s->held == x)
		s->held = NULL;
}

static const struct http_handler HANDLER = { .begin = begin,
					     .end = end,
					     .drained = drained,
					     .closed = closed };

/* ---- the client ---- */

static void receive(struct scene *s)
{
	char bytes[65536];
	ssize_t n;

	while ((n = recv(s->client, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		str_add(&s->got, bytes, (size_t)n);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		s->ended = true;
}

static void pump(struct scene *s)
{
	for (int i = 0; i < 8; i++) {
		assert_int_equal(loop_round(s->loop, 0), 0);
		receive(s);
	}
}

static void say(struct scene *s, const char *text)
{
	assert_int_equal(send(s->client, text, strlen(text), MSG_NOSIGNAL),
			 strlen(text));
	pump(s);
}

/* The replies without their dates. */
static const char *got(struct scene *s)
{
	char *date;

	while ((date = strstr(str_cstr(&s->got), "Date: "))) {
		char *end = strstr(date, "\r\n") + 2;

		memmove(date, end, strlen(end) + 1);
		s->got.len -= (size_t)(end - date);
	}
	return str_cstr(&s->got);
}

static void connect_client(struct scene *s)
{
	int pair[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	s->client = pair[0];
	s->ended = false;
	str_clear(&s->got);
	assert_int_equal(http_server_take(s->server, pair[1], NULL), 0);
}

static int setup_with(void **state, const struct http_limits *limits)
{
	struct scene *s = calloc(1, sizeof(*s));

	*state = s;
	if (!s || loop_new(&s->loop) < 0 ||
	    http_server_new(s->loop, &HANDLER, s, limits, &s->server) < 0)
		return -1;
	connect_client(s);
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, &HTTP_LIMITS);
}

static int teardown(void **state)
{
	struct scene *s = *state;

	http_server_free(s->server);
	loop_free(s->loop);
	(void)close(s->client);
	str_release(&s->got);
	str_release(&s->body);
	assert_int_equal(s->n_begun, s->n_closed);
	free(s);
	return 0;
}

#define OK(body_len, body)                             \
	"HTTP/1.1 200 OK\r\nContent-Length: " body_len \
	"\r\nContent-Type: text/plain\r\n\r\n" body
#define PUT(path, body_len)                                             \
	"PUT " path " HTTP/1.1\r\nHost: a\r\nContent-Length: " body_len \
	"\r\n\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

/* ---- the tests ---- */

static void requests_sent_ahead_are_answered_in_order(void **state)
{
	struct scene *s = *state;

	say(s, PUT("/a", "3") "one" PUT("/b", "3") "two" PUT("/c", "5") "th");
	say(s, "ree");
	assert_string_equal(got(s),
			    OK("3", "one") OK("3", "two") OK("5", "three"));
	assert_false(s->ended);
}

static void bytes_may_come_one_by_one(void **state)
{
	static const char text[] = PUT("/a", "3") "one" GET("/b");
	struct scene *s = *state;

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		say(s, (char[]){ text[i], '\0' });
	assert_string_equal(got(s), OK("3", "one") OK("0", ""));
}

static void a_later_reply_keeps_the_next_request_waiting(void **state)
{
	struct scene *s = *state;

	say(s, GET("/hold") PUT("/b", "3") "two");
	assert_string_equal(got(s), "");
	assert_int_equal(s->n_begun, 1);
	http_reply(s->held, 200, "text/plain", "one", 3);
	pump(s);
	assert_string_equal(got(s), OK("3", "one") OK("3", "two"));
}

static void a_reply_before_the_body_has_ended_closes(void **state)
{
	struct scene *s = *state;

	say(s, PUT("/early", "1000000") "some");
	assert_non_null(strstr(got(s), "HTTP/1.1 403 Forbidden\r\n"));
	assert_non_null(strstr(got(s), "Connection: close\r\n"));
	assert_true(s->ended);
	say(s, "more of it"); /* is read and dropped: no reset */
	assert_int_equal(s->n_closed, 1);
}

static void chunks_go_both_ways(void **state)
{
	struct scene *s = *state;

	say(s, "PUT /trailers HTTP/1.1\r\nHost: a\r\n"
	       "Transfer-Encoding: chunked\r\n\r\n"
	       "3\r\nabc\r\n0\r\nSum: three\r\n\r\n" GET("/chunks"));
	assert_string_equal(
		got(s), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthree"
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
			"2\r\nab\r\n3\r\ncde\r\n0\r\nSum: 5\r\n\r\n");
}

static void http_1_0_has_no_chunks(void **state)
{
	struct scene *s = *state;

	say(s, "GET /chunks HTTP/1.0\r\n\r\n");
	assert_string_equal(got(s), "HTTP/1.1 200 OK\r\nConnection: close\r\n"
				    "\r\nabcde");
	assert_true(s->ended);
}

static void head_has_the_length_and_no_body(void **state)
{
	struct scene *s = *state;

	say(s, "HEAD /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none"
	       "HEAD /chunks HTTP/1.1\r\nHost: a\r\n\r\n" GET("/none"));
	assert_string_equal(
		got(s),
		OK("3",
		   "") "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		       "HTTP/1.1 204 No Content\r\n\r\n");
}

static void continue_is_sent_unless_it_is_deferred(void **state)
{
	static const char expect[] =
		" HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
		"Expect: 100-continue\r\n\r\n";
	struct scene *s = *state;
	char text[256];

	(void)snprintf(text, sizeof(text), "PUT /a%s", expect);
	say(s, text);
	assert_string_equal(got(s), "HTTP/1.1 100 Continue\r\n\r\n");
	say(s, "one");
	str_clear(&s->got);
	(void)snprintf(text, sizeof(text), "PUT /defer%s", expect);
	say(s, text);
	assert_string_equal(got(s), "");
	(void)snprintf(text, sizeof(text), "two");
	say(s, text);
	assert_non_null(s->held);
	http_reply(s->held, 200, "text/plain", "ok", 2);
	pump(s);
	str_clear(&s->got);
	(void)snprintf(text, sizeof(text), "PUT /early%s", expect);
	say(s, text);
	assert_null(strstr(got(s), "100 Continue"));
	assert_non_null(strstr(got(s), "403"));
}

static void a_body_over_the_limit_is_refused_at_once(void **state)
{
	struct scene *s = *state;

	say(s, PUT("/a", "65537"));
	assert_non_null(strstr(got(s), "HTTP/1.1 413 "));
	assert_true(s->ended);
	(void)close(s->client);
	connect_client(s);
	say(s, "PUT /a HTTP/1.1\r\nHost: a\r\n"
	       "Transfer-Encoding: chunked\r\n\r\n20000\r\n");
	for (int i = 0; i < 0x10000 / 29; i++)
		say(s, "twenty-nine bytes of content.");
	assert_null(strstr(got(s), "HTTP/1.1"));
	say(s, "twenty-nine bytes of content.");
	assert_non_null(strstr(got(s), "HTTP/1.1 413 "));
	(void)close(s->client);
	connect_client(s);
	say(s, PUT("/large", "65537"));
	assert_string_equal(got(s), "");
}

static void what_cannot_be_read_is_refused(void **state)
{
	struct scene *s = *state;

	say(s, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" GET("/a"));
	assert_memory_equal(got(s), "HTTP/1.1 400 Bad Request\r\n", 26);
	assert_non_null(strstr(got(s), "it has two Host fields\n"));
	assert_null(strstr(got(s), "200 OK"));
	assert_true(s->ended);
	assert_int_equal(s->n_begun, 0);
	assert_int_equal(http_server_counts(s->server).n_refused, 1);
}

static void a_head_over_the_limit_is_refused(void **state)
{
	struct scene *s = *state;

	say(s, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
	for (int i = 0; i < (16 << 10) / 50; i++)
		say(s, "fifty bytes of a value that does not come to an end");
	say(s, "fifty bytes of a value that does not come to an end");
	assert_memory_equal(got(s), "HTTP/1.1 431 ", 13);
}

static void a_malformed_body_is_refused(void **state)
{
	struct scene *s = *state;

	say(s, "PUT /a HTTP/1.1\r\nHost: a\r\n"
	       "Transfer-Encoding: chunked\r\n\r\n3\nabc");
	assert_memory_equal(got(s), "HTTP/1.1 400 ", 13);
	assert_true(s->ended);
}

static void a_reply_that_is_too_short_cuts_the_connection(void **state)
{
	struct scene *s = *state;

	say(s, GET("/short"));
	assert_true(s->ended);
}

static void no_field_brings_a_line_of_its_own(void **state)
{
	struct scene *s = *state;

	say(s, GET("/split"));
	assert_null(strstr(got(s), "X-B"));
}

static void a_half_closed_client_gets_its_reply(void **state)
{
	struct scene *s = *state;

	say(s, GET("/hold") PUT("/b", "3") "two");
	assert_int_equal(shutdown(s->client, SHUT_WR), 0);
	pump(s);
	http_reply(s->held, 200, "text/plain", "one", 3);
	pump(s);
	assert_string_equal(got(s), OK("3", "one") OK("3", "two"));
	assert_true(s->ended);
}

static void a_client_that_leaves_ends_its_stream(void **state)
{
	struct scene *s = *state;

	say(s, GET("/stream"));
	assert_int_equal(http_reply_write(s->held, "a", 1), 0);
	pump(s);
	assert_true(s->n_drained > 0);
	assert_non_null(strstr(got(s), "1\r\na\r\n"));
	(void)close(s->client);
	s->client = -1;
	for (int i = 0; i < 4; i++)
		assert_int_equal(loop_round(s->loop, 0), 0);
	assert_null(s->held);
	assert_int_equal(http_server_counts(s->server).n_connections, 0);
}

static void too_many_connections_end_the_quietest(void **state)
{
	struct scene *s = *state;
	struct http_limits limits = HTTP_LIMITS;
	int first = s->client;

	http_server_free(s->server);
	(void)close(first);
	limits.max_connections = 2;
	assert_int_equal(
		http_server_new(s->loop, &HANDLER, s, &limits, &s->server), 0);
	connect_client(s);
	first = s->client;
	connect_client(s);

	int second = s->client;

	s->client = first;
	say(s, GET("/a")); /* now the second one is the quietest */
	connect_client(s);
	assert_int_equal(recv(second, (char[1]){ 0 }, 1, MSG_DONTWAIT), 0);
	assert_int_equal(recv(first, (char[1]){ 0 }, 1, MSG_DONTWAIT), -1);
	(void)close(first);
	(void)close(second);
}

static void restart(struct scene *s, const struct http_limits *limits)
{
	http_server_free(s->server);
	(void)close(s->client);
	assert_int_equal(
		http_server_new(s->loop, &HANDLER, s, limits, &s->server), 0);
	connect_client(s);
}

static void a_client_that_stalls_is_sent_away(void **state)
{
	struct scene *s = *state;
	struct http_limits limits = HTTP_LIMITS;

	limits.first_ms = 20;
	restart(s, &limits);
	say(s, "GET / HTTP/1.1\r\n");
	while (!s->ended) {
		assert_int_equal(loop_round(s->loop, 1000), 0);
		receive(s);
	}
	assert_string_equal(got(s), "");
}

/* Asks, and then lets the server go on until it has no connections, or for so long. */
static void ask_and_wait(struct scene *s, const char *request, int n_rounds)
{
	assert_int_equal(send(s->client, request, strlen(request), 0),
			 strlen(request));
	for (int i = 0; i < n_rounds; i++) {
		assert_int_equal(loop_round(s->loop, 50), 0);
		if (!http_server_counts(s->server).n_connections)
			return;
	}
}

static void a_client_that_does_not_read_its_reply_is_disconnected(void **state)
{
	struct scene *s = *state;
	struct http_limits limits = HTTP_LIMITS;

	limits.stall_ms = 20;
	restart(s, &limits);
	ask_and_wait(s, GET("/huge"), 200);
	assert_int_equal(http_server_counts(s->server).n_connections, 0);
	assert_int_equal(http_server_counts(s->server).n_stalled, 1);
	assert_int_equal(s->n_closed, 1);
	while (!s->ended)
		receive(s);
	assert_true(s->got.len < HUGE);
	/* A stream, whose exchange is not over. */
	restart(s, &limits);
	ask_and_wait(s, GET("/stream"), 2);
	assert_non_null(s->held);
	for (int i = 0; i < 64; i++) {
		static const char piece[64 << 10];

		assert_int_equal(
			http_reply_write(s->held, piece, sizeof(piece)), 0);
	}
	ask_and_wait(s, "", 200);
	assert_int_equal(http_server_counts(s->server).n_stalled, 1);
	assert_null(s->held);
}

static void a_client_that_reads_slowly_gets_its_reply(void **state)
{
	struct scene *s = *state;
	struct http_limits limits = HTTP_LIMITS;
	char bytes[256 << 10];
	size_t n_received = 0;

	limits.stall_ms = 700;
	restart(s, &limits);
	ask_and_wait(s, GET("/huge"), 1);
	while (n_received < HUGE) { /* in more than a second */
		ssize_t n = recv(s->client, bytes, sizeof(bytes), MSG_DONTWAIT);

		assert_true(n > 0 || errno == EAGAIN);
		n_received += n > 0 ? (size_t)n : 0;
		(void)usleep(15000);
		assert_int_equal(loop_round(s->loop, 0), 0);
	}
	assert_int_equal(http_server_counts(s->server).n_stalled, 0);
}

/* Writes to one stream until that fails. */
static int write_much(struct scene *s)
{
	static const char piece[1 << 20];
	int r = 0;

	ask_and_wait(s, GET("/stream"), 2);
	for (int i = 0; r == 0; i++) {
		assert_true(i < 8);
		r = http_reply_write(s->held, piece, sizeof(piece));
	}
	return r;
}

static void too_many_unsent_bytes_cut_the_connection(void **state)
{
	struct scene *s = *state;
	struct http_limits limits = HTTP_LIMITS;
	int first;

	limits.max_unsent_each = 4 << 20;
	restart(s, &limits);
	assert_int_equal(write_much(s), -ENOBUFS);
	ask_and_wait(s, "", 2);
	assert_int_equal(http_server_counts(s->server).n_connections, 0);
	/* Of all connections together: a large reply of one, little of another. */
	limits = HTTP_LIMITS;
	limits.max_unsent = 4 << 20;
	restart(s, &limits);
	ask_and_wait(s, GET("/huge"), 2);
	first = s->client;
	connect_client(s);
	ask_and_wait(s, GET("/stream"), 2);
	assert_int_equal(http_reply_write(s->held, "a", 1), -ENOBUFS);
	ask_and_wait(s, "", 2);
	assert_int_equal(http_server_counts(s->server).n_connections, 1);
	(void)close(first);
}

static void a_field_of_the_server_is_in_every_reply(void **state)
{
	struct scene *s = *state;

	assert_int_equal(http_server_set_field(s->server, "Fence", "7"), 0);
	say(s, GET("/none"));
	assert_string_equal(got(s),
			    "HTTP/1.1 204 No Content\r\nFence: 7\r\n\r\n");
}

int main(void)
{
#define SCENE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		SCENE(requests_sent_ahead_are_answered_in_order),
		SCENE(bytes_may_come_one_by_one),
		SCENE(a_later_reply_keeps_the_next_request_waiting),
		SCENE(a_reply_before_the_body_has_ended_closes),
		SCENE(chunks_go_both_ways),
		SCENE(http_1_0_has_no_chunks),
		SCENE(head_has_the_length_and_no_body),
		SCENE(continue_is_sent_unless_it_is_deferred),
		SCENE(a_body_over_the_limit_is_refused_at_once),
		SCENE(what_cannot_be_read_is_refused),
		SCENE(a_head_over_the_limit_is_refused),
		SCENE(a_malformed_body_is_refused),
		SCENE(a_reply_that_is_too_short_cuts_the_connection),
		SCENE(no_field_brings_a_line_of_its_own),
		SCENE(a_half_closed_client_gets_its_reply),
		SCENE(a_client_that_leaves_ends_its_stream),
		SCENE(too_many_connections_end_the_quietest),
		SCENE(a_client_that_stalls_is_sent_away),
		SCENE(a_client_that_does_not_read_its_reply_is_disconnected),
		SCENE(a_client_that_reads_slowly_gets_its_reply),
		SCENE(too_many_unsent_bytes_cut_the_connection),
		SCENE(a_field_of_the_server_is_in_every_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
