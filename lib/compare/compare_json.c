/* compare_json.c - two files of JSON: one value, or one per line
 *
 * Objects are compared key by key, arrays item by item.  jansson bounds the depth. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "compare/compare_internal.h"

enum { JSON_MAX = 64 << 20 };

/* Where the walk is. */
struct walk {
	struct comparison *c;
	struct str place; /* "eval.loss[3]" */
	const char *key; /* the innermost one; NULL */
};

static void value_text(const json_t *value, char text[COMPARE_VALUE_SIZE])
{
	static const char *const words[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array",
		[JSON_TRUE] = "true",	     [JSON_FALSE] = "false",
		[JSON_NULL] = "null",
	};
	size_t size = COMPARE_VALUE_SIZE;

	if (!value)
		(void)snprintf(text, size, "absent");
	else if (json_is_string(value))
		(void)snprintf(text, size, "\"%.60s\"",
			       json_string_value(value));
	else if (json_is_integer(value))
		(void)snprintf(text, size, "%" JSON_INTEGER_FORMAT,
			       json_integer_value(value));
	else if (json_is_real(value))
		(void)snprintf(text, size, "%.9g", json_real_value(value));
	else
		(void)snprintf(text, size, "%s", words[json_typeof(value)]);
}

static const char *place_of(const struct walk *w)
{
	return w->place.len ? str_cstr(&w->place) : "the whole value";
}

/* Values of other types, texts, or a value that one side lacks. */
static void note_values(struct walk *w, const json_t *a, const json_t *b)
{
	char text_a[COMPARE_VALUE_SIZE], text_b[COMPARE_VALUE_SIZE];

	value_text(a, text_a);
	value_text(b, text_b);
	tally_texts(w->c, place_of(w), text_a, text_b);
}

static void compare_numbers(struct walk *w, const json_t *a, const json_t *b)
{
	double x = json_number_value(a), y = json_number_value(b);
	unsigned news;

	if (json_is_integer(a) && json_is_integer(b)) {
		uint64_t i = (uint64_t)json_integer_value(a);
		uint64_t k = (uint64_t)json_integer_value(b);
		bool less = (int64_t)i < (int64_t)k;

		news = tally_integers(w->c, x, y,
				      (double)(less ? k - i : i - k));
	} else {
		news = tally_floats(w->c, x, y);
	}
	tally_place(w->c, news, place_of(w), x, y);
}

static void compare_leaves(struct walk *w, const json_t *a, const json_t *b)
{
	bool is_text = json_is_string(a) || json_is_string(b);

	if (w->key && !json_equal(a, b) && tally_is_volatile(w->key, is_text)) {
		tally_volatile(w->c, w->key);
		return;
	}
	if (json_is_number(a) && json_is_number(b)) {
		compare_numbers(w, a, b);
		return;
	}
	w->c->result->n_values++;
	if (!json_equal(a, b))
		note_values(w, a, b);
}

static int compare_value(struct walk *w, const json_t *a, const json_t *b);

/* One step down, and back up. */
static int compare_child(struct walk *w, const char *key, const json_t *a,
			 const json_t *b)
{
	const char *above = w->key;
	int r = str_error(&w->place);

	if (key)
		w->key = key;
	if (!a || !b)
		note_values(w, a, b);
	else if (r == 0)
		r = compare_value(w, a, b);
	w->key = above;
	return r;
}

static void shorten(struct str *s, size_t len)
{
	if (s->data && len <= s->len) {
		s->len = len;
		s->data[len] = '\0';
	}
}

static int compare_objects(struct walk *w, const json_t *a, const json_t *b)
{
	size_t len = w->place.len;
	const char *key;
	json_t *value;
	int r = 0;

	/* jansson's iterators only read; the casts are for its prototypes. */
	json_object_foreach((json_t *)a, key, value)
	{
		str_addf(&w->place, "%s%s", len ? "." : "", key);
		if (r == 0)
			r = compare_child(w, key, value,
					  json_object_get(b, key));
		shorten(&w->place, len);
	}
	json_object_foreach((json_t *)b, key, value)
	{
		if (json_object_get(a, key))
			continue;
		str_addf(&w->place, "%s%s", len ? "." : "", key);
		note_values(w, NULL, value);
		shorten(&w->place, len);
	}
	return r;
}

