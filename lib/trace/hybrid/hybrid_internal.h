/* hybrid_internal.h - what the files of this folder share.
 *
 *	hybrid.c	life cycle, the loop, the process tree
 *	run_members.c	processes of the run, and since when
 *	family.c	parents of processes
 *	notify.c	notifications of the kernel
 *	log_records.c	records of the library
 *	log_opens.c	opens in those records
 *	emit.c		what is remembered of events
 *	pending_calls.c	outcome of a call, found out afterwards
 *	magic.c		names that mean another file in every process
 *	rights.c	may a process of other privileges open a file?
 *	guardian.c	the process that answers when the tracer has died
 *	words.c		command lines
 *	recover.c	records that a killed tracer has not read
 *	written.c	what the run has written to
 *	closed.c	files that were closed before they were watched
 *	received.c	descriptors received in messages
 *	seize.c		signals that arrive before the notification of a call
 *	attach.c	processes of the run that trace others of the run
 *
 * Threads: all state here belongs to the tracer's thread.  Shared with other processes
 * are the log (log.h has the writers) and the guardian's page (struct guard_page). */
#ifndef ROAR_TRACE_HYBRID_HYBRID_INTERNAL_H
#define ROAR_TRACE_HYBRID_HYBRID_INTERNAL_H

#include <linux/seccomp.h>
#include <stdatomic.h>

#include "base/macros.h"
#include "trace/call/call.h"
#include "trace/hybrid/written.h"
#include "trace/preload/log_file.h"
#include "trace/preload/log_read.h"

/* Which side restarts the calls of a process that a signal has interrupted. */
enum patience {
	PATIENCE_UNKNOWN,
	PATIENCE_OWN, /* the library in the process */
	PATIENCE_OURS,
	PATIENCE_NOBODYS, /* neither: it cannot be seized */
};

/* A process of the run. */
struct member {
	pid_t pid; /* the key */
	uint32_t teller; /* its id in the log; 0: it does not have the library */
	bool exec_open; /* an exec was allowed; its outcome is unknown */
	pid_t shares_with; /* process with which it shares the current directory
			    * (CLONE_FS), as far as that was noticed */
	bool wants_hello; /* a program with the library was executed and has not
			   * sent LOG_HELLO yet */
	bool missed; /* it has ended, and its status is not known yet */
	bool sandboxed; /* it restricted itself in ways that are not visible */
	bool escaped; /* it runs a program without the library, unobserved */
	bool exec_told; /* the event of its current program was sent */
	pid_t exec_tid; /* the thread that made the exec call */
	pid_t exec_by; /* a thread that may be inside exec now; 0: none */
	enum patience patience;
	struct str exec_path; /* path of that exec */
	struct str exec_command;
	struct str exec_exe; /* the file that would be /proc/PID/exe */
	struct stat exec_stat;
};

/* A child of vfork() that its library announced, and that has not made a call yet. */
struct announced {
	pid_t pid; /* 0: none */
	pid_t parent;
	int64_t time_ns;
};

enum { ANNOUNCED = 8, SPAWNERS = 4 };

struct family {
	pid_t pid; /* the process that a thread belongs to */
	pid_t parent;
	bool vforked; /* it shares the memory of its parent */
};

/* An open for writing that was logged before the call, and whose result was not. */
struct intent {
	uint32_t cell; /* low half */
	uint32_t process;
	uint32_t flags;
	int64_t time_ns;
	bool orphan; /* its process has ended; its last records may be unread */
	struct str path; /* as the process named it */
};

/* A ptrace() call that waits until we have detached from its target. */
struct attaching {
	uint64_t id; /* of its notification; 0: none */
	pid_t target;
	int64_t since_ns;
};

enum { ATTACHING = 16 };

/* A page shared with the guardian: the calls it must answer if the tracer dies.  The
 * tracer and, for it, the kernel (NOTIF_RECV) write the page until the tracer has died
 * or handed over; from then on the guardian uses it alone.  So it needs no lock. */
struct guard_page {
	union {
		struct seccomp_notif request; /* the current call; id 0: none */
		char room[1024]; /* the struct of a newer kernel may be larger */
	};
	struct attaching attaching[ATTACHING];
};

