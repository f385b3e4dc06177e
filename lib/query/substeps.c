/* substeps.c - see substeps.h */
#include "query/substeps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/pool.h"
#include "lineage/fold.h"
#include "query/query.h"
#include "store/store.h"
#include "store/store_edge.h"

/* ---- lists in a pool ---- */

static int push(struct pool *pool, struct substep_list *list, uint32_t value)
{
	if (list->n && list->at[list->n - 1] == value)
		return 0;
	if (list->n == list->cap) {
		uint32_t cap = list->cap ? list->cap * 2 : 4;
		uint32_t *at = pool_alloc(pool, cap * sizeof(*at));

		if (!at)
			return -ENOMEM;
		if (list->n)
			memcpy(at, list->at, list->n * sizeof(*at));
		list->at = at;
		list->cap = cap;
	}
	list->at[list->n++] = value;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void make_distinct(struct substep_list *list)
{
	uint32_t n = 0;

	if (list->n)
		qsort(list->at, list->n, sizeof(*list->at), by_value);
	for (uint32_t i = 0; i < list->n; i++)
		if (!i || list->at[i] != list->at[i - 1])
			list->at[n++] = list->at[i];
	list->n = n;
}

static bool has(const struct substep_list *list, uint32_t value)
{
	return list->n &&
	       bsearch(&value, list->at, list->n, sizeof(value), by_value);
}

/* ---- the tree ---- */

/* The latest process with the pid of the parent that was seen before the child. */
static int find_parents(struct substeps *s, struct pool *pool)
{
	CLEANUP(map_release) struct map by_pid = MAP_INIT;

	s->parents = pool_alloc(pool, (s->n_processes + 1) * sizeof(uint32_t));
	if (!s->parents)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_processes; i++) {
		struct store_process *p = &s->processes[i];
		const struct store_process *parent = map_get(
			&by_pid, &p->parent, sizeof(p->parent));

		s->parents[i] = parent ? (uint32_t)(parent - s->processes) :
					 SUBSTEP_NONE;
		if (map_set(&by_pid, &p->pid, sizeof(p->pid), p) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Old records do not say whether a process executed a program. */
static bool only_forked(const struct substeps *s, size_t i)
{
	const struct store_process *p = &s->processes[i];
	uint32_t parent = s->parents[i];

	if (parent == SUBSTEP_NONE)
		return false;
	return p->n_execs < 0 ?
		       strcmp(p->command, s->processes[parent].command) == 0 :
		       p->n_execs == 0;
}

/* ---- groups ---- */

/* Children of one sub-step with the same command and the same inputs. */
struct group_key {
	uint64_t command;
	uint64_t inputs; /* the sum of the hashes of all */
	uint32_t n_inputs;
	uint32_t parent;
	uint64_t only; /* not 0: there is no other one */
};

/* Workers that Python spawns differ by the numbers of their pipes. */
static const char *comparable(const char *command)
{
	return strstr(command, "--multiprocessing-fork") ?
		       "--multiprocessing-fork" :
		       command;
}

/* Files of one name that are read with different contents are not the same. */
static bool *find_replaced(const struct substeps *s, struct pool *pool)
{
	bool *replaced = pool_zalloc(pool, s->n_files + 1);

	for (size_t i = 0; replaced && i < s->n_moments; i++)
		if (substeps_file(s, &s->moments[i]))
			replaced[s->file_of[s->moments[i].file]] = true;
	return replaced;
}

static int make_key(const struct substep *step, const bool *replaced,
		    struct pool *pool, struct group_key **ret)
{
	const char *command = comparable(step->command);
	struct group_key *key = pool_zalloc(pool, sizeof(*key));

	if (!key)
		return -ENOMEM;
	key->command = map_hash(command, strlen(command));
	key->n_inputs = step->inputs.n;
	key->parent = step->parent;
	for (uint32_t i = 0; i < step->inputs.n; i++) {
		key->inputs += map_hash(&step->inputs.at[i], sizeof(uint32_t));
		if (replaced[step->inputs.at[i]])
			key->only = step->process + 1;
	}
	*ret = key;
	return 0;
}

static int join(struct pool *pool, struct substep *into,
		const struct substep *step)
{
	int r = 0;

	into->n_processes += step->n_processes;
	into->n_copies += step->n_copies;
	for (uint32_t i = 0; r == 0 && i < step->outputs.n; i++)
		r = push(pool, &into->outputs, step->outputs.at[i]);
	return r;
}

/* Parents come before their children, so that copies of a parent are one by then. */
static int group(struct substeps *s, struct pool *pool)
{
	CLEANUP(map_release) struct map groups = MAP_INIT;
	uint32_t *now = pool_alloc(pool, (s->n + 1) * sizeof(*now));
	const bool *replaced = find_replaced(s, pool);
	size_t n = 0;

	if (!now || !replaced)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		struct substep *step = &s->list[i];
		struct group_key *key;
		uint32_t *known;

		if (step->parent != SUBSTEP_NONE)
			step->parent = now[step->parent];
		if (make_key(step, replaced, pool, &key) < 0)
			return -ENOMEM;
		known = map_get(&groups, key, sizeof(*key));
		now[i] = known ? *known : (uint32_t)n;
		if (known && join(pool, &s->list[*known], step) < 0)
			return -ENOMEM;
		if (!known && step->parent != SUBSTEP_NONE &&
		    map_set(&groups, key, sizeof(*key), &now[i]) < 0)
			return -ENOMEM;
		if (!known)
			s->list[n++] = *step;
	}
	s->n = n;
	for (size_t i = 0; i < s->n_processes; i++)
		s->of[i] = now[s->of[i]];
	return 0;
}

static int make_steps(struct substeps *s, struct pool *pool)
{
	s->of = pool_alloc(pool, (s->n_processes + 1) * sizeof(*s->of));
	s->list = pool_zalloc(pool, (s->n_processes + 1) * sizeof(*s->list));
	if (!s->of || !s->list)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_processes; i++) {
		uint32_t parent = s->parents[i];

		if (only_forked(s, i)) {
			s->of[i] = s->of[parent];
			s->list[s->of[i]].n_processes++;
			continue;
		}
		s->of[i] = (uint32_t)s->n;
		s->list[s->n++] = (struct substep){
			.process = (uint32_t)i,
			.parent = parent == SUBSTEP_NONE ? SUBSTEP_NONE :
							   s->of[parent],
			.command = s->processes[i].command,
			.n_processes = 1,
			.n_copies = 1,
		};
	}
	return 0;
}

/* ---- files ---- */

const struct store_file *substeps_file(const struct substeps *s,
				       const struct store_edge *edge)
{
	uint32_t at = edge->file > 0 && (size_t)edge->file <= s->n_files ?
			      s->file_of[edge->file] :
			      SUBSTEP_NONE;

	return at == SUBSTEP_NONE ? NULL : &s->files[at];
}

/* The files of a job are numbered from 1 without holes. */
static int index_files(struct substeps *s, struct pool *pool)
{
	s->file_of = pool_alloc(pool, (s->n_files + 1) * sizeof(uint32_t));
	if (!s->file_of)
		return -ENOMEM;
	for (size_t i = 0; i <= s->n_files; i++)
		s->file_of[i] = SUBSTEP_NONE;
	for (size_t i = 0; i < s->n_files; i++)
		if (s->files[i].n > 0 && (size_t)s->files[i].n <= s->n_files)
			s->file_of[s->files[i].n] = (uint32_t)i;
	return 0;
}

static bool is_shell(const char *command)
{
	static const char *const shells[] = {
		"sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "fish"
	};
	size_t len = strcspn(command, " ");
	const char *name = memrchr(command, '/', len);

	name = name ? name + 1 : command;
	len -= (size_t)(name - command);
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (strlen(shells[i]) == len &&
		    memcmp(shells[i], name, len) == 0)
			return true;
	return false;
}

/* Which files were passed on as standard streams, by kind of use. */
static uint8_t *find_passed(const struct substeps *s, struct pool *pool)
{
	uint8_t *passed = pool_zalloc(pool, s->n_files + 1);

	for (size_t i = 0; passed && i < s->n_edges; i++) {
		const struct store_edge *e = &s->edges[i];

		if (e->kind > LINEAGE_EDGE_MADE && substeps_file(s, e))
			passed[e->file] |= (uint8_t)(1u << lineage_edge_use(
							     e->kind));
	}
	return passed;
}

/* The streams of the whole run, and semaphores, connect everything with everything. */
static bool is_common(const struct store_file *f)
{
	return f->seen & LINEAGE_INHERITED ||
	       strncmp(f->path, "/dev/shm/sem.", 13) == 0;
}

/* The process of an edge, if it counts for its sub-step. */
static struct substep *step_of(struct substeps *s, const struct store_edge *e,
			       const uint8_t *passed)
{
	const struct store_file *f = substeps_file(s, e);
	struct substep *step;
	unsigned use = lineage_edge_use(e->kind);

	if (!f || is_common(f) || e->process < 1 ||
	    (size_t)e->process > s->n_processes)
		return NULL;
	step = &s->list[s->of[e->process - 1]];
	if (e->kind < LINEAGE_EDGE_MADE && passed[e->file] & 1u << use &&
	    is_shell(step->command))
		return NULL;
	return step;
}

static int add_files(struct substeps *s, struct pool *pool,
		     const uint8_t *passed)
{
	for (size_t i = 0; i < s->n_edges; i++) {
		const struct store_edge *e = &s->edges[i];
		struct substep *step = step_of(s, e, passed);
		bool write = lineage_edge_use(e->kind) == LINEAGE_EDGE_WRITTEN;

		if (step && push(pool, write ? &step->outputs : &step->inputs,
				 s->file_of[e->file]) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < s->n; i++) {
		make_distinct(&s->list[i].inputs);
		make_distinct(&s->list[i].outputs);
	}
	return 0;
}

/* What is known of each file after its edges were followed. */
struct traffic {
	uint32_t writer; /* one of them */
	bool written, by_several; /* sub-steps */
	bool connects; /* two of them */
};

/* What a sub-step wrote and read again is not an input, unless another wrote it too. */
static void drop_own(struct substeps *s, const struct traffic *traffic)
{
	for (size_t i = 0; i < s->n; i++) {
		struct substep_list *in = &s->list[i].inputs;
		uint32_t n = 0;

		make_distinct(&s->list[i].outputs);
		for (uint32_t k = 0; k < in->n; k++)
			if (!traffic[in->at[k]].written ||
			    traffic[in->at[k]].by_several ||
			    !has(&s->list[i].outputs, in->at[k]))
				in->at[n++] = in->at[k];
		in->n = n;
	}
}

/* Filtered files are noise, unless they carry content from one sub-step to another. */
static void drop_filtered(const struct substeps *s,
			  const struct traffic *traffic,
			  struct substep_list *list)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < list->n; i++)
		if (!s->files[list->at[i]].filter ||
		    traffic[list->at[i]].connects)
			list->at[n++] = list->at[i];
	list->n = n;
}

