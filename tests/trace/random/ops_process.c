/* ops_process.c - other processes and threads do a part of the operations while
 * the first one waits: the model lives in shared memory. */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "ops.h"

enum { PART_MAX = 6, STACK_SIZE = 256 * 1024 };

/* What belongs to a process and comes back with its parent. */
struct own {
	int cwd, n_fds;
	bool simple;
	struct kept fds[FDS_MAX];
};

static void enter(struct own *own)
{
	own->cwd = m->cwd;
	own->n_fds = m->n_fds;
	own->simple = m->simple;
	memcpy(own->fds, m->fds, sizeof(own->fds));
	m->level++;
	m->ends[m->level] = m->n_ops + 1 + (int)below(PART_MAX);
}

static void leave(const struct own *own)
{
	m->level--;
	m->cwd = own->cwd;
	m->n_fds = own->n_fds;
	m->simple = own->simple;
	memcpy(m->fds, own->fds, sizeof(own->fds));
}

void op_fork(void)
{
	struct own own;
	pid_t pid;

	if (m->simple || m->level + 1 == LEVELS_MAX)
		return;
	SAY("fork");
	enter(&own);
	pid = CHECK(fork());
	if (pid == 0) {
		run_part();
		_exit(0);
	}
	await(pid, 0);
	SAY("end of fork");
	leave(&own);
}

static int child(void *unused)
{
	(void)unused;
	run_part();
	_exit(0);
}

/* As vfork() does it, but with a stack of its own, which C needs here. */
void op_vfork(void)
{
	struct own own;
	char *stack;
	pid_t pid;

	if (m->simple || m->level + 1 == LEVELS_MAX)
		return;
	SAY("vfork");
	enter(&own);
	m->simple = true;
	stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	REQUIRE(stack != MAP_FAILED);
	pid = CHECK(clone(child, stack + STACK_SIZE,
			  CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
	await(pid, 0);
	CHECK(munmap(stack, STACK_SIZE));
	SAY("end of vfork");
	leave(&own);
}

static void *thread(void *end)
{
	run_until(*(int *)end);
	return NULL;
}

void op_thread(void)
{
	int end = m->n_ops + 1 + (int)below(PART_MAX);
	pthread_t id;

	if (m->simple)
		return;
	SAY("thread");
	REQUIRE(pthread_create(&id, NULL, thread, &end) == 0);
	REQUIRE(pthread_join(id, NULL) == 0);
	SAY("end of thread");
}

/* The process goes on as another image; main() knows what it has left to do. */
void op_exec(void)
{
	char *argv[] = { (char *)self, "continue", NULL };
	static char *nothing[] = { NULL };
	extern char **environ;

	SAY("exec");
	m->simple = false;
	execve(self, argv, one_in(3) ? nothing : environ);
	fail("execve", __LINE__);
}

/* A file is read by being executed. */
void op_script(void)
{
	int node = node_pick(KIND_FILE);
	char path[2048];
	char rest[PATH_LEN];
	pid_t pid;

	if (node == NOBODY || m->simple || !inode_of(node)->script ||
	    inode_of(node)->changed)
		return;
	node_path(node, rest);
	snprintf(path, sizeof(path), "%s/%s", m->root, rest);
	/* Whoever writes to it keeps it from being executed. */
	for (int i = 0; i < m->n_fds; i++)
		if (m->fds[i].inode == m->nodes[node].inode)
			return;
	SAY("script %s", path);
	pid = CHECK(fork());
	if (pid == 0) {
		execl(path, path, NULL);
		fail("execl", __LINE__);
	}
	await(pid, 0);
	was_read(node);
}
