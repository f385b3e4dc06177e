/* walk.bpf.h - maps, the scratch record, and the path of a file.
 *
 * The kernel's own d_path() may not be called from these programs.  So they walk as it
 * does: from the directory entry to its parent, at the root of a mount to its mount
 * point, until the tracer's root directory is reached.  Names are read without locks.
 * A rename by another process at the same moment can give a mixture of old and new, as
 * with any two reads.
 *
 * The verifier checks functions that are not `static` once, for any argument, instead
 * of once per call.  That keeps the load short: it takes about a millisecond for a
 * thousand instructions that it follows, and a branch costs several of them.  Pointers
 * into the kernel are passed to them as plain numbers, or through a map, where the
 * verifier forgets that they are pointers.  Loops are functions for the same reason.
 * The kernel allows eight nested calls, so small functions are inlined, and so are
 * those at the bottom of a deep call chain (INLINE). */
#ifndef ROAR_TRACE_EBPF_WALK_BPF_H
#define ROAR_TRACE_EBPF_WALK_BPF_H

#include "kernel.h"
#include "wire.h"

#define HIDDEN __attribute__((noinline))
#define INLINE static __attribute__((always_inline))

enum {
	STEPS_MAX = 4096, /* components and mounts on the way up */
	COMPONENT_MAX = 255,
	SHORT_NAME = 24, /* bytes that are copied without a call */
	PART_WORDS = 32, /* a component and its NUL */
	TEXT_MAX = 8192, /* a name with the links in it; a power of two */
	DOT_DOT = 0x2e2e,
	MOUNTS_MAX = 1 << 12, /* on one mount */
	/* A mount or an automount is here.  The bits are different between kernel
	 * versions. */
	DCACHE_MOUNTED_OR_KIN = 0x18000,
};

/* How to resolve a name, and how that ended. */
enum down {
	DOWN_PARENT, /* up to the directory */
	DOWN_FOLLOW, /* and further, when the last component is a link */
	DOWN_LAST, /* the directory is known: only find the last component */
	DOWN_FOUND,
	DOWN_FAILED,
};

struct child_key {
	u64 dir; /* struct dentry */
	u64 hash; /* of the name */
};

/* Each program has its own, so that they cannot interfere. */
enum scratch_slot {
	SCRATCH_CALL,
	SCRATCH_TASK,
	SCRATCH_URING,
	SCRATCH_END,
};

/* A record that is being made.  It also holds the state of a walk: values in a map are
 * unknown to the verifier, which would otherwise follow a walk for as many iterations
 * as its counters have values. */
struct scratch {
	u64 root_dentry; /* where walks end */
	u64 root_mount;
	u64 start; /* where the walk started: an entry */
	u64 dentry; /* the current entry */
	u64 mount; /* struct vfsmount */
	u64 top; /* root entry of that mount */
	u64 from; /* the entry that is covered by the mount the walk came from */
	u64 under; /* the first other entry on which a mount may be... */
	u64 under_mount; /* ...in this mount; 0: none */
	u64 cookie; /* of the run */
	u32 ring;
	u32 generation;
	u32 off; /* bytes of data used */
	u32 limit; /* for off, in this walk */
	u32 end; /* enum wire_flags, when the walk has ended */
	u32 guarded; /* as in struct ebpf_session */
	u32 uid;

	/* State of down.bpf.h. */
	struct ebpf_place before[2]; /* directories of the names before the
				      * call */
	u64 home_dentry; /* root directory of the task */
	u64 home_mount;
	u64 node; /* next in a list */
	u64 ring_end; /* its end, where it is circular */
	u64 found; /* in a list */
	u64 inode; /* to examine */
	u64 part[PART_WORDS]; /* a component */
	u64 part_hash;
	u64 other[PART_WORDS]; /* to compare */
	u32 part_len;
	u32 differs; /* the result of a comparison */
	u32 at; /* the rest of text starts here */
	u32 how; /* enum down */
	u32 links; /* followed */
	u32 covered; /* look for mounts first */
	u32 over; /* the rest starts with a slash: find its start first */
	char text[TEXT_MAX]; /* of a name; ends at its end */

	/* The record: a head and what follows it. */
	struct wire_record r;
	char data[WIRE_DATA_MAX + WIRE_NAME_MAX]; /* slack for the last string */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ebpf_member);
} members SEC(".maps");

/* Few threads have one. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ebpf_more_sums);
} more_sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EBPF_RINGS);
	__type(key, u32);
	__type(value, struct ebpf_session);
} sessions SEC(".maps");

/* One ring per run: its holder sees that run and no other. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, EBPF_RINGS);
	__type(key, u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* Programs that serve one run only have the ring itself: putting one into a map of maps
 * takes the kernel 10 ms. */
struct ring own_ring SEC(".maps");
const volatile u32 has_own_ring = 0; /* set by the loader */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCH_END);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct ebpf_seen);
	__type(value, u32);
} seen SEC(".maps");

/* Entries of directories on resolved paths. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct child_key);
	__type(value, u64);
} children SEC(".maps");

/* ---- walking ---- */

struct walk {
	struct scratch *s;
};

