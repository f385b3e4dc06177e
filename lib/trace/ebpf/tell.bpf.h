/* tell.bpf.h - writes records of a member's actions to the ring of its run */
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
 * directly from a task it trusts (half a millisecond each); AT() asks it not to. */
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
static void learn_root(struct ebpf_session *session)
{
	struct fs_struct *fs;

	if (session->root_dentry)
		return;
	fs = READ(task_struct, bpf_get_current_task_btf(), fs);
	session->root_mount = (u64)GET(fs, root.mnt);
	session->root_dentry = (u64)GET(fs, root.dentry);
}

/* Makes it an empty record of the current task.  Negative: there is no run. */
HIDDEN int clear(struct scratch *s, struct ebpf_member *m, u32 kind)
{
	struct ebpf_session *session = m ? session_of(m) : NULL;

	if (!session || !s)
		return -1;
	learn_root(session);
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
	s->r.kind = (u8)kind;
	s->r.pid = m->pid;
	s->r.time_ns = bpf_ktime_get_ns();
	return 0;
}

/* An empty record, or NULL. */
static struct scratch *begin(struct ebpf_member *m, u32 slot, u8 kind)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &slot);

	return s && clear(s, m, kind) == 0 ? s : NULL;
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

static bool has_sums(const struct scratch *s)
{
	return s->r.kind == WIRE_SUMS ||
	       (s->r.kind == WIRE_OPEN && s->r.name2_len);
}

/* Sums are evidence: the record is complete without them. */
static void count_untold(const struct scratch *s, bool secret)
{
	u32 id = s->ring;
	struct ebpf_session *session = bpf_map_lookup_elem(&sessions, &id);

	if (!session)
		return;
	if (has_sums(s))
		__sync_fetch_and_add(&session->sums_lost, 1);
	if (s->r.kind == WIRE_SUMS)
		return;
	if (secret)
		__sync_fetch_and_add(&session->hidden, 1);
	else
		__sync_fetch_and_add(&session->lost, 1);
}

/* Does the task act with other privileges than the user's?  After a set-user-id program
 * has changed to another user it looks like any process of that user; one that only has
 * more privileges is recognized by the kernel's limit for debuggers. */
static bool acts_for_others(u32 uid)
{
	struct task_struct *task = AT(task_struct, bpf_get_current_task_btf());
	const struct cred *cred = GET(task, cred);
	struct mm_struct *mm = GET(task, mm);
	u32 differs = (GET(cred, uid.val) ^ uid) | (GET(cred, euid.val) ^ uid) |
		      (GET(cred, suid.val) ^ uid) |
		      (GET(cred, fsuid.val) ^ uid);

	return differs ||
	       (mm && (GET(mm, flags) & DUMPABLE_MASK) != DUMPABLE_BY_USER);
}

/* Forks and exits are not secret. */
static bool is_secret(const struct scratch *s)
{
	return s->guarded && s->r.kind != WIRE_FORK && s->r.kind != WIRE_EXIT &&
	       acts_for_others(s->uid);
}

/* The reader is not woken before the ring is half full.  From then on, an open that was
 * recorded is not recorded again; it counts as recorded only when there was room. */
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
	ring = has_own_ring ? (void *)&own_ring :
			      bpf_map_lookup_elem(&rings, &id);
	if (!ring)
		return 0;
	if (is_secret(s)) {
		count_untold(s, true);
		return 0;
	}
	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > EBPF_RING_BYTES / 2) {
		flags = BPF_RB_FORCE_WAKEUP;
		repeats = s->r.kind == WIRE_OPEN &&
			  !(s->r.flags & WIRE_CREATE) && !has_sums(s);
		if (repeats && was_seen(s, &key))
			return 0;
	}
	len = sizeof(s->r) + s->off;
	if (len > sizeof(s->r) + WIRE_DATA_MAX)
		len = sizeof(s->r) + WIRE_DATA_MAX;
	s->r.size = len;
	if (bpf_ringbuf_output(ring, &s->r, len, flags)) {
		count_untold(s, false);
		return 0;
	}
	if (repeats)
		bpf_map_update_elem(&seen, &key, &one, BPF_ANY);
	return 0;
}

