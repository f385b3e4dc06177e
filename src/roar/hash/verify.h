/* verify.h - are the files still what the record says?
 *
 *	verify_list.c	which files, and what they should be
 *	verify_run.c	all of them, in their order, and the bar
 *	verify_file.c	one large file, with the tree that is kept of it
 *	verify_say.c	the answer, for people and for programs
 *
 * Content is always read: neither times nor the digest cache are asked.  Small files
 * go through the engine, many at a time.  A large one is read by all threads and
 * compared leaf by leaf with its tree (hash/file/leaf_tree_store.h), so that one pass names the
 * first bad range; where no tree is kept, the pass that finds the file right
 * makes one. */
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

struct view;

enum verify_state {
	VERIFY_OK,
	VERIFY_CHANGED, /* other content */
	VERIFY_MISSING,
	VERIFY_UNREADABLE, /* `error` says why */
	VERIFY_UNPROVED, /* `why`: nothing to compare with; not said to be OK */
	VERIFY_STATE_END,
};

/* Bytes `first` to `end` - 1. */
struct verify_range {
	uint64_t first, end; /* both 0: none */
};

struct verify_item {
	const char *path; /* as the user would write it; opened by this name */
	bool is_link; /* a symbolic link, which is its text */
	bool may_be_gone; /* the runs themselves removed or renamed it */
	bool has_digest, has_size;
	uint8_t digest[BLAKE3_LEN]; /* that it should have */
	uint64_t size_bytes; /* the same */
	/* The verdict: */
	enum verify_state state;
	int error;
	const char *why;
	uint64_t found_bytes; /* of the file as it is */
	struct verify_range bad; /* the first, where it is known */
	struct verify_range proved; /* what an OK is about */
};

struct verify_list {
	struct pool pool; /* of paths and sentences */
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

/* Each adds items; 0 or a negative errno, with a sentence where there is one.  A word
 * that names nothing in the record becomes an item that is not proved. */
int verify_list_word(struct verify_list *list, struct view *v, const char *word,
		     struct roar_error *err);

enum verify_which { VERIFY_ALL, VERIFY_INPUTS, VERIFY_OUTPUTS };

/* The newest version of each file that the active session read or wrote. */
int verify_list_session(struct verify_list *list, struct view *v,
			enum verify_which which, struct roar_error *err);

int verify_list_digest(struct verify_list *list, const char *path,
		       const uint8_t digest[BLAKE3_LEN]);

/* ---- verify_file.c ---- */

/* Where the trees are. */
struct verify_trees {
	int dirfd; /* .roar; negative: there is no project */
	bool keep; /* write those that are made */
};

/* Looks at the name: 1 when the content has to be read, 0 when the verdict is
 * there. */
int verify_file_look(struct verify_item *item,
		     const struct verify_options *options);

/* Is it read by itself, with a tree, rather than with many others? */
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

/* Checks all, prints the answer.  Returns an exit status. */
int verify_run(struct verify_list *list, const struct verify_options *options,
	       const struct verify_trees *trees);

/* ---- verify_say.c ---- */

void verify_say_line(struct str *out, const struct verify_item *item,
		     const struct verify_options *options);
void verify_say_json(struct json *j, const struct verify_item *item);

/* Tells the standard error what was in the way, and how much is wrong.  Returns an
 * exit status. */
int verify_say_end(const struct verify_list *list);

#endif
