/* Signatures: the examples that AWS has published, and what clients send. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/macros.h"
#include "hash/digest/digest.h"
#include "s3/sigv4.h"

static const struct sigv4_credentials EXAMPLE = {
	.key_id = "AKIAIOSFODNN7EXAMPLE",
	.secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};

#define TIME "20130524T000000Z"
#define BUCKET                                           \
	{                                                \
		"Host", "examplebucket.s3.amazonaws.com" \
	}
#define DATE                       \
	{                          \
		"x-amz-date", TIME \
	}
#define EMPTY                                              \
	{                                                  \
		"x-amz-content-sha256", SIGV4_EMPTY_SHA256 \
	}
#define REDUCED                                             \
	{                                                   \
		"x-amz-storage-class", "REDUCED_REDUNDANCY" \
	}

static void sign(struct sigv4 *s, const char *method, const char *path,
		 const char *query, const struct http_field *fields,
		 size_t n_fields, const char *payload, struct str *out,
		 struct sigv4_chain *chain)
{
	const struct sigv4_request q = { .method = method,
					 .path = path,
					 .query = query,
					 .fields = fields,
					 .n_fields = n_fields,
					 .payload = payload,
					 .time = TIME,
					 .region = "us-east-1",
					 .service = "s3" };

	assert_int_equal(sigv4_sign(s, &EXAMPLE, &q, out, chain), 0);
}

static int setup(void **state)
{
	return sigv4_new((struct sigv4 **)state);
}

static int teardown(void **state)
{
	sigv4_free(*state);
	return 0;
}

#define PUT_SHA256 \
	"44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"

static void published_requests_have_their_signatures(void **state)
{
	static const struct {
		const char *method, *path, *query, *payload, *signature;
		struct http_field fields[6];
		size_t n_fields;
	} cases[] = {
		{ "GET",
		  "/test.txt",
		  NULL,
		  SIGV4_EMPTY_SHA256,
		  "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		  { BUCKET, { "Range", "bytes=0-9" }, DATE, EMPTY },
		  4 },
		{ "PUT",
		  "/test%24file.text",
		  "",
		  PUT_SHA256,
		  "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
		  { { "Date", "Fri, 24 May 2013 00:00:00 GMT" },
		    DATE,
		    REDUCED,
		    BUCKET,
		    { "X-Amz-Content-SHA256", PUT_SHA256 } },
		  5 },
		{ "GET",
		  "/",
		  "lifecycle",
		  SIGV4_EMPTY_SHA256,
		  "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
		  { EMPTY, DATE, BUCKET },
		  3 },
		{ "GET",
		  "/",
		  "prefix=J&max-keys=2",
		  SIGV4_EMPTY_SHA256,
		  "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
		  { BUCKET, DATE, EMPTY },
		  3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(str_release) struct str out = STR_INIT;
		struct sigv4_claim claim;

		sign(*state, cases[i].method, cases[i].path, cases[i].query,
		     cases[i].fields, cases[i].n_fields, cases[i].payload, &out,
		     NULL);
		assert_int_equal(sigv4_claim_parse(out.data, &claim), 0);
		assert_string_equal(claim.signature, cases[i].signature);
		assert_string_equal(claim.key_id, EXAMPLE.key_id);
	}
}

static void authorization_names_the_signed_fields(void **state)
{
	static const struct http_field fields[] = { BUCKET,
						    { "Range", "bytes=0-9" },
						    DATE,
						    EMPTY };
	CLEANUP(str_release) struct str out = STR_INIT;

	sign(*state, "GET", "/test.txt", NULL, fields, 4, SIGV4_EMPTY_SHA256,
	     &out, NULL);
	assert_string_equal(
		out.data,
		"AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/"
		"us-east-1/s3/aws4_request,SignedHeaders=host;range;"
		"x-amz-content-sha256;x-amz-date,Signature="
		"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

/* Blanks at the ends and between words, and one name in two lines. */
static void values_are_collapsed_and_joined(void **state)
{
	static const struct http_field given[] = {
		BUCKET,
		{ "X-Amz-Meta-A", "  x   y " },
		DATE,
		{ "x-amz-meta-a", "z\t" },
	};
	static const struct http_field plain[] = { BUCKET,
						   { "x-amz-meta-a", "x y,z" },
						   DATE };
	CLEANUP(str_release) struct str a = STR_INIT, b = STR_INIT;

	sign(*state, "PUT", "/k", NULL, given, 4, SIGV4_UNSIGNED, &a, NULL);
	sign(*state, "PUT", "/k", NULL, plain, 3, SIGV4_UNSIGNED, &b, NULL);
	assert_string_equal(a.data, b.data);
}

