/* inner_tracer.h - a process of the run that traces threads of the run.
 *
 * A thread has one tracer, and that is roar.  The kernel therefore refuses every
 * tracer that the command starts.  One kind of them matters, because it decides the
 * exit status of the program: LeakSanitizer, which is part of every program built with
 * -fsanitize=address.  Before the program ends, a helper process that shares the
 * memory of the program stops all of its threads and reads their registers:
 *
 *	helper calls			roar does			result
 *	ptrace(PTRACE_ATTACH, T)	PTRACE_INTERRUPT		0
 *	wait4(T, __WALL)		waits until T has stopped	T, SIGSTOP
 *	ptrace(PTRACE_GETREGS[ET], T)	reads them and passes them on	0
 *	ptrace(PTRACE_DETACH, T)	lets T go on			0
 *
 * None of these calls reaches the kernel: roar answers them, and stays the tracer of
 * all threads.  Nothing is missed, so there is no gap.
 *
 * Only a process that shares memory with the thread (clone with CLONE_VM) is served.
 * Debuggers do not share memory; they need much more of ptrace and are refused. */
#ifndef ROAR_TRACE_PTRACE_INNER_TRACER_H
#define ROAR_TRACE_PTRACE_INNER_TRACER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/call/call.h"

/* `t` is stopped at ptrace() or wait4().  True when the call was answered, or will be
 * when the thread it waits for has stopped; false when the kernel has to answer it. */
bool inner_ptrace(struct observer *o, struct tracee *t, const uint64_t args[6]);
bool inner_wait(struct observer *o, struct tracee *t, const uint64_t args[6]);

/* The thread waits at its wait4(): it must not be resumed. */
static inline bool inner_waits(const struct tracee *t)
{
	return t->inner.awaited != 0;
}

/* `t` has reported a PTRACE_EVENT_STOP with this signal.  True when its inner tracer
 * wanted that: it stays stopped. */
bool inner_stopped(struct observer *o, struct tracee *t, int sig);

/* `t` is gone: as a traced thread, as an inner tracer, or as neither. */
void inner_gone(struct observer *o, struct tracee *t, int status);

/* For inner_tracer.c, in ptrace.c: lets a thread go on that was stopped by
 * PTRACE_INTERRUPT or at a call.  `sig` is that of a group stop, or 0. */
void ptracer_release(struct observer *o, struct tracee *t, int sig);

#endif
