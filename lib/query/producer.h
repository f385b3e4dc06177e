/* producer.h - which recorded job made a content.
 *
 * The rules are those of lineage/graph.h, applied to the rows of all sessions.  A
 * single query here builds a part of the graph, pipeline.h the graph of a session.
 * Both convert rows to files of the graph with the functions below, so they agree.
 *
 * A rename or link reads nothing, so it has no input row.  Its output row has an origin
 * instead, and is marked LINEAGE_PRIOR unless the run wrote the content itself
 * (programs usually write a file under another name and rename it at the end).  A prior
 * output leads to its producer as if it had been read under its old name. */
#ifndef ROAR_QUERY_PRODUCER_H
#define ROAR_QUERY_PRODUCER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct graph_file;
struct query;
struct store_file;
struct store_job;

/* The job that made the content of `row`, in any session.  `row` is an input, or an
 * output that was only moved.  *ret is NULL when no recorded job made it. */
int producer_find(struct query *q, const struct store_file *row,
		  const struct store_job **ret, struct roar_error *err);

/* The newest job that made the artifact; with a path that is not NULL, preferably
 * there.  *ret is NULL when no recorded job made it. */
int producer_find_newest(struct query *q, int64_t artifact_id, const char *path,
			 const struct store_job **ret, struct roar_error *err);

/* Is the output `row` content from before its job, which only renamed or linked
 * it? */
bool producer_is_moved(const struct store_file *row);

/* `row` as a file of the graph, and a moved output as if it had been read under its
 * old name.  The path is borrowed. */
struct graph_file producer_file(const struct store_file *row);
struct graph_file producer_moved_file(const struct store_file *row);

#endif
