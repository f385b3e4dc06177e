/* receive.bpf.h - descriptors received over a socket (SCM_RIGHTS)
 *
 * After recvmsg() the control buffer of the process lists them.  One loop walks it: an
 * iteration takes either the next descriptor of the current message part, or the head
 * of the next part. */
#ifndef ROAR_TRACE_EBPF_RECEIVE_BPF_H
#define ROAR_TRACE_EBPF_RECEIVE_BPF_H

#include "tell.bpf.h"

enum {
	SOL_SOCKET = 1,
	SCM_RIGHTS = 1,
	PARTS_MAX = 300, /* 253 descriptors are the kernel's limit */
	MESSAGES_MAX = 64, /* of one recvmmsg() */
	SOCKETCALL_RECVMSG = 17,
	SOCKETCALL_RECVMMSG = 19,
};

/* A msghdr and a cmsghdr as 64-bit programs have them, and as 32-bit ones do. */
struct message {
	u64 name;
	u64 name_len;
	u64 parts;
	u64 n_parts;
	u64 control;
	u64 control_len;
};

struct message32 {
	u32 name;
	u32 name_len;
	u32 parts;
	u32 n_parts;
	u32 control;
	u32 control_len;
};

enum {
	MESSAGE_STRIDE = 64, /* struct mmsghdr */
	MESSAGE_STRIDE32 = 32,
};

struct head {
	u64 len;
	s32 level;
	s32 type;
};

struct head32 {
	u32 len;
	s32 level;
	s32 type;
};

struct receive {
	u64 at; /* next part */
	u64 end;
	u64 fd_at; /* next descriptor of this part */
	u64 fd_end;
	u32 compat;
};

static u32 head_size(const struct receive *r)
{
	return r->compat ? sizeof(struct head32) : sizeof(struct head);
}

/* Reads the head of the next part; its length is 0 when there is none. */
HIDDEN int read_head(struct receive *r, struct head *h)
{
	struct head32 h32 = { 0 };

	if (!r || !h || r->at + head_size(r) > r->end)
		return 0;
	if (!r->compat) {
		bpf_probe_read_user(h, sizeof(*h), (void *)r->at);
	} else {
		bpf_probe_read_user(&h32, sizeof(h32), (void *)r->at);
		h->len = h32.len;
		h->level = h32.level;
		h->type = h32.type;
	}
	if (h->len < head_size(r) || h->len > r->end - r->at)
		h->len = 0;
	return 0;
}

static void take_descriptor(struct receive *r)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ebpf_member *m = member_of(task);
	u32 fd = 0;
	u64 file;

	bpf_probe_read_user(&fd, sizeof(fd), (void *)r->fd_at);
	r->fd_at += sizeof(fd);
	file = file_of(task, fd);
	if (file && m)
		tell_file(begin(m, SCRATCH_CALL, WIRE_OPEN), file,
			  WIRE_INHERITED, NULL);
}

static long next_part(u32 i, struct receive *r)
{
	u64 align = r->compat ? 3 : 7;
	struct head h = { 0 };

	if (r->fd_at + sizeof(s32) <= r->fd_end) {
		take_descriptor(r);
		return 0;
	}
	read_head(r, &h);
	if (!h.len)
		return 1;
	if (h.level == SOL_SOCKET && h.type == SCM_RIGHTS) {
		r->fd_at = r->at + head_size(r);
		r->fd_end = r->at + h.len;
	}
	r->at += (h.len + align) & ~align;
	return 0;
}

HIDDEN int receive(u64 address, u32 compat)
{
	struct receive r = { .compat = compat };
	struct message32 m32 = { 0 };
	struct message m = { 0 };

	if (compat) {
		bpf_probe_read_user(&m32, sizeof(m32), (void *)address);
		m.control = m32.control;
		m.control_len = m32.control_len;
	} else {
		bpf_probe_read_user(&m, sizeof(m), (void *)address);
	}
	if (m.control_len < sizeof(struct head32))
		return 0;
	r.at = m.control;
	r.end = m.control + m.control_len;
	bpf_loop(PARTS_MAX, next_part, &r, 0);
	return 0;
}

struct batch {
	u64 at;
	u32 n;
	u32 compat;
};

static long next_message(u32 i, struct batch *b)
{
	if (i >= b->n)
		return 1;
	receive(b->at, b->compat);
	b->at += b->compat ? MESSAGE_STRIDE32 : MESSAGE_STRIDE;
	return 0;
}

HIDDEN int receive_batch(u64 address, u32 n, u32 compat)
{
	struct batch b = { address, n, compat };

	bpf_loop(MESSAGES_MAX, next_message, &b, 0);
	return 0;
}

/* socketcall(): the one call of 32-bit programs for all socket operations. */
static void receive_by_socketcall(u64 which, u64 address, u32 n)
{
	u32 args[2] = { 0 };

	if (which != SOCKETCALL_RECVMSG && which != SOCKETCALL_RECVMMSG)
		return;
	bpf_probe_read_user(args, sizeof(args), (void *)address);
	receive_batch(args[1], which == SOCKETCALL_RECVMSG ? 1 : n, 1);
}

#endif
