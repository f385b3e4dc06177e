/* What requests ask for: buckets, keys, operations, payload modes, and who asks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "s3/s3_request.h"

struct parsed {
	struct http_head head;
	struct pool pool;
	struct s3_request q;
	const struct s3_refusal *refusal;
	int r;
};

static void parse(struct parsed *p, const char *text)
{
	unsigned status;

	*p = (struct parsed){ .pool = POOL_INIT };
	assert_int_equal(http_head_parse(&p->head, HTTP_HEAD_REQUEST, text,
					 strlen(text), &status, NULL),
			 0);
	p->r = s3_request_parse(&p->q, &p->pool, &p->head, "up.example",
				&p->refusal);
}

static void parsed_release(struct parsed *p)
{
	http_head_release(&p->head);
	pool_release(&p->pool);
}

#define LOCAL "Host: 127.0.0.1:9000\r\n"

static void targets_name_buckets_and_keys(void **state)
{
	static const struct {
		const char *target, *host, *bucket, *key, *path;
		bool in_host;
	} cases[] = {
		{ "/b/k", "127.0.0.1:9", "b", "k", "/b/k", false },
		{ "/b/a/b%2Fc", "[::1]:9", "b", "a/b/c", "/b/a/b/c", false },
		{ "/b/%252F+%2b", "localhost", "b", "%2F++", "/b/%252F%2B%2B",
		  false },
		{ "/b//../x%0a%20", "localhost", "b", "/../x\n ",
		  "/b//../x%0A%20", false },
		{ "/b/%f0%9f%98%80", "h", "b", "\xf0\x9f\x98\x80",
		  "/b/%F0%9F%98%80", false },
		{ "/b/", "localhost", "b", "", "/b/", false },
		{ "/b", "localhost", "b", "", "/b", false },
		{ "/", "localhost", "", "", "/", false },
		{ "/k/l", "b.localhost:9", "b", "k/l", "/k/l", true },
		{ "/k", "b.c.up.example", "b.c", "k", "/k", true },
		{ "/k", "up.example", "k", "", "/k", false },
		{ "/k", "b.s3.eu-west-1.amazonaws.com", "b", "k", "/k", true },
		{ "/k", "s3-b.s3-us-west-2.amazonaws.com", "s3-b", "k", "/k",
		  true },
		{ "/b/k", "s3.amazonaws.com", "b", "k", "/b/k", false },
		{ "http://b.localhost/k?x", "h", "b", "k", "/k", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(parsed_release) struct parsed p;
		char text[512];

		(void)snprintf(text, sizeof(text),
			       "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n",
			       cases[i].target, cases[i].host);
		parse(&p, text);
		assert_int_equal(p.r, 0);
		assert_string_equal(p.q.bucket, cases[i].bucket);
		assert_string_equal(p.q.key, cases[i].key);
		assert_string_equal(p.q.path, cases[i].path);
		assert_int_equal(p.q.bucket_in_host, cases[i].in_host);
	}
}

static void methods_and_parameters_select_the_operation(void **state)
{
	static const struct {
		enum object_op_kind op;
		const char *start, *fields;
	} cases[] = {
		{ OBJECT_GET, "GET /b/k", "" },
		{ OBJECT_GET, "GET /b/k?partNumber=2&versionId=v", "" },
		{ OBJECT_OTHER, "GET /b/k?tagging", "" },
		{ OBJECT_OTHER, "GET /b/k?uploadId=u", "" },
		{ OBJECT_HEAD, "HEAD /b/k", "" },
		{ OBJECT_PUT, "PUT /b/k", "" },
		{ OBJECT_PUT, "PUT /b/k?x-id=PutObject", "" },
		{ OBJECT_OTHER, "PUT /b/k?acl", "" },
		{ OBJECT_COPY, "PUT /b/k", "x-amz-copy-source: /a/b\r\n" },
		{ OBJECT_UPLOAD_PART, "PUT /b/k?partNumber=3&uploadId=u", "" },
		{ OBJECT_UPLOAD_PART_COPY, "PUT /b/k?partNumber=3&uploadId=u",
		  "x-amz-copy-source: a/b\r\n" },
		{ OBJECT_CREATE_UPLOAD, "POST /b/k?uploads", "" },
		{ OBJECT_CREATE_UPLOAD, "POST /b/k?uploads=", "" },
		{ OBJECT_COMPLETE_UPLOAD, "POST /b/k?uploadId=u", "" },
		{ OBJECT_OTHER, "POST /b/k?restore", "" },
		{ OBJECT_ABORT_UPLOAD, "DELETE /b/k?uploadId=u", "" },
		{ OBJECT_DELETE, "DELETE /b/k?versionId=v", "" },
		{ OBJECT_LIST, "GET /b", "" },
		{ OBJECT_LIST, "GET /b/?list-type=2&prefix=a", "" },
		{ OBJECT_LIST, "GET /b?versions", "" },
		{ OBJECT_OTHER, "GET /b?location", "" },
		{ OBJECT_OTHER, "GET /b?uploads", "" },
		{ OBJECT_OTHER, "GET /", "" },
		{ OBJECT_OTHER, "PUT /b", "" },
		{ OBJECT_OTHER, "POST /b?delete", "" },
		{ OBJECT_OTHER, "PATCH /b/k", "" },
		{ OBJECT_PUT, "POST /b",
		  "content-type: multipart/form-data; boundary=x\r\n" },
		{ OBJECT_OTHER, "POST /b", "content-type: text/xml\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(parsed_release) struct parsed p;
		char text[512];

		(void)snprintf(text, sizeof(text),
			       "%s HTTP/1.1\r\n" LOCAL "%s\r\n", cases[i].start,
			       cases[i].fields);
		parse(&p, text);
		assert_int_equal(p.r, 0);
		assert_int_equal(p.q.op, cases[i].op);
		assert_int_equal(p.q.is_multi_delete,
				 strcmp(cases[i].start, "POST /b?delete") == 0);
	}
}

static void parameters_are_decoded(void **state)
{
	CLEANUP(parsed_release) struct parsed p;

	(void)state;
	parse(&p, "PUT /b/k?partNumber=12&uploadId=a%2Bb+c&versionId=%20 "
		  "HTTP/1.1\r\n" LOCAL
		  "x-amz-copy-source: /src/a%20b+c?versionId=v1\r\n\r\n");
	assert_int_equal(p.r, 0);
	assert_int_equal(p.q.part, 12);
	assert_string_equal(p.q.upload_id, "a+b c");
	assert_string_equal(p.q.version, " ");
	assert_string_equal(p.q.copy_source, "src/a b+c?versionId=v1");
	assert_string_equal(p.q.query,
			    "partNumber=12&uploadId=a%2Bb%20c&versionId=%20");
}

static void payload_modes_are_known(void **state)
{
	static const struct {
		int mode; /* -1: refused */
		const char *fields;
	} cases[] = {
		{ S3_PAYLOAD_NONE, "" },
		{ S3_PAYLOAD_UNSIGNED,
		  "x-amz-content-sha256: UNSIGNED-PAYLOAD\r\n" },
		{ S3_PAYLOAD_SHA256,
		  "x-amz-content-sha256: " SIGV4_EMPTY_SHA256 "\r\n" },
		{ S3_PAYLOAD_CHUNKS_SIGNED,
		  "x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\n"
		  "x-amz-decoded-content-length: 5\r\n" },
		{ S3_PAYLOAD_CHUNKS_SIGNED_TRAILER,
		  "x-amz-content-sha256: "
		  "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER\r\n"
		  "x-amz-decoded-content-length: 5\r\n" },
		{ -1,
		  "x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER\r\n" },
		{ -1,
		  "x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER\r\n"
		  "x-amz-decoded-content-length: 5x\r\n" },
		{ -1,
		  "x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER\r\n"
		  "x-amz-decoded-content-length: 9000000000000000000\r\n" },
		{ -1, "x-amz-content-sha256: abc\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(parsed_release) struct parsed p;
		char text[512];

		(void)snprintf(text, sizeof(text),
			       "PUT /b/k HTTP/1.1\r\n" LOCAL "%s\r\n",
			       cases[i].fields);
		parse(&p, text);
		assert_int_equal(p.r, cases[i].mode < 0 ? -EINVAL : 0);
		if (p.r == 0)
			assert_int_equal(p.q.payload, cases[i].mode);
		else
			assert_true(p.refusal->status >= 400);
	}
}

