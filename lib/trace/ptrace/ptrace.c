/* ptrace.c - the loop that serves stopped threads
 *
 *	start()  fork; the child waits at the gate; PTRACE_SEIZE
 *	run()    open the gate; then, for each thread that waitpid() reports:
 *
 *	  stop                     handled by      then
 *	  seccomp filter           on_call         on, or on to the call's exit
 *	  exit of an awaited call  on_call_exit    on
 *	  fork, vfork, clone       on_fork         on
 *	  exec                     on_exec         on
 *	  group stop (Ctrl-Z)      on_group_stop   wait for SIGCONT
 *	  signal                   -               on, with the signal
 *	  gone                     on_gone         -
 *
 * PTRACE_O_EXITKILL: should the tracer die, its tracees die with it.  Without
 * that their filtered calls would fail with ENOSYS from then on, which is worse
 * than an end.  For the same reason nobody is ever detached: processes that
 * outlive the command are served by linger() until they end.
 *
 * Where seccomp is refused every call stops twice (`stepping`): slow, but the
 * record is the same. */
#include "trace/ptrace/ptrace.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "trace/launch.h"
#include "trace/ptrace/call.h"
#include "trace/ptrace/filter.h"

enum {
	OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
		  PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		  PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP |
		  PTRACE_O_EXITKILL,
	SYSCALL_STOP = SIGTRAP | 0x80,
	SHORT_MS = 20, /* while a CPU is borrowed, or stragglers are awaited */
	GRACE_NS = 250000000, /* for stragglers when the command has ended */
};

/* Set by the handler: some time has passed, or the front process wants us to
 * look at the control page. */
static volatile sig_atomic_t alarmed;

static void on_alarm(int sig)
{
	(void)sig;
	alarmed = 1;
}

static void catch_alarms(void)
{
	/* No SA_RESTART: waitpid() must return. */
	struct sigaction sa = { .sa_handler = on_alarm };
	struct sigaction quiet = { .sa_handler = SIG_DFL,
				   .sa_flags = SA_NOCLDSTOP };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigaddset(&set, SIGUSR1);
	(void)sigaction(SIGALRM, &sa, NULL);
	/* Stops are waited for; a signal each would only cost. */
	(void)sigaction(SIGCHLD, &quiet, NULL);
	(void)sigaction(SIGUSR1, &sa, NULL);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void set_timer(struct ptracer *p, unsigned ms)
{
	struct timeval interval = { ms / 1000, ms % 1000 * 1000 };
	struct itimerval every = { interval, interval };

	if (p->timer_ms == ms)
		return;
	(void)setitimer(ITIMER_REAL, &every, NULL);
	p->timer_ms = ms;
}

/* ---- letting a tracee go on ---- */

/* Failure means that it was killed meanwhile; waitpid() will say so. */
static void resume(struct ptracer *p, struct tracee *t, int sig)
{
	bool to_exit = p->stepping || t->pending.call != CALL_NONE;

	(void)ptrace(to_exit ? PTRACE_SYSCALL : PTRACE_CONT, t->tid, 0,
		     (void *)(uintptr_t)sig);
}

/* ---- system calls ---- */

static bool read_info(pid_t tid, struct __ptrace_syscall_info *info)
{
	return ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(*info), info) > 0;
}

static void enter(struct ptracer *p, struct tracee *t, enum call call,
		  const uint64_t args[6])
{
	(void)call_enter(p, t, call, args);
}

static void on_call(struct ptracer *p, struct tracee *t)
{
	struct __ptrace_syscall_info info;
	uint64_t args[6];

	p->result.n_stops++;
	if (!read_info(t->tid, &info)) {
		if (errno == ESRCH)
			return; /* killed meanwhile */
		call_gap(p, t, EVENT_GAP_ESCAPED,
			 "the kernel tells nothing about system calls "
			 "(Linux 5.3 or later is needed)");
		return;
	}
	memcpy(args, info.seccomp.args, sizeof(args));
	if (call_find(info.arch, info.seccomp.nr) == info.seccomp.ret_data)
		enter(p, t, (enum call)info.seccomp.ret_data, args);
	else
		calls_refuse(t->tid); /* the program's own filter asked */
	if (hot_stop(&p->hot, t->tid, p->now_ns))
		set_timer(p, SHORT_MS);
	memory_attach(&p->memory, p->hot.borrowed);
}

