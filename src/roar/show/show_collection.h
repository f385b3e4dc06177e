/* show_collection.h - collections: directories and sets of files that are one artifact. */
#ifndef ROAR_SHOW_COLLECTION_H
#define ROAR_SHOW_COLLECTION_H

#include <stdint.h>

#include "base/error.h"

struct collection_fold;
struct collection_group;
struct json;
struct show_options;
struct store_collection;
struct view;

/* Appends the block of one collection, text or JSON, to v->out. */
int show_collection(struct view *v, const struct store_collection *c,
		    const struct show_options *o, struct roar_error *err);

/* The part of a job's block about what it read and wrote as a whole; nothing when there
 * is none.  In JSON, the array "collections". */
int show_collections_text(struct view *v, int64_t job_id,
			  struct roar_error *err);
int show_collections_json(struct view *v, struct json *j, int64_t job_id,
			  struct roar_error *err);

/* "data/train  (webdataset, 12 files)", where a list has one line for its files. */
void show_group(struct view *v, const struct collection_group *group);

/* The fields hash, kind, members, size_bytes, names; the caller opens the object. */
void show_collection_fields(struct json *j, const struct store_collection *c);

#endif
