/* name_calls.bpf.h - calls that name files
 *
 * A record has the directory that contained a name and its last component.  They are
 * resolved when the call has succeeded (down.bpf.h).  A call that removes a name may by
 * that change what its own names mean: after rename("l", "l/x") the link `l` does not
 * exist any more.  So the directories of such calls are found before they begin, if all
 * entries are in the cache; else afterwards like the others.
 *
 * A name that cannot be resolved here is recorded as it was given, with the directory
 * it starts from, and the user side does what it can. */
#ifndef ROAR_TRACE_EBPF_NAMES_BPF_H
#define ROAR_TRACE_EBPF_NAMES_BPF_H

#include "call.bpf.h"
#include "down.bpf.h"

enum {
	AT_FDCWD = -100,
	AT_REMOVEDIR = 0x200,
	AT_SYMLINK_FOLLOW = 0x400,
	AT_EMPTY_PATH = 0x1000,
	RENAME_EXCHANGE = 2,
	GAP_NAMESPACE = 4, /* enum event_gap */
	GAP_PATH = 5,
	MS_MOVE = 8192,
	MOVE_MOUNT_F_EMPTY_PATH = 4,
	/* mount() that changes an existing mount. */
	MS_CHANGES = 32 | 1 << 17 | 1 << 18 | 1 << 19 | 1 << 20,
	MOUNTS_ABOVE = 64, /* on one mount point */
};

/* A call that names files, in its long form. */
struct named {
	u64 path;
	u64 path2;
	u64 flags; /* the mode of mknod() */
	s32 dirfd;
	s32 dirfd2;
	u8 kind; /* enum wire_kind; 0: no record */
};

/* "/proc/self/fd/7" and "/dev/fd/7": the 7, or -1; `whole`: nothing may follow. */
static s32 descriptor_in(const u64 head[HEAD_WORDS], bool whole)
{
	u64 rest;
	int number;

	if (head[0] == WORD8('/', 'd', 'e', 'v', '/', 'f', 'd', '/'))
		rest = head[1];
	else if (starts_with_self_fd(head))
		rest = behind_self_fd(head);
	else
		return -1;
	number = leading_number(rest);
	if (number < 0 ||
	    (whole && (u8)(rest >> 8 * (number >> DIGITS_SHIFT & 7))))
		return -1;
	return number & ((1 << DIGITS_SHIFT) - 1);
}

/* How a name is to be read. */
enum {
	NAME_SECOND = 1 << 0, /* it is the second of the call */
	NAME_FOLLOW = 1 << 1, /* links in the last component, too */
};

/* Sets the start of a name that begins with this byte. */
static void stand_at_start(struct scratch *s, struct task_struct *task,
			   s32 dirfd, char first)
{
	u64 fs = (u64)READ(task_struct, task, fs);
	u64 dir = 0;

	if (first == '/')
		stand_at(s, fs + bpf_core_field_offset(struct fs_struct, root));
	else if (dirfd == AT_FDCWD)
		stand_at(s, fs + bpf_core_field_offset(struct fs_struct, pwd));
	else
		dir = file_of(task, (u32)dirfd);
	if (dir)
		stand_at(s, path_of_file(dir));
}

/* The directory of the name at data[off], which is `len` long.  True: s->dentry and
 * s->mount are the directory, s->part the name in it. */
HIDDEN int find_place(struct scratch *s, u32 off, u32 len, s32 dirfd, u32 how)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 mode = how & NAME_FOLLOW ? DOWN_FOLLOW : DOWN_PARENT;
	struct ebpf_place *before;

	if (!s)
		return false;
	before = &s->before[how & NAME_SECOND];
	if (before->dentry) {
		s->dentry = before->dentry;
		s->mount = before->mount;
		mode = DOWN_LAST;
	} else {
		stand_at_start(s, task, dirfd,
			       s->data[off & (WIRE_DATA_MAX - 1)]);
	}
	return down(s, off, len, mode);
}

/* Links of /proc are read from the current directory: the user side resolves them. */
static void stand_for_reader(struct scratch *s, u32 off, s32 dirfd, u32 how)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 fs = (u64)READ(task_struct, task, fs);
	char *name = s->data + (off & (WIRE_DATA_MAX - 1));

	stand_at_start(s, task, dirfd, name[0]);
	if (!starts_with_proc(word_at(name)))
		return;
	s->r.flags |= how & NAME_SECOND ? WIRE_PROC2 : WIRE_PROC;
	stand_at(s, fs + bpf_core_field_offset(struct fs_struct, pwd));
}