/* The exit of an awaited call; without a filter, also every entry. */
static void on_syscall_stop(struct ptracer *p, struct tracee *t)
{
	struct __ptrace_syscall_info info;
	uint64_t args[6];

	if (!read_info(t->tid, &info))
		return;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
		if (t->pending.call != CALL_NONE)
			call_exit(p, t, info.exit.rval);
		return;
	}
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	memcpy(args, info.entry.args, sizeof(args));
	enter(p, t, call_find(info.arch, info.entry.nr), args);
}

enum call call_find(uint32_t audit_arch, uint64_t nr)
{
	for (size_t i = 0; i < n_call_abis; i++) {
		const struct call_abi *abi = &call_abis[i];

		if (abi->audit_arch != audit_arch)
			continue;
		if (abi->foreign_from && nr >= abi->foreign_from)
			return CALL_FOREIGN;
		for (size_t j = 0; j < abi->n_specs; j++)
			if (abi->specs[j].nr == nr)
				return abi->specs[j].call;
	}
	return CALL_NONE;
}

/* ---- the process tree ---- */

static bool is_thread_of(const struct process *process, pid_t tid)
{
	return syscall(SYS_tgkill, process->pid, tid, 0) == 0;
}

static void inherit(struct process *child, const struct process *parent)
{
	child->foreign_root = parent->foreign_root;
	child->foreign_mounts = parent->foreign_mounts;
	child->restricted = parent->restricted;
}

/* The child may have reported its first stop already; then it is waiting. */
static void on_fork(struct ptracer *p, struct tracee *parent, bool vfork)
{
	unsigned long tid = 0;
	struct tracee *child;
	bool thread;

	if (ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid) < 0 || !tid)
		return;
	hot_forked(&p->hot, parent->tid, (pid_t)tid);
	thread = is_thread_of(parent->process, (pid_t)tid);
	child = tree_find(&p->tree, (pid_t)tid);
	if (!child)
		child = tree_add(&p->tree, (pid_t)tid,
				 thread ? parent->process : NULL);
	else if (thread)
		(void)tree_move(&p->tree, child, parent->process);
	if (!child) {
		call_gap(p, parent, EVENT_GAP_MEMORY, NULL);
		return;
	}
	if (!thread) {
		inherit(child->process, parent->process);
		if (vfork)
			child->process->vforked_by = parent->process->pid;
		call_emit(p, child, EVENT_FORK, 0, parent->process->pid, NULL,
			  NULL, NULL);
	}
	if (child->held) {
		child->held = false;
		resume(p, child, 0);
	}
}

/* A first stop that came before the parent's word.  It waits for that word; if
 * the parent is killed first, release_held() lets it go. */
static void on_stranger(struct ptracer *p, pid_t tid)
{
	struct tracee *t = tree_add(&p->tree, tid, NULL);

	if (t)
		t->held = true;
	else
		(void)ptrace(PTRACE_CONT, tid, 0, 0);
}

static void release_held(struct ptracer *p)
{
	size_t pos = 0;
	struct tracee *t;

	while ((t = map_next(&p->tree.tracees, &pos))) {
		if (!t->held)
			continue;
		t->held = false;
		resume(p, t, 0);
	}
}

/* The thread that called execve() has become the leader of its process. */
static struct tracee *on_exec(struct ptracer *p, pid_t tid)
{
	unsigned long former = 0;
	struct tracee *t;

	(void)ptrace(PTRACE_GETEVENTMSG, tid, 0, &former);
	t = tree_find(&p->tree, (pid_t)former);
	hot_renamed(&p->hot, (pid_t)former, tid);
	if (t)
		tree_rename(&p->tree, t, tid);
	else
		t = tree_find(&p->tree, tid);
	if (!t)
		return NULL;
	call_forget(p, t);
	memory_attach(&p->memory, 0); /* it is another memory now */
	if (atomic_load(&p->job->control->seccomp_errno))
		p->stepping = true;
	t->process->full = false;
	t->process->vforked_by = 0;
	call_exec_done(p, t);
	return t;
}

static void set_stopped(struct ptracer *p, bool stopped, int sig)
{
	if (p->root_stopped == stopped)
		return;
	p->root_stopped = stopped;
	atomic_store(&p->job->control->stopped, stopped);
	if (p->job->stopped && !p->quiet)
		p->job->stopped(p->job->ctx, sig);
}

