/* verify.h - compares files with the record.
 *
 *	verify_ref.c	the files that an argument stands for
 *	verify_list.c	the files, and their expected content
 *	verify_run.c	checks all of them in order, with a progress bar
 *	verify_file.c	one large file, with its stored leaf tree
 *	verify_say.c	the output, as text and as JSON
 *
 * Content is always read: timestamps and the digest cache are not used.  Small files are
 * hashed by the engine, many at a time.  A large file is read by all threads and compared
 * leaf by leaf with its tree (hash/file/leaf_tree_store.h), so that one pass finds the
 * first bad range.  If no tree is stored, a pass that finds the file correct stores one. */
#ifndef ROAR_VERIFY_H
#define ROAR_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/pool.h"
#include "base/str.h"
#include "hash/digest/digest.h"
#include "hash/file/leaf_tree_file.h"

struct pipeline;
struct store_file;
struct target;
struct view;

enum verify_state {
	VERIFY_OK,
	VERIFY_CHANGED, /* other content */
	VERIFY_MISSING,
	VERIFY_UNREADABLE, /* `error` is the cause */
	VERIFY_UNPROVED, /* nothing to compare with: `why` */
	VERIFY_REMOTE, /* an object of a store, which is not asked for */
	VERIFY_STATE_END,
};

/* Bytes `first` to `end` - 1. */
struct verify_range {
	uint64_t first, end; /* both 0: none */
};

struct verify_item {
	const char *path; /* as the user would write it; opened by this name */
	bool is_link; /* a symbolic link, whose content is its text */
	bool may_be_gone; /* the runs themselves removed or renamed it */
	bool has_digest, has_size;
	uint8_t digest[BLAKE3_LEN]; /* expected */
	uint64_t size_bytes; /* expected */
	/* The verdict: */
	enum verify_state state;
	int error;
	const char *why;
	uint64_t found_bytes; /* size of the file now */
	struct verify_range bad; /* the first bad range, if known */
	struct verify_range proved; /* the range that OK covers */
};

struct verify_list {
	struct pool pool; /* of paths and messages */
	struct verify_item *all;
	size_t n, cap;
};

struct verify_options {
	unsigned n_threads; /* 0: one per CPU */
	bool has_range;
	struct verify_range range; /* `end` UINT64_MAX: to the end of the file */
	bool quiet; /* no line for an OK */
	bool json;
};

/* ---- verify_list.c ---- */

void verify_list_release(struct verify_list *list);

/* Each adds items; 0 or a negative errno, maybe with a message. */

/* The newest content at the path of the target, which `word` names. */
int verify_list_file(struct verify_list *list, struct view *v, const char *word,
		     const struct target *t, struct roar_error *err);

/* A file as one job has recorded it; `p` may be NULL. */
int verify_list_row(struct verify_list *list, const struct view *v,
		    const struct pipeline *p, const struct store_file *row);

/* A name that is not as expected, whatever its content is. */
int verify_list_unproved(struct verify_list *list, const char *path,
			 const char *why);

enum verify_which { VERIFY_ALL, VERIFY_INPUTS, VERIFY_OUTPUTS };

/* The newest version of each file that the session read or wrote. */
int verify_list_session(struct verify_list *list, struct view *v,
			int64_t session_id, enum verify_which which,
			struct roar_error *err);

int verify_list_digest(struct verify_list *list, const char *path,
		       const uint8_t digest[BLAKE3_LEN]);

/* ---- verify_ref.c ---- */

/* What the word stands for.  `roles`: of a job or session only its inputs, its outputs or
 * both; 0: of a job its outputs, of a session all.  A word that names nothing in the record
 * becomes a VERIFY_UNPROVED item. */
int verify_list_word(struct verify_list *list, struct view *v, const char *word,
		     unsigned roles, struct roar_error *err);

/* ---- verify_file.c ---- */

/* The store of leaf trees. */
struct verify_trees {
	int dirfd; /* .roar; negative: there is no project */
	bool keep; /* store new trees */
};

/* Checks the name.  Returns 1 if the content must be read, 0 if the verdict is already
 * set. */
int verify_file_look(struct verify_item *item,
		     const struct verify_options *options);

/* Is it read on its own, with a tree, rather than with other files? */
bool verify_file_is_large(const struct verify_item *item);

/* Reads one large file, or the range of it, and sets the verdict. */
void verify_file_read(struct verify_item *item,
		      const struct verify_options *options,
		      const struct verify_trees *trees,
		      const struct leaf_tree_file_options *how);

/* The verdict on an item whose content was read. */
void verify_file_settle(struct verify_item *item,
			const uint8_t digest[BLAKE3_LEN], uint64_t size_bytes);

/* ---- verify_run.c ---- */

/* Checks all items and prints the results.  Returns an exit status. */
int verify_run(struct verify_list *list, const struct verify_options *options,
	       const struct verify_trees *trees);

/* ---- verify_say.c ---- */

void verify_say_line(struct str *out, const struct verify_item *item,
		     const struct verify_options *options);
void verify_say_json(struct json *j, const struct verify_item *item);

/* Prints errors and a summary of failures to stderr.  Returns an exit status. */
int verify_say_end(const struct verify_list *list);

#endif
