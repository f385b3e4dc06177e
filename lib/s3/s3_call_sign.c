/* s3_call_sign.c - the fields of one try: address, payload, checksum, signature */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hash/digest/digest.h"
#include "http/url.h"
#include "s3/s3_client_internal.h"

/* The fields of a try, and the texts of some. */
struct
try {
	struct http_field fields[S3_CALL_MAX_FIELDS];
	size_t n;
	struct str origin, path, target, authorization;
	char time[SIGV4_TIME_SIZE];
	char range[64];
	char etag[160];
};

static void release_try(struct try *t)
{
	str_release(&t->origin);
	str_release(&t->path);
	str_release(&t->target);
	str_release(&t->authorization);
}

static void add_field(struct try *t, const char *name, const char *value)
{
	assert(t->n < S3_CALL_MAX_FIELDS);
	t->fields[t->n++] = (struct http_field){ name, value };
}

/* ---- the body ---- */

static int take_checksum(struct s3_call *c)
{
	struct s3_checksum sum;
	int r;

	c->checksum_kind = c->client->checksum;
	if (c->q.crc64nvme && c->checksum_kind == S3_CHECKSUM_CRC64NVME) {
		(void)snprintf(c->checksum, sizeof(c->checksum), "%s",
			       c->q.crc64nvme);
		return 0;
	}
	r = s3_checksum_init(&sum, c->checksum_kind);
	if (r < 0)
		return r;
	s3_checksum_update(&sum, c->q.body, c->q.len);
	r = s3_checksum_final(&sum, c->checksum);
	s3_checksum_release(&sum);
	return r;
}

/* Once for all tries: hashing a part takes longer than anything else here. */
static int take_payload(struct s3_call *c, bool is_safe)
{
	uint8_t digest[32];
	int r = 0;

	if (c->has_payload)
		return 0;
	if (!c->q.len) {
		(void)snprintf(c->payload, sizeof(c->payload), "%s",
			       SIGV4_EMPTY_SHA256);
	} else if (is_safe && !c->client->signs_payload) {
		(void)snprintf(c->payload, sizeof(c->payload), "%s",
			       SIGV4_UNSIGNED);
	} else {
		r = sigv4_sha256(c->client->sigv4, c->q.body, c->q.len, digest);
		digest_hex(c->payload, digest, sizeof(digest));
	}
	if (r == 0 && c->q.has_checksum)
		r = take_checksum(c);
	c->has_payload = r == 0;
	return r;
}

static void add_checksum(const struct s3_call *c, struct try *t)
{
	if (!c->q.has_checksum)
		return;
	add_field(t,
		  c->checksum_kind == S3_CHECKSUM_MD5 ?
			  "Content-MD5" :
			  s3_checksum_field(c->checksum_kind),
		  c->checksum);
}

/* ---- ranges ---- */

/* What is left of it, of the content that was read before. */
static void add_range(const struct s3_call *c, struct try *t)
{
	int64_t from = c->q.from + c->n_delivered;

	if (c->etag) {
		(void)snprintf(t->etag, sizeof(t->etag), "\"%s\"", c->etag);
		add_field(t, "If-Match", t->etag);
	}
	if (!from && c->q.to < 0)
		return;
	if (c->q.to < 0)
		(void)snprintf(t->range, sizeof(t->range), "bytes=%" PRId64 "-",
			       from);
	else
		(void)snprintf(t->range, sizeof(t->range),
			       "bytes=%" PRId64 "-%" PRId64, from, c->q.to - 1);
	add_field(t, "Range", t->range);
}

/* ---- the address ---- */

/* Can nobody on the way change what is sent?  With TLS, and within this machine. */
static bool is_safe(const char *origin)
{
	struct http_url url;

	return http_url_parse(origin, &url) == 0 &&
	       (url.is_tls || !strcmp(url.host, "localhost") ||
		!strcmp(url.host, "::1") || !strncmp(url.host, "127.", 4));
}

static int add_address(struct s3_call *c, struct try *t)
{
	struct http_url url;

	if (c->q.url) {
		if (http_url_parse(c->q.url, &url) < 0)
			return -EINVAL;
		str_add(&t->origin, c->q.url,
			strlen(c->q.url) - strlen(url.target));
		str_adds(&t->path, *url.target ? url.target : "/");
	} else {
		s3_endpoint_address(&c->client->endpoint,
				    s3_client_region(c->client, c->q.bucket),
				    c->q.bucket, c->q.key, &t->origin,
				    &t->path);
	}
	str_adds(&t->target, str_cstr(&t->path));
	if (c->q.query && *c->q.query)
		str_addf(&t->target, "?%s", c->q.query);
	return t->origin.failed || t->path.failed || t->target.failed ?
		       -ENOMEM :
		       0;
}

/* ---- the signature ---- */

static int sign(struct s3_call *c, struct try *t,
		const struct sigv4_credentials *keys)
{
	int r;

	(void)snprintf(c->region, sizeof(c->region), "%s",
		       s3_client_region(c->client, c->q.bucket));
	add_field(t, "X-Amz-Content-Sha256", c->payload);
	if (!keys)
		return 0;
	sigv4_time_format(loop_wall_ms(c->client->loop) / 1000, t->time);
	add_field(t, "X-Amz-Date", t->time);
	if (keys->token)
		add_field(t, "X-Amz-Security-Token", keys->token);
	r = sigv4_sign(c->client->sigv4, keys,
		       &(struct sigv4_request){ .method = c->q.method,
						.path = str_cstr(&t->path),
						.query = c->q.query,
						.fields = t->fields,
						.n_fields = t->n,
						.payload = c->payload,
						.time = t->time,
						.region = c->region,
						.service = "s3" },
		       &t->authorization, NULL);
	if (r < 0)
		return r;
	add_field(t, "Authorization", str_cstr(&t->authorization));
	return 0;
}

int s3_call_send(struct s3_call *c, const struct sigv4_credentials *keys,
		 const struct http_call_events *events)
{
	CLEANUP(release_try) struct try t = { 0 };
	int r = add_address(c, &t);

	if (r < 0)
		return r;
	add_field(&t, "Host", strstr(t.origin.data, "://") + 3);
	for (size_t i = 0; i < c->q.n_fields; i++)
		add_field(&t, c->q.fields[i].name, c->q.fields[i].value);
	add_range(c, &t);
	if (!c->q.url) {
		r = take_payload(c, is_safe(t.origin.data));
		if (r < 0)
			return r;
		add_checksum(c, &t);
		r = sign(c, &t, keys);
		if (r < 0)
			return r;
	}
	return http_call_begin(c->client->http,
			       &(struct http_call_request){
				       .method = c->q.method,
				       .origin = t.origin.data,
				       .target = t.target.data,
				       .fields = t.fields,
				       .n_fields = t.n,
				       .body = c->q.len ? c->q.body : NULL,
				       .length = (int64_t)c->q.len },
			       events, c, &c->http);
}
