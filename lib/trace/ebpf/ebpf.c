/* ebpf.c - the run under the eBPF tracer
 *
 *	start()  programs from a pin or loaded, and attached; fork; the child waits
 *	         at the gate and is made the first member of a session
 *	run()    open the gate; then, periodically: drain the ring, check whether the
 *	         command has stopped or ended; then detach the hooks
 *
 * The interval follows the load: short while records come, longer while there are none.
 * A ring that fills up faster wakes the tracer.  When the command has ended, its
 * descendants have a grace period; those that live on continue unobserved, since none
 * of them waits for the tracer. */
#include "trace/ebpf/ebpf.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/thread.h"
#include "trace/command.h"
#include "trace/ebpf/load.h"
#include "trace/ebpf/remote.h"
#include "trace/ebpf/session.h"
#include "trace/ebpf/translate.h"
#include "trace/launch.h"
#include "trace/sums.h"
#include "trace/tracer.h"

enum {
	SHORT_MS = 2, /* between two drains while records come */
	LONG_MS = 20, /* and while none do */
	TICK_FIRST_MS = 100,
};

struct ebpf_tracer {
	struct tracer base;
	const struct tracer_job *job;
	struct ebpf *programs;
	struct session *session;
	struct translator translator;
	struct inherited inherited;
	struct map alive; /* pids of members, to kill them on request */
	struct pool pids;
	pid_t root;
	int pidfd; /* of the command: readable when it has ended */
	bool root_gone;
	int status;
	pthread_t leaver; /* frees session and programs; owns both until it is
			   * joined */
	bool leaving; /* leaver runs and was not joined yet */
	unsigned wait_ms;
	unsigned tick_ms; /* when the job wants its next tick, 0: never */
	int64_t tick_ns; /* when the job was last called */
};

/* ---- members, by pid ---- */

static void born(void *ctx, pid_t pid)
{
	struct ebpf_tracer *t = ctx;
	pid_t *key = pool_alloc(&t->pids, sizeof(*key));

	if (!key)
		return;
	*key = pid;
	(void)map_set(&t->alive, key, sizeof(*key), key);
}

static void died(void *ctx, pid_t pid)
{
	struct ebpf_tracer *t = ctx;

	(void)map_remove(&t->alive, &pid, sizeof(pid));
}

static void kill_tree(struct ebpf_tracer *t)
{
	size_t pos = 0;
	pid_t *pid;

	while ((pid = map_next(&t->alive, &pos)))
		(void)kill(*pid, SIGKILL);
}

/* ---- the command ---- */

static void reap(struct ebpf_tracer *t)
{
	if (!t->root_gone &&
	    command_wait(t->job, t->root, WNOHANG, &t->status, NULL) != 0)
		t->root_gone = true;
}

/* ---- the loop ---- */

static void take(void *ctx, const struct wire_record *r)
{
	struct ebpf_tracer *t = ctx;

	translate(&t->translator, r);
}

static bool ahead(void *ctx,
		  bool (*look)(void *look_ctx, const struct wire_record *r),
		  void *look_ctx)
{
	struct ebpf_tracer *t = ctx;

	return session_look_ahead(t->session, look, look_ctx);
}

static void drain(struct ebpf_tracer *t)
{
	size_t n = session_drain(t->session, take, t);

	if (n) {
		t->wait_ms = SHORT_MS;
	} else if (t->wait_ms < LONG_MS) {
		t->wait_ms += SHORT_MS;
	}
	if (n && t->job->tick && t->tick_ms != TICK_FIRST_MS) {
		t->tick_ms = TICK_FIRST_MS;
		t->tick_ns = clock_now_ns();
	}
}

static void tick(struct ebpf_tracer *t)
{
	int64_t now = clock_now_ns();

	if (!t->tick_ms || now - t->tick_ns < t->tick_ms * 1000000LL)
		return;
	t->tick_ns = now;
	t->tick_ms = t->job->tick(t->job->ctx);
}

