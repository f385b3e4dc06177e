/* exit.bpf.h - a member's system call has succeeded
 *
 * Both hook layers come here: tracepoint.bpf.c for all calls of the machine,
 * trampoline.bpf.c for those it has hooked one by one. */
#ifndef ROAR_TRACE_EBPF_EXIT_BPF_H
#define ROAR_TRACE_EBPF_EXIT_BPF_H

#include "names.bpf.h"
#include "receive.bpf.h"

enum { GAP_ESCAPED = 3 }; /* enum event_gap */

HIDDEN int opened(struct ebpf_member *m, u32 fd, u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 file = file_of(task, fd);

	if (m && file)
		tell_file(begin(task, m, SCRATCH_CALL, WIRE_OPEN), file, flags);
	return 0;
}

/* O_TRUNC is forgotten by the open file: only the caller's flags tell. */
static u32 open_flags(u32 call, const u64 a[5])
{
	u64 flags = 0;

	switch (call) {
	case CALL_OPEN:
		flags = a[1];
		break;
	case CALL_OPENAT:
		flags = a[2];
		break;
	case CALL_HANDLE:
		return a[2] & O_TRUNC ? WIRE_HANDLE | WIRE_TRUNC : WIRE_HANDLE;
	case CALL_CREAT:
		return WIRE_TRUNC;
	case CALL_PIDFD_GETFD:
		return WIRE_INHERITED;
	case CALL_OPENAT2:
		bpf_probe_read_user(&flags, sizeof(flags), (void *)a[2]);
		break;
	}
	return flags & O_TRUNC ? WIRE_TRUNC : 0;
}

/* ---- reads and writes ---- */

static void add_to_sum(struct ebpf_sum *sum, u64 n, bool write)
{
	__sync_fetch_and_add(write ? &sum->bytes_written : &sum->bytes_read, n);
}

/* The first read or write of an open file.  The struct may have been another file's
 * before; then tell_file() has removed that sum when this file was opened. */
static void new_sum(u64 key, u64 n, bool write)
{
	struct ebpf_sum sum = { 0 };

	sum.regular = (type_of(key) & S_IFMT) == S_IFREG;
	if (write)
		sum.bytes_written = n;
	else
		sum.bytes_read = n;
	bpf_map_update_elem(&sums, &key, &sum, BPF_ANY);
}

/* Adds to what is known of the open file, and tells nobody. */
HIDDEN int transferred(struct ebpf_member *m, u32 fd, u64 n, u32 write)
{
	u64 key = file_of(bpf_get_current_task_btf(), fd);
	struct ebpf_sum *sum;

	if (!m || !key || !n)
		return 0;
	sum = bpf_map_lookup_elem(&sums, &key);
	if (!sum) {
		new_sum(key, n, write);
		sum = bpf_map_lookup_elem(&sums, &key);
	} else {
		add_to_sum(sum, n, write);
	}
	if (!sum || !sum->regular)
		return 0;
	if (write)
		m->bytes_written += n;
	else
		m->bytes_read += n;
	return 0;
}

/* What a ring does is seen when it is done; that there is one is for the verdict. */
static void count_ring(const struct ebpf_member *m)
{
	struct ebpf_session *session = session_of(m);

	if (session)
		__sync_fetch_and_add(&session->n_rings, 1);
}

/* ---- all of them ---- */

static bool call_removes_names(u32 call)
{
	return call == CALL_RENAME || call == CALL_RENAMEAT ||
	       call == CALL_RENAMEAT2 || call == CALL_UNLINK ||
	       call == CALL_UNLINKAT;
}

/* One of those, by a member; it may still fail. */
static int call_begins(struct task_struct *task, struct ebpf_member *m,
		       u32 call, const u64 a[5])
{
	struct named c = { 0 };

	__builtin_memset(m->before, 0, sizeof(m->before));
	long_form(call, a, &c);
	return c.kind ? note_places(task, m, &c) : 0;
}

static int call_done(struct task_struct *task, struct ebpf_member *m, u32 call,
		     const u64 a[5], long ret, u32 compat)
{
	struct named c = { 0 };

	switch (call) {
	case CALL_READ:
	case CALL_WRITE:
		transferred(m, (u32)a[0], (u64)ret, call == CALL_WRITE);
		return 0;
	case CALL_SENDFILE:
		transferred(m, (u32)a[1], (u64)ret, false);
		transferred(m, (u32)a[0], (u64)ret, true);
		return 0;
	case CALL_SPLICE:
		transferred(m, (u32)a[0], (u64)ret, false);
		transferred(m, (u32)a[2], (u64)ret, true);
		return 0;
	case CALL_OPEN:
	case CALL_OPENAT:
	case CALL_OPENAT2:
	case CALL_CREAT:
	case CALL_HANDLE:
	case CALL_PIDFD_GETFD:
		opened(m, (u32)ret, open_flags(call, a));
		return 0;
	case CALL_RECVMSG:
	case CALL_RECVMMSG:
		receive_batch(a[1], call == CALL_RECVMSG ? 1 : (u32)ret,
			      compat);
		return 0;
	case CALL_SOCKETCALL:
		receive_by_socketcall(a[0], a[1], (u32)ret);
		return 0;
	case CALL_URING_SETUP:
		count_ring(m);
		return 0;
	case CALL_FOREIGN:
		tell_gap(task, m, SCRATCH_CALL, GAP_ESCAPED);
		return 0;
	}
	long_form(call, a, &c);
	return c.kind ? tell_named(m, &c) : 0;
}

#endif
