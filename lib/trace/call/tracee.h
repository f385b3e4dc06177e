/* tracee.h - the threads and processes under observation.
 *
 * ptrace reports threads; files belong to processes.  A `struct tracee` is a thread
 * that may stop (it may have a current directory of its own); a `struct process` is
 * what threads share.  Both live from fork to exit, so memory grows with the number
 * alive, not with the number created.  The tree belongs to the tracer's thread. */
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
	bool foreign_root; /* its root directory is not ours */
	bool foreign_mounts; /* it sees other mounts than we do */
	bool placed; /* its view was examined since it started, and stays so */
	pid_t vforked_by; /* parent that is suspended until this process executes */
	pid_t memory_of; /* the process whose memory it shares, as far as known */
	uint8_t n_looks; /* checks for free descriptors since its last exec, up to a
			  * limit */
	bool full; /* near its descriptor limit: opens may fail */
	bool restricted; /* changed credentials, sandboxed or hid itself: likewise */
	int64_t roomy_until_ns; /* it has free descriptors until then... */
	int64_t roomy_ns; /* ...according to a check at this time */
	uint64_t limit; /* of descriptors... */
	int64_t limit_ns; /* ...when it was read */
};

/* Do names have another meaning for this process than for us? */
static inline bool process_is_elsewhere(const struct process *p)
{
	return p->foreign_root || p->foreign_mounts;
}

/* A call whose result must be known: what was learned at its entry. */
struct pending {
	enum call call; /* CALL_NONE: no exit stop is expected */
	bool waited; /* it waited for another call that must be reported first */
	bool hidden; /* the file has no name in our view */
	unsigned *counted; /* the counter of calls in progress that includes it, or
			    * NULL */
	uint64_t flags; /* open flags, rename flags */
	int64_t entry_ns; /* when it began; set by backends that check the outcome
			   * later */
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
	struct str exec_path; /* the path passed to execve() */
	struct stat exec_stat; /* its stat at the call; st_ino 0: not seen */
	struct str exec_command; /* its command line, if already known */
	struct str cwd; /* canonical; empty until needed */
	uint64_t cwd_generation; /* of `cwd`, see struct tree */
	int64_t cwd_ns; /* when it was read */
	bool cwd_told; /* reported by the process itself: the directory may be gone
		        * by now */
	bool parts; /* its next child gets namespaces of its own */
	bool shares; /* its next child is a process with the same memory */
	struct inner inner;
	uint64_t let_go; /* hash of the name in the call it was resumed at; 0: it
			  * has stopped since */
	bool held; /* stopped before its parent's fork event; not resumed */
	bool unannounced; /* its parent's fork event has not come yet */
};

struct tree {
	struct map tracees; /* tid -> struct tracee */
	struct map processes; /* pid -> struct process */
	uint64_t cwd_generation; /* increased by every chdir of any thread */
	unsigned n_chdir; /* chdir calls in progress */
	unsigned n_changing; /* calls that change names, in progress */
	unsigned n_opening; /* awaited opens in progress */
	int64_t limit_ns; /* when a process last began to set a limit */
	bool detached; /* a process may have a directory that is not mounted
		        * anywhere */
	bool mounted; /* mounts changed: a process may have a directory below one,
		       * whose name now means another */
};

void tree_release(struct tree *tree);

/* Counts the pending call as in progress, or as ended. */
void tree_count_in(struct tree *tree, struct tracee *t);
void tree_count_out(struct tracee *t);

struct tracee *tree_find(const struct tree *tree, pid_t tid);

/* Adds a thread of `process`, or the first one of a new process when that is NULL.
 * Returns NULL when out of memory. */
struct tracee *tree_add(struct tree *tree, pid_t tid, struct process *process);

/* Removes a thread that has ended.  Returns its process while that has other threads,
 * NULL when it was the last (then the process is freed as well). */
struct process *tree_remove(struct tree *tree, struct tracee *t);

/* Moves a thread to another process (its first stop came before the fork event).
 * Always returns 0. */
int tree_move(struct tree *tree, struct tracee *t, struct process *process);

/* execve() from another thread: `t` takes over the leader's id `tid`. */
void tree_rename(struct tree *tree, struct tracee *t, pid_t tid);

static inline size_t tree_count(const struct tree *tree)
{
	return tree->tracees.count;
}

#endif
