/* Which connection the client uses for a call, and when it sends a request again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"

/* ---- the pool ---- */

static void connections_are_used_again(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	for (int i = 0; i < 5; i++) {
		peer_get(p, "/a", &o);
		peer_say(p, OK("0", ""));
		assert_int_equal(o.n_ended, 1);
	}
	assert_int_equal(p->n_accepted, 1);
	peer_get(p, "/a", &o);
	peer_say(p, "HTTP/1.1 200 OK\r\nConnection: close\r\n"
		    "Content-Length: 0\r\n\r\n");
	assert_true(p->ended);
	peer_get(p, "/a", &o);
	assert_int_equal(p->n_accepted, 2);
}

static void calls_wait_for_a_connection(void **state)
{
	struct peer *p = *state;
	struct outcome o[4];

	for (int i = 0; i < 4; i++)
		peer_get(p, "/a", &o[i]);
	assert_int_equal(http_client_counts(p->client).n_connections, 2);
	assert_int_equal(http_client_counts(p->client).n_waiting, 2);
	peer_say(p, OK("0", "")); /* to the second, by the last connection */
	assert_int_equal(o[1].n_ended, 1);
	assert_int_equal(http_client_counts(p->client).n_waiting, 1);
	peer_say(p, OK("0", ""));
	assert_int_equal(o[2].n_ended, 1);
	assert_int_equal(o[3].n_ended, 0);
	http_call_cancel(o[3].call);
	peer_pump(p);
	assert_int_equal(http_client_counts(p->client).n_waiting, 0);
	assert_int_equal(p->n_accepted, 2);
}

static void connections_are_bounded_in_sum(void **state)
{
	struct peer *p = *state;
	struct peer other;
	struct http_client_limits l = HTTP_CLIENT_LIMITS;
	struct outcome a, b, c;

	l.max_connections = 1;
	l.max_waiting = 1;
	peer_change_limits(p, &l);
	peer_init(&other, &l);
	peer_get(p, "/a", &a);
	peer_begin(p,
		   &(struct http_call_request){ .method = "GET",
						.target = "/b",
						.origin = other.origin },
		   &b);
	assert_int_equal(http_client_counts(p->client).n_waiting, 1);
	assert_int_equal(http_call_begin(p->client,
					 &(struct http_call_request){
						 .method = "GET",
						 .target = "/c",
						 .origin = p->origin },
					 &outcome_events, &c, &c.call),
			 -EAGAIN);
	peer_say(p, OK("0", "")); /* an unused connection makes room */
	assert_int_equal(a.n_ended, 1);
	peer_pump(&other);
	peer_pump(p);
	peer_pump(&other);
	assert_true(p->ended);
	assert_int_equal(other.n_accepted, 1);
	assert_int_equal(send(other.fd, OK("0", ""), strlen(OK("0", "")), 0),
			 strlen(OK("0", "")));
	peer_pump_until(p, &b.n_ended);
	assert_int_equal(b.error, 0);
	assert_int_equal(http_client_counts(p->client).n_connections, 1);
	peer_release(&other);
}

static void a_connection_that_sent_too_much_is_not_used_again(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_get(p, "/a", &o);
	peer_say(p, OK("2", "ok") OK("3", "bad"));
	assert_int_equal(o.n_ended, 1);
	assert_string_equal(str_cstr(&o.body), "ok");
	assert_true(p->ended);
	outcome_release(&o);
	peer_get(p, "/a", &o);
	assert_int_equal(p->n_accepted, 2);
	peer_say(p, OK("2", "ok"));
	assert_string_equal(str_cstr(&o.body), "ok");
	peer_say(p, OK("3", "bad")); /* while it is unused */
	assert_true(p->ended);
	assert_int_equal(http_client_counts(p->client).n_connections, 0);
}

static void unused_connections_end_after_a_time(void **state)
{
	struct peer *p = *state;
	struct http_client_limits l = HTTP_CLIENT_LIMITS;
	CLEANUP(outcome_release) struct outcome o;

	l.keep_ms = 30;
	peer_change_limits(p, &l);
	peer_get(p, "/a", &o);
	peer_say(p, OK("0", ""));
	while (!p->ended)
		peer_pump(p);
	assert_int_equal(http_client_counts(p->client).n_connections, 0);
}

