/* The client against a server that is written by hand: what is sent, and what comes of the
 * replies. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"

/* ---- requests ---- */

static void a_request_is_sent_as_it_is(void **state)
{
	struct peer *p = *state;
	const struct http_field fields[] = { { "X-Amz-Date",
					       "20261117T000000Z" },
					     { "x-amz-meta-a", "x  y" } };
	CLEANUP(outcome_release) struct outcome o;
	CLEANUP(str_release) struct str expected = STR_INIT;

	peer_begin(p,
		   &(struct http_call_request){ .method = "DELETE",
						.target = "/a%2Fb/../c//?x=%20",
						.fields = fields,
						.n_fields = 2 },
		   &o);
	str_addf(&expected,
		 "DELETE /a%%2Fb/../c//?x=%%20 HTTP/1.1\r\nHost: %s\r\n"
		 "X-Amz-Date: 20261117T000000Z\r\nx-amz-meta-a: x  y\r\n\r\n",
		 p->origin + strlen("http://"));
	assert_string_equal(str_cstr(&p->got), str_cstr(&expected));
	peer_say(p, "HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n");
	assert_int_equal(o.n_ended, 1);
	assert_int_equal(o.error, 0);
	assert_int_equal(o.status, 204);
}

static void what_cannot_be_sent_is_refused(void **state)
{
	struct peer *p = *state;
	const struct http_field fields[][1] = {
		{ { "X-A", "one\r\nX-B: two" } },
		{ { "X A", "b" } },
		{ { "Content-Length", "5" } },
		{ { "transfer-encoding", "chunked" } },
		{ { "", "b" } },
	};
	const struct http_call_request bad[] = {
		{ .method = "GET", .target = "a" },
		{ .method = "GET", .target = "/a b" },
		{ .method = "GET", .target = "/a\r\nX: y" },
		{ .method = "G T", .target = "/" },
		{ .method = "", .target = "/" },
		{ .method = "CONNECT", .target = "/" },
		{ .method = "GET", .target = "/", .origin = "ftp://a" },
		{ .method = "GET", .target = "/", .origin = "https://a" },
		{ .method = "GET", .target = "/", .origin = "http://a/b" },
		{ .method = "GET", .target = "/", .origin = "http://b@a" },
		{ .method = "GET", .target = "/", .fields = fields[0] },
		{ .method = "GET", .target = "/", .fields = fields[1] },
		{ .method = "GET", .target = "/", .fields = fields[2] },
		{ .method = "GET", .target = "/", .fields = fields[3] },
		{ .method = "GET", .target = "/", .fields = fields[4] },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct http_call_request q = bad[i];
		struct http_call *call;

		q.n_fields = q.fields != NULL;
		q.origin = q.origin ? q.origin : p->origin;
		assert_int_equal(http_call_begin(p->client, &q, &outcome_events,
						 NULL, &call),
				 -EINVAL);
	}
	assert_int_equal(http_client_counts(p->client).n_connections, 0);
}

static void a_body_in_memory_follows_its_head(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_begin(p,
		   &(struct http_call_request){ .method = "PUT",
						.target = "/a",
						.body = "hello",
						.length = 5 },
		   &o);
	assert_non_null(
		strstr(str_cstr(&p->got), "Content-Length: 5\r\n\r\nhello"));
	peer_say(p, OK("0", ""));
	assert_int_equal(o.status, 200);
	str_clear(&p->got);
	peer_begin(p,
		   &(struct http_call_request){ .method = "POST",
						.target = "/a" },
		   &o);
	assert_non_null(strstr(str_cstr(&p->got), "Content-Length: 0\r\n\r\n"));
}

static void a_large_body_in_memory_is_sent_in_pieces(void **state)
{
	enum { LEN = 20 << 20 };
	struct peer *p = *state;
	char *body = malloc(LEN);
	struct outcome o;
	const char *at;

	for (size_t i = 0; i < LEN; i++)
		body[i] = (char)(i % 251);
	p->is_deaf = true;
	peer_begin(p,
		   &(struct http_call_request){ .method = "PUT",
						.target = "/a",
						.body = body,
						.length = LEN },
		   &o);
	assert_true(http_call_backlog(o.call) <= 512 << 10);
	p->is_deaf = false;
	while (p->got.len < LEN)
		peer_pump(p);
	at = strstr(str_cstr(&p->got), "\r\n\r\n") + 4;
	peer_pump(p);
	assert_int_equal(p->got.len - (size_t)(at - p->got.data), LEN);
	assert_memory_equal(at, body, LEN);
	peer_say(p, OK("0", ""));
	assert_int_equal(o.n_ended, 1);
	outcome_release(&o);
	free(body);
}

