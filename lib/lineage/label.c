/* label.c - see label.h */
#include "lineage/label.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/quote.h"
#include "base/str.h"

enum {
	DUMP_FLAGS = JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15),
	LOAD_FLAGS = JSON_REJECT_DUPLICATES,
	KEY_MAX = LABEL_DEPTH_MAX * (LABEL_NAME_MAX + 1),
};

static int fail_memory(struct roar_error *err)
{
	return error_set(err, -ENOMEM, "out of memory");
}

/* The part of a sentence that shows the culprit. */
static int refuse(struct roar_error *err, const char *text, const char *why)
{
	CLEANUP(str_release) struct str shown = STR_INIT;

	quote_printable_cut(&shown, text, 80);
	return error_set(err, -EINVAL, "'%s' %s", str_cstr(&shown), why);
}

/* ---- keys ---- */

struct key {
	char text[KEY_MAX + 1]; /* the names, each ended by NUL */
	const char *names[LABEL_DEPTH_MAX];
	size_t n;
};

static bool is_name(const char *text, size_t len)
{
	static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789_-";

	return len > 0 && len <= LABEL_NAME_MAX && strspn(text, chars) >= len;
}

/* The first `len` bytes of `word` are the key. */
static int parse_key(const char *word, size_t len, struct key *ret,
		     struct roar_error *err)
{
	size_t at = 0;

	ret->n = 0;
	while (ret->n < LABEL_DEPTH_MAX && at <= len) {
		size_t n = strcspn(word + at, ".=");

		if (n > len - at || !is_name(word + at, n))
			break;
		memcpy(ret->text + at, word + at, n);
		ret->text[at + n] = '\0';
		ret->names[ret->n++] = ret->text + at;
		at += n + 1;
	}
	if (at != len + 1)
		return refuse(
			err, word,
			"does not start with a label: use up to 8 names of "
			"A-Z, a-z, 0-9, '_' and '-', with '.' between them");
	if (!strcmp(ret->names[0], "roar") || !strcmp(ret->names[0], "tag"))
		return refuse(
			err, word,
			"is a reserved label: names that start with 'roar.' "
			"and 'tag.' are set by roar");
	return 0;
}

/* ---- values ---- */

static json_t *parse_value(const char *text)
{
	json_t *value = NULL;
	json_error_t error = { 0 };
	char again[32];

	if (text[0] && !strpbrk(text, " \t\r\n\"")) {
		value = json_loads(text, JSON_DECODE_ANY, &error);
		if (!value &&
		    json_error_code(&error) == json_error_out_of_memory)
			return NULL;
	}
	if (json_is_boolean(value) || json_is_integer(value))
		return value;
	if (json_is_real(value)) {
		(void)snprintf(again, sizeof(again), "%.15g",
			       json_real_value(value));
		/* Digits that the document does not keep stay text. */
		if (strtod(again, NULL) == json_real_value(value))
			return value;
	}
	json_decref(value);
	return json_string(text);
}

static int check_value(const char *word, const char *text,
		       struct roar_error *err)
{
	size_t len = strlen(text);

	if (len <= LABEL_VALUE_MAX && quote_is_printable(text, len))
		return 0;
	return refuse(err, word,
		      "has an invalid value: a label takes up to 4096 bytes of "
		      "printable text");
}

/* ---- documents ---- */

static json_t *load(const char *document)
{
	json_t *object = json_loads(document, LOAD_FLAGS, NULL);

	if (json_is_object(object))
		return object;
	json_decref(object);
	return NULL;
}

static bool has_bounds(const json_t *object, int depth)
{
	const char *key;
	json_t *value;

	if (depth > LABEL_DEPTH_MAX)
		return false;
	json_object_foreach((json_t *)object, key, value)
	{
		if (!is_name(key, strlen(key)) || json_is_array(value) ||
		    json_is_null(value) ||
		    json_string_length(value) > LABEL_VALUE_MAX)
			return false;
		if (json_is_object(value) && !has_bounds(value, depth + 1))
			return false;
	}
	return true;
}

int label_check(const char *document, struct roar_error *err)
{
	CLEANUP(json_decrefp) json_t *object = NULL;

	if (strlen(document) <= LABEL_DOCUMENT_MAX)
		object = load(document);
	if (object && has_bounds(object, 1))
		return 0;
	return error_set(err, -EINVAL,
			 "a label document is not a JSON object of labels");
}

/* The object as text, 1 if that differs from `document`. */
static int dump(struct pool *pool, const json_t *object, const char *document,
		const char **ret, struct roar_error *err)
{
	CLEANUP(freep) char *text = json_dumps(object, DUMP_FLAGS);

	if (!text)
		return fail_memory(err);
	if (strlen(text) > LABEL_DOCUMENT_MAX)
		return error_set(err, -EINVAL,
				 "the labels are longer than 64 KiB together: "
				 "store large values in a file and label that");
	if (strcmp(text, document) == 0) {
		*ret = document;
		return 0;
	}
	*ret = pool_strdup(pool, text);
	return *ret ? 1 : fail_memory(err);
}

