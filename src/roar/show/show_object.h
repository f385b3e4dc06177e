/* show_object.h - what is known of an object beside its row of files. */
#ifndef ROAR_SHOW_OBJECT_H
#define ROAR_SHOW_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct json;
struct store_file;
struct store_object;
struct view;

/* The objects of the job that was asked about last; zeroed at first. */
struct show_objects {
	int64_t job_id;
	struct store_object *rows;
	size_t n;
};

/* Of that row, in *ret; NULL when it is a file. */
int show_object_find(struct view *v, struct show_objects *objects,
		     const struct store_file *row,
		     const struct store_object **ret, struct roar_error *err);

/* Appends "  version V  etag E ..." and {"operation": ...}, null for NULL. */
void show_object_text(struct view *v, const struct store_object *object);
void show_object_json(struct json *j, const char *key,
		      const struct store_object *object);

#endif
