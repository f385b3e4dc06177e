/* tracee.c - see tracee.h */
#include "trace/call/tracee.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static void free_tracee(struct tracee *t)
{
	str_release(&t->pending.path);
	str_release(&t->pending.path2);
	str_release(&t->exec_path);
	str_release(&t->exec_command);
	str_release(&t->cwd);
	free(t);
}

void tree_release(struct tree *tree)
{
	size_t pos = 0;
	void *entry;

	while ((entry = map_next(&tree->tracees, &pos)))
		free_tracee(entry);
	pos = 0;
	while ((entry = map_next(&tree->processes, &pos)))
		free(entry);
	map_release(&tree->tracees);
	map_release(&tree->processes);
}

void tree_count_in(struct tree *tree, struct tracee *t)
{
	struct pending *w = &t->pending;

	tree_count_out(t);
	switch (w->call) {
	case CALL_NONE:
	case CALL_HANDLE:
	case CALL_IO_URING:
	case CALL_RECVMSG:
	case CALL_RECVMMSG:
	case CALL_TRUNCATE:
		return;
	case CALL_OPEN:
		w->counted = &tree->n_opening;
		break;
	default:
		w->counted = &tree->n_changing;
		break;
	}
	++*w->counted;
}

void tree_count_out(struct tracee *t)
{
	if (t->pending.counted)
		--*t->pending.counted;
	t->pending.counted = NULL;
}

struct tracee *tree_find(const struct tree *tree, pid_t tid)
{
	return map_get(&tree->tracees, &tid, sizeof(tid));
}

static struct process *add_process(struct tree *tree, pid_t pid)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	if (map_set(&tree->processes, &p->pid, sizeof(p->pid), p) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

static void drop_process(struct tree *tree, struct process *p)
{
	(void)map_remove(&tree->processes, &p->pid, sizeof(p->pid));
	free(p);
}

/* More threads use up its descriptors faster. */
static void add_thread(struct process *p)
{
	p->n_threads++;
	p->roomy_until_ns = 0;
}

struct tracee *tree_add(struct tree *tree, pid_t tid, struct process *process)
{
	struct tracee *t = calloc(1, sizeof(*t));
	struct process *p = process;

	assert(!tree_find(tree, tid));
	if (!t)
		return NULL;
	if (!p)
		p = add_process(tree, tid);
	t->tid = tid;
	t->process = p;
	if (!p || map_set(&tree->tracees, &t->tid, sizeof(t->tid), t) < 0) {
		if (p && !process)
			drop_process(tree, p);
		free(t);
		return NULL;
	}
	add_thread(p);
	return t;
}

struct process *tree_remove(struct tree *tree, struct tracee *t)
{
	struct process *p = t->process;

	assert(tree_find(tree, t->tid) == t && p->n_threads > 0);
	tree_count_out(t);
	(void)map_remove(&tree->tracees, &t->tid, sizeof(t->tid));
	free_tracee(t);
	if (--p->n_threads)
		return p;
	drop_process(tree, p);
	return NULL;
}

int tree_move(struct tree *tree, struct tracee *t, struct process *process)
{
	struct process *old = t->process;

	assert(tree_find(tree, t->tid) == t && process);
	if (old == process)
		return 0;
	t->process = process;
	add_thread(process);
	if (--old->n_threads == 0)
		drop_process(tree, old);
	return 0;
}

void tree_rename(struct tree *tree, struct tracee *t, pid_t tid)
{
	struct tracee *leader = tree_find(tree, tid);

	assert(tree_find(tree, t->tid) == t && tid > 0);
	if (leader == t)
		return;
	/* The old leader has ended without an exit event of its own. */
	if (leader)
		(void)tree_remove(tree, leader);
	(void)map_remove(&tree->tracees, &t->tid, sizeof(t->tid));
	t->tid = tid;
	/* Cannot fail: a slot has just been freed. */
	(void)map_set(&tree->tracees, &t->tid, sizeof(t->tid), t);
}
