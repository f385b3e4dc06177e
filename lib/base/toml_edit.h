/* toml_edit.h - changes to a settings file that leave the rest as it is.
 *
 * Each function takes the text and its parse, and appends the whole changed text
 * to `out`: only the bytes of the value (or its line) differ, so comments, order,
 * line ends and keys of others survive.  `table` and `key` are names as toml.h
 * writes them; "" is the part of the file before any header. */
#ifndef ROAR_BASE_TOML_EDIT_H
#define ROAR_BASE_TOML_EDIT_H

#include <stddef.h>

#include "base/error.h"

struct str;
struct toml;

/* Gives `key` of `table` the value `value`, which is TOML.  A new key goes below
 * the commented-out line of the same key where there is one, else behind the
 * last key of its table, which is made at the end of the file when missing.
 * -EINVAL when the table's name is taken by a value or an array of tables. */
int toml_set(const char *text, size_t len, const struct toml *doc,
	     const char *table, const char *key, const char *value,
	     struct str *out, struct roar_error *err);

/* Removes the lines of the key.  1, or 0 when there is none (text copied). */
int toml_unset(const char *text, size_t len, const struct toml *doc,
	       const char *table, const char *key, struct str *out);

/* Adds `item` (TOML) at the end of the array that the key has; the key must
 * exist and be an array. */
int toml_array_add(const char *text, size_t len, const struct toml *doc,
		   const char *table, const char *key, const char *item,
		   struct str *out);

/* Removes item number `index`. */
int toml_array_remove(const char *text, size_t len, const struct toml *doc,
		      const char *table, const char *key, size_t index,
		      struct str *out);

#endif
