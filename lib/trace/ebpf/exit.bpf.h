/* exit.bpf.h - a member's system call has succeeded
 *
 * Both hook layers come here: tracepoint.bpf.c for all calls of the machine,
 * trampoline.bpf.c for those it has hooked one by one. */
#ifndef ROAR_TRACE_EBPF_EXIT_BPF_H
#define ROAR_TRACE_EBPF_EXIT_BPF_H

#include "name_calls.bpf.h"
#include "receive.bpf.h"
#include "sums.bpf.h"

enum {
	GAP_ESCAPED = 3, /* enum event_gap */
	FAN_REPORT_FID = 0x200, /* events have handles, not descriptors */
};

HIDDEN int opened(struct ebpf_member *m, u32 fd, u32 flags)
{
	u64 file = file_of(bpf_get_current_task_btf(), fd);

	if (m && file)
		tell_file(begin(m, SCRATCH_CALL, WIRE_OPEN), file, flags,
			  sum_for(m, fd));
	return 0;
}

/* The open file does not keep O_TRUNC: only the caller's flags have it. */
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

/* Operations of a ring are seen when they are done; its existence matters to the
 * verdict. */
static void count_ring(const struct ebpf_member *m)
{
	struct ebpf_session *session = session_of(m);

	if (session)
		__sync_fetch_and_add(&session->n_rings, 1);
}

/* ---- all of them ---- */

static bool call_removes_names(u32 call)
{
	return call >= CALL_REMOVES_FIRST && call <= CALL_REMOVES_LAST;
}

static bool call_names_files(u32 call)
{
	return call >= CALL_NAMES_FIRST && call <= CALL_NAMES_LAST;
}

/* Any other call. */
static void other_done(struct ebpf_member *m, u32 call, const u64 a[5],
		       long ret, u32 compat)
{
	switch (call) {
	case CALL_OPEN:
	case CALL_OPENAT:
	case CALL_OPENAT2:
	case CALL_CREAT:
	case CALL_HANDLE:
	case CALL_PIDFD_GETFD:
		opened(m, (u32)ret, open_flags(call, a));
		break;
	case CALL_RECVMSG:
	case CALL_RECVMMSG:
		receive_batch(a[1], call == CALL_RECVMSG ? 1 : (u32)ret,
			      compat);
		break;
	case CALL_SOCKETCALL:
		receive_by_socketcall(a[0], a[1], (u32)ret);
		break;
	case CALL_READ:
		count_bytes(m, (u32)a[0], (u64)ret, 0);
		break;
	case CALL_WRITE:
		count_bytes(m, (u32)a[0], 0, (u64)ret);
		break;
	case CALL_SENDFILE:
		count_bytes(m, (u32)a[1], (u64)ret, 0);
		count_bytes(m, (u32)a[0], 0, (u64)ret);
		break;
	case CALL_SPLICE:
		count_bytes(m, (u32)a[0], (u64)ret, 0);
		count_bytes(m, (u32)a[2], 0, (u64)ret);
		break;
	case CALL_URING_SETUP:
		count_ring(m);
		break;
	case CALL_FANOTIFY:
		if (!(a[0] & FAN_REPORT_FID))
			tell_gap(m, SCRATCH_CALL, GAP_PATH);
		break;
	case CALL_FOREIGN:
		tell_gap(m, SCRATCH_CALL, GAP_ESCAPED);
		break;
	}
}

#endif
