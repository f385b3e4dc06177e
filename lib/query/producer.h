/* producer.h - which recorded job made a piece of content.
 *
 * The rules are those of the graph (lineage/graph.h), asked of all sessions: a row
 * of the record becomes a file of the graph here, for the whole session as for one
 * question, so that `inputs`, `show` and `dag` cannot disagree.
 *
 * A rename or link reads nothing, so it has no input row; its output row has an
 * origin instead, and is marked as prior unless the run wrote the content itself:
 * the usual way to write a file is under another name, with a rename at the end.
 * What is prior leads to its maker as if it had been read under the old name. */
#ifndef ROAR_QUERY_PRODUCER_H
#define ROAR_QUERY_PRODUCER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct graph_file;
struct store_file;
struct store_job;
struct view;

/* The job that made the content of `row`, in any session: of an input, or of an
 * output that was only moved.  *ret is NULL when no recorded job did. */
int producer_find(struct view *v, const struct store_file *row,
		  const struct store_job **ret, struct roar_error *err);

/* Is the output `row` content from before its job, that only changed its name? */
bool producer_is_moved(const struct store_file *row);

/* The row as the graph takes it; and a moved one as if it had been read under its
 * old name.  The path is borrowed. */
struct graph_file producer_file(const struct store_file *row);
struct graph_file producer_moved_file(const struct store_file *row);

#endif
