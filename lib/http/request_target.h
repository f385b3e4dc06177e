/* request_target.h - what the target of a request says: a path and a query.
 *
 * A target comes as it was sent ("/a%2Fb?x=1"); these decode it.  A path in absolute form
 * ("http://host/a") is that of its URL. */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H

#include <stddef.h>

#include "base/pool.h"

/* The decoded path, in `pool`; NULL without memory, or when an escape is malformed or
 * stands for NUL. */
const char *http_target_path(struct pool *pool, const char *target);

/* "host:port" of a target in absolute form, in `pool`; NULL for any other. */
const char *http_target_authority(struct pool *pool, const char *target);

/* The decoded value of ?name=; NULL when it is not there, or as above.  A '+' is a
 * blank. */
const char *http_target_query(struct pool *pool, const char *target,
			      const char *name);

#endif