struct guardian {
	pid_t pid; /* 0: none */
	int line; /* socket to it: carries the listener, and the message that it
		   * serves from now on although the tracer is alive; -1: none */
	bool dismissed; /* it was told to end */
	struct guard_page *page;
};

/* A directory in which the job notices when files are closed.  Each has one slot in the
 * table; an evicted one costs one more check. */
struct watched {
	uint64_t dir; /* hash of its name */
	int64_t since_ns;
};

enum { WATCHED = 256 };

/* family.c: children of vfork(), and processes that had some. */
struct vforks {
	struct announced announced[ANNOUNCED]; /* the last ones */
	unsigned n_announced;
	pid_t spawners[SPAWNERS]; /* had children that share their memory */
	unsigned n_spawners;
};

/* log_opens.c: opens for writing without a result yet. */
struct intents {
	struct intent *list;
	size_t n, cap;
};

/* seize.c */
struct seizing {
	struct map threads; /* tid -> struct seized */
	int bell; /* eventfd: a signal has arrived; -1: no thread is seized */
};

/* pending_calls.c: threads with a pending call. */
struct waiting_threads {
	pid_t *tids;
	size_t n, cap;
};

/* closed.c: when were files closed? */
struct close_check {
	struct watched watched[WATCHED];
	struct written writable; /* files that processes could write to... */
	uint64_t cell; /* ...when the head of the log was here... */
	bool known; /* ...if all processes could be examined */
};

/* The event that is being sent. */
struct current_event {
	int64_t time_ns; /* when it happened; 0: just now */
	bool entering; /* its call has not been made yet */
};

/* log_records.c: errors of the log. */
struct log_health {
	bool dead; /* it was inconsistent: nothing more is read from it */
	uint32_t trouble; /* bits of the header that were already reported */
	int64_t stuck_ns; /* since when a record is not committed; 0: none */
};

/* hybrid.c */
struct hybrid_loop {
	uint32_t doorbell; /* its value before the last drain */
	unsigned timer_ms; /* interval of the timer */
	int64_t busy_ns; /* when the timer last found a record in the log */
	int64_t looked_ns; /* last check for processes that have ended */
};

/* The start of the run. */
struct run_start {
	int64_t tick_ns; /* on the clock of file stamps: no file of the run was
			  * born before */
	int64_t exact_ns; /* on the exact clock, which stamps may use (Linux
			   * 6.13): no stamp from before the run is later */
};

struct hybrid {
	struct tracer base;
	struct observer o;
	struct tracer_result result;
	struct run_start start;
	struct log_file file;
	struct log_reader log;
	struct log_view view; /* the record being read */
	struct log_health log_health;
	struct guardian guardian;
	int listener; /* -1: none, the library alone */
	char library[1024]; /* its path; "" when there is none */
	char **envp; /* of the command, with the library */
	struct map members; /* pid -> struct member */
	struct map tellers; /* id in the log -> struct member */
	struct vforks vforks;
	struct intents intents;
	struct waiting_threads waiting;
	struct seizing seizing;
	struct close_check closed;
	struct current_event current;
	struct hybrid_loop loop;
	struct str magic; /* see magic_replace() */
	struct written written;
	bool dirs_moved; /* names in `written` may be out of date */
	bool late; /* recovery: records are read long after they were written,
		    * and no process waits */
	bool stale; /* a call was allowed after the generation was increased */
	bool root_gone; /* the command has ended */
};

static inline struct hybrid *hybrid_of(struct observer *o)
{
	return container_of(o, struct hybrid, o);
}

static inline bool hybrid_has_filter(const struct hybrid *h)
{
	return h->listener >= 0;
}

/* ---- run_members.c ---- */

/* Finds the thread, or adds it from /proc.  `parent` is the pid of the process that
 * made it, 0 to read it from /proc.  NULL when the thread has ended or when out of
 * memory. */
struct tracee *member_thread(struct hybrid *h, pid_t tid);
struct tracee *member_add(struct hybrid *h, pid_t pid, pid_t parent);
struct member *member_of(struct hybrid *h, const struct tracee *t);
struct member *member_of_teller(struct hybrid *h, uint32_t id);

/* Is the process in another directory than the one it reported?  `ret_cwd`, set only
 * then, may be t->cwd.  False when the process has ended. */
