/* s3_driver.h - S3 for a command: its own loop, and calls that are waited for.
 *
 * A driver has all that clients need: the configuration, TLS with the trusted authorities of
 * the system (or AWS_CA_BUNDLE), proxies of the environment, and a pool of connections.  The
 * clients for s3:// and gs:// are made when they are first asked for.
 *
 * The keys for gs:// are GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY (an HMAC key of a service
 * account), else those for s3://. */
#ifndef S3_DRIVER_H
#define S3_DRIVER_H

#include "base/cleanup.h"
#include "s3/s3_client.h"

struct s3_driver;

/* Reads the configuration; contacts nobody.  `max_connections` to one server. */
int s3_driver_new(unsigned max_connections, struct s3_driver **ret,
		  struct roar_error *err);
void s3_driver_free(struct s3_driver *d);
DEFINE_CLEANUP(struct s3_driver *, s3_driver_free)

struct loop *s3_driver_loop(struct s3_driver *d);

/* The client, which is the driver's. */
int s3_driver_client(struct s3_driver *d, bool is_gcs, struct s3_client **ret,
		     struct roar_error *err);
/* One for URLs alone, which signs nothing. */
int s3_driver_plain_client(struct s3_driver *d, struct s3_client **ret,
			   struct roar_error *err);

/* Runs the loop until `*done`, or `*stop` (which a signal may set; NULL: nothing does): then
 * -EINTR.  Calls `tick` about ten times a second, unless it is NULL. */
int s3_driver_run(struct s3_driver *d, const bool *done,
		  const volatile int *stop, void (*tick)(void *data),
		  void *data);

/* ---- calls that are waited for ---- */

/* Objects whose keys start with `prefix`, in order, page by page, each given to `fn` once; a
 * negative answer ends it.  `max` bounds their number: -EFBIG. */
int s3_driver_list(struct s3_driver *d, struct s3_client *client,
		   const char *bucket, const char *prefix, size_t max,
		   int (*fn)(void *data, const struct s3_object *object),
		   void *data, struct roar_error *err);

/* Facts of an object, or of what is at a URL. */
struct s3_facts {
	int64_t size_bytes; /* -1: not known */
	char etag[144]; /* "": none */
	char blake3[65]; /* that whoever stored it gave, in hex; "": none */
	char version[256]; /* "": none */
	bool has_ranges; /* parts can be asked for */
	char *url; /* where redirects led to; malloc()ed, NULL: not a URL */
};

/* -ENOENT when there is no such object. */
int s3_driver_stat(struct s3_driver *d, struct s3_client *client,
		   const char *bucket, const char *key, struct s3_facts *ret,
		   struct roar_error *err);
/* The same of a URL: asks for its first byte, and follows redirects. */
int s3_driver_stat_url(struct s3_driver *d, const char *url,
		       struct s3_facts *ret, struct roar_error *err);

/* The field that has the BLAKE3 of an object, in hex. */
#define S3_BLAKE3_FIELD "x-amz-meta-roar-blake3"

#endif
