/* processes.c - the process table of a run.
 *
 * One entry per process, in the order they were first seen; a pid that comes again
 * after its process ended is a new process.  The table is bounded: when it is full a
 * gap is added; the files of such processes are kept. */
#include "lineage/fold_internal.h"

#include <string.h>

#include "base/vec.h"

enum {
	PROCESSES_MAX = 200 * 1000,
	COMMAND_MAX = 1024, /* bytes kept of one command line */
	COMMANDS_MAX = 16 << 20, /* of all; then only the first word is kept */
	WORD_MAX = 64,
};

static uint32_t *find(const struct fold *fold, int32_t pid)
{
	uint32_t hash = (uint32_t)map_hash(&pid, sizeof(pid));
	size_t pos = 0;
	uint32_t *at;

	while ((at = index_probe(&fold->by_pid, hash, &pos)))
		if (fold->processes[*at - 1].pid == pid)
			return at;
	return NULL;
}

static struct lineage_process *add(struct fold *fold, const struct event *ev,
				   uint32_t *at)
{
	uint32_t ordinal = (uint32_t)fold->n_processes;
	struct lineage_process *p;

	p = VEC_PUSH(fold->processes, fold->n_processes, fold->cap_processes);
	if (!p)
		return NULL;
	*p = (struct lineage_process){ .pid = ev->pid,
				       .command = "",
				       .start_ns = ev->time_ns,
				       .order = fold->n_events,
				       .former = at ? *at : 0 };
	if (at) {
		*at = ordinal + 1;
		fold->pid_reused = true;
	} else if (index_add(&fold->by_pid,
			     (uint32_t)map_hash(&ev->pid, sizeof(ev->pid)),
			     ordinal) < 0) {
		fold->n_processes--;
		return NULL;
	}
	return p;
}

/* The living process of the event, added when there is none.  NULL with 0 when
 * the table is full. */
static int get(struct fold *fold, const struct event *ev,
	       struct lineage_process **ret)
{
	uint32_t *at = find(fold, ev->pid);

	*ret = at ? &fold->processes[*at - 1] : NULL;
	if (*ret && (!(*ret)->end_ns || ev->kind == EVENT_EXIT))
		return 0;
	*ret = NULL;
	if (fold->n_processes >= PROCESSES_MAX) {
		fold_add_gap(fold, EVENT_GAP_MEMORY,
			     "more than 200000 processes; files are recorded, "
			     "later processes are not listed");
		return 0;
	}
	*ret = add(fold, ev, at);
	return *ret ? 0 : -ENOMEM;
}

/* A child is what its parent was until it executes something itself. */
int processes_fork(struct fold *fold, const struct event *ev)
{
	struct lineage_process *p;
	uint32_t *parent;
	int r = get(fold, ev, &p);

	if (!p)
		return r;
	if (!p->start_ns) /* its opens came first */
		p->start_ns = ev->time_ns;
	if (ev->flags & EVENT_ROOT || p->parent)
		return 0;
	p->parent = ev->aux;
	parent = find(fold, ev->aux);
	if (parent && !p->command[0])
		p->command = fold->processes[*parent - 1].command;
	return 0;
}

/* How much of a command line is kept; a character is not cut in two. */
static size_t cut(const struct fold *fold, const char *text, size_t len)
{
	size_t max = COMMAND_MAX;

	if (fold->command_bytes >= COMMANDS_MAX) {
		len = strcspn(text, " ");
		max = WORD_MAX;
	}
	if (len <= max)
		return len;
	while (max && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

int processes_exec(struct fold *fold, const struct event *ev)
{
	const char *command = event_path2(ev);
	struct lineage_process *p;
	char *text;
	size_t len;
	int r = get(fold, ev, &p);

	if (!p || !ev->path2_len)
		return r;
	p->n_execs++;
	len = cut(fold, command, ev->path2_len);
	if (strlen(p->command) == len && memcmp(p->command, command, len) == 0)
		return 0;
	text = pool_dup(&fold->text, command, len);
	if (!text)
		return -ENOMEM;
	p->command = text;
	fold->command_bytes += len + 1;
	return 0;
}

int processes_exit(struct fold *fold, const struct event *ev)
{
	struct lineage_process *p;
	int r = get(fold, ev, &p);

	if (!p)
		return r;
	p->end_ns = ev->time_ns ? ev->time_ns : 1;
	p->status = ev->aux;
	return 0;
}

int64_t processes_at(const struct fold *fold, int32_t pid, uint32_t order)
{
	const uint32_t *at = find(fold, pid);
	uint32_t i = at ? *at : 0;

	while (i && fold->processes[i - 1].order > order &&
	       fold->processes[i - 1].former)
		i = fold->processes[i - 1].former;
	return (int64_t)i - 1;
}

int64_t processes_of(struct fold *fold, int32_t pid)
{
	const struct event ev = { .kind = EVENT_OPEN, .pid = pid };
	int64_t i = processes_at(fold, pid, UINT32_MAX);
	struct lineage_process *p;

	if (i >= 0)
		return i;
	if (get(fold, &ev, &p) < 0)
		return -ENOMEM;
	return p ? p - fold->processes : -ENOENT;
}