static void sign_chunk(struct sigv4 *s, struct sigv4_chain *c, size_t len,
		       const char *expected)
{
	static char content[65536];
	uint8_t digest[32];

	memset(content, 'a', sizeof(content));
	assert_int_equal(sigv4_sha256(s, content, len, digest), 0);
	assert_int_equal(sigv4_chain_chunk(s, c, digest), 0);
	assert_string_equal(c->last, expected);
}

static void the_published_chunks_have_their_signatures(void **state)
{
	static const struct http_field fields[] = {
		{ "Host", "s3.amazonaws.com" },
		DATE,
		REDUCED,
		{ "x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" },
		{ "Content-Encoding", "aws-chunked" },
		{ "x-amz-decoded-content-length", "66560" },
		{ "Content-Length", "66824" },
	};
	CLEANUP(str_release) struct str out = STR_INIT;
	struct sigv4_chain c;

	sign(*state, "PUT", "/examplebucket/chunkObject.txt", NULL, fields,
	     ARRAY_SIZE(fields), "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", &out,
	     &c);
	assert_string_equal(
		c.last,
		"4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9");
	sign_chunk(
		*state, &c, 65536,
		"ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648");
	sign_chunk(
		*state, &c, 1024,
		"0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497");
	sign_chunk(
		*state, &c, 0,
		"b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9");
}

static void the_published_trailer_has_its_signature(void **state)
{
	static const struct http_field fields[] = {
		{ "Host", "s3.amazonaws.com" },
		DATE,
		REDUCED,
		{ "x-amz-content-sha256",
		  "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER" },
		{ "Content-Encoding", "aws-chunked" },
		{ "x-amz-decoded-content-length", "66560" },
		{ "x-amz-trailer", "x-amz-checksum-crc32c" },
	};
	static const char lines[] = "x-amz-checksum-crc32c:sOO8/Q==\n";
	CLEANUP(str_release) struct str out = STR_INIT;
	struct sigv4_chain c, again;

	sign(*state, "PUT", "/examplebucket/chunkObject.txt", NULL, fields,
	     ARRAY_SIZE(fields), "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
	     &out, &c);
	assert_string_equal(
		c.last,
		"106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e");
	assert_int_equal(sigv4_chain_init(*state, &EXAMPLE, TIME, "us-east-1",
					  "s3", c.last, &again),
			 0);
	assert_memory_equal(again.key, c.key, sizeof(c.key));
	sign_chunk(
		*state, &again, 65536,
		"b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2");
	sign_chunk(
		*state, &again, 1024,
		"1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7");
	sign_chunk(
		*state, &again, 0,
		"2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992");
	assert_int_equal(
		sigv4_chain_trailer(*state, &again, lines, strlen(lines)), 0);
	assert_string_equal(
		again.last,
		"d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435");
}

/* More keys than the cache holds, and one id with two secrets. */
static void cached_keys_do_not_mix(void **state)
{
	struct sigv4_credentials c = EXAMPLE;
	struct sigv4_chain first, other, again;
	char region[16];

	assert_int_equal(
		sigv4_chain_init(*state, &c, TIME, "r0", "s3", "", &first), 0);
	for (int i = 1; i < 40; i++) {
		(void)snprintf(region, sizeof(region), "r%d", i);
		assert_int_equal(sigv4_chain_init(*state, &c, TIME, region,
						  "s3", "", &other),
				 0);
		assert_memory_not_equal(first.key, other.key, 32);
	}
	c.secret = "another";
	assert_int_equal(
		sigv4_chain_init(*state, &c, TIME, "r0", "s3", "", &other), 0);
	assert_memory_not_equal(first.key, other.key, 32);
	c = EXAMPLE;
	assert_int_equal(
		sigv4_chain_init(*state, &c, TIME, "r0", "s3", "", &again), 0);
	assert_memory_equal(first.key, again.key, 32);
	assert_int_equal(sigv4_chain_init(*state, &c, "2013", "r0", "s3", "",
					  &again),
			 -EINVAL);
}

