/* attach.c - processes of the run that trace others of the run
 *
 * A thread has one tracer.  A thread that we have seized (seize.c) would refuse every
 * other: a debugger, strace, or LeakSanitizer, whose own process stops all threads
 * before it looks for leaks.  So the filter notifies us of the three requests that make
 * a tracer, and we detach from the thread before the call is made:
 *
 *	PTRACE_ATTACH, PTRACE_SEIZE	The caller gets no answer until the other
 *		thread has stopped and is detached.  Meanwhile we serve others: that
 *		thread may itself wait for us.
 *	PTRACE_TRACEME	The caller is the thread to be detached.  It cannot stop
 *		while it waits for an answer, so the answer is that the call is to be
 *		restarted.  The thread stops on its way there.
 *
 * We do not seize its process again before the next exec.  Calls without an answer are
 * in the guardian's page, because the guardian has to answer them if we die. */
#include <assert.h>
#include <sys/ptrace.h>

#include "trace/hybrid/hybrid_internal.h"

enum {
	/* A thread that does not stop for so long waits in an uninterruptible call:
	 * then the caller is refused. */
	PATIENT_NS = 1000000000,
};

static struct attaching *free_place(struct hybrid *h)
{
	struct attaching *a = h->guardian.page->attaching;

	for (size_t i = 0; i < ATTACHING; i++)
		if (!a[i].id)
			return &a[i];
	return NULL;
}

bool attach_enter(struct hybrid *h, const struct tracee *t,
		  const struct seccomp_data *d, uint64_t id)
{
	bool itself = (int)d->args[0] == PTRACE_TRACEME;
	pid_t target = itself ? t->tid : (pid_t)d->args[1];
	struct attaching *a = itself ? NULL : free_place(h);

	assert(hybrid_has_filter(h));
	if ((!itself && !a) || !seize_let_go(h, target))
		return false;
	if (itself)
		return notify_repeat(h->listener, id) == 0;
	*a = (struct attaching){
		.id = id,
		.target = target,
		.since_ns = h->o.mono_ns,
	};
	return true;
}

void attach_settle(struct hybrid *h)
{
	struct attaching *a = h->guardian.page->attaching;

	for (size_t i = 0; i < ATTACHING; i++) {
		if (!a[i].id || (seize_has(h, a[i].target) &&
				 h->o.mono_ns - a[i].since_ns < PATIENT_NS))
			continue;
		(void)notify_continue(h->listener, a[i].id);
		a[i].id = 0;
	}
}
