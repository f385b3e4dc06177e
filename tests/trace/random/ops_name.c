/* ops_name.c - names come, go and move. */
#include "ops.h"

/* A node that has a name of its own: anything but the root. */
static int pick_any(void)
{
	switch (below(4)) {
	case 0:
		return node_pick(KIND_LINK);
	default:
		return node_pick(KIND_FILE);
	}
}

static int pick_dir(void)
{
	int dir = node_pick(KIND_DIR);

	return dir == ROOT ? NOBODY : dir;
}

void op_unlink(void)
{
	int node = pick_any();
	struct spelling s;

	if (node == NOBODY)
		return;
	spell_node(&s, node);
	SAY("unlink %s", s.path);
	if (!spelled_plainly(&s) || one_in(3))
		CHECK(unlinkat(s.dirfd, s.path, 0));
	else if (one_in(2))
		CHECK(remove(s.path));
	else
		CHECK(unlink(s.path));
	spell_done(&s);
	was_removed(node);
}

static void rename_somehow(const struct spelling *a, const struct spelling *b,
			   unsigned flags)
{
	SAY("rename %s %s %u", a->path, b->path, flags);
	if (flags || one_in(3))
		CHECK(renameat2(a->dirfd, a->path, b->dirfd, b->path, flags));
	else if (!spelled_plainly(a) || !spelled_plainly(b) || one_in(2))
		CHECK(renameat(a->dirfd, a->path, b->dirfd, b->path));
	else
		CHECK(rename(a->path, b->path));
}

static void move(int node, int dir, const char *name, unsigned flags)
{
	struct spelling a, b;

	spell_node(&a, node);
	spell(&b, dir, name);
	rename_somehow(&a, &b, flags);
	spell_done(&a);
	spell_done(&b);
	was_renamed(node, dir, name);
}

void op_rename(void)
{
	int node = pick_any();
	const char *name;
	int dir;

	if (node == NOBODY || !pick_free(&dir, &name))
		return;
	move(node, dir, name, one_in(3) ? RENAME_NOREPLACE : 0);
}

void op_rename_over(void)
{
	int node = pick_any();
	int target = pick_any();
	char name[8];

	/* Two names of one file: rename() does nothing. */
	if (node == NOBODY || target == NOBODY ||
	    m->nodes[node].inode == m->nodes[target].inode)
		return;
	strcpy(name, m->nodes[target].name);
	move(node, m->nodes[target].parent, name, 0);
}

void op_rename_directory(void)
{
	int node = pick_dir();
	const char *name;
	int dir;

	if (node == NOBODY || !pick_free(&dir, &name) ||
	    node_is_below(dir, node) ||
	    node_depth(dir) + 1 + node_height(node) > DEPTH_MAX)
		return;
	move(node, dir, name, 0);
}

static bool can_stand_at(int node, int other)
{
	return inode_of(node)->kind != KIND_DIR ||
	       node_depth(other) + node_height(node) <= DEPTH_MAX;
}

void op_exchange(void)
{
	int a = one_in(3) ? pick_dir() : pick_any();
	int b = one_in(3) ? pick_dir() : pick_any();
	struct spelling s, t;

	if (a == NOBODY || b == NOBODY || node_is_below(a, b) ||
	    node_is_below(b, a) || m->nodes[a].inode == m->nodes[b].inode ||
	    !can_stand_at(a, b) || !can_stand_at(b, a))
		return;
	spell_node(&s, a);
	spell_node(&t, b);
	rename_somehow(&s, &t, RENAME_EXCHANGE);
	spell_done(&s);
	spell_done(&t);
	was_exchanged(a, b);
}

void op_link(void)
{
	int node = node_pick(KIND_FILE);
	struct spelling a, b;
	const char *name;
	int dir;

	if (node == NOBODY || !pick_free(&dir, &name))
		return;
	spell_node(&a, node);
	spell(&b, dir, name);
	SAY("link %s %s", a.path, b.path);
	if (!spelled_plainly(&a) || !spelled_plainly(&b) || one_in(2))
		CHECK(linkat(a.dirfd, a.path, b.dirfd, b.path, 0));
	else
		CHECK(link(a.path, b.path));
	spell_done(&a);
	spell_done(&b);
	was_linked(node, dir, name);
}

/* To a file or a directory; absolute, or to a neighbour. */
static void link_text(int dir, char *text)
{
	int to = one_in(2) ? node_pick(KIND_DIR) : node_pick(KIND_FILE);
	char path[PATH_LEN];

	if (to == NOBODY)
		to = ROOT;
	if (to != ROOT && m->nodes[to].parent == dir) {
		strcpy(text, m->nodes[to].name);
		return;
	}
	node_path(to, path);
	strcpy(text, m->root);
	if (path[0]) {
		strcat(text, "/");
		strcat(text, path);
	}
}

void op_symlink(void)
{
	struct spelling s;
	const char *name;
	int dir, inode;

	if (!pick_free(&dir, &name))
		return;
	inode = inode_new(KIND_LINK);
	link_text(dir, m->inodes[inode].target);
	spell(&s, dir, name);
	SAY("symlink %s %s", m->inodes[inode].target, s.path);
	if (!spelled_plainly(&s) || one_in(2))
		CHECK(symlinkat(m->inodes[inode].target, s.dirfd, s.path));
	else
		CHECK(symlink(m->inodes[inode].target, s.path));
	spell_done(&s);
	was_created(node_new(dir, name, inode));
}

void op_mkdir(void)
{
	struct spelling s;
	const char *name;
	int dir;

	if (!pick_free(&dir, &name) || node_depth(dir) + 1 >= DEPTH_MAX)
		return;
	spell(&s, dir, name);
	SAY("mkdir %s", s.path);
	if (!spelled_plainly(&s) || one_in(2))
		CHECK(mkdirat(s.dirfd, s.path, 0755));
	else
		CHECK(mkdir(s.path, 0755));
	spell_done(&s);
	node_new(dir, name, inode_new(KIND_DIR));
}

void op_rmdir(void)
{
	int node = pick_dir();
	struct spelling s;

	if (node == NOBODY || node == m->cwd || node_has_children(node))
		return;
	spell_node(&s, node);
	SAY("rmdir %s", s.path);
	if (!spelled_plainly(&s) || one_in(2))
		CHECK(unlinkat(s.dirfd, s.path, AT_REMOVEDIR));
	else
		CHECK(rmdir(s.path));
	spell_done(&s);
	was_removed(node);
}

void op_chdir(void)
{
	int dir = node_pick(KIND_DIR);
	struct spelling s;
	int fd;

	spell(&s, dir, "");
	SAY("chdir %s", s.path);
	if (!spelled_plainly(&s) || one_in(3)) {
		fd = CHECK(openat(s.dirfd, s.path, O_DIRECTORY | O_CLOEXEC));
		CHECK(fchdir(fd));
		CHECK(close(fd));
	} else {
		CHECK(chdir(s.path));
	}
	spell_done(&s);
	m->cwd = dir;
}