bool member_has_moved(const struct tracee *t, struct str *ret_cwd);

/* Is this a file of the tracer, which programs open only because they are observed? */
bool hybrid_is_ours(const struct hybrid *h, const char *path);

/* Assigns the log id `id` to `m`.  0 or -ENOMEM. */
int member_set_teller(struct hybrid *h, struct member *m, uint32_t id);

/* An exec was allowed that will probably succeed: keeps the thread's exec_path and
 * exec_command. */
void member_exec_begin(struct hybrid *h, struct tracee *t);
/* The first activity of the process after it: a new program sent LOG_HELLO (`tid` 0),
 * or a thread makes a call. */
void member_exec_end(struct hybrid *h, struct member *m, pid_t tid);
/* The loader of the new program is running. */
void member_exec_seen(struct hybrid *h, struct member *m);
void member_exec_failed(struct member *m);

/* The process is about to change its directory: finds the processes that share it. */
void members_share(struct hybrid *h, const struct tracee *t);

/* Has the process ended, or is it a zombie? */
bool member_is_gone(pid_t pid);
bool member_thread_is_gone(const struct tracee *t);
/* Removes processes and threads that have ended; `all`: every one has. */
void members_look(struct hybrid *h, bool all);
/* The process has ended with that wait status (event.h). */
void member_gone(struct hybrid *h, struct member *m, int status);
void members_kill(struct hybrid *h);
void members_release(struct hybrid *h);

/* ---- family.c ---- */

/* The process `parent` has reported its child of vfork(), `pid`. */
void family_announce(struct hybrid *h, pid_t pid, pid_t parent);
/* Finds the process of a thread and its parent.  0, or -ESRCH when it has ended. */
int family_find(struct hybrid *h, pid_t tid, struct family *ret);

/* Is it a process of the run, or the child of one that may not have made an observed
 * call yet? */
bool family_is_of_run(const struct hybrid *h, pid_t pid);

/* ---- notify.c ---- */

/* Receives one notification and answers it.  False when interrupted. */
bool notify_serve(struct hybrid *h);
/* Have all processes with the filter ended? */
bool notify_is_over(const struct hybrid *h);
int notify_init(struct hybrid *h);

/* Lets the call `id` continue unchanged. */
int notify_continue(int listener, uint64_t id);
/* Makes the thread restart the call; only for a thread that is about to stop. */
int notify_repeat(int listener, uint64_t id);

/* ---- words.c ---- */

/* A piece of the thread's memory that was read a moment ago. */
struct words_seen {
	uint64_t start;
	size_t len; /* bytes */
	const char *data;
};

/* Reads the command line from an array in the thread's memory into its exec_command. */
void words_read(struct hybrid *h, struct tracee *t, uint64_t array,
		size_t pointer_size, const struct words_seen *seen);

/* ---- log_records.c ---- */

/* Reads the records in the log.  `urgent`: a process waits for us. */
void log_records_drain(struct hybrid *h, bool urgent);
void log_opens_release(struct hybrid *h);
/* The mount id of our root; 0: the kernel does not report it. */
int32_t log_records_root_mount(void);
/* Takes only the process and its directory from a record. */
void log_records_who(struct hybrid *h, const struct log_view *v);
/* Ends intents whose results will not come: of one process, or of all (NULL). */
void log_opens_abandon(struct hybrid *h, const struct member *m);
/* The same for processes that have ended, before the names that they were to make
 * change; `reading`: a record is being processed, so no others can be read. */
void log_opens_abandon_gone(struct hybrid *h, bool reading);
/* Sets the current directory of the thread `tid`, and with it of its process. */
void log_records_directory(struct hybrid *h, struct tracee *leader, pid_t tid,
			   const char *path, size_t len);
/* Sends gaps for the errors that processes noted in the header. */
void log_records_trouble(struct hybrid *h);
/* Voids the fingerprints of all opens, so that programs log them again. */
void log_records_raise_generation(struct hybrid *h);
/* log_opens.c: the thread has opened a file for reading; is about to open one for
 * writing; has opened it. */
void log_opens_read(struct hybrid *h, struct tracee *t,
		    const struct log_view *v);
void log_opens_intent(struct hybrid *h, struct tracee *t,
		      const struct log_view *v);
