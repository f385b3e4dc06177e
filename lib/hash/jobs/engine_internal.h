/* engine_internal.h - shared by the files of the engine.
 *
 * engine.c distributes the files, last_dir.c keeps their directory open, engine_small.c
 * hashes small files, engine_large.c large ones. */
#ifndef ROAR_HASH_ENGINE_INTERNAL_H
#define ROAR_HASH_ENGINE_INTERNAL_H

#include <pthread.h>

#include "hash/blake3/b3.h"
#include "hash/file/file_pass.h"
#include "hash/file/stability.h"
#include "hash/jobs/dir_listing.h"
#include "hash/jobs/engine.h"

enum {
	ENGINE_BATCH = 16, /* the lanes of AVX-512 */
	SMALL_BYTES = 16 * 1024, /* see b3_hash_batch() */
	/* Below, threads are not worth their cost. */
	LARGE_BYTES = 2 * 1024 * 1024,
	/* Always read by all threads together. */
	HUGE_BYTES = 128 * 1024 * 1024,
	LOOK_MS = 100,
};

struct engine {
	const struct engine_options *options;
	struct engine_file *files;
	size_t n;
	unsigned n_threads;
	size_t memory;
	size_t share; /* least number of files a thread takes at a time */
	uint64_t shared_bytes; /* files of this size are read by all threads */
	pthread_t caller;
	unsigned look_ms;
	int64_t look_ns; /* monotonic time of the next options.look() */
	bool guesses; /* directory listings replace stat(2) */

	/* Shared by all threads, without a lock: */
	_Atomic size_t next; /* index of the next file to distribute */
	atomic_bool ending;
	_Atomic uint32_t n_ended; /* threads; a futex of the caller */
	_Atomic uint64_t n_done;
	_Atomic uint64_t bytes_read;
	pthread_mutex_t lock; /* protects the fields below; innermost */
	size_t *shared; /* indices of files to be read by all threads */
	size_t n_shared, cap_shared;
};

/* A small file that was read. */
struct small {
	struct engine_file *file;
	const uint8_t *data;
	struct stamp stamp;
	int64_t taken_ns;
	bool guessed; /* opened without stat(2) before */
};

/* The directory of the previous file: lists are mostly sorted by directory, and the kernel
 * resolves a name faster than a path.  Not for programs that close descriptors they do not
 * own: with another directory the name would be another file. */
struct last_dir {
	/* Borrowed, starts with the directory; NULL: none yet. */
	const char *path;
	size_t len; /* of the directory with its '/' */
	int fd; /* O_PATH; -1: not open */
	const char *name; /* of the last file, in that directory; NULL: none */
	unsigned n_more; /* files in a row, after the first */
	struct dir_listing *listing; /* NULL: none yet */
};

struct engine_worker {
	struct engine *engine;
	pthread_t thread;
	struct stability stability;
	struct last_dir last_dir;
	struct digest_cache_page known;
	int64_t known_ns; /* clock tick of the last lookup */
	uint64_t n_done; /* of this share */
	uint64_t bytes_read;
	void *leaf; /* buffer of FILE_READER_LEAF bytes; may be NULL */
	unsigned n_wait; /* files to check with stat(2) before the next guess */
	/* Wall clock minus monotonic clock at the first guess. */
	int64_t clock_ns;
	unsigned n_guessed; /* of the small ones */
	unsigned n_small;
	struct small small[ENGINE_BATCH];
	bool own_table; /* the thread has its own descriptor table */
	unsigned n_open;
	int open[ENGINE_BATCH]; /* descriptors of small files, to be closed */
	size_t n_data; /* bytes of `data` in use */
	/* Contents of the small files, each aligned to 64. */
	_Alignas(64) uint8_t data[ENGINE_BATCH * (SMALL_BYTES + 64)];
};

/* The file is done: with -errno, or with the digests in file->hash, which are put into the
 * cache. */
void engine_publish(struct engine_worker *w, struct engine_file *file,
		    int result);

/* Shall the run continue?  On the caller's thread this also calls options.look(). */
bool engine_goes_on(struct engine *e);

/* Checks that the hashed file is the one that stat(2) saw, or the one with that name now.
 * 0, -EAGAIN, or the negative errno of stat(2). */
int engine_check_file(const struct engine_file *file,
		      const struct stamp *looked_at);

/* The directory descriptor and the name for opening a file. */
int last_dir_find(struct last_dir *last, const char *path,
		  const char **ret_name);
void last_dir_release(struct last_dir *last);

/* Is the last file listed as a regular file?  Then *ret_dev is its device. */
bool last_dir_is_listed(struct last_dir *last, struct dir_listings *listings,
			uint64_t *ret_dev);

/* Reads a small file that was checked into the next slot.  False: it changed or cannot be
 * read here, and must be hashed in another way. */
bool small_add(struct engine_worker *w, struct engine_file *file,
	       const struct file_pass *pass);
/* The same without stat(2), if the directory lists it as a regular file. */
bool small_guess(struct engine_worker *w, struct engine_file *file, int dirfd,
		 const char *name, uint64_t dev);
/* Closes their descriptors, before others are opened that may need them. */
void small_close(struct engine_worker *w);
/* Hashes the small files that were read. */
void small_flush(struct engine_worker *w);

/* Hashes a large file, whose stamp and time are in file->hash.  0 or a negative errno. */
int large_hash(struct engine_worker *w, struct engine_file *file,
	       unsigned n_threads, size_t memory);

#endif
