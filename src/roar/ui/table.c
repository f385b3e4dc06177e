/* table.c - see table.h */
#include "ui/table.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "ui/view.h"

enum { GAP = 2 }; /* blanks between columns */

void table_release(struct table *t)
{
	str_release(&t->cells);
	*t = TABLE_INIT;
}

void table_cell(struct table *t)
{
	size_t n = view_columns(&t->cells, t->start);

	if (t->column < TABLE_COLUMNS && n > t->width[t->column])
		t->width[t->column] = n;
	str_addc(&t->cells, '\t');
	t->column++;
	t->start = t->cells.len;
}

void table_text(struct table *t, const char *text)
{
	str_adds(&t->cells, text);
	table_cell(t);
}

void table_number(struct table *t, uint64_t n)
{
	str_addf(&t->cells, "%llu", (unsigned long long)n);
	table_cell(t);
}

void table_size(struct table *t, uint64_t bytes)
{
	format_size(&t->cells, bytes);
	table_cell(t);
}

void table_duration(struct table *t, int64_t ns)
{
	clock_format_duration(&t->cells, ns);
	table_cell(t);
}

void table_row(struct table *t)
{
	str_addc(&t->cells, '\n');
	t->column = 0;
	t->start = t->cells.len;
}

void table_head(struct table *t, const char *const *words)
{
	for (; *words; words++)
		table_text(t, *words);
	table_row(t);
}

/* One line, of `n` bytes; nothing is padded at its end. */
static void add_line(const struct table *t, struct str *out, const char *row,
		     size_t n)
{
	size_t column = 0;

	for (size_t at = 0; at < n; column++) {
		const char *end = memchr(row + at, '\t', n - at);
		size_t len = end ? (size_t)(end - row) - at : n - at;
		size_t start = out->len;

		str_add(out, row + at, len);
		at += len + 1;
		if (at < n && column < TABLE_COLUMNS)
			view_pad(out, start, t->width[column] + GAP);
	}
}

void table_print(const struct table *t, struct str *out,
		 const struct term *term, size_t indent)
{
	const char *row = str_cstr(&t->cells);
	enum color color = COLOR_BOLD;

	out->failed |= t->cells.failed;
	while (*row) {
		CLEANUP(str_release) struct str line = STR_INIT;
		size_t n = strcspn(row, "\n");

		add_line(t, &line, row, n);
		out->failed |= line.failed;
		str_pad(out, ' ', indent);
		term_add(out, term, color, str_cstr(&line));
		str_addc(out, '\n');
		color = COLOR_NONE;
		row += n + (row[n] == '\n');
	}
}
