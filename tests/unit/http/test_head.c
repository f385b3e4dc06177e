/* What is a head, what is not, and how a request that is not is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "http/head.h"

/* The status that a request is refused with; 0: it is accepted. */
static unsigned judge(const char *text, size_t len, struct http_head *h)
{
	unsigned status = 0;
	size_t scanned = 0;
	ssize_t n = http_head_find(text, len, &scanned);
	struct roar_error err = { 0 };
	int r;

	if (n < 0)
		return 400;
	assert_int_equal(n, len);
	r = http_head_parse(h, HTTP_HEAD_REQUEST, text, (size_t)n, &status,
			    &err);
	assert_true(r == 0 || (r == -EPROTO && status && *err.text));
	return r < 0 ? status : 0;
}

#define HOST "Host: a\r\n"

static void requests_are_accepted_or_refused(void **state)
{
	static const struct {
		unsigned status;
		const char *text;
	} cases[] = {
		{ 0, "GET / HTTP/1.1\r\n" HOST "\r\n" },
		{ 0, "\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n" },
		{ 0, "GET http://a/b?c HTTP/1.1\r\n" HOST "\r\n" },
		{ 0, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n" },
		{ 0, "CONNECT a:443 HTTP/1.1\r\n" HOST "\r\n" },
		{ 0, "GET / HTTP/1.0\r\n\r\n" },
		{ 0, "GET / HTTP/1.1\r\n" HOST "X: \xc3\xa9\t \r\n\r\n" },
		{ 0, "GET / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\n"
		     "Upgrade: h2c\r\n\r\n" },
		/* Framing that two parties may read in two ways. */
		{ 400, "PUT / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n"
		       "Content-Length: 5\r\n\r\n" },
		{ 400, "PUT / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n"
		       "Content-Length: 6\r\n\r\n" },
		{ 400,
		  "PUT / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\n" },
		{ 400, "PUT / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\n" },
		{ 400, "PUT / HTTP/1.1\r\n" HOST "Content-Length: 5x\r\n\r\n" },
		{ 400, "PUT / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n" },
		{ 400, "PUT / HTTP/1.1\r\n" HOST
		       "Content-Length: 9223372036854775808\r\n\r\n" },
		{ 400, "PUT / HTTP/1.1\r\n" HOST
		       "Content-Length: 18446744073709551616\r\n\r\n" },
		{ 400, "PUT / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n"
		       "Transfer-Encoding: chunked\r\n\r\n" },
		{ 400, "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
		       "Transfer-Encoding: chunked\r\n\r\n" },
		{ 501, "PUT / HTTP/1.1\r\n" HOST
		       "Transfer-Encoding: gzip, chunked\r\n\r\n" },
		{ 400, "PUT / HTTP/1.0\r\n" HOST
		       "Transfer-Encoding: chunked\r\n\r\n" },
		/* Lines. */
		{ 400, "GET / HTTP/1.1\n" HOST "\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST "\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST "X: a\rb\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST "X: a\r\n\tfolded\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST "X: \x01\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST "X: \x7f\r\n\r\n" },
		/* Fields. */
		{ 400, "GET / HTTP/1.1\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST HOST "\r\n" },
		{ 400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST ": a\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST "a b: c\r\n\r\n" },
		{ 400, "GET / HTTP/1.1\r\n" HOST "no colon\r\n\r\n" },
		{ 417, "GET / HTTP/1.1\r\n" HOST "Expect: tea\r\n\r\n" },
		/* The start line. */
		{ 400, "GET  / HTTP/1.1\r\n" HOST "\r\n" },
		{ 400, "GET /a b HTTP/1.1\r\n" HOST "\r\n" },
		{ 400, "GET /\x80 HTTP/1.1\r\n" HOST "\r\n" },
		{ 400, "GET a HTTP/1.1\r\n" HOST "\r\n" },
		{ 501, "BREW / HTTP/1.1\r\n" HOST "\r\n" },
		{ 505, "GET / HTTP/2.0\r\n" HOST "\r\n" },
		{ 505, "GET / HTTP/1.2\r\n" HOST "\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_head h = { 0 };
		unsigned status = judge(cases[i].text, strlen(cases[i].text),
					&h);

		if (status != cases[i].status)
			fail_msg("%u, not %u: %s", status, cases[i].status,
				 cases[i].text);
		http_head_release(&h);
	}
}

static void a_nul_byte_is_refused_wherever_it_is(void **state)
{
	static const char text[] = "GET /a HTTP/1.1\r\nHost: a\r\nX: b\r\n\r\n";

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		struct http_head h = { 0 };
		char copy[sizeof(text)];

		memcpy(copy, text, sizeof(text));
		copy[i] = '\0';
		assert_int_equal(judge(copy, sizeof(text) - 1, &h), 400);
	}
}

static void a_head_keeps_what_a_proxy_needs(void **state)
{
	static const char text[] = "PUT /a%2Fb//..?x=%20 HTTP/1.1\r\n"
				   "hOSt:a:80\r\nX-A:  one  two \r\nx-a: three\r\n"
				   "Empty:\r\nContent-Length: 12\r\n"
				   "Connection: TE, Close\r\n"
				   "Expect: 100-Continue\r\n\r\n";
	struct http_head h = { 0 };

	(void)state;
	assert_int_equal(judge(text, sizeof(text) - 1, &h), 0);
	assert_string_equal(h.method, "PUT");
	assert_string_equal(h.target, "/a%2Fb//..?x=%20");
	assert_int_equal(h.n_fields, 7);
	assert_string_equal(h.fields[0].name, "hOSt");
	assert_string_equal(h.fields[1].value, "one  two");
	assert_string_equal(h.fields[2].value, "three");
	assert_string_equal(h.fields[3].value, "");
	assert_string_equal(http_head_get(&h, "HOST"), "a:80");
	assert_null(http_head_get(&h, "absent"));
	assert_int_equal(h.length, 12);
	assert_false(h.keeps_alive);
	assert_true(h.expects_continue);
	assert_true(http_head_lists(&h, "connection", "te"));
	assert_false(http_head_lists(&h, "connection", "clos"));
	http_head_release(&h);
}

static void the_end_of_a_head_is_found_byte_by_byte(void **state)
{
	static const char text[] = "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
	size_t end = sizeof(text) - 1 - 4;
	size_t scanned = 0;

	(void)state;
	for (size_t len = 0; len < end; len++)
		assert_int_equal(http_head_find(text, len, &scanned), 0);
	for (size_t len = end; len < sizeof(text); len++) {
		size_t from = scanned;

		assert_int_equal(http_head_find(text, len, &from), end);
	}
}

static void too_many_fields_are_refused(void **state)
{
	char text[8192];
	size_t len = (size_t)sprintf(text, "GET / HTTP/1.1\r\nHost: a\r\n");
	struct http_head h = { 0 };

	(void)state;
	for (int i = 0; i < HTTP_MAX_FIELDS; i++)
		len += (size_t)sprintf(text + len, "X%d: y\r\n", i);
	len += (size_t)sprintf(text + len, "\r\n");
	assert_int_equal(judge(text, len, &h), 431);
}

static int64_t length_of_reply(enum http_head_kind kind, const char *text)
{
	struct http_head h;
	int64_t length;

	assert_int_equal(
		http_head_parse(&h, kind, text, strlen(text), NULL, NULL), 0);
	length = h.length;
	http_head_release(&h);
	return length;
}

static void what_a_reply_answers_decides_on_its_body(void **state)
{
	static const char with[] = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n";
	static const char chunks[] =
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

	(void)state;
	assert_int_equal(length_of_reply(HTTP_HEAD_REPLY, with), 7);
	assert_int_equal(length_of_reply(HTTP_HEAD_REPLY_TO_HEAD, with), 0);
	assert_int_equal(length_of_reply(HTTP_HEAD_REPLY_TO_CONNECT, with), 0);
	assert_int_equal(length_of_reply(HTTP_HEAD_REPLY, chunks),
			 HTTP_LENGTH_CHUNKED);
	assert_int_equal(length_of_reply(HTTP_HEAD_REPLY,
					 "HTTP/1.1 200 \r\n\r\n"),
			 HTTP_LENGTH_CLOSE);
	assert_int_equal(length_of_reply(HTTP_HEAD_REPLY,
					 "HTTP/1.1 204 No Content\r\n\r\n"),
			 0);
	assert_int_equal(length_of_reply(HTTP_HEAD_REPLY,
					 "HTTP/1.1 304 x\r\n"
					 "Content-Length: 9\r\n\r\n"),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_accepted_or_refused),
		cmocka_unit_test(a_nul_byte_is_refused_wherever_it_is),
		cmocka_unit_test(a_head_keeps_what_a_proxy_needs),
		cmocka_unit_test(the_end_of_a_head_is_found_byte_by_byte),
		cmocka_unit_test(too_many_fields_are_refused),
		cmocka_unit_test(what_a_reply_answers_decides_on_its_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
