/* tracepoint.bpf.c - the hooks that every kernel with type information has
 *
 * One program is at the exit of all system calls of the machine.  A call that is not
 * observed costs a lookup in two tables, in whichever mode it was made; a call of a
 * process outside a run costs one more.  Another program is at the entry, for the few
 * calls that remove names.  The other programs follow processes and io_uring and serve
 * both hook layers.  Arguments of tracepoints are plain numbers here, except where the
 * kernel must know that one is a task: then it has to search its types.
 *
 * Licence: the kernel offers the helpers that read memory (bpf_probe_read_user() and
 * similar), without which nothing here would work, only to programs that declare a
 * GPL-compatible licence, and its list of those does not include the licence of the
 * rest.  So the *.bpf.c files and the headers they include are licensed under the GNU
 * GPL version 2 as well, for this use, and declare "GPL" to the kernel. */
#include "exec.bpf.h"
#include "exit.bpf.h"
#include ARCH_BPF_H

char LICENSE[] SEC("license") = "GPL";

enum {
	SIGNAL_GROUP_EXIT = 4,
	GAP_IO_URING = 2, /* enum event_gap */
	/* enum io_uring_op */
	OP_OPENAT = 18,
	OP_OPENAT2 = 28,
	OP_RENAMEAT = 35,
	OP_UNLINKAT = 36,
	OP_SYMLINKAT = 38,
	OP_LINKAT = 39,
	OP_URING_CMD = 46,
	UPID_SIZE = 16, /* struct upid */
};

/* ---- tail calls ----
 *
 * The verifier checks a program with all functions that it calls, so a function that
 * several of them need would be checked several times.  The programs at tracepoints are
 * small: they find the member and the action.  Two others, the bodies, do the work,
 * with the arguments of the tracepoint and what was stored in the member.  Each is also
 * at a tracepoint of its own. */

enum body {
	BODY_NAMES, /* calls that name files; at sched_process_exec */
	BODY_FILES, /* files opened or received; at sched_process_exit */
	BODY_END,
};

enum deed {
	DEED_CALL, /* has succeeded */
	DEED_BEGIN, /* a call that removes names begins */
	DEED_URING, /* completed */
};

struct call_args {
	u64 a[5];
};

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, BODY_END);
	__type(key, u32);
	__type(value, u32);
} bodies SEC(".maps");

typedef struct bpf_raw_tracepoint_args args_t;

static int go_on(args_t *args, struct ebpf_member *m, u32 body)
{
	struct ebpf_session *session;

	bpf_tail_call(args, &bodies, body);
	/* The target is missing: that never happens, and would not go unnoticed. */
	session = session_of(m);
	if (session)
		__sync_fetch_and_add(&session->lost, 1);
	return 0;
}

/* ---- system calls ---- */

/* Reads and writes are so frequent, and mostly so little work, that they are counted
 * here. */
SEC("raw_tp/sys_exit")
int on_sys_exit(args_t *args)
{
	u64 regs = args->args[0];
	long ret = (long)args->args[1];
	struct task_struct *task;
	struct ebpf_member *m;
	bool compat;
	u64 a[5];
	u64 nr;
	u32 call;

	if (ret < 0)
		return 0;
	nr = arch_number(regs);
	if (arch_call(nr, false) == CALL_NONE &&
	    arch_call(nr, true) == CALL_NONE)
		return 0;
	task = bpf_get_current_task_btf();
	compat = arch_is_compat(task);
	call = arch_call(nr, compat);
	if (call == CALL_NONE)
		return 0;
	m = member_of(task);
	if (!m)
		return 0;
	if (call == CALL_READ || call == CALL_WRITE) {
		arch_args(regs, compat, a);
		if (count_at_once(m, task, (u32)a[0], call, (u64)ret))
			return 0;
	}
	m->call = call;
	m->compat = compat;
	m->deed = DEED_CALL;
	return go_on(args, m, call_names_files(call) ? BODY_NAMES : BODY_FILES);
}

