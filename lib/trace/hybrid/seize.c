/* seize.c - signals that arrive before the notification of a call
 *
 * A filtered call can be interrupted until we have received its notification.  A signal
 * whose handler does not request restarts would make it fail with EINTR, even a
 * rename(), which nothing else can interrupt.  Our library restarts the call.  For
 * programs without it the kernel stops their threads at signals (PTRACE_SEIZE; else
 * they stop only where they make other threads), and we make a call whose notification
 * was not received restart, as if the signal had come a little earlier.  A process is
 * seized at its first call; its children are not, because they may want another tracer.
 *
 * A call that waits by itself (a FIFO without a peer) was allowed before, and fails as
 * it should.  To distinguish the two, the last allowed call is kept; where the
 * interrupted one looks the same, the file it opens decides.
 *
 * A process that cannot be seized, because it has another tracer or other privileges,
 * is unchanged.  When the tracer is killed the kernel detaches all of them. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "trace/hybrid/hybrid_internal.h"
#include "trace/hybrid/seize.h"

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

/* A thread that stops at signals. */
struct seized {
	pid_t tid; /* the key */
	pid_t pid;
	bool leaving; /* detach when it stops next */
	struct seccomp_data last; /* the last call that was allowed */
};

static struct seized *seized_of(const struct hybrid *h, pid_t tid)
{
	return map_get(&h->seizing.threads, &tid, sizeof(tid));
}

static void drop(struct hybrid *h, struct seized *s)
{
	(void)map_remove(&h->seizing.threads, &s->tid, sizeof(s->tid));
	free(s);
}

static struct seized *add(struct hybrid *h, pid_t tid, pid_t pid)
{
	struct seized *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->tid = tid;
	s->pid = pid;
	if (map_set(&h->seizing.threads, &s->tid, sizeof(s->tid), s) == 0)
		return s;
	free(s);
	return NULL;
}

/* ---- which threads ---- */

static bool is_wanted(struct member *m)
{
	if (m->patience == PATIENCE_UNKNOWN)
		m->patience = m->teller ? PATIENCE_OWN : PATIENCE_OURS;
	return m->patience == PATIENCE_OURS && seize_helps();
}

static struct seized *seize(struct hybrid *h, const struct tracee *t,
			    struct member *m)
{
	struct seized *s;

	if (h->seizing.bell < 0)
		h->seizing.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s = h->seizing.bell < 0 ? NULL : add(h, t->tid, m->pid);
	if (!s)
		return NULL;
	if (ptrace(PTRACE_SEIZE, t->tid, 0, (long)PTRACE_O_TRACECLONE) == 0)
		return s;
	m->patience = PATIENCE_NOBODYS;
	drop(h, s);
	return NULL;
}

void seize_call(struct hybrid *h, const struct tracee *t,
		const struct seccomp_data *d)
{
	enum call call = call_find(d->arch, (uint32_t)d->nr);
	struct seized *s = seized_of(h, t->tid);
	struct member *m = member_of(h, t);

	if (s)
		s->last = *d;
	if (!m)
		return;
	/* The program to be executed may have the library.  And while a thread
	 * executes, our wait for it would block, and the thread waits for us to reap
	 * its siblings. */
	if (call == CALL_EXECVE || call == CALL_EXECVEAT)
		m->exec_by = t->tid;
	else if (m->exec_by == t->tid)
		m->exec_by = 0;
	if (s || m->exec_by || !is_wanted(m))
		return;
	s = seize(h, t, m);
	if (s)
		s->last = *d;
}

static bool dismiss(struct seized *s)
{
	if (!s || ptrace(PTRACE_INTERRUPT, s->tid, 0, 0) < 0)
		return false;
	s->leaving = true;
	return true;
}

void seize_is_needless(struct hybrid *h, struct tracee *t)
{
	struct member *m = member_of(h, t);

	if (m)
		m->patience = PATIENCE_OWN;
	(void)dismiss(seized_of(h, t->tid));
}

bool seize_let_go(struct hybrid *h, pid_t tid)
{
	const struct tracee *t = tree_find(&h->o.tree, tid);
	struct member *m = t ? member_of(h, t) : NULL;

	if (m)
		m->patience = PATIENCE_NOBODYS;
	return dismiss(seized_of(h, tid));
}

bool seize_has(const struct hybrid *h, pid_t tid)
{
	return seized_of(h, tid);
}

/* ---- what was interrupted ---- */

