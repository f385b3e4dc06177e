/* s3_retry.c - what a failure means: again, elsewhere, or the end */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/macros.h"
#include "base/number.h"
#include "s3/s3_client_internal.h"

enum { FIRST_PAUSE_MS = 100, MOST_PAUSE_MS = 20 * 1000 };

int s3_retry_errno(unsigned status)
{
	static const struct {
		unsigned status;
		int error;
	} table[] = { { 401, -EACCES },
		      { 403, -EACCES },
		      { 404, -ENOENT },
		      { 412, -ESTALE },
		      { 416, -ERANGE } };

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].status == status)
			return table[i].error;
	return -EREMOTEIO;
}

/* Any number below `bound`; retries are rare, so each asks the kernel. */
static uint32_t random_below(uint32_t bound)
{
	uint32_t n = 0;

	(void)!getrandom(&n, sizeof(n), GRND_NONBLOCK);
	return n % bound;
}

/* Between nothing and a bound that doubles; at least what the server asks for. */
int64_t s3_retry_pause_ms(unsigned n_tries, const struct http_head *head)
{
	int64_t most = FIRST_PAUSE_MS;
	const char *asked = head ? http_head_get(head, "Retry-After") : NULL;
	int64_t least = 0, pause;

	for (unsigned i = 0; i < n_tries && most < MOST_PAUSE_MS; i++)
		most *= 2;
	pause = random_below(
		(uint32_t)(most < MOST_PAUSE_MS ? most : MOST_PAUSE_MS));
	/* It may be a date instead, or absurd: then the bound holds. */
	if (asked && number_parse(asked, 0, MOST_PAUSE_MS / 1000, &least) < 0)
		least = MOST_PAUSE_MS / 1000;
	least *= 1000;
	return pause > least ? pause : least;
}

/* ---- the bucket is in another region ---- */

static bool is_elsewhere(struct s3_call *c, const struct http_head *head,
			 const struct s3_error *s3)
{
	const char *region = http_head_get(head, "x-amz-bucket-region");

	if (head->status != 301 && head->status != 307 && head->status != 400 &&
	    head->status != 403)
		return false;
	if (!region || !*region)
		region = s3->region;
	/* Another call may have learned it while this one was under way. */
	if (c->q.url || c->n_redirects >= S3_MAX_REDIRECTS || !*region ||
	    !strcmp(region, c->region) ||
	    s3_client_learn_region(c->client, c->q.bucket, region) < 0)
		return false;
	c->n_redirects++;
	return true;
}

/* ---- a checksum that the server does not have ---- */

static bool is_unknown_checksum(struct s3_call *c, const struct http_head *head,
				const struct s3_error *s3)
{
	struct s3_client *client = c->client;

	if (!c->q.has_checksum || c->checksum_kind == S3_CHECKSUM_MD5)
		return false;
	if (head->status != 501 && !strcasestr(s3->message, "checksum"))
		return false;
	if (!strcmp(s3->code, "BadDigest"))
		return false; /* it was checked, and is wrong */
	client->checksum = S3_CHECKSUM_MD5;
	c->has_payload = false;
	return true;
}

/* ---- the server, or the way to it, is in trouble ---- */

static bool is_overloaded(const struct http_head *head,
			  const struct s3_error *s3)
{
	static const char *const codes[] = {
		"SlowDown",
		"InternalError",
		"RequestTimeout",
		"ServiceUnavailable",
		"Throttling",
		"ThrottlingException",
		"RequestThrottled",
		"RequestLimitExceeded",
		"TooManyRequestsException",
	};

	if (head->status == 429 || head->status == 500 || head->status == 502 ||
	    head->status == 503 || head->status == 504)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (!strcmp(s3->code, codes[i]))
			return true;
	return false;
}

static bool is_lost(int error)
{
	static const int errors[] = {
		-ECONNREFUSED, -ECONNRESET,  -ECONNABORTED, -EPIPE,  -ETIMEDOUT,
		-EHOSTUNREACH, -ENETUNREACH, -ENETDOWN,	    -EAGAIN,
	};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i] == error)
			return true;
	return false;
}

/* Was nothing done, for sure? */
static bool was_refused(int error, const struct http_head *head)
{
	if (head)
		return head->status == 503 || head->status == 429;
	return error == -ECONNREFUSED || error == -EHOSTUNREACH ||
	       error == -ENETUNREACH || error == -EAGAIN;
}

enum s3_verdict s3_retry_judge(struct s3_call *c, int error,
			       const struct http_head *head,
			       const struct s3_error *s3)
{
	if (head && !error && is_elsewhere(c, head, s3))
		return S3_RETRIES_AT_ONCE;
	if (head && !error && is_unknown_checksum(c, head, s3))
		return S3_RETRIES_AT_ONCE;
	if (head && !error && !c->was_expired && c->client->credentials &&
	    !strcmp(s3->code, "ExpiredToken")) {
		c->was_expired = true;
		credentials_expire(c->client->credentials);
		return S3_RETRIES_AT_ONCE;
	}
	if (error ? !is_lost(error) : !is_overloaded(head, s3))
		return S3_ENDS;
	if (c->q.is_once && !was_refused(error, error ? NULL : head))
		return S3_ENDS;
	return c->n_tries < c->client->max_tries ? S3_RETRIES : S3_ENDS;
}
