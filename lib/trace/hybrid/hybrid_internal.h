/* hybrid_internal.h - what the files of this folder share.
 *
 *	hybrid.c	life, the loop, the process tree
 *	run_members.c	who belongs to the run, and since when
 *	notify.c	calls the kernel tells us of
 *	log_records.c	records the library wrote
 *	log_opens.c	opens that they tell of
 *	emit.c		what is remembered of events
 *	pending_calls.c	what came of a call, by looking afterwards
 *	magic.c		names that mean another file in every process
 *	rights.c	what a process of other rights may open
 *	guardian.c	the process that answers when we are gone
 *	words.c		command lines
 *	recover.c	what a killed tracer has not read
 *	written.c	what the run has written to
 *	closed.c	what it has closed before anybody watched
 *	received.c	descriptors that came in messages
 *	seize.c		signals that come before we have heard of a call
 *	attach.c	processes of the run that trace others of the run */
#ifndef ROAR_TRACE_HYBRID_HYBRID_INTERNAL_H
#define ROAR_TRACE_HYBRID_HYBRID_INTERNAL_H

#include <linux/seccomp.h>
#include <stdatomic.h>

#include "base/macros.h"
#include "trace/call/call.h"
#include "trace/hybrid/written.h"
#include "trace/preload/log_file.h"
#include "trace/preload/log_read.h"

/* Who makes the calls of a process again that a signal has interrupted. */
enum patience {
	PATIENCE_UNKNOWN,
	PATIENCE_OWN, /* our library in it */
	PATIENCE_OURS,
	PATIENCE_NOBODYS, /* it cannot be seized */
};

/* A process of the run. */
struct member {
	pid_t pid; /* the key */
	uint32_t teller; /* its id in the log, 0: it has no library */
	bool exec_open; /* an exec was let through; nobody knows what came of it */
	pid_t shares_with; /* process with which it has the current directory in
			    * common (CLONE_FS), as far as that was noticed */
	bool wants_hello; /* a program that bears the library was executed, and
			   * has not spoken yet */
	bool missed; /* it is gone, and nobody has told how yet */
	bool sandboxed; /* it restricted itself in ways nobody can look at */
	bool escaped; /* a program without the library runs in it, unseen */
	bool exec_told; /* the program that runs in it has been told of */
	pid_t exec_tid; /* the thread that asked for it */
	pid_t exec_by; /* a thread that may be executing right now; 0: none */
	enum patience patience;
	struct str exec_path; /* of that exec */
	struct str exec_command;
	struct str exec_exe; /* the file that would be /proc/PID/exe */
	struct stat exec_stat;
};

/* A child of vfork() that has told whose it is, and not been heard of yet. */
struct announced {
	pid_t pid; /* 0: none */
	pid_t parent;
	int64_t time_ns;
};

enum { ANNOUNCED = 8, SPAWNERS = 4 };

struct family {
	pid_t pid; /* the process of a thread */
	pid_t parent;
	bool vforked; /* it shares the memory of its parent */
};

/* An open for writing that was announced and not yet reported. */
struct intent {
	uint32_t cell; /* low half */
	uint32_t process;
	uint32_t flags;
	int64_t time_ns;
	bool orphan; /* its process is gone; its last words may be unread */
	struct str path; /* as the process named it */
};

/* A ptrace() that waits until we have let go of the thread it is for. */
struct attaching {
	uint64_t id; /* of its notification; 0: none */
	pid_t target;
	int64_t since_ns;
};

enum { ATTACHING = 16 };

/* A page shared with the guardian: what must be answered if we die. */
struct guard_page {
	union {
		struct seccomp_notif request; /* the call in hand; id 0: none */
		char room[1024]; /* the kernel's idea of it may be larger */
	};
	struct attaching attaching[ATTACHING];
};

struct guardian {
	pid_t pid; /* 0: none */
	int line; /* to it: the listener, and the word that it serves from now on
		   * although we live; -1: none */
	bool dismissed; /* it has no more to do */
	struct guard_page *page;
};

/* A directory in which the job notices when files are closed.  Each has one
 * place in the table: who is pushed out costs one more look. */
struct watched {
	uint64_t dir; /* mark of its name */
	int64_t since_ns;
};

enum { WATCHED = 256 };

