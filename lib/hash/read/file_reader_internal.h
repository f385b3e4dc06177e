/* file_reader_internal.h - shared by the files of the file reader.
 *
 *	file_reader.c			the call: options in, result out
 *	file_reader_choice.c		selects the way for a file
 *	file_reader_open.c		opens the second and third descriptor
 *	file_reader_buffers.c		number of workers, and their memory
 *	file_reader_cursor.c		divides the file into leaves and finds holes
 *	file_reader_worker.c		the loop of a worker, the threads, the order
 *	file_reader_pread.c		the ways that read with pread(2)
 *	file_reader_mapped.c		the way that does not copy
 *	file_reader_uring.c		the way that reads with io_uring
 *
 * A worker takes leaves from the cursor, up to the depth of its way ahead, and passes them
 * on in the order in which it took them:
 *
 *	take -> start -> ... -> fetch -> sink -> drop new pages from the cache
 *
 * So a single worker keeps the order of the file by itself.  If several workers must keep
 * it, they wait for their turn before calling the sink. */
#ifndef ROAR_HASH_FILE_READER_INTERNAL_H
#define ROAR_HASH_FILE_READER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "hash/read/file_reader.h"
#include "hash/read/residency.h"

enum {
	FILE_READER_DEPTH_MAX = 16, /* leaves that a worker may take ahead */
	FILE_READER_PAGES_MAX = FILE_READER_LEAF_MAX / 4096,
};

struct file_reader_leaf {
	uint64_t offset;
	size_t len;
	bool is_hole;
	enum residency residency; /* before it was read */
	uint8_t *buffer; /* room for a full leaf */
	const uint8_t *data; /* passed to the sink: the buffer or a mapping */
	bool is_mapped; /* `data` is in the mapping */
	size_t direct_len; /* bytes at its start to read with O_DIRECT */
	ssize_t got; /* result of that read: bytes, or a negative errno */
	bool pending; /* that read is in flight */
	size_t n_direct; /* bytes that were read with O_DIRECT */
	uint8_t pages[FILE_READER_PAGES_MAX]; /* for RESIDENCY_PARTLY */
};

struct file_reader_job;

struct file_reader_worker {
	struct file_reader_job *job;
	unsigned number;
	pthread_t thread; /* unused by worker 0 */
	void *ring; /* io_uring, if its way uses one */
	unsigned first; /* index of the oldest leaf taken */
	unsigned n_taken;
	struct file_reader_leaf *leaves; /* `depth` of the job; a ring buffer */
};

/* The operations of a way; NULL: not needed. */
struct file_reader_ops {
	enum file_reader_way way;
	/* Used if this one is not available. */
	const struct file_reader_ops *next;
	bool is_direct; /* needs the descriptor with O_DIRECT */
	bool is_single; /* always one worker */
	bool is_single_in_order; /* one worker if in_order is set */
	bool buffer_each; /* each leaf taken ahead needs a buffer */
	unsigned depth; /* leaves in flight, over all workers */
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
	dev_t dev; /* with `ino`: the file of all descriptors */
	ino_t ino;
	int fd; /* reopened, or the caller's */
	bool is_own;
	int direct_fd; /* -1: none */
	size_t direct_align; /* of offsets, lengths and memory; at least a page */
	enum residency_means means;
	const struct file_reader_ops *ops;
	unsigned n_workers;
	unsigned depth; /* leaves that each worker takes ahead */
	struct file_reader_worker *workers;
	struct file_reader_leaf *leaves; /* of all workers */
	const uint8_t *map; /* the file; NULL: none */
	void *memory; /* mapped; all buffers */
	size_t memory_len;
	/* The kernel may still write to it: never freed. */
	atomic_bool keep_memory;

	/* Protects the fields up to `run_end`; innermost. */
	pthread_mutex_t lock;
	pthread_cond_t turned; /* `turn` or `result` has changed */
	uint64_t turn; /* offset of the leaf whose turn it is */
	uint64_t next; /* offset of the next leaf to be taken */
	bool is_sparse; /* there may be holes */
	bool run_is_hole; /* kind of the last run found: data or hole */
	uint64_t run_end; /* end of that run */

	_Atomic int result; /* the first failure; 0: continue; any thread */
	_Atomic uint64_t bytes_direct;
	_Atomic uint64_t bytes_buffered;
	_Atomic uint64_t bytes_mapped;
	_Atomic uint64_t bytes_hole;
};

/* The block passed for holes: FILE_READER_LEAF_MAX zeros; NULL when out of memory. */
const uint8_t *file_reader_zeros(void);

/* The first way to try. */
const struct file_reader_ops *
file_reader_choose(const struct file_reader_job *job);

/* Opens the file a second time with O_DIRECT.  A negative errno if that is not supported
 * for leaves of this size. */
int file_reader_open_direct(struct file_reader_job *job);

/* Opens the file of `fd` again, for reading and with `flags`. */
int file_reader_reopen(int fd, int flags);

/* Takes the next leaf.  False: none is left. */
bool file_reader_take(struct file_reader_job *job,
		      struct file_reader_leaf *leaf);

/* Decides on the number of workers and allocates their memory.  If there is too little,
 * there are fewer workers. */
int file_reader_get_buffers(struct file_reader_job *job);
void file_reader_free_buffers(struct file_reader_job *job);

/* Starts the workers and runs as worker 0. */
void file_reader_work(struct file_reader_job *job);

/* Ends the job with `r`, unless it has failed before. */
void file_reader_stop(struct file_reader_job *job, int r);

/* Reads through the page cache what the direct read of a leaf has left, which is everything
 * if there was no direct read. */
int file_reader_fill(struct file_reader_job *job,
		     struct file_reader_leaf *leaf);

/* ---- file_reader_mapped.c ---- */

/* Maps the file if that may be useful. */
void file_reader_map(struct file_reader_job *job);
void file_reader_unmap(struct file_reader_job *job);
/* Calls the sink with mapped data. */
int file_reader_sink_mapped(struct file_reader_worker *w,
			    struct file_reader_leaf *leaf);
/* Records how long it took to fetch this leaf and pass it on. */
void file_reader_note_trial(const struct file_reader_job *job,
			    const struct file_reader_leaf *leaf, int64_t ns);

#endif
