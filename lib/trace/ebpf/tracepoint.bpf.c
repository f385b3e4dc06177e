/* tracepoint.bpf.c - the hooks that every kernel with type information has
 *
 * One program at the exit of all system calls of the machine: a look into two tables
 * is all that a call costs which nobody asked for, in whichever mode it was made, and
 * one more look that of a process which is in no run.  Another at the entry, for the
 * few calls that remove names.  The other programs follow processes and io_uring and
 * serve both hook layers.
 *
 * Licence: the kernel offers the helpers that read memory (bpf_probe_read_user() and
 * its kin), without which nothing here would work, only to programs that call
 * themselves GPL-compatible, and its words for that do not include the licence of the
 * rest.  So the *.bpf.c files and the headers they include are licensed under the GNU
 * GPL version 2 as well, for this use, and say "GPL" to the kernel. */
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

/* A call that has succeeded. */
struct done {
	u64 a[5];
	long ret;
	u32 call; /* enum call */
	u32 compat;
};

/* Both are checked for any call at once, instead of for each in both modes. */
HIDDEN int tell_done(struct ebpf_member *m, struct done *d)
{
	if (m && d)
		other_done(bpf_get_current_task_btf(), m, d->call, d->a, d->ret,
			   d->compat);
	return 0;
}

HIDDEN int make_long(struct done *d, struct named *c)
{
	if (d && c)
		long_form(d->call, d->a, c);
	return 0;
}

static int tell_names(struct ebpf_member *m, struct done *d)
{
	struct named c = { 0 };

	make_long(d, &c);
	return c.kind ? tell_named(m, &c) : 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task;
	struct ebpf_member *m;
	struct done d;

	if (ret < 0)
		return 0;
	if (arch_call(regs, false) == CALL_NONE &&
	    arch_call(regs, true) == CALL_NONE)
		return 0;
	task = bpf_get_current_task_btf();
	d.compat = arch_is_compat(task);
	d.call = arch_call(regs, d.compat);
	if (d.call == CALL_NONE)
		return 0;
	m = member_of(task);
	if (!m)
		return 0;
	d.ret = ret;
	arch_args(regs, d.compat, d.a);
	return call_names_files(d.call) ? tell_names(m, &d) : tell_done(m, &d);
}

/* Only calls that remove names are looked at before they begin. */
SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long id)
{
	struct task_struct *task;
	struct ebpf_member *m;
	bool compat;
	u64 a[5];
	u32 call;

	if (!call_removes_names(arch_call(regs, false)) &&
	    !call_removes_names(arch_call(regs, true)))
		return 0;
	task = bpf_get_current_task_btf();
	compat = arch_is_compat(task);
	call = arch_call(regs, compat);
	if (!call_removes_names(call))
		return 0;
	m = member_of(task);
	if (!m)
		return 0;
	arch_args(regs, compat, a);
	return call_begins(task, m, call, a);
}

/* ---- processes ---- */

/* The pid of a task as the tracer's namespace counts. */
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

/* Runs in the parent, before the child can: no deed of a child is missed.  A
 * thread is a member of its own, because an exec may make it the leader. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
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
	s = begin(child, new, SCRATCH_TASK, WIRE_FORK);
	if (!s)
		return 0;
	s->r.aux = m->pid;
	return submit(s);
}

/* The name a script was executed by.  "/dev/fd/7/x" is what the kernel makes of
 * a name below a descriptor. */
static void add_executed(struct scratch *s, struct task_struct *task,
			 struct linux_binprm *bprm)
{
	u64 dir;
	s32 fd;
	long n = bpf_probe_read_kernel_str(s->data, WIRE_NAME_MAX,
					   BPF_CORE_READ(bprm, filename));

	if (n <= 0)
		return;
	fd = BPF_CORE_READ(bprm, fdpath) ? descriptor_in(s->data, false) : -1;
	if (fd < 0) {
		settle_name(s, 0, (u32)n, AT_FDCWD, NAME_FOLLOW);
		return;
	}
	s->r.flags |= WIRE_FD;
	s->r.name_len = (u16)n;
	s->off = (u32)n;
	dir = file_of(task, (u32)fd);
	if (dir)
		s->r.flags |= (u16)walk_path(s, path_of_file(dir));
	s->r.base_len = (u16)(s->off - n);
}

/* What was executed is not the program that runs, s->found.  By the time somebody looks,
 * it may have changed. */
HIDDEN int tell_script(struct scratch *s)
{
	u64 program;

	if (!s)
		return 0;
	program = s->found;
	find_named(s, 0, s->before[0].dentry, SCAN_MAX);
	if (!s->found || s->found == program)
		return 0;
	s->r.kind = WIRE_SCRIPT;
	s->r.mode = READ(inode, s->found, i_mode);
	look_at(s, s->found);
	submit(s);
	s->r.kind = WIRE_EXEC;
	return 0;
}

