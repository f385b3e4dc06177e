/* show_processes.c - see show_processes.h
 *
 *	  PID      PARENT   EXIT       DURATION   COMMAND
 *	  40       0        0          12 ms      sh pipeline.sh
 *	                                            read pipeline.sh
 *	  41       40       0          3 ms         sort (rank 0 of 4)
 *	                                              read raw.csv and 9 more (--all)
 *	                                              wrote sorted.csv
 *
 * Without --all, siblings that do the same are one line with their number. */
#include "show/show_processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/macros.h"
#include "query/substeps.h"
#include "show/show.h"
#include "show/show_job.h"
#include "store/store_edge.h"
#include "ui/view.h"

enum {
	FILES_SHOWN = 3, /* of one process, without --all */
	DEPTH_SHOWN = 12,
	COMMAND_COLUMN = 42,
};

int show_processes_read(struct job_block *b, struct roar_error *err)
{
	struct view *v = b->view;
	int r = store_ranks(v->store, &v->pool, b->job->id, &b->ranks,
			    &b->n_ranks, err);

	if (r < 0)
		return r;
	if (b->options->processes) {
		b->tree = pool_zalloc(&v->pool, sizeof(*b->tree));
		if (!b->tree)
			return error_set(err, -ENOMEM, "out of memory");
		r = substeps_load(&v->query, b->job->id, b->tree, err);
		b->processes = b->tree->processes;
		b->n_processes = b->tree->n_processes;
	} else if (b->options->all) {
		r = store_processes(v->store, &v->pool, b->job->id,
				    &b->processes, &b->n_processes, err);
	}
	return r;
}

/* ---- ranks ---- */