/* The name at data[off] is the last string so far and `len` long, with its NUL.
 * Reduces it to its last component and appends the directory, or the directory it
 * starts from. */
HIDDEN int settle_name(struct scratch *s, u32 off, u32 len, s32 dirfd, u32 how)
{
	u32 second = how & NAME_SECOND;
	u64 dir = 0;
	u32 start;

	if (!s)
		return 0;
	if (find_place(s, off, len, dirfd, how)) {
		s->r.sure |= second ? WIRE_SURE2 : WIRE_SURE;
		len = s->part_len + 1;
		bpf_probe_read_kernel(s->data + (off & (WIRE_DATA_MAX - 1)),
				      len & (2 * COMPONENT_MAX + 1), s->part);
		dir = s->dentry;
	} else {
		stand_for_reader(s, off, dirfd, how);
	}
	start = s->off = off + len;
	s->r.flags |= (u16)walk(s);
	s->before[second].dentry = dir;
	if (second) {
		s->r.name2_len = (u16)len;
		s->r.base2_len = (u16)(s->off - start);
	} else {
		s->r.name_len = (u16)len;
		s->r.base_len = (u16)(s->off - start);
	}
	return 0;
}

/* Appends a name of the process.  Negative when it cannot be read. */
static int add_name(struct scratch *s, u64 address, s32 dirfd, u32 how)
{
	u32 off;
	long n;

	if (s->off > WIRE_DATA_MAX - WIRE_NAME_MAX)
		return -1;
	off = s->off & (WIRE_DATA_MAX - 1);
	n = bpf_probe_read_user_str(s->data + off, WIRE_NAME_MAX,
				    (void *)address);
	if (n <= 0)
		return -1;
	return settle_name(s, off, (u32)n, dirfd, how);
}

/* Only the bytes: the text of a symbolic link. */
static int add_text(struct scratch *s, u64 address)
{
	long n = bpf_probe_read_user_str(s->data, WIRE_NAME_MAX,
					 (void *)address);

	if (n <= 0)
		return -1;
	s->r.name_len = (u16)n;
	s->off = (u32)n;
	return 0;
}

/* The source of a link when it is a descriptor; 0 when it is a name. */
static u64 link_source(struct task_struct *task, const struct named *c)
{
	u64 head[HEAD_WORDS] = { 0 };
	s32 fd = -1;

	bpf_probe_read_user_str(head, sizeof(head), (void *)c->path);
	if (!(u8)head[0] && (c->flags & AT_EMPTY_PATH))
		fd = c->dirfd;
	else
		fd = descriptor_in(head, true);
	return fd < 0 ? 0 : file_of(task, (u32)fd);
}

static bool follows_last(const struct named *c)
{
	return c->kind == WIRE_TRUNCATE || c->kind == WIRE_UNMOUNT ||
	       (c->kind == WIRE_LINK && (c->flags & AT_SYMLINK_FOLLOW));
}

static int add_first(struct scratch *s, struct task_struct *task,
		     const struct named *c)
{
	u64 source = 0;

	if (c->kind == WIRE_SYMLINK)
		return add_text(s, c->path);
	if (c->kind == WIRE_LINK)
		source = link_source(task, c);
	if (!source)
		return add_name(s, c->path, c->dirfd,
				follows_last(c) ? NAME_FOLLOW : 0);
	s->r.flags |= WIRE_FD;
	s->r.mode = type_of(source);
	add_file(s, source);
	return 0;
}

/* ---- what was moved or linked ---- */

enum {
	MOVED_MAX = 64, /* the moved entry is the first of its directory */
	LINKED_MAX = 1024, /* the entry may be older than the link */
};

/* Finds the current inode of a name, in s->found; 0: not found.  The name is at
 * data[off] and was resolved before. */
HIDDEN int find_named(struct scratch *s, u32 off, u64 dir, u32 limit)
{
	if (!s)
		return 0;
	s->found = 0;
	bpf_probe_read_kernel(s->part, sizeof(s->part),
			      s->data + (off & (WIRE_DATA_MAX - 1)));
	if (!dir || measure_part(s) < 0)
		return 0;
	find_child(s, dir, limit);
	if (s->found)
		s->found = (u64)READ(dentry, s->found, d_inode);
	return 0;
}

/* Examines the file of name2, and the other file of an exchange.  False: both names are
 * of the same file, and nothing has happened. */
