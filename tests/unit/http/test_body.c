/* Bodies from the wire, whole and byte by byte. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "http/body.h"

static void collect(void *ctx, const char *bytes, size_t len)
{
	str_add(ctx, bytes, len);
}

/* Feeds `text` in parts of `step` bytes; returns how many bytes were the body's, or
 * -EPROTO. */
static ssize_t feed(int64_t length, const char *text, size_t step,
		    struct str *content, struct http_body_reader *b)
{
	const struct http_head head = { .length = length };
	size_t len = strlen(text), used = 0;

	http_body_reader_init(b, &head, collect, content);
	while (!b->ended && used < len) {
		size_t part = len - used < step ? len - used : step;
		ssize_t n = http_body_reader_feed(b, text + used, part);

		if (n < 0)
			return n;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

static void chunks_are_taken_off(void **state)
{
	static const char text[] =
		"5;name=value\r\nhello\r\n006\r\n world\r\n0\r\n"
		"Digest: x\r\nOther:\r\n\r\nGET";

	(void)state;
	for (size_t step = 1; step < sizeof(text); step++) {
		struct http_body_reader b;
		struct str content = STR_INIT;

		assert_int_equal(feed(HTTP_LENGTH_CHUNKED, text, step, &content,
				      &b),
				 sizeof(text) - 4);
		assert_true(b.ended);
		assert_string_equal(str_cstr(&content), "hello world");
		assert_int_equal(b.trailers.n_fields, 2);
		assert_string_equal(b.trailers.fields[0].name, "Digest");
		assert_string_equal(b.trailers.fields[0].value, "x");
		http_body_reader_release(&b);
		str_release(&content);
	}
}

static void malformed_chunks_are_refused(void **state)
{
	static const char *const cases[] = {
		"5\nhello\r\n0\r\n\r\n",
		"5\r\nhello\n0\r\n\r\n",
		"5\r\nhelloX0\r\n\r\n",
		"5 \r\nhello\r\n0\r\n\r\n",
		"0x5\r\nhello\r\n0\r\n\r\n",
		"fffffffffffffffff\r\n",
		"0\r\nA: b\n\r\n",
		"0\r\nA: b\r\n c\r\n\r\n",
		"0\r\n\n",
		"5;\nxx\r\nhello\r\n0\r\n\r\n",
		"\r\nhello",
		"-5\r\nhello\r\n",
		"0\r\nContent Length: 5\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t step = 1; step < 40; step += 13) {
			struct http_body_reader b;
			struct str content = STR_INIT;

			if (feed(HTTP_LENGTH_CHUNKED, cases[i], step, &content,
				 &b) != -EPROTO)
				fail_msg("accepted: %s", cases[i]);
			http_body_reader_release(&b);
			str_release(&content);
		}
	}
}

static void trailers_are_bounded(void **state)
{
	char text[HTTP_MAX_TRAILER + 64];
	struct http_body_reader b;
	struct str content = STR_INIT;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "0\r\nA: ", 6);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(feed(HTTP_LENGTH_CHUNKED, text, 100, &content, &b),
			 -EPROTO);
	http_body_reader_release(&b);
}

static void chunk_extensions_are_bounded(void **state)
{
	char text[HTTP_MAX_TRAILER + 64];
	struct http_body_reader b;
	struct str content = STR_INIT;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "5;name=", 7);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(feed(HTTP_LENGTH_CHUNKED, text, 100, &content, &b),
			 -EPROTO);
	http_body_reader_release(&b);
}

static void a_known_length_ends_the_body(void **state)
{
	struct http_body_reader b;
	struct str content = STR_INIT;

	(void)state;
	assert_int_equal(feed(5, "hello world", 3, &content, &b), 5);
	assert_true(b.ended);
	assert_string_equal(str_cstr(&content), "hello");
	assert_int_equal(http_body_reader_close(&b), 0);
	str_clear(&content);
	assert_int_equal(feed(12, "hello world", 3, &content, &b), 11);
	assert_int_equal(http_body_reader_close(&b), -EPROTO);
	str_release(&content);
}

static void the_end_of_the_connection_may_end_the_body(void **state)
{
	struct http_body_reader b;
	struct str content = STR_INIT;

	(void)state;
	assert_int_equal(feed(HTTP_LENGTH_CLOSE, "hello", 2, &content, &b), 5);
	assert_false(b.ended);
	assert_int_equal(http_body_reader_close(&b), 0);
	str_release(&content);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_taken_off),
		cmocka_unit_test(malformed_chunks_are_refused),
		cmocka_unit_test(trailers_are_bounded),
		cmocka_unit_test(chunk_extensions_are_bounded),
		cmocka_unit_test(a_known_length_ends_the_body),
		cmocka_unit_test(the_end_of_the_connection_may_end_the_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