/* ---- set ---- */

/* The object below `object` at `name`, made when there is none. */
static json_t *enter(json_t *object, const char *name)
{
	json_t *child = json_object_get(object, name);

	if (json_is_object(child))
		return child;
	return json_object_set_new(object, name, json_object()) < 0 ?
		       NULL :
		       json_object_get(object, name);
}

static int set_word(json_t *object, const char *word, struct roar_error *err)
{
	size_t len = strcspn(word, "=");
	const char *value = word + len + 1;
	struct key key = { .n = 0 };
	size_t i = 0;
	int r;

	if (!word[len])
		return refuse(err, word, "has no value: use KEY=VALUE");
	r = parse_key(word, len, &key, err);
	if (r == 0)
		r = check_value(word, value, err);
	if (r < 0)
		return r;
	for (; object && i + 1 < key.n; i++)
		object = enter(object, key.names[i]);
	if (!object ||
	    json_object_set_new(object, key.names[i], parse_value(value)) < 0)
		return fail_memory(err);
	return 0;
}

/* ---- unset ---- */

/* Removes the name, and the objects above it that become empty. */
static void remove_name(json_t *object, const struct key *key, size_t i)
{
	json_t *child = json_object_get(object, key->names[i]);

	if (i + 1 < key->n) {
		if (!json_is_object(child))
			return;
		remove_name(child, key, i + 1);
		if (json_object_size(child))
			return;
	}
	(void)json_object_del(object, key->names[i]); /* or it is not there */
}

static int unset_word(json_t *object, const char *word, struct roar_error *err)
{
	struct key key = { .n = 0 };
	int r = parse_key(word, strlen(word), &key, err);

	if (r == 0)
		remove_name(object, &key, 0);
	return r;
}

static int
change(struct pool *pool, const char *document,
       int (*apply)(json_t *object, const char *word, struct roar_error *err),
       char *const *words, size_t n, const char **ret, struct roar_error *err)
{
	CLEANUP(json_decrefp) json_t *object = load(document);
	int r = object ? 0 : fail_memory(err);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = apply(object, words[i], err);
	return r < 0 ? r : dump(pool, object, document, ret, err);
}

int label_set(struct pool *pool, const char *document, char *const *words,
	      size_t n, const char **ret, struct roar_error *err)
{
	return change(pool, document, set_word, words, n, ret, err);
}

int label_unset(struct pool *pool, const char *document, char *const *keys,
		size_t n, const char **ret, struct roar_error *err)
{
	return change(pool, document, unset_word, keys, n, ret, err);
}

int label_merge(struct pool *pool, const char *document, const char *other,
		const char **ret, struct roar_error *err)
{
	CLEANUP(json_decrefp) json_t *object = load(document);
	CLEANUP(json_decrefp) json_t *more = load(other);

	if (!object || !more || json_object_update_recursive(object, more) < 0)
		return fail_memory(err);
	return dump(pool, object, document, ret, err);
}

/* ---- walk ---- */

struct walk {
	struct str key;
	label_visit *visit;
	void *data;
};

static int visit_object(struct walk *w, json_t *object);

static int visit_value(struct walk *w, const char *name, json_t *value)
{
	size_t len = w->key.len;
	CLEANUP(freep) char *json = NULL;
	const char *text = json_string_value(value);
	int r;

	str_addf(&w->key, "%s%s", len ? "." : "", name);
	if (json_is_object(value)) {
		r = visit_object(w, value);
	} else {
		if (!text)
			text = json = json_dumps(value,
						 DUMP_FLAGS | JSON_ENCODE_ANY);
		r = text && !w->key.failed ?
			    w->visit(w->data, str_cstr(&w->key), text) :
			    -ENOMEM;
	}
	if (!w->key.failed) {
		w->key.len = len;
		w->key.data[len] = '\0';
	}
	return r;
}

/* jansson keeps keys in the order of their addition, here that of the text. */
static int visit_object(struct walk *w, json_t *object)
{
	const char *name;
	json_t *value;
	int r = 0;

	json_object_foreach(object, name, value)
	{
		r = visit_value(w, name, value);
		if (r < 0)
			break;
	}
	return r;
}

int label_walk(const char *document, label_visit *visit, void *data)
{
	CLEANUP(json_decrefp) json_t *object = load(document);
	struct walk w = { .visit = visit, .data = data };
	int r = object ? visit_object(&w, object) : -EBADMSG;

	str_release(&w.key);
	return r;
}
