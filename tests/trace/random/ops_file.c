/* ops_file.c - opening, reading and writing, in the ways C programs do. */
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "ops.h"

/* One of the calls that open. */
static int open_somehow(const struct spelling *s, int flags)
{
	struct open_how how = { .flags = (unsigned)flags, .mode = 0644 };
	int fd;

	if (!(flags & O_CREAT))
		how.mode = 0;
	switch (below(spelled_plainly(s) ? 5 : 3)) {
	case 0:
		return openat(s->dirfd, s->path, flags, 0644);
	case 1:
		fd = (int)syscall(SYS_openat2, s->dirfd, s->path, &how,
				  sizeof(how));
		if (fd >= 0 || errno != ENOSYS)
			return fd;
		return openat(s->dirfd, s->path, flags, 0644);
	case 2:
		return (int)syscall(SYS_openat, s->dirfd, s->path, flags, 0644);
	case 3:
		if (flags == (O_WRONLY | O_CREAT | O_TRUNC))
			return creat(s->path, 0644);
		return open(s->path, flags, 0644);
	default:
		return open(s->path, flags, 0644);
	}
}

static void close_or_keep(int fd, int node, bool reads, bool writes)
{
	if (one_in(4))
		keep(fd, node, reads, writes);
	else
		CHECK(close(fd));
}

/* Reads with a stream of the C library. */
static void read_stream(const char *path, int inode)
{
	char data[DATA_MAX + 1];
	FILE *f = fopen(path, one_in(2) ? "r" : "re");

	REQUIRE(f);
	REQUIRE(fread(data, 1, sizeof(data), f) == (size_t)m->inodes[inode].len);
	REQUIRE(fclose(f) == 0);
}

void op_read(void)
{
	int node = node_pick(KIND_FILE);
	struct spelling s;
	int fd;

	if (node == NOBODY)
		return;
	spell_node(&s, node);
	SAY("read %s", s.path);
	was_read(node);
	if (spelled_plainly(&s) && one_in(6)) {
		read_stream(s.path, m->nodes[node].inode);
	} else {
		fd = CHECK(open_somehow(&s, O_RDONLY));
		read_all(fd, m->nodes[node].inode);
		close_or_keep(fd, node, true, false);
	}
	spell_done(&s);
}

/* An existing file, with or without O_CREAT, O_TRUNC, O_APPEND. */
void op_write(void)
{
	int node = node_pick(KIND_FILE);
	int flags = one_in(2) ? O_WRONLY : O_RDWR;
	struct spelling s;
	int fd;

	if (node == NOBODY)
		return;
	if (one_in(3))
		flags |= O_TRUNC;
	if (one_in(3))
		flags |= O_CREAT;
	if (one_in(4))
		flags |= O_APPEND;
	spell_node(&s, node);
	/* By /proc, an empty file may be old or new: docs/tracers.md. */
	if (strncmp(s.path, "/proc/", 6) == 0)
		flags &= ~O_CREAT;
	SAY("write %s %#o", s.path, (unsigned)flags);
	fd = CHECK(open_somehow(&s, flags));
	if (!(flags & O_TRUNC) && (flags & O_ACCMODE) == O_RDWR)
		was_read(node);
	was_opened_for_writing(node);
	if (flags & O_TRUNC)
		was_truncated(node, 0);
	if (!one_in(3))
		write_some(fd, m->nodes[node].inode, flags & O_APPEND);
	if (flags & O_APPEND)
		CHECK(close(fd));
	else
		close_or_keep(fd, node, (flags & O_ACCMODE) == O_RDWR, true);
	spell_done(&s);
}

void op_create(void)
{
	static const int modes[] = { O_WRONLY, O_WRONLY, O_RDWR, O_RDONLY };
	int mode = modes[below(4)];
	int flags = mode | O_CREAT;
	struct spelling s;
	const char *name;
	int dir;
	int node;
	int fd;

	if (!pick_free(&dir, &name))
		return;
	if (one_in(3))
		flags |= O_EXCL;
	if (mode != O_RDONLY && one_in(2))
		flags |= O_TRUNC;
	spell(&s, dir, name);
	SAY("create %s %#o", s.path, (unsigned)flags);
	if (one_in(12)) {
		CHECK(mknodat(s.dirfd, s.path, S_IFREG | 0644, 0));
		was_created(node_new(dir, name, inode_new(KIND_FILE)));
		spell_done(&s);
		return;
	}
	fd = CHECK(open_somehow(&s, flags));
	node = node_new(dir, name, inode_new(KIND_FILE));
	was_created(node);
	if (mode != O_RDONLY) {
		was_opened_for_writing(node);
		if (!one_in(4))
			write_some(fd, m->nodes[node].inode, false);
	}
	close_or_keep(fd, node, mode != O_WRONLY, mode != O_RDONLY);
	spell_done(&s);
}

