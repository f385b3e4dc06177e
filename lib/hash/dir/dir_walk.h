/* dir_walk.h - all files and links of a directory tree, in the order of a tree hash.
 *
 * The walk uses directory descriptors and single names: it follows no symbolic link below
 * the top, and a directory that is moved meanwhile cannot lead it elsewhere.  It keeps only
 * a few directories open, however deep the tree is.  Its stack, in memory, has the names of
 * the directories above the current one, with 16 bytes each.  A path has at most
 * DIR_HASH_PATH_MAX bytes, which bounds the depth.
 *
 * Leaves are reported sorted by the bytes of their path, as dir_hash.h requires.  That is
 * not the order of names: a directory is sorted as if its name ended in '/', so that
 * "a.txt" comes before "a/b" and "a0" after it.
 *
 * A name that cannot be listed is reported as an error, and the walk continues:
 *	-EILSEQ		the name is not UTF-8 (a directory is not entered then),
 *			unless the walk is a bare one
 *	-EINVAL		it is a FIFO, a socket or a device; none is ever opened
 *	-ENAMETOOLONG	its path is longer than DIR_HASH_PATH_MAX
 *	-ELOOP		it is a parent directory, mounted here
 *	-ESTALE		another directory has replaced it meanwhile
 *	-EISDIR		a file became a directory meanwhile; -ENOTDIR, or -ELOOP for a
 *			link, in the reverse case
 *	-ENOENT, -EACCES, ... as open(2), getdents(2) and stat(2)
 * If a tree changes during the walk, each name is reported as found at some moment.  Mount
 * points are entered.  Directories themselves are not reported. */
#ifndef ROAR_HASH_DIR_WALK_H
#define ROAR_HASH_DIR_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/stamp.h"

enum dir_walk_kind { DIR_WALK_FILE, DIR_WALK_LINK };

/* A leaf; valid during the call only. */
struct dir_walk_entry {
	const char *path; /* from the top, NUL-terminated */
	size_t len; /* bytes of path */
	int dirfd; /* its directory */
	const char *name; /* in that directory: the last component of path */
	enum dir_walk_kind kind;
	struct stamp stamp; /* ino 0 in a bare walk; see `lazy` */
};

struct dir_walk_visitor {
	/* A negative return value ends the walk. */
	int (*leaf)(void *ctx, const struct dir_walk_entry *found);
	/* May be NULL.  `path` is "" for the top itself and may contain any bytes but
	 * NUL. */
	void (*error)(void *ctx, const char *path, int error);
	void *ctx;
	/* Names only, not for a tree hash: names may have any bytes, and there is no
	 * stat(2) for files whose type the directory entry has. */
	bool bare;
	/* No stat(2) for files whose type the directory entry has.  Their stamp has only
	 * device and inode, from the directory entry.  If something is mounted on the file,
	 * and in some layered file systems, these are those of another file. */
	bool lazy;
};

/* Walks the directory `path`, relative to `dirfd`; that path may contain links.  Returns 0
 * if everything was reported; the first error of a name; the visitor's negative return
 * value; -ENOMEM; or an error of open(2) for the top itself. */
int dir_walk(int dirfd, const char *path,
	     const struct dir_walk_visitor *visitor);

/* Takes the stamp of one file below the directory `top`, following no link below it, as the
 * walk does.  `path` is as reported by the walk.  0; -EINVAL: not a regular file; -ENOMEM;
 * or as open(2) and stat(2). */
int dir_walk_stat(const char *top, const char *path, struct stamp *ret);

#endif