enum nature {
	NATURE_OTHER, /* not notified, or not always */
	NATURE_QUICK, /* nothing else interrupts it */
	NATURE_OPENS, /* it depends on what is opened */
	NATURE_WAITS,
};

static enum nature nature_of(enum call call)
{
	switch (call) {
	case CALL_OPEN:
	case CALL_OPENAT:
	case CALL_OPENAT2:
	case CALL_CREAT:
		return NATURE_OPENS;
	case CALL_NAMESPACE:
	case CALL_MOUNT:
	case CALL_HANDLE:
	case CALL_RECVMSG:
	case CALL_RECVMMSG:
	case CALL_FOREIGN:
		return NATURE_WAITS;
	case CALL_RIGHTS:
	case CALL_CREDENTIALS:
	case CALL_CHDIR:
	case CALL_CHROOT:
	case CALL_UMOUNT:
	case CALL_PTRACE:
		return NATURE_QUICK;
	default:
		return call_names_files(call) ? NATURE_QUICK : NATURE_OTHER;
	}
}

static bool is_same_call(const struct seccomp_data *a,
			 const struct seccomp_data *b)
{
	return a->nr == b->nr && a->arch == b->arch &&
	       a->instruction_pointer == b->instruction_pointer &&
	       memcmp(a->args, b->args, sizeof(a->args)) == 0;
}

/* The path as the thread sees it, in our view. */
static int stat_of(const struct hybrid *h, pid_t tid, bool at,
		   const struct seccomp_data *d, struct stat *st)
{
	char path[MEMORY_PATH_MAX], full[MEMORY_PATH_MAX + 64];
	int dirfd = at ? (int)d->args[0] : AT_FDCWD;
	ssize_t n = memory_read_path(&h->o.memory, tid, d->args[at], path);

	if (n < 0)
		return (int)n;
	if (path[0] == '/')
		n = snprintf(full, sizeof(full), "/proc/%d/root%s", (int)tid,
			     path);
	else if (dirfd == AT_FDCWD)
		n = snprintf(full, sizeof(full), "/proc/%d/cwd/%s", (int)tid,
			     path);
	else
		n = snprintf(full, sizeof(full), "/proc/%d/fd/%d/%s", (int)tid,
			     dirfd, path);
	/* These names mean another file for us, or may block. */
	if ((size_t)n >= sizeof(full) || strncmp(path, "/proc/", 6) == 0 ||
	    strncmp(path, "/dev/", 5) == 0)
		return -EINVAL;
	return stat(full, st) < 0 ? -errno : 0;
}

static bool opens_at_once(const struct hybrid *h, pid_t tid, enum call call,
			  const struct seccomp_data *d)
{
	bool at = call == CALL_OPENAT || call == CALL_OPENAT2;
	struct stat st;
	int r = stat_of(h, tid, at, d, &st);

	return r == 0 ? S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) :
			r == -ENOENT;
}

/* Was it interrupted only because it waited for us? */
static bool is_our_fault(const struct hybrid *h, pid_t tid,
			 const struct seccomp_data *d)
{
	enum call call = call_find(d->arch, (uint32_t)d->nr);
	enum nature nature = nature_of(call);
	const struct seized *s = seized_of(h, tid);

	if (nature == NATURE_OTHER || nature == NATURE_QUICK)
		return nature == NATURE_QUICK;
	if (s && !is_same_call(&s->last, d))
		return true;
	return nature == NATURE_OPENS && opens_at_once(h, tid, call, d);
}

/* ---- stops ---- */

static bool stops_job(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN ||
	       sig == SIGTTOU;
}

static void go_on(struct hybrid *h, pid_t tid, int sig)
{
	struct seized *s = seized_of(h, tid);

	if (!s || !s->leaving) {
		(void)ptrace(PTRACE_CONT, tid, 0, (long)sig);
		return;
	}
	(void)ptrace(PTRACE_DETACH, tid, 0, (long)sig);
	drop(h, s);
}

/* Nothing else reports that it returned.  If it is restarted, we receive it again. */
static void open_failed(struct hybrid *h, const struct seized *s,
			const struct seccomp_data *d)
{
	enum call call = call_find(d->arch, (uint32_t)d->nr);
	struct tracee *t = s ? tree_find(&h->o.tree, s->tid) : NULL;

	if (t && nature_of(call) == NATURE_OPENS && is_same_call(&s->last, d))
		pending_call_result(h, t, -EINTR);
}

static void look_at(struct hybrid *h, pid_t tid);

