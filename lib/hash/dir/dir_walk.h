/* dir_walk.h - all files and links of a folder, in the order of a tree.
 *
 * The walk goes by directory descriptors and single names: it follows no symbolic
 * link below the top, and a folder that is moved meanwhile takes it nowhere else.
 * It keeps a handful of folders open however deep the tree is, and its stack in
 * memory: names of the folders between the top and where it is, 16 bytes each
 * and their text.  A path has at most DIR_HASH_PATH_MAX bytes, which bounds the depth.
 *
 * Leaves come sorted by the bytes of their path, as dir_hash.h wants them.  That is
 * not the order of names: a folder is sorted as if its name ended in '/', so that
 * "a.txt" comes before "a/b" and "a0" after it.
 *
 * What cannot be listed is an error of its name, and the walk goes on:
 *	-EILSEQ		the name is no UTF-8 (a folder is not entered then),
 *			unless the walk is a bare one
 *	-EINVAL		it is a FIFO, a socket or a device; none is ever opened
 *	-ENAMETOOLONG	its path is longer than a tree takes
 *	-ELOOP		it is one of the folders around it, mounted here
 *	-ESTALE		another folder is in its place meanwhile
 *	-EISDIR		a file became a folder meanwhile; -ENOTDIR, or -ELOOP for a
 *			link, the other way round
 *	-ENOENT, -EACCES, ... as open(2), getdents(2) and stat(2)
 * A tree that changes while it is walked gives what was found at some moment, name
 * by name.  Mount points are entered.  Nothing is told of a folder itself. */
#ifndef ROAR_HASH_DIR_WALK_H
#define ROAR_HASH_DIR_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/stamp.h"

enum dir_walk_kind { DIR_WALK_FILE, DIR_WALK_LINK };

/* A leaf; all of it is good during the call only. */
struct dir_walk_entry {
	const char *path; /* from the top, NUL-terminated */
	size_t len; /* bytes of path */
	int dirfd; /* the folder it is in */
	const char *name; /* from there: the last part of path */
	enum dir_walk_kind kind;
	struct stamp stamp; /* ino 0 in a bare walk; see `lazy` */
};

struct dir_walk_visitor {
	/* A negative answer ends the walk. */
	int (*leaf)(void *ctx, const struct dir_walk_entry *found);
	/* May be NULL.  `path` is "" for the top itself and may hold any bytes
	 * but NUL. */
	void (*error)(void *ctx, const char *path, int error);
	void *ctx;
	/* Names alone, not for a tree: any bytes will do, and no file is looked at
	 * of which the folder says what it is. */
	bool bare;
	/* No file is looked at of which the folder says what it is.  Of its stamp
	 * there are device and inode, as the folder has them: where something is
	 * mounted on the file, and in some layered file systems, those of another
	 * one. */
	bool lazy;
};

/* Walks the folder `path` from `dirfd`; that path may go through links.  Returns
 * 0 when everything in it was told, the first error of a name when there was one,
 * what the visitor ended it with, -ENOMEM, or as open(2) when the top itself
 * cannot be opened. */
int dir_walk(int dirfd, const char *path,
	     const struct dir_walk_visitor *visitor);

/* Looks at one file of the folder `top` as the walk does, following no link below it.
 * `path` is as the walk told it.  0, -EINVAL for what is no regular file, -ENOMEM, or
 * as open(2) and stat(2). */
int dir_walk_stat(const char *top, const char *path, struct stamp *ret);

#endif
