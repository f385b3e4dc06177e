/* file_pass.h - one file on its way through a multihash, step by step.
 *
 * Private to lib/hash.  A pass is a table on which a thread hashes one file
 * after the other:
 *
 *     look   stat: what is there, and its stamp before the first read
 *     start  open
 *     step   one read, hashed; the last one compares the stamps and either
 *            delivers the result or begins again from the first byte
 *     end    close
 *
 * The first stamp of a path is taken before open, which costs nothing (the last
 * one is taken on the descriptor and names device and inode) and keeps us from
 * opening what must not be opened: a reader that comes and goes kills the
 * writer of a FIFO, and some devices act on open. */
#ifndef ROAR_HASH_FILE_PASS_H
#define ROAR_HASH_FILE_PASS_H

#include "hash/digest/multihash.h"
#include "hash/file/file_hash.h"

enum { PASS_BUFFER = 256 * 1024, PASS_TRIES = 4 };

struct file_pass {
	int dirfd; /* with `path`: what start() opens */
	const char *path; /* borrowed; NULL when looked at by descriptor */
	int fd; /* read from here */
	unsigned n_tries;
	uint64_t offset; /* bytes hashed in this try */
	struct stamp stamp; /* before the first read of this try */
	int64_t taken_ns; /* just before that stamp */
	struct multihash hash;
	uint8_t buffer[PASS_BUFFER]; /* small files touch its first pages only */
};

/* The pass of the calling thread, made on first use and freed with the thread;
 * NULL without memory. */
struct file_pass *file_pass_local(void);

/* 0, or the negative errno of stat(2), -EISDIR, -EINVAL. */
int file_pass_look(struct file_pass *p, int dirfd, const char *path);
int file_pass_look_fd(struct file_pass *p, int fd); /* borrowed */

/* The same by a time that the caller has; it may be a little early. */
int file_pass_look_at(struct file_pass *p, int dirfd, const char *path,
		      int64_t now_ns);

/* Begins to hash what was looked at.  On failure there is nothing to end. */
int file_pass_start(struct file_pass *p, digest_set want);

/* One read.  1: there is more to do; 0: `ret` is filled in; or a negative errno.
 * `n_bytes`, if given, is raised by what was read. */
int file_pass_step(struct file_pass *p, _Atomic uint64_t *n_bytes,
		   struct file_hash *ret);

/* For whoever reads in another way and has set `offset` to what was read: looks
 * whether the file has held still, as the last step does.  1: it has changed, and its
 * new stamp begins the next try. */
int file_pass_settle(struct file_pass *p, struct file_hash *ret);

void file_pass_end(struct file_pass *p);

#endif
