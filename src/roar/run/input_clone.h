/* input_clone.h - keeps the content of an input that is about to be changed in place.
 *
 * A large input cannot be hashed while its writer waits.  Where the file system shares
 * blocks between files (FICLONE: btrfs, XFS, bcachefs, OCFS2), a clone of it is made
 * instead, which costs a system call and no space until the writer writes, and is hashed
 * while the command goes on.  The clone never has a name (O_TMPFILE), so nothing is left
 * of it, whatever kills roar.  It is made in .roar/, or in the directory of the input
 * where that is another file system. */
#ifndef ROAR_RUN_INPUT_CLONE_H
#define ROAR_RUN_INPUT_CLONE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/stamp.h"

struct input_cloner {
	/* 0 or a negative errno; NULL: ioctl(FICLONE).  For tests. */
	int (*clone)(int to, int from);
	bool refused; /* the file system `dev` has no clones */
	uint64_t dev;
};

/* A clone of the file at `path`, which has the stamp `now`, in *ret_fd.  -ESTALE when
 * the file had, or got, another stamp; -EOPNOTSUPP where there are no clones, which is
 * found out once. */
int input_clone_make(struct input_cloner *c, int dirfd, const char *path,
		     const struct stamp *now, int *ret_fd);

#endif
