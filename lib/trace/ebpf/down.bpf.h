/* down.bpf.h - resolves a name to the directory that contains it
 *
 * The meaning of a name is fixed at the moment of the call; a reader that resolves it a
 * millisecond later may find other directories and other symbolic links.  So names are
 * resolved here, in the cache of directory entries, where the call itself has just put
 * or found everything it needed.  The kernel's own hash table of that cache is not
 * accessible.  The list of a directory's entries is, and entries found there are
 * remembered in a map (`children`; a remembered entry is used if it still has that name
 * in that directory).
 *
 * The name to be read is at the end of s->text, so that the text of a symbolic link can
 * be put before the rest of it.  Each iteration of the loop takes one step:
 *
 *	/	skipped
 *	.	skipped
 *	..	to the parent, and before that off the mounts that are rooted here
 *	x	into the directory x, and onto the mounts that cover it; or the text
 *		of the symbolic link x comes before the rest
 *
 * The last component is not resolved, unless links there are to be followed.  What
 * cannot be read here ends the search without a result: links whose text is not in the
 * inode, the links of /proc except those to the task's own directories, directories
 * that ignore case. */
#ifndef ROAR_TRACE_EBPF_DOWN_BPF_H
#define ROAR_TRACE_EBPF_DOWN_BPF_H

#include "tell.bpf.h"

enum {
	TURNS_MAX = 8192,
	LINKS_MAX = 40, /* the kernel's own limit */
	LINK_TEXT_MAX = 4095,
	SCAN_MAX = 1 << 16, /* entries of a directory, including negative ones */
	ABOVE_MAX = 64, /* nested directories */
	HEAD_WORDS = 3, /* of a name below /proc */
	DIGITS_MAX = 7, /* of a descriptor's number */
	DIGITS_SHIFT = 24, /* the number of digits is stored above the value */
};

#define ONES 0x0101010101010101ULL
#define HIGHS 0x8080808080808080ULL
#define SLASHES (ONES * '/')
#define SPREAD 0x9e3779b97f4a7c15ULL

/* Text is compared in words: a branch for each byte would be one more for the verifier
 * to follow.  The first byte is the lowest, as everywhere here. */
#define WORD4(a, b, c, d) \
	((u64)(a) | (u64)(b) << 8 | (u64)(c) << 16 | (u64)(d) << 24)
#define WORD8(a, b, c, d, e, f, g, h) \
	(WORD4(a, b, c, d) | WORD4(e, f, g, h) << 32)
#define FIRST_BYTES(word, n) ((word) & ((1ULL << 8 * (n)) - 1))

/* A bit is set in the first byte that is zero, and perhaps in later ones. */
static u64 zero_byte(u64 word)
{
	return (word - ONES) & ~word & HIGHS;
}

static u64 word_at(const char *text)
{
	return *(const u64 *)text;
}

/* The value of the digits at the start of a word, and above it their number; negative
 * when there are none, or too many. */
HIDDEN int leading_number(u64 word)
{
	u32 number = 0;

	for (u32 n = 0; n <= DIGITS_MAX; n++, word >>= 8) {
		u32 digit = (u32)(u8)word - '0';

		if (digit > 9)
			return n ? (int)(n << DIGITS_SHIFT | number) : -1;
		number = number * 10 + digit;
	}
	return -1;
}

static bool starts_with_proc(u64 word)
{
	return FIRST_BYTES(word, 6) ==
	       WORD8('/', 'p', 'r', 'o', 'c', '/', 0, 0);
}

/* Of three words; the text after it starts in the middle of the second. */
static bool starts_with_self(const u64 *head)
{
	return head[0] == WORD8('/', 'p', 'r', 'o', 'c', '/', 's', 'e') &&
	       FIRST_BYTES(head[1], 3) == WORD4('l', 'f', '/', 0);
}

static bool starts_with_self_fd(const u64 *head)
{
	return starts_with_self(head) &&
	       FIRST_BYTES(head[1], 6) ==
		       WORD8('l', 'f', '/', 'f', 'd', '/', 0, 0);
}

static u64 behind_self_fd(const u64 *head)
{
	return head[1] >> 48 | head[2] << 16;
}

/* ---- one component ---- */

