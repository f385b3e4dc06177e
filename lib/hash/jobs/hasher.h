/* hasher.h - a small pool of threads that hashes files in the background.
 *
 * While a job runs the threads have idle CPU and I/O priority and are woken by a 10 ms
 * poll, not by hasher_submit(): submitting costs a queue push and no system call, since a
 * traced process is waiting.  hasher_drain() raises the pool to normal priority and waits
 * until the queue is empty.  Most users are not permitted to raise a thread again; then the
 * caller's thread takes over work for which idle threads are too slow.  On an otherwise
 * idle machine they are not.
 *
 * While a job runs, a file is read by one thread, and the page cache is left unchanged.  A
 * large file that remains when hasher_drain() is called is read by all threads that are
 * free.
 *
 * Threads start with the first task, so a run without files costs nothing.  A task belongs
 * to the hasher from submit until it is done; then the result fields may be read.  All
 * functions are for one thread. */
#ifndef ROAR_HASH_HASHER_H
#define ROAR_HASH_HASHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "hash/file/file_hash.h"

struct hasher;
struct leaf_tree;

enum hash_state { HASH_NEW, HASH_QUEUED, HASH_RUNNING, HASH_DONE };

struct hash_task {
	struct hash_task *next; /* private */
	const char *path; /* borrowed; absolute */
	int fd; /* -1, or an open descriptor to read (closed when done) */
	/* Expected bytes to read; only for the progress. */
	uint64_t size_bytes;
	_Atomic int state; /* enum hash_state */
	/* Results, valid in HASH_DONE: */
	int result; /* 0 or a negative errno, see file_hash() */
	bool cached; /* digests come from lookup(), content was not read */
	struct file_hash hash;
};

struct hasher_options {
	unsigned n_threads; /* 0: one per CPU, at most 8 */
	digest_set want;
	/* Looks up a cache; may be NULL.  Called before content is read, from any thread,
	 * for stamps that can be trusted (stability.h).  Returns true if `ret` has all of
	 * `want` for the stamp. */
	bool (*lookup)(void *ctx, const struct stamp *stamp, digest_set want,
		       struct digests *ret);
	/* Receives the leaf tree (leaf_tree.h, leaves of 1 MiB) of each file of at least
	 * keep_from_bytes that was read completely and did not change; may be NULL.  Called
	 * on the thread that has read it, before the task is done; twice for one task if
	 * the caller's thread overtakes another. */
	void (*keep)(void *ctx, const struct leaf_tree *u);
	uint64_t keep_from_bytes;
	void *ctx;
};

struct hasher_progress {
	uint64_t n_done; /* tasks */
	uint64_t n_submitted;
	uint64_t bytes_done; /* of bytes_submitted: read, or need not be read */
	uint64_t bytes_submitted; /* sum of size_bytes */
	uint64_t bytes_read; /* in total */
};

int hasher_new(const struct hasher_options *options,
	       struct hasher **ret_hasher);

/* Cancels queued tasks, waits for running ones (they stop soon), and ends the threads. */
void hasher_free(struct hasher *h);
DEFINE_CLEANUP(struct hasher *, hasher_free)

/* Queues a task in HASH_NEW or HASH_DONE (hash again). */
void hasher_submit(struct hasher *h, struct hash_task *task);

/* Waits until that task is done, at normal priority; runs it on the calling thread if no
 * thread has started it. */
void hasher_wait(struct hasher *h, struct hash_task *task);

/* Cancels a task: it is done with -ECANCELED, unless it was done before.  Waits up to a
 * fifth of a second until no thread has its file open any more. */
void hasher_cancel(struct hasher *h, struct hash_task *task);

/* The progress of all tasks that were ever submitted. */
void hasher_get_progress(struct hasher *h, struct hasher_progress *ret);

/* Waits for all tasks; the caller's thread works too.  `progress`, if given, is
 * called about ten times a second. */
void hasher_drain(struct hasher *h,
		  void (*progress)(void *ctx, const struct hasher_progress *p),
		  void *ctx);

#endif