struct hybrid {
	struct tracer base;
	struct observer o;
	struct tracer_result result;
	struct log_file file;
	struct log_reader log;
	struct log_view view; /* the record being read */
	struct guardian guardian;
	int listener; /* -1: none, the library alone */
	char library[1024]; /* its path; "" when there is none */
	char **envp; /* of the command, with the library */
	struct map members; /* pid -> struct member */
	struct map tellers; /* id in the log -> struct member */
	struct announced announced[ANNOUNCED]; /* the last ones */
	unsigned n_announced;
	pid_t spawners[SPAWNERS]; /* who had children that share its memory */
	unsigned n_spawners;
	struct str magic; /* see magic_replace() */
	struct intent *intents;
	size_t n_intents, cap_intents;
	struct map seized; /* tid -> struct seized */
	int bell; /* eventfd: a signal has come; -1: nobody is seized */
	pid_t *waiting; /* threads with a pending call */
	size_t n_waiting, cap_waiting;
	struct written written;
	struct watched watched[WATCHED];
	struct written writable; /* files that processes could write to... */
	uint64_t writable_cell; /* ...when the log stood there... */
	bool writable_known; /* ...and they let us see that */
	int64_t told_ns; /* when what is being told now has happened; 0: just now */
	bool entering; /* what is being told now is about to happen */
	bool dirs_moved; /* names in `written` may be out of date */
	bool late; /* nobody waits: this is read long after it was told */
	bool dead_log; /* it made no sense: nothing more is read from it */
	bool stale; /* a call was let through after the generation was raised */
	bool root_gone;
	uint32_t doorbell; /* its value before the last drain */
	uint32_t trouble; /* of the header, as far as it was told */
	unsigned timer_ms; /* interval of the timer */
	int64_t busy_ns; /* when the timer last found something in the log */
	int64_t stuck_ns; /* since when a record is not committed; 0: none is */
	int64_t looked_ns; /* when dead processes were last looked for */
	int64_t start_ns; /* of the run, on the clock of file stamps: no file of
			   * the run was born before */
	int64_t begun_ns; /* the same by the exact clock, which stamps may be as
			   * far ahead of theirs as (Linux 6.13): no stamp from
			   * before the run is later */
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

/* The thread, found or made from what /proc knows.  `parent` is the pid of the
 * process that made it, 0 when /proc is to tell.  NULL when it is gone or without
 * memory. */
struct tracee *member_thread(struct hybrid *h, pid_t tid);
struct tracee *member_add(struct hybrid *h, pid_t pid, pid_t parent);
struct member *member_of(struct hybrid *h, const struct tracee *t);
struct member *member_of_teller(struct hybrid *h, uint32_t id);

/* Is it in another directory than the one it told?  `ret_cwd`, set only then, may be
 * t->cwd.  False when it is gone. */
bool member_has_moved(const struct tracee *t, struct str *ret_cwd);

/* Is that a file of ours, which programs open because we asked them to? */
bool hybrid_is_ours(const struct hybrid *h, const char *path);

/* From now on `m` speaks as `id`.  0 or -ENOMEM. */
int member_set_teller(struct hybrid *h, struct member *m, uint32_t id);

/* An exec was let through that looks as if it will succeed: the thread's exec_path
 * and exec_command are kept. */
void member_exec_begin(struct hybrid *h, struct tracee *t);
/* The process gave a sign of life after it: a new program said hello (`tid` 0), or
 * a thread makes a call. */
void member_exec_end(struct hybrid *h, struct member *m, pid_t tid);
/* Its loader is at work. */
void member_exec_seen(struct hybrid *h, struct member *m);
void member_exec_failed(struct member *m);

/* The process is about to change its directory: whose else is it? */
void members_share(struct hybrid *h, const struct tracee *t);

/* Is there no such process, or only its zombie? */
bool member_is_gone(pid_t pid);
bool member_thread_is_gone(const struct tracee *t);
/* Forgets processes and threads that are gone; `all`: everybody is. */
void members_look(struct hybrid *h, bool all);
/* One has ended with that wait status (event.h). */
void member_gone(struct hybrid *h, struct member *m, int status);
void members_kill(struct hybrid *h);
void members_release(struct hybrid *h);

/* ---- family.c ---- */

/* `pid` is a child of vfork() of the process `parent`, as that says. */
void family_announce(struct hybrid *h, pid_t pid, pid_t parent);
/* 0, or -ESRCH when it is gone. */
int family_find(struct hybrid *h, pid_t tid, struct family *ret);

/* Is it a process of the run, or the child of one, that may not have made a call yet
 * that we hear of? */
bool family_is_of_run(const struct hybrid *h, pid_t pid);

/* ---- notify.c ---- */

/* Takes one notification and answers it.  False when interrupted. */
bool notify_serve(struct hybrid *h);
/* Have all processes with the filter ended? */
bool notify_is_over(const struct hybrid *h);
int notify_init(struct hybrid *h);

/* Lets the call `id` go on as it is. */
int notify_continue(int listener, uint64_t id);
/* Has the thread make it again; only for one that is about to stop. */
int notify_repeat(int listener, uint64_t id);

/* ---- words.c ---- */

/* A piece of the thread's memory that was read a moment ago. */
struct words_seen {
	uint64_t start;
	size_t len; /* bytes */
	const char *data;
};

/* Reads the command line from an array in the thread's memory to its
 * exec_command. */
void words_read(struct hybrid *h, struct tracee *t, uint64_t array,
		size_t pointer_size, const struct words_seen *seen);

/* ---- log_records.c ---- */

/* Reads what is in the log.  `urgent`: somebody waits for us. */
void log_records_drain(struct hybrid *h, bool urgent);
void log_opens_release(struct hybrid *h);
/* The number of our root's mount; 0: the kernel does not tell. */
int32_t log_records_root_mount(void);
/* Takes from a record only who speaks and where that is. */
void log_records_who(struct hybrid *h, const struct log_view *v);
/* Intents whose results will not come: of one process, or of all (NULL). */
void log_opens_abandon(struct hybrid *h, const struct member *m);
/* The same of processes that are gone, before the names they were to make change;
 * `reading`: a record is in hand, so that no others can be read. */
void log_opens_abandon_gone(struct hybrid *h, bool reading);
/* The thread `tid` is in that directory now, and with it its process. */
void log_records_directory(struct hybrid *h, struct tracee *leader, pid_t tid,
			   const char *path, size_t len);
/* Gaps for what processes noted in the header. */
void log_records_trouble(struct hybrid *h);
/* What was told before is no longer a reason not to tell it. */
void log_records_raise_generation(struct hybrid *h);
/* log_opens.c: the thread has opened a file for reading; is about to open one for
 * writing; has done so. */
void log_opens_read(struct hybrid *h, struct tracee *t,
		    const struct log_view *v);
void log_opens_intent(struct hybrid *h, struct tracee *t,
		      const struct log_view *v);
void log_opens_result(struct hybrid *h, struct tracee *t,
		      const struct log_view *v);
/* emit.c: what the observer says goes through here, too. */
void emit_event(struct observer *o, const struct event *ev);

/* ---- pending_calls.c ---- */

/* The thread has a pending call: somebody has to look after it. */
void pending_call_add(struct hybrid *h, struct tracee *t);
/* Fills in what the entry of an awaited open left out: which file it would be. */
void pending_call_prepare(struct hybrid *h, struct tracee *t,
			  const struct call_args *a);
bool pending_call_has_other_root(pid_t tid);
/* The process told the result of its pending call. */
void pending_call_result(struct hybrid *h, struct tracee *t, int32_t result);
/* The thread is surely out of its pending call. */
void pending_call_end(struct hybrid *h, struct tracee *t);
/* Something else is about to be looked at: settles what is visibly done, and what
 * threads that are gone have left open. */
void pending_calls_check(struct hybrid *h);

/* ---- magic.c ---- */

/* Does an open with these flags follow a link at the end? */
bool magic_follows(uint64_t flags);
/* Follows the links at the end of a name as the process would.  0 or a negative
 * errno. */
int magic_follow(struct hybrid *h, struct tracee *t, struct str *name);
/* Puts the plain name of the file into the arguments when they name it through the
 * process's own folder in /proc; `name` holds it.  -EINVAL when that is no file of
 * the file system (a pipe) or has no name any more, else 0. */
int magic_replace(struct hybrid *h, struct tracee *t, struct call_args *a,
		  struct str *name);

/* ---- rights.c ---- */

/* `want`: 4 to read, 2 to write. */
bool rights_allow(pid_t tid, const char *path, const struct stat *st,
		  unsigned want);

/* Is a descriptor surely free for a process that waits in a call? */
bool rights_has_room(pid_t tid);

/* ---- closed.c ---- */

/* The job has been told of this open for writing. */
void closed_check(struct hybrid *h, const struct event *ev);

/* ---- received.c ---- */

/* The thread is about to receive a message with room for descriptors: is its end
 * to be awaited? */
bool received_enter(struct hybrid *h, struct tracee *t,
		    const struct seccomp_data *d);
/* It has it, or is gone. */
void received_settle(struct hybrid *h, struct tracee *t);

/* ---- seize.c ---- */

/* The thread waits at that call, which is about to be let go. */
void seize_call(struct hybrid *h, const struct tracee *t,
		const struct seccomp_data *d);
/* It runs a program with our library from now on. */
void seize_is_needless(struct hybrid *h, struct tracee *t);
/* Somebody else is about to trace the thread.  True: we have seized it, and let it
 * go when it stops, which it soon does. */
bool seize_let_go(struct hybrid *h, pid_t tid);
bool seize_has(const struct hybrid *h, pid_t tid);
/* One of them has stopped, as its wait status says: makes it go on (a
 * command_stopped). */
int seize_stopped(void *ctx, pid_t tid, int status);
/* Looks who has stopped, all but the command itself. */
void seize_look(struct hybrid *h);
/* Waits for a notification; false: a signal has come. */
bool seize_sleep(struct hybrid *h);
/* Lets all go that are left. */
void seize_end(struct hybrid *h);
void seize_release(struct hybrid *h);

/* ---- attach.c ---- */

/* The thread is about to make itself, or another one, the tracee of a process.
 * True: its call `id` is answered, or will be. */
bool attach_enter(struct hybrid *h, const struct tracee *t,
		  const struct seccomp_data *d, uint64_t id);
/* Answers those whose targets are free. */
void attach_settle(struct hybrid *h);

/* ---- guardian.c ---- */

/* In two steps: it can be made while the command is on its way to the gate. */
int guardian_start(struct hybrid *h);
int guardian_give_listener(const struct hybrid *h);
/* Makes a new one if it was killed. */
void guardian_check(struct hybrid *h);
/* From now on it serves; it removes the log at the end. */
void guardian_hand_over(struct hybrid *h);
/* Nobody is left to be guarded: it may end while we do other things... */
void guardian_dismiss(struct hybrid *h);
/* ...and is waited for here. */
void guardian_stop(struct hybrid *h);

#endif
