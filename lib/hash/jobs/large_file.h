/* large_file.h - the digests of one large file, leaf by leaf.
 *
 * Private to lib/hash.  The engine reads large files with it in the foreground, the
 * hasher in the background; each is an owner, which decides how many threads read.
 *
 * The leaves are read by file_reader.h, which leaves the page cache as it was and does
 * not read holes.  Their values are joined to the BLAKE3 of the file.  Other digests
 * cannot be divided: one thread takes them in order, beside BLAKE3 on a second one.
 *
 * When the owner has more threads than before, reading stops between two leaves and
 * goes on from there with all of them.  The stamp bracket is that of file_pass.h,
 * around all of this: a file that changes is read again, up to PASS_TRIES times. */
#ifndef ROAR_HASH_LARGE_FILE_H
#define ROAR_HASH_LARGE_FILE_H

#include <stdatomic.h>

#include "hash/blake3/leaf_tree.h"
#include "hash/file/file_pass.h"
#include "hash/jobs/duet.h"
#include "hash/read/file_reader.h"

struct large_file;

/* Calls to the owner.  Those between two leaves come from any thread that reads. */
struct large_file_owner {
	/* How many threads may read now, the calling one included?  Asked before
	 * reading and between leaves. */
	unsigned (*n_threads)(const struct large_file *l);
	/* Between leaves: is the result still wanted? */
	bool (*is_wanted)(const struct large_file *l);
	/* Sets memory, way, mapping and buffer for l->n_threads. */
	void (*plan)(const struct large_file *l, struct file_reader_options *o);
	/* A try begins, may begin behind leaves that are known, and ends.  NULL:
	 * nothing to do. */
	void (*begin)(struct large_file *l);
	void (*end)(struct large_file *l);
	/* Gets the tree of a file that held still; only with BLAKE3.  May be NULL. */
	void (*keep)(const struct large_file *l);
};

struct large_file {
	/* Set by the owner: */
	const struct large_file_owner *owner;
	void *ctx; /* the owner's */
	struct file_pass *pass; /* that has looked at the file */
	digest_set want;
	_Atomic uint64_t *offset; /* gets the bytes read in this try */
	_Atomic uint64_t *n_bytes; /* raised by all that is read; may be NULL */

	/* Of the current try: */
	struct stamp stamp;
	int64_t taken_ns;
	struct leaf_tree tree;
	uint8_t *filled; /* 1 for each leaf that was read */
	uint64_t next; /* the first leaf that was not */
	_Atomic uint64_t n_prefix; /* leaves from the first on that were */
	unsigned n_threads; /* that read now */
	atomic_bool widen; /* there could be more */
	atomic_bool shrunk; /* the file has */
	struct duet duet;
};

/* The digests other than BLAKE3 that are wanted. */
static inline digest_set large_file_others(const struct large_file *l)
{
	return l->want & ~(digest_set)DIGEST_SET_BLAKE3;
}

/* Opens, reads and closes the file.  0 with `ret` filled in, -ECANCELED when it is not
 * wanted any more, else as file_pass_start(), file_reader_read() and
 * file_pass_settle(). */
int large_file_hash(struct large_file *l, struct file_hash *ret);

#endif