static long next_word(u32 i, struct walk *w)
{
	struct scratch *s = w->s;
	u64 word = s->part[i & (PART_WORDS - 1)];
	u64 ends = zero_byte(word) | zero_byte(word ^ SLASHES);
	u64 mark = (ends & -ends) >> 7; /* 1 in the first byte that ends it */

	if (ends)
		word &= mark - 1;
	s->part_hash = (s->part_hash ^ word) * SPREAD;
	s->part_hash ^= s->part_hash >> 29;
	if (!ends)
		return 0;
	s->part[i & (PART_WORDS - 1)] = word;
	/* As many bytes are below the mark. */
	s->part_len = 8 * i + (u32)(((mark - 1) & ONES) * ONES >> 56);
	return 1;
}

/* s->part starts with a component; cuts it there, and measures it.  After it are zeros
 * up to the end of a word.  Negative: it is longer than the limit. */
static int measure_part(struct scratch *s)
{
	struct walk w = { s };

	s->part_hash = 0;
	s->part_len = 8 * PART_WORDS;
	bpf_loop(PART_WORDS, next_word, &w, 0);
	return s->part_len == 8 * PART_WORDS ? -1 : 0;
}

static long next_pair(u32 i, struct walk *w)
{
	struct scratch *s = w->s;

	i &= PART_WORDS - 1;
	s->differs = s->other[i] != s->part[i];
	return s->differs;
}

/* Is that entry in use, and is its name s->part? */
HIDDEN int is_named(struct scratch *s, u64 entry)
{
	struct dentry *d = AT(dentry, entry);
	u32 len = GET(d, d_name.len);
	struct walk w = { s };

	if (!s)
		return false;
	if (len != s->part_len || !GET(d, d_hash.pprev))
		return false;
	s->differs = 0;
	s->other[(len / 8) & (PART_WORDS - 1)] = 0;
	bpf_probe_read_kernel(s->other, len & COMPONENT_MAX,
			      GET(d, d_name.name));
	bpf_loop((len + 7) / 8, next_pair, &w, 0);
	return !s->differs;
}

/* ---- entries of a directory ---- */

/* The first of a directory's entries.  Since Linux 6.8 they are in a list with an end;
 * before, in a circular list. */
static u64 first_child(u64 dir)
{
	if (bpf_core_field_exists(struct dentry, d_children))
		return (u64)READ(dentry, dir, d_children.first);
	return (u64)READ(dentry___6_7, dir, d_subdirs.next);
}

static u64 ring_of(u64 dir)
{
	if (bpf_core_field_exists(struct dentry, d_children))
		return 0;
	return dir + bpf_core_field_offset(struct dentry___6_7, d_subdirs);
}

static u64 entry_at(u64 node)
{
	if (bpf_core_field_exists(struct dentry, d_children))
		return node - bpf_core_field_offset(struct dentry, d_sib);
	return node - bpf_core_field_offset(struct dentry___6_7, d_child);
}

static u64 child_after(u64 node)
{
	if (bpf_core_field_exists(struct dentry, d_children))
		return (u64)READ(hlist_node, node, next);
	return (u64)READ(list_head, node, next);
}

static long next_child(u32 i, struct walk *w)
{
	struct scratch *s = w->s;
	u64 node = s->node;
	u64 entry;

	if (!node || node == s->ring_end)
		return 1;
	entry = entry_at(node);
	s->node = child_after(node);
	if (READ(dentry, entry, d_name.len) != s->part_len ||
	    !is_named(s, entry))
		return 0;
	s->found = entry;
	return 1;
}

/* One level up from the current directory of the task. */
static long next_above(u32 i, struct walk *w)
{
	struct scratch *s = w->s;
	u64 entry = s->node;

	s->node = (u64)READ(dentry, entry, d_parent);
	if (s->node == s->ring_end && is_named(s, entry))
		s->found = entry;
	return s->node == s->ring_end || s->node == entry;
}

/* Many names lead to the current directory of the task: then its parents give the
 * path. */
static void find_above(struct scratch *s, u64 dir)
{
	struct walk w = { s };
	struct fs_struct *fs = READ(task_struct, bpf_get_current_task_btf(),
				    fs);

	s->node = (u64)GET(fs, pwd.dentry);
	s->ring_end = dir;
	bpf_loop(ABOVE_MAX, next_above, &w, 0);
}

