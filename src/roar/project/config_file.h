/* config_file.h - the table of settings, and the file they stand in.
 *
 * config.h is what programs use; this is for who shows or changes settings. */
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
	CONFIG_STRINGS, /* an array of strings, of `values` when given */
};

struct config_key {
	const char *name; /* "output.quiet" */
	enum config_type type;
	const char *fallback; /* the default, as TOML */
	const char *values; /* "a|b": the words that are allowed */
	const char *help; /* one line */
	int (*apply)(struct config *c, const struct toml_value *value,
		     size_t arg);
	size_t arg; /* for `apply` */
};

/* Ended by name == NULL. */
extern const struct config_key config_keys[];

const struct config_key *config_key_find(const char *name);

/* Does the value suit the key?  -EINVAL and a sentence that says what does. */
int config_check(const struct config_key *key, const struct toml_value *value,
		 struct roar_error *err);

/* Is NAME a name an environment variable can have? */
bool config_is_env_name(const char *name);

/* The file `roar init` writes: every setting, commented out, with its help. */
void config_default_text(struct str *out);

/* The text of a project's config.toml and what it says. */
struct config_file {
	struct str text;
	struct pool pool;
	struct toml doc;
	struct str path; /* for sentences */
	bool exists; /* false: `text` is the default file */
};

/* Reads DIR/config.toml; a missing file reads as the default one. */
int config_file_read(const char *dir, struct config_file *ret,
		     struct roar_error *err);
void config_file_release(struct config_file *f);

/* The value of a key: that of the file, else its default; in the file's pool. */
int config_file_get(struct config_file *f, const struct config_key *key,
		    struct toml_value *ret, bool *ret_default,
		    struct roar_error *err);

/* The same for who has to go on: a value that does not suit the key counts as
 * none.  0 or -ENOMEM. */
int config_file_value(struct config_file *f, const struct config_key *key,
		      struct toml_value *ret, bool *ret_default);

/* The name of an entry of the table [env], NULL for other entries. */
const char *config_env_name(const struct toml_entry *e);

/* Something in the file that has no effect. */
struct config_mistake {
	const char *key; /* or the table */
	const char *text; /* a sentence with file and line */
	bool foreign; /* in a table that roar has not, nor one like it: likely
		       * some other program's */
};

typedef int (*config_tell)(void *ctx, const struct config_mistake *m);

/* Tells of every mistake, until `tell` returns anything but 0, which is then the
 * result; else 0 or -ENOMEM. */
int config_file_check(const struct config_file *f, config_tell tell, void *ctx);

/* Appends the changed text to `out`.  1 when it changed, 0 when it need not be
 * written, or a negative errno and a sentence. */
typedef int (*config_edit)(const struct config_file *f, void *ctx,
			   struct str *out, struct roar_error *err);

/* Changes DIR/config.toml (0600) under a lock: two editors at once both take
 * effect, a crash leaves the old file or the new.  Returns what `edit` did. */
int config_file_edit(const char *dir, config_edit edit, void *ctx,
		     struct roar_error *err);

/* The same for one value: `name` ("output.quiet") gets `value`, which is TOML;
 * NULL removes it.  Returns 1, or 0 when there was nothing to remove. */
int config_file_set(const char *dir, const char *name, const char *value,
		    struct roar_error *err);

#endif
