/* store_group.h - jobs that ran on several machines.
 *
 * The command of one job may run on several machines at once, each under a `roar run`
 * of its own: each is recorded as a job, a part.  Parts have the same group id.  When the
 * records are brought together (lib/portable), a joined job is made from the parts; it
 * has their files and gaps, and names them. */
#ifndef ROAR_STORE_STORE_GROUP_H
#define ROAR_STORE_STORE_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct pool;
struct store;
struct store_job;

enum { STORE_GROUP_MAX = 256 }; /* bytes of an id */

struct store_group {
	const char *id; /* "" when the job has none */
	int64_t node; /* from 0; -1: not known */
	int64_t n_nodes; /* -1: not known */
};

/* Says that the job belongs to that group, inside a transaction. */
int store_group_add(struct store *s, int64_t job_id,
		    const struct store_group *group, struct roar_error *err);

/* That of a job; else the group that its processes had, by their environment
 * (store_edge.h), without a node. */
int store_group(struct store *s, struct pool *pool, int64_t job_id,
		struct store_group *ret, struct roar_error *err);

/* The jobs of the group that are parts, oldest first. */
int store_group_parts(struct store *s, struct pool *pool, const char *id,
		      int64_t **ret_jobs, size_t *ret_n,
		      struct roar_error *err);

/* Adds `job`, which is placed, as the joined job of the parts, with what they read and
 * wrote, their tags and shards, inside a transaction.  A file that one part wrote and
 * another read is not an input.  Sets the counts of files. */
int store_join(struct store *s, struct store_job *job,
	       const struct store_group *group, const int64_t *parts, size_t n,
	       struct roar_error *err);

/* The parts of a joined job; none: it is not one.  Also adds one, when a joined job is
 * read from another record. */
int store_parts(struct store *s, struct pool *pool, int64_t job_id,
		int64_t **ret_jobs, size_t *ret_n, struct roar_error *err);
int store_part_add(struct store *s, int64_t job_id, int64_t part_id,
		   struct roar_error *err);

#endif
