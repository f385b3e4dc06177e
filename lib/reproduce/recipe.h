/* recipe.h - what it takes to make something again: code, packages, inputs, steps.
 *
 *	recipe.c          the steps and their order
 *	recipe_input.c    where each input can be had
 *	recipe_code.c     the versions of the code, and their files
 *	recipe_place.h    where names of the record lie in the new directory
 *	requirement.h     packages and interpreters
 *	recipe_script.h   the recipe as a shell script
 *
 * The steps are the job that made the result, all jobs it depends on, and the build steps
 * of their sessions.  A step comes after those it depends on; where there is a choice,
 * build steps come first, then the older.  A download (`roar get`) is not a step: what it
 * fetched is an input, and its URL a place where the input can be had.
 *
 * A recipe lives in the pool of its query.  Nothing is run or written here, except that
 * git lists the files of a commit. */
#ifndef ROAR_REPRODUCE_RECIPE_H
#define ROAR_REPRODUCE_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "reproduce/recipe_place.h"
#include "reproduce/requirement.h"

struct pool;
struct presence_look;
struct query;
struct store_file;
struct store_job;

/* One version of the code. */
struct recipe_code {
	const char *root; /* recorded top of the work tree */
	const char *place; /* in the new directory; NULL: it has none */
	const char *commit;
	const char *snapshot; /* "" when the tree was clean */
	const char *remote; /* "" when there was none */
	const char *tree; /* the snapshot, else the commit */
	const char *found_in; /* top of a work tree here that has it; NULL */
	struct map files; /* names from the root -> the name */
	bool has_submodules;
};

struct recipe_step {
	const struct store_job *job;
	struct store_file *files; /* kept rows */
	size_t n_files;
	const char *place; /* of its directory in the new one; NULL: none */
	struct recipe_code *code; /* NULL: not in a repository */
	struct requirements needs;
	char **argv; /* of its command, set by the caller; NULL: cannot be read */
	const char *command; /* as text, set by the caller */
	size_t *after; /* steps it depends on, by index */
	size_t n_after, cap_after;
};

enum recipe_source {
	RECIPE_MISSING,
	RECIPE_CODE, /* a file of the commit or snapshot */
	RECIPE_DISK, /* `from` is a file here with that content */
	RECIPE_KEPT, /* in .roar/objects */
	RECIPE_FETCH, /* `from` is a URL */
	RECIPE_IN_PLACE, /* outside of all roots: read where it is */
	RECIPE_REMOTE, /* an object that the step itself reads */
	RECIPE_SOURCE_END,
};

struct recipe_input {
	const struct store_file *row;
	size_t step; /* the first that reads it */
	const char *place; /* in the new directory; NULL: outside */
	enum recipe_source source;
	const char *from; /* NULL where the source needs none */
	const char *why; /* of RECIPE_MISSING: a clause */
};

struct recipe {
	struct recipe_roots roots;
	struct recipe_step *steps; /* in the order to run them */
	size_t n_steps;
	size_t n_builds;
	struct recipe_code **codes;
	size_t n_codes;
	struct recipe_input *inputs; /* by the step that reads them first */
	size_t n_inputs;
	size_t n_missing;
	struct requirements needs; /* of all steps */
};

struct recipe_options {
	const char *project; /* its directory, for names of it; NULL: none */
	struct presence_look *look; /* for files on the disk */
	bool (*is_kept)(void *ctx, const uint8_t blake3[32]);
	void *ctx;
};

/* Makes the recipe for what `job` made.  -ELOOP for a record whose jobs depend on each
 * other in a circle, or an error of the store. */
int recipe_make(struct query *q, const struct store_job *job,
		const struct recipe_options *options, struct recipe *ret,
		struct roar_error *err);
void recipe_release(struct recipe *r);

/* Is it a download, or an upload? */
bool recipe_is_transfer(const struct store_job *job);

/* Did the job change a file that was there, without having read it?  Then the earlier content
 * matters, and the record does not have it as an input. */
bool recipe_changes_unread(const struct recipe_step *step,
			   const struct store_file *output);

/* "code", "disk", "kept", "fetch", ... */
const char *recipe_source_word(enum recipe_source source);

/* recipe_code.c: the codes of the steps, and which files they have. */
int recipe_code_find(struct recipe *r, struct query *q,
		     const struct recipe_options *options);

/* Lists the files of the code as the repository at `root` has it.  -ENOENT: it has no such
 * commit, or is none. */
int recipe_code_list(struct recipe_code *code, struct pool *pool,
		     const char *root);

/* Has the code of the step a file at that path? */
bool recipe_code_has(const struct recipe_step *step, const char *path);

/* recipe_input.c: looks for a place of the input.  -ENOMEM or an error of the store. */
int recipe_input_find(const struct recipe *r, struct query *q,
		      const struct recipe_options *options,
		      struct recipe_input *input, struct roar_error *err);

#endif
