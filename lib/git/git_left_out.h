/* git_left_out.h - uncommitted files that are not in a snapshot, and why.
 *
 * The list stays short however large the tree is: files past GIT_LEFT_OUT_MAX are only
 * counted. */
#ifndef ROAR_GIT_LEFT_OUT_H
#define ROAR_GIT_LEFT_OUT_H

#include <stddef.h>
#include <stdint.h>

struct str;

enum { GIT_LEFT_OUT_MAX = 100 };

enum git_reason {
	GIT_REASON_NONE,
	GIT_REASON_CREDENTIALS, /* by its name or content, see git_credentials.h */
	GIT_REASON_PACKAGES, /* a directory of installed packages */
	GIT_REASON_LARGE,
	GIT_REASON_BINARY, /* untracked, and holds NUL bytes */
	GIT_REASON_UNREADABLE,
	GIT_REASON_SPECIAL, /* a FIFO, a repository of its own, ... */
	GIT_REASON_FULL, /* the snapshot is full */
	GIT_REASON_GONE, /* removed since git listed it */
	GIT_REASON_END,
};

struct git_left_out {
	char *path; /* from the root; a directory ends in "/" */
	enum git_reason reason;
};

struct git_left_outs {
	struct git_left_out *items; /* the first ones, as git sorts them */
	uint32_t n_items;
	uint32_t n; /* all of them, named or not */
};

void git_left_outs_release(struct git_left_outs *list);

/* Adds one; 0 or -ENOMEM. */
int git_left_outs_add(struct git_left_outs *list, const char *path, size_t len,
		      enum git_reason reason);

/* Makes *ret, which must be empty, equal to `list`; 0 or -ENOMEM. */
int git_left_outs_copy(const struct git_left_outs *list,
		       struct git_left_outs *ret);

/* Appends "a.bin (not text), .env (credentials) and 3 more", naming at most
 * `max`. */
void git_left_outs_describe(const struct git_left_outs *list, size_t max,
			    struct str *out);

/* "credentials", "too large", ...; "" for an invalid value. */
const char *git_reason_text(enum git_reason reason);

#endif
