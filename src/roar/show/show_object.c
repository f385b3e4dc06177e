/* show_object.c - see show_object.h */
#include "show/show_object.h"

#include <string.h>

#include "event/event.h"
#include "ui/view.h"

enum { RANGES_WIDTH = 60, ETAG_WIDTH = 80, SOURCE_WIDTH = 200 };

int show_object_find(struct view *v, struct show_objects *objects,
		     const struct store_file *row,
		     const struct store_object **ret, struct roar_error *err)
{
	int r;

	*ret = NULL;
	if (row->ftype != EVENT_FTYPE_OBJECT)
		return 0;
	if (objects->job_id != row->job_id) {
		r = store_objects(v->store, &v->pool, row->job_id,
				  &objects->rows, &objects->n, err);
		if (r < 0)
			return r;
		objects->job_id = row->job_id;
	}
	*ret = store_object_of(objects->rows, objects->n, row->n);
	return 0;
}

static void add_word(struct view *v, const char *label, const char *text,
		     size_t width)
{
	if (!text[0])
		return;
	str_addf(&v->out, "  %s ", label);
	view_cut(&v->out, text, width);
}

void show_object_text(struct view *v, const struct store_object *object)
{
	if (!object)
		return;
	if (strcmp(object->ranges, "whole") != 0)
		add_word(v, "bytes", object->ranges, RANGES_WIDTH);
	add_word(v, "version", object->version, ETAG_WIDTH);
	add_word(v, "etag", object->etag, ETAG_WIDTH);
	if (object->n_parts) {
		str_adds(&v->out, "  ");
		format_count(&v->out, (uint64_t)object->n_parts, "part");
	}
	add_word(v, "copied from", object->copy_source, SOURCE_WIDTH);
}

static void json_optional(struct json *j, const char *key, const char *text)
{
	view_json_text(j, key, text[0] ? text : NULL);
}

void show_object_json(struct json *j, const char *key,
		      const struct store_object *object)
{
	json_put_key(j, key);
	if (!object) {
		json_put_null(j);
		return;
	}
	json_put_object(j);
	view_json_text(j, "operation", object->op);
	view_json_text(j, "endpoint", object->endpoint);
	json_optional(j, "version", object->version);
	json_optional(j, "etag", object->etag);
	json_optional(j, "ranges", object->ranges);
	json_optional(j, "copy_source", object->copy_source);
	view_json_int(j, "parts", object->n_parts);
	view_json_int(j, "requests", object->n_requests);
	view_json_int(j, "pid", object->pid);
	json_end(j);
}
