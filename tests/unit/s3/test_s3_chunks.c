/* The envelope of uploads: AWS's published examples, any split, and what is malformed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "s3/s3_chunks.h"

enum { LENGTH = 66560 };

static char content[LENGTH]; /* of the examples: all 'a' */

static const struct sigv4_credentials EXAMPLE = {
	.key_id = "AKIAIOSFODNN7EXAMPLE",
	.secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};

static const char *const SIGNED[] = {
	"4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
	"ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
	"0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
	"b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
};
static const char *const WITH_TRAILER[] = {
	"106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
	"b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
	"1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
	"2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
	"d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435",
};
static const struct http_field TRAILER = { "x-amz-checksum-crc32c",
					   "sOO8/Q==" };

/* The body of an example as AWS shows it. */
static void add_example(struct str *out, const char *const *signatures,
			bool has_trailer)
{
	static const size_t sizes[] = { 65536, 1024, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		str_addf(out, "%zx;chunk-signature=%s\r\n", sizes[i],
			 signatures[i + 1]);
		str_add(out, content, sizes[i]);
		if (sizes[i])
			str_adds(out, "\r\n");
	}
	if (has_trailer)
		str_addf(out, "%s:%s\r\nx-amz-trailer-signature:%s\r\n",
			 TRAILER.name, TRAILER.value, signatures[4]);
	str_adds(out, "\r\n");
}

/* ---- decoder ---- */

struct decoded {
	struct str content, trailers, signatures;
	bool ended;
};

static int decode(enum s3_payload mode, uint64_t length, const char *bytes,
		  size_t len, size_t step, struct decoded *ret)
{
	struct s3_chunk_decoder d;

	*ret = (struct decoded){ 0 };
	s3_chunk_decoder_init(&d, mode, length);
	for (size_t at = 0, end; at < len;) {
		enum s3_chunk_event event;
		ssize_t n;

		end = (at / step + 1) * step;
		n = s3_chunk_decoder_feed(&d, bytes + at,
					  (end < len ? end : len) - at, &event);
		if (n < 0)
			return (int)n;
		at += (size_t)n;
		if (event == S3_CHUNK_BEGIN)
			str_addf(&ret->signatures, "%s\n", d.signature);
		else if (event == S3_CHUNK_DATA)
			str_add(&ret->content, d.data, d.len);
		else if (event == S3_CHUNK_TRAILER)
			str_addf(&ret->trailers, "%s=%s\n", d.name, d.value);
		else if (event == S3_CHUNK_END)
			ret->ended = true;
	}
	return 0;
}

static void decoded_release(struct decoded *d)
{
	str_release(&d->content);
	str_release(&d->trailers);
	str_release(&d->signatures);
}

static void the_published_body_is_decoded_at_any_split(void **state)
{
	CLEANUP(str_release) struct str body = STR_INIT, expected = STR_INIT;

	(void)state;
	add_example(&body, SIGNED, false);
	assert_int_equal(body.len, 66824);
	for (int i = 1; i <= 3; i++)
		str_addf(&expected, "%s\n", SIGNED[i]);
	for (size_t step = 1; step < 200000; step = step * 7 + 3) {
		CLEANUP(decoded_release) struct decoded d;

		assert_int_equal(decode(S3_PAYLOAD_CHUNKS_SIGNED, LENGTH,
					body.data, body.len, step, &d),
				 0);
		assert_true(d.ended);
		assert_int_equal(d.content.len, LENGTH);
		assert_memory_equal(d.content.data, content, LENGTH);
		assert_string_equal(d.signatures.data, expected.data);
	}
}

static void the_published_trailer_is_decoded(void **state)
{
	CLEANUP(str_release) struct str body = STR_INIT;
	CLEANUP(decoded_release) struct decoded d;

	(void)state;
	add_example(&body, WITH_TRAILER, true);
	assert_int_equal(decode(S3_PAYLOAD_CHUNKS_SIGNED_TRAILER, LENGTH,
				body.data, body.len, 1000, &d),
			 0);
	assert_true(d.ended);
	assert_string_equal(
		d.trailers.data,
		"x-amz-checksum-crc32c=sOO8/Q==\nx-amz-trailer-signature="
		"d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\n");
}

static void envelopes_are_accepted_or_refused(void **state)
{
	static const struct {
		const char *body;
		uint64_t length;
		int expected; /* 1: it has not ended */
		bool has_trailers;
	} cases[] = {
		{ "3\r\nabc\r\n0\r\n\r\n", 3, 0, false },
		{ "0\r\n\r\n", 0, 0, false },
		{ "3\r\nabc\r\n0\r\n", 3, 1, false },
		{ "3\r\nabc\r\n", 3, 1, false },
		{ "3\r\nab", 3, 1, false },
		{ "0003\r\nabc\r\n0\r\nX-A: b \r\n\r\n", 3, 0, true },
		{ "3\r\nabc\r\n0\r\nx-a:b\n\r\nx-b:c\r\n\r\n", 3, 0, true },
		{ "3\r\nabc\r\n0\r\nx-a:b\n\r\n", 3, 1, true },
		{ "3\r\nabc\r\n0\r\nx-a:b\r\n\r\n", 3, -EPROTO, false },
		{ "3\r\nabc\r\n0\r\nx a:b\r\n\r\n", 3, -EPROTO, true },
		{ "3\r\nabc\r\n0\r\n:b\r\n\r\n", 3, -EPROTO, true },
		{ "3\r\nabc\r\n0\r\nb\r\n\r\n", 3, -EPROTO, true },
		{ "3\r\nabc\r\n0\r\n\n", 3, -EPROTO, true },
		{ "3\nabc\r\n0\r\n\r\n", 3, -EPROTO, false },
		{ "3\r\nabcd\r\n0\r\n\r\n", 3, -EPROTO, false },
		{ "3\r\nabc\r\n0\r\n\r\nx", 3, -EPROTO, false },
		{ "3;x=y\r\nabc\r\n0\r\n\r\n", 3, -EPROTO, false },
		{ "\r\n", 0, -EPROTO, false },
		{ "-3\r\n", 3, -EPROTO, false },
		{ "10000000000000000\r\n", 3, -EPROTO, false },
		{ "4\r\n", 3, -EMSGSIZE, false },
		{ "2\r\nab\r\n0\r\n\r\n", 3, -EMSGSIZE, false },
		{ "3\r\nabc\r\n1\r\n", 3, -EMSGSIZE, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t step = 1; step < 100; step += 98) {
			CLEANUP(decoded_release) struct decoded d;
			int r = decode(cases[i].has_trailers ?
					       S3_PAYLOAD_CHUNKS_TRAILER :
					       S3_PAYLOAD_CHUNKS_SIGNED,
				       cases[i].length, cases[i].body,
				       strlen(cases[i].body), step, &d);

			if (cases[i].expected < 0)
				assert_int_equal(r, cases[i].expected);
			else
				assert_int_equal(r, 0);
			if (r == 0)
				assert_int_equal(!d.ended, cases[i].expected);
		}
	}
}

