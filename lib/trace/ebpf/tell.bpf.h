/* tell.bpf.h - from a member's deed to a record in the ring of its run */
#ifndef ROAR_TRACE_EBPF_TELL_BPF_H
#define ROAR_TRACE_EBPF_TELL_BPF_H

#include "walk.bpf.h"

enum {
	S_IFMT = 0170000,
	S_IFSOCK = 0140000,
	S_IFLNK = 0120000,
	S_IFREG = 0100000,
	S_IFBLK = 0060000,
	S_IFDIR = 0040000,
	S_IFCHR = 0020000,
	S_IFIFO = 0010000,
	O_TRUNC = 01000,
	TMPFILE = 020000000, /* __O_TMPFILE: without O_DIRECTORY's part */
	FMODE_READ = 1,
	FMODE_WRITE = 2,
	FMODE_PATH = 1 << 14,
	FMODE_CREATED = 1 << 20,
	DUMPABLE_MASK = 3, /* of mm->flags */
	DUMPABLE_BY_USER = 1, /* SUID_DUMP_USER */
	CTIME_MASK = 0x7fffffff, /* the top bit of i_ctime_nsec is a flag */
};

/* ---- the run a task belongs to ---- */

/* The verifier searches all types of the kernel for each pointer that is read
 * directly from a task it trusts (a millisecond each); READ() asks it not to. */
static struct ebpf_member *member_of(struct task_struct *task)
{
	return bpf_task_storage_get(&members, task, 0, 0);
}

static struct ebpf_session *session_of(const struct ebpf_member *m)
{
	u32 ring = m->ring;
	struct ebpf_session *session = bpf_map_lookup_elem(&sessions, &ring);

	return session && session->cookie == m->cookie ? session : NULL;
}

/* The command has the root directory of the tracer until it executes. */
static void learn_root(struct ebpf_session *session, struct task_struct *task)
{
	u64 fs;

	if (session->root_dentry)
		return;
	fs = (u64)READ(task_struct, task, fs);
	session->root_mount = (u64)READ(fs_struct, fs, root.mnt);
	session->root_dentry = (u64)READ(fs_struct, fs, root.dentry);
}

/* An empty record of this task's, or NULL. */
static struct scratch *begin(struct task_struct *task,
			     const struct ebpf_member *m, u32 slot, u8 kind)
{
	struct ebpf_session *session = session_of(m);
	struct scratch *s = bpf_map_lookup_elem(&scratches, &slot);

	if (!session || !s)
		return NULL;
	learn_root(session, task);
	s->root_dentry = session->root_dentry;
	s->root_mount = session->root_mount;
	s->cookie = m->cookie;
	s->ring = m->ring;
	s->generation = session->generation;
	s->guarded = session->guarded;
	s->uid = session->uid;
	s->off = 0;
	__builtin_memset(s->before, 0, sizeof(s->before));
	__builtin_memset(&s->r, 0, sizeof(s->r));
	s->r.kind = kind;
	s->r.pid = m->pid;
	s->r.time_ns = bpf_ktime_get_ns();
	return s;
}

/* ---- into the ring ---- */

static bool was_seen(struct scratch *s, struct ebpf_seen *key)
{
	key->ino = s->r.ino;
	key->bytes = s->r.bytes;
	key->mtime_ns = s->r.mtime_ns;
	key->dev = s->r.dev;
	key->cookie = s->cookie;
	key->pid = s->r.pid;
	key->generation = s->generation;
	key->flags = s->r.flags;
	return bpf_map_lookup_elem(&seen, key);
}

static void count_lost(u32 id)
{
	struct ebpf_session *session = bpf_map_lookup_elem(&sessions, &id);

	if (session)
		__sync_fetch_and_add(&session->lost, 1);
}

static void count_hidden(u32 id)
{
	struct ebpf_session *session = bpf_map_lookup_elem(&sessions, &id);

	if (session)
		__sync_fetch_and_add(&session->hidden, 1);
}

/* Does the task act with other rights than the user's?  After a set-user-id program
 * has changed into another user it looks like any of that user's; one that has only
 * more rights is known by what the kernel allows debuggers. */
static bool acts_for_others(u32 uid)
{
	u64 task = (u64)bpf_get_current_task_btf();
	u64 cred = (u64)READ(task_struct, task, cred);
	u64 mm = (u64)READ(task_struct, task, mm);

	if (READ(cred, cred, uid.val) != uid ||
	    READ(cred, cred, euid.val) != uid ||
	    READ(cred, cred, suid.val) != uid ||
	    READ(cred, cred, fsuid.val) != uid)
		return true;
	return mm &&
	       (READ(mm_struct, mm, flags) & DUMPABLE_MASK) != DUMPABLE_BY_USER;
}

/* Who forked and who ended is no secret. */
static bool is_secret(const struct scratch *s)
{
	return s->guarded && s->r.kind != WIRE_FORK && s->r.kind != WIRE_EXIT &&
	       acts_for_others(s->uid);
}

/* No reader is woken before the ring is half full.  From then on, an open that has
 * been told is not told again; it counts as told only when there was room. */