static void a_written_body_has_chunks_and_trailers(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_begin(p,
		   &(struct http_call_request){ .method = "PUT",
						.target = "/a",
						.length = HTTP_LENGTH_CHUNKED },
		   &o);
	assert_int_equal(o.n_writable, 1);
	assert_int_equal(http_call_write(o.call, "abc", 3), 0);
	peer_pump(p);
	assert_int_equal(o.n_writable, 2);
	assert_int_equal(http_call_write(o.call, "0123456789abcdef!", 17), 0);
	http_call_trailer(o.call, "x-amz-checksum-crc32", "AAAAAA==");
	http_call_finish(o.call);
	peer_pump(p);
	assert_non_null(strstr(str_cstr(&p->got),
			       "Transfer-Encoding: chunked\r\n\r\n"
			       "3\r\nabc\r\n11\r\n0123456789abcdef!\r\n"
			       "0\r\nx-amz-checksum-crc32: AAAAAA==\r\n\r\n"));
	assert_int_equal(o.n_writable, 2);
	peer_say(p, OK("2", "ok"));
	assert_string_equal(str_cstr(&o.body), "ok");
	assert_int_equal(http_client_counts(p->client).n_idle, 1);
}

static void a_written_body_that_is_too_short_fails(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_begin(p,
		   &(struct http_call_request){ .method = "PUT",
						.target = "/a",
						.length = 10 },
		   &o);
	assert_int_equal(http_call_write(o.call, "abc", 3), 0);
	http_call_finish(o.call);
	peer_pump(p);
	assert_int_equal(o.error, -EINVAL);
	assert_true(p->ended);
}

/* ---- 100 Continue ---- */

static const struct http_call_request EXPECTING = { .method = "PUT",
						    .target = "/a",
						    .body = "hello",
						    .length = 5,
						    .expects_continue = true };

static void a_body_waits_for_continue(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_begin(p, &EXPECTING, &o);
	assert_non_null(strstr(str_cstr(&p->got), "Expect: 100-continue\r\n"));
	assert_null(strstr(str_cstr(&p->got), "hello"));
	peer_say(p, "HTTP/1.1 100 Continue\r\n\r\n");
	assert_non_null(strstr(str_cstr(&p->got), "\r\n\r\nhello"));
	peer_say(p, OK("0", ""));
	assert_int_equal(o.status, 200);
	assert_int_equal(http_client_counts(p->client).n_idle, 1);
}

static void a_refused_body_is_not_sent(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_begin(p, &EXPECTING, &o);
	peer_say(p, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
	assert_int_equal(o.n_ended, 1);
	assert_int_equal(o.error, 0);
	assert_int_equal(o.status, 403);
	assert_string_equal(str_cstr(&o.body), "no");
	assert_null(strstr(str_cstr(&p->got), "hello"));
	assert_true(p->ended); /* the server may still wait for the body */
}

static void a_server_without_continue_gets_the_body_after_a_time(void **state)
{
	struct peer *p = *state;
	struct http_client_limits l = HTTP_CLIENT_LIMITS;
	CLEANUP(outcome_release) struct outcome o;

	l.continue_ms = 30;
	peer_change_limits(p, &l);
	peer_begin(p, &EXPECTING, &o);
	while (!strstr(str_cstr(&p->got), "hello"))
		peer_pump(p);
	peer_say(p, OK("0", ""));
	assert_int_equal(o.status, 200);
}

static void a_written_body_waits_for_continue(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_begin(p,
		   &(struct http_call_request){ .method = "PUT",
						.target = "/a",
						.length = 3,
						.expects_continue = true },
		   &o);
	assert_int_equal(o.n_writable, 0);
	peer_say(p, "HTTP/1.1 100 Continue\r\n\r\n");
	assert_int_equal(o.n_writable, 1);
	assert_int_equal(http_call_write(o.call, "abc", 3), 0);
	http_call_finish(o.call);
	peer_say(p, OK("0", ""));
	assert_int_equal(o.status, 200);
}

/* ---- replies ---- */

static void replies_come_by_length_chunks_and_close(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome a;
	CLEANUP(outcome_release) struct outcome b;
	CLEANUP(outcome_release) struct outcome c;

	peer_get(p, "/a", &a);
	peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
	assert_int_equal(a.n_ended, 0);
	peer_say(p, "def");
	assert_int_equal(a.n_ended, 1);
	peer_get(p, "/b", &b);
	peer_say(p, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		    "3\r\nabc\r\n3\r\ndef\r\n0\r\nSum: six\r\n\r\n");
	assert_string_equal(str_cstr(&b.body), "abcdef");
	assert_string_equal(b.trailer, "Sum=six");
	peer_get(p, "/c", &c);
	assert_int_equal(p->n_accepted, 1);
	peer_say(p, "HTTP/1.1 200 OK\r\n\r\nabc");
	assert_int_equal(c.n_ended, 0);
	peer_close(p);
	peer_pump(p);
	assert_int_equal(c.n_ended, 1);
	assert_int_equal(c.error, 0);
	assert_string_equal(str_cstr(&c.body), "abc");
	assert_int_equal(http_client_counts(p->client).n_connections, 0);
}

static void some_replies_have_no_body(void **state)
{
	static const char *const replies[] = {
		"HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
	};
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		peer_get(p, "/a", &o);
		peer_say(p, replies[i]);
		assert_int_equal(o.n_ended, 1);
	}
	peer_begin(p,
		   &(struct http_call_request){ .method = "HEAD",
						.target = "/a" },
		   &o);
	peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 5368709120\r\n\r\n");
	assert_int_equal(o.n_ended, 1);
	assert_int_equal(p->n_accepted, 1);
	assert_int_equal(http_client_counts(p->client).n_idle, 1);
}

