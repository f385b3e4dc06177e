/* ranges_internal.h - what the files of ranges share.
 *
 *	ranges.c		the call: options in, result out
 *	ranges_choose.c		which way suits a file
 *	ranges_open.c		its second and third descriptor
 *	ranges_buffers.c	how many workers, and their memory
 *	ranges_cursor.c		cuts the file into leaves and finds the holes
 *	ranges_work.c		the loop of a worker, the threads, the order
 *	ranges_pread.c		the ways that read with pread(2)
 *	ranges_mapped.c		the way that does not copy
 *	ranges_uring.c		the way that reads with io_uring
 *
 * A worker takes leaves from the cursor, as many ahead as its way is deep, and
 * hands them out in the order in which it took them:
 *
 *	take -> start -> ... -> fetch -> sink -> drop what came into the cache
 *
 * So a worker that is alone keeps the order of the file by itself.  Several
 * workers that must keep it wait for their turn before the sink. */
#ifndef ROAR_HASH_RANGES_INTERNAL_H
#define ROAR_HASH_RANGES_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "hash/read/file_reader.h"
#include "hash/read/residency.h"

enum {
	RANGES_DEPTH_MAX = 16, /* leaves that a worker takes ahead */
	RANGES_PAGES_MAX = RANGES_LEAF_MAX / 4096,
};

struct ranges_leaf {
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
	uint8_t pages[RANGES_PAGES_MAX]; /* for RESIDENCY_PARTLY */
};

struct ranges_job;

struct ranges_worker {
	struct ranges_job *job;
	unsigned number;
	pthread_t thread; /* of all but worker 0 */
	void *ring; /* of its way */
	unsigned first; /* of the leaves taken, the oldest */
	unsigned n_taken;
	struct ranges_leaf *leaves; /* `depth` of the job; a circle */
};

/* How a way reads.  A call that is not needed is NULL. */
struct ranges_ops {
	enum ranges_way way;
	const struct ranges_ops *next; /* when this one is not to be had */
	bool is_direct; /* needs the descriptor with O_DIRECT */
	bool is_single; /* one worker at all times */
	bool is_single_in_order; /* one worker where the order counts */
	bool buffer_each; /* reads into the buffers of several leaves */
	unsigned depth; /* leaves under way, over all workers */
	int (*open)(struct ranges_worker *w);
	void (*start)(struct ranges_worker *w, struct ranges_leaf *leaf);
	int (*fetch)(struct ranges_worker *w, struct ranges_leaf *leaf);
	void (*close)(struct ranges_worker *w);
};

extern const struct ranges_ops ranges_uring, ranges_direct, ranges_buffered,
	ranges_sequential, ranges_mapped;

struct ranges_job {
	struct ranges_options options; /* with the defaults filled in */
	ranges_sink *sink;
	void *ctx;
	uint64_t size;
	dev_t dev; /* with `ino`: the file that all descriptors are of */
	ino_t ino;
	int fd; /* a description of our own, or the one that is lent */
	bool is_own;
	int direct_fd; /* -1: none */
	size_t direct_align; /* of offsets, lengths and memory; at least a page */
	enum residency_means means;
	const struct ranges_ops *ops;
	unsigned n_workers;
	unsigned depth; /* leaves that each of them takes ahead */
	struct ranges_worker *workers;
	struct ranges_leaf *leaves; /* of all workers */
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

/* What is handed out for holes: RANGES_LEAF_MAX bytes, or NULL for want of
 * memory. */
const uint8_t *ranges_zeros(void);

/* The way to begin with. */
const struct ranges_ops *ranges_choose(const struct ranges_job *job);

/* Opens the file a second time with O_DIRECT.  Fails with a negative errno when
 * that is not to be had for leaves of this size. */
int ranges_open_direct(struct ranges_job *job);

/* Opens what `fd` is open on once more, for reading and with `flags`. */
int ranges_reopen(int fd, int flags);

/* Takes the next leaf.  False: there is none left. */
bool ranges_take(struct ranges_job *job, struct ranges_leaf *leaf);

/* Decides on the number of workers and gets memory for all; less of it, and fewer of them, where there is not as
 * much as there may be. */
int ranges_get_buffers(struct ranges_job *job);
void ranges_free_buffers(struct ranges_job *job);

/* Starts the workers and is the first of them. */
void ranges_work(struct ranges_job *job);

/* Ends the job with `r`, unless it has failed before. */
void ranges_stop(struct ranges_job *job, int r);

/* Reads what the direct read of a leaf has left, which is all of it when there was
 * none, through the page cache. */
int ranges_fill(struct ranges_job *job, struct ranges_leaf *leaf);

/* ---- ranges_mapped.c ---- */

/* Maps the file where that may be of use. */
void ranges_map(struct ranges_job *job);
void ranges_unmap(struct ranges_job *job);
/* Calls the sink with mapped data. */
int ranges_sink_mapped(struct ranges_worker *w, struct ranges_leaf *leaf);
/* How long it took to fetch this leaf and hand it out. */
void ranges_note_trial(const struct ranges_job *job,
		       const struct ranges_leaf *leaf, int64_t ns);

#endif