static int compare_arrays(struct walk *w, const json_t *a, const json_t *b)
{
	size_t len = w->place.len, n_a = json_array_size(a),
	       n_b = json_array_size(b);
	int r = 0;

	for (size_t i = 0; r == 0 && (i < n_a || i < n_b); i++) {
		str_addf(&w->place, "[%zu]", i);
		r = compare_child(w, NULL, json_array_get(a, i),
				  json_array_get(b, i));
		shorten(&w->place, len);
		if (i >= n_a || i >= n_b)
			break; /* all after it are absent as well */
	}
	return r;
}

static int compare_value(struct walk *w, const json_t *a, const json_t *b)
{
	if (json_is_object(a) && json_is_object(b))
		return compare_objects(w, a, b);
	if (json_is_array(a) && json_is_array(b))
		return compare_arrays(w, a, b);
	compare_leaves(w, a, b);
	return 0;
}

/* The next value of a text; NULL in *ret at its end. */
static int next_value(struct comparison *c, int side, const struct str *text,
		      size_t *at, json_t **ret)
{
	json_error_t why;

	while (*at < text->len && strchr(" \t\r\n", text->data[*at]) &&
	       text->data[*at] != '\0')
		(*at)++;
	*ret = NULL;
	if (*at == text->len)
		return 0;
	*ret = json_loadb(text->data + *at, text->len - *at,
			  JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK |
				  JSON_DECODE_ANY,
			  &why);
	if (!*ret && json_error_code(&why) == json_error_out_of_memory)
		return -ENOMEM;
	if (!*ret)
		return error_set(c->why, -EBADMSG,
				 "'%.150s' is not valid JSON: %s",
				 c->file[side].name, why.text);
	*at += (size_t)why.position;
	return 0;
}

static int compare_sequence(struct walk *w, const struct str *a,
			    const struct str *b)
{
	bool lines = !compare_name_ends(w->c->file[0].name, ".json");
	size_t at_a = 0, at_b = 0, n = 0;
	int r = 0;

	while (r == 0) {
		CLEANUP(json_decrefp) json_t *x = NULL;
		CLEANUP(json_decrefp) json_t *y = NULL;

		r = next_value(w->c, 0, a, &at_a, &x);
		if (r == 0)
			r = next_value(w->c, 1, b, &at_b, &y);
		if (r < 0 || (!x && !y))
			break;
		str_clear(&w->place);
		if (++n > 1 || lines)
			str_addf(&w->place, "value %zu", n);
		r = compare_child(w, NULL, x, y);
		if (!x || !y)
			break;
	}
	return r;
}

static int read_text(struct comparison *c, int side, struct str *out)
{
	char *data;

	if (c->size[side] > JSON_MAX)
		return error_set(c->why, -ENOTSUP,
				 "'%.150s' is larger than 64 MiB",
				 c->file[side].name);
	if (str_reserve(out, (size_t)c->size[side] + 1) < 0)
		return -ENOMEM;
	data = out->data;
	out->len = (size_t)c->size[side];
	data[out->len] = '\0';
	return compare_read_at(c->file[side].fd, 0, data, out->len);
}

int compare_json(struct comparison *c)
{
	CLEANUP(str_release) struct str a = STR_INIT;
	CLEANUP(str_release) struct str b = STR_INIT;
	struct walk w = { .c = c, .place = STR_INIT };
	int r = read_text(c, 0, &a);

	if (r == 0)
		r = read_text(c, 1, &b);
	if (r == 0)
		r = compare_sequence(&w, &a, &b);
	str_release(&w.place);
	return r;
}
