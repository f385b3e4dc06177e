/* notify.c - notifications of the kernel
 *
 *	a thread          the kernel             the tracer
 *	────────          ──────────             ──────────
 *	openat() ───────▶ filter: USER_NOTIF ──▶ NOTIF_RECV
 *	(waits)                                  read the log up to here
 *	                                         read and resolve the names, examine
 *	                  continues ◀─────────── NOTIF_SEND, CONTINUE
 *	◀──────────────── the call itself
 *
 * The tracer never replaces the call, it only lets it continue: whatever the arguments
 * are by then, the kernel decides.  With SYNC_WAKE_UP the thread and the tracer take
 * turns on one CPU, which makes a stop five times cheaper. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/hybrid/hybrid_internal.h"

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

int notify_init(struct hybrid *h)
{
	struct seccomp_notif_sizes sizes;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return -errno;
	if (sizes.seccomp_notif > sizeof(h->guardian.page->room))
		return -EOVERFLOW;
	/* Older than Linux 6.6: slower, otherwise the same. */
	(void)ioctl(h->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
		    SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	return 0;
}

static int send_answer(int listener, const struct seccomp_notif_resp *r)
{
	/* Room for what a newer kernel may append. */
	union {
		struct seccomp_notif_resp r;
		char room[256];
	} answer = { .r = *r };

	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 ? -errno :
									0;
}

int notify_continue(int listener, uint64_t id)
{
	struct seccomp_notif_resp r = {
		.id = id,
		.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
	};

	return send_answer(listener, &r);
}

int notify_repeat(int listener, uint64_t id)
{
	enum { ERESTARTNOINTR = 513 }; /* known to the kernel alone */
	struct seccomp_notif_resp r = { .id = id, .error = -ERESTARTNOINTR };

	return send_answer(listener, &r);
}

bool notify_is_over(const struct hybrid *h)
{
	struct pollfd line = { .fd = h->listener, .events = POLLIN };

	assert(hybrid_has_filter(h));
	return poll(&line, 1, 0) > 0 && (line.revents & POLLHUP);
}