static int by_group(const void *a, const void *b)
{
	const struct store_rank *x = a;
	const struct store_rank *y = b;
	int order = strcmp(x->launcher, y->launcher);

	if (!order)
		order = strcmp(x->group, y->group);
	if (!order)
		order = (x->world_size > y->world_size) -
			(x->world_size < y->world_size);
	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static bool same_group(const struct store_rank *a, const struct store_rank *b)
{
	return strcmp(a->launcher, b->launcher) == 0 &&
	       strcmp(a->group, b->group) == 0 &&
	       a->world_size == b->world_size;
}

/* The ranks by group: children have the rank of their parents, so each comes once. */
static struct store_rank *distinct_ranks(struct job_block *b, size_t *ret_n)
{
	struct store_rank *list = pool_alloc(&b->view->pool,
					     (b->n_ranks + 1) * sizeof(*list));
	size_t n = 0;

	*ret_n = 0;
	if (!list || !b->n_ranks) {
		b->view->out.failed |= !list;
		return list;
	}
	memcpy(list, b->ranks, b->n_ranks * sizeof(*list));
	qsort(list, b->n_ranks, sizeof(*list), by_group);
	for (size_t i = 0; i < b->n_ranks; i++)
		if (!n || by_group(&list[i], &list[n - 1]) != 0)
			list[n++] = list[i];
	*ret_n = n;
	return list;
}

static size_t group_end(const struct store_rank *list, size_t n, size_t i)
{
	size_t end = i;

	while (end < n && same_group(&list[end], &list[i]))
		end++;
	return end;
}

void show_ranks_text(struct job_block *b)
{
	struct view *v = b->view;
	size_t n;
	const struct store_rank *list = distinct_ranks(b, &n);

	for (size_t i = 0; i < n;) {
		const struct store_rank *group = &list[i];
		size_t end = group_end(list, n, i);

		view_label(v, "Ranks:");
		if (group->rank < 0)
			str_adds(&v->out, "unknown");
		else
			str_addf(&v->out, "%zu", end - i);
		if (group->world_size > 0)
			str_addf(&v->out, " of %lld",
				 (long long)group->world_size);
		str_adds(&v->out, " (");
		view_cut(&v->out, group->launcher, 40);
		if (group->group[0]) {
			str_adds(&v->out, ", group ");
			view_cut(&v->out, group->group, 100);
		}
		str_adds(&v->out, ")\n");
		i = end;
	}
}

void show_ranks_json(struct job_block *b, struct json *j)
{
	size_t n;
	const struct store_rank *list = distinct_ranks(b, &n);

	json_put_key(j, "ranks");
	json_put_array(j);
	for (size_t i = 0; i < n;) {
		size_t end = group_end(list, n, i);

		json_put_object(j);
		view_json_text(j, "launcher", list[i].launcher);
		view_json_text(j, "group",
			       list[i].group[0] ? list[i].group : NULL);
		view_json_count(j, "world_size", list[i].world_size);
		json_put_key(j, "ranks");
		json_put_array(j);
		for (; i < end; i++)
			if (list[i].rank >= 0)
				json_put_int(j, list[i].rank);
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

static int by_process(const void *key, const void *element)
{
	int64_t n = *(const int64_t *)key;
	const struct store_rank *rank = element;

	return (n > rank->process) - (n < rank->process);
}

static const struct store_rank *rank_of(const struct job_block *b, size_t i)
{
	int64_t n = (int64_t)i + 1;

	return b->n_ranks ? bsearch(&n, b->ranks, b->n_ranks, sizeof(*b->ranks),
				    by_process) :
			    NULL;
}

/* ---- the edges of one process ---- */

static const struct store_edge *edges_of(const struct job_block *b, size_t i,
					 size_t *ret_n)
{
	const struct substeps *s = b->tree;
	int64_t n = (int64_t)i + 1;
	size_t low = 0;
	size_t high = s->n_edges;
	size_t end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->edges[middle].process < n)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < s->n_edges && s->edges[end].process == n;)
		end++;
	*ret_n = end - low;
	return &s->edges[low];
}

static bool is_write(const struct store_edge *e)
{
	return lineage_edge_use(e->kind) == LINEAGE_EDGE_WRITTEN;
}

/* A file of no interest that the process made for itself, as those by which a worker of a
 * DataLoader passes its tensors on. */
static bool is_scratch(const struct store_file *f)
{
	return f->filter && f->role == LINEAGE_TEMPORARY;
}

/* ---- as text ---- */

static void add_outcome(struct view *v, const struct store_process *p)
{
	struct str cell = STR_INIT;

	str_addf(&v->out, "  %-9d%-9d", p->pid, p->parent);
	if (!p->end_ns)
		str_adds(&cell, "-");
	else if (WIFSIGNALED(p->status))
		str_addf(&cell, "signal %d", WTERMSIG(p->status));
	else
		str_addf(&cell, "%d", WEXITSTATUS(p->status));
	view_cell_str(v, COLOR_NONE, &cell, 11);
	str_clear(&cell);
	if (p->end_ns > p->start_ns)
		clock_format_duration(&cell, p->end_ns - p->start_ns);
	else
		str_addc(&cell, '-');
	view_cell_str(v, COLOR_NONE, &cell, 11);
	str_release(&cell);
}

static void add_process(struct job_block *b, size_t i, size_t indent,
			size_t n_same)
{
	const struct store_rank *rank = rank_of(b, i);
	struct view *v = b->view;
	size_t column = COMMAND_COLUMN + indent;

	add_outcome(v, &b->processes[i]);
	str_pad(&v->out, ' ', indent);
	view_cut(&v->out, b->processes[i].command,
		 v->width > column + 30 ? v->width - column : 30);
	if (n_same > 1)
		str_addf(&v->out, " x%zu", n_same);
	if (rank && rank->rank >= 0) {
		str_addf(&v->out, " (rank %lld", (long long)rank->rank);
		if (rank->world_size > 0)
			str_addf(&v->out, " of %lld",
				 (long long)rank->world_size);
		str_addc(&v->out, ')');
	}
	str_addc(&v->out, '\n');
}

static void add_files(struct job_block *b, size_t process, size_t indent,
		      bool write, bool grouped)
{
	struct view *v = b->view;
	size_t limit = b->options->all ? SIZE_MAX : FILES_SHOWN;
	size_t shown = 0;
	size_t total = 0;
	size_t n;
	const struct store_edge *e = edges_of(b, process, &n);

	for (size_t i = 0; i < n; i++) {
		const struct store_file *f = substeps_file(b->tree, &e[i]);

		if (!f || is_write(&e[i]) != write ||
		    (grouped && is_scratch(f)) || total++ >= limit)
			continue;
		if (!shown++)
			str_pad(&v->out, ' ', COMMAND_COLUMN + indent + 2);
		str_adds(&v->out, shown > 1 ? ", " :
				  write	    ? "wrote " :
					      "read ");
		view_path(v, &v->out, f->path);
	}
	if (total > shown)
		str_addf(&v->out, " and %zu more (--all)", total - shown);
	if (total)
		str_addc(&v->out, '\n');
}

/* Children in the order of the table, as lists. */
struct family {
	uint32_t *first; /* child of each process; that of none at the end */
	uint32_t *next; /* sibling */
	size_t *n_same; /* how many siblings it stands for; 0: another one does */
};

/* What siblings must have in common to be one line. */
struct looks {
	uint64_t command;
	uint64_t files; /* sum of hashes */
	int64_t rank;
	uint32_t n_files;
	uint32_t parent;
};

static int look(const struct job_block *b, size_t i, struct looks *ret)
{
	const char *command = b->processes[i].command;
	const struct store_rank *rank = rank_of(b, i);
	size_t n;
	const struct store_edge *e = edges_of(b, i, &n);

	memset(ret, 0, sizeof(*ret));
	ret->command = map_hash(command, strlen(command));
	ret->rank = rank ? rank->rank : -1;
	ret->parent = b->tree->parents[i];
	for (size_t k = 0; k < n; k++) {
		const struct store_file *f = substeps_file(b->tree, &e[k]);
		int64_t key[2] = { e[k].file, is_write(&e[k]) };

		if (f && is_scratch(f))
			continue;
		ret->n_files++;
		ret->files += map_hash(key, sizeof(key));
	}
	return 0;
}

static int find_same(struct job_block *b, struct family *f)
{
	CLEANUP(map_release) struct map seen = MAP_INIT;
	size_t n = b->n_processes;
	struct looks *looks = pool_alloc(&b->view->pool,
					 (n + 1) * sizeof(*looks));

	if (!looks)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		size_t *same;

		f->n_same[i] = 1;
		if (b->options->all || f->first[i] != SUBSTEP_NONE)
			continue;
		(void)look(b, i, &looks[i]);
		same = map_get(&seen, &looks[i], sizeof(looks[i]));
		if (same) {
			++*same;
			f->n_same[i] = 0;
		} else if (map_set(&seen, &looks[i], sizeof(looks[i]),
				   &f->n_same[i]) < 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

static int make_family(struct job_block *b, struct family *f)
{
	struct pool *pool = &b->view->pool;
	size_t n = b->n_processes;

	f->first = pool_alloc(pool, (n + 1) * sizeof(*f->first));
	f->next = pool_alloc(pool, (n + 1) * sizeof(*f->next));
	f->n_same = pool_alloc(pool, (n + 1) * sizeof(*f->n_same));
	if (!f->first || !f->next || !f->n_same)
		return -ENOMEM;
	for (size_t i = 0; i <= n; i++)
		f->first[i] = SUBSTEP_NONE;
	for (size_t i = n; i-- > 0;) {
		uint32_t parent = b->tree->parents[i];
		size_t list = parent == SUBSTEP_NONE ? n : parent;

		f->next[i] = f->first[list];
		f->first[list] = (uint32_t)i;
	}
	return find_same(b, f);
}

/* The next process, depth first; *depth follows. */
static uint32_t next_of(const struct job_block *b, const struct family *f,
			uint32_t i, size_t *depth)
{
	if (f->first[i] != SUBSTEP_NONE) {
		++*depth;
		return f->first[i];
	}
	while (f->next[i] == SUBSTEP_NONE && *depth) {
		--*depth;
		i = b->tree->parents[i];
	}
	return f->next[i];
}

static int add_tree(struct job_block *b)
{
	size_t limit = b->options->all ? SIZE_MAX : SHOW_ROWS;
	struct family f;
	size_t shown = 0;
	size_t total = 0;
	size_t depth = 0;

	if (make_family(b, &f) < 0)
		return -ENOMEM;
	for (uint32_t i = f.first[b->n_processes]; i != SUBSTEP_NONE;
	     i = next_of(b, &f, i, &depth)) {
		size_t indent = 2 * (depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN);

		if (!f.n_same[i] || total++ >= limit)
			continue;
		shown++;
		add_process(b, i, indent, f.n_same[i]);
		add_files(b, i, indent, false, f.n_same[i] > 1);
		add_files(b, i, indent, true, f.n_same[i] > 1);
	}
	show_more(b->view, total, shown);
	if (b->job->n_edges_left_out)
		str_addf(&b->view->out,
			 "  (there were too many uses of files: %lld are not "
			 "recorded)\n",
			 (long long)b->job->n_edges_left_out);
	return 0;
}

int show_processes_text(struct job_block *b)
{
	struct view *v = b->view;

	if (!b->n_processes)
		return 0;
	str_addc(&v->out, '\n');
	term_add(&v->out, &v->term, COLOR_BOLD, "Processes");
	str_addf(&v->out, " (%zu)\n", b->n_processes);
	term_add(&v->out, &v->term, COLOR_DIM,
		 "  PID      PARENT   EXIT       DURATION   COMMAND");
	str_addc(&v->out, '\n');
	if (b->options->processes)
		return add_tree(b);
	for (size_t i = 0; i < b->n_processes; i++)
		add_process(b, i, 0, 1);
	return 0;
}

/* ---- as JSON ---- */

static void json_files(const struct job_block *b, struct json *j,
		       size_t process, const char *key, bool write)
{
	static const char *const ways[LINEAGE_EDGE_END] = {
		[LINEAGE_EDGE_READ] = "open",
		[LINEAGE_EDGE_READ_OWN] = "open",
		[LINEAGE_EDGE_WRITTEN] = "open",
		[LINEAGE_EDGE_MADE] = "renamed",
		[LINEAGE_EDGE_PASSED_READ] = "stream",
		[LINEAGE_EDGE_PASSED_READ_OWN] = "stream",
		[LINEAGE_EDGE_PASSED_WRITTEN] = "stream",
	};
	size_t n;
	const struct store_edge *e = edges_of(b, process, &n);

	json_put_key(j, key);
	json_put_array(j);
	for (size_t i = 0; i < n; i++) {
		const struct store_file *f = substeps_file(b->tree, &e[i]);

		if (!f || is_write(&e[i]) != write)
			continue;
		json_put_object(j);
		view_json_text(j, "path", f->path);
		view_json_int(j, "order", e[i].event);
		view_json_text(j, "by",
			       e[i].kind < ARRAY_SIZE(ways) ? ways[e[i].kind] :
							      NULL);
		json_end(j);
	}
	json_end(j);
}

static void json_rank(const struct job_block *b, struct json *j, size_t i)
{
	const struct store_rank *rank = rank_of(b, i);

	json_put_key(j, "rank");
	if (!rank) {
		json_put_null(j);
		return;
	}
	json_put_object(j);
	view_json_count(j, "rank", rank->rank);
	view_json_count(j, "local_rank", rank->local_rank);
	view_json_count(j, "world_size", rank->world_size);
	view_json_text(j, "launcher", rank->launcher);
	view_json_text(j, "group", rank->group[0] ? rank->group : NULL);
	json_end(j);
}

void show_processes_json(struct job_block *b, struct json *j)
{
	if (!b->options->all && !b->options->processes)
		return;
	json_put_key(j, "processes");
	json_put_array(j);
	for (size_t i = 0; i < b->n_processes; i++) {
		const struct store_process *p = &b->processes[i];

		json_put_object(j);
		view_json_int(j, "pid", p->pid);
		view_json_int(j, "parent_pid", p->parent);
		view_json_text(j, "command", p->command);
		view_json_time(j, "started_at", p->start_ns);
		view_json_time(j, "ended_at", p->end_ns);
		view_json_int(j, "wait_status", p->status);
		json_rank(b, j, i);
		if (b->options->processes) {
			json_files(b, j, i, "read", false);
			json_files(b, j, i, "written", true);
		}
		json_end(j);
	}
	json_end(j);
	view_json_int(j, "uses_left_out", b->job->n_edges_left_out);
}
