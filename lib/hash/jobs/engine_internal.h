/* engine_internal.h - what the files of the engine share.
 *
 * engine.c deals the files out, last_dir.c finds the folder they are in,
 * engine_small.c hashes small ones, engine_large.c large ones. */
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
	LARGE_BYTES = 2 * 1024 * 1024, /* below, threads do not pay */
	HUGE_BYTES = 128 * 1024 * 1024, /* one for all threads, in any case */
	LOOK_MS = 100,
};

struct engine {
	const struct engine_options *options;
	struct engine_file *files;
	size_t n;
	unsigned n_threads;
	size_t memory;
	size_t share; /* files a thread takes at a time, at least */
	uint64_t shared_bytes; /* files from here on are for all threads */
	pthread_t caller;
	unsigned look_ms;
	int64_t look_ns; /* monotonic: the caller's next look */
	bool guesses; /* folders tell which names may be opened */

	/* All threads: */
	_Atomic size_t next; /* to be dealt out */
	atomic_bool ending;
	_Atomic uint32_t
		n_ended; /* threads; whoever waits for them sleeps on it */
	_Atomic uint64_t n_done;
	_Atomic uint64_t bytes_read;
	pthread_mutex_t lock; /* protects the rest */
	size_t *shared; /* indices of files that wait for all threads */
	size_t n_shared, cap_shared;
};

/* A file that was looked at and is small. */
struct small {
	struct engine_file *file;
	const uint8_t *data;
	struct stamp stamp;
	int64_t taken_ns;
	bool guessed; /* without a look before */
};

/* The folder of the file before: files come folder by folder, and a name takes the
 * kernel less time than a path.  Not in a program that closes descriptors which are not
 * its own: a name under another folder is another file. */
struct last_dir {
	const char *path; /* borrowed, begins with the folder; NULL: none yet */
	size_t len; /* of the folder with its '/' */
	int fd; /* O_PATH; -1: not open */
	const char *name; /* there, of the last file; NULL: it has none */
	unsigned n_more; /* files in a row, after the first */
	struct dir_listing *listing; /* NULL: none yet */
};

struct engine_worker {
	struct engine *engine;
	pthread_t thread;
	struct stability stability;
	struct last_dir last_dir;
	struct digest_cache_page known;
	int64_t known_ns; /* the tick of the last question */
	uint64_t n_done; /* of this share */
	uint64_t bytes_read;
	void *leaf; /* FILE_READER_LEAF bytes for files of this thread; may be NULL */
	unsigned n_wait; /* files that are looked at before the next guess */
	int64_t clock_ns; /* our time above the monotonic one at the first guess */
	unsigned n_guessed; /* of the small ones */
	unsigned n_small;
	struct small small[ENGINE_BATCH];
	bool own_table; /* of descriptors: nobody waits for those that are open */
	unsigned n_open;
	int open[ENGINE_BATCH]; /* those of small files, to be closed */
	size_t n_data; /* bytes that are taken */
	/* Of the small ones, which begin at multiples of 64. */
	_Alignas(64) uint8_t data[ENGINE_BATCH * (SMALL_BYTES + 64)];
};

/* The file is done: -errno, or what is in file->hash, which goes into the cache. */
void engine_publish(struct engine_worker *w, struct engine_file *file,
		    int result);

/* Shall it go on?  On the caller's thread this is where it looks around. */
bool engine_goes_on(struct engine *e);

/* Is what was hashed the file that was looked at, or the one that has its name by now?
 * 0, -EAGAIN, or the negative errno of stat(2). */
int engine_check_file(const struct engine_file *file,
		      const struct stamp *looked_at);

/* From where a file is to be looked for, and by which name. */
int last_dir_find(struct last_dir *last, const char *path,
		  const char **ret_name);
void last_dir_release(struct last_dir *last);

/* Has the folder told that the last file is a regular one?  Then its device is
 * `ret_dev`. */
bool last_dir_is_listed(struct last_dir *last, struct dir_listings *listings,
			uint64_t *ret_dev);

/* Reads one small file that was looked at into the next place; false: it did not hold
 * still, or is not to be read, and another has to see to it. */
bool small_add(struct engine_worker *w, struct engine_file *file,
	       const struct file_pass *pass);
/* The same without a look, when the folder has told what it is. */
bool small_guess(struct engine_worker *w, struct engine_file *file, int dirfd,
		 const char *name, uint64_t dev);
/* Closes them, before others are opened that may need the room. */
void small_close(struct engine_worker *w);
/* Hashes those that were read. */
void small_flush(struct engine_worker *w);

/* One large file, of which stamp and time are in file->hash.  0 or a negative errno. */
int large_hash(struct engine_worker *w, struct engine_file *file,
	       unsigned n_threads, size_t memory);

#endif
