/* store_tag.h - changes of the tags of a job after its run, and their history.
 *
 * Tags themselves (lineage/tag.h) are added and read by store.h.  Each addition and each
 * removal is a row of the history, which only grows. */
#ifndef ROAR_STORE_STORE_TAG_H
#define ROAR_STORE_STORE_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lineage/tag.h"

struct store;

struct tag_change {
	int64_t created_ns;
	bool removed; /* else added */
	struct job_tag tag;
};

/* Makes a change, inside a transaction; `created_ns` 0 is now.  A removal without a value
 * removes all of the kind.  Returns how many tags were added or removed. */
int store_tag_change(struct store *s, const struct tag_change *change,
		     struct roar_error *err);

/* Oldest first. */
int store_tag_history(struct store *s, struct pool *pool, int64_t job_id,
		      struct tag_change **ret, size_t *ret_n,
		      struct roar_error *err);

#endif
