/* ptrace_tree.c - the process tree: fork, exec, group stops, exits
 *
 * A fork is two stops in any order: the parent's event, which names the child, and the
 * first stop of the child itself.  A child that stops first is held until the event of
 * its parent, because what it inherits (a root of its own above all) is needed at its
 * first call.  A child that has ended before that event is kept in `untold`. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc.h"
#include "trace/call/outcome.h"
#include "trace/ptrace/inner_tracer.h"
#include "trace/ptrace/ptrace_internal.h"

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

/* Has the thread ended, or is it a zombie that only its parent waits for? */
static bool has_ended(pid_t tid)
{
	char text[16];

	return proc_read(tid, "cmdline", text, sizeof(text)) < 0;
}

/* A child that has ended before the fork event of its parent.  If the thread is alive,
 * it has reused the pid of another, whose parent was killed before its event. */
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

/* Removes the threads of a process that has ended. */
static void forget_threads(struct ptracer *p, const struct process *process)
{
	struct tracee *t;

	while (process && (t = any_thread(p, process))) {
		outcome_tell(&p->o, t);
		process = tree_remove(&p->o.tree, t);
	}
}

/* The first thread is the last to be reported.  Others are left only if one was killed
 * right after execve() had made it the leader. */
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

/* The child continues before the fork event of its parent.  What it inherits, above all
 * a root of its own, is needed at its first call. */
static void adopt(struct ptracer *p, struct tracee *t)
{
	struct process *process;
	pid_t leader, parent, origin;

	if (proc_family(t->tid, &leader, &parent) < 0)
		return;
	origin = leader == t->tid ? parent : leader;
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
	ptracer_resume(p, t, 0);
}

/* The child may have reported its first stop already; then it is waiting. */
void ptracer_forked(struct ptracer *p, struct tracee *parent, bool vfork)
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

void ptracer_first_stop(struct ptracer *p, pid_t tid)
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

struct tracee *ptracer_executed(struct ptracer *p, pid_t tid)
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
	observer_attach(&p->o, 0); /* the address space is new */
	if (atomic_load(&p->o.job->control->seccomp_errno))
		p->stepping = true;
	t->process->full = false;
	t->process->vforked_by = 0;
	call_exec_done(&p->o, t, NULL, NULL);
	return t;
}

void ptracer_set_stopped(struct ptracer *p, bool stopped, int sig)
{
	if (p->root_stopped == stopped)
		return;
	p->root_stopped = stopped;
	atomic_store(&p->o.job->control->stopped, stopped);
	if (p->o.job->stopped && !p->o.quiet)
		p->o.job->stopped(p->o.job->ctx, sig);
}

void ptracer_group_stop(struct ptracer *p, struct tracee *t, int sig)
{
	(void)ptrace(PTRACE_LISTEN, t->tid, 0, 0);
	/* Any thread reports it: the first one may have ended.  A child of vfork() that
	 * stops before it executes stops its parent. */
	if (t->process->pid != p->o.root && t->process->vforked_by != p->o.root)
		return;
	p->stopper = t->tid;
	ptracer_set_stopped(p, true, sig);
}

void ptracer_gone(struct ptracer *p, pid_t tid, int status)
{
	struct tracee *t = tree_find(&p->o.tree, tid);

	hot_gone(&p->hot, tid);
	if (tid == p->stopper)
		ptracer_set_stopped(p, false, SIGCONT);
	if (p->o.resolver.here.tid == tid)
		observer_attach(&p->o, 0);
	if (tid == p->o.root) {
		p->root_gone = true;
		p->result.status = status;
		/* The pid may soon be reused. */
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