static void add_command(struct scratch *s, struct task_struct *task)
{
	u64 start = BPF_CORE_READ(task, mm, arg_start);
	u64 len = BPF_CORE_READ(task, mm, arg_end) - start;
	u32 off = s->off & (WIRE_DATA_MAX - 1);

	if (len > WIRE_COMMAND_MAX)
		len = WIRE_COMMAND_MAX;
	if (s->off > WIRE_DATA_MAX - WIRE_COMMAND_MAX ||
	    bpf_probe_read_user(s->data + off, len, (void *)start))
		return;
	s->r.name2_len = (u16)len;
	s->off += (u32)len;
}

static void add_program(struct scratch *s, u64 file)
{
	u32 start = s->off;
	u16 flags = s->r.flags;
	u16 base_len = s->r.base_len;

	add_file(s, file);
	s->r.mode = type_of(file);
	s->r.base2_len = (u16)(s->off - start);
	s->r.base_len = base_len;
	/* The flags of the name, and those of the file in the place of the
	 * meaningless open modes. */
	s->r.flags = flags | (s->r.flags & WIRE_DELETED);
	if (s->r.flags & WIRE_NOWHERE)
		s->r.flags |= WIRE_DELETED;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid,
	     struct linux_binprm *bprm)
{
	struct ebpf_member *m = member_of(task);
	u64 file = (u64)READ(linux_binprm, bprm, file);
	struct scratch *s;

	if (!m)
		return 0;
	s = begin(task, m, SCRATCH_TASK, WIRE_EXEC);
	if (!s)
		return 0;
	if (READ(linux_binprm, bprm, interp) !=
	    READ(linux_binprm, bprm, filename))
		add_executed(s, task, bprm);
	s->found = (u64)READ(file, file, f_inode);
	if (s->r.sure & WIRE_SURE)
		tell_script(s);
	add_command(s, task);
	add_program(s, file);
	return submit(s);
}

/* What wait() will say. */
static s32 wait_status(struct task_struct *task)
{
	if (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT)
		return BPF_CORE_READ(task, signal, group_exit_code);
	return BPF_CORE_READ(task, group_leader, exit_code);
}

/* Is this thread the last of its process?  Those that end at the same time may all find
 * nobody alive: the first that asks is the last, by a mark that the leader keeps. */
static bool is_last_thread(struct task_struct *task, struct ebpf_member *leader)
{
	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return false;
	return !__sync_lock_test_and_set(&leader->ended, 1);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct ebpf_member *m = member_of(task);
	struct ebpf_member *leader = member_of(task->group_leader);
	struct ebpf_session *session = leader ? session_of(leader) : NULL;
	struct scratch *s;

	if (!session)
		return 0;
	if (m) {
		__sync_fetch_and_add(&session->bytes_read, m->bytes_read);
		__sync_fetch_and_add(&session->bytes_written, m->bytes_written);
	}
	if (!is_last_thread(task, leader))
		return 0;
	s = begin(task, leader, SCRATCH_TASK, WIRE_EXIT);
	if (s) {
		s->r.aux = wait_status(task);
		submit(s);
	}
	__sync_fetch_and_add(&session->n_live, -1);
	return 0;
}

/* ---- io_uring ---- */

/* The task's run.  The kernel makes the worker threads of io_uring without a word
 * to the fork hook: they belong to the leader of their process. */
static struct ebpf_member *current_member(struct task_struct *task)
{
	struct ebpf_member *m = member_of(task);

	return m ? m : member_of(task->group_leader);
}

static void uring_opened(struct task_struct *task, struct ebpf_member *m,
			 struct io_kiocb *req, s32 fd)
{
	struct io_open *how = (struct io_open *)req;
	u64 file = file_of(task, (u32)fd);

	/* Into a table of the ring, not the process: no descriptor to look at. */
	if (BPF_CORE_READ(how, file_slot) || !file) {
		tell_gap(task, m, SCRATCH_URING, GAP_IO_URING);
		return;
	}
	tell_file(begin(task, m, SCRATCH_URING, WIRE_OPEN), file,
		  BPF_CORE_READ(how, how.flags) & O_TRUNC ? WIRE_TRUNC : 0);
}

/* Names that are changed by way of a ring are not followed: a gap says so. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_io_uring, void *ring, struct io_kiocb *req)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ebpf_member *m = current_member(task);
	s32 res;

	if (!m || !req)
		return 0;
	res = BPF_CORE_READ(req, cqe.res);
	if (res < 0)
		return 0;
	switch (BPF_CORE_READ(req, opcode)) {
	case OP_OPENAT:
	case OP_OPENAT2:
		uring_opened(task, m, req, res);
		break;
	case OP_RENAMEAT:
	case OP_UNLINKAT:
	case OP_SYMLINKAT:
	case OP_LINKAT:
	case OP_URING_CMD:
		tell_gap(task, m, SCRATCH_URING, GAP_IO_URING);
		break;
	}
	return 0;
}
