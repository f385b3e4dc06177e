/* ptrace.c - the loop that serves stopped threads
 *
 *	start()  fork; the child waits at the gate; PTRACE_SEIZE
 *	run()    open the gate; then, for each thread that waitpid() reports:
 *
 *	  stop                     handled by           then
 *	  seccomp filter           on_call              continue, or to its exit
 *	  exit of an awaited call  on_syscall_stop      continue
 *	  fork, vfork, clone       ptracer_forked       continue
 *	  exec                     ptracer_executed     continue
 *	  group stop (Ctrl-Z)      ptracer_group_stop   wait for SIGCONT
 *	  signal                   -                    continue, with the signal
 *	  end of the thread        ptracer_gone         -
 *
 * A thread that its inner tracer stops (inner_tracer.h) waits for that tracer.
 *
 * PTRACE_O_EXITKILL: if the tracer dies, its tracees die with it.  Otherwise their
 * filtered calls would fail with ENOSYS from then on, which is worse.  For the same
 * reason no thread is ever detached: linger() serves processes that outlive the command
 * until they end.
 *
 * Where seccomp is refused every call stops twice (`stepping`): slow, but the record is
 * the same. */
#include "trace/ptrace/ptrace.h"

#include <assert.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "trace/call/seccomp_filter.h"
#include "trace/launch.h"
#include "trace/ptrace/inner_tracer.h"
#include "trace/ptrace/ptrace_internal.h"
#include "trace/tick_alarm.h"

enum {
	OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
		  PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		  PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP |
		  PTRACE_O_EXITKILL,
	SYSCALL_STOP = SIGTRAP | 0x80,
	SHORT_MS = 20, /* while a CPU is borrowed, or after the command has
		        * ended */
	CATCH_UP_NS = 50000000, /* then a thread is not waited for any longer */
};

static struct ptracer *ptracer_of(struct observer *o)
{
	return container_of(o, struct ptracer, o);
}

/* Written by the signal handler, which runs on the tracer's thread: time has passed, or
 * the front process has changed the control page. */
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
	/* Stops are found by waitpid(); a signal for each would only cost time. */
	(void)sigaction(SIGCHLD, &quiet, NULL);
	(void)sigaction(SIGUSR1, &sa, NULL);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- stops out of turn ---- */

static bool is_early(const struct ptracer *p, pid_t tid)
{
	for (unsigned i = 0; i < p->n_early; i++)
		if (p->early[i].tid == tid)
			return true;
	return false;
}

static void put_early(struct ptracer *p, pid_t tid, int status)
{
	assert(p->n_early < EARLY_MAX);
	p->early[p->n_early].tid = tid;
	p->early[p->n_early].status = status;
	p->n_early++;
}

/* The next stop, from waitpid() or taken before.  Returns as waitpid(). */
static pid_t next_stop(struct ptracer *p, int *ret_status)
{
	pid_t tid;

	/* Only children of this thread: other threads of the program have
	 * children of their own. */
	if (!p->n_early)
		return waitpid(-1, ret_status, __WALL | __WNOTHREAD);
	tid = p->early[0].tid;
	*ret_status = p->early[0].status;
	p->n_early--;
	memmove(p->early, p->early + 1, p->n_early * sizeof(p->early[0]));
	return tid;
}

/* A thread that was resumed next stops when its call has ended.  That stop is served in
 * its turn. */
static void catch_up(struct observer *o, pid_t tid)
{
	struct ptracer *p = ptracer_of(o);
	const struct tracee *t = tree_find(&o->tree, tid);
	int64_t deadline = clock_mono_ns() + CATCH_UP_NS;
	struct timespec moment = { 0, 20000 };
	int status;
	pid_t r;

	/* One slot is left for the stop that is being served. */
	if (!t || is_early(p, tid) || p->n_early + 1 >= EARLY_MAX)
		return;
	if (t->pending.call == CALL_NONE &&
	    ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return;
	while ((r = waitpid(tid, &status, __WALL | __WNOTHREAD | WNOHANG)) ==
		       0 &&
	       clock_mono_ns() < deadline)
		(void)nanosleep(&moment, NULL);
	if (r > 0)
		put_early(p, tid, status);
}

/* ---- system calls ---- */

static bool read_info(pid_t tid, struct __ptrace_syscall_info *info)
{
	return ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(*info), info) > 0;
}

