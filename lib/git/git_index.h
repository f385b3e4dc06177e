/* git_index.h - git's index file (.git/index), read entry by entry.
 *
 * Versions 2, 3 and 4.  All integers are big-endian:
 *
 *	"DIRC"  version(4)  n_entries(4)
 *	entries, sorted by path:
 *		ctime s,ns  mtime s,ns  dev  ino  mode  uid  gid  size   (4 each)
 *		object id (20 or 32)  flags(2)  [extended flags(2), version >= 3]
 *		version 2, 3: path NUL, padded with NULs to a multiple of 8
 *		version 4: number of bytes to drop from the previous path (a
 *			variable-length integer), the bytes to add, NUL
 *	extensions: name(4) size(4) data
 *	checksum (20 or 32)
 *
 * Sizes and inode numbers are cut to 32 bits.  The reader checks every length
 * and is safe on arbitrary bytes; it does not verify the checksum, which would
 * cost more than the rest. */
#ifndef ROAR_GIT_INDEX_H
#define ROAR_GIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct stat;

enum {
	GIT_MODE_SYMLINK = 0120000,
	GIT_MODE_GITLINK = 0160000, /* a submodule */
	GIT_PATH_MAX = 1 << 16, /* bytes of a path that is accepted */
};

struct git_index_entry {
	uint32_t ctime_s, ctime_ns;
	uint32_t mtime_s, mtime_ns;
	uint32_t ino, uid, gid, size; /* low 32 bits */
	uint32_t mode;
	const uint8_t *oid;
	unsigned stage; /* 0, or 1..3 in a conflict */
	bool assume_valid; /* the user told git not to check it */
	bool skip_worktree; /* sparse checkout: not in the tree */
	bool intent_to_add;
	const char *path; /* valid until the next entry is read */
	size_t path_len;
};

struct git_index {
	const uint8_t *data;
	size_t end; /* offset of the checksum */
	size_t pos;
	size_t hash_len;
	uint32_t version;
	uint32_t n_left; /* entries not yet read */
	struct str path; /* of the last entry */
};

/* Starts reading `len` bytes, borrowed until release.  -EBADMSG when they are not an
 * index of a known version. */
int git_index_init(struct git_index *index, const void *data, size_t len,
		   size_t hash_len);
void git_index_release(struct git_index *index);

/* Reads one entry.  Returns 1, 0 after the last one, -EBADMSG for a damaged file,
 * -ENOMEM. */
int git_index_next(struct git_index *index, struct git_index_entry *ret_entry);

/* After the last entry: does the file have this extension?  1, 0, -EBADMSG. */
int git_index_has_extension(const struct git_index *index, const char name[4]);

/* Does the file still have the stat data of its entry?  False means that git has to
 * compare the content, not that it is modified.  The caller handles the racy case. */
bool git_index_entry_matches(const struct git_index_entry *entry,
			     const struct stat *st, bool trust_ctime);

#endif