static void a_reply_may_come_byte_by_byte(void **state)
{
	static const char text[] =
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n"
		"Link: a\r\n\r\nHTTP/1.1 200 OK\r\n"
		"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_get(p, "/a", &o);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		peer_say(p, (char[]){ text[i], '\0' });
	assert_int_equal(o.n_ended, 1);
	assert_string_equal(str_cstr(&o.body), "abc");
}

static void a_reply_before_the_body_has_ended_ends_the_call(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_begin(p,
		   &(struct http_call_request){ .method = "PUT",
						.target = "/a",
						.length = 1 << 20 },
		   &o);
	assert_int_equal(http_call_write(o.call, "abc", 3), 0);
	peer_pump(p);
	peer_say(p, "HTTP/1.1 507 Insufficient Storage\r\n"
		    "Content-Length: 4\r\n\r\nfu");
	assert_int_equal(o.status, 507);
	assert_int_equal(o.n_ended, 0);
	assert_int_equal(http_call_write(o.call, "def", 3), 0);
	peer_say(p, "ll");
	assert_int_equal(o.n_ended, 1);
	assert_int_equal(o.error, 0);
	assert_true(p->ended);
}

#define TOO_LARGE "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"

/* A server that closes with bytes unread resets the connection. */
static void a_reply_is_read_from_a_connection_that_was_reset(void **state)
{
	enum { LEN = 8 << 20 };
	struct peer *p = *state;
	char *body = calloc(1, LEN);
	CLEANUP(outcome_release) struct outcome o;

	p->is_deaf = true;
	peer_begin(p,
		   &(struct http_call_request){ .method = "PUT",
						.target = "/a",
						.body = body,
						.length = LEN },
		   &o);
	assert_int_equal(send(p->fd, TOO_LARGE, strlen(TOO_LARGE), 0),
			 strlen(TOO_LARGE));
	peer_close(p);
	peer_pump_until(p, &o.n_ended);
	assert_int_equal(o.error, 0);
	assert_int_equal(o.status, 413);
	free(body);
}

