/* table.h - text tables whose columns fit their contents.
 *
 * Add the cells of a row one after the other, and end the row; the first row is the
 * heading.  table_print() makes every column as wide as its widest cell. */
#ifndef ROAR_TABLE_H
#define ROAR_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct term;

enum { TABLE_COLUMNS = 8 }; /* at most */

struct table {
	struct str cells; /* each ended by a tab, each row by a newline */
	size_t width[TABLE_COLUMNS];
	size_t column;
	size_t start; /* of the current cell */
};

#define TABLE_INIT ((struct table){ 0 })

void table_release(struct table *t);

/* A row of words, terminated by NULL. */
void table_head(struct table *t, const char *const *words);

/* One cell each.  The text has no tab and no newline. */
void table_text(struct table *t, const char *text);
void table_number(struct table *t, uint64_t n);
void table_size(struct table *t, uint64_t bytes); /* "4.0 KiB" */
void table_duration(struct table *t, int64_t ns); /* "4.2 ms" */

/* Ends a cell whose text was added to `cells`. */
void table_cell(struct table *t);
void table_row(struct table *t);

/* Appends the table, indented; after a failed allocation `out` fails as well. */
void table_print(const struct table *t, struct str *out,
		 const struct term *term, size_t indent);

#endif
