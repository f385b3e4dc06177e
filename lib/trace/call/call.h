/* call.h - what happens when a tracee stops at a system call.
 *
 * At the entry the observer reads the arguments, makes names canonical and examines the
 * files, before the call changes them.  Then one of three cases holds:
 *
 *	- The call cannot succeed, or does not involve content: no event.
 *	- The call cannot fail, as far as the file, its permissions and the
 *	  state of the process show: the event is sent at once and the process
 *	  continues.  This is nearly every open and unlink.
 *	- The outcome matters and is uncertain: what is known is kept in the
 *	  tracee's `pending`, and the process stops again when the call returns.
 *
 * Avoiding the second stop where it adds no information halves the cost of a file.
 *
 * Threads: an observer and everything in it belongs to the tracer's thread. */
#ifndef ROAR_TRACE_CALL_CALL_H
#define ROAR_TRACE_CALL_CALL_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "event/event.h"
#include "trace/call/memory.h"
#include "trace/call/mount_table.h"
#include "trace/call/proof.h"
#include "trace/call/race.h"
#include "trace/call/recent.h"
#include "trace/call/resolve.h"
#include "trace/call/tracee.h"
#include "trace/inherited.h"
#include "trace/tracer.h"

/* State of a backend that observes calls at their entry, whatever reports them to it.
 * It is a member of that backend's own struct. */
struct observer {
	const struct tracer_job *job;
	struct tree tree;
	struct resolver resolver;
	struct memory memory; /* attached to the thread that stops most often */
	struct recent recent;
	struct race race;
	struct mount_table mounts; /* read before the first call that mounts */
	pid_t root; /* the command */
	bool quiet; /* lingering: serve calls, but send no events */
	bool blind; /* examine no files any more: see call_open.c, serves_files() */
	bool keeps_rights; /* set-uid programs get their privileges, whatever our
			    * user is */
	unsigned tick_ms; /* when the job wants its next tick, 0: never */
	int64_t now_ns; /* time of the current call, for the record */
	int64_t mono_ns; /* the same for durations: a clock that nothing can set
			  * back, so that a belief of milliseconds cannot last for
			  * an hour */
	int64_t tick_ns; /* when the job was last called, by mono_ns */
	uint64_t mount_ns; /* inodes of our own namespaces */
	uint64_t user_ns;
	struct proof proof;
	struct inherited inherited; /* files that the command inherits; the backend
				     * fills it in */
	char path[MEMORY_PATH_MAX]; /* the path arguments of the current call */
	char path2[MEMORY_PATH_MAX];
	struct str name; /* canonical forms */
	struct str name2;
	bool locked; /* the file last examined is immutable or append-only */
	bool mounted; /* that file is the root of a mount */
	struct event *event; /* buffer for one record */

	/* Waits for a short time until the thread has left the call it was resumed at,
	 * or stops at the exit of its pending call.  NULL: the backend does not see
	 * calls return. */
	void (*catch_up)(struct observer *o, pid_t tid);

	/* Receives a copy of each event for the backend; may be NULL. */
	void (*told)(struct observer *o, const struct event *ev);
};

/* `o` is zeroed by the caller.  0 or -ENOMEM.  Call observer_release() also after a
 * failure. */
int observer_init(struct observer *o, const struct tracer_job *job);
void observer_release(struct observer *o);

/* Keeps the descriptors open that are needed at every stop of this thread, which is the
 * one that stops most often (0: none). */
void observer_attach(struct observer *o, pid_t tid);

/* Sets both times; called at the start of each served call. */
void observer_set_time(struct observer *o);

/* Calls the job's tick when it is due. */
void observer_tick(struct observer *o);

/* The call is about to run.  Returns true if the tracee must stop at its exit. */
bool call_enter(struct observer *o, struct tracee *t, enum call call,
		const uint64_t args[6]);

/* The arguments of a call that names files.  The older calls are short forms of their
 * successors: rename(a, b) is renameat2(AT_FDCWD, a, AT_FDCWD, b, 0).  Here all have
 * the long form; fields that a call does not have are not set. */
struct call_args {
	int dirfd; /* where `path` starts */
	int dirfd2; /* where `path2` starts */
	const char *path; /* or the text of a symbolic link */
	size_t len;
	const char *path2; /* the new name of a rename or link */
	size_t len2;
	uint64_t flags; /* the mode of mknod() */
	uint64_t rules; /* RESOLVE_* of openat2() */
};

/* Does this call name files? */
bool call_names_files(enum call call);

/* Reads the arguments of a call that names files; they point into `o`.  False when the
 * call does not name files, or will fail because they cannot be read. */
bool call_decode(struct observer *o, struct tracee *t, enum call call,
		 const uint64_t args[6], struct call_args *ret);

/* The entry of a call that names files, when its arguments are already decoded. */
bool call_enter_named(struct observer *o, struct tracee *t, enum call call,
		      const struct call_args *a);

/* The pending call has returned `result` (negative errno on failure). */
void call_exit(struct observer *o, struct tracee *t, int64_t result);

/* The pending call will not return: the thread has ended, or executes another program. */
void call_forget(struct observer *o, struct tracee *t);

/* execve() has succeeded.  Where t->exec_command is empty, the command line is read
 * from the process.  `exe` with its stat is the file that runs now, if the caller knows
 * it and has seen all changes of the process's namespaces; NULL: it is read from
 * /proc. */
void call_exec_done(struct observer *o, struct tracee *t, const char *exe,
		    const struct stat *exe_stat);

/* Appends a command line, given as `n` bytes of NUL-separated arguments, quoted for a
 * shell. */
void call_exec_quote(struct str *out, const char *words, size_t n);

