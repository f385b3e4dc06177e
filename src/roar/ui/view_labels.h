/* view_labels.h - labels of sessions, jobs and artifacts, as text and JSON.
 *
 * Few things have labels and many are listed, so the first question reads the current
 * labels of all things of that kind into the view. */
#ifndef ROAR_VIEW_LABELS_H
#define ROAR_VIEW_LABELS_H

#include <stdint.h>

#include "store/store_label.h"

struct json;
struct str;
struct view;

/* The current document; "{}" without labels.  A failure makes the output fail. */
const char *view_label_document(struct view *v, enum label_entity entity,
				int64_t id);

/* "labels": {...} */
void view_json_labels(struct view *v, struct json *j, enum label_entity entity,
		      int64_t id);

/* "  Labels:  KEY=VALUE", a line each; nothing without labels. */
void view_labels(struct view *v, enum label_entity entity, int64_t id);

/* The lines of a document, each after `indent` blanks. */
void view_label_lines(struct str *out, const char *document, size_t indent);

#endif