/* It has made a thread, which is seized and waits for us. */
static void made_thread(struct hybrid *h, pid_t tid)
{
	const struct seized *s = seized_of(h, tid);
	pid_t pid = s ? s->pid : tid;
	unsigned long made = 0;

	if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &made) < 0)
		return;
	if (!seized_of(h, (pid_t)made))
		(void)add(h, (pid_t)made, pid);
	look_at(h, (pid_t)made);
}

int seize_stopped(void *ctx, pid_t tid, int status)
{
	int sig = WSTOPSIG(status);
	struct hybrid *h = ctx;
	const struct seized *s = seized_of(h, tid);
	struct seccomp_data d;
	siginfo_t info;

	if (status >> 16 == PTRACE_EVENT_STOP) {
		if (!stops_job(sig))
			go_on(h, tid, 0);
		else if (s && s->leaving)
			go_on(h, tid, 0);
		else
			(void)ptrace(PTRACE_LISTEN, tid, 0, 0);
		return stops_job(sig) ? sig : 0;
	}
	if (status >> 16 == PTRACE_EVENT_CLONE) {
		made_thread(h, tid);
		go_on(h, tid, 0);
		return 0;
	}
	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info) < 0)
		return sig; /* we have not seized it */
	if (seize_interrupted(tid, &d)) {
		if (is_our_fault(h, tid, &d))
			seize_repeat(tid);
		else
			open_failed(h, s, &d);
	}
	go_on(h, tid, sig);
	return 0;
}

/* It has ended.  An exec gives the leader's id to the thread that made it. */
static void succeed(struct hybrid *h, struct seized *s, bool vanished)
{
	pid_t tid = s->tid, pid = s->pid;

	drop(h, s);
	if (vanished && tid != pid && !seized_of(h, pid))
		(void)add(h, pid, pid);
}

/* Handles the pending stops of one thread. */
static void look_at(struct hybrid *h, pid_t tid)
{
	struct seized *s;
	int status;
	pid_t r;

	while ((s = seized_of(h, tid))) {
		r = waitpid(tid, &status, WNOHANG | __WALL);
		if (r == 0 || (r < 0 && errno != ECHILD))
			return;
		if (r > 0 && WIFSTOPPED(status))
			(void)seize_stopped(h, tid, status);
		else
			succeed(h, s, r < 0);
	}
}

/* Copies all ids, because handling changes the map.  Returns their number. */
static size_t list(const struct hybrid *h, pid_t **ret)
{
	size_t n = 0, pos = 0;
	struct seized *s;

	*ret = calloc(h->seizing.threads.count + 1, sizeof(**ret));
	while (*ret && (s = map_next(&h->seizing.threads, &pos)))
		(*ret)[n++] = s->tid;
	return n;
}

void seize_look(struct hybrid *h)
{
	CLEANUP(freep) pid_t *tids = NULL;
	size_t n = h->seizing.threads.count ? list(h, &tids) : 0;

	for (size_t i = 0; i < n; i++)
		if (tids[i] != h->o.root || h->root_gone) /* command_wait() */
			look_at(h, tids[i]);
}

bool seize_sleep(struct hybrid *h)
{
	struct pollfd lines[] = { { h->listener, POLLIN, 0 },
				  { h->seizing.bell, POLLIN, 0 } };
	uint64_t n;

	assert(hybrid_has_filter(h));
	if (poll(lines, 2, -1) < 0)
		return false;
	return !(lines[1].revents & POLLIN) ||
	       read(h->seizing.bell, &n, sizeof(n)) < 0;
}

/* ---- the end ---- */

void seize_end(struct hybrid *h)
{
	enum { PATIENT_NS = 50000000, NAP_US = 500 };
	int64_t end = clock_mono_ns() + PATIENT_NS;
	struct seized *s;
	size_t pos = 0;

	while ((s = map_next(&h->seizing.threads, &pos))) {
		s->leaving = true;
		(void)dismiss(s);
	}
	/* The kernel detaches a thread in an uninterruptible call when we end. */
	for (seize_look(h); h->seizing.threads.count && clock_mono_ns() < end;
	     seize_look(h))
		(void)usleep(NAP_US);
}

void seize_release(struct hybrid *h)
{
	struct seized *s;
	size_t pos = 0;

	while ((s = map_next(&h->seizing.threads, &pos)))
		free(s);
	map_release(&h->seizing.threads);
	if (h->seizing.bell >= 0)
		(void)close(h->seizing.bell);
	h->seizing.bell = -1;
}
