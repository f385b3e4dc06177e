/* config_file.h - the table of settings, and the file that has them.
 *
 * Commands that use settings include config.h; this is for commands that show or change
 * them. */
#ifndef ROAR_CONFIG_FILE_H
#define ROAR_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/pool.h"
#include "base/str.h"
#include "base/toml.h"

struct config;

enum config_type {
	CONFIG_BOOL,
	CONFIG_WORD, /* a string, one of `values` */
	CONFIG_SIZE, /* a string: "20GiB", or "none" */
	CONFIG_STRINGS, /* an array of strings, of `values` when given */
};

struct config_key {
	const char *name; /* "output.quiet" */
	enum config_type type;
	const char *fallback; /* the default, as TOML */
	const char *values; /* "a|b": the allowed words */
	const char *help; /* one line */
	int (*apply)(struct config *c, const struct toml_value *value,
		     size_t arg);
	size_t arg; /* for `apply` */
};

/* Ended by name == NULL. */
extern const struct config_key config_keys[];

const struct config_key *config_key_find(const char *name);

/* Is the value valid for the key?  -EINVAL, with a message that names valid values. */
int config_check(const struct config_key *key, const struct toml_value *value,
		 struct roar_error *err);

/* Is NAME a valid name of an environment variable? */
bool config_is_env_name(const char *name);

/* The file `roar init` writes: every setting, commented out, with its help. */
void config_default_text(struct str *out);

/* The text of a project's config.toml, and its parse. */
struct config_file {
	struct str text;
	struct pool pool;
	struct toml doc;
	struct str path; /* for messages */
	bool exists; /* false: `text` is the default file */
};

/* Reads DIR/config.toml; a missing file reads as the default one. */
int config_file_read(const char *dir, struct config_file *ret,
		     struct roar_error *err);
void config_file_release(struct config_file *f);

/* The value of a key, from the file or its default; stored in the file's pool. */
int config_file_get(struct config_file *f, const struct config_key *key,
		    struct toml_value *ret, bool *ret_default,
		    struct roar_error *err);

/* The same, but an invalid value counts as missing.  0 or -ENOMEM. */
int config_file_value(struct config_file *f, const struct config_key *key,
		      struct toml_value *ret, bool *ret_default);

/* The name of an entry of the table [env], NULL for other entries. */
const char *config_env_name(const struct toml_entry *e);

/* A part of the file that has no effect. */
struct config_mistake {
	const char *key; /* or the table */
	const char *text; /* a sentence with file and line */
	/* In a table whose name is not similar to any of roar's: probably of another
	 * program. */
	bool foreign;
};

typedef int (*config_tell)(void *ctx, const struct config_mistake *m);

/* Reports every mistake to `tell`, until it returns anything but 0, which is then returned;
 * otherwise 0 or -ENOMEM. */
int config_file_check(const struct config_file *f, config_tell tell, void *ctx);

/* Appends the changed text to `out`.  Returns 1 if it changed, 0 if it need not be written,
 * or a negative errno with a message. */
typedef int (*config_edit)(const struct config_file *f, void *ctx,
			   struct str *out, struct roar_error *err);

/* Changes DIR/config.toml (0600) under a lock: concurrent edits both take effect, and a
 * crash leaves the old file or the new one.  Returns the result of `edit`. */
int config_file_edit(const char *dir, config_edit edit, void *ctx,
		     struct roar_error *err);

/* The same for one value: sets `name` ("output.quiet") to `value`, which is TOML; NULL
 * removes it.  Returns 1, or 0 if there was nothing to remove. */
int config_file_set(const char *dir, const char *name, const char *value,
		    struct roar_error *err);

#endif
