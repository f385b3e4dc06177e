/* git_head.h - refs, read from their files. */
#ifndef ROAR_GIT_HEAD_H
#define ROAR_GIT_HEAD_H

#include <stdbool.h>
#include <stddef.h>

struct git_repo;

enum { GIT_HEX_MAX = 64 }; /* digits of an object id: 40, or 64 for SHA-256 */

struct git_head {
	char *ref; /* "refs/heads/main"; NULL: detached */
	char *commit; /* hex; NULL: the branch has no commit yet */
	bool foreign; /* refs are in a format that only git reads (reftable);
		       * then the fields above are NULL */
};

void git_head_release(struct git_head *head);

/* Reads HEAD.  -EBADMSG when it is neither a ref nor an object id, another
 * negative errno when it cannot be read. */
int git_head_read(const struct git_repo *repo, struct git_head *ret_head);

/* The object id of a full ref name, loose or packed, through symbolic refs.
 * Returns 1, 0 when there is no such ref, or a negative errno. */
int git_ref_read(const struct git_repo *repo, const char *ref,
		 char ret_hex[GIT_HEX_MAX + 1]);

/* "main" for "refs/heads/main"; other refs keep their full name. */
const char *git_ref_short(const char *ref);

/* Is it an object id: 40 or 64 lower-case hex digits? */
bool git_hex_valid(const char *hex, size_t len);

#endif