static void on_group_stop(struct ptracer *p, struct tracee *t, int sig)
{
	(void)ptrace(PTRACE_LISTEN, t->tid, 0, 0);
	/* A child of vfork() that stops before it executes stops its parent. */
	if (t->tid != p->root && t->process->vforked_by != p->root)
		return;
	p->stopper = t->tid;
	set_stopped(p, true, sig);
}

static void on_gone(struct ptracer *p, pid_t tid, int status)
{
	struct tracee *t = tree_find(&p->tree, tid);

	hot_gone(&p->hot, tid);
	if (tid == p->stopper)
		set_stopped(p, false, SIGCONT);
	if (p->memory.tid == tid)
		memory_attach(&p->memory, 0);
	if (tid == p->root) {
		p->root_gone = true;
		p->result.status = status;
		/* Its pid may soon be somebody else's. */
		atomic_store(&p->job->control->command, -1);
	}
	if (!t)
		return;
	call_forget(p, t);
	if (t->process->pid == tid)
		call_emit(p, t, EVENT_EXIT, 0, status, NULL, NULL, NULL);
	(void)tree_remove(&p->tree, t);
	release_held(p);
}

/* ---- the loop ---- */

static bool is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN ||
	       sig == SIGTTOU;
}

/* The command gets a signal.  One that asks it to end, and does not come from the
 * tree itself, is an interruption. */
static void note_signal(struct ptracer *p, pid_t tid, int sig)
{
	struct tracer_control *control = p->job->control;
	siginfo_t info = { 0 };

	atomic_store(&control->signal_ns[sig], p->now_ns);
	if (sig != SIGINT && sig != SIGTERM && sig != SIGHUP && sig != SIGQUIT)
		return;
	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info) < 0)
		return;
	if (info.si_code > 0 ||
	    !map_get(&p->tree.processes, &info.si_pid, sizeof(info.si_pid)))
		atomic_fetch_add(&control->n_interrupts, 1);
}

static void on_stop(struct ptracer *p, pid_t tid, int status)
{
	struct tracee *t = tree_find(&p->tree, tid);
	int sig = WSTOPSIG(status);
	int event = status >> 16;

	if (event == PTRACE_EVENT_EXEC) {
		t = on_exec(p, tid);
		if (t)
			resume(p, t, 0);
		return;
	}
	if (!t) {
		on_stranger(p, tid);
		return;
	}
	if (event == PTRACE_EVENT_STOP && is_stop_signal(sig)) {
		on_group_stop(p, t, sig);
		return;
	}
	if (tid == p->stopper)
		set_stopped(p, false, SIGCONT);
	if (event == PTRACE_EVENT_SECCOMP)
		on_call(p, t);
	else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		 event == PTRACE_EVENT_CLONE)
		on_fork(p, t, event == PTRACE_EVENT_VFORK);
	else if (!event && sig == SYSCALL_STOP)
		on_syscall_stop(p, t);
	if (event || sig == SYSCALL_STOP) {
		resume(p, t, 0);
		return;
	}
	if (t->process->pid == p->root)
		note_signal(p, tid, sig);
	resume(p, t, sig);
}

static void kill_tree(struct ptracer *p)
{
	size_t pos = 0;
	struct process *process;

	while ((process = map_next(&p->tree.processes, &pos)))
		(void)kill(process->pid, SIGKILL);
}

static void on_alarmed(struct ptracer *p)
{
	struct tracer_control *control = p->job->control;
	bool hot = hot_tick(&p->hot);

	alarmed = 0;
	if (atomic_load(&control->kill_all))
		kill_tree(p);
	if (p->tick_ms && !p->quiet &&
	    p->now_ns - p->tick_ns >= p->tick_ms * 1000000LL) {
		p->tick_ns = p->now_ns;
		p->tick_ms = p->job->tick(p->job->ctx);
	}
	set_timer(p,
		  hot || (p->root_gone && !p->quiet) ? SHORT_MS : p->tick_ms);
}