/* Sleeps until the interval has passed, the ring is half full or the command has
 * ended. */
static void wait_a_little(struct ebpf_tracer *t)
{
	struct pollfd fds[] = {
		{ .fd = session_fd(t->session), .events = POLLIN },
		{ .fd = t->root_gone ? -1 : t->pidfd, .events = POLLIN },
	};

	(void)poll(fds, 2, (int)t->wait_ms);
}

static unsigned n_alive(const struct ebpf_tracer *t)
{
	struct session_state state;

	if (session_ask(t->session, &state) < 0 || state.n_live < 0)
		return 0;
	return (unsigned)state.n_live;
}

static void follow(struct ebpf_tracer *t)
{
	int64_t deadline = 0;

	for (;;) {
		wait_a_little(t);
		reap(t);
		drain(t);
		tick(t);
		if (atomic_load(&t->job->control->kill_all))
			kill_tree(t);
		if (!t->root_gone)
			continue;
		if (!n_alive(t))
			break;
		if (!deadline)
			deadline = clock_now_ns() + TRACER_GRACE_NS;
		if (clock_now_ns() >= deadline)
			break;
		t->wait_ms = SHORT_MS;
	}
	drain(t);
}

/* ---- the end ---- */

static void tell_losses(struct ebpf_tracer *t, struct tracer_result *ret)
{
	struct session_state state;
	char text[32];

	if (session_ask(t->session, &state) < 0) {
		translate_gap(&t->translator, t->root, EVENT_GAP_LOST,
			      "roard ended before the run");
		return;
	}
	ret->n_lost = state.lost;
	ret->n_escaped = state.escaped;
	ret->n_rings = state.n_rings;
	if (t->job->sums)
		t->job->sums->n_lost += state.sums_lost;
	if (state.hidden)
		translate_gap(&t->translator, t->root, EVENT_GAP_ESCAPED,
			      "a program that acted with another user's rights");
	if (state.lost) {
		(void)snprintf(text, sizeof(text), "%llu",
			       (unsigned long long)state.lost);
		translate_gap(&t->translator, t->root, EVENT_GAP_LOST, text);
	}
	if (state.escaped)
		translate_gap(&t->translator, t->root, EVENT_GAP_ESCAPED, NULL);
}

/* The kernel side is not used any more. */
static void *leave(void *ctx)
{
	struct ebpf_tracer *t = ctx;

	session_close(TAKE_PTR(t->session));
	ebpf_close(TAKE_PTR(t->programs));
	return NULL;
}

/* Detaching takes the kernel a while, and the whole machine pays until it is done.  So
 * a thread does it, at once, while the run is recorded. */
static void start_leaving(struct ebpf_tracer *t)
{
	t->leaving = thread_start(&t->leaver, NULL, leave, t) == 0;
	if (!t->leaving)
		leave(t);
}

static int ebpf_run(struct tracer *base, struct tracer_result *ret,
		    struct roar_error *err)
{
	struct ebpf_tracer *t = (struct ebpf_tracer *)base;

	(void)err;
	*ret = (struct tracer_result){ .traced = true };
	born(t, t->root);
	translate_start(&t->translator, t->root, &t->inherited);
	launch_open_gate(t->job->control);
	follow(t);
	tell_losses(t, ret);
	ret->status = t->status;
	ret->n_outlived = n_alive(t);
	ret->exec_errno = atomic_load(&t->job->control->child_errno);
	(void)getrusage(RUSAGE_CHILDREN, &ret->usage);
	start_leaving(t);
	return 0;
}

static void ebpf_free(struct tracer *base)
{
	struct ebpf_tracer *t = (struct ebpf_tracer *)base;

	if (t->leaving)
		(void)pthread_join(t->leaver, NULL);
	else
		leave(t);
	translator_release(&t->translator);
	inherited_release(&t->inherited);
	map_release(&t->alive);
	pool_release(&t->pids);
	closep(&t->pidfd);
	free(t);
}