/* An untraced child would have every filtered call fail.  So the flag for it is
 * removed: in the argument, or in the struct it points to. */
static void on_clone(struct ptracer *p, struct tracee *t, enum call call,
		     const uint64_t args[6])
{
	bool in_memory = call == CALL_CLONE3;
	uint64_t flags = args[0];

	if (in_memory && memory_read(&p->o.memory, t->tid, args[0], &flags,
				     sizeof(flags)) < 0)
		return;
	t->parts = flags & (CLONE_NEWUSER | CLONE_NEWNS);
	t->shares = (flags & (CLONE_VM | CLONE_THREAD | CLONE_VFORK)) ==
		    CLONE_VM;
	if (!(flags & CLONE_UNTRACED))
		return;
	flags &= ~(uint64_t)CLONE_UNTRACED;
	if (!in_memory)
		calls_set_first(t->tid, flags);
	else if (ptrace(PTRACE_POKEDATA, t->tid, args[0], flags) < 0)
		call_gap(&p->o, t, EVENT_GAP_ESCAPED,
			 "a process was made that cannot be traced");
}

/* A thread has one tracer, and all threads of the tree have us.  A nested roar uses
 * another backend. */
static void on_ptrace(struct ptracer *p, struct tracee *t, bool native,
		      const uint64_t args[6])
{
	int request = (int)args[0];
	bool attaches = request == PTRACE_ATTACH || request == PTRACE_SEIZE;

	if (native && inner_ptrace(&p->o, t, args))
		return;
	if (request != PTRACE_TRACEME &&
	    (!attaches || !tree_find(&p->o.tree, (pid_t)args[1])))
		return;
	if (!call_runs_roar(t->tid))
		call_gap(&p->o, t, EVENT_GAP_ESCAPED,
			 "a tracer of its own was refused; --tracer hybrid "
			 "lets it trace");
}

static void enter(struct ptracer *p, struct tracee *t, uint32_t arch,
		  enum call call, const uint64_t args[6])
{
	bool native = arch == call_abis[0].audit_arch;

	/* A loan of a CPU must not be seen. */
	if (call == CALL_GETAFFINITY || call == CALL_SETAFFINITY)
		hot_end(&p->hot, p->o.mono_ns);
	if (call == CALL_CLONE || call == CALL_CLONE3)
		on_clone(p, t, call, args);
	if (call == CALL_PTRACE)
		on_ptrace(p, t, native, args);
	if (call == CALL_WAIT && native)
		(void)inner_wait(&p->o, t, args);
	if (call_enter(&p->o, t, call, args))
		t->pending.entry_ns = p->o.now_ns;
}

static void on_call(struct ptracer *p, struct tracee *t)
{
	struct __ptrace_syscall_info info;
	uint64_t args[6];

	p->result.n_stops++;
	if (!read_info(t->tid, &info)) {
		if (errno == ESRCH)
			return; /* killed meanwhile */
		call_gap(&p->o, t, EVENT_GAP_ESCAPED,
			 "the kernel does not report system calls "
			 "(Linux 5.3 or later is needed)");
		return;
	}
	memcpy(args, info.seccomp.args, sizeof(args));
	if (call_find(info.arch, info.seccomp.nr) == info.seccomp.ret_data)
		enter(p, t, info.arch, (enum call)info.seccomp.ret_data, args);
	else
		/* The program's own filter asked, and has no tracer. */
		calls_answer(t->tid, -ENOSYS);
	if (hot_stop(&p->hot, t->tid, p->o.mono_ns))
		alarm_every(SHORT_MS, &p->timer_ms);
	observer_attach(&p->o, p->hot.borrowed);
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
			call_exit(&p->o, t, info.exit.rval);
		return;
	}
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	memcpy(args, info.entry.args, sizeof(args));
	enter(p, t, info.arch, call_find(info.arch, info.entry.nr), args);
}

/* ---- the loop ---- */

static bool is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN ||
	       sig == SIGTTOU;
}