static void hide(struct substeps *s)
{
	for (size_t i = 0; i < s->n; i++) {
		uint32_t parent = s->list[i].parent;
		struct substep *step = parent == SUBSTEP_NONE ?
					       NULL :
					       &s->list[parent];

		if (step && !step->outputs.n && is_shell(step->command))
			step->hidden = true;
		if (!s->list[i].inputs.n && !s->list[i].outputs.n)
			s->list[i].hidden = true;
	}
	for (size_t i = 0; i < s->n; i++)
		s->n_shown += !s->list[i].hidden;
}

/* ---- dependencies ---- */

/* The edges of files that the run wrote, by file and event. */
struct use {
	uint32_t file, step;
	int64_t event;
	bool write, made, replaced;
};

static int by_file(const void *a, const void *b)
{
	const struct use *x = a;
	const struct use *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->replaced != y->replaced)
		return y->replaced - x->replaced;
	return y->made - x->made; /* made, then renamed */
}

static int collect_uses(struct substeps *s, const uint8_t *passed,
			struct use **ret, size_t *ret_n)
{
	struct use *uses = calloc(s->n_edges + s->n_moments + 1, sizeof(*uses));
	size_t n = 0;

	if (!uses)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_edges; i++) {
		const struct store_edge *e = &s->edges[i];
		const struct substep *step = step_of(s, e, passed);

		if (!step || lineage_edge_use(e->kind) == LINEAGE_EDGE_READ)
			continue;
		uses[n++] = (struct use){
			.file = s->file_of[e->file],
			.step = (uint32_t)(step - s->list),
			.event = e->event,
			.write = lineage_edge_use(e->kind) ==
				 LINEAGE_EDGE_WRITTEN,
			.made = e->kind == LINEAGE_EDGE_MADE,
		};
	}
	for (size_t i = 0; i < s->n_moments; i++)
		if (substeps_file(s, &s->moments[i]))
			uses[n++] = (struct use){
				.file = s->file_of[s->moments[i].file],
				.event = s->moments[i].event,
				.replaced = true,
			};
	if (n)
		qsort(uses, n, sizeof(*uses), by_file);
	*ret = uses;
	*ret_n = n;
	return 0;
}

