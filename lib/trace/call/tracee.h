/* tracee.h - the threads and processes under observation.
 *
 * ptrace speaks of threads; files belong to processes.  A `struct tracee` is a
 * thread that may stop (it may have a current directory of its own), a `struct
 * process` what threads share.  Both live from fork to exit, so
 * memory follows the number alive, not the number made. */
#ifndef ROAR_TRACE_CALL_TRACEE_H
#define ROAR_TRACE_CALL_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/str.h"
#include "trace/call/calls.h"

struct process {
	pid_t pid; /* thread-group id; the key */
	unsigned n_threads;
	bool foreign_root; /* its "/" is not ours */
	bool foreign_mounts; /* it sees other mounts than we do */
	bool placed; /* that was looked at since it began, and stays so */
	pid_t vforked_by; /* it keeps this one waiting until it executes */
	pid_t memory_of; /* the process whose memory it shares, as far as known */
	uint8_t n_looks; /* for room, since it runs its program, as far as that
			  * counts */
	bool full; /* near its descriptor limit: opens may fail */
	bool restricted; /* changed credentials, sandboxed or hid itself: likewise */
	int64_t roomy_until_ns; /* it has descriptors left until then... */
	int64_t roomy_ns; /* ...as was seen at this time */
	uint64_t limit; /* of descriptors... */
	int64_t limit_ns; /* ...when that was asked for */
};

/* Do names mean something else to it than to us? */
static inline bool process_is_elsewhere(const struct process *p)
{
	return p->foreign_root || p->foreign_mounts;
}

/* A call whose result has to be known: what was learned at its entry. */
struct pending {
	enum call call; /* CALL_NONE: no exit stop is expected */
	bool waited; /* for another call that is to be told first */
	bool hidden; /* the file has no name in our view */
	unsigned *counted; /* where it counts as under way, or NULL */
	uint64_t flags; /* open flags, rename flags */
	int64_t entry_ns; /* when it began; kept by who looks afterwards */
	struct stat before; /* the file before the call; st_ino 0: none seen */
	struct str path; /* canonical */
	struct str path2;
};

/* See trace/ptrace/inner_tracer.h. */
enum inner_state { INNER_NONE, INNER_ASKED, INNER_STOPPED, INNER_REPORTED };

struct inner {
	pid_t tracer; /* thread of the run that traces this one, or 0 */
	enum inner_state state; /* of this thread, for that tracer */
	int stop_signal; /* of the group stop it is in, or 0 */
	pid_t awaited; /* thread that this one waits for, or 0 */
	uint64_t status_address; /* where the result of that wait goes */
};

struct tracee {
	pid_t tid; /* the key */
	struct process *process;
	struct pending pending;
	struct str exec_path; /* what it asked execve() for */
	struct stat exec_stat; /* of that, when it asked; st_ino 0: not seen */
	struct str exec_command; /* and with which words, if already known */
	struct str cwd; /* canonical; empty until asked for */
	uint64_t cwd_generation; /* of `cwd`, see struct tree */
	int64_t cwd_ns; /* when it was asked for */
	bool cwd_told; /* by the process itself: it may be gone by now */
	bool parts; /* its next child has namespaces of its own */
	bool shares; /* its next child is a process with the same memory */
	struct inner inner;
	uint64_t let_go; /* at a call about this name; 0: it has stopped since */
	bool held; /* stopped before its parent told of it; not resumed */
	bool unannounced; /* its parent has not told of it yet */
};

struct tree {
	struct map tracees; /* tid -> struct tracee */
	struct map processes; /* pid -> struct process */
	uint64_t cwd_generation; /* raised by every chdir of anybody */
	unsigned n_chdir; /* under way */
	unsigned n_changing; /* calls that change names, under way */
	unsigned n_opening; /* awaited opens, under way */
	int64_t limit_ns; /* when somebody last began to set a limit */
	bool detached; /* somebody may have a directory that is mounted nowhere */
	bool mounted; /* mounts came or went: somebody may have a directory below
		       * one, and its name is that of another */
};

void tree_release(struct tree *tree);

/* The pending call is under way, or is not any more. */
void tree_count_in(struct tree *tree, struct tracee *t);
void tree_count_out(struct tracee *t);

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