/* The command gets a signal.  The front, our parent, already knows of those it passed
 * on.  One that asks the command to end, and does not come from the tree itself, is an
 * interruption. */
static void note_signal(struct ptracer *p, pid_t tid, int sig)
{
	struct tracer_control *control = p->o.job->control;
	siginfo_t info = { 0 };

	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info) < 0)
		return;
	if (info.si_code != SI_USER || info.si_pid != getppid())
		atomic_store(&control->signal_ns[sig], p->o.now_ns);
	if (sig != SIGINT && sig != SIGTERM && sig != SIGHUP && sig != SIGQUIT)
		return;
	if (info.si_code > 0 ||
	    !map_get(&p->o.tree.processes, &info.si_pid, sizeof(info.si_pid)))
		atomic_fetch_add(&control->n_interrupts, 1);
}

/* The result of another call must be reported before that of `t`: takes its stop, and
 * puts this one after it. */
static bool waits_for_other(struct ptracer *p, struct tracee *t, int status)
{
	const struct tracee *other;

	if (t->pending.waited || t->pending.call == CALL_NONE)
		return false;
	other = race_returned(&p->o, t);
	if (!other)
		return false;
	t->pending.waited = true;
	catch_up(&p->o, other->tid);
	if (!is_early(p, other->tid))
		return false;
	put_early(p, t->tid, status);
	return true;
}

void ptracer_release(struct observer *o, struct tracee *t, int sig)
{
	if (sig)
		ptracer_group_stop(ptracer_of(o), t, sig);
	else
		ptracer_resume(ptracer_of(o), t, 0);
}

static void on_stop(struct ptracer *p, pid_t tid, int status)
{
	struct tracee *t = tree_find(&p->o.tree, tid);
	int sig = WSTOPSIG(status);
	int event = status >> 16;

	if (t)
		t->let_go = 0;
	if (t && !event && sig == SYSCALL_STOP && waits_for_other(p, t, status))
		return;

	if (event == PTRACE_EVENT_EXEC) {
		t = ptracer_executed(p, tid);
		if (t)
			ptracer_resume(p, t, 0);
		else
			(void)ptrace(PTRACE_CONT, tid, 0, 0);
		return;
	}
	if (!t) {
		ptracer_first_stop(p, tid);
		return;
	}
	if (event == PTRACE_EVENT_STOP && inner_stopped(&p->o, t, sig))
		return;
	if (event == PTRACE_EVENT_STOP && is_stop_signal(sig)) {
		ptracer_group_stop(p, t, sig);
		return;
	}
	if (tid == p->stopper)
		ptracer_set_stopped(p, false, SIGCONT);
	if (event == PTRACE_EVENT_SECCOMP)
		on_call(p, t);
	else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		 event == PTRACE_EVENT_CLONE)
		ptracer_forked(p, t, event == PTRACE_EVENT_VFORK);
	else if (!event && sig == SYSCALL_STOP)
		on_syscall_stop(p, t);
	if (inner_waits(t))
		return;
	if (event || sig == SYSCALL_STOP) {
		ptracer_resume(p, t, 0);
		return;
	}
	if (t->process->pid == p->o.root)
		note_signal(p, tid, sig);
	ptracer_resume(p, t, sig);
}

static void kill_tree(struct ptracer *p)
{
	size_t pos = 0;
	struct process *process;

	while ((process = map_next(&p->o.tree.processes, &pos)))
		(void)kill(process->pid, SIGKILL);
}

static void on_alarmed(struct ptracer *p)
{
	struct tracer_control *control = p->o.job->control;
	bool hot = hot_tick(&p->hot);

	alarmed = 0;
	if (atomic_load(&control->kill_all))
		kill_tree(p);
	observer_tick(&p->o);
	alarm_every(hot || (p->root_gone && !p->o.quiet) ? SHORT_MS :
							   p->o.tick_ms,
		    &p->timer_ms);
}

/* Serves one thread.  False when no thread is left. */
static bool serve_one(struct ptracer *p)
{
	int status;
	pid_t tid = next_stop(p, &status);

	if (tid < 0 && errno != EINTR)
		return false;
	observer_set_time(&p->o);
	if (tid > 0 && WIFSTOPPED(status))
		on_stop(p, tid, status);
	else if (tid > 0)
		ptracer_gone(p, tid, status);
	if (alarmed)
		on_alarmed(p);
	return true;
}

