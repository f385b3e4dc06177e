/* ops_view.c - processes to which names mean other files: with a root of their own,
 * or with mounts in a namespace of their own.
 *
 * Each is a child that does a few things and ends.  Its mounts end with it, so what
 * it made on a tmpfs is gone then, and what it did through a bind mount was done to
 * the directory that is bound. */
#include <sched.h>
#include <sys/mount.h>

#include "ops.h"

enum { STEPS = 4, NAME_LEN = 2048 };

/* A directory as the process names it, which is its working directory, too. */
struct view {
	int top; /* node of the directory */
	char prefix[NAME_LEN + 1]; /* of absolute names of what is in it */
};

static void absolute(char *path, int node)
{
	char rest[PATH_LEN];

	node_path(node, rest);
	snprintf(path, NAME_LEN, "%s/%s", m->root, rest);
}

static void spell_inside(char *path, const struct view *v, int node)
{
	char top[PATH_LEN];
	char full[PATH_LEN];

	node_path(v->top, top);
	node_path(node, full);
	snprintf(path, NAME_LEN + PATH_LEN, "%s%s", one_in(2) ? v->prefix : "",
		 full + strlen(top) + (v->top != ROOT));
}

static void read_file(const char *path, int node)
{
	int fd = CHECK(open(path, O_RDONLY));

	was_read(node);
	read_all(fd, m->nodes[node].inode);
	CHECK(close(fd));
}

static void replace_file(const char *path, int node)
{
	int fd = CHECK(open(path, O_WRONLY | O_TRUNC));

	was_opened_for_writing(node);
	was_truncated(node, 0);
	write_some(fd, m->nodes[node].inode, false);
	CHECK(close(fd));
}

static void create_file(const char *path, int node)
{
	int fd = CHECK(open(path, O_WRONLY | O_CREAT | O_EXCL, 0644));

	was_created(node);
	was_opened_for_writing(node);
	write_some(fd, m->nodes[node].inode, false);
	CHECK(close(fd));
}

/* A file inside is read, replaced or removed. */
static void use_one(const struct view *v)
{
	char path[NAME_LEN + PATH_LEN];
	int node = node_pick(KIND_FILE);

	if (node == NOBODY || !node_is_below(node, v->top))
		return;
	spell_inside(path, v, node);
	SAY("  inside %s", path);
	switch (below(3)) {
	case 0:
		read_file(path, node);
		break;
	case 1:
		replace_file(path, node);
		break;
	default:
		CHECK(unlink(path));
		was_removed(node);
		break;
	}
}

static void create_one(const struct view *v)
{
	char path[NAME_LEN + PATH_LEN];
	const char *name;
	int dir, node;

	if (!pick_free(&dir, &name) || !node_is_below(dir, v->top))
		return;
	node = node_new(dir, name, inode_new(KIND_FILE));
	spell_inside(path, v, node);
	SAY("  inside create %s", path);
	create_file(path, node);
}

static void work_inside(const struct view *v)
{
	for (int i = 0; i < STEPS; i++) {
		use_one(v);
		create_one(v);
	}
}

static void change_root(struct view *v, const char *path)
{
	CHECK(chroot(path));
	CHECK(chdir("/"));
	strcpy(v->prefix, "/");
}

/* What the process has told last can be named only while it is there: a change of the
 * directory waits until that is read. */
static void __attribute__((noreturn)) leave(void)
{
	CHECK(chdir("/"));
	_exit(0);
}

void op_chroot(void)
{
	struct view v = { .top = node_pick(KIND_DIR) };
	char path[NAME_LEN];
	pid_t pid;

	if (m->simple || geteuid() != 0)
		return;
	absolute(path, v.top);
	SAY("chroot %s", path);
	pid = CHECK(fork());
	if (pid == 0) {
		change_root(&v, path);
		work_inside(&v);
		leave();
	}
	await(pid, 0);
}

/* ---- mounts ---- */

/* Root of a user namespace, with mounts of its own; false: not allowed here. */
static bool enter_namespaces(void)
{
	char uids[32];
	char gids[32];

	snprintf(uids, sizeof(uids), "0 %d 1", (int)geteuid());
	snprintf(gids, sizeof(gids), "0 %d 1", (int)getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	put("/proc/self/setgroups", "deny");
	put("/proc/self/uid_map", uids);
	put("/proc/self/gid_map", gids);
	CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	m->mounted = true;
	return true;
}

/* A tmpfs over a directory: what is made there does not stay. */
static void work_on_tmpfs(void)
{
	char dir_path[NAME_LEN];
	char path[NAME_LEN + 16];
	const char *name;
	int dir, node;

	if (!pick_free(&dir, &name))
		return;
	absolute(dir_path, dir);
	SAY("tmpfs on %s, with %s", dir_path, name);
	CHECK(mount("tmpfs", dir_path, "tmpfs", 0, NULL));
	snprintf(path, sizeof(path), "%s/%s", dir_path, name);
	node = node_new(dir, name, inode_new(KIND_FILE));
	create_file(path, node);
	if (one_in(2))
		read_file(path, node);
	if (one_in(2))
		CHECK(umount2(dir_path, 0));
	was_removed(node);
}

/* A directory bound over another one or over itself, as sandboxes do it; that may
 * become the root as well. */
static void work_through_bind(void)
{
	struct view v = { .top = node_pick(KIND_DIR) };
	char from[NAME_LEN], over[NAME_LEN];
	int target = m->mounts == MOUNTS_ANY ? node_pick(KIND_DIR) : v.top;

	absolute(from, v.top);
	absolute(over, target);
	SAY("bind %s over %s", from, over);
	CHECK(mount(from, over, NULL, MS_BIND, NULL));
	CHECK(chdir(over));
	snprintf(v.prefix, sizeof(v.prefix), "%s/", over);
	if (one_in(2))
		change_root(&v, over);
	work_inside(&v);
}

void op_mount(void)
{
	pid_t pid;

	if (m->simple)
		return;
	SAY("namespaces");
	pid = CHECK(fork());
	if (pid == 0) {
		if (!enter_namespaces())
			_exit(0);
		if (m->mounts == MOUNTS_ANY && one_in(2))
			work_on_tmpfs();
		else
			work_through_bind();
		leave();
	}
	await(pid, 0);
}