/* Only calls that remove names are examined before they begin. */
SEC("raw_tp/sys_enter")
int on_sys_enter(args_t *args)
{
	struct task_struct *task;
	struct ebpf_member *m;
	bool compat;
	u64 nr = arch_number(args->args[0]);
	u32 call;

	if (!call_removes_names(arch_call(nr, false)) &&
	    !call_removes_names(arch_call(nr, true)))
		return 0;
	task = bpf_get_current_task_btf();
	compat = arch_is_compat(task);
	call = arch_call(nr, compat);
	if (!call_removes_names(call))
		return 0;
	m = member_of(task);
	if (!m)
		return 0;
	__builtin_memset(m->before, 0, sizeof(m->before));
	m->call = call;
	m->compat = compat;
	m->deed = DEED_BEGIN;
	return go_on(args, m, BODY_NAMES);
}

/* So that the code after it is not checked for each of both modes. */
HIDDEN int read_args(u64 regs, u32 compat, struct call_args *a)
{
	if (a)
		arch_args(regs, compat, a->a);
	return 0;
}

/* And not for each call. */
HIDDEN int make_long(u32 call, struct call_args *a, struct named *c)
{
	if (a && c)
		long_form(call, a->a, c);
	return 0;
}

static int tell_call(struct ebpf_member *m, u64 regs)
{
	struct named c = { 0 };
	struct call_args a = { 0 };

	read_args(regs, m->compat, &a);
	make_long(m->call, &a, &c);
	if (!c.kind)
		return 0;
	if (c.kind == WIRE_MOUNT)
		return tell_mount(m, &c);
	return m->deed == DEED_BEGIN ? note_places(m, &c) : tell_named(m, &c);
}

/* A body, and by itself at a tracepoint: its first argument is a task there. */
SEC("raw_tp/sched_process_exec")
int on_names(args_t *args)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ebpf_member *m = member_of(task);

	if (!m)
		return 0;
	if (args->args[0] == (u64)task)
		return tell_exec(m, args->args[2]);
	return tell_call(m, args->args[0]);
}

/* ---- processes ---- */

/* The pid of a task in the tracer's namespace. */
static s32 pid_at(struct task_struct *task, s32 level)
{
	u64 pid = (u64)READ(task_struct, task, thread_pid);
	s32 nr = 0;

	if (level < 0)
		return 0;
	bpf_probe_read_kernel(
		&nr, sizeof(nr),
		(void *)(pid + bpf_core_field_offset(struct pid, numbers) +
			 (u64)level * UPID_SIZE));
	return nr;
}

/* Runs in the parent, before the child can: no action of a child is missed.  A thread
 * is a member of its own, because an exec may make it the leader; so are the worker
 * threads that the kernel makes for io_uring. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_fork, struct task_struct *child)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct ebpf_session *session;
	struct ebpf_member *m = member_of(parent);
	struct ebpf_member *new;
	struct scratch *s;

	if (!m)
		return 0;
	session = session_of(m);
	if (!session)
		return 0;
	new = bpf_task_storage_get(&members, child, 0,
				   BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!new) {
		__sync_fetch_and_add(&session->escaped, 1);
		return 0;
	}
	if (m->level < 0)
		m->level = (s32)BPF_CORE_READ(parent, thread_pid, level);
	new->cookie = m->cookie;
	new->ring = m->ring;
	new->level = m->level;
	new->pid = m->pid;
	if (child->tgid == parent->tgid)
		return 0;
	new->pid = pid_at(child, m->level);
	__sync_fetch_and_add(&session->n_live, 1);
	s = begin(new, SCRATCH_TASK, WIRE_FORK);
	if (!s)
		return 0;
	s->r.aux = m->pid;
	return submit(s);
}

/* The status that wait() will return. */
static s32 wait_status(struct task_struct *current)
{
	struct task_struct *task = AT(task_struct, current);
	struct signal_struct *signal = GET(task, signal);
	struct task_struct *leader = GET(task, group_leader);

	return GET(signal, flags) & SIGNAL_GROUP_EXIT ?
		       GET(signal, group_exit_code) :
		       GET(leader, exit_code);
}

