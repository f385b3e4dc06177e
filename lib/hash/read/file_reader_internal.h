/* file_reader_internal.h - what the files of the file reader share.
 *
 *	file_reader.c			the call: options in, result out
 *	file_reader_choice.c		which way suits a file
 *	file_reader_open.c		its second and third descriptor
 *	file_reader_buffers.c		how many workers, and their memory
 *	file_reader_cursor.c		cuts the file into leaves and finds the holes
 *	file_reader_worker.c		the loop of a worker, the threads, the order
 *	file_reader_pread.c		the ways that read with pread(2)
 *	file_reader_mapped.c		the way that does not copy
 *	file_reader_uring.c		the way that reads with io_uring
 *
 * A worker takes leaves from the cursor, as many ahead as its way is deep, and
 * hands them out in the order in which it took them:
 *
 *	take -> start -> ... -> fetch -> sink -> drop what came into the cache
 *
 * So a worker that is alone keeps the order of the file by itself.  Several
 * workers that must keep it wait for their turn before the sink. */
#ifndef ROAR_HASH_FILE_READER_INTERNAL_H
#define ROAR_HASH_FILE_READER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "hash/read/file_reader.h"
#include "hash/read/residency.h"

enum {
	FILE_READER_DEPTH_MAX = 16, /* leaves that a worker takes ahead */
	FILE_READER_PAGES_MAX = FILE_READER_LEAF_MAX / 4096,
};

struct file_reader_leaf {
	uint64_t offset;
	size_t len;
	bool is_hole;
	enum residency residency; /* before we read any of it */
	uint8_t *buffer; /* of a whole leaf */
	const uint8_t *data; /* what is handed out: the buffer, or... */
	bool is_mapped; /* ...pages of the cache themselves */
	size_t direct_len; /* the first bytes, to be read past the cache */
	ssize_t got; /* of those: how many, or a negative errno */
	bool pending; /* a read of those is under way */
	size_t n_direct; /* bytes that were */
	uint8_t pages[FILE_READER_PAGES_MAX]; /* for RESIDENCY_PARTLY */
};

struct file_reader_job;

struct file_reader_worker {
	struct file_reader_job *job;
	unsigned number;
	pthread_t thread; /* of all but worker 0 */
	void *ring; /* of its way */
	unsigned first; /* of the leaves taken, the oldest */
	unsigned n_taken;
	struct file_reader_leaf *leaves; /* `depth` of the job; a circle */
};

/* How a way reads.  A call that is not needed is NULL. */
struct file_reader_ops {
	enum file_reader_way way;
	const struct file_reader_ops *next; /* when this one is not to be had */
	bool is_direct; /* needs the descriptor with O_DIRECT */
	bool is_single; /* one worker at all times */
	bool is_single_in_order; /* one worker where the order counts */
	bool buffer_each; /* reads into the buffers of several leaves */
	unsigned depth; /* leaves under way, over all workers */
	int (*open)(struct file_reader_worker *w);
	void (*start)(struct file_reader_worker *w,
		      struct file_reader_leaf *leaf);
	int (*fetch)(struct file_reader_worker *w,
		     struct file_reader_leaf *leaf);
	void (*close)(struct file_reader_worker *w);
};

extern const struct file_reader_ops file_reader_uring, file_reader_direct,
	file_reader_buffered, file_reader_sequential, file_reader_mapped;

struct file_reader_job {
	struct file_reader_options options; /* with the defaults filled in */
	file_reader_sink *sink;
	void *ctx;
	uint64_t size;
	dev_t dev; /* with `ino`: the file that all descriptors are of */
	ino_t ino;
	int fd; /* a description of our own, or the one that is lent */
	bool is_own;
	int direct_fd; /* -1: none */
	size_t direct_align; /* of offsets, lengths and memory; at least a page */
	enum residency_means means;
	const struct file_reader_ops *ops;
	unsigned n_workers;
	unsigned depth; /* leaves that each of them takes ahead */
	struct file_reader_worker *workers;
	struct file_reader_leaf *leaves; /* of all workers */
	const uint8_t *map; /* the file; NULL: none */
	void *memory; /* mapped; all buffers */
	size_t memory_len;
	atomic_bool keep_memory; /* somebody may write to it for ever */

	pthread_mutex_t lock; /* protects what follows, up to `result` */
	pthread_cond_t turned; /* `turn` or `result` has changed */
	uint64_t turn; /* offset of the leaf whose turn it is */
	uint64_t next; /* offset of the next leaf to be taken */
	bool is_sparse; /* there may be holes */
	bool run_is_hole; /* the run of data or hole that was found last, */
	uint64_t run_end; /* up to here */

	_Atomic int result; /* the first failure; 0: go on */
	_Atomic uint64_t bytes_direct;
	_Atomic uint64_t bytes_buffered;
	_Atomic uint64_t bytes_mapped;
	_Atomic uint64_t bytes_hole;
};

/* What is handed out for holes: FILE_READER_LEAF_MAX bytes, or NULL for want of
 * memory. */
const uint8_t *file_reader_zeros(void);

/* The way to begin with. */
const struct file_reader_ops *
file_reader_choose(const struct file_reader_job *job);

/* Opens the file a second time with O_DIRECT.  Fails with a negative errno when
 * that is not to be had for leaves of this size. */
int file_reader_open_direct(struct file_reader_job *job);

/* Opens what `fd` is open on once more, for reading and with `flags`. */
int file_reader_reopen(int fd, int flags);

/* Takes the next leaf.  False: there is none left. */
bool file_reader_take(struct file_reader_job *job,
		      struct file_reader_leaf *leaf);

/* Decides on the number of workers and allocates their memory.  If there is too little,
 * there are fewer workers. */
int file_reader_get_buffers(struct file_reader_job *job);
void file_reader_free_buffers(struct file_reader_job *job);

/* Starts the workers and is the first of them. */
void file_reader_work(struct file_reader_job *job);

/* Ends the job with `r`, unless it has failed before. */
void file_reader_stop(struct file_reader_job *job, int r);

/* Reads what the direct read of a leaf has left, which is all of it when there was
 * none, through the page cache. */
int file_reader_fill(struct file_reader_job *job,
		     struct file_reader_leaf *leaf);

/* ---- file_reader_mapped.c ---- */

/* Maps the file where that may be of use. */
void file_reader_map(struct file_reader_job *job);
void file_reader_unmap(struct file_reader_job *job);
/* Calls the sink with mapped data. */
int file_reader_sink_mapped(struct file_reader_worker *w,
			    struct file_reader_leaf *leaf);
/* How long it took to fetch this leaf and hand it out. */
void file_reader_note_trial(const struct file_reader_job *job,
			    const struct file_reader_leaf *leaf, int64_t ns);

#endif