/* ---- the start ---- */

static int launch(struct ebpf_tracer *t, struct roar_error *err)
{
	int r = launch_child(t->job, &(struct launch){ 0 }, &t->root, NULL);

	if (r < 0)
		return error_set(err, r, "cannot make a process: %s",
				 strerror(-r));
	inherited_find(&t->inherited);
	t->pidfd = (int)syscall(SYS_pidfd_open, t->root, 0);
	r = t->pidfd < 0 ? -errno : session_add(t->session, t->root);
	if (r < 0) {
		launch_abort(t->job->control, t->root);
		return error_set(err, r, "cannot follow a process: %s",
				 strerror(-r));
	}
	return 0;
}

static int open_session(struct ebpf_tracer *t, enum ebpf_how how,
			struct roar_error *err)
{
	int r;

	session_close(TAKE_PTR(t->session));
	ebpf_close(TAKE_PTR(t->programs));
	r = ebpf_open(how, &t->programs, err);
	if (r < 0)
		return r;
	r = session_open(ebpf_maps(t->programs), &t->session);
	if (r < 0)
		return error_set(err, r, "cannot use an eBPF ring: %s",
				 strerror(-r));
	r = ebpf_watch(t->programs);
	if (r < 0)
		return error_set(err, r, "cannot hook into system calls: %s",
				 strerror(-r));
	return 0;
}

static int open_remote(struct ebpf_tracer *t, struct roar_error *err)
{
	struct remote *remote = NULL;
	int r = remote_open(&remote, err);

	if (r < 0)
		return r;
	r = session_open_remote(remote, &t->session);
	return r < 0 ? error_set(err, r, "out of memory") : 0;
}

/* Pinned programs, those of the daemon, or our own.  For a user who may not load any,
 * the error of the daemon is the one to report. */
static int open_any(struct ebpf_tracer *t, struct roar_error *err)
{
	bool answers;
	int r = open_session(t, EBPF_PINNED, err);

	if (r == -EBUSY || r == -EPERM) /* they exist, but are not available to
					 * us */
		return open_session(t, EBPF_OWN, err);
	if (r != -ENOENT)
		return r;
	answers = remote_answers();
	r = answers ? open_remote(t, err) : -ENOENT;
	if (r < 0 && !(answers && geteuid() != 0))
		r = open_session(t, EBPF_OWN, err);
	if (r == -EPERM && !answers)
		return error_set(err, r,
				 "eBPF needs root, or roard: 'roar tracer "
				 "enable ebpf' sets it up");
	return r;
}

static int prepare(struct ebpf_tracer *t, struct roar_error *err)
{
	int r = translator_init(&t->translator, t->job);

	if (r < 0)
		return error_set(err, r, "out of memory");
	t->translator.born = born;
	t->translator.died = died;
	t->translator.ahead = ahead;
	t->translator.ctx = t;
	r = open_any(t, err);
	if (r < 0)
		return r;
	return launch(t, err);
}

static int ebpf_start(const struct tracer_job *job, struct tracer **ret,
		      struct roar_error *err)
{
	struct ebpf_tracer *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return error_set(err, -ENOMEM, "out of memory");
	t->base.ops = &tracer_ebpf;
	t->job = job;
	t->pidfd = -1;
	t->wait_ms = SHORT_MS;
	r = prepare(t, err);
	if (r < 0) {
		ebpf_free(&t->base);
		return r;
	}
	*ret = &t->base;
	return 0;
}

const struct tracer_ops tracer_ebpf = {
	.name = "ebpf",
	.summary = "programs in the kernel: sees everything, stops no process, needs "
		   "root",
	.streams = true,
	.start = ebpf_start,
	.run = ebpf_run,
	.free = ebpf_free,
};