/* Is this thread the last of its process?  Since Linux 6.16 the tracepoint reports it.
 * Before, threads that end at the same time may all find no other alive: the first that
 * asks is the last, by a flag that the leader keeps. */
#define TELLS_LAST_THREAD                                                \
	bpf_core_field_exists(struct trace_event_raw_sched_process_exit, \
			      group_dead)

static bool is_last_thread(args_t *args, struct task_struct *task,
			   struct ebpf_member *leader)
{
	if (TELLS_LAST_THREAD)
		return (u8)args->args[1];
	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return false;
	return !__sync_lock_test_and_set(&leader->ended, 1);
}

static int tell_exit(args_t *args, struct task_struct *task,
		     struct ebpf_member *m)
{
	struct ebpf_member *leader = TELLS_LAST_THREAD ?
					     m :
					     member_of(task->group_leader);
	struct ebpf_session *session = leader ? session_of(leader) : NULL;
	struct scratch *s;

	if (!session)
		return 0;
	if (m)
		tell_sums(m);
	if (!is_last_thread(args, task, leader))
		return 0;
	s = begin(leader, SCRATCH_TASK, WIRE_EXIT);
	if (s) {
		s->r.aux = wait_status(task);
		submit(s);
	}
	__sync_fetch_and_add(&session->n_live, -1);
	return 0;
}

/* ---- io_uring ---- */

/* Names that are changed through a ring are not followed: a gap reports that. */
static bool is_of_interest(u8 opcode)
{
	return opcode == OP_OPENAT || opcode == OP_OPENAT2 ||
	       opcode == OP_RENAMEAT || opcode == OP_UNLINKAT ||
	       opcode == OP_SYMLINKAT || opcode == OP_LINKAT ||
	       opcode == OP_URING_CMD;
}

SEC("raw_tp/io_uring_complete")
int on_io_uring(args_t *args)
{
	struct io_kiocb *req = AT(io_kiocb, args->args[1]);
	struct ebpf_member *m;

	if (!is_of_interest(GET(req, opcode)) || GET(req, cqe.res) < 0)
		return 0;
	m = member_of(bpf_get_current_task_btf());
	if (!m)
		return 0;
	m->deed = DEED_URING;
	return go_on(args, m, BODY_FILES);
}

static int uring_opened(struct ebpf_member *m, u64 address)
{
	struct io_open *how = AT(io_open, address);
	s32 fd = READ(io_kiocb, address, cqe.res);
	u64 file = file_of(bpf_get_current_task_btf(), (u32)fd);

	/* Into a table of the ring, not of the process: there is no descriptor to
	 * examine. */
	if (GET(how, file_slot) || !file) {
		tell_gap(m, SCRATCH_URING, GAP_IO_URING);
		return 0;
	}
	return tell_file(begin(m, SCRATCH_URING, WIRE_OPEN), file,
			 GET(how, how.flags) & O_TRUNC ? WIRE_TRUNC : 0, NULL);
}

HIDDEN int uring_done(struct ebpf_member *m, u64 address)
{
	u8 opcode = READ(io_kiocb, address, opcode);

	if (!m)
		return 0;
	if (opcode == OP_OPENAT || opcode == OP_OPENAT2)
		return uring_opened(m, address);
	tell_gap(m, SCRATCH_URING, GAP_IO_URING);
	return 0;
}

/* ---- the other body ---- */

static int call_done(struct ebpf_member *m, u64 regs, long ret)
{
	struct call_args a = { 0 };

	read_args(regs, m->compat, &a);
	other_done(m, m->call, a.a, ret, m->compat);
	return 0;
}

/* As the first. */
SEC("raw_tp/sched_process_exit")
int on_files(args_t *args)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ebpf_member *m = member_of(task);

	if (args->args[0] == (u64)task)
		return tell_exit(args, task, m);
	if (!m)
		return 0;
	if (m->deed == DEED_URING)
		return uring_done(m, args->args[1]);
	return call_done(m, args->args[0], (long)args->args[1]);
}
