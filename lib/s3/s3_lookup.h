/* s3_lookup.h - questions about objects that any thread may ask; it waits for the answer.
 *
 * Both may end with -EINTR (source_set_interrupt()) and with the errors of calls
 * (s3_client.h). */
#ifndef S3_LOOKUP_H
#define S3_LOOKUP_H

#include <stdint.h>

#include "base/error.h"
#include "base/pool.h"
#include "s3/s3_url.h"
#include "s3/s3_xml.h"

struct s3_version {
	int64_t size_bytes;
	char etag[144];
};

/* Of which content an object is now.  -ENOENT: there is none. */
int s3_lookup_head(const struct s3_url *url, struct s3_version *ret,
		   struct roar_error *err);

enum { S3_LOOKUP_MAX = 1000000 }; /* objects of a list */

struct s3_lookup_list {
	struct s3_object *objects; /* in the order of their keys */
	size_t n, cap;
	struct pool pool; /* of their names */
};

/* The objects of the bucket whose keys begin with that of the URL.  -EFBIG: too many. */
int s3_lookup_list(const struct s3_url *url, struct s3_lookup_list *ret,
		   struct roar_error *err);
void s3_lookup_list_release(struct s3_lookup_list *l);

#endif
