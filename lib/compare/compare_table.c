/* compare_table.c - two tables of comma- or tab-separated values, field by field
 *
 * Fields may be in quotes, with "" for a quote.  When no field of the first row is a
 * number, they are the names of the columns. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/str.h"
#include "compare/compare_internal.h"

enum { FIELD_MAX = 65536, COLUMNS_MAX = 4096, INPUT = 65536 };

struct table_reader {
	int fd;
	uint64_t at, left; /* what is not in the input yet */
	size_t n, used; /* bytes of the input */
	char *input;
	struct str field;
	bool ends_row; /* the field is the last one of its row */
};

struct table {
	struct comparison *c;
	struct table_reader in[2];
	char separator;
	struct pool pool;
	const char **names; /* of columns; NULL where the row had none */
	size_t n_names;
	uint64_t row, column; /* from 1 and 0 */
};

/* The next byte, -1 at the end, or another negative errno. */
static int next_byte(struct table_reader *t)
{
	if (t->used == t->n) {
		size_t n = t->left < INPUT ? (size_t)t->left : INPUT;
		int r = compare_read_at(t->fd, t->at, t->input, n);

		if (r < 0)
			return r == -EBADMSG ? -ESTALE : r;
		if (n == 0)
			return -1;
		t->at += n;
		t->left -= n;
		t->n = n;
		t->used = 0;
	}
	return (unsigned char)t->input[t->used++];
}

static int peek_byte(struct table_reader *t)
{
	int c = next_byte(t);

	if (c >= 0)
		t->used--;
	return c;
}

static int next_field(struct table_reader *t, char separator)
{
	bool quoted = false;
	int c;

	str_clear(&t->field);
	while ((c = next_byte(t)) >= 0) {
		if (c == '"' && quoted && peek_byte(t) == '"')
			(void)next_byte(t);
		else if (c == '"' && (quoted || t->field.len == 0)) {
			quoted = !quoted;
			continue;
		}
		if (!quoted && (c == separator || c == '\n'))
			break;
		if (c == '\0' || t->field.len == FIELD_MAX)
			return -ENOTSUP;
		str_addc(&t->field, (char)c);
	}
	if (c < -1)
		return c;
	if (c != separator && t->field.len &&
	    t->field.data[t->field.len - 1] == '\r')
		t->field.data[--t->field.len] = '\0';
	t->ends_row = c != separator;
	return str_error(&t->field);
}

enum number_kind { NO_NUMBER, INTEGER, REAL };

static enum number_kind read_number(const struct str *field, double *ret)
{
	const char *text = str_cstr(field);
	char *end;

	*ret = strtod(text, &end);
	if (end == text || *end != '\0')
		return NO_NUMBER;
	/* Larger ones are not exact as doubles. */
	return strspn(text, "+-0123456789") == field->len &&
			       fabs(*ret) < 0x1p53 ?
		       INTEGER :
		       REAL;
}

static const char *column_name(const struct table *t)
{
	return t->column < t->n_names ? t->names[t->column] : "";
}

static void add_place(const struct table *t, char place[COMPARE_PLACE_SIZE])
{
	const char *name = column_name(t);

	if (name[0] != '\0')
		(void)snprintf(place, COMPARE_PLACE_SIZE,
			       "row %" PRIu64 ", column '%.150s'", t->row,
			       name);
	else
		(void)snprintf(place, COMPARE_PLACE_SIZE,
			       "row %" PRIu64 ", column %" PRIu64, t->row,
			       t->column + 1);
}

static void compare_fields(struct table *t)
{
	const struct str *a = &t->in[0].field, *b = &t->in[1].field;
	char place[COMPARE_PLACE_SIZE];
	double x, y;
	enum number_kind kind_a = read_number(a, &x),
			 kind_b = read_number(b, &y);
	bool is_same = strcmp(str_cstr(a), str_cstr(b)) == 0;
	unsigned news;

	if (is_same) {
		t->c->result->n_values++;
		return;
	}
	if (tally_is_volatile(column_name(t), !kind_a || !kind_b)) {
		tally_volatile(t->c, column_name(t));
		return;
	}
	add_place(t, place);
	if (!kind_a || !kind_b) {
		t->c->result->n_values++;
		tally_texts(t->c, place, str_cstr(a), str_cstr(b));
		return;
	}
	news = kind_a == INTEGER && kind_b == INTEGER ?
		       tally_integers(t->c, x, y, fabs(x - y)) :
		       tally_floats(t->c, x, y);
	tally_place(t->c, news, place, x, y);
}

/* Keeps the field of the first row as the name of its column; a number among them means
 * that the row has no names. */
static int keep_name(struct table *t)
{
	double number;

	if (t->row != 1 || t->column >= COLUMNS_MAX || t->n_names != t->column)
		return 0;
	if (read_number(&t->in[0].field, &number)) {
		t->n_names = 0;
		return 0;
	}
	t->names[t->n_names] = pool_strdup(&t->pool, str_cstr(&t->in[0].field));
	return t->names[t->n_names++] ? 0 : -ENOMEM;
}

static void note_end(struct table *t, const char *a, const char *b)
{
	char place[COMPARE_PLACE_SIZE];

	(void)snprintf(place, sizeof(place), "row %" PRIu64, t->row);
	tally_texts(t->c, place, a, b);
}

/* Is there a row in both files?  A newline after the last one makes no row. */
static int has_rows(struct table *t)
{
	static const char *const words[] = { "more rows",
					     "the end of the file" };
	int a = peek_byte(&t->in[0]), b = peek_byte(&t->in[1]);

	if (a < -1 || b < -1)
		return a < b ? a : b;
	if ((a == -1) != (b == -1))
		note_end(t, words[a == -1], words[b == -1]);
	return a != -1 && b != -1;
}

/* Both files in step, until one of them ends, or a row in one only. */
static int compare_rows(struct table *t)
{
	int r = 0;

	t->row = 1;
	while (t->column > 0 || (r = has_rows(t)) > 0) {
		r = next_field(&t->in[0], t->separator);
		if (r == 0)
			r = next_field(&t->in[1], t->separator);
		if (r < 0)
			break;
		compare_fields(t);
		r = keep_name(t);
		if (r < 0)
			break;
		bool ends_a = t->in[0].ends_row, ends_b = t->in[1].ends_row;

		if (ends_a != ends_b) {
			note_end(t, ends_a ? "its end" : "more columns",
				 ends_b ? "its end" : "more columns");
			break;
		}
		t->column = ends_a ? 0 : t->column + 1;
		t->row += ends_a;
	}
	return r;
}

static int open_table(struct table *t, char *input)
{
	for (int i = 0; i < 2; i++)
		t->in[i] = (struct table_reader){
			.fd = t->c->file[i].fd,
			.left = t->c->size[i],
			.input = input + (size_t)i * INPUT,
		};
	t->separator = compare_name_ends(t->c->file[0].name, ".tsv") ? '\t' :
								       ',';
	t->names = pool_zalloc(&t->pool, COLUMNS_MAX * sizeof(*t->names));
	return t->names ? 0 : -ENOMEM;
}

int compare_table(struct comparison *c)
{
	CLEANUP(freep) char *input = malloc((size_t)2 * INPUT);
	struct table t = { .c = c, .pool = POOL_INIT };
	int r = input ? open_table(&t, input) : -ENOMEM;

	if (r == 0)
		r = compare_rows(&t);
	str_release(&t.in[0].field);
	str_release(&t.in[1].field);
	pool_release(&t.pool);
	return r == -ENOTSUP ?
		       error_set(c->why, r,
				 "a field has a NUL or more than 64 KiB") :
		       r;
}
