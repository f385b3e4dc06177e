/* tag.h - tags: properties that follow data through the pipeline.
 *
 * A tag is a kind and a value: license=MIT, contains_pii=true.  A job puts tags on its
 * outputs; a job that reads these outputs passes the tags on to its own, and so on down
 * the pipeline.  A job may block that: all values of a kind, or one.
 *
 *	prepare (adds license=MIT) -> train -> evaluate (blocks license)
 *	     license=MIT           license=MIT        nothing
 *
 * Only the given tags are stored, as (job, tag).  The tags of a job's outputs are
 * computed from the graph on demand, so that a record never contradicts its pipeline.
 * Kinds and values are text; a kind is a word of up to 64 bytes, a value up to 256
 * printable bytes.  No I/O. */
#ifndef ROAR_LINEAGE_TAG_H
#define ROAR_LINEAGE_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct graph;
struct pool;

enum tag_action {
	TAG_ADD, /* the outputs of the job carry this value */
	TAG_BLOCK, /* they do not inherit it */
};

enum tag_origin {
	TAG_USER, /* given by the user */
	TAG_SYSTEM, /* found by roar */
};

struct tag {
	uint8_t action; /* enum tag_action */
	uint8_t origin; /* enum tag_origin */
	const char *kind;
	const char *value; /* "" in a block: all values of the kind */
};

/* A tag, and the job that added or blocks it. */
struct job_tag {
	int64_t job_id;
	struct tag tag;
};

enum { TAG_KIND_MAX = 64, TAG_VALUE_MAX = 256 }; /* bytes */

/* Reads "KIND=VALUE", or for a block "KIND" as well, as a tag of the user.  The text
 * goes to the pool.  -EINVAL and a message when it is neither. */
int tag_parse(struct pool *pool, enum tag_action action, const char *text,
	      struct tag *ret, struct roar_error *err);

/* Is it one of the well-known kinds? */
bool tag_kind_is_known(const char *kind);

/* The well-known kinds, as "license, contains_pii, ...". */
#define TAG_KINDS_KNOWN \
	"license, contains_pii, jurisdiction, classification, special_category"

/* "user" or "system" */
const char *tag_origin_name(unsigned origin);

/* The tags of a job's outputs: its own tags, and those that it inherits through the
 * jobs that made its inputs, execution by execution as in graph_maker().  A block
 * applies to inherited tags, not to tags that the same job adds: both together replace
 * a value.
 *
 * `given` are the tags of all jobs of the session, in any order.  Each result names the
 * job that added the value; a value from several jobs has one entry for each, nearest
 * first.  Sorted by kind and value, in `pool`, text borrowed.  A job that is not in the
 * graph has only its own tags.  0 or -ENOMEM.
 *
 * Costs one walk up the graph, and one more for each distinct value found there. */
int tags_of_outputs(const struct graph *graph, int64_t job_id,
		    const struct job_tag *given, size_t n_given,
		    struct pool *pool, struct job_tag **ret, size_t *ret_n);

#endif
