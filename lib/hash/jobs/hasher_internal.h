/* hasher_internal.h - shared by the files of the hasher.
 *
 * background_job.c hashes one file, hasher_large.c a large one (with large_file.c),
 * hasher_pool.c has the threads, hasher.c the queue and the functions of hasher.h. */
#ifndef ROAR_HASH_HASHER_INTERNAL_H
#define ROAR_HASH_HASHER_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <sched.h>

#include "hash/file/stability.h"
#include "hash/jobs/hasher.h"
#include "hash/jobs/idle_priority.h"
#include "hash/jobs/task_ring.h"

enum {
	POLL_MS = 10,
	PROGRESS_MS = 100,
	MEDIUM_BYTES = 1024 * 1024,
	LARGE_BYTES = 16 * 1024 * 1024, /* below, buffers cost too much */
};

struct file_pass;
struct large_file;

struct worker {
	struct hasher *hasher;
	pthread_t thread;
	_Atomic pid_t tid; /* 0: not started yet */
	_Atomic(struct hash_task *) task; /* being hashed; see hasher.c */
	_Atomic int fd; /* of that task, or -1; the worker closes it */
	_Atomic uint64_t offset; /* bytes of it that are hashed */
	_Atomic uint32_t n_ended; /* tasks whose files it has closed */
	struct stability stability; /* its own thread only */
	/* Protects `large`, and keeps it from ending; innermost. */
	pthread_mutex_t large_lock;
	struct large_file *large; /* being read; see hasher_large.c */
	char path[PATH_MAX]; /* copy: an overtaken task may be freed already */
};

struct hasher {
	struct hasher_options options;
	struct normal_priority normal;
	cpu_set_t cpus; /* where workers may run; empty: anywhere */

	/* The caller's thread only: */
	bool started;
	unsigned n_workers;
	uint64_t n_submitted;
	uint64_t bytes_submitted; /* sum of size_bytes */
	struct hash_task *mine; /* hashed by the caller; NULL: none */
	_Atomic uint64_t offset; /* bytes of it that are hashed */
	struct hash_task *overflow; /* oldest first, before the ring */
	struct hash_task **overflow_end;
	void (*progress)(void *ctx, const struct hasher_progress *p);
	void *progress_ctx;
	int64_t progress_ns; /* monotonic time of the next call */
	struct stability stability;

	/* Shared by all threads, without a lock: */
	struct task_ring ring;
	atomic_bool ending;
	atomic_bool background; /* workers shall have idle priority */
	atomic_bool stuck; /* workers cannot be raised again */
	_Atomic uint32_t wake; /* futex: increased to wake workers */
	_Atomic unsigned n_resting; /* workers asleep, or about to be */
	atomic_bool has_scout; /* one of them polls the ring */
	_Atomic uint32_t done; /* futex: increased when a task is done */
	atomic_bool waiting; /* the caller sleeps on `done` */
	_Atomic uint64_t n_done;
	_Atomic uint64_t n_goal; /* n_done at which a drain ends; 0: none */
	_Atomic uint64_t bytes_done; /* read */
	/* Sizes of the tasks that are done, read or not. */
	_Atomic uint64_t bytes_settled;
	struct worker workers[];
};

struct outcome {
	int result;
	bool cached;
	struct file_hash hash;
};

/* Hashes one file.  The two kinds of threads differ in when they give up. */
struct background_job {
	struct hasher *hasher;
	struct hash_task *task; /* gets the results */
	/* The worker that has the task; NULL: the caller. */
	struct worker *worker;
	bool on_caller;
	pthread_t thread; /* the thread that runs the job */
	const char *path;
	int fd; /* -1, or read this one */
};

struct outcome background_job_run(struct background_job *job);

/* Between two reads: is the result still wanted? */
bool background_job_is_wanted(const struct background_job *job);

/* Reads a large file that `pass` has looked at.  `offset`, and `n_bytes` unless it is NULL,
 * count the bytes read. */
int background_job_read_large(struct background_job *job,
			      struct file_pass *pass, _Atomic uint64_t *offset,
			      _Atomic uint64_t *n_bytes, struct file_hash *ret);

/* Writes the results; after that the task belongs to its submitter again. */
void hasher_publish(struct hasher *h, struct hash_task *task,
		    const struct outcome *o);

/* Calls the progress function of a drain when it is due. */
void hasher_tell_progress(struct hasher *h);

/* Starts the threads.  If none can be started, the caller does all work. */
void hasher_pool_start(struct hasher *h);

/* Moves all workers to idle priority or to the caller's; sets `stuck` if that is not
 * permitted. */
void hasher_pool_set_background(struct hasher *h, bool on);

void hasher_pool_wake(struct hasher *h);

/* Waits for the threads to end; `ending` must be set. */
void hasher_pool_join(struct hasher *h);

#endif