static void lines_and_trailers_are_bounded(void **state)
{
	CLEANUP(str_release) struct str many = STR_INIT, wide = STR_INIT;
	CLEANUP(decoded_release) struct decoded a, b;

	(void)state;
	str_adds(&many, "0\r\n");
	for (int i = 0; i <= S3_CHUNK_MAX_TRAILERS; i++)
		str_adds(&many, "a:b\r\n");
	str_pad(&wide, '0', S3_CHUNK_MAX_LINE);
	assert_int_equal(decode(S3_PAYLOAD_CHUNKS_TRAILER, 0, many.data,
				many.len, 100, &a),
			 -EPROTO);
	assert_int_equal(decode(S3_PAYLOAD_CHUNKS_TRAILER, 0, wide.data,
				wide.len, 100, &b),
			 -EPROTO);
}

/* ---- encoder ---- */

static int collect(void *ctx, const void *data, size_t len)
{
	str_add(ctx, data, len);
	return 0;
}

static void encode(enum s3_payload mode, size_t length, size_t step,
		   const char *seed, const struct http_field *trailers,
		   size_t n_trailers, struct str *ret)
{
	CLEANUP(sigv4_freep) struct sigv4 *s = NULL;
	CLEANUP(s3_chunk_encoder_release) struct s3_chunk_encoder e;

	assert_int_equal(sigv4_new(&s), 0);
	assert_int_equal(
		s3_chunk_encoder_init(&e, mode, length, s, collect, ret), 0);
	assert_int_equal(sigv4_chain_init(s, &EXAMPLE, "20130524T000000Z",
					  "us-east-1", "s3", seed, &e.chain),
			 0);
	for (size_t at = 0; at < length; at += step)
		assert_int_equal(s3_chunk_encoder_add(&e, content + at,
						      length - at < step ?
							      length - at :
							      step),
				 0);
	assert_int_equal(s3_chunk_encoder_finish(&e, trailers, n_trailers), 0);
}

static void the_published_bodies_are_encoded(void **state)
{
	CLEANUP(str_release) struct str plain = STR_INIT, with = STR_INIT;

	(void)state;
	add_example(&plain, SIGNED, false);
	add_example(&with, WITH_TRAILER, true);
	for (size_t step = 1000; step < 100000; step *= 5) {
		CLEANUP(str_release) struct str a = STR_INIT, b = STR_INIT;

		encode(S3_PAYLOAD_CHUNKS_SIGNED, LENGTH, step, SIGNED[0], NULL,
		       0, &a);
		assert_int_equal(a.len, plain.len);
		assert_memory_equal(a.data, plain.data, a.len);
		encode(S3_PAYLOAD_CHUNKS_SIGNED_TRAILER, LENGTH, step,
		       WITH_TRAILER[0], &TRAILER, 1, &b);
		assert_int_equal(b.len, with.len);
		assert_memory_equal(b.data, with.data, b.len);
	}
}

static void the_length_is_known_before(void **state)
{
	static const size_t sizes[] = {
		0, 1, 15, 16, 4096, 65535, 65536, LENGTH
	};
	uint64_t trailers_length = strlen(TRAILER.name) +
				   strlen(TRAILER.value) + 3;

	(void)state;
	for (int mode = S3_PAYLOAD_CHUNKS_TRAILER;
	     mode <= S3_PAYLOAD_CHUNKS_SIGNED_TRAILER; mode++) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			CLEANUP(str_release) struct str out = STR_INIT;
			CLEANUP(decoded_release) struct decoded d;

			encode(mode, sizes[i], 3000, SIGNED[0], &TRAILER, 1,
			       &out);
			assert_int_equal(
				s3_chunk_encoded_length(mode, sizes[i],
							trailers_length),
				out.len);
			assert_int_equal(decode(mode, sizes[i], out.data,
						out.len, 777, &d),
					 0);
			assert_true(d.ended);
			assert_int_equal(d.content.len, sizes[i]);
		}
	}
}

static int setup(void **state)
{
	(void)state;
	memset(content, 'a', sizeof(content));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_body_is_decoded_at_any_split),
		cmocka_unit_test(the_published_trailer_is_decoded),
		cmocka_unit_test(envelopes_are_accepted_or_refused),
		cmocka_unit_test(lines_and_trailers_are_bounded),
		cmocka_unit_test(the_published_bodies_are_encoded),
		cmocka_unit_test(the_length_is_known_before),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