static bool look_at_moved(struct scratch *s, const struct named *c)
{
	u64 moved;

	find_named(s, (u32)s->r.name_len + s->r.base_len, s->before[1].dentry,
		   c->kind == WIRE_LINK ? LINKED_MAX : MOVED_MAX);
	moved = s->found;
	if (!moved)
		return true;
	s->r.mode = READ(inode, moved, i_mode);
	s->inode = moved;
	look_at(s);
	if (c->kind == WIRE_LINK)
		return true;
	if (s->r.flags & WIRE_EXCHANGE) {
		find_named(s, 0, s->before[0].dentry, MOVED_MAX);
		s->r.aux = s->found ? READ(inode, s->found, i_mode) : 0;
		return s->found != moved;
	}
	if ((s->r.mode & S_IFMT) == S_IFDIR || READ(inode, moved, i_nlink) < 2)
		return true;
	find_named(s, 0, s->before[0].dentry, SCAN_MAX);
	return s->found != moved;
}

/* Finds the truncated file; its content is gone. */
static void look_at_truncated(struct scratch *s)
{
	find_named(s, 0, s->before[0].dentry, SCAN_MAX);
	s->inode = s->found;
	if (s->inode)
		look_at(s);
}

static bool moves_content(const struct named *c)
{
	return c->kind == WIRE_RENAME || c->kind == WIRE_LINK;
}

static void raise_generation(u32 id)
{
	struct ebpf_session *session = bpf_map_lookup_elem(&sessions, &id);

	if (session)
		__sync_fetch_and_add(&session->generation, 1);
}

/* ---- the calls ---- */

static bool removes_names(const struct named *c)
{
	return c->kind == WIRE_RENAME || c->kind == WIRE_UNLINK;
}

/* Inlined: the call chain below it is seven deep. */
INLINE int tell_named(struct ebpf_member *m, const struct named *c)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *s;

	s = begin(m, SCRATCH_CALL, c->kind);
	if (!s)
		return 0;
	raise_generation(s->ring);
	if (removes_names(c)) {
		s->before[0] = m->before[0];
		s->before[1] = m->before[1];
	}
	if (add_first(s, task, c) < 0 ||
	    (c->path2 && add_name(s, c->path2, c->dirfd2, NAME_SECOND) < 0)) {
		tell_gap(m, SCRATCH_CALL, GAP_PATH);
		return 0;
	}
	if (c->kind == WIRE_RENAME && (c->flags & RENAME_EXCHANGE))
		s->r.flags |= WIRE_EXCHANGE;
	if (c->kind == WIRE_LINK)
		s->r.aux = (s32)c->flags;
	if (c->kind == WIRE_TRUNCATE)
		look_at_truncated(s);
	if (moves_content(c) && !look_at_moved(s, c))
		return 0;
	return submit(s);
}

/* ---- mounts ---- */

static long next_cover(u32 i, struct walk *w)
{
	cross(w->s);
	return !w->s->covered;
}

/* From the directory of a mount point, whose name is s->part, onto the last mount
 * there.  False: there is none. */
HIDDEN int stand_on_mount(struct scratch *s)
{
	struct walk w = { s };
	u64 below;

	if (!s)
		return false;
	below = s->mount;
	find_child(s, s->dentry, SCAN_MAX);
	if (!s->found)
		return false;
	s->dentry = s->found;
	bpf_loop(MOUNTS_ABOVE, next_cover, &w, 0);
	return s->mount != below;
}

/* Records the mount s->mount, by its mount point and by its root in its own file
 * system: the walk up to that root has no end in our tree. */
HIDDEN int add_mount(struct scratch *s)
{
	u64 root;
	u32 start;

	if (!s)
		return 0;
	root = s->dentry = top_of(s->mount);
	s->inode = (u64)READ(dentry, root, d_inode);
	look_at(s);
	s->r.bytes = READ(super_block, READ(inode, s->inode, i_sb), s_magic);
	s->off = 0;
	s->r.flags |= (u16)walk(s);
	start = s->off;
	s->r.base_len = (u16)start;
	s->dentry = root;
	s->mount = 0;
	if (walk(s) == WIRE_LONG)
		s->r.flags |= WIRE_LONG;
	s->r.base2_len = (u16)(s->off - start);
	return 0;
}