static void tell_gap(struct ebpf_member *m, u32 slot, int gap)
{
	struct scratch *s = begin(m, slot, WIRE_GAP);

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

#define SET_TIMES(s, q, mtime, ctime)                                    \
	do {                                                             \
		(s)->r.mtime_ns = nanoseconds(GET(q, mtime##sec),        \
					      (u32)GET(q, mtime##nsec)); \
		(s)->r.ctime_ns = nanoseconds(GET(q, ctime##sec),        \
					      (u32)GET(q, ctime##nsec) & \
						      CTIME_MASK);       \
	} while (0)

/* The timestamps have changed their offset in the struct several times. */
static void look_at_times(struct scratch *s, struct inode *inode)
{
	if (bpf_core_field_exists(struct inode, i_mtime_sec))
		SET_TIMES(s, inode, i_mtime_, i_ctime_);
	else if (bpf_core_field_exists(struct inode___6_7, __i_mtime))
		SET_TIMES(s, (struct inode___6_7 *)inode, __i_mtime.tv_,
			  __i_ctime.tv_);
	else if (bpf_core_field_exists(struct inode___6_6, __i_ctime))
		SET_TIMES(s, (struct inode___6_6 *)inode, i_mtime.tv_,
			  __i_ctime.tv_);
	else
		SET_TIMES(s, (struct inode___5_x *)inode, i_mtime.tv_,
			  i_ctime.tv_);
}

/* Puts the attributes of s->inode into the record. */
HIDDEN int look_at(struct scratch *s)
{
	struct inode *inode;

	if (!s)
		return 0;
	inode = AT(inode, s->inode);
	s->r.ino = GET(inode, i_ino);
	s->r.bytes = (u64)GET(inode, i_size);
	s->r.dev = READ(super_block, GET(inode, i_sb), s_dev);
	look_at_times(s, inode);
	return 0;
}

/* Was the name removed, or never given?  (d_unlinked() of the kernel.) */
static bool is_unlinked(struct dentry *dentry)
{
	return !GET(dentry, d_hash.pprev) && GET(dentry, d_parent) != dentry;
}

static bool has_content_or_end(u32 mode)
{
	enum {
		TYPE_SHIFT = 12,
		TYPES = 1 << (S_IFREG >> TYPE_SHIFT) |
			1 << (S_IFIFO >> TYPE_SHIFT) |
			1 << (S_IFCHR >> TYPE_SHIFT) |
			1 << (S_IFBLK >> TYPE_SHIFT),
	};

	return TYPES >> ((mode & S_IFMT) >> TYPE_SHIFT) & 1;
}

static u32 type_of(u64 file)
{
	struct inode *inode = READ(file, file, f_inode);

	return GET(inode, i_mode);
}

/* The address of an open file's struct path. */
static u64 path_of_file(u64 file)
{
	return file + bpf_core_field_offset(struct file, f_path);
}

/* Appends the path of a file and its attributes. */
static void add_file(struct scratch *s, u64 file)
{
	struct file *f = AT(file, file);
	struct dentry *entry = GET(f, f_path.dentry);
	u32 start = s->off;

	s->dentry = (u64)entry;
	s->mount = (u64)GET(f, f_path.mnt);
	if (is_unlinked(entry))
		s->r.flags |= WIRE_DELETED;
	s->inode = (u64)GET(f, f_inode);
	look_at(s);
	s->r.flags |= (u16)walk(s);
	s->r.base_len = (u16)(s->off - start);
}

/* The file of one of the task's descriptors; 0 when there is none. */
static u64 file_of(struct task_struct *task, u32 fd)
{
	struct files_struct *files = READ(task_struct, task, files);
	struct fdtable *table = GET(files, fdt);

	if (fd >= GET(table, max_fds))
		return 0;
	return READ_WORD((u64)GET(table, fd) + fd * sizeof(u64));
}

/* Appends the sums of a descriptor and clears them; also those of a former run. */
HIDDEN int add_sum(struct scratch *s, struct ebpf_sum *from)
{
	u32 off;

	if (!s || !from)
		return 0;
	off = s->off & (WIRE_DATA_MAX - 1);
	if ((from->sum.bytes_read | from->sum.bytes_written) &&
	    from->run == (u32)s->cookie) {
		*(struct wire_sum *)(s->data + off) = from->sum;
		s->off = off + sizeof(from->sum);
		s->r.name2_len += sizeof(from->sum);
	}
	from->file = 0;
	from->sum.bytes_read = 0;
	from->sum.bytes_written = 0;
	return 0;
}

/* Assigns an empty slot to an open file; actions of other users are not counted
 * (session_guard()). */
static void begin_sum(const struct scratch *s, struct ebpf_sum *sum, u64 file)
{
	struct inode *inode = READ(file, file, f_inode);

	if (is_secret(s))
		return;
	sum->file = file;
	sum->inode = (u64)inode;
	sum->run = (u32)s->cookie;
	sum->sum.ino = GET(inode, i_ino);
	sum->sum.dev = READ(super_block, GET(inode, i_sb), s_dev);
	sum->sum.generation = GET(inode, i_generation);
}

/* Records an open file, in a record that has just begun.  `flags` are wire flags;
 * WIRE_TRUNC: O_TRUNC was given.  The sums in `sum` (may be NULL), of whatever file,
 * are appended; from then on the slot belongs to this file. */
HIDDEN int tell_file(struct scratch *s, u64 file, u32 flags,
		     struct ebpf_sum *sum)
{
	struct file *f = AT(file, file);
	struct inode *inode = GET(f, f_inode);
	u32 mode = GET(f, f_mode);
	u32 type = GET(inode, i_mode);

	if (!s || (mode & FMODE_PATH) || !has_content_or_end(type) ||
	    (GET(f, f_flags) & TMPFILE))
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
	s->r.aux = (s32)GET(inode, i_generation);
	add_file(s, file);
	if (sum) {
		add_sum(s, sum);
		if ((type & S_IFMT) == S_IFREG)
			begin_sum(s, sum, file);
	}
	return submit(s);
}

#endif
