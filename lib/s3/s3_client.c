/* s3_client.c - the client, what it has learned of buckets and of the server */
#include "s3/s3_client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "base/number.h"
#include "s3/aws_config.h"
#include "s3/s3_client_internal.h"

enum { DEFAULT_TRIES = 6, MOST_TRIES = 100 };

static unsigned find_tries(const struct s3_client_options *options)
{
	const char *text = aws_config_env("AWS_MAX_ATTEMPTS");
	int64_t n = options->max_tries;

	if (!n && !text)
		text = aws_config_get(options->config, "max_attempts");
	if (!n && (!text || number_parse(text, 1, MOST_TRIES, &n) < 0))
		n = DEFAULT_TRIES;
	return (unsigned)(n < MOST_TRIES ? n : MOST_TRIES);
}

/* Some servers of others know no checksums; AWS's setting for them counts here too. */
static enum s3_checksum_kind
find_checksum(const struct s3_client_options *options)
{
	const char *text = aws_config_env("AWS_REQUEST_CHECKSUM_CALCULATION");

	if (!text)
		text = aws_config_get(options->config,
				      "request_checksum_calculation");
	if (options->is_gcs || (text && !strcasecmp(text, "when_required")))
		return S3_CHECKSUM_MD5;
	return S3_CHECKSUM_CRC64NVME;
}

/* "payload_signing_enabled = true" in the profile's group "s3". */
static bool find_signing(const struct aws_config *config)
{
	const char *text = aws_config_find(config, AWS_PROFILE,
					   aws_config_profile(config), "s3",
					   "payload_signing_enabled");

	return text && !strcasecmp(text, "true");
}

int s3_client_new(const struct s3_client_options *options,
		  struct s3_client **ret, struct roar_error *err)
{
	CLEANUP(s3_client_freep) struct s3_client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return error_set(err, -ENOMEM, "out of memory");
	list_init(&c->calls);
	c->loop = options->loop;
	c->http = options->http;
	c->credentials = options->credentials;
	c->max_tries = find_tries(options);
	c->checksum = find_checksum(options);
	c->signs_payload = find_signing(options->config);
	r = s3_endpoint_init(&c->endpoint, options->config, options->is_gcs,
			     err);
	if (r < 0)
		return r;
	r = sigv4_new(&c->sigv4);
	if (r < 0)
		return error_set(err, r, "cannot sign requests: %s",
				 strerror(-r));
	*ret = TAKE_PTR(c);
	return 0;
}

void s3_client_free(struct s3_client *c)
{
	if (!c)
		return;
	LIST_EACH(it, after, &c->calls)
		s3_call_cancel(container_of(it, struct s3_call, link));
	s3_endpoint_release(&c->endpoint);
	sigv4_free(c->sigv4);
	map_release(&c->regions);
	pool_release(&c->pool);
	free(c);
}

const struct s3_endpoint *s3_client_endpoint(const struct s3_client *c)
{
	return &c->endpoint;
}

const char *s3_client_region(const struct s3_client *c, const char *bucket)
{
	const char *region = map_get(&c->regions, bucket, strlen(bucket));

	return region ? region : c->endpoint.region;
}

int s3_client_learn_region(struct s3_client *c, const char *bucket,
			   const char *region)
{
	const char *known = s3_client_region(c, bucket);
	char *name, *value;

	if (known && !strcmp(known, region))
		return 0;
	if (strlen(region) >= SIGV4_MAX_REGION)
		return -EINVAL;
	for (const char *p = region; *p; p++)
		if (!(*p >= 'a' && *p <= 'z') && !(*p >= '0' && *p <= '9') &&
		    *p != '-')
			return -EINVAL;
	name = pool_strdup(&c->pool, bucket);
	value = pool_strdup(&c->pool, region);
	return name && value ? map_set(&c->regions, name, strlen(name), value) :
			       -ENOMEM;
}
