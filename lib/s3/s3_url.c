/* s3_url.c - see s3_url.h */
#include "s3/s3_url.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "http/url.h"
#include "s3/aws_config.h"

#define GCS_URL "https://storage.googleapis.com"

/* ---- URLs of objects ---- */

bool s3_url_is_one(const char *text)
{
	return !strncmp(text, "s3://", 5) || !strncmp(text, "gs://", 5);
}

static bool bucket_has_char(unsigned char c)
{
	return isalnum(c) || c == '-' || c == '.' || c == '_';
}

int s3_url_parse(const char *text, struct s3_url *ret, struct roar_error *err)
{
	const char *bucket = text + 5;
	size_t len;

	if (!s3_url_is_one(text))
		return error_set(err, -EINVAL,
				 "'%s' does not start with s3:// or gs://",
				 text);
	len = strcspn(bucket, "/");
	if (!len || len > S3_MAX_BUCKET)
		return error_set(err, -EINVAL,
				 "'%.100s' has no bucket: write %.5sBUCKET/KEY",
				 text, text);
	for (size_t i = 0; i < len; i++)
		if (!bucket_has_char((unsigned char)bucket[i]))
			return error_set(
				err, -EINVAL,
				"'%.*s' cannot be the name of a bucket: it has "
				"letters, digits, '-', '.' and '_'",
				(int)len, bucket);
	ret->key = bucket[len] ? bucket + len + 1 : bucket + len;
	if (strlen(ret->key) > S3_MAX_KEY || !utf8_is_valid(ret->key))
		return error_set(err, -EINVAL,
				 "the key of '%.100s' is longer than %d bytes "
				 "or not UTF-8",
				 text, S3_MAX_KEY);
	ret->is_gcs = text[0] == 'g';
	memcpy(ret->bucket, bucket, len);
	ret->bucket[len] = '\0';
	return 0;
}

/* Can the bucket be a label of a host name, for which `*.s3.amazonaws.com` has a certificate? */
static bool bucket_is_label(const char *bucket)
{
	size_t len = strlen(bucket);

	if (len < 3 || len > 63)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bucket[i];

		if (!islower(c) && !isdigit(c) &&
		    (c != '-' || i == 0 || i == len - 1))
			return false;
	}
	return true;
}

/* ---- endpoints ---- */

static int set_url(struct s3_endpoint *e, const char *url,
		   struct roar_error *err)
{
	struct http_url parsed;
	size_t len = strlen(url);
	int r = http_url_parse(url, &parsed);

	if (r == 0 && parsed.userinfo)
		return error_set(err, -EINVAL, S3_ENDPOINT_HAS_USER);
	if (r < 0 || strpbrk(parsed.target, "?#"))
		return error_set(err, -EINVAL,
				 "the endpoint '%.200s' is not a URL such as "
				 "https://host:9000",
				 url);
	while (len && url[len - 1] == '/')
		len--;
	if (asprintf(&e->url, "%s%.*s", strstr(url, "://") ? "" : "http://",
		     (int)len, url) < 0) {
		e->url = NULL;
		return error_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int set_style(struct s3_endpoint *e, const struct aws_config *config,
		     struct roar_error *err)
{
	const char *style = aws_config_find(config, AWS_PROFILE,
					    aws_config_profile(config), "s3",
					    "addressing_style");

	if (!style || !strcmp(style, "auto"))
		e->style = S3_STYLE_AUTO;
	else if (!strcmp(style, "path"))
		e->style = S3_STYLE_PATH;
	else if (!strcmp(style, "virtual"))
		e->style = S3_STYLE_VIRTUAL;
	else
		return error_set(err, -EINVAL,
				 "addressing_style of profile '%s' is '%.20s': "
				 "it can be auto, path or virtual",
				 aws_config_profile(config), style);
	return 0;
}

bool s3_region_is_valid(const char *region)
{
	size_t len = strlen(region);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)region[i]) && region[i] != '-')
			return false;
	return len && len < SIGV4_MAX_REGION;
}

int s3_endpoint_init(struct s3_endpoint *e, const struct aws_config *config,
		     bool is_gcs, struct roar_error *err)
{
	const char *region = is_gcs ? "auto" : aws_config_region(config);
	const char *url = is_gcs ? aws_config_env("GS_ENDPOINT_URL") :
				   aws_config_endpoint(config, "s3");
	int r;

	*e = (struct s3_endpoint){ .is_gcs = is_gcs };
	if (!region)
		region = "us-east-1";
	if (!s3_region_is_valid(region))
		return error_set(err, -EINVAL,
				 "'%.64s' is not the name of a region such as "
				 "us-east-1",
				 region);
	(void)snprintf(e->region, sizeof(e->region), "%s", region);
	if (is_gcs && !url)
		url = GCS_URL;
	r = url ? set_url(e, url, err) : 0;
	if (r == 0 && !is_gcs)
		r = set_style(e, config, err);
	if (r < 0)
		s3_endpoint_release(e);
	return r;
}

void s3_endpoint_release(struct s3_endpoint *e)
{
	free(e->url);
	e->url = NULL;
}

static bool is_virtual(const struct s3_endpoint *e, const char *bucket)
{
	if (!*bucket || e->style == S3_STYLE_PATH)
		return false;
	if (e->style == S3_STYLE_VIRTUAL)
		return true;
	return !e->url && bucket_is_label(bucket);
}

static void add_aws(const char *region, const char *bucket, struct str *origin)
{
	str_addf(origin, "https://%s%ss3.%s.amazonaws.com%s", bucket,
		 *bucket ? "." : "", region,
		 !strncmp(region, "cn-", 3) ? ".cn" : "");
}

/* The URL's path stays before everything. */
static void add_configured(const char *url, const char *bucket,
			   struct str *origin, struct str *path)
{
	const char *host = strstr(url, "://") + 3;
	size_t host_len = strcspn(host, "/");

	str_add(origin, url, (size_t)(host - url));
	if (*bucket)
		str_addf(origin, "%s.", bucket);
	str_add(origin, host, host_len);
	str_adds(path, host + host_len);
}

void s3_endpoint_address(const struct s3_endpoint *e, const char *region,
			 const char *bucket, const char *key,
			 struct str *origin, struct str *path)
{
	const char *label = is_virtual(e, bucket) ? bucket : "";

	assert(*bucket || !*key);
	if (e->url)
		add_configured(e->url, label, origin, path);
	else
		add_aws(region ? region : e->region, label, origin);
	if (!*label && *bucket)
		str_addf(path, "/%s", bucket);
	str_addc(path, '/');
	sigv4_escape(path, key, strlen(key), true);
}