static u64 top_of(u64 mount)
{
	return (u64)READ(vfsmount, mount, mnt_root);
}

static long walk_ends(struct scratch *s, u32 flags)
{
	s->end = flags;
	return 1;
}

static bool may_be_mounted_on(u64 dentry)
{
	return READ(dentry, dentry, d_flags) & DCACHE_MOUNTED_OR_KIN;
}

static long next_mount(u32 i, struct walk *w)
{
	struct scratch *s = w->s;
	u64 node = s->node;
	u64 m;

	if (!node || node == s->ring_end)
		return 1;
	m = node - bpf_core_field_offset(struct mount, mnt_child);
	s->node = (u64)READ(list_head, node, next);
	if ((u64)READ(mount, m, mnt_mountpoint) != s->dentry)
		return 0;
	s->found = m;
	return 1;
}

/* Finds the mount on s->dentry in s->mount, in s->found, or 0. */
static void find_mount(struct scratch *s)
{
	struct walk w = { s };
	u64 m = s->mount - bpf_core_field_offset(struct mount, mnt);

	s->found = 0;
	s->node = (u64)READ(mount, m, mnt_mounts.next);
	s->ring_end = m + bpf_core_field_offset(struct mount, mnt_mounts);
	bpf_loop(MOUNTS_MAX, next_mount, &w, 0);
}

/* From the root of a mount to the directory it covers. */
static long climb(struct scratch *s)
{
	u64 offset = bpf_core_field_offset(struct mount, mnt);
	u64 at = s->mount - offset;
	struct mount *m = AT(mount, at);
	u64 parent = (u64)GET(m, mnt_parent);

	if (!parent || parent == at)
		return walk_ends(s, WIRE_FOREIGN);
	s->dentry = (u64)GET(m, mnt_mountpoint);
	s->mount = parent + offset;
	s->from = s->dentry;
	s->top = top_of(s->mount);
	return 0;
}

/* Copies a component of that length to data[off]; more than that may be written. */
static void copy_component(struct scratch *s, u32 off, u64 name, u32 len)
{
	u64 *to = (u64 *)(s->data + off);
	struct itimerspec64 *words; /* four of them */

	if (!READ_IS_CHEAP || len > SHORT_NAME) {
		bpf_probe_read_kernel(to, len & COMPONENT_MAX, (void *)name);
		return;
	}
	words = AT(itimerspec64, name);
	to[0] = (u64)GET(words, it_interval.tv_sec);
	to[1] = (u64)GET(words, it_interval.tv_nsec);
	to[2] = (u64)GET(words, it_value.tv_sec);
}

static long step(u32 i, struct walk *w)
{
	struct scratch *s = w->s;
	u64 d = s->dentry;
	struct dentry *entry;
	u64 parent;
	u32 off = s->off;
	u32 len;

	if (d == s->root_dentry && s->mount == s->root_mount)
		return walk_ends(s, 0);
	if (d != s->from && !s->under_mount && may_be_mounted_on(d)) {
		s->under = d;
		s->under_mount = s->mount;
	}
	if (d == s->top)
		return climb(s);
	entry = AT(dentry, d);
	parent = (u64)GET(entry, d_parent);
	if (!parent || parent == d)
		return walk_ends(s, WIRE_NOWHERE);
	len = GET(entry, d_name.len);
	if (len > COMPONENT_MAX || off + len + 1 > s->limit)
		return walk_ends(s, WIRE_LONG);
	off &= WIRE_DATA_MAX - 1;
	copy_component(s, off, (u64)GET(entry, d_name.name), len);
	off += len & COMPONENT_MAX;
	s->data[off] = '\0';
	s->off = off + 1;
	s->dentry = parent;
	return 0;
}

/* The flag of the entry may be for a mount in another namespace. */
static void look_for_cover(struct scratch *s)
{
	if (!s->under_mount)
		return;
	s->dentry = s->under;
	s->mount = s->under_mount;
	find_mount(s);
	if (s->found)
		s->r.sure |= WIRE_COVERED;
}

/* Appends the path of s->dentry and s->mount; returns how the walk ended, as enum
 * wire_flags.  (A separately verified function takes no addresses of a type that the
 * verifier knows, but it forgets the types of values in a map.) */
HIDDEN int walk(struct scratch *s)
{
	struct walk w = { s };

	if (!s)
		return WIRE_NOWHERE;
	s->start = s->dentry;
	s->top = top_of(s->mount);
	s->limit = s->off + WIRE_BASE_MAX;
	s->end = WIRE_LONG;
	s->from = 0;
	s->under_mount = 0;
	if (s->off > WIRE_DATA_MAX - WIRE_BASE_MAX)
		return WIRE_LONG;
	bpf_loop(STEPS_MAX, step, &w, 0);
	look_for_cover(s);
	return (int)s->end;
}

static void stand_at(struct scratch *s, u64 p)
{
	struct path *path = AT(path, p);

	s->dentry = (u64)GET(path, dentry);
	s->mount = (u64)GET(path, mnt);
}

/* From a struct path. */
static int walk_path(struct scratch *s, u64 p)
{
	stand_at(s, p);
	return walk(s);
}

#endif
