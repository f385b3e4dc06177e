/* call.h - what happens when a tracee stops at a system call.
 *
 * At the entry the arguments are read, names are made canonical and the files
 * are looked at, before the call changes them.  Then one of three things holds:
 *
 *	- The call cannot succeed, or concerns no content: nothing to say.
 *	- The call cannot fail, as far as a look at the file, its permissions and
 *	  the process can tell: the event is sent at once and the process runs
 *	  on.  This is nearly every open and unlink.
 *	- Its outcome matters and is open: what is known is kept in the tracee's
 *	  `pending`, and the process stops once more when the call returns.
 *
 * Avoiding the second stop where it teaches nothing halves the cost of a
 * file. */
#ifndef ROAR_TRACE_PTRACE_CALL_H
#define ROAR_TRACE_PTRACE_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "event/event.h"
#include "trace/ptrace/hot.h"
#include "trace/ptrace/memory.h"
#include "trace/ptrace/recent.h"
#include "trace/ptrace/resolve.h"
#include "trace/ptrace/tracee.h"
#include "trace/tracer.h"

struct ptracer {
	struct tracer base;
	const struct tracer_job *job;
	struct tracer_result result;
	struct tree tree;
	struct resolver resolver;
	struct hot hot;
	struct memory memory; /* attached to the thread that is hot */
	struct recent recent;
	pid_t root; /* the command */
	bool root_gone;
	bool stepping; /* no seccomp filter: every call stops */
	bool quiet; /* lingering: serve, but say nothing */
	bool root_stopped; /* by a group stop */
	pid_t stopper; /* the thread whose stop that was */
	unsigned timer_ms; /* interval of the timer, 0: it is off */
	unsigned tick_ms; /* when the job wants its next tick, 0: never */
	int64_t now_ns; /* time of the current stop */
	int64_t tick_ns; /* when the job was last called */
	uint64_t mount_ns; /* inodes of our own namespaces */
	uint64_t user_ns;
	bool overrides; /* permissions of files do not bind us (CAP_DAC_OVERRIDE) */
	char path[4096]; /* argument being looked at */
	struct str name; /* its canonical form */
	struct str name2;
	bool locked; /* the file last looked at is immutable or append-only */
	struct str writable; /* directory known to be writable... */
	int64_t writable_until_ns; /* ...until then */
	struct event *event; /* buffer for one record */
};

/* The call is about to run.  True: the tracee must stop at its exit. */
bool call_enter(struct ptracer *p, struct tracee *t, enum call call,
		const uint64_t args[6]);

/* The pending call has returned `result` (negative errno on failure). */
void call_exit(struct ptracer *p, struct tracee *t, int64_t result);

/* The pending call will not return: the thread is gone, or another program. */
void call_forget(struct ptracer *p, struct tracee *t);

/* execve() has succeeded. */
void call_exec_done(struct ptracer *p, struct tracee *t);

/* Tells of files whose descriptors the process has without having opened them:
 * inherited (`at_start`, when those of ours that close on exec do not count), or
 * received over a socket.  Telling of one it did open does no harm. */
void call_scan_files(struct ptracer *p, struct tracee *t, bool at_start);

/* The same for one descriptor; `skip` are open flags that make it uninteresting. */
void call_scan_file(struct ptracer *p, struct tracee *t, int fd, unsigned skip);

/* ---- shared by the call_*.c files ---- */

/* Sends an event about `t`. */
void call_emit(struct ptracer *p, const struct tracee *t, enum event_kind kind,
	       unsigned flags, int32_t aux, const struct stat *before,
	       const struct str *path, const struct str *path2);

/* Sends a gap with a detail (may be NULL). */
void call_gap(struct ptracer *p, const struct tracee *t, enum event_gap gap,
	      const char *detail);

/* Reads the path argument into p->path.  Returns its length, or a negative value
 * when the call will fail by itself (a gap was sent if it may not). */
ssize_t call_read_path(struct ptracer *p, struct tracee *t, uint64_t address);

/* resolve_name() for p->path, with a gap where the call may succeed all the same. */
int call_resolve(struct ptracer *p, struct tracee *t, int dirfd,
		 const char *path, size_t len, struct str *out);

/* Reads and resolves a path argument, the last component not followed. */
int call_read_name(struct ptracer *p, struct tracee *t, int dirfd,
		   uint64_t address, struct str *out);

/* Keeps what is known about a call until it returns; always true. */
bool call_await(struct tracee *t, enum call call, uint64_t flags,
		const struct stat *before, const struct str *path,
		const struct str *path2);

/* Would any call of this process be refused for reasons we cannot see? */
static inline bool call_is_doubtful(const struct tracee *t)
{
	const struct process *p = t->process;

	return p->full || p->restricted || p->foreign_root || p->foreign_mounts;
}

/* lstat() that also finds out whether the file is locked against writing
 * (p->locked).  0, or -1 with errno. */
int call_look(struct ptracer *p, const struct str *path, struct stat *ret);

/* Can names surely be added to and removed from the directory of this path?
 * The last directory of which that held is remembered for 100 ms. */
bool call_dir_is_writable(struct ptracer *p, const struct str *path);

/* Tells the job that the content under `path` is about to change or go. */
void call_tell_change(struct ptracer *p, const struct str *path,
		      const struct stat *st);

/* The stat of a file that does not exist. */
extern const struct stat call_no_file;

/* call_open.c */
bool call_open(struct ptracer *p, struct tracee *t, enum call call, int dirfd,
	       uint64_t path, uint64_t flags);
bool call_openat2(struct ptracer *p, struct tracee *t, const uint64_t args[6]);
bool call_truncate(struct ptracer *p, struct tracee *t, uint64_t path);
void call_open_done(struct ptracer *p, struct tracee *t, int64_t fd);

/* call_name.c */
bool call_rename(struct ptracer *p, struct tracee *t, int dirfd, uint64_t path,
		 int dirfd2, uint64_t path2, uint64_t flags);
bool call_link(struct ptracer *p, struct tracee *t, int dirfd, uint64_t path,
	       int dirfd2, uint64_t path2, uint64_t flags);
bool call_symlink(struct ptracer *p, struct tracee *t, uint64_t text, int dirfd,
		  uint64_t path);
bool call_unlink(struct ptracer *p, struct tracee *t, int dirfd, uint64_t path,
		 uint64_t flags);
bool call_mknod(struct ptracer *p, struct tracee *t, int dirfd, uint64_t path,
		uint64_t mode);
void call_name_done(struct ptracer *p, struct tracee *t);

/* call_receive.c */
bool call_recvmsg(struct ptracer *p, struct tracee *t, uint64_t message);
void call_recvmsg_done(struct ptracer *p, struct tracee *t);

/* call_exec.c */
void call_execve(struct ptracer *p, struct tracee *t, int dirfd, uint64_t path,
		 uint64_t flags);
void call_check_namespaces(struct ptracer *p, struct tracee *t);

#endif
