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

/* Removes a tag that the job has itself; without a value, all of the kind.  `tag` has the
 * action.  Returns how many there were in *ret_n.  Inside a transaction. */
int store_tag_remove(struct store *s, int64_t job_id, const struct tag *tag,
		     struct pool *pool, size_t *ret_n, struct roar_error *err);

/* Oldest first. */
int store_tag_history(struct store *s, struct pool *pool, int64_t job_id,
		      struct tag_change **ret, size_t *ret_n,
		      struct roar_error *err);

/* Adds a change of another record as it is, without making it.  Inside a transaction. */
int store_tag_history_add(struct store *s, const struct tag_change *change,
			  struct roar_error *err);

#endif