static void follow(struct ptracer *p)
{
	int64_t deadline = 0;

	while (serve_one(p)) {
		if (p->o.tick_ms && !p->timer_ms)
			alarm_every(p->o.tick_ms, &p->timer_ms);
		if (!p->root_gone)
			continue;
		if (!tree_count(&p->o.tree))
			break;
		if (!deadline)
			deadline = p->o.mono_ns + TRACER_GRACE_NS;
		if (p->o.mono_ns >= deadline)
			break;
		if (atomic_load(&p->o.job->control->kill_all))
			kill_tree(p);
		alarm_every(SHORT_MS, &p->timer_ms);
	}
	alarm_every(0, &p->timer_ms);
	hot_end(&p->hot, p->o.mono_ns);
}

static int ptrace_run(struct tracer *base, struct tracer_result *ret,
		      struct roar_error *err)
{
	struct ptracer *p = (struct ptracer *)base;
	struct tracee *root = tree_find(&p->o.tree, p->o.root);

	(void)err;
	p->result.traced = true;
	observer_set_time(&p->o);
	catch_alarms();
	call_emit(&p->o, root, EVENT_FORK, EVENT_ROOT, 0, NULL, NULL, NULL);
	call_scan_inherited(&p->o, root);
	launch_open_gate(p->o.job->control);
	follow(p);
	p->result.n_outlived = (unsigned)p->o.tree.processes.count;
	p->result.exec_errno = atomic_load(&p->o.job->control->child_errno);
	(void)getrusage(RUSAGE_CHILDREN, &p->result.usage);
	*ret = p->result;
	return 0;
}

static void ptrace_linger(struct tracer *base)
{
	struct ptracer *p = (struct ptracer *)base;

	p->o.quiet = true;
	while (tree_count(&p->o.tree) && serve_one(p))
		;
}

static void ptrace_free(struct tracer *base)
{
	struct ptracer *p = (struct ptracer *)base;

	observer_release(&p->o);
	free(p);
}

/* Makes the child and attaches to it.  An unattached child ends at the gate. */
static int attach(struct ptracer *p, struct roar_error *err)
{
	struct filter_program filter;
	struct launch how = { .filter = &filter.prog };
	int r;

	filter_build(&filter, SECCOMP_RET_TRACE, 0, !p->o.proof.override);
	r = launch_child(p->o.job, &how, &p->o.root, NULL);
	if (r < 0)
		return error_set(err, r, "cannot make a process: %s",
				 strerror(-r));
	inherited_find(&p->o.inherited);
	if (ptrace(PTRACE_SEIZE, p->o.root, 0, OPTIONS) < 0) {
		r = -errno;
		launch_abort(p->o.job->control, p->o.root);
		return error_set(err, r, "ptrace is refused here: %s",
				 strerror(-r));
	}
	if (!tree_add(&p->o.tree, p->o.root, NULL)) {
		launch_abort(p->o.job->control, p->o.root);
		return error_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int ptrace_start(const struct tracer_job *job, struct tracer **ret,
			struct roar_error *err)
{
	struct ptracer *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return error_set(err, -ENOMEM, "out of memory");
	p->base.ops = &tracer_ptrace;
	hot_init(&p->hot);
	r = observer_init(&p->o, job);
	p->o.catch_up = catch_up;
	if (r < 0)
		(void)error_set(err, r, "out of memory");
	else
		r = attach(p, err);
	if (r < 0) {
		ptrace_free(&p->base);
		return r;
	}
	atomic_store(&job->control->sees_signals, 1);
	*ret = &p->base;
	return 0;
}

const struct tracer_ops tracer_ptrace = {
	.name = "ptrace",
	.summary = "ptrace with a seccomp filter: works everywhere, sees "
		   "everything but io_uring",
	.waits = true,
	.start = ptrace_start,
	.run = ptrace_run,
	.linger = ptrace_linger,
	.free = ptrace_free,
};
