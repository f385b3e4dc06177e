/* tracee.h - the threads and processes under observation.
 *
 * ptrace speaks of threads; files belong to processes.  A `struct tracee` is a
 * thread that may stop (it may have a current directory of its own), a `struct
 * process` what threads share.  Both live from fork to exit, so
 * memory follows the number alive, not the number made. */
#ifndef ROAR_TRACE_PTRACE_TRACEE_H
#define ROAR_TRACE_PTRACE_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/str.h"
#include "trace/ptrace/calls.h"

struct process {
	pid_t pid; /* thread-group id; the key */
	unsigned n_threads;
	bool foreign_root; /* its "/" is not ours */
	bool foreign_mounts; /* it sees other mounts than we do */
	pid_t vforked_by; /* it keeps this one waiting until it executes */
	bool full; /* near its descriptor limit: opens may fail */
	bool restricted; /* changed credentials or sandboxed itself: likewise */
	uint32_t n_opens; /* since the limit was last checked */
};

/* A call whose result has to be known: what was learned at its entry. */
struct pending {
	enum call call; /* CALL_NONE: no exit stop is expected */
	uint64_t flags; /* open flags, rename flags */
	struct stat before; /* the file before the call; st_ino 0: none seen */
	struct str path; /* canonical */
	struct str path2;
};

struct tracee {
	pid_t tid; /* the key */
	struct process *process;
	struct pending pending;
	struct str exec_path; /* what it asked execve() for */
	struct str cwd; /* canonical; empty until asked for */
	uint64_t cwd_generation; /* of `cwd`, see struct tree */
	bool held; /* stopped before its parent told of it; not resumed */
};

struct tree {
	struct map tracees; /* tid -> struct tracee */
	struct map processes; /* pid -> struct process */
	uint64_t cwd_generation; /* raised by every chdir of anybody */
	unsigned n_chdir; /* under way */
};

void tree_release(struct tree *tree);

struct tracee *tree_find(const struct tree *tree, pid_t tid);

/* A new thread of `process`, or the first one of a new process when that is
 * NULL.  NULL without memory. */
struct tracee *tree_add(struct tree *tree, pid_t tid, struct process *process);

/* Forgets a thread that is gone.  Returns its process while that has other
 * threads, NULL when it was the last (the process is freed as well). */
struct process *tree_remove(struct tree *tree, struct tracee *t);

/* Moves a thread to another process (its FORK event was told before it). */
int tree_move(struct tree *tree, struct tracee *t, struct process *process);

/* execve() from another thread: `t` takes over the leader's id `tid`. */
void tree_rename(struct tree *tree, struct tracee *t, pid_t tid);

static inline size_t tree_count(const struct tree *tree)
{
	return tree->tracees.count;
}

#endif
