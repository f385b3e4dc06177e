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
 * A thread that its inner tracer stops (inner_tracer.h) waits for that tracer.
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
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/proc.h"
#include "trace/call/call.h"
#include "trace/call/outcome.h"
#include "trace/call/seccomp_filter.h"
#include "trace/launch.h"
#include "trace/ptrace/hot.h"
#include "trace/ptrace/inner_tracer.h"
#include "trace/tick_alarm.h"

enum {
	OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
		  PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		  PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP |
		  PTRACE_O_EXITKILL,
	SYSCALL_STOP = SIGTRAP | 0x80,
	SHORT_MS = 20, /* while a CPU is borrowed, or stragglers are awaited */
	EARLY_MAX = 16,
	CATCH_UP_NS = 50000000, /* a thread that needs longer is not waited for */
};

enum { N_UNTOLD = 64 };

struct ptracer {
	struct tracer base;
	struct observer o;
	struct tracer_result result;
	struct hot hot;
	bool root_gone;
	struct untold { /* ended before their parents told of them */
		pid_t tid;
		int status;
		bool thread; /* not a process of its own */
	} untold[N_UNTOLD];
	unsigned n_untold;
	unsigned n_held; /* strangers that wait for their parents' word */
	bool forgetful; /* memory ran out: some of them will wait in vain */
	bool stepping; /* no seccomp filter: every call stops */
	bool root_stopped; /* by a group stop */
	pid_t stopper; /* the thread whose stop that was */
	unsigned timer_ms; /* interval of the timer, 0: it is off */
	struct {
		pid_t tid;
		int status;
	} early[EARLY_MAX]; /* stops taken before their turn, oldest first */
	unsigned n_early;
};

static struct ptracer *ptracer_of(struct observer *o)
{
	return container_of(o, struct ptracer, o);
}

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

/* ---- letting a tracee go on ---- */

/* Failure means that it was killed meanwhile; waitpid() will say so. */
static void resume(struct ptracer *p, struct tracee *t, int sig)
{
	bool to_exit = p->stepping || t->pending.call != CALL_NONE;

	/* The stop that was served has used up the one that was asked for. */
	if (t->inner.state == INNER_ASKED)
		(void)ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	(void)ptrace(to_exit ? PTRACE_SYSCALL : PTRACE_CONT, t->tid, 0,
		     (void *)(uintptr_t)sig);
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
	p->early[p->n_early].tid = tid;
	p->early[p->n_early].status = status;
	p->n_early++;
}

/* The next stop, waited for or taken before.  As waitpid(). */
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

/* A thread that was let go can next be stopped when its call has ended.  The stop
 * itself is served in its turn. */