HIDDEN int submit(struct scratch *s)
{
	struct ebpf_seen key = { 0 };
	u64 flags = BPF_RB_NO_WAKEUP;
	bool repeats = false;
	void *ring;
	u32 one = 1;
	u32 id, len;

	if (!s)
		return 0;
	id = s->ring;
	ring = bpf_map_lookup_elem(&rings, &id);
	if (!ring)
		return 0;
	if (is_secret(s)) {
		count_hidden(id);
		return 0;
	}
	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > EBPF_RING_BYTES / 2) {
		flags = BPF_RB_FORCE_WAKEUP;
		repeats = s->r.kind == WIRE_OPEN && !(s->r.flags & WIRE_CREATE);
		if (repeats && was_seen(s, &key))
			return 0;
	}
	len = sizeof(s->r) + s->off;
	if (len > sizeof(s->r) + WIRE_DATA_MAX)
		len = sizeof(s->r) + WIRE_DATA_MAX;
	s->r.size = len;
	if (bpf_ringbuf_output(ring, &s->r, len, flags)) {
		count_lost(id);
		return 0;
	}
	if (repeats)
		bpf_map_update_elem(&seen, &key, &one, BPF_ANY);
	return 0;
}

static void tell_gap(struct task_struct *task, const struct ebpf_member *m,
		     u32 slot, int gap)
{
	struct scratch *s = begin(task, m, slot, WIRE_GAP);

	if (!s)
		return;
	s->r.aux = gap;
	submit(s);
}

/* ---- files ---- */

static s64 nanoseconds(s64 seconds, u32 rest)
{
	return seconds * 1000000000LL + rest;
}

#define SET_TIMES(s, type, inode, mtime, ctime)                                \
	do {                                                                   \
		(s)->r.mtime_ns = nanoseconds(READ(type, inode, mtime##sec),   \
					      READ(type, inode, mtime##nsec)); \
		(s)->r.ctime_ns = nanoseconds(READ(type, inode, ctime##sec),   \
					      READ(type, inode, ctime##nsec) & \
						      CTIME_MASK);             \
	} while (0)

/* Timestamps have moved inside the struct several times. */
static void look_at_times(struct scratch *s, u64 inode)
{
	if (bpf_core_field_exists(struct inode, i_mtime_sec))
		SET_TIMES(s, inode, inode, i_mtime_, i_ctime_);
	else if (bpf_core_field_exists(struct inode___6_7, __i_mtime))
		SET_TIMES(s, inode___6_7, inode, __i_mtime.tv_, __i_ctime.tv_);
	else if (bpf_core_field_exists(struct inode___6_6, __i_ctime))
		SET_TIMES(s, inode___6_6, inode, i_mtime.tv_, __i_ctime.tv_);
	else
		SET_TIMES(s, inode___5_x, inode, i_mtime.tv_, i_ctime.tv_);
}

static void look_at(struct scratch *s, u64 inode)
{
	u64 sb = (u64)READ(inode, inode, i_sb);

	s->r.ino = READ(inode, inode, i_ino);
	s->r.bytes = (u64)READ(inode, inode, i_size);
	s->r.dev = READ(super_block, sb, s_dev);
	look_at_times(s, inode);
}

/* Was the name removed, or never given?  (d_unlinked() of the kernel.) */
static bool is_unlinked(u64 dentry)
{
	return !READ(dentry, dentry, d_hash.pprev) &&
	       (u64)READ(dentry, dentry, d_parent) != dentry;
}

static bool has_content_or_end(u32 mode)
{
	mode &= S_IFMT;
	return mode == S_IFREG || mode == S_IFIFO || mode == S_IFCHR ||
	       mode == S_IFBLK;
}

static u32 type_of(u64 file)
{
	u64 inode = (u64)READ(file, file, f_inode);

	return READ(inode, inode, i_mode);
}

/* Where the place of an open file is kept. */
static u64 path_of_file(u64 file)
{
	return file + bpf_core_field_offset(struct file, f_path);
}

/* Appends the place of a file and what is known of it. */
static void add_file(struct scratch *s, u64 file)
{
	u32 start = s->off;

	look_at(s, (u64)READ(file, file, f_inode));
	if (is_unlinked((u64)READ(file, file, f_path.dentry)))
		s->r.flags |= WIRE_DELETED;
	s->r.flags |= (u16)walk_path(s, path_of_file(file));
	s->r.base_len = (u16)(s->off - start);
}

/* The file behind one of the task's descriptors; 0 when there is none. */
static u64 file_of(struct task_struct *task, u32 fd)
{
	u64 files = (u64)READ(task_struct, task, files);
	u64 table = (u64)READ(files_struct, files, fdt);
	u64 slots = (u64)READ(fdtable, table, fd);

	if (fd >= READ(fdtable, table, max_fds))
		return 0;
	return READ_WORD(slots + fd * sizeof(u64));
}

/* Tells of an open file, in a record that has just begun.  `flags` are wire flags;
 * WIRE_TRUNC: O_TRUNC was given. */
HIDDEN int tell_file(struct scratch *s, u64 file, u32 flags)
{
	u32 mode = READ(file, file, f_mode);
	u32 type = type_of(file);

	if (!s || (mode & FMODE_PATH) || !has_content_or_end(type) ||
	    (READ(file, file, f_flags) & TMPFILE))
		return 0;
	if (mode & FMODE_READ)
		flags |= WIRE_READ;
	if ((mode & FMODE_WRITE) || (flags & WIRE_TRUNC))
		flags |= WIRE_WRITE;
	if ((mode & FMODE_CREATED) && !(flags & WIRE_INHERITED)) {
		flags |= WIRE_CREATE;
		flags &= ~WIRE_TRUNC;
	}
	s->r.flags = (u16)flags;
	s->r.mode = type;
	add_file(s, file);
	return submit(s);
}

#endif