/* Does the thread still wait, so that the memory read was really its own? */
static bool still_waits(const struct hybrid *h, uint64_t id)
{
	return ioctl(h->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static size_t pointer_size(uint32_t arch)
{
	return arch & __AUDIT_ARCH_64BIT ? 8 : 4;
}

/* ---- a notification ---- */

/* The program installs a listener of its own: the kernel allows one and returns EBUSY,
 * so a program that supervises others may fail.  A nested roar uses another backend
 * then. */
static void check_listener(struct hybrid *h, struct tracee *t,
			   const uint64_t args[6])
{
	if (args[0] != SECCOMP_SET_MODE_FILTER ||
	    !(args[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER) ||
	    call_runs_roar(t->tid))
		return;
	call_gap(&h->o, t, EVENT_GAP_ESCAPED,
		 "a seccomp listener of its own was refused; "
		 "--tracer ptrace leaves it alone");
}

/* Filters and landlock rules of the program's own: what they refuse is not visible. */
static void check_sandbox(struct hybrid *h, struct tracee *t,
			  const struct seccomp_data *d)
{
	enum { LANDLOCK_RESTRICT_SELF = 446 }; /* on all machines */
	struct member *m = member_of(h, t);
	uint64_t args[6];

	if (d->arch != call_abis[0].audit_arch || !m)
		return;
	memcpy(args, d->args, sizeof(args));
	if (d->nr == SYS_seccomp)
		check_listener(h, t, args);
	if (d->nr == SYS_seccomp || d->nr == LANDLOCK_RESTRICT_SELF ||
	    (d->nr == SYS_prctl && args[0] == PR_SET_SECCOMP))
		m->sandboxed = true;
}

/* Its target is noted, because the process may have ended when its next relative name
 * is read from the log. */
static bool enter_chdir(struct hybrid *h, struct tracee *t,
			const struct seccomp_data *d)
{
	struct pending *w = &t->pending;
	uint64_t args[6];
	struct stat st;
	ssize_t n;
	int r;

	memcpy(args, d->args, sizeof(args));
	members_share(h, t);
	if (!call_enter(&h->o, t, CALL_CHDIR, args))
		return false;
	if (d->arch != call_abis[0].audit_arch || call_is_doubtful(t))
		return true;
	if (d->nr == SYS_fchdir) {
		r = resolve_fd(t->tid, (int)args[0], &w->path, &st);
	} else {
		n = call_read_path(&h->o, t, args[0], h->o.path);
		r = n < 0 ? (int)n :
			    resolve_name(&h->o.resolver, &h->o.tree, t,
					 AT_FDCWD, h->o.path, (size_t)n,
					 &w->path);
		if (r == 0)
			r = resolve_follow(&h->o.resolver, t, &w->path, &st);
	}
	if (r < 0)
		str_clear(&w->path);
	return true;
}

static bool opens(enum call call)
{
	return call == CALL_OPEN || call == CALL_OPENAT || call == CALL_CREAT;
}

/* The memory after the path was read together with it. */
static void read_words(struct hybrid *h, struct tracee *t, enum call call,
		       const struct seccomp_data *d, const struct call_args *a)
{
	unsigned path = call == CALL_EXECVE ? 0 : 1;
	struct words_seen seen = {
		.start = d->args[path],
		.len = memory_first_piece(d->args[path]),
		.data = a->path,
	};

	if (a->len >= seen.len) /* the path needed more than one read */
		seen.len = a->len;
	words_read(h, t, d->args[path + 1], pointer_size(d->arch), &seen);
}

/* Hands the call to lib/trace/call.  True: its result is awaited. */
static bool enter(struct hybrid *h, struct tracee *t, enum call call,
		  const struct seccomp_notif *n)
{
	uint64_t args[6];
	struct call_args a;

	memcpy(args, n->data.args, sizeof(args));
	if (call == CALL_CREDENTIALS || call == CALL_PRCTL)
		check_sandbox(h, t, &n->data);
	if (call == CALL_CHDIR)
		return enter_chdir(h, t, &n->data);
	if (!call_names_files(call))
		return call_enter(&h->o, t, call, args) &&
		       ((call != CALL_RECVMSG && call != CALL_RECVMMSG) ||
			received_enter(h, t, &n->data));
	if (!call_looks(&h->o) || !call_decode(&h->o, t, call, args, &a) ||
	    !still_waits(h, n->id) || hybrid_is_ours(h, a.path))
		return false;
	if (call != CALL_EXECVE && call != CALL_EXECVEAT) {
		if (opens(call) && magic_replace(h, t, &a, &h->magic) < 0)
			return false;
		if (!call_enter_named(&h->o, t, call, &a))
			return false;
		pending_call_prepare(h, t, &a);
		return t->pending.call != CALL_NONE;
	}
	read_words(h, t, call, &n->data, &a);
	(void)call_enter_named(&h->o, t, call, &a);
	member_exec_begin(h, t);
	return false;
}

/* The thread is active again: settles its earlier calls. */
static void catch_up(struct hybrid *h, struct tracee *t, pid_t tid)
{
	struct member *m = member_of(h, t);

	pending_call_end(h, t);
	if (m && m->exec_open)
		member_exec_end(h, m, tid);
}

/* True: the call is answered, or will be. */
static bool on_call(struct hybrid *h, const struct seccomp_notif *n)
{
	enum call call = call_find(n->data.arch, (uint32_t)n->data.nr);
	struct tracee *t = member_thread(h, (pid_t)n->pid);

	if (!t)
		return false; /* it has ended, or out of memory */
	catch_up(h, t, (pid_t)n->pid);
	if (h->waiting.n)
		pending_calls_check(h);
	/* Voids the fingerprints of logged opens before the call and, because its
	 * return is not reported, once more a little later. */
	log_records_raise_generation(h);
	h->stale = true;
	if (call == CALL_PTRACE)
		return attach_enter(h, t, &n->data, n->id);
	seize_call(h, t, &n->data);
	h->current.entering = true;
	if (enter(h, t, call, n))
		pending_call_add(h, t);
	h->current.entering = false;
	return false;
}

/* The loader of a new program first opens our library.  That open need not be examined,
 * and the program need not wait for the handling of its exec. */
static bool is_our_library(struct hybrid *h, const struct seccomp_notif *n)
{
	pid_t pid = (pid_t)n->pid;
	const struct member *m = map_get(&h->members, &pid, sizeof(pid));

	return m && m->exec_open && n->data.nr == SYS_openat &&
	       n->data.arch == call_abis[0].audit_arch &&
	       memory_read_path(&h->o.memory, pid, n->data.args[1], h->o.path) >
		       0 &&
	       strcmp(h->o.path, h->library) == 0;
}

static void on_our_library(struct hybrid *h, pid_t pid)
{
	struct tracee *t = member_thread(h, pid);
	struct member *m = t ? member_of(h, t) : NULL;

	if (!m)
		return;
	pending_call_end(h, t);
	member_exec_seen(h, m);
	seize_is_needless(h, t);
}

bool notify_serve(struct hybrid *h)
{
	struct seccomp_notif *n = &h->guardian.page->request;

	assert(hybrid_has_filter(h) && h->guardian.page);
	memset(h->guardian.page->room, 0, sizeof(h->guardian.page->room));
	if (h->seizing.threads.count && !seize_sleep(h))
		return false;
	if (ioctl(h->listener, SECCOMP_IOCTL_NOTIF_RECV, n) < 0)
		return false;
	h->result.n_stops++;
	observer_set_time(&h->o);
	log_records_drain(h, true);
	log_opens_abandon_gone(h, false);
	if (h->stale)
		log_records_raise_generation(h);
	if (is_our_library(h, n)) {
		(void)notify_continue(h->listener, n->id);
		on_our_library(h, (pid_t)n->pid);
		return true;
	}
	if (!n->pid || !on_call(h, n))
		(void)notify_continue(h->listener, n->id);
	return true;
}
