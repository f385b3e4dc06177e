/* collection_fold.h - lists in which a collection is one line.
 *
 * Such a list is made in two passes.  The first asks for the group of every file and
 * counts it; a group whose files are all in the list, and have one maker, is then a line
 * of its own, and its files are left out:
 *
 *	for each file:	collection_fold_count(fold, job, role, path, maker)
 *	for each file:	g = collection_fold_find(fold, job, role, path)
 *			if (g && collection_group_is_whole(g)) ... g->shown ...
 *
 * Files of a plain directory with fewer than COLLECTION_FOLD_MIN files stay lines. */
#ifndef ROAR_QUERY_COLLECTION_FOLD_H
#define ROAR_QUERY_COLLECTION_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "store/store_collection.h"

struct query;

enum { COLLECTION_FOLD_MIN = 10 };

struct collection_group {
	const struct store_collection_use *use;
	const void *maker; /* as given to collection_fold_count() */
	bool mixed; /* not all have the same maker */
	bool shown; /* for the caller */
	int64_t n; /* files that were counted */
};

struct collection_fold {
	struct query *query; /* answers are in its pool */
	struct map groups; /* "job role path" -> struct collection_group */
	struct map jobs; /* ids of those whose groups were read */
};

void collection_fold_release(struct collection_fold *fold);

/* 0 or a negative errno. */
int collection_fold_count(struct collection_fold *fold, int64_t job_id,
			  unsigned role, const char *path, const void *maker,
			  struct roar_error *err);

/* The group of a file that was counted; NULL: it is in none. */
struct collection_group *
collection_fold_find(const struct collection_fold *fold, int64_t job_id,
		     unsigned role, const char *path);

/* Can it be shown instead of its files? */
bool collection_group_is_whole(const struct collection_group *group);

#endif