static void a_paused_reply_stops_the_server(void **state)
{
	enum { LEN = 64 << 20 };
	struct peer *p = *state;
	char *piece = calloc(1, 1 << 20);
	size_t sent = 0;
	struct outcome o;

	peer_get(p, "/a", &o);
	o.pauses = true;
	peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n");
	for (int i = 0; i < 100; i++) {
		ssize_t n = send(p->fd, piece, 1 << 20,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		peer_pump(p);
	}
	assert_true(sent < LEN / 2);
	assert_true(o.body.len <= 128 << 10);
	http_call_pause(o.call, false);
	while (sent < LEN) {
		ssize_t n = send(p->fd, piece,
				 LEN - sent < 1 << 20 ? LEN - sent : 1 << 20,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		peer_pump(p);
	}
	peer_pump_until(p, &o.n_ended);
	assert_int_equal(o.body.len, LEN);
	outcome_release(&o);
	free(piece);
}

static void a_paused_reply_survives_the_end_of_the_connection(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_get(p, "/a", &o);
	o.pauses = true;
	peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
	peer_say(p, "def");
	peer_close(p);
	peer_pump(p);
	assert_int_equal(o.n_ended, 0);
	http_call_pause(o.call, false);
	peer_pump(p);
	assert_int_equal(o.n_ended, 1);
	assert_int_equal(o.error, 0);
	assert_string_equal(str_cstr(&o.body), "abcdef");
}

/* ---- ends ---- */

static void time_limits_hold(void **state)
{
	struct peer *p = *state;
	struct http_client_limits l = HTTP_CLIENT_LIMITS;
	char *body = calloc(1, 32 << 20);
	struct outcome o;

	l.first_byte_ms = l.stall_ms = 40;
	peer_change_limits(p, &l);
	peer_get(p, "/a", &o);
	peer_pump_until(p, &o.n_ended);
	assert_int_equal(o.error, -ETIMEDOUT);
	assert_non_null(strstr(o.sentence, "no reply in time"));
	peer_get(p, "/a", &o);
	peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
	peer_pump_until(p, &o.n_ended);
	assert_int_equal(o.error, -ETIMEDOUT);
	assert_non_null(strstr(o.sentence, "stalled"));
	outcome_release(&o);
	p->is_deaf = true;
	peer_begin(p,
		   &(struct http_call_request){ .method = "PUT",
						.target = "/a",
						.body = body,
						.length = 32 << 20 },
		   &o);
	peer_pump_until(p, &o.n_ended);
	assert_int_equal(o.error, -ETIMEDOUT);
	assert_non_null(strstr(o.sentence, "does not read"));
	free(body);
}

static void a_connection_takes_no_longer_than_it_may(void **state)
{
	struct peer *p = *state;
	struct http_client_limits l = HTTP_CLIENT_LIMITS;
	struct outcome o;

	l.connect_ms = 40;
	peer_change_limits(p, &l);
	/* TEST-NET-1 is nowhere; a network that says so at once is fine, too. */
	peer_begin(p,
		   &(struct http_call_request){ .method = "GET",
						.target = "/",
						.origin = "http://192.0.2.1" },
		   &o);
	peer_pump_until(p, &o.n_ended);
	assert_true(o.error < 0);
	assert_non_null(strstr(o.sentence, "cannot connect to '192.0.2.1:80'"));
}

static void nobody_at_the_port_is_told(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	(void)close(p->listener);
	p->listener = -1;
	peer_get(p, "/a", &o);
	peer_pump_until(p, &o.n_ended);
	assert_int_equal(o.error, -ECONNREFUSED);
	assert_int_equal(http_client_counts(p->client).n_connections, 0);
}

static void calls_can_be_cancelled(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_get(p, "/a", &o);
	http_call_cancel(o.call);
	peer_pump(p);
	assert_true(p->ended);
	peer_get(p, "/a", &o);
	o.cancels = true;
	peer_say(p, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		    "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n");
	assert_string_equal(str_cstr(&o.body), "abc");
	assert_int_equal(o.n_ended, 0);
	assert_int_equal(http_client_counts(p->client).n_connections, 0);
}

static void a_client_can_be_freed_with_calls_under_way(void **state)
{
	struct peer *p = *state;
	struct outcome o[4];

	for (int i = 0; i < 4; i++)
		peer_get(p, "/a", &o[i]);
	http_client_free(p->client);
	p->client = NULL;
	for (int i = 0; i < 4; i++)
		assert_int_equal(o[i].n_ended, 0);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, peer_setup, peer_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_request_is_sent_as_it_is),
		TEST(what_cannot_be_sent_is_refused),
		TEST(a_body_in_memory_follows_its_head),
		TEST(a_large_body_in_memory_is_sent_in_pieces),
		TEST(a_written_body_has_chunks_and_trailers),
		TEST(a_written_body_that_is_too_short_fails),
		TEST(a_body_waits_for_continue),
		TEST(a_refused_body_is_not_sent),
		TEST(a_server_without_continue_gets_the_body_after_a_time),
		TEST(a_written_body_waits_for_continue),
		TEST(replies_come_by_length_chunks_and_close),
		TEST(some_replies_have_no_body),
		TEST(a_reply_may_come_byte_by_byte),
		TEST(a_reply_before_the_body_has_ended_ends_the_call),
		TEST(a_reply_is_read_from_a_connection_that_was_reset),
		TEST(a_paused_reply_stops_the_server),
		TEST(a_paused_reply_survives_the_end_of_the_connection),
		TEST(time_limits_hold),
		TEST(a_connection_takes_no_longer_than_it_may),
		TEST(nobody_at_the_port_is_told),
		TEST(calls_can_be_cancelled),
		TEST(a_client_can_be_freed_with_calls_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