/* A log that thousands of programs write connects the first of them. */
enum { WRITERS_MAX = 256 };

/* One file: who reads it comes after those that wrote it before, and who renamed it after
 * who made it.  Writers are collected once each. */
static void note_writer(struct traffic *traffic, uint32_t step)
{
	traffic->by_several |= traffic->written && traffic->writer != step;
	traffic->written = true;
	traffic->writer = step;
}

static int relate(struct substeps *s, struct pool *pool, const struct use *uses,
		  size_t n, struct substep_list *writers,
		  struct traffic *traffic)
{
	int r = 0;

	writers->n = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct use *u = &uses[i];
		bool renamed = u->write && i && uses[i - 1].made &&
			       uses[i - 1].event == u->event && !u->made;
		bool known = false;

		if (u->replaced) {
			writers->n = 0;
			continue;
		}
		for (uint32_t k = 0; r == 0 && k < writers->n; k++) {
			known |= writers->at[k] == u->step;
			if (writers->at[k] == u->step || u->write)
				continue;
			traffic->connects = true;
			r = push(pool, &s->list[u->step].after, writers->at[k]);
		}
		if (r == 0 && renamed && uses[i - 1].step != u->step)
			r = push(pool, &s->list[u->step].after,
				 uses[i - 1].step);
		if (u->write)
			note_writer(traffic, u->step);
		if (r == 0 && u->write && !known && writers->n < WRITERS_MAX)
			r = push(pool, writers, u->step);
	}
	return r;
}

