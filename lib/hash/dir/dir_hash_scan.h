/* dir_hash_scan.h - the tree of a folder, every file of it identified.
 *
 * The folder is walked for names, then its files are hashed by the engine, a window at
 * a time: what the options' cache knows costs one look and is not read again.  A name
 * that leads to another file by then (-ESTALE), and what the engine says of a
 * file (it does not hold still, cannot be read), are errors of the name as those of
 * dir_walk(). */
#ifndef ROAR_HASH_DIR_HASH_SCAN_H
#define ROAR_HASH_DIR_HASH_SCAN_H

#include "hash/dir/dir_hash.h"
#include "hash/jobs/engine.h"

/* Makes the tree of the folder `path`; the caller owns it.  `options` are those of the
 * engine, for one that wants BLAKE3.  `error`, which may be NULL, is told every name
 * that is in the way.  One is enough for there to be no tree: the first of them is
 * returned then, so that a FIFO gives -EINVAL.  -ENOMEM, -E2BIG as dir_hash_add_file(). */
int dir_hash_scan(const char *path, const struct engine_options *options,
		  void (*error)(void *ctx, const char *path, int error),
		  void *ctx, struct dir_hash **ret);

#endif
