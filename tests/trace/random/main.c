/* main.c - a random program over files that knows what it did.
 *
 *	random_ops prepare FROM TO DIR	makes DIR/SEED for each seed, with files
 *	random_ops run SEED N [-v]	does N operations in the working
 *					directory, which `prepare` made; prints
 *					what must be seen (workload.h)
 *	random_ops continue		goes on after execve()
 *
 * The same seed and number do the same, and fewer operations do a part of it,
 * so that a failure can be made shorter.  -v tells each step on stderr.
 * In every fourth program processes change their root, in another fourth they mount
 * file systems. */
#include <limits.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "ops.h"

enum { MODEL_FD = 900, FILES_MAX = 12 };

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	dprintf(STDERR_FILENO, "%3d [%d] ", m->n_ops, m->level);
	vdprintf(STDERR_FILENO, fmt, ap);
	dprintf(STDERR_FILENO, "\n");
	va_end(ap);
}

bool pick_free(int *ret_dir, const char **ret_name)
{
	static const char *const names[] = { "a", "b", "c", "d",
					     "e", "f", "g", "h" };
	int dir = node_pick(KIND_DIR);
	const char *name = names[below(8)];

	if (node_depth(dir) > DEPTH_MAX || node_find(dir, name) != NOBODY)
		return false;
	*ret_dir = dir;
	*ret_name = name;
	return true;
}

/* ---- the table ---- */

static const struct {
	void (*op)(void);
	unsigned weight;
} ops[] = {
	{ op_read, 14 },
	{ op_write, 10 },
	{ op_create, 10 },
	{ op_truncate, 3 },
	{ op_copy, 4 },
	{ op_map, 3 },
	{ op_tmpfile, 3 },
	{ op_kept_write, 6 },
	{ op_kept_read, 3 },
	{ op_kept_truncate, 2 },
	{ op_kept_close, 4 },
	{ op_kept_duplicate, 2 },
	{ op_kept_reopen, 4 },
	{ op_unlink, 7 },
	{ op_rename, 8 },
	{ op_rename_over, 5 },
	{ op_rename_directory, 5 },
	{ op_exchange, 4 },
	{ op_link, 6 },
	{ op_symlink, 4 },
	{ op_mkdir, 4 },
	{ op_rmdir, 3 },
	{ op_chdir, 5 },
	{ op_fail_open, 5 },
	{ op_fail_name, 5 },
	{ op_fork, 3 },
	{ op_vfork, 2 },
	{ op_thread, 3 },
	{ op_exec, 1 },
	{ op_script, 4 },
};

static void one_op(void)
{
	unsigned total = 0;
	unsigned at;
	size_t i = 0;

	for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
		total += ops[k].weight;
	for (at = below(total); at >= ops[i].weight; i++)
		at -= ops[i].weight;
	m->n_ops++;
	if (m->roots && one_in(12))
		op_chroot();
	else if (m->mounts && one_in(12))
		op_mount();
	else
		ops[i].op();
}

void run_until(int n_ops)
{
	while (m->n_ops < n_ops && m->n_ops < m->n_ops_max)
		one_op();
}

/* What a library tells last is read when its process is gone.  From a working
 * directory that has no name any more, nobody knows then what that was. */
static void leave_removed(void)
{
	if (!m->nodes[m->cwd].alive)
		CHECK(chdir(m->root));
}

void run_part(void)
{
	run_until(m->ends[m->level]);
	leave_removed();
}

/* ---- before the run ---- */

static void make_model(uint64_t seed, const char *root)
{
	int fd = CHECK(memfd_create("model", 0));

	CHECK(ftruncate(fd, sizeof(*m)));
	CHECK(dup2(fd, MODEL_FD));
	CHECK(close(fd));
	m = CHECK(mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED,
		       MODEL_FD, 0));
	model_init(seed, root);
}

/* What stands there before the run; `real`: make it, too. */
static void add_prior(int node, const char *text, bool real)
{
	struct inode *inode = inode_of(node);
	char path[PATH_LEN];

	inode->changed = false;
	node_path(node, path);
	if (real && inode->kind == KIND_DIR)
		CHECK(mkdir(path, 0755));
	if (inode->kind == KIND_DIR)
		return;
	strcpy(m->names[m->n_names].path, path);
	m->nodes[node].source = m->n_names++;
	if (inode->kind == KIND_LINK) {
		strcpy(inode->target, text);
		if (real)
			CHECK(symlink(text, path));
		return;
	}
	inode->len = (int)strlen(text);
	memcpy(inode->data, text, (size_t)inode->len);
	if (real)
		put(path, text);
	if (real && inode->script)
		CHECK(chmod(path, 0755));
}

static void add_file(bool real)
{
	char text[DATA_MAX];
	const char *name;
	int dir, node;

	if (!pick_free(&dir, &name))
		return;
	node = node_new(dir, name, inode_new(KIND_FILE));
	inode_of(node)->script = one_in(3);
	snprintf(text, sizeof(text),
		 inode_of(node)->script ? "#!/bin/true\n" : "hello %u\n",
		 below(1000));
	add_prior(node, text, real);
}

static void add_others(bool real)
{
	const char *name;
	int dir;

	if (pick_free(&dir, &name))
		add_prior(node_new(dir, name, inode_new(KIND_DIR)), "", real);
	if (one_in(2) && pick_free(&dir, &name))
		add_prior(node_new(dir, name, inode_new(KIND_LINK)),
			  one_in(2) ? "a" : "..", real);
}

/* Done twice with the same seed: for real by `prepare`, then to know it. */
static void before(bool real)
{
	int n_files = 1 + (int)below(FILES_MAX);

	for (int i = 0; i < 3; i++)
		add_others(real);
	for (int i = 0; i < n_files; i++)
		add_file(real);
}

static void prepare_seeds(const char *from, const char *to, const char *base)
{
	char path[PATH_MAX];

	for (long seed = atol(from); seed < atol(to); seed++) {
		snprintf(path, sizeof(path), "%s/%ld", base, seed);
		CHECK(mkdir(path, 0755));
		CHECK(chdir(path));
		make_model((uint64_t)seed, path);
		before(true);
		CHECK(munmap(m, sizeof(*m)));
	}
}

/* ---- the run ---- */

static int finish(void)
{
	run_part();
	if (m->level == 0)
		model_print();
	return 0;
}

static int start(const char *seed, const char *n_ops, bool talkative)
{
	char root[PATH_MAX];

	REQUIRE(getcwd(root, sizeof(root)));
	make_model((uint64_t)atol(seed), root);
	before(false);
	m->talkative = talkative;
	m->roots = atol(seed) % 4 == 3;
	if (atol(seed) % 4 == 1)
		m->mounts = atol(seed) % 8 == 1 ? MOUNTS_SAME : MOUNTS_ANY;
	m->n_ops_max = m->ends[0] = atoi(n_ops);
	return finish();
}

static int resume(void)
{
	m = CHECK(mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED,
		       MODEL_FD, 0));
	return finish();
}

/* Without arguments it does nothing. */
void act(void)
{
}

int helper(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "prepare") == 0)
		prepare_seeds(argv[2], argv[3], argv[4]);
	else if (argc >= 4 && strcmp(argv[1], "run") == 0)
		return start(argv[2], argv[3], argc == 5);
	else if (argc == 2 && strcmp(argv[1], "continue") == 0)
		return resume();
	else
		return 2;
	return 0;
}