static void clients_authorise_by_field_or_query(void **state)
{
	static const struct {
		enum s3_auth auth;
		int64_t expires_s;
		const char *text, *region;
	} cases[] = {
		{ S3_AUTH_NONE, INT64_MAX, "GET /b/k HTTP/1.1\r\n" LOCAL "\r\n",
		  "" },
		{ S3_AUTH_FIELD, INT64_MAX,
		  "GET /b/k HTTP/1.1\r\n" LOCAL
		  "Authorization: AWS4-HMAC-SHA256 Credential="
		  "A/20130524/eu-west-1/s3/aws4_request\r\n\r\n",
		  "eu-west-1" },
		{ S3_AUTH_FIELD, INT64_MAX,
		  "GET /b/k HTTP/1.1\r\n" LOCAL
		  "Authorization: AWS A:sig\r\n\r\n",
		  "" },
		{ S3_AUTH_QUERY, 1369353600 + 60,
		  "GET /b/k?X-Amz-Credential=A%2F20130524%2Feu-west-1%2Fs3%2F"
		  "aws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=60"
		  "&X-Amz-Signature=0 HTTP/1.1\r\n" LOCAL "\r\n",
		  "eu-west-1" },
		{ S3_AUTH_QUERY, 1369353600,
		  "GET /b/k?AWSAccessKeyId=A&Signature=s%3D&Expires=1369353600 "
		  "HTTP/1.1\r\n" LOCAL "\r\n",
		  "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(parsed_release) struct parsed p;

		parse(&p, cases[i].text);
		assert_int_equal(p.r, 0);
		assert_int_equal(p.q.auth, cases[i].auth);
		assert_int_equal(p.q.expires_s, cases[i].expires_s);
		assert_string_equal(p.q.claim.region, cases[i].region);
		assert_string_equal(p.q.query, "");
	}
}

static void what_cannot_be_a_target_is_refused(void **state)
{
	static const char *const targets[] = { "/b/%", "/b/%00", "/b?x=%g",
					       "//k" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		CLEANUP(parsed_release) struct parsed p;
		char text[512];

		(void)snprintf(text, sizeof(text),
			       "GET %s HTTP/1.1\r\n" LOCAL "\r\n", targets[i]);
		parse(&p, text);
		assert_int_equal(p.r, -EINVAL);
		assert_int_equal(p.refusal->status, 400);
	}
}

static void long_keys_are_refused(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(parsed_release) struct parsed p, q;

	(void)state;
	str_adds(&text, "GET /b/");
	str_pad(&text, 'k', S3_REQUEST_MAX_KEY);
	str_adds(&text, " HTTP/1.1\r\n" LOCAL "\r\n");
	parse(&p, text.data);
	assert_int_equal(p.r, 0);
	memmove(text.data + 8, text.data + 7, text.len - 7);
	str_adds(&text, "\n");
	parse(&q, text.data);
	assert_int_equal(q.r, -EINVAL);
	assert_string_equal(q.refusal->code, "KeyTooLongError");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_name_buckets_and_keys),
		cmocka_unit_test(methods_and_parameters_select_the_operation),
		cmocka_unit_test(parameters_are_decoded),
		cmocka_unit_test(payload_modes_are_known),
		cmocka_unit_test(clients_authorise_by_field_or_query),
		cmocka_unit_test(what_cannot_be_a_target_is_refused),
		cmocka_unit_test(long_keys_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
