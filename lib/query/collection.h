/* collection.h - what differs between two collections, and which job made one.
 *
 * Members are compared by name, as two streams: memory does not grow with them. */
#ifndef ROAR_QUERY_COLLECTION_H
#define ROAR_QUERY_COLLECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/store_collection.h"

struct query;
struct store_job;

enum member_change { MEMBER_ADDED, MEMBER_REMOVED, MEMBER_CHANGED };

struct member_diff {
	uint64_t n_added, n_removed, n_changed, n_same;
};

/* One difference; the member that does not exist is NULL.  A negative value ends the
 * comparison. */
typedef int (*member_change_fn)(void *ctx, enum member_change change,
				const struct store_member *before,
				const struct store_member *after);

/* Compares two collections by their ids, in the order of the names.  `fn` may be NULL. */
int collection_diff(struct query *q, int64_t before, int64_t after,
		    member_change_fn fn, void *ctx, struct member_diff *ret,
		    struct roar_error *err);

/* The newest job that wrote the collection as a whole; preferably at `path`, which may be
 * NULL.  *ret is NULL when there is none. */
int collection_maker(struct query *q, int64_t id, const char *path,
		     const struct store_job **ret, struct roar_error *err);

/* Is the path of a file below the directory? */
bool collection_has_path(const char *dir, const char *path);

#endif