static void catch_up(struct observer *o, pid_t tid)
{
	struct ptracer *p = ptracer_of(o);
	const struct tracee *t = tree_find(&o->tree, tid);
	int64_t deadline = clock_mono_ns() + CATCH_UP_NS;
	struct timespec moment = { 0, 20000 };
	int status;
	pid_t r;

	/* One place is left for the stop that is being served. */
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

/* A child that nobody traces would have every filtered call fail.  The flag for
 * it is taken out: of the argument, or of the struct it points to. */
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

/* A thread has one tracer, and all of them have us.  Another roar has other ways. */
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
			 "the kernel tells nothing about system calls "
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

/* ---- the process tree ---- */

static bool is_thread_of(const struct process *process, pid_t tid)
{
	return syscall(SYS_tgkill, process->pid, tid, 0) == 0;
}

/* A child that was released early may have made changes of its own. */
static void inherit(struct process *child, const struct process *parent)
{
	child->foreign_root |= parent->foreign_root;
	child->foreign_mounts |= parent->foreign_mounts;
	child->restricted |= parent->restricted;
}

/* Gone, or a zombie that only its parent waits for. */
static bool has_ended(pid_t tid)
{
	char text[16];

	return proc_read(tid, "cmdline", text, sizeof(text)) < 0;
}

/* A child that has ended before its parent told of it.  One that lives has the pid
 * of another, whose parent was killed before it could tell. */
static struct untold *find_untold(struct ptracer *p, pid_t tid)
{
	for (size_t i = 0; i < N_UNTOLD; i++)
		if (p->untold[i].tid == tid)
			return has_ended(tid) ? &p->untold[i] : NULL;
	return NULL;
}

static struct tracee *any_thread(struct ptracer *p,
				 const struct process *process)
{
	size_t pos = 0;
	struct tracee *t;

	while ((t = map_next(&p->o.tree.tracees, &pos)))
		if (t->process == process)
			break;
	return t;
}

/* Of a process that is gone. */
static void forget_threads(struct ptracer *p, const struct process *process)
{
	struct tracee *t;

	while (process && (t = any_thread(p, process))) {
		outcome_tell(&p->o, t);
		process = tree_remove(&p->o.tree, t);
	}
}

/* The first thread is the last to be told of.  Others are left only if one was
 * killed right after execve() had given it that place. */
static void end_of(struct ptracer *p, struct tracee *t, int status)
{
	bool leads = t->process->pid == t->tid;
	const struct process *process;

	if (leads)
		call_emit(&p->o, t, EVENT_EXIT, 0, status, NULL, NULL, NULL);
	process = tree_remove(&p->o.tree, t);
	if (leads)
		forget_threads(p, process);
}

/* The number behind a key of /proc/PID/status. */
static pid_t status_number(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? atoi(at + strlen(key)) : 0;
}

/* It goes on before its parent's word has come.  What it has from its parent, a root
 * of its own above all, is needed at its first call. */
static void adopt(struct ptracer *p, struct tracee *t)
{
	char status[512];
	struct process *process;
	pid_t leader, origin;

	if (proc_read(t->tid, "status", status, sizeof(status)) < 0)
		return;
	leader = status_number(status, "\nTgid:");
	origin = leader == t->tid ? status_number(status, "\nPPid:") : leader;
	process = map_get(&p->o.tree.processes, &origin, sizeof(origin));
	if (!process)
		return;
	inherit(t->process, process);
	if (leader != t->tid)
		(void)tree_move(&p->o.tree, t, process);
	else
		call_check_namespaces(&p->o, t);
}

static void release(struct ptracer *p, struct tracee *t)
{
	if (!t->held)
		return;
	t->held = false;
	p->n_held--;
	resume(p, t, 0);
}

/* The child may have reported its first stop already; then it is waiting. */
static void on_fork(struct ptracer *p, struct tracee *parent, bool vfork)
{
	unsigned long tid = 0;
	struct tracee *child;
	struct untold *untold;
	bool thread, runs;

	if (ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid) < 0 || !tid)
		return;
	hot_forked(&p->hot, parent->tid, (pid_t)tid);
	thread = is_thread_of(parent->process, (pid_t)tid);
	child = tree_find(&p->o.tree, (pid_t)tid);
	runs = child && !child->held;
	untold = child ? NULL : find_untold(p, (pid_t)tid);
	if (untold && untold->thread) {
		untold->tid = 0;
		return;
	}
	if (!child)
		child = tree_add(&p->o.tree, (pid_t)tid,
				 thread ? parent->process : NULL);
	else if (thread)
		(void)tree_move(&p->o.tree, child, parent->process);
	if (!child) {
		p->forgetful = true;
		call_gap(&p->o, parent, EVENT_GAP_MEMORY, NULL);
		return;
	}
	if (!thread) {
		inherit(child->process, parent->process);
		if (parent->parts)
			call_check_namespaces(&p->o, child);
		parent->parts = false;
		if (parent->shares && !vfork)
			child->process->memory_of = parent->process->pid;
		parent->shares = false;
		if (vfork && !runs)
			child->process->vforked_by = parent->process->pid;
		call_emit(&p->o, child, EVENT_FORK, 0, parent->process->pid,
			  NULL, NULL, NULL);
	}
	child->unannounced = false;
	release(p, child);
	if (untold) {
		untold->tid = 0;
		end_of(p, child, untold->status);
	}
}

/* A first stop that came before the parent's word.  It waits for that word; if
 * the parent is killed first, release_held() lets it go. */
static void on_stranger(struct ptracer *p, pid_t tid)
{
	struct tracee *t = tree_add(&p->o.tree, tid, NULL);

	if (!t) {
		p->forgetful = true;
		(void)ptrace(PTRACE_CONT, tid, 0, 0);
		return;
	}
	t->held = t->unannounced = true;
	p->n_held++;
	if (p->forgetful)
		release(p, t);
}

