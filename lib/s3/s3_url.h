/* s3_url.h - which object a URL means, and where its server is.
 *
 *	s3://bucket/key		S3, or a server that speaks its protocol
 *	gs://bucket/key		Google Cloud Storage, by its S3-compatible endpoint
 *
 * A key is what follows, byte for byte: nothing in it is escaped, and "//", "." and ".." mean
 * nothing.
 *
 * The endpoint of s3:// is that of aws_config_endpoint(), else AWS's own for the region.  That of
 * gs:// is GS_ENDPOINT_URL, else https://storage.googleapis.com.  With AWS the bucket is part of
 * the host name where it can be; with others it is the first part of the path, unless the
 * profile says "addressing_style = virtual". */
#ifndef S3_URL_H
#define S3_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"
#include "s3/sigv4.h"

struct aws_config;

enum {
	S3_MAX_BUCKET = 255, /* bytes; of new ones 63 */
	S3_MAX_KEY = 1024,
};

struct s3_url {
	bool is_gcs;
	char bucket[S3_MAX_BUCKET + 1];
	const char *key; /* in the text that was parsed; "" without one */
};

/* Does the text start with "s3://" or "gs://"? */
bool s3_url_is_one(const char *text);
/* -EINVAL with a sentence: no bucket, one that cannot be a bucket, or a key that is too long or
 * not UTF-8. */
int s3_url_parse(const char *text, struct s3_url *ret, struct roar_error *err);

/* Can it be the name of a region? */
bool s3_region_is_valid(const char *region);

enum s3_style { S3_STYLE_AUTO, S3_STYLE_PATH, S3_STYLE_VIRTUAL };

/* Of an endpoint like https://user:password@host.  It is not quoted: this may be logged. */
#define S3_ENDPOINT_HAS_USER                                                  \
	"the endpoint's URL has a user name or password: remove it, and set " \
	"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"

struct s3_endpoint {
	bool is_gcs;
	char *url; /* without a "/" at the end; NULL: AWS's own */
	enum s3_style style;
	char region[SIGV4_MAX_REGION]; /* that requests are signed for */
};

/* -EINVAL with a sentence: what was configured cannot be an endpoint. */
int s3_endpoint_init(struct s3_endpoint *e, const struct aws_config *config,
		     bool is_gcs, struct roar_error *err);
void s3_endpoint_release(struct s3_endpoint *e);

/* Appends what http_call_request wants.  `region` is the bucket's, where that is known; NULL: the
 * endpoint's.  An empty key is the bucket itself. */
void s3_endpoint_address(const struct s3_endpoint *e, const char *region,
			 const char *bucket, const char *key,
			 struct str *origin, struct str *path);

#endif
