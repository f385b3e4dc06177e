/* The client against servers that leave in doubt where a reply ends, or never end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "peer.h"

static int setup(void **state)
{
	static struct peer p;
	struct http_client_limits limits = HTTP_CLIENT_LIMITS;

	limits.max_head = 4096;
	peer_init(&p, &limits);
	*state = &p;
	return 0;
}

static int teardown(void **state)
{
	peer_release(*state);
	return 0;
}

#define STATUS "HTTP/1.1 200 OK\r\n"
#define CHUNKED STATUS "Transfer-Encoding: chunked\r\n\r\n"

static const struct {
	const char *reply, *why;
} BAD[] = {
	{ STATUS "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
	  "Content-Length" },
	{ STATUS "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
	  "Content-Length" },
	{ STATUS "Content-Length: 5, 5\r\n\r\nhello", "Content-Length" },
	{ STATUS "Content-Length: +5\r\n\r\nhello", "Content-Length" },
	{ STATUS "Content-Length: -1\r\n\r\n", "Content-Length" },
	{ STATUS "Content-Length: 99999999999999999999\r\n\r\n", "overflow" },
	{ STATUS "Content-Length: 9223372036854775808\r\n\r\n", "too large" },
	{ STATUS "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
		 "0\r\n\r\n",
	  "Transfer-Encoding" },
	{ STATUS "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"
		 "\r\n0\r\n\r\n",
	  "two Transfer-Encoding" },
	{ STATUS "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
	  "transfer coding" },
	{ STATUS "Transfer-Encoding: identity\r\n\r\nhello", "transfer coding" },
	{ "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	  "HTTP/1.0" },
	{ STATUS "X-A: b\r\n c\r\n\r\n", "malformed" },
	{ STATUS " X-A: b\r\n\r\n", "malformed" },
	{ STATUS "X-A: b\n\r\n", "malformed" },
	{ "HTTP/1.1 200 OK\nX-A: b\n\n", "malformed" },
	{ STATUS "X-A: b\rc\r\n\r\n", "malformed" },
	{ STATUS "X A: b\r\n\r\n", "" },
	{ STATUS "X-A : b\r\n\r\n", "" },
	{ STATUS ": b\r\n\r\n", "" },
	{ "HTTP/2 200 OK\r\n\r\n", "" },
	{ "HTTP/1.2 200 OK\r\n\r\n", "" },
	{ "HTTP/1.1 20 OK\r\n\r\n", "three digits" },
	{ "HTTP/1.1 020 OK\r\n\r\n", "three digits" },
	{ "HTTP/1.1 2000 OK\r\n\r\n", "" },
	{ "HTTP/1.1 OK\r\n\r\n", "" },
	{ "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "" },
	{ "SSH-2.0-OpenSSH_9.2p1\r\n\r\n", "" },
	{ "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
	  "another protocol" },
	{ CHUNKED "5\nhello\r\n0\r\n\r\n", "body" },
	{ CHUNKED "g\r\n", "body" },
	{ CHUNKED "-1\r\n", "body" },
	{ CHUNKED "10000000000000000\r\n", "body" },
	{ CHUNKED "3\r\nhello\r\n", "body" },
	{ CHUNKED "0\r\nX-A: b\n\r\n", "body" },
	{ CHUNKED "0\r\nX-A: b\r\n c\r\n\r\n", "body" },
	{ CHUNKED "0\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
	  "body" },
};

static void what_is_in_doubt_fails_the_call(void **state)
{
	struct peer *p = *state;

	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		CLEANUP(outcome_release) struct outcome o;

		peer_get(p, "/a", &o);
		peer_say(p, BAD[i].reply);
		if (o.n_ended != 1 || o.error != -EPROTO ||
		    !strstr(o.sentence, BAD[i].why))
			fail_msg("%s\n%d %s", BAD[i].reply, o.error,
				 o.sentence);
		assert_true(p->ended);
		assert_int_equal(http_client_counts(p->client).n_connections,
				 0);
	}
}

static void a_body_that_is_cut_fails_the_call(void **state)
{
	static const char *const cut[] = {
		"HTTP/1.1 200 O",
		STATUS "Content-Length: 5\r\n\r\nhell",
		CHUNKED "5\r\nhello\r\n",
		CHUNKED "5\r\nhello\r\n0\r\n",
		CHUNKED "5\r\nhello\r\n0\r\nX-A: b\r\n",
	};
	struct peer *p = *state;

	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		CLEANUP(outcome_release) struct outcome o;

		peer_get(p, "/a", &o);
		peer_say(p, cut[i]);
		assert_int_equal(o.n_ended, 0);
		peer_close(p);
		peer_pump(p);
		assert_int_equal(o.n_ended, 1);
		assert_int_equal(o.error, -ECONNRESET);
	}
}

static void interim_replies_are_bounded(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_get(p, "/a", &o);
	for (int i = 0; i < 16; i++)
		peer_say(p, "HTTP/1.1 102 Processing\r\n\r\n");
	assert_int_equal(o.n_ended, 0);
	peer_say(p, "HTTP/1.1 102 Processing\r\n\r\n");
	assert_int_equal(o.error, -EPROTO);
	assert_non_null(strstr(o.sentence, "too many interim replies"));
}

static void heads_are_bounded(void **state)
{
	struct peer *p = *state;
	CLEANUP(outcome_release) struct outcome o;

	peer_get(p, "/a", &o);
	peer_say(p, STATUS);
	for (int i = 0; i < 200 && !o.n_ended; i++)
		peer_say(p, "X-A: forty bytes of a field and its value\r\n");
	assert_int_equal(o.error, -EPROTO);
	assert_non_null(strstr(o.sentence, "too large"));
	assert_true(p->ended);
}

static void trailers_and_extensions_are_bounded(void **state)
{
	static const char *const parts[] = {
		"X-A: forty bytes of a field and its value\r\n",
		"1;forty-bytes-of-an-extension=of-the-chunk\r\na\r\n",
	};
	struct peer *p = *state;

	for (int kind = 0; kind < 2; kind++) {
		CLEANUP(outcome_release) struct outcome o;

		peer_get(p, "/a", &o);
		peer_say(p, CHUNKED);
		if (kind == 0)
			peer_say(p, "0\r\n");
		for (int i = 0; i < 400 && !o.n_ended; i++)
			peer_say(p, parts[kind]);
		assert_int_equal(o.error, -EPROTO);
	}
}

/* A body where there is none would be taken for the next reply. */
static void bodies_where_there_are_none_end_the_connection(void **state)
{
	static const struct {
		const char *method, *reply;
	} cases[] = {
		{ "HEAD", STATUS "Content-Length: 5\r\n\r\nhello" },
		{ "GET", "HTTP/1.1 204 No Content\r\n\r\nhello" },
		{ "GET", "HTTP/1.1 304 Not Modified\r\n\r\nhello" },
		{ "GET", STATUS "Content-Length: 0\r\n\r\n" STATUS },
	};
	struct peer *p = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(outcome_release) struct outcome o;

		peer_begin(
			p,
			&(struct http_call_request){ .method = cases[i].method,
						     .target = "/" },
			&o);
		peer_say(p, cases[i].reply);
		assert_int_equal(o.n_ended, 1);
		assert_int_equal(o.error, 0);
		assert_int_equal(o.body.len, 0);
		assert_true(p->ended);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_is_in_doubt_fails_the_call),
		TEST(a_body_that_is_cut_fails_the_call),
		TEST(interim_replies_are_bounded),
		TEST(heads_are_bounded),
		TEST(trailers_and_extensions_are_bounded),
		TEST(bodies_where_there_are_none_end_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