static void release_held(struct ptracer *p)
{
	size_t pos = 0;
	struct tracee *t;

	while (p->n_held && (t = map_next(&p->o.tree.tracees, &pos))) {
		if (t->held)
			adopt(p, t);
		release(p, t);
	}
}

/* The thread that called execve() has become the leader of its process. */
static struct tracee *on_exec(struct ptracer *p, pid_t tid)
{
	struct tracee *leader = tree_find(&p->o.tree, tid);
	unsigned long former = 0;
	struct tracee *t;

	(void)ptrace(PTRACE_GETEVENTMSG, tid, 0, &former);
	t = tree_find(&p->o.tree, (pid_t)former);
	hot_renamed(&p->hot, (pid_t)former, tid);
	if (t && leader && t != leader)
		outcome_tell(&p->o, leader);
	if (t)
		tree_rename(&p->o.tree, t, tid);
	else
		t = leader;
	if (!t)
		return NULL;
	call_forget(&p->o, t);
	observer_attach(&p->o, 0); /* it is another memory now */
	if (atomic_load(&p->o.job->control->seccomp_errno))
		p->stepping = true;
	t->process->full = false;
	t->process->vforked_by = 0;
	call_exec_done(&p->o, t, NULL, NULL);
	return t;
}

static void set_stopped(struct ptracer *p, bool stopped, int sig)
{
	if (p->root_stopped == stopped)
		return;
	p->root_stopped = stopped;
	atomic_store(&p->o.job->control->stopped, stopped);
	if (p->o.job->stopped && !p->o.quiet)
		p->o.job->stopped(p->o.job->ctx, sig);
}

static void on_group_stop(struct ptracer *p, struct tracee *t, int sig)
{
	(void)ptrace(PTRACE_LISTEN, t->tid, 0, 0);
	/* Any thread tells: the first one may have ended.  A child of vfork()
	 * that stops before it executes stops its parent. */
	if (t->process->pid != p->o.root && t->process->vforked_by != p->o.root)
		return;
	p->stopper = t->tid;
	set_stopped(p, true, sig);
}

void ptracer_release(struct observer *o, struct tracee *t, int sig)
{
	if (sig)
		on_group_stop(ptracer_of(o), t, sig);
	else
		resume(ptracer_of(o), t, 0);
}

static void on_gone(struct ptracer *p, pid_t tid, int status)
{
	struct tracee *t = tree_find(&p->o.tree, tid);

	hot_gone(&p->hot, tid);
	if (tid == p->stopper)
		set_stopped(p, false, SIGCONT);
	if (p->o.resolver.here.tid == tid)
		observer_attach(&p->o, 0);
	if (tid == p->o.root) {
		p->root_gone = true;
		p->result.status = status;
		/* Its pid may soon be somebody else's. */
		atomic_store(&p->o.job->control->command, -1);
	}
	if (!t)
		return;
	outcome_tell(&p->o, t);
	inner_gone(&p->o, t, status);
	if (t->held)
		p->n_held--;
	if (t->unannounced) {
		p->untold[p->n_untold++ % N_UNTOLD] = (struct untold){
			.tid = tid,
			.status = status,
			.thread = t->process->pid != tid,
		};
		(void)tree_remove(&p->o.tree, t);
	} else {
		end_of(p, t, status);
	}
	release_held(p);
}

/* ---- the loop ---- */

static bool is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN ||
	       sig == SIGTTOU;
}

/* The command gets a signal.  What our parent, the front, has passed on is no news to
 * it.  One that asks the command to end, and does not come from the tree itself, is
 * an interruption. */
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

/* The result of another call must be told before that of `t`: takes its stop, and
 * puts this one behind it. */
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
		t = on_exec(p, tid);
		if (t)
			resume(p, t, 0);
		else
			(void)ptrace(PTRACE_CONT, tid, 0, 0);
		return;
	}
	if (!t) {
		on_stranger(p, tid);
		return;
	}
	if (event == PTRACE_EVENT_STOP && inner_stopped(&p->o, t, sig))
		return;
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
	if (inner_waits(t))
		return;
	if (event || sig == SYSCALL_STOP) {
		resume(p, t, 0);
		return;
	}
	if (t->process->pid == p->o.root)
		note_signal(p, tid, sig);
	resume(p, t, sig);
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

/* Serves one thread.  False when there is none left. */
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
		on_gone(p, tid, status);
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
