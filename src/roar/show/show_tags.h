/* show_tags.h - the tags of a job's outputs, for `roar show`. */
#ifndef ROAR_SHOW_TAGS_H
#define ROAR_SHOW_TAGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

struct job_tag;
struct show_options;
struct store_job;
struct view;

struct show_tags {
	struct job_tag *carried; /* with the job that added each */
	size_t n_carried;
	struct job_tag *blocked; /* by the job itself */
	size_t n_blocked;
};

/* Reads the tags of the job's session and, if there are any, its graph.  Allocates in the
 * view's pool. */
int show_tags_read(struct view *v, const struct store_job *job,
		   struct show_tags *ret, struct roar_error *err);

/* Prints one line per value with the jobs it comes from, then the blocked tags; nothing if
 * there are none.  `here` is the job being shown; 0: none. */
int show_tags_text(struct view *v, const struct show_tags *tags, int64_t here,
		   const struct show_options *o, struct roar_error *err);

/* "tags": an array of {"kind", "value", "origin", "from"}. */
int show_tags_json(struct view *v, const struct show_tags *tags, struct json *j,
		   struct roar_error *err);

/* "blocked_tags": an array of {"kind", "value"}. */
void show_tags_json_blocked(const struct show_tags *tags, struct json *j);

#endif