static void claims_are_taken_apart(void **state)
{
	static const char header[] =
		"AWS4-HMAC-SHA256 Credential=A/20130524/eu-west-1/s3/aws4_request, "
		"SignedHeaders=host, Signature=0123";
	struct sigv4_claim c;

	(void)state;
	assert_int_equal(sigv4_claim_parse(header, &c), 0);
	assert_string_equal(c.region, "eu-west-1");
	assert_string_equal(c.signature, "");
	assert_int_equal(sigv4_claim_parse("AWS A:x", &c), -EINVAL);
	assert_int_equal(sigv4_claim_parse("AWS4-HMAC-SHA256 ", &c), -EINVAL);
	assert_int_equal(sigv4_claim_parse_scope("A/2013/x/s3", 11, &c),
			 -EINVAL);
	assert_int_equal(sigv4_claim_parse_scope("A//x/s3", 7, &c), -EINVAL);
}

static void targets_have_one_reading(void **state)
{
	static const struct {
		const char *path, *expected;
	} paths[] = {
		{ "/a/b", "/a/b" },
		{ "/a%2Fb%2fc", "/a/b/c" },
		{ "/%252F", "/%252F" },
		{ "/../a/./%7e", "/../a/./~" },
		{ "/a+b%20c d", "/a%2Bb%20c%20d" },
		{ "/\xf0\x9f\x98\x80%0a", "/%F0%9F%98%80%0A" },
		{ "//", "//" },
		{ "/%", NULL },
		{ "/%4", NULL },
		{ "/%zz", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		CLEANUP(str_release) struct str out = STR_INIT;
		int r = sigv4_path(&out, paths[i].path, strlen(paths[i].path));

		assert_int_equal(r, paths[i].expected ? 0 : -EINVAL);
		if (r == 0)
			assert_string_equal(str_cstr(&out), paths[i].expected);
	}
}

static void presigned_queries_lose_what_authorises(void **state)
{
	static const char query[] =
		"X-Amz-Algorithm=AWS4-HMAC-SHA256&uploads&X-Amz-Credential=A%2F1"
		"&prefix=a+b%2bc/d&&x-amz-security-token=t&versionId="
		"&X-Amz-Signature=0&Expires=1";
	CLEANUP(str_release) struct str out = STR_INIT;

	(void)state;
	assert_int_equal(sigv4_query(&out, query, strlen(query)), 0);
	assert_string_equal(out.data,
			    "uploads&prefix=a%20b%2Bc%2Fd&versionId=");
	assert_int_equal(sigv4_query(&out, "a=%g", 4), -EINVAL);
}

static void times_are_written_and_read(void **state)
{
	char text[SIGV4_TIME_SIZE];

	(void)state;
	sigv4_time_format(1369353600, text);
	assert_string_equal(text, TIME);
	assert_int_equal(sigv4_time_parse(text), 1369353600);
	assert_int_equal(sigv4_time_parse("20130524T000000"), -EINVAL);
	assert_int_equal(sigv4_time_parse("x"), -EINVAL);
}

static void failed_allocations_are_reported(void **state)
{
	static const struct http_field fields[] = { BUCKET, DATE };
	struct sigv4 *s = NULL;

	(void)state;
	alloc_fail_after(0);
	assert_int_equal(sigv4_new(&s), -ENOMEM);
	alloc_fail_never();
	assert_int_equal(sigv4_new(&s), 0);
	for (int i = 0, r = -ENOMEM; r < 0; i++) {
		CLEANUP(str_release) struct str out = STR_INIT;

		alloc_fail_after(i);
		r = sigv4_sign(
			s, &EXAMPLE,
			&(struct sigv4_request){ .method = "GET",
						 .path = "/",
						 .fields = fields,
						 .n_fields = 2,
						 .payload = SIGV4_UNSIGNED,
						 .time = TIME,
						 .region = "us-east-1",
						 .service = "s3" },
			&out, NULL);
		alloc_fail_never();
		/* -EIO: it was one of libcrypto. */
		assert_true(r == 0 || r == -ENOMEM || r == -EIO);
		assert_true(i < 10);
	}
	sigv4_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			published_requests_have_their_signatures, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			authorization_names_the_signed_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(values_are_collapsed_and_joined,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_published_chunks_have_their_signatures, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			the_published_trailer_has_its_signature, setup,
			teardown),
		cmocka_unit_test_setup_teardown(cached_keys_do_not_mix, setup,
						teardown),
		cmocka_unit_test(claims_are_taken_apart),
		cmocka_unit_test(targets_have_one_reading),
		cmocka_unit_test(presigned_queries_lose_what_authorises),
		cmocka_unit_test(times_are_written_and_read),
		cmocka_unit_test(failed_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