/* Serves one thread.  False when there is none left. */
static bool serve_one(struct ptracer *p)
{
	int status;
	/* Only children of this thread: other threads of the program have
	 * children of their own. */
	pid_t tid = waitpid(-1, &status, __WALL | __WNOTHREAD);

	if (tid < 0 && errno != EINTR)
		return false;
	p->now_ns = clock_now_ns();
	if (tid > 0 && WIFSTOPPED(status))
		on_stop(p, tid, status);
	else if (tid > 0)
		on_gone(p, tid, status);
	if (alarmed)
		on_alarmed(p);
	return true;
}

static void follow(struct ptracer *p)
{
	int64_t deadline = 0;

	while (serve_one(p)) {
		if (p->tick_ms && !p->timer_ms)
			set_timer(p, p->tick_ms);
		if (!p->root_gone)
			continue;
		if (!tree_count(&p->tree))
			break;
		if (!deadline)
			deadline = p->now_ns + GRACE_NS;
		if (p->now_ns >= deadline)
			break;
		if (atomic_load(&p->job->control->kill_all))
			kill_tree(p);
		set_timer(p, SHORT_MS);
	}
	set_timer(p, 0);
	hot_end(&p->hot, p->now_ns);
}

static int ptrace_run(struct tracer *base, struct tracer_result *ret,
		      struct roar_error *err)
{
	struct ptracer *p = (struct ptracer *)base;
	struct tracee *root = tree_find(&p->tree, p->root);

	(void)err;
	p->result.traced = true;
	p->now_ns = clock_now_ns();
	catch_alarms();
	call_emit(p, root, EVENT_FORK, EVENT_ROOT, 0, NULL, NULL, NULL);
	call_scan_files(p, root, true);
	atomic_store(&p->job->control->sees_signals, 1);
	launch_open_gate(p->job->control);
	follow(p);
	p->result.n_outlived = (unsigned)p->tree.processes.count;
	p->result.exec_errno = atomic_load(&p->job->control->child_errno);
	(void)getrusage(RUSAGE_CHILDREN, &p->result.usage);
	*ret = p->result;
	return 0;
}

static void ptrace_linger(struct tracer *base)
{
	struct ptracer *p = (struct ptracer *)base;

	p->quiet = true;
	while (tree_count(&p->tree) && serve_one(p))
		;
}

static void ptrace_free(struct tracer *base)
{
	struct ptracer *p = (struct ptracer *)base;

	memory_attach(&p->memory, 0);
	tree_release(&p->tree);
	resolver_release(&p->resolver);
	str_release(&p->name);
	str_release(&p->name2);
	str_release(&p->writable);
	free(p->event);
	free(p);
}

/* Being root is not enough: capabilities can be taken from it. */
static bool overrides_permissions(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	return (data[0].effective & (1U << CAP_DAC_OVERRIDE)) &&
	       (data[0].effective & (1U << CAP_FOWNER));
}

/* Makes the child and attaches to it.  An unattached child ends at the gate. */
static int attach(struct ptracer *p, struct roar_error *err)
{
	struct filter_program filter;
	int r;

	filter_build(&filter);
	r = launch_child(p->job, &filter.prog, &p->root);
	if (r < 0)
		return error_set(err, r, "cannot make a process: %s",
				 strerror(-r));
	if (ptrace(PTRACE_SEIZE, p->root, 0, OPTIONS) < 0) {
		r = -errno;
		launch_abort(p->job->control, p->root);
		return error_set(err, r, "ptrace is refused here: %s",
				 strerror(-r));
	}
	return tree_add(&p->tree, p->root, NULL) ? 0 : -ENOMEM;
}

static int ptrace_start(const struct tracer_job *job, struct tracer **ret,
			struct roar_error *err)
{
	struct ptracer *p = calloc(1, sizeof(*p));
	int r;

	if (p)
		p->event = calloc(1, EVENT_SIZE_MAX);
	if (!p || !p->event) {
		free(p);
		return error_set(err, -ENOMEM, "out of memory");
	}
	p->base.ops = &tracer_ptrace;
	p->job = job;
	p->overrides = overrides_permissions();
	hot_init(&p->hot);
	r = attach(p, err);
	if (r < 0) {
		ptrace_free(&p->base);
		return r;
	}
	*ret = &p->base;
	return 0;
}

const struct tracer_ops tracer_ptrace = {
	.name = "ptrace",
	.summary = "ptrace with a seccomp filter: works everywhere, sees "
		   "everything but io_uring",
	.start = ptrace_start,
	.run = ptrace_run,
	.linger = ptrace_linger,
	.free = ptrace_free,
};
