/* blob.h - a place for files: a directory, or a prefix in object storage.
 *
 *	/path, file:///path	a directory
 *	s3://bucket/prefix	S3, or a server that speaks its protocol (gs:// likewise)
 *
 * A name is relative to that place and has at most one "/".  A large file is written in
 * blocks by several threads and becomes durable as a whole; small ones are put and got at
 * once.  Nothing here is cached: what is read comes from the disk or the server.
 *
 * A store may be used by any number of threads at once, and so may one reader or writer.
 * All functions return 0 or a negative errno, and then a sentence in `err` (which may be
 * NULL).  -ENOENT and -EEXIST mean the named file; a full disk is -ENOSPC or -EDQUOT. */
#ifndef ROAR_BLOB_H
#define ROAR_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

struct blob_hold;
struct blob_reader;
struct blob_store;
struct blob_writer;

enum {
	BLOB_ALIGN = 4096, /* of buffers, offsets and lengths */
	BLOB_BLOCK = 4 << 20, /* the usual length of a write */
};

/* Opens a place; a directory is made if `create`.  `max_parallel` bounds the requests to a
 * server that are under way at once.  -ENOTSUP: this build has no such storage. */
int blob_open(const char *url, bool create, unsigned max_parallel,
	      struct blob_store **ret, struct roar_error *err);
void blob_close(struct blob_store *s);
DEFINE_CLEANUP(struct blob_store *, blob_close)

const char *blob_url(const struct blob_store *
			     s); /* as it was opened, without a "/" at the end */
bool blob_is_local(const struct blob_store *s);
/* The descriptor of the directory; -1 for object storage. */
int blob_dirfd(const struct blob_store *s);

/* The best length of a write to a file of that size, a multiple of BLOB_BLOCK, and how many
 * threads should write at once. */
size_t blob_block_bytes(const struct blob_store *s, uint64_t size_bytes);
unsigned blob_parallel(const struct blob_store *s);

/* ---- large files ---- */

/* Begins a file of at most `size_bytes`, whose space is reserved where that is possible.
 * -EEXIST: the name is in use.  Its directory is made. */
int blob_create(struct blob_store *s, const char *name, uint64_t size_bytes,
		struct blob_writer **ret, struct roar_error *err);
/* Writes a block.  `buf` is aligned, and there is memory up to the next multiple of BLOB_ALIGN
 * after it, which may be written as padding.  `offset` is a multiple of BLOB_ALIGN, and `len`
 * too unless the block is the last of the file.  In object storage blocks are parts: block
 * number offset / blob_block_bytes(), and all but the last have at least that length. */
int blob_write(struct blob_writer *w, uint64_t offset, const void *buf,
	       size_t len, struct roar_error *err);
/* The BLAKE3 of the whole file, where the caller knows it.  When the file is finished on a
 * disk, it is reported to the `roar run` that observes the process (event/note.h). */
void blob_set_digest(struct blob_writer *w, const uint8_t blake3[32]);
/* Ends the file with its final size, and makes its content durable; its name is so after
 * blob_make_durable().  Frees the writer; after a failure the file has been removed. */
int blob_finish(struct blob_writer *w, uint64_t size_bytes,
		struct roar_error *err);
/* Removes what was written, and frees the writer.  NULL is allowed. */
void blob_abandon(struct blob_writer *w);
DEFINE_CLEANUP(struct blob_writer *, blob_abandon)

enum blob_read_flags {
	BLOB_READ_CACHED =
		1 << 0, /* through the page cache, as other readers are near */
};

/* Opens a file.  Its content is that of this moment: one that is replaced is -ESTALE later. */
int blob_open_reader(struct blob_store *s, const char *name,
		     enum blob_read_flags flags, struct blob_reader **ret,
		     uint64_t *ret_size_bytes, struct roar_error *err);
/* Reads exactly `len` bytes: -ENODATA if the file ends before.  Past the page cache if offset,
 * length and buffer are multiples of BLOB_ALIGN (the length also if it ends the file). */
int blob_read(struct blob_reader *r, uint64_t offset, void *buf, size_t len,
	      struct roar_error *err);
void blob_close_reader(struct blob_reader *r); /* NULL is allowed */
DEFINE_CLEANUP(struct blob_reader *, blob_close_reader)

/* ---- small files ---- */

enum blob_put_flags {
	/* -EEXIST if the name is in use, whoever is faster.  Otherwise it is replaced. */
	BLOB_PUT_EXCLUSIVE = 1 << 0,
	/* A new name that nobody looks for yet: it is written at once, and durable after
	 * blob_make_durable(). */
	BLOB_PUT_UNSEEN = 1 << 1,
};

/* Stores a file at once: a reader sees all of it or nothing, also after a crash.  `temporary`
 * is a name in the same directory for the time before that; NULL: one is made.  When this
 * fails, the name is as before.  With flags, the directory must exist: one that has vanished
 * since is not made again. */
int blob_put(struct blob_store *s, const char *name, const char *temporary,
	     const void *data, size_t len, enum blob_put_flags flags,
	     struct roar_error *err);
/* Appends the content.  -EFBIG: more than `max` bytes. */
int blob_get(struct blob_store *s, const char *name, size_t max,
	     struct str *out, struct roar_error *err);

/* Makes the names of a directory durable ("" for the store itself). */
int blob_make_durable(struct blob_store *s, const char *dir,
		      struct roar_error *err);

struct blob_entry {
	const char *name; /* relative to the store; a directory ends with "/" */
	uint64_t size_bytes;
	int64_t modified_ns; /* since 1970 */
};

/* Calls `fn` for all files whose names start with `prefix`, and on a disk for directories, in
 * no particular order, until it returns anything but 0, which is then returned. */
int blob_list(struct blob_store *s, const char *prefix,
	      int (*fn)(void *ctx, const struct blob_entry *entry), void *ctx,
	      struct roar_error *err);

/* Removes a file, or an empty directory if the name ends with "/".  -ENOENT. */
int blob_remove(struct blob_store *s, const char *name, struct roar_error *err);

struct blob_unfinished {
	int64_t before_ns; /* only those that were begun before, since 1970 */
	bool dry_run; /* ask only */
	bool (*wanted)(void *ctx, const char *name); /* is it to be removed? */
	void *ctx;
};

/* Removes large files that were begun and never finished, because their writers died.  They
 * are not listed, but cost.  On a disk there are none: such a file has its name at once. */
int blob_end_unfinished(struct blob_store *s,
			const struct blob_unfinished *what,
			struct roar_error *err);

/* ---- locks, on a disk only ---- */

/* Creates the file and holds a shared lock on it, so that blob_is_held() is true for others
 * until blob_release() or the death of the process.  In object storage *ret is NULL. */
int blob_hold(struct blob_store *s, const char *name, struct blob_hold **ret,
	      struct roar_error *err);
/* Removes the file if `remove`.  NULL is allowed. */
void blob_release(struct blob_hold *h, bool remove);
/* Does a process hold a lock on that file?  Always false in object storage. */
bool blob_is_held(struct blob_store *s, const char *name);

#endif