/* Searches s->part among the first entries of a directory: the most recently created or
 * moved come first.  s->found is the entry, or 0.  Only the result of a full search is
 * worth remembering. */
HIDDEN int find_child(struct scratch *s, u64 dir, u32 limit)
{
	struct walk w = { s };
	struct child_key key = { 0 };
	u64 *known;

	if (!s)
		return 0;
	key.dir = dir;
	key.hash = s->part_hash;
	s->found = 0;
	known = limit < SCAN_MAX ? NULL : bpf_map_lookup_elem(&children, &key);
	if (known && (u64)READ(dentry, *known, d_parent) == dir &&
	    is_named(s, *known)) {
		s->found = *known;
		return 0;
	}
	if (limit == SCAN_MAX)
		find_above(s, dir);
	s->node = s->found ? 0 : first_child(dir);
	s->ring_end = ring_of(dir);
	bpf_loop(limit, next_child, &w, 0);
	if (s->found && limit == SCAN_MAX)
		bpf_map_update_elem(&children, &key, &s->found, BPF_ANY);
	return 0;
}

/* ---- mounts ---- */

/* Enters the mount on this directory; its root may be covered itself, so repeats. */
static void cross(struct scratch *s)
{
	s->covered = 0;
	if (!may_be_mounted_on(s->dentry))
		return;
	find_mount(s);
	if (!s->found)
		return;
	s->mount = s->found + bpf_core_field_offset(struct mount, mnt);
	s->dentry = top_of(s->mount);
	s->covered = 1;
}

/* ---- steps ---- */

static long down_ends(struct scratch *s, u32 end)
{
	s->end = end;
	return 1;
}

/* "/proc/self/fd/7/" and "/proc/self/cwd/" are directories of the task; returns the
 * number of bytes of that prefix, or 0. */
static u32 own_place(struct scratch *s, const u64 head[HEAD_WORDS])
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fs_struct *fs;
	int number;
	u32 n_digits;
	u64 file;

	if (!starts_with_self(head))
		return 0;
	if (FIRST_BYTES(head[1], 7) ==
	    WORD8('l', 'f', '/', 'c', 'w', 'd', '/', 0)) {
		fs = READ(task_struct, task, fs);
		s->dentry = (u64)GET(fs, pwd.dentry);
		s->mount = (u64)GET(fs, pwd.mnt);
		return sizeof("/proc/self/cwd/") - 1;
	}
	if (!starts_with_self_fd(head))
		return 0;
	number = leading_number(behind_self_fd(head));
	n_digits = (u32)number >> DIGITS_SHIFT;
	if (number < 0 ||
	    (u8)(behind_self_fd(head) >> 8 * (n_digits & 7)) != '/')
		return 0;
	file = file_of(task, (u32)number & ((1U << DIGITS_SHIFT) - 1));
	if (!file)
		return 0;
	stand_at(s, path_of_file(file));
	return sizeof("/proc/self/fd/") - 1 + n_digits;
}

/* The rest of the name starts with a slash. */
static void start_over(struct scratch *s)
{
	u64 head[HEAD_WORDS] = { 0 };

	s->over = 0;
	bpf_probe_read_kernel(head, sizeof(head),
			      s->text + (s->at & (TEXT_MAX - 1)));
	s->dentry = s->home_dentry;
	s->mount = s->home_mount;
	s->at += own_place(s, head);
}

INLINE long go_up(struct scratch *s)
{
	u64 offset = bpf_core_field_offset(struct mount, mnt);
	u64 at = s->mount - offset;
	struct mount *m = AT(mount, at);
	u64 parent = (u64)GET(m, mnt_parent);

	if (s->dentry == s->home_dentry && s->mount == s->home_mount) {
		s->at += 2;
	} else if (s->dentry != top_of(s->mount)) {
		s->dentry = (u64)READ(dentry, s->dentry, d_parent);
		s->covered = 1;
		s->at += 2;
	} else if (!parent || parent == at) {
		s->at += 2;
	} else {
		s->dentry = (u64)GET(m, mnt_mountpoint);
		s->mount = parent + offset;
	}
	return 0;
}

