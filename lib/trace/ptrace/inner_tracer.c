/* inner_tracer.c - see inner_tracer.h
 *
 * Life of a traced thread's `inner.state`:
 *
 *	NONE --ATTACH--> ASKED --it stops--> STOPPED --wait4--> REPORTED
 *	  ^                                     |                  |
 *	  +------ DETACH, or the end of the inner tracer ----------+
 */
#include "trace/ptrace/inner_tracer.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	GETREGS = 12, /* x86 only; the C library has no name for it elsewhere */
	REGISTERS_MAX = 16384, /* of one set; the largest today is 11 KiB */
	STOPPED_STATUS = SIGSTOP << 8 | 0x7f,
};

/* The thread `tid`, if `t` traces it. */
static struct tracee *find_traced(struct observer *o, const struct tracee *t,
				  pid_t tid)
{
	struct tracee *target = tree_find(&o->tree, tid);

	return target && target->inner.tracer == t->tid ? target : NULL;
}

static void release_traced(struct observer *o, struct tracee *target)
{
	bool stopped = target->inner.state > INNER_ASKED;
	int sig = target->inner.stop_signal;

	target->inner.tracer = 0;
	target->inner.state = INNER_NONE;
	if (stopped)
		ptracer_release(o, target, sig);
}

/* ---- ptrace() ---- */

static int64_t attach_to(struct tracee *t, struct tracee *target)
{
	if (target->inner.tracer || ptrace(PTRACE_INTERRUPT, target->tid, 0, 0))
		return -EPERM;
	target->inner.tracer = t->tid;
	target->inner.state = INNER_ASKED;
	return 0;
}

static int64_t copy_registers(const struct observer *o, const struct tracee *t,
			      pid_t target, const uint64_t args[6])
{
	_Alignas(64) char registers[REGISTERS_MAX];
	struct iovec asked = { (void *)(uintptr_t)args[3], sizeof(registers) };
	struct iovec got = { registers, sizeof(registers) };
	bool by_set = (int)args[0] == PTRACE_GETREGSET;
	uint64_t set = by_set ? args[2] : NT_PRSTATUS;
	int r = 0;

	if (by_set)
		r = memory_read(&o->memory, t->tid, args[3], &asked,
				sizeof(asked));
	if (r < 0)
		return r;
	if (got.iov_len > asked.iov_len)
		got.iov_len = asked.iov_len;
	if (ptrace(PTRACE_GETREGSET, target, (void *)(uintptr_t)set, &got) < 0)
		return -errno;
	r = memory_write(t->tid, (uint64_t)(uintptr_t)asked.iov_base,
			 got.iov_base, got.iov_len);
	if (r == 0 && by_set)
		r = memory_write(t->tid,
				 args[3] + offsetof(struct iovec, iov_len),
				 &got.iov_len, sizeof(got.iov_len));
	return r;
}

static int64_t serve_request(struct observer *o, struct tracee *t,
			     struct tracee *target, const uint64_t args[6])
{
	if (target->inner.state <= INNER_ASKED)
		return -ESRCH;
	switch ((int)args[0]) {
	case GETREGS:
	case PTRACE_GETREGSET:
		return copy_registers(o, t, target->tid, args);
	case PTRACE_DETACH:
		release_traced(o, target);
		return 0;
	case PTRACE_KILL:
		return kill(target->process->pid, SIGKILL) < 0 ? -errno : 0;
	default:
		return -EIO;
	}
}

bool inner_ptrace(struct observer *o, struct tracee *t, const uint64_t args[6])
{
	struct tracee *target = tree_find(&o->tree, (pid_t)args[1]);

	if (!target || !t->process->memory_of ||
	    target->process->pid != t->process->memory_of)
		return false;
	if ((int)args[0] == PTRACE_ATTACH)
		calls_answer(t->tid, attach_to(t, target));
	else if (target->inner.tracer == t->tid)
		calls_answer(t->tid, serve_request(o, t, target, args));
	else
		return false;
	return true;
}

/* ---- wait4() ---- */

static void answer_wait(struct tracee *t, pid_t tid, int status)
{
	int r = 0;

	if (t->inner.status_address)
		r = memory_write(t->tid, t->inner.status_address, &status,
				 sizeof(status));
	calls_answer(t->tid, r < 0 ? r : tid);
}

bool inner_wait(struct observer *o, struct tracee *t, const uint64_t args[6])
{
	struct tracee *target = find_traced(o, t, (pid_t)args[0]);

	if (!target)
		return false;
	t->inner.status_address = args[1];
	if (target->inner.state == INNER_STOPPED) {
		target->inner.state = INNER_REPORTED;
		answer_wait(t, target->tid, STOPPED_STATUS);
	} else if (args[2] & WNOHANG) {
		calls_answer(t->tid, 0);
	} else {
		t->inner.awaited = target->tid;
	}
	return true;
}

/* Ends the wait4() of an inner tracer. */
static void end_wait(struct observer *o, struct tracee *t, int status)
{
	pid_t tid = t->inner.awaited;

	t->inner.awaited = 0;
	answer_wait(t, tid, status);
	ptracer_release(o, t, 0);
}

/* The inner tracer of `target`, if it waits for it. */
static struct tracee *find_waiting(struct observer *o,
				   const struct tracee *target)
{
	struct tracee *t = tree_find(&o->tree, target->inner.tracer);

	return t && t->inner.awaited == target->tid ? t : NULL;
}

/* ---- what happens to the threads ---- */

bool inner_stopped(struct observer *o, struct tracee *t, int sig)
{
	struct tracee *waiting;

	if (!t->inner.tracer)
		return false;
	t->inner.stop_signal = sig == SIGTRAP ? 0 : sig;
	if (t->inner.state != INNER_ASKED)
		return true;
	t->inner.state = INNER_STOPPED;
	waiting = find_waiting(o, t);
	if (waiting) {
		t->inner.state = INNER_REPORTED;
		end_wait(o, waiting, STOPPED_STATUS);
	}
	return true;
}

void inner_gone(struct observer *o, struct tracee *t, int status)
{
	struct tracee *waiting = t->inner.tracer ? find_waiting(o, t) : NULL;
	struct tracee *target;
	size_t pos = 0;

	if (waiting)
		end_wait(o, waiting, status);
	if (!t->process->memory_of)
		return;
	while ((target = map_next(&o->tree.tracees, &pos)))
		if (target->inner.tracer == t->tid)
			release_traced(o, target);
}