/* Reports files whose descriptors the process has without having opened them, such as
 * those received over a socket.  Reporting a file that the process did open does no
 * harm. */
void call_scan_files(struct observer *o, struct tracee *t);

/* The same for the files that the command inherits. */
void call_scan_inherited(struct observer *o, struct tracee *t);

/* The same for one descriptor; a descriptor with any of the open flags `skip` is
 * ignored. */
void call_scan_file(struct observer *o, struct tracee *t, int fd,
		    unsigned skip);

/* ---- shared by the call_*.c files ---- */

/* Sends an event about `t`. */
void call_emit(struct observer *o, const struct tracee *t, enum event_kind kind,
	       unsigned flags, int32_t aux, const struct stat *before,
	       const struct str *path, const struct str *path2);

/* Sends a gap with a detail (may be NULL). */
void call_gap(struct observer *o, const struct tracee *t, enum event_gap gap,
	      const char *detail);

/* Reads a path argument into `buf` (MEMORY_PATH_MAX bytes).  Returns its length, or a
 * negative value when the call will fail by itself (a gap was sent if it might not). */
ssize_t call_read_path(struct observer *o, struct tracee *t, uint64_t address,
		       char *buf);

/* resolve_name(), with a gap where the name is too long to report. */
int call_resolve(struct observer *o, struct tracee *t, int dirfd,
		 const char *path, size_t len, struct str *out);

/* Keeps what is known about a call until it returns.  Always returns true. */
bool call_await(struct tracee *t, enum call call, uint64_t flags,
		const struct stat *before, const struct str *path,
		const struct str *path2);

/* May a call of this process be refused for reasons that we cannot see? */
static inline bool call_is_doubtful(const struct tracee *t)
{
	const struct process *p = t->process;

	return p->full || p->restricted || process_is_elsewhere(p);
}

/* What an open with these flags permits.  A descriptor of the fourth access mode (3)
 * only accepts ioctl(): it can neither be read nor written. */
static inline bool call_flags_read(uint64_t flags)
{
	return (flags & O_ACCMODE) == O_RDONLY || (flags & O_ACCMODE) == O_RDWR;
}

static inline bool call_flags_write(uint64_t flags)
{
	return (flags & O_ACCMODE) == O_WRONLY || (flags & O_ACCMODE) == O_RDWR;
}

/* lstat() that also sets o->locked and o->mounted.  0, or a negative errno. */
int call_look(struct observer *o, const struct str *path, struct stat *ret);

/* The same for o->name, which has just been resolved. */
int call_look_name(struct observer *o, struct stat *ret);

/* Does this error of resolve_name() or call_look() mean that the call must fail, too?
 * Other errors only mean that we cannot see what the process sees. */
static inline bool call_must_fail(int error)
{
	return error == -ENOENT || error == -ENOTDIR;
}

/* May we examine files?  If not, calls that name files continue without an event. */
static inline bool call_looks(const struct observer *o)
{
	return !o->quiet && !o->blind;
}

/* Awaits a call whose names we cannot see, with the `error` of resolve_name().  The
 * call leaves a gap if it succeeds.  Always returns true. */
bool call_await_unseen(struct tracee *t, int error, const char *path);

/* The gap for a pending open that only its descriptor could identify, and does not. */
static inline enum event_gap call_gap_of_open(const struct tracee *t)
{
	return t->pending.hidden || process_is_elsewhere(t->process) ?
		       EVENT_GAP_NAMESPACE :
		       EVENT_GAP_PATH;
}

/* The gap for a name that could not be resolved. */
static inline enum event_gap call_gap_of(int error)
{
	return error == -EREMOTE ? EVENT_GAP_NAMESPACE : EVENT_GAP_PATH;
}

/* Reports to the job that the content under `path` is about to change or be removed. */
void call_tell_change(struct observer *o, const struct str *path,
		      const struct stat *st);

/* The stat of a file that does not exist. */
extern const struct stat call_no_file;

/* The entry of calls that name files; returns as call_enter(). */
typedef bool (*call_entry)(struct observer *o, struct tracee *t,
			   const struct call_args *a);

/* call_open.c */
bool call_open(struct observer *o, struct tracee *t, const struct call_args *a);
bool call_truncate(struct observer *o, struct tracee *t,
		   const struct call_args *a);
bool call_openat2(struct observer *o, struct tracee *t, const uint64_t args[6]);
bool call_open_by_rules(struct observer *o, struct tracee *t,
			const struct call_args *a);
void call_open_done(struct observer *o, struct tracee *t, int64_t fd);

/* call_name.c */
bool call_rename(struct observer *o, struct tracee *t,
		 const struct call_args *a);
bool call_link(struct observer *o, struct tracee *t, const struct call_args *a);
bool call_symlink(struct observer *o, struct tracee *t,
		  const struct call_args *a);
bool call_unlink(struct observer *o, struct tracee *t,
		 const struct call_args *a);
bool call_mknod(struct observer *o, struct tracee *t,
		const struct call_args *a);
void call_name_done(struct observer *o, struct tracee *t);

/* call_receive.c */

/* Reads the open flags of another process's descriptor, with O_CLOEXEC.  0 or a
 * negative errno. */
int call_descriptor_flags(pid_t tid, int fd, unsigned *ret_flags);

bool call_recvmsg(struct observer *o, struct tracee *t, uint64_t message);
void call_recvmsg_done(struct observer *o, struct tracee *t);

/* call_exec.c */
bool call_execve(struct observer *o, struct tracee *t,
		 const struct call_args *a);
void call_check_namespaces(struct observer *o, struct tracee *t);
/* Does the thread run the same program as we do? */
bool call_runs_roar(pid_t tid);

#endif
