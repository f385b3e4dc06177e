/* sums.bpf.h - bytes read from and written to open files
 *
 * A read or a write makes no record: it adds to a sum.  Each thread has its own sums,
 * so that no thread waits for another, one for each descriptor of a regular file.  The
 * user side adds up the sums of threads, duplicates and several opens of one file.  A
 * slot belongs to the open file for which it was begun, and to no other:
 *
 *	read or write ─▶ the slot is of this open file  ─▶ add
 *	                 it is empty                    ─▶ begin it
 *	                 it is of a former file of the
 *	                 descriptor                     ─▶ record it, begin
 *	                 it is another descriptor's     ─▶ the same with the slot in
 *	                                                   a larger table
 *	open          ─▶ its record carries the sums in the slot of the new
 *	                 descriptor, mostly of a closed file; then begin it
 *	end of thread ─▶ all slots in one record
 *
 * The kernel reuses the address of a struct file at once, and those of inodes and their
 * numbers soon: all are compared, with the inode's generation.
 *
 * The file of a descriptor is read when the call is over.  If another thread closes the
 * descriptor and opens another file there during the call, the bytes count for that
 * file.  Such a program cannot know either which file it has read. */
#ifndef ROAR_TRACE_EBPF_SUMS_BPF_H
#define ROAR_TRACE_EBPF_SUMS_BPF_H

#include "tell.bpf.h"

/* The slot for a new descriptor, which may still be another's. */
static struct ebpf_sum *sum_for(struct ebpf_member *m, u32 fd)
{
	struct ebpf_sum *sum = &m->sums[fd & (EBPF_SUMS - 1)];

	sum->fd = fd;
	m->has_sums = 1;
	return sum;
}

static bool is_sum_of(const struct ebpf_sum *sum, u64 file)
{
	struct inode *inode;

	if (sum->file != file)
		return false;
	inode = READ(file, file, f_inode);
	return sum->inode == (u64)inode && sum->sum.ino == GET(inode, i_ino) &&
	       sum->sum.generation == GET(inode, i_generation);
}

/* True: it has been counted, or there is nothing to count. */
static bool count_at_once(struct ebpf_member *m, struct task_struct *task,
			  u32 fd, u32 call, u64 n)
{
	struct ebpf_sum *sum = &m->sums[fd & (EBPF_SUMS - 1)];
	u64 file = n ? file_of(task, fd) : 0;

	if (!file)
		return true;
	if (!is_sum_of(sum, file))
		return (type_of(file) & S_IFMT) != S_IFREG;
	if (call == CALL_READ)
		sum->sum.bytes_read += n;
	else
		sum->sum.bytes_written += n;
	return true;
}

/* Makes the slot that of the open file, whatever it was.  0: it is. */
HIDDEN int settle_sum(struct ebpf_member *m, struct ebpf_sum *sum, u32 fd,
		      u64 file)
{
	struct scratch *s;

	if (!m || !sum)
		return -1;
	if (is_sum_of(sum, file) && sum->run == (u32)m->cookie)
		return 0;
	s = begin(m, SCRATCH_CALL, WIRE_SUMS);
	if (!s)
		return -1;
	add_sum(s, sum);
	if (s->r.name2_len)
		submit(s);
	sum->fd = fd;
	begin_sum(s, sum, file);
	return sum->file ? 0 : -1;
}

HIDDEN int count_bytes(struct ebpf_member *m, u32 fd, u64 n_read, u64 n_written)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ebpf_more_sums *more = NULL;
	struct ebpf_sum *sum;
	u64 file = file_of(task, fd);

	if (!m || !file || (type_of(file) & S_IFMT) != S_IFREG)
		return 0;
	sum = &m->sums[fd & (EBPF_SUMS - 1)];
	if (sum->file && sum->fd != fd)
		more = bpf_task_storage_get(&more_sums, task, 0,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (more)
		sum = &more->sums[fd & (EBPF_MORE_SUMS - 1)];
	if (settle_sum(m, sum, fd, file) < 0)
		return 0;
	sum->sum.bytes_read += n_read;
	sum->sum.bytes_written += n_written;
	m->has_sums = 1;
	return 0;
}

/* ---- the end of a thread ---- */

struct telling {
	struct scratch *s;
	struct ebpf_member *m;
	struct ebpf_more_sums *more;
};

static long next_sum(u32 i, struct telling *t)
{
	return add_sum(t->s, &t->m->sums[i & (EBPF_SUMS - 1)]);
}

static long next_of_more(u32 i, struct telling *t)
{
	return add_sum(t->s, &t->more->sums[i & (EBPF_MORE_SUMS - 1)]);
}

HIDDEN int tell_sums(struct ebpf_member *m)
{
	struct telling t = { 0 };

	if (!m || !m->has_sums)
		return 0;
	t.s = begin(m, SCRATCH_TASK, WIRE_SUMS);
	if (!t.s)
		return 0;
	t.m = m;
	bpf_loop(EBPF_SUMS, next_sum, &t, 0);
	t.more = bpf_task_storage_get(&more_sums, bpf_get_current_task_btf(), 0,
				      0);
	if (t.more)
		bpf_loop(EBPF_MORE_SUMS, next_of_more, &t, 0);
	return t.s->r.name2_len ? submit(t.s) : 0;
}

#endif
