/* dir_hash_scan.h - the tree of a directory, with the digest of every file.
 *
 * The directory is walked for names, then the engine hashes its files, a window at a time.
 * Files in the options' cache are only looked up, not read.  Errors of the engine for a
 * file (it changes, it cannot be read), and a name that refers to another file by then
 * (-ESTALE), are errors of the name, like those of dir_walk(). */
#ifndef ROAR_HASH_DIR_HASH_SCAN_H
#define ROAR_HASH_DIR_HASH_SCAN_H

#include "hash/dir/dir_hash.h"
#include "hash/jobs/engine.h"

/* Creates the tree of the directory `path`; the caller owns it.  `options` are those of the
 * engine and must include BLAKE3.  `error`, which may be NULL, is called for every name
 * with an error.  If there is any, there is no tree, and the first error is returned: a
 * FIFO gives -EINVAL.  -ENOMEM, -E2BIG as dir_hash_add_file(). */
int dir_hash_scan(const char *path, const struct engine_options *options,
		  void (*error)(void *ctx, const char *path, int error),
		  void *ctx, struct dir_hash **ret);

#endif
