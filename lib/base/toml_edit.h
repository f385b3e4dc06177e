/* toml_edit.h - changes a settings file and leaves the rest unchanged.
 *
 * Each function takes the text and its parse, and appends the whole changed text to `out`:
 * only the bytes of the value (or its line) differ, so comments, order, line ends and other
 * keys are preserved.  `table` and `key` are names as in toml.h; "" is the part of the file
 * before any header. */
#ifndef ROAR_BASE_TOML_EDIT_H
#define ROAR_BASE_TOML_EDIT_H

#include <stddef.h>

#include "base/error.h"

struct str;
struct toml;

/* Sets `key` of `table` to `value`, which is TOML.  A new key is added after the
 * commented-out line of the same key, if there is one, otherwise after the last key of its
 * table.  A missing table is added at the end of the file.  -EINVAL: the table's name is
 * that of a value or an array of tables. */
int toml_set(const char *text, size_t len, const struct toml *doc,
	     const char *table, const char *key, const char *value,
	     struct str *out, struct roar_error *err);

/* Removes the lines of the key.  Returns 1; or 0 if there is none (the text is copied). */
int toml_unset(const char *text, size_t len, const struct toml *doc,
	       const char *table, const char *key, struct str *out);

/* Adds `item` (TOML) at the end of an array; the key must exist and be an array. */
int toml_array_add(const char *text, size_t len, const struct toml *doc,
		   const char *table, const char *key, const char *item,
		   struct str *out);

/* Removes item number `index`. */
int toml_array_remove(const char *text, size_t len, const struct toml *doc,
		      const char *table, const char *key, size_t index,
		      struct str *out);

#endif
