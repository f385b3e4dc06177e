/* exec.bpf.h - a process has executed a program */
#ifndef ROAR_TRACE_EBPF_EXEC_BPF_H
#define ROAR_TRACE_EBPF_EXEC_BPF_H

#include "name_calls.bpf.h"

/* The name by which a script was executed.  For a name below a descriptor the kernel
 * makes "/dev/fd/7/x". */
static void add_executed(struct scratch *s, struct linux_binprm *bprm)
{
	u64 dir;
	s32 fd;
	long n = bpf_probe_read_kernel_str(s->data, WIRE_NAME_MAX,
					   GET(bprm, filename));

	if (n <= 0)
		return;
	fd = GET(bprm, fdpath) ? descriptor_in((const u64 *)s->data, false) :
				 -1;
	if (fd < 0) {
		settle_name(s, 0, (u32)n, AT_FDCWD, NAME_FOLLOW);
		return;
	}
	s->r.flags |= WIRE_FD;
	s->r.name_len = (u16)n;
	s->off = (u32)n;
	dir = file_of(bpf_get_current_task_btf(), (u32)fd);
	if (dir)
		s->r.flags |= (u16)walk_path(s, path_of_file(dir));
	s->r.base_len = (u16)(s->off - n);
}

/* The executed file is not the program that runs, s->found.  By the time the reader
 * examines it, it may have changed. */
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
	s->inode = s->found;
	look_at(s);
	submit(s);
	s->r.kind = WIRE_EXEC;
	return 0;
}

static void add_command(struct scratch *s)
{
	struct mm_struct *mm = READ(task_struct, bpf_get_current_task_btf(),
				    mm);
	u64 start = GET(mm, arg_start);
	u64 len = GET(mm, arg_end) - start;
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
	/* The flags of the name, and those of the file in the bits of the open modes,
	 * which have no meaning here. */
	s->r.flags = flags | (s->r.flags & (WIRE_DELETED | WIRE_FOREIGN));
	if (s->r.flags & WIRE_NOWHERE)
		s->r.flags |= WIRE_DELETED;
}

/* A regular file that was opened before the program started, often by a shell. */
HIDDEN int tell_stream(struct ebpf_member *m, u32 fd)
{
	u64 file = file_of(bpf_get_current_task_btf(), fd);

	if (!m || !file || (type_of(file) & S_IFMT) != S_IFREG)
		return 0;
	return tell_file(begin(m, SCRATCH_TASK, WIRE_STREAM), file, 0, NULL);
}

static void tell_streams(struct ebpf_member *m)
{
	tell_stream(m, 0);
	tell_stream(m, 1);
	tell_stream(m, 2);
}

/* Inlined: the call chain below it is seven deep. */
INLINE int tell_exec(struct ebpf_member *m, u64 address)
{
	struct linux_binprm *bprm = AT(linux_binprm, address);
	struct scratch *s = begin(m, SCRATCH_TASK, WIRE_EXEC);
	struct file *file;

	if (!s)
		return 0;
	file = GET(bprm, file);
	if (GET(bprm, interp) != GET(bprm, filename))
		add_executed(s, bprm);
	s->found = (u64)GET(file, f_inode);
	if (s->r.sure & WIRE_SURE)
		tell_script(s);
	add_command(s);
	add_program(s, (u64)file);
	submit(s);
	tell_streams(m);
	return 0;
}

#endif