static int add_dependencies(struct substeps *s, struct pool *pool,
			    const struct use *uses, size_t n,
			    struct traffic *traffic)
{
	struct substep_list writers = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < n;) {
		size_t end = i;

		while (end < n && uses[end].file == uses[i].file)
			end++;
		r = relate(s, pool, uses + i, end - i, &writers,
			   &traffic[uses[i].file]);
		i = end;
	}
	for (size_t i = 0; i < s->n; i++)
		make_distinct(&s->list[i].after);
	return r;
}

/* ---- all of it ---- */

static int compose(struct substeps *s, struct pool *pool)
{
	struct traffic *traffic = pool_zalloc(pool, (s->n_files + 1) *
							    sizeof(*traffic));
	CLEANUP(freep) struct use *uses = NULL;
	uint8_t *passed = NULL;
	size_t n;
	int r = traffic ? find_parents(s, pool) : -ENOMEM;

	if (r == 0)
		r = index_files(s, pool);
	if (r == 0)
		r = make_steps(s, pool);
	if (r == 0)
		passed = find_passed(s, pool);
	if (r == 0)
		r = passed ? add_files(s, pool, passed) : -ENOMEM;
	if (r == 0)
		r = group(s, pool);
	if (r == 0)
		r = collect_uses(s, passed, &uses, &n);
	if (r == 0)
		r = add_dependencies(s, pool, uses, n, traffic);
	if (r < 0)
		return r;
	drop_own(s, traffic);
	for (size_t i = 0; i < s->n; i++) {
		drop_filtered(s, traffic, &s->list[i].inputs);
		drop_filtered(s, traffic, &s->list[i].outputs);
	}
	hide(s);
	return 0;
}

static void set_moments_apart(struct substeps *s, struct store_edge *spare)
{
	size_t n = 0;

	s->moments = spare;
	for (size_t i = 0; i < s->n_edges; i++)
		if (s->edges[i].kind == LINEAGE_EDGE_REPLACED)
			spare[s->n_moments++] = s->edges[i];
		else
			s->edges[n++] = s->edges[i];
	s->n_edges = n;
}

int substeps_load(struct query *q, int64_t job_id, struct substeps *ret,
		  struct roar_error *err)
{
	struct substeps s = { 0 };
	struct store_edge *spare;
	size_t n = 0;
	int r = store_processes(q->store, q->pool, job_id, &s.processes,
				&s.n_processes, err);

	if (r == 0)
		r = store_edges(q->store, q->pool, job_id, &s.edges, &s.n_edges,
				err);
	if (r == 0)
		r = store_files(q->store, q->pool, job_id, true, &s.files,
				&s.n_files, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s.n_edges; i++)
		n += s.edges[i].kind == LINEAGE_EDGE_REPLACED;
	spare = pool_alloc(q->pool, (n + 1) * sizeof(*spare));
	if (spare)
		set_moments_apart(&s, spare);
	r = spare ? compose(&s, q->pool) : -ENOMEM;
	if (r < 0)
		return error_set(err, r, "out of memory");
	*ret = s;
	return 0;
}