/* A connection that is dropped to make room may be due to end in the same round. */
static void an_expired_connection_makes_room(void **state)
{
	struct peer *p = *state;
	struct peer other;
	struct http_client_limits l = HTTP_CLIENT_LIMITS;
	struct outcome o;

	l.max_connections = 1;
	l.keep_ms = 20;
	peer_change_limits(p, &l);
	peer_init(&other, &l);
	peer_get(p, "/a", &o);
	peer_say(p, OK("0", ""));
	assert_int_equal(http_client_counts(p->client).n_idle, 1);
	(void)usleep(40000);
	peer_begin(p,
		   &(struct http_call_request){ .method = "GET",
						.target = "/b",
						.origin = other.origin },
		   &o);
	peer_pump(&other);
	assert_int_equal(other.n_accepted, 1);
	assert_int_equal(http_client_counts(p->client).n_connections, 1);
	http_call_cancel(o.call);
	peer_release(&other);
}

/* ---- retries ---- */

/* A pooled connection, of which the server knows the end before the client does. */
static void make_stale(struct peer *p)
{
	CLEANUP(outcome_release) struct outcome o;

	peer_get(p, "/first", &o);
	peer_say(p, OK("0", ""));
	assert_int_equal(http_client_counts(p->client).n_idle, 1);
	str_clear(&p->got);
}

/* The server ends the connection when the request arrives. */
static void begin_and_close(struct peer *p, const struct http_call_request *q,
			    struct outcome *o)
{
	peer_begin(p, q, o);
	peer_close(p);
	str_clear(&p->got);
	peer_pump(p);
}

static void a_stale_connection_is_retried(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	make_stale(p);
	begin_and_close(p,
			&(struct http_call_request){ .method = "PUT",
						     .target = "/a",
						     .body = "hello",
						     .length = 5 },
			&o);
	assert_int_equal(o.n_ended, 0);
	assert_int_equal(p->n_accepted, 2);
	assert_non_null(strstr(str_cstr(&p->got), "PUT /a HTTP/1.1\r\n"));
	assert_non_null(strstr(str_cstr(&p->got), "\r\n\r\nhello"));
	peer_say(p, OK("0", ""));
	assert_int_equal(o.error, 0);
	assert_int_equal(http_client_counts(p->client).n_retries, 1);
}

static void a_retry_is_the_last_one(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	make_stale(p);
	begin_and_close(p,
			&(struct http_call_request){ .method = "GET",
						     .target = "/a" },
			&o);
	peer_close(p);
	peer_pump(p);
	assert_int_equal(o.n_ended, 1);
	assert_int_equal(o.error, -ECONNRESET);
}

static void what_may_have_been_done_is_not_sent_again(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	make_stale(p);
	begin_and_close(p,
			&(struct http_call_request){ .method = "POST",
						     .target = "/a" },
			&o);
	assert_int_equal(o.error, -ECONNRESET);
	make_stale(p);
	peer_get(p, "/a", &o);
	peer_say(p, "H"); /* a byte of a reply */
	peer_close(p);
	peer_pump(p);
	assert_int_equal(o.error, -ECONNRESET);
	assert_int_equal(http_client_counts(p->client).n_retries, 0);
}

static void
a_written_body_is_sent_again_only_if_nothing_was_written(void **state)
{
	const struct http_call_request q = { .method = "PUT",
					     .target = "/a",
					     .length = 3 };
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	make_stale(p);
	peer_begin(p, &q, &o);
	assert_int_equal(o.n_writable, 1);
	peer_close(p);
	peer_pump(p);
	assert_int_equal(o.n_writable, 2); /* by the new connection */
	assert_int_equal(http_call_write(o.call, "abc", 3), 0);
	http_call_finish(o.call);
	peer_pump(p);
	peer_say(p, OK("0", ""));
	assert_int_equal(o.error, 0);
	peer_begin(p, &q, &o);
	assert_int_equal(http_call_write(o.call, "a", 1), 0);
	peer_close(p);
	peer_pump(p);
	assert_int_equal(o.error, -ECONNRESET);
}

static void a_new_connection_is_not_retried(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	begin_and_close(p,
			&(struct http_call_request){ .method = "GET",
						     .target = "/a" },
			&o);
	assert_int_equal(o.error, -ECONNRESET);
	assert_non_null(strstr(o.sentence, "127.0.0.1"));
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, peer_setup, peer_teardown)
	const struct CMUnitTest tests[] = {
		TEST(connections_are_used_again),
		TEST(calls_wait_for_a_connection),
		TEST(connections_are_bounded_in_sum),
		TEST(a_connection_that_sent_too_much_is_not_used_again),
		TEST(unused_connections_end_after_a_time),
		TEST(an_expired_connection_makes_room),
		TEST(a_stale_connection_is_retried),
		TEST(a_retry_is_the_last_one),
		TEST(what_may_have_been_done_is_not_sent_again),
		TEST(a_written_body_is_sent_again_only_if_nothing_was_written),
		TEST(a_new_connection_is_not_retried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
