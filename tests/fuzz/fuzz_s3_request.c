/* fuzz_s3_request.c - heads of requests, with any target.
 *
 * Promises: a path and query that were accepted stay as they are when they are read again,
 * with the same bucket and key; keys and buckets are bounded. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "s3/s3_request.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void read_again(const struct s3_request *q, const char *method)
{
	struct str target = STR_INIT;
	struct http_head head = { .method = method };
	struct http_field host = { "Host", "127.0.0.1" };
	struct pool pool = POOL_INIT;
	const struct s3_refusal *refusal;
	struct s3_request again;

	if (q->bucket_in_host)
		return;
	str_addf(&target, "%s?%s", q->path, q->query);
	head.target = target.data;
	head.fields = &host;
	head.n_fields = 1;
	check(s3_request_parse(&again, &pool, &head, NULL, &refusal) == 0);
	check(strcmp(again.path, q->path) == 0);
	check(strcmp(again.query, q->query) == 0);
	check(strcmp(again.bucket, q->bucket) == 0);
	check(strcmp(again.key, q->key) == 0);
	check(again.auth == S3_AUTH_NONE);
	pool_release(&pool);
	str_release(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t scanned = 0;
	ssize_t n = http_head_find((const char *)data, len, &scanned);
	const struct s3_refusal *refusal = NULL;
	struct pool pool = POOL_INIT;
	struct http_head head;
	struct s3_request q;
	unsigned status;
	int r;

	if (n <= 0 ||
	    http_head_parse(&head, HTTP_HEAD_REQUEST, (const char *)data,
			    (size_t)n, &status, NULL) < 0)
		return 0;
	r = s3_request_parse(&q, &pool, &head, "up.example", &refusal);
	check(r == 0 || (r == -EINVAL && refusal && refusal->status >= 400));
	if (r == 0) {
		check(strlen(q.key) <= S3_REQUEST_MAX_KEY);
		check(strlen(q.bucket) <= S3_REQUEST_MAX_BUCKET);
		check(q.bucket[0] || !q.key[0]);
		check(q.path[0] == '/');
		read_again(&q, head.method);
	}
	http_head_release(&head);
	pool_release(&pool);
	return 0;
}
