/* ops_fail.c - calls that must fail, and then have done nothing. */
#include "ops.h"

#define REFUSED(call)                          \
	do {                                   \
		if ((long)(call) != -1)        \
			fail(#call, __LINE__); \
	} while (0)

static void fail_open_file(int node)
{
	struct spelling s;

	spell_node(&s, node);
	SAY("failing open %s", s.path);
	switch (below(4)) {
	case 0:
		FAILS(openat(s.dirfd, s.path, O_WRONLY | O_CREAT | O_EXCL, 0644),
		      EEXIST);
		break;
	case 1:
		FAILS(openat(s.dirfd, s.path, O_RDONLY | O_DIRECTORY), ENOTDIR);
		break;
	case 2:
		strcat(s.path, "/x");
		FAILS(openat(s.dirfd, s.path, O_RDWR | O_CREAT, 0644), ENOTDIR);
		break;
	default:
		strcat(s.path, "/");
		REFUSED(openat(s.dirfd, s.path, O_WRONLY));
		break;
	}
	spell_done(&s);
}

static void fail_open_other(void)
{
	struct spelling s;
	const char *name;
	int link = node_pick(KIND_LINK);
	int dir = node_pick(KIND_DIR);

	if (link != NOBODY && one_in(2)) {
		spell_node(&s, link);
		FAILS(openat(s.dirfd, s.path, O_RDONLY | O_NOFOLLOW), ELOOP);
		spell_done(&s);
	}
	spell(&s, dir, "");
	SAY("failing open %s", s.path);
	FAILS(openat(s.dirfd, s.path, O_WRONLY), EISDIR);
	spell_done(&s);
	if (!pick_free(&dir, &name))
		return;
	spell(&s, dir, name);
	FAILS(openat(s.dirfd, s.path, O_RDWR | O_TRUNC), ENOENT);
	spell_done(&s);
	FAILS(openat(-7, "nothing", O_RDONLY | O_CREAT, 0644), EBADF);
}

void op_fail_open(void)
{
	int node = node_pick(KIND_FILE);

	if (node != NOBODY && one_in(2))
		fail_open_file(node);
	else
		fail_open_other();
}

/* From a name that exists to another one. */
static void fail_pair(int from, int to)
{
	struct spelling a, b;

	spell_node(&a, from);
	spell_node(&b, to);
	SAY("failing pair %s %s", a.path, b.path);
	FAILS(renameat2(a.dirfd, a.path, b.dirfd, b.path, RENAME_NOREPLACE),
	      EEXIST);
	FAILS(linkat(a.dirfd, a.path, b.dirfd, b.path, 0), EEXIST);
	FAILS(symlinkat(a.path, b.dirfd, b.path), EEXIST);
	FAILS(mkdirat(b.dirfd, b.path, 0755), EEXIST);
	FAILS(mknodat(b.dirfd, b.path, S_IFREG, 0), EEXIST);
	REFUSED(unlinkat(b.dirfd, b.path, AT_REMOVEDIR));
	spell_done(&a);
	spell_done(&b);
}

/* A name that is free. */
static void fail_missing(int other)
{
	struct spelling a, b;
	const char *name;
	int dir;

	if (!pick_free(&dir, &name))
		return;
	spell(&a, dir, name);
	spell_node(&b, other);
	SAY("failing missing %s %s", a.path, b.path);
	FAILS(renameat(a.dirfd, a.path, b.dirfd, b.path), ENOENT);
	FAILS(renameat2(a.dirfd, a.path, b.dirfd, b.path, RENAME_EXCHANGE),
	      ENOENT);
	FAILS(unlinkat(a.dirfd, a.path, 0), ENOENT);
	if (spelled_plainly(&a))
		FAILS(truncate(a.path, 3), ENOENT);
	spell_done(&a);
	spell_done(&b);
}

static void fail_directory(int dir)
{
	struct spelling a, b;

	spell_node(&a, dir);
	spell(&b, dir, "inside");
	SAY("failing directory %s", a.path);
	FAILS(renameat(a.dirfd, a.path, b.dirfd, b.path), EINVAL);
	FAILS(unlinkat(a.dirfd, a.path, 0), EISDIR);
	if (node_has_children(dir))
		FAILS(unlinkat(a.dirfd, a.path, AT_REMOVEDIR), ENOTEMPTY);
	if (spelled_plainly(&a))
		FAILS(truncate(a.path, 3), EISDIR);
	spell_done(&a);
	spell_done(&b);
}

void op_fail_name(void)
{
	int from = node_pick(KIND_FILE);
	int to = node_pick(KIND_FILE);
	int dir = node_pick(KIND_DIR);

	switch (below(3)) {
	case 0:
		if (from != NOBODY)
			fail_pair(from, to);
		break;
	case 1:
		if (from != NOBODY)
			fail_missing(from);
		break;
	default:
		if (dir != ROOT)
			fail_directory(dir);
		break;
	}
}
