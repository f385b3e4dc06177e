/* view_labels.c - see view_labels.h */
#include "ui/view_labels.h"

#include <string.h>

#include "base/quote.h"
#include "lineage/label.h"
#include "ui/view.h"

static int read_labels(struct view *v, enum label_entity entity)
{
	struct store_label *labels;
	size_t n;
	int r;

	r = store_labels_current(v->store, &v->pool, entity, &labels, &n, NULL);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = map_set(&v->labels[entity], &labels[i].entity_id,
			    sizeof(labels[i].entity_id),
			    (char *)labels[i].document);
	return r;
}

const char *view_label_document(struct view *v, enum label_entity entity,
				int64_t id)
{
	const char *document;

	if (!v->has_labels[entity] && read_labels(v, entity) < 0) {
		v->out.failed = true;
		return "{}";
	}
	v->has_labels[entity] = true;
	document = map_get(&v->labels[entity], &id, sizeof(id));
	return document ? document : "{}";
}

void view_json_labels(struct view *v, struct json *j, enum label_entity entity,
		      int64_t id)
{
	const char *document = view_label_document(v, entity, id);

	json_put_key(j, "labels");
	json_put_raw(j, document, strlen(document));
}

/* ---- text ---- */

struct lines {
	struct str *out;
	size_t indent;
};

static int add_line(void *data, const char *key, const char *value)
{
	const struct lines *lines = data;

	str_pad(lines->out, ' ', lines->indent);
	str_addf(lines->out, "%s=", key);
	quote_printable(lines->out, value, strlen(value));
	str_addc(lines->out, '\n');
	return 0;
}

void view_label_lines(struct str *out, const char *document, size_t indent)
{
	struct lines lines = { .out = out, .indent = indent };

	if (label_walk(document, add_line, &lines) < 0)
		out->failed = true;
}

struct labelled_lines {
	struct view *view;
	size_t n;
};

static int add_labelled_line(void *data, const char *key, const char *value)
{
	struct labelled_lines *lines = data;

	view_label(lines->view, lines->n++ ? "" : "Labels:");
	return add_line(&(struct lines){ .out = &lines->view->out }, key,
			value);
}

void view_labels(struct view *v, enum label_entity entity, int64_t id)
{
	struct labelled_lines lines = { .view = v };

	if (label_walk(view_label_document(v, entity, id), add_labelled_line,
		       &lines) < 0)
		v->out.failed = true;
}
