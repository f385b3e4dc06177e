/* label.h - label documents: nested names and values that the user gives to a thing.
 *
 *	roar label set job @2 lr=0.001 model.name=resnet50
 *	{"lr":0.001,"model":{"name":"resnet50"}}
 *
 * A document is a JSON object in its canonical form: keys sorted, no blanks.  So two
 * documents are equal when their texts are.  A key on the command line is a path of
 * names with dots; a value that is true, false or a number of JSON becomes one, anything
 * else is text.  A number that would lose digits stays text.  The first names `roar`
 * and `tag` are reserved.
 *
 * Bounds: a name has up to 64 of A-Z, a-z, 0-9, '_' and '-', a key up to 8 names, a
 * value up to 4096 bytes of printable text, a document up to 64 KiB.  No I/O. */
#ifndef ROAR_LINEAGE_LABEL_H
#define ROAR_LINEAGE_LABEL_H

#include <stddef.h>

#include "base/error.h"

struct pool;
struct str;

enum {
	LABEL_NAME_MAX = 64,
	LABEL_DEPTH_MAX = 8,
	LABEL_VALUE_MAX = 4096,
	LABEL_DOCUMENT_MAX = 64 * 1024,
};

/* Merges "KEY=VALUE" words, removes the keys (one that has others below it with them), or
 * merges another document.  Each returns 1 and the new document in the pool, or 0 and
 * `document` if nothing changes.  -EINVAL and a message for a word that is invalid. */
int label_set(struct pool *pool, const char *document, char *const *words,
	      size_t n, const char **ret, struct roar_error *err);
int label_unset(struct pool *pool, const char *document, char *const *keys,
		size_t n, const char **ret, struct roar_error *err);
int label_merge(struct pool *pool, const char *document, const char *other,
		const char **ret, struct roar_error *err);

/* Is the text a document within the bounds?  0 or -EINVAL; used for foreign records. */
int label_check(const char *document, struct roar_error *err);

/* Calls `visit` for each value, in the order of the keys: the key with dots, the value as
 * text.  Returns its first negative result. */
typedef int label_visit(void *data, const char *key, const char *value);
int label_walk(const char *document, label_visit *visit, void *data);

#endif