void log_opens_result(struct hybrid *h, struct tracee *t,
		      const struct log_view *v);
/* emit.c: receives every event that the observer sends. */
void emit_event(struct observer *o, const struct event *ev);

/* ---- pending_calls.c ---- */

/* The thread has a pending call whose outcome must be found out. */
void pending_call_add(struct hybrid *h, struct tracee *t);
/* Fills in what the entry of an awaited open left out: the file it would open. */
void pending_call_prepare(struct hybrid *h, struct tracee *t,
			  const struct call_args *a);
bool pending_call_has_other_root(pid_t tid);
/* The process has logged the result of its pending call. */
void pending_call_result(struct hybrid *h, struct tracee *t, int32_t result);
/* The thread has certainly left its pending call. */
void pending_call_end(struct hybrid *h, struct tracee *t);
/* Another call is about to be examined: settles calls that are visibly done, and those
 * of threads that have ended. */
void pending_calls_check(struct hybrid *h);

/* ---- magic.c ---- */

/* Does an open with these flags follow a link at the end? */
bool magic_follows(uint64_t flags);
/* Follows the links at the end of a name as the process would.  0 or a negative
 * errno. */
int magic_follow(struct hybrid *h, struct tracee *t, struct str *name);
/* Replaces the name in the arguments when it leads through the process's own directory
 * in /proc; `name` holds the new one.  -EINVAL when that is not a file of the file
 * system (a pipe) or has no name any more, else 0. */
int magic_replace(struct hybrid *h, struct tracee *t, struct call_args *a,
		  struct str *name);

/* ---- rights.c ---- */

/* May the process open the file?  `want`: 4 to read, 2 to write. */
bool rights_allow(pid_t tid, const char *path, const struct stat *st,
		  unsigned want);

/* Is a descriptor certainly free for a process that waits in a call? */
bool rights_has_room(pid_t tid);

/* ---- closed.c ---- */

/* An open for writing was sent to the job. */
void closed_check(struct hybrid *h, const struct event *ev);

/* ---- received.c ---- */

/* The thread is about to receive a message with room for descriptors.  Returns true if
 * the result must be awaited. */
bool received_enter(struct hybrid *h, struct tracee *t,
		    const struct seccomp_data *d);
/* The thread has received the message, or has ended. */
void received_settle(struct hybrid *h, struct tracee *t);

/* ---- seize.c ---- */

/* The thread waits at that call, which is about to continue. */
void seize_call(struct hybrid *h, const struct tracee *t,
		const struct seccomp_data *d);
/* The thread runs a program with our library from now on. */
void seize_is_needless(struct hybrid *h, struct tracee *t);
/* Another process is about to trace the thread.  True: we have seized it, and detach
 * when it stops, which it soon does. */
bool seize_let_go(struct hybrid *h, pid_t tid);
bool seize_has(const struct hybrid *h, pid_t tid);
/* A seized thread has stopped, with this wait status: resumes it (a command_stopped). */
int seize_stopped(void *ctx, pid_t tid, int status);
/* Handles the stops of all seized threads but the command itself. */
void seize_look(struct hybrid *h);
/* Waits for a notification; false: a signal has arrived. */
bool seize_sleep(struct hybrid *h);
/* Detaches from all threads. */
void seize_end(struct hybrid *h);
void seize_release(struct hybrid *h);

/* ---- attach.c ---- */

/* The thread is about to make itself, or another one, the tracee of a process.  True:
 * its call `id` is answered, or will be. */
bool attach_enter(struct hybrid *h, const struct tracee *t,
		  const struct seccomp_data *d, uint64_t id);
/* Answers the calls whose targets are detached. */
void attach_settle(struct hybrid *h);

/* ---- guardian.c ---- */

/* In two steps: the guardian can be made while the command is on its way to the gate. */
int guardian_start(struct hybrid *h);
int guardian_give_listener(const struct hybrid *h);
/* Makes a new guardian if it was killed. */
void guardian_check(struct hybrid *h);
/* Lets the guardian serve from now on; it removes the log at the end. */
void guardian_hand_over(struct hybrid *h);
/* No process is left to be guarded: the guardian may end while we do other things... */
void guardian_dismiss(struct hybrid *h);
/* ...and is waited for here. */
void guardian_stop(struct hybrid *h);

#endif