void op_truncate(void)
{
	int node = node_pick(KIND_FILE);
	char path[2048];
	char rest[PATH_LEN];
	int len;

	if (node == NOBODY)
		return;
	/* Equal lengths may or may not count as a change. */
	len = (inode_of(node)->len + 1 + (int)below(8)) % DATA_MAX;
	node_path(node, rest);
	snprintf(path, sizeof(path), "%s/%s", m->root, rest);
	SAY("truncate %s %d", path, len);
	CHECK(truncate(path, len));
	was_truncated(node, len);
}

/* The kernel moves the bytes. */
static ssize_t copy_bytes(int in, int out, size_t len)
{
	char data[DATA_MAX];
	int ends[2];
	ssize_t n;

	switch (below(4)) {
	case 0:
		return copy_file_range(in, NULL, out, NULL, len, 0);
	case 1:
		return sendfile(out, in, NULL, len);
	case 2:
		CHECK(pipe2(ends, O_CLOEXEC));
		n = splice(in, NULL, ends[1], NULL, len, 0);
		if (n > 0)
			n = splice(ends[0], NULL, out, NULL, (size_t)n, 0);
		CHECK(close(ends[0]));
		CHECK(close(ends[1]));
		return n;
	default:
		n = read(in, data, len);
		return n > 0 ? write(out, data, (size_t)n) : n;
	}
}

void op_copy(void)
{
	int node = node_pick(KIND_FILE);
	struct inode *from;
	struct spelling s;
	const char *name;
	int dir, copy, in, out;

	if (node == NOBODY || !pick_free(&dir, &name))
		return;
	from = inode_of(node);
	spell_node(&s, node);
	SAY("copy %s", s.path);
	in = CHECK(open_somehow(&s, O_RDONLY));
	spell_done(&s);
	was_read(node);
	spell(&s, dir, name);
	SAY("  to %s", s.path);
	out = CHECK(open_somehow(&s, O_WRONLY | O_CREAT | O_TRUNC));
	spell_done(&s);
	copy = node_new(dir, name, inode_new(KIND_FILE));
	was_created(copy);
	was_opened_for_writing(copy);
	if (from->len) {
		REQUIRE(copy_bytes(in, out, (size_t)from->len) == from->len);
		was_changed(m->nodes[copy].inode, 0, from->data, from->len);
	}
	CHECK(close(in));
	CHECK(close(out));
}

/* One byte through a shared mapping. */
void op_map(void)
{
	int node = node_pick(KIND_FILE);
	struct spelling s;
	char letter = (char)('A' + below(26));
	char *p;
	int fd, at;

	if (node == NOBODY || !inode_of(node)->len)
		return;
	at = (int)below((unsigned)inode_of(node)->len);
	spell_node(&s, node);
	SAY("map %s", s.path);
	fd = CHECK(open_somehow(&s, O_RDWR));
	spell_done(&s);
	was_read(node);
	was_opened_for_writing(node);
	p = mmap(NULL, DATA_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(p != MAP_FAILED);
	CHECK(close(fd));
	p[at] = letter;
	/* File systems may note the time of the change only here. */
	CHECK(msync(p, DATA_MAX, MS_SYNC));
	CHECK(munmap(p, DATA_MAX));
	was_changed(m->nodes[node].inode, at, &letter, 1);
}

/* A file that gets its name last, or never. */
void op_tmpfile(void)
{
	char proc[64];
	struct spelling s;
	const char *name;
	int dir, inode, fd;

	if (!pick_free(&dir, &name))
		return;
	spell(&s, dir, "");
	SAY("tmpfile %s", s.path);
	fd = openat(s.dirfd, s.path, O_TMPFILE | O_RDWR, 0644);
	spell_done(&s);
	if (fd < 0 && errno == EOPNOTSUPP)
		return;
	inode = inode_new(KIND_FILE);
	write_some(CHECK(fd), inode, false);
	if (!one_in(4)) {
		spell(&s, dir, name);
		SAY("  named %s", s.path);
		snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
		CHECK(linkat(AT_FDCWD, proc, s.dirfd, s.path,
			     AT_SYMLINK_FOLLOW));
		spell_done(&s);
		was_created(node_new(dir, name, inode));
	}
	CHECK(close(fd));
}
