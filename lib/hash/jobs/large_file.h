/* large_file.h - the digests of one large file, leaf by leaf.
 *
 * Private to lib/hash.  The engine reads large files with it in the foreground, the
 * hasher in the background; each is an owner, which decides how many threads read.
 *
 * The leaves are read by file_reader.h, which leaves the page cache unchanged and does not
 * read holes.  Their values are joined to the BLAKE3 of the file.  Other digests cannot be
 * divided: one thread computes them in order, and a second one BLAKE3.
 *
 * When the owner has more threads than before, reading stops between two leaves and
 * continues with all of them.  Stamps are compared as in file_pass.h: a file that changes
 * is read again, up to PASS_TRIES times. */
#ifndef ROAR_HASH_LARGE_FILE_H
#define ROAR_HASH_LARGE_FILE_H

#include <stdatomic.h>

#include "hash/blake3/leaf_tree.h"
#include "hash/file/file_pass.h"
#include "hash/jobs/duet.h"
#include "hash/read/file_reader.h"

struct large_file;

/* Callbacks of the owner.  Those between two leaves are called from any reading thread. */
struct large_file_owner {
	/* The number of threads that may read now, including the calling one.  Called
	 * before reading and between leaves. */
	unsigned (*n_threads)(const struct large_file *l);
	/* Between leaves: is the result still wanted? */
	bool (*is_wanted)(const struct large_file *l);
	/* Sets memory, way, mapping and buffer for l->n_threads threads. */
	void (*plan)(const struct large_file *l, struct file_reader_options *o);
	/* The start of an attempt, which may continue after known leaves, and its end.
	 * NULL: not needed. */
	void (*begin)(struct large_file *l);
	void (*end)(struct large_file *l);
	/* Receives the tree of a file that did not change; only with BLAKE3.  May be
	 * NULL. */
	void (*keep)(const struct large_file *l);
};

struct large_file {
	/* Set by the owner: */
	const struct large_file_owner *owner;
	void *ctx; /* the owner's */
	struct file_pass *pass; /* has looked at the file */
	digest_set want;
	_Atomic uint64_t *offset; /* counts the bytes read in this attempt */
	_Atomic uint64_t *n_bytes; /* counts all bytes read; may be NULL */

	/* Of the current attempt; the atomic fields are shared by the reading threads: */
	struct stamp stamp;
	int64_t taken_ns;
	struct leaf_tree tree;
	uint8_t *filled; /* 1 for each leaf that was read */
	uint64_t next; /* the first leaf that was not read */
	_Atomic uint64_t
		n_prefix; /* leaves read without a gap from the first on */
	unsigned n_threads; /* reading now */
	atomic_bool widen; /* more threads are available */
	atomic_bool shrunk; /* the file became shorter */
	struct duet duet;
};

/* The wanted digests other than BLAKE3. */
static inline digest_set large_file_others(const struct large_file *l)
{
	return l->want & ~(digest_set)DIGEST_SET_BLAKE3;
}

/* Opens, reads and closes the file.  0 with `ret` filled in; -ECANCELED: no longer wanted;
 * else as file_pass_start(), file_reader_read() and file_pass_settle(). */
int large_file_hash(struct large_file *l, struct file_hash *ret);

#endif