/* A mount was attached at its mount point. */
INLINE int tell_mount(struct ebpf_member *m, const struct named *c)
{
	struct scratch *s = begin(m, SCRATCH_CALL, WIRE_MOUNT);
	long n;

	if (!s)
		return 0;
	raise_generation(s->ring);
	n = bpf_probe_read_user_str(s->data, WIRE_NAME_MAX, (void *)c->path);
	if (n <= 0 || !find_place(s, 0, (u32)n, c->dirfd, NAME_FOLLOW) ||
	    !stand_on_mount(s)) {
		tell_gap(m, SCRATCH_CALL, GAP_NAMESPACE);
		return 0;
	}
	s->r.aux = (s32)c->flags;
	add_mount(s);
	return submit(s);
}

/* The directory of a name, for the time after the call. */
HIDDEN int find_before(struct scratch *s, u64 address, s32 dirfd, u32 second)
{
	long n;

	if (!s)
		return 0;
	n = bpf_probe_read_user_str(s->data, WIRE_NAME_MAX, (void *)address);
	if (n <= 0 || !find_place(s, 0, (u32)n, dirfd, second & NAME_SECOND))
		return 0;
	s->before[second & NAME_SECOND].dentry = s->dentry;
	s->before[second & NAME_SECOND].mount = s->mount;
	return 0;
}

/* A call begins that may remove names. */
static int note_places(struct ebpf_member *m, const struct named *c)
{
	struct scratch *s = begin(m, SCRATCH_CALL, c->kind);

	if (!s)
		return 0;
	find_before(s, c->path, c->dirfd, 0);
	if (c->path2)
		find_before(s, c->path2, c->dirfd2, 1);
	m->before[0] = s->before[0];
	m->before[1] = s->before[1];
	return 0;
}

/* The long form of a call; kind 0 when it has no record. */
static void long_form(u32 call, const u64 a[5], struct named *c)
{
	c->dirfd = c->dirfd2 = AT_FDCWD;
	c->path = a[0];
	switch (call) {
	case CALL_RENAME:
		c->kind = WIRE_RENAME;
		c->path2 = a[1];
		break;
	case CALL_RENAMEAT2:
		c->flags = a[4];
		__attribute__((fallthrough));
	case CALL_RENAMEAT:
		c->kind = WIRE_RENAME;
		break;
	case CALL_LINK:
		c->kind = WIRE_LINK;
		c->path2 = a[1];
		break;
	case CALL_LINKAT:
		c->kind = WIRE_LINK;
		c->flags = a[4];
		break;
	case CALL_SYMLINK:
		c->kind = WIRE_SYMLINK;
		c->path2 = a[1];
		break;
	case CALL_SYMLINKAT:
		c->kind = WIRE_SYMLINK;
		c->dirfd2 = (s32)a[1];
		c->path2 = a[2];
		break;
	case CALL_UNLINK:
		c->kind = WIRE_UNLINK;
		break;
	case CALL_UNLINKAT:
		c->kind = a[2] & AT_REMOVEDIR ? 0 : WIRE_UNLINK;
		break;
	case CALL_TRUNCATE:
		c->kind = WIRE_TRUNCATE;
		break;
	case CALL_MKNOD:
		c->kind = WIRE_MKNOD;
		c->flags = a[1];
		break;
	case CALL_MKNODAT:
		c->kind = WIRE_MKNOD;
		c->flags = a[2];
		break;
	case CALL_MKDIR:
	case CALL_MKDIRAT:
		c->kind = WIRE_MKDIR;
		break;
	case CALL_MOUNT:
		c->kind = a[3] & MS_CHANGES ? 0 : WIRE_MOUNT;
		c->flags = (a[3] & MS_MOVE) != 0;
		c->path = a[1];
		break;
	case CALL_UMOUNT:
		c->kind = WIRE_UNMOUNT;
		break;
	case CALL_MOVE_MOUNT:
		c->kind = WIRE_MOUNT;
		c->flags = !(a[4] & MOVE_MOUNT_F_EMPTY_PATH);
		c->dirfd = (s32)a[2];
		c->path = a[3];
		break;
	}
	switch (call) {
	case CALL_RENAMEAT:
	case CALL_RENAMEAT2:
	case CALL_LINKAT:
		c->dirfd2 = (s32)a[2];
		c->path2 = a[3];
		__attribute__((fallthrough));
	case CALL_UNLINKAT:
	case CALL_MKNODAT:
	case CALL_MKDIRAT:
		c->dirfd = (s32)a[0];
		c->path = a[1];
		break;
	}
	/* mknod() of a device, a FIFO or a socket does not make content. */
	if (c->kind == WIRE_MKNOD && (c->flags & S_IFMT) &&
	    (c->flags & S_IFMT) != S_IFREG)
		c->kind = 0;
}

#endif