/* The text of a link comes before the rest of the name. */
static long follow(struct scratch *s, struct inode *inode)
{
	u64 text = (u64)GET(inode, i_link);
	u64 len = (u64)GET(inode, i_size);
	u32 at = s->at;

	if (!text || !len || len > LINK_TEXT_MAX || len >= at ||
	    s->links++ >= LINKS_MAX)
		return down_ends(s, DOWN_FAILED);
	at -= 1;
	s->text[at & (TEXT_MAX - 1)] = '/';
	at -= (u32)len;
	bpf_probe_read_kernel(s->text + (at & (TEXT_MAX - 1)),
			      len & LINK_TEXT_MAX, (void *)text);
	s->at = at;
	s->over = s->text[at & (TEXT_MAX - 1)] == '/';
	return 0;
}

/* Does the name end after s->part, perhaps with slashes? */
static bool is_last(const struct scratch *s)
{
	const char *rest = s->text + ((s->at + s->part_len) & (TEXT_MAX - 1));
	u64 word = word_at(rest);
	u64 end;

	if (word == SLASHES)
		word = word_at(rest + sizeof(word));
	end = zero_byte(word);
	end &= -end;
	return end && !((word ^ SLASHES) & ((end >> 7) - 1));
}

INLINE long go_down(struct scratch *s)
{
	bool last = is_last(s);
	struct inode *inode;
	u32 type;

	if (last && s->how != DOWN_FOLLOW)
		return down_ends(s, DOWN_FOUND);
	if (s->how == DOWN_LAST) {
		s->at += s->part_len;
		return 0;
	}
	find_child(s, s->dentry, SCAN_MAX);
	inode = READ(dentry, s->found, d_inode);
	if (!inode)
		return down_ends(s, DOWN_FAILED);
	type = GET(inode, i_mode) & S_IFMT;
	if (last && type != S_IFLNK)
		return down_ends(s, DOWN_FOUND);
	s->at += s->part_len;
	if (type == S_IFLNK)
		return follow(s, inode);
	s->dentry = s->found;
	s->covered = 1;
	return 0;
}

static long turn(u32 i, struct walk *w)
{
	struct scratch *s = w->s;
	char c = s->text[s->at & (TEXT_MAX - 1)];

	if (s->over) {
		start_over(s);
		return 0;
	}
	if (s->covered) {
		cross(s);
		return 0;
	}
	if (c == '/') {
		s->at++;
		return 0;
	}
	bpf_probe_read_kernel(s->part, sizeof(s->part),
			      s->text + (s->at & (TEXT_MAX - 1)));
	if (!c || measure_part(s) < 0)
		return down_ends(s, DOWN_FAILED);
	if (s->part_len == 1 && c == '.') {
		s->at++;
		return 0;
	}
	if (s->part_len != 2 || s->part[0] != DOT_DOT)
		return go_down(s);
	if (s->how != DOWN_LAST)
		return go_up(s);
	s->at += 2;
	return 0;
}

/* Reads a name of `len` bytes, with its NUL, at data[off], starting from s->dentry and
 * s->mount.  True: they are the directory that contains it, and s->part is its last
 * component. */
static bool down(struct scratch *s, u32 off, u32 len, u32 how)
{
	struct walk w = { s };
	struct fs_struct *fs;

	if (len > WIRE_NAME_MAX || len < 2)
		return false;
	fs = READ(task_struct, bpf_get_current_task_btf(), fs);
	s->home_dentry = (u64)GET(fs, root.dentry);
	s->home_mount = (u64)GET(fs, root.mnt);
	s->how = how;
	s->links = 0;
	s->covered = 0;
	s->end = DOWN_FAILED;
	s->at = TEXT_MAX - len;
	bpf_probe_read_kernel(s->text + (s->at & (TEXT_MAX - 1)),
			      len & (2 * WIRE_NAME_MAX - 1),
			      s->data + (off & (WIRE_DATA_MAX - 1)));
	s->over = how != DOWN_LAST && s->text[s->at & (TEXT_MAX - 1)] == '/';
	bpf_loop(TURNS_MAX, turn, &w, 0);
	return s->end == DOWN_FOUND;
}

#endif
